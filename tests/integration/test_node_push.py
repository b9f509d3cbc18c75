"""Several nodes on one log: which of them calls an endpoint, and what becomes of calls when a node goes."""
import re
import signal
import threading

from .env.hook import Hook
from .env.nodes import NodesCase
from .env.origin import rss

N_ENDPOINTS = 16    # that all of them are one node's is as good as impossible


class NodePush(NodesCase):
    def setUp(self):
        self.a, self.b = self.two()
        self.o = self.origin()
        self.names = ["old"]
        self.url = self.o.set("/f.xml", rss(*self.names))
        self.hooks = {}     # by subscription

    def subscribed(self, d):
        """One more endpoint, whose subscription is made at this node."""
        hook = Hook()
        self.addCleanup(hook.close)
        sub = d.subscribe(self.url, endpoint=hook.url, sink="webhook")
        self.hooks[sub] = hook
        return sub

    def subscribed_by_all(self):
        for i in range(N_ENDPOINTS):
            self.subscribed((self.a, self.b)[i % 2])
        self.publish("first", self.a)
        self.delivered("first")
        # a node says that it made a call after it has the answer
        self.wait(lambda: self.callers("a") | self.callers("b") == set(self.hooks), what="a line for each", daemon=self.a)

    def publish(self, name, d):
        self.names.insert(0, name)
        self.o.set("/f.xml", rss(*self.names))
        d.ping(self.url)

    def delivered(self, *names):
        """Wait until every endpoint has got these, once and in this order."""
        expected = list(names)
        self.wait(lambda: all(h.titles() == expected for h in self.hooks.values()),
                  what="%r; it is %r" % (expected, [h.titles() for h in self.hooks.values()]), daemon=self.a)

    def all_but(self, held):
        """Wait until the last delivery is acknowledged on disk by all endpoints but this one."""
        self.wait(lambda: [s["id"] for s in self.a.get("/sub?type=json").json["subscriptions"] if s["lag"]] == [held],
                  what="no lag", daemon=self.b)
        self.wait(lambda: len(self.hooks[held].calls) == 2, what="the call", daemon=self.b)

    def callers(self, name):
        """The subscriptions of which this node has made calls."""
        d = {"a": self.a, "b": self.b}[name]
        return {int(n) for n in re.findall(r"event=push sub=(\d+)", "".join(list(d.log)))}

    def test_an_endpoint_has_one_node(self):  # NODE-05 NODE-02
        self.subscribed_by_all()
        for name in ("second", "third"):
            self.publish(name, self.b)
            self.delivered(*reversed(self.names[:-1]))
        a, b = self.callers("a"), self.callers("b")
        self.assertEqual(set(), a & b)
        self.assertTrue(a and b)

    def test_a_node_ends(self):  # NODE-05 NODE-06
        self.subscribed_by_all()
        self.b.stop()
        self.publish("second", self.a)
        self.delivered("first", "second")
        self.wait(lambda: self.callers("a") == set(self.hooks), what="its lines in the log", daemon=self.a)
        self.b.start()
        self.wait(lambda: self.slots(self.b) == {"a": 128, "b": 128}, what="its slots", daemon=self.b)
        self.publish("third", self.a)
        self.delivered("first", "second", "third")
        self.assertTrue(self.callers("b"))

    def test_a_node_is_killed(self):  # NODE-06
        """What it had begun and was not acknowledged comes again, and nothing else does."""
        self.subscribed_by_all()
        held = sorted(self.callers("b"))[0]
        self.hooks[held].script.append(threading.Event())
        self.publish("second", self.a)
        self.all_but(held)
        self.b.kill()
        self.publish("third", self.a)
        hook = self.hooks.pop(held)
        self.delivered("first", "second", "third")
        self.wait(lambda: hook.titles()[-1] == "third", what="the third", daemon=self.a)
        self.assertIn(hook.titles(), (["first", "second", "second", "third"],))

    def test_a_node_is_frozen(self):  # NODE-05 NODE-06
        """It goes on in the middle of a call, when another node has delivered more: the position stays."""
        self.subscribed_by_all()
        held = sorted(self.callers("b"))[0]
        hook, hold = self.hooks[held], threading.Event()
        hook.script.append(hold)
        self.publish("second", self.a)
        self.all_but(held)
        del self.hooks[held]
        self.b.process.send_signal(signal.SIGSTOP)
        try:
            self.publish("third", self.a)
            self.wait(lambda: hook.titles() == ["first", "second", "second", "third"],
                      what="the third; it is %r" % hook.titles(), daemon=self.a)
            hold.set()
        finally:
            self.b.process.send_signal(signal.SIGCONT)
        self.wait(lambda: self.slots(self.b) == {"a": 128, "b": 128}, what="its slots", daemon=self.b)
        self.publish("fourth", self.a)
        self.delivered("first", "second", "third", "fourth")
        self.wait(lambda: len(hook.titles()) > 4, what="the fourth", daemon=self.a)
        self.assertEqual(["first", "second", "second", "third", "fourth"], hook.titles())
