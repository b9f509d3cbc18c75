"""Subscribers of Smart Feeds over XMPP, with a real server (prosody) that is stopped and started. All have one client;
the parameter `n` of a node tells them apart. The server drops what comes while the client is away, so the checker
allows gaps at these times, and only then."""
import threading
import time
import urllib.parse
import xml.etree.ElementTree as tree

from integration.env import xmpp

Missing = None if xmpp.is_there() else "prosody or slixmpp is not installed"


class Server(xmpp.Prosody):
    """The server, and the client that reads."""

    def __init__(self, run):
        super().__init__()
        self.run, self.stopped, self.by_n = run, threading.Event(), {}
        self.lock, self.reader = threading.Lock(), threading.Thread(target=self.read, daemon=True)
        self.alice, self.n_read = self.client(), 0
        self.reader.start()

    def options(self):
        return self.args(), self.env()

    def pause_s(self, seconds):
        """Away for so long; returns when the client is back."""
        self.stop()
        time.sleep(seconds)
        self.start()
        with self.lock:
            self.take()
            self.alice.close()
            self.clients.remove(self.alice)
            self.alice, self.n_read = self.client(), 0

    def read(self):
        while not self.stopped.wait(0.01):
            with self.lock:
                self.take()

    def take(self):
        new = self.alice.stanzas[self.n_read:]
        self.n_read += len(new)
        for stanza in new:
            if stanza.tag.endswith("}message") and stanza.find(xmpp.EVENT + "event") is not None:
                self.note(xmpp.Push(stanza))

    def note(self, push):
        n = urllib.parse.parse_qs(push.node.partition("?")[2]).get("n", [None])[0]
        key = self.by_n.get(n)
        if key is None:
            self.run.record.wrong.append("a message for nobody: " + tree.tostring(push.message).decode()[:300])
            return
        at = time.monotonic()
        self.run.record.trails[key].append(
            {"t": at, "end": at, "how": "acked", "status": 200, "titles": push.titles, "n": len(push.items),
             "prev": push.headers["PreviousCursor"], "last": push.headers["LastCursor"],
             "id": push.message.get("id")})

    def close(self):
        self.stopped.set()
        self.reader.join(30)
        super().close()


class Consumer:
    kind = "xmpp"
    n_subs = 1
    actions = ()

    def __init__(self, run, n, dice):
        self.run, self.n, self.dice, self.keys = run, n, dice, []

    def subscribe(self, feeds, began):
        server, n = self.run.servers[self.kind], str(self.n)
        node = "smart?url=%s&order=modified&n=%s" % (urllib.parse.quote(feeds[0], safe=""), n)
        key = int(server.alice.subscribe(node).get("subid"))
        server.by_n[n] = key
        self.keys.append(key)
        self.run.record.subs[key] = {"kind": self.kind, "feeds": feeds[:1], "began": began(),
                                     "events": ["new", "changed", "deleted"]}
