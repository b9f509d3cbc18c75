"""Who may ask for what: tokens, roles, rates, ownership (ACC-01 to ACC-06)."""
import base64
import concurrent.futures
import http.client
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.parse

from .env.case import Case
from .env.daemon import BINARY, PATIENCE, quote
from .env.origin import rss
from .env.subscriber import Subscriber

ROOT = os.environ.get("FEEDMILL_SOURCE") or os.path.join(os.path.dirname(__file__), "..", "..")
ROLES = ["none", "read", "subscribe", "admin"]
FORM = {"Content-Type": "application/x-www-form-urlencoded"}

# Every route with the role that it needs. A row that api/routes.def has, and this table lacks, fails.
ROUTES = {
    ("/feed", "GET"): "read", ("/feeds", "GET"): "read", ("/opml", "GET"): "read",
    ("/sub", "GET"): "subscribe", ("/sub", "POST"): "subscribe", ("/sub", "PATCH"): "subscribe",
    ("/sub", "DELETE"): "subscribe", ("/sub/log", "GET"): "subscribe", ("/sub/dead", "GET"): "subscribe",
    ("/simple", "GET"): "read", ("/archive", "GET"): "read", ("/history", "GET"): "read", ("/pmh", "GET"): "read",
    ("/item", "GET"): "read", ("/enclosure", "GET"): "read", ("/smart", "GET"): "read", ("/log", "GET"): "read", ("/events", "GET"): "read",
    ("/hub", "POST"): "subscribe", ("/pleaseNotify", "POST"): "subscribe", ("/RPC2", "POST"): "subscribe",
    ("/ping", "GET"): "subscribe", ("/ping", "POST"): "subscribe",
    ("/websub", "GET"): "none", ("/websub", "POST"): "none", ("/notify", "GET"): "none", ("/notify", "POST"): "none",
    ("/changes.xml", "GET"): "read", ("/demo", "GET"): "read",
    ("/nodes", "GET"): "read", ("/nodes", "POST"): "admin", ("/metrics", "GET"): "read",
    ("/tokens", "GET"): "admin", ("/tokens", "POST"): "admin", ("/tokens", "DELETE"): "admin", ("/backup", "POST"): "admin",
    ("/view", "GET"): "read", ("/view", "PUT"): "subscribe", ("/view", "DELETE"): "subscribe",
    ("/discover", "GET"): "read", ("/mcp", "POST"): "read",
    ("/sub/feeds", "GET"): "subscribe", ("/sub/feed", "GET"): "subscribe", ("/sub/feed", "PATCH"): "subscribe",
    ("/sub/feed", "DELETE"): "admin",
    ("/session", "GET"): "read", ("/session", "POST"): "none", ("/session", "DELETE"): "read", ("/console", "GET"): "none",
    ("/healthz", "GET"): "none", ("/openapi.json", "GET"): "none", ("/readyz", "GET"): "none", ("/", "GET"): "read",
}


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as text:
        return text.read()


def declared():
    """The rows of api/routes.def: {(path, method): role}."""
    paths = dict(re.findall(r'#define (PATH_\w+) "([^"]*)"', read("model", "paths.h")))
    found = {}
    for path, method, role in re.findall(r'^ROUTE\(([^,]+), "([A-Z]+)", ([A-Z]+),', read("api", "routes.def"), re.M):
        whole = "".join(paths.get(word, word.strip('"')) for word in path.split())
        found[(whole, method)] = role.lower()
    return found


class Callers(Case):
    """A daemon with an admin token, and calls that carry a token."""
    args = []

    def setUp(self):
        self.d = self.daemon("--token", "chief", *self.args)
        self.o = self.origin()

    def call(self, token, method, path, body=None, headers=None):
        fields = dict(headers or {})
        if token:
            fields["Authorization"] = "Bearer " + token
        return self.d.call(method, path, body, fields)

    def make(self, role, **terms):
        fields = dict(name=role + "er", role=role, **terms)
        answer = self.call("chief", "POST", "/tokens", "&".join("%s=%s" % (k, quote(str(v))) for k, v in fields.items()),
                           FORM)
        self.assertEqual(201, answer.status, answer.body)
        return answer.json

    def sub(self, token, url, **terms):
        fields = dict(url=url, **terms)
        answer = self.call(token, "POST", "/sub", "&".join("%s=%s" % (k, quote(str(v))) for k, v in fields.items()), FORM)
        self.assertEqual(201, answer.status, answer.body)
        return answer.json["id"]


