"""Subscriptions with a filter: only what matches is pushed, by every sink (VIEW-10, D53)."""
import json
import time
import urllib.parse

from .env.case import Case
from .env.cloud_handler import CloudHandler
from .env.daemon import quote
from .env.hook import Hook
from .env.publisher import Publisher
from .env.receiver import Receiver
from .env.subscriber import Subscriber

FORM = {"Content-Type": "application/x-www-form-urlencoded"}
JSON = {"Content-Type": "application/json"}
ALL = "new,changed,deleted,left"


class FilteredPushes(Case):
    def setUp(self):
        self.o = self.origin()
        self.p = Publisher(self.o)
        self.d = self.daemon("--push-first-retry", "200ms", "--push-max-retry", "1s", "--fetch-host-gap", "0")
        self.p.put("e0", "red at first")
        self.p.sync(self)

    def hook(self, *script):
        hook = Hook(script)
        self.addCleanup(hook.close)
        return hook

    def post(self, endpoint, **params):
        return self.d.call("POST", "/sub", urllib.parse.urlencode(
            dict({"url": self.p.url, "endpoint": endpoint}, **params), doseq=True), FORM)

    def subscribed(self, endpoint, **params):
        answer = self.post(endpoint, **params)
        self.assertEqual(201, answer.status, answer.body)
        return answer.json

    def webhook(self, *script, **params):
        hook = self.hook(*script)
        return hook, self.subscribed(hook.url, sink="webhook", **params)["id"]

    def listed(self, sub):
        return self.d.get("/sub?type=json&id=%d" % sub).json["subscriptions"][0]

    def patch(self, body, headers=JSON):
        return self.d.call("PATCH", "/sub", json.dumps(body) if headers is JSON else urllib.parse.urlencode(body), headers)

    def put(self, **entries):
        """Each entry gets its text, or is deleted without one; all come in one fetch."""
        for name, text in entries.items():
            if text is None:
                self.p.delete(name)
            else:
                self.p.put(name, text)
        self.p.sync(self)

    def log(self, since, **params):
        rows = self.d.get("/log?" + urllib.parse.urlencode(dict({"url": self.p.url, "since": since, "max": 1000}, **params)))
        return [(r["kind"], r["uid"], r["cursor"], r.get("entry", {}).get("title")) for r in rows.json["revisions"]]

    def told(self, hook):
        with hook.lock:
            return [(e["kind"], e["uid"], e["cursor"], e.get("entry", {}).get("title"))
                    for c in hook.calls for e in c.data["entries"]]

    def wait_told(self, hook, want):
        try:
            self.wait(lambda: self.told(hook) == want, daemon=self.d)
        except AssertionError:
            self.assertEqual(want, self.told(hook))

    def test_only_matching_entries_in_one_chain(self):                      # VIEW-10 DELIV-10 HOOK-03
        start = self.d.get("/log?since=end").json["cursor"]
        hook, _ = self.webhook(q="red")
        self.put(e1="red one", e2="blue", e3="Red three")
        self.put(e4="blue again")
        self.put(e5="blue red")
        self.wait(lambda: len(hook.titles()) >= 3, daemon=self.d)
        self.put(e6="green", e7="red")
        self.wait(lambda: len(hook.titles()) >= 4, daemon=self.d)
        self.assertEqual(["red one", "Red three", "blue red", "red"], hook.titles())
        self.assertEqual(self.log(start, q="red"), self.told(hook))
        cursor = start
        for call in hook.calls:
            self.assertEqual(cursor, call.data["prev_cursor"])
            cursor = call.data["last_cursor"]
            self.assertEqual(cursor, call.data["entries"][-1]["cursor"])

    def test_what_is_edited_out_and_in(self):                               # D53 DELIV-02
        start = self.d.get("/log?since=end").json["cursor"]
        every, _ = self.webhook(q="red", events=ALL)
        usual, _ = self.webhook(q="red")
        left, _ = self.webhook(q="red", events="left")
        self.put(e1="red", e2="blue")
        self.put(e1="blue", e0="blue")
        self.put(e2="red")
        self.put(e1="green", e3="red")
        self.put(e2=None, e1=None)
        self.put(e4="red at last")
        want = self.log(start, q="red")
        self.assertEqual(["new", "left", "left", "changed", "new", "deleted", "new"], [k for k, *_ in want])
        self.wait_told(every, want)
        self.wait_told(usual, [w for w in want if w[0] in ("new", "changed")])
        self.wait_told(left, [w for w in want if w[0] == "left"])
        for call in left.calls:
            for e in call.data["entries"]:
                self.assertEqual({"kind", "cursor", "at", "feed", "uid"}, set(e))

    def test_xml_rpc(self):                                                 # VIEW-10
        r = Receiver()
        self.addCleanup(r.close)
        self.subscribed(r.url, q="red")
        self.put(e1="red one", e2="blue")
        self.put(e3="blue")
        self.put(e4="red two")
        self.wait(lambda: len(r.calls) >= 2, daemon=self.d)
        self.d.wait_idle()
        self.assertEqual([["red one"], ["red two"]], [[e["title"] for e in entries] for _, _, entries in r.calls])

    def test_replay_looks_through_a_long_log(self):                         # DELIV-12
        hook, sub = self.webhook(q="red", batch=2)
        self.d.call("POST", "/sub?id=%d&action=pause" % sub)
        for n in range(7):      # more than one look judges
            self.put(**{"e%d" % i: "blue %d %d" % (n, i) for i in range(1, 351)})
        self.put(last="red at last")
        self.d.call("POST", "/sub?id=%d&action=resume" % sub)
        self.wait(lambda: hook.titles() == ["red at last"], daemon=self.d)
        self.wait(lambda: self.listed(sub)["lag"] == 0, daemon=self.d)

    def test_lag_counts_what_matches(self):                                 # DELIV-12
        hook, sub = self.webhook(q="red")
        self.d.call("POST", "/sub?id=%d&action=pause" % sub)
        self.put(**{"e%d" % i: "red" if i % 5 == 0 else "blue" for i in range(100, 150)})
        listed = self.listed(sub)
        self.assertEqual(10, listed["lag"])
        self.assertLessEqual(0, listed["lag_s"])
        self.patch({"id": sub, "q": "nothing"})
        self.assertEqual((0, 0), (self.listed(sub)["lag"], self.listed(sub)["lag_s"]))
        self.assertEqual([], hook.calls)

    def test_many_with_one_filter_share_the_work(self):                     # VIEW-10
        hook = self.hook()
        for _ in range(100):
            self.subscribed(hook.url, sink="webhook", q="red", category="")
        before = self.d.counter("push_judged_total")
        self.put(e1="red", e2="blue")
        self.wait(lambda: len(hook.calls) == 100, daemon=self.d)
        self.d.wait_idle()
        self.assertEqual(["red"] * 100, hook.titles())
        self.assertLess(self.d.counter("push_judged_total") - before, 20)

    def test_ages_count_from_the_revision(self):                            # VIEW-04
        hook, sub = self.webhook(after="1h", events=ALL)
        self.assertEqual({"after": "3600s"}, self.listed(sub)["filter"])
        self.put(old="of 2020")
        self.p.entries["young"] = ("of now", time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()))
        self.p.sync(self)
        self.wait(lambda: hook.titles() == ["of now"], daemon=self.d)
        self.d.wait_idle()
        self.assertEqual([("new", "urn:pub:p:young")], [t[:2] for t in self.told(hook)])

    def test_filters_are_shown_and_changed(self):                           # VIEW-18
        hook = self.hook()
        made = self.subscribed(hook.url, sink="webhook", q="Red", category=["B", "a"], has="audio")
        want = {"q": "red", "category": ["a", "b"], "has": ["audio"]}
        self.assertEqual(want, made["filter"])
        self.assertEqual(want, self.listed(made["id"])["filter"])
        form = self.patch({"id": made["id"], "q": "", "has": "", "lang": "de"}, FORM)
        self.assertEqual((200, {"category": ["a", "b"], "lang": ["de"]}), (form.status, form.json["filter"]))
        some = self.patch({"id": made["id"], "category": [], "lang": None, "author": ["Ann", "Bob"], "q": "blue"})
        self.assertEqual((200, {"q": "blue", "author": ["ann", "bob"]}), (some.status, some.json["filter"]))
        whole = self.patch({"id": made["id"], "filter": {"q": "green"}})
        self.assertEqual({"q": "green"}, whole.json["filter"])
        self.assertEqual(whole.json["filter"], self.patch({"id": made["id"], "title": "T"}).json["filter"])
        self.put(e1="red", e2="green")
        self.wait(lambda: hook.titles() == ["green"], daemon=self.d)
        self.assertIsNone(self.patch({"id": made["id"], "filter": None}).json["filter"])
        self.put(e3="blue")
        self.wait(lambda: hook.titles() == ["green", "blue"], daemon=self.d)
        self.assertIsNone(self.subscribed(self.hook().url).get("filter"))

    def test_one_that_cannot_be_read_says_so(self):                         # OPS-05 VIEW-18
        """The others are listed as ever, and it can be given another one."""
        hook, broken = self.webhook(q="red")
        _, other = self.webhook(q="red")
        self.d.wait_idle()
        self.d.stop()
        self.d.sql("UPDATE subscriptions SET filter = 'q=(((' WHERE id = %d" % broken)
        self.d.start()
        for path in ("/sub?type=json", "/sub?type=json&brief=1", "/sub?type=json&brief=1&len=10&sort=lag"):
            got = self.d.get(path)
            self.assertEqual(200, got.status, got.body)
            rows = {row["id"]: row for row in got.json["subscriptions"]}
            self.assertIn("filter cannot be read", rows[broken]["last_error"])
            self.assertEqual((None, None), (rows[broken]["lag"], rows[broken]["lag_s"]))
            self.assertEqual((0, None), (rows[other]["lag"], rows[other]["last_error"]))
        changed = self.patch({"id": broken, "q": "blue"})
        self.assertEqual(200, changed.status, changed.body)
        self.assertEqual((0, None), (changed.json["lag"], changed.json["last_error"]))
        self.put(e1="blue now")
        self.wait(lambda: self.listed(broken)["delivered"] == 1, daemon=self.d)

    def test_what_is_wrong_with_a_filter(self):                             # VIEW-02 VIEW-18
        self.assertIn("at", self.assert_problem(self.post(self.hook().url, q="a (b"), 400, "bad-parameter"))
        self.assert_problem(self.post(self.hook().url, has="nothing"), 400, "bad-parameter", parameter="has")
        _, sub = self.webhook(q="red")
        self.assert_problem(self.patch({"id": sub, "after": "yesterday"}), 400, "bad-parameter", parameter="after")
        self.assert_problem(self.patch({"id": sub, "filter": {"catgory": "x"}}), 400, "bad-parameter", parameter="filter")
        self.assertEqual({"q": "red"}, self.listed(sub)["filter"])
        self.assert_problem(self.patch({"id": sub, "category": 7}), 400, "bad-parameter", parameter="category")
        self.assert_problem(self.patch({"id": sub, "filter": ["red"]}), 400, "bad-parameter", parameter="filter")
        self.assertEqual({"q": "red"}, self.listed(sub)["filter"])

    # ---- the hub ----
    def topic(self, path="/feed", **params):
        return self.d.base + path + "?url=" + quote(self.p.url) + "".join("&%s=%s" % (k, quote(v)) for k, v in params.items())

    def hub(self, **kw):
        s = Subscriber()
        self.addCleanup(s.close)
        answer = self.d.call("POST", "/hub", urllib.parse.urlencode({
            "hub.mode": "subscribe", "hub.topic": self.topic(**kw), "hub.callback": s.url}), FORM)
        self.assertEqual(202, answer.status, answer.body)
        self.wait(lambda: any(x["endpoint"] == s.url for x in self.d.get("/sub?type=json").json["subscriptions"]), daemon=self.d)
        return s

    def test_topics_with_a_filter(self):                                    # VIEW-10 DELIV-01
        s = self.hub(type="atom", q="red")
        self.put(e1="red one", e2="blue")
        self.wait(lambda: s.deliveries, daemon=self.d)
        self.put(e3="blue", e1="blue")
        self.put(e4="red two", e5="blue")
        self.wait(lambda: len(s.deliveries) >= 2, daemon=self.d)
        self.d.wait_idle()
        self.assertEqual([["red one"], ["red two"]], [d.titles for d in s.deliveries])
        sub, = self.d.get("/sub?type=json").json["subscriptions"]
        self.assertEqual((0, {"q": "red"}), (sub["lag"], sub["filter"]))

    def test_topics_whose_filter_must_look_far(self):                       # VIEW-10 VIEW-12
        for i in range(2500):   # no index finds what lacks a word, and one look judges less than this
            self.p.put("e%d" % i, "blue %d" % i)
        self.p.publish()
        self.d.ping(self.p.url)
        self.wait(lambda: self.d.feed(self.p.url, q="title:2499").json["entries"], daemon=self.d)
        topics = [self.hub(path="/archive", q="-blue"), self.hub(path="/archive", q="-blue -green"),
                  self.hub(type="atom", q="-blue")]
        self.d.stop()           # what was counted of the archives' documents is counted again
        self.d.start()
        self.p.put("last", "red at last")
        self.p.publish()
        self.d.ping(self.p.url)
        for s in topics:
            self.wait(lambda s=s: s.deliveries, daemon=self.d)
        self.d.wait_idle()
        self.assertEqual([[["red at last"]]] * 3, [[d.titles for d in s.deliveries] for s in topics])

    def asked(self, topic):
        s = Subscriber()
        self.addCleanup(s.close)
        return self.d.call("POST", "/hub", urllib.parse.urlencode({
            "hub.mode": "subscribe", "hub.topic": topic, "hub.callback": s.url}), FORM)

    def test_bounds_of_topics(self):                                        # VIEW-10 VIEW-16 HUB-11
        most = self.topic(type="atom") + "".join("&author=%02d" % i for i in range(100))
        self.assertEqual(202, self.asked(most).status)
        self.assertEqual((400, "text/plain"), (self.asked(most + "&author=x").status,
                                               self.asked(most + "&author=x").header("Content-Type")[:10]))
        pad = self.topic(type="atom") + "".join("&author=%02d%s" % (i, "x" * 70) for i in range(98)) + "&author="
        longest = pad + "y" * (8192 - len(pad))
        for topic, status in (longest, 202), (longest + "y", 400):
            with self.subTest(len(topic)):
                answer = self.asked(topic)
                self.assertEqual(status, answer.status, answer.body)
        self.assertIn(b"8192", answer.body)
        self.assertIn('rel="hub"', self.d.get(longest[len(self.d.base):]).header("Link"))
        self.assertNotIn('rel="hub"', self.d.get(longest[len(self.d.base):] + "y").header("Link") or "")

    def test_filters_of_the_views_of_a_topic_have_a_bound(self):            # VIEW-10 VIEW-16
        def put(name, *views, **params):
            fields = [("view", v) for v in views] + list(params.items())
            answer = self.d.call("PUT", "/view/" + name, urllib.parse.urlencode(fields), FORM)
            self.assertEqual(201, answer.status, answer.body)

        for group in range(5):                                              # 5 * 12 filters, and one of each group
            names = ["g%d-%d" % (group, i) for i in range(12)]
            for name in names:
                put(name, url=self.p.url, q="red " + name.replace("-", "x"))
            put("g%d" % group, *names)
        put("most", "g0", "g1", "g2", "g3", "g4")
        self.assertEqual(202, self.asked(self.d.base + "/view/most?type=atom").status)
        put("more", "most", q="red")                                        # each filter once more, together with its own
        both = "/feeds?type=atom&view=most&view=more"
        self.assert_problem(self.d.get(both), 400, "bad-parameter")
        answer = self.asked(self.d.base + both)
        self.assertEqual(400, answer.status, answer.body)
        self.assertIn(b"filters", answer.body)

    def put_in_turn(self, *subscribers):
        """Three changes, each of them told before the next one: a delivery of a stream may tell of two."""
        for n, titles in enumerate(({"e1": "red one", "e2": "blue"}, {"e2": "green", "e1": "blue"}, {"e2": "green red"})):
            self.put(**titles)
            for s in subscribers:
                self.wait(lambda s=s: len(s.deliveries) > n, what="delivery %d" % n, daemon=self.d)

    def test_archives_as_topics_tell_what_left(self):                       # D54 VIEW-10
        one, two = self.hub(path="/archive", q="red"), self.hub(path="/simple/recent", q="red")
        self.put_in_turn(one, two)
        self.assertEqual([["red one"], [], ["green red"]], [d.titles for d in one.deliveries])
        self.assertIn(b"deleted-entry", one.deliveries[1].body)
        self.assertEqual([["red one"], ["Deleted"], ["green red"]], [d.titles for d in two.deliveries])

    def test_streams_as_topics_tell_what_left(self):                        # D53
        s = self.hub(path="/smart", type="json", q="red")
        self.put_in_turn(s)
        items = [[(i["id"][-2:], i.get("deleted", False)) for i in json.loads(d.body)["items"]] for d in s.deliveries]
        self.assertEqual([[("e1", False)], [("e1", True)], [("e2", False)]], items)

    # ---- rssCloud ----
    def register(self, handler, *urls):
        fields = [("protocol", "http-post"), ("port", handler.port), ("path", "/told"), ("notifyProcedure", "")]
        fields += [("url%d" % (n + 1), url) for n, url in enumerate(urls)]
        return self.d.call("POST", "/pleaseNotify", urllib.parse.urlencode(fields), FORM).body.decode()

    def test_clouds_with_a_filter(self):                                    # VIEW-10
        handler = CloudHandler()
        self.addCleanup(handler.close)
        red, all_ = self.topic(type="rss", q="red"), self.topic(type="rss")
        self.assertIn("needs a request of its own", self.register(handler, red, all_))
        for url in (red, all_):
            self.assertIn('success="true"', self.register(handler, url))
        before = len(handler.posts)
        self.put(e1="blue")
        self.wait(lambda: len(handler.posts) >= before + 1, daemon=self.d)
        self.put(e2="red")
        self.wait(lambda: len(handler.posts) >= before + 3, daemon=self.d)
        self.d.wait_idle()
        self.assertEqual([all_, all_, red], sorted(handler.urls()[before:], key=len))
