"""Smart Feeds over XMPP, with a real server (prosody) and a client that knows nothing of Feedmill
(slixmpp): requirements XMPP-00..18."""
import os
import socket
import unittest
import xml.etree.ElementTree as tree

from .env import xmpp
from .env.case import Case
from .env.daemon import quote
from .env.origin import rss
from .env.publisher import Publisher
from .env.xmpp import ATOM, COMPONENT, error_of

DISCO = "{http://jabber.org/protocol/disco#info}"
FO = "{http://fanout.org/protocol/atom}"


@unittest.skipUnless(xmpp.is_there() or os.environ.get("FEEDMILL_ALL"), "prosody, slixmpp")
class Xmpp(Case):
    def setUp(self):
        self.server = xmpp.Prosody()
        self.addCleanup(self.server.close)
        self.o = self.origin()
        self.d = self.daemon(*self.server.args(), *self.options(), env=self.server.env())
        self.p = Publisher(self.o)
        self.d.wait_log("event=connected")
        self.alice = self.server.client()

    def options(self):
        return []

    def fill(self, n, start=0):
        for i in range(start, start + n):
            self.p.put("e%d" % i, "t%d" % i)
        self.sync()

    def sync(self):
        self.p.sync(self)

    def node(self, **params):
        return "smart?url=" + quote(self.p.url) + "".join(
            "&%s=%s" % (k, quote(str(v))) for k, v in params.items())

    def http(self, **params):
        answer = self.d.get("/smart/?url=" + quote(self.p.url) + "".join(
            "&%s=%s" % (k, quote(str(v))) for k, v in dict(params, timeout=0).items()))
        self.assertEqual(200, answer.status, answer.body)
        return answer.json


