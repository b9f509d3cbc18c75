"""Subscribers of our hub. A delivery is a document with the newest version of each entry that is new or
changed; titles tell which revisions they are."""
import urllib.parse
import xml.etree.ElementTree as tree

from .base import Endpoint

ATOM = "{http://www.w3.org/2005/Atom}"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


class Consumer(Endpoint):
    kind = "websub"
    ok = (204, b"", {})
    actions = ()

    def subscribe(self, feeds, began):
        path = "/feed" if len(feeds) == 1 else "/feeds"
        topic = "%s%s?url=%s&type=atom" % (self.run.daemon.base, path, urllib.parse.quote(",".join(feeds), safe=""))
        form = {"hub.mode": "subscribe", "hub.topic": topic, "hub.callback": self.url,
                "hub.lease_seconds": "864000", "hub.secret": "s3cret"}
        self.trail(self.path, feeds, None, events=["new", "changed"], topic=topic)
        answer = self.run.daemon.call("POST", "/hub", urllib.parse.urlencode(form), FORM)
        assert answer.status == 202, (answer.status, answer.body)
        self.run.await_sub(self.url)
        self.run.record.subs[self.path]["began"] = began()

    def verify(self, ask, query):
        if query.get("hub.mode") == "denied":
            self.run.record.wrong.append("%s was denied: %r" % (self.path, query))
        ask.answer(200, query.get("hub.challenge", "").encode())

    def read(self, ask, body):
        root = tree.fromstring(body)
        return self.path, {"titles": [e.findtext(ATOM + "title") for e in root.findall(ATOM + "entry")]}
