"""Subscription lists in and out: OPML-*, and the settings of feeds that they carry."""
import os
import re
import subprocess
import tempfile
import threading
import time
import xml.etree.ElementTree as tree

from .env.case import Case
from .env.daemon import BINARY, PATIENCE, quote
from .env.origin import Reply, rss

OWN = "{urn:feedmill:opml}"


def opml(body, attrs=""):
    return '<?xml version="1.0"?><opml version="2.0" %s><head><title>L</title></head><body>%s</body></opml>' % (
        attrs, body)


def include(url, kind="include"):
    return '<outline type="%s" text="more" url="%s"/>' % (kind, url)


def feed(url, more=""):
    return '<outline type="rss" text="t" xmlUrl="%s" %s/>' % (url, more)


def without_dates(document):
    return re.sub(rb"<date(Created|Modified)>[^<]*<", rb"<date\1><", document)


class Lists(Case):
    def setUp(self):
        self.o, self.d = self.origin(), self.daemon()
        self.f = [self.o.set("/f%d.xml" % n, rss("title %d" % n, title="Feed & %d" % n)) for n in range(6)]

    def post(self, body, query=""):
        return self.d.call("POST", "/sub" + query, body, {"Content-Type": "text/x-opml"})

    def import_it(self, body, query=""):
        answer = self.post(body, query)
        self.assertEqual(201, answer.status, answer.body)
        return answer.json

    def titles(self, url):
        answer = self.d.get("/opml?type=json&len=100&url=" + quote(url))
        self.assertEqual(200, answer.status, answer.body)
        return sorted(e["title"] for e in answer.json["entries"])

    # ---- in ----
    def test_a_list_of_attributes_is_refused_at_once(self):              # OPML-10
        """Uploaded, or fetched for a GET. A ratio of processor times shows in test_bombs."""
        crowd = opml('<outline text="a" %s/>' % " ".join('a%d="v"' % n for n in range(50000)))
        answer = self.post(crowd)
        self.assertEqual(413, answer.status, answer.body)
        self.assertIn("an element has more than 100 attributes", answer.json["detail"])
        answer = self.d.get("/opml?type=json&url=" + quote(self.o.set("/crowd", crowd)))
        self.assertEqual(422, answer.status, answer.body)
        self.assertIn("an element has more than 100 attributes", answer.json["detail"])

    def test_included_lists_are_followed_three_deep(self):               # OPML-06
        f = self.f
        self.o.set("/l4", opml(feed(f[4])))
        self.o.set("/l3.OPML?x=1", opml(feed(f[3]) + include("/l4")))
        self.o.set("/l2", opml(feed(f[2]) + include("/l3.OPML?x=1", "link") + include("/page.html", "link")))
        self.o.set("/dir/l1", opml(feed(f[1]) + include("../l2")))
        u = self.o.set("/l0", opml(feed(f[0]) + include("dir/l1")))
        self.assertEqual(["title %d" % n for n in range(4)], self.titles(u))
        self.assertEqual([], self.o.seen("/l4"))
        self.assertEqual([], self.o.seen("/page.html"))

    def test_included_lists_are_relative_to_where_the_list_is(self):     # OPML-06
        self.o.set("/there/more.opml", opml(feed(self.f[1])))
        self.o.set("/there/list", opml(feed(self.f[0]) + include("more.opml")))
        u = self.o.set("/here", Reply(302, Location="/there/list"))
        self.assertEqual(["title 0", "title 1"], self.titles(u))

    def test_a_stop_does_not_wait_for_included_lists(self):              # OPML-06
        slow = self.o.set("/slow", Reply(200, opml(include("/next")), delay=4))
        self.o.set("/next", opml(feed(self.f[1])))
        failures = []

        def ask():
            try:
                self.post(opml(feed(self.f[0]) + include(slow)))
            except OSError as e:                                         # the connection ends with the daemon
                failures.append(e)

        asker = threading.Thread(target=ask)
        asker.start()
        self.wait(lambda: self.o.seen("/slow"))
        begin = time.monotonic()
        self.assertEqual(0, self.d.stop())
        asker.join()
        self.assertLess(time.monotonic() - begin, 15 * PATIENCE)
        self.assertEqual([], self.o.seen("/next"))

    def test_lists_that_include_each_other_end(self):                    # OPML-06
        self.o.set("/b", opml(feed(self.f[1]) + include("/a") + include("/b")))
        u = self.o.set("/a", opml(include("/b") + feed(self.f[0]) + include("/a") + feed(self.f[1])))
        self.assertEqual(["title 0", "title 1"], self.titles(u))
        self.assertEqual((1, 1), (len(self.o.seen("/a")), len(self.o.seen("/b"))))

    def test_one_bad_list_does_not_spoil_the_rest(self):                 # OPML-06
        self.o.set("/html", Reply(200, "<html>no list</html>", Content_Type="text/html"))
        made = self.import_it(opml(feed(self.f[0]) + include(self.o.url("/html")) + include(self.o.url("/none")) +
                                   include("http://[bad") + include(self.o.set("/ok", opml(feed(self.f[1]))))))
        self.assertEqual(self.f[:2], made["urls"])
        told = {p["list"].rpartition("/")[2]: p["detail"] for p in made["problems"]}
        self.assertEqual({"html", "none", "[bad"}, set(told))
        self.assertIn("HTML page", told["html"])
        self.assertIn("404", told["none"])

    def test_lists_are_bounded_together(self):                           # OPML-06 OPML-10
        for n in range(60):
            self.o.set("/n%d" % n, opml(feed("http://127.0.0.1:9/%d" % n)))
        made = self.import_it(opml("".join(include(self.o.url("/n%d" % n)) for n in range(60))))
        self.assertEqual(31, len(made["urls"]))                          # the list itself is the 32nd
        self.assertEqual(29, made["problem_count"])
        many = "".join(feed("http://127.0.0.1:9/m%d" % n) for n in range(6000))
        self.o.set("/m1", opml(many))
        made = self.import_it(opml(many.replace("/m", "/k") + include(self.o.url("/m1"))))
        self.assertEqual(6000, len(made["urls"]))
        self.assertIn("10000 outlines", made["problems"][0]["detail"])

    def test_included_lists_pass_the_guard(self):                        # OPML-06 SCHED-18
        d = self.daemon(open_loopback=False)
        answer = d.call("POST", "/sub", opml(feed("http://x.example/") + include(self.o.set("/l", opml("")))),
                        {"Content-Type": "text/x-opml"})
        self.assertEqual(201, answer.status, answer.body)
        self.assertEqual(1, answer.json["problem_count"])
        self.assertEqual([], self.o.requests)

    def test_problems_of_single_outlines_are_told(self):                 # OPML-08 OPML-09
        f = self.f
        made = self.import_it(opml(
            feed(f[0], 'feedmill:freq="often"') + feed("ftp://x/y") + feed(f[0]) + feed("feed:" + f[1]) +
            feed(f[2], 'feedmill:sanitize="perhaps" feedmill:unheard="of"') + feed("http://me:pw@["),
            'xmlns:feedmill="urn:feedmill:opml"'))
        self.assertEqual(f[:3], made["urls"])
        self.assertEqual((1, 2, 4), (made["doubles"], made["left_out"], made["problem_count"]))
        self.assertEqual([(1, "freq"), (2, None), (5, "sanitize"), (6, None)],
                         [(p["outline"], p.get("setting")) for p in made["problems"]])
        self.assertIn("often", made["problems"][0]["detail"])
        self.assertNotIn("pw", str(made))
        self.assertTrue(self.d.record(f[2])["sanitize"])

    def test_broken_list_is_mended(self):                                # OPML-05
        made = self.import_it('<opml><body><outline text="R&D"><outline XMLURL=%s text="a & b">'
                              '<outline xmlurl=\'%s\' text="a < b"></body><outline xmlUrl="%s"/>' % tuple(self.f[:3]))
        self.assertEqual(self.f[:3], made["urls"])

    def test_commented_outlines_are_left_out(self):                      # OPML-07
        made = self.import_it(opml(feed(self.f[0]) + '<outline isComment="true">' + feed(self.f[1]) +
                                   include(self.o.set("/c", opml(feed(self.f[2])))) + "</outline>" +
                                   feed(self.f[3], 'isComment="true"')))
        self.assertEqual([self.f[0]], made["urls"])
        self.assertEqual([], self.o.seen("/c"))

    # ---- out ----
    def test_export_and_import_give_the_same_list(self):                 # OPML-01 OPML-02 OPML-04
        f = self.f
        self.import_it(opml(
            '<outline text="News &amp; &quot;more&quot;">' + feed(f[0], 'feedmill:freq="90" category="a,/b/c"') +
            '<outline text="World">' + feed(f[1], 'feedmill:sanitize="no"') + "</outline></outline>" + feed(f[2]) +
            '<outline xmlUrl="%s" title="Its own" text="My &lt;name&gt;"/>' % f[3] +
            '<outline text="News &amp; &quot;more&quot;">' + feed(f[4], 'feedmill:freq="2"') + "</outline>",
            'xmlns:feedmill="urn:feedmill:opml"'))
        for u in f[:5]:
            self.wait(lambda: self.d.record(u)["last_check"])
        first = self.d.get("/sub").body
        names = [x.get("text") for x in tree.fromstring(first).iter("outline")]
        self.assertEqual(['News & "more"', "Feed & 0", "World", "Feed & 1", "Feed & 4", "Feed & 2", "My <name>"], names)
        mine = next(x for x in tree.fromstring(first).iter("outline") if x.get("xmlUrl") == f[3])
        self.assertEqual("Feed & 3", mine.get("title"))
        closed = self.daemon(open_loopback=False)                        # cannot fetch any of them
        for other in (self.daemon(), closed):
            answer = other.call("POST", "/sub", first, {"Content-Type": "text/x-opml"})
            self.assertEqual((201, 0), (answer.status, answer.json["problem_count"]), answer.body)
            self.assertEqual(without_dates(first), without_dates(other.get("/sub").body))
            self.assertEqual(without_dates(first), without_dates(other.get("/sub?id=1").body))
        self.wait(lambda: closed.record(f[0])["last_check"])
        self.assertEqual(without_dates(first), without_dates(closed.get("/sub").body))

    def test_settings_survive_a_restart(self):
        self.import_it(opml('<outline text="A"><outline text="B">' + feed(self.f[0], 'feedmill:sanitize="no"') +
                            "</outline></outline>", 'xmlns:feedmill="urn:feedmill:opml"'))
        self.wait(lambda: self.d.record(self.f[0])["last_check"])
        before = self.d.get("/sub")
        self.d.stop()
        self.d.start()
        after = self.d.get("/sub")
        self.assertEqual((before.header("ETag"), before.body), (after.header("ETag"), after.body))

    def test_command_line(self):                                         # OPML-06 OPML-09
        env = dict(os.environ, FEEDMILL_SERVER=self.d.base)
        with tempfile.NamedTemporaryFile("w", suffix=".opml") as file:
            file.write(opml(feed(self.f[0]) + feed(self.f[0]) + feed("ftp://x/\x1b[31m") +
                            include(self.o.set("/more", opml(feed(self.f[1]))))))
            file.flush()
            done = subprocess.run([BINARY, "import", file.name], capture_output=True, text=True, env=env, timeout=120)
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertEqual("subscription 1: 2 feeds, 1 named again, 1 left out\n", done.stdout)
        self.assertIn("outline 3 (ftp://x/", done.stderr)
        self.assertNotIn("\x1b", done.stderr)
        for url in self.f[:2]:                           # until then it has no title of its own
            self.wait(lambda: self.d.record(url)["last_check"])
        done = subprocess.run([BINARY, "export"], capture_output=True, env=env, timeout=120)
        self.assertEqual(self.d.get("/sub").body, done.stdout)


