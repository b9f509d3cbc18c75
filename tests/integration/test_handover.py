"""A new version takes over without a failed request; sockets and states of a service manager."""
import ctypes
import http.client
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

from .env.case import Case
from .env.daemon import BINARY, PATIENCE
from .env.origin import Reply, rss


class Clients:
    """Threads that ask as fast as they can, each on one connection for as long as it is kept."""

    def __init__(self, port, n):
        self.port, self.until, self.lock = port, threading.Event(), threading.Lock()
        self.n_asked, self.n_closed, self.failed, self.statuses = 0, 0, [], set()
        self.threads = [threading.Thread(target=self.ask) for _ in range(n)]
        for t in self.threads:
            t.start()

    def ask(self):
        connection = None
        while not self.until.is_set():
            try:
                if connection is None:
                    connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60 * PATIENCE)
                    connection.connect()
                connection.request("GET", "/sub?type=json")
                answer = connection.getresponse()
                answer.read()
                with self.lock:
                    self.n_asked += 1
                    self.statuses.add(answer.status)
                if answer.getheader("Connection", "").lower() == "close":
                    with self.lock:
                        self.n_closed += 1
                    connection.close()
                    connection = None
            except (OSError, http.client.HTTPException) as e:
                if isinstance(e, ConnectionRefusedError) and connection is not None and connection.sock is None:
                    return      # the daemon has ended
                with self.lock:
                    self.failed.append(repr(e))
                return

    def end(self):
        self.until.set()
        for t in self.threads:
            t.join()


class Handover(Case):
    engine = "sqlite"

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="feedmill-test-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.program = os.path.join(self.folder, "feedmill")
        self.errors = open(os.path.join(self.folder, "log"), "w+")
        self.addCleanup(self.errors.close)

    def install(self):
        """A new version: the file at the program's path is another one."""
        fresh = self.program + ".new"
        shutil.copy(BINARY, fresh)
        os.rename(fresh, self.program)

    def serve(self, *args, command=(), refused=False, **kw):
        """A daemon from the program's path; its pid stays over all versions. `refused`: it does not start."""
        if not os.path.exists(self.program):
            self.install()
        process = subprocess.Popen(
            [*command, self.program, "serve", "--listen", "127.0.0.1:0", "--db", os.path.join(self.folder, "f.db"),
             "--allow-fetch", "127.0.0.0/8", *args],
            stdout=subprocess.PIPE, stderr=self.errors, text=True, **kw)
        self.addCleanup(process.stdout.close)
        if refused:
            return process
        self.addCleanup(self.ended, process)
        self.port = self.ready(process)
        return process

    def ready(self, process):
        line = process.stdout.readline()
        self.assertIn("ready on http://", line, self.log())
        return int(line.rsplit(":", 1)[1])

    def ended(self, process):
        if process.poll() is None:
            process.terminate()
        self.assertEqual(0, process.wait(60 * PATIENCE), self.log())
        for word in ("Sanitizer", "runtime error"):
            self.assertNotIn(word, self.log())

    def log(self):
        self.errors.seek(0)
        return self.errors.read()

    def get(self, path, timeout=60):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout * PATIENCE)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()


