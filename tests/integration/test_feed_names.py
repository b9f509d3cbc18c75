"""By which names a feed is found, and which titles it has: CLI-03, ETIQ-05."""
import json
import os
import subprocess
from urllib.parse import quote

from .env.case import Case
from .env.daemon import BINARY, PATIENCE
from .env.origin import Reply, rss
from .test_access import Callers


class Names(Case):
    def setUp(self):
        self.o, self.d = self.origin(), self.daemon()
        self.new = self.o.set("/new.xml", rss("one", title="News"))
        self.old = self.o.set("/old.xml", Reply(301, "", Location="/new.xml"))

    def run_it(self, *args, code=0):
        done = subprocess.run([BINARY] + list(args), capture_output=True, text=True, timeout=150 * PATIENCE,
                              env=dict(os.environ, FEEDMILL_SERVER=self.d.base))
        self.assertEqual(code, done.returncode, (args, done.stdout, done.stderr))
        return done.stderr if code else done.stdout


class Named(Names):
    def moved(self):
        """A feed whose address has become another one; nobody has typed the old one since."""
        self.assertEqual(200, self.d.feed(self.old).status)
        self.d.subscribe(self.new)
        self.assertEqual(self.new, self.d.record(self.new)["url"])

    def test_the_api_takes_an_address(self):                             # ETIQ-05 CLI-03
        self.moved()
        page = self.o.set("/page", Reply(200, '<link rel="alternate" type="application/rss+xml" href="/new.xml">',
                                         Content_Type="text/html"))
        self.d.feed(page)
        by_id = self.d.get("/sub/feed?id=1").json
        for name in (self.new, self.old, self.new.replace("http:", "HTTP:")):
            self.assertEqual(by_id, self.d.get("/sub/feed?url=" + quote(name)).json, name)
        self.assertEqual(by_id, self.d.get("/sub/feed?id=1&url=" + quote(self.o.url("/none"))).json)
        self.assert_problem(self.d.get("/sub/feed?url=" + quote(self.o.url("/none"))), 404, "not-found")
        for query in ("", "?url=", "?url=new.xml", "?id=x"):
            self.assert_problem(self.d.get("/sub/feed" + query), 400, "bad-parameter")

    def test_changes_take_an_address(self):                              # ETIQ-05 CLI-03 KEEP-01
        self.moved()
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        none = self.o.url("/none")
        for n, name in enumerate((self.new, self.old)):
            in_query = self.d.call("PATCH", "/sub/feed?url=" + quote(name), "freq=%d" % (1200 + n), form)
            self.assertEqual((200, 1200 + n), (in_query.status, in_query.json.get("period")), name)
            in_form = self.d.call("PATCH", "/sub/feed", "paused=1&url=" + quote(name, ""), form)
            self.assertEqual((200, "paused"), (in_form.status, in_form.json["next_reason"]), name)
        # a record that is sent back means the feed of its number
        sent_back = dict(self.d.get("/sub/feed?id=1").json, url=none, paused=0)
        back = self.d.call("PATCH", "/sub/feed", json.dumps(sent_back), {"Content-Type": "application/json"})
        self.assertEqual((200, self.new), (back.status, back.json["url"]))
        for method in "PATCH", "DELETE":
            answer = self.d.call(method, "/sub/feed?url=" + quote(none))
            self.assert_problem(answer, 404, "not-found")
            self.assertEqual("url", answer.json["parameter"])
            for query in ("", "?url=", "?url=new.xml", "?id=x"):
                self.assert_problem(self.d.call(method, "/sub/feed" + query), 400, "bad-parameter")
        self.assertEqual(204, self.d.call("DELETE", "/sub/feed?url=" + quote(self.old)).status)
        self.assert_problem(self.d.call("DELETE", "/sub/feed?url=" + quote(self.old)), 404, "not-found")
        self.assert_problem(self.d.get("/sub/feed?id=1"), 404, "not-found")

    def test_commands_take_an_old_address(self):                         # ETIQ-05 CLI-03
        self.moved()
        bare = self.old.replace("http://", "")
        for name in (self.old, bare):
            self.assertEqual(1, json.loads(self.run_it("show", "--json", name))["id"])
        self.assertEqual([1], [f["id"] for f in json.loads(self.run_it("refresh", "--json", self.old))])
        self.run_it("set", self.old, "folder=Harbour")
        self.assertEqual([["Harbour"]], self.d.get("/sub?type=json").json["subscriptions"][0]["folders"])
        self.assertIn(self.new, self.run_it("rm", self.old))
        self.assertEqual([], self.d.get("/sub?type=json").json["subscriptions"])
        self.run_it("forget", self.old)
        self.assertEqual([], self.d.get("/sub?type=json&all=1").json["feeds"])
        self.assertIn("no feed", self.run_it("show", self.old, code=1))


