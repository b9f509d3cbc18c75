"""The pull interface: requirements REST-*, NEG-*, ERR-*, HTTP-01..14 on views."""
import gzip
import time
import urllib.parse
import xml.etree.ElementTree as tree

from .env.case import Case
from .env.daemon import PATIENCE, quote
from .env.origin import Reply, atom, rss

ATOM = "{http://www.w3.org/2005/Atom}"
DATES = ["Mon, 0%d Jun 2020 10:00:00 GMT" % n for n in range(1, 10)]


def titles(answer):
    return [e["title"] for e in answer.json["entries"]]


class Single(Case):
    def setUp(self):
        self.o, self.d = self.origin(), self.daemon()
        self.u = self.o.set("/f.xml", rss(("three", DATES[2], ""), ("two", DATES[1], ""),
                                          ("one", DATES[0], "")))

    def test_first_request_fetches_and_answers(self):                    # REST-01 REST-30
        answer = self.d.feed(self.u, type="atom", len=50)
        self.assertEqual(200, answer.status, answer.body)
        self.assertTrue(answer.header("Content-Type").startswith("application/atom+xml"))
        root = tree.fromstring(answer.body)
        self.assertEqual(ATOM + "feed", root.tag)
        self.assertEqual(["three", "two", "one"],
                         [e.findtext(ATOM + "title") for e in root.iter(ATOM + "entry")])

    def test_trailing_slash_is_the_same_resource(self):                  # REST-02 D2
        a = self.d.get("/feed?url=%s&type=json" % quote(self.u))
        b = self.d.get("/feed/?url=%s&type=json" % quote(self.u))
        self.assertEqual((200, 200), (a.status, b.status))
        self.assertEqual(a.json["entries"], b.json["entries"])
        for path in ("/feeds/?url=%s" % quote(self.u), "/sub/"):
            self.assertEqual(200, self.d.get(path).status, path)

    def test_formats(self):                                              # REST-03 REST-04 NEG-03
        answer = self.d.feed(self.u, type="rss")
        self.assertTrue(answer.header("Content-Type").startswith("application/rss+xml"))
        root = tree.fromstring(answer.body)
        self.assertEqual(("rss", "2.0"), (root.tag, root.get("version")))
        answer = self.d.call("GET", "/feed?type=rss&url=" + quote(self.u),
                             headers={"Accept": "application/json"})
        self.assertEqual("rss", tree.fromstring(answer.body).tag)
        answer = self.d.feed(self.u, type="jsonfeed")
        self.assertEqual("https://jsonfeed.org/version/1.1", answer.json["version"])
        self.assertTrue(answer.header("Content-Type").startswith("application/feed+json"))

    def test_json_and_the_obj_flag(self):                                # REST-05 REST-06 D1
        whole = self.d.feed(self.u)
        self.assertEqual("three", whole.json["entries"][0]["title"])
        self.assertEqual("A feed", whole.json["feed"]["title"])
        self.assertTrue(whole.header("Content-Type").startswith("application/json"))
        for flag in ("obj", "obj=", "obj=1"):
            answer = self.d.get("/feed?url=%s&type=json&len=50&%s" % (quote(self.u), flag))
            self.assertEqual(whole.json["entries"], answer.json, flag)
        self.assertIn("entries", self.d.feed(self.u, obj=0).json)

    def test_accept_decides_without_type(self):                          # REST-07 NEG-01 NEG-02 HTTP-10
        for accept, kind in (("application/rss+xml", "application/rss+xml"),
                             ("application/json", "application/json"),
                             ("application/feed+json", "application/feed+json"),
                             ("application/atom+xml;q=0.3, application/rss+xml;q=0.8",
                              "application/rss+xml"), ("*/*", "application/atom+xml")):
            answer = self.d.call("GET", "/feed?url=" + quote(self.u), headers={"Accept": accept})
            self.assertTrue(answer.header("Content-Type").startswith(kind), (accept, answer.headers))
            self.assertIn("accept", answer.header("Vary", "").lower())
        answer = self.d.call("GET", "/feed?url=" + quote(self.u))
        self.assertTrue(answer.header("Content-Type").startswith("application/atom+xml"))
        self.assert_problem(self.d.call("GET", "/feed?url=" + quote(self.u),
                                        headers={"Accept": "image/png"}), 406, "not-acceptable")

    def test_bad_parameters(self):                                       # REST-08 REST-11 REST-15 ERR-01 ERR-04
        u = quote(self.u)
        self.assert_problem(self.d.get("/feed?url=%s&type=yaml" % u), 400, "bad-parameter",
                            parameter="type", value="yaml")
        for bad in ("-1", "x", "1.5"):
            self.assert_problem(self.d.get("/feed?url=%s&len=%s" % (u, bad)), 400, "bad-parameter",
                                parameter="len", value=bad)
        for query in ("", "?url=", "?url=foo", "?url=ftp://x/"):
            self.assert_problem(self.d.get("/feed" + query), 400, "bad-parameter", parameter="url")

    def test_len(self):                                                  # REST-09 REST-10 D47
        self.assertEqual(["three"], titles(self.d.feed(self.u, len=1)))
        self.assertEqual([], titles(self.d.feed(self.u, len=0)))
        self.assertEqual(3, len(titles(self.d.feed(self.u, len=100000))))
        many = self.o.set("/many.xml", rss(*["n%03d" % n for n in range(60)]))
        self.assertEqual(50, len(titles(self.d.feed(many))))

    def test_undated_entries_keep_document_order(self):                  # REST-12
        u = self.o.set("/undated.xml", rss("first", "second", "third"))
        self.assertEqual(["first", "second", "third"], titles(self.d.feed(u)))
        self.o.set("/undated.xml", rss("newer", "new", "first", "second"))
        self.d.ping(u)
        self.wait(lambda: len(titles(self.d.feed(u))) == 5)
        self.assertEqual(["newer", "new", "first", "second", "third"], titles(self.d.feed(u)))

    def test_what_left_the_document_stays(self):                         # REST-13
        u = self.o.set("/window.xml", rss(*["e%d" % n for n in range(5, 0, -1)]))
        self.d.feed(u)
        self.o.set("/window.xml", rss(*["e%d" % n for n in range(10, 5, -1)]))
        self.d.ping(u)
        self.wait(lambda: len(titles(self.d.feed(u, len=100))) == 10)

    def test_url_as_printed_in_the_thesis(self):                         # REST-14 D3
        answer = self.d.get("/feed/?url=%s&type=json" % self.u)
        self.assertEqual(3, len(titles(answer)))

    def test_repeated_gets_ask_once(self):                               # REST-34
        for _ in range(5):
            self.assertEqual(200, self.d.feed(self.u).status)
        self.assertEqual(1, len(self.o.seen("/f.xml")))

    def test_concurrent_first_requests_fetch_once(self):                 # REST-33
        import concurrent.futures
        u = self.o.set("/slow.xml", Reply(200, rss("a"), delay=0.5))
        with concurrent.futures.ThreadPoolExecutor(20) as pool:
            answers = list(pool.map(lambda _: self.d.feed(u), range(20)))
        self.assertEqual([200] * 20, [a.status for a in answers])
        self.assertEqual(1, len(self.o.seen("/slow.xml")))

    def test_failing_upstream(self):                                     # REST-27 ERR-03
        for path, reply in (("/404", Reply(404)), ("/500", Reply(500)), ("/reset", Reply(reset=True))):
            answer = self.d.feed(self.o.set(path, reply))
            problem = self.assert_problem(answer, 502, "upstream-failed", upstream=self.o.url(path))
            if reply.status != 200:
                self.assertEqual(reply.status, problem["upstream-status"])
        self.d.feed(self.u)
        self.o.set("/f.xml", Reply(500))
        self.d.ping(self.u)
        self.wait(lambda: self.d.record(self.u)["status"] == 500)
        self.assertEqual(3, len(titles(self.d.feed(self.u))))

    def test_upstream_time_out(self):                                    # REST-27 ERR-04
        d = self.daemon("--fetch-timeout", "1s")
        self.assert_problem(d.feed(self.o.set("/hang", Reply(200, "x", delay=20))), 504,
                            "upstream-timeout")

    def test_head_is_get_without_body(self):                             # REST-29 HTTP-13
        path = "/feed?type=atom&url=" + quote(self.u)
        get, head = self.d.get(path), self.d.call("HEAD", path)
        self.assertEqual((200, b""), (head.status, head.body))
        for name in ("Content-Type", "ETag", "Last-Modified", "Cache-Control", "Content-Length"):
            self.assertEqual(get.header(name), head.header(name), name)
        again = self.d.call("HEAD", path, headers={"If-None-Match": get.header("ETag")})
        self.assertEqual(304, again.status)

    def test_other_methods(self):                                        # REST-31 HTTP-15 HTTP-16
        for method in ("PUT", "PATCH", "DELETE"):
            answer = self.d.call(method, "/feed?url=" + quote(self.u))
            self.assert_problem(answer, 405)
            self.assertIn("GET", answer.header("Allow"))
        self.assert_problem(self.d.get("/nonexistent"), 404, "not-found")

    def test_passwords(self):                                            # REST-28 D48 ERR-02
        for scheme in ("Basic", "Digest"):
            self.o.set("/secret", Reply(200, rss("hidden"), auth=(scheme, "joe", "geh%eim")))
            self.o.set("/wrong", Reply(401))
            u = self.o.url("/secret", user="joe:geh%25eim")
            answer = self.d.feed(u, type="atom")
            self.assertEqual(200, answer.status, answer.body)
            shown = [answer.body, self.d.feed(u).body, self.d.feed(u, type="rss").body,
                     self.d.get("/sub?type=json&all=1").body,
                     self.d.feed(self.o.url("/wrong", user="joe:geh%25eim")).body,
                     self.d.text().encode(), repr(answer.headers).encode()]
            for body in shown:
                self.assertNotIn(b"geh%eim", body)
                self.assertNotIn(b"geh%25eim", body)
            own = [link.get("href") for link in tree.fromstring(answer.body).findall(ATOM + "link")
                   if link.get("rel") == "self"]
            again = self.d.get(own[0][len(self.d.base):])
            self.assertEqual(200, again.status)
            self.assertEqual(tree.fromstring(answer.body).findtext(ATOM + "id"),
                             tree.fromstring(again.body).findtext(ATOM + "id"))
            # without the credential the feed is not open to everybody
            self.assertEqual(502, self.d.feed(self.o.url("/secret")).status)
            self.d = self.daemon()

    def test_everything_survives_a_restart(self):                        # REST-36 HTTP-08
        sub = self.d.subscribe(self.u)
        path = "/feed?type=atom&url=" + quote(self.u)
        before = self.d.get(path)
        self.wait(lambda: self.d.record(self.u)["last_check"])
        self.assertEqual(0, self.d.stop())
        self.d.start()
        after = self.d.get(path)
        self.assertEqual((before.body, before.header("ETag")), (after.body, after.header("ETag")))
        self.assertEqual(sub, self.d.get("/sub?type=json").json["subscriptions"][0]["id"])
        self.assertEqual(304, self.d.get(path, If_None_Match=before.header("ETag")).status)
        self.assertEqual(1, len(self.o.seen("/f.xml")))

    def test_self_link_is_the_request(self):                             # ATOM-04 PUBL-04
        for query in ("url=%s&len=2" % quote(self.u), "url=%s&type=atom" % quote(self.u)):
            root = tree.fromstring(self.d.get("/feed?" + query).body)
            own = [x.get("href") for x in root.findall(ATOM + "link") if x.get("rel") == "self"]
            self.assertEqual(1, len(own))
            self.assertTrue(own[0].startswith(self.d.base + "/feed?" + query), own)
            self.assertIn("type=atom", own[0])


