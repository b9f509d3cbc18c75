"""rssCloud: registrations at our cloud (CLOUD-01..06, 08), and the cloud of our RSS (RSS-13)."""
import socket
import urllib.parse
import xml.etree.ElementTree as tree
import xmlrpc.client

from .env.case import Case
from .env.cloud_handler import CloudHandler
from .env.daemon import quote
from .env.origin import rss

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
        self.h.delay = 3
        self.refused("did not answer")
        self.refused("did not answer", domain=None)
        self.assertEqual([], self.subs())


class Ends(Cloud):
    options = ("--cloud-lease", "5s")

    def test_a_registration_expires(self):
        """CLOUD-06: with a length of 5 s instead of 25 h."""
        self.registered()
        self.wait(lambda: not self.subs(), what="the end", daemon=self.d)
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
