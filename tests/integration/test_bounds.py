"""Bounds of what is stored: the size of the database, and what one feed may bring (KEEP-05)."""
import concurrent.futures
import gzip
import os
import shutil
import tempfile
import time

from .env.case import Case
from .env.origin import Reply, rss
from .env.websub_hub import Hub, atom
from .test_catchup import doc, entry, link


class Bounds(Case):
    def warnings(self, d):
        answer = d.get("/readyz")
        self.assertEqual(200, answer.status)
        return answer.json["warnings"], answer.json["details"]

    def test_a_full_database_is_served_but_nothing_is_fetched(self):      # KEEP-05
        d, o, r = self.daemon(), self.origin(), self.receiver()
        url = o.set("/f.xml", rss("b", "a"))
        d.subscribe(url)
        d.feed(url)
        d.wait_idle()
        self.assertEqual(([], []), self.warnings(d))
        d.stop()
        d.args += ["--max-size", "1000"]
        d.start()
        self.wait(lambda: d.counter("database_fill") == 2, what="the database to be full", daemon=d)
        self.assertEqual(1000, d.counter("database_limit_bytes"))
        names, details = self.warnings(d)
        self.assertEqual(["max-size"], names)
        self.assertIn("nothing is fetched", details[0])
        self.assertIn("effect=fetching_pauses", d.text())
        seen = len(o.seen("/f.xml"))
        o.set("/f.xml", rss("c", "b", "a"))
        d.ping(url)
        unknown = d.feed(o.set("/new.xml", rss("x")))
        self.assert_problem(unknown, 503)
        self.assertIn("--max-size", unknown.json["detail"])
        by_hand = d.call("PATCH", "/sub/feed", "id=%d&fetch=1" % d.record(url)["id"],
                         {"Content-Type": "application/x-www-form-urlencoded"})      # CLI-03: `refresh` says it at once
        self.assert_problem(by_hand, 503)
        self.assertIn("--max-size", by_hand.json["detail"])
        # what is stored is served, and pushed
        self.assertEqual(["b", "a"], [e["title"] for e in d.feed(url).json["entries"]])
        d.subscribe(url, endpoint=r.url, from_="start")
        self.wait(lambda: sorted(r.titles()) == ["a", "b"], what="the push", daemon=d)
        self.assertEqual(seen, len(o.seen("/f.xml")))
        # with room again, what waited is fetched
        d.stop()
        d.args[d.args.index("--max-size") + 1] = "1G"
        d.start()
        self.wait(lambda: "c" in [e["title"] for e in d.feed(url).json["entries"]], what="the entry c", daemon=d)
        self.assertEqual(0, d.counter("database_fill"))
        self.assertEqual([], self.warnings(d)[0])

    def test_a_database_that_is_nearly_full(self):                        # KEEP-05
        d, o = self.daemon(), self.origin()
        if d.db.startswith("postgresql:"):
            self.skipTest("its size cannot be set to the byte")
        url = o.set("/f.xml", rss(*[("t%d" % n, None, "<x:y xmlns:x='urn:x:y'>%s</x:y>" % ("word " * 4000))
                                    for n in range(200)]))
        d.feed(url)
        d.wait_idle()
        d.stop()
        size = os.path.getsize(d.db)
        self.assertGreater(size, 3000000)
        # it is at 92 %: 8 % are left for what a start writes into the write-ahead log, and 2 % may be free pages
        d.args += ["--max-size", str(size * 108 // 100)]
        d.start()
        self.wait(lambda: d.counter("database_fill") == 1, what="the warning", daemon=d)
        names, details = self.warnings(d)
        self.assertEqual(["max-size"], names)
        self.assertIn("90 percent", details[0])
        self.assertIn("effect=warning", d.text())
        self.assertEqual(1, len(d.feed(o.set("/new.xml", rss("x"))).json["entries"]))     # it is still fetched

    def test_many_feeds_at_once_pass_the_bound_by_little(self):           # KEEP-05
        bound = 20000000
        d, o = self.daemon("--max-size", str(bound), "--fetch-host-gap", "0ms", "--fetch-per-host", "100"), self.origin()
        if d.db.startswith("postgresql:"):
            self.skipTest("its files are not here")
        text = ["%s%d %s" % ("t", n, " ".join("w%d" % (n * k % 7919) for k in range(400))) for n in range(50)]
        urls = [o.set("/%d.xml" % k, rss(*["%d %s" % (k, t) for t in text])) for k in range(300)]    # 100 MB and more
        for i in range(0, len(urls), 50):
            d.subscribe(*urls[i:i + 50])
        self.wait(lambda: "effect=fetching_pauses" in d.text(), what="the database to be full", daemon=d)
        self.assertLess(d.text().index("effect=warning"), d.text().index("effect=fetching_pauses"))
        most, fetched = 0, d.counter("fetch_total")
        for _ in range(30):
            most = max(most, sum(os.path.getsize(f) for f in (d.db, d.db + "-wal")))
            self.assertEqual(200, d.get("/log?since=start&max=1").status)                           # it is served
            time.sleep(0.1)
        self.assertLess(most, bound + 15000000)                      # docs/upkeep.md: some ten million
        self.assertLess(fetched, 200)

    def test_pages_that_lead_to_feeds_give_their_room_back(self):         # KEEP-05
        d, o = self.daemon("--max-size", "30000000", "--fetch-host-gap", "0ms"), self.origin()
        for n in range(12):                                               # 2 MB each, with what is set aside for them
            feed = o.set("/f%d" % n, rss("a"))
            page = "<html><head><link rel='alternate' type='application/rss+xml' href='%s'></head>%s</html>"
            o.set("/page%d" % n, Reply(200, page % (feed, "<p>word</p>" * 22000), Content_Type="text/html"))
            self.assertEqual(["a"], [e["title"] for e in d.feed(o.url("/page%d" % n)).json["entries"]])

    def pushed_to(self, *args):
        """A daemon with an active subscription at a hub: (daemon, publisher, hub, request)."""
        o, hub, d = self.origin(), Hub(), self.daemon(*args)
        self.addCleanup(hub.close)
        url = o.url("/f.atom")
        o.set("/f.atom", atom("old", hub=hub.url(), self_=url))
        d.subscribe(url)
        self.wait(lambda: (d.record(url) or {}).get("hub_state") == "active", what="the subscription", daemon=d)
        return d, o, hub, hub.subscribers()[0]

    def pushed(self, k, n):
        """A document of about 4 kB an entry, as text."""
        words = " ".join("w%d" % (k * n * j % 7919) for j in range(600))
        return atom(*["%d-%d" % (k, i) for i in range(n)]).replace("<content>c", "<content>%s" % words)

    def test_pushes_keep_the_bound_too(self):                             # KEEP-05
        bound = 20000000
        d, o, hub, asked = self.pushed_to("--max-size", str(bound))
        if d.db.startswith("postgresql:"):
            self.skipTest("its files are not here")
        statuses, most = [], 0
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            bodies = (gzip.compress(self.pushed(k, 200).encode()) for k in range(1, 81))       # 70 MB, coded 1 % of that
            for status, _ in pool.map(lambda body: hub.deliver(asked, body, coding="gzip"), bodies):
                statuses.append(status)
                most = max(most, sum(os.path.getsize(f) for f in (d.db, d.db + "-wal") if os.path.exists(f)))
        self.assertLess(most, bound + 15000000)                          # docs/upkeep.md
        self.assertLessEqual(set(statuses), {200, 202, 503})
        self.assertIn(503, statuses)
        self.assertGreater(statuses.count(200) + statuses.count(202), 2)

    def test_pushes_give_their_room_back(self):                           # KEEP-05
        d, o, hub, asked = self.pushed_to("--max-size", "40000000", "--fetch-host-gap", "0ms")
        long = self.pushed(1, 150)                                        # 5 MB with what is set aside for it
        coded = gzip.compress(long.encode())

        def told(body, **how):
            """503 is "not now": until the database was measured once more there may be no room."""
            answers = []

            def tell():
                answers.append(hub.deliver(asked, body, **how)[0])
                return answers[-1] != 503

            self.wait(tell, what="an answer but 503", daemon=d)
            return answers[-1]

        for _ in range(6):
            self.assertEqual(202, told(long, secret="forged"))
            self.assertEqual(403, told(long, method=None))
            self.assertEqual(400, told(long, coding="gzip"))
            self.assertEqual(400, told(coded[:-20], coding="gzip"))
            self.assertEqual(413, told(gzip.compress(b" " * 40_000_000), coding="gzip"))
            self.assertIn(told("<html>" + long), (200, 202))               # not a feed
            self.assertIn(told(coded, coding="gzip"), (200, 202))          # what is known, from the second time on
        self.assertEqual(["a"], [e["title"] for e in d.feed(o.set("/new.xml", rss("a"))).json["entries"]])
        page = rss(*["%d %s" % (n, "word " * 200) for n in range(600)])
        self.assertEqual(50, len(d.feed(o.set("/long.xml", page)).json["entries"]))
        self.assertIn(told(self.pushed(2, 150)), (200, 202))

    def test_what_a_feed_may_bring_within_a_day(self):                    # KEEP-05
        folder = tempfile.mkdtemp(prefix="feedmill-test-")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        clock = os.path.join(folder, "clock")
        d, o, r = self.daemon("--feed-quota", "5", "--test-clock", clock), self.origin(), self.receiver()
        other = o.set("/other.xml", rss("y"))
        # what was there before anyone looked does not count, nor does the past
        url = o.set("/f.xml", rss(*"zyxwvut"))
        o.set("/a1", doc("<fh:archive/>", link("current", "/p"), *[entry("e%d" % n, n) for n in range(7)]))
        past = o.set("/p", doc(link("prev-archive", "/a1"), entry("e7", 7)))
        d.subscribe(url, other, past, endpoint=r.url)
        for feed, n in (url, 7), (other, 1), (past, 8):
            self.wait(lambda: (d.record(feed) or {}).get("entries") == n, what="%d entries" % n, daemon=d)
        d.wait_idle()
        self.assertEqual([], d.get("/sub/feeds?state=quota").json["feeds"])
        o.set("/p", doc(link("prev-archive", "/a1"), entry("e7", 7), entry("e8", 8)))
        d.ping(past)
        self.wait(lambda: d.record(past)["entries"] == 9, what="the entry e8", daemon=d)
        self.assertEqual("ok", d.record(past)["state"])
        # what is new does, and the newest of it are taken
        o.set("/f.xml", rss(*"hgfedcbazyxwvut"))
        d.ping(url)
        self.wait(lambda: d.record(url)["state"] == "quota", what="the state", daemon=d)
        record = d.record(url)
        self.assertIn("5 new entries", record["last_error"])
        self.assertEqual(("quota", 0, 12), (record["next_reason"], record["errors"], record["entries"]))
        self.assertEqual(list("hgfed"), [e["title"] for e in d.feed(url).json["entries"]][:5])
        self.assertEqual([record["id"]], [f["id"] for f in d.get("/sub/feeds?state=quota").json["feeds"]])
        # more of it is not taken on the same day, but an edit is
        o.set("/f.xml", rss(*"hg", "f|2", *"edcbazyxwvut"))
        d.ping(url)
        self.wait(lambda: "f|2" in [e["title"] for e in d.feed(url).json["entries"]], what="the edit", daemon=d)
        self.assertEqual(("quota", 12), (d.record(url)["state"], d.record(url)["entries"]))
        with open(clock, "w", encoding="ascii") as f:
            f.write("90000")
        self.wait(lambda: d.record(url)["entries"] == 15, what="the rest on the next day", daemon=d)
        self.wait(lambda: d.record(url)["state"] == "ok", what="the state", daemon=d)
        self.assertIsNone(d.record(url)["last_error"])
        self.wait(lambda: set("abcdefgh") < set(r.titles()), what="the pushes", daemon=d)
        self.assertFalse(set("zyxwvut") & set(r.titles()))

    def test_what_a_hub_delivers_beyond_it_is_told_to_be_missed(self):    # KEEP-05
        hub = Hub()
        self.addCleanup(hub.close)
        d, o = self.daemon("--feed-quota", "5"), self.origin()
        url = o.url("/f.atom")
        o.set("/f.atom", atom("old", hub=hub.url(), self_=url))
        d.subscribe(url)
        self.wait(lambda: (d.record(url) or {}).get("hub_state") == "active", what="the hub", daemon=d)
        for titles in "abcdefgh", "ijk":
            self.assertEqual(2, hub.deliver(hub.subscribers("subscribe")[0], atom(*titles))[0] // 100)
            d.wait_idle()
        self.assertEqual(("quota", "quota", 6), tuple(d.record(url)[k] for k in ("state", "next_reason", "entries")))
        self.assertEqual([["4"]], d.sql("SELECT kind FROM feed_events"))        # a gap, told once
