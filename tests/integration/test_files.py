"""The files of the database: one daemon at a time, files that vanish, damaged pages."""
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import urllib.parse

from .env.case import Case
from .env.daemon import BINARY, PATIENCE, Daemon
from .env.origin import rss

FORM = {"Content-Type": "application/x-www-form-urlencoded"}
PAGE = 4096
LEAF = 13      # first byte of a page that holds rows of a table


class Files(Case):
    engine = "sqlite"   # these are about the file; the tables of PostgreSQL are its own care

    def database(self, daemon, ending=""):
        return os.path.join(daemon.folder, "feeds.db" + ending)

    def folder(self):
        folder = tempfile.mkdtemp(prefix="feedmill-test-")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        return folder

    def serve(self, path, *args):
        """Start a daemon on `path` that is expected not to come up; returns what it said."""
        done = subprocess.run([BINARY, "serve", "--listen", "127.0.0.1:0", "--db", path, *args],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=20 * PATIENCE)
        self.assertNotEqual(0, done.returncode, done.stderr)
        self.assertNotIn("ready", done.stdout)
        return done.stderr


class Standard(Files):
    """Standard input, output and errors that are closed at the start."""

    def test_the_log_is_not_written_into_the_database(self):             # REST-36
        d = self.daemon()
        d.stop()
        for closed in ("2>&-", "<&- 2>&-"):
            p = subprocess.Popen(["sh", "-c", 'exec "$0" "$@" ' + closed, BINARY, "serve", "--listen", "127.0.0.1:0", "--db", d.db,
                                  "--log-level", "debug"], stdout=subprocess.PIPE, text=True)
            self.addCleanup(p.stdout.close)
            self.addCleanup(p.kill)
            self.assertIn("ready on", p.stdout.readline())
            p.terminate()
            self.assertEqual(0, p.wait(60 * PATIENCE))
            with open(d.db, "rb") as db:
                self.assertEqual(b"SQLite format 3\0", db.read(16))
        d.start()

    def test_who_prints_learns_that_nobody_reads(self):                  # CLI-01
        done = subprocess.run(["sh", "-c", 'exec "$0" version >&-', BINARY], stderr=subprocess.PIPE, text=True)
        self.assertEqual(1, done.returncode, done.stderr)


