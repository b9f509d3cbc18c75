"""Runs the real binary in a folder of its own, on a port that the system chooses."""
import atexit
import contextlib
import http.client
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import threading
import time
import unittest
import urllib.parse

from . import described
from .postgres import borrowed

BINARY = os.environ.get("FEEDMILL_BINARY", "build/feedmill")
# sanitizers and slow machines: every deadline of a test is multiplied by this
PATIENCE = float(os.environ.get("FEEDMILL_PATIENCE", "1"))
HUNG = 60  # seconds, times PATIENCE: what has not come by then does not come
running = set()     # daemons that have not ended
REPORTS = ("AddressSanitizer", "LeakSanitizer", "ThreadSanitizer", "runtime error:", "impossible:")


servers = []        # the PostgreSQL that this process uses, if a test has asked for it


def own_database():
    """Returns the address of a new database of PostgreSQL."""
    if not servers:
        servers.append(borrowed())
        atexit.register(servers[0].close)
    return servers[0].new_database()


class Crash(AssertionError):
    """A daemon that hung, ended by itself, or has a report of a sanitizer. A test that fails by it is not run again."""


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body, object_pairs_hook=self._no_doubles)

    @staticmethod
    def _no_doubles(pairs):
        keys = [k for k, _ in pairs]
        if len(keys) != len(set(keys)):
            raise ValueError("key given twice: %r" % keys)
        return dict(pairs)

    def header(self, name, default=None):
        for key, value in self.headers:
            if key.lower() == name.lower():
                return value
        return default


def quote(text):
    return urllib.parse.quote(text, safe="")


