"""In which order a view by date shows entries (VIEW-05), and which of those alike (VIEW-06, REST-19)."""
import re
import time

from .env.daemon import quote
from .env.schema import check_atom
from .test_filters import DAY, Filters, item, rfc822


def dated(title, at, **more):
    return item(title, "<pubDate>%s</pubDate>" % rfc822(at), **more)


class Ordered(Filters):
    """VIEW-05"""

    def setUp(self):
        super().setUp()
        self.now = int(time.time())
        self.old = dated("old", self.now - 300 * DAY)

    def then(self, *items, path="/f.xml", shown, params=""):
        """A new document of the feed, which brings what `shown` says."""
        u = self.feed(*items, path=path)
        self.d.ping(u)
        self.wait(lambda: shown in self.titles("/feed?url=" + quote(u) + params), what=shown, daemon=self.d)
        return u

    def titles(self, path):
        answer = self.d.get(path + "&type=json")
        self.assertEqual(200, answer.status, answer.body)
        return [e["title"] for e in answer.json["entries"]]

    def stories(self):
        """a and b, then an older one, then b is changed, with its old date."""
        a, b = dated("a", self.now - DAY, guid="a"), dated("b", self.now - 2 * DAY, guid="b")
        u = self.feed(a, b)
        self.titles("/feed?url=" + quote(u))
        self.then(a, b, self.old, shown="old")
        return self.then(a, dated("b2", self.now - 2 * DAY, guid="b"), self.old, shown="b2")

    def test_an_old_dated_entry_that_came_last(self):
        t = "/feed?url=" + quote(self.stories())
        self.assertEqual(["a", "b2", "old"], self.titles(t))
        self.assertEqual(["a", "b2", "old"], self.titles(t + "&order=date"))
        self.assertEqual(["old", "a", "b2"], self.titles(t + "&order=received"))
        self.assertEqual(["b2", "old", "a"], self.titles(t + "&order=changed"))

    def test_merges_pages_and_skip(self):
        u = self.stories()
        v = self.feed(dated("v", self.now - 200 * DAY), path="/g.xml")
        t = "/feeds?url=%s,%s&order=" % (quote(u), quote(v))
        for order, titles in (("date", ["a", "b2", "v", "old"]), ("received", ["v", "old", "a", "b2"]),
                              ("changed", ["v", "b2", "old", "a"])):
            with self.subTest(order):
                self.assertEqual(titles, self.titles(t + order))
                for n in (1, 2, 3):
                    paged = [self.titles("%s%s&len=%d&page=%d" % (t, order, n, page)) for page in range(1, 6)]
                    self.assertEqual(titles, sum(paged, []))
                    self.assertEqual(titles[n:n + 2], self.titles("%s%s&len=2&skip=%d" % (t, order, n)))

    def test_links_keep_the_order(self):
        t = "/feed?order=received&url=" + quote(self.stories())
        first = self.d.get(t + "&type=atom&len=1&page=1").body.decode()
        links = [part.split('href="')[1].split('"')[0].replace("&amp;", "&") for part in first.split("<link ")
                 if 'rel="next"' in part.split(">")[0] or 'rel="last"' in part.split(">")[0]]
        self.assertEqual(2, len(links), first)
        path = [link[link.index("/feed"):] for link in links]
        self.assertEqual([["a"], ["b2"]], [self.titles(p.replace("type=atom", "x=1")) for p in path])

    def test_dates_bound_the_date_that_orders_the_view(self):      # VIEW-04
        before = int(time.time()) - 5
        t = "/feed?url=%s&" % quote(self.stories())
        for what, titles in (("after=60d", ["a", "b2"]), ("after=60d&order=received", ["old", "a", "b2"]),
                             ("before=60d&order=received", []), ("before=60d&order=changed", []),
                             ("before=60d", ["old"]), ("after=%d&order=changed" % before, ["b2", "old", "a"]),
                             ("before=%d&order=changed" % before, []), ("q=old&order=received", ["old"]),
                             ("q=-old&order=changed", ["b2", "a"])):
            with self.subTest(what):
                self.assertEqual(titles, self.titles(t + what))

    def test_each_order_is_a_document_and_has_deltas(self):
        u = self.stories()
        a, b = dated("a", self.now - DAY, guid="a"), dated("b2", self.now - 2 * DAY, guid="b")
        t = "/feed?type=atom&url=" + quote(u) + "&order="
        tags = {o: self.d.get(t + o).header("ETag") for o in ("date", "received", "changed")}
        self.assertEqual(3, len(set(tags.values())))
        for order, tag in tags.items():
            self.assertEqual(304, self.d.get(t + order, If_None_Match=tag).status)
        self.then(a, dated("b3", self.now - 2 * DAY, guid="b"), self.old, dated("older", self.now - 400 * DAY),
                  shown="older")
        for order, tag in tags.items():
            delta = self.d.get(t + order, If_None_Match=tag, A_IM="feed")
            self.assertEqual(226, delta.status)
            got = [e.split(b"<title")[1].split(b">")[1].split(b"<")[0] for e in delta.body.split(b"<entry")[1:]]
            self.assertEqual({"date": [b"b3", b"older"], "received": [b"older", b"b3"]}.get(order, got), got)
            self.assertEqual({b"b3", b"older"}, set(got))
        self.assertEqual(200, self.d.get(t + "received&after=7d", A_IM="feed",
                                         If_None_Match=tags["received"]).status)

    def test_wrong_values_and_streams(self):
        u = self.feed("a")
        for value in ("newest", "modified", "Date"):
            self.assert_problem(self.d.get("/feed?url=%s&order=%s" % (quote(u), value)), 400, "bad-parameter",
                                parameter="order")
        self.assert_problem(self.d.get("/smart?url=%s&order=received" % quote(u)), 400, "bad-parameter",
                            parameter="order")
        self.assertEqual(["a"], self.titles("/feed?url=" + quote(u)))
        self.assertEqual(200, self.d.get("/log?url=%s&order=received" % quote(u)).status)

    def test_lists(self):
        u = self.stories()
        lst = self.o.set("/list.opml", '<opml version="2.0"><head/><body><outline text="x" type="rss" xmlUrl="%s"/></body>'
                         '</opml>' % u)
        self.assertEqual(["old", "a", "b2"], self.titles("/opml?order=received&url=" + quote(lst)))


