"""A mirror that follows a filtered /smart, /log, /events or webhook from any position equals the filtered view, whatever is
added, edited, deleted, and however often the daemon is killed (VIEW-09, VIEW-10)."""
import json
import os
import random
import threading
import urllib.parse

from .env.case import Case
from .env.daemon import quote
from .env.events import FaithfulReader
from .env.hook import Hook
from .env.publisher import Publisher

ROUNDS = int(os.environ.get("FEEDMILL_ROUNDS", "25"))
SEED = int(os.environ.get("FEEDMILL_SEED", "9"))
AUTHORS = ("ann", "bob")
WORDS = ("red", "blue", "green", "boat")
FEEDS = 3
FILTERS = 6
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


def query(params):
    return "&".join("%s=%s" % (k, quote(str(v))) for k, v in params)


class Mirror:
    """What a client knows of a filtered view, and where it stands."""

    def __init__(self, case, params, state, cursor):
        self.case, self.params, self.state, self.cursor = case, params, state, cursor
        self.told = []

    def get(self, path, *more):
        answer = case_get(self.case, path + "?" + query(list(self.params) + list(more)))
        return answer.json

    def take(self, kind, id_, title):
        self.told.append((kind, id_, title))
        if kind in ("left", "deleted"):
            self.state.pop(id_, None)
        else:
            self.state[id_] = title

    def close(self):
        pass


def case_get(case, target):
    answer = case.d.get(target)
    case.assertEqual(200, answer.status, answer.body)
    return answer


class SmartMirror(Mirror):
    def step(self, most):
        """Take one page. False: there is nothing more."""
        page = self.get("/smart/", ("since", "cursor:" + self.cursor), ("max", most), ("timeout", 0))
        for item in page["items"]:
            deleted = item.get("deleted")
            self.take("deleted" if deleted else "changed", item["id"], None if deleted else item["object"]["displayName"])
        self.cursor = page["last_cursor"]
        return bool(page["items"])


class LogMirror(Mirror):
    def step(self, most):
        page = self.get("/log", ("since", self.cursor or "start"), ("max", most))
        for r in page["revisions"]:
            self.take(r["kind"], r["uid"], r.get("entry", {}).get("title"))
        self.cursor = page["cursor"]
        return page["seq"] < page["last_seq"]


class EventMirror(Mirror):
    """Its stream goes on by itself, and comes again where it was cut off."""

    def __init__(self, *args):
        super().__init__(*args)
        self.done = 0
        self.reader = FaithfulReader(self.case.d, "?" + query(list(self.params)), self.cursor or "start")

    def step(self, most):
        events = self.reader.events[self.done:]
        self.done += len(events)
        for e in events:
            r = json.loads(e.data)
            self.take(e.kind, r["uid"], r.get("entry", {}).get("title"))
        return bool(events)

    def close(self):
        self.reader.stop()


class PushedMirror(Mirror):
    """A webhook that is told everything. It is given what comes by itself, some of it more than once."""

    def __init__(self, case, params, state, cursor):
        super().__init__(case, params, state, cursor)
        self.hook, self.done = Hook(), 0
        self.hook.decide = lambda call: case.dice_of_hooks.choice([204, 204, 204, 500])
        how = {"endpoint": self.hook.url, "sink": "webhook", "events": "new,changed,deleted,left",
               "batch": case.dice.choice([1, 2, 100])}
        if not cursor:
            how["from"] = "start"
        answer = case.d.call("POST", "/sub", urllib.parse.urlencode(list(params) + list(how.items())), FORM)
        case.assertEqual(201, answer.status, answer.body)
        self.sub = answer.json["id"]

    def step(self, most):
        with self.hook.lock:
            calls = self.hook.calls[self.done:]
        self.done += len(calls)
        for e in (e for c in calls for e in c.data["entries"]):
            self.take(e["kind"], e["uid"], e.get("entry", {}).get("title"))
        return bool(calls)

    def close(self):
        self.case.d.call("DELETE", "/sub?id=%d" % self.sub)
        self.hook.close()


MIRRORS = (SmartMirror, LogMirror, EventMirror, PushedMirror)


