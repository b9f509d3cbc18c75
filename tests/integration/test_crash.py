"""kill -9 at random moments under load: nothing acknowledged is lost."""
import random
import threading
import time

from .env.case import Case
from .env.daemon import quote
from .env.origin import Reply, rss

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
        stop = threading.Event()

        def publish():
            while not stop.wait(0.05):
                with lock:
                    numbers[dice.randrange(FEEDS)] += 1

        publisher = threading.Thread(target=publish)
        publisher.start()
        try:
            for _ in range(KILLS):
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
                d.kill()
                d.start()
        finally:
            stop.set()
            publisher.join()
        for u in urls:
            d.ping(u)
        for k, u in enumerate(urls):
            want = {"f%d-%d" % (k, n) for n in range(numbers[k] + 1)}
            self.wait(lambda: {e["title"] for e in d.feed(u, len=1000).json["entries"]} == want, 20,
                      "every entry of %s in the store" % u, d)
        known = {s["id"]: s["urls"] for s in d.get("/sub?type=json").json["subscriptions"]}
        for sub, u in acknowledged.items():
            self.assertEqual([u], known.get(sub), sub)
        for sub in list(acknowledged)[:FEEDS]:
            k = urls.index(acknowledged[sub])
            want = ["f%d-%d" % (k, n) for n in range(1, numbers[k] + 1)]
            self.wait(lambda: set(want) <= set(r.titles(sub)), 30, "every entry of f%d delivered" % k, d)
            first_seen = list(dict.fromkeys(r.titles(sub)))
            self.assertEqual(want, first_seen, "order of feed %d" % k)

    def test_a_ping_acknowledged_is_not_forgotten(self):                 # SCHED-07, "Nothing lost"
        o, d = self.origin(), self.daemon("--ping-gap", "1m")
        u = o.set("/f.xml", rss("a"))
        d.subscribe(u)
        self.wait(lambda: (d.record(u) or {}).get("last_check"), 20, "the first fetch", d)
        self.assertFalse(d.ping(u)["flerror"])       # its fetch waits: the last one is not a minute old
        d.kill()
        self.assertEqual(1, len(o.seen("/f.xml")))
        d.start()
        self.wait(lambda: len(o.seen("/f.xml")) == 2, 20, "the fetch that the ping asks for", d)
        self.wait(lambda: d.record(u)["level"] == 0, 20, "level 0 after a ping", d)     # SCHED-04
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
        self.wait(lambda: len(o.seen("/f.xml")) == 1, 20, "the first fetch", d)
        self.assertFalse(d.ping(u)["flerror"])       # what is in flight may be older than its news
        gate.set()
        self.wait(lambda: d.record(u)["last_check"], 20, "the end of the fetch", d)
        self.assertEqual("ping", d.record(u)["next_reason"])
        d.kill()
        self.assertEqual(1, len(o.seen("/f.xml")))
        d.start()
        self.wait(lambda: len(o.seen("/f.xml")) == 2, 20, "the fetch that the ping asks for", d)
        self.wait(lambda: d.record(u)["next_reason"] == "period", 20, "the end of the second fetch", d)