class NewVersions(Handover):
    def test_no_request_fails(self):                                     # OPS-07
        process = self.serve()
        clients = Clients(self.port, 8)
        self.addCleanup(clients.end)
        for _ in range(4):
            n = clients.n_asked
            self.wait(lambda: clients.n_asked > n + 20)
            self.install()
            process.send_signal(signal.SIGUSR2)
            self.assertEqual(self.port, self.ready(process))
        n = clients.n_asked
        self.wait(lambda: clients.n_asked > n + 20)
        clients.end()
        self.assertEqual(([], {200}), (clients.failed, clients.statuses))

    def test_connections_between_requests_are_kept(self):                # OPS-07
        process = self.serve()
        kept = [http.client.HTTPConnection("127.0.0.1", self.port, timeout=60 * PATIENCE) for _ in range(20)]
        for connection in kept:
            self.addCleanup(connection.close)
            connection.request("GET", "/healthz")
            connection.getresponse().read()
        sockets = [connection.sock for connection in kept]
        fresh = socket.create_connection(("127.0.0.1", self.port))       # has not asked anything yet
        self.addCleanup(fresh.close)
        process.send_signal(signal.SIGUSR2)
        self.ready(process)
        for connection, before in zip(kept, sockets):
            self.assertIs(before, connection.sock)
            connection.request("GET", "/healthz")
            answer = connection.getresponse()
            self.assertEqual((200, "close"), (answer.status, answer.getheader("Connection").lower()))
        fresh.sendall(b"GET /healthz HTTP/1.0\r\n\r\n")
        self.assertIn(b"200 OK", fresh.recv(4096))

    def test_long_polls_are_answered(self):                              # OPS-07
        process = self.serve()
        got = []
        poll = threading.Thread(target=lambda: got.append(self.get("/log?since=end&wait=50")))
        poll.start()
        time.sleep(1)
        process.send_signal(signal.SIGUSR2)
        poll.join()
        self.assertEqual(200, got[0][0])
        self.ready(process)

    def test_slow_clients_are_answered_and_keep_nobody_waiting(self):    # OPS-07
        """One waits for a publisher, one has sent half a head, one half a body; others are served within two seconds."""
        origin = self.origin()
        gate = threading.Event()
        self.addCleanup(gate.set)

        def slow(_):
            gate.wait(30 * PATIENCE)
            return Reply(200, rss("a"))
        url = origin.set("/slow", slow)
        process = self.serve()
        halves = {b"GET /readyz HTTP/1.1\r\nHost: x\r\n": 408,
                  b"POST /ping?url=x HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nabc": 408}
        sockets = []
        for text in halves:
            s = socket.create_connection(("127.0.0.1", self.port), 30 * PATIENCE)
            self.addCleanup(s.close)
            s.sendall(text)
            sockets.append(s)
        answers = []
        reader = threading.Thread(target=lambda: answers.append(self.get("/feed?url=%s" % url)))
        reader.start()
        self.wait(lambda: origin.seen("/slow"), what="the fetch")
        self.install()
        process.send_signal(signal.SIGUSR2)
        began = time.monotonic()
        self.assertEqual(200, self.get("/healthz")[0])
        self.assertLess(time.monotonic() - began, 2 * PATIENCE)
        self.assertEqual(self.port, self.ready(process))
        reader.join()
        self.assertEqual(503, answers[0][0], answers)
        for s, status in zip(sockets, halves.values()):
            self.assertIn(b"HTTP/1.1 %d " % status, s.recv(100))

    def test_what_does_not_run_does_not_take_over(self):                 # OPS-07
        process = self.serve()
        with open(self.program + ".new", "w") as out:
            out.write("not a program")
        os.chmod(self.program + ".new", 0o755)
        os.rename(self.program + ".new", self.program)
        process.send_signal(signal.SIGUSR2)
        self.wait(lambda: "event=handover_refused" in self.log())
        self.assertEqual(200, self.get("/healthz")[0])
        os.unlink(self.program)
        process.send_signal(signal.SIGUSR2)
        self.wait(lambda: self.log().count("event=handover_refused") == 2)
        self.assertIn("No such file", self.log())
        self.install()
        process.send_signal(signal.SIGUSR2)
        self.ready(process)
        self.assertEqual(200, self.get("/healthz")[0])

    def test_a_link_is_followed_anew(self):                              # OPS-07
        """The path of the program, or of its folder, is a link to a version, as in /etc/alternatives; another one is started."""
        for n in ("v1", "v2"):
            os.mkdir(os.path.join(self.folder, n))
            shutil.copy(BINARY, os.path.join(self.folder, n, "feedmill"))
        there = os.path.join(self.folder, "there")
        os.mkdir(there)

        def point(link, to):
            os.symlink(to, link + ".new")
            os.rename(link + ".new", link)
        # the link, where it points, how the program is called; "{}": the version
        for link, to, called in ((self.folder + "/cur", "{}", self.folder + "/cur/feedmill"),
                                 (self.folder + "/feedmill", "{}/feedmill", self.folder + "/feedmill"),
                                 (there + "/feedmill", self.folder + "/{}/feedmill", "there/feedmill"),
                                 (there + "/feedmill", self.folder + "/{}/feedmill", "feedmill")):
            point(link, to.format("v1"))
            process = subprocess.Popen([called, "serve", "--listen", "127.0.0.1:0", "--db", os.path.join(self.folder, "f.db")],
                                       stdout=subprocess.PIPE, stderr=self.errors, text=True, cwd=self.folder,
                                       env=dict(os.environ, PATH="/nonexistent:there:" + os.environ["PATH"]))
            self.addCleanup(process.stdout.close)
            try:
                self.ready(process)
                for version in ("v2", "v1"):
                    point(link, to.format(version))
                    process.send_signal(signal.SIGUSR2)
                    self.port = self.ready(process)
                    self.assertEqual(os.path.join(self.folder, version, "feedmill"), os.readlink("/proc/%d/exe" % process.pid))
                    self.assertEqual(200, self.get("/healthz")[0])
            finally:
                process.terminate()
                self.assertEqual(0, process.wait(60 * PATIENCE), self.log())
        self.assertIn("signal=USR2 program=%s/cur/feedmill" % self.folder, self.log().replace('"', ""))

    def test_another_program_does_not_take_over(self):                   # OPS-07
        """One that ends without a fault whatever it is asked."""
        process = self.serve()
        shutil.copy(shutil.which("true"), self.program + ".new")
        os.rename(self.program + ".new", self.program)
        process.send_signal(signal.SIGUSR2)
        self.wait(lambda: "event=handover_refused" in self.log() or process.poll() is not None)
        self.assertIsNone(process.poll(), self.log())
        self.assertIn("is not a Feedmill", self.log())
        self.assertEqual(200, self.get("/healthz")[0])

    def test_options_that_are_wrong_do_not_take_over(self):              # OPS-07
        """A config file with a fault, an option that the new program does not know, a file that cannot be written."""
        config = os.path.join(self.folder, "f.conf")

        def write(text):
            with open(config, "w", encoding="utf-8") as f:
                f.write(text)
        write("keep = 90d\n")
        process = self.serve("--config", config)
        faults = {"nonsense = 1\n": "line 1: unknown option nonsense",
                  "keep = soon\n": "option keep",
                  "log-level = loud\n": "option log-level",
                  "allow-callback = nowhere\n": "option allow-callback",
                  "access-log = %s/missing/a.log\n" % self.folder: "option access-log",
                  "key-file = %s/missing/key\n" % self.folder: "option key-file"}
        for n, (text, said) in enumerate(faults.items(), 1):
            write(text)
            process.send_signal(signal.SIGUSR2)
            self.wait(lambda: self.log().count("event=handover_refused") == n or process.poll() is not None)
            self.assertIsNone(process.poll(), self.log())
            self.assertIn(said, self.log().splitlines()[-1])
            self.assertEqual(200, self.get("/healthz")[0])
        write("keep = 30d\naccess-log = %s/a.log\n" % self.folder)
        process.send_signal(signal.SIGUSR2)
        self.ready(process)
        self.assertEqual(200, self.get("/healthz")[0])
        self.assertTrue(os.path.exists(os.path.join(self.folder, "a.log")))

    def test_whoever_started_it_ignores_the_end_of_children(self):       # OPS-07
        """A program inherits that, and the kernel then forgets how the check has ended."""
        config = os.path.join(self.folder, "f.conf")
        open(config, "w").close()
        process = self.serve("--config", config, command=["env", "--ignore-signal=CHLD"])
        with open(config, "w", encoding="utf-8") as f:
            f.write("nonsense = 1\n")
        process.send_signal(signal.SIGUSR2)
        self.wait(lambda: "event=handover_refused" in self.log() or process.poll() is not None)
        self.assertIsNone(process.poll(), self.log())
        self.assertIn("unknown option nonsense", self.log().splitlines()[-1])
        self.assertEqual(200, self.get("/healthz")[0])

    def test_without_its_token_nobody_takes_over(self):                  # OPS-07
        """Whether the database has tokens is known to the daemon that runs, not to the program that is asked."""
        config = os.path.join(self.folder, "f.conf")
        with open(config, "w", encoding="utf-8") as f:
            f.write("token = t\n")
        process = self.serve("--config", config, "--listen", "0.0.0.0:0")
        open(config, "w").close()
        process.send_signal(signal.SIGUSR2)
        self.wait(lambda: "event=handover_refused" in self.log() or process.poll() is not None)
        self.assertIn("can be reached from other machines", self.log().splitlines()[-1])
        self.assertEqual(200, self.get("/healthz")[0])

    def test_what_was_stored_is_there(self):                             # OPS-07
        origin = self.origin()
        url = origin.set("/f.xml", rss("b", "a"))
        process = self.serve()
        before = self.get("/feed?type=json&url=" + url)
        process.send_signal(signal.SIGUSR2)
        self.ready(process)
        self.assertEqual((before, 1), (self.get("/feed?type=json&url=" + url), len(origin.requests)))

    def test_the_end_drains_likewise(self):                              # OPS-07
        process = self.serve()
        clients = Clients(self.port, 8)
        self.addCleanup(clients.end)
        self.wait(lambda: clients.n_asked > 50)
        process.terminate()
        process.wait(60 * PATIENCE)
        clients.end()
        self.assertEqual([], clients.failed)
        self.assertLessEqual(8, clients.n_closed)           # a loop may still accept when another has stopped


