"""Which feeds a view has: url, folder, sub, view, all (VIEW-01, ACC-06)."""
import json
import threading

from .env.case import Case
from .env.daemon import own_database, quote
from .env.events import EventReader
from .env.origin import Reply, rss

FORM = {"Content-Type": "application/x-www-form-urlencoded"}


class Sets(Case):
    args = []

    def setUp(self):
        self.o = self.origin()
        self.d = self.daemon("--min-period", "1s", "--fetch-host-gap", "0", *self.args)

    def feed(self, name, *titles):
        return self.o.set("/%s.xml" % name, rss(*(titles or [name + "1"])))

    def post(self, path, d=None, headers=None, **fields):
        body = "&".join("%s=%s" % (k, quote(str(v))) for k, v in fields.items())
        return (d or self.d).call("POST", path, body, dict(FORM, **(headers or {})))

    def sub(self, *urls, d=None, headers=None, **fields):
        answer = self.post("/sub", d, headers, url=",".join(urls), **fields)
        self.assertEqual(201, answer.status, answer.body)
        return answer.json["id"]

    def titles(self, path, d=None, headers=None):
        answer = (d or self.d).call("GET", path, headers=headers or {})
        self.assertEqual(200, answer.status, answer.body)
        return sorted(e["title"] for e in answer.json["entries"])

    def in_log(self, query, headers=None):
        answer = self.d.call("GET", "/log?max=100&" + query, headers=headers or {})
        self.assertEqual(200, answer.status, answer.body)
        return sorted(r["entry"]["title"] for r in answer.json["revisions"])