class Conditional(Case):
    def setUp(self):
        self.o, self.d = self.origin(), self.daemon()
        self.u = self.o.set("/f.xml", rss(*["entry number %d" % n for n in range(40)]))
        self.path = "/feed?type=atom&url=" + quote(self.u)
        self.first = self.d.get(self.path)

    def get(self, **fields):
        return self.d.get(self.path, **fields)

    def test_validators_are_sent(self):                                  # HTTP-01 HTTP-14
        for name in ("ETag", "Last-Modified", "Date", "Cache-Control"):
            self.assertTrue(self.first.header(name), name)

    def test_if_none_match(self):                                        # HTTP-02 HTTP-03 HTTP-04
        tag = self.first.header("ETag")
        for value in (tag, '"x", ' + tag, "W/" + tag.replace("W/", ""), "*"):
            answer = self.get(If_None_Match=value)
            self.assertEqual((304, b""), (answer.status, answer.body), value)
            self.assertEqual(tag, answer.header("ETag"))
            self.assertTrue(answer.header("Cache-Control"))
        self.assertEqual(200, self.get(If_None_Match='"nope"').status)

    def test_if_modified_since(self):                                    # HTTP-05 HTTP-06
        date = self.first.header("Last-Modified")
        self.assertEqual(304, self.get(If_Modified_Since=date).status)
        for value in ("Sat, 01 Jan 2000 00:00:00 GMT", "yesterday"):
            self.assertEqual(200, self.get(If_Modified_Since=value).status, value)
        self.assertEqual(200, self.get(If_Modified_Since=date, If_None_Match='"nope"').status)

    def test_a_change_gives_a_new_tag(self):                             # HTTP-07
        tag = self.first.header("ETag")
        self.o.set("/f.xml", rss("brand new", "entry number 0"))
        self.d.ping(self.u)
        self.wait(lambda: self.get().header("ETag") != tag)
        self.assertEqual(200, self.get(If_None_Match=tag).status)

    def test_each_representation_has_its_own_tag(self):                  # HTTP-09
        tags = {self.d.feed(self.u, type=t).header("ETag") for t in
                ("atom", "rss", "json", "jsonfeed", "html", "opml")}
        self.assertEqual(6, len(tags))

    def test_gzip(self):                                                 # HTTP-11 HTTP-12
        answer = self.get(Accept_Encoding="gzip")
        self.assertEqual("gzip", answer.header("Content-Encoding"))
        self.assertEqual(self.first.body, gzip.decompress(answer.body))
        self.assertIn("accept-encoding", answer.header("Vary").lower())
        self.assertTrue(answer.header("ETag") != self.first.header("ETag")
                        or answer.header("ETag").startswith("W/"))
        self.assertEqual(304, self.get(Accept_Encoding="gzip",
                                       If_None_Match=answer.header("ETag")).status)
        for value in ("gzip;q=0", "identity", ""):
            self.assertIsNone(self.get(Accept_Encoding=value).header("Content-Encoding"), value)


