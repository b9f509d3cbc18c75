"""rssCloud: registrations at our cloud (CLOUD-01..06, 08), the cloud of our RSS (RSS-13), and our
registrations at the clouds of publishers (CLOUD-07)."""
import datetime
import socket
import threading
import time
import urllib.parse
import xml.etree.ElementTree as tree
import xmlrpc.client

from .env.case import Case
from .env.cloud_handler import CloudHandler
from .env.daemon import HUNG, PATIENCE, quote
from .env.origin import Reply, moved, rss
from .env.publisher_cloud import PublisherCloud
from .env.websub_hub import Hub

FORM = {"Content-Type": "application/x-www-form-urlencoded"}


class Cloud(Case):
    options = ()

    def setUp(self):
        self.o = self.origin()
        self.d = self.daemon("--push-first-retry", "50ms", *self.options)
        self.u = self.o.set("/f.xml", rss("old"))
        self.h = self.handler()

    def handler(self):
        handler = CloudHandler()
        self.addCleanup(handler.close)
        return handler

    def post(self, *urls, handler=None, **params):
        """POST /pleaseNotify; `params` with None are left out."""
        fields = {"notifyProcedure": "", "port": (handler or self.h).port, "path": "/notify",
                  "protocol": "http-post", "domain": "127.0.0.1"}
        fields.update(("url%d" % (i + 1), u) for i, u in enumerate(urls))
        fields.update(params)
        fields = [(k, v) for k, v in fields.items() if v is not None]
        answer = self.d.call("POST", "/pleaseNotify", urllib.parse.urlencode(fields), FORM)
        self.assertTrue(answer.header("Content-Type").startswith("text/xml"), answer.body)
        root = tree.fromstring(answer.body)
        self.assertEqual("notifyResult", root.tag)
        return answer.status, root.get("success"), root.get("msg")

    def registered(self, *urls, **params):
        status, success, msg = self.post(*(urls or (self.u,)), **params)
        self.assertEqual((200, "true"), (status, success), msg)

    def refused(self, words, *urls, **params):
        status, success, msg = self.post(*(urls or (self.u,)), **params)
        self.assertEqual((200, "false"), (status, success), msg)
        self.assertIn(words, msg)

    def publish(self, *titles, path="/f.xml"):
        self.o.set(path, rss(*titles))
        self.d.ping(self.o.url(path))

    def told(self, *urls, handler=None):
        """The handler gets exactly these notifications, and no more."""
        handler = handler or self.h
        self.wait(lambda: len(handler.posts) >= len(urls), what="notifications", daemon=self.d)
        self.d.wait_idle()
        self.assertEqual(list(urls), handler.urls())

    def subs(self):
        found = self.d.get("/sub?type=json").json["subscriptions"]
        return [s for s in found if s["sink"] == "rsscloud"]


