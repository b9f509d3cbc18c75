"""The daemon as a ping server and its XML-RPC side: PING-*, XRPC-*."""
import time
import xml.etree.ElementTree as tree
import xmlrpc.client

from .env.case import Case
from .env.daemon import PATIENCE, quote
from .env.origin import Reply, rss


def call(method, *params):
    return xmlrpc.client.dumps(params, method).encode()


class Ping(Case):
    def setUp(self):
        self.o, self.d = self.origin(), self.daemon()
        self.u = self.o.set("/f.xml", rss("a"))
        self.d.subscribe(self.u)
        self.d.wait_idle()
        self.rpc = xmlrpc.client.ServerProxy(self.d.base + "/RPC2")
        self.addCleanup(self.rpc("close"))

    def fetched(self, n):
        self.d.wait_idle()
        self.assertEqual(n, len(self.o.seen("/f.xml")))

    def post(self, body, kind="text/xml"):
        return self.d.call("POST", "/RPC2", body, {"Content-Type": kind})

    def test_ping(self):                                                 # PING-01
        answer = self.rpc.weblogUpdates.ping("A feed", self.u)
        self.assertIs(False, answer["flerror"])
        self.assertIsInstance(answer["message"], str)
        self.fetched(2)
        self.rpc.weblogUpdates.ping("A feed", "http://site.example/", self.u, "cat")
        self.fetched(3)

    def test_changesurl_counts(self):                                    # PING-01
        self.rpc.weblogUpdates.ping("A feed", "http://elsewhere.example/", self.u)
        self.fetched(2)

    def test_long_names_are_counted_in_characters(self):                 # PING-04
        self.assertIs(False, self.rpc.weblogUpdates.ping("☃" * 1024, self.u)["flerror"])
        self.assertIs(True, self.rpc.weblogUpdates.ping("☃" * 1025, self.u)["flerror"])

    def test_extended_ping(self):                                        # PING-02 PING-03
        answer = self.rpc.weblogUpdates.extendedPing("n", "http://x.example/", "", self.u, "a|b")
        self.assertIs(False, answer["flerror"])
        self.fetched(2)
        self.rpc.weblogUpdates.extendedPing("n", "http://x.example/", "http://x.example/c", self.u)
        self.fetched(3)

    def test_bad_pings(self):                                            # PING-04
        for name, url in (("n", "not a url"), ("n" * 1025, self.u), ("n", "http://h/" + "x" * 250)):
            answer = self.rpc.weblogUpdates.ping(name, url)
            self.assertIs(True, answer["flerror"], (name[:20], url[:40]))
            self.assertTrue(answer["message"])

    def test_an_unknown_url_makes_no_feed(self):                         # PING-05
        u = self.o.set("/other.xml", rss("b"))
        self.assertIs(False, self.rpc.weblogUpdates.ping("n", u)["flerror"])
        self.rpc.weblogUpdates.ping("n", self.u)                          # one that is known
        self.d.wait_idle()
        self.assertEqual((2, 0), (len(self.o.seen("/f.xml")), len(self.o.seen("/other.xml"))))
        self.assertIsNone(self.d.record(u))

    def test_changes(self):                                              # PING-06
        self.rpc.weblogUpdates.ping("first <&>", "http://one.example/")
        self.next_second()
        self.rpc.weblogUpdates.ping("second", self.u)
        answer = self.d.get("/changes.xml")
        root = tree.fromstring(answer.body)
        self.assertEqual("weblogUpdates", root.tag)
        self.assertEqual("2", root.get("count"))
        self.assertTrue(root.get("version") and root.get("updated"))
        rows = [(w.get("name"), w.get("url")) for w in root]
        self.assertEqual([("second", self.u), ("first <&>", "http://one.example/")], rows)
        self.assertLess(int(root[0].get("when")), int(root[1].get("when")) + 1)

    def test_own_updates_are_announced(self):                            # PING-10
        def pings(receiver):
            return [xmlrpc.client.loads(raw) for raw in list(receiver.raw)]

        plain, refusing = self.receiver(), self.receiver(script=[500])
        d = self.daemon("--announce", plain.url, "--announce", refusing.url)
        u = self.o.set("/a.xml", rss("one", title="A & B"))
        d.subscribe(u)
        secret = self.o.set("/s.xml", Reply(200, rss("one"), auth=("Basic", "u", "p")))
        secret = secret.replace("//", "//u:p@")
        d.subscribe(secret)
        d.wait_idle()
        d.ping(u)                                                        # nothing new
        d.wait_idle()
        self.assertEqual([], plain.raw)                                  # nor is what was there at first
        self.o.set("/s.xml", Reply(200, rss("two", "one"), auth=("Basic", "u", "p")))
        d.ping(self.o.url("/s.xml"))
        d.wait_idle()
        self.assertEqual(3, d.counter("entries_new_total"))
        self.o.set("/a.xml", rss("two", "one", title="A & B"))
        d.ping(u)
        d.wait_idle()
        self.assertEqual(2, d.counter("announcements_total"))
        self.assertEqual([(("A & B", u), "weblogUpdates.ping")], pings(plain))
        self.assertEqual(2, d.counter("announcements_failed_total"))     # the plain one knows no such method
        self.assertEqual("text/xml", plain.fields[0]["Content-Type"])

    def test_announcements_name_our_public_address(self):                # PING-10
        other = self.daemon()
        d = self.daemon("--announce", other.base + "/RPC2", "--base-url", "http://feeds.example/")
        u = self.o.set("/a.xml", rss("one"))
        d.feed(u)
        other.subscribe(u)
        other.wait_idle()
        self.o.set("/a.xml", rss("two", "one"))
        d.ping(u)
        self.wait(lambda: other.record(u)["level"] == 0, daemon=d)       # it knows the feed itself
        self.assertEqual("http://feeds.example/feed?url=" + quote(u),
                         tree.fromstring(other.get("/changes.xml").body)[0].get("url"))
        d.wait_idle()
        self.assertEqual(0, d.counter("announcements_failed_total"))

    def test_the_validator_suite(self):                                  # XRPC-09
        with self.assertRaises(xmlrpc.client.Fault):                     # a switch opens it
            self.rpc.validator1.easyStructTest({"moe": 1, "larry": 2, "curly": 3})
        d = self.daemon("--rpc-validator")
        stooges = {"moe": 1, "larry": 20, "curly": 300}
        with xmlrpc.client.ServerProxy(d.base + "/RPC2") as proxy:
            v = proxy.validator1
            self.assertEqual(600, v.arrayOfStructsTest([stooges, stooges]))
            self.assertEqual({"ctLeftAngleBrackets": 2, "ctRightAngleBrackets": 1, "ctAmpersands": 3, "ctApostrophes": 4,
                              "ctQuotes": 5}, v.countTheEntities("<<>&&&" + "'" * 4 + '"' * 5 + "\u2603 x"))
            self.assertEqual(321, v.easyStructTest(stooges))
            self.assertEqual({"a": {"b": ["c", 1, True]}, "d": ""}, v.echoStructTest({"a": {"b": ["c", 1, True]}, "d": ""}))
            many = [7, True, "text \u2603 \U0001F600", 1.5, xmlrpc.client.DateTime("19980717T14:08:55"),
                    xmlrpc.client.Binary(bytes(range(256)))]
            self.assertEqual(many, v.manyTypesTest(*many))
            self.assertEqual("firstlast", v.moderateSizeArrayCheck(["first"] + ["x"] * 120 + ["last"]))
            self.assertEqual(321, v.nestedStructTest({"2000": {"04": {"01": stooges, "02": {}}, "05": {}}}))
            self.assertEqual({"times10": 70, "times100": 700, "times1000": 7000}, v.simpleStructReturnTest(7))
            for name, wrong in (("easyStructTest", {"moe": 1}), ("arrayOfStructsTest", [1]), ("countTheEntities", 1),
                                ("moderateSizeArrayCheck", []), ("nestedStructTest", {}), ("simpleStructReturnTest", "7"),
                                ("echoStructTest", "x")):
                with self.assertRaises(xmlrpc.client.Fault, msg=name):
                    getattr(v, name)(wrong)

    def test_rest_ping(self):                                            # PING-08
        self.assertEqual(200, self.d.get("/ping?name=x&url=" + quote(self.u)).status)
        self.fetched(2)

    def test_rate_limit(self):                                           # PING-09
        d, refused = self.daemon("--ping-rate", "1"), 0
        for _ in range(400):
            answer = d.call("POST", "/RPC2", call("weblogUpdates.ping", "n", "http://x.example/"),
                            {"Content-Type": "text/xml"})
            refused += answer.status == 429 or b"<boolean>1" in answer.body
        self.assertTrue(50 <= refused <= 280, refused)                   # 120 at once, then one a second

    def test_form_of_answers(self):                                      # XRPC-01 XRPC-02 XRPC-06
        answer = self.post(call("weblogUpdates.ping", "n", self.u))
        self.assertEqual(200, answer.status)
        self.assertTrue(answer.header("Content-Type").startswith("text/xml"))
        self.assertEqual(len(answer.body), int(answer.header("Content-Length")))
        with self.assertRaises(xmlrpc.client.Fault) as fault:
            self.rpc.no.such()
        self.assertIsInstance(fault.exception.faultCode, int)
        self.assertTrue(fault.exception.faultString)
        answer = self.d.get("/RPC2")
        self.assertEqual((405, "POST"), (answer.status, answer.header("Allow")))

    def test_bad_calls(self):                                            # XRPC-03 XRPC-04
        body = call("weblogUpdates.ping", "n", self.u)
        answer = self.post(body[:-30])
        self.assertTrue(answer.status == 400 or b"<fault>" in answer.body)
        for params in ((), (1, 2), ("n",), ([], {})):
            self.assertIn(b"<fault>", self.post(call("weblogUpdates.ping", *params)).body, params)

    def test_types_and_encodings(self):                                  # XRPC-05 XRPC-07
        body = ("<?xml version='1.0' encoding='ISO-8859-1'?><methodCall><methodName>weblogUpdates.ping"
                "</methodName><params><param><value>caf\xe9 &#9829; &#x1F600;</value></param><param>"
                "<value>%s</value></param></params></methodCall>" % self.u).encode("latin-1")
        self.assertIn(b"<boolean>0", self.post(body).body)
        self.assertEqual("café ♥ \U0001F600",
                         tree.fromstring(self.d.get("/changes.xml").body)[0].get("name"))

    def test_entity_bombs(self):                                         # XRPC-08
        bomb = ('<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">' + "".join(
            '<!ENTITY %s "%s">' % (chr(98 + n), ("&%s;" % chr(97 + n)) * 10) for n in range(9)) +
            "]><methodCall><methodName>&j;</methodName></methodCall>")
        began = time.monotonic()
        answer = self.post(bomb.encode())
        self.assertLess(time.monotonic() - began, 3 * PATIENCE)
        self.assertTrue(answer.status == 400 or b"<fault>" in answer.body)
        deep = b"<methodCall><methodName>x</methodName><params><param>" + b"<value><array><data>" * 5000
        answer = self.post(deep)
        self.assertTrue(answer.status >= 400 or b"<fault>" in answer.body)
        self.assertEqual(413, self.post(b"x" * (1 << 20)).status)

    def test_list_methods(self):                                         # XRPC-10
        self.assertIn("weblogUpdates.ping", self.rpc.system.listMethods())
