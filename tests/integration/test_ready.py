"""GET /readyz: each of its reasons, made true: OPS-03."""
import json
import os
import resource
import shutil
import socket
import subprocess
import tempfile
import unittest

from cluster import disk

from .env.case import Case
from .env.daemon import BINARY, PATIENCE
from .env.disk import held
from .env.origin import rss


class Ready(Case):
    def ask(self, d):
        return d.get("/readyz")

    def unready(self, d, reason):
        """Wait until this is a reason; returns its detail."""
        def there():
            answer = self.ask(d)
            return answer if reason in answer.json["reasons"] else None
        answer = self.wait(there, what=reason, daemon=d)
        said = answer.json
        self.assertEqual((503, "unready"), (answer.status, said["status"]))
        self.assertEqual("application/json", answer.header("Content-Type"))
        self.assertIn("no-store", answer.header("Cache-Control"))
        self.assertGreater(int(answer.header("Retry-After")), 0)
        self.assertEqual(len(said["reasons"]), len(said["details"]))
        detail = said["details"][said["reasons"].index(reason)]
        self.assertRegex(detail, r"^[A-Z].*\.$")
        self.assertNotIn(d.folder, detail)  # no token is needed, so no names of files
        return detail

    def ready(self, d):
        answer = self.wait(lambda: (lambda a: a if a.status == 200 else None)(self.ask(d)), what="readiness", daemon=d)
        self.assertEqual(("ready", [], []), tuple(answer.json[key] for key in ("status", "reasons", "details")))


class Reasons(Ready):
    def test_ready_without_a_token(self):                                # OPS-03
        d = self.daemon("--token", "x")
        self.ready(d)
        self.assertEqual(200, d.get("/healthz").status)
        self.assertEqual(401, d.get("/metrics").status)

    def test_nothing_is_stored_although_feeds_are_due(self):             # OPS-03
        o = self.origin()
        clock = os.path.join(self.folder(), "clock")
        d = self.daemon("--test-clock", clock)
        url = o.set("/f.xml", rss("a"))
        d.subscribe(url)
        d.wait_idle()
        with held(d):
            self.touch(d, url)
            self.wait(lambda: d.counter("store_commit_age_seconds") or d.counter("store_failing_seconds") or
                      d.counter("store_queue_oldest_age_seconds"), daemon=d)
            self.assertEqual(200, self.ask(d).status)   # not yet
            with open(clock, "w", encoding="utf-8") as file:
                file.write("90")
            self.assertRegex(self.unready(d, "log-not-advancing"), r"for \d\d+ seconds")
            self.assertEqual(200, d.get("/healthz").status)
        self.ready(d)

    def folder(self):
        made = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, made)
        return made

    def touch(self, d, url):
        """Have something to store, without waiting for it."""
        s = socket.create_connection(("127.0.0.1", d.port))
        self.addCleanup(s.close)
        s.sendall(("GET /ping?name=x&url=%s HTTP/1.1\r\nHost: localhost\r\n\r\n" % url).encode())