class Pull(Xmpp):
    def test_what_the_service_can_do(self):                                            # XMPP-01
        query = self.alice.ask("get", "<query xmlns='http://jabber.org/protocol/disco#info'/>")[0]
        identities = [(i.get("category"), i.get("type")) for i in query.findall(DISCO + "identity")]
        self.assertEqual([("pubsub", "service")], identities)
        features = {f.get("var") for f in query.findall(DISCO + "feature")}
        self.assertLessEqual({"http://jabber.org/protocol/pubsub", "http://jabber.org/protocol/rsm",
                              "http://jabber.org/protocol/disco#info"}, features)
        items = "http://jabber.org/protocol/disco#items"
        self.assertEqual([], list(self.alice.ask("get", "<query xmlns='%s'/>" % items)[0]))
        leaf = self.alice.ask("get", "<query xmlns='%s' node='%s'/>" % (
            DISCO[1:-1], self.node().replace("&", "&amp;")))[0]
        self.assertEqual("leaf", leaf.find(DISCO + "identity").get("type"))
        self.assertEqual(["item-not-found"], error_of(self.alice.ask(
            "get", "<query xmlns='%s' node='nonexistent'/>" % DISCO[1:-1])))
        self.assertEqual("result", self.alice.ask("get", "<ping xmlns='urn:xmpp:ping'/>").get("type"))

    def test_pages(self):                                  # XMPP-02 XMPP-03 XMPP-04 XMPP-05 XMPP-09
        self.fill(120)
        page = self.alice.items(self.node(order="modified"), max=50)
        over = self.http(max=50)
        self.assertEqual(self.node(order="modified"), page.list.get("node"))
        self.assertEqual([i["id"] for i in over["items"]], page.ids)
        self.assertEqual((0, 120, "cursor:" + over["last_cursor"]),
                         (page.index, page.count, page.last))
        for item in page.items:
            entry, = item
            self.assertEqual(ATOM + "entry", entry.tag)
            self.assertEqual(item.get("id"), entry.findtext(ATOM + "id"))
            self.assertEqual(item.get("id"), entry.findtext(FO + "id"))
            self.assertEqual("P", entry.findtext(ATOM + "source/" + ATOM + "title"))
        seen = page.ids
        page = self.alice.items(self.node(order="modified"), max=50, after=page.last)
        self.assertEqual(50, page.index)
        seen += page.ids
        page = self.alice.items(self.node(order="modified"), max=50, after=page.last)
        self.assertEqual((100, 20), (page.index, len(page.ids)))
        seen += page.ids
        self.assertEqual([i["id"] for i in self.http(max=1000)["items"]], seen)
        last = page.last
        page = self.alice.items(self.node(order="modified"), max=50, after=last)
        self.assertEqual((None, None, None, 120, []),
                         (page.first, page.last, page.index, page.count, page.ids))
        page = self.alice.items(self.node(order="modified"), max=0)
        self.assertEqual((120, [], None), (page.count, page.ids, page.first))
        self.assertEqual(50, len(self.alice.items(self.node()).ids))

    def test_positions(self):                                       # XMPP-06 XMPP-07 XMPP-08
        self.fill(9)
        self.next_second()
        self.fill(1, 9)
        every = self.http(max=100)["items"]
        ids = [i["id"] for i in every]
        fifth = self.alice.items(self.node(), max=5).last
        self.assertEqual(ids[:4], self.alice.items(self.node(), before=fifth).ids)
        self.assertEqual(ids[:2], self.alice.items(self.node(), before=fifth, max=2).ids)
        first = self.alice.items(self.node(), max=1).last
        self.assertEqual(ids[1:4], self.alice.items(self.node(), after=first, before=fifth).ids)
        page = self.alice.items(self.node(), max=1, before="")
        self.assertEqual((ids[-1:], 9), (page.ids, page.index))
        self.assertEqual("cursor:" + self.http(order="-modified", max=1)["last_cursor"], page.last)
        page = self.alice.items(self.node(), max=3, before="")
        self.assertEqual((ids[-3:], 7), (page.ids, page.index))
        self.assertEqual(ids[5:][-2:], self.alice.items(self.node(), max=2, after=fifth, before="").ids)
        self.assertEqual(ids[-1:], self.alice.items(self.node(), after="time:" + every[-1]["updated"]).ids)
        self.assertEqual(ids, self.alice.items(self.node(), after="time:0").ids)
        down = self.alice.items(self.node(order="-created"), max=4)
        self.assertEqual((ids[::-1][:4], 0), (down.ids, down.index))
        down = self.alice.items(self.node(order="-created"), max=4, after=down.last)
        self.assertEqual((ids[::-1][4:8], 4), (down.ids, down.index))
        page = xmpp.Page(self.alice.ask("get", self.alice.items_payload(self.node()).replace(
            "/></pubsub>", " max_items='2'/></pubsub>")))
        self.assertEqual(ids[-2:], page.ids)
        for wrong in ("cursor:zz", "foo:1", "nocolon"):
            self.assertEqual(["item-not-found"], error_of(self.alice.ask(
                "get", self.alice.items_payload(self.node(), after=wrong))))
        for wrong in ("-1", "x"):
            self.assertEqual(["bad-request"], error_of(self.alice.ask(
                "get", self.alice.items_payload(self.node(), max=wrong))))

    def test_parameters_of_a_node(self):                            # XMPP-02 XMPP-06 XMPP-07
        """They mean what they mean at /smart. What the request says goes before what the name says."""
        self.fill(9)
        ids = [i["id"] for i in self.http()["items"]]
        third, sixth = ("cursor:" + self.http(max=n)["last_cursor"] for n in (3, 6))
        for params in ({"max": 2}, {"since": third}, {"until": sixth}, {"since": third, "until": sixth},
                       {"since": third, "max": 1}, {"since": "time:0", "max": 4},
                       {"since": third, "order": "-created"}, {"order": "-modified", "max": 3}):
            self.assertEqual([i["id"] for i in self.http(**params)["items"]],
                             self.alice.items(self.node(**params)).ids, params)
        node = self.node(since=third, until=sixth, max=1)
        page = self.alice.items(node)
        self.assertEqual(ids[3:4], page.ids)
        self.assertEqual(ids[4:5], self.alice.items(node, after=page.last).ids)
        self.assertEqual(ids[3:5], self.alice.items(node, max=9).ids)
        self.assertEqual(ids[:3], self.alice.items(node, after="time:0", max=3).ids)
        self.assertEqual(ids[4:5], self.alice.items(node, before="").ids)
        self.assertEqual([], self.alice.items(node, max=0).ids)
        for wrong in ({"max": 0}, {"max": "x"}, {"since": "foo:1"}, {"until": "nocolon"}):
            self.assertEqual(["item-not-found"], error_of(self.alice.ask(
                "get", self.alice.items_payload(self.node(**wrong)))), wrong)

    def test_a_node_with_a_filter(self):                                              # D53 VIEW-09
        self.fill(4)
        self.p.put("e1", "red")
        self.sync()
        page = self.alice.items(self.node(q="red"))
        self.assertEqual([i["id"] for i in self.http(q="red")["items"]], page.ids)
        self.assertEqual((1, None), (len(page.ids), page.count))     # the number of those that match is not known
        self.p.put("e1", "blue")
        self.sync()
        page = self.alice.items(self.node(q="red"), after=page.last)
        self.assertEqual([i["id"] for i in self.http(q="red")["items"]], page.ids)
        self.assertEqual(["item-not-found"], error_of(self.alice.ask("get", self.alice.items_payload(self.node(q='"red')))))

    def test_a_subscription_to_a_node_with_a_filter(self):                            # VIEW-10 D53 XMPP-12
        self.fill(2)
        for order in ("modified", "created"):
            self.alice.subscribe(self.node(q="red", order=order))
        for told, change in ((1, (("e1", "red"), ("e0", "blue"))), (3, (("e2", "red"), ("e3", "blue"))), (4, (("e1", "blue"),)),
                             (5, (("e2", "red"),))):
            for name, text in change:
                self.p.put(name, text)
            self.sync()
            self.alice.wait_pushes(told, daemon=self.d)                  # else one message may tell of two changes
        self.p.delete("e2")
        self.p.delete("e3")
        self.sync()
        pushes = self.alice.wait_pushes(5 + 1, daemon=self.d)
        self.d.wait_idle()
        told = {order: [(i.get("id")[-2:], i.find(ATOM + "entry").findtext(FO + "deleted") == "true")
                        for p in pushes if p.node == self.node(q="red", order=order) for i in p.items]
                for order in ("modified", "created")}
        self.assertEqual({"modified": [("e1", False), ("e2", False), ("e1", True), ("e2", False), ("e2", True)],
                          "created": [("e2", False)]}, told)
        self.assertNotIn("TotalItems", pushes[0].headers)

    def test_a_name_that_is_too_long(self):                                            # XMPP-10
        answer = self.alice.ask("get", self.alice.items_payload(self.node(x="y" * 8192)))
        self.assertEqual(["item-not-found"], error_of(answer))
        self.assertIn("more than 8192 bytes", "".join(answer.itertext()))

    def test_nodes_that_do_not_exist(self):                                            # XMPP-10
        for node in ("nonexistent", "smart", "smart?order=created", "smart?url=" + quote("mailto:a@b"),
                     self.node(order="sideways"), "feed?url=" + quote(self.p.url)):
            self.assertEqual(["item-not-found"], error_of(self.alice.ask(
                "get", self.alice.items_payload(node))), node)
        self.assertEqual(["bad-request", "nodeid-required"], error_of(self.alice.ask(
            "get", "<pubsub xmlns='http://jabber.org/protocol/pubsub'><items/></pubsub>")))
        page = self.o.set("/page.html", "<html><p>no feed</p></html>", Content_Type="text/html")
        self.assertEqual(["item-not-found"], error_of(self.alice.ask("get", self.alice.items_payload(
            "smart?url=" + quote(page)))))

    def test_an_unknown_feed_is_fetched_first(self):
        self.p.put("e", "t")
        self.p.publish()
        self.assertEqual(["urn:pub:p:e"], self.alice.items(self.node()).ids)
        self.assertEqual(["forbidden"], error_of(self.alice.ask(
            "get", self.alice.items_payload("smart?url=" + quote("http://10.1.2.3/")))))

    def test_what_is_not_offered(self):                                                # XMPP-16
        for type in ("get", "set"):
            self.assertEqual(["service-unavailable"], error_of(self.alice.ask(
                type, "<q xmlns='urn:example:unknown'/>")))
        self.assertEqual(["service-unavailable"], error_of(self.alice.ask(
            "get", self.alice.items_payload(self.node()), to="somebody@" + COMPONENT)))
        self.assertEqual("feature-not-implemented", error_of(self.alice.ask(
            "set", "<pubsub xmlns='http://jabber.org/protocol/pubsub'><create node='x'/></pubsub>"))[0])

    def test_an_answer_fits_into_a_stanza(self):                                       # XMPP-18
        for i in range(50):
            self.p.put("e%d" % i, "t%d " % i + "x" * 20000)
        self.p.put("huge", "h" * 300000)
        self.sync()
        seen, after, indexes = [], {}, []
        while True:
            page = self.alice.items(self.node(), max=50, **after)
            self.assertLess(page.size, 200 * 1024)
            if not page.ids:
                break
            self.assertEqual(len(seen), page.index)
            self.assertEqual(51, page.count)
            seen += page.ids
            after = {"after": page.last}
        self.assertEqual(51, len(set(seen)))
        self.assertEqual([i["id"] for i in self.http(max=1000)["items"]], seen)
        page = self.alice.items(self.node(), max=50, before="")
        self.assertEqual(seen[-len(page.ids):], page.ids)
        self.assertEqual(51 - len(page.ids), page.index)
        self.assertLess(page.size, 200 * 1024)
        huge, = [i for i in page.items if i.get("id") == "urn:pub:p:huge"]
        self.assertEqual("http://p.example/huge", huge.find(ATOM + "entry/" + ATOM + "link").get("href"))

    def test_deleted_items(self):
        self.fill(3)
        self.p.delete("e1")
        self.sync()
        page = self.alice.items(self.node())
        self.assertEqual(("urn:pub:p:e1", 3), (page.ids[-1], page.count))
        self.assertEqual("true", page.items[-1].find(ATOM + "entry").findtext(FO + "deleted"))