class Tokens(Callers):
    def test_a_token_is_made_listed_and_deleted(self):                   # ACC-01 ACC-03
        made = self.make("read", rate=60, expires="2090-01-31T12:00:00Z")
        self.assertRegex(made["token"], r"^fm_[A-Za-z0-9_-]{43}$")
        listed = self.call("chief", "GET", "/tokens").json["tokens"]
        self.assertEqual([made["id"]], [t["id"] for t in listed])
        self.assertEqual(("reader", "read", 60, "2090-01-31T12:00:00Z", None),
                         tuple(listed[0][k] for k in ("name", "role", "rate", "expires", "used")))
        self.assertNotIn(made["token"][3:], self.call("chief", "GET", "/tokens").body.decode())
        basic = base64.b64encode(("any:" + made["token"]).encode()).decode()
        self.assertEqual(200, self.call(made["token"], "GET", "/log").status)
        self.assertEqual(200, self.d.call("GET", "/log", headers={"Authorization": "Basic " + basic}).status)
        self.assertEqual(200, self.d.get("/log?key=" + made["token"]).status)
        self.assertEqual(200, self.d.get("/log?since=start&%6Bey=" + made["token"]).status)
        self.wait(lambda: self.call("chief", "GET", "/tokens").json["tokens"][0]["used"], what="the last use")
        self.assertEqual(204, self.call("chief", "DELETE", "/tokens?id=%d" % made["id"]).status)
        for answer in (self.call(made["token"], "GET", "/log"), self.d.get("/log?key=" + made["token"])):
            self.assert_problem(answer, 401, "unauthorized")
        self.assert_problem(self.call("chief", "DELETE", "/tokens?id=%d" % made["id"]), 404, "not-found")

    def test_terms_are_checked(self):                                    # ACC-01
        for body in ("role=read", "name=x", "name=x&role=none", "name=x&role=chief", "name=x&role=read&rate=0",
                     "name=x&role=read&rate=many", "name=x&role=read&expires=tomorrow", "name=x&role=read&expires=2020-01-01T00:00:00Z", "name=%0a&role=read"):
            self.assert_problem(self.call("chief", "POST", "/tokens", body, FORM), 400, "bad-parameter")
        answer = self.call("chief", "POST", "/tokens", '{"name":"x","role":"read","rate":7,"expires":null}',
                           {"Content-Type": "application/json"})
        self.assertEqual((201, 7), (answer.status, answer.json.get("rate")), answer.body)

    def test_an_expired_token_is_refused(self):                          # ACC-01
        self.d = self.daemon("--token", "chief", "--test-clock", self.clock())
        end = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 3600))
        token = self.make("admin", expires=end)["token"]
        self.assertEqual(200, self.call(token, "GET", "/log").status)
        self.ahead(3601)
        self.wait(lambda: self.call(token, "GET", "/log").status != 200)
        self.assert_problem(self.call(token, "GET", "/log"), 401, "unauthorized")

    def test_a_key_in_a_url_counts_for_gets_only(self):                  # ACC-03
        token = self.make("admin")["token"]
        self.assertEqual(200, self.d.get("/tokens?key=" + token).status)
        self.assert_problem(self.d.call("POST", "/tokens?name=x&role=read&key=" + token), 401, "unauthorized")
        self.assert_problem(self.d.call("DELETE", "/tokens?id=1&key=" + token), 401, "unauthorized")

    def test_a_key_is_in_no_answer(self):                                # ACC-03
        u = self.o.set("/f.xml", rss("one"))
        token = self.make("subscribe")["token"]
        for path in ("/feed?url=%s&type=atom", "/feed?type=json&url=%s", "/smart?type=json&url=%s", "/log?url=%s",
                     "/archive/recent?url=%s", "/simple/recent?url=%s", "/feed?type=yaml&url=%s", "/nothing?url=%s",
                     "/sub?id=99&x=%s"):
            for query in ("&key=" + token, "&key=" + token + "&len=1"):
                answer = self.d.get(path % quote(u) + query)
                everything = repr(answer.headers) + answer.body.decode()
                self.assertNotIn(token, everything, path)
                self.assertNotIn("key=", everything, path)
                if answer.status != 404:
                    self.assertEqual("no-referrer", answer.header("Referrer-Policy"), path)

    def test_wrong_tokens_cost_little(self):                             # ACC-01 ACC-04
        if self.engine != "pg":
            self.skipTest("other nodes can make tokens on PostgreSQL only")

        def readings():
            return int(self.d.sql("SELECT seq_scan + coalesce(idx_scan, 0) FROM pg_stat_user_tables"
                                  " WHERE relname = 'tokens'")[0][0])

        before, began = readings(), time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(40) as pool:
            answers = list(pool.map(lambda n: self.call("fm_wrong%d" % n, "GET", "/log").status, range(200)))
        self.assertEqual({401}, set(answers))
        time.sleep(2)                                                    # the server counts late
        self.assertLess(readings() - before, 2 * (time.monotonic() - began) + 5)

    def test_a_token_survives_a_restart(self):                           # ACC-01
        token = self.make("read")["token"]
        self.d.kill()
        self.d.start()
        self.assertEqual(200, self.call(token, "GET", "/log").status)


