"""The daemons, each behind a proxy of its own to the database; and what clients see of all: a balancer."""
import random
import shutil
import signal
import subprocess
import tempfile
import time

from integration.env.daemon import BINARY, PATIENCE, Daemon, wait_for

from . import clock, hold
from .proxy import Proxy

REFUSES_S = 10      # NODE-12


class Node(Daemon):
    """`is_up`: the balancer sends requests to it. `extras`: what is loaded into it: "clock", "hold"."""

    def __init__(self, loop, pair, name, args, extras=()):
        self.name, self.is_up = name, False
        self.proxy = Proxy(loop, lambda: pair.primary.port, is_tapped=True)
        self.own, self.libraries, env = tempfile.mkdtemp(prefix="feedmill-node-"), [], {}
        self.clock = clock.Clock(self.own) if "clock" in extras else None
        self.hold = hold.Hold(self.own) if "hold" in extras else None
        if self.clock:
            self.libraries.append(self.clock.library())
            env |= self.clock.environment()
        if self.hold:
            self.libraries.append(hold.build(self.own))
            env |= self.hold.environment()
        env |= {"LD_PRELOAD": " ".join(self.libraries)} if self.libraries else {}
        super().__init__("--node", name, "--contact-url", "http://%s.node.example/" % name, *args, env=env,
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

    def is_stopped(self):
        """Has it stopped, but not ended?"""
        with open("/proc/%d/stat" % self.process.pid, encoding="ascii") as stat:
            return stat.read().rpartition(")")[2].split()[0] == "T"

    def misfit(self, *args):
        """Start another node beside it with other options; returns how it ended, after how long, and what it said."""
        began = time.monotonic()
        try:
            done = subprocess.run([BINARY, "serve", "--listen", "127.0.0.1:0", "--db", self.db, *self.args, "--node", "misfit", *args],
                                  capture_output=True, text=True, timeout=3 * REFUSES_S * PATIENCE)
        except subprocess.TimeoutExpired:
            return None, time.monotonic() - began, ""
        return done.returncode, time.monotonic() - began, done.stderr

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
            if self.hold:
                self.hold.file.close()
            shutil.rmtree(self.own, ignore_errors=True)


class Front(Daemon):
    """All nodes as one daemon: each connection goes to any that is up."""

    def __init__(self, loop, seed):
        self.nodes, self.dice, self.log, self.answers = [], random.Random(seed), [], set()
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
