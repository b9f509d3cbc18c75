"""WebSub: publisher (PUBL-*) and hub (HUB-*), and the pushes of Smart Feeds (SMART-50..55)."""
import http.server
import json
import re
import threading
import time
import urllib.parse
import xml.etree.ElementTree as tree

from .env.case import Case
from .env.daemon import PATIENCE, quote
from .env.origin import Reply, atom, rss
from .env.publisher import Publisher
from .env.subscriber import ATOM, Mirror, Subscriber

FO = Mirror.FO
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


def link_field(answer):
    """rel -> URLs, of the one Link field."""
    fields = [v for k, v in answer.headers if k.lower() == "link"]
    assert len(fields) == 1, fields
    out = {}
    for url, rel in re.findall(r'<([^>]*)>; rel="([^"]*)"', fields[0]):
        out.setdefault(rel, []).append(url)
    return out


class Hub(Case):
    options = ()

    def setUp(self):
        self.o = self.origin()
        self.d = self.daemon("--hub-lease-min", "5s", "--push-first-retry",
                             "300ms", *self.options)
        self.u = self.o.set("/f.xml", rss("old 2", "old 1"))
        self.s = self.subscriber()

    def subscriber(self):
        s = Subscriber()
        self.addCleanup(s.close)
        return s

    def topic(self, path="/feed", **params):
        params = params or {"type": "atom"}
        return self.d.base + path + "?url=" + quote(self.u) + "".join(
            "&%s=%s" % (k, quote(v)) for k, v in params.items())

    def post(self, *more, **params):
        fields = [("hub." + k, v) for k, v in params.items()] + list(more)
        return self.d.call("POST", "/hub", urllib.parse.urlencode(fields), FORM)

    def ask(self, topic=None, callback=None, mode="subscribe", s=None, **params):
        """POST a request, expect 202, and wait for its verification."""
        s = s or self.s
        n = len(s.verifications)
        answer = self.post(mode=mode, topic=topic or self.topic(), callback=callback or s.url,
                           **params)
        self.assertEqual(202, answer.status, answer.body)
        self.wait(lambda: len(s.verifications) > n, what="verification", daemon=self.d)
        return s.verifications[-1]

    def subscribed(self, *args, **params):
        before = self.subs()
        query = self.ask(*args, **params)
        self.wait(lambda: self.subs() != before, what="the subscription", daemon=self.d)
        return query

    def subs(self):
        found = self.d.get("/sub?type=json").json["subscriptions"]
        return [(s["id"], s["created"]) for s in found if s["sink"] == "websub"]

    def publish(self, *titles, path="/f.xml", **kw):
        self.o.set(path, rss(*titles, **kw))
        self.d.ping(self.o.url(path))

    def delivered(self, n, s=None):
        s = s or self.s
        self.wait(lambda: len(s.deliveries) >= n, what="%d deliveries" % n, daemon=self.d)
        return s.deliveries

    def only(self, n, *shown, s=None):
        """There were n deliveries and no more: a subscriber is served in the order of the log, so the
        entry that is published now, beside these, comes right after them."""
        s = s or self.s
        self.publish("the next", *shown)
        self.assertEqual(["the next"], self.delivered(n + 1, s)[n].titles)
        self.d.wait_idle()
        self.assertEqual(n + 1, len(s.deliveries))

    def unheard(self, *shown):
        """Nobody hears of news but a witness who subscribes now: all that is sent goes to him."""
        witness = self.subscriber()
        self.subscribed(s=witness)
        self.d.wait_idle()
        sent = self.d.counter("push_total")
        for n, new in enumerate((["the next"], ["the last", "the next"])):
            self.publish(*new, *shown)
            self.assertEqual(new[:1], self.delivered(n + 1, witness)[n].titles)
        self.d.wait_idle()
        self.assertEqual(2, self.d.counter("push_total") - sent)

    def settled(self, n):
        """n requests have been confirmed or refused, and what came of it is stored."""
        self.wait(lambda: self.d.counter("hub_confirmed_total") +
                  self.d.counter("hub_refused_total") >= n, what="settled", daemon=self.d)
        self.d.stored(self.u)


class Publish(Hub):
    TOPICS = ("/feed", "/feeds", "/smart", "/simple/recent", "/archive", "/history", "/pmh")

    def test_every_topic_names_hub_and_one_self(self):                                      # PUBL-01
        for path in self.TOPICS:
            for method in ("GET", "HEAD"):
                with self.subTest(path=path, method=method):
                    answer = self.d.call(method, self.topic(path)[len(self.d.base):])
                    self.assertEqual(200, answer.status, answer.body)
                    links = link_field(answer)
                    self.assertEqual([self.d.base + "/hub"], links["hub"])
                    self.assertEqual(1, len(links["self"]))

    def test_the_link_field_of_many_feeds_stays_short(self):                                # PUBL-01
        urls = [self.o.set("/%d.xml" % n, rss("a")) for n in range(100)]
        for n, kinds in (1, {"hub", "self", "alternate"}), (100, {"hub", "self"}):
            answer = self.d.get("/feeds?type=json&url=" + ",".join(map(quote, urls[:n])))
            self.assertEqual(200, answer.status, answer.body)
            self.assertEqual(kinds, set(link_field(answer)))
            self.assertLess(len(answer.header("Link")), 9000)

    def test_atom_heads_name_them(self):                                                    # PUBL-02
        for path in self.TOPICS:
            with self.subTest(path=path):
                root = tree.fromstring(self.d.get(self.topic(path)[len(self.d.base):]).body)
                links = [(l.get("rel"), l.get("href")) for l in root.findall(ATOM + "link")]
                self.assertEqual([self.d.base + "/hub"], [h for r, h in links if r == "hub"])
                self.assertEqual(1, len([h for r, h in links if r == "self"]))

    def test_rss_heads_name_them(self):                                                     # PUBL-03
        root = tree.fromstring(self.d.feed(self.u, type="rss").body)
        links = [(l.get("rel"), l.get("href")) for l in root.findall("channel/" + ATOM + "link")]
        self.assertEqual([self.d.base + "/hub"], [h for r, h in links if r == "hub"])
        self.assertEqual([self.topic(type="rss")], [h for r, h in links if r == "self"])

    def test_json_feed_has_hubs(self):                                                        # JF-09
        self.assertEqual([{"type": "WebSub", "url": self.d.base + "/hub"}],
                         self.d.feed(self.u, type="jsonfeed").json["hubs"])

    def test_self_is_one_representation(self):                                              # PUBL-04
        for path, accept in (("/feed", "application/rss+xml"), ("/feed", "application/atom+xml"),
                             ("/feed", "application/feed+json"), ("/feeds", "application/json"),
                             ("/smart", "application/atom+xml"), ("/smart", "application/json")):
            with self.subTest(path=path, accept=accept):
                negotiated = self.d.get(path + "?url=" + quote(self.u) + (
                    "&timeout=0" if path == "/smart" else ""), Accept=accept)
                this, = link_field(negotiated)["self"]
                self.assertIn("type=", this)
                again = self.d.get(this[len(self.d.base):])
                self.assertEqual(negotiated.header("Content-Type"), again.header("Content-Type"))
                self.assertEqual([this], link_field(again)["self"])

    def test_lists_are_no_topics(self):
        self.o.set("/l.opml", '<opml version="2.0"><body><outline xmlUrl="%s"/></body></opml>'
                   % self.u, type="text/x-opml")
        answer = self.d.get("/opml?type=atom&url=" + quote(self.o.url("/l.opml")))
        self.assertEqual(200, answer.status, answer.body)
        self.assertNotIn("hub", link_field(answer))

    def test_without_a_hub_nothing_names_one(self):
        d = self.daemon("--hub=no")
        answer = d.feed(self.u, type="atom")
        self.assertNotIn("hub", link_field(answer))
        self.assertNotIn(b'rel="hub"', answer.body)
        self.assertEqual(404, d.call("POST", "/hub", "hub.mode=publish&hub.url=x", FORM).status)


