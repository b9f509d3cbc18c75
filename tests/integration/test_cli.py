"""The command line for people."""
import json
import os
import signal
import subprocess
import tempfile
import threading
import time
import xml.etree.ElementTree as tree

from .env.case import Case
from .env.daemon import BINARY, PATIENCE
from .env.origin import Reply, rss


class Commands(Case):
    def setUp(self):
        self.o, self.d = self.origin(), self.daemon()
        self.u = self.o.set("/f.xml", rss("one", "two"))

    def run_it(self, *args, code=0, text=None):
        done = subprocess.run([BINARY] + list(args), input=text, capture_output=True, text=True, timeout=120 * PATIENCE,
                              env=dict(os.environ, FEEDMILL_SERVER=self.d.base))
        self.assertEqual(code, done.returncode, (args, done.stdout, done.stderr))
        if code:
            self.assertEqual(1, done.stderr.strip().count("\n") + 1, done.stderr)
        return done.stdout if code == 0 else done.stderr

    def test_add_ls_show_get(self):
        self.assertIn("subscription 1", self.run_it("add", self.u))
        self.wait(lambda: self.d.record(self.u)["last_check"])
        listed = self.run_it("ls")
        for word in (self.u, "ok", "200", "period"):
            self.assertIn(word, listed)
        shown = self.run_it("show", self.u)
        for word in ("next_check", "one", "two"):
            self.assertIn(word, shown)
        self.assertIn(self.u, self.run_it("show", "1"))
        self.assertEqual("two", json.loads(self.run_it("get", "--type", "json", self.u))["entries"][1]["title"])
        self.assertIn("<feed", self.run_it("get", "--len=1", self.u, self.u))

    def test_ls_shows_errors(self):
        bad = self.o.set("/bad", Reply(500))
        self.run_it("add", bad)
        self.wait(lambda: self.d.record(bad)["last_error"])
        listed = self.run_it("ls")
        self.assertIn("error: ", listed)
        self.assertIn("500", listed)

    def test_ls_takes_what_publishers_send(self):
        odd = self.o.set("/odd", rss("a"), ETag='"\xff\xc3"', Last_Modified="\xe4")
        self.run_it("add", odd)
        self.wait(lambda: "200" in self.run_it("ls"))
        self.assertIn('"\ufffd\ufffd"', self.run_it("show", odd))
        self.d.ping(odd)
        self.wait(lambda: len(self.o.seen("/odd")) == 2)
        self.assertEqual('"\xff\xc3"', self.o.seen("/odd")[1].headers["If-None-Match"])

    def test_import_export(self):
        with tempfile.NamedTemporaryFile("w", suffix=".opml") as f:
            f.write('<opml version="2.0"><body><outline xmlUrl="%s"/></body></opml>' % self.u)
            f.flush()
            self.assertIn("1 feeds", self.run_it("import", f.name))
        out = self.run_it("export")
        self.assertEqual([self.u], [x.get("xmlUrl") for x in tree.fromstring(out).iter("outline")])

    def test_sub(self):
        r = self.receiver()
        self.assertIn("subscription 1", self.run_it("sub", "add", r.url, self.u))
        self.assertIn(r.url, self.run_it("sub"))
        self.run_it("sub", "resume", "1")
        self.run_it("sub", "rm", "1")
        self.assertEqual("", self.run_it("sub"))
        self.run_it("sub", "rm", "1", code=1)

    def test_tail(self):
        self.d.subscribe(self.u)
        self.wait(lambda: self.d.record(self.u)["last_check"])
        tail = subprocess.Popen([BINARY, "tail", "--server", self.d.base], stdout=subprocess.PIPE, text=True)
        self.addCleanup(tail.stdout.close)
        self.wait(lambda: b"feedmill_log_waiters 1" in self.d.get("/metrics").body)
        self.o.set("/f.xml", rss("three", "one", "two"))
        self.d.ping(self.u)
        lines = [tail.stdout.readline(), tail.stdout.readline()]
        self.assertIn("new", lines[0])
        self.assertIn(self.u, lines[0])
        self.assertIn("three", lines[1])
        tail.send_signal(signal.SIGINT)
        tail.wait(10 * PATIENCE)

    def test_texts_do_not_command_the_terminal(self):
        feed = {"version": "https://jsonfeed.org/version/1.1", "title": "T\u001b[31m\u009b2J", "items": [
            {"id": "1", "title": "a\u001b[31m\u009b2J\u007f", "url": "http://x.example/\u001b[31m\u009b", "content_text": "c"}]}
        u = self.o.set("/f.json", json.dumps(feed), Content_Type="application/feed+json")
        self.d.subscribe(u)
        self.wait(lambda: self.d.record(u)["entries"] == 1)
        tail = subprocess.Popen([BINARY, "tail", "--server", self.d.base, "--since", "0"], stdout=subprocess.PIPE, text=True)
        self.addCleanup(tail.stdout.close)
        self.addCleanup(tail.wait, 10)
        self.addCleanup(tail.kill)
        shown = self.run_it("ls") + self.run_it("show", u) + tail.stdout.readline() + tail.stdout.readline()
        self.assertIn("[31m", shown)
        self.assertEqual([], [c for c in shown if c != "\n" and (c < " " or "\x7f" <= c <= "\x9f")])

    def test_a_stop_does_not_wait_for_who_waits(self):
        tail = subprocess.Popen([BINARY, "tail", "--server", self.d.base], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)
        self.wait(lambda: b"feedmill_log_waiters 1" in self.d.get("/metrics").body)
        begin = time.monotonic()
        self.d.stop()
        self.assertLess(time.monotonic() - begin, 3 * PATIENCE)
        self.assertIn("cannot connect", tail.communicate(timeout=60 * PATIENCE)[1])    # its call before was answered

    def test_tail_leaves_nothing_out(self):
        u = self.o.set("/many.xml", rss(*["item %d" % i for i in range(130)]))
        self.d.subscribe(u)
        self.wait(lambda: self.d.record(u)["entries"] == 130)
        tail = subprocess.Popen([BINARY, "tail", "--server", self.d.base, "--since", "0"], stdout=subprocess.PIPE, text=True)
        self.addCleanup(tail.stdout.close)
        end = threading.Timer(20 * PATIENCE, tail.kill)
        end.start()
        lines = [line for _, line in zip(range(260), tail.stdout)]
        end.cancel()
        tail.kill()
        tail.wait(10 * PATIENCE)
        self.assertEqual(list(range(1, 131)), [int(line.split()[0]) for line in lines[::2]])

    def test_errors_are_one_line(self):
        self.assertIn("yaml", self.run_it("get", "--type", "yaml", self.u, code=1))
        self.assertIn("nonsense", self.run_it("add", "nonsense", code=1))
        self.assertIn("nowhere", self.run_it("show", "nowhere", code=1))
        self.assertIn("no command", self.run_it("frobnicate", code=2))
        self.assertIn("--frob", self.run_it("serve", "--frob", code=2))
        for option, value in (("--listen", "nowhere"), ("--allow-fetch", "10.0.0.0/99"),
                              ("--level1-period", "soon"), ("--log-level", "loud"), ("--listen", "0.0.0.0:0")):
            done = subprocess.run([BINARY, "serve", "--db", ":memory:", option, value], capture_output=True,
                                  text=True, timeout=60 * PATIENCE)
            self.assertNotEqual(0, done.returncode, option)
            self.assertIn(option.strip("-").replace("-", "_").split("_")[0], done.stderr)
        done = subprocess.run(["sh", "-c", "ulimit -n 32; exec \"$0\" serve --listen 127.0.0.1:0 --db \"$1\"", BINARY,
                               os.path.join(self.d.folder, "few.db")], capture_output=True, text=True, timeout=60 * PATIENCE)
        self.assertEqual(1, done.returncode, done.stderr)
        self.assertIn("ulimit -n", done.stderr)
        self.assertEqual(1, done.stderr.strip().count("\n") + 1, done.stderr)
        done = subprocess.run([BINARY, "ls", "--server", "http://127.0.0.1:1"], capture_output=True, text=True)
        self.assertEqual(1, done.returncode)
        self.assertIn("127.0.0.1:1", done.stderr)


