"""Pages that announce feeds: DISC-*, and redirects."""
from urllib.parse import quote

from .env.case import Case
from .env.origin import Reply, rss


def page(head, body=""):
    return Reply(200, "<!DOCTYPE html><html><head><title>P</title>%s</head><body>%s</body></html>" %
                 (head, body), Content_Type="text/html; charset=utf-8")


class Discovery(Case):
    def setUp(self):
        self.o, self.d = self.origin(), self.daemon()
        self.feed = self.o.set("/f.xml", rss("found"))

    def titles(self, url):
        answer = self.d.feed(url)
        self.assertEqual(200, answer.status, answer.body)
        return [e["title"] for e in answer.json["entries"]]

    def test_types(self):                                                # DISC-01 DISC-02
        for kind in ("rss+xml", "atom+xml", "rdf+xml", "feed+json"):
            u = self.o.set("/page-" + kind, page(
                '<link rel="stylesheet" href="/no.css"><link rel="alternate" type="application/%s" '
                'href="/f.xml">' % kind))
            self.assertEqual(["found"], self.titles(u))

    def test_relative_and_base(self):                                    # DISC-03
        self.o.set("/deep/f.xml?a=1&b=2", rss("deep"))
        u = self.o.set("/page", page('<base href="/deep/"><link rel=alternate type=application/rss+xml '
                                     'href="f.xml?a=1&amp;b=2">'))
        self.assertEqual(["deep"], self.titles(u))
        self.assertEqual(1, len(self.o.seen("/deep/f.xml?a=1&b=2")))

    def test_any_order_quoting_and_case(self):                           # DISC-04
        u = self.o.set("/page", page("<LINK TYPE='APPLICATION/RSS+XML' HREF=/f.xml REL=\"feed ALTERNATE\">"))
        self.assertEqual(["found"], self.titles(u))

    def test_first_wins_and_decoys_do_not_count(self):                   # DISC-05
        decoy = '<link rel="alternate" type="application/rss+xml" href="/decoy">'
        u = self.o.set("/page", page("<!-- %s --><script>var x = '%s';</script>"
                                     '<link rel="alternate" type="application/rss+xml" href="/f.xml">%s' %
                                     (decoy, decoy, decoy)))
        self.assertEqual(["found"], self.titles(u))
        self.assertEqual([], self.o.seen("/decoy"))

    def test_titles_and_frames_are_text(self):                           # DISC-05
        decoy = '<link rel="alternate" type="application/rss+xml" href="/decoy">'
        u = self.o.set("/page", Reply(200, '<title>%s</title><iframe>%s</iframe>'
                                      '<LINK TYPE="application/rss+xml" HREF=/f.xml REL=alternate>' %
                                      (decoy, decoy), Content_Type="text/html"))
        self.assertEqual(["found"], self.titles(u))
        self.assertEqual([], self.o.seen("/decoy"))

    def test_pieces_of_feeds_make_no_feed_of_a_page(self):               # DISC-01 DISC-05
        drawing = ('<svg><metadata><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><cc:Work/>'
                   '</rdf:RDF></metadata></svg>')
        sample = "<rss version='2.0'><channel><title>x</title><item><title>sample</title></item></channel></rss>"
        link = '<link rel="alternate" type="application/rss+xml" href="/f.xml">'
        for n, body in enumerate((drawing, "<pre>%s</pre>" % sample, "<textarea>%s</textarea>" % sample,
                                  '<script>var x = "%s";</script>' % sample, '<p title="<feed>">x</p>')):
            u = self.o.set("/page%d" % n, page(link, body))
            self.assertEqual(["found"], self.titles(u), body)

    def test_a_page_in_place_of_a_feed_is_an_error(self):                # DISC-06 ETIQ-05
        self.titles(self.feed)
        self.o.set("/f.xml", page("", "Back soon. <svg><metadata><rdf:RDF/></metadata></svg>"))
        self.d.ping(self.feed)
        self.wait(lambda: len(self.o.seen("/f.xml")) == 2)
        self.d.wait_idle()
        f, = self.d.get("/sub?type=json&all=1").json["feeds"]
        self.assertIn("page instead of the feed", f["last_error"] or "", f)
        self.assertEqual(["found"], self.titles(self.feed))

    def test_scripts_are_no_finds(self):                                 # DISC-03
        link = '<link rel="alternate" type="application/rss+xml" href="%s">'
        u = self.o.set("/page", page('<base href="javascript:x">' + link % "javascript:alert(1)" +
                                     link % "data:text/xml,x" + link % "f.xml"))
        found = self.d.get("/discover?url=" + quote(u))
        self.assertEqual([self.feed], [f["href"] for f in found.json["feeds"]], found.body)

    def test_page_without_feed(self):                                    # DISC-06 ERR-04
        u = self.o.set("/page", page(""))
        self.assert_problem(self.d.feed(u), 422, "no-feed")

    def test_a_challenge_is_called_one(self):                            # DISC-06 ETIQ-07
        for n, (status, fields) in enumerate(((403, {"cf_mitigated": "challenge"}), (200, {"cf_mitigated": "challenge"}),
                                              (503, {}), (404, {}))):
            url = self.o.set("/guarded%d" % n, Reply(status, "<html><body>Just a moment</body></html>", Content_Type="text/html", **fields))
            answer = self.d.get("/discover?url=" + quote(url))
            self.assert_problem(answer, 502)
            self.assertEqual(status != 404, "challenge" in answer.json["detail"], answer.body)
            self.assertIn("the publisher answered %d" % status, answer.json["detail"])

    def test_the_page_is_asked_once(self):                               # DISC-07
        u = self.o.set("/page", page('<link rel="alternate" type="application/rss+xml" href="/f.xml">'))
        self.titles(u)
        self.d.ping(u)
        self.wait(lambda: len(self.o.seen("/f.xml")) == 2)
        self.assertEqual(1, len(self.o.seen("/page")))
        self.o.set("/page", page('<link rel="alternate" type="application/rss+xml" href="/moved.xml">'))
        self.o.set("/moved.xml", rss("moved"))
        self.o.set("/f.xml", Reply(404))
        self.d.ping(u)
        self.wait(lambda: "moved" in self.titles(u), daemon=self.d)
        self.assertEqual(2, len(self.o.seen("/page")))

    def test_redirects(self):                                            # DISC-08
        for status, moves in ((301, True), (308, True), (302, False), (307, False)):
            old = self.o.set("/old%d" % status, Reply(status, Location="/new%d" % status))
            new = self.o.set("/new%d" % status, rss("here"))
            self.assertEqual(["here"], self.titles(old))
            self.d.ping(old)
            self.wait(lambda: len(self.o.seen("/new%d" % status)) == 2)
            self.assertEqual(1 if moves else 2, len(self.o.seen("/old%d" % status)), status)
            self.assertEqual(["here"], self.titles(new))
        self.o.set("/h6", rss("far"))
        for n in range(6):
            self.o.set("/h%d" % n, Reply(302, Location="/h%d" % (n + 1)))
        self.assertEqual(["far"], self.titles(self.o.url("/h1")))
        self.assert_problem(self.d.feed(self.o.url("/h0")), 502)

    def test_page_and_feed_are_one_record(self):                         # DISC-09
        u = self.o.set("/page", page('<link rel="alternate" type="application/rss+xml" href="/f.xml">'))
        self.titles(u)
        self.assertEqual(self.d.feed(u).json["entries"], self.d.feed(self.feed).json["entries"])
        self.assertEqual(1, len(self.o.seen("/f.xml")))
        other = self.o.set("/other", page('<link rel="alternate" type="application/rss+xml" href="/f.xml">'))
        self.titles(other)
        known = self.d.get("/sub?type=json&all=1").json["feeds"]
        self.assertEqual([self.feed], [f["url"] for f in known])

    def test_comments_and_other_sites_come_last(self):                   # DISC-05
        other = self.origin().set("/other.xml", rss("other")).replace("127.0.0.1", "localhost")
        link = '<link rel="alternate" type="application/rss+xml" title="%s" href="%s">'
        u = self.o.set("/page", page(link % ("x", other) + link % ("Comments", "/c.xml") + link % ("x", "/f.xml")))
        self.assertEqual(["found"], self.titles(u))
        self.assertEqual([], self.o.seen("/c.xml"))

    def test_link_fields_count(self):
        u = self.o.set("/page", Reply(200, "<html><body>p</body></html>", Content_Type="text/html",
                                      Link='</css>; rel=stylesheet, <f.xml>; rel="alternate"; type="application/rss+xml"'))
        self.assertEqual(["found"], self.titles(u))

    def test_anchors_when_nothing_is_announced(self):
        u = self.o.set("/page", page("", '<a href="http://elsewhere.example/feed">e</a><a href="/a/rss.xml">r</a>'))
        self.o.set("/a/rss.xml", rss("anchored"))
        self.assertEqual(["anchored"], self.titles(u))
        self.assertEqual([], self.o.seen("/feed"))

    def test_service_documents(self):
        self.o.set("/svc", '<service xmlns="http://www.w3.org/2007/app"><workspace><collection href="f.xml"/>'
                           "</workspace></service>", Content_Type="application/atomsvc+xml")
        u = self.o.set("/page", page('<link rel="service" type="application/atomsvc+xml" href="/svc">'))
        self.assertEqual(["found"], self.titles(u))
        self.assertEqual(["found"], self.titles(self.o.url("/svc")))

    def test_usual_addresses_when_nothing_else_is_there(self):
        u = self.o.set("/blog/page", page(""))
        self.o.set("/atom.xml", Reply(200, "<html>a soft 404</html>", Content_Type="text/html"))
        self.o.set("/feed.xml", rss("usual"))
        self.o.set("/rss", rss("later"))
        self.assertEqual(["usual"], self.titles(u))
        self.assertEqual(["/blog/page", "/blog/feed/", "/feed", "/feed/", "/rss.xml", "/atom.xml", "/feed.xml"],
                         [r.path for r in self.o.requests])

    def test_usual_addresses_are_tried_once_and_with_measure(self):      # DISC-06
        u = self.o.set("/page", page(""))
        self.assert_problem(self.d.feed(u), 422, "no-feed", upstream_status=200)
        first = len(self.o.requests)
        self.assertLessEqual(first, 10)
        self.d.ping(u)
        self.wait(lambda: len(self.o.seen("/page")) == 2)
        self.assert_problem(self.d.feed(u), 422, "no-feed")
        self.assertEqual(0, len([r for r in self.o.requests[first:] if r.path != "/page"]))
        self.d.wait_idle()
        gone = self.o.set("/gone", Reply(404, "<html>none</html>", Content_Type="text/html"))
        count = len(self.o.requests)
        self.assert_problem(self.d.feed(gone), 502)
        self.assertEqual(count + 1, len(self.o.requests))

    def test_usual_addresses_can_be_switched_off(self):
        d = self.daemon("--announced-only")
        u = self.o.set("/page", page(""))
        self.o.set("/feed", rss("usual"))
        self.assert_problem(d.feed(u), 422, "no-feed")
        self.assertEqual(["/page"], [r.path for r in self.o.requests])
