"""Several nodes on one log: hubs of publishers, whose calls come to any node."""
import threading
import time

from .env.nodes import NodesCase
from .env.websub_hub import Hub, atom


class NodeUpstream(NodesCase):
    def setUp(self):
        self.h, self.o = Hub(verifies=False), self.origin()
        self.addCleanup(self.h.close)
        self.url = self.o.url("/f.atom")
        self.o.set("/f.atom", atom("old", hub=self.h.url(), self_=self.url))

    def state(self, d, state):
        self.wait(lambda: (d.record(self.url) or {}).get("hub_state") == state, what=state, daemon=d)

    def asked_by_one(self, waits=True):
        """Two nodes with one address, which is the other node's for the hub. The subscription; the request at the hub, whose
        answer has been stored if `waits`; and who made it."""
        base = "http://mill.example"
        nodes = self.two("--base-url", base)
        sub = nodes[0].subscribe(self.url)
        self.wait(self.h.subscribers, what="the request", daemon=nodes[0])
        if waits:
            self.wait(lambda: self.sql("SELECT next_at > %d FROM upstreams" % (time.time() + 300)) == "t",
                      what="the answer", daemon=nodes[0])
        asked, = self.h.subscribers()
        owner, = [d for d in nodes if d.counter("upstream_requests_total")]
        other, = [d for d in nodes if d is not owner]
        asked.form["hub.callback"] = [asked.callback.replace(base, other.base)]
        return sub, asked, owner, other

    def verified(self, asked, *nodes):
        self.h.verify(asked)
        self.assertEqual([("subscribe", 200, True)], self.h.verified)
        for d in nodes:
            self.state(d, "active")

    def sql(self, text):
        return self.server_of_nodes.psql(text)

    def ends(self, asked, daemon):
        """The hub is asked to end the subscription, the only one that it has been asked for, and verifies that. It may be asked
        again by a node that has learned what another one did."""
        verified = []

        def is_over():
            for end in self.h.subscribers("unsubscribe")[len(verified):]:
                verified.append(end.callback)
                end.form["hub.callback"] = [asked.callback]
                self.h.verify(end)
            return (daemon.record(self.url) or {}).get("hub_state") == "idle"
        self.wait(is_over, what="the end", daemon=daemon)
        self.assertEqual({asked.callback.rsplit("/", 1)[1]}, {callback.rsplit("/", 1)[1] for callback in verified})
        self.assertIn(("unsubscribe", 200, True), self.h.verified)
        self.assertEqual(1, len(self.h.subscribers()))

    def test_a_hub_calls_another_node(self):  # NODE-02 NODE-05
        sub, asked, owner, other = self.asked_by_one(waits=False)
        self.verified(asked, owner, other)
        status, _ = self.h.deliver(asked, atom("new", "old", hub=self.h.url(), self_=self.url))
        self.assertEqual(200, status)
        for d in (owner, other):
            self.wait(lambda: {e["title"] for e in d.feed(self.url).json["entries"]} == {"new", "old"},
                      what="the delivery", daemon=d)
        self.assertEqual(404, self.h.call("GET", other.base + "/websub/unknown")[0])
        # the owner knows that it is active: it ends it at the hub, and hears of the end from the other node
        self.assertEqual(204, other.call("DELETE", "/sub?id=%d" % sub).status)
        self.ends(asked, owner)
        self.assertEqual(0, owner.counter("upstream_failed_total"))

    def test_the_owner_is_killed(self):  # NODE-06
        """The subscription at the hub goes on: the new owner ends it, under the token of the old one."""
        sub, asked, owner, other = self.asked_by_one()
        self.verified(asked, owner, other)
        owner.kill()
        self.wait(lambda: other.counter("node_slots") == 256, what="all slots", daemon=other)
        self.assertEqual(204, other.call("DELETE", "/sub?id=%d" % sub).status)
        self.ends(asked, other)

    def test_the_owner_is_killed_while_the_hub_verifies(self):  # NODE-06
        """The hub has been asked, so the new owner waits for the hub as the old one did."""
        sub, asked, owner, other = self.asked_by_one()
        owner.kill()
        self.wait(lambda: other.counter("node_slots") == 256, what="all slots", daemon=other)
        other.wait_idle()
        self.verified(asked, other)
        self.assertEqual(204, other.call("DELETE", "/sub?id=%d" % sub).status)
        self.ends(asked, other)

    def test_the_owner_decides_on_what_another_node_has_changed(self):  # NODE-06
        """It has not heard of the verification when it is to end the subscription. The hub has to be asked for that."""
        sub, asked, owner, other = self.asked_by_one()
        self.verified(asked)
        self.assertEqual(204, owner.call("DELETE", "/sub?id=%d" % sub).status)
        self.ends(asked, owner)
        self.assertGreaterEqual(owner.counter("upstream_conflicts_total"), 1)   # and another one if the hub verifies the end fast

    def test_another_node_changes_what_the_owner_has_decided(self):  # NODE-06
        """The hub verifies what the owner has ended since the node that is called has read the row: it is not taken."""
        sub, asked, owner, other = self.asked_by_one()
        hub = threading.Thread(target=self.h.verify, args=(asked,))
        waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'"
        with self.server_of_nodes.holding("SELECT FROM upstreams FOR UPDATE"):
            self.assertEqual(204, owner.call("DELETE", "/sub?id=%d" % sub).status)
            self.wait(lambda: self.sql(waiting) == "1", what="the owner's decision", daemon=owner)
            hub.start()
            self.wait(lambda: self.sql(waiting) == "2", what="the verification", daemon=other)
        hub.join()
        self.assertEqual([("subscribe", 404, False)], self.h.verified)
        self.ends(asked, owner)
        self.assertEqual([0, 1], [d.counter("upstream_conflicts_total") for d in (owner, other)])