class Push(Xmpp):
    def subs(self):
        return [s for s in self.d.get("/sub?type=json").json["subscriptions"] if s["sink"] == "xmpp"]

    def newest(self):
        return self.http(order="-modified", max=1)["last_cursor"]

    def test_subscribe_and_be_told(self):                        # XMPP-11 XMPP-12 XMPP-13 DELIV-10
        self.fill(3)
        before = self.newest()
        told = self.alice.subscribe(self.node(order="modified"))
        self.assertEqual(("subscribed", self.node(order="modified"), self.alice.jid),
                         (told.get("subscription"), told.get("node"), told.get("jid")))
        sub, = self.subs()
        self.assertEqual((told.get("subid"), "xmpp:alice@localhost/one", "active"),
                         (str(sub["id"]), sub["endpoint"], sub["state"]))
        self.fill(2, 3)
        push, = self.alice.wait_pushes(1, daemon=self.d)
        self.assertEqual(("headline", COMPONENT, self.alice.jid),
                         tuple(push.message.get(k) for k in ("type", "from", "to")))
        self.assertEqual((self.node(order="modified"), ["urn:pub:p:e3", "urn:pub:p:e4"], ["t3", "t4"]),
                         (push.node, push.ids, push.titles))
        self.assertEqual({"TotalItems": "5", "PreviousCursor": before, "LastCursor": self.newest()},
                         push.headers)
        for change in (lambda: self.p.put("e0", "edited"), lambda: self.p.delete("e1"),
                       lambda: self.p.put("e9", "t9")):
            change()
            self.sync()
        pushes = self.alice.wait_pushes(4, daemon=self.d)
        self.assertEqual([["urn:pub:p:e0"], ["urn:pub:p:e1"], ["urn:pub:p:e9"]],
                         [p.ids for p in pushes[1:]])
        for one, next in zip(pushes, pushes[1:]):
            self.assertEqual(one.headers["LastCursor"], next.headers["PreviousCursor"])
        self.assertEqual("true", pushes[2].items[0].find(ATOM + "entry").findtext(FO + "deleted"))
        self.d.wait_idle()
        log = self.d.get("/sub/log?id=%d" % sub["id"]).json["deliveries"]
        self.assertEqual(["delivered"] * 4, [one["verdict"] for one in log])
        self.assertEqual(pushes[3].headers["LastCursor"], log[0]["last_cursor"])
        self.assertEqual(0, self.subs()[0]["lag"])

    def test_subscribers_share_the_items(self):                         # XMPP-12 XMPP-13 DELIV-01
        """The items are drawn once for all who get the same; the rest is of each subscriber."""
        self.fill(1)
        clients = [self.alice] + [self.server.client(resource="r%d" % i) for i in range(3)]
        for k, client in enumerate(clients):
            client.subscribe(self.node(order="modified" if k < 2 else "created"))
        before = self.d.counter("xmpp_drawn_total")
        self.fill(2, 1)
        pushes = [client.wait_pushes(1, daemon=self.d)[0] for client in clients]
        self.d.wait_idle()
        self.assertEqual([["t1", "t2"]] * 4, [p.titles for p in pushes])
        self.assertEqual(1, len({str(p.headers) for p in pushes}), pushes)
        self.assertEqual((4, 4, 2), tuple(len(set(one)) for one in (
            [p.message.get("to") for p in pushes], [p.message.get("id") for p in pushes],
            [p.node for p in pushes])))
        self.assertEqual(1, self.d.counter("xmpp_drawn_total") - before)

    def test_subscribing_again_changes_nothing(self):
        self.fill(1)
        first = self.alice.subscribe(self.node())
        self.assertEqual(first.get("subid"), self.alice.subscribe(self.node()).get("subid"))
        other = self.alice.subscribe(self.node(order="created"))
        bare = self.alice.subscribe(self.node(), self.alice.bare)
        self.assertEqual(3, len({first.get("subid"), other.get("subid"), bare.get("subid")}))
        ids = [self.alice.start("set", "<pubsub xmlns='http://jabber.org/protocol/pubsub'><subscribe "
                                "node='%s&amp;n=1' jid='%s'/></pubsub>" % (self.node(), self.alice.jid))
               for _ in range(20)]
        self.assertEqual(1, len({tree.tostring(self.alice.answer(id)[0]) for id in ids}))
        self.assertEqual(4, len(self.subs()))

    def test_unsubscribe(self):                                                        # XMPP-14
        self.fill(1)
        self.alice.subscribe(self.node())
        self.assertEqual("result", self.alice.change("unsubscribe", self.node()).get("type"))
        self.assertEqual([], self.subs())
        self.fill(1, 1)
        self.d.wait_idle()
        self.assertEqual(0, self.d.counter("xmpp_messages_total"))
        self.assertEqual(["unexpected-request", "not-subscribed"],
                         error_of(self.alice.change("unsubscribe", self.node())))
        self.alice.subscribe(self.node())
        self.assertEqual(["not-acceptable", "invalid-subid"],
                         error_of(self.alice.change("unsubscribe", self.node(), more=" subid='77'")))

    def test_addresses_of_others(self):                                                # XMPP-15
        self.fill(1)
        for jid in ("bob@localhost/one", "alice@localhost.example", "localhost", "x",
                    "alice@localhost/"):
            for verb in ("subscribe", "unsubscribe"):
                self.assertEqual(["bad-request", "invalid-jid"],
                                 error_of(self.alice.change(verb, self.node(), jid)))
        self.assertEqual(["bad-request", "jid-required"], error_of(self.alice.ask(
            "set", "<pubsub xmlns='http://jabber.org/protocol/pubsub'><subscribe node='x'/></pubsub>")))
        self.assertEqual(["item-not-found"], error_of(self.alice.change("subscribe", "nonexistent")))
        self.assertEqual([], self.subs())

    def test_new_items_only(self):                                                     # XMPP-17
        self.fill(2)
        self.alice.subscribe(self.node(order="created"))
        self.p.put("e0", "edited")
        self.sync()
        self.fill(1, 2)
        push, = self.alice.wait_pushes(1, daemon=self.d)
        self.d.wait_idle()
        self.assertEqual((["urn:pub:p:e2"], 1), (push.ids, len(self.alice.pushes())))

    def test_subscriptions_outlive_a_restart(self):                                    # XMPP-17
        self.fill(1)
        self.alice.subscribe(self.node())
        self.d.stop()
        self.d.start()
        self.fill(1, 1)
        self.assertEqual(["urn:pub:p:e1"], self.alice.wait_pushes(1, daemon=self.d)[0].ids)

    def test_killed_daemon(self):                                                      # DELIV-01
        self.fill(1)
        self.alice.subscribe(self.node())
        self.server.pause()
        self.p.put("e1", "t1")
        self.sync()
        self.d.wait_metric("xmpp_messages_total", 1)       # it is with the server, which is silent
        self.d.kill()
        self.server.resume()
        self.d.start()
        self.fill(1, 2)
        pushes = self.alice.wait_pushes(2, daemon=self.d)
        told = [id for p in pushes for id in p.ids]
        self.wait(lambda: {"urn:pub:p:e1", "urn:pub:p:e2"} <= {
            id for p in self.alice.pushes() for id in p.ids}, daemon=self.d)
        last = {p.headers["LastCursor"]: p for p in self.alice.pushes()}
        for push in last.values():                           # a repeated message has the same id
            same = {p.message.get("id") for p in self.alice.pushes() if p.ids == push.ids}
            self.assertEqual(1, len(same), told)

    def test_the_server_is_away_for_a_while(self):                                     # DELIV-01
        self.fill(1)
        self.alice.subscribe(self.node())
        self.server.stop()
        self.wait(lambda: self.d.counter("xmpp_connected") == 0, daemon=self.d)
        self.fill(2, 1)
        self.d.wait_metric("push_failed_total", 1)
        self.server.start()
        self.d.wait_metric("push_entries_total", 2)
        self.d.wait_idle()
        self.assertEqual((0, "active"), (self.subs()[0]["lag"], self.subs()[0]["state"]))

    def test_a_receiver_that_was_offline(self):                        # XMPP-13 SMART-54 DELIV-10
        self.fill(2)
        self.alice.subscribe(self.node())
        mirror = set(self.alice.items(self.node()).ids)
        mine = self.alice.items(self.node(), max=1, before="").last
        self.alice.close()
        self.fill(2, 2)                           # the server drops these, as nobody is there
        self.d.wait_metric("push_entries_total", 2)
        alice = self.server.client()
        self.fill(1, 4)
        push, = alice.wait_pushes(1, daemon=self.d)
        self.assertNotEqual(mine, "cursor:" + push.headers["PreviousCursor"])
        page = alice.items(self.node(), after=mine)
        self.assertEqual({i["id"] for i in self.http(max=100)["items"]}, mirror | set(page.ids))
        self.assertEqual("cursor:" + push.headers["LastCursor"], page.last)

    def test_an_address_given_by_http(self):                                           # D55
        self.fill(1)
        id = self.d.subscribe(self.p.url, endpoint="XMPP:Alice@LOCALHOST/one")
        sub, = self.subs()
        self.assertEqual((id, "xmpp:alice@localhost/one"), (sub["id"], sub["endpoint"]))
        answer = self.d.call("POST", "/sub?id=%d&action=test" % id)
        self.assertEqual((200, None), (answer.status, answer.json["error"]))
        test, = self.alice.wait_pushes(1, daemon=self.d)
        self.assertEqual([], test.ids)
        self.fill(1, 1)
        push = self.alice.wait_pushes(2, daemon=self.d)[1]
        self.assertEqual((["urn:pub:p:e1"], "smart?url=" + quote(self.p.url)), (push.ids, push.node))
        self.assertEqual(200, self.d.call("POST", "/sub?id=%d&action=pause" % id).status)
        self.fill(1, 2)
        self.d.wait_idle()
        self.assertEqual(2, len(self.alice.pushes()))
        self.assertEqual(200, self.d.call("POST", "/sub?id=%d&action=resume" % id).status)
        self.assertEqual(["urn:pub:p:e2"], self.alice.wait_pushes(3, daemon=self.d)[2].ids)
        self.assertEqual(200, self.d.call("POST", "/sub?id=%d&action=replay&from=start" % id).status)
        self.wait(lambda: [i for p in self.alice.pushes()[3:] for i in p.ids] ==
                  ["urn:pub:p:e0", "urn:pub:p:e1", "urn:pub:p:e2"], daemon=self.d)
        for wrong in ("xmpp:", "xmpp://alice@localhost", "xmpp:a b@localhost", "xmpp:alice@localhost?message"):
            answer = self.d.call("POST", "/sub?url=%s&endpoint=%s" % (quote(self.p.url), quote(wrong)))
            self.assert_problem(answer, 400, "bad-parameter", parameter="endpoint")

    def test_an_error_for_an_answer(self):
        self.fill(1)
        id = self.d.subscribe(self.p.url, endpoint="xmpp:somebody@nowhere.invalid")
        self.fill(1, 1)
        self.d.wait_metric("push_failed_total", 1)
        self.d.wait_idle()
        note = self.d.get("/sub/log?id=%d" % id).json["deliveries"][-1]
        self.assertEqual("retry", note["verdict"])
        self.assertIn("the message was answered by an error", note["error"])

    def test_a_message_fits_into_a_stanza(self):                                       # XMPP-18
        self.fill(1)
        self.alice.subscribe(self.node())
        for i in range(40):
            self.p.put("x%d" % i, "t%d " % i + "x" * 15000)
        self.p.put("huge", "h" * 300000)
        self.sync()
        self.wait(lambda: sum(len(p.ids) for p in self.alice.pushes()) == 41, daemon=self.d)
        for one, next in zip(self.alice.pushes(), self.alice.pushes()[1:]):
            self.assertEqual(one.headers["LastCursor"], next.headers["PreviousCursor"])
        for push in self.alice.pushes():
            self.assertLess(len(tree.tostring(push.message)), 200 * 1024)


