"""A backup through the running daemon: POST /backup, and feedmill backup FILE."""
import contextlib
import fcntl
import http.client
import os
import pty
import shutil
import signal
import socket
import socketserver
import sqlite3
import stat
import subprocess
import tempfile
import threading
import time

from .env.case import Case, slow
from .env.daemon import BINARY, PATIENCE
from .env.growth import grow
from .env.origin import rss

LOCK_BYTE = 0x46656564   # storage/sqlite/file.c
BALLAST_MB = 48     # more than sockets on one machine hold


class Answering:
    """A server that gives this answer to everybody, and then ends the connection. When `rest` is set, it sends the second half."""

    def __init__(self, answer, half=None, rest=None):
        class Handler(socketserver.StreamRequestHandler):
            def handle(self):
                while self.rfile.readline().strip():
                    pass
                self.wfile.write(answer)
                if half is not None and rest.wait(120 * PATIENCE):
                    self.wfile.write(half)

        self.server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self.url = "http://127.0.0.1:%d" % self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Through(Case):
    engine = "sqlite"

    def folder(self):
        folder = tempfile.mkdtemp(prefix="feedmill-test-")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        return folder

    def start(self, *args, env=None, **kw):
        return subprocess.Popen([BINARY, *args], **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **kw},
                                env=dict(os.environ, **(env or {})))

    def ended(self, process, code=0):
        out, err = process.communicate(timeout=120 * PATIENCE)
        self.assertEqual(code, process.returncode, out + err)
        self.assertLessEqual(err.count("\n"), 1)
        return out + err

    def run_(self, *args, code=0, **kw):
        return self.ended(self.start(*args, **kw), code)

    def heavy(self, *args, mb=BALLAST_MB):
        """A daemon whose database is large."""
        d = self.daemon(*args)
        d.stop()
        with contextlib.closing(sqlite3.connect(d.db)) as db, db:
            db.execute("CREATE TABLE ballast (bytes)")
            db.executemany("INSERT INTO ballast VALUES (?)", ((os.urandom(1 << 20),) for _ in range(mb)))
        d.start()
        return d

    def asked(self, d, head=""):
        """A connection that has asked for a backup, and reads nothing."""
        s = socket.socket()
        self.addCleanup(s.close)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
        s.settimeout(60 * PATIENCE)
        s.connect(("127.0.0.1", d.port))
        s.sendall(b"POST /backup HTTP/1.1\r\nHost: localhost\r\n" + head.encode() + b"Content-Length: 0\r\n\r\n")
        return s

    def begun(self, d):
        """The same, when no other copy is left; the answer has begun."""
        def try_it():
            s = self.asked(d)
            return s if s.recv(12) == b"HTTP/1.1 200" else s.close()

        return self.wait(try_it, what="a backup", daemon=d)

    def assert_left(self, d):
        """Nothing but the database is in its folder."""
        self.assertLessEqual(set(os.listdir(d.folder)), {"feeds.db", "feeds.db-wal", "feeds.db-shm"})

    def open_copies(self, d):
        """How many files without a name the daemon has on the disk of its database."""
        files = set()
        for fd in os.listdir("/proc/%d/fd" % d.process.pid):
            with contextlib.suppress(OSError):
                files.add(os.readlink("/proc/%d/fd/%s" % (d.process.pid, fd)))
        return sum("feeds.db-copy" in name for name in files)


