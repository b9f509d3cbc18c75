"""Contents of metadata records (Atom-PMH): PMHC-09."""
import threading

from .env.daemon import quote
from .env.origin import Reply
from .test_catchup import Followed, date, doc, entry, link

ATOM = "application/atom+xml"


def record(name, second, *forms, title=None):
    """An entry without content; forms are (type, href)."""
    return ("<entry><id>urn:rec:%s</id><title>%s</title><updated>%s</updated>%s</entry>"
            % (name, title or name, date(second), "".join(
                '<link rel="alternate" type="%s" href="%s"/>' % form for form in forms)))


def atom_entry(name, content, extra=""):
    return ('<entry xmlns="http://www.w3.org/2005/Atom" xmlns:rdc="http://rdc.example/"><id>urn:rec:%s'
            "</id><title>of the record</title><updated>2019-01-01T00:00:00Z</updated>"
            '<author><name>Dr H.</name></author><content type="text">%s</content>%s</entry>'
            % (name, content, extra))


class Records(Followed):
    ARGS = ("--content-rate", "6000")

    def entries(self, url):
        return {e["title"]: e for e in self.d.feed(url, len=1000).json["entries"]}

    def content(self, url, name):
        found = self.entries(url).get(name, {}).get("content")
        return found[0]["value"] if found else None

    def wait_content(self, url, name, text):
        self.wait(lambda: self.content(url, name) == text, what="the content of " + name, daemon=self.d)

    def one(self, name="r", forms=((ATOM, "/r.atom"),), second=10, path="/f", *head, **kw):
        return self.o.set(path, doc(*head, record(name, second, *forms, **kw)))

    def contents_over(self, url, path="/f"):
        """Wait until contents that are wanted now have been asked for: the same host is asked in turn,
        and a record of another feed comes after them."""
        self.poll_over(url, path)
        n = self.n_markers = getattr(self, "n_markers", 0) + 1
        self.o.set("/marker%d" % n, atom_entry("marker", "it comes last"), Content_Type=ATOM)
        marker = self.o.set("/m%d" % n, doc(record("marker", 1, (ATOM, "/marker%d" % n))))
        self.titles(marker)
        self.wait_content(marker, "marker", "it comes last")

    def wait_asked(self, path, n=1):
        self.wait(lambda: len(self.o.seen(path)) >= n, what="request %d of %s" % (n, path), daemon=self.d)