class Files(Case):
    def run_it(self, *args, text=None):
        return subprocess.run([BINARY] + list(args), input=text, capture_output=True, timeout=60 * PATIENCE)

    def test_parse(self):
        done = self.run_it("parse", "--url", "http://h.example/x/", text=rss("caf\u00e9").encode())
        result = json.loads(done.stdout)
        self.assertEqual(("rss20", False), (result["version"], result["bozo"]))
        self.assertEqual("café", result["entries"][0]["title"])

    def test_ids_with_blanks_stay_as_written(self):                      # ATOM-08
        text = b"<rss version='2.0'><channel><item><guid>abc def</guid></item></channel></rss>"
        done = self.run_it("parse", "--url", "http://h.example/f", text=text)
        self.assertEqual("abc def", json.loads(done.stdout)["entries"][0]["id"])

    def test_headers_count(self):
        text = '<rss version="2.0"><channel><title>\xe9</title></channel></rss>'.encode("latin-1")
        done = self.run_it("parse", "--header", "Content-Type: application/xml; charset=iso-8859-1", text=text)
        self.assertEqual("é", json.loads(done.stdout)["feed"]["title"])

    def test_header_fields_are_in_the_result(self):                      # OBJ-01
        done = self.run_it("parse", "--url", "http://h.example/f", "--header", "X-Made-By: hand", "--header",
                           'ETag: "1"', "--header", "Last-Modified: Mon, 03 Apr 2023 01:02:03 GMT", text=rss("a").encode())
        result = json.loads(done.stdout)
        self.assertEqual("http://h.example/f", result["href"])
        self.assertEqual('"1"', result["etag"])
        self.assertEqual("hand", result["headers"]["x-made-by"])
        self.assertEqual([2023, 4, 3, 1, 2, 3, 0, 93, 0], result["modified_parsed"])

    def test_out(self):
        with tempfile.TemporaryDirectory() as folder:
            names = [os.path.join(folder, n) for n in ("a.xml", "b.xml")]
            for name in names:
                with open(name, "w") as f:
                    f.write(rss(name[-5]))
            done = self.run_it("parse", "--out", folder + "/out", *names)
            self.assertEqual(0, done.returncode, done.stderr)
            for letter in "ab":
                with open("%s/out/%s.xml.json" % (folder, letter)) as f:
                    self.assertEqual(letter, json.load(f)["entries"][0]["title"])
            self.assertEqual(2, self.run_it("parse", *names).returncode)

    def test_discover_and_opml(self):
        done = self.run_it("discover", "--url", "http://h.example/d/p", text=(
            b'<link rel=alternate type=application/atom+xml href=f title=T>'))
        self.assertEqual({"feeds": [{"href": "http://h.example/d/f", "type": "application/atom+xml",
                                     "title": "T"}]}, json.loads(done.stdout))
        done = self.run_it("discover", "--url", "http://h.example/", text=(
            b'<link rel=alternate type=application/atom+xml href=/comments/f>'
            b'<link rel=alternate type=application/rss+xml href=/r>'))
        result = json.loads(done.stdout)
        self.assertEqual(["http://h.example/comments/f", "http://h.example/r"], [f["href"] for f in result["feeds"]])
        self.assertEqual("http://h.example/r", result["best"])
        done = self.run_it("discover", "--url", "http://h.example/", text=b'<a href=feed/>f</a>')
        self.assertEqual({"feeds": [], "guesses": [{"href": "http://h.example/feed/"}]}, json.loads(done.stdout))
        done = self.run_it("opml", text=b'<opml><body><outline type="include" url="m"/></body></opml>')
        self.assertEqual(["m"], json.loads(done.stdout)["includes"])
        done = self.run_it("opml", text=b'<opml><head><title>L</title></head><body><outline text="F">'
                           b'<outline text="x" xmlUrl="http://a/"/></outline></body></opml>')
        result = json.loads(done.stdout)
        self.assertEqual(("L", "http://a/", ["F"]), (result["title"], result["feeds"][0]["xml_url"],
                                                     result["feeds"][0]["folder"]))
        self.assertEqual(1, self.run_it("opml", text=b"hello").returncode)

    def test_help(self):
        for args in (("--help",), ("-h",), ("serve", "--help"), ("ls", "--help"), ("--version",)):
            self.assertEqual(0, self.run_it(*args).returncode)
        out = self.run_it("serve", "--help").stdout.decode()
        for option in ("--listen", "--db", "--memcached", "--ping-server", "--allow-fetch", "--allow-callback"):
            self.assertIn(option, out)
