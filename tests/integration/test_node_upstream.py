"""Several nodes on one log: hubs of publishers, whose calls come to any node."""
from .env.nodes import NodesCase
from .env.websub_hub import Hub, atom


class NodeUpstream(NodesCase):
    def setUp(self):
        self.h, self.o = Hub(verifies=False), self.origin()
        self.addCleanup(self.h.close)
        self.url = self.o.url("/f.atom")
        self.o.set("/f.atom", atom("old", hub=self.h.url(), self_=self.url))

    def asked(self, mode, nodes):
        """The request of this mode, and which node has made it. There is one; the hub calls the other node."""
        self.wait(lambda: self.h.subscribers(mode), what=mode, daemon=nodes[0])
        asked, = self.h.subscribers(mode)
        owner, other = nodes if asked.callback.startswith(nodes[0].base + "/") else reversed(nodes)
        asked.form["hub.callback"] = [asked.callback.replace(owner.base, other.base)]
        return asked, owner, other

    def state(self, d, state):
        self.wait(lambda: (d.record(self.url) or {}).get("hub_state") == state, what=state, daemon=d)

    def test_a_hub_calls_another_node(self):  # NODE-02 NODE-05
        nodes = self.two()
        sub = nodes[0].subscribe(self.url)
        asked, owner, other = self.asked("subscribe", nodes)
        self.h.verify(asked)
        self.assertEqual([("subscribe", 200, True)], self.h.verified)
        for d in nodes:
            self.state(d, "active")
        status, _ = self.h.deliver(asked, atom("new", "old", hub=self.h.url(), self_=self.url))
        self.assertEqual(200, status)
        for d in nodes:
            self.wait(lambda: {e["title"] for e in d.feed(self.url).json["entries"]} == {"new", "old"},
                      what="the delivery", daemon=d)
        self.assertEqual(404, self.h.call("GET", other.base + "/websub/unknown")[0])
        # the owner knows that it is active: it ends it at the hub, and hears of the end from the other node
        self.assertEqual(204, other.call("DELETE", "/sub?id=%d" % sub).status)
        asked, _, _ = self.asked("unsubscribe", nodes)
        self.h.verify(asked)
        for d in nodes:
            self.wait(lambda: (d.record(self.url) or {}).get("hub_state") in (None, "idle"), what="the end", daemon=d)
        self.assertEqual(0, owner.counter("upstream_failed_total"))

    def test_the_owner_is_killed(self):  # NODE-06
        """The subscription at the hub goes on: the new owner ends it, under the token of the old one."""
        nodes = self.two()
        sub = nodes[0].subscribe(self.url)
        asked, owner, other = self.asked("subscribe", nodes)
        self.h.verify(asked)
        for d in nodes:
            self.state(d, "active")
        token = asked.callback.rsplit("/", 1)[1]
        owner.kill()
        self.wait(lambda: self.slots(other)[["a", "b"][nodes.index(other)]] == 256, what="all slots", daemon=other)
        self.assertEqual(204, other.call("DELETE", "/sub?id=%d" % sub).status)
        self.wait(lambda: self.h.subscribers("unsubscribe"), what="the end", daemon=other)
        self.assertEqual(token, self.h.subscribers("unsubscribe")[0].callback.rsplit("/", 1)[1])
