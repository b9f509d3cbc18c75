"""Views for eyes and for other readers: type=html and type=opml (VIEW-14)."""
import html.parser
import xml.etree.ElementTree as ET

from .env.daemon import quote
from .test_filters import Filters, item

BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"
JAVA = "text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2"
EVIL = ("<script>x()</script><p onclick='x()'>fine <b>bold</b></p><form action='http://evil.example/'><input></form>"
        "<iframe src='http://evil.example/'></iframe><a href='javascript:x()'>link</a></div></article></main>"
        "<div style='position:fixed;top:0'>over</div><style>body{display:none}</style><base href='http://evil.example/'>"
        "<meta http-equiv='refresh' content='0;url=http://evil.example/'>")


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.attrs, self.open, self.text, self.links = [], [], [], "", []
        self.balanced = True
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attrs += attrs
        if tag == "a":
            self.links.append(dict(attrs).get("href"))
        if tag not in ("meta", "link", "img", "br", "hr", "input"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        self.balanced = self.balanced and bool(self.open) and self.open.pop() == tag

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)

    def handle_data(self, data):
        self.text += data


class Pages(Filters):
    def page(self, path, **fields):
        answer = self.d.get(path, **fields)
        self.assertEqual(200, answer.status, answer.body)
        self.assertEqual("text/html; charset=utf-8", answer.header("Content-Type"))
        page = Page(answer.body.decode())
        self.assertTrue(page.balanced)
        self.assertEqual([], page.open)
        return answer, page

    def test_a_page_without_scripts(self):                               # VIEW-14
        title = "&lt;script&gt;alert(1)&lt;/script&gt;&amp;lt;img src=x onerror=x()&amp;gt; \u202eesrever " + "W" * 300
        u = self.feed(item(title, "<link>javascript:x()</link><description><![CDATA[%s]]></description>"
                           "<enclosure url='http://x.example/a.mp3' type='audio/mpeg' length='1'/>" % EVIL, guid="1"),
                      item("Two", "<link>http://x.example/2</link>"))
        self.d.subscribe(u, sanitize="no")
        self.d.ping(u)
        self.d.wait_idle()
        self.assertIn("x()</script>", self.d.get("/feed?type=json&url=" + quote(u)).body.decode().replace("<\\/", "</"))
        for path in ("/feed", "/feeds"):
            answer, page = self.page(path + "?type=html&url=" + quote(u))
            policy = answer.header("Content-Security-Policy")
            self.assertIn("default-src 'none'", policy)
            self.assertIn("sandbox", policy)
            self.assertFalse({"script", "iframe", "base", "object", "embed"} & set(page.tags))
            self.assertEqual(1, page.tags.count("style"))
            self.assertFalse([a for a, _ in page.attrs if a.startswith("on") or a == "http-equiv"])
            self.assertFalse([v for a, v in page.attrs if a == "style" and "fixed" in (v or "")])
            self.assertFalse([h for h in page.links if h and not h.startswith("http")])
            self.assertIn("alert(1)", page.text)
            self.assertEqual(2, page.tags.count("article"))
            self.assertEqual((1, 1), (page.tags.count("main"), page.tags.count("h1")))
            self.assertIn("http://x.example/2", page.links)
            self.assertIn("http://x.example/a.mp3", page.links)

    def test_it_is_light_and_dark_and_narrow(self):                      # VIEW-14
        answer, page = self.page("/feed?type=html&url=" + quote(self.feed("one")))
        self.assertIn(("name", "viewport"), page.attrs)
        self.assertIn("prefers-color-scheme:dark", answer.body.decode())

    def test_accept_does_not_choose_it(self):                            # VIEW-14, NEG-01, NEG-02
        u = quote(self.feed("one"))
        for accept in ("*/*", BROWSER, JAVA, "application/atom+xml, text/html", "text/html, application/xml;q=0.1"):
            self.assertIn("atom", self.d.get("/feed?url=" + u, Accept=accept).header("Content-Type"), accept)
        for accept in ("text/html", "text/x-opml"):
            refused = self.d.get("/feed?url=" + u, Accept=accept)
            self.assertEqual((406, False), (refused.status, accept in refused.json["allowed"]))
        self.page("/feed?type=html&url=" + u, Accept="application/rss+xml")
        self.assertIn("type=html", self.d.get("/feed?type=atom&url=" + u).header("Link"))

    def test_it_leads_to_older_entries_and_to_feeds(self):               # VIEW-14
        u = quote(self.feed("one", "two", "three"))
        answer, page = self.page("/feed?type=html&len=2&url=" + u)
        self.assertIn(("type", "application/rss+xml"), page.attrs)
        older = [h for h in page.links if h and "skip=2" in h][0]
        self.assertIn("three", self.page(older[len(self.d.base):])[1].text)
        answer, page = self.page("/feed?type=html&len=1&page=2&url=" + u)
        self.assertTrue([h for h in page.links if h and "page=1" in h] and [h for h in page.links if h and "page=3" in h])
        self.assertEqual(304, self.d.get("/feed?type=html&len=1&page=2&url=" + u, **{"If-None-Match": answer.header("ETag")}).status)

    def test_it_shows_what_the_view_shows(self):                         # VIEW-08, VIEW-14
        u = self.feed(item("One", "<description>a storm</description>"), item("Two"))
        self.assertNotIn("storm", self.page("/feed?type=html&content=none&url=" + quote(u))[1].text)
        self.assertNotIn("One", self.page("/feed?type=html&q=two&url=" + quote(u))[1].text)
        self.assertIn("no entries", self.page("/feed?type=html&q=nothing&url=" + quote(u))[1].text)

    def test_the_feeds_of_a_view(self):                                  # VIEW-14
        a, b = self.feed("one"), self.feed("two", path="/b.xml")
        answer = self.d.get("/feeds?type=opml&url=%s,%s" % (quote(a), quote(b)))
        self.assertIn("text/x-opml", answer.header("Content-Type"))
        root = ET.fromstring(answer.body)
        self.assertEqual([a, b], [o.get("xmlUrl") for o in root.iter("outline")])
        for path in ("len=0", "len=1", "q=nothing"):                     # the feeds, whatever their entries are
            some = ET.fromstring(self.d.get("/feeds?type=opml&%s&url=%s,%s" % (path, quote(a), quote(b))).body)
            self.assertEqual([a, b], [o.get("xmlUrl") for o in some.iter("outline")], path)
        self.assertEqual({"A feed"}, {o.get("text") for o in root.iter("outline")})
        self.assertEqual("A feed", ET.fromstring(self.d.get("/feed?type=opml&url=" + quote(a)).body).findtext("head/title"))
        posted = self.d.call("POST", "/sub", answer.body, {"Content-Type": "text/x-opml"})     # another reader takes it
        self.assertIn(posted.status, (200, 201))
