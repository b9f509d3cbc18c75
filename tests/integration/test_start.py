"""What clients hold stays good when the daemon ends and starts again, also with a newer program (ETIQ-12)."""
from .env.case import Case
from .env.daemon import quote
from .env.origin import rss

# Schema 36 did not have these. What it is made of again must be as before.
OLDER = ("ALTER TABLE feeds DROP COLUMN last_seq", "ALTER TABLE feeds DROP COLUMN newest_at")


class Start(Case):
    def setUp(self):
        self.o = self.origin()
        self.d = self.daemon("--keep", "1s")
        self.urls = [self.o.set("/%d.xml" % n, rss(*["f%d e%d" % (n, k) for k in range(n, -1, -1)])) for n in range(4)]
        for url in self.urls:       # one after the other, so the last one has the newest revision
            self.d.feed(url)
        self.d.subscribe(*self.urls)
        self.paths = ["/feeds?type=%s&url=%s" % (form, ",".join(quote(u) for u in urls))
                      for form in ("atom", "json") for urls in (self.urls, self.urls[2:])]

    def tags(self):
        self.d.wait_idle()
        answers = [self.d.get(path) for path in self.paths]
        self.assertEqual([200] * len(answers), [a.status for a in answers])
        return [a.header("ETag") for a in answers], [a.body.replace(self.d.base.encode(), b"") for a in answers]

    def same(self, before):
        for path, tag in zip(self.paths, before[0]):
            self.assertEqual(304, self.d.get(path, If_None_Match=tag).status, path)
        self.assertEqual(before, self.tags())

    def take_all_of_the_last(self):
        """Retention takes what the feed with the newest revision does not show any more."""
        self.o.set("/3.xml", rss())
        self.d.ping(self.urls[3])
        self.wait(lambda: self.d.sql("SELECT n_items FROM feeds ORDER BY url DESC LIMIT 1") == [["0"]], daemon=self.d,
                  what="all entries to be taken")

    def test_tags_stay_after_kill_9(self):                               # ETIQ-12
        before = self.tags()
        self.d.kill()
        self.d.start()
        self.same(before)
        self.take_all_of_the_last()
        seqs = [tag.strip('"').split("-")[2] for tag in before[0]]
        before = self.tags()
        self.assertEqual(seqs, [tag.strip('"').split("-")[2] for tag in before[0]])     # it does not fall
        self.d.kill()
        self.d.start()
        self.same(before)

    def test_news_after_a_start_come_to_who_has_a_tag(self):             # ETIQ-12 FEED-01
        etag = self.tags()[0][0]
        self.d.kill()
        self.d.start()
        self.o.set("/0.xml", rss("news", "f0 e0"))
        self.d.ping(self.urls[0])
        self.d.wait_idle()
        answer = self.d.get(self.paths[0], If_None_Match=etag, A_IM="feed")
        self.assertEqual((226, True, False), (answer.status, b"news" in answer.body, b"f0 e0" in answer.body), answer.body)

    def test_tags_stay_when_an_older_database_is_opened(self):           # ETIQ-12
        before = self.tags()
        self.d.kill()
        for statement in OLDER:
            self.d.sql(statement)
        self.d.sql("UPDATE log SET schema_version = 36" if self.d.db.startswith("postgresql:") else "PRAGMA user_version = 36")
        self.d.start()
        self.same(before)
