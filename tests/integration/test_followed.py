"""Subscriptions that follow a folder, a subscription, all, or a view: topics of the hub and of the cloud, and
POST and PATCH /sub (VIEW-01, VIEW-10, VIEW-16)."""
import json
import time
import urllib.parse
import xml.etree.ElementTree as tree

from .env.cloud_handler import CloudHandler
from .env.daemon import quote
from .env.hook import Hook
from .env.subscriber import Subscriber
from .test_hub import link_field
from .test_sets import FORM
from .test_views import JSON, Views


class Followed(Views):
    args = ["--hub-lease-min", "5s", "--push-first-retry", "100ms", "--push-max-retry", "1s"]

    def setUp(self):
        super().setUp()
        self.a, self.b = self.feed("a", "a old"), self.feed("b", "b old")

    def publish(self, name, *titles):
        self.feed(name, *titles)
        self.d.ping(self.o.url("/%s.xml" % name))

    def hub(self, topic, mode="subscribe", status=202, s=None):
        """Subscribe to a topic; returns the subscriber."""
        if s is None:
            s = Subscriber()
            self.addCleanup(s.close)
        topic = topic if "://" in topic else self.d.base + topic
        answer = self.d.call("POST", "/hub", urllib.parse.urlencode({
            "hub.mode": mode, "hub.topic": topic, "hub.callback": s.url}), FORM)
        self.assertEqual(status, answer.status, answer.body)
        if status == 202:
            self.wait(lambda: s.verifications, what="verification", daemon=self.d)
            wanted = mode == "subscribe"
            self.wait(lambda: any(x["endpoint"] == s.url for x in self.all_subs()) == wanted, what="the lease", daemon=self.d)
        return s

    def all_subs(self):
        return self.d.get("/sub?type=json").json["subscriptions"]

    def of(self, endpoint):
        return next(s for s in self.all_subs() if s["endpoint"] == endpoint)

    def feeds_of(self, endpoint):
        return sorted(self.of(endpoint)["urls"])

    def follows(self, endpoint, *urls):
        try:
            self.wait(lambda: self.feeds_of(endpoint) == sorted(urls), daemon=self.d)
        except AssertionError:
            self.assertEqual(sorted(urls), self.feeds_of(endpoint))

    def told(self, s, *titles):
        """In all it got just these entries."""
        def got():
            return sorted(t for d in list(s.deliveries) for t in d.titles)
        try:
            self.wait(lambda: len(got()) >= len(titles), daemon=self.d)
        except AssertionError:
            pass
        self.d.wait_idle()
        self.assertEqual(sorted(titles), got())

    def hook(self, **fields):
        hook = Hook(())
        self.addCleanup(hook.close)
        answer = self.post("/sub", endpoint=hook.url, sink="webhook", **fields)
        self.assertEqual(201, answer.status, answer.body)
        return hook, answer.json

    def hooked(self, hook, *titles):
        try:
            self.wait(lambda: len(hook.titles()) >= len(titles), daemon=self.d)
        except AssertionError:
            pass
        self.d.wait_idle()
        self.assertEqual(sorted(titles), sorted(hook.titles()))


class Looking(Followed):
    def test_many_changes_cost_one_look_a_second(self):                  # VIEW-16
        """However often subscriptions change: what follows something is not asked anew for each change."""
        n = self.sub(self.a)
        self.put("v", all=1)
        last = [self.post("/sub", view="v").json["id"] for _ in range(20)][-1]
        self.d.wait_idle()
        looks, began = self.d.counter("sub_looks_total"), time.monotonic()
        for i in range(60):
            self.d.call("PATCH", "/sub?id=%d&title=%d" % (n, i))
        self.sub(self.b)
        self.wait(lambda: len(self.d.get("/sub?type=json&id=%d" % last).json["subscriptions"][0]["feeds"]) == 2,
                  daemon=self.d)
        self.assertLessEqual(self.d.counter("sub_looks_total") - looks, time.monotonic() - began + 3)


