"""Several daemons on one PostgreSQL: who fetches, what all of them know, and what happens when one goes."""
import datetime
import os
import signal
import socket
import time

from .env.case import Case
from .env.daemon import own_database, quote
from .env.websub_hub import Hub, atom

ENTRY = "<item><guid>%s</guid><title>%s</title></item>"


def rss(*ids):
    return ("<rss version='2.0'><channel><title>t</title><link>http://x.example/</link><description/>%s</channel></rss>"
            % "".join(ENTRY % (i, i) for i in ids))


class Nodes(Case):
    engine = "sqlite"   # the database is named here

    def nodes(self, n=2, *args):
        """Daemons that have divided the slots."""
        db = own_database()
        nodes = [self.daemon("--node", "n%d" % i, "--node-lease", "3s", "--min-period", "1s", "--fetch-host-gap", "0",
                             *args, db=db) for i in range(n)]
        self.divided(nodes)
        return nodes

    def divided(self, nodes):
        share = 256 // len(nodes)
        self.wait(lambda: all(d.counter("node_slots") in (share, share + 1) for d in nodes), what="shares",
                  daemon=nodes[0])

    def titles(self, d, url):
        answer = d.feed(url)
        self.assertEqual(200, answer.status, answer.body)
        return sorted(i["title"] for i in answer.json["entries"])

    def owner(self, nodes, origin):
        """The node that fetches from this origin, and the others."""
        before = [d.counter("fetch_total") for d in nodes]
        self.titles(nodes[0], origin.set("/owner-%d" % len(origin.requests), rss("o")))
        fetched = [d for d, n in zip(nodes, before) if d.counter("fetch_total") > n]
        self.assertEqual(1, len(fetched))
        return fetched[0], [d for d in nodes if d is not fetched[0]]


class Together(Nodes):
    def test_a_reader_of_an_unknown_feed_is_served_at_any_node(self):  # NODE-02 NODE-04 NODE-07
        nodes, origin = self.nodes(), self.origin()
        for i in range(4):
            url = origin.set("/%d" % i, rss("e%d" % i))
            self.assertEqual(["e%d" % i], self.titles(nodes[i % 2], url))
            self.assertEqual(["e%d" % i], self.titles(nodes[1 - i % 2], url))
            self.assertEqual(1, len(origin.seen("/%d" % i)))
        self.assertEqual([0, 4], sorted(d.counter("fetch_total") for d in nodes))

    def test_a_failure_is_told_at_any_node(self):  # NODE-07
        nodes, origin = self.nodes(), self.origin()
        for i, d in enumerate(nodes):
            answer = d.feed(origin.url("/missing-%d" % i))
            self.assertEqual(502, answer.status, answer.body)
            self.assertIn("404", answer.json["detail"])

    def test_what_one_has_acknowledged_all_show(self):  # NODE-02
        nodes, origin = self.nodes(), self.origin()
        for i in range(6):
            a, b = nodes[i % 2], nodes[1 - i % 2]
            url = origin.set("/%d" % i, rss("e%d" % i))
            number = a.subscribe(url)
            self.assertEqual(200, b.get("/sub?id=%d" % number).status)
            self.assertIn(url, [f["url"] for f in b.get("/sub?type=json&all=1").json["feeds"]])
            self.assertEqual(["e%d" % i], self.titles(b, url))
            self.assertEqual(204, b.call("DELETE", "/sub?id=%d" % number).status)
            self.assert_problem(a.get("/sub?id=%d" % number), 404, "not-found")

    def test_a_ping_is_taken_by_any_node(self):  # NODE-02 NODE-07
        nodes, origin = self.nodes(), self.origin()
        url = origin.set("/f", rss("one"))
        for i, d in enumerate(nodes):
            self.titles(d, url)
            n, cursor = len(origin.seen("/f")), nodes[1 - i].get("/log?since=end").json["cursor"]
            origin.set("/f", rss("one", "of-%d" % i))
            d.ping(url)
            page = nodes[1 - i].get("/log?timeout=30&since=" + cursor)     # a long poll at the other one
            self.assertIn("of-%d" % i, page.body.decode())
            self.assertEqual(n + 1, len(origin.seen("/f")))

    def test_by_hand_is_the_same_at_any_node(self):  # NODE-02 NODE-07 CON-03 CLI-03
        """A sweep would wait for the host's pause."""
        nodes, origin = self.nodes(2, "--fetch-host-gap", "10m"), self.origin()
        paths = ["/f", "/g"]
        for path in paths:
            nodes[0].subscribe(origin.set(path, rss("one")), freq=86400)
        for i, d in enumerate(nodes):
            self.wait(lambda d=d: all((d.record(origin.url(p)) or {}).get("last_success") for p in paths), daemon=d)
            for path in paths:
                self.by_hand(d, origin, path, "one-%d" % i)
        paused = nodes[0].record(origin.url("/f"))["id"]
        self.assertEqual(200, nodes[0].call("PATCH", "/sub/feed?id=%d&paused=1" % paused).status)
        for i, d in enumerate(nodes):
            self.by_hand(d, origin, "/f", "paused-%d" % i)

    def by_hand(self, d, origin, path, title):
        url, n = origin.url(path), len(origin.seen(path))
        number = d.record(url)["id"]
        last = datetime.datetime.fromisoformat(d.record(url)["last_check"].replace("Z", "+00:00")).timestamp()
        self.wait(lambda: time.time() > last + 6, what="that it may be fetched again", daemon=d)
        origin.set(path, rss(title))
        self.assertEqual(200, d.call("PATCH", "/sub/feed?id=%d&fetch=1" % number).status)
        self.wait(lambda: len(origin.seen(path)) > n, what="the fetch by hand", daemon=d)
        self.wait(lambda: title in self.titles(d, url), what="its entry", daemon=d)
        last = d.get("/sub/feed?id=%d" % number).json["history"][0]
        self.assertEqual(("hand", 200, True), (last["reason"], last["status"], last["ok"]))

    def test_each_feed_is_fetched_by_one_node(self):  # NODE-04
        nodes, origins = self.nodes(3), [self.origin() for _ in range(4)]
        urls = [o.set("/%d" % i, rss("e%d" % i)) for i, o in enumerate(origins)]
        for url in urls:
            nodes[0].subscribe(url, freq=3)
        self.wait(lambda: all(len(o.seen("/%d" % i)) >= 3 for i, o in enumerate(origins)), what="polls", daemon=nodes[0])
        for i, o in enumerate(origins):
            at = [r.at for r in o.seen("/%d" % i)]
            self.assertGreater(min(b - a for a, b in zip(at[1:], at[2:])), 1, at)     # each by one node
            self.assertEqual(1, o.open_most.get("/%d" % i, 1))

    def test_calls_of_hubs_are_taken_by_any_node(self):  # NODE-02
        """All callbacks lead to one node, whose feeds only some of them are."""
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        hub, base, db = Hub(), "http://127.0.0.1:%d" % port, own_database()
        self.addCleanup(hub.close)
        nodes = [self.daemon("--node", "n%d" % i, "--node-lease", "3s", "--base-url", base, db=db,
                             **({"port": port} if i == 0 else {})) for i in range(2)]
        self.divided(nodes)
        for i in range(16):
            if i >= 4 and 0 not in [d.counter("fetch_total") for d in nodes]:   # each owns some of the hosts
                break
            origin = self.origin()
            url = origin.set("/f", atom("one", hub=hub.url(), self_=origin.url("/f")), Content_Type="application/atom+xml")
            nodes[i % 2].subscribe(url)
            self.wait(lambda: (nodes[0].record(url) or {}).get("hub_state") == "active", what="the hub", daemon=nodes[0])
            asked, = [a for a in hub.subscribers() if a.topic == url]
            self.assertTrue(asked.callback.startswith(base))
            n = len(origin.seen("/f"))
            self.assertIn(hub.deliver(asked, atom("one", "two", hub=hub.url(), self_=url))[0], (200, 202, 204))
            for d in nodes:
                self.wait(lambda: self.titles(d, url) == ["one", "two"], what="the delivery", daemon=d)
            self.assertEqual(n, len(origin.seen("/f")))
        self.assertEqual({("subscribe", 200, True)}, set(hub.verified))
        self.assertNotIn(0, [d.counter("fetch_total") for d in nodes])