class Named(Sets):
    def setUp(self):
        super().setUp()
        self.a, self.b, self.c, self.other = (self.feed(n) for n in ("a", "b", "c", "d"))

    def test_a_folder_has_its_feeds_and_those_below(self):               # VIEW-01
        self.sub(self.a, folder="News/World")
        self.sub(self.b, folder="News")
        self.sub(self.c, folder="Newsroom")
        for folder, found in {"News": ["a1", "b1"], "News/World": ["a1"], " News / World/": ["a1"], "Newsroom": ["c1"],
                              "New": [], "news": [], "World": [], "News/World/Far": []}.items():
            with self.subTest(folder):
                self.assertEqual(found, self.titles("/feeds?type=json&folder=" + quote(folder)))
                self.assertEqual(found, self.titles("/feed?type=json&folder=" + quote(folder)))
                self.assertEqual(found, self.in_log("folder=" + quote(folder)))

    def test_who_waits_has_the_feeds_of_now(self):                       # VIEW-09 VIEW-16 D53
        """A folder gets a feed while requests for it wait. They wake for that feed, and skip nothing of it."""
        self.sub(self.a, folder="X")
        put = self.d.call("PUT", "/view/of-x", json.dumps({"folder": ["X"]}), {"Content-Type": "application/json"})
        self.assertEqual(201, put.status, put.body)
        self.sub(self.b)
        self.d.wait_idle()
        got = {}
        for k, joined in enumerate((self.b, self.c, self.other)):        # known before; not known; not known
            since = self.d.get("/log?since=start&max=1000").json["cursor"]
            paths = ["/log?%s&timeout=60&since=" + since for _ in "12"] \
                + ["/smart?%s&type=json&timeout=60&since=cursor:" + since for _ in "12"]
            paths = [path % ("folder=X" if i % 2 == 0 else "view=of-x") for i, path in enumerate(paths)]
            if k == 2:
                paths = [path + "&q=d2" for path in paths[:1] + paths[2:3]]      # what comes first does not matter
            threads = [threading.Thread(target=lambda p=path: got.update({p: self.d.get(p)})) for path in paths]
            for t in threads:
                t.start()
            self.wait(lambda n=len(paths): self.d.counter("log_waiters") == n, what="all that wait", daemon=self.d)
            self.sub(joined, folder="X")
            title = "%s2" % "bcd"[k]
            if k != 1:                                                   # else its first entry is the news
                self.d.wait_idle()
                self.feed("bcd"[k], title, "%s1" % "bcd"[k])
                self.d.ping(joined)
            else:
                title = "c1"
            for t in threads:
                t.join(40)
            for path in paths:
                with self.subTest(path):
                    found = got[path].json
                    self.assertEqual([title], [e.get("title") or e["entry"]["title"] for e in
                                               found.get("items") or found["revisions"]])

    def test_several_are_a_union(self):                                  # VIEW-01
        self.sub(self.a, folder="X")
        n = self.sub(self.b)
        self.sub(self.c)
        for query, found in {"folder=X&sub=%d" % n: ["a1", "b1"], "sub=%d" % n: ["b1"], "all=1": ["a1", "b1", "c1"],
                             "all": ["a1", "b1", "c1"], "folder=X&all=0": ["a1"],
                             "folder=X&folder=Y": ["a1"], "sub=%d&sub=%d" % (n, n + 1): ["b1", "c1"],
                             "folder=X&url=%s" % quote(self.other): ["a1", "d1"],
                             "folder=X&url=%s" % quote(self.a): ["a1"]}.items():
            with self.subTest(query):
                self.assertEqual(found, self.titles("/feeds?type=json&" + query))
                items = self.d.get("/smart?type=json&" + query).json["items"]
                self.assertEqual(found, sorted(i["title"] for i in items))
                self.assertEqual(found, self.in_log(query))
        self.assertEqual(["a1", "b1", "c1", "d1"], self.in_log(""))       # nothing is named: all

    def test_archives_have_them_too(self):                               # VIEW-01
        self.sub(self.a, folder="X")
        self.sub(self.b, folder="X")
        for path in ("/archive", "/simple/recent", "/history", "/pmh"):
            with self.subTest(path):
                answer = self.d.get(path + "?folder=X")
                self.assertEqual(200, answer.status, answer.body)
                self.assertIn(b"a1", answer.body)
                self.assertIn(b"b1", answer.body)

    def test_what_is_not_there(self):                                    # VIEW-01
        for path in ("/feed", "/feeds", "/smart", "/archive", "/pmh"):
            with self.subTest(path):
                detail = self.assert_problem(self.d.get(path), 400, "bad-parameter", parameter="url")["detail"]
                for name in ("url", "folder", "sub", "all"):
                    self.assertIn("`%s" % name, detail)
                self.assert_problem(self.d.get(path + "?sub=99"), 404, "not-found", parameter="sub")
                self.assert_problem(self.d.get(path + "?sub=x"), 400, "bad-parameter", parameter="sub")
                self.assert_problem(self.d.get(path + "?all=2"), 400, "bad-parameter", parameter="all")
        self.assert_problem(self.d.get("/log?sub=99"), 404, "not-found", parameter="sub")
        self.assert_problem(self.d.get("/events?sub=99"), 404, "not-found", parameter="sub")
        self.assert_problem(self.d.get("/feeds?folder=" + "x" * 4097), 400, "bad-parameter", parameter="folder")

    def test_an_empty_set_is_an_empty_document(self):                    # VIEW-01
        self.feed("z")
        self.titles("/feeds?type=json&url=" + quote(self.a))             # the log is not empty
        for path in ("/feeds", "/smart", "/archive", "/simple/recent", "/history", "/pmh", "/pmh?mode=complete"):
            for query in ("folder=No", "all=1"):
                with self.subTest(path):
                    answer = self.d.get(path + ("&" if "?" in path else "?") + query + "&type=atom")
                    self.assertEqual(200, answer.status, answer.body)
                    self.assertIn(b"<feed", answer.body)
                    self.assertNotIn(b"<entry", answer.body)
        for kind in ("rss", "json", "jsonfeed", "atom"):
            self.assertEqual(200, self.d.get("/feeds?folder=No&type=" + kind).status)
        self.assertEqual([], self.in_log("folder=No"))

    def test_a_feed_that_cannot_be_had_is_left_out(self):
        dead = self.o.url("/nothing.xml")
        self.sub(self.a, dead, folder="X")
        self.assertEqual(["a1"], self.titles("/feeds?type=json&folder=X"))
        n = len(self.o.requests)
        self.assertEqual(["a1"], self.titles("/feeds?type=json&folder=X&len=9"))
        self.assertEqual(n, len(self.o.requests))                        # it is not asked again
        self.assert_problem(self.d.get("/feeds?folder=No&url=" + quote(dead)), 502)