class Commands(Case):
    def run_it(self, *args, code=0):
        done = subprocess.run([BINARY, "token"] + list(args), capture_output=True, text=True, timeout=120 * PATIENCE)
        self.assertEqual(code, done.returncode, done.stdout + done.stderr)
        return done.stdout if code == 0 else done.stderr

    def test_the_first_token(self):                                      # ACC-01 ACC-05
        d = self.daemon()
        d.stop()
        token = self.run_it("add", "--db", d.db, "--name", "me", "--role", "admin").strip()
        self.assertRegex(token, r"^fm_[A-Za-z0-9_-]{43}$")
        self.assertIn("admin", self.run_it("ls", "--db", d.db))
        d.start()
        self.assertEqual(401, d.get("/log").status)                      # now there are tokens
        self.assertEqual(200, d.get("/log", Authorization="Bearer " + token).status)
        other = self.run_it("add", "--name", "other one", "--role", "read", "--server", d.base, "--token", token).strip()
        listed = self.run_it("ls", "--server", d.base, "--token", token)
        self.assertIn("other one", listed)
        self.assertNotIn(other, listed)
        self.assertEqual("", self.run_it("rm", "2", "--server", d.base, "--token", token))
        self.assertEqual(401, d.get("/log", Authorization="Bearer " + other).status)
        self.assertIn("no token 2", self.run_it("rm", "2", "--server", d.base, "--token", token, code=1))
        if self.engine != "pg":                                          # the daemon has the file
            self.run_it("ls", "--db", d.db, code=1)
        d.stop()
        self.assertIn("--anonymous none", self.run_it("rm", "--db", d.db, "1"))
        self.assertIn("no token 1", self.run_it("rm", "--db", d.db, "1", code=1))
        d.start()
        self.assertEqual(200, d.get("/log").status)                      # there are none any more

    def test_wrong_use(self):                                            # ACC-01
        self.assertIn("--role", self.run_it("add", "--db", "/nonexistent/x.db", "--name", "x", code=2))
        self.run_it("rm", "--db", "/nonexistent/x.db", "one", code=2)
        self.run_it(code=2)


