"""The programs in examples/, each run against the daemon (EX-01)."""
import base64
import fcntl
import hashlib
import hmac
import http.client
import http.server
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

from .env.broker import NPM, Broker
from .env.case import Case
from .env.daemon import BINARY, quote
from .env.origin import rss
from .env.servers import free_port

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
EXAMPLES = os.path.join(ROOT, "examples")
RUNS = {"sh": ["sh"], "py": [sys.executable], "js": ["node"], "php": ["php"], "rb": ["ruby"], "go": ["go"]}
SECRET = "whsec_" + base64.b64encode(b"0123456789abcdef0123456789abcdef").decode()
tested = set()  # "pull/pull.py"


def in_languages(kind, languages):
    """Makes a test of each method of the class whose name begins with "check_", for each language."""
    def make(check, language):
        def test(self):
            self.kind, self.language = kind, language
            check(self)
        test.__doc__ = "EX-01"
        return test

    def decorate(case):
        for language in languages.split():
            tested.add("%s/%s.%s" % (kind, kind, language))
            for name in [n for n in dir(case) if n.startswith("check_")]:
                setattr(case, "test_%s_%s" % (language, name[len("check_"):]), make(getattr(case, name), language))
        return case
    return decorate


def is_heard(port):
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
        return True
    except OSError:
        return False


class CutServer:
    """A server whose answers end in the middle of the body."""
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Length", "1000")
            self.send_header("ETag", '"cut"')
            self.end_headers()
            self.wfile.write(b'id: c1\ndata: {"n":1}\n\nid: c2\ndata: {"n' if self.path.startswith("/events")
                             else b'{"entries": [')
            self.server.n += 1

        def log_message(self, *_):
            pass

    def __enter__(self):
        self.server = http.server.HTTPServer(("127.0.0.1", 0), self.Handler)
        self.server.n, self.server.tokens = 0, []
        self.base = "http://127.0.0.1:%d" % self.server.server_port
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


