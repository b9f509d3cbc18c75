"""How much of its entries a view shows: content, chars, fields (VIEW-08)."""
import json
import xml.etree.ElementTree as ET

from .env.daemon import quote
from .env.events import EventReader
from .test_filters import Filters, item, rss_of

ATOM = "{http://www.w3.org/2005/Atom}"
CONTENT = "{http://purl.org/rss/1.0/modules/content/}encoded"
WORDS = "Boats &amp; ships came in &lt;early&gt; today because of the storm"
TEXT = "Boats & ships came in <early> today because of the storm"
HTML = "<description>&lt;p&gt;A &lt;i&gt;short&lt;/i&gt; text of the harbour&lt;/p&gt;</description>" \
       "<content:encoded><![CDATA[<p>%s</p><script>x()</script>]]></content:encoded>" \
       "<dcterms:abstract xmlns:dcterms='http://purl.org/dc/terms/'>Elsewhere storm</dcterms:abstract>" \
       "<enclosure url='http://x.example/a.mp3' type='audio/mpeg' length='1'/>" % WORDS


class Shown(Filters):
    def setUp(self):
        super().setUp()
        self.u = self.feed(item("One", HTML), item("Two"))

    def ask(self, path="/feed", **params):
        answer = self.d.get(path + "?url=" + quote(self.u) + "".join("&%s=%s" % (k, quote(str(v))) for k, v in params.items()))
        self.assertEqual(200, answer.status, answer.body)
        return answer

    def entry(self, type_, **params):
        answer = self.ask(type=type_, **params)
        if type_ == "json":
            return answer.json["entries"][0]
        if type_ == "jsonfeed":
            return answer.json["items"][0]
        root = ET.fromstring(answer.body)
        return root.find(ATOM + "entry") if type_ == "atom" else root.find("channel/item")


class Texts(Shown):
    """VIEW-08: content and chars"""

    def test_plain_text_in_all_formats(self):
        e = self.entry("json", content="text")
        self.assertEqual([{"type": "text/plain", "value": TEXT}], e["content"])
        self.assertEqual("A short text of the harbour", e["summary"])
        self.assertNotIn("dcterms_abstract", e)
        e = self.entry("jsonfeed", content="text")
        self.assertEqual(TEXT, e["content_text"])
        self.assertNotIn("content_html", e)
        e = self.entry("atom", content="text")
        self.assertEqual("Boats &amp; ships came in &lt;early&gt; today because of the storm", e.find(ATOM + "content").text)
        self.assertEqual(("text", "A short text of the harbour"), (e.find(ATOM + "summary").get("type"), e.find(ATOM + "summary").text))
        e = self.entry("rss", content="text")
        self.assertEqual("A short text of the harbour", e.find("description").text)
        self.assertEqual("Boats &amp; ships came in &lt;early&gt; today because of the storm", e.find(CONTENT).text)
        self.assertIsNotNone(e.find("enclosure"))

    def test_whole_words_and_an_ellipsis(self):
        for chars, text in ((55, "Boats & ships came in <early> today because of the…"), (56, TEXT), (1000, TEXT), (5, "Boats…"),
                            (6, "Boats…"), (7, "Boats &…"), (4, "…"), (12, "Boats &…"), (13, "Boats & ships…")):
            with self.subTest(chars):
                e = self.entry("json", content="text", chars=chars)
                self.assertEqual(text, e["content"][0]["value"])
                self.assertLessEqual(len(e["summary"].rstrip("…")), chars)
                self.assertEqual(text, self.entry("jsonfeed", content="text", chars=chars)["content_text"])
        self.assertEqual(self.entry("json"), self.entry("json", chars=5))                # without content=text: nothing

    def test_none_drops_the_summary_too(self):
        for type_ in ("atom", "rss", "json", "jsonfeed"):
            with self.subTest(type_):
                body = self.ask(type=type_, content="none").body.decode()
                for word in ("storm", "harbour"):
                    self.assertNotIn(word, body)
                self.assertIn("One", body)
                self.assertIn("http://x.example/a.mp3", body)
                self.assertLess(len(body), len(self.ask(type=type_).body.decode()))
        self.assertFalse({"content", "summary", "summary_detail"} & set(self.entry("json", content="none")))
        self.assertIn("content_text", self.entry("jsonfeed", content="none"))
        e = self.entry("atom", content="none")                    # without an alternate link there must be a content
        self.assertIsNone(e.find(ATOM + "summary"))
        self.assertTrue(e.find(ATOM + "content") is not None or e.find(ATOM + "link[@rel='alternate']") is not None)

    def test_merges_and_what_is_deduced(self):
        other = self.feed(item("Three", "<description>storm</description>"), path="/g.xml")
        answer = self.d.get("/feeds?type=json&content=none&url=%s,%s" % (quote(self.u), quote(other)))
        self.assertEqual({"One", "Two", "Three"}, {e["title"] for e in answer.json["entries"]})
        self.assertTrue(all("source" in e for e in answer.json["entries"]))
        self.assertNotIn("storm", answer.body.decode())

    def test_each_is_a_document_of_its_own(self):
        tags = {self.ask(type="atom", **p).header("ETag")
                for p in ({}, {"content": "text"}, {"content": "none"}, {"content": "text", "chars": 9}, {"content": "text", "chars": 10})}
        self.assertEqual(5, len(tags))
        a = self.ask(type="json", content="text", chars=9, fields="title")
        self.assertEqual(304, self.d.get("/feed?url=%s&type=json&content=text&chars=9&fields=title" % quote(self.u),
                                         **{"If-None-Match": a.header("ETag")}).status)
        link = a.header("Link")
        for one in link.split(", <"):
            if "rel=\"hub\"" in one:
                continue
            self.assertIn("content=text&chars=9", one)
            self.assertEqual("rel=\"self\"" in one, "fields=title" in one, one)           # names of that format
        root = ET.fromstring(self.ask(type="atom", content="none", page=1, len=1).body)
        self.assertIn("content=none", root.find(ATOM + "link[@rel='next']").get("href"))

    def test_what_cannot_be_right(self):
        for name, value in (("content", "short"), ("chars", "0"), ("chars", "x")):
            with self.subTest(name):
                self.assert_problem(self.d.get(self.target(self.u, [(name, value), ])), 400, "bad-parameter", parameter=name)