class Changes(Sets):
    def test_documents_follow(self):                                     # VIEW-01
        a, b = self.feed("a"), self.feed("b")
        n = self.sub(a, folder="X")
        path = "/feeds?type=json&folder=X"
        answer = self.d.get(path)
        tags = [answer.header("ETag")]
        ident = self.d.get("/feeds?type=atom&folder=X").body.split(b"<id>")[1].split(b"</id>")[0]
        self.assertEqual(304, self.d.get(path, If_None_Match=tags[0]).status)
        m = self.sub(b, folder="X")
        for change, found in ((None, ["a1", "b1"]),
                              (lambda: self.d.call("DELETE", "/sub?id=%d" % m), ["a1"]),
                              (lambda: self.d.call("PATCH", "/sub?id=%d&folder=Y" % n), []),
                              (lambda: self.d.call("PATCH", "/sub?id=%d&folder=X" % n), ["a1"])):
            if change:
                self.assertIn(change().status, (200, 204))
            self.assertEqual(found, self.titles(path))
            answer = self.d.get(path, If_None_Match=tags[-1])
            self.assertEqual(200, answer.status)
            tags.append(answer.header("ETag"))
            self.assertEqual(304, self.d.get(path, If_None_Match=tags[-1]).status)
        self.assertEqual(ident, self.d.get("/feeds?type=atom&folder=X").body.split(b"<id>")[1].split(b"</id>")[0])

    def test_they_are_recalled_until_a_subscription_changes(self):
        a = self.feed("a")
        self.sub(a, folder="X")
        before = self.d.counter("recalled_total")

        def recalled():                                                  # a fetch may still end
            self.assertEqual(["a1"], self.titles("/feeds?type=json&folder=X"))
            return self.d.counter("recalled_total") > before
        if self.engine == "sqlite":                                      # other nodes may have changed it
            self.wait(recalled, daemon=self.d)
        self.sub(self.feed("b"), folder="X")
        self.assertEqual(["a1", "b1"], self.titles("/feeds?type=json&folder=X"))

    def test_the_log_and_streams_follow(self):                           # VIEW-01
        a, b = self.feed("a"), self.feed("b")
        self.sub(a, folder="X")
        self.wait(lambda: self.in_log("folder=X") == ["a1"], what="the first fetch")
        cursor = self.d.get("/log?folder=X").json["cursor"]
        self.sub(b, folder="X")
        self.wait(lambda: self.in_log("folder=X&since=" + cursor) == ["b1"], what="the news of a feed that has joined")

    def test_an_event_stream_follows(self):                              # VIEW-01
        a, b = self.feed("a"), self.feed("b")
        self.titles("/feeds?type=json&url=%s,%s" % (quote(a), quote(b)))
        self.sub(a, folder="X")
        reader = EventReader(self.d, "?folder=X")
        self.addCleanup(reader.close)
        reader.begin()
        self.sub(self.feed("c"), folder="Y")                             # not in the set: it goes on
        self.d.wait_idle()
        self.feed("a", "a2", "a1")
        self.d.ping(a)
        self.assertEqual(["a2"], [json.loads(e.data)["entry"]["title"] for e in reader.until(1)])
        self.sub(b, folder="X")
        self.wait(lambda: self.d.counter("event_streams") == 0, what="the end of the stream", daemon=self.d)


