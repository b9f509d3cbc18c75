"""The command line, as people and programs see it: CLI-01 to CLI-04."""
import fcntl
import http.server
import json
import os
import pty
import re
import shutil
import signal
import socket
import struct
import subprocess
import tempfile
import termios
import threading
import time

from .env.case import Case
from .env.daemon import BINARY, PATIENCE
from .env.origin import Reply, rss
from .test_backup import Answering

TALKING = (      # every command that asks the daemon
    "export", "get http://h/x", "get --type json http://h/x", "archive --out DIR http://h/x", "add http://h/x", "import DIR.opml",
    "import --follow http://h/l", "ls", "show 1", "refresh 1", "set 1 title=x", "rm 1", "forget 1", "views", "search x", "tail", "events",
    "sub", "sub add http://e/ http://h/x", "sub rm 1", "sub set 1 title=x", "sub pause 1", "sub resume 1", "sub replay 1 start",
    "sub skip 1", "sub test 1", "sub log 1", "sub dead 1", "sub retry-dead 1", "sub drop-dead 1", "token ls", "token rm 1",
    "token add --name x --role read", "nodes", "nodes drain x", "backup DIR.db")

OPML = '<opml version="2.0"><body>%s</body></opml>'


class Forms(Case):
    def setUp(self):
        self.o, self.d = self.origin(), self.daemon()
        self.u = self.o.set("/f.xml", rss("one", "two", title="News \u4e2d\u6587"))

    def run_it(self, *args, code=0, **env):
        done = subprocess.run([BINARY] + list(args), capture_output=True, text=True, timeout=150 * PATIENCE,
                              env=dict(os.environ, **{"FEEDMILL_SERVER": self.d.base, **env}))
        self.assertEqual(code, done.returncode, (args, done.stdout, done.stderr))
        if code:
            self.assertEqual(1, done.stderr.strip().count("\n") + 1, done.stderr)
        return done.stdout if code == 0 else done.stderr

    def on_terminal(self, *args, width=80, code=0, until=None, **env):
        """What a terminal of this width is given, to the end or until this comes."""
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
        fields = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "COLUMNS")}
        fields.update({"FEEDMILL_SERVER": self.d.base, "TERM": "xterm"}, **env)
        run = subprocess.Popen([BINARY] + list(args), stdout=theirs, stderr=theirs, stdin=theirs, env=fields)
        os.close(theirs)
        out = b""
        while True:
            try:
                piece = os.read(ours, 65536)
            except OSError:                     # its other end is closed
                break
            if not piece:
                break
            out += piece
            if until and re.search(until, out):
                run.terminate()
                code = -signal.SIGTERM
                break
        os.close(ours)
        self.assertEqual(code, run.wait(60 * PATIENCE), out)
        return out.decode().replace("\r\n", "\n")

    def added(self):
        self.run_it("add", self.u)
        self.wait(lambda: self.d.record(self.u)["last_check"])

    def test_a_narrow_list_keeps_the_titles(self):                       # CLI-02
        self.added()
        for n in range(5):
            self.run_it("sub", "add", "http://127.0.0.1:9/%d" % n, self.u)
        head, row = re.sub("\033\\[\\d*m", "", self.on_terminal("ls", width=50)).splitlines()[:2]
        self.assertEqual("feed sub state next fetch title".split(), head.split())
        self.assertIn("News \u4e2d\u6587", row)
        head, row = re.sub("\033\\[\\d*m", "", self.on_terminal("nodes", width=40)).splitlines()[:2]
        self.assertTrue(head.startswith("name") and "\u2026" not in head, head)
        self.assertIn("working", row)                                    # and what a node does
        wide = self.on_terminal("ls", width=200)
        self.assertIn("1,+5", wide)                                      # six subscriptions
        self.assertIn(self.u, wide)
        self.assertIn("1,2,3,4,5,6", self.run_it("ls"))

    def test_a_search_that_finds_nothing_says_so(self):                  # CLI-02
        self.added()
        self.assertEqual("Nothing matches.", self.on_terminal("search", "nosuchword").strip())
        self.assertEqual("", self.run_it("search", "nosuchword"))

    # ---- CLI-01 ----
    def test_json_has_its_members(self):                                 # CLI-01
        self.added()
        self.d.subscribe(self.o.set("/slow.xml", Reply(200, rss("x"), delay=30)))
        self.assertIn(None, [row["title"] for row in json.loads(self.run_it("ls", "--json"))])
        self.d.call("PUT", "/view/harbour?url=" + self.u)
        for args, members in ((["ls"], {"id", "url", "title", "state"}), (["ls", "--all"], {"id", "url", "title", "state"}),
                              (["sub"], {"id", "endpoint", "state"}), (["views"], {"name", "title"}),
                              (["search", "one"], {"title", "link", "id"}), (["nodes"], {"name", "address", "slots"}),
                              (["export"], {"url"})):
            rows = json.loads(self.run_it(*args, "--json"))
            self.assertTrue(rows, args)
            for row in rows:
                self.assertLessEqual(members, set(row), args)
        shown = json.loads(self.run_it("show", self.u, "--json"))
        self.assertEqual((1, self.u, "ok", "News \u4e2d\u6587"), tuple(shown[k] for k in ("id", "url", "state", "title")))
        self.assertEqual("one", json.loads(self.run_it("get", "--json", self.u))["entries"][0]["title"])
        self.assertEqual({"version"}, set(json.loads(self.run_it("version", "--json"))))
        again = json.loads(self.run_it("add", "--json", self.u))
        self.assertEqual(([], 1), (again["urls"], again["known"][0]["id"]))
        self.assertEqual([{"id": 1, "url": self.u}], json.loads(self.run_it("rm", "--json", self.u)))
        self.assertEqual({"id": 2, "ended": True}, json.loads(self.run_it("sub", "rm", "2", "--json")))

    def test_tokens_as_json(self):                                       # CLI-01
        d = self.d = self.daemon("--token", "t0p")
        made = json.loads(self.run_it("token", "add", "--name", "x", "--role", "read", "--json", FEEDMILL_TOKEN="t0p"))
        self.assertTrue(made["token"].startswith("fm_"))
        (row,) = json.loads(self.run_it("token", "ls", "--json", FEEDMILL_TOKEN="t0p"))
        self.assertEqual((made["id"], "x", "read", None), tuple(row[k] for k in ("id", "name", "role", "expires")))
        d.stop()
        (row,) = json.loads(self.run_it("token", "ls", "--json", "--db", d.db))
        self.assertEqual((made["id"], "x", "read", None), tuple(row[k] for k in ("id", "name", "role", "expires")))
        made = json.loads(self.run_it("token", "add", "--db", d.db, "--name", "y", "--role", "read", "--json"))
        self.assertEqual({"id", "name", "role", "rate", "expires", "created", "used", "token"}, set(made))
        self.assertEqual({"id": made["id"], "deleted": True, "last": False},
                         json.loads(self.run_it("token", "rm", str(made["id"]), "--db", d.db, "--json")))
        d.start()

    def test_each_command_has_help_and_json(self):                       # CLI-01
        names = re.findall(r"^  ([\w-]+)", self.run_it("help"), re.M)
        self.assertLessEqual({"add", "rm", "ls", "show", "refresh", "set", "views", "search", "tail", "events", "token", "sub",
                              "nodes", "import", "export", "get"}, set(names))
        for name in names:
            shown = self.run_it(name, "-h")
            self.assertIn("feedmill " + name, shown)
            if name != "serve":
                self.assertIn("--json", shown, name)

    def test_help_as_json(self):                                         # CLI-01
        every = json.loads(self.run_it("help", "--json"))["commands"]
        names = re.findall(r"^  ([\w-]+)", self.run_it("help"), re.M)
        self.assertEqual(names, [c["name"] for c in every])
        for i, c in enumerate(every):
            self.assertEqual({"name", "args", "help", "example", "flags", "actions"}, set(c))
            forms = ((c["name"], "-h", "--json"), (c["name"], "--json", "--help"), ("help", c["name"], "--json"),
                     ("-h", "--json", c["name"]))
            for args in forms if i < 2 else forms[i % 4:][:1]:           # one way for each command, all ways for two
                self.assertEqual(c, json.loads(self.run_it(*args)), args)
        flags = {c["name"]: {f["name"]: f for f in c["flags"]} for c in every}
        self.assertIsNone(flags["ls"]["--json"]["arg"])
        self.assertIn("atom|rss", flags["get"]["--type"]["help"])
        self.assertIn("--db", flags["serve"])
        self.assertIn("pause", [a["name"] for c in every if c["name"] == "sub" for a in c["actions"]])
        self.assertEqual(every, json.loads(self.run_it("-h", "--json"))["commands"])
        self.assertIn('did you mean "ls"', self.run_it("help", "lss", "--json", code=2))

    def test_flags_come_after_the_command(self):                         # CLI-01
        for args, words in ((["--server", self.d.base, "ls"], ["feedmill ls --server ..."]), (["--token=abc", "ls"], ["feedmill ls --token ..."]),
                            (["--json"], ["COMMAND --json"]), (["--hlep"], ["did you mean --help"])):
            said = self.run_it(*args, code=2)
            for word in words:
                self.assertIn(word, said)
            self.assertNotIn("abc", said)

    def test_a_word_with_dashes(self):                                   # CLI-01
        self.added()
        said = self.run_it("search", "--cafe", code=2)
        self.assertIn("""search '"--cafe"'""", said)
        self.assertEqual("", self.run_it("search", '"--cafe"'))
        self.assertIn("one", self.run_it("search", '"--one"'))
        self.assertNotIn("one", self.run_it("search", "-one", "two"))

    def test_a_command_that_failed_prints_its_json(self):                 # CLI-01
        for command in ("rm", "forget", "refresh"):
            done = subprocess.run([BINARY, command, "99", "--json", "--server", self.d.base], capture_output=True, text=True, timeout=60 * PATIENCE)
            self.assertEqual((1, []), (done.returncode, json.loads(done.stdout)), command)
        self.assertIn("is not the number of a token", self.run_it("token", "rm", "abc", code=2))
        self.assertIn("there is no host", self.run_it("ls", "--server", "http://", code=2))

    def test_what_is_not_there_exits_1(self):                            # CLI-01
        self.added()
        for args, word in ((["nodes", "drain", "x"], "database is a file"), (["show", "99"], "no feed"), (["refresh", "99"], "no feed"),
                           (["import", os.devnull], "is empty"), (["discover", os.devnull], "announces no feed")):
            self.assertIn(word, self.run_it(*args, code=1), args)

    def test_unseen_characters_of_files_are_escaped(self):               # CLI-02
        unseen = "\u202e\u200b\u061c\u00ad\u2066\ufeff\U000e0041"
        folder = tempfile.mkdtemp(prefix="feedmill-test-")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        feed, page, opml = (os.path.join(folder, name) for name in ("f.xml", "p.html", "l.opml"))
        for path, text in ((feed, rss("a%sb" % unseen)), (opml, OPML % ("<outline text='a%sb\u009b' xmlUrl='%s'/>" % (unseen, self.u))),
                           (page, "<link rel=alternate type='application/rss+xml' title='a%sb' href='http://x.example/'>" % unseen)):
            with open(path, "w", encoding="utf-8") as out:
                out.write(text.decode() if isinstance(text, bytes) else text)
        for command, path in (("parse", feed), ("opml", opml), ("discover", page)):
            for out in self.run_it(command, path), self.on_terminal(command, path, width=2000):
                self.assertEqual([], [c for c in unseen + "\u009b" if c in out], command)
                self.assertIn("\\u202e", out)
                self.assertIn("a%sb" % unseen, json.dumps(json.loads(out), ensure_ascii=False))
        bad = self.run_it("opml", os.devnull, code=1)
        self.assertIn(os.devnull + ": not an OPML list", bad)
        self.assertIn("reading standard input; Ctrl-D ends it", self.on_terminal("opml", until=b"Ctrl-D ends it"))

    def test_no_error_shows_a_password(self):                            # ETIQ-08 CLI-01
        url = self.u.replace("http://", "http://who:pass%40word@")
        for args, code in ((("rm", url), 1), (("discover", url), 1), (("show", url), 1), (("parse", url), 1),
                           (("set", url, "title=x"), 1), (("get", url, "--sort", url), 2)):
            error = self.run_it(*args, code=code)
            self.assertNotIn("pass", error, args)
            self.assertNotIn("word", error, args)
        self.assertIn(self.u, self.run_it("rm", url, code=1))

    def test_the_first_token_of_a_daemon(self):                          # CLI-01
        error = self.run_it("token", "add", "--name", "me", "--role", "admin", code=1)
        self.assertIn('"feedmill token add --db FILE" while the daemon is stopped', error)

    def test_near_misses_are_suggested(self):                            # CLI-01
        for args in (["ls", "--cafe"], ["archive", "--cafe"], ["token", "--cafe"]):   # --base, --name are not near
            self.assertNotIn("did you mean", self.run_it(*args, code=2))
        for args, word in ((["serch", "x"], '"search"'), (["ls", "--jsn"], "--json"), (["ls", "--serv", "x"], "--server"), (["sub", "pase", "1"], '"pause"'),
                           (["token", "lst"], '"ls"'), (["set", self.u, "foldr=x"], '"folder"'), (["nodes", "drian", "x"], '"drain"'),
                           (["LS"], '"ls"'), (["Serve"], '"serve"'), (["List"], '"ls"'), (["list"], '"ls"'), (["delete", self.u], '"rm"'), (["ls", "--JSON"], "--json")):
            if args[0] == "set":
                self.added()
            self.assertIn("did you mean " + word, self.run_it(*args, code=2))
        self.assertIn("add", self.run_it("sub", "zzz", code=2))

    def test_what_is_typed_wrongly_exits_2(self):                        # CLI-01
        """Whoever notices it, the program or the daemon. What fails for another reason exits 1."""
        self.added()
        hook = self.o.url("/hook")
        for args, word in ((["get", "--type", "yaml", self.u], "allowed are atom, rss, json"),
                           (["get", "--len", "many", self.u], "whole number"), (["add", "nonsense"], "absolute"),
                           (["add", "--freq", "often", self.u + "?2"], "period"), (["show"], "usage"),
                           (["archive", "--out", self.d.folder + "/a", "nonsense"], "absolute"),
                           (["import", "--follow", "nonsense"], "absolute"), (["import", self.u], "import --follow"),
                           (["sub", "add", "nonsense", self.u], "endpoint"),
                           (["sub", "add", "--sink", "pigeon", hook, self.u], "allowed are xmlrpc, webhook"),
                           (["sub", "add", "--from", "monday", hook, self.u], "`from`"),
                           (["sub", "add", "--filter", "q=(", hook, self.u], "`q`"),
                           (["sub", "add", "--filter", "crane", hook, self.u], "q=crane"),
                           (["sub", "add", "--filter", "langu=en", hook, self.u], 'did you mean "lang"'),
                           (["sub", "--sink", "webhook"], "sub add"), (["token", "ls", "--role", "read"], "token add"),
                           (["tail", "--since", "monday"], "since"), (["tail", "nonsense"], "absolute"),
                           (["events", "--q", "("], "`q`"), (["search", "--len", "many", "x"], "len"),
                           (["token", "add", "--name", "x", "--role", "king"], "read, subscribe, admin"),
                           (["ls", "--server", "ftp://x"], "http"), (["nodes", "drain"], "usage"),
                           (["parse", "--out", "x", "../y"], "..")):
            said = self.run_it(*args, code=2)
            self.assertIn(word, said, args)
            self.assertNotIn(".;", said, args)
        self.assertEqual(1, len(self.d.get("/sub?type=json").json["subscriptions"]))
        for args, word in ((["import", "/nonexistent"], "No such file"), (["events", "--view", "none"], "view"), (["sub", "pause", "9"], "9")):
            self.assertIn(word, self.run_it(*args, code=1), args)

    def test_one_error_is_one_line(self):                                # CLI-01
        """Also where a feed has two subscriptions, and neither can be changed."""
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        for _ in range(2):
            self.assertEqual(201, self.d.call("POST", "/sub", "url=" + self.u, form).status)
        self.wait(lambda: self.d.record(self.u)["last_check"])
        self.run_it("set", self.u, "freq=often", code=2)
        r, v = self.receiver(), self.o.set("/g.xml", rss("three"))
        for id in (1, 2):
            self.run_it("sub", "rm", str(id))
            self.run_it("sub", "add", r.url, self.u, v)
        self.assertIn("sub set 3", self.run_it("set", self.u, "title=x", code=1))
        for args, code in ((["show", "a\nb"], 1), (["a\nb"], 2), (["ls", "--a\nb"], 2), (["token", "ls", "--db", os.path.abspath(__file__)], 1)):
            self.run_it(*args, code=code)

    def test_without_a_daemon_and_without_a_token(self):                 # CLI-01
        said = self.run_it("ls", FEEDMILL_SERVER="http://127.0.0.1:1", code=1)
        for word in ("http://127.0.0.1:1", "feedmill serve", "--server"):
            self.assertIn(word, said)
        d = self.daemon("--token", "t0p")
        self.assertIn("--token", self.run_it("views", "--server", d.base, "--token", "wrong", code=1))

    def test_what_is_no_feedmill_is_not_believed(self):                   # CLI-01
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        out = os.path.join(folder, "x")
        with open(out + ".opml", "w") as f:
            f.write(OPML % '<outline xmlUrl="http://h/x"/>')

        def document(kind, body):
            return b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n%s" % (kind, len(body), body)

        half = document(b"application/json", b'{"id":1}').replace(b": 8", b": 1000")
        for answer, why in (
                (document(b"text/html", b"<h1>Welcome</h1>"), "status 200 with text/html"),
                (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "status 200 with no media type"),
                (document(b"application/json", b'{"a":1}'), "is not a Feedmill daemon"),
                (document(b"application/json", b'[1,"x"]'), "is not a Feedmill daemon"),
                (b"HTTP/1.1 302 Found\r\nLocation: https://h/y\r\nContent-Length: 0\r\n\r\n", "redirects to https://h/y (status 302)"),
                (b"HTTP/1.1 502 Bad\r\nContent-Type: text/html\r\nContent-Length: 0\r\n\r\n", "status 502 with text/html"),
                (half, "8 bytes came"),
                (b"220 a mail server\r\n", "HTTP/0.9"),
                (b"", "without an answer")):
            server = Answering(answer)
            self.addCleanup(server.close)
            all_ways = b"<h1>" in answer or b'{"a"' in answer   # the others with one command of each kind
            for command in TALKING if all_ways else ("export", "archive --out DIR http://h/x", "sub rm 1", "backup DIR.db"):
                args = command.replace("DIR", out).split()
                with self.subTest(command, answer=answer):
                    done = subprocess.run([BINARY] + args + ["--server", server.url], capture_output=True, text=True,
                                          timeout=60 * PATIENCE)
                    self.assertEqual((1, ""), (done.returncode, done.stdout), done.stderr)
                    self.assertEqual(1, done.stderr.count("\n"), done.stderr)
                    self.assertIn(why, done.stderr)
                    self.assertNotIn("no daemon answers", done.stderr)
            self.assertEqual([], [name for _, _, names in os.walk(folder) for name in names if name != "x.opml"])

    # ---- who answers nothing ----
    def test_who_takes_connections_and_answers_nothing_is_told(self):    # CLI-01
        """No command waits for it, however long its answer may take."""
        folder = tempfile.mkdtemp(prefix="feedmill-test-")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        out = os.path.join(folder, "x")
        with open(out + ".opml", "w") as f:
            f.write(OPML % '<outline xmlUrl="http://h/x"/>')
        mute = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.addCleanup(mute.close)
        where = "http://127.0.0.1:%d" % mute.getsockname()[1]
        begun = time.monotonic()
        running = [(command, subprocess.Popen([BINARY] + command.replace("DIR", out).split() + ["--server", where], text=True,
                                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)) for command in TALKING]
        for command, process in running:
            said, why = process.communicate(timeout=120 * PATIENCE)
            with self.subTest(command):
                self.assertEqual((1, ""), (process.returncode, said), why)
                self.assertEqual(1, why.count("\n"), why)
                for word in (where, "answered nothing", "--server"):
                    self.assertIn(word, why)
        self.assertLess(time.monotonic() - begun, 55 * PATIENCE)          # 60 at least before
        self.assertEqual(["x.opml"], [name for _, _, names in os.walk(folder) for name in names])

    def test_who_works_long_is_waited_for(self):                         # CLI-01 CLI-02
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                asked.append(self.path)
                if self.path.startswith("/sub"):
                    probed.wait(60 * PATIENCE)
                body = b'{"subscriptions":[],"feeds":[{"id":1,"url":"http://h/x"}]}'
                self.send_response(200)
                for name, value in (("Content-Type", "application/json"), ("Content-Length", str(len(body)))):
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)
                if self.path == "/healthz" and asked.count("/healthz") == 2:
                    probed.set()

            def log_message(self, *args):
                pass

        asked, probed = [], threading.Event()
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        where = "http://127.0.0.1:%d" % server.server_port
        said = self.on_terminal("ls", FEEDMILL_SERVER=where.replace("//", "//me:secret@"))
        self.assertIn("waiting for %s; Ctrl-C ends it" % where, said)
        self.assertIn("http://h/x", said.split("\033[K")[-1])            # and the line is gone
        self.assertEqual(2, asked.count("/healthz"))

    # ---- CLI-02 ----
    def test_a_pipe_gets_tabs_and_whole_times(self):                     # CLI-02
        self.added()
        long = self.o.set("/" + "x" * 200 + ".xml", rss("a\tb\nc", "d"))
        self.d.subscribe(long)
        self.d.subscribe(self.o.set("/bad.xml", Reply(500)))
        self.d.call("PUT", "/view/harbour?title=The+harbour&url=" + self.u)
        self.wait(lambda: all(f["last_check"] for f in self.d.get("/sub?type=json").json["feeds"]))
        for args, tabs in ((["ls"], 10), (["sub"], 9), (["views"], 3), (["search", "text"], 3), (["nodes"], 6), (["show", long], 1)):
            out = self.run_it(*args)
            self.assertEqual({tabs}, {line.count("\t") for line in out.splitlines()}, (args, out))
            self.assertNotIn("\033", out)
        rows = [line.split("\t") for line in self.run_it("ls").splitlines()]
        self.assertIn(long, [row[8] for row in rows])
        for row in rows:
            for time_of in row[5:7]:
                self.assertRegex(time_of, r"^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ|-)$")

    def test_a_terminal_gets_what_fits(self):                            # CLI-02
        self.added()
        self.d.subscribe(self.o.set("/" + "x" * 200 + ".xml", rss("a")))
        bad = self.o.set("/bad.xml", rss("b"))
        self.d.subscribe(bad)
        self.wait(lambda: all(f["last_check"] for f in self.d.get("/sub?type=json").json["feeds"]))
        self.o.set("/bad.xml", Reply(500))
        self.run_it("refresh", bad, code=1)
        plain = re.compile(r"\033\[\d*m")
        for width in (30, 60, 80, 110, 140, 400):
            out = self.on_terminal("ls", width=width)
            lines = plain.sub("", out).splitlines()
            self.assertLessEqual(max(len(line) + line.count("\u4e2d") + line.count("\u6587") for line in lines), width)
            self.assertEqual("feed", lines[0].split()[0])
            if width == 400:
                self.assertIn("x" * 200, out)
            elif "url" in lines[0]:
                self.assertIn("\u2026", out)
        self.assertRegex(out, r"\d+ s ago|now")
        self.assertRegex(out, r"in \d+ (min|s)\b")
        self.assertIn("\033[32mok\033[0m", out)
        self.assertIn("\033[31mfailing\033[0m", out)
        self.assertIn("error: ", out)
        narrow = plain.sub("", self.on_terminal("ls", width=80)).splitlines()
        self.assertEqual("feed sub state http last fetch next fetch url title".split(), [w for w in narrow[0].split() if w not in ("level", "why")])
        self.assertNotIn("\033", self.on_terminal("ls", NO_COLOR="1"))
        self.assertIn("\033[32m", self.on_terminal("ls", NO_COLOR=""))

    def test_one_feed_and_the_log_on_a_terminal(self):                   # CLI-02
        title, plain = "\u4e2d word" * 40, re.compile(r"\033\[\d*m")
        u = self.o.set("/%s.xml" % ("x" * 100), rss((title, "Thu, 01 Jan 2026 10:00:00 GMT", "")))
        self.d.subscribe(u)
        self.wait(lambda: self.d.record(u)["entries"])
        for width in (20, 40, 80, 1000):
            shown = self.on_terminal("show", u, width=width)
            log = self.on_terminal("tail", "--since", "start", width=width, until=rb"\n    .*\r\n")
            for out in (shown, log):
                lines = plain.sub("", out).splitlines()
                self.assertLessEqual(max(len(line) + line.count("\u4e2d") for line in lines), width, lines)
                self.assertIn("\u2026", out) if width < 1000 else self.assertIn(title, out)
            self.assertIn("\033[32mok\033[0m", shown)
        self.assertRegex(log, r"^1 (now|\d+ (s|min) ago) \033\[32mnew\033\[0m ")
        self.assertRegex(shown, r"last_check +(now|\d+ (s|min) ago)\n")
        self.assertNotIn("\033", self.on_terminal("show", u, NO_COLOR="1"))

    def test_events_and_what_is_done_fit_a_terminal(self):                # CLI-02
        long, plain = "word " * 600, re.compile(r"[^\n]*\r\033\[K|\033\[[0-9;]*m")
        u = self.o.set("/long.xml", rss((long, "Thu, 01 Jan 2026 10:00:00 GMT", ""), title=long))
        for width in (40, 100):
            for args, until in ((["add", u], None), (["events", "--since", "start"], rb"\r\n"), (["refresh", "1", "2"], None)):
                if args[0] == "refresh":
                    self.run_it("add", self.u)
                out = plain.sub("", self.on_terminal(*args, width=width, until=until))
                lines = [line for line in out.splitlines() if "subscribed already" not in line]
                self.assertLessEqual(max(len(line) for line in lines), width, (args, lines))
                if args[0] == "refresh":
                    self.assertEqual((1, 3), (out.count("feed  state"), len(lines)), lines)     # one head
                if args[0] == "events":
                    self.assertRegex(lines[0], r"^1 (now|\d+ (s|min) ago) new word word")
            self.run_it("rm", u, self.u)
        out = plain.sub("", self.on_terminal("refresh", "1", TERM="dumb"))
        self.assertNotIn("fetching", out)

    def test_a_narrow_list_of_subscriptions(self):                        # CLI-02
        self.added()
        plain = re.compile(r"\033\[\d*m")
        self.d.subscribe(self.u, endpoint="http://127.0.0.1:9/hook", sink="webhook")
        self.o.set("/f.xml", rss("three", "one", "two"))
        self.run_it("refresh", "1")
        for width, head in ((40, "sub state endpoint lag dead"), (200, "sub state sink endpoint lag age dead feeds")):
            lines = plain.sub("", self.on_terminal("sub", width=width)).splitlines()
            self.assertEqual(head, " ".join(lines[0].split()))
            self.assertIn("http://127.0.", lines[2])
        self.assertRegex(lines[2], r" \d+ s +0 ")
        self.assertRegex(self.run_it("sub").splitlines()[1].split("\t")[5], r"^\d+$")

    def test_an_import_shows_how_far_it_is(self):                        # CLI-02
        urls = [self.o.set("/%d.xml" % n, Reply(200, rss("x"), delay=1.5 if n else 0)) for n in range(3)]
        with tempfile.NamedTemporaryFile("w", suffix=".opml") as f:
            f.write(OPML % "".join('<outline xmlUrl="%s"/>' % u for u in urls))
            f.flush()
            out = self.on_terminal("import", f.name)
            self.assertRegex(out, r"fetched \d of 3 feeds")
            self.assertIn("subscription 1: 3 feeds", out)
            self.assertNotIn("fetched", self.run_it("import", f.name))

    # ---- CLI-03 ----
    def test_progress_is_cut_to_the_width(self):                         # CLI-02
        self.added()
        lines = self.on_terminal("refresh", "1", width=24).split("\r\033[K")
        self.assertIn("fetching", "".join(lines))
        self.assertEqual([], [line for line in lines if line.startswith("fetching") and len(line) > 23])

    def test_refresh_waits(self):                                        # CLI-03
        self.added()
        for feed, titles in ((self.u, ("three", "one", "two")), ("1", ("four", "three", "one", "two"))):
            self.o.set("/f.xml", Reply(200, rss(*titles), delay=0.5))
            self.run_it("refresh", feed)
            self.assertEqual(len(titles), self.d.record(self.u)["entries"])
        for feeds in ([self.u], [self.u, "1"]):                          # CLI-01
            self.assertEqual([(1, "ok")] * len(feeds), [(f["id"], f["state"]) for f in json.loads(self.run_it("refresh", "--json", *feeds))])
        self.o.set("/f.xml", Reply(503))
        self.assertIn("503", self.run_it("refresh", self.u, code=1))
        self.assertIn("no feed", self.run_it("refresh", "77", code=1))
        self.assertIn("usage", self.run_it("refresh", code=2))

    def test_set(self):                                                  # CLI-03
        self.added()
        def listed():
            (s,) = self.d.get("/sub?type=json").json["subscriptions"]
            return s["names"], s["folders"]
        self.run_it("set", self.u, "title=Mine", "folder=News/World", "freq=0")
        self.assertEqual((["Mine"], [["News", "World"]]), listed())
        self.assertEqual(0, self.d.record(self.u)["level"])
        self.run_it("set", "1", "freq=600")
        self.assertEqual((None, 600), tuple(self.d.record(self.u)[k] for k in ("level", "period")))
        self.assertEqual((["Mine"], [["News", "World"]]), listed())
        self.run_it("set", self.u, "keep=36h", "keep_entries=50")        # KEEP-01
        (s,) = self.d.get("/sub?type=json").json["subscriptions"]
        self.assertEqual((36 * 3600, 50), (s["keep"], s["keep_entries"]))
        self.run_it("sub", "set", "1", "keep=", "keep_entries=7")
        (s,) = self.d.get("/sub?type=json").json["subscriptions"]
        self.assertEqual((None, 7), (s["keep"], s["keep_entries"]))
        (row,) = json.loads(self.run_it("set", self.u, "title=", "--json"))
        self.assertEqual((1, [None]), (row["id"], row["names"]))
        for args, code, word in ((["set", self.u], 2, "usage"), (["set", self.u, "title"], 2, "KEY=VALUE"),
                                 (["set", self.u, "colour=red"], 2, "folder"), (["set", "99", "title=x"], 1, "no feed"),
                                 (["set", self.u, "freq=often"], 2, "freq")):
            self.assertIn(word, self.run_it(*args, code=code))

    def test_an_archive_is_written_once(self):                           # CLI-01
        self.added()
        args = ("archive", "--out", self.d.folder + "/kept", self.u)
        self.assertIn("2 documents written", self.run_it(*args))
        before = {f.name: f.stat().st_mtime_ns for f in os.scandir(self.d.folder + "/kept")}
        self.assertIn("nothing is new", self.run_it(*args))
        self.assertEqual(0, json.loads(self.run_it(*args, "--json"))["documents"])
        self.assertEqual(before, {f.name: f.stat().st_mtime_ns for f in os.scandir(self.d.folder + "/kept")})

    def test_what_is_set_has_a_value(self):                              # CLI-03
        self.added()
        for key in "freq", "mirror":
            self.assertIn("%s= needs a value" % key, self.run_it("set", "1", key + "=", code=2))
        self.run_it("set", "1", "title=", "folder=", "keep=")

    def test_set_of_one_feed_among_others(self):                         # CLI-03
        v = self.o.set("/g.xml", rss("three"))
        form = "url=%s&url=%s&folder=Old" % (self.u, v)
        self.assertEqual(201, self.d.call("POST", "/sub", form, {"Content-Type": "application/x-www-form-urlencoded"}).status)
        self.wait(lambda: all(f["last_check"] for f in self.d.get("/sub?type=json").json["feeds"]))
        self.run_it("set", v, "title=Mine")
        subs = self.d.get("/sub?type=json").json["subscriptions"]
        self.assertEqual([([self.u], [["Old"]], [None]), ([v], [["Old"]], ["Mine"])],
                         [(s["urls"], s["folders"], s["names"]) for s in subs])
        r = self.receiver()
        self.run_it("rm", self.u, v)
        self.run_it("sub", "add", r.url, self.u, v)
        self.assertIn("sub set 3", self.run_it("set", v, "title=x", code=1))

    def test_a_feed_that_is_in_a_list_too(self):                         # CLI-01 CLI-03
        """What may be changed is changed; of what a list has, the message says what to do."""
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        listed = self.o.set("/l.opml", OPML % ('<outline xmlUrl="%s"/>' % self.u))
        self.assertEqual(201, self.d.call("POST", "/sub", "opml=" + listed, form).status)
        self.wait(lambda: self.d.get("/sub?type=json&id=1").json["subscriptions"][0]["urls"])
        self.assertIn("sub set 1", self.run_it("set", self.u, "title=x", code=1))
        self.assertIn("sub rm 1", self.run_it("rm", self.u, code=1))
        self.assertEqual(201, self.d.call("POST", "/sub", "url=" + self.u, form).status)
        self.assertIn("2\tchanged\t", self.run_it("set", self.u, "title=Mine"))
        self.assertEqual(["Mine"], self.d.get("/sub?type=json&id=2").json["subscriptions"][0]["names"])
        self.assertIn("2\tended\t", self.run_it("rm", self.u))
        self.assertEqual([1], [s["id"] for s in self.d.get("/sub?type=json").json["subscriptions"]])
        self.assertEqual(self.run_it("help"), self.run_it("help", "-h"))
        broken = self.o.url("/none.xml")
        self.d.call("POST", "/sub", "url=" + broken, form)
        self.wait(lambda: self.d.record(broken)["errors"])
        self.assertEqual("failing", json.loads(self.run_it("show", broken, "--json"))["state"])

    def test_search_and_views(self):                                     # CLI-03
        self.added()
        self.d.subscribe(self.o.set("/g.xml", rss("harbour crane", "boat")))
        self.wait(lambda: self.run_it("search", "crane"))
        rows = [line.split("\t") for line in self.run_it("search", "harbour", "-boat").splitlines()]
        self.assertEqual([["harbour crane", "A feed", "http://site.example/harbour_crane"]], [row[1:] for row in rows])
        self.assertEqual("", self.run_it("search", "nosuch"))
        self.assertIn("`q`", self.run_it("search", "(a", code=2))
        self.d.call("PUT", "/view/cranes?title=Cranes&q=crane&all=1")
        self.assertEqual(["harbour crane"], [e["title"] for e in json.loads(self.run_it("search", "--view", "cranes", "harbour", "--json"))])
        self.assertEqual(["cranes", "Cranes"], self.run_it("views").split("\t")[0:3:2])

    def folder(self):
        made = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, made)
        return made

    def follow(self, *args, command=()):
        run = subprocess.Popen([*command, BINARY, *args, "--server", self.d.base], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, start_new_session=True)
        def end():
            try:
                os.killpg(run.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            run.communicate()
        self.addCleanup(end)
        return run

    def test_events(self):                                               # CLI-03
        self.added()
        run = self.follow("events", "--since", "start", "--json", self.u)
        self.assertEqual(["one", "two"], sorted(json.loads(run.stdout.readline())["entry"]["title"] for _ in range(2)))
        lines = self.follow("events", "--since", "start", "--q", "two")
        self.assertEqual(["new", self.u, "two"], lines.stdout.readline().split("\t")[2:5])
        self.o.set("/f.xml", rss("two changed|two", "one"))
        self.run_it("refresh", self.u)
        self.assertEqual({"seq", "cursor", "at", "kind", "entry", "url"},
                         set(json.loads(run.stdout.readline())) & {"seq", "cursor", "at", "kind", "entry", "url"})

    # ---- CLI-04 ----
    def entries(self, path):
        with open(path, encoding="utf-8") as f:
            return [json.loads(line) for line in f]

    def test_a_command_gets_each_entry(self):                            # CLI-04
        self.added()
        folder = self.folder()
        out, at = os.path.join(folder, "out"), os.path.join(folder, "at")
        run = self.follow("tail", "--since", "start", "--exec", "cat >>%s" % out, "--position", at)
        self.wait(lambda: os.path.exists(out) and len(self.entries(out)) == 2)
        rows = self.d.get("/log?since=start").json["revisions"]
        self.assertEqual(rows, self.entries(out))
        self.wait(lambda: open(at).read().strip() == rows[-1]["cursor"])
        os.killpg(run.pid, signal.SIGKILL)
        run.wait()
        self.o.set("/f.xml", rss("three", "one", "two"))
        self.run_it("refresh", self.u)
        self.follow("tail", "--since", "start", "--exec", "cat >>%s; true" % out, "--position", at)    # the file wins
        self.wait(lambda: len(self.entries(out)) == 3)
        self.assertEqual("three", self.entries(out)[2]["entry"]["title"])

    def test_a_parent_that_ignores_the_end_of_children(self):            # CLI-04
        """A program inherits that, and the kernel then forgets how the command has ended."""
        self.added()
        folder = self.folder()
        out, at = os.path.join(folder, "out"), os.path.join(folder, "at")
        rows = self.d.get("/log?since=start").json["revisions"]
        self.follow("tail", "--since", "start", "--exec", "cat >>%s; exit 3" % out, "--position", at,
                    command=["env", "--ignore-signal=CHLD"])
        self.wait(lambda: os.path.exists(out) and len(self.entries(out)) > 1)
        self.assertEqual([rows[0]] * 2, self.entries(out)[:2])       # the first one again

    def test_an_entry_is_repeated_until_it_is_taken(self):               # CLI-04
        self.added()
        folder = self.folder()
        out, at = os.path.join(folder, "out"), os.path.join(folder, "at")
        script = ("line=$(cat); echo $$ >%s/pid; test -e %s/go || { test -e %s/hang && sleep 1000; exit 3; };"
                  " printf '%%s\\n' \"$line\" >>%s" % (folder, folder, folder, out))
        open(os.path.join(folder, "hang"), "w").close()
        run = self.follow("tail", "--since", "start", "--exec", script, "--position", at)
        self.wait(lambda: os.path.exists(folder + "/pid") and open(folder + "/pid").read().strip())
        first = open(at).read()
        os.remove(folder + "/hang")
        os.kill(int(open(folder + "/pid").read()), signal.SIGKILL)
        self.assertIn("signal 9", run.stderr.readline())
        self.assertEqual(first, open(at).read())                     # the position did not move
        time.sleep(0.5)
        open(os.path.join(folder, "go"), "w").close()                # until now each try ended with 3
        self.wait(lambda: os.path.exists(out) and len(self.entries(out)) == 2)
        self.assertEqual(self.d.get("/log?since=start").json["revisions"], self.entries(out))

    def test_a_command_ends_with_tail(self):                             # CLI-04
        self.added()
        for how in (signal.SIGTERM, signal.SIGKILL):
            path = os.path.join(self.folder(), "pid")
            run = self.follow("tail", "--since", "start", "--exec", "echo $$ >%s; exec sleep 1000" % path)
            self.wait(lambda: os.path.exists(path) and open(path).read().endswith("\n"))
            command = int(open(path).read())
            self.assertTrue(self.runs(command))
            run.send_signal(how)
            run.wait()
            self.wait(lambda: not self.runs(command))

    def runs(self, pid):
        """Is there such a process, and not as one that only waits to be reaped?"""
        try:
            with open("/proc/%d/stat" % pid) as f:
                return f.read().rsplit(")", 1)[1].split()[0] != "Z"
        except FileNotFoundError:
            return False

    def test_a_command_need_not_read(self):                              # CLI-04
        big = self.o.set("/big.xml", rss(("big", None, "<content:encoded xmlns:content='http://purl.org/rss/1.0/modules/content/'>"
                                          "%s</content:encoded>" % ("word " * 100000))))
        self.d.subscribe(big)
        self.wait(lambda: self.d.record(big)["entries"])
        folder = self.folder()
        out = os.path.join(folder, "out")
        self.follow("tail", "--since", "start", "--exec", "echo x >>%s" % out)
        self.wait(lambda: os.path.exists(out) and open(out).read() == "x\n")

    def test_a_position_that_cannot_be_used(self):                       # CLI-04
        folder = self.folder()
        open(os.path.join(folder, "empty"), "w").close()
        self.assertIn("empty", self.run_it("tail", "--position", folder + "/empty", code=1))
        self.assertIn("No such file", self.run_it("tail", "--position", folder + "/no/at", code=1))
        with open(os.path.join(folder, "bad"), "w") as f:
            f.write("nonsense\n")
        self.assertIn("bad has no position that a tail has kept", self.run_it("tail", "--position", folder + "/bad", code=1))
        for flag in ("--position", "--exec"):
            self.assertIn(flag + " needs", self.run_it("tail", flag, "", code=2))