class Titles(Names):
    def test_an_own_title_is_shown_beside_the_publishers(self):          # CLI-03
        self.d.subscribe(self.new)
        other = self.o.set("/b.xml", rss("two", title="Aaa"))
        self.d.subscribe(other)
        self.wait(lambda: all((self.d.record(u) or {}).get("last_check") for u in (self.new, other)))
        shown = lambda path: [(f["title"], f["publisher_title"]) for f in self.d.get(path).json["feeds"]]
        every = ("/sub?type=json", "/sub?type=json&all=1", "/sub/feeds")
        for path in every:
            self.assertEqual([("Aaa", "Aaa"), ("News", "News")], sorted(shown(path)), path)
        self.run_it("set", self.new, "title=A mine")
        for path in every:
            self.assertEqual([("A mine", "News"), ("Aaa", "Aaa")], sorted(shown(path)), path)
        self.assertEqual([("A mine", "News"), ("Aaa", "Aaa")], shown("/sub/feeds"))  # it is sorted by it
        self.run_it("set", other, "title=B mine")
        self.assertEqual([("A mine", "News"), ("B mine", "Aaa")],
                         shown("/sub/feeds?len=1") + shown("/sub/feeds?len=1&skip=1"))   # in parts, too
        self.run_it("set", other, "title=")
        for q in ("mine", "news"):
            self.assertEqual([("A mine", "News")], shown("/sub/feeds?q=" + q))
        feed = self.d.get("/sub/feed?id=1").json
        self.assertEqual(("A mine", "News"), (feed["title"], feed["publisher_title"]))
        answer = self.d.call("PATCH", "/sub/feed", json.dumps(feed), {"Content-Type": "application/json"})
        self.assertEqual((200, "A mine"), (answer.status, answer.json["title"]))
        self.assertEqual("News", self.d.feed(self.new, type="json").json["feed"]["title"])
        for args in (["ls"], ["show", "1"], ["search", "one"]):
            self.assertIn("A mine", self.run_it(*args), args)
        self.assertEqual({"A mine": "News", "Aaa": "Aaa"},
                         {f["title"]: f["publisher_title"] for f in json.loads(self.run_it("ls", "--json"))})
        self.run_it("set", self.new, "title=")
        self.assertEqual([("Aaa", "Aaa"), ("News", "News")], shown("/sub/feeds"))


class OfOthers(Callers):
    def test_a_title_is_ones_own(self):                                  # ACC-06 CLI-03
        url = self.o.set("/f.xml", rss("one", title="News"))
        ann, ben = (self.make("subscribe")["token"] for _ in range(2))
        for token, title in ((ann, "Of Ann"), (ben, None)):
            self.sub(token, url, **({"title": title} if title else {}))
        self.wait(lambda: self.call(ben, "GET", "/sub/feed?id=1").json["publisher_title"])
        for token, title in ((ann, "Of Ann"), (ben, "News"), ("chief", "Of Ann")):
            for path in ("/sub/feeds", "/sub?type=json"):
                self.assertEqual([title], [f["title"] for f in self.call(token, "GET", path).json["feeds"]], (token, path))
            self.assertEqual(title, self.call(token, "GET", "/sub/feed?id=1").json["title"], token)

    def test_an_address_shows_no_feed_of_others(self):                   # ACC-06 CLI-03
        url = self.o.set("/f.xml", rss("one"))
        ann, ben = (self.make("subscribe")["token"] for _ in range(2))
        self.sub(ann, url)
        for token, status in ((ann, 200), (ben, 404), ("chief", 200)):
            self.assertEqual(status, self.call(token, "GET", "/sub/feed?url=" + quote(url)).status, token)
