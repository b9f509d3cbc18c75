"""The console in a browser (CON-01 to CON-10): tests/console/console.js looks at it in Chromium, by role and name."""
import base64
import json
import os
import shutil
import subprocess
import time

from .env.case import Case
from .env.daemon import PATIENCE, quote
from .env.hook import Hook
from .test_filters import Filters, item, rss_of
from .test_sets import FORM

ROOT = os.environ.get("FEEDMILL_SOURCE") or os.path.join(os.path.dirname(__file__), "..", "..")
NPM = os.path.join(ROOT, "build-npm", "node_modules")
HTML = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
EVIL = ("<script>parent.hit=1;top.hit=1</script><img src='http://evil.example/i' onerror='parent.hit=1'><style>body{display:none}"
        "@import 'http://evil.example/s'</style><iframe src='http://evil.example/f'></iframe><link rel=stylesheet href='http://evil.example/l'>"
        "<meta http-equiv='refresh' content='0;url=http://evil.example/m'><base href='http://evil.example/'><form action='http://evil.example/p'>"
        "<button autofocus onfocus='parent.hit=1'>x</button></form><div style=\"position:fixed;inset:0;background:url('http://evil.example/b')\">"
        "over the page</div><svg xmlns='http://www.w3.org/2000/svg' xmlns:xlink='http://www.w3.org/1999/xlink'><a xlink:href='javascript:top.hit=1'><text>a</text></a>"
        "<foreignObject><img src=x onerror='top.hit=1'></foreignObject><use href='http://evil.example/u#x'/><image href='http://evil.example/v'/></svg>"
        "<math><mtext></form><form><mglyph><style></math><img src='http://evil.example/x' onerror='top.hit=1'></style></mglyph></form></mtext>"
        "<mi href='javascript:top.hit=1'>m</mi></math><a href='java\tscript:top.hit=1'>tab</a><a href='&#1;javascript:top.hit=1'>control</a>"
        "<a href='http://evil.example/ping' ping='http://evil.example/p' target='_top'>out</a><map><area href='javascript:top.hit=1'></map>"
        "<object data='http://evil.example/o'></object><embed src='http://evil.example/e'><video poster='http://evil.example/vp' src='http://evil.example/vs' autoplay></video>"
        "<p style='background:url(http://evil.example/c)'>c</p><table background='http://evil.example/tb'></table><svg onload='parent.hit=1'><animate onbegin='parent.hit=1' attributeName='x' dur='1s'/></svg></body></html><script>hit=1</script>")


class InBrowser(Filters):
    args = []

    def setUp(self):
        Case.setUp(self)
        self.o = self.origin()
        self.d = self.daemon(*self.args)

    def look(self, name, argument=None):
        node = shutil.which("node")
        if not node or not os.path.isdir(os.path.join(NPM, "playwright-core")) or not shutil.which("chromium"):
            self.skipTest("node, its packages playwright-core and axe-core, or chromium are not installed")
        command = [node, os.path.join(ROOT, "tests", "console", "console.js"), self.d.base, name]
        done = subprocess.run(command + ([] if argument is None else [json.dumps(argument)]), env=dict(os.environ, NODE_PATH=NPM),
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120 * PATIENCE, check=False)
        self.assertEqual(0, done.returncode, done.stdout.decode())