class Roles(Callers):
    def test_every_route_has_a_role(self):                               # ACC-02 ACC-06
        self.assertEqual(ROUTES, declared())

    def test_every_route_asks_for_its_role(self):                        # ACC-02
        tokens = {role: self.make(role)["token"] for role in ROLES[1:]}
        for (path, method), needed in declared().items():
            if path == "/events":
                path += "?since=x"                                       # or it would not end
            self.assertEqual(needed == "none", self.d.call(method, path).status != 401, (path, method))
            for role, token in tokens.items():
                answer = self.call(token, method, path)
                if ROLES.index(role) < ROLES.index(needed):
                    self.assert_problem(answer, 403, "role-needed", role=needed)
                    self.assertIn(needed, answer.json["detail"])
                elif path != "/session":                                 # it asks for a token of its own
                    self.assertNotIn(answer.status, (401, 403), (path, method, role, answer.body))

    def test_a_reader_gets_known_feeds_only(self):                       # ACC-02
        known, unknown = self.o.set("/known.xml", rss("one")), self.o.set("/unknown.xml", rss("two"))
        reader, subscriber = self.make("read")["token"], self.make("subscribe")["token"]
        listed = self.o.set("/list.opml", '<opml version="2.0"><head/><body><outline type="rss" text="a" xmlUrl="%s"/>'
                                          "</body></opml>" % known)
        self.assertEqual(200, self.call(subscriber, "GET", "/feed?url=" + quote(known)).status)
        self.assertEqual(200, self.call(reader, "GET", "/feed?url=" + quote(known)).status)
        for path in ("/feed?url=" + quote(unknown), "/feeds?url=%s,%s" % (quote(unknown), quote(unknown + "?2")),
                     "/smart?url=" + quote(unknown), "/archive?url=" + quote(unknown),
                     "/archive?url=%s,%s" % (quote(known), quote(unknown)), "/opml?url=" + quote(listed)):
            self.assert_problem(self.call(reader, "GET", path), 403, "role-needed", role="subscribe")
        answer = self.call(reader, "GET", "/feeds?type=json&url=%s,%s" % (quote(known), quote(unknown)))
        self.assertEqual((200, ["one"]), (answer.status, [e["title"] for e in answer.json["entries"]]))
        self.assertEqual('1, "%s";why=role-needed' % unknown, answer.header("Feeds-Left-Out"))
        self.assertIsNone(self.call(reader, "GET", "/feeds?url=" + quote(known)).header("Feeds-Left-Out"))
        self.assertEqual([], self.o.seen("/unknown.xml"))
        self.assertEqual([], self.o.seen("/list.opml"))
        self.assertEqual(200, self.call(subscriber, "GET", "/opml?url=" + quote(listed)).status)
        self.assertEqual(200, self.call(reader, "GET", "/opml?url=" + quote(listed)).status)


    def test_a_feed_that_never_worked_in_a_list_of_a_reader(self):       # ACC-02 ACC-04
        known, broken = self.o.set("/known.xml", rss("one")), self.o.set("/broken", "no feed")
        listed = self.o.set("/list.opml", '<opml version="2.0"><head/><body><outline type="rss" text="a" xmlUrl="%s"/>'
                                          '<outline type="rss" text="b" xmlUrl="%s"/></body></opml>' % (known, broken))
        reader, subscriber = self.make("read")["token"], self.make("subscribe")["token"]
        path = "/opml?type=json&url=" + quote(listed)
        for token in (subscriber, reader, reader):
            answer = self.call(token, "GET", path)
            self.assertEqual((200, ["one"]), (answer.status, [e["title"] for e in answer.json["entries"]]))
        self.assert_problem(self.call(reader, "GET", "/feed?url=" + quote(broken)), 403, "role-needed", role="subscribe")


class Anonymous(Case):
    def roles(self, *args):
        d = self.daemon(*args)
        u = self.origin().set("/f.xml", rss("one"))
        return (d.get("/log").status, d.feed(u).status, d.call("POST", "/sub?url=" + quote(u)).status,
                d.get("/tokens").status)

    def test_by_default_and_as_said(self):                               # ACC-05
        self.assertEqual((200, 200, 201, 403), self.roles())
        self.assertEqual((401, 401, 401, 401), self.roles("--token", "x"))
        self.assertEqual((401, 401, 401, 401), self.roles("--anonymous", "none"))
        self.assertEqual((200, 403, 403, 403), self.roles("--token", "x", "--anonymous", "read"))
        self.assertEqual((200, 200, 201, 403), self.roles("--token", "x", "--anonymous", "subscribe"))

    def test_they_are_never_admin(self):                                 # ACC-05
        done = subprocess.run([BINARY, "serve", "--anonymous", "admin", "--listen", "127.0.0.1:0"], capture_output=True,
                              text=True, timeout=60 * PATIENCE)
        self.assertEqual(2, done.returncode)
        self.assertIn("--anonymous" if "--anonymous" in done.stderr else "anonymous", done.stderr)


