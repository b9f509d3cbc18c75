"""Two nodes and a real XMPP server (prosody): one of them is the component, and the other takes its place."""
import os
import unittest

from .env import xmpp
from .env.case import slow
from .env.daemon import quote
from .env.nodes import NodesCase
from .env.publisher import Publisher


@unittest.skipUnless(xmpp.is_there() or os.environ.get("FEEDMILL_ALL"), "prosody, slixmpp")
class NodeXmpp(NodesCase):
    def setUp(self):
        self.xmpp = xmpp.Prosody()
        self.addCleanup(self.xmpp.close)
        self.nodes = self.two(*self.xmpp.args(), "--xmpp-secret", xmpp.SECRET)
        self.d = self.nodes[0]
        self.p = Publisher(self.origin())
        self.node = "smart?url=" + quote(self.p.url)
        self.alice = self.xmpp.client()
        self.n, self.told = 0, []

    def component(self):
        """The node that is connected, and the other one."""
        def connected():
            found = [d for d in self.nodes if d.counter("xmpp_connected")]
            return found if len(found) == 1 else None
        one, = self.wait(connected, what="a component", daemon=self.d)
        return one, [d for d in self.nodes if d is not one][0]

    def publish(self, n):
        """n entries, each in a document of its own."""
        for _ in range(n):
            self.p.put("e%d" % self.n, "t%d" % self.n)
            self.p.sync(self)
            self.n += 1

    def titles(self):
        """What Alice was told, in order; what came again is left out."""
        return list(dict.fromkeys(title for push in self.alice.pushes() for title in push.titles))

    def all_told(self, daemon):
        """Wait until Alice has all entries but the first, which was there before she asked."""
        expected = ["t%d" % i for i in range(1, self.n)]
        self.wait(lambda: len(self.titles()) >= len(expected), what="all messages", daemon=daemon)
        self.assertEqual(expected, self.titles())

    def test_the_component_is_killed(self):     # NODE-05 NODE-06 DELIV-01 XMPP-00
        component, other = self.component()
        self.d = other
        self.publish(1)
        self.alice.subscribe(self.node)
        self.publish(4)
        self.all_told(component)
        self.xmpp.pause()                       # what is sent now is with a server that is silent
        self.publish(2)
        component.wait_metric("xmpp_messages_total", 5)
        component.kill()
        self.xmpp.resume()
        self.publish(4)                         # nobody is the component yet
        self.all_told(other)
        self.assertEqual(1, other.counter("xmpp_connected"))
        page = self.alice.items(self.node)      # it answers, too
        self.assertEqual(self.n, len(page.ids))

    @slow
    def test_the_component_is_stopped_and_comes_back(self):     # NODE-05 NODE-11 DELIV-01
        component, other = self.component()
        self.d = other
        self.publish(1)
        self.alice.subscribe(self.node)
        component.stop()
        self.publish(3)
        self.all_told(other)
        component.start()
        for d in self.nodes:
            self.wait(lambda: self.slots(d) == {"a": 128, "b": 128}, what="half of the slots each", daemon=d)
        self.component()
        self.publish(3)
        self.all_told(other)
        told = [title for push in self.alice.pushes() for title in push.titles]
        self.assertEqual(told, self.titles())   # nobody was killed, so nothing comes twice
