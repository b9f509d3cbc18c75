"""What matters in the feeds of a view: q, author, category, lang, has, after, before (VIEW-02, -03, -04, -07, -11, -13)."""
import datetime
import threading
import time

from .env.case import Case
from .env.daemon import quote

DAY = 86400


def rss_of(*items, language=None):
    """RSS with items that are given as the XML within them; a string without tags is a title."""
    head = "" if language is None else "<language>%s</language>" % language
    body = "".join("<item>%s</item>" % (i if "<" in i else "<title>%s</title><guid isPermaLink='false'>%s</guid>" % (i, i))
                   for i in items)
    return ('<rss version="2.0" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:content="http://purl.org/rss/1.0/modules/content/">'
            '<channel><title>A feed</title><link>http://site.example/</link>%s%s</channel></rss>' % (head, body))


def item(title, more="", guid=None):
    return "<title>%s</title><guid isPermaLink='false'>%s</guid>%s" % (title, guid or title, more)


def rfc822(at):
    return datetime.datetime.fromtimestamp(at, datetime.timezone.utc).strftime("%a, %d %b %Y %H:%M:%S +0000")


class Filters(Case):
    def setUp(self):
        super().setUp()
        self.o = self.origin()
        self.d = self.daemon()

    def feed(self, *items, path="/f.xml", **kw):
        return self.o.set(path, rss_of(*items, **kw))

    def target(self, url, params, path="/feed"):
        return path + "?type=json&url=" + quote(url) + "".join("&%s=%s" % (k, quote(str(v))) for k, v in params)

    def found(self, url, *params, **named):
        answer = self.d.get(self.target(url, list(params) + list(named.items())))
        self.assertEqual(200, answer.status, answer.body)
        return [e["title"] for e in answer.json["entries"]]


class Words(Filters):
    """VIEW-02, VIEW-13"""

    def test_each_kind_of_question(self):
        u = self.feed(item("Café au lait", "<description>A drink of &lt;b&gt;milk&lt;/b&gt; and coffee</description>"),
                      item("Tea", "<description>green tea, no milk</description><dc:creator>Ann Smith</dc:creator>"),
                      item("Milky way", "<content:encoded>&lt;p&gt;stars &amp;amp; dust&lt;/p&gt;</content:encoded>"
                           "<dc:creator>Bob</dc:creator>"),
                      item("東京タワー"))
        for q, titles in {"cafe": ["Café au lait"], "CAFÉ": ["Café au lait"], "milk": ["Café au lait", "Tea"],
                          "milk tea": ["Tea"], '"green tea"': ["Tea"], '"tea green"': [], "milk -tea": ["Café au lait"],
                          "milk*": ["Café au lait", "Tea", "Milky way"], "tea OR stars": ["Tea", "Milky way"],
                          "milk tea OR dust": ["Tea", "Milky way"], "milk (tea OR coffee)": ["Café au lait", "Tea"],
                          "title:tea": ["Tea"], "title:green": [], "author:smith": ["Tea"], "author:tea": [],
                          "-milk": ["Milky way", "東京タワー"], "b": [], "東京": ["東京タワー"], "京タ": ["東京タワー"],
                          "京東": [], "x:tea": [], "or": []}.items():
            with self.subTest(q):
                self.assertEqual(titles, self.found(u, q=q))

    def test_a_syntax_error_names_its_place(self):
        u = self.feed("a")
        for q, at in {'é "ab': 2, "(a": 0, "a )": 2, "a OR": 4, "title:": 6, "title:-a": 6, "author:(a b)": 7}.items():
            with self.subTest(q):
                self.assert_problem(self.d.get(self.target(u, [("q", q)])), 400, "bad-parameter", parameter="q", at=at)
        for q, right in {"title:-a": "-title:word", "title:(a b)": "title:a OR title:b"}.items():
            self.assertIn(right, self.d.get(self.target(u, [("q", q)])).json["detail"])
        self.assertEqual(["a"], self.found(u, q='-title:b'))
        self.assertEqual(["a"], self.found(u, q=""))


