"""The log in pages: requirements SIMP-*, ARCH-*, FH-*, TOMB-* as a reader sees them."""
import functools
import http.server
import os
import random
import re
import shutil
import subprocess
import tempfile
import threading
import time
import xml.etree.ElementTree as tree

from .env.archives import (AT, ATOM, FH, Document, SimplefeedConsumer, chain, reconstruct, when)
from .env.case import Case
from .env.daemon import BINARY, HUNG, PATIENCE, quote
from .env.publisher import Publisher

RELATIONS = {"first", "last", "next", "previous", "prev-archive", "next-archive", "current", "this"}


class Paged(Case):
    SIZE = 5

    def setUp(self):
        self.o = self.origin()
        self.d = self.daemon("--archive-size", str(self.SIZE))
        self.p = Publisher(self.o)

    def sync(self):
        self.p.sync(self)

    def state(self):
        answer = self.d.feed(self.p.url, len=1000)
        return {e["id"]: e["title"] for e in answer.json["entries"]}

    def fill(self, n, start=0):
        for i in range(start, start + n):
            self.p.put("e%d" % i, "t%d" % i)
        self.sync()

    def at(self, view, **params):
        return "%s%s?url=%s" % (self.d.base, view, quote(self.p.url)) + "".join(
            "&%s=%s" % p for p in params.items())


class SharedCache:
    """Keeps an answer for its max-age, then asks whether it is still good."""

    def __init__(self, daemon):
        self.daemon, self.kept, self.asked = daemon, None, 0

    def get(self, path):
        if not self.kept or time.monotonic() - self.at >= self.max_age:
            self.asked += 1
            tag = {"If_None_Match": self.kept.headers["ETag"]} if self.kept else {}
            answer = self.daemon.get(path, **tag)
            if answer.status != 304:
                self.kept = Document(path, answer)
            self.at = time.monotonic()
            self.max_age = int(re.search(r"max-age=(\d+)", answer.header("Cache-Control")).group(1))
        return self.kept