class Backup(Through):
    def test_under_load_then_restored(self):                                 # OPS-05
        d, o, r = self.daemon(), self.origin(), self.receiver()
        u = o.set("/f.xml", rss("c", "b", "a"))
        sub = d.subscribe(u, endpoint=r.url)
        d.feed(u)
        d.wait_idle()
        folder = self.folder()
        copy = os.path.join(folder, "copy.db")
        stop = grow(self, d, o, u, pause=0.05)
        self.wait(lambda: len(d.get("/log?max=500&since=start").json["revisions"]) > 10, daemon=d)
        before = d.get("/log?max=500&since=start").json
        self.run_("backup", copy, "--server", d.base)
        after = d.get("/log?max=500&since=start").json
        stop()
        late = d.get("/log?since=end").json["cursor"]
        self.assert_left(d)
        self.assertEqual(["copy.db"], os.listdir(folder))                    # one file, and nothing is left over
        self.assertEqual(0o600, stat.S_IMODE(os.stat(copy).st_mode))
        self.assertIn("whole", self.run_("check", "--db", d.db))
        self.assertIn("whole", self.run_("check", "--db", copy))
        with contextlib.closing(sqlite3.connect(copy)) as db:
            last = db.execute("SELECT max(seq) FROM revisions").fetchone()[0]
            self.assertEqual("delete", db.execute("PRAGMA journal_mode").fetchone()[0])
        d.wait_idle()
        position = d.get("/sub?type=json&id=%d" % sub).json["subscriptions"][0]["position"]
        d.stop()
        restored = self.daemon(db=copy)
        rows = [row for row in restored.get("/log?max=500&since=start").json["revisions"] if row["seq"] <= last]
        self.assertGreaterEqual(len(rows), len(before["revisions"]))
        self.assertEqual(rows, after["revisions"][:len(rows)])
        for row in before["revisions"]:                                      # every cursor from before
            later = restored.get("/log?max=500&since=" + row["cursor"]).json["revisions"]
            self.assertEqual([x for x in later if x["seq"] <= last], [x for x in rows if x["seq"] > row["seq"]])
        restored.wait_idle()
        o.set("/f.xml", rss("after the restore"))
        restored.ping(u)
        restored.wait_idle()
        titles = [x["entry"]["title"] for x in restored.get("/log?max=500&since=" + late).json["revisions"]]
        self.assertIn("after the restore", titles)                           # the cursor of the lost part skips nothing
        now = restored.get("/sub?type=json&id=%d" % sub).json["subscriptions"][0]
        self.assertEqual(("active", r.url), (now["state"], now["endpoint"]))
        self.assertGreater(now["position"], 0)
        self.assertGreater(position, 0)
        self.assertIn("whole", self.run_("check", "--db", copy))

    def test_commits_do_not_begin_it_anew(self):                             # OPS-05
        """A copy of more than one piece comes to its end however much is written meanwhile."""
        d, until, n = self.heavy(), threading.Event(), [0]
        sub = d.subscribe("http://127.0.0.1:9/")

        def write():
            while not until.is_set():
                n[0] += 1
                d.call("PATCH", "/sub?id=%d&title=%d" % (sub, n[0]))

        busy = threading.Thread(target=write)
        busy.start()
        self.addCleanup(busy.join)
        self.addCleanup(until.set)
        copy = os.path.join(self.folder(), "copy.db")
        for how in (("--server", d.base), ("--db", d.db)):
            self.run_("backup", copy, *how)
            self.assertIn("whole", self.run_("check", "--db", copy))
        until.set()
        busy.join()
        self.assertGreater(n[0], 10)

    def test_the_answer(self):                                               # OPS-05
        d = self.daemon()
        answer = d.call("POST", "/backup")
        self.assertEqual((200, "application/vnd.sqlite3", "no-store"),
                         (answer.status, answer.header("Content-Type"), answer.header("Cache-Control")))
        self.assertEqual(len(answer.body), int(answer.header("Content-Length")))
        self.assertTrue(answer.body.startswith(b"SQLite format 3\0"))
        self.assert_problem(d.get("/backup"), 405)
        self.assertEqual(405, d.call("HEAD", "/backup").status)
        d.wait_log("event=backup")
        self.assert_left(d)
        self.wait(lambda: self.open_copies(d) == 0, daemon=d)

    def test_roles(self):                                                    # OPS-05 ACC-02
        d = self.daemon("--token", "secret", "--anonymous", "subscribe")
        admin = {"Authorization": "Bearer secret"}
        made = {role: d.call("POST", "/tokens", "name=%s&role=%s" % (role, role),
                             dict(admin, **{"Content-Type": "application/x-www-form-urlencoded"})).json["token"]
                for role in ("read", "subscribe", "admin")}
        copy = os.path.join(self.folder(), "copy.db")
        self.assert_problem(d.call("POST", "/backup"), 403, "role-needed", role="admin")
        for role in ("read", "subscribe"):
            answer = d.call("POST", "/backup", headers={"Authorization": "Bearer " + made[role]})
            self.assert_problem(answer, 403, "role-needed", role="admin")
            said = self.run_("backup", copy, "--server", d.base, "--token", made[role], code=1)
            self.assertIn("admin", said)
        self.assert_problem(d.call("POST", "/backup", headers={"Authorization": "Bearer wrong"}), 401)
        foreign = dict(admin, Origin="http://elsewhere.example")
        self.assert_problem(d.call("POST", "/backup", headers=foreign), 403)
        self.assertFalse(os.path.exists(copy))
        self.assertNotIn("event=backup ", d.text())                          # nothing was copied for them
        for token in (made["admin"], "secret"):
            self.run_("backup", copy, env={"FEEDMILL_SERVER": d.base, "FEEDMILL_TOKEN": token})
            self.run_("check", "--db", copy)
        d.args = ["--anonymous", "read"]
        d.stop()
        d.start()
        self.assert_problem(d.call("POST", "/backup"), 403, "role-needed")

    def test_one_at_a_time(self):                                            # OPS-05
        d = self.heavy()
        first = self.begun(d)
        problem = d.call("POST", "/backup")
        self.assert_problem(problem, 503, "busy")
        self.assertGreater(int(problem.header("Retry-After")), 0)
        copy = os.path.join(self.folder(), "copy.db")
        self.assertIn("one at a time", self.run_("backup", copy, "--server", d.base, code=1))
        self.assertEqual(1, self.open_copies(d))
        self.assert_left(d)                                                  # it has no name while it is sent
        self.assertEqual(200, d.get("/sub").status)                          # who waits for that one? nobody
        first.close()
        self.wait(lambda: self.open_copies(d) == 0, what="the end of the copy", daemon=d)
        self.run_("backup", copy, "--server", d.base)
        self.run_("check", "--db", copy)
        self.assertEqual(["copy.db"], os.listdir(os.path.dirname(copy)))

    def test_what_others_keep_beside_the_database(self):                     # OPS-05
        d = self.daemon()
        for name in ("feeds.db-copy", "feeds.db-copy-XXXXXX", "feeds.db.part"):
            with open(os.path.join(d.folder, name), "w") as out:
                out.write("mine")
        self.assertEqual(200, d.call("POST", "/backup").status)
        for name in ("feeds.db-copy", "feeds.db-copy-XXXXXX", "feeds.db.part"):
            with open(os.path.join(d.folder, name)) as kept:
                self.assertEqual("mine", kept.read())

    def test_many_at_once(self):                                             # OPS-05
        d, statuses = self.heavy(mb=4), []
        threads = [threading.Thread(target=lambda: statuses.append(d.call("POST", "/backup").status)) for _ in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertLessEqual(set(statuses), {200, 503})
        self.assertIn(200, statuses)
        self.wait(lambda: self.open_copies(d) == 0, daemon=d)
        self.assertEqual(200, d.call("POST", "/backup").status)

    @slow
    def test_a_slow_reader_is_not_cut_off(self):                             # OPS-05
        """It reads more slowly than the rest of the world waits for an answer, but it reads."""
        d = self.heavy(mb=16)
        s = self.begun(d)
        got, began = b"", time.monotonic()
        while time.monotonic() < began + 70:                                 # the limit is looked at every 30 seconds
            got += s.recv(65536)
            self.assertTrue(got)
            time.sleep(0.5)
            self.assertEqual(200, d.get("/healthz").status)
        while b"\r\n\r\n" not in got:
            got += s.recv(65536)
        head, _, body = got.partition(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
        while len(body) < length:
            piece = s.recv(1 << 20)
            self.assertTrue(piece, "cut off after %d of %d bytes" % (len(body), length))
            body += piece
        copy = os.path.join(self.folder(), "copy.db")
        with open(copy, "wb") as out:
            out.write(body)
        self.run_("check", "--db", copy)

    def test_a_client_that_leaves(self):                                     # OPS-05
        d = self.heavy(mb=8)
        for _ in range(5):
            self.asked(d).close()                                            # before the copy is there, or while it is sent
            self.begun(d).close()
            self.wait(lambda: self.open_copies(d) == 0, what="the end of the copy", daemon=d)
        self.assert_left(d)
        self.wait(lambda: d.call("POST", "/backup").status == 200, daemon=d)

    def test_killed(self):                                                   # OPS-05
        """Whenever the daemon is killed, its folder has the database alone, and the client no half file."""
        d, folder = self.heavy(), self.folder()
        copy = os.path.join(folder, "copy.db")
        with open(copy, "w") as out:
            out.write("the backup of yesterday")
        for delay in (0, 0.02, 0.05, 0.1, 0.2):
            client = self.start("backup", copy, "--server", d.base)
            self.wait(lambda: self.open_copies(d) > 0 or client.poll() is not None, daemon=d)
            time.sleep(delay)
            os.kill(d.process.pid, signal.SIGSTOP)
            self.assert_left(d)                                              # while it is made, too
            d.kill()
            out, err = client.communicate(timeout=60 * PATIENCE)
            self.assertIn(client.returncode, (0, 1), out + err)              # 0: it was faster
            self.assert_left(d)
            self.assertEqual(["copy.db"], os.listdir(folder))
            if client.returncode == 1:
                self.assertIn("feedmill backup: ", err)
                self.assertNotIn("start one with", err)
            d.start()
        self.run_("backup", copy, "--server", d.base)
        self.run_("check", "--db", copy)

    def test_stopped_and_handed_over(self):                                  # OPS-05 OPS-07
        d = self.heavy()
        s = self.begun(d)
        began = time.monotonic()
        d.process.send_signal(signal.SIGUSR2)
        with contextlib.suppress(OSError):
            while s.recv(65536):
                time.sleep(0.2)
        self.assertLess(time.monotonic() - began, 30 * PATIENCE)             # it ends, whole or not
        self.wait(lambda: self.answers(d), what="the new daemon", daemon=d)
        self.assertEqual(0, self.open_copies(d))
        copy = os.path.join(self.folder(), "copy.db")
        self.run_("backup", copy, "--server", d.base)
        for _ in range(3):                                                   # while it is made, or just sent
            client = self.start("backup", copy, "--server", d.base)
            self.wait(lambda: self.open_copies(d) > 0 or client.poll() is not None, daemon=d)
            self.assertEqual(0, d.stop())
            out, err = client.communicate(timeout=60 * PATIENCE)
            self.assertIn(client.returncode, (0, 1), out + err)
            self.assertEqual(client.returncode, err.count("feedmill backup: "), err)
            self.assertEqual(["copy.db"], os.listdir(os.path.dirname(copy)))
            self.assert_left(d)
            d.start()
        self.begun(d)
        self.assertEqual(0, d.stop())
        self.assert_left(d)
        self.assertIn("no daemon answers", self.run_("backup", copy, "--server", d.base, code=1))

    @staticmethod
    def answers(d):
        try:
            return d.get("/healthz").status == 200
        except (OSError, http.client.HTTPException):
            return False

    def test_no_room(self):                                                  # OPS-05
        place = self.folder()
        if subprocess.call(["mount", "-t", "tmpfs", "-o", "size=100m", "tmpfs", place], stderr=subprocess.DEVNULL) != 0:
            self.skipTest("no file system of its own can be mounted")
        self.addCleanup(subprocess.call, ["umount", "-l", place])
        d = self.daemon(db=os.path.join(place, "feeds.db"))
        self.assertEqual(200, d.call("POST", "/backup").status)
        with open(os.path.join(place, "other"), "wb") as out:
            out.write(b"x" * (60 << 20))
        answer = d.call("POST", "/backup")
        self.assert_problem(answer, 507, "unavailable")
        self.assertIn("bytes for a while on the disk", answer.json["detail"])
        copy = os.path.join(self.folder(), "copy.db")
        self.assertIn("bytes for a while on the disk", self.run_("backup", copy, "--server", d.base, code=1))
        self.assertEqual([], os.listdir(os.path.dirname(copy)))
        os.unlink(os.path.join(place, "other"))
        self.run_("backup", copy, "--server", d.base)
        self.assertEqual(0, d.stop())


class Client(Through):
    def test_it_replaces_an_older_one_and_nothing_else(self):                # OPS-05
        d, folder = self.daemon(), self.folder()
        copy, server = os.path.join(folder, "copy.db"), ("--server", d.base)
        for _ in range(2):
            self.assertEqual('{"file":"%s"}' % copy, self.run_("backup", copy, *server, "--json").strip().replace(": ", ":"))
        self.run_("check", "--db", copy)
        os.symlink(d.db, os.path.join(folder, "link.db"))
        for to, why in ((d.db, "in use"), (os.path.join(folder, "link.db"), "in use"), (d.db + "-wal", "in use"),
                        (d.db + "-shm", "in use"), (os.path.join(d.folder, ".", "feeds.db-journal"), "in use"),
                        (folder, "not a plain file")):
            self.assertIn(why, self.run_("backup", to, *server, code=2))
        self.assertIn("No such file", self.run_("backup", "/nonexistent/x.db", *server, code=1))
        self.assertIn("usage", self.run_("backup", *server, code=2))
        self.assertIn("--server", self.run_("backup", copy, *server, "--db", d.db, code=2))
        self.assertIn("feedmill serve", self.run_("backup", copy, "--server", "http://127.0.0.1:9", code=1))
        with open(copy + ".part", "w") as left:                              # by a client that was killed
            left.write("x" * 10000000)
        self.run_("backup", copy, *server)
        self.run_("check", "--db", copy)
        self.assertEqual(["copy.db", "link.db"], sorted(os.listdir(folder)))
        self.assertEqual(200, d.get("/sub").status)
        self.run_("check", "--db", d.db)

    def test_what_a_killed_one_has_left(self):                               # OPS-05
        """It goes with the next backup to the same file, and what a living one writes stays."""
        d, folder = self.heavy(), self.folder()
        copy = os.path.join(folder, "copy.db")
        for how in (("--db", d.db), ("--server", d.base)):
            client = self.start("backup", copy, *how)
            self.wait(lambda: os.listdir(folder) or client.poll() is not None, daemon=d)
            client.kill()
            client.communicate(timeout=60 * PATIENCE)
            self.assertLessEqual(set(os.listdir(folder)), {"copy.db", "copy.db.part"})
            with open(copy + ".part", "ab") as left:                         # also if it was faster
                left.write(b"half")
                fcntl.lockf(left, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, LOCK_BYTE)   # as one that lives
                self.wait(lambda: self.open_copies(d) == 0, daemon=d)
                self.assertIn("another backup is being written", self.run_("backup", copy, *how, code=1))
                self.assertTrue(os.path.samestat(os.fstat(left.fileno()), os.stat(copy + ".part")))
            self.wait(lambda: self.open_copies(d) == 0, daemon=d)
            self.run_("backup", copy, *how)
            self.run_("check", "--db", copy)
            self.assertEqual(["copy.db"], os.listdir(folder))
            os.unlink(copy)

    def test_answers_that_are_no_backup(self):                               # OPS-05
        kind = b"Content-Type: application/vnd.sqlite3\r\n"
        copy = os.path.join(self.folder(), "copy.db")
        with open(copy, "w") as out:
            out.write("the backup of yesterday")
        for answer, why in (
                (b"HTTP/1.1 200 OK\r\n" + kind + b"Content-Length: 1000\r\n\r\n" + b"x" * 300, "300 bytes"),
                (b"HTTP/1.1 200 OK\r\n" + kind + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", "not sent all"),
                (b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5\r\n\r\nlogin", "text/html"),
                (b"HTTP/1.1 200 OK\r\n" + kind + b"Content-Length: 0\r\n\r\n", "nothing in place of"),
                (b"HTTP/1.1 302 Found\r\nLocation: /login\r\nContent-Length: 0\r\n\r\n", "302"),
                (b"HTTP/1.1 500 Oh\r\nContent-Length: 2\r\n\r\n:(", "500"),
                (b"", "not sent all")):
            server = Answering(answer)
            self.addCleanup(server.close)
            with self.subTest(why):
                self.assertIn(why, self.run_("backup", copy, "--server", server.url, code=1))
                self.assertEqual(["copy.db"], os.listdir(os.path.dirname(copy)))
        with open(copy) as kept:
            self.assertEqual("the backup of yesterday", kept.read())

    def test_a_signal_leaves_nothing(self):                                  # OPS-05
        d = self.heavy()
        copy = os.path.join(self.folder(), "copy.db")
        client = self.start("backup", copy, "--server", d.base)

        def has_begun():
            with contextlib.suppress(FileNotFoundError):
                return os.path.getsize(copy + ".part") > 0
            return client.poll() is not None

        self.wait(has_begun, daemon=d)
        client.send_signal(signal.SIGINT)
        client.communicate(timeout=60 * PATIENCE)
        self.assertLessEqual(set(os.listdir(os.path.dirname(copy))), {"copy.db"})
        if client.returncode == -signal.SIGINT:
            self.assertFalse(os.path.exists(copy))

    def test_the_daemon_is_asked_when_there_is_a_place_for_the_copy(self):   # OPS-05
        d, folder = self.daemon(), self.folder()
        copy = os.path.join(folder, "copy.db")
        self.assertIn("No such file", self.run_("backup", os.path.join(folder, "none", "copy.db"), "--server", d.base, code=1))
        with open(copy + ".part", "w") as part:
            fcntl.lockf(part, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, LOCK_BYTE)
            self.assertIn("another backup", self.run_("backup", copy, "--server", d.base, code=1))
        self.assertNotIn("event=backup ", d.text())
        self.run_("backup", copy, "--server", d.base)
        self.assertEqual(["copy.db"], os.listdir(folder))
        d.wait_log("event=backup ")

    def test_ignored_signals_stay_ignored(self):                             # OPS-05
        """As with nohup, and in the background of a script."""
        rest, copy = threading.Event(), os.path.join(self.folder(), "copy.db")
        server = Answering(b"HTTP/1.1 200 OK\r\nContent-Type: application/vnd.sqlite3\r\nContent-Length: 600\r\n\r\n" + b"x" * 300,
                           b"y" * 300, rest)
        self.addCleanup(server.close)
        self.addCleanup(rest.set)
        for number in (signal.SIGHUP, signal.SIGINT):
            rest.clear()
            before = signal.signal(number, signal.SIG_IGN)                   # which a program inherits
            client = self.start("backup", copy, "--server", server.url)
            signal.signal(number, before)
            self.wait(lambda c=client: c.poll() is not None or
                      os.path.exists(copy + ".part") and os.path.getsize(copy + ".part") == 300)
            client.send_signal(number)
            rest.set()
            self.ended(client)
            self.assertEqual(600, os.path.getsize(copy))
            os.unlink(copy)

    def test_what_went_wrong_has_a_line_of_its_own(self):                    # OPS-05 CLI-02
        server = Answering(b"HTTP/1.1 200 OK\r\nContent-Type: application/vnd.sqlite3\r\nContent-Length: 1000\r\n\r\n" + b"x" * 300)
        self.addCleanup(server.close)
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        client = self.start("backup", os.path.join(self.folder(), "copy.db"), "--server", server.url, stderr=theirs)
        os.close(theirs)
        shown = b""
        with contextlib.suppress(OSError):                                   # EIO: it has ended
            while piece := os.read(ours, 4096):
                shown += piece
        client.communicate(timeout=60 * PATIENCE)
        self.assertEqual(1, client.returncode)
        self.assertIn(b" 30 %", shown)
        self.assertRegex(shown.decode(), r"\r\x1b\[Kfeedmill backup: [^\r\n]*\r\n$")

    def test_its_memory_is_bounded(self):                                    # OPS-05
        """What comes is written as it comes."""
        most, daemons = {}, {mb: self.heavy(mb=mb) for mb in (1, 200)}
        for mb, d in daemons.items():
            copy = os.path.join(self.folder(), "copy.db")
            client = self.start("backup", copy, "--server", d.base)
            _, state, usage = os.wait4(client.pid, 0)
            client.returncode = os.waitstatus_to_exitcode(state)
            self.assertEqual((0, ""), (client.returncode, client.stderr.read()))
            client.stdout.close()
            client.stderr.close()
            self.assertGreater(os.path.getsize(copy), mb << 20)
            most[mb] = usage.ru_maxrss                                       # KiB
            os.unlink(copy)
        self.assertLess(most[200] - most[1], 32 << 10, most)


class Postgres(Through):
    engine = "pg"

    def test_it_has_a_program_of_its_own(self):                              # OPS-05
        d = self.daemon()
        self.assertIn("pg_dump", self.assert_problem(d.call("POST", "/backup"), 404, "not-found")["detail"])
        copy = os.path.join(self.folder(), "copy.db")
        self.assertIn("pg_dump", self.run_("backup", copy, "--server", d.base, code=1))
        self.assertEqual([], os.listdir(os.path.dirname(copy)))