class Values(Filters):
    """VIEW-03"""

    def test_each_alone_and_together(self):
        u = self.feed(item("one", "<category>News</category><category>Sea</category><dc:creator>Ann</dc:creator>"),
                      item("two", "<category>news</category><enclosure url='http://x.example/a.mp3' type='audio/mpeg' length='1'/>"),
                      item("three", "<category>Newsroom</category><enclosure url='http://x.example/a.png' type='image/png' length='1'/>"),
                      item("four", "<description>short</description><content:encoded>long</content:encoded>"
                           "<dc:language>de-CH</dc:language>"),
                      language="en")
        for params, titles in (((("category", "NEWS"),), ["one", "two"]),
                               ((("category", "news"), ("category", "newsroom")), ["one", "two", "three"]),
                               ((("category", "new"),), []),
                               ((("author", "ann"),), ["one"]), ((("author", "an"),), []),
                               ((("lang", "de"),), ["four"]), ((("lang", "de-ch"),), ["four"]), ((("lang", "de-AT"),), []),
                               ((("lang", "EN"),), ["one", "two", "three"]), ((("lang", "*"),), ["one", "two", "three", "four"]),
                               ((("has", "enclosure"),), ["two", "three"]), ((("has", "audio"),), ["two"]),
                               ((("has", "image"), ("has", "audio")), ["two", "three"]), ((("has", "video"),), []),
                               ((("has", "content"),), ["four"]),
                               ((("category", "news"), ("has", "audio")), ["two"]),
                               ((("category", "news"), ("q", "one")), ["one"]),
                               ((("category", ""),), ["one", "two", "three", "four"])):
            with self.subTest(params):
                self.assertEqual(titles, self.found(u, *params))

    def test_what_cannot_be_right(self):
        u = self.feed("a")
        for name, value in (("has", "pictures"), ("lang", "de_CH"), ("after", "yesterday"), ("before", "12x"),
                            ("category", "x" * 1001), ("q", "x " * 3000)):
            with self.subTest(name):
                self.assert_problem(self.d.get(self.target(u, [(name, value)])), 400, "bad-parameter", parameter=name)
        self.assert_problem(self.d.get(self.target(u, [("category", "c%d" % i) for i in range(101)])), 400, parameter="category")


