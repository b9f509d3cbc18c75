"""Bounds of what is stored: the size of the database, and what one feed may bring (KEEP-05)."""
import os
import shutil
import tempfile

from .env.case import Case
from .env.origin import rss


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
        self.assert_problem(d.feed(o.set("/new.xml", rss("x"))), 503)
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
        self.assertGreater(size, 3000000)       # so what is written at a start is little of it
        d.args += ["--max-size", str(size * 104 // 100)]
        d.start()
        self.wait(lambda: d.counter("database_fill") == 1, what="the warning", daemon=d)
        names, details = self.warnings(d)
        self.assertEqual(["max-size"], names)
        self.assertIn("90 percent", details[0])
        self.assertIn("effect=warning", d.text())
        self.assertEqual(1, len(d.feed(o.set("/new.xml", rss("x"))).json["entries"]))     # it is still fetched

    def test_what_a_feed_may_bring_within_a_day(self):                    # KEEP-05
        folder = tempfile.mkdtemp(prefix="feedmill-test-")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        clock = os.path.join(folder, "clock")
        d, o = self.daemon("--feed-quota", "5", "--test-clock", clock), self.origin()
        other = o.set("/other.xml", rss("y"))
        url = o.set("/f.xml", rss(*"hgfedcba"))
        d.subscribe(url, other)
        self.wait(lambda: (d.record(url) or {}).get("state") == "quota", what="the state", daemon=d)
        record = d.record(url)
        self.assertIn("5 new entries", record["last_error"])
        self.assertEqual(("quota", 0, 5), (record["next_reason"], record["errors"], record["entries"]))
        self.assertEqual(list("edcba"), [e["title"] for e in d.feed(url).json["entries"]])      # the oldest first
        self.wait(lambda: d.record(other)["state"] == "ok", daemon=d)
        self.assertEqual([1], [f["id"] for f in d.get("/sub/feeds?state=quota").json["feeds"]])
        # more of it is not taken on the same day, but an edit is
        o.set("/f.xml", rss(*"hgfed", "c|2", *"ba"))
        d.ping(url)
        self.wait(lambda: "c|2" in [e["title"] for e in d.feed(url).json["entries"]], what="the edit", daemon=d)
        self.assertEqual(("quota", 5), (d.record(url)["state"], d.record(url)["entries"]))
        with open(clock, "w", encoding="ascii") as f:
            f.write("90000")
        self.wait(lambda: d.record(url)["entries"] == 8, what="the rest on the next day", daemon=d)
        self.wait(lambda: d.record(url)["state"] == "ok", what="the state", daemon=d)
        self.assertIsNone(d.record(url)["last_error"])