class Protected(Hub):
    """Feeds behind a password: what is printed is the access key."""

    def setUp(self):
        super().setUp()
        self.o.set("/f.xml", Reply(200, rss("old 2", "old 1"), auth=("Basic", "joe", "geheim")))
        self.u = self.o.url("/f.xml", user="joe:geheim")

    def test_their_topics_name_hub_and_self_too(self):                            # PUBL-01 REST-28
        for path in Publish.TOPICS:
            for method in ("GET", "HEAD"):
                with self.subTest(path=path, method=method):
                    answer = self.d.call(method, self.topic(path)[len(self.d.base):])
                    self.assertEqual(200, answer.status, answer.body)
                    links = link_field(answer)
                    self.assertEqual([self.d.base + "/hub"], links["hub"])
                    self.assertEqual(1, len(links["self"]))
                    self.assertNotIn("geheim", str(answer.headers))
                    self.assertNotIn("joe", str(answer.headers))
                    self.assertNotIn("\1", str(answer.headers))
                    if method == "GET":
                        self.assertIn(links["self"][0].replace("&", "&amp;"), answer.body.decode())
                    again = self.d.call("GET", links["self"][0][len(self.d.base):])
                    self.assertEqual(200, again.status, again.body)

    def test_their_self_links_can_be_subscribed(self):                            # PUBL-01 HUB-06
        for path in ("/feed", "/archive"):
            with self.subTest(path=path):
                s = self.subscriber()
                topic = link_field(self.d.get(self.topic(path)[len(self.d.base):]))["self"][0]
                query = self.subscribed(topic=topic, s=s)
                self.assertEqual(topic, query["hub.topic"])
                self.o.set("/f.xml", Reply(200, rss("new by " + path, "old 2", "old 1"),
                                           auth=("Basic", "joe", "geheim")))
                self.d.ping(self.o.url("/f.xml"))
                got = self.delivered(1, s)[0]
                self.assertIn("new by " + path, got.titles)
                self.assertEqual(topic, got.links()['rel="self"'][1:-1])
                self.assertNotIn(b"geheim", got.body)
        self.assertEqual(400, self.post(mode="subscribe", topic=self.topic(),
                                        callback=self.s.url).status)