class Files(Ready):
    engine = "sqlite"

    def wait_full(self, d, url):
        """A caller is told that it is the disk, and nothing worse."""
        def told():
            answer = d.call("POST", "/sub", "url=" + url, {"Content-Type": "application/x-www-form-urlencoded"})
            return answer.status >= 500 and answer
        answer = self.wait(told, what="a subscription that finds no room", daemon=d)
        self.assert_problem(answer, 503, "unavailable")
        self.assertIn("The disk of the database is full.", answer.json["detail"])
        self.assertEqual("60", answer.header("Retry-After"))

    def test_the_database_was_deleted(self):                             # OPS-03
        d = self.daemon()
        self.ready(d)
        os.rename(d.db, d.db + ".away")
        self.assertIn("deleted or replaced", self.unready(d, "database-away"))
        os.rename(d.db + ".away", d.db)
        self.ready(d)

    def test_files_may_not_grow(self):                                   # OPS-03
        """As at the end of a quota: the first transaction that needs room shows it."""
        d, o = self.daemon(), self.origin()
        d.subscribe(o.set("/f.xml", rss("a")))
        d.wait_idle()
        size = os.path.getsize(d.db + "-wal")
        resource.prlimit(d.process.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
        for n in range(50):
            d.call("POST", "/sub", "url=" + o.set("/%d.xml" % n, rss("x" * 1000)),
                   {"Content-Type": "application/x-www-form-urlencoded"})
            if self.ask(d).status == 503:
                break
        self.wait_full(d, o.set("/one-more.xml", rss("x" * 100000)))
        self.assertIn("full", self.unready(d, "disk-full"))
        self.assertEqual(200, d.get("/healthz").status)
        resource.prlimit(d.process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        self.ready(d)       # by itself

    def test_a_full_disk(self):                                          # OPS-03
        why = disk.missing()
        if why:
            raise unittest.SkipTest(why)
        where = disk.folder("ready")
        self.addCleanup(disk.remove, where)
        d = self.daemon(db=os.path.join(where, "feeds.db"))
        self.ready(d)
        disk.fill(where)
        self.assertIn("full", self.unready(d, "disk-full"))
        self.assertEqual(200, d.get("/sub").status)
        self.wait_full(d, self.origin().set("/f.xml", rss("a")))
        disk.free(where)
        self.ready(d)
        d.stop()
        disk.fill(where)
        done = subprocess.run([BINARY, "serve", "--listen", "127.0.0.1:0", "--db", d.db], capture_output=True, text=True,
                              timeout=20 * PATIENCE)
        self.assertEqual((1, True), (done.returncode, "feeds.db: its disk is full" in done.stderr), done.stderr)

    def test_a_full_disk_is_no_damage(self):                             # OPS-03 OPS-05
        """A daemon that was killed there starts, and is read. What cannot be opened can be checked and copied to another disk."""
        why = disk.missing()
        if why:
            raise unittest.SkipTest(why)
        where, other = disk.folder("full"), tempfile.mkdtemp(prefix="feedmill-test-")
        self.addCleanup(shutil.rmtree, other, ignore_errors=True)
        self.addCleanup(disk.remove, where)
        d, o = self.daemon(db=os.path.join(where, "feeds.db")), self.origin()
        url = o.set("/f.xml", rss("a"))
        d.subscribe(url)
        d.wait_idle()
        d.kill()
        disk.fill(where)
        d = self.daemon(db=d.db)
        self.assertEqual("a", json.loads(d.get("/feed?type=json&url=" + url).body)["entries"][0]["title"])
        self.assertIn("full", self.unready(d, "disk-full"))
        self.wait_full(d, o.set("/g.xml", rss("b")))
        d.stop()

        def run(*args):
            return subprocess.run([BINARY, *args], capture_output=True, text=True, timeout=60 * PATIENCE)

        done = run("compact", "--db", d.db)
        self.assertEqual(1, done.returncode)
        self.assertRegex(done.stderr, r"feeds\.db: its disk (has no room: .* takes up to [1-9]\d{4,}|is full)")
        disk.free(where)
        d = self.daemon(db=d.db)
        self.ready(d)
        d.stop()
        disk.fill(where)
        for args in (["serve", "--listen", "127.0.0.1:0"], ["compact"]):
            done = run(*args, "--db", d.db)
            self.assertEqual(1, done.returncode)
            self.assertRegex(done.stderr, r"feeds\.db: its disk is full \(\d+ bytes are free\), .*feedmill backup --db")
        done = run("check", "--db", d.db)
        self.assertEqual((0, ""), (done.returncode, done.stderr))
        copy = os.path.join(other, "feeds.db")
        self.assertEqual(0, run("backup", "--db", d.db, copy).returncode)
        self.assertEqual("a", json.loads(self.daemon(db=copy).get("/feed?type=json&url=" + url).body)["entries"][0]["title"])
