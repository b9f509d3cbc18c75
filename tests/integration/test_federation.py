"""One Feedmill takes from another what that has: its whole archive, edits and deletions, across restarts
of either."""
import random

from .env.case import Case
from .env.daemon import quote
from .env.publisher import Publisher


class Federation(Case):
    def setUp(self):
        self.o = self.origin()
        self.d = self.daemon("--archive-size", "5")     # near the publisher
        self.far = self.daemon()                          # takes from the first
        self.p = Publisher(self.o)

    def mirrored(self, url):
        entries = self.far.feed(url, len=1000).json["entries"]
        return {e["id"]: e["title"] for e in entries}

    def stir(self, chance, turn):
        """A few entries more, an edit, a deletion."""
        for n in range(4):
            self.p.put("n%d.%d" % (turn, n), "t%d.%d" % (turn, n))
        self.p.put(chance.choice(sorted(self.p.entries)), "edit %d" % turn)
        self.p.delete(chance.choice(sorted(self.p.entries)))

    def state(self):
        return {"urn:pub:p:" + n: t for n, (t, _) in self.p.entries.items()}

    def follow(self, turns, disturb, pings, more=""):
        """The far one follows the near one's stream through so many changes."""
        chance = random.Random(11)
        for n in range(130):
            self.p.put("n%d" % n, "t%d" % n)
        self.p.sync(self)
        url = "%s/smart/?url=%s%s" % (self.d.base, quote(self.p.url), more)
        self.far.subscribe(url)
        self.wait(lambda: self.mirrored(url) == self.state(), what="the backlog", daemon=self.far)
        for turn in range(turns):
            self.stir(chance, turn)
            self.p.publish()
            if turn in disturb:
                disturb[turn]()
            self.d.ping(self.p.url)
            if turn % 3 == 0:
                self.p.sync(self)
            if pings:
                self.far.ping(url)
        self.p.sync(self)

        def there():
            if pings:
                self.far.ping(url)
            return self.mirrored(url) == self.state()
        self.wait(there, what="the same state", daemon=self.far)
        return url

    def again(self, daemon):
        def kill_9():
            daemon.kill()
            daemon.start()
        return kill_9

    def test_a_stream_is_mirrored_by_cursor(self):                          # SMARTC-12
        far, near = self.again(self.far), self.again(self.d)
        url = self.follow(18, {4: far, 7: near, 10: far, 11: near, 15: far}, True)
        self.far.ping(url)
        cursor = self.d.get("/smart/?url=%s&order=-modified&max=1" % quote(self.p.url)).json["last_cursor"]
        self.wait(lambda: self.far.record(url)["cursor"] == cursor, what="the end", daemon=self.far)
        # each item was stored once, and nothing that did not change
        self.assertEqual([], self.far.sql(
            "SELECT entry_id FROM revisions WHERE kind = 0 GROUP BY entry_id HAVING count(*) > 1"))
        self.assertEqual(url, self.far.record(url)["url"])

    def test_a_mirror_has_the_order_of_the_original(self):                  # SMARTC-12
        url = self.follow(0, {}, False)

        def items(daemon, url):
            page = daemon.get("/smart?timeout=0&max=1000&url=" + quote(url)).json["items"]
            return [(i["id"], "deleted" in i) for i in page]
        self.assertEqual(items(self.d, self.p.url), items(self.far, url))
        for change in (lambda: self.p.put("n200", "new"), lambda: self.p.delete("n7"),
                       lambda: self.p.put("n201", "new"), lambda: self.p.put("n3", "edited")):
            change()                                     # each an event there, all one piece here
            self.p.sync(self)
        self.far.ping(url)
        self.wait(lambda: self.mirrored(url) == self.state(), what="the changes", daemon=self.far)
        self.assertEqual(items(self.d, self.p.url), items(self.far, url))

    def pushed(self, more):
        url = self.follow(3, {}, False, more)
        self.wait(lambda: self.far.record(url)["hub_state"] == "active", daemon=self.far)
        chance, n_pulls, n = random.Random(12), 0, self.far.counter("upstream_deliveries_total")
        for turn in range(6):
            self.stir(chance, 100 + turn)
            self.p.sync(self)
            self.wait(lambda: self.mirrored(url) == self.state(), what="the push", daemon=self.far)
            if turn == 1:                                   # what came before the hub was pulled
                self.d.wait_idle()
                self.far.ping(url)
                self.far.wait_idle()
                n_pulls = self.far.counter("fetch_total")
        self.d.wait_idle()
        self.far.wait_idle()
        self.assertEqual(n_pulls, self.far.counter("fetch_total"))      # each push follows the last
        self.assertGreaterEqual(self.far.counter("upstream_deliveries_total"), n + 4)

    def test_a_stream_is_mirrored_by_push(self):                             # SMARTC-12 SMARTC-09
        self.pushed("")

    def test_a_stream_is_mirrored_by_push_of_json(self):                     # SMARTC-12 SMARTC-09
        self.pushed("&type=json")

    def test_a_stream_is_mirrored_as_json(self):                            # SMARTC-12
        far, near = self.again(self.far), self.again(self.d)
        url = self.follow(6, {1: near, 3: far}, True, "&type=json")
        mine, theirs = ({e["id"]: e for e in d.feed(u, len=1000).json["entries"]}
                        for d, u in ((self.far, url), (self.d, self.p.url)))
        for name, entry in theirs.items():
            for member in "title", "link", "summary", "updated":
                self.assertEqual(entry.get(member), mine[name].get(member))

    def test_a_stream_is_mirrored_by_push_across_crashes(self):              # SMARTC-12
        far, near = self.again(self.far), self.again(self.d)
        self.follow(12, {3: far, 6: near, 9: far}, False)

    def test_an_archive_is_taken_whole(self):               # ARCHC-01 ARCHC-02 ARCHC-03 TOMB-02
        chance, names = random.Random(5), 0
        for _ in range(23):
            self.p.put("n%d" % names, "t%d" % names)
            names += 1
        self.p.sync(self)
        url = "%s/archive?url=%s" % (self.d.base, quote(self.p.url))
        wanted = {"urn:pub:p:" + n: t for n, (t, _) in self.p.entries.items()}
        self.wait(lambda: self.mirrored(url) == wanted, what="the whole archive", daemon=self.far)
        for turn in range(6):
            for _ in range(4):
                self.p.put("n%d" % names, "t%d" % names)
                names += 1
            self.p.put(chance.choice(sorted(self.p.entries)), "edit %d" % turn)
            self.p.delete(chance.choice(sorted(self.p.entries)))
            if turn == 2:
                self.far.kill()                             # it misses a few documents
            self.p.sync(self)
            if turn == 4:
                self.far.start()
                self.d.kill()
                self.d.start()
            if turn in (2, 3):
                continue
            wanted = {"urn:pub:p:" + n: t for n, (t, _) in self.p.entries.items()}

            def there():
                self.far.ping(url)
                return self.mirrored(url) == wanted
            self.wait(there, what="the state after turn %d" % turn, daemon=self.far)
