"""Entries stay the same whatever their publisher does: ATOM-05 ATOM-08 RSS-03 JF-03 D8 D9.

Each story is a publisher over many fetches, seen by a subscriber and by readers of Atom, RSS, JSON
and JSON Feed: nothing is pushed twice, nothing is lost, and no public id changes, restarts included.
"""
import itertools
import re
import subprocess
import xml.etree.ElementTree as ET
from html import escape

from .env.case import Case
from .env.daemon import BINARY
from .env.origin import Reply, moved

ATOM = "{http://www.w3.org/2005/Atom}"


class Item:
    def __init__(self, title, guid=None, link=None, day=None, text=None, extra=""):
        self.title, self.guid, self.link, self.day = title, guid, link, day
        self.text, self.extra = text or "text of " + title.split("|")[0], extra

    def xml(self):
        out = ["<item><title>%s</title><description>%s</description>%s" % (
            escape(self.title), escape(self.text), self.extra)]
        if self.link:
            out.append("<link>%s</link>" % escape(self.link))
        if self.guid:
            out.append('<guid isPermaLink="false">%s</guid>' % escape(self.guid))
        if self.day:
            out.append("<pubDate>%02d Jun 2020 10:00:00 GMT</pubDate>" % self.day)
        return "".join(out) + "</item>"


def document(items, title="S"):
    return ('<?xml version="1.0"?><rss version="2.0" xmlns:feedburner='
            '"http://rssnamespace.org/feedburner/ext/1.0"><channel><title>%s</title>'
            "<link>http://s.example/</link><description>d</description>%s</channel></rss>" %
            (title, "".join(i.xml() for i in items)))