class WithoutServer(Case):
    def test_an_address_of_xmpp_is_refused(self):
        d = self.daemon()
        answer = d.call("POST", "/sub?url=http://a.example/&endpoint=xmpp:alice@localhost")
        self.assertIn("--xmpp-server", self.assert_problem(answer, 400, "bad-parameter")["detail"])


class Access(Xmpp):
    def options(self):
        return ["--token", "secret", "--xmpp-allow", "alice@localhost"]

    def test_who_may_ask(self):
        self.p.put("e", "t")
        self.p.publish()
        bob = self.server.client("bob")
        self.assertEqual(["forbidden"], error_of(bob.ask("get", bob.items_payload(self.node()))))
        self.assertEqual(["urn:pub:p:e"], self.alice.items(self.node()).ids)


class AccessByToken(Xmpp):
    def options(self):
        return ["--token", "secret"]

    def test_without_names_nobody_may(self):
        self.assertEqual(["forbidden"], error_of(self.alice.ask(
            "get", self.alice.items_payload(self.node()))))


class Late(Xmpp):
    def options(self):
        return ["--push-timeout", "1s"]

    def test_the_first_message_again(self):                                    # XMPP-13 DELIV-01
        self.fill(1)
        before = self.http(order="-modified", max=1)["last_cursor"]
        self.d.subscribe(self.o.set("/other.xml", rss("of another feed, the newest in the log")))
        self.d.wait_idle()
        self.alice.subscribe(self.node())
        self.server.pause()
        self.p.put("e1", "t1")
        self.sync()
        self.d.wait_metric("push_failed_total", 1)
        self.server.resume()
        pushes = self.alice.wait_pushes(2, daemon=self.d)
        self.assertEqual([(["urn:pub:p:e1"], before)] * 2,
                         [(p.ids, p.headers["PreviousCursor"]) for p in pushes])
        self.assertEqual(1, len({p.message.get("id") for p in pushes}))