class Simplefeed(Paged):
    def recent(self):
        return self.at("/simple/recent")

    def test_chain(self):             # SIMP-01 SIMP-02 SIMP-04 SIMP-05 SIMP-06 SIMP-07 SIMP-08
        self.fill(23)
        documents = chain(self.recent())
        self.assertEqual([3, 5, 5, 5, 5], [len(d.ids) for d in documents])
        ids = [i for d in documents for i in d.ids]
        self.assertEqual(["urn:pub:p:e%d" % n for n in reversed(range(23))], ids)
        self.assertEqual([0, 1, 1, 1, 1], [len(d.links("next-archive")) for d in documents])
        self.assertEqual([1, 1, 1, 1, 0], [len(d.links("prev-archive")) for d in documents])
        self.assertEqual(1, len({d.id for d in documents}))
        via = Document(documents[0].link("via"))
        self.assertEqual(documents[0].ids, via.ids)
        self.assertEqual(documents[0].link("via"), via.link("self"))
        self.assertIsNone(via.link("next-archive"))
        self.assertIsNone(via.link("via"))
        self.assertEqual(via.url, documents[1].link("next-archive"))
        for newer, older in zip(documents[1:], documents[2:]):
            self.assertEqual(newer.url, older.link("next-archive"))
        for document in documents[1:]:                                       # D12
            self.assertTrue(document.has(FH + "archive"))
            self.assertEqual(self.recent(), document.link("current"))
        self.assertFalse(documents[0].has(FH + "archive"))
        self.assertIsNone(documents[0].link("current"))

    def test_feed_without_entries(self):                                  # SIMP-06 ATOM-14 FH-02
        recent = Document(self.recent())
        self.assertEqual([], recent.ids)
        via = Document(recent.link("via"))
        self.assertEqual([], via.ids)
        self.assertEqual(via.url, via.link("self"))
        self.assertGreater(recent.root.findtext(ATOM + "updated"), "2020")
        this = Document(Document(self.at("/history")).link("this"))
        self.assertEqual(this.url, this.link("this"))
        self.fill(2)
        self.assertEqual(2, len(Document(via.url).ids))
        self.assertEqual([], Document(this.url).ids)

    def test_archived_bytes_never_change(self):                      # SIMP-03 SIMP-10 SIMP-15
        self.fill(8)
        before = chain(self.recent())
        via = before[0].link("via")
        self.assertIn("max-age=2", Document(via).headers["Cache-Control"])
        self.fill(30, 8)
        self.p.put("e1", "edited")
        self.p.delete("e2")
        self.sync()
        self.d.stop()
        self.d.start()
        after = chain(self.recent())
        self.assertEqual(before[1].body, Document(before[1].url).body)
        ids = [i for d in after for i in d.ids]
        old = [i for d in before for i in d.ids]
        self.assertEqual(old, ids[-len(old):])
        self.assertNotEqual(via, after[0].link("via"))
        sealed = Document(via)
        self.assertTrue(sealed.link("next-archive"))
        self.assertIn("immutable", sealed.headers["Cache-Control"])

    def test_an_edit_is_an_event_of_its_own(self):                                  # SIMP-16
        self.fill(3)
        before = Document(self.recent())
        self.p.put("e0", "edited")
        self.sync()
        after = Document(self.recent())
        self.assertEqual(before.ids, after.ids[1:])
        self.assertRegex(after.ids[0], r"^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-5")
        self.assertEqual("edited", after.titles[0])
        self.p.delete("e1")
        self.sync()
        last = Document(self.recent())
        self.assertEqual(after.ids, last.ids[1:])
        content = last.entries[0].find(ATOM + "content")
        self.assertEqual((None, 0), (content.text, len(content)))
        self.assertEqual([], [l for l in last.entries[0].findall(ATOM + "link")
                              if l.get("rel") in (None, "alternate")])
        for turn in range(2):                          # of one entry several: each its own event
            self.p.put("e0", "edited again %d" % turn)
            self.sync()
        last = Document(self.recent())
        self.assertEqual(["edited again 1", "edited again 0", "Deleted", "edited", "t2", "t1", "t0"],
                         [t for d in chain(self.recent()) for t in d.titles])
        ids = [i for d in chain(self.recent()) for i in d.ids]
        self.assertEqual(len(ids), len(set(ids)))
        about = [[l.get("href") for l in e.findall(ATOM + "link") if l.get("rel") == "related"]
                 for d in chain(self.recent()) for e in d.entries]
        self.assertEqual([["urn:pub:p:e0"]] * 2 + [["urn:pub:p:e1"], ["urn:pub:p:e0"], [], [], []],
                         about)

    def test_a_new_head_changes_no_archive(self):                                   # SIMP-03 FH-02
        self.fill(12)
        views = (self.recent(), self.at("/history"), self.at("/archive"))
        before = [chain(v, "prev" if "history" in v else "prev-archive")[-1] for v in views]
        self.p.title = "Another name"
        self.fill(1, 12)
        self.assertEqual("Another name", Document(self.recent()).root.findtext(ATOM + "title"))
        self.d.stop()                                       # documents are drawn anew
        self.d.start()
        for document in before:
            self.assertEqual(document.body, Document(document.url).body)

    def test_freshness_and_validators(self):                              # SIMP-11 SIMP-12
        self.fill(12)
        recent = Document(self.recent())
        age = int(re.search(r"max-age=(\d+)", recent.headers["Cache-Control"]).group(1))
        self.assertLessEqual(age, 300)
        path = self.recent()[len(self.d.base):]
        again = self.d.get(path, If_None_Match=recent.headers["ETag"])
        self.assertEqual(304, again.status)
        again = self.d.get(path, If_Modified_Since=recent.headers["Last-Modified"])
        self.assertEqual(304, again.status)
        archive = Document(recent.link("prev-archive"))
        control = archive.headers["Cache-Control"]
        self.assertGreaterEqual(int(re.search(r"max-age=(\d+)", control).group(1)), 30 * 86400)
        self.assertIn("immutable", control)
        etag = archive.headers["ETag"]
        self.d.stop()
        self.d.start()
        again = self.d.get(archive.url[len(self.d.base):], If_None_Match=etag)
        self.assertEqual(304, again.status)

    def test_dates_hide_no_change_of_the_same_second(self):              # SIMP-12 HTTP-05
        paths = [self.at(view)[len(self.d.base):] for view in
                 ("/simple/recent", "/archive", "/history", "/pmh", "/feed")]
        for turn in range(20):
            self.fill(1, turn)
            before = {p: self.d.get(p) for p in paths}
            self.fill(1, turn + 20)
            after = {p: self.d.get(p) for p in paths}
            dates = [{a.header("Last-Modified") for a in group.values()} for group in (before, after)]
            if dates[0] == dates[1] and len(dates[0]) == 1:
                break                                                  # both within one second
        else:
            self.skipTest("never two changes in one second")
        for path in paths:
            date = before[path].header("Last-Modified")
            self.assertEqual(200, self.d.get(path, If_Modified_Since=date).status, path)
            self.assertEqual(after[path].body, self.d.get(path, If_Modified_Since=date).body)
        self.next_second()
        self.fill(1, 50)
        for path in paths:
            date = self.d.get(path).header("Last-Modified")
            self.assertEqual(304, self.d.get(path, If_Modified_Since=date).status, path)

    def test_a_shared_cache_shows_news_in_time(self):                               # SIMP-18
        self.fill(3)
        cache = SharedCache(self.d)
        path = self.recent()[len(self.d.base):]
        self.assertEqual(3, len(cache.get(path).ids))
        self.fill(1, 3)
        self.wait(lambda: len(cache.get(path).ids) == 4, cache.max_age + HUNG, "the news", self.d)
        self.assertEqual(2, cache.asked)            # as soon as max-age was over, and no sooner

    def test_parameters_change_no_page(self):                                       # SIMP-17
        self.fill(12)
        archive = Document(Document(self.recent()).link("prev-archive"))
        other = Document(archive.url + "?max=2&page=1&len=1")
        self.assertEqual(archive.body, other.body)

    def test_consumers_see_each_event_once_in_order(self):                # SIMP-13 SIMP-14
        chance, names = random.Random(7), 0
        self.fill(4)
        early, late = SimplefeedConsumer(self.recent()), SimplefeedConsumer(self.recent())
        early.poll()
        for turn in range(12):
            for _ in range(chance.randrange(1, 9)):
                action = chance.random()
                if action < 0.7 or len(self.p.entries) < 3:
                    self.p.put("n%d" % names, "t%d" % names)
                    names += 1
                elif action < 0.9:
                    self.p.put(chance.choice(sorted(self.p.entries)), "edit %d" % turn)
                else:
                    self.p.delete(chance.choice(sorted(self.p.entries)))
            self.sync()
            if turn == 6:
                self.d.kill()
                self.d.start()
            if turn % 3 != 2:
                early.poll()
        early.poll()
        late.poll()
        ids = [e.findtext(ATOM + "id") for e in early.events]
        self.assertEqual([e.findtext(ATOM + "id") for e in late.events], ids)
        whole = [i for d in chain(self.recent()) for i in d.ids]
        self.assertEqual(list(reversed(whole)), ids)
        self.assertEqual(len(ids), len(set(ids)))

    def test_only_documents_that_are_there(self):
        self.fill(7)
        archive = Document(self.recent()).link("prev-archive")
        path = archive[len(self.d.base):]
        head, number = path.rsplit("/", 1)
        for wrong in (head + "/99", head + "/-1", head + "/x", head + "/", head + "/1/2",
                      head[:-1] + "/0", "/simple", "/simple/x/0", head + "/18446744073709551616"):
            self.assert_problem(self.d.get(wrong), 404, "not-found")
        self.assertEqual(200, self.d.get(head + "/" + number).status)
        self.assert_problem(self.d.get("/simple/recent"), 400, "bad-parameter")
        self.assert_problem(self.d.get(self.at("/simple/recent", type="json")[len(self.d.base):]),
                            406, "not-acceptable")

    def test_a_merge_is_one_series(self):                                  # SIMP-02 SIMP-09
        other = Publisher(self.o, "/q.xml", "q")
        for i in range(4):
            other.put("q%d" % i, "q%d" % i)
        other.publish()
        self.fill(4)
        self.d.feed(other.url)
        url = self.d.base + "/simple/recent?url=%s,%s" % (quote(self.p.url), quote(other.url))
        documents = chain(url)
        self.assertEqual(8, sum(len(d.ids) for d in documents))
        self.assertEqual(2, len(documents))
        for document in documents:
            self.assertEqual(documents[0].id, document.id)                         # SIMP-08
            for entry in document.entries:
                self.assertTrue(entry.findtext(ATOM + "source/" + ATOM + "id"))
        self.assertNotIn(documents[0].id, ("urn:pub:p", "urn:pub:q"))
        from .env.schema import check_atom
        check_atom(self, *[d.body for d in documents])
        mine = [[i for d in documents for i in d.ids if i.startswith("urn:pub:" + p)] for p in "pq"]
        self.assertEqual([["urn:pub:p:e%d" % i for i in (3, 2, 1, 0)],
                          ["urn:pub:q:q%d" % i for i in (3, 2, 1, 0)]], mine)
        first = documents[1].body
        self.fill(9, 4)
        self.assertEqual(first, Document(documents[1].url).body)

    def test_an_entry_of_a_growing_merge_does_not_change(self):                     # SIMP-03 ARCH-05
        def show(title, *names):
            return self.o.set("/named.xml", "<feed xmlns='http://www.w3.org/2005/Atom'><id>urn:n</id><title>"
                              "%s</title><updated>2020-01-01T00:00:00Z</updated>%s</feed>" % (
                                  title, "".join("<entry><id>urn:n:%s</id><title>t</title><updated>2020-01-01"
                                                 "T00:00:00Z</updated><content>c</content></entry>" % n
                                                 for n in names)))
        self.fill(1)
        named = show("Old name", "a")
        self.d.feed(named)
        urls = "?url=%s,%s" % (quote(self.p.url), quote(named))
        views = ["/simple/recent", "/archive", "/history", "/pmh"]

        def entries(view):
            document = Document(self.d.base + view + urls)
            return {i: tree.tostring(e) for i, e in zip(document.ids, document.entries)}
        before = {view: entries(view) for view in views}
        self.next_second()                               # so that dates of heads would differ
        show("New name", "b", "a")
        self.d.ping(named)
        self.wait(lambda: len(entries("/archive")) == 3, what="the new entry", daemon=self.d)
        for view in views:
            after = entries(view)
            self.assertEqual(before[view], {i: after[i] for i in before[view]})
            self.assertIn(b"New name", after["urn:n:b"])

    def test_numbers_have_one_spelling(self):
        """What is kept for a year has one name; numbers beyond all reason are none."""
        self.fill(12)
        for view in "/simple/recent", "/archive", "/history", "/pmh":
            rel = "prev" if view == "/history" else "prev-archive"
            url = Document(self.at(view)).link(rel)
            base, number = url.rsplit("/", 1)
            path = base[len(self.d.base):]
            self.assertEqual(200, self.d.get(path + "/" + number).status)
            for other in ("0" + number, "+" + number, "-" + number, number + "-", "9" * 19, "9" * 30,
                          "9223372036854775807", "", number + "x"):
                self.assertEqual(404, self.d.get(path + "/" + other).status, (view, other))
        item = Document(self.at("/pmh")).entries[0].find(ATOM + "link").get("href")
        base, number = item[len(self.d.base):].rsplit("/", 1)
        self.assertEqual(200, self.d.get(base + "/" + number).status)
        for other in ("0" + number, "+" + number, "9223372036854775807.atom", "0.atom", "-1.atom",
                      "9223372036854775808.json", ".html"):
            self.assertEqual(404, self.d.get(base + "/" + other).status, other)

    def test_a_feed_behind_a_password_is_not_for_guessing(self):
        from .env.origin import Reply, atom
        url = self.o.set("/secret.xml", Reply(body=atom(*[("s%d" % i, "2020-01-01T00:00:0%dZ" % i)
                                                          for i in range(9)]),
                                              auth=("Basic", "u", "pw")))
        named = self.o.url("/secret.xml", "u:pw")
        answer = self.d.get("/simple/recent?url=" + quote(named))
        self.assertEqual(200, answer.status, answer.body)
        self.assertIn("private", answer.header("Cache-Control"))
        document = Document(url, answer)
        self.assertNotIn(b"pw", document.body)
        for _ in range(2):                                    # drawn, and from the cache
            archive = Document(document.link("prev-archive"))
            self.assertIn("private", archive.headers["Cache-Control"])
        again = self.d.get(archive.url[len(self.d.base):], If_None_Match=archive.headers["ETag"])
        self.assertEqual(304, again.status)
        self.assertIn("private", again.header("Cache-Control"))
        self.assertEqual(Document(archive.link("current")).ids, document.ids)