class Merged(Case):
    def setUp(self):
        self.o, self.d = self.origin(), self.daemon()
        self.rss = self.o.set("/a.xml", rss(("r3", DATES[4], ""), ("r1", DATES[0], "")))
        self.atom = self.o.set("/b.xml", atom(("a4", "2020-06-07T10:00:00Z"),
                                              ("a2", "2020-06-03T10:00:00Z")))
        self.json = self.o.set("/c.json", Reply(
            200, '{"version":"https://jsonfeed.org/version/1","title":"J","items":['
            '{"id":1,"title":"j3","content_text":"x","date_published":"2020-06-04T10:00:00Z"},'
            '{"id":"2","title":"j5","content_text":"y","date_published":"2020-06-09T10:00:00+00:00"}'
            "]}", Content_Type="application/feed+json"))

    def feeds(self, query, **kw):
        return self.d.get("/feeds?" + query, **kw)

    def test_order_across_three_formats(self):                           # REST-16 REST-12 JF-11
        query = "url=%s,%s,%s&type=" % (self.rss, self.atom, self.json)
        answer = self.feeds(query + "json")
        self.assertEqual(["j5", "a4", "r3", "j3", "a2", "r1"], titles(answer))
        root = tree.fromstring(self.feeds(query + "atom").body)
        sources = {e.findtext(ATOM + "source/" + ATOM + "id") for e in root.iter(ATOM + "entry")}
        self.assertEqual(3, len(sources))
        self.assertNotIn(None, sources)
        root = tree.fromstring(self.feeds(query + "rss").body)
        self.assertEqual({self.rss, self.atom, self.json},
                         {i.find("source").get("url") for i in root.iter("item")})

    def test_lists_of_urls(self):                                        # REST-17 D3
        comma = self.o.set("/x,y.xml", rss("comma"))
        for query, n in (("url=%s,%%0A%%20%s" % (self.rss, self.atom), 4),
                         ("url=%s%%2C%s" % (quote(self.rss), quote(self.atom)), 4),
                         ("url=%s&url=%s" % (self.rss, self.atom), 4),
                         ("url=" + comma, 1), ("url=%s,%s" % (comma, self.rss), 3)):
            answer = self.feeds(query + "&type=json")
            self.assertEqual(200, answer.status, (query, answer.body))
            self.assertEqual(n, len(titles(answer)), query)

    def test_reachable_ones_are_served(self):                            # REST-18
        gone, bad = self.o.url("/gone"), self.o.set("/bad", Reply(500))
        answer = self.feeds("url=%s,%s&type=json" % (self.rss, gone))
        self.assertEqual(["r3", "r1"], titles(answer))
        self.assertEqual('1, "%s";why=upstream-failed' % gone, answer.header("Feeds-Left-Out"))
        self.assert_problem(self.feeds("url=%s,%s" % (gone, bad)), 502, "upstream-failed")

    def test_those_left_out_are_named(self):                             # REST-18 D48
        page = self.o.set("/page", Reply(200, "<html><body>no feed</body></html>", Content_Type="text/html"))
        odd = self.o.url('/a"b\\c\u00e9', user="joe:pw")
        answer = self.feeds("url=" + ",".join(quote(u) for u in (self.rss, page, odd)))
        self.assertEqual('2, "%s";why=no-feed, "%s";why=upstream-failed' % (page, self.o.url("/a%22b/c%C3%A9")),
                         answer.header("Feeds-Left-Out"))
        many = ["%s/%d/%s" % (self.o.url("/none"), i, "x" * 500) for i in range(20)]
        told = self.feeds("url=" + ",".join([self.rss] + many)).header("Feeds-Left-Out")
        self.assertLess(len(told), 4200)
        self.assertTrue(told.startswith('20, "%s";why=upstream-failed, "' % many[0]), told[:100])
        etag = self.feeds("url=" + self.rss).header("ETag")
        self.assertEqual(etag, self.feeds("url=" + self.rss).header("ETag"))
        self.assertIsNone(self.feeds("url=" + self.rss).header("Feeds-Left-Out"))

    def test_doubles(self):                                              # REST-19
        twin = self.o.set("/twin.xml", atom(("a4", "2020-06-07T10:00:00Z"), ("own", "2020-01-01T00:00:00Z")))
        self.assertEqual(2, len(titles(self.feeds("url=%s,%s&type=json" % (self.rss, self.rss)))))
        self.assertEqual(["a4", "a2", "own"],
                         titles(self.feeds("url=%s,%s&type=json" % (self.atom, twin))))

    def test_opml(self):                                                 # REST-20 OPML-05 OPML-07 OPML-08
        skipped = self.o.set("/skipped.xml", rss("skipped"))
        u = self.o.set("/list.opml", '<opml version="1.0"><head><title>L</title></head><body>'
                       '<outline text="f"><outline text="g"><outline text="r" xmlurl="%s"/></outline>'
                       '<outline type="rss" xmlUrl="%s"/></outline><outline xmlUrl="%s"/>'
                       '<outline xmlUrl="ftp://x/y"/><outline xmlUrl="feed:%s"/>'
                       '<outline isComment="true"><outline xmlUrl="%s"/></outline></body></opml>' %
                       (self.rss, self.atom, self.rss, self.json, skipped))
        answer = self.d.get("/opml?url=%s&type=json" % quote(u))
        self.assertEqual(["j5", "a4", "r3", "j3", "a2", "r1"], titles(answer))
        self.assertEqual([], self.o.seen("/skipped.xml"))
        self.assertEqual(200, self.d.get("/opml/?url=%s&type=rss" % u).status)

    def test_opml_of_something_else(self):                               # REST-21
        page = self.o.set("/page", Reply(200, "<html><body>hi</body></html>", Content_Type="text/html"))
        self.assert_problem(self.d.get("/opml?url=" + quote(page)), 422)
        self.assert_problem(self.d.get("/opml?url=" + quote(self.o.url("/none"))), 502,
                            "upstream-failed")

    def test_huge_opml_is_refused(self):                                 # OPML-10
        many = "".join('<outline xmlUrl="http://h/%d"/>' % n for n in range(100000))
        deep = "<outline>" * 10000 + "</outline>" * 10000
        for body in (many, deep):
            u = self.o.set("/list%d" % len(body), "<opml><body>" + body + "</body></opml>")
            answer = self.d.get("/opml?url=" + quote(u))
            self.assertIn(answer.status, (413, 422))
        self.assertEqual(200, self.d.get("/sub").status)


