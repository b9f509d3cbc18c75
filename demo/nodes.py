#!/usr/bin/env python3
"""nodes.py BINARY N [OPTION]...: a PostgreSQL, N nodes of Feedmill on it, publishers, and receivers that count what they
get. One node is killed, and comes back. Nothing may be missing. Ctrl-C stops everything."""
import contextlib
import glob
import http.server
import json
import os
import pwd
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request
import xmlrpc.server

PUBLISHERS, RECEIVERS = 6, 3
KILL_AT, BACK_AT = 8, 24    # seconds
LEASE = "3s"
LOOPBACK = [word for name in ("--allow-fetch", "--allow-callback") for word in (name, "127.0.0.0/8")]


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Postgres:
    """A server in a folder of its own, as another user when root starts it, because it refuses root."""

    def __init__(self, folder):
        found = glob.glob("/usr/lib/postgresql/*/bin")
        newest = max(found, key=lambda f: int(f.split("/")[4]), default=None)
        if newest is None:
            sys.exit("PostgreSQL is not installed (package postgresql)")
        self.port, self.data = free_port(), os.path.join(folder, "data")
        self.user = {}
        if os.geteuid() == 0:
            entry = pwd.getpwnam("postgres")
            self.user = {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
            os.chmod(folder, 0o711)
        os.mkdir(self.data, 0o700)
        if self.user:
            os.chown(self.data, self.user["user"], self.user["group"])
        self.run(newest + "/initdb", "-D", self.data, "-U", "mill", "-A", "trust", "--no-sync", "--locale=C.UTF-8",
                 "--encoding=UTF8")
        self.process = subprocess.Popen(
            [newest + "/postgres", "-D", self.data, "-p", str(self.port), "-k", self.data, "-h", "127.0.0.1"],
            cwd="/", stderr=open(folder + "/postgres.log", "w"), start_new_session=True, **self.user)
        while subprocess.run([newest + "/pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)]).returncode:
            if self.process.poll() is not None:
                sys.exit("PostgreSQL did not start:\n" + open(folder + "/postgres.log").read())
            time.sleep(0.1)
        self.run(newest + "/createdb", "-h", "127.0.0.1", "-p", str(self.port), "-U", "mill", "feedmill")
        self.uri = "postgresql://mill@127.0.0.1:%d/feedmill" % self.port

    def run(self, *command):
        done = subprocess.run(command, cwd="/", stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **self.user)
        if done.returncode:
            sys.exit(done.stdout)

    def close(self):
        self.process.send_signal(signal.SIGINT)     # its "fast" end
        self.process.wait()


class Publisher:
    """A host with one feed that grows."""

    def __init__(self, number):
        publisher = self
        self.name, self.titles, self.lock = "feed-%d" % number, [], threading.Lock()

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                body = publisher.document().encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/rss+xml")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = "http://127.0.0.1:%d/%s.rss" % (self.server.server_address[1], self.name)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def grow(self):
        with self.lock:
            self.titles.append("%s, entry %d" % (self.name, len(self.titles) + 1))

    def document(self):
        with self.lock:
            items = ["<item><guid isPermaLink='false'>%s</guid><title>%s</title></item>" % (t, t)
                     for t in reversed(self.titles[-50:])]
        return ("<rss version='2.0'><channel><title>%s</title><link>%s</link><description/>%s</channel></rss>"
                % (self.name, self.url, "".join(items)))


class Receiver:
    """Counts what it was given of each feed, and what came again or out of order."""

    def __init__(self):
        self.got, self.n_again, self.n_wrong, self.lock = {}, 0, 0, threading.Lock()
        self.server = xmlrpc.server.SimpleXMLRPCServer(("127.0.0.1", 0), logRequests=False)
        self.url = "http://127.0.0.1:%d/" % self.server.server_address[1]
        self.server.register_function(self.take, "feedReceived")
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def take(self, _, url, entries):
        with self.lock:
            got = self.got.setdefault(url, [])
            for entry in entries:
                if entry["title"] in got:
                    self.n_again += 1
                else:
                    self.n_wrong += bool(got) and int(entry["title"].split()[-1]) < int(got[-1].split()[-1])
                    got.append(entry["title"])
        return 1

    def missing(self, publishers):
        with self.lock:
            return sum(t not in self.got.get(p.url, ()) for p in publishers for t in list(p.titles))


class Node:
    def __init__(self, binary, number, postgres, options):
        self.name, self.port = "mill%d" % number, free_port()
        self.command = [binary, "serve", "--db", postgres.uri, "--listen", "127.0.0.1:%d" % self.port, "--node",
                        self.name, "--node-lease", LEASE, "--min-period", "2s", "--log-level", "error"] \
            + LOOPBACK + options
        self.base = "http://127.0.0.1:%d" % self.port
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, text=True, start_new_session=True)
        if "ready on" not in self.process.stdout.readline():
            sys.exit("%s did not start" % self.name)

    def stop(self):
        if self.is_alive:
            self.process.send_signal(signal.SIGTERM)
        self.process.wait()

    @property
    def is_alive(self):
        return self.process.poll() is None

    def post(self, path, **fields):
        data = urllib.parse.urlencode(fields, doseq=True).encode()
        return urllib.request.urlopen(self.base + path, data, timeout=20).read()

    def nodes(self):
        return json.load(urllib.request.urlopen(self.base + "/nodes", timeout=20))["nodes"]


class Show:
    def __init__(self, binary, n, options, folder, ends):
        postgres = Postgres(folder)
        ends.callback(postgres.close)
        self.nodes = []
        for i in range(n):
            self.nodes.append(Node(binary, i + 1, postgres, options))
            ends.callback(self.nodes[-1].stop)
        self.publishers = [Publisher(i + 1) for i in range(PUBLISHERS)]
        self.receivers = [Receiver() for _ in range(RECEIVERS)]
        self.began = time.monotonic()

    def say(self, text):
        print("%4.0f s  %s" % (time.monotonic() - self.began, text), flush=True)

    def alive(self):
        return [n for n in self.nodes if n.is_alive]

    def slots(self):
        return "   ".join("%s: %3d slots" % (n["name"], n["slots"])
                          for n in sorted(random.choice(self.alive()).nodes(), key=lambda n: n["name"]))

    def subscribe(self):
        for receiver in self.receivers:
            random.choice(self.nodes).post("/sub", endpoint=receiver.url, url=[p.url for p in self.publishers])
        for publisher in self.publishers:   # its first document is not pushed
            urllib.request.urlopen("%s/feed?url=%s" % (self.nodes[0].base, publisher.url), timeout=60)

    def tick(self):
        """Each feed gains an entry, and some node is told of it."""
        for publisher in self.publishers:
            publisher.grow()
            try:
                random.choice(self.alive()).post("/ping", name=publisher.name, url=publisher.url)
            except OSError:
                pass    # it was killed just then: the poll finds it
        published = sum(len(p.titles) for p in self.publishers)
        missing = sum(r.missing(self.publishers) for r in self.receivers)
        self.say("published %3d   pushed %3d of %3d   %s" % (
            published, published * RECEIVERS - missing, published * RECEIVERS, self.slots()))

    def settle(self):
        """Wait until everything has arrived, and tell."""
        until = time.monotonic() + 60
        while any(r.missing(self.publishers) for r in self.receivers) and time.monotonic() < until:
            time.sleep(0.2)
        missing = sum(r.missing(self.publishers) for r in self.receivers)
        self.say("%d entries, %d receivers: %s. %d came again, %d out of order." % (
            sum(len(p.titles) for p in self.publishers), RECEIVERS,
            "nothing is missing" if not missing else "%d are missing" % missing,
            sum(r.n_again for r in self.receivers), sum(r.n_wrong for r in self.receivers)))

    def run(self, stopped):
        self.subscribe()
        print("\n%d nodes on one PostgreSQL, %d publishers, %d receivers. A node that is silent for %s has died.\n" % (
            len(self.nodes), PUBLISHERS, RECEIVERS, LEASE), flush=True)
        victim, told = random.choice(self.nodes), False
        while not stopped.wait(1):
            now = time.monotonic() - self.began
            if now >= KILL_AT and victim.is_alive and not told and len(self.nodes) > 1:
                victim.process.kill()
                victim.process.wait()
                self.say("---- kill -9 of %s ----" % victim.name)
            elif now >= BACK_AT and not told:
                self.settle()
                if not victim.is_alive:
                    victim.start()
                    self.say("---- %s is started again ----" % victim.name)
                told = True
                print("\nTry, in another shell:  %s nodes --server %s\nCtrl-C stops everything.\n" % (
                    self.nodes[0].command[0], self.alive()[0].base), flush=True)
            self.tick()


def main():
    binary, n, options = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
    if not 1 <= n <= 16:
        sys.exit("--nodes: 1 to 16")
    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: stopped.set())
    # the user of PostgreSQL cannot reach a folder of root's own
    folder = tempfile.mkdtemp(prefix="feedmill-demo-", dir="/tmp" if os.geteuid() == 0 else None)
    with contextlib.ExitStack() as ends:
        ends.callback(print, "stopped", flush=True)
        ends.callback(shutil.rmtree, folder, ignore_errors=True)
        show = Show(binary, n, options, folder, ends)
        show.run(stopped)
        show.settle()


if __name__ == "__main__":
    main()
