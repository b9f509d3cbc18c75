"""Endpoints of XML-RPC. A call has no cursors; titles tell which revisions it has."""
import xmlrpc.client

from .base import Acted, Endpoint


class Consumer(Acted, Endpoint):
    kind = "xmlrpc"
    ok = (200, xmlrpc.client.dumps((1,), methodresponse=True).encode(), {"Content_Type": "text/xml"})
    cut_counts = False
    actions = ("pause", "replay", "skip", "batch")

    def __init__(self, run, n, dice):
        super().__init__(run, n, dice)
        self.n_subs = dice.choice((1, 1, 1, 1, 3))

    def subscribe(self, feeds, began):
        answer = self.run.subscribe(feeds, self.url, sink="xmlrpc")
        self.trail(answer["id"], feeds, began(), events=["new", "changed"])

    def read(self, ask, body):
        (key, url, entries), _ = xmlrpc.client.loads(body)
        return key, {"url": url, "titles": [e.get("title") for e in entries]}