class Console(InBrowser):
    def known(self, *items):
        """A feed that is subscribed and was fetched."""
        u = self.feed(*items)
        self.d.subscribe(u)
        self.d.ping(u)
        self.d.wait_idle()
        return u

    def test_it_is_a_page_for_browsers_and_a_list_for_programs(self):      # CON-01
        answer = self.d.get("/", **HTML)
        self.assertEqual((200, "text/html; charset=utf-8"), (answer.status, answer.header("Content-Type")))
        self.assertIn("default-src 'self'", answer.header("Content-Security-Policy"))
        self.assertNotIn("unsafe", answer.header("Content-Security-Policy"))
        self.assertNotIn(b"<script>", answer.body)
        self.assertIn("Accept", answer.header("Vary"))
        self.assertIn("text/plain", self.d.get("/").header("Content-Type"))
        self.assertIn("text/plain", self.d.get("/", Accept="*/*").header("Content-Type"))
        style = "/" + answer.body.decode().split('rel="stylesheet" href="')[1].split('"')[0]
        self.assertIn("immutable", self.d.get(style).header("Cache-Control"))
        self.assertEqual("no-cache", self.d.get("/console/0/console.css").header("Cache-Control"))
        self.assertEqual(404, self.d.get("/console/0/nosuch.js").status)

    def test_a_list_of_feeds_in_parts(self):                               # CON-03
        for n in range(5):
            self.d.subscribe(self.feed("one", path="/%d.xml" % n), folder="News/Odd" if n % 2 else "News")
        self.d.wait_idle()
        get = lambda query: self.d.get("/sub/feeds?" + query).json
        got = get("sort=url&len=2&skip=1")
        self.assertEqual((5, ["/1.xml", "/2.xml"]), (got["total"], [f["url"][-6:] for f in got["feeds"]]))
        self.assertEqual(["News", "News/Odd"], got["folders"])
        self.assertEqual(["/4.xml", "/3.xml"], [f["url"][-6:] for f in get("sort=url&desc=1&len=2")["feeds"]])
        self.assertEqual((2, 5), (get("folder=News/Odd")["total"], get("folder=News")["total"]))
        self.d.subscribe(self.feed("one", path="/5.xml"))                  # it has no folder, so it is last both ways
        self.d.wait_idle()
        folders = lambda more: ["%s %s" % (f["folder"], f["url"][-5:-4]) for f in get("sort=folder" + more)["feeds"]]
        self.assertEqual(["News 0", "News 2", "News 4", "News/Odd 1", "News/Odd 3", "None 5"], folders(""))
        self.assertEqual(["News/Odd 3", "News/Odd 1", "News 4", "News 2", "News 0", "None 5"], folders("&desc=1"))
        self.assertEqual(["News/Odd 3", "None 5"], folders("&skip=4"))
        self.assertEqual((1, 0, 2), (get("q=3.XML")["total"], get("q=3.xml+4.xml")["total"], get("q=odd")["total"]))
        self.assertEqual((6, 0), (get("state=ok")["total"], get("state=failing")["total"]))
        self.assertEqual(400, self.d.get("/sub/feeds?state=good").status)

    def test_a_list_of_feeds_that_is_read_in_turns(self):                  # CON-03
        """More feeds than are read in one turn, in one order, and those that nobody has subscribed apart from them."""
        urls = [self.o.url("/many.xml?%03d" % n) for n in range(230)]
        self.d.call("GET", "/feed?url=%s" % quote(self.feed("one")))
        self.assertEqual(201, self.d.call("POST", "/sub", "url=" + quote(",".join(urls)), FORM).status)
        get = lambda query: self.d.get("/sub/feeds?" + query).json
        got = get("sort=url&len=1000")
        self.assertEqual((230, urls), (got["total"], [f["url"] for f in got["feeds"]]))
        self.assertEqual(urls[:-3:-1], [f["url"] for f in get("sort=url&desc=1&len=2")["feeds"]])
        self.assertEqual(1, get("subscribed=0")["total"])

    def test_the_parts_of_a_list_fit_together(self):                       # CON-03
        """Those that follow the first one are cut from its order, though a feed has changed meanwhile; not if a subscription has."""
        document = lambda n, k: self.feed(*["entry %d" % i for i in range(k)], path="/%d.xml" % n)
        urls = [document(n, n + 1) for n in range(4)]
        for u in urls:
            self.d.subscribe(u)
        self.d.wait_idle()
        part = lambda skip: [f["url"][-6:] for f in self.d.get("/sub/feeds?sort=entries&len=2&skip=%d" % skip).json["feeds"]]
        self.assertEqual(["/0.xml", "/1.xml"], part(0))
        for k in range(9, 60, 9):                                          # on a busy machine ten seconds may pass, so it is tried again
            before, first = time.monotonic(), part(0)
            self.d.ping(document(int(first[0][1]), k))
            self.d.wait_idle()
            rest = part(2)
            if time.monotonic() - before < 9:
                break
        self.assertEqual(4, len(set(first + rest)), "%s %s" % (first, rest))
        self.assertEqual(rest[:1], part(0)[1:])                            # the first part is found anew
        last = part(2)
        self.d.subscribe(self.feed(path="/4.xml"))
        self.d.wait_idle()
        self.assertEqual((5, [first[1], rest[0]]), (self.d.get("/sub/feeds?sort=entries&len=2&skip=1").json["total"], part(1)))
        self.assertEqual(last[:1], part(3)[:1])

    def test_a_paused_feed_is_fetched_by_hand_only(self):                  # CON-03
        u = self.known("one")
        id = self.d.get("/sub/feeds").json["feeds"][0]["id"]
        where = "/sub/feed?id=%d" % id
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        paused = self.d.call("PATCH", where, b"paused=1", form).json
        self.assertEqual((True, None, "paused"), (paused["paused"], paused["next_check"], paused["next_reason"]))
        before = len(self.d.get(where).json["history"])
        self.assertIn("No feed", self.d.get("/ping?name=x&url=" + quote(u)).json["message"])     # and a ping says so
        self.d.get("/feed?url=" + quote(u))
        self.d.call("PATCH", "/sub?id=1", b"freq=10", form)                # a subscriber's wish does not end it
        self.d.wait_idle()
        self.assertEqual(before, len(self.d.get(where).json["history"]))
        self.assertEqual(1, self.d.get("/sub/feeds?state=paused").json["total"])
        self.d.call("PATCH", where, b"fetch=1", form)
        self.wait(lambda: len(self.d.get(where).json["history"]) > before)
        now = self.d.get(where).json
        self.assertEqual(("hand", None, "paused"), (now["history"][0]["reason"], now["next_check"], now["next_reason"]))
        again = self.d.call("PATCH", where, b"paused=0&freq=3600", form).json
        self.assertEqual((False, 3600, "It is fetched every 1 hour."), (again["paused"], again["period"], again["why"]))
        self.assertIsNotNone(again["next_check"])
        self.assertEqual(404, self.d.call("PATCH", "/sub/feed?id=99", b"paused=1", form).status)

    def test_pages_and_keys(self):                                         # CON-10
        self.look("pages", ["Overview", "Feeds", "Subscriptions", "Views", "Log", "Tokens"])
        self.look("keyboard")

    def test_what_is_drawn_anew_keeps_the_focus(self):                     # CON-10
        self.known("one")
        self.look("calm", self.d.get("/sub/feeds").json["feeds"][0]["id"])

    def test_many_tabs(self):                                              # CON-02, CON-07
        titles = ["Crane", "Boat", "Lock", "Weir"]
        self.d.subscribe(self.o.set("/f.xml", *(rss_of(*titles[:n + 1]) for n in range(4))))
        self.d.wait_idle()
        self.look("tabs", {"id": self.d.get("/sub/feeds").json["feeds"][0]["id"], "titles": titles})

    def test_nothing_answers_for_a_while(self):                            # CON-02, CON-03
        self.look("lost")
        self.look("hangs")
        self.look("part")                                                  # CON-01

    def test_an_entry_stays_open(self):                                    # CON-01, CON-03
        one, changed = (item(name, "<description>text</description>", guid="1") for name in ("Crane", "Crane mended"))
        two = item("Boat", guid="2")
        u = self.o.set("/f.xml", rss_of(one), rss_of(two, one), rss_of(two, changed))
        self.d.subscribe(u)
        self.d.wait_idle()
        self.look("reading", {"id": self.d.get("/sub/feeds").json["feeds"][0]["id"], "first": "Crane", "second": "Boat", "changed": "Crane mended"})

    def test_a_title_of_any_length(self):                                  # CON-10
        title = "word " * 199 + "end"
        u = self.o.set("/f.xml", rss_of("one").replace("A feed", title))
        self.d.subscribe(u)
        self.d.wait_idle()
        self.look("long", {"id": self.d.get("/sub/feeds").json["feeds"][0]["id"], "title": title})

    def test_overview_leads_to_what_is_wrong(self):                        # CON-02
        self.d.subscribe(self.o.url("/missing.xml"))
        self.d.wait_idle()
        why = self.d.get("/sub?type=json").json["feeds"][0]["why"]
        self.assertEqual("The last fetch failed, so it is left alone for a while.", why)
        self.look("wrong", "missing.xml")

    def test_one_feed(self):                                               # CON-03
        self.known(item("Crane repaired", "<description>It works</description>"))
        feed = self.d.get("/sub/feeds").json["feeds"][0]
        self.look("feed", {"id": feed["id"], "title": feed["title"]})
        self.assertEqual(0, self.d.get("/sub/feeds").json["total"])

    def test_what_only_an_admin_does(self):                                # CON-08
        self.known("one", "two")
        self.look("forgotten", {"id": self.d.get("/sub/feeds").json["feeds"][0]["id"], "entries": "2 entries"})
        self.assertEqual([], self.d.get("/log?since=start").json["revisions"])
        self.look("backup")

    def test_what_can_be_set(self):                                        # CON-08
        u, two = self.known("one"), self.feed("two", path="/2.xml")
        self.look("settings_of_a_feed", {"id": self.d.get("/sub/feeds").json["feeds"][0]["id"]})
        made = self.d.call("POST", "/sub", "url=%s,%s&endpoint=http://127.0.0.1:9/hook&sink=webhook" % (quote(u), quote(two)), FORM).json
        self.look("settings_of_a_subscription", {"id": made["id"], "endpoint": "http://127.0.0.1:9/hook"})

    def test_add_and_lists(self):                                          # CON-04
        a, b = self.feed("one", path="/a.xml"), self.feed("two", path="/b.xml")
        self.o.set("/page", "<html><head><link rel=alternate type='application/rss+xml' title='First' href='/a.xml'>"
                        "<link rel=alternate type='application/rss+xml' title='Second' href='/b.xml'></head></html>", Content_Type="text/html")
        self.look("add", {"address": self.o.url("/page"), "title": "Second", "shown": "A feed"})
        self.look("opml", '<opml version="2.0"><head/><body><outline text="News"><outline type="rss" text="x" xmlUrl="%s"/></outline>'
                  '<outline type="rss" text="y" xmlUrl="ftp://nowhere/"/></body></opml>' % a)
        self.assertEqual("News", [f["folder"] for f in self.d.get("/sub/feeds").json["feeds"] if f["url"] == a][0])

    def test_lists_as_people_have_them(self):                              # CON-04
        whole = "<opml version='2.0'><body>%s</body></opml>"
        one = lambda n, name="xmlUrl", text="x", more="": "<outline text='%s'><outline text='%s' %s='http://10.0.0.1/%s'/></outline>" % (text, text, name, str(n) + more)
        lists = [whole % one(1, text="Salt & Pepper"), whole % one(2, more="?a=1&b=2"), "\n<?xml version='1.0'?>\n" + whole % one(3),
                 whole % one(4, text="Caf&eacute;"), whole % one(5, text="a\x02b"), whole % one(6, "xmlURL"), whole % one(7, "xmlurl"),
                 "<?xml version='1.0' encoding='ISO-8859-1'?>" + whole % one(8, text="K\u00e4se")]
        long = "<?xml version='1.0' encoding='ISO-8859-1'?>" + whole % "".join(one(n, text="L\u00e4nge") for n in range(100, 1200))
        told = [(text, "1 feed added") for text in lists] + [(long, "1,100 feeds added"), (whole % "", "no feed")]
        self.look("lists", [(base64.b64encode(text.encode("latin-1")).decode(), what) for text, what in told])
        folders = self.d.get("/sub/feeds?len=1").json["folders"]
        self.assertEqual({"K\u00e4se", "L\u00e4nge", "Salt & Pepper", "Caf\u00e9"}, {f for f in folders if f != "x" and f[0] != "a"})

    def test_subscriptions(self):                                          # CON-05
        hook = Hook()
        self.addCleanup(hook.close)
        self.look("subscription", {"endpoint": hook.url, "feed": self.known("one")})

    def test_the_list_of_subscriptions(self):                              # CON-05
        u = self.known("one")
        for n in range(3):
            self.d.subscribe(u)
        self.d.subscribe(u, endpoint="http://127.0.0.1:9/hook", sink="webhook")
        self.look("subscribers", {"endpoint": "http://127.0.0.1:9/hook", "total": 5})
        self.look("narrow")                                                # CON-01

    def test_a_list_is_dropped_on_the_page(self):                          # CON-04
        self.look("dropped", '<opml version="2.0"><head/><body><outline type="rss" text="x" xmlUrl="%s"/>'
                  '<outline type="rss" text="y" xmlUrl="ftp://nowhere/"/></body></opml>' % self.feed("one"))

    def test_a_page_says_why_it_is_not_shown(self):                        # CON-08
        self.look("instead")

    def test_views(self):                                                  # CON-06
        self.look("view", {"feed": self.known("Crane", "Boat"), "title": "Crane"})

    def test_a_view_that_is_not_valid_any_more(self):                      # CON-06
        u = self.known("red boat", "blue boat")
        for name in ("old", "gone"):
            self.assertEqual(201, self.d.call("PUT", "/view/" + name, "q=boat&url=" + quote(u), FORM).status)
        self.d.stop()
        self.d.sql("UPDATE views SET query = replace(query, 'q=boat', 'q=title:-x')")
        self.d = self.daemon(*self.args, db=self.d.db)
        self.look("refused", {"name": "old", "other": "gone"})

    def test_log(self):                                                    # CON-07
        u = self.known(item("Crane", "<description>it is broken today</description>", guid="1"))
        self.feed(item("Crane", "<description>it is mended today</description>", guid="1"))
        self.d.ping(u)
        self.d.wait_idle()
        self.look("log", {"title": "Crane", "old": "broken", "now": "mended"})

    def test_a_long_list_is_scrolled(self):                                # CON-03
        """How fast is measured by bench/console; here nothing depends on time."""
        for folder in ("Even", "Odd"):                                     # nothing is asked at these addresses
            urls = ["http://10.0.0.1/%s/%d.xml" % (folder, n) for n in range(1000)]
            self.assertEqual(201, self.d.call("POST", "/sub", "folder=%s&url=%s" % (folder, quote(",".join(urls))), FORM).status)
        self.look("many", 2000)
        self.look("back", 2000)                                            # CON-10

    def test_nothing_of_a_feed_does_anything(self):                        # CON-09
        items = [item("&lt;script&gt;hit=1&lt;/script&gt; \u202egnp.exe", "<link>javascript:hit=1</link><description><![CDATA[%s]]></description>" % EVIL, guid="1"),
                 item("&lt;img src=http://evil.example/t onerror=hit=1&gt;", "<link>http://x.example/</link><description><![CDATA[%s]]></description>" % EVIL, guid="2"),
                 item("&lt;style&gt;body{display:none}&lt;/style&gt; \u2066\u202d", "<link>java\tscript:hit=1</link><description>x</description>", guid="3"),
                 item("x" * 3000, "<link> &#9;javascript:hit=1</link><description><![CDATA[<p>%s</p>]]></description>" % ("W" * 5000), guid="4"),
                 item("\u05e9\u05dc\u05d5\u05dd &lt;math&gt;&lt;mi href='javascript:hit=1'&gt;", "<link>data:text/html,hit</link><description>x</description>", guid="5")]
        u = self.o.set("/f.xml", rss_of(*items).replace("A feed", "&lt;svg onload=hit=1&gt; \u202elmx.ss\u202c " + "L" * 500))
        self.d.subscribe(u, sanitize="no")
        self.d.call("PUT", "/view/hostile", ("url=" + quote(u)).encode(), FORM)
        self.d.ping(u)
        self.d.wait_idle()
        self.look("hostile", self.d.get("/sub/feeds").json["feeds"][0]["id"])

    def test_nothing_keeps_anybody_out(self):                              # CON-01
        u = self.known("one", "two")
        self.d.subscribe(u, endpoint="http://127.0.0.1:9/", sink="webhook")
        self.d.call("PUT", "/view/all", b"all=1", {"Content-Type": "application/x-www-form-urlencoded"})
        self.look("accessible", ["overview", "feeds", "feeds/1", "subscriptions", "subscriptions/2", "views", "views/all", "log", "log/1", "tokens"])

    def test_it_is_small(self):                                            # CON-01
        self.look("quick")
        whole, sent = self.d.get("/metrics"), self.d.get("/metrics", Accept_Encoding="gzip")
        self.assertEqual((None, "gzip"), (whole.header("Content-Encoding"), sent.header("Content-Encoding")))
        self.assertLess(4 * len(sent.body), len(whole.body))