class Contents(Records):
    def test_the_content_of_a_record_is_fetched(self):                # PMHC-09
        self.o.set("/r.atom", atom_entry("r", "all of it", '<rdc:place lat="1">Cape</rdc:place>'
                                         '<category term="Zoology"/><link rel="http://x.example/rel"'
                                         ' href="http://x.example/party"/>'), Content_Type=ATOM)
        url = self.one()
        self.assertEqual(["r"], self.titles(url))
        self.wait_content(url, "r", "all of it")
        got = self.entries(url)["r"]
        self.assertEqual(("urn:rec:r", "r", "2020-01-01T00:00:10Z", "Dr H.", "Cape", "all of it"),
                         (got["id"], got["title"], got["updated"], got["author"],
                          got["rdc_place"], got["summary"]))
        self.assertEqual("Zoology", got["tags"][0]["term"])
        self.assertEqual(["alternate", "http://x.example/rel"], [x["rel"] for x in got["links"]])
        body = self.d.feed(url, type="atom").body.decode()
        self.assertIn(">Cape<", body)
        self.assertIn("all of it", body)
        self.assertTrue(self.o.seen("/r.atom")[0].headers["Accept"].startswith(ATOM))

    def test_the_entry_document_is_preferred(self):                   # PMHC-09
        self.o.set("/r.atom", atom_entry("r", "of the entry"), Content_Type=ATOM)
        url = self.one(forms=(("application/pdf", "/r.pdf"), ("text/html", "/r.html"),
                              ("application/rdf+xml", "/r.rdf"), (ATOM, "/r.atom")))
        self.titles(url)
        self.wait_content(url, "r", "of the entry")
        self.assertEqual([0, 0, 0], self.counts("/r.pdf", "/r.html", "/r.rdf"))

    def test_a_page_is_taken_and_made_safe(self):                     # PMHC-09
        self.o.set("/r.html", "<html><head><title>T</title><style>x</style></head><body><p>text "
                   "<script>bad()</script><img src='i.png' onerror='bad()'></p></body></html>",
                   Content_Type="text/html")
        url = self.o.set("/f", doc(record("r", 1, ("text/html", "/r.html")),
                                   record("s", 2, (ATOM, "/s"))))
        self.o.set("/s", atom_entry("s", "s"))
        self.titles(url)
        self.wait(lambda: self.content(url, "r"), what="the page", daemon=self.d)
        text = self.content(url, "r")
        self.assertTrue(text.startswith("<p>text "), text)
        self.assertNotIn("bad", text)
        self.assertIn(self.o.url("/i.png"), text)

    def test_an_ordinary_feed_of_titles_is_left_alone(self):          # PMHC-08 PMHC-09
        self.o.set("/a", doc("<fh:archive/>", record("b", 1, ("text/html", "/b.html"))))
        url = self.o.set("/f", doc(link("prev-archive", "/a"),
                                   record("a", 2, ("text/html", "/a.html"))))
        self.titles(url)
        self.contents_over(url)
        self.assertEqual([0, 0], self.counts("/a.html", "/b.html"))

    def test_other_formats(self):                                     # PMHC-09
        self.o.set("/t", "plain & simple", Content_Type="text/plain")
        self.o.set("/x", "<rdf/>", Content_Type="application/rdf+xml")
        self.o.set("/j", '{"a":1}', Content_Type="application/json")
        url = self.o.set("/f", doc(record("t", 1, ("text/plain", "/t")),
                                   record("x", 2, ("application/rdf+xml", "/x")),
                                   record("j", 3, ("application/json", "/j"))))
        self.titles(url)
        for name, text in ("t", "plain & simple"), ("x", "<rdf/>"), ("j", '{"a":1}'):
            self.wait_content(url, name, text)
        self.assertEqual("application/rdf+xml", self.entries(url)["x"]["content"][0]["type"])
        self.assertEqual(200, self.d.feed(url, type="atom").status)

    def test_what_promises_an_entry_and_is_none(self):                # PMHC-09
        self.o.set("/page", "<html><body>please log in</body></html>", Content_Type="text/html")
        self.o.set("/feed", doc(entry("x", 1)), Content_Type=ATOM)
        self.o.set("/good", "good", Content_Type="text/plain")
        url = self.o.set("/f", doc(record("a", 1, (ATOM, "/page"), ("text/plain", "/good")),
                                   record("b", 2, (ATOM, "/feed")),
                                   record("c", 3, ("text/plain", "/page"))))
        self.titles(url)
        self.wait_content(url, "a", "good")
        self.wait(lambda: 0 not in self.counts("/feed", "/page"), what="all requests", daemon=self.d)
        self.contents_over(url)
        self.assertIsNone(self.content(url, "b"))
        self.assertIsNone(self.content(url, "c"))

    def test_the_harvest_does_not_wait(self):                         # PMHC-09
        gate = threading.Event()
        self.addCleanup(gate.set)

        def late(seen):
            gate.wait()
            return Reply(200, atom_entry("r", "late"), Content_Type=ATOM)
        self.o.set("/slow", late)
        self.o.set("/a", doc("<fh:archive/>", record("old", 1, (ATOM, "/slow"))))
        url = self.o.set("/f", doc(link("prev-archive", "/a"), record("r", 9, (ATOM, "/slow"))))
        self.assertEqual(["old", "r"], self.titles(url))
        # and what it waits for does not lose news of the feed
        self.wait_asked("/slow")
        self.o.set("/f", doc(link("prev-archive", "/a"), record("new", 20),
                             record("r", 9, (ATOM, "/slow"))))
        self.d.ping(url)
        gate.set()
        self.wait_titles(url, "new", "old", "r")
        self.wait_content(url, "r", "late")
        self.wait_content(url, "old", "late")
        self.assertEqual(1, self.o.open_most["/slow"])  # one at a time

    def test_content_outlives_polls(self):                            # PMHC-09
        self.o.set("/r.atom", atom_entry("r", "kept"), Content_Type=ATOM)
        url = self.one()
        self.titles(url)
        self.wait_content(url, "r", "kept")
        for n in 2, 3:
            self.o.set("/f", doc(record("x%d" % n, n), record("r", 10, (ATOM, "/r.atom"))))
            self.ping(url, "/f")
            self.wait(lambda: "x%d" % n in self.titles(url), what="news", daemon=self.d)
            self.assertEqual("kept", self.content(url, "r"))
        self.assertEqual(1, len(self.o.seen("/r.atom")))
        self.d.stop()
        self.d.start()
        self.assertEqual("kept", self.content(url, "r"))

    def test_a_new_version_is_fetched_anew(self):                     # PMHC-09
        self.o.set("/r.atom", atom_entry("r", "first"), Content_Type=ATOM)
        r = self.receiver()
        url = self.one()
        self.d.subscribe(url, endpoint=r.url)
        self.wait_content(url, "r", "first")
        self.o.set("/r.atom", atom_entry("r", "second"), Content_Type=ATOM)
        self.one(second=20, title="r2")
        self.ping(url, "/f")
        self.wait_content(url, "r2", "second")
        self.wait(lambda: len(r.titles()) == 2, what="two pushes", daemon=self.d)
        self.assertEqual(["r2", "r2"], r.titles())  # the record, then its content; nothing initial
        # each is an event of the log: metadata, content, metadata, content
        log = self.d.get("/log?url=%s&since=start" % quote(url)).json
        kinds = [e["kind"] for e in log["events"]] if "events" in log else None
        self.assertIn(kinds, (None, ["new", "changed", "changed", "changed"]))

    def test_a_version_that_comes_meanwhile(self):                    # PMHC-09
        self.o.set("/old", Reply(200, atom_entry("r", "old"), delay=2, Content_Type=ATOM))
        self.o.set("/new", atom_entry("r", "new"), Content_Type=ATOM)
        url = self.one(forms=((ATOM, "/old"),))
        self.titles(url)
        self.wait_asked("/old")
        # a hub would bring this while the content is asked for; here the next poll does
        self.one(forms=((ATOM, "/new"),), second=20, title="r2")
        self.ping(url, "/f")
        self.wait_content(url, "r2", "new")
        self.contents_over(url)
        self.assertEqual("new", self.content(url, "r2"))