class Topics(Followed):
    def test_a_folder_and_what_becomes_of_it(self):                      # VIEW-01
        self.sub(self.a, folder="News/World")
        topic = link_field(self.d.get("/feeds?folder=News&type=atom"))
        self.assertEqual([self.d.base + "/hub"], topic["hub"])
        s = self.hub(topic["self"][0])
        self.publish("a", "a new", "a old")
        self.told(s, "a new")
        n = self.sub(self.b, folder="News")
        self.follows(s.url, self.a, self.b)
        self.publish("b", "b new", "b old")
        self.told(s, "a new", "b new")
        self.d.call("PATCH", "/sub?id=%d&folder=Else" % n)
        self.follows(s.url, self.a)
        self.publish("b", "b newer", "b new", "b old")
        self.publish("a", "a newer", "a new", "a old")
        self.told(s, "a new", "b new", "a newer")
        self.assertEqual({'rel="hub"': "<%s/hub>" % self.d.base, 'rel="self"': "<%s>" % topic["self"][0]},
                         s.deliveries[0].links())

    def test_each_set_and_form(self):                                    # VIEW-01
        n = self.sub(self.a, folder="X")
        self.wait(lambda: self.titles("/feeds?type=json&all=1"), daemon=self.d)
        got = {}
        for query in ("/feeds?type=atom&all=1", "/feed?type=rss&sub=%d" % n, "/smart?type=atom&folder=X",
                      "/archive?folder=X", "/feeds?type=atom&folder=X&q=red", "/feeds?type=atom&folder=No&url=" + quote(self.b)):
            got[query] = self.hub(query)
        self.publish("a", "red", "green", "a old")
        self.publish("b", "b new", "b old")
        for query, s in got.items():
            with self.subTest(query):
                self.wait(lambda: s.deliveries, what=query, daemon=self.d)
                text = b"".join(d.body for d in s.deliveries)
                self.assertEqual("url=" not in query, b"red" in text)
                self.assertEqual("q=" not in query and "url=" not in query, b"green" in text)
                self.assertEqual("url=" in query, b"b new" in text)

    def test_an_empty_set_waits(self):                                   # VIEW-01
        s = self.hub("/feeds?type=atom&folder=Later")
        self.assertEqual([], self.feeds_of(s.url))
        self.sub(self.a, folder="Later")
        self.follows(s.url, self.a)
        self.wait(lambda: self.titles("/feeds?type=json&folder=Later"), daemon=self.d)
        self.publish("a", "a new", "a old")
        self.told(s, "a new")
        self.hub("/feeds?type=atom&folder=Later", mode="unsubscribe", s=s)

    def test_a_lease_does_not_hold_what_it_follows(self):                # VIEW-01
        n = self.sub(self.a)
        s, t = self.hub("/feeds?type=atom&all=1"), self.hub("/feeds?type=rss&all=1")
        self.follows(s.url, self.a)
        self.d.call("DELETE", "/sub?id=%d" % n)
        self.follows(s.url)
        self.follows(t.url)

    def test_what_is_not_there(self):                                    # VIEW-01 VIEW-16
        for topic in ("/feeds?sub=99", "/feeds?view=nosuch", "/view/nosuch", "/view", "/view/a/b"):
            self.hub(topic, status=404)

    def test_a_publisher_pings_a_set(self):
        self.sub(self.a, folder="X")
        self.wait(lambda: self.titles("/feeds?type=json&folder=X"), daemon=self.d)
        n = len(self.o.requests)
        self.d.wait_idle()
        self.feed("a", "a new", "a old")
        self.d.call("POST", "/hub", urllib.parse.urlencode(
            {"hub.mode": "publish", "hub.url": self.d.base + "/feeds?folder=X"}), FORM)
        self.wait(lambda: len(self.o.requests) > n, daemon=self.d)

    def test_it_goes_on_after_a_restart(self):
        n = self.sub(self.a, folder="X")
        s = self.hub("/feeds?type=atom&folder=X")
        self.d.kill()
        self.d.start()
        self.sub(self.b, folder="X")
        self.follows(s.url, self.a, self.b)
        self.d.call("DELETE", "/sub?id=%d" % n)
        self.follows(s.url, self.b)


class CloudTopics(Followed):
    def setUp(self):
        super().setUp()
        self.h = CloudHandler()
        self.addCleanup(self.h.close)

    def register(self, *urls):
        fields = [("notifyProcedure", ""), ("port", self.h.port), ("path", "/notify"), ("protocol", "http-post"),
                  ("domain", "127.0.0.1")] + [("url%d" % (i + 1), u) for i, u in enumerate(urls)]
        root = tree.fromstring(self.d.call("POST", "/pleaseNotify", urllib.parse.urlencode(fields), FORM).body)
        return root.get("success"), root.get("msg")

    def test_a_folder(self):                                             # VIEW-01
        topic = self.d.base + "/feeds?type=rss&folder=X"
        self.assertEqual("true", self.register(topic)[0])                # it is empty
        self.sub(self.a, folder="X")
        self.wait(lambda: self.titles("/feeds?type=json&folder=X"), daemon=self.d)
        self.wait(lambda: any(x["sink"] == "rsscloud" and x["feeds"] for x in self.all_subs()), daemon=self.d)
        self.d.wait_idle()
        self.publish("a", "a new", "a old")
        self.wait(lambda: self.h.posts, what="a notification", daemon=self.d)
        self.assertEqual([topic], self.h.urls())
        ok, why = self.register(topic, self.a)
        self.assertEqual("false", ok)
        self.assertIn("request of its own", why)