class Owners(Callers):
    args = ["--anonymous", "subscribe"]

    def test_each_sees_and_changes_its_own(self):                        # ACC-06 D57
        x, y = self.make("subscribe")["token"], self.make("subscribe")["token"]
        u, v = self.o.set("/u.xml", rss("one")), self.o.set("/v.xml", rss("two"))
        r = self.receiver()
        subs = {t: self.sub(t, url, endpoint=r.url) for t, url in ((x, u), (y, v), (None, u), ("chief", v))}
        for token, own in subs.items():
            shown = self.call(token, "GET", "/sub?type=json").json
            ids = sorted(subs.values()) if token == "chief" else [own]
            self.assertEqual(ids, [s["id"] for s in shown["subscriptions"]], token)
            self.assertEqual({u, v} if token == "chief" else {u if token in (x, None) else v},
                             {f["url"] for f in self.call(token, "GET", "/sub?type=json&all=1").json["feeds"]}, token)
            opml = self.call(token, "GET", "/sub").body.decode()
            self.assertEqual(token == "chief" or token in (x, None), u in opml, token)
            for other in subs.values():
                may = token == "chief" or other == own
                for method, path in (("GET", "/sub?type=json&id=%d"), ("GET", "/sub?id=%d"), ("GET", "/sub/log?id=%d"),
                                     ("GET", "/sub/dead?id=%d"), ("PATCH", "/sub?id=%d&title=x"),
                                     ("POST", "/sub?action=pause&id=%d"), ("POST", "/sub?action=resume&id=%d"),
                                     ("POST", "/sub?action=replay&from=start&id=%d"), ("POST", "/sub?action=skip&id=%d"),
                                     ("POST", "/sub?action=retry-dead&id=%d"), ("POST", "/sub?action=drop-dead&id=%d"),
                                     ("POST", "/sub?action=test&id=%d")):
                    answer = self.call(token, method, path % other)
                    self.assertEqual(200 if may else 404, answer.status, (token, method, path, answer.body))
        for own in (subs[x], subs[None], subs["chief"]):
            self.assertEqual(404, self.call(y, "DELETE", "/sub?id=%d" % own).status)
        self.assertEqual(204, self.call(x, "DELETE", "/sub?id=%d" % subs[x]).status)
        self.assertEqual(204, self.call("chief", "DELETE", "/sub?id=%d" % subs[y]).status)

    def test_what_others_have_is_not_known_to_an_import(self):           # ACC-06
        x, y = self.make("subscribe")["token"], self.make("subscribe")["token"]
        u = self.o.set("/u.xml", rss("one"))
        self.sub(x, u)
        answer = self.call(y, "POST", "/sub?known=skip&url=" + quote(u))
        self.assertEqual((201, []), (answer.status, answer.json["known"]))

    def test_it_goes_on_without_its_token(self):                         # ACC-06
        made = self.make("subscribe")
        u, r = self.o.set("/u.xml", rss("one")), self.receiver()
        sub = self.sub(made["token"], u, endpoint=r.url)
        self.assertEqual(204, self.call("chief", "DELETE", "/tokens?id=%d" % made["id"]).status)
        self.assertEqual(404, self.call(self.make("subscribe")["token"], "GET", "/sub?id=%d" % sub).status)
        self.assertEqual("active", self.call("chief", "GET", "/sub?type=json&id=%d" % sub).json["subscriptions"][0]["state"])