class Daemon:
    """A daemon with `args`; its folder lives until close(), across restarts. A ping causes a fetch at
    once, and a feed may bring any number of entries (--ping-gap and --feed-quota are 0, if no argument says otherwise).
    `db`: its database; None: a file of its own."""

    def __init__(self, *args, env=None, open_loopback=True, db=None, port=0):
        self.folder = tempfile.mkdtemp(prefix="feedmill-test-")
        self.db = db or os.path.join(self.folder, "feeds.db")
        self.args = list(args)
        if open_loopback:
            self.args += ["--allow-fetch", "127.0.0.0/8", "--allow-callback", "127.0.0.0/8"]
        self.env = dict(os.environ, FEEDMILL_PING_GAP="0", FEEDMILL_FEED_QUOTA="0", **(env or {}))
        self.process, self.port, self.log = None, port, []
        self.answers = set()        # what call() got, as described.of() has it
        self.start()

    # ---- life ----
    def start(self):
        self.until = time.monotonic() + 20 * PATIENCE
        self.listen()

    def listen(self):
        listen = "127.0.0.1:%d" % self.port if self.port else "127.0.0.1:0"
        self.process = subprocess.Popen(
            [BINARY, "serve", "--listen", listen, "--db", self.db] + self.args,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.env, text=True,
            errors="replace")
        self._errors = threading.Thread(target=self._read_errors, args=(self.process.stderr,),
                                        daemon=True)
        self._errors.start()
        line = self.process.stdout.readline()
        match = re.search(r"ready on http://[^ ]*:(\d+)", line)
        if not match:
            self.process.wait(10)
            self._errors.join(5)
            if self.port and "Address already in use" in self.text() and time.monotonic() < self.until:
                # while it was down, the kernel gave its port to a connection of another test
                self.log.clear()
                time.sleep(0.2)
                return self.listen()
            if "built without it" in self.text():
                raise unittest.SkipTest("built without PostgreSQL")
            kind = Crash if self.process.returncode < 0 else AssertionError
            raise kind("the daemon did not start: %r\n%s" % (line, self.text()))
        self.port = int(match.group(1))
        running.add(self)

    def _read_errors(self, stream):
        for line in stream:
            self.log.append(line)

    def stop(self):
        """SIGTERM; returns the exit code, after checking for sanitizer reports."""
        self.process.send_signal(signal.SIGTERM)
        return self._ended(60 * PATIENCE)

    def kill(self):
        self.process.kill()
        return self._ended(30)

    def abort(self):
        """End it where it hangs; returns the end of its log, which has the stack that a sanitizer prints then."""
        self.process.send_signal(signal.SIGABRT)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
        self._errors.join(5)
        return self.text()

    def _ended(self, seconds):
        running.discard(self)
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.abort()
            raise Crash("the daemon did not stop in %d s\n%s" % (seconds, self.text()))
        finally:
            self._errors.join(5)
            self.process.stdout.close()
            self.process.stderr.close()
        bad = [line for line in self.log if any(word in line for word in REPORTS)]
        if bad:
            raise Crash("the daemon reported:\n" + self.text())
        return code

    def close(self):
        """Stop if it runs, check the exit code, remove the folder."""
        try:
            if self.process.poll() is None:
                code = self.stop()
                if code != 0:
                    raise Crash("exit code %d\n%s" % (code, self.text()))
            elif self.process.returncode not in (0, -signal.SIGKILL):
                raise Crash("exit code %d\n%s" % (self.process.returncode, self.text()))
        finally:
            shutil.rmtree(self.folder, ignore_errors=True)

    def text(self):
        return "".join(self.log[-400:])

    # ---- talking ----
    @property
    def base(self):
        return "http://127.0.0.1:%d" % self.port

    def call(self, method, path, body=None, headers=None, timeout=60):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout * PATIENCE)
        try:
            try:
                connection.request(method, path, body=body, headers=headers or {})
            except (BrokenPipeError, ConnectionResetError):
                if connection.sock is None:
                    raise
                # it has answered, and did not wait for the rest of the body
            answer = connection.getresponse()
            answer = Answer(answer.status, answer.getheaders(), answer.read())
            self.answers.add(described.of(method, path, answer))
            return answer
        finally:
            connection.close()

    def undescribed(self):
        """The answers so far that /openapi.json lacks; none if the daemon does not run, or is busy."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        try:
            connection.request("GET", "/openapi.json")
            answer = connection.getresponse()
            return described.undescribed(answer.read(), self.answers) if answer.status == 200 else []
        except (OSError, http.client.HTTPException):
            return []
        finally:
            connection.close()

    def get(self, path, **headers):
        return self.call("GET", path, headers={k.replace("_", "-"): v for k, v in headers.items()})

    def feed(self, url, **params):
        params.setdefault("type", "json")
        query = "&".join("%s=%s" % (k, quote(str(v))) for k, v in params.items())
        return self.get("/feed?url=%s&%s" % (quote(url), query))

    def subscribe(self, *urls, **params):
        fields = [("url", u) for u in urls] + [(k.rstrip("_"), str(v)) for k, v in params.items()]
        answer = self.call("POST", "/sub", urllib.parse.urlencode(fields),
                           {"Content-Type": "application/x-www-form-urlencoded"})
        assert answer.status == 201, (answer.status, answer.body)
        return answer.json["id"]

    def record(self, url):
        """The feed's record as GET /sub?type=json shows it, or None."""
        for feed in self.get("/sub?type=json&all=1").json["feeds"]:
            if url in (feed["url"], feed.get("page_url")):
                return feed
        return None

    def wait_metric(self, name, value, seconds=HUNG):
        """Wait until this counter has come to `value`; returns what it is."""
        def there():
            now = self.counter(name)
            return (now,) if now >= value else None
        return wait_for(there, seconds, "%s of %d" % (name, value), self)[0]

    def wait_log(self, text, n=1, seconds=HUNG):
        """Wait until n lines of the log have this text; returns the last of them."""
        def there():
            found = [line for line in list(self.log) if text in line]
            return found[n - 1] if len(found) >= n else None
        return wait_for(there, seconds, "line %d with %r in the log" % (n, text), self)

    def wait_idle(self, seconds=HUNG):
        """Wait until all that came so far is fetched, stored, pushed and counted, with all that follows
        from it. What has its time later (a retry, the next poll) is not waited for."""
        wait_for(lambda: self.counter("work_pending") == 0, seconds, "rest", self)

    def stored(self, url):
        """Return when all that was handed to the storer before is committed: it takes what it is given
        in turn, and this is one more subscription to a known feed, and its end."""
        answer = self.call("DELETE", "/sub?id=%d" % self.subscribe(url))
        assert answer.status == 204, (answer.status, answer.body)

    def sql(self, statement):
        """Carries out a statement on its database, which a daemon with a file may not have open. Returns the rows, the
        columns of each as texts."""
        if self.db.startswith("postgresql:"):
            rows = servers[0].psql(statement, database=self.db.rsplit("/", 1)[1])
            return [line.split("|") for line in rows.split("\n") if line]
        with contextlib.closing(sqlite3.connect(self.db)) as db, db:
            return [["" if value is None else str(value) for value in row] for row in db.execute(statement)]

    def counter(self, name):
        for line in self.get("/metrics").body.decode().splitlines():
            if line.split(" ")[0] in (name, "feedmill_" + name):
                return int(float(line.split(" ")[1]))
        raise AssertionError("no counter " + name)

    def ping(self, url, name="test"):
        import xmlrpc.client
        with xmlrpc.client.ServerProxy(self.base + "/RPC2") as proxy:
            return proxy.weblogUpdates.ping(name, url)


def wait_for(condition, seconds=HUNG, what="the condition", daemon=None):
    """Poll until condition() is true; returns what it returned. The longer it takes the less often it is asked: a question to
    a daemon with sanitizers costs milliseconds, and the other tests need the processor."""
    began = time.monotonic()
    deadline = began + seconds * PATIENCE
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError("%s did not come true in %g s%s" % (
                what, seconds, "\n" + daemon.text() if daemon else ""))
        time.sleep(min(max(0.02, (time.monotonic() - began) / 10), 0.1))