class Subscriptions(Case):
    def setUp(self):
        self.o, self.d = self.origin(), self.daemon()
        self.a = self.o.set("/a.xml", rss("a1", title='A & "B" <c>'))
        self.b = self.o.set("/b.xml", rss("b1"))

    def listed(self, path="/sub"):
        answer = self.d.get(path)
        self.assertEqual(200, answer.status)
        return [x.get("xmlUrl") for x in tree.fromstring(answer.body).iter("outline") if x.get("xmlUrl")]

    def post(self, body, kind="application/x-www-form-urlencoded", path="/sub"):
        return self.d.call("POST", path, body, {"Content-Type": kind} if kind else {})

    def test_post_and_list(self):                                        # REST-22 REST-23 OPML-01
        answer = self.post(urllib.parse.urlencode({"endpoint": "http://127.0.0.1:9/", "url": self.a}))
        self.assertEqual(201, answer.status, answer.body)
        made = answer.json
        self.assertIsInstance(made["id"], int)
        self.assertEqual([self.a], made["urls"])
        self.assertTrue(answer.header("Location").endswith("/sub?id=%d" % made["id"]))
        self.assertEqual([self.a], self.listed())
        self.assertEqual([self.a], self.listed("/sub?id=%d" % made["id"]))
        self.assertTrue(self.d.get("/sub").header("Content-Type").startswith("text/x-opml"))
        self.assertEqual("2.0", tree.fromstring(self.d.get("/sub").body).get("version"))

    def test_post_in_the_query(self):                                    # REST-24 D4
        answer = self.post(None, None, "/sub/?url=" + self.a + ",%20" + self.b)
        self.assertEqual(201, answer.status, answer.body)
        self.assertEqual([self.a, self.b], self.listed())

    def test_titles_and_escaping(self):                                  # OPML-02 OPML-04
        self.d.subscribe(self.a)
        self.wait(lambda: self.d.record(self.a)["last_check"])
        outline = next(x for x in tree.fromstring(self.d.get("/sub").body).iter("outline")
                       if x.get("xmlUrl") == self.a)
        self.assertEqual(('A & "B" <c>', "rss", "http://site.example/"),
                         (outline.get("text"), outline.get("type"), outline.get("htmlUrl")))

    def test_the_list_changes_only_when_it_changes(self):                # OPML-03
        self.d.subscribe(self.a)
        self.wait(lambda: self.d.record(self.a)["last_check"])
        first = self.d.get("/sub")
        self.d.feed(self.b)
        self.d.ping(self.a)
        self.d.wait_idle()
        again = self.d.get("/sub")
        self.assertEqual((first.header("ETag"), first.body), (again.header("ETag"), again.body))
        self.assertEqual(304, self.d.get("/sub", If_None_Match=first.header("ETag")).status)
        self.d.subscribe(self.b)
        self.assertNotEqual(first.header("ETag"), self.d.get("/sub").header("ETag"))

    def test_delete(self):                                               # REST-25 REST-26 D5
        one, two = self.d.subscribe(self.a, self.b), self.d.subscribe(self.b)
        self.assert_problem(self.d.call("DELETE", "/sub?url=" + quote(self.a)), 400, "bad-parameter",
                            parameter="id")
        self.assertEqual(204, self.d.call("DELETE", "/sub?id=%d&url=%s" % (one, self.a)).status)
        self.assertEqual([self.b], self.listed())
        self.assertEqual(204, self.d.call("DELETE", "/sub?id=%d" % one).status)
        self.assert_problem(self.d.call("DELETE", "/sub?id=%d" % one), 404)
        self.assertEqual([self.b], self.listed())
        answer = self.d.call("DELETE", "/sub", "id=%d" % two,
                             {"Content-Type": "application/x-www-form-urlencoded"})
        self.assertEqual(204, answer.status)
        self.assertEqual([], self.listed())

    def test_an_opml_body_subscribes_all(self):                          # OPML-09
        answer = self.post('<opml version="2.0"><body><outline xmlUrl="%s"/><outline text="f"><outline '
                           'xmlUrl="%s"/></outline></body></opml>' % (self.a, self.b), "text/x-opml")
        self.assertEqual(201, answer.status, answer.body)
        self.assertEqual([self.a, self.b], answer.json["urls"])
        self.assert_problem(self.post("<html/>", "text/x-opml"), 422)

    def test_bad_input(self):                                            # REST-15, the list
        for form, parameter in (({}, "url"), ({"url": "nonsense"}, "url"),
                                ({"url": self.a, "endpoint": "nowhere"}, "endpoint"),
                                ({"url": self.a, "freq": "9"}, "freq"),
                                ({"url": self.a, "freq": "x"}, "freq"),
                                ({"url": self.a, "from": "??"}, "from")):
            answer = self.post(urllib.parse.urlencode(form))
            problem = self.assert_problem(answer, 400)
            self.assertEqual(parameter, problem["parameter"], problem)
        self.assertEqual([], self.listed())

    def test_a_look_over_what_is_not_shown_is_bounded(self):
        """Entries of a protected feed that a look leaves out are in memory until it ends."""
        o, d = self.origin(), self.daemon()
        u = o.set("/big.xml", rss(*[("entry %d" % n, None, "<x:y xmlns:x='urn:x'>%s</x:y>" % ("text %d " % n * 100000))
                                    for n in range(14)]))
        v = o.set("/f.xml", rss("shown"))
        self.wait(lambda: d.feed(u.replace("://", "://me:pw@"), len=1).status == 200, daemon=d)     # it is large
        self.assertEqual(200, d.feed(v).status)
        looks, shown, since = 0, [], "start"
        while not shown and looks < 10:
            answer = d.get("/log?max=2&since=" + since).json
            shown, since, looks = answer["revisions"], answer["cursor"], looks + 1
        self.assertEqual([v], [r["url"] for r in shown])
        self.assertGreater(looks, 1)

    def test_the_log_is_read_to_its_end(self):                           # VIEW-18 DELIV-03
        """A caller may read until `seq` is `last_seq`, although an event of a feed has the last number."""
        o, d = self.origin(), self.daemon()
        u = o.set("/f.xml", rss("entry"))
        self.assertEqual(200, d.feed(u).status)
        before = d.get("/log").json
        self.assertEqual(before["last_seq"], before["seq"])
        o.set("/f.xml", Reply(500))
        for n in range(3):
            d.ping(u)
            self.wait(lambda: (d.record(u) or d.record(u))["errors"] > n, daemon=d)
        for since in ("", "?since=" + before["cursor"]):
            log = d.get("/log" + since).json
            self.assertEqual((before["seq"] + 1, log["last_seq"]), (log["last_seq"], log["seq"]))
        self.assertEqual(before["seq"], d.get("/log?url=" + quote(u)).json["seq"])
        self.assertEqual([], d.get("/log?since=" + log["cursor"]).json["revisions"])

    def test_urls_are_shown_without_password(self):                      # D48
        self.d.subscribe(self.o.url("/a.xml", user="me:hunter2"), endpoint="http://me:hunter2@127.0.0.1:9/")
        for path in ("/sub", "/sub?type=json", "/sub?type=json&all=1"):
            self.assertNotIn(b"hunter2", self.d.get(path).body)