class Upgrades(Case):
    def test_what_was_made_before_there_were_tokens(self):               # ACC-06
        d, o, r = self.daemon(), self.origin(), self.receiver()
        u, v = o.set("/u.xml", rss("one")), o.set("/v.xml", rss("two"))
        sub = d.subscribe(u, endpoint=r.url)
        self.assertEqual([sub], [s["id"] for s in d.get("/sub?type=json").json["subscriptions"]])
        d.stop()
        done = subprocess.run([BINARY, "token", "add", "--db", d.db, "--name", "x", "--role", "admin"], check=True,
                              capture_output=True, text=True, timeout=120 * PATIENCE)
        admin = "Bearer " + done.stdout.strip()
        d.args += ["--anonymous", "subscribe"]
        d.start()
        theirs = d.subscribe(v)
        self.assertEqual([theirs], [s["id"] for s in d.get("/sub?type=json").json["subscriptions"]])
        self.assertEqual(404, d.call("DELETE", "/sub?id=%d" % sub).status)
        shown = d.get("/sub?type=json", Authorization=admin).json["subscriptions"]
        self.assertEqual([sub, theirs], [s["id"] for s in shown])
        self.assertEqual(204, d.call("DELETE", "/tokens?id=1", headers={"Authorization": admin}).status)
        self.assertEqual([sub, theirs], [s["id"] for s in d.get("/sub?type=json").json["subscriptions"]])


class Waiting(Callers):
    """Requests that wait for news, of callers who lose their right meanwhile."""
    args = []

    def wait_for(self, path, end, **fields):
        """Start a GET, then call end(). Returns the answer."""
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            answer = pool.submit(self.d.call, "GET", path, None, fields, timeout=100)
            name = "event_streams" if "/events" in path else "log_waiters"
            self.wait(lambda: self.counted(name) == 1, what="that it waits", daemon=self.d)
            end()
            return answer.result()

    def counted(self, name):
        for line in self.call("chief", "GET", "/metrics").body.decode().splitlines():
            if line.split(" ")[0] == "feedmill_" + name:
                return int(line.split(" ")[1])
        return None

    def test_a_token_ends(self):                                         # ACC-01
        for path in ("/log?since=end&timeout=300", "/events?since=end"):
            made = self.make("read")
            answer = self.wait_for(path, lambda: self.call("chief", "DELETE", "/tokens?id=%d" % made["id"]),
                                   Authorization="Bearer " + made["token"])
            self.assertEqual(200 if "/events" in path else 401, answer.status)

    def stream(self, **fields):
        http_ = http.client.HTTPConnection("127.0.0.1", urllib.parse.urlsplit(self.d.base).port, timeout=100)
        self.addCleanup(http_.close)
        http_.request("GET", "/events?since=end", headers=fields)
        answer = http_.getresponse()
        self.assertEqual(200, answer.status)
        self.assertIn(b"retry", answer.readline())
        return http_.sock, answer

    def test_a_stream_ends_with_its_token_or_session_at_once(self):      # ACC-01 CON-08
        """It ends before an older stream, which goes on, has its first comment: only then would it end by itself."""
        for kind in ("token", "session"):
            sock, witness = self.stream(Authorization="Bearer chief")
            made = self.make("subscribe")
            fields = {"Authorization": "Bearer " + made["token"]}
            if kind == "session":
                signed_in = self.d.call("POST", "/session", "token=" + made["token"], FORM)
                self.assertEqual(200, signed_in.status, signed_in.body)
                fields = {"Cookie": signed_in.header("Set-Cookie").split(";")[0]}
            answer = self.stream(**fields)[1]
            if kind == "session":
                self.assertEqual(204, self.d.call("DELETE", "/session", headers=fields).status)
            else:
                self.assertEqual(204, self.call("chief", "DELETE", "/tokens?id=%d" % made["id"]).status)
            self.assertNotIn(b"event:", answer.read())
            sock.settimeout(0.01)
            with self.assertRaises(TimeoutError):                        # nothing has come but the first lines
                while witness.readline() != b":\n":
                    pass

    def test_anonymous_callers_are_kept_out(self):                       # ACC-05
        self.d.stop()
        settings = os.path.join(self.d.folder, "settings")

        def write(role):
            with open(settings, "w", encoding="ascii") as out:
                out.write("anonymous = %s\n" % role)

        write("read")
        self.d.args += ["--config", settings]
        self.d.start()

        def keep_out():
            write("none")
            self.d.process.send_signal(signal.SIGHUP)

        for path in ("/log?since=end&timeout=300", "/events?since=end"):
            answer = self.wait_for(path, keep_out)
            self.assertEqual(200 if "/events" in path else 401, answer.status)
            write("read")
            self.d.process.send_signal(signal.SIGHUP)
            self.wait(lambda: self.d.get("/log").status == 200, what="the reload", daemon=self.d)