class Gone(Records):
    def test_a_record_that_leads_nowhere_is_gone(self):               # PMHC-09
        for status in 404, 410, 403:
            self.o.set("/x%d" % status, Reply(status, "no"))
        self.o.set("/ok", atom_entry("ok", "here"), Content_Type=ATOM)
        url = self.o.set("/f", doc(*(record("x%d" % s, s, (ATOM, "/x%d" % s))
                                     for s in (404, 410, 403)), record("ok", 1, (ATOM, "/ok"))))
        self.assertEqual(["ok", "x403", "x404", "x410"], self.titles(url))
        self.wait_titles(url, "ok")
        self.wait_content(url, "ok", "here")
        self.assertEqual([2, 2, 2], self.counts("/x403", "/x404", "/x410"))
        # the feed that still shows them does not bring them back; a later version does
        self.o.set("/f", doc(*(record("x%d" % s, s, (ATOM, "/x%d" % s)) for s in (404, 410)),
                             record("x403", 500, (ATOM, "/ok")), record("ok", 1, (ATOM, "/ok"))))
        self.ping(url, "/f")
        self.wait_titles(url, "ok", "x403")
        self.wait_content(url, "x403", "here")

    def test_of_a_complete_feed(self):                                # PMHC-09
        url = self.o.set("/f", doc("<fh:complete/>", record("x", 1, (ATOM, "/no")),
                                   record("y", 1)))
        self.assertEqual(["x", "y"], self.titles(url))
        self.wait_titles(url, "y")
        self.o.set("/f", doc("<fh:complete/>", record("x", 1, (ATOM, "/no")), record("y", 1),
                             record("z", 1)))
        self.ping(url, "/f")
        self.wait_titles(url, "y", "z")
        self.contents_over(url)
        self.assertEqual(["y", "z"], self.titles(url))

    def test_one_of_several_forms(self):                              # PMHC-09
        self.o.set("/t", "still there", Content_Type="text/plain")
        url = self.one(forms=((ATOM, "/no.atom"), ("text/plain", "/t")))
        self.titles(url)
        self.wait_content(url, "r", "still there")

    def test_trouble_is_not_gone(self):                               # PMHC-09
        good = Reply(200, atom_entry("r", "there"), Content_Type=ATOM)
        self.o.set("/e500", Reply(500, "oops"), good)
        self.o.set("/e401", Reply(401, "who?"), good)
        self.o.set("/cut", Reply(200, "<entry", length=5000, Content_Type=ATOM), good)
        self.o.set("/reset", Reply(reset=True), good)
        names = "e500", "e401", "cut", "reset"
        url = self.o.set("/f", doc(*(record(n, 1, (ATOM, "/" + n)) for n in names)))
        self.assertEqual(sorted(names), self.titles(url))
        for n in names:
            self.wait_content(url, n, "there")
        self.assertEqual(sorted(names), self.titles(url))

    def test_a_slow_down_is_heard(self):                              # PMHC-09
        self.o.set("/busy", Reply(503, "busy", Retry_After="3"),
                   Reply(200, atom_entry("r", "there"), Content_Type=ATOM))
        url = self.one(forms=((ATOM, "/busy"),))
        self.titles(url)
        self.wait_asked("/busy", 2)
        first, second = self.o.seen("/busy")[:2]
        self.assertGreater(second.at - first.at, 2)
        self.wait_content(url, "r", "there")

    def test_killed_in_the_middle(self):                              # PMHC-09
        for i in range(20):
            self.o.set("/r%d" % i, Reply(200, atom_entry("r%d" % i, "c%d" % i), delay=0.05,
                                         Content_Type=ATOM))
        url = self.o.set("/f", doc(*(record("r%d" % i, i, (ATOM, "/r%d" % i)) for i in range(20))))
        self.titles(url)
        for n in 5, 12:
            self.wait(lambda: sum(self.counts(*("/r%d" % i for i in range(20)))) > n,
                      what="%d requests" % n, daemon=self.d)
            self.d.kill()
            self.d.start()
        for i in range(20):
            self.wait_content(url, "r%d" % i, "c%d" % i)
        self.assertLessEqual(sum(self.counts(*("/r%d" % i for i in range(20)))), 22)