class Subscribe(Hub):
    def test_accepted_and_verified(self):                                      # HUB-01 HUB-02 HUB-16
        query = self.subscribed()
        self.assertEqual("subscribe", query["hub.mode"])
        self.assertEqual(self.topic(), query["hub.topic"])
        self.assertEqual("864000", query["hub.lease_seconds"])
        self.assertGreater(len(query["hub.challenge"]), 20)
        self.assertNotIn("hub.verify_token", query)

    def test_the_callback_keeps_its_query(self):                                      # HUB-03 HUB-04
        self.subscribed(callback=self.s.url + "?a=1&b=x%26y")
        self.assertTrue(self.s.raw_queries[0].startswith("a=1&b=x%26y&hub."), self.s.raw_queries)
        self.publish("new", "old 2", "old 1")
        self.assertEqual("/cb?a=1&b=x%26y", self.delivered(1)[0].path)

    def test_leases_have_bounds(self):                                                       # HUB-16
        for asked, given in (("1", "5"), ("77777", "77777"), ("99999999999999999999", "2592000")):
            query = self.ask(lease_seconds=asked)
            self.assertEqual(given, query["hub.lease_seconds"])

    def test_unknown_parameters_are_ignored(self):                                           # HUB-10
        answer = self.post(("foo", "bar"), ("hub.foo", "x"), mode="subscribe", topic=self.topic(),
                           callback=self.s.url)
        self.assertEqual(202, answer.status)
        self.wait(lambda: self.s.verifications, daemon=self.d)

    def test_errors_are_plain_text(self):                            # HUB-09 HUB-11 HUB-19 HUB-33
        good = {"mode": "subscribe", "topic": self.topic(), "callback": self.s.url}
        for name, value in (("callback", None), ("callback", ""), ("callback", "nonsense"),
                            ("callback", "ftp://x.example/"), ("callback", self.s.url + "#f"),
                            ("callback", self.s.url + " x"), ("callback", self.s.url + "\r\nX: y"),
                            ("topic", None), ("topic", "nonsense"), ("topic", self.topic() + "#f"),
                            ("topic", "http://unrelated.example/"), ("topic", self.d.base + "/hub"),
                            ("topic", self.d.base + "/feed"), ("topic", self.d.base),
                            ("topic", self.d.base + ".evil.example/feed?url=" + quote(self.u)),
                            ("topic", self.topic() + "\r\nX: y"),
                            ("topic", self.topic(type="nonsense")),
                            ("topic", self.d.base + "/feed?url=" +
                             quote(self.u.replace("://", "://u:secret@"))),
                            ("mode", None), ("mode", "nonsense"), ("lease_seconds", "0"),
                            ("lease_seconds", "-5"), ("lease_seconds", "soon"),
                            ("secret", "s" * 200), ("verify", "frob")):
            fields = dict(good, **{name: value})
            with self.subTest(name=name, value=value):
                answer = self.post(**{k: v for k, v in fields.items() if v is not None})
                self.assertIn(answer.status, (400, 404, 406), answer.body)
                self.assertTrue(answer.header("Content-Type").startswith("text/plain"))
                self.assertGreater(len(answer.body), 10)
        self.assertEqual([], self.s.verifications)

    def test_a_topic_without_a_feed_is_refused(self):
        answer = self.post(mode="subscribe", callback=self.s.url,
                           topic=self.d.base + "/feed?url=" + quote(self.o.url("/nothing")))
        self.assertGreaterEqual(answer.status, 400)
        self.assertTrue(answer.header("Content-Type").startswith("text/plain"))

    def test_a_log_of_several_feeds_has_all_of_them_or_is_refused(self):
        """The documents of a part would be those of another log; a merge of the newest takes what is there."""
        rest = "?url=%s&url=%s&type=atom" % (quote(self.u), quote(self.o.url("/nothing")))
        for path in ("/archive", "/history", "/pmh", "/simple/recent"):
            with self.subTest(path=path):
                self.assert_problem(self.d.get(path + rest), 502, "upstream-failed")
                self.assertEqual(502, self.post(mode="subscribe", callback=self.s.url,
                                                topic=self.d.base + path + rest).status)
        for path in ("/feeds", "/smart"):
            with self.subTest(path=path):
                self.assertEqual(200, self.d.get(path + rest).status)
                self.subscribed(topic=self.d.base + path + rest)

    def test_without_confirmation_no_subscription(self):                                     # HUB-12
        for n, wrong in enumerate(((200, "wrong"), (404, ""), (200, ""), (302, ""))):
            self.s.confirm = lambda query, wrong=wrong: wrong
            self.ask()
            self.settled(n + 1)
        self.assertEqual([], self.subs())
        self.unheard("old 2", "old 1")
        self.assertEqual([], self.s.deliveries)

    def test_a_callback_that_fails_is_asked_again(self):                              # HUB-02 HUB-20
        trouble = [503]
        self.s.confirm = lambda query: (trouble.pop(), "") if trouble else None
        self.subscribed()
        first, second = self.s.verifications
        self.assertNotEqual(first["hub.challenge"], second["hub.challenge"])

    def test_redirects_confirm_nothing(self):                                         # HUB-12 HUB-25
        self.s.confirm = lambda query: (302, "", [("Location", "/elsewhere?" + query["hub.challenge"])])
        self.ask()
        self.settled(1)
        self.assertEqual(([], []), (self.s.elsewhere, self.subs()))

    def test_a_closed_callback_is_told_in_the_log(self):                                     # HUB-12
        d = self.daemon("--allow-fetch", "127.0.0.0/8", open_loopback=False)
        body = urllib.parse.urlencode({"hub.mode": "subscribe", "hub.callback": self.s.url,
                                       "hub.topic": self.topic().replace(self.d.base, d.base)})
        self.assertEqual(202, d.call("POST", "/hub", body, FORM).status)
        self.wait(lambda: "--allow-callback" in d.text(), what="the line in the log", daemon=d)
        self.assertEqual([], self.s.verifications)

    def test_challenges_are_used_once(self):                                                 # HUB-20
        for _ in range(5):
            self.ask()
        challenges = [q["hub.challenge"] for q in self.s.verifications]
        self.assertEqual(len(challenges), len(set(challenges)))

    def test_202_does_not_wait(self):                                                        # HUB-24
        self.d.feed(self.u)
        answered = threading.Event()
        self.s.confirm = lambda query: answered.wait(60) and None
        self.assertEqual(202, self.post(mode="subscribe", topic=self.topic(),
                                        callback=self.s.url).status)
        self.assertEqual([], self.subs())
        answered.set()                                               # only now the callback confirms
        self.wait(lambda: self.subs(), what="the subscription", daemon=self.d)

    def test_a_host_that_does_not_answer_holds_up_no_other(self):                            # HUB-24
        self.d, slow = self.daemon("--push-timeout", "10m"), self.subscriber()
        slow.delay = 600
        for i in range(70):
            self.assertEqual(202, self.post(mode="subscribe", topic=self.topic(),
                                            callback="%s?%d" % (slow.url, i)).status)
        self.subscribed()

    def test_a_flood_of_requests_is_put_off(self):                                           # HUB-01
        """One client, one host of callbacks, one subscription may have a part of the room only."""
        self.d, slow = self.daemon("--push-timeout", "10m"), self.subscriber()
        slow.delay = 600
        answers = [self.post(mode="subscribe", topic=self.topic(), callback=slow.url)
                   for _ in range(20)]
        self.assertEqual([202] * 16 + [429] * 4, [a.status for a in answers])
        answers = [self.post(mode="subscribe", topic=self.topic(), callback="%s?%d" % (slow.url, i))
                   for i in range(990)]
        self.assertEqual([202] * 984 + [429] * 6, [a.status for a in answers])
        self.assertRegex(answers[-1].header("Retry-After"), "^[1-9][0-9]?$")
        self.assertTrue(answers[-1].header("Content-Type").startswith("text/plain"))
        self.assertIn(b"host", answers[-1].body)
        self.subscribed()                                               # another host has room

    def test_unsubscribing_is_verified(self):                                                # HUB-15
        self.subscribed()
        query = self.ask(mode="unsubscribe", lease_seconds="nonsense")
        self.assertEqual("unsubscribe", query["hub.mode"])
        self.assertEqual(self.topic(), query["hub.topic"])
        self.wait(lambda: not self.subs(), daemon=self.d)
        self.unheard("old 2", "old 1")
        self.assertEqual([], self.s.deliveries)

    def test_unsubscribing_unconfirmed_changes_nothing(self):                                # HUB-15
        self.subscribed()
        self.s.confirm = lambda query: (404, "")
        self.ask(mode="unsubscribe")
        self.settled(2)
        self.publish("new", "old 2", "old 1")
        self.delivered(1)

    def test_subscribing_again_replaces(self):                                               # HUB-13
        self.subscribed(secret="one")
        self.ask(secret="two", lease_seconds="1000")
        self.settled(2)
        self.assertEqual(1, len(self.subs()))
        self.publish("new", "old 2", "old 1")
        self.assertTrue(self.delivered(1)[0].is_signed_by("two"))
        self.only(1, "new", "old 2", "old 1")

    def test_subscribing_again_unconfirmed_leaves_the_old(self):                             # HUB-14
        self.subscribed()
        self.s.confirm = lambda query: (404, "")
        self.ask(secret="two")
        self.settled(2)
        self.publish("new", "old 2", "old 1")
        self.assertIsNone(self.delivered(1)[0].field("X-Hub-Signature"))

    def test_other_names_of_this_server(self):
        """The topic's origin is compared after normalising."""
        self.subscribed(topic=self.topic().replace("http://", "HTTP://"))
        self.publish("new", "old 2", "old 1")
        self.delivered(1)

    def test_schemes_of_callbacks_have_no_case(self):                                        # HUB-01
        self.subscribed(callback=self.s.url.replace("http://", "HTTP://"))
        self.publish("new", "old 2", "old 1")
        self.delivered(1)

    def test_names_of_the_own_machine_are_one(self):                                         # HUB-19
        """A topic at localhost is ours, though 127.0.0.1 was asked; another port is not."""
        topic = self.topic().replace("127.0.0.1", "localhost", 1)
        self.assertNotEqual(topic, self.topic())
        self.assertEqual(topic, self.subscribed(topic=topic)["hub.topic"])
        self.publish("new", "old 2", "old 1")
        self.assertIn("<%s>; rel=\"self\"" % topic, self.delivered(1)[0].field("Link"))
        port = self.d.base.rsplit(":", 1)[1]
        for name in ("localhost", "localhost.evil.example:" + port, "localhost:1" + port):
            answer = self.post(mode="subscribe", callback=self.s.url,
                               topic=self.topic().replace("127.0.0.1:" + port, name, 1))
            self.assertEqual(400, answer.status, name)