class Identity(Case):
    path = "/f.xml"

    def begin(self, items, *args):
        self.o, self.r = self.origin(), self.receiver()
        self.d = self.daemon("--fetch-host-gap", "0", *args)
        self.u = self.o.set(self.path, document(items))
        self.sub = self.d.subscribe(self.u, endpoint=self.r.url)
        self.wait(lambda: (self.d.record(self.u) or {}).get("last_check"), daemon=self.d)
        self.serial = itertools.count()
        self.expected = []

    def publish(self, items, *pushed):
        """One fetch that is taken in; `pushed` are the titles that it must push, oldest first."""
        title = "S %d" % next(self.serial)      # stored together with the entries
        self.o.set(self.path, document(items, title))
        self.d.ping(self.u)
        self.wait(lambda: self.d.record(self.u)["title"] == title, daemon=self.d)
        self.expected += pushed
        self.wait(lambda: len(self.r.titles(self.sub)) >= len(self.expected), what="pushes of %r" % (self.expected,),
                  daemon=self.d)                # one too many shows here, later, or at the end
        self.assertEqual(self.expected, self.r.titles(self.sub))

    def ids(self, url=None):
        """{title: public id}, which must be the same in all formats."""
        url = url or self.u
        found = {}
        feed = ET.fromstring(self.d.feed(url, type="atom", len=1000).body)
        for e in feed.findall(ATOM + "entry"):
            found[e.find(ATOM + "title").text.split("|")[0]] = e.find(ATOM + "id").text
        self.assertEqual(len(found), len(feed.findall(ATOM + "entry")), "a title twice")
        self.assertEqual(len(found), len(set(found.values())), "an id twice: %r" % found)
        rss = ET.fromstring(self.d.feed(url, type="rss", len=1000).body)
        self.assertEqual(found, {i.find("title").text.split("|")[0]: i.find("guid").text
                                 for i in rss.iter("item")})
        items = self.d.feed(url, type="jsonfeed", len=1000).json["items"]
        self.assertEqual(found, {i["title"].split("|")[0]: i["id"] for i in items})
        objects = self.d.feed(url, len=1000).json["entries"]
        self.assertEqual(len(found), len({e["id"] for e in objects}))
        return found

    def assert_ids_last(self, before, url=None):
        for restart in (False, True):
            if restart:
                self.d.stop()
                self.d.start()
            now = self.ids(url)
            self.assertEqual(before, {k: now.get(k) for k in before})
        self.assertEqual(self.expected, self.r.titles(self.sub))

    def rule(self):
        return self.d.record(self.u)["identity"]

    def many(self, n, **kw):
        return [Item("e%d" % i, **{k: v(i) for k, v in kw.items()}) for i in range(n, 0, -1)]

    # ---- spelling ----
    def test_https_www_and_slashes(self):
        def at(form):
            return lambda i: form % i
        forms = ("http://s.example/%d", "https://s.example/%d", "https://www.S.example/%d/",
                 "http://s.example:80/%d?utm_source=rss&utm_medium=x", "https://s.example/%d")
        self.begin(self.many(6, guid=at(forms[0]), link=at(forms[0])))
        ids = self.ids()
        for form in forms[1:]:
            self.publish(self.many(6, guid=at(form), link=at(form)))
        self.publish(self.many(7, guid=at(forms[0]), link=at(forms[0])), "e7")
        self.assert_ids_last(ids)
        self.assertEqual("guid", self.rule())

    def test_session_ids(self):
        self.begin(self.many(6, guid=lambda i: "http://s.example/%d?PHPSESSID=0" % i,
                             link=lambda i: "http://s.example/%d;jsessionid=0" % i))
        ids = self.ids()
        for k in range(1, 5):
            self.publish(self.many(6, guid=lambda i: "http://s.example/%d?PHPSESSID=%d" % (i, k),
                                   link=lambda i: "http://s.example/%d;jsessionid=%d" % (i, k)))
        self.assert_ids_last(ids)

    def test_near_ids_of_one_document_stay_two(self):
        def near(*more):
            return list(more) + [Item("a", "http://s.example/1", "http://s.example/a"),
                                 Item("b", "https://s.example/1", "http://s.example/b"),
                                 Item("c", "http://s.example/x?sid=1", "http://s.example/c"),
                                 Item("d", "http://s.example/x?sid=2", "http://s.example/d")]
        self.begin(near())
        ids = self.ids()
        self.assertEqual(4, len(ids))
        self.publish(near()[::-1])
        edited = near()
        edited[0].title = "a|edited"
        self.publish(edited, "a|edited")
        self.publish([near()[3], near()[1]])
        self.assert_ids_last(ids)

    # ---- ids that are none ----
    def test_ids_of_the_moment(self):
        serial = itertools.count()

        def now(i):
            return "%d-%d" % (i, next(serial))

        def link(i):
            return "http://s.example/%d" % i
        self.begin(self.many(6, guid=now, link=link))
        ids = self.ids()
        for k in range(5):
            self.publish(self.many(6, guid=now, link=link))
        self.assertEqual("link", self.rule())
        shown = subprocess.run([BINARY, "show", "--server", self.d.base, self.u],
                               capture_output=True, text=True, check=True).stdout
        self.assertRegex(shown, r"identity\tlink\n")
        self.assertRegex(shown, r"identity_reason\tguids failed in 3 documents in a row; in the last, "
                                r"6 of 6 entries came with another than before\n")
        self.publish(self.many(7, guid=now, link=link), "e7")
        edited = self.many(7, guid=now, link=link)
        edited[2].title = "e5|edited"
        self.publish(edited, "e5|edited")
        self.assert_ids_last(ids)
        ids = self.ids()
        edited[2].title = "e5|edited"
        for k in range(10):                             # and ids that last again
            edited[0].text = "edition %d" % k
            self.publish(edited, "e7")
        self.assertEqual("guid", self.rule())
        self.publish(edited + [Item("e8", "eight", "http://s.example/1")], "e8")
        self.assert_ids_last(ids)

    def test_missing_ids_then_missing_links(self):
        self.begin(self.many(5, link=lambda i: "http://s.example/%d" % i, day=lambda i: i))
        self.assertEqual("link", self.rule())
        ids = self.ids()
        for k in range(4):                              # all lead to the front page now
            self.publish(self.many(6, link=lambda i: "http://s.example/", day=lambda i: i),
                         *(["e6"] if k == 0 else []))
        self.assertEqual("title", self.rule())
        self.publish(self.many(7, link=lambda i: "http://s.example/", day=lambda i: i), "e7")
        self.assert_ids_last(ids)

    def test_one_id_for_all(self):
        self.begin(self.many(4, guid=lambda i: "g", link=lambda i: "http://s.example/%d" % i))
        self.assertEqual("link", self.rule())
        ids = self.ids()
        self.publish(self.many(5, guid=lambda i: "g", link=lambda i: "http://s.example/%d" % i), "e5")
        self.publish(self.many(5, guid=lambda i: "g", link=lambda i: "http://s.example/%d" % i)[::-1])
        self.assert_ids_last(ids)

    # ---- collisions in one document ----
    def test_a_shared_id_is_two_entries(self):
        def shared(*more):
            return list(more) + [Item("x", "same", "http://s.example/x"),
                                 Item("y", "same", "http://s.example/y"),
                                 Item("z", "z", "http://s.example/z"),
                                 Item("w", "w", "http://s.example/w"),
                                 Item("z", "z", "http://s.example/z")]     # an exact double
        self.begin(shared())
        ids = self.ids()
        self.assertEqual(4, len(ids))
        for items in (shared()[::-1], shared()[1:], shared()[:1] + shared()[2:], shared()):
            self.publish(items)
        edited = shared()
        edited[1].text = "another text"
        self.publish(edited, "y")
        self.publish(shared(Item("v", "same", "http://s.example/v"))[:1] + edited, "v")
        self.assert_ids_last(ids)

    # ---- moves ----
    def test_a_feed_that_moves_keeps_its_ids(self):             # ATOM-08
        items = [Item("a", "not an iri", "http://s.example/a"), Item("b", None, "http://s.example/b"),
                 Item("c", "c c", None, 1)]
        self.begin(items)
        ids = self.ids()
        self.assertTrue(ids["a"].startswith("urn:uuid:"))
        target = self.o.set("/moved.xml", document(items) + "<!-- m -->")
        self.o.set(self.path, moved(target))
        self.d.ping(self.u)
        self.wait(lambda: self.d.record(target), what="the move", daemon=self.d)
        self.assertEqual([], self.r.titles())
        self.assert_ids_last(ids, target)

    def test_feedburner_in_and_out(self):
        def burnt(i):
            return Item("e%d" % i, None, "http://feedproxy.example/~r/s/~3/x%d/" % (i * 77), extra=
                        "<feedburner:origLink>http://s.example/%d</feedburner:origLink>" % i)
        own = self.many(5, link=lambda i: "http://s.example/%d" % i)
        self.begin(own)
        ids = self.ids()
        self.publish([burnt(i) for i in range(6, 0, -1)], "e6")
        self.publish(own)
        self.publish([burnt(i) for i in range(6, 0, -1)])
        self.assert_ids_last(ids)

    # ---- another program ----
    def test_a_new_program_gives_all_other_ids(self):
        n = 300
        self.begin(self.many(n, guid=lambda i: "http://s.example/?p=%d" % i,
                             link=lambda i: "http://s.example/%d" % i, day=lambda i: 1 + i % 28))
        ids = self.ids()
        moved = self.many(n, guid=lambda i: "post-%d" % (i + 5000),
                          link=lambda i: "https://blog.s.example/%d.html" % i,
                          day=lambda i: 1 + i % 28)
        self.publish([Item("new", "post-1", "https://blog.s.example/new.html", 28)] + moved, "new")
        self.publish(moved)
        self.assert_ids_last(ids)
        self.assertEqual("guid", self.rule())
        links = {e["link"] for e in self.d.feed(self.u, len=1000).json["entries"]}
        self.assertIn("https://blog.s.example/7.html", links)
        self.publish(self.many(n, guid=lambda i: "post-%d" % (i + 5000),
                               link=lambda i: "https://blog.s.example/%d.html" % i,
                               day=lambda i: 1 + i % 28, text=lambda i: "same" if i > 1 else "edited")
                     [-1:] + moved[:-1], "e1")
