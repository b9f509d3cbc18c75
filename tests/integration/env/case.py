"""The base of every test class: parts that are closed at the end, and the daemon's log on failure.
"""
import os
import shutil
import tempfile
import time
import unittest

from .daemon import HUNG, Daemon, own_database, wait_for
from .origin import Origin, Reply
from .receiver import Receiver


class Case(unittest.TestCase):
    maxDiff = 4000
    engine = os.environ.get("FEEDMILL_TEST_ENGINE", "sqlite")     # or "pg"

    @classmethod
    def new_database(cls):
        """What a daemon of this class works on: None: a file of its own."""
        return own_database() if cls.engine == "pg" else None

    def daemon(self, *args, db=None, **kw):
        daemon = Daemon(*args, db=db or self.new_database(), **kw)
        self.addCleanup(daemon.close)
        self.addCleanup(self.assert_described, daemon)
        return daemon

    def assert_described(self, daemon):
        """OPS-01: what the daemon has answered is in its description. If it is not: api/openapi.def."""
        if daemon.answers and daemon.process.poll() is None:
            self.assertEqual([], daemon.undescribed(), "/openapi.json lacks answers (api/openapi.def)")

    def origin(self):
        origin = Origin()
        self.addCleanup(origin.close)
        return origin

    def receiver(self, *args, **kw):
        receiver = Receiver(*args, **kw)
        self.addCleanup(receiver.close)
        return receiver

    def wait(self, condition, seconds=HUNG, what="the condition", daemon=None):
        return wait_for(condition, seconds, what, daemon)

    def next_second(self):
        """Wait until the clock shows another second: dates of HTTP and of change logs count seconds."""
        now = int(time.time())
        self.wait(lambda: int(time.time()) > now, 2, "the next second")

    def clock(self):
        """A file for --test-clock, which ahead() writes."""
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        self.clock_path = os.path.join(folder, "ahead")
        return self.clock_path

    def ahead(self, seconds):
        """From now on the daemon's clocks are ahead by so much."""
        with open(self.clock_path + ".new", "w", encoding="ascii") as out:
            out.write("%d\n" % seconds)
        os.replace(self.clock_path + ".new", self.clock_path)

    def end_feed(self, d, o, path, between=lambda: None):
        """The feed answers 410 for a day, which ends it (ETIQ-06). `between`: before the last half of it."""
        o.set(path, Reply(410, ""))
        for seconds in (0, 43201):
            n = len(o.seen(path))
            if seconds == 0:
                d.ping(o.url(path))
            else:
                self.ahead(seconds)
            self.wait(lambda: len(o.seen(path)) > n, what="410 after %d s" % seconds, daemon=d)
            d.wait_idle()
        self.assertEqual("failing", d.record(o.url(path))["state"])
        between()
        self.ahead(86403)

    def assert_problem(self, answer, status, kind=None, **members):
        """An RFC 9457 answer of this status; `kind` is the last part of its type."""
        self.assertEqual(status, answer.status, answer.body[:500])
        self.assertEqual("application/problem+json", answer.header("Content-Type"))
        self.assertIn("no-store", answer.header("Cache-Control", ""))
        problem = answer.json
        self.assertEqual(status, problem["status"])
        for key in ("type", "title", "detail"):
            self.assertTrue(problem.get(key), problem)
        if kind:
            self.assertTrue(problem["type"].endswith(kind), problem["type"])
        for key, value in members.items():
            self.assertEqual(value, problem.get(key.replace("_", "-")), problem)
        return problem


def slow(test):
    """Marks a test that --quick leaves out."""
    return unittest.skipIf(os.environ.get("FEEDMILL_QUICK"), "slow")(test)
