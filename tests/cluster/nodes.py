"""The daemons, each behind a proxy of its own to the database; and what clients see of all: a balancer."""
import random
import signal
import time

from integration.env.daemon import PATIENCE, Daemon, wait_for

from .proxy import Proxy


class Node(Daemon):
    """`is_up`: the balancer sends requests to it."""

    def __init__(self, loop, pair, name, args):
        self.name, self.is_up = name, False
        self.proxy = Proxy(loop, lambda: pair.primary.port)
        super().__init__("--node", name, "--contact-url", "http://%s.node.example/" % name, *args,
                         db=pair.primary.uri(host="127.0.0.1:%d" % self.proxy.port))

    def start(self):
        """Try for a while: the database may be away."""
        until = time.monotonic() + 30 * PATIENCE
        while True:
            try:
                super().start()
                break
            except AssertionError:
                if time.monotonic() > until or self.process.returncode < 0:
                    raise
        self.is_up = True

    def kill(self):
        self.is_up = False
        return super().kill()

    def stop(self):
        self.is_up = False
        return super().stop()

    def freeze(self):
        self.is_up = False
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self):
        self.process.send_signal(signal.SIGCONT)
        self.is_up = True

    def n_slots(self):
        """As it says itself; None: it does not."""
        try:
            there = self.get("/nodes").json["nodes"]
            return next((n["slots"] for n in there if n["name"] == self.name), None)
        except (OSError, ValueError, KeyError):
            return None

    def close(self):
        try:
            if self.process and self.process.poll() is None:
                self.process.send_signal(signal.SIGCONT)
            super().close()
        finally:
            if self.process and self.process.poll() is None:
                self.process.kill()
            self.proxy.close()


class Front(Daemon):
    """All nodes as one daemon: each connection goes to any that is up."""

    def __init__(self, loop, seed):
        self.nodes, self.dice, self.log = [], random.Random(seed), []
        self.proxy = Proxy(loop, self.pick)

    def pick(self):
        up = [n for n in self.nodes if n.is_up]
        return self.dice.choice(up).port if up else None

    @property
    def port(self):
        return self.proxy.port

    def text(self):
        return "".join("%s: %s" % (n.name, line) for n in self.nodes for line in n.log[-100:])

    def wait_idle(self, seconds=60):
        wait_for(lambda: all(n.counter("work_pending") == 0 for n in self.nodes), seconds, "rest", self)

    def close(self):
        self.proxy.close()