class Leases(Callers):
    """What a callback has agreed to, at the hub."""

    def test_a_renewal_with_another_token(self):                         # ACC-06 WSUB
        first, other = self.make("subscribe"), self.make("subscribe")
        u, r = self.o.set("/u.xml", rss("one")), Subscriber()
        self.addCleanup(r.close)
        self.assertEqual(200, self.call(first["token"], "GET", "/feed?url=" + quote(u)).status)
        form = "hub.mode=MODE&hub.verify=sync&hub.callback=" + quote(r.url) + "&hub.topic=" + quote(
            self.d.base + "/feed?type=atom&url=" + quote(u))

        def ask(token, mode="subscribe"):
            return self.call(token, "POST", "/hub", form.replace("MODE", mode), FORM).status

        self.assertEqual(204, ask(first["token"]))
        self.assertEqual(204, ask(first["token"]))
        for mode in ("subscribe", "unsubscribe"):
            answer = self.call(other["token"], "POST", "/hub", form.replace("MODE", mode).replace("&hub.verify=sync", ""), FORM)
            self.assertEqual(409, answer.status, answer.body)
            self.assertIn(b"another token", answer.body)
        self.assertEqual(204, self.call("chief", "DELETE", "/tokens?id=%d" % first["id"]).status)
        self.assertEqual(204, ask(other["token"]))
        self.assertEqual(204, ask(other["token"], "unsubscribe"))
        self.assertEqual([], self.call("chief", "GET", "/sub?type=json").json["subscriptions"])


class Rates(Callers):
    def test_requests_beyond_the_rate(self):                             # ACC-04
        token = self.make("read", rate=3)["token"]
        for left in (2, 1, 0):
            answer = self.call(token, "GET", "/log")
            self.assertEqual((200, "3", str(left)), (answer.status, answer.header("RateLimit-Limit"),
                                                     answer.header("RateLimit-Remaining")))
        answer = self.call(token, "GET", "/log")
        self.assert_problem(answer, 429, "too-many-requests")
        self.assertIn(int(answer.header("Retry-After")), range(1, 21))
        self.assertEqual("0", answer.header("RateLimit-Remaining"))
        self.assertIn(int(answer.header("RateLimit-Reset")), range(1, 61))
        self.assertEqual(200, self.call("chief", "GET", "/log").status)
        self.assertIsNone(self.call("chief", "GET", "/log").header("RateLimit-Limit"))


