"""A bug tracker behind a password, as the thesis has it in 5.2: a real server that asks for it. And behind what else
servers ask for: a cookie, a token, a field, a user agent."""
import glob
import os
import shutil
import sqlite3
import threading
import urllib.parse

from .env.case import Case
from .env.origin import Origin, Reply, rss
from .env.proxy import Proxy
from .env.servers import free_port, server_folder, spawn
from .env.smart_server import SmartServer
from .test_catchup import doc, entry, link
from .test_metadata import ATOM, Records, atom_entry
from .test_tls import Authority

FORM = {"Content-Type": "application/x-www-form-urlencoded"}

NGINX = """
daemon off; pid {folder}/pid; error_log {folder}/errors; worker_processes 1; {user}
events {{ worker_connections 64; }}
http {{
    log_format answers "$status $remote_user"; access_log {folder}/access answers;
    client_body_temp_path {folder}/t1; proxy_temp_path {folder}/t2; fastcgi_temp_path {folder}/t3;
    uwsgi_temp_path {folder}/t4; scgi_temp_path {folder}/t5;
    server {{
        listen 127.0.0.1:{port}; root {folder}/www; default_type application/rss+xml;
        auth_basic "tracker"; auth_basic_user_file {folder}/users;
        location = /cookie.xml {{ auth_basic off; if ($http_cookie != "sid=sesame1; a=b") {{ return 401; }} }}
        location = /bearer.xml {{ auth_basic off; if ($http_authorization != "Bearer sesame2") {{ return 401; }} }}
        location = /field.xml {{ auth_basic off; if ($http_x_key != "sesame3, more") {{ return 401; }} }}
        location = /agent.xml {{ auth_basic off; if ($http_user_agent != "sesame4/1") {{ return 403; }} }}
        location = /away.xml {{ auth_basic off; return 302 {away}; }}
    }}
}}
"""
WORD = "geh%eim"


class Server(Case):
    away = "http://127.0.0.1:9/"

    def setUp(self):
        if not shutil.which("nginx", path="/usr/sbin:" + os.environ["PATH"]):
            self.skipTest("nginx is not installed")
        self.folder, port = server_folder("nginx"), free_port()
        self.addCleanup(shutil.rmtree, self.folder)
        os.mkdir(self.folder + "/www")
        for folder in (self.folder, self.folder + "/www"):
            os.chmod(folder, 0o755)
        self.lock_with(WORD)
        self.publish("bug 1")
        user = "user root;" if os.geteuid() == 0 else ""
        self.write("config", NGINX.format(folder=self.folder, port=port, user=user, away=self.away))
        process = spawn(["/usr/sbin/nginx", "-c", self.folder + "/config", "-p", self.folder])
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)
        self.wait(lambda: os.path.exists(self.folder + "/pid"), what="nginx")
        self.shown = "http://127.0.0.1:%d/bugs.xml" % port
        self.url = self.shown.replace("//", "//joe:%s@" % urllib.parse.quote(WORD))

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path + ".new", "w", encoding="ascii") as f:
            f.write(text)
        os.rename(path + ".new", path)

    def lock_with(self, password):
        self.write("users", "joe:{PLAIN}%s\n" % password)

    def publish(self, *bugs):
        self.write("www/bugs.xml", rss(*bugs))

    def asked(self, *answers):
        """The server has given these answers so far, to whom it was told."""
        def log():
            with open(self.folder + "/access", encoding="ascii") as f:
                return f.read().splitlines()
        self.wait(lambda: len(log()) >= len(answers), what="%d requests" % len(answers), daemon=self.d)
        self.d.wait_idle()
        self.assertEqual(list(answers), log())


