"""kill -9 at random moments under load: nothing acknowledged is lost."""
import random
import threading
import time

from .env.case import Case
from .env.daemon import quote
from .env.disk import answers
from .env.origin import Reply, rss
from .env.subscriber import Subscriber
from .env.websub_hub import Hub, atom

KILLS = 20
FEEDS = 6


class Crash(Case):
    def test_kill_9_at_twenty_moments(self):                             # REST-36 PUSH-13, "Nothing lost"
        dice = random.Random(20061)
        o, r = self.origin(), self.receiver()
        d = self.daemon("--min-period", "1s", "--push-first-retry", "200ms", "--fetch-host-gap", "0")
        numbers = [0] * FEEDS
        lock = threading.Lock()

        def document(k):
            def reply(seen):
                with lock:
                    last = numbers[k]
                return Reply(200, rss(*["f%d-%d" % (k, n) for n in range(last, max(-1, last - 60), -1)]))
            return reply

        urls = [o.set("/f%d.xml" % k, document(k)) for k in range(FEEDS)]
        acknowledged = {}
        for u in urls:
            acknowledged[d.subscribe(u, endpoint=r.url, freq=3)] = u
        self.wait(lambda: all((d.record(u) or {}).get("last_check") for u in urls), daemon=d)
        stop, up = threading.Event(), threading.Event()

        def publish():              # only while the daemon runs: a document shows no more than 61 entries
            while not stop.wait(0.05):
                up.wait()
                with lock:
                    numbers[dice.randrange(FEEDS)] += 1

        publisher = threading.Thread(target=publish)
        publisher.start()
        try:
            for _ in range(KILLS):
                up.set()
                until = time.monotonic() + dice.uniform(0.05, 1.2)
                while time.monotonic() < until:
                    k = dice.randrange(FEEDS)
                    try:
                        d.ping(urls[k])
                        if dice.random() < 0.3:
                            sub = d.subscribe(urls[k], endpoint=r.url + "more%d" % len(acknowledged))
                            acknowledged[sub] = urls[k]
                    except OSError:
                        pass
                up.clear()
                d.kill()
                d.start()
        finally:
            stop.set()
            up.set()
            publisher.join()
        for u in urls:
            d.ping(u)
        for k, u in enumerate(urls):
            want = {"f%d-%d" % (k, n) for n in range(numbers[k] + 1)}
            self.wait(lambda: {e["title"] for e in d.feed(u, len=1000).json["entries"]} == want,
                      what="every entry of %s in the store" % u, daemon=d)
        known = {s["id"]: s["urls"] for s in d.get("/sub?type=json").json["subscriptions"]}
        for sub, u in acknowledged.items():
            self.assertEqual([u], known.get(sub), sub)
        for sub in list(acknowledged)[:FEEDS]:
            k = urls.index(acknowledged[sub])
            want = ["f%d-%d" % (k, n) for n in range(1, numbers[k] + 1)]
            self.wait(lambda: set(want) <= set(r.titles(sub)), what="every entry of f%d delivered" % k, daemon=d)
            first_seen = list(dict.fromkeys(r.titles(sub)))
            self.assertEqual(want, first_seen, "order of feed %d" % k)

    def test_a_ping_acknowledged_is_not_forgotten(self):                 # SCHED-07, "Nothing lost"
        o, d = self.origin(), self.daemon("--ping-gap", "1m")
        u = o.set("/f.xml", rss("a"))
        d.subscribe(u)
        self.wait(lambda: (d.record(u) or {}).get("last_check"), what="the first fetch", daemon=d)
        self.assertFalse(d.ping(u)["flerror"])       # its fetch waits: the last one is not a minute old
        d.kill()
        self.assertEqual(1, len(o.seen("/f.xml")))
        d.start()
        self.wait(lambda: len(o.seen("/f.xml")) == 2, what="the fetch that the ping asks for", daemon=d)
        self.wait(lambda: d.record(u)["level"] == 0, what="level 0 after a ping", daemon=d)     # SCHED-04
        self.assertEqual("period", d.record(u)["next_reason"])

    def test_a_ping_during_a_fetch_is_not_forgotten(self):               # SCHED-07, "Nothing lost"
        gate = threading.Event()
        self.addCleanup(gate.set)

        def held(seen):
            gate.wait(60)
            return Reply(200, rss("a"))

        o, d = self.origin(), self.daemon("--ping-gap", "1m")
        u = o.set("/f.xml", held)
        d.subscribe(u)
        self.wait(lambda: len(o.seen("/f.xml")) == 1, what="the first fetch", daemon=d)
        self.assertFalse(d.ping(u)["flerror"])       # what is in flight may be older than its news
        gate.set()
        self.wait(lambda: d.record(u)["last_check"], what="the end of the fetch", daemon=d)
        self.assertEqual("ping", d.record(u)["next_reason"])
        d.kill()
        self.assertEqual(1, len(o.seen("/f.xml")))
        d.start()
        self.wait(lambda: len(o.seen("/f.xml")) == 2, what="the fetch that the ping asks for", daemon=d)
        self.wait(lambda: d.record(u)["next_reason"] == "period", what="the end of the second fetch", daemon=d)


class Acknowledged(Case):
    """What is acknowledged is on disk: while that takes nothing, no answer comes."""
    FORM = {"Content-Type": "application/x-www-form-urlencoded"}

    def setUp(self):
        self.o, self.d = self.origin(), self.daemon()
        self.u = self.o.set("/f.xml", rss("a"))
        self.d.feed(self.u)

    def post(self, path, body):
        return lambda: self.d.call("POST", path, body, self.FORM).status

    def test_subscriptions(self):                                                # REST-23 REST-36
        self.assertEqual((None, 201), answers(self.d, self.post("/sub", "url=" + quote(self.u))))
        self.assertEqual((None, 204), answers(
            self.d, lambda: self.d.call("DELETE", "/sub?id=1").status))

    def test_pings(self):                                                            # SCHED-07
        self.assertEqual((None, 200), answers(
            self.d, lambda: self.d.get("/ping?url=" + quote(self.u)).status))
        self.assertEqual((None, 204), answers(
            self.d, self.post("/hub", "hub.mode=publish&hub.url=" + quote(self.u))))

    def test_requests_at_the_hub(self):                                         # HUB-01 HUB-26
        s = Subscriber()
        self.addCleanup(s.close)
        topic = "%s/feed?type=atom&url=%s" % (self.d.base, quote(self.u))
        rest = "&hub.callback=%s&hub.topic=%s" % (quote(s.url), quote(topic))
        self.assertEqual((None, 202), answers(self.d, self.post("/hub", "hub.mode=subscribe" + rest)))
        self.wait(lambda: s.verifications, what="the verification", daemon=self.d)
        self.assertEqual((None, 202), answers(self.d, self.post("/hub", "hub.mode=unsubscribe" + rest)))

    def test_what_hubs_say_and_deliver(self):                                        # SUBR-300
        hub, u = Hub(verifies=False), self.o.url("/f.atom")
        self.addCleanup(hub.close)
        self.o.set("/f.atom", atom("old", hub=hub.url(), self_=u))
        self.d.subscribe(u)
        self.wait(hub.subscribers, what="the request", daemon=self.d)
        asked = hub.subscribers()[0]
        self.assertEqual((None, 200), answers(self.d, lambda: hub.say(
            asked, "subscribe", challenge="c", lease_seconds=1000)[0]))
        self.assertEqual((None, 200), answers(self.d, lambda: hub.deliver(asked, atom("new"))[0]))
        self.assertEqual({"old", "new"}, {e["title"] for e in self.d.feed(u).json["entries"]})
