"""The object form as a client sees it in the JSON view: requirements OBJ-*."""
import json
import xml.etree.ElementTree as tree

from .env.case import Case
from .env.origin import Reply

NS = ('xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:x="http://purl.org/dc/elements/1.1/" '
      'xmlns:digg="http://digg.com/docs/diggrss/" xmlns:product="urn:example:product" '
      'xmlns:content="http://purl.org/rss/1.0/modules/content/" xmlns:m="http://search.yahoo.com/mrss/"')
RSS = '<?xml version="1.0"?><rss version="2.0" %s><channel><title>T</title>%%s</channel></rss>' % NS
ATOM = '<feed xmlns="http://www.w3.org/2005/Atom"><title>T</title><id>urn:f</id>%s</feed>'


class Objects(Case):
    def setUp(self):
        self.o, self.d, self.n = self.origin(), self.daemon(), 0

    def view(self, body, **fields):
        """The JSON view of a feed with this body, fetched from an address of its own."""
        self.n += 1
        fields.setdefault("Content_Type", "application/xml")
        self.url = self.o.set("/d%d/feed" % self.n, Reply(200, body, **fields))
        answer = self.d.feed(self.url)
        self.assertEqual(200, answer.status, answer.body)
        return answer.json

    def entry(self, inner, **fields):
        return self.view(RSS % ("<item><guid>urn:1</guid>%s</item>" % inner), **fields)["entries"][0]

    def test_top_members(self):                                          # OBJ-01
        view = self.view(RSS % "<item><title>a</title></item>", ETag='"v1"',
                         Last_Modified="Mon, 03 Apr 2023 01:02:03 GMT")
        self.assertEqual(("rss20", "utf-8", 0, 200), (view["version"], view["encoding"], view["bozo"],
                                                      view["status"]))
        self.assertEqual(("T", "a"), (view["feed"]["title"], view["entries"][0]["title"]))
        self.assertEqual(self.url, view["href"])
        self.assertEqual('"v1"', view["etag"])
        self.assertEqual("Mon, 03 Apr 2023 01:02:03 GMT", view["modified"])
        self.assertEqual("http://purl.org/dc/elements/1.1/", view["namespaces"]["dc"])

    def test_every_element_of_an_atom_entry(self):                       # OBJ-02
        e = self.view(ATOM % """<entry xml:lang="en" xml:base="http://b.example/">
            <id>urn:1</id><title type="html">A &lt;b&gt;b&lt;/b&gt;</title><link href="/p"/>
            <link rel="enclosure" href="/s.mp3" type="audio/mpeg" length="7"/>
            <author><name>Ann</name><email>ann@a.example</email><uri>/ann</uri></author>
            <contributor><name>Bob</name></contributor>
            <category term="t" scheme="http://s.example/" label="L"/>
            <summary>s</summary><content type="html">&lt;p&gt;c&lt;/p&gt;</content>
            <published>2003-06-03T09:39:21Z</published><updated>2003-06-04T09:39:21Z</updated>
            <rights>r</rights><source><id>urn:s</id><title>S</title></source></entry>""")["entries"][0]
        self.assertEqual(("urn:1", "A <b>b</b>", "http://b.example/p"), (e["id"], e["title"], e["link"]))
        self.assertEqual({"type": "text/html", "language": "en", "base": "http://b.example/",
                          "value": "A <b>b</b>"}, e["title_detail"])
        self.assertEqual(["alternate", "enclosure"], [link["rel"] for link in e["links"]])
        self.assertEqual([{"href": "http://b.example/s.mp3", "type": "audio/mpeg", "length": "7"}],
                         e["enclosures"])
        self.assertEqual("Ann (ann@a.example)", e["author"])
        self.assertEqual("ann@a.example", e["author_detail"]["email"])
        self.assertEqual([{"name": "Bob"}], e["contributors"])
        self.assertEqual([{"term": "t", "scheme": "http://s.example/", "label": "L"}], e["tags"])
        self.assertEqual(("s", "text/plain"), (e["summary"], e["summary_detail"]["type"]))
        self.assertEqual(("<p>c</p>", "text/html"), (e["content"][0]["value"], e["content"][0]["type"]))
        self.assertEqual("2003-06-03T09:39:21Z", e["published"])
        self.assertEqual([2003, 6, 4, 9, 39, 21, 2, 155, 0], e["updated_parsed"])
        self.assertEqual(("r", "S"), (e["rights"], e["source"]["title"]))

    def test_every_element_of_an_rss_item(self):                         # OBJ-02
        e = self.entry("""<title>t</title><link>http://l.example/</link><description>d</description>
            <author>ann@a.example (Ann)</author><category domain="D">c</category>
            <comments>http://l.example/c</comments><pubDate>Tue, 03 Jun 2003 09:39:21 GMT</pubDate>
            <enclosure url="http://l.example/e" type="audio/mpeg" length="1"/>
            <source url="http://s.example/">S</source><content:encoded>long</content:encoded>""")
        self.assertEqual(("urn:1", "t", "http://l.example/", "d"), (e["id"], e["title"], e["link"], e["summary"]))
        self.assertEqual({"name": "Ann", "email": "ann@a.example"}, e["author_detail"])
        self.assertEqual([{"term": "c", "scheme": "D", "label": None}], e["tags"])
        self.assertEqual("http://l.example/c", e["comments"])
        self.assertEqual("http://l.example/e", e["enclosures"][0]["href"])
        self.assertEqual({"href": "http://s.example/", "title": "S"}, e["source"])
        self.assertEqual("long", e["content"][0]["value"])

    def test_extension_elements(self):                                   # OBJ-03 OBJ-04 OBJ-05 OBJ-06
        e = self.entry('<digg:diggCount>41</digg:diggCount><digg:diggCount>42</digg:diggCount>'
                       '<product:content Price="$2,021.99"/><x:creator>Ann</x:creator>'
                       '<category>a</category><category>b</category>'
                       '<m:thumbnail url="http://t.example/1"/><m:thumbnail url="http://t.example/2"/>'
                       '<mood>good</mood>')
        self.assertEqual("42", e["digg_diggcount"])
        self.assertEqual("$2,021.99", e["product_content_"]["price"])
        self.assertEqual("$2,021.99", e["product_content"]["price"])
        self.assertEqual("Ann", e["author"])
        self.assertEqual(["a", "b"], [t["term"] for t in e["tags"]])
        self.assertEqual(["http://t.example/1", "http://t.example/2"], [t["url"] for t in e["media_thumbnail"]])
        self.assertEqual("good", e["mood"])

    def test_rss_has_no_unknown_element_without_a_namespace(self):       # OBJ-03 RSS-12
        self.assertEqual("good", self.entry("<mood>good</mood><digg:diggCount>42</digg:diggCount>")["mood"])
        names = [e.tag for e in tree.fromstring(self.d.feed(self.url, type="rss").body).iter()]
        self.assertNotIn("mood", names)
        self.assertIn("{http://digg.com/docs/diggrss/}diggCount", names)

    def test_dates(self):                                                # OBJ-07
        for text in ("Tue, 03 Jun 2003 09:39:21 GMT", "Tue, 3 Jun 03 05:39:21 EDT", "2003-06-03T11:39:21+02:00",
                     "2003-06-03 09:39:21", "20030603T093921Z", "Tue Jun  3 09:39:21 2003",
                     "Tue, 2003/06/03 05:39:21 EDT", "3 juin 2003 09:39:21", "2003-06-03 오후 06:39:21"):
            e = self.entry("<pubDate>%s</pubDate>" % text)
            self.assertEqual(text, e["published"])
            self.assertEqual([2003, 6, 3, 9, 39, 21, 1, 154, 0], e["published_parsed"], text)

    def test_ill_formed_documents(self):                                 # OBJ-08
        item = "<item><guid>urn:1</guid><title>%s</title></item>"
        whole = RSS % (item % "a")
        for body, title in (
                (RSS % (item % "AT&T"), "AT&T"), (RSS % (item % "a&nbsp;b &bogus;"), "a\xa0b &bogus;"),
                (RSS % (item % "1 < 2"), "1 < 2"), (RSS % (item % "a\x01b"), "ab"),
                (whole.replace("</title></item>", "</item>"), "a"), (whole.replace("</item>", ""), "a"),
                (whole[:whole.index("</item>")], "a"),
                ("<b>Warning</b>: mysql in /x.php\n" + whole, "a"), ("\n\n" + whole, "a"),
                (whole.replace("1.0", "1.0\" encoding=\"bogus", 1), "a"),
                (whole.replace('"1.0"', '"1.0" encoding="us-ascii"').replace(">a<", ">é<").encode(), "é"),
                ('<?xml version="1.0"?>' + whole, "a"), (whole + whole, "a")):
            view = self.view(body)
            self.assertTrue(view["bozo"], body)
            self.assertTrue(view["bozo_exception"], body)
            self.assertEqual(title, view["entries"][0]["title"], body)
        self.assertFalse(self.view(whole)["bozo"])

    def test_inputs(self):                                               # OBJ-09
        item = "<item><title>a</title><link>http://l.example/a</link></item>"
        channel = "<channel><title>T</title><link>http://l.example/</link>%s</channel>%s"
        rdf = '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="%s">' + channel % ("", item) + "</rdf:RDF>"
        entry = "<entry><title>a</title><id>http://l.example/a</id><link href='http://l.example/a'/></entry>"
        documents = {
            "rss090": rdf % "http://my.netscape.com/rdf/simple/0.9/", "rss10": rdf % "http://purl.org/rss/1.0/",
            "rss11": '<Channel xmlns="http://purl.org/net/rss1.1#" xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
                   '<title>T</title><items rdf:parseType="Collection">' + item + "</items></Channel>",
            "rss091u": '<rss version="0.91">' + channel % (item, "") + "</rss>",
            "rss092": '<rss version="0.92">' + channel % (item, "") + "</rss>",
            "rss20": '<rss version="2.0">' + channel % (item, "") + "</rss>",
            "cdf": '<CHANNEL HREF="http://l.example/"><TITLE>T</TITLE><ITEM HREF="http://l.example/a"><TITLE>a</TITLE></ITEM></CHANNEL>',
            "atom03": '<feed version="0.3" xmlns="http://purl.org/atom/ns#"><title>T</title>' + entry + "</feed>",
            "atom10": '<feed xmlns="http://www.w3.org/2005/Atom"><title>T</title>' + entry + "</feed>",
            "json1": json.dumps({"version": "https://jsonfeed.org/version/1", "title": "T", "items": [
                {"id": "http://l.example/a", "url": "http://l.example/a", "title": "a"}]}),
        }
        documents["json11"] = documents["json1"].replace("version/1", "version/1.1")
        for version, body in documents.items():
            view = self.view(body)
            self.assertEqual((version, "T", "a", "http://l.example/a"),
                             (view["version"], view["feed"]["title"], view["entries"][0]["title"],
                              view["entries"][0]["link"]), body)

    def test_relative_references(self):                                  # OBJ-10
        inner = '<link href="p"/><content type="html">&lt;img src="i.png"&gt;</content>'
        entry = "<entry%s><id>urn:1</id>" + inner + "</entry>"
        for view, base in (
                (self.view(ATOM % (entry % "")), self.o.url("/d1/")),
                (self.view(ATOM % (entry % ""), Content_Location="/elsewhere/x"), self.o.url("/elsewhere/")),
                (self.view((ATOM % (entry % "")).replace("<feed", '<feed xml:base="http://b.example/x/"', 1)),
                 "http://b.example/x/"),
                (self.view((ATOM % (entry % ' xml:base="y/"')).replace("<feed", '<feed xml:base="http://b.example/x/"', 1)),
                 "http://b.example/x/y/")):
            e = view["entries"][0]
            self.assertEqual(base + "p", e["link"])
            self.assertEqual('<img src="%si.png" />' % base, e["content"][0]["value"])

    def test_html_is_made_safe(self):                                    # OBJ-11
        bad = ('<script>alert(1)</script><p onclick="x()">ok</p><a href="javascript:x()">a</a>'
               '<b style="width: expression(alert(1))">b</b><i style="color: red">i</i><iframe src="x"></iframe>')
        e = self.entry("<description><![CDATA[%s]]></description><content:encoded><![CDATA[%s]]></content:encoded>"
                       % (bad, bad))
        for text in (e["summary"], e["content"][0]["value"]):
            for word in ("script", "alert", "onclick", "expression", "iframe"):
                self.assertNotIn(word, text)
            self.assertIn("<p>ok</p>", text)
            self.assertIn("color: red", text)

    def test_json_is_strict_and_stable(self):                            # OBJ-12
        self.entry('<title>\u2028 &#x1F600; &lt;/script&gt;</title><x:a k="1" K="2">b</x:a>')
        first, second = self.d.feed(self.url), self.d.feed(self.url)
        self.assertEqual(first.body, second.body)
        self.assertEqual("application/json", first.header("Content-Type").split(";")[0])
        first.body.decode("utf-8")
        first.json                       # refuses names given twice