class WithKeep(InBrowser):
    args = ["--keep", "1s"]

    def test_what_is_kept_of_the_log(self):                                # CON-02, CON-07, KEEP-02
        u = self.o.set("/f.xml", *(rss_of(item("Weir", "<description>%s</description>" % text, guid="1")) for text in ("one", "two", "three")))
        self.d.subscribe(u)
        for _ in range(2):
            self.d.wait_idle()
            self.d.ping(u)
        self.wait(lambda: self.d.sql("SELECT n_taken FROM feeds") == [["1"]], what="the second of three is taken away", daemon=self.d)
        self.assertEqual(410, self.d.get("/log?since=1").status)
        self.look("kept", {"title": "Weir", "prev": 2})


class Parts(Filters):
    """The list of subscriptions in parts. 1: fetched only; 2: paused; 3: failing, 2 and 3 with news that wait; 4: with a dead letter; 5: fine."""

    def setUp(self):
        Case.setUp(self)
        self.o, bad = self.origin(), Hook()
        self.addCleanup(bad.close)
        bad.decide = lambda call: 422
        self.d = self.daemon("--push-refusals", "1", "--test-clock", self.clock(), "--token", "chief", "--anonymous", "subscribe")
        u, one = self.feed("one"), {"endpoint": "http://127.0.0.1:9/b?name=Hook", "sink": "webhook", "from": "start"}
        self.make(url=u)
        self.d.wait_idle()
        for more in (one, dict(one, endpoint="http://127.0.0.1:9/c"), dict(one, endpoint=bad.url),
                     {"endpoint": "http://127.0.0.1:9/a", "sink": "webhook"}):
            self.make(url=u if len(more) > 2 else u + "," + self.feed("two", path="/2.xml"), **more)
        self.act(2, "pause")
        self.wait(lambda: (self.part("state=failing")["total"], self.part("state=dead")["total"]) == (1, 1), daemon=self.d)

    def call(self, body, token=None):
        return self.d.call("POST", "/sub", body, dict(FORM, **self.by(token)))

    @staticmethod
    def by(token):
        return {"Authorization": "Bearer " + token} if token else {}

    def make(self, token=None, **form):
        answer = self.call("&".join("%s=%s" % (k, quote(v)) for k, v in form.items()), token)
        self.assertEqual(201, answer.status, answer.body)
        return answer.json["id"]

    def act(self, id, action):
        self.assertEqual(200, self.call("id=%d&action=%s" % (id, action)).status)

    def get(self, query, token=None):
        return self.d.get("/sub?" + query, **self.by(token))

    def part(self, query, token=None):
        return self.get("type=json&brief=1&" + query, token).json

    def ids(self, query, token=None):
        return [s["id"] for s in self.part(query, token)["subscriptions"]]

    def test_which_ones(self):                                             # CON-05, CON-02
        whole, got = self.get("type=json&brief=1").json, self.part("len=1000")
        self.assertEqual(({"subscriptions", "feeds", "last_seq"}, {"subscriptions", "feeds", "last_seq", "total", "counts"}), (set(whole), set(got)))
        self.assertEqual([sorted(s) for s in whole["subscriptions"]], [sorted(s) for s in got["subscriptions"]])
        self.assertEqual((5, [1, 1, 1, 1, 2]), (got["total"], [s["n_feeds"] for s in got["subscriptions"]]))
        self.assertEqual({"any": 5, "active": 3, "failing": 1, "suspended": 0, "paused": 1, "dead": 1, "fetched": 1, "wrong": 2}, got["counts"])
        for state, expected in {"active": [1, 4, 5], "failing": [3], "suspended": [], "paused": [2], "dead": [4], "fetched": [1],
                                "wrong": [3, 4], "any": [1, 2, 3, 4, 5], "late": []}.items():
            self.assertEqual(expected, self.ids("state=" + state), state)
        only = self.part("state=dead&len=0")                               # what a page needs that shows numbers alone
        self.assertEqual((1, [], got["counts"]), (only["total"], only["subscriptions"], only["counts"]))
        self.assertEqual(([2], [], [4], 0), (self.ids("q=WEBHOOK+hook+name"), self.ids("q=webhook+xmlrpc"), self.ids("q=webhook&state=dead"),
                                             self.part("q=nowhere")["total"]))
        for wrong in ("type=json&brief=1&state=good", "type=json&brief=1&sort=size"):
            self.assert_problem(self.get(wrong), 400, "bad-parameter")
        for whole in ("type=json&len=1", "type=json&brief=1&id=1&state=dead"):    # not of the brief list of all
            self.assertNotIn("total", self.get(whole).json)

    def test_those_that_are_late(self):                                    # CON-05
        self.ahead(120)                                                    # a request that was under way then has had its time
        self.wait(lambda: [s["id"] for s in self.part("state=late").get("subscriptions", [])] == [2, 3], daemon=self.d)
        self.assertEqual([3], self.ids("state=late&skip=1"))

    def test_in_which_order(self):                                         # CON-05
        endpoints = [s["id"] for s in sorted(self.part("")["subscriptions"][1:], key=lambda s: s["endpoint"])]
        self.assertEqual((endpoints + [1], endpoints[::-1] + [1]), (self.ids("sort=endpoint"), self.ids("sort=endpoint&desc=1")))  # one without is last
        self.assertEqual(([1, 2, 3, 4, 5], [5, 4, 3, 2, 1]), (self.ids(""), self.ids("sort=id&desc=1")))
        self.assertEqual(([5], [4], 1, 1), (self.ids("sort=feeds&desc=1&len=1"), self.ids("sort=dead&desc=1&len=1"), self.ids("sort=sink&desc=1")[-1],
                                            self.ids("sort=lag&desc=1")[-1]))
        self.assertEqual(({2, 3}, {4, 5}, [1]), (set(self.ids("sort=lag&desc=1&len=2")), set(self.ids("sort=lag&len=2")), self.ids("sort=lag&skip=4")))
        self.assertEqual(([1, 4, 5, 3, 2], [5, 4, 3, 2, 1]), (self.ids("sort=state"), self.ids("sort=since&desc=1")))
        self.assertEqual(([3, 4], 5, []), (self.ids("len=2&skip=2"), self.part("skip=9")["total"], self.ids("skip=9")))

    def test_they_fit_together(self):                                      # CON-05
        """Those that follow the first one are cut from its order, though one has another state meanwhile; not if one was made or changed."""
        for n in range(5):                                                 # on a busy machine ten seconds may pass, so it is tried again
            self.act(5, "pause") if n else None
            self.act(5, "resume") if n else None
            before, first = time.monotonic(), self.ids("sort=state&len=3")
            self.d.ping(self.feed("two", "three %d" % n, path="/2.xml"))
            self.wait(lambda: self.part("state=failing&len=0")["total"] == 2, daemon=self.d)
            rest = self.ids("sort=state&skip=3")
            if time.monotonic() - before < 9:
                break
        self.assertEqual(([1, 4, 5], [3, 2], [1, 4, 3, 5, 2]), (first, rest, self.ids("sort=state")))
        self.ids("sort=state&len=2")
        self.act(2, "resume")
        self.assertEqual(0, self.part("sort=state&len=2&skip=2")["counts"]["paused"])
        self.make(url=self.o.url("/2.xml"))
        self.assertEqual(6, self.part("sort=state&len=2&skip=2")["total"])

    def test_others_are_not_seen(self):                                    # CON-05, ACC-06
        mine, other = (self.d.call("POST", "/tokens", "role=subscribe&name=" + name, dict(FORM, **self.by("chief"))).json["token"] for name in "ab")
        id = self.make(mine, url=self.o.url("/2.xml"), endpoint="http://127.0.0.1:9/mine", sink="webhook")
        self.assertEqual(([id], [], 6), (self.ids("len=9", mine), self.ids("len=9", other), len(self.ids("len=9", "chief"))))
        self.assertEqual((1, 1, 0), (self.part("len=9", mine)["counts"]["any"], self.part("q=webhook", mine)["total"], self.part("len=9", other)["counts"]["any"]))
        self.assertEqual((6, 5), (self.part("len=1", "chief")["total"], len(self.ids("len=9&skip=1", "chief"))))    # its order is kept
        self.assertEqual([], self.ids("len=9&skip=1", mine))