class Connection(Xmpp):
    def test_the_server_restarts(self):                                                # XMPP-00
        self.fill(1)
        self.server.stop()
        self.wait(lambda: self.d.counter("xmpp_connected") == 0, daemon=self.d)
        self.server.start()
        self.d.wait_metric("xmpp_connected", 1, 30)
        self.assertEqual(["urn:pub:p:e0"], self.server.client().items(self.node()).ids)
        self.assertNotIn(xmpp.SECRET, self.d.text())

    def test_the_server_restarts_while_there_are_many_clients(self):    # select() knows 1,024 files
        self.fill(1)
        clients = []
        try:
            for _ in range(1200):
                clients.append(socket.create_connection(("127.0.0.1", self.d.port)))
            self.d.wait_metric("http_connections", 1200)
            for _ in range(3):
                self.server.stop()
                self.wait(lambda: self.d.counter("xmpp_connected") == 0, daemon=self.d)
                self.server.start()
                self.d.wait_metric("xmpp_connected", 1, 30)
            self.assertEqual(["urn:pub:p:e0"], self.server.client().items(self.node()).ids)
        finally:
            for client in clients:
                client.close()

    def test_many_requests_at_once(self):
        self.fill(3)
        ids = [self.alice.start("get", self.alice.items_payload(self.node())) for _ in range(1000)]
        for id in ids:
            self.alice.answer(id, daemon=self.d)
        self.assertEqual(1000, self.d.counter("xmpp_requests_total"))
        for i in range(300):                             # a stop in the middle of others
            self.alice.start("get", self.alice.items_payload(self.node()))
            self.alice.start("set", "<pubsub xmlns='http://jabber.org/protocol/pubsub'><subscribe "
                             "node='%s&amp;n=%d' jid='%s'/></pubsub>"
                             % (self.node(), i, self.alice.jid))
        self.d.wait_metric("xmpp_requests_total", 1010)
        self.assertEqual(0, self.d.stop())