class OneAtATime(Files):
    def test_a_symbolic_link_is_the_same_database(self):                 # REST-36
        d = self.daemon()
        other = os.path.join(self.folder(), "other.db")
        os.symlink(self.database(d), other)
        self.assertIn("in use", self.serve(other))

    def test_a_hard_link_is_the_same_database(self):                     # REST-36
        d = self.daemon()
        other = os.path.join(d.folder, "other.db")
        os.link(self.database(d), other)
        self.assertIn("in use", self.serve(other))
        d.stop()
        self.assertIn("hard links", self.serve(other))      # its log would stand beside another name
        os.unlink(other)
        d.start()

    def test_no_file_beside_the_database_is_the_lock(self):              # REST-36
        d = self.daemon()
        for name in os.listdir(d.folder):
            if name not in ("feeds.db", "feeds.db-wal", "feeds.db-shm"):
                os.unlink(os.path.join(d.folder, name))
        self.assertIn("in use", self.serve(self.database(d)))

    def test_of_two_that_start_at_once_one_comes_up(self):               # REST-36
        folder = self.folder()
        real, link = os.path.join(folder, "feeds.db"), os.path.join(folder, "link.db")
        os.symlink(real, link)
        for _ in range(20):
            lines = {}

            def start(path):
                p = subprocess.Popen([BINARY, "serve", "--listen", "127.0.0.1:0", "--db", path],
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                lines[path] = p, p.stdout.readline()

            threads = [threading.Thread(target=start, args=(path,)) for path in (real, link)]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
            up = [path for path, (_, line) in lines.items() if "ready" in line]
            for path, (p, _) in lines.items():
                if path in up:
                    p.send_signal(signal.SIGTERM)
                _, said = p.communicate(timeout=30 * PATIENCE)
                self.assertEqual(path in up, p.returncode == 0, said)
                if path not in up:
                    self.assertIn("in use", said)
            self.assertEqual(1, len(up))


class Vanished(Files):
    def setUp(self):
        self.o, self.d = self.origin(), self.daemon()
        self.u, self.v = self.o.set("/f.xml", rss("a")), self.o.set("/g.xml", rss("b"))
        self.sub = self.d.subscribe(self.u)
        self.d.wait_idle()

    def post(self, url):
        return self.d.call("POST", "/sub", urllib.parse.urlencode({"url": url}), FORM)

    def refuses(self):
        """Writes are refused, the operator can see it, reading goes on."""
        problem = self.assert_problem(self.post(self.v), 503, "unavailable")
        self.assertIn("database", problem["detail"])
        self.assert_problem(self.d.get("/healthz"), 503, "unavailable")
        self.assertEqual(1, self.d.counter("store_unavailable"))
        self.assertEqual(200, self.d.feed(self.u).status)
        self.d.wait_log("event=files_lost")
        lost = [line for line in self.d.log if "event=files_lost" in line]
        self.assertEqual(1, len(lost), self.d.text())
        self.assertIn("level=error", lost[0])
        return lost[0]

    def subscribed(self):
        return [s["urls"] for s in self.d.get("/sub?type=json").json["subscriptions"]]

    def test_the_write_ahead_log(self):                                  # REST-36
        os.unlink(self.database(self.d, "-wal"))
        self.assertIn("feeds.db-wal", self.refuses())
        self.d.kill()
        self.d.start()
        self.assertEqual([[self.u]], self.subscribed())     # what was acknowledged is there
        self.assertEqual(200, self.d.get("/healthz").status)

    def test_the_database(self):                                         # REST-36
        os.unlink(self.database(self.d))
        line = self.refuses()
        saved = re.search(r"/proc/\d+/fd/\d+", line).group()    # as the message says
        shutil.copy(saved, self.database(self.d))
        self.refuses()                                          # a copy is not the open file
        self.d.kill()
        self.d.start()
        self.assertEqual([[self.u]], self.subscribed())

    def test_a_database_that_is_moved_back(self):                        # REST-36
        away = self.database(self.d, ".away")
        os.rename(self.database(self.d), away)
        self.refuses()
        os.rename(away, self.database(self.d))
        self.assertEqual(201, self.post(self.v).status)
        self.assertEqual(200, self.d.get("/healthz").status)
        self.assertEqual(0, self.d.counter("store_unavailable"))

    def test_it_is_noticed_without_a_write(self):                        # REST-36
        os.unlink(self.database(self.d, "-shm"))
        self.wait(lambda: self.d.get("/healthz").status == 503, what="healthz to fail", daemon=self.d)
        self.refuses()


class Damaged(Files):
    def setUp(self):
        self.o = self.origin()
        self.u = self.o.set("/f.xml", rss(*["needle%03d " % n + "x" * 500 for n in range(200)]))
        self.d = self.daemon()
        self.d.subscribe(self.u)
        self.wait(lambda: len(self.d.feed(self.u, len=1000).json["entries"]) == 200,
                  what="the entries", daemon=self.d)
        self.d.stop()
        with open(self.database(self.d), "r+b") as file:
            whole = file.read()
            for at in range(0, len(whole), PAGE):
                page = whole[at:at + PAGE]
                if page[0] == LEAF and b"needle100" in page:
                    file.seek(at)
                    file.write(b"\xff" * 8)

    def test_reading_it_is_an_error(self):
        self.d.start()
        self.assert_problem(self.d.feed(self.u, len=1000), 500, "internal")
        self.d.wait_log("event=database_damaged")
        self.assertLess(0, self.d.counter("store_damaged_total"))

    def test_a_check_at_the_start_finds_it(self):
        said = self.serve(self.database(self.d), "--check-db")
        self.assertIn("damaged", said)
        self.assertIn("recover", said)

    def test_a_check_of_a_sound_database_passes(self):
        d = Daemon("--check-db")
        self.addCleanup(d.close)
        d.stop()
        d.start()
        self.assertEqual(200, d.get("/healthz").status)