class Confirming(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        challenge = urllib.parse.parse_qs(self.path.split("?")[1])["hub.challenge"][0].encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(challenge)))
        self.end_headers()
        self.wfile.write(challenge)

    def log_message(self, *args):
        pass


class Hanging(http.server.ThreadingHTTPServer):
    """Takes connections at all loopback addresses, and answers when it is started."""
    request_queue_size, daemon_threads = 1024, True

    def __init__(self):
        super().__init__(("0.0.0.0", 0), Confirming)

    def handle_error(self, request, client_address):
        pass                                                               # the hub has hung up


class Flooded(Hub):
    options = ("--push-timeout", "10m")

    def test_callbacks_that_hang_delay_no_other(self):                                     # HUB-02
        hanging, n = Hanging(), 300
        self.addCleanup(hanging.server_close)
        for i in range(n):
            callback = "http://127.1.%d.%d:%d/" % (i // 200, i % 200 + 1, hanging.server_port)
            self.assertEqual(202, self.post(mode="subscribe", topic=self.topic(),
                                            callback=callback).status)
        self.ask()
        threading.Thread(target=hanging.serve_forever, daemon=True).start()
        self.addCleanup(hanging.shutdown)
        # those whose calls were cut are called again
        self.wait(lambda: self.d.counter("hub_confirmed_total") == n + 1, 60, "all", self.d)


class Deliver(Hub):
    def test_new_and_changed_entries_under_the_topics_head(self):      # HUB-05 HUB-06 HUB-07 HUB-34
        self.subscribed()
        got = self.d.feed(self.u, type="atom")
        self.publish("new 2", "new 1", "old 2", "old 1|edited")
        delivery = self.delivered(1)[0]
        self.assertEqual(got.header("Content-Type"), delivery.field("Content-Type"))
        self.assertEqual({'rel="hub"': "<%s/hub>" % self.d.base,
                          'rel="self"': "<%s>" % self.topic()}, delivery.links())
        self.assertIsNone(delivery.field("X-Hub-Signature"))
        head = tree.fromstring(got.body)
        for name in ("id", "title"):
            self.assertEqual(head.findtext(ATOM + name), delivery.root.findtext(ATOM + name))
        self.assertEqual({"new 1", "new 2", "old 1|edited"}, set(delivery.titles))
        self.assertEqual(3, len(delivery.titles))
        self.publish("newer", "new 2", "new 1", "old 2", "old 1|edited")
        self.assertEqual(["newer"], self.delivered(2)[1].titles)

    def test_signed_with_the_secret(self):                                                   # HUB-08
        secret = "s" * 198 + "&"
        self.subscribed(secret=secret)
        self.publish("new", "old 2", "old 1")
        self.assertTrue(self.delivered(1)[0].is_signed_by(secret))

    def test_rss_topics_get_rss(self):                                         # HUB-05 HUB-34 (D35)
        self.subscribed(topic=self.topic(type="rss"))
        self.publish("new", "old 2", "old 1")
        delivery = self.delivered(1)[0]
        self.assertIn("application/rss+xml", delivery.field("Content-Type"))
        self.assertEqual(["new"], [t.text for t in delivery.root.findall("channel/item/title")])

    def test_other_types_get_the_whole_document(self):                                # HUB-05 (D35)
        for kind in ("json", "jsonfeed"):
            with self.subTest(kind=kind):
                s = self.subscriber()
                self.subscribed(topic=self.topic(type=kind), s=s)
                self.publish("new " + kind, "old 2", "old 1")
                delivery = self.delivered(1, s)[0]
                got = self.d.feed(self.u, type=kind)
                self.assertEqual(got.header("Content-Type"), delivery.field("Content-Type"))
                self.assertEqual(got.body, delivery.body)

    def test_every_kind_of_topic_is_delivered(self):
        subscribers = {}
        for path in ("/feed", "/feeds", "/smart", "/simple/recent", "/archive", "/history", "/pmh"):
            s = subscribers[path] = self.subscriber()
            self.subscribed(topic=self.topic(path), s=s)
        self.publish("new", "old 2", "old 1")
        for path, s in subscribers.items():
            with self.subTest(path=path):
                delivery = self.delivered(1, s)[0]
                self.assertEqual(["new"], delivery.titles)
                head = tree.fromstring(self.d.get(self.topic(path)[len(self.d.base):]).body)
                self.assertEqual(head.findtext(ATOM + "id"), delivery.root.findtext(ATOM + "id"))

    def test_deliveries_lead_back_only_where_nothing_is_left_out(self):                      # HUB-34
        """Who reads a delivery as the topic's newest document, and follows its links, misses nothing."""
        self.d = self.daemon("--archive-size", "3")
        subscribers = {}
        for path in ("/simple/recent", "/archive", "/history", "/pmh"):
            s = subscribers[path] = self.subscriber()
            self.subscribed(topic=self.topic(path), s=s)
        steps = (["n1"], ["n2"], ["n3"], ["n5", "n4"])     # pages: old old n1 | n2 n3 n4 | n5
        titles = ["old 2", "old 1"]
        for i, new in enumerate(steps):
            titles = new + titles
            self.publish(*titles)
            for s in subscribers.values():
                self.assertEqual(new, self.delivered(i + 1, s)[i].titles)
        for path, s in subscribers.items():
            back = "prev" if path == "/history" else "prev-archive"
            own = {"/history": {"this"}, "/simple/recent": {"via"}}.get(path, set())
            for i, (page, is_page) in enumerate(((None, 0), ("0", 1), (None, 0), ("1", 0))):
                with self.subTest(path=path, step=i):
                    links = {l.get("rel"): l.get("href")
                             for l in s.deliveries[i].root.findall(ATOM + "link")}
                    found = re.search(r"/(\d+)(-\d+)?$", links[back]) if back in links else None
                    self.assertEqual(page, found and found.group(1))
                    self.assertEqual(own if is_page else set(), {"this", "via"} & set(links))
            seen = {t for d in s.deliveries for t in d.titles}
            self.assertEqual({"n1", "n2", "n3", "n4", "n5"}, seen)

    def test_subscribers_who_have_got_the_same_share_one_drawing(self):                     # HUB-08
        others = [(self.s, "secret 0")] + [(self.subscriber(), "secret %d" % i) for i in range(1, 12)]
        for s, secret in others:
            self.subscribed(s=s, secret=secret)
        self.wait(lambda: len(self.subs()) == 12, what="12 subscriptions", daemon=self.d)
        self.publish("new 0", "old 2", "old 1")             # from here on all have got the same
        for s, _ in others:
            self.delivered(1, s)
        self.d.wait_idle()
        before = self.d.counter("hub_drawn_total")
        self.publish("new 1", "new 0", "old 2", "old 1")
        bodies = {self.delivered(2, s)[1].body for s, _ in others}
        self.assertEqual(1, len(bodies))
        for s, secret in others:
            self.assertTrue(s.deliveries[1].is_signed_by(secret), secret)
        self.d.wait_idle()
        self.assertEqual(1, self.d.counter("hub_drawn_total") - before)
        others[3][0].script = [500]
        self.publish("new 2", "new 1", "new 0", "old 2", "old 1")
        for s, _ in others:
            self.assertEqual(["new 2"], self.delivered(3 + (s is others[3][0]), s)[-1].titles)
        self.assertEqual(2, self.d.counter("hub_drawn_total") - before)

    def test_merged_topics(self):
        other = self.o.set("/g.xml", rss("other"))
        topic = "%s/feeds?url=%s&url=%s&type=atom" % (self.d.base, quote(self.u), quote(other))
        self.subscribed(topic=topic)
        self.publish("new", "old 2", "old 1")
        delivery = self.delivered(1)[0]
        self.assertEqual(["new"], delivery.titles)
        self.assertEqual(tree.fromstring(self.d.get(topic[len(self.d.base):]).body).findtext(
            ATOM + "id"), delivery.root.findtext(ATOM + "id"))

    def test_doubles_in_merged_topics(self):
        """Deliveries bring what a GET shows: of entries with one id the newest, and that once."""
        a, b = (self.o.set(path, atom(("old", "2020-01-01T00:00:00Z"))) for path in ("/a.xml", "/b.xml"))
        query = "/feeds?url=%s&url=%s&type=" % (quote(a), quote(b))
        plain = self.subscriber()
        self.subscribed(topic=self.d.base + query + "atom")
        self.subscribed(topic=self.d.base + query + "jsonfeed", s=plain)
        steps = [  # what a feed publishes, and what is delivered of it
            (a, [("x", "2024-01-01T00:00:00Z")], ["x"]),
            (b, [("x", "2024-01-01T00:00:00Z"), ("y", "2024-01-01T00:00:00Z")], ["y"]),
            (b, [("x", "2024-01-03T00:00:00Z")], ["x"]),
            (a, [("x", "2024-01-02T00:00:00Z"), ("z", "2024-01-01T00:00:00Z")], ["z"]),
            (a, [("x", "2024-01-04T00:00:00Z")], ["x"])]
        now = {a: {"old": "2020-01-01T00:00:00Z"}, b: {"old": "2020-01-01T00:00:00Z"}}
        for i, (url, entries, expected) in enumerate(steps):
            now[url].update(entries)
            self.o.set(url[-6:], atom(*now[url].items()))
            self.d.ping(url)
            self.assertEqual(expected, self.delivered(i + 1)[i].titles, (i, entries))
            shown = {e.findtext(ATOM + "title"): e.findtext(ATOM + "updated")
                     for e in tree.fromstring(self.d.get(query + "atom").body).findall(ATOM + "entry")}
            for entry in self.s.deliveries[i].root.findall(ATOM + "entry"):
                self.assertEqual(shown[entry.findtext(ATOM + "title")], entry.findtext(ATOM + "updated"))
        self.delivered(len(steps), plain)
        now[b]["x"] = "2024-01-03T12:00:00Z"        # a GET goes on to show what the other feed has
        self.o.set("/b.xml", atom(*now[b].items()))
        self.d.ping(b)
        self.wait(lambda: "2024-01-03T12" in str(self.d.feed(b, type="atom").body), what="it", daemon=self.d)
        now[b]["next"] = "2024-01-05T00:00:00Z"     # comes right after the last of them
        self.o.set("/b.xml", atom(*now[b].items()))
        self.d.ping(b)
        self.assertEqual(["next"], self.delivered(len(steps) + 1)[-1].titles)
        self.delivered(len(steps) + 1, plain)
        self.d.wait_idle()
        self.assertEqual([len(steps) + 1] * 2, [len(s.deliveries) for s in (self.s, plain)])

    def test_failures_are_tried_again_with_growing_pauses(self):                             # HUB-17
        self.subscribed()
        self.s.script = [500, 503]
        self.publish("new", "old 2", "old 1")
        first, second, third = self.delivered(3)[:3]
        self.assertGreater(second.at - first.at, 0.2)           # 300 and 600 ms, give or take 10 %
        self.assertGreater(third.at - second.at, 0.45)
        self.assertEqual(["new"], third.titles)
        self.only(3, "new", "old 2", "old 1")

    def test_what_came_meanwhile_is_delivered_too(self):                                     # HUB-17
        self.subscribed()
        self.s.script = [500] * 3
        self.publish("new 1", "old 2", "old 1")
        self.delivered(1)
        self.publish("new 2", "new 1", "old 2", "old 1")
        self.wait(lambda: "new 2" in self.s.deliveries[-1].titles and not self.s.script,
                  what="both", daemon=self.d)
        self.assertEqual({"new 1", "new 2"}, {t for t in self.s.titles()})

    def test_gone_ends_it(self):                                                             # HUB-18
        self.subscribed()
        self.s.script = [410]
        self.publish("new", "old 2", "old 1")
        self.delivered(1)
        self.wait(lambda: not self.subs(), daemon=self.d)
        self.unheard("new", "old 2", "old 1")
        self.assertEqual(1, len(self.s.deliveries))

    def test_redirects_are_failures(self):                                                   # HUB-25
        self.subscribed()
        self.s.script = [(302, [("Location", "/elsewhere")]), (307, [("Location", "/elsewhere")])]
        self.publish("new", "old 2", "old 1")
        self.assertEqual(["new"], self.delivered(3)[2].titles)
        self.assertEqual([], self.s.elsewhere)
        self.assertEqual({"/cb"}, {d.path for d in self.s.deliveries})

    def test_bodies_of_answers_do_not_matter(self):                                          # HUB-25
        self.subscribed()
        self.s.script = [200]
        self.publish("new", "old 2", "old 1")
        self.delivered(1)
        self.only(1, "new", "old 2", "old 1")

    def test_answers_that_break_off_are_answers(self):                                       # HUB-25
        """2xx is the acknowledgement; what becomes of the body changes nothing."""
        d = self.d = self.daemon("--push-first-retry", "300ms",
                                 "--push-timeout", "%ds" % (2 * PATIENCE))
        self.subscribed()
        self.s.script = [b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nbroken",
                         (b"HTTP/1.1 202 Accepted\r\nContent-Length: 100\r\n\r\nslow", 60.0),
                         b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
                         b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 300_000]
        for i in range(4):
            self.publish(*["new %d" % k for k in range(i, -1, -1)], "old 2", "old 1")
            self.assertEqual(["new %d" % i], self.delivered(i + 1)[-1].titles)
        self.only(4, *["new %d" % k for k in range(3, -1, -1)], "old 2", "old 1")
        self.assertEqual(0, d.counter("push_failed_total"))

    def test_leases_end(self):                                                               # HUB-16
        self.subscribed(lease_seconds="6")
        self.publish("new", "old 2", "old 1")
        self.wait(lambda: not self.subs(), what="the end of the lease", daemon=self.d)
        n = len(self.s.deliveries)
        self.unheard("new", "old 2", "old 1")
        self.assertEqual(n, len(self.s.deliveries))

    def test_subscriptions_survive_a_crash(self):                                            # HUB-26
        self.subscribed(secret="s")
        self.ask(callback=self.s.url + "2", lease_seconds="5")
        self.settled(2)
        self.d.kill()
        time.sleep(5.5)                                              # until the lease has ended
        self.d.start()
        self.wait(lambda: len(self.subs()) == 1, what="the lease that ended meanwhile", daemon=self.d)
        self.publish("new", "old 2", "old 1")
        self.assertTrue(self.delivered(1)[0].is_signed_by("s"))
        self.only(1, "new", "old 2", "old 1")
        self.assertEqual({"/cb"}, {d.path for d in self.s.deliveries})

    def test_unanswered_requests_survive_a_crash(self):                               # HUB-01 HUB-26
        self.d.feed(self.u)
        self.s.delay = 30
        self.assertEqual(202, self.post(mode="subscribe", topic=self.topic(),
                                        callback=self.s.url).status)
        self.d.kill()
        self.s.delay = 0
        self.d.start()
        self.wait(lambda: self.subs(), what="the subscription", daemon=self.d)

    def test_whoever_is_dropped_is_told(self):                                               # HUB-23
        self.subscribed()
        (sub, _), = self.subs()
        self.assertEqual(204, self.d.call("DELETE", "/sub?id=%d" % sub).status)
        self.wait(lambda: self.s.denials, daemon=self.d)
        denial = self.s.denials[0]
        self.assertEqual(self.topic(), denial["hub.topic"])
        self.assertTrue(denial["hub.reason"])
        self.assertNotIn("hub.challenge", denial)

    def test_secrets_are_shown_nowhere(self):
        self.subscribed(secret="open-sesame", callback=self.s.url.replace("://", "://u:pw@"))
        shown = self.d.get("/sub?type=json&all=1").body + self.d.get("/sub").body
        for word in (b"open-sesame", b"pw@"):
            self.assertNotIn(word, shown)
        self.assertNotIn("open-sesame", self.d.text())

    def test_announced_by_the_publisher(self):                                        # HUB-21 HUB-22
        self.subscribed()
        for i, name in enumerate(("url", "topic")):
            self.o.set("/f.xml", rss("by " + name, "old 2"))
            answer = self.post(("hub." + name, "http://nowhere.example/feed"), mode="publish",
                               **{name: self.u})
            self.assertEqual((204, b""), (answer.status, answer.body))
            self.assertEqual(["by " + name], self.delivered(i + 1)[i].titles)
        self.o.set("/f.xml", rss("by view", "old 2"))
        self.assertEqual(204, self.post(mode="publish", url=self.topic()).status)
        self.delivered(3)
        self.assertEqual(400, self.post(mode="publish").status)
        self.assertEqual(400, self.post(mode="publish", url="nonsense").status)
        self.assertEqual(204, self.post(mode="publish", url="http://nowhere.example/").status)


class Ending(Hub):
    def setUp(self):
        self.options = ("--test-clock", self.clock())
        super().setUp()

    def test_the_end_of_a_feed_is_told(self):                                                # HUB-23 ETIQ-06
        self.subscribed()
        self.end_feed(self.d, self.o, "/f.xml")
        self.wait(lambda: self.s.denials, what="the denial", daemon=self.d)
        self.wait(lambda: not self.subs(), daemon=self.d)


class Legacy(Hub):
    options = ("--hub-lease", "%ds" % max(8, 6 * PATIENCE))

    def test_sync_is_verified_first(self):                                                   # HUB-30
        answer = self.post(mode="subscribe", topic=self.topic(), callback=self.s.url, verify="sync",
                           verify_token="t&1")
        self.assertEqual((204, b""), (answer.status, answer.body))
        self.assertEqual("t&1", self.s.verifications[0]["hub.verify_token"])
        self.assertEqual(1, len(self.subs()))

    def test_sync_that_fails(self):                                                          # HUB-31
        self.s.confirm = lambda query: (404, "")
        answer = self.post(mode="subscribe", topic=self.topic(), callback=self.s.url, verify="sync")
        self.assertEqual(409, answer.status)
        self.assertTrue(answer.header("Content-Type").startswith("text/plain"))
        self.assertEqual([], self.subs())

    def test_sync_with_nobody_there(self):                                                   # HUB-31
        self.s.server.server_close()
        self.s.server.socket.close()
        answer = self.post(mode="subscribe", topic=self.topic(), callback=self.s.url, verify="sync")
        self.assertEqual(409, answer.status)

    def test_sync_says_why_not(self):                                                        # HUB-31 HUB-11
        for callback, confirm, why in (("http://10.1.2.3/", None, "not called from here"),
                                       (self.s.url, lambda query: (404, ""), "status 404"),
                                       (self.s.url, lambda query: (200, "no"), "not the challenge"),
                                       ("http://127.0.0.1:9/", None, "did not answer")):
            self.s.confirm = confirm
            answer = self.post(mode="subscribe", topic=self.topic(), callback=callback, verify="sync")
            self.assertEqual(409, answer.status)
            self.assertIn(why, answer.body.decode())

    def test_async_is_signed_by_sha1(self):                                                  # HUB-32
        self.subscribed(verify="async", secret="s", lease_seconds="1000")
        self.publish("new", "old 2", "old 1")
        self.assertTrue(self.delivered(1)[0].is_signed_by("s", "sha1"))

    def test_words_that_nobody_knows_are_skipped(self):                                      # HUB-33
        answer = self.post(("hub.verify", "frob"), ("hub.verify", "async"), mode="subscribe",
                           topic=self.topic(), callback=self.s.url)
        self.assertEqual(202, answer.status)
        self.assertEqual(400, self.post(mode="subscribe", topic=self.topic(), callback=self.s.url,
                                        verify="frob").status)

    def test_without_a_lease_it_is_verified_again(self):                                     # HUB-35
        self.subscribed(verify="async", verify_token="t")
        other = self.subscriber()
        self.subscribed(s=other)
        self.wait(lambda: len(self.s.verifications) >= 3, what="two more verifications", daemon=self.d)
        self.assertEqual({"t"}, {q["hub.verify_token"] for q in self.s.verifications})
        self.wait(lambda: len(self.subs()) == 1, what="the end of the other one's lease", daemon=self.d)
        self.assertEqual(1, len(other.verifications))
        self.publish("new", "old 2", "old 1")
        self.delivered(1)

    def test_who_does_not_confirm_again_is_out(self):                                        # HUB-35
        self.subscribed(verify="async")
        self.s.confirm = lambda query: (404, "")
        self.wait(lambda: not self.subs(), what="the end", daemon=self.d)


class Smart(Hub):
    def setUp(self):
        super().setUp()
        self.p = Publisher(self.o)
        self.u = self.p.url

    def base(self, **params):
        return "/smart/?url=" + quote(self.p.url) + "".join(
            "&%s=%s" % (k, quote(str(v))) for k, v in params.items())

    def pull(self, **params):
        answer = self.d.call("GET", self.base(**params), timeout=90,
                             headers={"Accept": "application/atom+xml"})
        self.assertEqual(200, answer.status, answer.body)
        return tree.fromstring(answer.body)

    def last_cursor(self):
        return self.pull(order="-modified", max=1).findtext(FO + "last_cursor")

    def sync(self, n, title="t"):
        for i in range(n):
            self.p.put("e%d" % i, "%s%d" % (title, i))
        self.p.sync(self)

    def follow(self, **params):
        """As the text has it: four parameters, the base URL as the topic."""
        self.subscribed(topic=self.d.base + self.base(**params), verify="async")

    def test_new_items_in_feed_order(self):             # SMART-50 SMART-51 SMART-52 SMART-53 HUB-34
        self.sync(3)
        self.follow()
        before = self.last_cursor()
        self.p.put("x", "new x")
        self.p.put("y", "new y")
        self.p.put("e1", "edited")
        self.p.delete("e2")
        self.p.sync(self)
        delivery = self.delivered(1)[0]
        root = delivery.root
        self.assertTrue(delivery.field("Content-Type").startswith("application/atom+xml"))
        self.assertEqual(["new x", "new y", "edited"], [t for t in delivery.titles
                                                        if t.startswith(("new", "edited"))])
        marked = [e.findtext(FO + "id") for e in root.findall(ATOM + "entry")
                  if e.findtext(FO + "deleted") == "true"]
        self.assertEqual(["urn:pub:p:e2"], marked)
        self.assertEqual("5", root.findtext(FO + "total"))
        self.assertEqual(before, root.findtext(FO + "prev_cursor"))
        self.assertEqual(self.last_cursor(), root.findtext(FO + "last_cursor"))
        self.assertEqual([], [l for l in root.findall(ATOM + "link") if l.get("rel") == "next"])

    def test_json_tells_the_same_as_atom(self):                                 # SMART-52 SMART-53
        self.sync(2)
        self.subscribed(topic=self.d.base + self.base(type="json"))
        before = self.last_cursor()
        self.p.put("x", "new x")
        self.p.delete("e0")
        self.p.sync(self)
        push = json.loads(self.delivered(1)[0].body)
        self.assertEqual({"new x", None}, {i.get("title") for i in push["items"]})
        self.assertEqual((before, self.last_cursor(), 3),
                         (push["prev_cursor"], push["last_cursor"], push["totalItems"]))
        self.assertNotIn("next", push)

    def test_descending_orders_are_pushed_ascending(self):                              # SMART-51
        self.sync(2)
        self.follow(order="-modified")
        self.p.put("x", "new x")
        self.p.put("e0", "edited")
        self.p.sync(self)
        delivery = self.delivered(1)[0]
        self.assertEqual(["new x", "edited"], delivery.titles)
        self.assertEqual(self.last_cursor(), delivery.root.findtext(FO + "last_cursor"))

    def test_prev_cursor_is_where_the_subscriber_stands(self):                           # SMART-52
        """Not where the revision before the first item stands, which nobody has been sent."""
        self.sync(3)
        self.follow()
        known, refusals = self.last_cursor(), 3
        self.s.script = [500] * refusals
        for text in ("edited", "edited more"):
            self.p.put("e1", text)
            self.p.sync(self)
        self.wait(lambda: len(self.s.deliveries) > refusals and
                  "edited more" in self.s.deliveries[-1].titles, what="the push", daemon=self.d)
        for i, delivery in enumerate(self.s.deliveries):
            self.assertEqual(known, delivery.root.findtext(FO + "prev_cursor"))
            if i >= refusals:
                known = delivery.root.findtext(FO + "last_cursor")
        self.assertEqual(self.last_cursor(), known)

    def test_by_creation_edits_are_no_news(self):                               # SMART-51 SMART-52
        self.sync(2)
        self.follow(order="created")
        before = self.pull(order="-created", max=1).findtext(FO + "last_cursor")
        self.p.put("e0", "edited")
        self.p.sync(self)
        self.p.put("x", "new x")
        self.p.sync(self)
        delivery = self.delivered(1)[0]
        self.assertEqual(["new x"], delivery.titles)
        self.assertEqual(before, delivery.root.findtext(FO + "prev_cursor"))

    def test_pushes_follow_each_other(self):                                             # SMART-55
        self.sync(1)
        self.follow()
        last, seen = self.last_cursor(), 0
        for i in range(20):
            self.p.put("n%d" % i, "n%d" % i)
            self.p.publish()
            asked = len(self.o.seen(self.p.path))
            self.d.ping(self.p.url)
            self.wait(lambda: len(self.o.seen(self.p.path)) > asked, what="the fetch", daemon=self.d)
        self.wait(lambda: self.s.titles() and "n19" in self.s.titles(), what="n19", daemon=self.d)
        for delivery in self.s.deliveries:
            self.assertEqual(last, delivery.root.findtext(FO + "prev_cursor"))
            last = delivery.root.findtext(FO + "last_cursor")
            seen += len(delivery.titles)
        self.assertEqual(20, seen)
        self.assertEqual(self.last_cursor(), last)

    def test_an_empty_feed_has_an_empty_cursor(self):                                    # SMART-52
        self.follow()
        self.p.put("x", "new x")
        self.p.sync(self)
        self.assertEqual("", self.delivered(1)[0].root.findtext(FO + "prev_cursor"))

    def test_a_lost_push_is_noticed_and_made_good(self):                                 # SMART-54
        self.sync(5)
        self.follow()
        mirror = Mirror(self.pull)
        pulls = mirror.pulls
        changes = (lambda: self.p.put("a", "a1"), lambda: self.p.delete("e0"),
                   lambda: self.p.put("e1", "edited"), lambda: self.p.put("b", "b1"))
        for i, change in enumerate(changes):
            change()
            self.p.sync(self)
            delivery = self.delivered(i + 1)[i]
            if i == 1:
                continue  # the network swallowed it after the callback had said 2xx
            mirror.push(delivery)
            if i == 0:
                self.assertEqual(pulls, mirror.pulls)
        self.assertGreater(mirror.pulls, pulls)
        whole = Mirror(self.pull)
        self.assertEqual(whole.items, mirror.items)
        self.assertEqual({"urn:pub:p:" + n: t for n, (t, _) in self.p.entries.items()}, whole.items)


class Behind(Hub):
    """--base-url is the name under which the world knows the server."""
    options = ("--base-url", "https://feeds.example/mill/")

    def test_topics_of_the_public_name(self):                                       # PUBL-01 HUB-06
        answer = self.d.feed(self.u, type="atom")
        links = link_field(answer)
        self.assertEqual(["https://feeds.example/mill/hub"], links["hub"])
        topic = links["self"][0]
        self.assertTrue(topic.startswith("https://feeds.example/mill/feed?"), topic)
        self.subscribed(topic=topic)
        self.publish("new", "old 2", "old 1")
        delivery = self.delivered(1)[0]
        self.assertEqual({'rel="hub"': "<https://feeds.example/mill/hub>",
                          'rel="self"': "<%s>" % topic}, delivery.links())
        self.assertEqual(["new"], delivery.titles)