class Dates(Filters):
    """VIEW-04"""

    def test_entries_at_the_borders(self):
        now = int(time.time())
        u = self.feed(*(item("d%d" % k, "<pubDate>%s</pubDate>" % rfc822(now - k * DAY)) for k in range(5)))
        at = now - 2 * DAY
        iso = datetime.datetime.fromtimestamp(at, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
        for when in (at, iso):
            self.assertEqual(["d0", "d1", "d2"], self.found(u, after=when))
            self.assertEqual(["d3", "d4"], self.found(u, before=when))
        self.assertEqual(["d1"], self.found(u, after="36h", before="12h"))
        self.assertEqual(["d0", "d1", "d2", "d3"], self.found(u, after="84h"))
        self.assertEqual([], self.found(u, after=now + DAY))
        for _ in range(2):                          # an age means another time each time, so nothing is kept of it
            self.assertEqual(["d0", "d1"], self.found(u, after="36h"))
        self.assertEqual(0, self.d.counter("recalled_total"))


class Pages(Filters):
    """VIEW-07: what does not match does not count."""

    def test_len_skip_and_pages_count_what_matches(self):
        now = int(time.time())
        u = self.feed(*(item("%s %d" % ("rare" if k % 60 == 7 else "common", k),
                             "<pubDate>%s</pubDate>" % rfc822(now - k * 60)) for k in range(200)))
        self.assertEqual(["rare 7", "rare 67", "rare 127"], self.found(u, q="rare", len=3))
        self.assertEqual(["rare 67"], self.found(u, q="rare", len=1, skip=1))
        self.assertEqual(["rare 187"], self.found(u, q="rare", len=1, page=4))
        self.assertEqual([], self.found(u, q="rare", len=1, page=5))
        first = self.d.get("/feed?type=jsonfeed&len=3&q=rare&url=" + quote(u)).json
        rest = self.d.get(first["next_url"].split("://")[1].split("/", 1)[1].join(["/", ""])).json
        self.assertEqual(["rare 187"], [e["title"] for e in rest["items"]])
        self.assertNotIn("next_url", rest)

    def test_several_feeds(self):
        u = self.feed("sun red", "sun blue")
        v = self.feed("moon red", "moon blue", path="/g.xml")
        answer = self.d.get("/feeds?type=json&q=red&url=%s,%s" % (quote(u), quote(v)))
        self.assertEqual({"sun red", "moon red"}, {e["title"] for e in answer.json["entries"]})

    def test_documents_of_other_filters_are_other_documents(self):
        u = self.feed("red", "blue")
        ids = [self.d.get("/feed?type=jsonfeed&url=%s%s" % (quote(u), more)) for more in ("", "&q=red", "&q=blue", "&q=red")]
        tags = [a.header("ETag") for a in ids]
        self.assertEqual(3, len(set(tags)))
        self.assertEqual(tags[1], tags[3])
        atom = [self.d.get("/feed?type=atom&url=%s%s" % (quote(u), more)).body.split(b"<id>")[1].split(b"</id>")[0]
                for more in ("", "&q=red", "&q=RED", "&q=blue")]
        self.assertEqual(3, len(set(atom)))
        self.assertEqual(atom[1], atom[2])


class Caching(Filters):
    """VIEW-11"""

    def test_304_gzip_and_vary(self):
        t = "/feed?q=red&url=" + quote(self.feed(item("red", "<description>%s</description>" % ("long " * 500)), "blue"))
        answer = self.d.get(t)
        self.assertIn("Accept", answer.header("Vary"))
        for _ in range(3):
            self.assertEqual(304, self.d.get(t, If_None_Match=answer.header("ETag")).status)
        self.assertGreater(self.d.counter("recalled_total"), 0)
        self.assertEqual("gzip", self.d.get(t, Accept_Encoding="gzip").header("Content-Encoding"))

    def test_the_tag_is_good_as_long_as_the_document_is_the_same(self):
        one, two = self.feed("red 1", "blue 1"), self.feed("red 2", path="/g.xml")

        def count():
            return self.d.counter("entries_new_total") + self.d.counter("entries_changed_total")

        def news(*items):
            self.feed(*items)
            before = count()
            self.d.ping(one)
            self.wait(lambda: count() > before, what="the news", daemon=self.d)
            self.d.wait_idle()

        for kind in "atom", "rss", "json", "jsonfeed", "html":
            for path, urls in ("/feed", quote(one)), ("/feeds", quote(one) + "," + quote(two)):
                if (kind, path) == ("atom", "/feeds"):  # it says when each of its feeds has changed last (atom:source)
                    continue
                with self.subTest(kind=kind, path=path):
                    t = "%s?type=%s&q=red&url=%s" % (path, kind, urls)
                    self.feed("red 1", "blue 1")
                    self.d.get(t)
                    self.d.ping(one)
                    self.d.wait_idle()
                    has = self.d.get(t)
                    none = t.replace("red", "absent")
                    empty = self.d.get(none).header("ETag")
                    tag, at = has.header("ETag"), int(time.time())
                    self.wait(lambda: int(time.time()) > at + 1, what="another date")
                    news("green %s%s" % (kind, path), "red 1", "blue 1")
                    plain = self.d.get(t)
                    self.assertEqual(has.body, plain.body)
                    for accept in ({}, {"Accept_Encoding": "gzip"}, {"A_IM": "feed"}):
                        for _ in range(2):                               # drawn, then from the cache
                            again = self.d.get(t, If_None_Match='"x", W/' + tag, **accept)
                            self.assertEqual((304, tag), (again.status, again.header("ETag")), accept)
                    self.assertEqual(304, self.d.get(t, If_None_Match=plain.header("ETag")).status)
                    self.assertEqual(304, self.d.get(none, If_None_Match=empty).status)
                    odd = tag[:-17] + 'x"; y' + tag[-18:]                # it is not one of ours, so it is not sent back
                    self.assertEqual(200, self.d.get(t, If_None_Match=odd).status)
                    self.assertEqual(200, self.d.get(t.replace("red", "green"), If_None_Match=tag).status)
                    self.assertEqual(200, self.d.get(t, If_None_Match=tag[:-2] + '-"').status)
                    news("red %s%s" % (kind, path), "red 1", "blue 1")
                    found = self.d.get(t, If_None_Match=tag)
                    self.assertEqual(200, found.status)
                    self.assertNotEqual(tag, found.header("ETag"))
                    news(item("blue", guid="red %s%s" % (kind, path)), "red 1", "blue 1")      # it leaves the filter
                    self.assertEqual(200, self.d.get(t, If_None_Match=found.header("ETag")).status)
                    self.assertEqual(has.body, self.d.get(t).body)
                    self.assertEqual(304, self.d.get(t, If_None_Match=tag).status)             # as it was at first

    def test_a_delta_has_what_is_new_and_never_lacks_what_has_left(self):
        u = self.feed(item("red", guid="1"), item("blue", guid="2"))
        t = "/feed?type=atom&q=red&url=" + quote(u)
        tag = self.d.get(t).header("ETag")
        self.feed(item("red too", guid="3"), item("blue too", guid="4"), item("red", guid="1"), item("blue", guid="2"))
        self.d.ping(u)
        self.wait(lambda: b"red too" in self.d.get(t).body, daemon=self.d)
        delta = self.d.get(t, If_None_Match=tag, A_IM="feed")
        self.assertEqual((226, 1), (delta.status, delta.body.count(b"<entry")))
        self.assertIn(b"red too", delta.body)
        self.feed(item("reddish", guid="3"), item("red again", guid="4"), item("red", guid="1"), item("blue", guid="2"))
        self.d.ping(u)
        self.wait(lambda: b"red again" in self.d.get(t).body, daemon=self.d)
        whole = self.d.get(t, If_None_Match=tag, A_IM="feed")
        self.assertEqual((200, 2), (whole.status, whole.body.count(b"<entry")))
        self.assertNotIn(b"reddish", whole.body)

    def test_no_delta_of_what_was_there_and_has_left(self):
        one, two = self.feed(item("red", guid="1"), item("blue", guid="2")), self.feed(item("red two", guid="9"), path="/g.xml")
        for path, urls in ("/feed", quote(one)), ("/feeds", quote(one) + "," + quote(two)):
            for kind in "atom", "rss":
                with self.subTest(path=path, kind=kind):
                    t = "%s?type=%s&q=red&url=%s" % (path, kind, urls)
                    for title, gone in ("red", False), ("blue", True):      # edited back, then out of the filter
                        self.feed(item(title, guid="1"), item("blue", guid="2"))
                        self.d.ping(one)
                        self.wait(lambda: (b"<title>red</title>" in self.d.get(t).body.replace(b' type="text"', b"")) != gone,
                                  daemon=self.d)
                        if not gone:
                            tag = self.d.get(t).header("ETag")
                    answer = self.d.get(t, If_None_Match=tag, A_IM="feed")
                    self.assertEqual((200, None), (answer.status, answer.header("IM")))
                    whole = self.d.get(t)
                    self.assertEqual(whole.body, answer.body)


class Cost(Filters):
    """VIEW-12"""

    def test_others_are_served_while_much_is_judged(self):
        many, few = self.feed(*["word %d" % n for n in range(8000)]), self.feed("a", path="/few.xml")
        for u in many, few:
            self.d.feed(u, len=1)
        ends, answers = [], []

        def judge(n):       # as many as there are readers; two documents
            answers.append(self.d.get(self.target(many, [("q", "-word"), ("len", n)])))
            ends.append(time.monotonic())
        asking = [threading.Thread(target=judge, args=(n,)) for n in (1, 2)]
        for thread in asking:
            thread.start()
        served, n = [], 0
        while not ends:
            n += 1
            self.assertEqual(200, self.d.feed(few, len=n).status)       # of another length, so it is not in the cache
            served.append(time.monotonic())
        for thread in asking:
            thread.join()
        self.assertEqual([(200, []), (200, [])], [(a.status, a.json["entries"]) for a in answers])
        self.assertGreaterEqual(sum(at < min(ends) for at in served), 5)