class Registrations(Cloud):
    def test_with_a_domain_the_handler_proves_itself_by_a_challenge(self):
        """CLOUD-01"""
        self.registered(path="/notify?a=1")
        (path, query), = self.h.challenges
        self.assertEqual(("/notify", ["1"], [self.u]), (path, query["a"], query["url"]))
        self.assertEqual([], self.h.posts)
        self.publish("new", "old")
        self.told(self.u)
        self.assertEqual("/notify?a=1", self.h.posts[0][0])

    def test_without_a_domain_the_caller_gets_a_test(self):
        """CLOUD-02"""
        self.registered(domain=None)
        self.assertEqual([], self.h.challenges)
        self.told(self.u)
        self.publish("new", "old")
        self.told(self.u, self.u)

    def test_what_is_wrong_is_said(self):
        """CLOUD-03"""
        self.refused("port is missing", port=None)
        for port in ("0", "65536", "-1", "80x", "99999999999999999999", "8 0"):
            self.refused("from 1 to 65535", port=port)
        self.refused("protocol is missing", protocol=None)
        self.refused("soap is not offered", protocol="soap")
        self.refused("unknown", protocol="HTTP")
        self.refused("path is missing", path=None)
        self.refused("notifyProcedure", protocol="xml-rpc", notifyProcedure="a b<c>")
        self.refused("absolute http or https URL", "nonsense")
        self.refused("user or password", "http://user:pw@127.0.0.1/f")
        self.assertIn("url1 is missing", self.post()[2])
        self.assertEqual([], self.h.challenges + self.h.posts)
        self.h.status = 500
        self.refused("status 500")
        self.refused("status 500", domain=None)
        self.h.status = 200
        self.h.says = "hello"
        self.refused("challenge")
        with socket.socket() as closed:
            closed.bind(("127.0.0.1", 0))
            self.refused("did not answer", port=closed.getsockname()[1])
        self.refused("cannot be watched", self.o.url("/none.xml"))
        self.assertEqual([], self.subs())

    def test_a_page_that_repeats_its_url_does_not_confirm(self):
        """CLOUD-01"""
        self.h.says = "You asked for /notify?url=x&challenge=%s"
        self.refused("challenge")

    def test_neither_path_nor_domain_can_name_another_host(self):
        """CLOUD-03"""
        for path in ("@other.example/", "notify", "/a b", "/a#b", "/a\r\nX: y", "/<x>"):
            self.refused("path must", path=path)
        for domain in ("http://127.0.0.1", "127.0.0.1/x", "user@127.0.0.1", "127.0.0.1:1", "a b",
                       "127.0.0.1?", "127.0.0.1#", "a\r\nb", "[::1]:80"):
            self.refused("domain must", domain=domain)
        self.assertEqual([], self.h.challenges + self.h.posts)

    def test_several_urls(self):
        """CLOUD-04: each feed is told of by itself; news that come at once are told once; a ping without a
        change tells nobody."""
        v = self.o.set("/g.xml", rss("g"))
        self.registered(self.u, v, self.u)
        self.assertEqual(2, len(self.subs()))
        self.assertEqual(1, len(self.h.challenges))
        self.d.ping(self.u)
        self.d.ping(v)
        self.d.wait_idle()
        self.told()
        self.publish("new 3", "new 2", "new 1", "old")
        self.told(self.u)
        self.publish("new", "g", path="/g.xml")
        self.told(self.u, v)

    def test_too_many_urls(self):
        """CLOUD-04"""
        many = ["http://127.0.0.1:1/%d" % i for i in range(101)]
        self.refused("At most 100", *many)
        answer = self.d.call("POST", "/pleaseNotify", urllib.parse.urlencode(
            [("url%d" % i, "http://127.0.0.1:1/%d" % i) for i in range(10000)]), FORM)
        self.assert_problem(answer, 413)

    def test_a_changed_entry_is_told(self):
        """CLOUD-01"""
        self.registered()
        self.o.set("/f.xml", rss("old").replace("</description>", " and more</description>"))
        self.d.ping(self.u)
        self.told(self.u)

    def test_one_registers_again(self):
        """CLOUD-06"""
        self.registered()
        first, = self.subs()
        self.registered()
        second, = self.subs()
        self.assertEqual(first["id"], second["id"])
        self.assertEqual(2, len(self.h.challenges))
        self.publish("new", "old")
        self.told(self.u)

    def test_after_five_failures_it_is_removed(self):
        """CLOUD-06"""
        self.registered()
        self.h.status = 500
        self.publish("new", "old")
        self.wait(lambda: not self.subs(), what="the end", daemon=self.d)
        self.told(*[self.u] * 5)

    def test_a_registration_outlives_a_restart(self):
        """CLOUD-01"""
        self.registered()
        self.d.stop()
        self.d.start()
        self.publish("new", "old")
        self.told(self.u)

    def test_our_own_document(self):
        """RSS-13: whoever reads our RSS finds the cloud in it, and registers the URL he reads."""
        ours = self.d.base + "/feed?url=" + quote(self.u) + "&type=rss"
        cloud = tree.fromstring(self.d.get(ours[len(self.d.base):]).body).find("channel/cloud")
        parts = urllib.parse.urlsplit(self.d.base)
        self.assertEqual({"domain": parts.hostname, "port": str(parts.port),
                          "path": "/pleaseNotify", "registerProcedure": "",
                          "protocol": "http-post"}, cloud.attrib)
        self.registered(ours)
        self.publish("new", "old")
        self.told(ours)

    def test_pings(self):
        """CLOUD-08"""
        for url, success in ((self.u, "true"), ("nonsense", "false"), ("", "false")):
            answer = self.d.call("POST", "/ping", "url=" + quote(url), FORM)
            self.assertEqual(200, answer.status)
            result = tree.fromstring(answer.body)
            self.assertEqual(("result", success), (result.tag, result.get("success")))
            self.assertTrue(result.get("msg"))


    def test_a_registration_is_its_handlers_own(self):
        """CLOUD-02: a handler was verified, so nobody else can put another address in its place."""
        self.registered()
        before = self.subs()
        for body in ("endpoint=" + self.o.url("/other"), "events=new", "batch=3", "title=T"):
            answer = self.d.call("PATCH", "/sub?id=%d" % before[0]["id"], body, FORM)
            self.assert_problem(answer, 403, "forbidden")
            self.assertIn("rsscloud", answer.json["detail"])
        self.assertEqual(before, self.subs())