class Fields(Shown):
    """VIEW-08: fields"""

    def test_only_these_members(self):
        self.assertEqual({"title", "link"}, set(self.entry("json", fields="title, link,title")) | {"link"})
        self.assertEqual({"title"}, set(self.ask(type="json", fields="title", obj=1).json[0]))
        self.assertEqual({"title", "id", "content_html"}, set(self.entry("jsonfeed", fields="title")))
        self.assertEqual({"title", "id", "content_text"}, set(self.entry("jsonfeed", fields="title", content="none")))
        self.assertEqual({"dcterms_abstract"}, set(self.entry("json", fields="dcterms_abstract")))
        both = self.ask(type="json", fields="title").json
        self.assertIn("feed", both)
        self.assertEqual(self.ask(type="atom").body.split(b"<entry")[1], self.ask(type="atom", fields="x").body.split(b"<entry")[1])

    def test_a_merge_names_its_source_only_if_asked(self):
        self.assertEqual({"title"}, set(self.ask("/feeds", type="json", fields="title").json["entries"][0]))
        self.assertEqual({"title", "source"}, set(self.ask("/feeds", type="json", fields="title,source").json["entries"][0]))
        self.assertEqual({"title", "id", "content_html", "_source"},
                         set(self.ask("/feeds", type="jsonfeed", fields="title,_source").json["items"][0]))

    def test_a_wrong_name_is_told_with_the_right_ones(self):
        p = self.d.get(self.target(self.u, [("fields", "title,nosuch")]))
        self.assert_problem(p, 400, "bad-parameter", parameter="fields", value="nosuch")
        self.assertIn("summary", p.json["allowed"])
        p = self.d.get("/feed?type=jsonfeed&fields=link&url=" + quote(self.u))
        self.assert_problem(p, 400, "bad-parameter", parameter="fields")
        self.assertIn("url", p.json["allowed"])


class Streams(Shown):
    """VIEW-08: /smart, /log and /events read it, too"""

    def setUp(self):
        super().setUp()
        self.ask()                                                 # the feed is known

    def test_the_log(self):
        rows = self.ask("/log", content="text", chars=13, fields="title,content").json["revisions"]
        one = next(r for r in rows if r["entry"]["title"] == "One")
        self.assertEqual({"title": "One", "content": [{"type": "text/plain", "value": "Boats & ships…"}]}, one["entry"])
        self.assertIn("cursor", one)
        self.assertNotIn("storm", self.ask("/log", content="none").body.decode())

    def test_smart_feeds(self):
        items = self.ask("/smart", type="json", content="text", chars=13).json["items"]
        one = next(i for i in items if i["title"] == "One")
        self.assertEqual("Boats &amp; ships…", one["object"]["content"])
        self.assertNotIn("storm", self.ask("/smart", type="atom", content="none").body.decode())
        self.assertEqual({"id", "title"}, set(self.ask("/smart", type="json", fields="title").json["items"][0]))
        self.assert_problem(self.d.get("/smart?type=json&fields=link&url=" + quote(self.u)), 400, parameter="fields")

    def test_events_old_and_new(self):
        reader = EventReader(self.d, "?since=start&content=none&fields=title&url=" + quote(self.u))
        plain = EventReader(self.d, "?since=start&url=" + quote(self.u))
        self.addCleanup(reader.close)
        self.addCleanup(plain.close)
        self.o.set("/f.xml", rss_of(item("Three"), item("One", HTML), item("Two")))
        self.d.ping(self.u)
        entries = [json.loads(e.data)["entry"] for e in reader.until(3)]
        self.assertEqual([{"title": t} for t in ("Two", "One", "Three")], entries)
        self.assertTrue(any("storm" in e.data for e in plain.until(3)))
