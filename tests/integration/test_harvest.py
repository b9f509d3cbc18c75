"""Publishers of metadata records (Atom-PMH): PMHC-*."""
import time

from .env.daemon import quote
from .test_catchup import Followed, date, doc, entry, link


def record(name, second, title=None, fraction=""):
    return ("<entry><id>urn:rec:%s</id><title>%s</title><updated>%s</updated>"
            '<link rel="alternate" type="text/html" href="http://r.example/%s.html"/>'
            '<link rel="alternate" type="application/pdf" href="http://r.example/%s.pdf"/></entry>'
            % (name, title or name, date(second).replace("Z", fraction + "Z"), name, name))


def gone(name, second):
    return ("<entry><id>urn:rec:%s</id><title>Deleted</title><updated>%s</updated><content/></entry>"
            % (name, date(second)))


class Harvest(Followed):
    def first(self):
        """Three documents of two records each."""
        self.o.set("/a1", doc("<fh:archive/>", record("r2", 20), record("r1", 10)))
        self.o.set("/a2", doc("<fh:archive/>", link("prev-archive", "/a1"), record("r4", 40),
                              record("r3", 30)))
        return self.o.set("/f", doc(link("prev-archive", "/a2"), record("r6", 60),
                                    record("r5", 50)))

    def harvested(self):
        url = self.first()
        self.assertEqual(["r%d" % n for n in range(1, 7)], self.titles(url))
        return url

    def test_the_first_harvest_reads_the_chain(self):                 # PMHC-01
        self.harvested()
        self.assertEqual([1, 1, 1], self.counts("/a1", "/a2", "/f"))

    def test_a_later_one_stops_at_what_is_known(self):                # PMHC-02
        url = self.harvested()
        self.o.set("/f", doc(link("prev-archive", "/a2"), record("r7", 70), record("r6", 60),
                             record("r5", 50)))
        self.ping(url, "/f")
        self.wait_titles(url, *("r%d" % n for n in range(1, 8)))
        self.o.set("/a3", doc("<fh:archive/>", link("prev-archive", "/a2"), record("r8", 80),
                              record("r7", 70), record("r6", 60)))
        self.o.set("/f", doc(link("prev-archive", "/a3"), record("r9", 90)))
        self.ping(url, "/f")
        self.wait_titles(url, *("r%d" % n for n in range(1, 10)))
        self.wait_whole(url)
        self.assertEqual([1, 1, 1], self.counts("/a1", "/a2", "/a3"))

    def test_the_instant_of_the_last_harvest_is_looked_at_again(self):  # PMHC-03
        url = self.harvested()
        self.o.set("/a3", doc("<fh:archive/>", link("prev-archive", "/a2"), record("twin", 60),
                              record("r6", 60), record("r5", 50)))
        self.o.set("/f", doc(link("prev-archive", "/a3"), record("r7", 70)))
        self.ping(url, "/f")
        self.wait_titles(url, "r1", "r2", "r3", "r4", "r5", "r6", "r7", "twin")
        self.assertEqual([1, 1], self.counts("/a1", "/a2"))

    def test_a_document_that_ends_with_that_instant_is_not_the_last(self):  # PMHC-03
        url = self.harvested()
        self.o.set("/a3", doc("<fh:archive/>", link("prev-archive", "/a2"), record("twin", 60),
                              record("r5", 50)))
        self.o.set("/f", doc(link("prev-archive", "/a3"), record("r7", 70), record("r6", 60)))
        self.ping(url, "/f")
        self.wait_titles(url, "r1", "r2", "r3", "r4", "r5", "r6", "r7", "twin")

    def test_a_date_ahead_of_time_hides_nothing(self):                # PMHC-02 PMHC-03
        def at(name, when):
            return record(name, 0).replace(date(0), when)

        self.o.set("/a1", doc("<fh:archive/>", record("r1", 10)))
        url = self.o.set("/f", doc(link("prev-archive", "/a1"), at("far", "2100-01-01T00:00:00Z")))
        self.assertEqual(["far", "r1"], self.titles(url))
        soon = [time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + n)) for n in (60, 70)]
        self.o.set("/a2", doc("<fh:archive/>", link("prev-archive", "/a1"), at("r2", soon[0])))
        self.o.set("/f", doc(link("prev-archive", "/a2"), at("r3", soon[1])))
        self.ping(url, "/f")
        self.wait_titles(url, "far", "r1", "r2", "r3")

    def test_the_newest_entry_of_a_record_counts(self):               # PMHC-04
        for n, order in enumerate(((0, 1, 2), (2, 1, 0), (1, 2, 0))):
            entries = [record("x", 5, "first"), record("x", 9, "last", ".7"),
                       record("x", 9, "middle", ".25")]
            url = self.o.set("/f%d" % n, doc(*(entries[i] for i in order)))
            self.assertEqual(["last"], self.titles(url))

    def test_a_deletion_entry_removes_the_record(self):               # PMHC-05
        url = self.harvested()
        self.o.set("/f", doc(link("prev-archive", "/a2"), gone("r2", 70), record("r6", 60),
                             record("r5", 50)))
        self.ping(url, "/f")
        self.wait_titles(url, "r1", "r3", "r4", "r5", "r6")
        body = self.d.get("/archive?url=" + quote(url)).body.decode()
        self.assertIn('ref="urn:rec:r2"', body)

    def test_deletions_alone(self):                                   # PMHC-05
        url = self.harvested()
        self.o.set("/a3", doc("<fh:archive/>", link("prev-archive", "/a2"), record("r6", 60),
                              record("r5", 50)))
        self.o.set("/f", doc(link("prev-archive", "/a3"), gone("r1", 70), gone("r5", 71)))
        self.ping(url, "/f")
        self.wait_titles(url, "r2", "r3", "r4", "r6")

    def test_history_of_the_deleted_is_ignored(self):                 # PMHC-06
        self.o.set("/a1", doc("<fh:archive/>", record("x", 1, "older"), record("y", 1),
                              record("z", 1)))
        url = self.o.set("/f", doc(link("prev-archive", "/a1"), record("x", 5), gone("x", 6),
                                   gone("y", 7)))
        self.assertEqual(["z"], self.titles(url))
        self.o.set("/f", doc(link("prev-archive", "/a1"), gone("z", 20), record("z", 15, "was"),
                             gone("x", 6)))
        self.ping(url, "/f")
        self.wait_titles(url)
        self.o.set("/f", doc(record("z", 15, "was"), record("w", 21)))
        self.ping(url, "/f")
        self.wait_titles(url, "w")
        self.o.set("/f", doc(record("z", 30, "again"), gone("z", 20), record("y", 31, "new"),
                             record("w", 21)))
        self.ping(url, "/f")
        self.wait_titles(url, "again", "new", "w")

    def test_complete_means_complete(self):                           # PMHC-07
        url = self.o.set("/f", doc("<fh:complete/>", record("a", 1), record("b", 2)))
        self.assertEqual(["a", "b"], self.titles(url))
        self.o.set("/f", doc("<fh:complete/>", record("b", 2)))
        self.ping(url, "/f")
        self.wait_titles(url, "b")

    def test_other_entries_are_ordinary(self):                        # PMHC-08
        url = self.o.set("/f", doc(record("r", 1), entry("o", 2, "ordinary"),
                                   entry("o2", 3, "also"),
                                   "<entry><id>urn:rec:t</id><title>text</title><updated>%s</updated>"
                                   "<content>no link</content></entry>" % date(4)))
        self.assertEqual(["also", "ordinary", "r", "text"], self.titles(url))
        found = {e["title"]: e for e in self.d.feed(url).json["entries"]}
        self.assertEqual("of o", found["ordinary"]["content"][0]["value"])

    def test_an_empty_entry_of_an_ordinary_feed_stays(self):          # PMHC-08
        url = self.o.set("/f", doc(entry("o", 2), gone("x", 3)))
        self.assertEqual(["Deleted", "o"], self.titles(url))

    def test_archives_may_change(self):                               # PMHC-10
        url = self.harvested()
        # the growing page was split: what came since the last harvest is in an old document
        self.o.set("/a2", doc("<fh:archive/>", link("prev-archive", "/a1"), record("r8", 80),
                              record("r4", 40), record("r3", 30)))
        self.o.set("/f", doc(link("prev-archive", "/a2"), record("r9", 90)))
        self.ping(url, "/f")
        self.wait_titles(url, "r1", "r2", "r3", "r4", "r5", "r6", "r8", "r9")
        self.assertEqual([1, 2], self.counts("/a1", "/a2"))

    def test_archives_may_move(self):                                 # PMHC-10
        url = self.harvested()
        self.o.set("/moved/2", doc("<fh:archive/>", link("prev-archive", "/moved/1"),
                                   record("r7", 70), record("r6", 60)))
        self.o.set("/moved/1", doc("<fh:archive/>", record("r4", 40), record("r3", 30)))
        self.o.set("/f", doc(link("prev-archive", "/moved/2"), record("r8", 80)))
        self.ping(url, "/f")
        self.wait_titles(url, *("r%d" % n for n in range(1, 9)))
        self.wait_whole(url)
        self.assertEqual([1, 1], self.counts("/moved/2", "/moved/1"))

    def test_a_harvest_of_our_own_records(self):                      # PMHC-01 PMHC-05
        """One daemon harvests another through pages of three."""
        url = self.o.set("/src", doc(*(entry("e%d" % n, n) for n in range(7))))
        first = self.daemon("--archive-size", "3")
        first.feed(url)
        view = "%s/pmh?url=%s" % (first.base, quote(url))
        self.assertEqual(["e%d" % n for n in range(7)], self.titles(view))
        self.o.set("/src", doc(
            '<at:deleted-entry ref="urn:cat:e3" when="%s"/>' % date(40), entry("e1", 41, "edited"),
            entry("new", 42)))
        first.ping(url)
        self.wait(lambda: first.feed(url).json["entries"][0]["title"] == "new", what="new", daemon=first)
        self.d.ping(view)
        self.wait_titles(view, "e0", "e2", "e4", "e5", "e6", "edited", "new")
