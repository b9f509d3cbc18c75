"""Documents shared through a real memcached, and its death."""
import shutil
import socket
import subprocess
import unittest

from .env.case import Case
from .env.origin import rss
from .env.servers import free_port

MEMCACHED = shutil.which("memcached") or "/usr/bin/memcached"


class Cache(Case):
    def memcached(self):
        port = free_port()
        process = subprocess.Popen([MEMCACHED, "-l", "127.0.0.1", "-p", str(port), "-U", "0", "-u", "nobody"])
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)

        def reachable():
            with socket.socket() as s:
                return s.connect_ex(("127.0.0.1", port)) == 0

        self.wait(reachable)
        return process, "127.0.0.1:%d" % port

    def test_documents_are_shared_and_its_death_costs_nothing(self):
        process, address = self.memcached()
        o, d = self.origin(), self.daemon("--memcached", address, "--cache-size", "0")
        u = o.set("/f.xml", rss("a", "b"))
        first = d.feed(u)

        def hit():              # an answer that takes long is a miss
            self.assertEqual(first.body, d.feed(u).body)
            return d.counter("memcached_hit_total") > 0
        self.wait(hit)
        d.stop()
        d.start()
        self.wait(hit)
        process.kill()
        process.wait()
        o.set("/f.xml", rss("c", "a", "b"))
        d.ping(u)
        self.wait(lambda: len(d.feed(u).json["entries"]) == 3, daemon=d)
        for n in range(1, 4):
            self.assertEqual(n, len(d.feed(u, len=n).json["entries"]))

    def test_a_version_is_never_mixed_up(self):
        _, address = self.memcached()
        o, d = self.origin(), self.daemon("--memcached", address)
        u = o.set("/f.xml", rss("v0"))
        for n in range(10):
            o.set("/f.xml", rss(*["v%d" % k for k in range(n, -1, -1)]))
            d.ping(u) if n else d.feed(u)
            self.wait(lambda: len(d.feed(u).json["entries"]) == n + 1, daemon=d)
            self.assertEqual(n + 1, d.feed(u, type="rss").body.count(b"<item>"))

    def test_without_a_server(self):
        o, d = self.origin(), self.daemon("--memcached", "127.0.0.1:%d" % free_port())
        u = o.set("/f.xml", rss("a"))
        self.assertEqual(1, len(d.feed(u).json["entries"]))

    def test_hits_in_process(self):
        o, d = self.origin(), self.daemon()
        u = o.set("/f.xml", rss("a"))
        d.feed(u)
        before = d.counter("cache_hit_total")
        d.feed(u)
        self.assertEqual(before + 1, d.counter("cache_hit_total"))