class Archive(Paged):
    def entry(self):
        return self.at("/archive")

    def check_marks(self, documents):
        """ARCH-01 ARCH-02 ARCH-07 ARCH-09"""
        self.assertFalse(documents[0].has(FH + "archive"))
        for document in documents[1:]:
            self.assertTrue(document.has(FH + "archive"))
            self.assertEqual(self.entry(), document.link("current"))
        for document in documents:
            self.assertFalse(document.has(FH + "complete"))
            for rel in ("first", "last", "next", "previous"):
                self.assertEqual([], document.links(rel))
            self.assertEqual(documents[0].id, document.id)
            for entry in document.entries:
                self.assertFalse(RELATIONS & {l.get("rel") for l in entry.findall(ATOM + "link")})
        self.assertIsNone(documents[-1].link("prev-archive"))

    def test_reconstruction(self):    # ARCH-01 ARCH-02 ARCH-03 ARCH-07 ARCH-08 ARCH-09 TOMB-01
        chance = random.Random(3)
        self.fill(17)
        for turn in range(8):
            for _ in range(3):
                name = chance.choice(sorted(self.p.entries))
                if chance.random() < 0.3:
                    self.p.delete(name)
                else:
                    self.p.put(name, "edit %d" % turn)
            self.p.put("new%d" % turn, "n")
            self.sync()
            documents = chain(self.entry())
            self.check_marks(documents)
            state = reconstruct(documents)
            self.assertEqual(self.state(),
                             {n: e.findtext(ATOM + "title") for n, e in state.items()})
        self.p.put(sorted(self.p.entries)[0], "once more")
        name = "urn:pub:p:" + sorted(self.p.entries)[0]
        self.sync()
        self.assertIn(name, Document(self.entry()).ids)

    def test_pages_stay(self):                                            # ARCH-04 ARCH-05
        self.fill(17)
        before = {d.url: d.ids for d in chain(self.entry())[1:]}
        for i in range(25):
            self.p.put("e%d" % (i % 17), "x%d" % i)
        self.fill(100, 20)
        for url, ids in before.items():
            self.assertEqual(ids, Document(url).ids)
        documents = chain(self.entry())
        self.assertLess(set(before), {d.url for d in documents})
        self.assertIsNone(documents[0].link("next-archive"))
        self.assertIsNone(documents[1].link("next-archive"))
        for newer, older in zip(documents[1:], documents[2:]):
            self.assertEqual(newer.url, older.link("next-archive"))
        self.assertIn("immutable", documents[3].headers["Cache-Control"])
        self.assertNotIn("immutable", documents[1].headers["Cache-Control"])

    def test_a_page_shows_the_newest_version_only(self):                            # ARCH-03
        self.fill(2)
        for turn in range(2):                    # edits that keep the publisher's date
            text, date = self.p.entries["e0"]
            self.p.entries["e0"] = ("edit %d" % turn, date)
            self.sync()
        document = Document(self.entry())
        self.assertEqual(sorted(set(document.ids)), sorted(document.ids))
        self.assertEqual(self.state(), dict(zip(document.ids, document.titles)))
        self.assertEqual(["edit 1", "edit 0", "t1", "t0"],
                         Document(self.at("/simple/recent")).titles)

    def test_a_date_that_goes_back_hides_no_edit(self):                             # ARCH-03
        self.p.put("e0", "first")
        self.p.entries["e0"] = ("first", "2024-05-05T00:00:00Z")
        self.fill(5, 1)
        self.p.entries["e0"] = ("edited", "2020-05-05T00:00:00Z")
        self.sync()
        state = reconstruct(chain(self.entry()))
        self.assertEqual(self.state(),
                         {n: e.findtext(ATOM + "title") for n, e in state.items()})

    def test_no_date_of_any_kind_hides_an_edit(self):                               # ARCH-03
        def show(*items):
            self.o.set("/r.xml", "<rss version='2.0'><channel><title>R</title><link>http://r.example/"
                       "</link><description>d</description>%s</channel></rss>" % "".join(
                           "<item><guid isPermaLink='false'>urn:r:%s</guid><title>%s</title>%s</item>"
                           % (guid, title, date and "<pubDate>%s</pubDate>" % date)
                           for guid, title, date in items))
        late, early = "Sun, 05 May 2024 00:00:00 GMT", "Fri, 01 Jan 1999 00:00:00 GMT"
        rest = [(str(i), "t%d" % i, "Mon, 05 May 2025 00:00:00 GMT") for i in range(7)]
        show(("a", "first", late), ("b", "first", late), ("c", "first", ""), *rest)
        url = self.o.url("/r.xml")
        archive = self.d.base + "/archive?url=" + quote(url)
        self.assertEqual(2, len(chain(archive)))
        show(("a", "edited", early), ("b", "edited", ""), ("c", "edited", early), *rest)
        self.d.ping(url)
        self.wait(lambda: b"edited" in self.d.feed(url).body, what="the edit", daemon=self.d)
        state = reconstruct(chain(archive))
        self.assertEqual(["edited"] * 3, [state["urn:r:" + n].findtext(ATOM + "title") for n in "abc"])

    def test_documents_of_one_second_are_told_apart(self):                          # ARCH-03
        self.fill(12)                                    # by one fetch
        documents = chain(self.entry())
        for newer, older in zip(documents, documents[1:]):
            self.assertGreater(newer.updated, older.updated)
        document = Document(self.at("/feed", type="atom"))
        self.assertGreater(document.updated, Document(document.link("prev-archive")).updated)

    def test_one_id_in_two_feeds(self):                                   # SIMP-02 SIMP-16 ARCH-03
        for path, date, words in (("/one.xml", "2020-01-01T00:00:00Z", "one"),
                                  ("/two.xml", "2020-01-01T00:00:00Z", "two")):
            self.o.set(path, "<feed xmlns='http://www.w3.org/2005/Atom'><id>urn:f:%s</id><title>f</title>"
                       "<updated>%s</updated>%s</feed>" % (words, date, "".join(
                           "<entry><id>urn:shared:%d</id><title>%s %d</title><updated>%s</updated>"
                           "<content>c</content></entry>" % (i, words, i, date) for i in range(2))))
        urls = "?url=" + ",".join(quote(self.o.url(p)) for p in ("/one.xml", "/two.xml"))
        self.d.feed(self.o.url("/one.xml"))
        events = Document(self.d.base + "/simple/recent" + urls)
        self.assertEqual(4, len(set(events.ids)))
        self.assertEqual({"urn:shared:0", "urn:shared:1"}, {
            i for i, t in zip(events.ids, events.titles) if t.startswith("one")})
        for entry in events.entries:
            related = [l.get("href") for l in entry.findall(ATOM + "link") if l.get("rel") == "related"]
            self.assertEqual(entry.findtext(ATOM + "title").startswith("two"), bool(related))
        archive = Document(self.d.base + "/archive" + urls)
        self.assertEqual(["two 0", "two 1"], archive.titles)
        self.d.kill()
        self.d.start()
        self.assertEqual(events.ids, Document(events.url).ids)

    def test_tombstones(self):                                  # TOMB-01 TOMB-02 TOMB-03 TOMB-04
        self.fill(3)
        self.p.delete("e1")
        self.sync()
        document = Document(self.entry())
        stones = document.root.findall(AT + "deleted-entry")
        self.assertEqual(["urn:pub:p:e1"], [s.get("ref") for s in stones])
        self.assertEqual("spam & such", stones[0].findtext(AT + "comment"))
        self.assertGreaterEqual(when(stones[0].get("when")), when("2020-01-01T00:00:02Z"))
        for kind in ("atom", "rss", "json", "jsonfeed"):
            titles = self.d.feed(self.p.url, type=kind).body
            self.assertNotIn(b"t1", titles, kind)
        self.p.put("e1", "back")
        self.sync()
        self.p.delete("e1")
        self.sync()
        stones = [s for d in chain(self.entry()) for s in d.root.findall(AT + "deleted-entry")]
        self.assertEqual(2, len({s.get("when") for s in stones if s.get("ref") == "urn:pub:p:e1"}))

    def test_rss_form(self):                                                        # ARCH-10
        self.fill(12)
        url, ids = self.at("/archive", type="rss"), []
        archives = 0
        for _ in range(500):
            if not url:
                break
            answer = self.d.get(url[len(self.d.base):])
            self.assertEqual(200, answer.status)
            channel = tree.fromstring(answer.body).find("channel")
            ids += [i.findtext("guid") for i in channel.findall("item")]
            archives += channel.find(FH + "archive") is not None
            links = {l.get("rel"): l.get("href") for l in channel.findall(ATOM + "link")}
            if channel.find(FH + "archive") is not None:
                self.assertEqual(self.at("/archive", type="rss"), links["current"])
            url = links.get("prev-archive")
        else:
            self.fail("the documents do not end")
        self.assertEqual([i for d in chain(self.entry()) for i in d.ids], ids)
        self.assertEqual(2, archives)

    def test_valid(self):                                                           # SIMP-09
        from .env.schema import check_atom
        self.fill(12)
        self.p.put("e1", "edited")
        self.p.delete("e2")
        self.sync()
        for view in ("/simple/recent", "/archive", "/history"):
            rel = "prev" if view == "/history" else "prev-archive"
            check_atom(self, *[d.body for d in chain(self.at(view), rel)])