class Unknown(Callers):
    args = ["--anonymous", "subscribe", "--unknown-rate", "100"]

    def test_a_fetcher_for_hire(self):                                   # ACC-04
        feeds = [self.o.set("/%d.xml" % n, rss("entry %d" % n)) for n in range(30)]
        good = self.make("subscribe")["token"]
        self.assertEqual(200, self.call(good, "GET", "/feed?url=" + quote(feeds[29])).status)
        statuses = [self.d.feed(u).status for u in feeds[:20]]
        self.assertEqual([200] * 10 + [429] * 10, statuses)              # a tenth of the rate
        answer = self.d.feed(feeds[15])
        self.assert_problem(answer, 429, "too-many-requests")
        self.assertGreater(int(answer.header("Retry-After")), 0)
        self.assertEqual([], self.o.seen("/15.xml"))
        self.assertEqual(200, self.d.feed(feeds[3]).status)              # known ones
        answer = self.d.get("/feeds?type=json&url=%s,%s" % (quote(feeds[3]), quote(feeds[16])))
        self.assertEqual(["entry 3"], [e["title"] for e in answer.json["entries"]])
        self.assertEqual(200, self.call(good, "GET", "/feed?url=" + quote(feeds[17])).status)
        for u in feeds[18:29]:                                           # who has no bound
            self.assertEqual(200, self.call("chief", "GET", "/feed?url=" + quote(u)).status)

    def test_a_request_that_names_very_many(self):                       # ACC-04
        known, d = self.o.set("/known.xml", rss("known")), self.d
        self.assertEqual(200, self.call("chief", "GET", "/feed?url=" + quote(known)).status)
        feeds = [self.o.set("/many/%d.xml" % n, rss("entry %d" % n)) for n in range(200)]
        many = "/feeds?len=500&type=json&url=" + ",".join(quote(u) for u in [known] + feeds)
        titles = {e["title"] for e in d.get(many).json["entries"]}
        self.assertIn("known", titles)
        self.assertEqual(11, len(titles))                                # a tenth of the rate, and what is known
        more = self.wait(lambda: {e["title"] for e in d.get(many).json["entries"]} - titles, what="the rest")
        self.assertLess(len(more), 100)                                  # as the rate allows
        self.assert_problem(d.get("/feeds?url=" + ",".join(quote(u) for u in feeds[150:])), 429, "too-many-requests")

    def test_subscriptions_of_strangers(self):                           # ACC-04
        known = self.o.set("/known.xml", rss("known"))
        self.assertEqual(200, self.call("chief", "GET", "/feed?url=" + quote(known)).status)
        feeds = [self.o.set("/s/%d.xml" % n, rss("entry %d" % n)) for n in range(30)]

        def sub(token, urls):
            return self.call(token, "POST", "/sub", "&".join("url=" + quote(u) for u in urls), FORM)

        answer = sub(None, feeds[:11])                                   # a tenth of the rate is 10
        self.assert_problem(answer, 429, "too-many-requests")
        self.assertGreater(int(answer.header("Retry-After")), 0)
        self.assertEqual([], self.call(None, "GET", "/sub?type=json").json["subscriptions"])
        self.assertEqual(201, sub(None, feeds[:10]).status)
        self.assert_problem(sub(None, feeds[10:12]), 429, "too-many-requests")
        self.assertEqual(201, sub(None, [known] + feeds[:10]).status)
        self.assertEqual(201, sub(self.make("subscribe")["token"], feeds[10:]).status)

    def test_what_never_was_a_feed_counts_each_time(self):               # ACC-04
        nothing = self.o.set("/nothing", "no feed")
        statuses = set()
        for _ in range(40):
            statuses.add(self.d.feed(nothing).status)
        self.assertIn(429, statuses)


class Forgotten(Case):
    """Records that nobody has subscribed, and that never were a feed."""

    def test_they_are_gone_after_an_hour(self):                          # ACC-04
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        clock = os.path.join(folder, "ahead")
        d, o = self.daemon("--test-clock", clock, "--token", "chief", "--anonymous", "subscribe"), self.origin()
        feed, subscribed = o.set("/feed.xml", rss("one")), o.set("/subscribed", "no feed")
        nothing = [o.set("/nothing/%d" % n, "no feed") for n in range(5)]
        self.assertEqual(201, d.call("POST", "/sub?url=" + quote(subscribed)).status)
        for u in nothing + [feed]:
            self.assertEqual(200 if u == feed else 422, d.feed(u).status)

        def known():
            listed = d.get("/sub?type=json&all=1", Authorization="Bearer chief").json["feeds"]
            return sorted(f["url"] for f in listed)

        d.wait_idle()
        self.assertEqual(sorted(nothing + [feed, subscribed]), known())

        with open(clock + ".new", "w", encoding="ascii") as out:
            out.write("3700\n")
        os.replace(clock + ".new", clock)
        self.wait(lambda: known() == sorted([feed, subscribed]), what="they are forgotten", daemon=d)
        self.assertEqual(422, d.feed(nothing[0]).status)                 # as if it had never been asked for
        self.assertEqual(200, d.feed(feed).status)
        d.wait_idle()
        d.kill()
        d.start()
        self.assertEqual(sorted([feed, subscribed, nothing[0]]), known())