class ByXmlRpc(Cloud):
    def setUp(self):
        super().setUp()
        self.rpc = xmlrpc.client.ServerProxy(self.d.base + "/RPC2")
        self.addCleanup(self.rpc("close"))

    def test_hello_and_ping(self):
        """CLOUD-05"""
        self.assertIs(True, self.rpc.rssCloud.hello())
        self.assertIs(True, self.rpc.rssCloud.ping(self.u))
        with self.assertRaises(xmlrpc.client.Fault):
            self.rpc.rssCloud.ping("nonsense")

    def test_the_procedure_is_called(self):
        """CLOUD-05"""
        port = self.h.port
        self.assertIs(True, self.rpc.rssCloud.pleaseNotify("river.news", port, "/RPC2", "xml-rpc",
                                                           [self.u]))
        self.publish("new", "old")
        self.wait(lambda: len(self.h.calls) == 2, what="the call", daemon=self.d)
        self.assertEqual([("river.news", (self.u,))] * 2, self.h.calls)

    def test_mixed_protocols(self):
        """CLOUD-05: by XML-RPC one may ask for http-post, and the other way round."""
        self.assertIs(True, self.rpc.rssCloud.pleaseNotify("", self.h.port, "/n", "http-post",
                                                           [self.u], "127.0.0.1"))
        self.registered(protocol="xml-rpc", notifyProcedure="tell", domain=None)
        self.publish("new", "old")
        self.wait(lambda: len(self.h.calls) == 2 and len(self.h.posts) == 1, what="both",
                  daemon=self.d)

    def test_faults(self):
        """CLOUD-05"""
        for params, words in (((), "notifyProcedure"),
                              (("p", 0, "/", "xml-rpc", [self.u]), "port"),
                              (("p", self.h.port, "/", "xml-rpc", []), "url1 is missing"),
                              (("p", self.h.port, "/", "xml-rpc", [1]), "list of URLs"),
                              (("p", self.h.port, "/", "soap", [self.u]), "soap")):
            with self.assertRaises(xmlrpc.client.Fault) as caught:
                self.rpc.rssCloud.pleaseNotify(*params)
            self.assertIn(words, caught.exception.faultString)
        self.h.returns = 7
        with self.assertRaises(xmlrpc.client.Fault) as caught:
            self.rpc.rssCloud.pleaseNotify("p", self.h.port, "/", "xml-rpc", [self.u], "127.0.0.1")
        self.assertIn("boolean true", caught.exception.faultString)


class Hangs(Cloud):
    options = ("--push-timeout", "300ms")

    def test_a_handler_that_hangs(self):
        """CLOUD-03"""
        self.h.delay = 600
        self.refused("did not answer")
        self.refused("did not answer", domain=None)
        self.assertEqual([], self.subs())


class Ends(Cloud):
    options = ("--cloud-lease", "5s")

    def test_a_registration_expires(self):
        """CLOUD-06: with a length of 5 s instead of 25 h."""
        self.registered()
        self.wait(lambda: not self.subs(), what="the end", daemon=self.d)
        self.d.stop()
        at = self.d.args.index("--cloud-lease")             # the witness stays
        del self.d.args[at:at + 2]
        self.d.start()
        witness = self.handler()
        self.registered(handler=witness)
        self.publish("new", "old")
        self.told(self.u, handler=witness)
        self.assertEqual([], self.h.posts)


class Guarded(Cloud):
    def setUp(self):
        self.o = self.origin()
        self.u = self.o.set("/f.xml", rss("old"))
        self.d = self.daemon("--allow-fetch", "127.0.0.0/8", open_loopback=False)
        self.h = self.handler()

    def test_private_addresses_are_not_called(self):
        """CLOUD-03"""
        self.refused("not called from here")
        self.refused("not called from here", domain=None)
        self.refused("not called from here", domain="169.254.169.254", port=80)
        self.assertEqual([], self.h.challenges + self.h.posts)


class Alone(Cloud):
    options = ("--hub=no",)

    def test_it_needs_no_hub(self):
        """CLOUD-01"""
        self.registered()
        self.publish("new", "old")
        self.told(self.u)