class Unique(Filters):
    """VIEW-06"""

    def setUp(self):
        super().setUp()
        self.now = int(time.time())

    def entry(self, title, age, link=None, guid=None, more=""):
        return item(title, "<pubDate>%s</pubDate>%s%s" % (
            rfc822(self.now - age), "<link>%s</link>" % link.replace("&", "&amp;") if link else "", more), guid=guid)

    def two(self, first, second):
        """Feeds of these items; the first one was fetched before the second."""
        u = self.feed(*first)
        self.assertEqual(200, self.d.get("/feed?url=" + quote(u)).status)
        v = self.feed(*second, path="/g.xml")
        self.assertEqual(200, self.d.get("/feed?url=" + quote(v)).status)
        return "/feeds?url=%s,%s" % (quote(v), quote(u))

    def titles(self, path):
        answer = self.d.get(path + "&type=json")
        self.assertEqual(200, answer.status, answer.body)
        return [e["title"] for e in answer.json["entries"]]

    def test_one_story_of_two_feeds(self):
        t = self.two([self.entry("first", 300, "http://s.example/story?utm_source=u#top", "1"),
                      self.entry("other", 400, "http://s.example/story?id=2", "2")],
                     [self.entry("second", 200, "HTTP://S.Example:80/x/../story?fbclid=9&gclid=8", "3"),
                      self.entry("more", 100, "http://s.example/more", "4")])
        for unique, titles in (("link", ["more", "first", "other"]), ("id", ["more", "second", "first", "other"]),
                               ("none", ["more", "second", "first", "other"]),
                               ("title", ["more", "second", "first", "other"])):
            with self.subTest(unique):
                self.assertEqual(titles, self.titles(t + "&unique=" + unique))
        self.assertEqual(["more", "second", "first", "other"], self.titles(t))
        self.assertEqual(["more", "other", "first"],
                         sorted(self.titles(t + "&unique=link&order=received"), key=["more", "other", "first"].index))
        for n in (1, 2):       # the other one is not on the page
            pages = [self.titles("%s&unique=link&len=%d&page=%d" % (t, n, page)) for page in (1, 2, 3, 4)]
            self.assertEqual(["more", "first", "other"], sum(pages, []))
        self.assertEqual(["first"], self.titles(t + "&unique=link&len=1&skip=1"))

    def test_titles(self):
        t = self.two([self.entry("A  Story", 300), self.entry("C++", 400)],
                     [self.entry("a story", 200), self.entry("C#", 100), self.entry("another story", 50)])
        self.assertEqual(["another story", "C#", "A  Story", "C++"], self.titles(t + "&unique=title"))

    def test_within_one_feed(self):
        u = self.feed(self.entry("new", 100, "http://s.example/1?gclid=1"), self.entry("old", 200, "http://s.example/1"),
                      self.entry("no link", 300), self.entry("no link either", 400))
        t = "/feed?url=" + quote(u)
        self.assertEqual(["old", "no link", "no link either"], self.titles(t + "&unique=link"))
        self.assertEqual(4, len(self.titles(t)))

    def test_the_filter_comes_before(self):
        t = self.two([self.entry("first", 300, "http://s.example/1", more="<category>sea</category>")],
                     [self.entry("second", 200, "http://s.example/1", more="<category>land</category>")])
        self.assertEqual(["first"], self.titles(t + "&unique=link"))
        self.assertEqual(["second"], self.titles(t + "&unique=link&category=land"))
        self.assertEqual(["second"], self.titles(t + "&unique=link&q=-first"))
        self.assertEqual(["second"], self.titles(t + "&unique=link&after=%d" % (self.now - 250)))
        self.assertEqual(["first"], self.titles(t + "&unique=link&category=land&category=sea"))

    def test_what_follows_a_change(self):
        t = self.two([self.entry("first", 300, "http://s.example/1", "1")], [self.entry("second", 200, "http://s.example/1", "2")])
        self.assertEqual(["first"], self.titles(t + "&unique=link"))
        tag = self.d.get(t + "&unique=link&type=atom").header("ETag")
        u = self.feed(self.entry("first moved", 300, "http://s.example/2", "1"))
        self.d.ping(u)
        self.wait(lambda: self.titles(t + "&unique=link") == ["second", "first moved"], daemon=self.d)
        whole = self.d.get(t + "&unique=link&type=atom", If_None_Match=tag, A_IM="feed")
        self.assertEqual((200, 2), (whole.status, whole.body.count(b"<entry")))
        tag = whole.header("ETag")
        self.feed(self.entry("third", 10, "http://s.example/3", "3"), self.entry("alike", 5, "http://s.example/1", "4"),
                  self.entry("first moved", 300, "http://s.example/2", "1"))
        self.d.ping(u)
        self.wait(lambda: "third" in self.titles(t + "&unique=link"), daemon=self.d)
        delta = self.d.get(t + "&unique=link&type=atom", If_None_Match=tag, A_IM="feed")
        self.assertEqual((226, 1), (delta.status, delta.body.count(b"<entry")))
        self.assertIn(b"third", delta.body)

    def ids(self, path):
        body = self.d.get(path + "&type=atom").body
        check_atom(self, body)
        return [re.search("<id>(.*?)</id>", e).group(1) for e in body.decode().split("<entry")[1:]]

    def test_doubles_of_one_id(self):                                    # REST-19
        t = self.two([self.entry("old", 300, guid="urn:x:story"), self.entry("other", 350, guid="urn:x:other")],
                     [self.entry("new", 200, guid="urn:x:story")])
        self.assertEqual(["new", "other"], self.titles(t))
        self.assertEqual(["new", "other"], self.titles(t + "&unique=id"))
        self.assertEqual(["old", "other"], self.titles(t + "&unique=id&q=-new"))
        self.assertEqual(["new", "old", "other"], self.titles(t + "&unique=none"))
        ids = self.ids(t + "&unique=none")
        self.assertEqual(["urn:x:story", "urn:x:other"], ids[1:])
        self.assertRegex(ids[0], "^urn:uuid:[0-9a-f-]{36}$")
        self.assertEqual(ids, sum([self.ids("%s&unique=none&len=1&page=%d" % (t, n)) for n in (1, 2, 3)], []))
        self.assertEqual(set(ids), set(self.ids(t + "&unique=none&order=changed")))
        self.assertEqual(3, len(self.ids(t + "&unique=title")))
        items = self.d.get(t + "&unique=none&type=jsonfeed").json["items"]
        self.assertEqual(ids, [i["id"] for i in items])                  # unique in one document there, too

    def test_each_is_a_document(self):
        u = self.feed("a", "b")
        t = "/feed?type=atom&url=" + quote(u)
        tags = {self.d.get(t + more).header("ETag") for more in ("", "&unique=link", "&unique=title", "&unique=none")}
        self.assertEqual(4, len(tags))
        self.assert_problem(self.d.get(t + "&unique=guid"), 400, "bad-parameter", parameter="unique")