class Files(Paged):
    """`feedmill archive`: the chain as files behind any web server."""

    def archive(self, *more):
        return subprocess.run([BINARY, "archive", "--server", self.d.base, "--out", self.folder,
                               *more, self.p.url], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, timeout=120 * PATIENCE)

    def test_files(self):                                  # SIMP-01 SIMP-03 SIMP-04 SIMP-05 SIMP-06
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.fill(12)
        server = http.server.ThreadingHTTPServer(
            ("127.0.0.1", 0), functools.partial(Quiet, directory=self.folder))
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        base = "http://127.0.0.1:%d/" % server.server_port
        done = self.archive("--base", base)
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        self.assertIn("4 documents", done.stdout)
        consumer = SimplefeedConsumer(base + "recent.atom")
        consumer.poll()
        oldest = os.path.join(self.folder, chain(base + "recent.atom")[-1].url.rsplit("/", 1)[1])
        first = open(oldest, "rb").read()
        self.fill(9, 12)
        self.p.put("e3", "edited")
        self.sync()
        self.assertEqual(0, self.archive("--base", base).returncode)
        consumer.poll()
        live = [i for d in chain(self.at("/simple/recent")) for i in d.ids]
        self.assertEqual(live[::-1], [e.findtext(ATOM + "id") for e in consumer.events])
        self.assertEqual(first, open(oldest, "rb").read())
        documents = chain(base + "recent.atom")
        self.assertEqual(documents[0].ids, Document(documents[0].link("via")).ids)
        for newer, older in zip(documents[1:], documents[2:]):
            self.assertEqual(newer.url, older.link("next-archive"))
            self.assertEqual(base + "recent.atom", older.link("current"))
            self.assertEqual([], older.links("hub"))
        self.assertEqual([], documents[0].links("hub"))             # no hub tells of files
        self.assertEqual([], [n for n in os.listdir(self.folder) if not n.endswith(".atom")])
        self.assertIn("nothing is new", self.archive("--base", base).stdout)

    def check_folder(self):
        """Every link of every file leads to a file, and the chain loses nothing."""
        names = {n for n in os.listdir(self.folder) if n.endswith(".atom")}
        documents = {n: Document("file://" + os.path.join(self.folder, n))
                     for n in names}
        if "recent.atom" not in names:
            return
        reached, n = [], "recent.atom"
        while n:
            self.assertIn(n, names)
            reached += documents[n].ids
            following = documents[n].link("next-archive")
            self.assertTrue(following is None or following in names, (n, following))
            n = documents[n].link("prev-archive")
        self.assertIn(documents["recent.atom"].link("via"), names)
        self.assertEqual(len(reached), len(set(reached)))
        self.assertIn("urn:pub:p:e0", reached)

    def test_killed_while_the_feed_grows(self):            # SIMP-01
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.fill(7)
        for i in range(12):
            self.fill(5, 7 + 5 * i)
            run = subprocess.Popen([BINARY, "archive", "--server", self.d.base, "--out",
                                    self.folder, self.p.url], stdout=subprocess.DEVNULL)
            try:
                run.wait(0.02 * (i + 1))
            except subprocess.TimeoutExpired:
                run.kill()
                run.wait()
            self.check_folder()
        self.assertEqual(0, self.archive().returncode)
        self.check_folder()

    def test_while_the_feed_grows(self):                   # SIMP-01 SIMP-06
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.fill(4)
        ended = threading.Event()

        def grow():
            n = 4
            while not ended.is_set():
                self.fill(1, n)
                n += 1
        grower = threading.Thread(target=grow)
        grower.start()
        try:
            for _ in range(6):
                done = self.archive()
                self.assertIn(done.returncode, (0, 1))
                self.assertTrue(done.returncode == 0 or "try again" in done.stderr, done.stderr)
                self.check_folder()
        finally:
            ended.set()
            grower.join()
        self.assertEqual(0, self.archive().returncode)
        self.check_folder()

    def test_a_full_disk(self):                            # SIMP-01
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.fill(12)
        self.assertEqual(0, self.archive().returncode)
        self.fill(12, 12)
        before = {n: open(os.path.join(self.folder, n), "rb").read()
                  for n in os.listdir(self.folder)}
        # files may not pass 1 KiB, as on a disk without room
        done = subprocess.run(["sh", "-c", 'trap "" XFSZ; ulimit -f 1; exec "$0" "$@"', BINARY, "archive",
                               "--server", self.d.base, "--out", self.folder, self.p.url],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertEqual(1, done.returncode)
        self.assertIn(self.folder, done.stderr)
        for name, body in before.items():
            self.assertEqual(body, open(os.path.join(self.folder, name), "rb").read())
        self.assertEqual(0, self.archive().returncode)
        self.check_folder()

    def test_series_in_one_folder_stay_apart(self):                                     # SIMP-02
        """Pages of another size, and those of another feed, have other entries under a number."""
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        server = http.server.ThreadingHTTPServer(
            ("127.0.0.1", 0), functools.partial(Quiet, directory=self.folder))
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        base = "http://127.0.0.1:%d/" % server.server_port
        self.fill(12)
        self.assertEqual(0, self.archive("--base", base).returncode)
        self.d.stop()
        self.d.args[self.d.args.index("--archive-size") + 1] = "3"
        self.d.start()
        self.fill(5, 12)
        for publisher in (self.p, Publisher(self.o, "/q.xml", "q")):
            self.p = publisher
            if publisher.name == "q":
                self.fill(11)
            self.assertEqual(0, self.archive("--base", base).returncode)
            self.assertEqual([d.ids for d in chain(self.at("/simple/recent"))],
                             [d.ids for d in chain(base + "recent.atom")])

    def test_wrong_use(self):
        self.folder = "/nonexistent/folder"
        self.fill(1)
        done = self.archive()
        self.assertEqual(1, done.returncode)
        self.assertIn("/nonexistent/folder", done.stderr)
        done = subprocess.run([BINARY, "archive", self.p.url], stderr=subprocess.PIPE, text=True)
        self.assertEqual(2, done.returncode)
        self.assertIn("usage", done.stderr)


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


class Newest(Paged):
    """What /feed says of archives and pages."""

    def document(self, **params):
        return Document(self.at("/feed", type="atom", **params))

    def test_archive_link_only_if_nothing_is_lost(self):                            # ARCH-06
        self.fill(7)
        self.assertIsNone(self.document(len=1).link("prev-archive"))
        for length in (2, 3, 500):
            document = self.document(len=length)
            documents = [document] + chain(document.link("prev-archive"))
            self.assertEqual(set(self.state()), set(reconstruct(documents)))
            self.assertFalse(document.has(FH + "archive"))
        self.p.delete("e0")
        self.sync()                         # a reader of /feed would not hear of it
        self.assertIsNone(self.document(len=500).link("prev-archive"))
        self.assertIsNone(self.document(len=500, page=1).link("prev-archive"))

    def test_a_new_head_has_a_new_date(self):                                       # HTTP-05
        def show(title):
            return self.o.set("/head.xml", "<rss version='2.0'><channel><title>%s</title><link>http://h."
                              "example/</link><description>d</description><item><title>t</title></item>"
                              "</channel></rss>" % title)
        url = show("Old")
        date = self.d.feed(url, type="atom").header("Last-Modified")
        self.next_second()
        show("New")
        self.d.ping(url)
        self.wait(lambda: b"New" in self.d.feed(url, type="atom").body, what="the title", daemon=self.d)
        path = "/feed?type=atom&url=" + quote(url)
        self.assertEqual(200, self.d.get(path, If_Modified_Since=date).status)
        date = self.d.get(path).header("Last-Modified")
        self.assertEqual(304, self.d.get(path, If_Modified_Since=date).status)

    def test_pages(self):                                                  # ARCH-11 ARCH-02
        self.fill(11)
        documents = chain(self.at("/feed", type="atom", len=4, page=1), "next")
        self.assertEqual([4, 4, 3], [len(d.ids) for d in documents])
        self.assertEqual(11, len({i for d in documents for i in d.ids}))
        self.assertIsNone(documents[0].link("previous"))
        self.assertIsNone(documents[-1].link("next"))
        for document in documents:
            self.assertEqual(documents[0].ids, Document(document.link("first")).ids)
            self.assertEqual(documents[-1].ids, Document(document.link("last")).ids)
            self.assertIsNone(document.link("prev-archive"))
        for newer, older in zip(documents, documents[1:]):
            self.assertEqual(newer.ids, Document(older.link("previous")).ids)
        behind = Document(self.at("/feed", type="atom", len=4, page=99))
        self.assertEqual(documents[-1].ids, Document(behind.link("previous")).ids)
        self.assert_problem(self.d.get(self.at("/feed", page=0)[len(self.d.base):]), 400,
                            "bad-parameter")


class Delta(Paged):
    """RFC 3229 with feeds."""

    def ask(self, etag, a_im="feed", **params):
        path = self.at("/feed", type="atom", **params)[len(self.d.base):]
        return self.d.get(path, A_IM=a_im, If_None_Match=etag)

    def test_delta(self):             # DELTA-01 DELTA-02 DELTA-03 DELTA-04 DELTA-05 DELTA-06
        from .env.schema import check_atom
        self.fill(8)
        url = self.at("/feed", type="atom")
        whole = self.d.get(url[len(self.d.base):], Accept_Encoding="gzip")
        etag = whole.header("ETag")
        self.assertIn("-gz", etag)
        self.assertEqual(304, self.ask(etag).status)
        self.p.put("e2", "edited")
        self.p.put("new", "new")
        self.sync()
        answer = self.ask('"other", ' + etag)
        self.assertEqual(226, answer.status)
        self.assertEqual("feed", answer.header("IM"))
        self.assertEqual({"no-store", "im"},
                         {c.strip() for c in answer.header("Cache-Control").split(",")})
        self.assertEqual({"new", "edited"}, set(Document(url, answer).titles))
        check_atom(self, answer.body)
        self.assertEqual(answer.header("ETag"), Document(url).headers["ETag"])
        self.assertEqual(304, self.ask(answer.header("ETag")).status)
        for etag_, a_im in (('"old"', "feed"), (etag, "vcdiff"), (etag, "feed;q=0"), ('"%s"' % ("0" * 32), "feed")):
            answer = self.ask(etag_, a_im)
            self.assertEqual(200, answer.status)
            self.assertEqual(9, len(Document(url, answer).ids))
        self.assertEqual(226, self.ask(etag, "vcdiff, feed;q=0.5").status)
        self.assertEqual(200, self.ask(etag, len=3).status)      # an instance of another document


    def test_a_deletion_is_not_lost(self):                             # DELTA-01 TOMB-02
        self.fill(4)
        url = self.at("/feed", type="atom")
        etag = Document(url).headers["ETag"]
        self.p.delete("e1")
        self.p.put("new", "new")
        self.sync()
        answer = self.ask(etag)
        self.assertEqual(200, answer.status)
        self.assertIsNone(answer.header("IM"))
        self.assertEqual(Document(url).headers["ETag"], answer.header("ETag"))
        self.assertEqual(Document(url).body, answer.body)
        self.assertNotIn("no-store", answer.header("Cache-Control"))
        self.p.put("newer", "newer")
        self.sync()
        answer = self.ask(answer.header("ETag"))
        self.assertEqual((226, ["newer"]), (answer.status, Document(url, answer).titles))


class History(Paged):
    def test_documents(self):                                  # FH-01 FH-02 FH-03
        self.fill(13)
        entry = Document(self.at("/history"))
        self.assertEqual("1", entry.root.findtext(FH + "Stateful").strip())
        this, before = entry.link("this"), entry.link("prev")
        self.assertTrue(this and before)
        self.fill(4, 13)
        self.assertEqual(entry.ids, Document(this).ids)
        self.assertEqual(this, Document(this).link("this"))
        again = Document(self.at("/history"))
        self.assertNotEqual(this, again.link("this"))
        documents, url = [again], again.link("prev")
        for _ in range(500):
            if not url:
                break
            documents.append(Document(url))
            self.assertEqual(url, documents[-1].link("this"))
            url = documents[-1].link("prev")
        else:
            self.fail("the documents do not end")
        ids = [i for d in documents for i in d.ids]
        self.assertEqual({"urn:pub:p:e%d" % i for i in range(17)}, set(ids))
        self.assertEqual(17, len(ids))

    def test_readers_of_the_fourth_draft(self):         # fh:incremental, and fh:prev for the link
        self.fill(13)
        ids, url = [], self.at("/history")
        for _ in range(500):
            if not url:
                break
            document = Document(url)
            self.assertEqual("true", document.root.findtext(FH + "incremental"))
            ids += document.ids
            url = document.root.findtext(FH + "prev")
        else:
            self.fail("the documents do not end")
        self.assertEqual(["urn:pub:p:e%d" % i for i in reversed(range(13))], ids)

    def test_first_seen_wins(self):                                                 # FH-03
        self.fill(9)
        self.p.put("e0", "edited")
        self.sync()
        state = {}
        for document in chain(self.at("/history"), "prev"):
            for name, title in zip(document.ids, document.titles):
                state.setdefault(name, title)
        self.assertEqual(self.state(), state)