class GoneServer(CutServer):
    """A server that has nothing of what is older than its horizon."""
    class Handler(CutServer.Handler):
        def do_GET(self):
            self.server.tokens.append(self.headers.get("Authorization"))
            gone = "since=fm1.horizon" not in self.path and "since=fm1.after" not in self.path
            body = (b'{"type":"urn:feedmill:problem:history-gone","status":410,"horizon":"fm1.horizon"}\n' if gone
                    else b'id: fm1.after\ndata: {"n":1}\n\n' if self.path.startswith("/events")
                    else b'{"revisions":[],"cursor":"fm1.after"}\n')
            self.send_response(410 if gone else 200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET


class Examples(Case):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="feedmill-example-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.o = self.origin()
        self.u = self.o.set("/f.xml", rss("b", "a"))
        self.d = self.daemon("--push-first-retry", "50ms", "--push-max-retry", "1s")

    def path(self, name):
        return os.path.join(self.folder, name)

    def publish(self, *titles):
        self.o.set("/f.xml", rss(*titles))
        self.d.ping(self.u)
        self.d.wait_idle()

    def fetched(self):
        self.d.subscribe(self.u)
        self.d.wait_idle()

    def define(self, words):
        """The view v."""
        answer = self.d.call("PUT", "/view/v?url=%s&q=%s" % (quote(self.u), quote(words)))
        self.assertIn(answer.status, (200, 201), answer.body)

    # ---- programs ----
    def command(self):
        """How the example is run, without its arguments."""
        run, file = RUNS[self.language], os.path.join(EXAMPLES, self.kind, self.kind + "." + self.language)
        if not shutil.which(run[0]):
            self.skipTest("%s is not installed (scripts/install test)" % run[0])
        if self.language != "go":
            return run + [file]
        binary = self.path(self.kind)
        # not in a module: these are files of their own. The cache makes the next one quicker
        cache = os.path.abspath(os.path.join(os.path.dirname(BINARY), "go-cache"))
        with open(cache + ".lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)        # of several at a time each would compile Go's own packages
            subprocess.run(["go", "build", "-o", binary, file], check=True,
                           env=dict(os.environ, GO111MODULE="off", GOFLAGS="", GOCACHE=cache))
        return [binary]

    def run_once(self, *args, env=None):
        """(exit code, output, errors)"""
        done = subprocess.run(self.command() + list(args), capture_output=True, text=True, timeout=300,
                              env=dict(os.environ, **(env or {})))
        return done.returncode, done.stdout, done.stderr

    def begin(self, *args, env=None):
        program = subprocess.Popen(args, env=dict(os.environ, **(env or {})), stdout=subprocess.DEVNULL,
                                   stderr=open(self.path("errors"), "a"), start_new_session=True)
        self.addCleanup(self.kill, program)
        return program

    def kill(self, program):
        """The program and what it has started; at once, as a crash does."""
        if program.poll() is None:
            os.killpg(program.pid, 9)
        program.wait()

    def lines(self, name):
        """The objects of a file with one on each line."""
        try:
            with open(self.path(name)) as text:
                return [json.loads(line) for line in text if line.endswith("\n")]
        except FileNotFoundError:
            return []

    def said(self):
        with open(self.path("errors"), errors="replace") as text:
            return text.read()


class Complete(Case):
    def test_every_file_is_run(self):
        """EX-01"""
        there = {os.path.relpath(os.path.join(folder, name), EXAMPLES)
                 for folder, _, names in os.walk(EXAMPLES) for name in names}
        there = {name for name in there if not name.startswith("balancer/")}    # test_balancer
        self.assertEqual(tested, there - {"README.md"})

    def test_every_file_is_in_the_list(self):
        """EX-01"""
        with open(os.path.join(EXAMPLES, "README.md")) as text:
            self.assertEqual(tested, set(re.findall(r"\]\(([a-z]+/[a-z.]+)\)", text.read())))


@in_languages("pull", "sh py js php rb go")
class Pull(Examples):
    def titles(self):
        with open(self.path("news.json")) as text:
            return [e["title"] for e in json.load(text)["entries"]]

    def check_that_it_asks_for_news_only(self):
        args = (self.d.base + "/feed?type=json&url=" + quote(self.u), self.path("news.json"))
        self.assertEqual((0, "changed\n", ""), self.run_once(*args))
        self.assertEqual(["b", "a"], self.titles())
        self.assertEqual((0, "unchanged\n", ""), self.run_once(*args))
        self.publish("c", "b", "a")
        self.assertEqual("changed\n", self.run_once(*args)[1])
        self.assertEqual(["c", "b", "a"], self.titles())
        self.assertEqual("unchanged\n", self.run_once(*args)[1])
        # what fails changes nothing
        code, _, errors = self.run_once(args[0].replace("/feed", "/nothing"), args[1])
        self.assertNotEqual((0, ""), (code, errors))
        self.assertEqual(["c", "b", "a"], self.titles())
        self.publish("d", "c", "b", "a")
        os.symlink("/dev/full", self.path("news.json.new"))
        self.assertNotEqual(0, self.run_once(*args)[0])
        self.assertEqual(["c", "b", "a"], self.titles())
        os.remove(self.path("news.json.new"))
        self.assertEqual("changed\n", self.run_once(*args)[1])
        self.assertEqual(["d", "c", "b", "a"], self.titles())
        with CutServer() as server:
            self.assertNotEqual(0, self.run_once(server.base + "/", args[1])[0])
        self.assertEqual(["d", "c", "b", "a"], self.titles())
        with GoneServer() as server:
            self.run_once(server.base + "/", args[1], env={"FEEDMILL_TOKEN": "fm_reader"})
            self.assertEqual({"Bearer fm_reader"}, set(server.server.tokens))


@in_languages("mirror", "sh py js php rb go")
class Mirror(Examples):
    def has(self, *titles):
        def there():
            if not os.path.exists(self.path("mirror.json")):
                return False
            with open(self.path("mirror.json")) as text:
                kept = json.load(text)
            return sorted(e["title"] for e in kept["entries"].values()) == sorted(titles)
        self.wait(there, what="mirror of %s" % (titles,), daemon=self.d)

    def check_that_it_follows_the_log_also_after_a_crash(self):
        self.fetched()
        command = self.command() + [self.d.base, self.path("mirror.json")]
        program = self.begin(*command)
        self.has("a", "b")
        self.publish("c", "b", "a")
        self.has("a", "b", "c")
        self.kill(program)
        self.publish("d", "c", "b|edited", "a")
        self.begin(*command)
        self.has("a", "b|edited", "c", "d")
        self.d.stop()
        self.wait(lambda: self.said(), what="an error", daemon=self.d)
        self.d.start()
        self.publish("e", "d", "c", "b|edited", "a")
        self.has("a", "b|edited", "c", "d", "e")

    def check_that_it_follows_a_question_and_begins_anew(self):
        """What leaves the filter leaves the mirror, and a view that was changed (410) begins it anew."""
        self.fetched()
        self.define("(a OR b) -edited")
        self.begin(*self.command(), self.d.base, self.path("mirror.json"), "view=v")
        self.has("a", "b")
        self.publish("c", "b|edited", "a")
        self.has("a")
        self.define("a OR c")
        self.has("a", "c")

    def check_that_it_goes_on_from_the_horizon(self):
        with GoneServer() as server:
            with open(self.path("mirror.json"), "w") as kept:
                kept.write('{"cursor":"fm1.old","entries":{"1 x":{"title":"x"}}}')
            self.begin(*self.command(), server.base, self.path("mirror.json"), env={"FEEDMILL_TOKEN": "fm_reader"})
            self.has()
            self.assertEqual({"Bearer fm_reader"}, set(server.server.tokens))

    def check_that_half_a_mirror_is_not_kept(self):
        self.fetched()
        command = self.command() + [self.d.base, self.path("mirror.json")]
        program = self.begin(*command)
        self.has("a", "b")
        self.kill(program)
        os.symlink("/dev/full", self.path("mirror.json.new"))
        self.publish("c", "b", "a")
        self.assertNotEqual(0, self.begin(*command).wait(300))
        self.has("a", "b")
        os.remove(self.path("mirror.json.new"))
        self.begin(*command)
        self.has("a", "b", "c")

    def check_that_it_asks_again_when_an_answer_ends_too_early(self):
        with CutServer() as server:
            program = self.begin(*self.command(), server.base, self.path("mirror.json"))
            self.wait(lambda: server.server.n >= 2, what="the second request")
            self.assertIsNone(program.poll(), self.said())


@in_languages("events", "sh py js php rb go")
class Events(Examples):
    def has(self, *titles):
        """Exactly these, in this order."""
        self.wait(lambda: len(self.lines("news.jsonl")) >= len(titles), what=str(titles), daemon=self.d)
        self.wait(lambda: self.noted() == self.lines("news.jsonl")[-1]["cursor"], what="its note", daemon=self.d)
        self.assertEqual(list(titles), [e["entry"]["title"] for e in self.lines("news.jsonl")])

    def noted(self):
        with open(self.path("position")) as text:
            return text.read().strip()

    def check_that_it_goes_on_where_it_was(self):
        self.fetched()
        command = self.command() + [self.d.base, self.folder]
        program = self.begin(*command)
        self.has("a", "b")
        self.publish("c", "b", "a")
        self.has("a", "b", "c")
        self.kill(program)
        self.publish("d", "c", "b", "a")
        self.begin(*command)
        self.has("a", "b", "c", "d")
        self.d.stop()
        self.d.start()
        self.publish("e", "d", "c", "b", "a")
        self.has("a", "b", "c", "d", "e")

    def check_that_it_follows_a_question_and_begins_anew(self):
        self.fetched()
        self.define("a")
        self.begin(*self.command(), self.d.base, self.folder, "view=v")
        self.has("a")
        self.define("a OR b")
        self.has("a", "a", "b")

    def check_that_it_goes_on_from_the_horizon(self):
        with GoneServer() as server:
            with open(self.path("position"), "w") as kept:
                kept.write("fm1.old")
            self.begin(*self.command(), server.base, self.folder, env={"FEEDMILL_TOKEN": "fm_reader"})
            self.wait(lambda: self.noted() == "fm1.after", what="the event after the horizon")
            self.assertEqual({"Bearer fm_reader"}, set(server.server.tokens))

    def check_that_it_notes_only_what_it_has_written(self):
        self.fetched()
        command = self.command() + [self.d.base, self.folder]
        os.symlink("/dev/full", self.path("news.jsonl"))
        program = self.begin(*command)
        self.wait(lambda: program.poll() is not None or self.said(), what="the failure", daemon=self.d)
        self.kill(program)
        os.remove(self.path("news.jsonl"))
        self.begin(*command)
        self.has("a", "b")

    def check_that_it_takes_whole_events_only(self):
        with CutServer() as server:
            self.begin(*self.command(), server.base, self.folder)
            self.wait(lambda: server.server.n >= 2, what="the second request")
            self.assertEqual("c1", self.noted())
        with open(self.path("news.jsonl")) as text:
            self.assertEqual({'{"n":1}\n'}, set(text))


@in_languages("webhook", "py js php rb go")
class Webhook(Examples):
    def run_it(self, secret):
        command = self.command()
        if self.language == "php":
            command[1:1] = ["-S", "127.0.0.1:%d" % self.port]
        else:
            command.append(str(self.port))
        return self.begin(*command, env={"WEBHOOK_SECRET": secret, "INBOX": self.path("inbox")})

    def start_it(self):
        program = self.run_it(SECRET)
        self.wait(lambda: is_heard(self.port), what="the receiver", daemon=self.d)
        return program

    def send(self, body, name="msg_x", secret=SECRET, at=None):
        """A delivery by hand: the status of the answer."""
        at = str(int(time.time() if at is None else at))
        key = base64.b64decode(secret.removeprefix("whsec_"))
        mac = hmac.new(key, b"%s.%s.%s" % (name.encode(), at.encode(), body), hashlib.sha256).digest()
        return self.post(body, {"webhook-id": name, "webhook-timestamp": at,
                                "webhook-signature": "v1,AAAA v1," + base64.b64encode(mac).decode()})

    def post(self, body, fields):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request("POST", "/", body, dict(fields, **{"Content-Type": "application/json"}))
            return connection.getresponse().status
        finally:
            connection.close()

    def has(self, *titles):
        """Exactly these, in this order."""
        self.wait(lambda: len(self.lines("inbox/news.jsonl")) >= len(titles), what=str(titles), daemon=self.d)
        self.d.wait_idle()
        self.assertEqual(list(titles), [e["entry"]["title"] for e in self.lines("inbox/news.jsonl")])

    def check_that_it_takes_all_and_only_what_is_signed(self):
        self.port = free_port()
        os.mkdir(self.path("inbox"))
        program = self.start_it()
        self.fetched()
        sub = self.d.subscribe(self.u, endpoint="http://127.0.0.1:%d/" % self.port, sink="webhook",
                               secret=SECRET, from_="start")
        self.has("a", "b")
        # strangers
        body = b'{"type":"feed.entries","data":{"subscription":1,"entries":[{}]}}'
        other = "whsec_" + base64.b64encode(b"another").decode()
        self.assertEqual(401, self.send(body, secret=other))
        self.assertEqual(401, self.send(body, at=time.time() - 3600))
        self.assertEqual(401, self.post(body, {}))
        self.assertEqual(401, self.post(body, {"webhook-signature": "v1,\xe4"}))
        self.has("a", "b")
        test = self.d.call("POST", "/sub?id=%d&action=test" % sub).json
        self.assertEqual(204, test["status"], test)
        # a crash
        self.kill(program)
        self.publish("c", "b", "a")
        self.d.wait_metric("push_failed_total", 1)
        self.start_it()
        self.has("a", "b", "c")
        with open(self.path("inbox/taken.json")) as text:
            taken = json.load(text)[str(sub)]
        self.assertEqual(self.lines("inbox/news.jsonl")[-1]["cursor"], taken["cursor"])
        # the same delivery comes again
        again = {"type": "feed.entries", "data": {
            "subscription": sub, "prev_cursor": "x", "last_cursor": taken["cursor"],
            "entries": self.lines("inbox/news.jsonl")[-1:]}}
        self.assertEqual(204, self.send(json.dumps(again).encode(), name=taken["id"]))
        self.has("a", "b", "c")
        self.assertNotIn("missing", self.said())
        # another chain
        self.assertEqual(204, self.send(json.dumps(again).encode(), name="msg_y"))
        self.wait(lambda: "/log?since=" + taken["cursor"] in self.said(), what="the gap", daemon=self.d)
        # what cannot be kept is not acknowledged
        os.rename(self.path("inbox"), self.path("away"))
        self.publish("d", "c", "b", "a")
        failed = self.d.wait_metric("push_failed_total", 2)
        self.d.wait_metric("push_failed_total", failed + 1)
        os.rename(self.path("away"), self.path("inbox"))
        self.has("a", "b", "c", "c", "d")

    def check_that_it_needs_a_secret(self):
        self.port = free_port()
        os.mkdir(self.path("inbox"))
        program = self.run_it("")
        if self.language == "php":
            self.wait(lambda: is_heard(self.port), what="the receiver")
            self.assertEqual(500, self.send(b"{}", secret=""))
        else:
            self.assertNotEqual(0, program.wait(300))
        self.assertIn("WEBHOOK_SECRET is not a secret", self.said())


@in_languages("rpc", "py js php rb go")
class XmlRpc(Examples):
    def start_it(self):
        command, file = self.command(), self.path("entries.json")
        if self.language == "php":
            command[1:1] = ["-S", "127.0.0.1:%d" % self.port]
            program = self.begin(*command, env={"FILE": file})
        else:
            program = self.begin(*command, str(self.port), file)
        self.wait(lambda: is_heard(self.port), what="the receiver", daemon=self.d)
        return program

    def has(self, *titles):
        def there():
            if not os.path.exists(self.path("entries.json")):
                return False
            with open(self.path("entries.json")) as text:
                return sorted(e["title"] for e in json.load(text).values()) == sorted(titles)
        self.wait(there, what=str(titles), daemon=self.d)

    def check_that_it_keeps_before_it_answers(self):
        self.port = free_port()
        program = self.start_it()
        self.fetched()
        self.d.subscribe(self.u, endpoint="http://127.0.0.1:%d/" % self.port, from_="start")
        self.has("a", "b")
        self.kill(program)
        self.publish("ü 🐣", "b", "a")
        self.d.wait_metric("push_failed_total", 1)
        self.start_it()
        self.has("a", "b", "ü 🐣")
        # what cannot be kept is not acknowledged
        self.d.wait_idle()
        failed = self.d.counter("push_failed_total")
        os.mkdir(self.path("entries.json.new"))
        self.publish("d", "ü 🐣", "b", "a")
        self.d.wait_metric("push_failed_total", failed + 1)
        os.rmdir(self.path("entries.json.new"))
        self.has("a", "b", "ü 🐣", "d")
        self.assertEqual(0, self.d.counter("push_fault_total"))


@in_languages("amqp", "js")
class Amqp(Examples):
    """With a real broker."""
    @classmethod
    def setUpClass(cls):
        cls.b = Broker()
        cls.addClassCleanup(cls.b.close)

    def setUp(self):
        super().setUp()
        self.name = self.id().split(".")[-1]     # of exchange and queue
        self.d.call("POST", "/sub", "url=%s&endpoint=%s" % (
            quote(self.u), quote(self.b.url("exchange=%s&declare=topic" % self.name))),
            {"Content-Type": "application/x-www-form-urlencoded"})
        self.d.wait_idle()

    def start(self):
        if not os.path.isdir(os.path.join(NPM, "amqplib")):
            self.skipTest("the package amqplib is not installed (scripts/install test)")
        return self.begin(*self.command(), self.b.url("", "%2f", "other:other-password").rstrip("?"), self.name, self.name,
                          self.folder, env={"NODE_PATH": NPM})

    def has(self, *titles):
        """Exactly these, in this order."""
        self.wait(lambda: len(self.lines("news.jsonl")) >= len(titles), what=str(titles), daemon=self.d)
        self.assertEqual(list(titles), [e["entry"]["title"] for e in self.lines("news.jsonl")])

    def check_that_it_loses_nothing(self):
        program = self.start()
        self.publish("c", "b", "a")      # it is tried again until the queue is there
        self.has("c")
        self.assertEqual("new", self.lines("news.jsonl")[0]["kind"])
        self.kill(program)
        self.publish("d", "c", "b", "a")
        with open(self.path("news.jsonl"), "a") as news:
            news.write('{"subscr')       # as a crash leaves it
        program = self.start()
        self.has("c", "d")
        self.d.stop()
        self.d.start()
        self.publish("e", "d", "c", "b", "a")
        self.has("c", "d", "e")
        self.assertEqual("", self.said())

    def check_that_it_sees_what_is_missing(self):
        self.start()
        self.publish("c", "b", "a")
        self.wait(lambda: self.lines("news.jsonl"), what="the first", daemon=self.d)
        sub = self.lines("news.jsonl")[-1]["subscription"]
        self.b.do(["unbindQueue", self.name, self.name, "#"], ["assertQueue", "other"],
                  ["bindQueue", "other", self.name, "#"])
        self.publish("d", "c", "b", "a")  # to the other queue alone
        self.wait(lambda: self.d.get("/sub?type=json&id=%d" % sub).json["subscriptions"][0]["lag"] == 0,
                  daemon=self.d)
        self.b.do(["bindQueue", self.name, self.name, "#"])
        self.publish("e", "d", "c", "b", "a")
        self.wait(lambda: "something is missing" in self.said(), what="the complaint", daemon=self.d)


@in_languages("opml", "sh py js php rb go")
class Opml(Examples):
    def list(self, *urls):
        with open(self.path("list.opml"), "w") as out:
            out.write('<opml version="2.0"><body>%s</body></opml>' % "".join(
                '<outline text="x" xmlUrl="%s"/>' % u for u in urls))
        return self.d.base, self.path("list.opml")

    def check_that_it_subscribes_to_what_is_new(self):
        v = self.o.set("/g.xml", rss("g"))
        code, out, errors = self.run_once(*self.list(self.u, v, "ftp://127.0.0.1/x"))
        self.assertEqual((0, ""), (code, errors))
        lines = out.splitlines()
        self.assertEqual("subscribed to 2 feeds, 0 were known", lines[0])
        self.assertRegex(lines[1], "^outline 3: .*http")
        w = self.o.set("/h.xml", rss("h"))
        self.assertEqual((0, "subscribed to 1 feeds, 2 were known\n", ""),
                         self.run_once(*self.list(self.u, v, w)))
        self.assertEqual({self.u, v, w},
                         {f["url"] for f in self.d.get("/sub?type=json").json["feeds"]})
        base, path = self.list()
        code, out, errors = self.run_once(base, path)
        self.assertNotEqual(0, code)
        self.assertIn("feed", out + errors)
        with GoneServer() as server:
            self.run_once(server.base, self.list(self.u)[1], env={"FEEDMILL_TOKEN": "fm_reader"})
            self.assertEqual({"Bearer fm_reader"}, set(server.server.tokens))