class Owners(Sets):
    args = ["--token", "chief"]

    def setUp(self):
        super().setUp()
        self.tokens = {}
        for name, role in (("ann", "subscribe"), ("bob", "subscribe"), ("eve", "read")):
            answer = self.post("/tokens", headers={"Authorization": "Bearer chief"}, name=name, role=role)
            self.tokens[name] = answer.json["token"]
        self.tokens["chief"] = "chief"

    def of(self, name):
        return {"Authorization": "Bearer " + self.tokens[name]}

    def test_sets_reach_the_subscriptions_of_the_caller(self):           # VIEW-01 ACC-06
        a, b = self.feed("a"), self.feed("b")
        n = self.sub(a, headers=self.of("ann"), folder="X")
        m = self.sub(b, headers=self.of("bob"), folder="X")
        for _ in range(2):                                               # also what is remembered
            for name, found in (("ann", ["a1"]), ("bob", ["b1"]), ("chief", ["a1", "b1"]), ("eve", [])):
                for query in ("folder=X", "all=1"):
                    with self.subTest((name, query)):
                        self.assertEqual(found, self.titles("/feeds?type=json&" + query, headers=self.of(name)))
                        self.assertEqual(found, self.in_log(query, headers=self.of(name)))
        for name, own, other in (("ann", n, m), ("bob", m, n)):
            self.assertEqual(200, self.d.call("GET", "/feeds?sub=%d" % own, headers=self.of(name)).status)
            self.assert_problem(self.d.call("GET", "/feeds?sub=%d" % other, headers=self.of(name)), 404)
        self.assertEqual(200, self.d.call("GET", "/feeds?sub=%d" % n, headers=self.of("chief")).status)
        self.assert_problem(self.d.call("GET", "/feeds?sub=%d" % n, headers=self.of("eve")), 404)

    def fetch(self, title):
        """The feed of this entry."""
        feed = self.d.call("GET", "/log?q=title:" + title, headers=self.of("chief")).json["revisions"][0]["feed"]
        self.assertEqual(200, self.d.call("PATCH", "/sub/feed", "id=%d&fetch=1" % feed, dict(FORM, **self.of("chief"))).status)

    def test_own_protected_feeds_are_there_without_names(self):         # VIEW-01 ACC-06
        def protected(*titles):
            self.o.set("/p.xml", Reply(200, rss(*titles), auth=("Basic", "joe", "pw")))

        def news(name, query=""):
            return self.in_log(query, headers=self.of(name))

        protected("p1")
        self.sub(self.feed("a"), headers=self.of("bob"))
        n = self.sub(self.o.url("/p.xml", user="joe:pw"), headers=self.of("ann"))
        self.wait(lambda: news("chief") == ["a1", "p1"], what="the first fetches")
        readers = {name: EventReader(self.d, "", Authorization="Bearer " + self.tokens[name]).begin() for name in self.tokens}
        late = {name: EventReader(self.d, "?since=start&q=p1", Authorization="Bearer " + self.tokens[name]).begin()
                for name in self.tokens}
        for reader in [*readers.values(), *late.values()]:
            self.addCleanup(reader.close)
        for name, found in (("ann", ["a1", "p1"]), ("bob", ["a1"]), ("eve", ["a1"])):
            with self.subTest(name):
                self.assertEqual(found, news(name))
                self.assertEqual(found[1:], news(name, "q=p1"))
        for name in ("ann", "chief"):
            self.assertEqual(["p1"], [json.loads(e.data)["entry"]["title"] for e in late[name].until(1)])
        protected("p2", "p1")
        self.fetch("p1")
        self.wait(lambda: "p2" in news("chief"), what="the news of the protected feed")
        self.feed("a", "a2", "a1")
        self.fetch("a1")
        for name, found in (("ann", ["p2", "a2"]), ("chief", ["p2", "a2"]), ("bob", ["a2"]), ("eve", ["a2"])):
            with self.subTest(name):
                self.assertEqual(found, [json.loads(e.data)["entry"]["title"] for e in readers[name].until(len(found))])
        self.feed("a", "p1 for all", "a2", "a1")
        self.fetch("a1")
        for name in ("bob", "eve"):                                      # nothing came before it
            self.assertEqual(["p1 for all"], [json.loads(e.data)["entry"]["title"] for e in late[name].until(1)])
        self.assertEqual(["a1", "a2", "p1 for all", "p2"], sorted(set(news("ann")) - {"p1"}))
        twice = self.sub(self.o.url("/p.xml", user="joe:pw"), headers=self.of("ann"))
        self.assertEqual(204, self.d.call("DELETE", "/sub?id=%d" % twice, headers=self.of("ann")).status)
        self.assertIn("p1", news("ann"))                                 # by the other subscription
        m = self.sub(self.o.url("/p.xml", user="joe:pw"), headers=self.of("bob"))
        self.assertEqual(["a1", "a2", "p1", "p1 for all", "p2"], news("bob"))          # at once
        for name, i in (("ann", n), ("bob", m)):
            self.assertEqual(204, self.d.call("DELETE", "/sub?id=%d" % i, headers=self.of(name)).status)
            self.assertEqual(["a1", "a2", "p1 for all"], news(name))

    def test_no_cache_shares_them(self):
        self.sub(self.feed("a"), headers=self.of("ann"), folder="X")
        for path in ("/feeds", "/smart", "/archive"):
            answer = self.d.call("GET", path + "?folder=X", headers=self.of("ann"))
            self.assertIn("private", answer.header("Cache-Control"), path)