class Off(Cloud):
    options = ("--cloud=no",)

    def test_without_a_cloud(self):
        """RSS-13"""
        ours = "/feed?type=rss&url=" + quote(self.u)
        self.assertIsNone(tree.fromstring(self.d.get(ours).body).find("channel/cloud"))
        self.assert_problem(self.d.call("POST", "/pleaseNotify", "port=1", FORM), 404)


class OfPublishers(Case):
    """CLOUD-07: the middleware registers at the cloud that a feed names."""

    def setUp(self):
        self.o, self.c = self.origin(), self.cloud()
        self.u = self.o.url("/f.xml")

    def cloud(self, **kw):
        cloud = PublisherCloud(**kw)
        self.addCleanup(cloud.close)
        return cloud

    def show(self, *titles, **element):
        self.o.set("/f.xml", rss(*titles, head=self.c.element(**element)))

    def registered(self, n=1, daemon=None):
        """The n-th registration."""
        self.wait(lambda: len(self.c.registrations) >= n, what="registration %d" % n, daemon=daemon)
        return self.c.registrations[n - 1]

    def record(self, d, state):
        """The feed's record, when the registration is in this state."""
        return self.wait(lambda: [f for f in (d.record(self.u),) if f and f["hub_state"] == state],
                         what=state, daemon=d)[0]

    def following(self, *args, freq=None, **element):
        """A daemon with an active registration: (daemon, registration)."""
        self.show("old", **element)
        d = self.daemon(*args)
        d.subscribe(self.u, **({"freq": freq} if freq else {}))
        registration = self.registered(daemon=d)
        self.record(d, "active")
        d.wait_idle()
        return d, registration

    def titles(self, d):
        return {e["title"] for e in d.feed(self.u).json["entries"]}

    def fetches(self):
        return len(self.o.seen("/f.xml"))

    def marker(self, d):
        """A later registration is active: what the daemon had to say to clouds before has been said."""
        cloud = self.cloud()
        u = self.o.set("/marker%d" % cloud.port, rss("m", head=cloud.element()))
        d.subscribe(u)
        self.wait(lambda: d.record(u)["hub_state"] == "active", what="the marker", daemon=d)

    # ---- registering ----
    def test_it_registers_and_a_notification_wakes_it(self):
        """CLOUD-07"""
        d, r = self.following()
        self.assertEqual((self.u, "http-post", ""), (r.url, r.protocol, r.procedure))
        self.assertRegex(r.handler, "^" + d.base + "/notify/[0-9a-f]{40}$")
        shown = self.record(d, "active")
        self.assertEqual(("rsscloud", self.u, "http://127.0.0.1:%d/pleaseNotify" % self.c.port, None),
                         (shown["hub_protocol"], shown["hub_topic"], shown["hub"],
                          shown["hub_error"]))
        left = datetime.datetime.fromisoformat(shown["hub_lease_end"].replace("Z", "+00:00")).timestamp()
        self.assertTrue(24 * 3600 < left - time.time() <= 25 * 3600, shown["hub_lease_end"])
        self.show("new", "old")
        self.assertEqual((200, b""), self.c.notify(r))
        self.wait(lambda: "new" in self.titles(d), what="the news", daemon=d)
        self.assertEqual(1, d.counter("upstream_notifications_total"))
        self.assertIsNotNone(d.record(self.u)["hub_delivered"])

    def test_by_xml_rpc(self):
        """CLOUD-07: the cloud says which procedure registers; it calls ours."""
        d, r = self.following(protocol="xml-rpc")
        self.assertEqual(("xml-rpc", "rssCloud.notify"), (r.protocol, r.procedure))
        before = self.fetches()
        self.assertEqual(1, before)           # the test call of the cloud is not a notification
        self.show("new", "old", protocol="xml-rpc")
        self.assertEqual(200, self.c.notify(r)[0])
        self.wait(lambda: "new" in self.titles(d), what="the news", daemon=d)

    def test_a_cloud_that_knows_no_domain(self):
        """CLOUD-07: it sends a test notification to the caller's address instead of a challenge."""
        self.c.proves = "test"
        d, r = self.following()
        self.assertEqual(1, self.fetches())
        self.show("new", "old")
        self.c.notify(r)
        self.wait(lambda: "new" in self.titles(d), what="the news", daemon=d)

    def test_soap_and_nonsense_are_left_alone(self):
        """CLOUD-07"""
        d = self.daemon("--log-level", "debug")
        for n, element in enumerate(({"protocol": "soap"}, {"port": "0"}, {"domain": "a b"},
                                     {"protocol": "xml-rpc", "procedure": "a b"})):
            u = self.o.set("/%d.xml" % n, rss("a", head=self.c.element(**element)))
            d.subscribe(u)
            d.wait_log("cloud_ignored", n + 1)
            d.wait_idle()
            self.assertIsNone(d.record(u)["hub"])
        self.assertEqual([], self.c.registrations)

    def test_a_hub_comes_before_the_cloud(self):
        """CLOUD-07: a hub brings the news themselves; the cloud is the next one when the hub fails, and
        then stays."""
        hub = Hub(status=404)
        self.addCleanup(hub.close)

        def show(*titles):
            self.o.set("/f.xml", Reply(200, rss(*titles, head=self.c.element()), Link=(
                '<%s>; rel="hub", <%s>; rel="self"' % (hub.url(), self.u))))
        show("a")
        d = self.daemon()
        d.subscribe(self.u)
        self.wait(lambda: hub.subscribers(), what="the hub", daemon=d)
        self.record(d, "failed")
        self.assertEqual([], self.c.registrations)
        hub.say(hub.subscribers()[0], "denied")
        show("b", "a")
        d.ping(self.u)
        self.registered(daemon=d)
        self.assertEqual("rsscloud", self.record(d, "active")["hub_protocol"])
        for _ in range(2):                    # a document that is read, and one that is the same
            d.ping(self.u)
            d.wait_idle()
        self.assertEqual("rsscloud", self.record(d, "active")["hub_protocol"])

    def later(self, verifies):
        """A feed that follows its cloud has come to name a hub: (daemon, registration, hub, show(*titles))."""
        d, r = self.following()
        hub = Hub(verifies=verifies)
        self.addCleanup(hub.close)

        def show(*titles):
            self.o.set("/f.xml", Reply(200, rss(*titles, head=self.c.element()), Link=(
                '<%s>; rel="hub", <%s>; rel="self"' % (hub.url(), self.u))))
        show("b", "old")
        self.assertEqual(200, self.c.notify(r)[0])
        self.wait(lambda: hub.subscribers(), what="the hub", daemon=d)
        self.wait(lambda: d.record(self.u)["hub_protocol"] == "websub", what="its row", daemon=d)  # may be stored later
        return d, r, hub, show

    def test_a_hub_that_is_named_later(self):
        """CLOUD-07: it is better; the cloud is heard until it has verified."""
        d, r, hub, show = self.later(verifies=False)
        self.assertEqual("websub", d.record(self.u)["hub_protocol"])
        d.wait_idle()
        d.kill()                                        # the cloud is heard after that, too
        d.start()
        show("c", "b", "old")
        self.assertEqual(200, self.c.notify(r)[0])
        self.wait(lambda: "c" in self.titles(d), what="the news", daemon=d)
        hub.verify(hub.subscribers()[-1])
        self.assertEqual("websub", self.record(d, "active")["hub_protocol"])
        self.wait(lambda: self.c.notify(r)[0] in (404, 410), what="the end of the cloud", daemon=d)
        status, _ = hub.deliver(hub.subscribers()[-1], rss("d", "c"), content_type="application/rss+xml")
        self.assertIn(status, (200, 202, 204))
        self.wait(lambda: "d" in self.titles(d), what="what the hub delivered", daemon=d)
        self.assertEqual(1, len(self.c.registrations))

    def test_a_hub_that_verifies_at_once(self):
        """CLOUD-07"""
        d, r, hub, _ = self.later(verifies=True)
        self.assertEqual("websub", self.record(d, "active")["hub_protocol"])
        self.wait(lambda: self.c.notify(r)[0] in (404, 410), what="the end of the cloud", daemon=d)

    def test_a_hub_that_is_named_later_and_fails(self):
        """CLOUD-07: the same registration is used on, and the hub is left alone."""
        d, r, hub, show = self.later(verifies=False)
        hub.say(hub.subscribers()[0], "denied")
        show("c", "b", "old")
        self.assertEqual(200, self.c.notify(r)[0])
        self.wait(lambda: d.record(self.u)["hub_protocol"] == "rsscloud", what="the cloud", daemon=d)
        self.record(d, "active")
        for n in range(2):
            show("d%d" % n, "c")
            self.assertEqual(200, self.c.notify(r)[0])
            self.wait(lambda: "d%d" % n in self.titles(d), what="the news", daemon=d)
        d.wait_idle()
        self.assertEqual((1, 1), (len(self.c.registrations), len(hub.subscribers())))
        self.assertEqual("rsscloud", d.record(self.u)["hub_protocol"])

    def test_a_feed_that_merges_while_its_cloud_stands_in(self):
        """CLOUD-07: what the cloud tells then is news of the feed into which it was merged."""
        d, r, hub, _ = self.later(verifies=False)
        other = self.o.set("/g.xml", rss("g"))
        d.subscribe(other)
        self.wait(lambda: (d.record(other) or {}).get("last_success"), what="the other feed", daemon=d)
        d.wait_idle()

        def show(*titles):
            self.o.set("/g.xml", Reply(200, rss(*titles, head=self.c.element()), Link=(
                '<%s>; rel="hub", <%s>; rel="self"' % (hub.url(), self.u))))
        show("c", "b", "old")
        self.o.set("/f.xml", moved(other))
        self.assertEqual(200, self.c.notify(r)[0])
        self.wait(lambda: d.record(self.u) is None, what="the merge", daemon=d)
        d.wait_idle()
        self.assertEqual(hub.url(), d.record(other)["hub"])
        for n in range(2):                              # also after a restart
            show("news %d" % n, "c")
            self.assertEqual(200, self.c.notify(r)[0])
            self.wait(lambda: "news %d" % n in {e["title"] for e in d.feed(other).json["entries"]},
                      what="the news", daemon=d)
            d.kill()
            d.start()
        hub.verify(hub.subscribers()[-1])
        self.wait(lambda: self.c.notify(r)[0] in (404, 410), what="the end of the cloud", daemon=d)

    # ---- leases ----
    def test_it_renews_before_the_lease_ends(self):
        """CLOUD-07: the renewal is due after 16 hours and 40 minutes, at the same handler. (The database
        is told that this time has come.)"""
        d, first = self.following()
        d.stop()
        (due, ends), = d.sql("SELECT next_at, lease_end_at FROM upstreams")
        self.assertEqual((30000, True), (int(ends) - int(due), abs(int(ends) - time.time() - 90000) < HUNG * PATIENCE))
        d.sql("UPDATE upstreams SET next_at = %d, lease_end_at = %d" % (time.time(), time.time() + 30000))
        d.start()
        second = self.registered(2, daemon=d)
        self.assertEqual(first.handler, second.handler)
        self.assertEqual(200, self.c.notify(second)[0])

    def test_a_registration_outlives_kill(self):
        """CLOUD-07"""
        d, r = self.following()
        d.kill()
        d.start()
        self.show("new", "old")
        self.assertEqual(200, self.c.notify(r)[0])
        self.wait(lambda: "new" in self.titles(d), what="the news", daemon=d)
        self.assertEqual(1, len(self.c.registrations))

    def test_nobody_wants_the_feed_any_more(self):
        """CLOUD-07: a cloud has no word for it: our handler is gone. When the feed is wanted again, there is another
        one."""
        self.show("old")
        d = self.daemon()
        sub = d.subscribe(self.u)
        first = self.registered(daemon=d)
        self.record(d, "active")
        self.assertEqual(204, d.call("DELETE", "/sub?id=%d" % sub).status)
        self.record(d, "idle")
        before = self.fetches()
        self.assertEqual(410, self.c.notify(first)[0])
        self.assertEqual(410, self.c.challenge(first, "c")[0])
        d.wait_idle()
        self.assertEqual(before, self.fetches())
        d.subscribe(self.u)
        second = self.registered(2, daemon=d)
        self.record(d, "active")
        self.assertNotEqual(first.handler, second.handler)
        self.assertEqual(404, self.c.notify(first)[0])
        self.assertEqual(200, self.c.notify(second)[0])

    def test_a_feed_that_leaves_its_cloud(self):
        """CLOUD-07"""
        d, r = self.following()
        self.o.set("/f.xml", rss("new", "old"))
        self.c.notify(r)
        self.wait(lambda: d.record(self.u)["hub"] is None, what="the end", daemon=d)
        self.assertEqual(404, self.c.notify(r)[0])

    # ---- clouds that fail ----
    def failed(self, *args, **element):
        self.show("old", **element)
        d = self.daemon(*args)
        d.subscribe(self.u)
        return d, self.record(d, "failed")["hub_error"]

    def test_a_cloud_that_refuses(self):
        """CLOUD-07: what it says is shown, without the token that it repeats."""
        self.c.says = lambda r: ('<notifyResult success="false" msg="No, %s, I don&apos;t know it."/>'
                                 % r.handler)
        d, error = self.failed()
        self.assertEqual("the cloud refused: No, %s/notify/..., I don't know it." % d.base, error)
        self.assertEqual("period", d.record(self.u)["next_reason"])
        self.assertNotIn(self.c.registrations[0].path.split("/")[-1],
                         d.text() + d.get("/sub?type=json").body.decode())

    def test_answers_that_are_none(self):
        """CLOUD-07"""
        d, bad = self.daemon("--allow-fetch", "127.0.0.0/8"), "did not say that it accepts"
        for n, (kw, words) in enumerate((
                ({"says": "hello"}, bad), ({"says": ""}, bad),
                ({"says": "<notifyResult success='true'/>", "status": 500}, "status 500"),
                ({"raw": b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n<notifyResult success='true'/>"},
                 "cannot be asked"),
                ({"raw": b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * (2 << 20)}, "cannot be asked"))):
            cloud = self.cloud(**kw)
            u = self.o.set("/%d.xml" % n, rss("a", head=cloud.element()))
            d.subscribe(u)
            self.wait(lambda: d.record(u)["hub_state"] == "failed", what=str(kw)[:99], daemon=d)
            self.assertIn(words, d.record(u)["hub_error"])

    def test_faults(self):
        """CLOUD-07"""
        self.c.says = xmlrpc.client.dumps(xmlrpc.client.Fault(4, "no such feed"))
        _, error = self.failed(protocol="xml-rpc")
        self.assertEqual("the cloud refused: no such feed", error)

    def test_redirects(self):
        """CLOUD-07: with 307 and 308 the same request goes on; others are refusals."""
        _, r = self.following(path="/moved307")
        self.assertEqual(self.u, r.url)
        _, error = self.failed(path="/moved301")
        self.assertIn("status 301", error)

    def test_a_cloud_that_hangs_or_is_gone(self):
        """CLOUD-07: nobody waits for it; it is tried again later."""
        self.c.raw = b""
        d, error = self.failed("--fetch-timeout", "300ms")
        self.assertIn("cannot be asked", error)
        self.marker(d)
        self.assertEqual({"old"}, self.titles(d))
        gone = self.cloud()
        gone.close()
        u = self.o.set("/gone.xml", rss("a", head=gone.element()))
        d.subscribe(u)
        self.wait(lambda: d.record(u)["hub_state"] == "failed", what="the failure", daemon=d)
        self.assertIn("cannot be asked", d.record(u)["hub_error"])

    def test_clouds_pass_the_guard(self):
        """CLOUD-07"""
        d, error = self.failed("--base-url", "http://feeds.example", domain="10.1.2.3", port=80)
        self.assertIn("cannot be asked", error)
        self.assertEqual([], self.c.registrations)

    def test_where_the_cloud_can_reach_us(self):
        """CLOUD-07: by --base-url; https means port 443. Without it, only clouds on this machine are
        asked."""
        for n, (url, handler) in enumerate((
                ("http://feeds.example/mill/", "http://feeds.example:80/mill/notify/"),
                ("https://feeds.example", "http://feeds.example:443/notify/"))):
            self.c.proves = None
            self.show("old")
            self.daemon("--base-url", url).subscribe(self.u)
            self.assertTrue(self.registered(n + 1).handler.startswith(handler))
        for args, element in ((("--base-url", "https://feeds.example:8443"), {}),
                              ((), {"domain": "192.0.2.1"})):
            self.show("old", **element)
            d = self.daemon(*args)
            d.subscribe(self.u)
            d.wait_idle()
            self.record(d, "idle")
            self.assertEqual(0, d.counter("upstream_requests_total"))

    # ---- strangers, and clouds that lie ----
    def test_strangers_wake_nobody(self):
        """CLOUD-07: the handler's path is a secret of the cloud, and belongs to one feed."""
        d, r = self.following()
        before = self.fetches()
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        body = urllib.parse.urlencode({"url": self.u})
        for path in ("/notify", "/notify/", "/notify/" + "a" * 40, "/notify/" + "a" * 999,
                     "/websub/" + r.path.split("/")[-1]):
            self.assertNotEqual(200, d.call("POST", path, body, form).status, path)
        self.assertEqual(404, self.c.notify(r, "http://127.0.0.1:1/other")[0])
        self.assertEqual(404, self.c.challenge(r, "c", "http://127.0.0.1:1/other")[0])
        self.assertEqual(404, d.get("/websub/%s?hub.mode=denied&hub.topic=%s" % (
            r.path.split("/")[-1], quote(self.u))).status)
        self.assertEqual(413, d.call("POST", r.path, b"x" * 70000, form).status)
        self.assertEqual(404, d.call("POST", r.path, "", form).status)
        fault = d.call("POST", r.path, "<methodCall>", {"Content-Type": "text/xml"})
        self.assertIn(b"<fault>", fault.body)
        d.wait_idle()
        self.assertEqual(before, self.fetches())
        self.assertEqual("active", d.record(self.u)["hub_state"])

    def test_a_challenge_needs_no_token_of_ours(self):
        """CLOUD-07"""
        self.show("old")
        d = self.daemon("--token", "t")
        auth = {"Authorization": "Bearer t", "Content-Type": "application/x-www-form-urlencoded"}
        self.assertEqual(201, d.call("POST", "/sub", "url=" + quote(self.u), auth).status)
        r = self.registered(daemon=d)
        self.assertEqual((200, b"x"), self.c.challenge(r, "x"))

    def test_a_flood_is_one_fetch_at_a_time(self):
        """CLOUD-07: notifications within --ping-gap are one, and a fetch is never doubled."""
        d, r = self.following("--ping-gap", "60s")
        before = self.fetches()
        threads = [threading.Thread(target=lambda: [self.c.notify(r) for _ in range(50)])
                   for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        d.wait_metric("upstream_notifications_total", 200)
        self.assertLessEqual(self.fetches() - before, 1)
        self.assertEqual(1, self.o.open_most["/f.xml"])

    # ---- trust ----
    def test_news_that_were_announced_earn_trust(self):
        """CLOUD-07: the feed is polled less, at once. (No poll may find the news before they are announced.)"""
        def pace(url):
            last, following = (datetime.datetime.fromisoformat(d.record(url)[name].replace("Z", "+00:00"))
                               for name in ("last_check", "next_check"))
            return (following - last).total_seconds() / 3600
        d, r = self.following("--level2-period", "1h", "--hub-backup-period", "4h", freq=2)
        self.show("new", "old")
        self.c.notify(r)
        self.wait(lambda: d.record(self.u)["next_reason"] == "hub", what="the slow pace", daemon=d)
        self.assertIn("new", self.titles(d))
        self.assertFalse(d.record(self.u)["hub_missed"])
        self.assertAlmostEqual(4, pace(self.u), delta=0.2)
        other = self.o.set("/other.xml", rss("a"))             # without a cloud: at the usual pace
        d.subscribe(other, freq=2)
        d.wait_idle()
        self.assertAlmostEqual(1, pace(other), delta=0.2)

    def test_a_cloud_that_told_nothing_is_not_trusted(self):
        """CLOUD-07: nor do announcements without news bring trust back; those with news do."""
        d, r = self.following("--level2-period", "1s", "--hub-backup-period", "1h", freq=2)
        self.show("missed", "old")
        self.wait(lambda: "missed" in self.titles(d), what="the update", daemon=d)
        self.wait(lambda: d.record(self.u)["hub_missed"], what="the loss", daemon=d)
        before = self.fetches()
        self.c.notify(r)
        self.wait(lambda: self.fetches() >= before + 3, what="polls", daemon=d)
        self.assertEqual((True, "period"), (d.record(self.u)["hub_missed"],
                                            d.record(self.u)["next_reason"]))

    # ---- one Feedmill behind another ----
    def test_a_feedmill_behind_the_cloud_of_another(self):
        """CLOUD-07: each is the other's cloud, too: a loop comes to rest."""
        u = self.o.set("/f.xml", rss("a"))
        first, second = self.daemon("--hub=no"), self.daemon("--hub=no")
        self.u = first.base + "/feed?type=rss&url=" + quote(u)
        second.subscribe(self.u)
        shown = self.record(second, "active")
        self.assertEqual(("rsscloud", first.base + "/pleaseNotify"),
                         (shown["hub_protocol"], shown["hub"]))
        loop = second.base + "/feed?type=rss&url=" + quote(self.u)
        first.subscribe(loop)
        self.wait(lambda: first.record(loop)["hub_state"] == "active", what="the loop", daemon=first)
        self.o.set("/f.xml", rss("b", "a"))
        first.ping(u)
        self.wait(lambda: self.titles(second) == {"a", "b"}, what="the news", daemon=second)
        self.wait(lambda: {"a", "b"} == {e["title"] for e in first.feed(loop).json["entries"]},
                  what="the news, come back", daemon=first)
        for d in (first, second, first):
            d.wait_idle()
        self.assertEqual((1, 1), (first.counter("upstream_notifications_total"),
                                  second.counter("upstream_notifications_total")))