class Refusals(Case):
    def test_private_addresses_are_closed(self):                         # SCHED-18
        o = self.origin()
        d = self.daemon(open_loopback=False)
        u = o.set("/f.xml", rss("a"))
        answer = d.feed(u)
        self.assertGreaterEqual(answer.status, 400)
        self.assertIn("allow-fetch", answer.json["detail"])
        self.assertEqual([], o.requests)
        for address in ("http://169.254.169.254/", "http://[::1]:%d/f.xml" % o.port,
                        "http://0x7f000001:%d/f.xml" % o.port, "http://[::ffff:127.0.0.1]:%d/" % o.port):
            self.assertGreaterEqual(d.feed(address).status, 400, address)
        self.assertEqual([], o.requests)

    def test_a_redirect_to_a_closed_address(self):                       # SCHED-18
        o = self.origin()
        d = self.daemon("--allow-fetch", "127.0.0.1/32", open_loopback=False)
        u = o.set("/f.xml", Reply(302, Location="http://127.0.0.2:%d/g.xml" % o.port))
        self.assertGreaterEqual(d.feed(u).status, 400)
        self.assertEqual([], o.seen("/g.xml"))

    def test_bad_documents_are_errors_of_their_feed_alone(self):         # SCHED-13 SCHED-15
        o = self.origin()
        d = self.daemon("--fetch-timeout", "5s")
        good = o.set("/good.xml", rss("fine"))
        bad = [o.set("/not-xml", "this is not a feed"), o.set("/endless", Reply(endless=True)),
               o.set("/loop", Reply(302, Location="/loop")),
               o.set("/lies", Reply(200, rss("cut"), length=100000)),
               o.set("/bomb", Reply(200, b" " * (300 << 20), Content_Encoding="gzip"))]
        began = time.monotonic()
        for u in bad:
            answer = d.feed(u)
            self.assertGreaterEqual(answer.status, 400, u)
            self.assertTrue(d.record(u)["last_error"], u)
        self.assertLess(time.monotonic() - began, 60 * PATIENCE)
        self.assertEqual(["fine"], titles(d.feed(good)))

    def test_too_large_a_body(self):
        d = self.daemon()
        answer = d.call("POST", "/sub", b"x" * (17 << 20), {"Content-Type": "text/x-opml"})
        self.assertEqual(413, answer.status)
