"""The command line for people."""
import json
import os
import re
import signal
import socket
import subprocess
import tempfile
import threading
import unicodedata
import xml.etree.ElementTree as tree

from .env.case import Case
from .env.daemon import BINARY, PATIENCE
from .env.origin import Reply, rss


class Commands(Case):
    def setUp(self):
        self.o, self.d = self.origin(), self.daemon()
        self.u = self.o.set("/f.xml", rss("one", "two"))

    def run_it(self, *args, code=0, text=None, **env):
        done = subprocess.run([BINARY] + list(args), input=text, capture_output=True, text=True, timeout=120 * PATIENCE,
                              env=dict(os.environ, **{"FEEDMILL_SERVER": self.d.base, **env}))
        self.assertEqual(code, done.returncode, (args, done.stdout, done.stderr))
        if code:
            self.assertEqual(1, done.stderr.strip().count("\n") + 1, done.stderr)
        return done.stdout if code == 0 else done.stderr

    def test_add_ls_show_get(self):
        self.assertEqual("1\tok\t%s\tA feed\t-\n" % self.u, self.run_it("add", self.u))
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
        self.assertIn("500", self.run_it("add", bad, code=1))
        self.wait(lambda: self.d.record(bad)["last_error"])
        listed = self.run_it("ls")
        self.assertIn("500", listed.split("\t")[-1])

    def test_ls_takes_what_publishers_send(self):
        odd = self.o.set("/odd", rss("a"), ETag='"\xff\xc3"', Last_Modified="\xe4")
        self.run_it("add", odd)
        self.wait(lambda: "200" in self.run_it("ls"))
        self.assertIn('"\ufffd\ufffd"', self.run_it("show", odd))
        self.d.ping(odd)
        self.wait(lambda: len(self.o.seen("/odd")) == 2)
        self.assertEqual('"\xff\xc3"', self.o.seen("/odd")[1].headers["If-None-Match"])

    def test_add_tells_what_each_address_came_to(self):
        page = self.o.set("/page", Reply(200, '<link rel="alternate" type="application/rss+xml" href="/f.xml">',
                                         Content_Type="text/html"))
        said = self.run_it("add", page)
        self.assertIn(self.u, said)
        self.assertIn("A feed", said)
        self.assertIn(page, said)
        none = self.o.set("/none", Reply(200, "<p>nothing</p>", Content_Type="text/html"))
        done = subprocess.run([BINARY, "add", "--server", self.d.base, none, self.o.url("/404"), "http://127.0.0.1:1/",
                               "http://10.1.2.3/f"], capture_output=True, text=True, timeout=120 * PATIENCE)
        self.assertEqual(1, done.returncode)
        lines = done.stderr.splitlines()
        self.assertEqual(4, len(lines), done.stderr)
        for url, word, line in zip((none, "/404", ":1/", "10.1.2.3"), ("feed", "404", "connect", "closed"), lines):
            self.assertIn(url, line)
            self.assertIn(word, line)

    def subscriptions(self):
        return self.d.get("/sub?type=json").json["subscriptions"]

    def test_what_is_subscribed_is_not_subscribed_again(self):
        page = self.o.set("/page", Reply(200, '<link rel="alternate" type="application/rss+xml" href="/f.xml">',
                                         Content_Type="text/html"))
        self.run_it("add", page)
        for again in (page, self.u):
            self.assertTrue(self.run_it("add", again).startswith("1\tknown\t" + again))
        self.assertIn("already", self.run_it("add", "--title", "Mine", page, code=1))
        self.assertEqual(1, len(self.subscriptions()))
        v = self.o.set("/g.xml", rss("three"))
        self.run_it("add", page, v)                                      # what is new is subscribed
        self.assertEqual([[page], [v]], [s["urls"] for s in self.subscriptions()])
        with tempfile.NamedTemporaryFile("w", suffix=".opml") as f:
            f.write('<opml version="2.0"><body>%s</body></opml>' % "".join(
                '<outline xmlUrl="%s"/>' % u for u in (self.u, v, self.o.set("/h.xml", rss("four")))))
            f.flush()
            self.assertIn("1 feed, 2 subscribed already", self.run_it("import", f.name))
            self.assertIn("0 feeds, 3 subscribed already", self.run_it("import", f.name))
        self.assertEqual(3, len(self.subscriptions()))
        answer = self.d.call("POST", "/sub?known=skip&endpoint=http://127.0.0.1:1/&url=" + self.u)
        self.assert_problem(answer, 400, parameter="known")
        known = self.d.call("POST", "/sub?known=skip&url=" + self.u).json["known"]
        self.assertEqual([self.u], [k["url"] for k in known])

    def test_rm(self):
        v = self.o.set("/g.xml", rss("three"))
        self.run_it("add", self.u, v)
        self.run_it("rm", self.u[len("http://"):])                       # as people type it
        self.assertEqual([[v]], [s["urls"] for s in self.subscriptions()])
        self.assertIn("no subscription", self.run_it("rm", self.u, code=1))
        listed = self.run_it("ls").splitlines()
        self.assertEqual([["2", "1"]], [line.split("\t")[:2] for line in listed])
        self.run_it("rm", "2")                                           # the feed, as ls shows it
        self.assertEqual([], self.subscriptions())
        r = self.receiver()
        self.run_it("sub", "add", r.url, v)
        self.assertIn("sub rm 2", self.run_it("rm", v, code=1))

    def test_one_feed_named_twice_is_removed_once(self):
        self.run_it("add", self.u)
        self.assertEqual(1, self.run_it("rm", self.u, self.u[len("http://"):], "1").count("ended"))
        self.assertEqual([], self.subscriptions())
        self.run_it("add", self.u)
        self.run_it("sub", "rm", "2", self.u, self.u)
        self.assertEqual([], self.subscriptions())

    def test_wrong_ids_are_told(self):
        self.run_it("add", self.u)
        self.assertIn("no subscription 7", self.run_it("sub", "rm", "7", code=1))
        self.assertIn("number", self.run_it("sub", "rm", self.u, code=2))
        self.assertIn("http://x.example/", self.run_it("sub", "rm", "1", "http://x.example/", code=1))
        self.assertEqual(1, len(self.subscriptions()))
        self.run_it("sub", "rm", "1", self.u)
        self.assertEqual([], self.subscriptions())
        self.assertIn("usage", self.run_it("show", "", code=2))
        self.assertIn("99", self.run_it("show", "99", code=1))

    def test_write_errors_are_seen(self):
        self.run_it("add", self.u)
        for args in (["export"], ["get", self.u], ["ls"], ["show", self.u], ["sub"], ["add", self.u], ["help"],
                     ["help", "ls"], ["ls", "--help"], ["version"], ["serve", "--help"], ["--help"], ["parse"],
                     ["tail", "--since", "start"]):
            with open("/dev/full", "w") as full:
                done = subprocess.run([BINARY] + args, input=rss("a"), stdout=full, stderr=subprocess.PIPE, text=True,
                                      env=dict(os.environ, FEEDMILL_SERVER=self.d.base), timeout=60 * PATIENCE)
            self.assertEqual(1, done.returncode, args)
            self.assertIn("No space left", done.stderr, args)

    def test_addresses_need_no_scheme(self):
        self.run_it("add", self.u[len("http://"):])
        self.assertIn(self.u, self.run_it("ls", FEEDMILL_SERVER="127.0.0.1:%d" % self.d.port))
        self.assertIn("one", self.run_it("get", self.u[len("http://"):]))
        self.assertIn(self.u, self.run_it("show", self.u[len("http://"):]))

    def test_import_export(self):
        with tempfile.NamedTemporaryFile("w", suffix=".opml") as f:
            f.write('<opml version="2.0"><body><outline xmlUrl="%s"/></body></opml>' % self.u)
            f.flush()
            self.assertIn("1 feed\n", self.run_it("import", f.name))
        out = self.run_it("export")
        self.assertEqual([self.u], [x.get("xmlUrl") for x in tree.fromstring(out).iter("outline")])

    def test_a_list_that_is_longer_than_a_request_may_be(self):          # CLI-03
        """12,000 feeds in 3 folders, one of which has a fault; again, nothing is new."""
        n = 12000
        with tempfile.NamedTemporaryFile("w", suffix=".opml") as f:
            f.write('<opml version="2.0"><body>')
            for g in range(3):
                f.write('<outline text="G%d &amp; more">' % g)
                f.write("".join('<outline text="t%d" xmlUrl="%s"/>' % (i, "ftp://h/x" if i == 11111 else "http://192.0.2.1/%d.xml" % i)
                                for i in range(g * n // 3, (g + 1) * n // 3)))
                f.write("</outline>")
            f.write("</body></opml>")
            f.flush()
            done = subprocess.run([BINARY, "import", f.name, "--server", self.d.base], capture_output=True, text=True, timeout=60 * PATIENCE)
            self.assertEqual((0, "subscriptions 1, 2, 3: 11999 feeds, 1 left out\n"), (done.returncode, done.stdout), done.stderr)
            self.assertIn("outline 11115 (ftp://h/x)", done.stderr)
            again = json.loads(self.run_it("import", f.name, "--json"))
        self.assertEqual(([], 11999, 1), (again["urls"], len(again["known"]), again["left_out"]))
        out = tree.fromstring(self.run_it("export"))
        folders = [(o.get("text"), len(o.findall("outline"))) for o in out.find("body")]
        self.assertEqual([("G0 & more", 4000), ("G1 & more", 4000), ("G2 & more", 3999)], folders)

    def test_a_webhook(self):                                            # HOOK-02
        self.assertRegex(self.run_it("sub", "add", "--sink", "webhook", self.o.url("/hook"), self.u), r"^1\twhsec_[A-Za-z0-9+/]{43}=\n$")
        found = self.d.get("/sub?type=json").json["subscriptions"]
        self.assertEqual(["webhook"], [s["sink"] for s in found])
        self.assertNotIn("whsec_", self.run_it("sub"))

    def test_sub(self):
        r = self.receiver()
        self.assertEqual("1\t-\n", self.run_it("sub", "add", r.url, self.u))
        self.assertIn(r.url, self.run_it("sub"))
        self.run_it("sub", "resume", "1")
        self.run_it("sub", "pause", "1")
        self.assertIn("paused", self.run_it("sub"))
        self.assertTrue(self.run_it("sub", "test", "1").startswith("200\t"))     # DELIV-06
        self.run_it("sub", "set", "1", "folder=News & more", "batch=5")  # VIEW-18
        shown = self.d.get("/sub?type=json").json["subscriptions"][0]
        self.assertEqual(([["News & more"]], 5), (shown["folders"], shown["batch"]))
        self.run_it("sub", "replay", "1", "start")
        self.assertRegex(self.run_it("sub"), r"\t2\t\d+\t0\t")         # lag, its age, dead letters
        self.run_it("sub", "resume", "1")
        self.wait(lambda: self.run_it("sub", "log", "1"))                # DELIV-04
        log = self.run_it("sub", "log", "1")
        self.assertIn("delivered", log)
        self.assertEqual({6}, {line.count("\t") for line in log.splitlines()})
        for args in (["skip", "1"], ["dead", "1"], ["retry-dead", "1"], ["drop-dead", "1", "all"]):
            self.run_it("sub", *args)
        self.assertIn("replay ID FROM", self.run_it("sub", "replay", "1", code=2))
        self.assertIn("NAME=VALUE", self.run_it("sub", "set", "1", "folder", code=2))
        self.assertIn("bad", self.run_it("sub", "set", "1", "batch=bad", code=2))
        self.assertIn('the setting "foldr" is not known; did you mean "folder"?', self.run_it("sub", "set", "1", "batch=7", "foldr=x", code=2))
        self.assertEqual(5, self.d.get("/sub?type=json").json["subscriptions"][0]["batch"])
        self.assertIn("retry-dead ID [DEAD]", self.run_it("help", "sub"))
        self.run_it("sub", "rm", "1")
        self.assertEqual("", self.run_it("sub"))
        self.run_it("sub", "rm", "1", code=1)

    def test_tail(self):
        self.d.subscribe(self.u)
        self.wait(lambda: self.d.record(self.u)["last_check"])
        self.d.wait_idle()      # a row may be read from the database before the log is said to have it
        tail = subprocess.Popen([BINARY, "tail", "--server", self.d.base], stdout=subprocess.PIPE, text=True)
        self.addCleanup(tail.stdout.close)
        self.wait(lambda: b"feedmill_log_waiters 1" in self.d.get("/metrics").body)
        self.o.set("/f.xml", rss("three", "one", "two"))
        self.d.ping(self.u)
        seq, at, kind, feed, title, link = tail.stdout.readline().rstrip("\n").split("\t")
        self.assertEqual(("3", "new", self.u, "three", "http://site.example/three"), (seq, kind, feed, title, link))
        self.assertRegex(at, r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\S*Z$")
        tail.send_signal(signal.SIGINT)
        tail.wait(10 * PATIENCE)

    def test_texts_do_not_command_the_terminal(self):
        feed = {"version": "https://jsonfeed.org/version/1.1", "title": "T\u001b[31m\u009b2J\u202e", "items": [
            {"id": "1", "title": "a\u001b[31m\u009b2J\u007f\u200b\u202eb\U000e0041", "url": "http://x.example/\u001b[31m\u009b", "content_text": "c"}]}
        u = self.o.set("/f.json", json.dumps(feed), Content_Type="application/feed+json")
        self.d.subscribe(u)
        self.wait(lambda: self.d.record(u)["entries"] == 1)
        tail = subprocess.Popen([BINARY, "tail", "--server", self.d.base, "--since", "0"], stdout=subprocess.PIPE, text=True)
        self.addCleanup(tail.stdout.close)
        self.addCleanup(tail.wait, 10)
        self.addCleanup(tail.kill)
        shown = self.run_it("ls") + self.run_it("show", u) + tail.stdout.readline() + self.run_it("search", "c")
        shown += "".join(self.run_it(command, *args, "--json") for command, *args in (["ls"], ["show", u], ["search", "c"]))
        documents = {kind: self.run_it("get", "--type", kind, u) for kind in ("json", "jsonfeed", "atom", "rss", "html")}
        self.assertIn("\u202e", json.loads(documents["json"])["entries"][0]["title"])
        self.assertIn("\u202e", "".join(tree.fromstring(documents["atom"]).itertext()))
        shown += "".join(documents.values()) + self.run_it("export")
        self.assertIn("[31m", shown)
        self.assertEqual([], [c for c in shown if c not in "\n\t" and unicodedata.category(c) in ("Cc", "Cf")])
        self.assertEqual("T\u001b[31m\u009b2J\u202e", json.loads(self.run_it("show", u, "--json"))["title"])

    def test_a_stop_does_not_wait_for_who_waits(self):
        d = self.daemon("--stop-timeout", "10m")
        tail = subprocess.Popen([BINARY, "tail", "--server", d.base], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)
        d.wait_metric("log_waiters", 1)
        d.stop()
        self.assertIn("no daemon answers", tail.stderr.readline())       # its call before was answered
        tail.kill()
        tail.communicate(timeout=60 * PATIENCE)

    def test_a_reload_does_not_break_a_stop(self):
        """What is in progress when it stops is still ended in order."""
        late = socket.create_connection(("127.0.0.1", self.d.port))
        self.addCleanup(late.close)
        late.sendall(b"POST /ping HTTP/1.1\r\nHost: localhost\r\nContent-Length: 6\r\n"
                     b"Content-Type: application/x-www-form-urlencoded\r\n\r\nname")
        self.wait(lambda: self.d.counter("http_connections") == 2)       # that one, and the one that asks
        self.d.process.send_signal(signal.SIGTERM)
        self.d.wait_log("event=stopping")
        self.d.process.send_signal(signal.SIGHUP)
        late.sendall(b"=x")
        self.assertIn(b"HTTP/1.1 ", late.recv(1000))
        self.assertEqual(0, self.d.process.wait(60 * PATIENCE))

    def test_tail_survives_a_restart(self):
        self.d.subscribe(self.u)
        self.wait(lambda: self.d.record(self.u)["last_check"])
        self.d.wait_idle()      # a row may be read from the database before the log is said to have it
        tail = subprocess.Popen([BINARY, "tail", "--server", self.d.base, "--since", "start"], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)
        self.addCleanup(tail.communicate)
        self.addCleanup(tail.kill)
        heard = [tail.stdout.readline() for _ in range(2)]
        self.assertEqual(["1", "2"], [line.split()[0] for line in heard])
        self.d.kill()
        self.assertIn("waiting", tail.stderr.readline())
        self.d.start()
        self.assertIn("the daemon answers again", tail.stderr.readline())      # though there is no news
        self.o.set("/f.xml", rss("three", "one", "two"))
        self.d.ping(self.u)
        line = tail.stdout.readline()
        self.assertEqual(("3", "three"), (line.split("\t")[0], line.split("\t")[4]))

    def test_tail_ends_when_nobody_reads(self):
        self.d.subscribe(self.u)
        self.wait(lambda: self.d.record(self.u)["last_check"])
        done = subprocess.run(["sh", "-c", '"$0" tail --since start --server "$1" | head -2', BINARY, self.d.base],
                              capture_output=True, text=True, timeout=30 * PATIENCE)
        self.assertEqual(2, len(done.stdout.splitlines()))

    def test_a_token_is_asked_for_in_words_of_the_command_line(self):
        d = self.daemon("--token", "t0p")
        for extra in ([], ["--token", "t0"]):
            self.assertIn("--token", self.run_it("ls", "--server", d.base, *extra, code=1))
        self.run_it("ls", "--server", d.base, "--token", "t0p")
        self.run_it("ls", "--server", d.base, FEEDMILL_TOKEN="t0p")

    def test_tail_leaves_nothing_out(self):
        u = self.o.set("/many.xml", rss(*["item %d" % i for i in range(130)]))
        self.d.subscribe(u)
        self.wait(lambda: self.d.record(u)["entries"] == 130)
        tail = subprocess.Popen([BINARY, "tail", "--server", self.d.base, "--since", "0"], stdout=subprocess.PIPE, text=True)
        self.addCleanup(tail.stdout.close)
        end = threading.Timer(20 * PATIENCE, tail.kill)
        end.start()
        lines = [line for _, line in zip(range(130), tail.stdout)]
        end.cancel()
        tail.kill()
        tail.wait(10 * PATIENCE)
        self.assertEqual(list(range(1, 131)), [int(line.split()[0]) for line in lines])

    def test_errors_are_one_line(self):
        self.assertIn("yaml", self.run_it("get", "--type", "yaml", self.u, code=2))
        self.assertIn("nonsense", self.run_it("add", "nonsense", code=2))
        self.assertIn("nowhere", self.run_it("show", "nowhere", code=1))
        self.assertIn("not a command", self.run_it("frobnicate", code=2))
        self.assertIn("not a command", self.run_it("help", "frobnicate", code=2))
        self.assertEqual(self.run_it("help"), self.run_it("help", "help"))
        self.assertIn("--frob", self.run_it("serve", "--frob", code=2))
        for typed, meant in ((["improt"], '"import"'), (["sl"], '"ls"'), (["ls", "--al"], "--all"),
                             (["serve", "--listne", "x"], "--listen"), (["serve", "--fetch_sise=1"], "--fetch-size")):
            self.assertIn("did you mean " + meant, self.run_it(*typed, code=2))
        for wrong in (["add"], ["views", "x"], ["show"], ["get"], ["import"], ["export", "x"], ["sub", "x"], ["sub", "rm"],
                      ["archive"], ["rm"], ["version", "x"], ["parse", "a", "b"], ["get", "--len"], ["ls", "--all=1"],
                      ["serve", "--listen", "nope"], ["serve", "--log-level", "loud"]):
            self.run_it(*wrong, code=2)
        done = subprocess.run([BINARY, "ls", "--server", "127.0.0.1:1"], capture_output=True, text=True)
        self.assertEqual(1, done.stderr.count("127.0.0.1:1"))
        self.assertIn("feedmill serve", done.stderr)
        self.assertIn("--server", done.stderr)
        for option, value in (("--listen", "nowhere"), ("--allow-fetch", "10.0.0.0/99"),
                              ("--level1-period", "soon"), ("--log-level", "loud"), ("--listen", "0.0.0.0:0"),
                              ("--listen", "[fe80::1%nosuch0]:0"), ("--base-url", "x"), ("--cors-origin", "a b")):
            done = subprocess.run([BINARY, "serve", "--db", "wrong.db", option, value], capture_output=True,
                                  text=True, timeout=60 * PATIENCE, cwd=self.d.folder)
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

    def test_what_is_no_feed_fails(self):                                # CLI-01
        for text in b"just words\n", b"", b"\x89PNG\r\n\x1a\n", b"<html><p>a</p></html>":
            done = self.run_it("parse", text=text)
            self.assertEqual(1, done.returncode, text)
            self.assertTrue(json.loads(done.stdout)["bozo"])             # the result is printed all the same
            self.assertRegex(done.stderr.decode(), "^feedmill parse: standard input: this is not a feed: [^\n]+\n$")
        for text in b"<rss version='2.0'><channel/></rss>", b"<rss><channel><title>a", b'{"version":"https://jsonfeed.org/version/1.1"}':
            done = self.run_it("parse", text=text)
            self.assertEqual((0, b""), (done.returncode, done.stderr), text)

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

    def test_what_cannot_be_meant_is_told(self):
        for flag, value, says in (("--url", "nonsense", "absolute URL"), ("--header", "text/xml", "Content-Type: "),
                                  ("--header", ": x", "Content-Type: ")):
            done = self.run_it("parse", flag, value, text=rss("a").encode())
            self.assertEqual(2, done.returncode, value)
            self.assertIn('%s "%s"' % (flag, value), done.stderr.decode())
            self.assertIn(says, done.stderr.decode())
        done = self.run_it("parse", "http://h.example/f")
        self.assertEqual(1, done.returncode)
        self.assertIn("parse --url http://h.example/f", done.stderr.decode())

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
        self.assertEqual(1, done.returncode)
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
        for args in (("--help",), ("-h",), ("serve", "--help"), ("ls", "--help"), ("--version",), ("version",), ("help",)):
            self.assertEqual(0, self.run_it(*args).returncode)
        commands = re.findall(r"^  ([\w-]+)", self.run_it("help").stdout.decode(), re.M)
        self.assertGreater(len(commands), 12)
        for i, command in enumerate(commands):      # a start costs much under a sanitizer
            for args in (("help", command), (command, ("--help", "-h")[i % 2])):
                done = self.run_it(*args)
                self.assertEqual(0, done.returncode, args)
                self.assertIn("example: ", done.stdout.decode())
            self.assertIn("usage: feedmill " + command, done.stdout.decode())
        for flag in ("--title NAME", "--folder A/B", "--freq N", "--no-sanitize", "--server URL", "--token TEXT"):
            self.assertIn("  %s\n      " % flag, self.run_it("help", "add").stdout.decode())
        out = self.run_it("serve", "--help").stdout.decode()
        for option in ("--listen", "--db", "--memcached", "--ping-server", "--allow-fetch", "--allow-callback"):
            self.assertIn(option, out)