class Tracker(Server):
    def setUp(self):
        super().setUp()
        self.d = self.daemon("--fetch-host-gap", "0")

    def titles(self):
        return [e["title"] for e in self.d.feed(self.url).json["entries"]]

    def test_a_bug_tracker_behind_a_password(self):                     # REST-28
        self.d.subscribe(self.url)
        self.assertEqual(["bug 1"], self.titles())
        past = ["401 -", "200 joe"]
        self.asked(*past)
        self.publish("bug 2", "bug 1")
        for answer in "200 joe", "304 joe":                              # the server need not ask any more
            self.d.ping(self.url)
            past.append(answer)
            self.asked(*past)
        self.assertEqual(["bug 2", "bug 1"], self.titles())
        self.lock_with("another")
        self.d.ping(self.url)
        past.append("401 joe")                                           # it is not sent twice
        self.asked(*past)
        self.assertIn("401", self.d.record(self.shown)["last_error"])
        self.lock_with(WORD)
        self.d.ping(self.url)
        self.asked(*past, "401 -", "304 joe")
        self.assertIsNone(self.d.record(self.shown)["last_error"])
        self.assertEqual(["bug 2", "bug 1"], self.titles())
        for shown in (self.d.text(), self.d.get("/sub?type=json&all=1").body.decode(), self.d.get("/opml?all=1").body.decode(),
                      self.d.get("/metrics").body.decode()):
            self.assertNotIn(WORD, shown)
            self.assertNotIn(urllib.parse.quote(WORD), shown)

    def test_a_tracker_that_asks_for_digest(self):                      # REST-28
        o = self.origin()
        o.set("/bugs", Reply(200, rss("bug 1"), auth=("Digest", "joe", WORD)))
        url = o.url("/bugs", user="joe:" + urllib.parse.quote(WORD))
        self.assertEqual(["bug 1"], [e["title"] for e in self.d.feed(url).json["entries"]])
        for n in (2, 4):                                                 # each time it is asked: the answer is never Basic
            self.wait(lambda: len(o.seen("/bugs")) >= n, daemon=self.d)
            self.d.wait_idle()
            self.assertEqual([None, "Digest"] * (n // 2),
                             [(r.headers.get("Authorization") or "").split(" ")[0] or None for r in o.seen("/bugs")])
            self.d.ping(url)


GATES = {"cookie": {"cookie": "sid=sesame1; a=b"}, "bearer": {"bearer": "sesame2"},
         "field": {"fetch_header.X-Key": "sesame3, more", "fetch_header.X-Other": "sesame5"},
         "agent": {"user_agent": "sesame4/1"}}
WORDS = ("sesame", WORD, urllib.parse.quote(WORD))


class Gates(Server):

    def setUp(self):
        self.o = self.origin()
        self.o.set("/elsewhere", rss("bug 9"))
        self.away = self.o.url("/elsewhere")
        super().setUp()
        self.d = None
        for gate in GATES:
            self.write("www/%s.xml" % gate, rss("bug of " + gate))
        self.key = self.key_file("key", "5e" * 32)

    def key_file(self, name, digits):
        self.write(name, digits + "\n")
        return os.path.join(self.folder, name)

    def gate(self, name):
        return self.shown.replace("bugs", name)

    def start(self, *args):
        """The daemon, with these options from now on."""
        args = ("--fetch-host-gap", "0") + args
        if self.d is None:
            self.d = self.daemon(*args)
            self.own = self.d.args[len(args):]
            return
        self.assertEqual(0, self.d.stop())
        self.d.args = list(args) + self.own
        self.d.start()

    def in_store(self):
        """What is on the disk of secrets, as texts."""
        rows = self.d.sql("SELECT credential, secrets FROM feeds") + self.d.sql("SELECT credential, url FROM aliases")
        return "\n".join(" ".join(row) for row in rows)

    def on_disk(self):
        """The bytes of the database, which a daemon must not have open; of a server only what is in its tables."""
        if self.d.db.startswith("postgresql:"):
            return self.in_store().encode()
        return b"".join(open(path, "rb").read() for path in glob.glob(self.d.db + "*"))

    def assert_hidden(self, text, where):
        for word in WORDS:
            self.assertNotIn(word, text, where)

    def assert_nowhere(self):
        for path in ("/sub?type=json&all=1", "/opml?all=1", "/metrics", "/sub/feeds", "/log?type=json", "/sub?all=1"):
            self.assert_hidden(self.d.get(path).body.decode(), path)
        for feed in self.d.get("/sub?type=json&all=1").json["feeds"]:
            self.assert_hidden(self.d.get("/sub/feed?id=%d" % feed["id"]).body.decode(), "/sub/feed")
        self.assert_hidden(self.d.text(), "log")

    def titles(self, url):
        return [e["title"] for e in self.d.feed(url).json["entries"]]


class Sealed(Gates):
    """ETIQ-08: what a server asks for, kept sealed."""

    def test_what_each_server_asks_for(self):
        self.start("--key-file", self.key, "--log-level", "debug", "--access-log", "-")
        for gate, secrets in GATES.items():
            self.d.subscribe(self.gate(gate), **secrets)
            self.assertEqual(["bug of " + gate], self.titles(self.gate(gate)))
            self.assertTrue(self.d.record(self.gate(gate))["secrets"])
        self.d.subscribe(self.url)
        self.assertEqual(["bug 1"], self.titles(self.url))
        self.assertFalse(self.d.record(self.shown)["secrets"])
        self.write("www/cookie.xml", rss("next", "bug of cookie"))
        self.d.ping(self.gate("cookie"))
        self.wait(lambda: len(self.titles(self.gate("cookie"))) == 2, daemon=self.d)
        self.assert_nowhere()

        # without the key nothing is asked, and the error says why; with it all goes on
        stopped = [self.gate(gate) for gate in GATES] + [self.shown]
        self.start()
        self.assert_hidden(self.on_disk().decode("latin-1"), "database")
        with open(self.folder + "/access", encoding="ascii") as f:
            asked = f.read()
        for url in stopped:
            self.d.ping(url)
        for url in stopped:
            self.wait(lambda u=url: "--key-file is not given" in (self.d.record(u)["last_error"] or ""), daemon=self.d)
        with open(self.folder + "/access", encoding="ascii") as f:
            self.assertEqual(asked, f.read())
        self.assert_nowhere()
        self.start("--key-file", self.key)
        for url in stopped:
            self.d.ping(url)
            self.wait(lambda u=url: self.d.record(u)["last_error"] is None, what="the key", daemon=self.d)
        self.assertEqual(["bug 1"], self.titles(self.url))
        self.assertEqual(len(stopped), len(self.d.get("/sub?type=json&all=1").json["feeds"]))

    def test_another_key_is_refused(self):
        """What is given now would be sealed with another key than what is there, and no key would open all."""
        other = self.key_file("other", "1d" * 32)
        self.start("--key-file", self.key)
        self.d.subscribe(self.gate("cookie"), **GATES["cookie"])
        self.d.subscribe(self.url)
        self.titles(self.url)
        with self.assertRaisesRegex(AssertionError, r"the secrets of 2 feeds are sealed in the database \(with the ids \d+, \d+\)"):
            self.start("--key-file", other)
        self.assert_hidden(self.d.text(), "log")
        self.d.args = self.own                                     # the key is lost: what it has sealed is given anew
        self.d.start()
        feed = "/sub/feed?id=%d" % self.d.record(self.gate("cookie"))["id"]
        self.assertEqual(200, self.d.call("PATCH", feed, urllib.parse.urlencode(GATES["cookie"])).status)
        self.assertEqual(204, self.d.call("DELETE", "/sub/feed?id=%d" % self.d.record(self.shown)["id"]).status)
        self.start("--key-file", other)
        self.assert_hidden(self.in_store(), "database")
        self.assertEqual(["bug of cookie"], self.titles(self.gate("cookie")))

    def test_a_key_is_known_before_anything_is_sealed(self):
        """What the first start has said holds for the next one, and for other nodes."""
        other = self.key_file("other", "1d" * 32)
        self.start("--key-file", self.key)
        with self.assertRaisesRegex(AssertionError, "another key than the one that this database was given before"):
            self.start("--key-file", other)
        self.d.args = ["--key-file", self.key] + self.own
        self.d.start()
        self.start()                                                # nothing is sealed, and it is given up
        self.assertIn("key_missing", self.d.text())
        self.start("--key-file", other)
        self.d.subscribe(self.gate("cookie"), **GATES["cookie"])
        self.assertEqual(["bug of cookie"], self.titles(self.gate("cookie")))
        self.assert_hidden(self.in_store(), "database")

    def test_a_key_that_is_given_later(self):
        self.start()
        self.d.subscribe(self.gate("cookie"), **GATES["cookie"])
        self.d.subscribe(self.url)
        self.titles(self.url)
        for n in range(4):                                         # pages are freed and filled again: they still have it
            self.d.subscribe(self.o.url("/old%d" % n), cookie="old=" + "sesame" * 600)
        for n in range(4):
            feed = self.d.record(self.o.url("/old%d" % n))["id"]
            self.assertEqual(204, self.d.call("DELETE", "/sub/feed?id=%d" % feed).status)
        self.assertEqual(0, self.d.stop())
        self.assertIn("sesame1", self.in_store())
        self.assertIn(WORD, self.in_store())
        self.d.start()
        self.start("--key-file", self.key)
        self.assert_hidden(self.in_store(), "database")
        self.assertEqual(["bug 1"], self.titles(self.url))        # it is found by its password
        for url in self.gate("cookie"), self.shown:
            before = self.d.record(url)["last_check"]
            self.next_second()
            self.d.ping(url)
            self.wait(lambda u=url, b=before: self.d.record(u)["last_check"] != b, daemon=self.d)
            self.assertIsNone(self.d.record(url)["last_error"])
        self.assertEqual(2, len(self.d.get("/sub?type=json&all=1").json["feeds"]))
        self.assertEqual(0, self.d.stop())
        self.assert_hidden(self.on_disk().decode("latin-1"), "database")

    def read_by_another(self):
        """Another program reads the file when it is to be written anew for the first time."""
        self.start()
        if self.d.db.startswith("postgresql:"):
            self.skipTest("a server has its own VACUUM")
        self.d.subscribe(self.gate("cookie"), **GATES["cookie"])
        self.assertEqual(0, self.d.stop())
        other = sqlite3.connect(self.d.db, isolation_level=None)
        self.addCleanup(other.close)
        other.execute("BEGIN")
        other.execute("SELECT count(*) FROM feeds").fetchall()
        self.d.start()
        self.start("--key-file", self.key)
        self.d.wait_log("event=not_written_anew")
        return other

    def again(self, n, said):
        """Start n times: then so many starts in all have tried to write the file anew."""
        for _ in range(n):
            self.assertEqual(0, self.d.stop())
            self.d.start()
        self.assertEqual(said, sum("event=written_anew" in line for line in self.d.log))

    def test_a_file_that_others_read_is_written_anew_at_the_next_start(self):
        """Old pages leave the file only when nobody reads it any more. Until then the note stays."""
        other = self.read_by_another()
        other.execute("COMMIT")
        other.close()
        self.again(1, 2)
        self.again(1, 2)        # it has nothing to do
        self.assertEqual(0, self.d.stop())
        self.assert_hidden(self.on_disk().decode("latin-1"), "database")

    def test_a_file_that_others_read_for_ever_is_given_up(self):
        self.read_by_another()
        self.again(3, 4)
        self.assertFalse(any("event=never_written_anew" in line for line in self.d.log))
        self.again(1, 5)
        self.assertTrue(any("event=never_written_anew" in line and "by hand" in line for line in self.d.log))
        self.again(1, 5)


class Rules(Gates):
    """ETIQ-08: where it goes, and who says so."""

    def test_they_stay_at_their_origin(self):
        self.start()
        sub = self.d.subscribe(self.gate("away"), cookie="sid=sesame1", bearer="sesame2", user_agent="sesame4",
                         **{"fetch_header.X-Key": "sesame3", "fetch_header.Accept": "text/sesame"})
        self.assertEqual(["bug 9"], self.titles(self.gate("away")))
        for seen in self.o.seen("/elsewhere"):
            self.assert_hidden(str(seen.headers), "another origin")
            self.assertIsNone(seen.headers["Cookie"])
            self.assertIsNone(seen.headers["Authorization"])
            self.assertIn("Feedmill", seen.headers["User-Agent"])
        n = len(self.o.requests)
        self.assertEqual(204, self.d.call("DELETE", "/sub?id=%d" % sub).status)
        self.d.wait_idle()
        self.assertEqual(n, len(self.o.requests))      # nobody wants it any more, and it is not asked without them
        feed, = self.d.get("/sub?type=json&all=1").json["feeds"]
        self.assertTrue(feed["secrets"])               # so what came by them stays private
        self.assertEqual(200, self.d.call("PATCH", "/sub/feed", "id=%d&cookie=" % feed["id"], FORM).status)
        self.assertEqual(0, self.d.stop())
        self.assert_hidden(self.in_store(), "they were taken away")

    def test_what_is_refused(self):
        self.start()
        for fields in ({"cookie": "sesame\nX: y"}, {"bearer": "Bearer sesame"}, {"fetch_header.Host": "sesame"},
                       {"fetch_header.X Y": "sesame"}, {"bearer": "sesame", "fetch_header.Authorization": "sesame"},
                       {"fetch_header.X%d" % i: "sesame" for i in range(9)}, {"proxy": "sesame"}, {"proxy": "joe:sesame@127.0.0.1"}, {"proxy": "sesame:0"},
                       {"proxy": "http://joe:sesame@127.0.0.1:3128/path"}, {"proxy": "https://sesame:3128"}, {"url": self.away, "cookie": "sesame"},
                       {"view": "v", "cookie": "sesame"}, {"opml": self.gate("list"), "cookie": "sesame"}):
            form = [("url", self.gate("cookie"))] * ("opml" not in fields) + list(fields.items())
            answer = self.d.call("POST", "/sub", urllib.parse.urlencode(form),
                                 {"Content-Type": "application/x-www-form-urlencoded"})
            self.assert_problem(answer, 400)
            self.assert_hidden(answer.body.decode(), fields)
        code = self.d.process.poll()
        self.assertIsNone(code)

    def test_the_most_that_fits(self):
        self.start()
        url = self.gate("field") + "?" + "x" * 15000
        long = {"fetch_header.%s" % (("X%d" % i).ljust(64, "x")): "v" * 4096 for i in range(8)}
        long.update({"cookie": "c" * 4096, "bearer": "b" * 4096, "user_agent": "u" * 4096, "proxy": "http://p:%s@127.0.0.1:9" % ("w" * 4000)})
        answer = self.d.call("POST", "/sub", urllib.parse.urlencode(dict(long, url=url)), FORM)
        self.assertEqual(201, answer.status, answer.body)
        answer = self.d.call("POST", "/sub", urllib.parse.urlencode(dict(long, url=url + "x" * 1300)), FORM)
        self.assert_problem(answer, 400, "bad-parameter", parameter="fetch_header.NAME")
        self.assertIn("bytes together", answer.json["detail"])
        self.assertEqual(200, self.d.get("/healthz").status)

    def test_who_may_change_them(self):                                  # ACC-02
        self.start("--token", "chief-of-all-tokens")
        tokens = [self.d.call("POST", "/tokens", "name=%s&role=subscribe" % name,
                              self.by("chief-of-all-tokens")).json["token"] for name in ("one", "two")]
        one, two, chief = (self.by(token) for token in tokens + ["chief-of-all-tokens"])
        url = urllib.parse.quote(self.gate("cookie"), safe="")

        def post(who, more=""):
            return self.d.call("POST", "/sub", "url=" + url + more, who)

        def patch(who, value):
            feeds = self.d.call("GET", "/sub?type=json&all=1", None, chief).json["feeds"]
            return self.d.call("PATCH", "/sub/feed", "id=%d&%s" % (feeds[0]["id"], value), who)
        self.assert_problem(post(one, "&cookie=wrong"), 403, "role-needed")
        self.assertEqual(201, post(chief, "&cookie=wrong").status)
        self.assertEqual(201, post(one).status)
        self.assertEqual(200, patch(chief, "cookie=sid%3Dsesame1%3B%20a%3Db").status)
        self.wait(lambda: self.d.call("GET", "/feed?type=json&url=" + url, None, one).json.get("entries"), daemon=self.d)
        self.assertEqual(201, post(two).status)
        for who in one, two:
            self.assert_problem(patch(who, "cookie=x"), 403)
        self.left_out(url, chief, one)
        self.assertEqual(200, patch(chief, "cookie=").status)
        self.assertFalse(self.d.call("GET", "/sub?type=json&all=1", None, chief).json["feeds"][0]["secrets"])
        self.assertEqual(201, post(chief, "&bearer=abc").status)
        self.assertTrue(self.d.call("GET", "/sub?type=json&all=1", None, one).json["feeds"][0]["secrets"])

    def left_out(self, url, chief, one):
        """ETIQ-08, ACC-06: such a feed stands in nothing that names no feeds, as one with a password; a reader that knows its
        URL reads it, and a set of its subscriber has it."""
        reader = self.by(self.d.call("POST", "/tokens", "name=three&role=read", chief).json["token"])

        def revisions(path, who):
            return len(self.d.call("GET", path, None, who).json["revisions"])
        n = revisions("/log", chief)
        self.assertGreater(n, 0)
        for path in "/log", "/log?q=-nosuchword":
            self.assertEqual(0, revisions(path, reader), path)
        self.assertEqual((n, n), (revisions("/log?url=" + url, reader), revisions("/log?all=1", one)))
        self.assertEqual(201, self.d.call("PUT", "/view/mine", "all=1", one).status)
        self.assertEqual([], self.d.call("GET", "/view/mine?type=json", None, reader).json["entries"])
        self.assertEqual(201, self.d.call("PUT", "/view/named", "url=" + url, one).status)      # nor does one that names it
        self.assertEqual([], self.d.call("GET", "/view/named?type=json", None, reader).json["entries"])
        self.assertEqual(0, revisions("/log?view=named", one))
        answer = self.d.call("GET", "/log?links=1", None, chief)
        item = self.d.call("GET", urllib.parse.urlparse(answer.json["revisions"][0]["item"]).path, None, chief)
        self.assertIn("private", item.header("Cache-Control"))

    @staticmethod
    def by(token):
        return {"Authorization": "Bearer " + token, "Content-Type": "application/x-www-form-urlencoded"}


class Meanwhile(Records):
    """ETIQ-08: a request hangs at the publisher while the secrets of its feed change. It was made as somebody else, so
    nothing of its answer is taken."""

    def hangs(self, path, page, **fields):
        """The first request of the path waits for the gate; each is told whose cookie it had."""
        gate, first = threading.Event(), []
        self.addCleanup(gate.set)

        def answer(seen):
            if not first:
                first.append(seen)
                gate.wait(60)
            return Reply(200, page(seen.headers["Cookie"]), **fields)
        self.o.set(path, answer)
        return gate

    def change(self, url):
        feed = self.d.record(url)["id"]
        self.assertEqual(200, self.d.call("PATCH", "/sub/feed", "id=%d&cookie=his" % feed, FORM).status)

    def test_a_document_of_the_past(self):
        gate = self.hangs("/old", lambda who: doc("<fh:archive/>", entry("of-" + who, 1)))
        url = self.o.set("/f", doc(link("prev-archive", "/old"), entry("e", 2)))
        self.d.subscribe(url, cookie="hers")
        self.wait_asked("/old")
        self.change(url)
        gate.set()
        self.wait_titles(url, "e", "of-his")

    def test_a_content(self):
        gate = self.hangs("/r.atom", lambda who: atom_entry("r", "for " + who), Content_Type=ATOM)
        url = self.one()
        self.d.subscribe(url, cookie="hers")
        self.wait_asked("/r.atom")
        self.change(url)
        gate.set()
        self.wait(lambda: self.content(url, "r"), what="the content", daemon=self.d)
        self.assertEqual("for his", self.content(url, "r"))
        self.assertNotIn("for hers", self.d.get("/log?type=json").body.decode())

    def test_a_piece_of_a_stream(self):
        """The row is read again before a second piece is understood: whose request that was does not change by it."""
        server, gate = SmartServer(most=5), threading.Event()
        self.addCleanup(server.close)
        self.addCleanup(gate.set)
        for n in range(12):
            server.put("i%d" % n, "t%d" % n)

        def hang(ask):
            gate.wait(60)
            status, fields, body = server.answer(ask)
            return status, fields, body.replace(b"<title>t7<", b"<title>for %s<" % ask.headers["Cookie"].encode())
        server.script = [lambda ask: None, hang]
        self.d.subscribe(server.url(), cookie="hers")
        self.wait(lambda: len(server.asked) >= 2, what="the second piece", daemon=self.d)
        self.change(server.url())
        gate.set()
        self.wait_titles(server.url(), *("t%d" % n for n in range(12)))
        self.assertNotIn("for hers", self.d.get("/log?type=json").body.decode())


class Proxied(Case):
    """ETIQ-08: a feed that is fetched through a proxy."""

    def proxy(self, user=None):
        proxy = Proxy(user)
        self.addCleanup(proxy.close)
        return proxy

    def subscribe(self, url, proxy):
        self.d.subscribe(url, proxy=proxy)
        self.wait(lambda: self.d.record(url)["last_check"], daemon=self.d)
        self.d.wait_idle()
        return self.d.record(url)

    def test_by_http_and_socks(self):
        o = self.origin()
        self.d = self.daemon("--fetch-host-gap", "0")
        for name, scheme, user in (("/a", "http", None), ("/b", "http", "joe:sesame"), ("/c", "socks5", None),
                                   ("/d", "socks5h", "joe:sesame")):
            proxy = self.proxy(user)
            url = o.set(name, rss("bug of " + name))
            record = self.subscribe(url, proxy.url(scheme, user))
            self.assertIsNone(record["last_error"])
            self.assertEqual(["bug of " + name], [e["title"] for e in self.d.feed(url).json["entries"]])
            if scheme == "http":                           # which need not be said, as for curl
                self.assertIsNone(self.subscribe(o.set(name + "2", rss("the same")), proxy.url(scheme, user).split("//")[1])["last_error"])
                self.assertEqual(("GET", url + "2"), proxy.asked.pop())
            target = ("GET", url) if scheme == "http" else ("SOCKS5", "127.0.0.1:%d" % o.port)
            self.assertEqual([target] * len(o.seen(name)), proxy.asked)
            for seen in o.seen(name):
                self.assertNotIn("sesame", str(seen.headers))
        self.assertNotIn("sesame", self.d.text() + self.d.get("/sub?type=json&all=1").body.decode())

    def test_nothing_goes_past_it(self):
        o = self.origin()
        self.d = self.daemon("--fetch-host-gap", "0")
        for name, proxy in (("/a", "http://127.0.0.1:9"), ("/b", "socks5://127.0.0.1:9"),
                            ("/d", self.proxy("joe:sesame").url("http")), ("/e", self.proxy("joe:sesame").url("socks5"))):
            error = self.subscribe(o.set(name, rss("bug")), proxy)["last_error"]
            self.assertIn("proxy", error)
            for word in "sesame", ":9 ", proxy.split("//")[1]:
                self.assertNotIn(word, error)
            self.assertEqual([], o.seen(name))

    def test_a_closed_address_is_refused_at_once(self):
        url = self.origin().set("/a", rss("bug"))
        closed = ("http://10.1.2.3:3128", "socks5h://joe:sesame@[::ffff:192.168.1.1]:1080", "socks5://[fd00::1]", "http://0x0a010203")
        self.d = self.daemon("--fetch-host-gap", "0")
        self.d.subscribe(url)
        feed = self.d.record(url)["id"]
        for proxy in closed:
            body = urllib.parse.urlencode({"proxy": proxy})
            for answer in (self.d.call("POST", "/sub", body + "&url=" + urllib.parse.quote(url), FORM),
                           self.d.call("PATCH", "/sub/feed", body + "&id=%d" % feed, FORM)):
                self.assert_problem(answer, 400, "bad-parameter", parameter="proxy")
                self.assertIn("the address of the proxy is private or special, which is closed; --allow-fetch CIDR would open it",
                              answer.json["detail"])
                for word in "10.1.2.3", "168", "fd00", "sesame", "0x0a":
                    self.assertNotIn(word, answer.json["detail"])
        open_ = self.daemon("--allow-fetch", "10.1.2.3", "--fetch-timeout", "1s")
        open_.subscribe(url, proxy=closed[0])
        far = self.daemon(open_loopback=False)                         # a name is judged when it is resolved
        far.subscribe("http://93.184.216.34/a", proxy="http://localhost:3128")
        self.wait(lambda: "the address of the proxy is private or special" in (far.record("http://93.184.216.34/a")["last_error"] or ""),
                  daemon=far)

    def test_files_are_mirrored_through_it(self):                        # ENCL-01
        def document(n, path):
            return rss(*("%s %d" % (path, i) for i in range(n, 0, -1))).replace(
                "<item>", '<item><enclosure url="%s" type="audio/mpeg" length="5"/>' % o.url(path), 1)
        o, proxy = self.origin(), self.proxy()
        self.d = self.daemon("--fetch-host-gap", "0")
        self.d.stop()
        self.d.args += ["--mirror", os.path.join(self.d.folder, "mirror")]
        self.d.start()
        own, plain = o.set("/own", document(1, "/own.mp3")), o.set("/plain", document(1, "/plain.mp3"))
        for path in "/own.mp3", "/plain.mp3":
            o.set(path, "sound of " + path, Content_Type="audio/mpeg")
        self.d.subscribe(own, mirror="yes", proxy=proxy.url("http"))
        self.d.feed(own)
        o.set("/own", document(2, "/own.mp3"))
        self.d.ping(own)
        self.wait(lambda: len(self.d.feed(own).json["entries"]) == 2, daemon=self.d)
        self.d.subscribe(plain, mirror="yes")                            # the log is read in its order
        self.d.feed(plain)
        o.set("/plain", document(2, "/plain.mp3"))
        self.d.ping(plain)
        self.wait(lambda: o.seen("/plain.mp3"), what="the file of another feed", daemon=self.d)
        self.wait(lambda: self.d.counter("mirror_files_total") == 2, what="both files", daemon=self.d)
        self.assertTrue(any("/own.mp3" in str(asked) for asked in proxy.asked), proxy.asked)
        self.assertFalse(any("/plain.mp3" in str(asked) for asked in proxy.asked), proxy.asked)
        # as soon as the feed has no proxy, its files come without one
        proxy.close()
        o.set("/late.mp3", "late", Content_Type="audio/mpeg")
        o.set("/own", document(3, "/late.mp3"))
        self.d.call("PATCH", "/sub/feed?id=%d" % self.d.record(own)["id"], "proxy=",
                    {"Content-Type": "application/x-www-form-urlencoded"})
        self.d.ping(own)
        self.wait(lambda: o.seen("/late.mp3"), what="the file of a feed without a proxy", daemon=self.d)

    def test_the_guard_judges_the_target_first(self):
        proxy = self.proxy()
        self.d = self.daemon("--fetch-host-gap", "0")
        for scheme in "http", "socks5h":
            url = "http://10.1.2.3/%s.xml" % scheme
            self.assertIn("private or special", self.subscribe(url, proxy.url(scheme))["last_error"])
        self.assertEqual([], proxy.asked)

    def test_a_redirect_goes_through_it_too(self):
        o, far, proxy = self.origin(), self.origin(), self.proxy()
        self.d = self.daemon("--fetch-host-gap", "0")
        url = o.set("/a", Reply(302, Location=far.set("/b", rss("bug"))))
        self.assertIsNone(self.subscribe(url, proxy.url("http"))["last_error"])
        self.assertIn(("GET", far.url("/b")), proxy.asked)
        self.assertEqual(len(far.seen("/b")), proxy.asked.count(("GET", far.url("/b"))))

    def test_tls_goes_through_a_tunnel(self):
        folder = server_folder("authority")
        self.addCleanup(shutil.rmtree, folder)
        authority, proxy = Authority(folder), self.proxy()
        o = Origin(authority.context("site"))
        self.addCleanup(o.close)
        url = o.set("/a", rss("bug"))
        self.d = self.daemon("--fetch-host-gap", "0", env={"SSL_CERT_FILE": authority.path("good.pem")})
        self.d.subscribe(url, **{"proxy": proxy.url("http"), "cookie": "sid=sesame"})
        self.assertEqual(["bug"], [e["title"] for e in self.d.feed(url).json["entries"]])
        self.assertIn(("CONNECT", "127.0.0.1:%d" % o.port), proxy.asked)
        self.assertEqual("sid=sesame", o.seen("/a")[0].headers["Cookie"])