PTRACE_SEIZE, PTRACE_INTERRUPT, PTRACE_DETACH, WALL = 0x4206, 0x4207, 17, 0x40000000


class Frozen:
    """One thread of a process stands still, the others go on."""

    def __init__(self, pid, name):
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
        self.libc.ptrace.restype = ctypes.c_long
        self.tid = next(int(tid) for tid in os.listdir("/proc/%d/task" % pid) if self.name(pid, tid) == name)

    @staticmethod
    def name(pid, tid):
        try:
            with open("/proc/%d/task/%s/comm" % (pid, tid)) as f:
                return f.read().strip()
        except (FileNotFoundError, ProcessLookupError):     # it has ended since
            return None

    def ptrace(self, request):
        if self.libc.ptrace(request, self.tid, None, None) != 0:
            raise OSError(ctypes.get_errno(), "ptrace")

    def __enter__(self):
        self.ptrace(PTRACE_SEIZE)
        self.ptrace(PTRACE_INTERRUPT)
        os.waitpid(self.tid, WALL)

    def __exit__(self, *_):
        self.ptrace(PTRACE_DETACH)


class Manager(Handover):
    """What systemd does: sockets that are open already, and a socket for the daemon's state."""

    def listening(self):
        s = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.addCleanup(s.close)
        return s

    def activated(self, *sockets, n=None, pid="$$", args=(), refused=False):
        """Starts a daemon with these sockets as descriptors 3, 4, ..."""
        moves = " ".join("%d<&%d" % (10 + i, s.fileno()) for i, s in enumerate(sockets))
        moves2 = " ".join("%d<&%d" % (3 + i, 10 + i) for i in range(len(sockets)))
        script = "exec %s; exec %s; LISTEN_PID=%s LISTEN_FDS=%d exec \"$@\"" % (
            moves, moves2, pid, len(sockets) if n is None else n)
        return self.serve(*args, command=["bash", "-c", script, "x"], refused=refused,
                          pass_fds=[s.fileno() for s in sockets])

    def test_sockets_of_a_manager(self):                                 # OPS-07
        one, other = self.listening(), self.listening()
        early = socket.create_connection(one.getsockname())              # before there is a daemon
        self.addCleanup(early.close)
        early.sendall(b"GET /healthz HTTP/1.0\r\n\r\n")
        process = self.activated(one, other)
        self.assertEqual(one.getsockname()[1], self.port)
        self.assertIn(b"200 OK", early.recv(4096))
        for s in (one, other):
            self.port = s.getsockname()[1]
            self.assertEqual(200, self.get("/healthz")[0])
        process.send_signal(signal.SIGUSR2)
        self.ready(process)
        for s in (one, other):
            self.port = s.getsockname()[1]
            self.assertEqual(200, self.get("/healthz")[0])

    def test_sockets_of_another_process(self):                           # OPS-07
        s = self.listening()
        self.activated(s, pid="1")
        self.assertNotEqual(s.getsockname()[1], self.port)

    def test_a_socket_that_others_reach_needs_a_role(self):              # OPS-06, as --listen
        s = socket.create_server(("0.0.0.0", 0))
        self.addCleanup(s.close)
        process = self.activated(s, refused=True)
        self.assertEqual(2, process.wait(60 * PATIENCE))
        self.assertIn("0.0.0.0:%d can be reached from other machines" % s.getsockname()[1], self.log())
        self.activated(s, args=["--anonymous", "read"])
        self.assertEqual(200, self.get("/healthz")[0])

    def test_states_are_told(self):                                      # OPS-06
        path = os.path.join(self.folder, "notify")
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
            s.bind(path)
            s.settimeout(60 * PATIENCE)
            process = self.serve(env=dict(os.environ, NOTIFY_SOCKET=path))
            self.assertEqual(b"READY=1", s.recv(100))
            process.send_signal(signal.SIGUSR2)
            self.assertTrue(s.recv(100).startswith(b"RELOADING=1"))
            self.assertEqual(b"READY=1", s.recv(100))
            process.terminate()
            self.assertEqual(b"STOPPING=1", s.recv(100))
            process.wait(60 * PATIENCE)

    def test_signs_of_life(self):                                        # OPS-06
        path = os.path.join(self.folder, "notify")
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
            s.bind(path)

            def said(state):
                s.settimeout(60 * PATIENCE)
                while s.recv(100) != state:
                    pass

            process = self.serve(env=dict(os.environ, NOTIFY_SOCKET=path, WATCHDOG_USEC="2000000"))
            said(b"READY=1")
            said(b"WATCHDOG=1")
            for name in ("storer", "http-0"):
                try:
                    with Frozen(process.pid, name):
                        s.settimeout(2)                                  # half of it is the pace
                        with self.assertRaises(TimeoutError):
                            while True:                                  # those that were sent before
                                s.recv(100)
                        self.wait(lambda: "event=stalled thread=%s" % name in self.log())
                except PermissionError:
                    self.skipTest("this machine lets no process stop a thread of another one")
                said(b"WATCHDOG=1")
            process.send_signal(signal.SIGUSR2)                          # the next version is watched as well
            said(b"READY=1")
            said(b"WATCHDOG=1")

    def test_signs_of_life_for_another_process(self):                    # OPS-06
        path = os.path.join(self.folder, "notify")
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
            s.bind(path)
            s.settimeout(60 * PATIENCE)
            process = self.serve(env=dict(os.environ, NOTIFY_SOCKET=path, WATCHDOG_USEC="100000", WATCHDOG_PID="1"))
            self.assertEqual(b"READY=1", s.recv(100))
            process.terminate()
            self.assertEqual(b"STOPPING=1", s.recv(100))
            process.wait(60 * PATIENCE)