class Lists(Followed):
    def test_a_list_and_sets(self):                                      # VIEW-01 D52
        c = self.feed("c", "c old")
        opml = self.o.set("/list.opml", '<opml version="2.0"><body><outline type="rss" xmlUrl="%s"/></body></opml>' % c)
        self.sub(self.a, folder="X")
        self.put("v", url=self.b, q="old")
        for query, found in {"url=%s" % quote(opml): ["c old"], "url=%s&folder=X" % quote(opml): ["a old", "c old"],
                             "folder=X": ["a old"], "view=v&folder=X": ["a old", "b old"],
                             "url=%s&view=v&q=old" % quote(opml): ["b old", "c old"], "folder=No": []}.items():
            with self.subTest(query):
                self.wait(lambda: self.titles("/opml?type=json&" + query) == found, daemon=self.d)
        self.assert_problem(self.d.get("/opml"), 400, "bad-parameter", parameter="url")
        self.assert_problem(self.d.get("/opml?sub=99"), 404, "not-found", parameter="sub")
        self.assert_problem(self.d.get("/opml?view=nosuch"), 404, "not-found", parameter="view")


class OfViews(Followed):
    def test_the_view_itself_is_a_topic(self):                           # VIEW-16
        self.put("v", url=self.a, q="red")
        links = link_field(self.d.get("/view/v?type=atom"))
        self.assertEqual([self.d.base + "/hub"], links["hub"])
        s, t = self.hub(links["self"][0]), self.hub("/feeds?type=atom&view=v")
        self.publish("a", "red one", "blue", "a old")
        for one in (s, t):
            self.told(one, "red one")
        self.put("v", status=200, url=self.b, q="blue")
        self.follows(s.url, self.b)
        self.publish("b", "b red", "b blue", "b old")
        self.publish("a", "a blue", "a red", "red one", "blue", "a old")
        for one in (s, t):
            self.told(one, "red one", "b blue")
        answer = self.d.call("DELETE", "/view/v")
        self.assert_problem(answer, 409, "in-use")
        self.assertIn("subscription %d" % min(self.of(x.url)["id"] for x in (s, t)), answer.json["detail"])
        for one, topic in ((s, links["self"][0]), (t, "/feeds?type=atom&view=v")):
            self.hub(topic, mode="unsubscribe", s=one)
        self.wait(lambda: self.d.call("DELETE", "/view/v").status == 204, daemon=self.d)