class Nodes(Sets):
    engine = "sqlite"   # the database is named here

    def setUp(self):
        self.o = self.origin()
        db = own_database()
        self.nodes = [self.daemon("--node", "n%d" % i, "--min-period", "1s", "--fetch-host-gap", "0", *self.args, db=db)
                      for i in range(2)]
        self.d = self.nodes[0]


class SetsOfNodes(Nodes):
    def test_any_node_knows_what_another_acknowledged(self):             # VIEW-01 NODE-02
        for i in range(8):
            url = self.feed("f%d" % i)
            n = self.sub(url, d=self.nodes[i % 2], folder="X/%d" % i)
            other = self.nodes[1 - i % 2]
            self.assertEqual(["f%d1" % k for k in range(i + 1)], self.titles("/feeds?type=json&folder=X", d=other))
            self.assertEqual(["f%d1" % i], self.titles("/feeds?type=json&sub=%d" % n, d=other))


class OwnFeedsOfNodes(Nodes):
    args = ["--token", "chief"]

    def test_own_protected_feeds_are_there_at_any_node(self):            # VIEW-01 NODE-02
        a, chief = self.nodes[0], {"Authorization": "Bearer chief"}
        self.o.set("/p.xml", Reply(200, rss("p1"), auth=("Basic", "joe", "pw")))
        url = self.o.url("/p.xml", user="joe:pw")
        self.assertEqual(200, a.call("GET", "/feed?url=" + quote(url), headers=chief).status)
        for i in range(6):
            token = self.post("/tokens", d=a, headers=chief, name="t%d" % i, role="subscribe").json["token"]
            own = {"Authorization": "Bearer " + token}
            here, there = self.nodes[i % 2], self.nodes[1 - i % 2]
            self.assertEqual([], there.call("GET", "/log", headers=own).json["revisions"])
            n = self.sub(url, d=here, headers=own)
            found = there.call("GET", "/log", headers=own).json["revisions"]
            self.assertEqual(["p1"], [r["entry"]["title"] for r in found])
            self.assertEqual(204, there.call("DELETE", "/sub?id=%d" % n, headers=own).status)
            self.assertEqual([], here.call("GET", "/log", headers=own).json["revisions"])