class WithToken(InBrowser):
    args = ["--token", "chief"]

    def test_a_session(self):                                              # CON-01, CON-08
        self.assertEqual(401, self.d.get("/session").status)
        self.assertEqual(200, self.d.get("/", **HTML).status)
        self.look("session", "chief")
        self.look("tokens", "chief")

    def test_a_session_ends_in_the_middle_of_work(self):                   # CON-08
        self.look("ended", "chief")

    def test_who_may_only_read(self):                                      # CON-08
        answer = self.d.call("POST", "/tokens", b"name=one&role=read", dict(FORM, Authorization="Bearer chief"))
        self.look("reader", answer.json["token"])

    def test_who_may_subscribe(self):                                      # CON-08
        answer = self.d.call("POST", "/tokens", b"name=one&role=subscribe", dict(FORM, Authorization="Bearer chief"))
        token = answer.json["token"]
        u = self.feed("one")
        self.assertEqual(201, self.d.call("POST", "/sub", "url=" + quote(u), dict(FORM, Authorization="Bearer " + token)).status)
        self.look("offered", {"token": token, "id": 1})

    def test_a_session_is_bound(self):                                     # CON-08
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        chief = {"Authorization": "Bearer chief"}
        made = self.d.call("POST", "/tokens", b"name=one&role=read", dict(form, **chief)).json
        signed = self.d.call("POST", "/session", b"token=" + made["token"].encode(), form)
        cookie = signed.header("Set-Cookie")
        for part in ("HttpOnly", "SameSite=Strict", "Max-Age=", "Path=/"):
            self.assertIn(part, cookie)
        has = {"Cookie": cookie.split(";")[0]}
        self.assertEqual(("read", made["id"]), tuple(self.d.get("/session", **has).json[k] for k in ("role", "token")))
        self.assertEqual([made["id"]], [t["id"] for t in self.d.get("/tokens", **chief).json["tokens"]])   # sessions are not listed
        self.assertEqual(401, self.d.get("/session", **dict(has, **{"Sec-Fetch-Site": "same-site"})).status)
        self.assertEqual(403, self.d.call("POST", "/session", b"token=chief", dict(form, Origin="http://evil.example")).status)
        self.assertEqual(403, self.d.call("DELETE", "/session", b"", dict(has, Origin="http://evil.example")).status)
        self.assertEqual(204, self.d.call("DELETE", "/tokens?id=%d" % made["id"], b"", chief).status)
        self.assertEqual(401, self.d.get("/session", **has).status)        # it ends with its token
        by_option = {"Cookie": self.d.call("POST", "/session", b"token=chief", form).header("Set-Cookie").split(";")[0]}
        self.assertEqual("admin", self.d.get("/session", **by_option).json["role"])
        self.assertEqual(204, self.d.call("DELETE", "/session", b"", by_option).status)
        self.assertEqual(401, self.d.get("/session", **by_option).status)
        self.assertEqual(403, self.d.call("POST", "/session", b"token=chef", form).status)
