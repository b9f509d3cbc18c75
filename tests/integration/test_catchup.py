"""Publishers with a past elsewhere: ARCHC-*, FHC-*, what complete feeds are shown as (ARCH-13, FH-04),
tombstones that come in (TOMB-05, TOMB-06)."""
from .env.archives import AT, FH, Document, chain, reconstruct, when
from .env.case import Case
from .env.daemon import quote
from .env.origin import Reply, moved

NS = ('xmlns="http://www.w3.org/2005/Atom" xmlns:at="http://purl.org/atompub/tombstones/1.0" '
      'xmlns:fh="http://purl.org/syndication/history/1.0"')


def entry(name, second, title=None):
    """An entry whose date is that second of 2020."""
    return ("<entry><id>urn:cat:%s</id><title>%s</title><updated>%s</updated>"
            '<link href="http://c.example/%s"/><content>of %s</content></entry>'
            % (name, title or name, date(second), name, name))


def date(second):
    return "2020-01-01T%02d:%02d:%02dZ" % (second // 3600, second // 60 % 60, second % 60)


def link(rel, href):
    return '<link rel="%s" href="%s"/>' % (rel, href)


def stone(name, second):
    return '<at:deleted-entry ref="urn:cat:%s" when="%s"/>' % (name, date(second))


def doc(*parts, attributes=""):
    return ("<feed %s %s><id>urn:cat:feed</id><title>C</title><updated>2020-01-01T00:00:00Z</updated>%s"
            "</feed>" % (NS, attributes, "".join(parts)))


class Followed(Case):
    ARGS = ()

    def setUp(self):
        self.o = self.origin()
        self.d = self.daemon(*self.ARGS)

    def titles(self, url, **params):
        answer = self.d.feed(url, len=1000, **params)
        self.assertEqual(200, answer.status, answer.body)
        if answer.json.get("partial"):      # the first answer does not wait for ever for the past
            self.wait(lambda: not self.partial(url) or self.d.counter("work_pending") == 0, daemon=self.d)
            answer = self.d.feed(url, len=1000, **params)
        return sorted(e["title"] for e in answer.json["entries"])

    def partial(self, url):
        return self.d.feed(url).json.get("partial", False)

    def wait_titles(self, url, *wanted):
        self.wait(lambda: self.titles(url) == sorted(wanted), what="the entries %r" % (wanted,),
                  daemon=self.d)

    def wait_whole(self, url):
        self.wait(lambda: not self.partial(url), what="the whole of it", daemon=self.d)

    def ping(self, url, path, n=None):
        """Ping, and wait until the document has been asked for n times in all (default: again)."""
        n = n or len(self.o.seen(path)) + 1
        self.d.ping(url)
        self.wait(lambda: len(self.o.seen(path)) >= n, what="request %d of %s" % (n, path), daemon=self.d)

    def poll_over(self, url, path):
        """Wait until the polls that have begun are over, with all that they read and stored: a feed is
        polled once at a time, so the next poll begins after them."""
        self.ping(url, path)

    def three(self):
        """A feed with two archives."""
        self.o.set("/a1", doc("<fh:archive/>", link("current", "/f"), link("next-archive", "/a2"),
                              entry("e1", 1), entry("e2", 2)))
        self.o.set("/a2", doc("<fh:archive/>", link("current", "/f"), link("prev-archive", "/a1"),
                              entry("e3", 3), entry("e4", 4)))
        return self.o.set("/f", doc(link("prev-archive", "/a2"), entry("e5", 5)))

    def counts(self, *paths):
        return [len(self.o.seen(p)) for p in paths]


class Archives(Followed):
    def test_the_chain_is_read_with_the_first_fetch(self):            # ARCHC-01
        self.assertEqual(["e1", "e2", "e3", "e4", "e5"], self.titles(self.three()))
        self.assertNotIn("partial", self.d.feed(self.o.url("/f")).json)

    def test_the_chain_of_an_rss_feed(self):                          # ARCHC-01
        head = '<atom:link xmlns:atom="http://www.w3.org/2005/Atom" rel="%s" href="%s"/>'

        def rss(links, *items):
            return ('<rss version="2.0"><channel><title>r</title><link>http://r.example/</link>'
                    "<description>d</description>%s%s</channel></rss>" % (links, "".join(
                        "<item><guid isPermaLink='false'>g%s</guid><title>%s</title><pubDate>"
                        "Wed, 01 Jan 2020 00:00:0%s GMT</pubDate></item>" % (i[1], i, i[1])
                        for i in items)))
        self.o.set("/r1", rss("", "e1", "e2"))
        self.o.set("/r2", rss(head % ("prev-archive", self.o.url("/r1")), "e2", "e3"))
        url = self.o.set("/r", rss(head % ("prev-archive", self.o.url("/r2")), "e4"))
        self.assertEqual(["e1", "e2", "e3", "e4"], self.titles(url))

    def test_what_was_read_is_not_fetched_again(self):                # ARCHC-02
        url = self.three()
        self.assertEqual(5, len(self.titles(url)))
        self.o.set("/f", doc(link("prev-archive", "/a2"), entry("e6", 6), entry("e5", 5)))
        self.ping(url, "/f")
        self.wait_titles(url, "e1", "e2", "e3", "e4", "e5", "e6")
        self.o.set("/a3", doc("<fh:archive/>", link("prev-archive", "/a2"), entry("e5", 5),
                              entry("e6", 6), entry("e7", 7)))
        self.o.set("/f", doc(link("prev-archive", "/a3"), entry("e8", 8)))
        self.ping(url, "/f")
        self.wait_titles(url, *("e%d" % n for n in range(1, 9)))
        self.wait_whole(url)
        self.d.stop()
        self.d.start()
        self.o.set("/f", doc(link("prev-archive", "/a3"), entry("e9", 9), entry("e8", 8)))
        self.ping(url, "/f")
        self.wait_titles(url, *("e%d" % n for n in range(1, 10)))
        self.assertEqual([1, 1, 1], self.counts("/a1", "/a2", "/a3"))

    def test_the_newer_version_counts_wherever_it_is(self):           # ARCHC-03
        self.o.set("/a", doc(entry("x", 1, "OLD"), entry("y", 9, "NEW"), entry("z", 5, "same")))
        url = self.o.set("/f", doc(link("prev-archive", "/a"), entry("x", 2, "NEW"),
                                   entry("y", 3, "OLD"), entry("z", 5, "shown")))
        self.assertEqual(["NEW", "NEW", "shown"], self.titles(url))

    def test_versions_within_one_document(self):                      # ARCHC-03
        self.o.set("/a", doc(entry("x", 1, "first"), entry("x", 3, "third"), entry("x", 2, "two")))
        url = self.o.set("/f", doc(link("prev-archive", "/a"), entry("y", 4)))
        self.assertEqual(["third", "y"], self.titles(url))

    def test_a_complete_document_is_not_archived_nor_paged(self):           # ARCH-02 ARCH-12 ARCH-13
        url = self.o.set("/f", doc("<fh:complete/>", *(entry("e%d" % i, i) for i in range(60))))
        for kind in ("atom", "rss"):
            for more in ({}, {"page": 1}):
                body = self.d.feed(url, type=kind, len=1000, **more).body.decode()
                self.assertEqual(not more, "fh:complete" in body, body[:2000])
                self.assertNotIn("prev-archive", body)

    def test_a_complete_feed_loses_what_it_does_not_show(self):       # ARCHC-04 PMHC-07 ARCH-13
        names = ["e1", "e2", "e3", "e4"]
        url = self.o.set("/f", doc("<fh:complete/>", *(entry(n, 1) for n in names)))
        self.assertEqual(names, self.titles(url))
        for kind in "atom", "rss":
            body = self.d.feed(url, type=kind).body.decode()
            self.assertEqual(1, body.count("fh:complete"), body)
        self.assertNotIn("complete", self.d.feed(url, type="atom", len=2).body.decode())
        self.o.set("/f", doc("<fh:complete/>", entry("e1", 1), entry("e3", 1)))
        self.ping(url, "/f")
        self.wait_titles(url, "e1", "e3")
        self.assertIn(b"fh:complete", self.d.feed(url, type="atom").body)
        self.o.set("/f", doc(entry("e1", 1)))
        self.ping(url, "/f")
        self.wait(lambda: b"complete" not in self.d.feed(url, type="atom").body,
                  what="the end of completeness", daemon=self.d)
        self.assertEqual(["e1", "e3"], self.titles(url))

    def test_what_a_complete_feed_loses_on_its_way_is_not_lost(self):  # ARCHC-04
        entries = [entry("e%d" % n, n) for n in range(4)]
        whole = doc("<fh:complete/>", *entries)
        url = self.o.set("/f", whole)
        self.assertEqual(4, len(self.titles(url)))
        for broken in (Reply(200, whole[:whole.index("<title>e2")]),
                       Reply(200, whole[:-len("</feed>")]),
                       Reply(200, whole[:whole.index("<entry")]),
                       Reply(200, whole, length=len(whole) + 9), Reply(500, "oops"),
                       Reply(200, ""), Reply(200, "<html>maintenance</html>"), Reply(404, "no")):
            self.o.set("/f", broken)
            self.ping(url, "/f")
            self.poll_over(url, "/f")
            self.assertEqual(["e0", "e1", "e2", "e3"], self.titles(url))
        # a wrong media type says nothing of the document's end
        self.o.set("/f", doc("<fh:complete/>", *entries[:2]), Content_Type="text/plain")
        self.ping(url, "/f")
        self.wait_titles(url, "e0", "e1")

    def test_links_are_resolved_against_the_base(self):               # ARCHC-05
        self.o.set("/deep/er/old", doc(entry("e1", 1)))
        url = self.o.set("/f", doc('<link rel="prev-archive" xml:base="er/" href="old"/>',
                                   entry("e2", 2), attributes='xml:base="/deep/"'))
        self.assertEqual(["e1", "e2"], self.titles(url))
        self.assertEqual(1, len(self.o.seen("/deep/er/old")))

    def test_loops_end(self):                                         # ARCHC-06
        self.o.set("/a", doc(link("prev-archive", "/b"), entry("a", 1)))
        self.o.set("/b", doc(link("prev-archive", "/a"), entry("b", 2)))
        url = self.o.set("/f", doc(link("prev-archive", "/a"), entry("f", 3)))
        self.assertEqual(["a", "b", "f"], self.titles(url))
        self.assertEqual([1, 1], self.counts("/a", "/b"))
        me = self.o.set("/me", doc(link("prev-archive", "/me"), entry("m", 3)))
        self.assertEqual(["m"], self.titles(me))
        self.assertEqual([1], self.counts("/me"))

    def test_a_missing_archive_is_asked_for_again(self):              # ARCHC-08
        self.o.set("/a1", doc(entry("e1", 1)))
        url = self.o.set("/f", doc(link("prev-archive", "/a2"), entry("e3", 3)))
        self.assertEqual(["e3"], self.titles(url))
        self.assertIs(True, self.d.feed(url).json["partial"])
        self.assertIs(True, self.d.record(url)["partial"])
        self.assertEqual(1, len(self.o.seen("/a2")))
        self.o.set("/a2", doc(link("prev-archive", "/a1"), entry("e2", 2)))

        def asked_again():
            self.d.ping(url)
            return len(self.o.seen("/a2")) > 1
        self.wait(asked_again, what="another request for the archive", daemon=self.d)
        self.wait_titles(url, "e1", "e2", "e3")
        self.wait_whole(url)
        self.assertIs(False, self.d.record(url)["partial"])

    def test_an_archive_that_is_no_feed(self):                        # ARCHC-08
        self.o.set("/a", "<html><body>gone</body></html>")
        url = self.o.set("/f", doc(link("prev-archive", "/a"), entry("e3", 3)))
        self.assertEqual(["e3"], self.titles(url))
        self.assertTrue(self.partial(url))

    def test_an_archive_that_was_cut_is_read_again(self):             # ARCHC-08
        self.o.set("/a1", doc(entry("e1", 1)))
        whole = doc(link("prev-archive", "/a1"), entry("e3", 3), entry("e2", 2))
        self.o.set("/a2", Reply(200, whole[:whole.index("<title>e2")]), whole)
        url = self.o.set("/f", doc(link("prev-archive", "/a2"), entry("e4", 4)))
        self.titles(url)

        def whole_now():
            self.d.ping(url)
            return self.titles(url) == ["e1", "e2", "e3", "e4"] and not self.partial(url)
        self.wait(whole_now, what="the whole of it", daemon=self.d)
        self.assertEqual([1, 2], self.counts("/a1", "/a2"))

    def test_an_archive_that_is_always_broken_is_given_up(self):      # ARCHC-08
        self.o.set("/a", doc(entry("e1", 1))[:-7])
        url = self.o.set("/f", doc(link("prev-archive", "/a"), entry("e2", 2)))
        self.assertEqual(["e1", "e2"], self.titles(url))

        def whole_now():
            self.d.ping(url)
            return not self.partial(url)
        self.wait(whole_now, what="the end of it", daemon=self.d)
        self.assertEqual([3], self.counts("/a"))

    def test_a_past_that_is_not_led_to_any_more_is_not_missed(self):  # ARCHC-08
        url = self.o.set("/f", doc(link("prev-archive", "/no"), entry("e3", 3)))
        self.assertEqual(["e3"], self.titles(url))
        self.assertTrue(self.partial(url))
        self.o.set("/f", doc(entry("e3", 3)))
        self.ping(url, "/f")
        self.wait_whole(url)

    def test_an_archive_leads_to_the_feed(self):                      # ARCHC-09
        self.three()
        url = self.o.url("/a1")
        self.assertEqual(["e1", "e2", "e3", "e4", "e5"], self.titles(url))
        self.assertEqual(self.o.url("/f"), self.d.record(self.o.url("/f"))["url"])
        self.assertEqual(["e1", "e2", "e3", "e4", "e5"], self.titles(self.o.url("/f")))
        self.o.set("/f", doc(link("prev-archive", "/a2"), entry("e6", 6), entry("e5", 5)))
        self.ping(self.o.url("/f"), "/f")
        self.wait(lambda: "e6" in self.titles(url), what="the news under the archive's address",
                  daemon=self.d)

    def test_a_feed_that_an_archive_cannot_lead_to(self):             # ARCHC-09
        """`current` fails: the archive stands for the feed, until there is one."""
        for n, broken in enumerate((Reply(500, "oops"), Reply(404, "no"), "no feed at all")):
            current, old = "/current%d" % n, "/old%d" % n
            self.o.set(current, broken)
            url = self.o.set(old, doc("<fh:archive/>", link("current", current), entry("e1", 1)),
                             ETag='"v1"')
            self.assertEqual(["e1"], self.titles(url))
            self.o.set(current, doc(link("prev-archive", old), entry("e2", 2)))
            self.ping(url, current)
            self.wait_titles(url, "e1", "e2")
            self.wait(lambda: self.d.record(self.o.url(current)), what="its own URL", daemon=self.d)

    def test_a_record_that_moves_into_another_with_its_past(self):
        """Two addresses of one feed, both fetched for the first time, one redirecting."""
        url = self.three()
        self.o.set("/moved", Reply(301, "", Location="/f"))
        moved = self.o.url("/moved")
        self.d.subscribe(moved, url)
        self.wait(lambda: self.titles(url) == ["e1", "e2", "e3", "e4", "e5"], what="all", daemon=self.d)
        self.wait_whole(url)
        self.assertEqual(["e1", "e2", "e3", "e4", "e5"], self.titles(moved))
        self.assertEqual(self.d.record(url)["id"], self.d.get(
            "/sub?type=json&all=1").json["feeds"][0]["id"])
        self.assertEqual([1, 1], self.counts("/a1", "/a2"))

    def test_a_past_that_moves_along_half_read(self):
        self.o.set("/a1", doc("<fh:archive/>", entry("e1", 1)))
        old = self.o.set("/old", doc(link("prev-archive", "/a2"), entry("e3", 3)))
        self.assertEqual(["e3"], self.titles(old))
        self.assertTrue(self.partial(old))
        url = self.o.set("/f", doc(entry("e4", 4)))
        self.assertEqual(["e4"], self.titles(url))
        self.o.set("/a2", doc("<fh:archive/>", link("prev-archive", "/a1"), entry("e2", 2)))
        self.o.set("/f", doc(link("prev-archive", "/a2"), entry("e4", 4), entry("e3", 3)))
        self.o.set("/old", moved(url))

        def whole():
            self.d.ping(old)
            return self.titles(url) == ["e1", "e2", "e3", "e4"]
        self.wait(whole, what="the past under the other record", daemon=self.d)
        self.wait_whole(url)

    def test_pages_are_not_archives(self):                            # ARCHC-10 FHC-03
        url = self.o.set("/f", doc(link("next", "/p2"), link("last", "/p9"), link("first", "/f"),
                                   link("prev", "/p0"), link("previous", "/p0"),
                                   link("current", "/f"), entry("e", 1)))
        self.assertEqual(["e"], self.titles(url))
        self.poll_over(url, "/f")
        self.assertEqual(["/f", "/f"], [r.path for r in self.o.requests])

    def test_old_entries_are_not_pushed(self):
        r = self.receiver()
        self.o.set("/a", doc(entry("old", 1), entry("x", 9, "newer in the archive")))
        url = self.o.set("/f", doc(link("prev-archive", "/a"), entry("x", 2), entry("first", 3)))
        past = self.receiver()
        self.d.subscribe(url, endpoint=r.url)
        self.d.subscribe(url, endpoint=past.url, from_="start")
        self.wait(lambda: self.titles(url) == ["first", "newer in the archive", "old"],
                  what="the past", daemon=self.d)
        self.o.set("/f", doc(link("prev-archive", "/a"), entry("news", 12), entry("first", 3)))
        self.ping(url, "/f")
        self.wait(lambda: r.titles(), what="a push", daemon=self.d)
        self.assertEqual(["news"], r.titles())
        self.wait(lambda: "news" in past.titles(), what="all", daemon=self.d)
        self.assertLessEqual({"old", "first", "news"}, set(past.titles()))


def undated(name):
    return ("<entry><id>urn:cat:%s</id><title>%s</title><link href='http://c.example/%s'/>"
            "<content>of %s</content></entry>" % (name, name, name, name))


class Undated(Followed):
    def order(self, url):
        return [e["title"] for e in self.d.feed(url, len=100).json["entries"]]

    def test_old_entries_without_a_date_are_old(self):
        self.o.set("/a1", doc("<fh:archive/>", undated("u1")))
        self.o.set("/a2", doc("<fh:archive/>", link("prev-archive", "/a1"), entry("d3", 30),
                              undated("u2"), entry("d2", 20)))
        url = self.o.set("/f", doc(link("prev-archive", "/a2"), entry("d4", 40)))
        other = self.o.set("/g", doc(entry("g", 25)))
        self.titles(url)
        self.wait_whole(url)
        self.assertEqual(["d4", "d3", "u2", "d2", "u1"], self.order(url))
        self.titles(other)
        merged = self.d.get("/feeds?type=json&url=%s,%s" % (quote(url), quote(other))).json
        self.assertEqual(["d4", "d3", "u2", "g", "d2", "u1"],
                         [e["title"] for e in merged["entries"]])
        shown = {e["title"]: e["updated"] for e in merged["entries"]}
        self.assertEqual(date(30), shown["u2"])

    def test_where_nothing_has_a_date(self):
        head = "<feed %s><id>urn:cat:feed</id><title>C</title>" % NS
        self.o.set("/a1", head + undated("u1") + undated("u0") + "</feed>")
        self.o.set("/a2", head + link("prev-archive", "/a1") + undated("u3") + undated("u2") + "</feed>")
        url = self.o.set("/f", head + link("prev-archive", "/a2") + undated("u4") + "</feed>")
        self.titles(url)
        self.wait_whole(url)
        self.assertEqual(["u4", "u3", "u2", "u1", "u0"], self.order(url))

    def test_an_old_deletion_does_not_meet_what_is_shown_later(self):
        self.o.set("/a", doc("<fh:archive/>", stone("u", 1), stone("w", 1), entry("x", 2)))
        url = self.o.set("/f", doc(link("prev-archive", "/a"), undated("u"), entry("d", 5)))
        self.titles(url)
        self.wait_whole(url)
        self.assertEqual(["d", "u", "x"], self.titles(url))


class Limits(Followed):
    ARGS = ("--catch-up", "4")

    def endless(self, n=1000):
        for i in range(n):
            self.o.set("/a%d" % i, doc(link("prev-archive", "/a%d" % (i + 1)),
                                       entry("a%d" % i, 5000 - i)))
        return self.o.set("/f", doc(link("prev-archive", "/a0"), entry("f", 6000)))

    def asked(self):
        return sum(1 for r in self.o.requests if r.path.startswith("/a"))

    def test_an_endless_chain_is_cut_and_goes_on_later(self):         # ARCHC-07
        url = self.endless()
        self.assertEqual(5, len(self.titles(url)))
        self.assertIs(True, self.d.feed(url).json["partial"])
        self.assertEqual(4, self.asked())
        self.ping(url, "/f")
        self.wait(lambda: len(self.titles(url)) == 9, what="the next four", daemon=self.d)
        self.assertEqual(1, len(self.o.seen("/a0")))
        self.assertTrue(self.partial(url))

    def test_a_cut_chain_is_read_to_its_end(self):                    # ARCHC-07
        url = self.endless()
        self.titles(url)
        self.o.set("/a6", doc(entry("a6", 1)))
        self.d.stop()
        self.d.start()
        self.ping(url, "/f")
        self.wait(lambda: len(self.titles(url)) == 8, what="all", daemon=self.d)
        self.wait_whole(url)

    def test_news_come_before_the_past_goes_on(self):                 # ARCHC-07
        url = self.endless(6)
        self.titles(url)
        self.o.set("/b", doc(link("prev-archive", "/a0"), entry("b", 6001)))
        self.o.set("/f", doc(link("prev-archive", "/b"), entry("g", 6002)))
        self.ping(url, "/f")
        self.wait(lambda: len(self.titles(url)) == 9, what="news and the rest", daemon=self.d)
        order = [r.path for r in self.o.requests if r.path != "/f"]
        self.assertEqual(["/a0", "/a1", "/a2", "/a3", "/b", "/a4", "/a5"], order[:7])


class Turns(Followed):
    ARGS = ("--min-period", "1s")

    def test_a_slow_past_does_not_keep_the_feed_from_its_period(self):
        for i in range(40):
            self.o.set("/a%d" % i, Reply(200, doc(link("prev-archive", "/a%d" % (i + 1)),
                                                  entry("a%d" % i, 5000 - i)), delay=0.5))
        url = self.o.set("/f", doc(link("prev-archive", "/a0"), entry("f", 6000)))
        self.d.subscribe(url, freq=3)
        self.wait(lambda: len(self.o.seen("/f")) > 2, what="a third fetch of the feed", daemon=self.d)
        self.assertNotIn("/a39", [r.path for r in self.o.requests])    # 20 s of past were not waited for


class Default(Followed):
    def test_fifty_documents_at_once(self):                           # ARCHC-07 FHC-05
        for i in range(60):
            self.o.set("/h%d" % i, doc("<fh:stateful>1</fh:stateful>", link("prev", "/h%d" % (
                i + 1)), entry("h%d" % i, 5000 - i)))
        url = self.o.url("/h0")
        self.titles(url)
        self.wait(lambda: len(self.titles(url)) == 51, what="the first 51 documents", daemon=self.d)
        self.assertIs(True, self.d.feed(url).json["partial"])
        self.poll_over(url, "/h0")
        asked = [r.path for r in self.o.requests]
        self.assertEqual(51, len(set(asked[:asked.index("/h0", 1)])))


class Drafts(Followed):
    def both(self, *head, old_head=()):
        self.o.set("/old", doc(*old_head, entry("old", 1)))
        url = self.o.set("/f", doc(*head, entry("new", 2)))
        self.assertEqual(["new", "old"], self.titles(url))

    def only(self, *head, path="/f"):
        self.o.set("/old", doc(entry("old", 1)))
        url = self.o.set(path, doc(*head, entry("new", 2)))
        self.assertEqual(["new"], self.titles(url))
        self.poll_over(url, path)
        self.assertEqual([], self.o.seen("/old"))

    def test_draft_00_flag(self):                                     # FHC-01
        self.both("<fh:Stateful> 1\n</fh:Stateful>", link("prev", "/old"))

    def test_draft_00_this(self):                                     # FHC-01
        self.both(link("this", "/f-2"), link("prev", "/old"))

    def test_draft_01_element(self):                                  # FHC-04
        self.both("<fh:stateful>true</fh:stateful>", "<fh:prev>/old</fh:prev>")

    def test_draft_02_one(self):                                      # FHC-04
        self.both("<fh:stateful>1</fh:stateful>", "<fh:prev> %s </fh:prev>" % self.o.url("/old"))

    def test_draft_04_incremental(self):                              # FHC-04
        self.both("<fh:incremental>true</fh:incremental>", "<fh:prev>/old</fh:prev>")

    def test_draft_05_previous(self):                                 # FHC-04
        self.both(link("current", "/f"), link("previous", "/old"))

    def test_previous_among_pages(self):                              # FHC-03 (D20)
        for rel in "next", "first", "last":
            with self.subTest(rel=rel):
                self.only(link("current", "/" + rel), link("previous", "/old"), link(rel, "/p"),
                          path="/" + rel)

    def test_prev_of_a_page(self):                                    # FHC-03
        self.only(link("prev", "/old"))

    def test_previous_of_a_page(self):                                # FHC-03
        self.only(link("previous", "/old"))

    def test_prev_element_without_a_flag(self):                       # FHC-03
        self.only("<fh:prev>/old</fh:prev>")

    def test_stateless_leads_nowhere(self):                           # FHC-02
        self.only("<fh:Stateful>0</fh:Stateful>", link("prev", "/old"))

    def test_not_incremental(self):                                   # FHC-02
        self.only("<fh:incremental>false</fh:incremental>", link("prev-archive", "/old"))

    def test_stateless_feeds_show_what_is_there_now(self):            # FHC-02 FH-04
        flag = "<fh:Stateful>0</fh:Stateful>"
        url = self.o.set("/f", doc(flag, entry("a", 1), entry("b", 1)))
        self.assertEqual(["a", "b"], self.titles(url))
        self.o.set("/f", doc(flag, entry("b", 1), entry("c", 2)))
        self.ping(url, "/f")
        self.wait_titles(url, "b", "c")
        shown = Document("%s/history?url=%s" % (self.d.base, quote(url)))
        self.assertEqual("0", shown.root.findtext(FH + "Stateful"))
        self.assertEqual("false", shown.root.findtext(FH + "incremental"))
        self.assertEqual([], shown.links("this") + shown.links("prev"))
        self.assertEqual(["b", "c"], sorted(shown.titles))

    def test_complete_feeds_are_stateless(self):                      # FH-04
        url = self.o.set("/f", doc("<fh:complete/>", entry("a", 1)))
        self.titles(url)
        shown = Document("%s/history?url=%s" % (self.d.base, quote(url)))
        self.assertEqual("0", shown.root.findtext(FH + "Stateful"))
        self.assertEqual("false", shown.root.findtext(FH + "incremental"))
        self.assertEqual([], shown.links("this") + shown.links("prev"))
        plain = self.o.set("/g", doc(entry("a", 1)))
        self.titles(plain)
        shown = Document("%s/history?url=%s" % (self.d.base, quote(plain)))
        self.assertEqual("1", shown.root.findtext(FH + "Stateful"))


class Tombstones(Followed):
    def test_a_later_entry_outlives_its_tombstone(self):              # TOMB-05
        url = self.o.set("/f", doc(stone("a", 5), stone("b", 5), entry("a", 6), entry("c", 1)))
        self.assertEqual(["a", "c"], self.titles(url))
        self.o.set("/f", doc(stone("a", 7), stone("c", 2), entry("a", 8), entry("c", 1)))
        self.ping(url, "/f")
        self.wait_titles(url, "a")
        self.o.set("/f", doc(stone("a", 7), entry("d", 9)))    # older than the a that is known
        self.ping(url, "/f")
        self.wait_titles(url, "a", "d")

    def test_tombstones_that_mean_nothing(self):                      # TOMB-06
        other = self.o.set("/other", doc(entry("b", 1)))
        url = self.o.set("/f", doc(entry("a", 1)))
        self.titles(other)
        self.titles(url)
        self.o.set("/f", doc(stone("unknown", 5), stone("b", 5), entry("z", 2),
                             '<at:deleted-entry ref="urn:cat:a"/>',
                             '<at:deleted-entry ref="urn:cat:a" when="yesterday"/>'))
        self.ping(url, "/f")
        self.wait_titles(url, "a", "z")
        self.assertEqual(["b"], self.titles(other))

    def test_a_deletion_is_known_before_the_archive_that_shows_the_entry(self):
        self.o.set("/a1", doc(entry("b", 1), entry("c", 9), entry("keep", 2)))
        self.o.set("/a2", doc(stone("c", 8), link("prev-archive", "/a1"), entry("d", 3)))
        url = self.o.set("/f", doc(stone("b", 5), stone("d", 4), link("prev-archive", "/a2"),
                                   entry("e", 6)))
        self.assertEqual(["c", "e", "keep"], self.titles(url))

    def test_an_archive_does_not_bring_back_the_dead(self):
        url = self.o.set("/f", doc(entry("a", 1), entry("b", 1)))
        self.titles(url)
        self.o.set("/old", doc(entry("a", 1, "as it was"), entry("c", 1)))
        self.o.set("/f", doc(stone("a", 2), link("prev-archive", "/old"), entry("b", 1)))
        self.ping(url, "/f")
        self.wait_titles(url, "b", "c")
        self.wait_whole(url)
        self.assertEqual(["b", "c"], self.titles(url))

    def reconstructed(self, url):
        found = reconstruct(chain("%s/archive?url=%s" % (self.d.base, quote(url))))
        return sorted(e.findtext("{http://www.w3.org/2005/Atom}title") for e in found.values())

    def test_readers_of_the_archive_see_what_came_back(self):
        """Deleted, made again with its old date, edited, deleted again, and once more."""
        url = self.o.set("/f", doc(entry("a", 1), entry("b", 1)))
        self.titles(url)
        states = [((stone("a", 2), entry("b", 1)), ["b"]),
                  ((entry("a", 1, "back"), entry("b", 1)), ["b", "back"]),
                  ((entry("a", 1, "edited"), entry("b", 1)), ["b", "edited"]),
                  ((stone("a", 3), entry("b", 1)), ["b"]),
                  ((entry("a", 3, "again"), entry("b", 1)), ["again", "b"])]
        for parts, wanted in states:
            self.o.set("/f", doc(*parts))
            self.ping(url, "/f")
            self.wait_titles(url, *wanted)
            self.assertEqual(wanted, self.reconstructed(url))
        stones = [s.get("when") for d in chain("%s/archive?url=%s" % (self.d.base, quote(url)))
                  for s in d.root.findall(AT + "deleted-entry")]
        self.assertEqual(2, len({when(s) for s in stones}))

    def test_two_deletions_at_one_time_to_come(self):                 # TOMB-03
        grave = stone("a", 0).replace(date(0), "2100-01-01T00:00:00Z")
        url = self.o.set("/f", doc(entry("a", 1), entry("b", 1)))
        self.titles(url)
        for parts, wanted in (((grave, entry("b", 1)), ["b"]),
                              ((entry("a", 1, "back"), entry("b", 1)), ["b", "back"]),
                              ((grave, entry("b", 1)), ["b"])):
            self.o.set("/f", doc(*parts))
            self.ping(url, "/f")
            self.wait_titles(url, *wanted)
        stones = [when(s.get("when")) for d in chain("%s/archive?url=%s" % (self.d.base, quote(url)))
                  for s in d.root.findall(AT + "deleted-entry")]
        self.assertEqual(2, len(set(stones)))
        self.assertGreaterEqual(min(stones), when("2100-01-01T00:00:00Z"))

    def test_our_own_archive_is_understood(self):
        """One daemon follows another through pages of three."""
        url = self.o.set("/f", doc(*(entry("e%d" % n, n) for n in range(8))))
        first = self.daemon("--archive-size", "3")
        first.feed(url)
        self.o.set("/f", doc(stone("e2", 20), entry("e3", 21, "edited"), entry("e9", 22)))
        first.ping(url)
        self.wait(lambda: first.feed(url).json["entries"][0]["title"] == "e9", what="e9", daemon=first)
        view = "%s/archive?url=%s" % (first.base, quote(url))
        self.assertEqual(["e0", "e1", "e4", "e5", "e6", "e7", "e9", "edited"], self.titles(view))


class Crash(Followed):
    def test_killed_in_the_middle(self):
        r = self.receiver()
        for i in range(30):
            self.o.set("/a%d" % i, Reply(200, doc(
                *([link("prev-archive", "/a%d" % (i + 1))] if i < 29 else []),
                entry("a%d" % i, 5000 - i)), delay=0.05))
        url = self.o.set("/f", doc(link("prev-archive", "/a0"), entry("f", 6000)))
        self.d.subscribe(url, endpoint=r.url)
        for n in 5, 12, 20:
            self.wait(lambda: len(self.o.seen("/a%d" % n)) > 0, what="document %d" % n, daemon=self.d)
            self.d.kill()
            self.d.start()
            self.d.ping(url)
        self.wait(lambda: len(self.titles(url)) == 31, what="all of it", daemon=self.d)
        self.wait_whole(url)
        again = [r for i in range(30) for r in self.o.seen("/a%d" % i)[1:]]
        self.assertLessEqual(len(again), 3)                           # ARCHC-02
        self.o.set("/f", doc(link("prev-archive", "/a0"), entry("g", 7000)))
        self.ping(url, "/f")
        self.wait(lambda: r.titles(), what="a push", daemon=self.d)
        self.assertEqual(["g"], r.titles())
