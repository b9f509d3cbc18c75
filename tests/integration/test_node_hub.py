"""Several nodes on one log: requests at our hub, which come to any node, and are verified by one."""
import urllib.parse
from concurrent.futures import ThreadPoolExecutor

from .env.daemon import PATIENCE, quote
from .env.nodes import MISSED, NodesCase
from .env.origin import rss
from .env.subscriber import Subscriber

N_CALLBACKS = 12
BASE = "http://mill.example"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


class NodeHub(NodesCase):
    def subscriber(self):
        s = Subscriber()
        self.addCleanup(s.close)
        return s

    def ask(self, d, s, topic):
        fields = {"hub.mode": "subscribe", "hub.topic": topic, "hub.callback": s.url}
        answer = d.call("POST", "/hub", urllib.parse.urlencode(fields), FORM)
        self.assertEqual(202, answer.status, answer.body)

    def test_the_owner_of_a_callback_verifies(self):  # NODE-02 NODE-05
        """Whichever node was asked, each callback is verified once, and gets each document once."""
        a, b = nodes = self.two("--base-url", BASE)
        o = self.origin()
        url = o.set("/f.xml", rss("old"))
        topic = BASE + "/feed?type=atom&url=" + quote(url)
        subscribers = [self.subscriber() for _ in range(N_CALLBACKS)]
        for i, s in enumerate(subscribers):
            self.ask(nodes[i % 2], s, topic)
        for d in nodes:
            self.wait(lambda: len(d.get("/sub?type=json").json["subscriptions"]) == N_CALLBACKS,
                      what="the subscriptions", daemon=d)
        o.set("/f.xml", rss("new", "old"))
        a.ping(url)
        self.wait(lambda: all(s.titles() == ["new"] for s in subscribers), daemon=b,
                  what="the document; it is %r" % [s.titles() for s in subscribers])
        self.assertEqual([1] * N_CALLBACKS, [len(s.verifications) for s in subscribers])
        self.assertEqual(N_CALLBACKS, sum(d.counter("hub_confirmed_total") for d in nodes))
        self.assertTrue(all(d.counter("hub_confirmed_total") for d in nodes))

    def test_a_request_outlives_the_node_that_was_to_verify_it(self):  # NODE-06
        a, b = self.two("--base-url", BASE)
        o = self.origin()
        url = o.set("/f.xml", rss("old"))
        a.feed(url)
        subscribers = [self.subscriber() for _ in range(N_CALLBACKS)]
        for s in subscribers:
            s.confirm = lambda query: (503, "")
            self.ask(a, s, BASE + "/feed?type=atom&url=" + quote(url))
        self.wait(lambda: all(s.verifications for s in subscribers), what="a first try", daemon=b)
        b.kill()
        for s in subscribers:
            s.confirm = None
        self.wait(lambda: len(a.get("/sub?type=json").json["subscriptions"]) == N_CALLBACKS,
                  what="the subscriptions", daemon=a)

    def test_requests_that_were_settled_unheard_are_over(self):  # NODE-06
        """The node reads all anew, and finds that what it waits for is not stored any more."""
        server, s = self.server(), self.subscriber()
        d = self.daemon("--db", server.uri(), "--push-timeout", "10m")
        url = self.origin().set("/f.xml", rss("old"))
        self.assertEqual(200, d.feed(url).status)
        s.delay = 600
        form = urllib.parse.urlencode({"hub.mode": "subscribe", "hub.callback": s.url,
                                       "hub.topic": d.base + "/feed?type=atom&url=" + quote(url)})
        with ThreadPoolExecutor() as pool:
            sync = pool.submit(d.call, "POST", "/hub", form + "&hub.verify=sync", FORM)
            self.wait(lambda: server.psql("SELECT count(*) FROM hub_intents") == "1", what="the request", daemon=d)
            server.psql(MISSED % "DELETE FROM hub_intents")
            answer = sync.result(timeout=20 * PATIENCE)
        self.assertEqual(503, answer.status, answer.body)
        self.assertTrue(answer.header("Retry-After"))
        self.assertIn(b"not known", answer.body)
        answers = [d.call("POST", "/hub", form, FORM).status for _ in range(17)]
        self.assertEqual([202] * 16 + [429], answers)
        server.psql(MISSED % "DELETE FROM hub_intents")     # they are counted no longer
        self.wait(lambda: d.call("POST", "/hub", form, FORM).status == 202, what="room", daemon=d)
