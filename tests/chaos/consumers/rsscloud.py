"""Handlers of our rssCloud: they are told that a feed has changed, and nothing more."""
import urllib.parse

from .base import Endpoint

FORM = {"Content-Type": "application/x-www-form-urlencoded"}


class Consumer(Endpoint):
    kind = "rsscloud"
    cut_counts = False
    actions = ()

    def __init__(self, run, n, dice):
        super().__init__(run, n, dice)
        self.n_failed = 0       # in a row: five end the registration
        self.may_end = dice.random() < 0.2

    def subscribe(self, feeds, began):
        feed = feeds[0]
        form = {"port": self.run.server.port, "path": self.path, "protocol": "http-post", "domain": "127.0.0.1",
                "url1": feed}
        self.trail(self.path, [feed], None, events=["new", "changed", "deleted", "left"])
        answer = self.run.daemon.call("POST", "/pleaseNotify", urllib.parse.urlencode(form), FORM)
        assert b'success="true"' in answer.body, answer.body
        self.run.await_sub(self.url)
        self.run.record.subs[self.path]["began"] = began()

    def verify(self, ask, query):
        ask.answer(200, query.get("challenge", "").encode())

    async def serve(self, ask):
        self.moods.calm = self.run.calm or (self.n_failed >= 2 and not self.may_end)
        there = len(self.run.record.trails[self.path])
        self.n_failed += 1      # unless it answers well
        going_on = await super().serve(ask)
        new = self.run.record.trails[self.path][there:]
        if ask.method == "GET":
            self.n_failed -= 1
        elif new and new[-1]["how"] == "acked":
            self.n_failed = 0
        return going_on

    def read(self, ask, body):
        return self.path, {"url": urllib.parse.parse_qs(body.decode())["url"][0]}