class Mirrors(Case):
    def setUp(self):
        super().setUp()
        self.dice = random.Random(SEED)
        self.o = self.origin()
        self.d = self.daemon("--fetch-host-gap", "0", "--push-first-retry", "20ms", "--push-max-retry", "1s")
        self.dice_of_hooks = random.Random(SEED)      # hooks are called when they are called
        self.publishers = [Publisher(self.o, "/f%d.xml" % k, "f%d" % k) for k in range(FEEDS)]
        self.mirrors = []
        self.addCleanup(lambda: [m.close() for m in self.mirrors])

    def title(self):
        return " ".join(self.dice.choice(WORDS) for _ in range(self.dice.randint(1, 3)))

    def filter(self):
        """Of a few words, so that entries move into it and out of it; and of the feeds that it is asked of."""
        a, b = self.dice.sample(WORDS, 2)
        q = self.dice.choice([a, "-" + a, "%s %s" % (a, b), "%s OR %s" % (a, b), '"%s %s"' % (a, b), "%s -%s" % (a, b),
                              "title:" + a, a[:2] + "*", "-%s -%s" % (a, b)])
        params = [("q", q)] if self.dice.random() < 0.7 else []
        if self.dice.random() < 0.3:
            params.append(("author", self.dice.choice(AUTHORS)))
        if not params or self.dice.random() < 0.3:
            params.append((self.dice.choice(["after", "before"]), "2020-01-01T00:00:%02dZ" % self.dice.randint(5, 59)))
        urls = self.dice.sample([p.url for p in self.publishers], self.dice.randint(1, FEEDS))
        return tuple([("url", ",".join(urls))] + params)

    def view(self, params):
        entries = case_get(self, "/feeds?type=json&len=1000&" + query(params)).json["entries"]
        return {e["id"]: e["title"] for e in entries}

    def begin(self, params):
        """A mirror of each kind, from the beginning or from now on."""
        now = self.dice.random() < 0.5
        for kind in MIRRORS:
            cursor = self.d.get("/log?since=end").json["cursor"] if now else ""
            self.mirrors.append(kind(self, params, self.view(params) if now else {}, cursor))

    def change(self):
        """Something happens to some entries of a feed; returns the feed."""
        p = self.dice.choice(self.publishers)
        if self.dice.random() < 0.3:
            p.author = self.dice.choice(AUTHORS)      # of the feed; entries have none of their own
        for _ in range(self.dice.randint(1, 4)):
            name = "e%d" % self.dice.randrange(12)
            if name in p.entries and self.dice.random() < 0.25:
                p.delete(name)
            else:
                p.put(name, self.title())
        return p

    def kill(self, p):
        """In the middle of what the daemon does with the news, if it is so."""
        p.publish()
        self.d.ping(p.url)
        threading.Event().wait(self.dice.choice([0, 0.005, 0.02, 0.05]))
        self.d.kill()
        self.d.start()

    def compare(self):
        for m in self.mirrors:
            want = self.view(m.params)

            def equal(m=m, want=want):
                while m.step(self.dice.choice([1, 3, 1000])):
                    pass
                return m.state == want
            try:
                self.wait(equal, 10)
            except AssertionError:
                self.fail("%s of %r is %r, and should be %r (FEEDMILL_SEED=%d); it was told %r\n%s" % (
                    type(m).__name__, m.params, m.state, want, SEED, m.told, self.d.text()))

    def test_mirrors_equal_the_view(self):
        for p in self.publishers:
            p.author = self.dice.choice(AUTHORS)
            p.put("e0", self.title())
            p.sync(self)
        for _ in range(FILTERS):
            self.begin(self.filter())
        for n in range(ROUNDS):
            p = self.change()
            if n % 8 == 5:
                self.kill(p)
            p.sync(self)
            for m in self.mirrors:
                if self.dice.random() < 0.4:
                    m.step(self.dice.randint(1, 4))
            if n % 6 == 5:
                self.compare()
                for m in self.mirrors[:len(MIRRORS)]:
                    m.close()
                del self.mirrors[:len(MIRRORS)]
                self.begin(self.filter())
        self.compare()
        self.assertGreater(sum(len(m.told) for m in self.mirrors), 0)