class Gone(Nodes):
    def test_the_work_of_a_node_that_goes_is_done_elsewhere(self):  # NODE-06
        for how in ("kill", "stop"):
            nodes, origin = self.nodes(), self.origin()
            url = origin.set("/f", rss("one"))
            nodes[0].subscribe(url, freq=3)
            owner, (other,) = self.owner(nodes, origin)
            getattr(owner, how)()
            n = len(origin.seen("/f"))
            self.wait(lambda: len(origin.seen("/f")) > n, what="polls by the other", daemon=other)
            self.assertEqual(["new"], self.titles(other, origin.set("/new", rss("new"))))
            self.assertEqual(256, other.counter("node_slots"))
            owner.start()
            self.divided(nodes)

    def test_a_reader_waits_for_the_next_owner(self):  # NODE-06
        nodes, origin = self.nodes(), self.origin()
        owner, (other,) = self.owner(nodes, origin)
        owner.kill()
        self.assertEqual(["e"], self.titles(other, origin.set("/f", rss("e"))))

    def test_a_node_that_was_frozen_does_no_harm(self):  # NODE-06
        nodes, origin = self.nodes(), self.origin()
        url = origin.set("/f", rss("one"))
        nodes[0].subscribe(url, freq=3)
        owner, (other,) = self.owner(nodes, origin)
        os.kill(owner.process.pid, signal.SIGSTOP)
        n = len(origin.seen("/f"))
        self.wait(lambda: len(origin.seen("/f")) > n, what="polls by the other", daemon=other)
        origin.set("/f", rss("one", "two"))
        self.wait(lambda: self.titles(other, url) == ["one", "two"], what="the new entry", daemon=other)
        os.kill(owner.process.pid, signal.SIGCONT)
        owner.wait_log("event=lease_lost")
        self.divided(nodes)
        self.assertEqual(["one", "two"], self.titles(owner, url))
        rows = owner.get("/log?url=" + quote(url)).json["revisions"]
        self.assertEqual(["one", "two"], [r["entry"]["title"] for r in rows])

    def test_a_drained_node_fetches_nothing_and_answers(self):  # NODE-11
        nodes, origin = self.nodes(), self.origin()
        url = origin.set("/f", rss("one"))
        nodes[0].subscribe(url, freq=3)
        owner, (other,) = self.owner(nodes, origin)
        name = "n%d" % nodes.index(owner)
        self.assertEqual(200, other.call("POST", "/nodes?name=%s&action=drain" % name).status)
        self.wait(lambda: other.counter("node_slots") == 256, what="all slots", daemon=other)
        n, before = len(origin.seen("/f")), owner.counter("fetch_total")
        self.wait(lambda: len(origin.seen("/f")) > n, what="polls by the other", daemon=other)
        self.assertEqual(["e"], self.titles(owner, origin.set("/e", rss("e"))))
        self.assertEqual(before, owner.counter("fetch_total"))