class Closed(Records):
    def test_other_hosts_and_closed_addresses(self):                  # PMHC-09
        """Pages of other sites are none of the feed's; addresses that are closed are not asked."""
        other = self.origin()
        elsewhere = other.url("/p").replace("127.0.0.1", "localhost")
        closed = "http://169.254.1.1/r"
        self.o.set("/ok", atom_entry("ok", "here"), Content_Type=ATOM)
        self.o.set("/to", Reply(302, "", Location=closed))
        url = self.o.set("/f", doc(record("page", 1, ("text/html", elsewhere)),
                                   record("closed", 2, (ATOM, closed)),
                                   record("to", 3, (ATOM, "/to")), record("ok", 4, (ATOM, "/ok"))))
        self.titles(url)
        self.wait_content(url, "ok", "here")
        self.wait_asked("/to")
        self.contents_over(url)
        self.assertEqual([], other.requests)
        self.assertEqual(["closed", "ok", "page", "to"], self.titles(url))


class Off(Followed):
    ARGS = ("--content-rate", "0")

    def test_nothing_is_fetched_when_it_is_off(self):                 # PMHC-09
        self.o.set("/r", Reply(404, "no"))
        url = self.o.set("/f", doc(record("r", 1, (ATOM, "/r"))))
        self.assertEqual(["r"], self.titles(url))
        # another daemon, which has not switched it off, reads the same later and asks for the content
        other = self.daemon("--contact-url", "http://other.example/")
        self.assertEqual(200, other.feed(url).status)
        self.wait(lambda: self.o.seen("/r"), what="the other's request", daemon=other)
        self.assertEqual([True], ["other.example" in r.headers["User-Agent"] for r in self.o.seen("/r")])
        self.assertEqual(["r"], self.titles(url))
