"""What leaves, asked over HTTP: stable ids, media types, pages of JSON Feed, attributes, no scripts."""
import xml.etree.ElementTree as tree

from .env.case import Case
from .env.daemon import quote
from .env.origin import Reply, atom, rss

ATOM = "{http://www.w3.org/2005/Atom}"


class Formats(Case):
    def setUp(self):
        self.o, self.d = self.origin(), self.daemon()

    def test_a_date_in_the_future_is_not_after_its_document(self):                   # ATOM-14
        o, d = self.origin(), self.daemon()
        url = o.set("/future.xml", atom(("later", "2031-01-01T00:00:00Z")))
        root = tree.fromstring(d.feed(url, type="atom").body)
        self.assertEqual("2031-01-01T00:00:00Z", root.findtext(ATOM + "updated"))

    def test_ids_are_stable(self):                                       # ATOM-02 ATOM-05
        u = self.o.set("/f.xml", rss("one", "two"))
        seen = []
        for restart in (False, False, True):
            if restart:
                self.d.stop()
                self.d.start()
            root = tree.fromstring(self.d.feed(u, type="atom").body)
            for name in ("id", "title", "updated"):
                self.assertEqual(1, len(root.findall(ATOM + name)), name)
            seen.append([x.text for x in root.iter(ATOM + "id")])
        self.assertEqual([seen[0]] * 3, seen)
        self.assertEqual(len(seen[0]), len(set(seen[0])))

    def test_ids_that_are_iris_stay(self):                               # ATOM-08 RSS-03 JF-03
        ids = ["urn:x:1", "urn:e1", "tag:e1", "http://h.example/1", "abc def"]
        u = self.o.set("/ids.xml", '<feed xmlns="http://www.w3.org/2005/Atom"><id>urn:f</id><title>t</title>%s</feed>'
                       % "".join("<entry><id>%s</id><title>%d</title></entry>" % (i, n) for n, i in enumerate(ids)))
        root = tree.fromstring(self.d.feed(u, type="atom").body)
        shown = [x.findtext(ATOM + "id") for x in root.iter(ATOM + "entry")]
        self.assertEqual(("urn:f", ids[:4]), (root.findtext(ATOM + "id"), shown[:4]))
        self.assertTrue(shown[4].startswith("urn:uuid:"))
        self.assertEqual(ids, [e["id"] for e in self.d.feed(u).json["entries"]])

    def test_icon_and_logo_leave_once_and_absolute(self):                # ATOM-17 ATOM-12
        u = self.o.set("/i.xml", '<feed xmlns="http://www.w3.org/2005/Atom" xml:base="http://h.example/x/"><id>urn:f:1</id>'
                       '<title>t</title><icon>i.png</icon><logo>l.png</logo></feed>')
        root = tree.fromstring(self.d.feed(u, type="atom").body)
        self.assertEqual([(ATOM + "icon", "http://h.example/x/i.png"), (ATOM + "logo", "http://h.example/x/l.png")],
                         [(x.tag, x.text) for x in root if x.tag.endswith(("icon", "logo"))])

    def test_media_types_and_utf8(self):                                 # ATOM-13 JF-06
        body = '<?xml version="1.0" encoding="iso-8859-1"?>' + rss("caf\xe9")
        u = self.o.set("/l1.xml", Reply(200, body.encode("latin-1"), Content_Type="application/rss+xml"))
        for kind, media in (("atom", "application/atom+xml; charset=utf-8"), ("rss", "application/rss+xml; charset=utf-8"),
                            ("jsonfeed", "application/feed+json")):
            answer = self.d.feed(u, type=kind)
            self.assertEqual(media, answer.header("Content-Type"))
            self.assertIn("caf\xe9", answer.body.decode("utf-8"))

    def test_updated_is_not_before_what_is_shown(self):                  # ATOM-14
        u = self.o.set("/f.xml", atom(("a", "2020-06-07T10:00:00Z"), ("b", "2020-06-03T10:00:00Z")))
        root = tree.fromstring(self.d.feed(u, type="atom").body)
        shown = root.findtext(ATOM + "updated")
        self.assertGreaterEqual(shown, max(x.text for x in root.iter(ATOM + "updated")))
        self.assertEqual(shown, tree.fromstring(self.d.feed(u, type="atom").body).findtext(ATOM + "updated"))

    def test_foreign_attributes(self):                                   # ATOM-11 RSS-14
        u = self.o.set("/f.xml", '<feed xmlns="http://www.w3.org/2005/Atom" xmlns:x="urn:x"><title x:t="1">F</title>'
                       '<entry x:foo="2"><id>urn:a</id><title>e</title><link href="http://e.org/" x:bar="3"/>'
                       '<author><name>A</name><x:in/></author></entry></feed>')
        root = tree.fromstring(self.d.feed(u, type="atom").body)
        entry = root.find(ATOM + "entry")
        self.assertEqual("1", root.find(ATOM + "title").get("{urn:x}t"))
        self.assertEqual("2", entry.get("{urn:x}foo"))
        self.assertEqual("3", entry.find(ATOM + "link").get("{urn:x}bar"))
        self.assertIsNotNone(entry.find(ATOM + "author/{urn:x}in"))
        item = tree.fromstring(self.d.feed(u, type="rss").body).find("channel/item")
        self.assertEqual(("2", "3"), (item.get("{urn:x}foo"), item.find("link").get("{urn:x}bar")))

    def test_no_scripts_in_json(self):
        u = self.o.set("/f.xml", '<rss version="2.0"><channel><title>F</title><link>JavaScript:alert(1)</link>'
                       '<item><title>e</title><link> jAvascript:alert(2)</link><comments>vbscript:x</comments>'
                       '<enclosure url="data:text/html,x" type="a/b" length="1"/></item></channel></rss>')
        for kind in ("json", "json-obj", "jsonfeed", "atom", "rss"):
            text = self.d.feed(u, type=kind).body.decode().lower()
            for bad in ("alert(", "vbscript", "data:text"):
                self.assertNotIn(bad, text, kind)

    def test_next_url_reaches_every_entry_once(self):                    # JF-08 JF-02
        u = self.o.set("/f.xml", rss(*["e%d" % n for n in range(23)]))
        at, seen = "/feed?type=jsonfeed&len=5&url=" + quote(u), []
        while at:
            page = self.d.get(at).json
            self.assertNotEqual(page["feed_url"], page.get("next_url"))
            self.assertTrue(page["items"])
            seen += [item["title"] for item in page["items"]]
            self.assertLessEqual(len(seen), 23)
            at = page.get("next_url", "").replace(self.d.base, "")
        self.assertEqual(["e%d" % n for n in range(23)], seen)

    def test_next_url_of_a_page_is_the_next_page(self):                  # JF-08 VIEW-07
        u = self.o.set("/f.xml", rss(*["e%d" % n for n in range(7)]))
        for start in ("page=1", "page=1&skip=1"):
            at, seen = "/feed?type=jsonfeed&len=2&%s&url=%s" % (start, quote(u)), []
            while at:
                page = self.d.get(at).json
                self.assertTrue(page["items"])
                seen += [item["title"] for item in page["items"]]
                self.assertLessEqual(len(seen), 7, at)
                at = page.get("next_url", "").replace(self.d.base, "")
            self.assertEqual(["e%d" % n for n in range(7)], seen)

    def test_ttl_of_a_merge_is_the_smallest(self):                       # RSS-09
        a, b = self.o.set("/a.xml", rss("a")), self.o.set("/b.xml", rss("b"))
        self.d.subscribe(a, endpoint="http://127.0.0.1:9/", freq="120")
        ttls = []
        for query in ("url=" + quote(a), "url=" + quote(b), "url=%s&url=%s" % (quote(a), quote(b))):
            channel = tree.fromstring(self.d.get("/feeds?type=rss&" + query).body).find("channel")
            self.assertIsNotNone(channel.find("lastBuildDate"))
            ttls.append(int(channel.findtext("ttl")))
        self.assertLess(ttls[0], ttls[1])
        self.assertEqual(ttls[0], ttls[2])