class Sanitizing(Case):
    RAW = "<p onclick='x()'>text<script>run()</script></p>"

    def setUp(self):
        self.o, self.d = self.origin(), self.daemon()
        self.n = 0

    def publish(self, path, **fields):
        self.n += 1
        body = rss(("e%d" % self.n, None, "<content:encoded xmlns:content='http://purl.org/rss/1.0/modules/content/'>"
                    "<![CDATA[%s]]></content:encoded>" % self.RAW))
        return self.o.set(path, Reply(200, body, **fields))

    def content(self, url):
        entry = self.d.feed(url).json["entries"][0]
        return (entry["title"], entry["content"][0]["value"])

    def test_html_is_made_safe_unless_the_admin_says_otherwise(self):    # OBJ-11
        safe, raw = self.publish("/safe"), self.publish("/raw")
        self.d.subscribe(safe)
        env = dict(os.environ, FEEDMILL_SERVER=self.d.base)
        done = subprocess.run([BINARY, "add", "--no-sanitize", "--title", "Mine", "--folder", "A/B", raw],
                              capture_output=True, text=True, env=env, timeout=120)
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertEqual(("e1", "<p>text</p>"), self.content(safe))
        self.assertEqual(("e2", self.RAW), self.content(raw))
        shown = [subprocess.run([BINARY, "show", u], capture_output=True, text=True, env=env, timeout=120).stdout
                 for u in (safe, raw)]
        self.assertRegex(shown[0], r"(?m)^sanitize\s+yes$")
        self.assertRegex(shown[1], r"(?m)^sanitize\s+no$")
        outline = next(x for x in tree.fromstring(self.d.get("/sub").body).iter("outline") if x.get("xmlUrl") == raw)
        self.assertEqual(("no", "Mine"), (outline.get(OWN + "sanitize"), outline.get("text")))

    def test_a_change_counts_from_the_next_fetch_on(self):
        u = self.publish("/f", ETag='"1"')
        self.d.subscribe(u)
        self.assertEqual("<p>text</p>", self.content(u)[1])
        self.d.subscribe(u, sanitize="no")
        self.assertFalse(self.d.record(u)["sanitize"])
        self.assertEqual("<p>text</p>", self.content(u)[1])              # as it was taken in
        self.d.ping(u)
        self.wait(lambda: self.content(u)[1] == self.RAW)
        self.assertIsNone(self.o.seen("/f")[-1].headers["If-None-Match"])  # the same document, read anew
        self.d.subscribe(u)                                              # says nothing about it
        self.assertFalse(self.d.record(u)["sanitize"])
        self.d.subscribe(u, sanitize="yes")
        self.d.ping(u)
        self.wait(lambda: self.content(u)[1] == "<p>text</p>")

    def test_only_who_may_subscribe_switches_it_off(self):
        d = self.daemon("--token", "secret")
        u = self.publish("/f")
        key = {"Authorization": "Bearer secret", "Content-Type": "application/x-www-form-urlencoded"}
        self.assertEqual(201, d.call("POST", "/sub", "url=" + u, key).status)
        for headers in ({}, {"Authorization": "Bearer other"}):
            self.assert_problem(d.call("POST", "/sub?sanitize=no&url=" + u, None, headers), 401)
        for path in ("/feed?sanitize=no&type=json&url=", "/opml?sanitize=no&type=json&url="):
            d.call("GET", path + u, None, key)
        feeds = d.call("GET", "/sub?type=json", None, key).json["feeds"]
        self.assertEqual([True], [f["sanitize"] for f in feeds])

    def test_lists_of_others_do_not_switch_it_off(self):                 # OPML-06
        attrs = 'xmlns:feedmill="urn:feedmill:opml"'
        u = self.publish("/f")
        theirs = self.o.set("/theirs", opml(feed(u, 'feedmill:sanitize="no" feedmill:freq="10"'), attrs))
        self.d.get("/opml?type=json&url=" + quote(theirs))
        self.assertTrue(self.d.record(u)["sanitize"])
        self.d.call("POST", "/sub", opml(include(theirs)), {"Content-Type": "text/x-opml"})
        self.assertTrue(self.d.record(u)["sanitize"])
        self.assertEqual(1, self.d.record(u)["level"])