class Subscribed(Followed):
    def test_a_subscription_follows_its_view(self):                      # VIEW-16 VIEW-10
        self.put("v", url=self.a, q="red")
        hook, made = self.hook(view="v", folder="Harbour")
        self.assertEqual(["v"], made["view"])
        self.assertEqual([self.a], self.feeds_of(hook.url))
        self.wait(lambda: self.titles("/feeds?type=json&url=" + quote(self.a)), daemon=self.d)
        self.publish("a", "red one", "blue one", "a old")
        self.hooked(hook, "red one")
        self.put("v", status=200, url=self.a + "," + self.b, q="blue")
        self.follows(hook.url, self.a, self.b)
        self.wait(lambda: self.titles("/feeds?type=json&folder=Harbour") != [], daemon=self.d)
        self.assertEqual({"Harbour"}, {"/".join(f) for f in self.of(hook.url)["folders"]})
        self.publish("b", "b red", "b blue", "b old")
        self.publish("a", "a red", "a blue", "red one", "blue one", "a old")
        self.hooked(hook, "red one", "b blue", "a blue")
        shown = self.of(hook.url)
        self.assertEqual((["v"], None), (shown["view"], shown["filter"]))
        self.assert_problem(self.d.call("DELETE", "/view/v"), 409, "in-use")
        self.d.call("DELETE", "/sub?id=%d" % made["id"])
        self.assertEqual(204, self.d.call("DELETE", "/view/v").status)

    def test_a_view_of_a_view_counts_too(self):                          # VIEW-16
        self.put("below", url=self.a)
        self.put("v", view="below", q="red")
        hook, _ = self.hook(view="v", q="boat")
        self.assertEqual({"q": "boat"}, self.of(hook.url)["filter"])
        self.wait(lambda: self.titles("/feeds?type=json&url=" + quote(self.a)), daemon=self.d)
        self.publish("a", "red boat", "red car", "blue boat", "a old")
        self.hooked(hook, "red boat")
        self.put("below", status=200, url=self.b)
        self.follows(hook.url, self.b)
        self.publish("b", "b red boat", "b red car", "b old")
        self.hooked(hook, "red boat", "b red boat")

    def test_a_circle_of_subscriptions_has_no_feeds(self):               # VIEW-16
        """Or the two would take each other's feeds, again and again."""
        self.put("v", url=self.a)
        self.put("w", url=self.b)
        (one, first), (other, second) = self.hook(view="v"), self.hook(view="w")
        self.put("v", status=200, sub=second["id"])
        self.put("w", status=200, sub=first["id"])
        self.follows(one.url)
        self.follows(other.url)
        self.d.wait_idle()
        n = self.d.counter("store_commits_total")
        self.d.wait_idle()
        self.assertEqual(n, self.d.counter("store_commits_total"))

    def test_urls_beside_a_view_have_no_part_in_its_filter(self):        # VIEW-16 VIEW-01
        self.put("v", url=self.a, q="red")
        hook, _ = self.hook(view="v", url=self.b)
        self.follows(hook.url, self.a, self.b)
        self.wait(lambda: len(self.titles("/feeds?type=json&url=%s,%s" % (quote(self.a), quote(self.b)))) == 2, daemon=self.d)
        self.d.wait_idle()
        self.publish("a", "a red", "a blue", "a old")
        self.publish("b", "b red", "b blue", "b old")
        self.hooked(hook, "a red", "b red", "b blue")

    def test_patch(self):                                                # VIEW-16 VIEW-18
        self.put("v", url=self.a, q="red")
        self.put("w", url=self.b)
        hook, made = self.hook(url=self.b)

        def patch(**body):
            answer = self.d.call("PATCH", "/sub?id=%d" % made["id"], json.dumps(body), JSON)
            self.assertEqual(200, answer.status, answer.body)
            return answer.json, sorted(answer.json["urls"])
        shown, feeds = patch(view="v")
        self.assertEqual((["v"], None, [self.a]), (shown["view"], shown["filter"], feeds))
        shown, feeds = patch(view=["v", "w"], q="boat")
        self.assertEqual((["v", "w"], {"q": "boat"}, sorted([self.a, self.b])), (shown["view"], shown["filter"], feeds))
        shown, feeds = patch(folder="T", view=["w"])
        self.assertEqual((["w"], {"q": "boat"}, [self.b]), (shown["view"], shown["filter"], feeds))
        shown, feeds = patch(q=None)
        self.assertEqual((["w"], None, [self.b]), (shown["view"], shown["filter"], feeds))
        shown, feeds = patch(view=None, q="red")
        self.assertEqual(([], {"q": "red"}, [self.b]), (shown["view"], shown["filter"], feeds))
        self.put("w", status=200, url=self.a)
        self.d.wait_idle()
        self.assertEqual([self.b], self.feeds_of(hook.url))
        self.assert_problem(self.d.call("PATCH", "/sub?id=%d&view=nosuch" % made["id"]), 404, "not-found", parameter="view")

    def test_a_position_outlives_a_change(self):                         # VIEW-16 DELIV-10
        self.put("v", url=self.a)
        hook, made = self.hook(view="v")
        self.wait(lambda: self.titles("/feeds?type=json&url=" + quote(self.a)), daemon=self.d)
        self.publish("a", "a1", "a old")
        self.hooked(hook, "a1")
        self.put("v", status=200, url=self.a, q="x OR a2")
        self.wait(lambda: self.titles("/view/v?type=json") == [], daemon=self.d)
        self.publish("a", "a2", "a1", "a old")
        self.hooked(hook, "a1", "a2")
        self.assertEqual(hook.calls[0].data["last_cursor"], hook.calls[1].data["prev_cursor"])

    def test_what_is_wrong(self):                                        # VIEW-16
        self.put("v", url=self.a)
        self.assert_problem(self.post("/sub", view="nosuch"), 404, "not-found", parameter="view")
        self.assert_problem(self.post("/sub", view="v", known="skip"), 400, "bad-parameter")
        self.assert_problem(self.d.call("POST", "/sub?view=v", "<opml version='2.0'><body/></opml>",
                                        {"Content-Type": "text/x-opml"}), 400, "bad-parameter", parameter="view")
        n = self.post("/sub", view="v").json["id"]
        self.assert_problem(self.d.call("DELETE", "/sub?id=%d&url=%s" % (n, quote(self.a))), 400, "bad-parameter")
