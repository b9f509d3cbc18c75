"""In which order a view by date shows entries (VIEW-05)."""
import time

from .env.daemon import quote
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
