"""Daemons that are nodes of a PostgreSQL: names, slots, drains, what they must agree on, a database that is away."""
import os
import shutil
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

from .env.case import Case
from .env.daemon import BINARY, PATIENCE, quote
from .env.events import EventReader
from .env.nodes import MISSED
from .env.origin import rss
from .env.postgres import Postgres

REASON_PING = 2     # of a feed that was not fetched since (enum fetch_reason)

OTHER = ("INSERT INTO nodes (name, address, program, base_url, archive_size, schema_version, started_us, beat_us,"
         " until_us, notice) SELECT 'other', 'http://b:1', '1', '', 50, schema_version, t, t, t + 3600000000, 0"
         " FROM log, (SELECT (extract(epoch FROM now()) * 1000000)::bigint AS t) x")
# a feed that another node has made, with a revision if there is one; nobody is notified
COMMIT = ("INSERT INTO feeds (id, url, credential, next_reason, version, id_url) SELECT {id}, '{url}', '', 0, version, '{url}'"
          " FROM log; UPDATE log SET last_seq = last_seq + 1, last_at_us = last_at_us + 1, last_notice = last_notice + 1;"
          " INSERT INTO notices SELECT last_notice, 999, last_notice, 0, last_seq, last_at_us, version, '{{{id}}}', '{{1}}',"
          " '{{0}}', '{{}}', '{{}}', '{{}}', '{{}}', '{{}}', '{{}}', false FROM log")
# a revision like the last one
AGAIN = ("UPDATE log SET last_seq = last_seq + 1, last_at_us = last_at_us + 1;"
         " INSERT INTO revisions SELECT (jsonb_populate_record(r, jsonb_build_object('seq', l.last_seq, 'at_us',"
         " l.last_at_us))).* FROM revisions r, log l ORDER BY r.seq DESC LIMIT 1")


class Nodes(Case):
    engine = "sqlite"   # a test that names no server means a file

    def server(self):
        server = Postgres()
        self.addCleanup(server.close)
        return server

    def node(self, server, *args):
        try:
            return self.daemon("--db", server.uri(), "--node-lease", "2s", *args)
        except AssertionError as why:
            if "built without it" in str(why):
                self.skipTest("built without PostgreSQL")
            raise

    def slots(self, d, n, name="a"):
        """Wait until this node has n slots, and nothing else of its name is there."""
        self.wait(lambda: [x["slots"] for x in d.get("/nodes").json["nodes"] if x["name"] == name] == [n],
                  what="%d slots" % n, daemon=d)

    def run_it(self, d, *args):
        done = subprocess.run([BINARY] + list(args) + ["--server", d.base], capture_output=True, text=True,
                              timeout=120 * PATIENCE)
        self.assertEqual(0, done.returncode, done.stderr)
        return done.stdout

    def test_a_node_has_slots_until_it_is_drained(self):  # NODE-11
        server = self.server()
        d = self.node(server, "--node", "a")
        self.slots(d, 256)
        node, = d.get("/nodes").json["nodes"]
        self.assertEqual(d.base, node["address"])
        self.assertRegex(node["version"], r"^\d+\.\d")
        self.assertRegex(self.run_it(d, "nodes"), r"^a\thttp://127.0.0.1:%d\t\S+\t256\t" % d.port)
        self.run_it(d, "nodes", "drain", "a")
        self.slots(d, 0)
        self.assertIn("draining", self.run_it(d, "nodes"))
        self.assert_problem(d.call("POST", "/nodes?name=b&action=drain"), 404, "not-found")
        d.stop()
        d.start()
        self.slots(d, 256)

    def test_a_node_that_was_killed_comes_back(self):  # NODE-06
        server = self.server()
        d = self.node(server, "--node", "a")
        self.slots(d, 256)
        d.kill()
        d.start()
        self.slots(d, 256)
        self.assertEqual(0, d.stop())
        self.assertEqual("0", server.psql("SELECT count(*) FROM nodes"))

    def test_slots_are_shared(self):  # NODE-04
        server = self.server()
        d = self.node(server, "--node", "a")
        self.slots(d, 256)
        server.psql(OTHER)
        self.slots(d, 128)
        self.assertEqual(128, d.counter("node_slots"))
        server.psql("DELETE FROM nodes WHERE name = 'other'")
        self.slots(d, 256)

    def test_nodes_agree(self):  # NODE-12
        server = self.server()
        d = self.node(server)
        d.stop()
        server.psql(OTHER)
        for options in (["--base-url=http://x.example/"], ["--archive-size=7"], ["--hub=no"], ["--cloud=no"],
                        ["--base-url=http://x.example/", "--archive-size=7"]):
            began = time.monotonic()
            done = subprocess.run([BINARY, "serve", "--listen", "127.0.0.1:0", "--db", server.uri(),
                                   *options], capture_output=True, text=True, timeout=60 * PATIENCE)
            self.assertEqual(1, done.returncode)
            self.assertLess(time.monotonic() - began, 10 * PATIENCE)
            for option in options:
                self.assertIn(option.split("=")[0], done.stderr)
            self.assertIn('node "other"', done.stderr)

    def test_a_node_without_the_key_does_not_end_it(self):  # ETIQ-08 NODE-12
        server, folder = self.server(), tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        keys = [os.path.join(folder, digits) for digits in ("5e", "1d")]
        for key in keys:
            with open(key, "w", encoding="ascii") as f:
                f.write(os.path.basename(key) * 32 + "\n")
            os.chmod(key, 0o600)
        self.node(server, "--node", "a", "--key-file", keys[0])
        self.assertEqual(0, self.node(server, "--node", "b").stop())
        done = subprocess.run([BINARY, "serve", "--listen", "127.0.0.1:0", "--db", server.uri(), "--key-file", keys[1]],
                              capture_output=True, text=True, timeout=60 * PATIENCE)
        self.assertEqual(1, done.returncode)
        self.assertIn("another key than the one that this database was given", done.stderr)

    def test_a_newer_program_takes_over(self):  # NODE-12
        server = self.server()
        d = self.node(server, "--node", "a")
        self.slots(d, 256)
        d.stop()
        server.psql(OTHER.replace("schema_version, t, t", "schema_version - 1, t, t"))  # it will see it soon
        d.start()
        self.slots(d, 128)
        server.psql("DELETE FROM nodes WHERE name = 'other'")
        self.slots(d, 256)
        server.psql("UPDATE log SET schema_version = schema_version + 1")
        self.slots(d, 0)
        self.assertRegex(d.text(), r"event=node_outdated node=.?a.? .*newer Feedmill")
        self.assertEqual(200, d.get("/sub").status)  # it answers, until it is stopped
        d.stop()
        done = subprocess.run([BINARY, "serve", "--listen", "127.0.0.1:0", "--db", server.uri()], capture_output=True,
                              text=True, timeout=60 * PATIENCE)
        self.assertEqual(1, done.returncode)
        self.assertIn("it belongs to a newer Feedmill", done.stderr)

    def test_the_database_is_away(self):  # NODE-08
        server = self.server()
        d = self.node(server, "--node", "a")
        self.slots(d, 256)
        self.assertEqual("ready", d.get("/readyz").json["status"])
        server.stop()
        self.wait(lambda: d.get("/readyz").status == 503, what="readyz to fail", daemon=d)
        self.assertEqual(0, d.counter("node_lease_left_seconds"))
        server.start()
        self.wait(lambda: d.get("/readyz").status == 200, what="readyz", daemon=d)
        self.slots(d, 256)

    def test_a_file_has_one_node(self):  # NODE-11
        d = self.daemon("--node", "a")
        self.slots(d, 256)
        self.assertRegex(self.run_it(d, "nodes"), r"(?m)^a\t" + d.base + r"\t\S+\t256\t")
        self.assert_problem(d.call("POST", "/nodes?name=a&action=drain"), 404, "not-found")

    def test_commits_of_another_node(self):  # NODE-02 NODE-03
        """The other node is this test: what it commits, this one shows at once, even if it was not woken."""
        server = self.server()
        d = self.node(server)
        cursor = d.get("/log?since=end").json["cursor"].split(".")
        for i in range(5):
            url = "http://127.0.0.1:1/%d" % i
            server.psql(COMMIT.format(id=700 + i, url=url))
            if i % 2:
                self.assertEqual(200, d.get("/log?url=" + quote(url)).status)
            cursor[2] = str(i + 1)
            answer = d.get("/log?since=" + ".".join(cursor))
            self.assertEqual((200, i + 1), (answer.status, answer.json["seq"]))
            self.assertEqual(200, d.get("/log?url=" + quote(url)).status)
        self.assert_problem(d.get("/log?url=" + quote("http://none.example/")), 404, "not-found")
        self.assert_problem(d.get("/log?since=6"), 400)

    def test_a_cursor_that_is_ahead_is_not_taken_by_its_time(self):  # NODE-03
        d = self.node(self.server())
        url = self.origin().set("/f", rss("one"))
        d.subscribe(url)
        self.wait(lambda: d.get("/log?url=" + quote(url)).json["seq"] > 0, what="an entry", daemon=d)
        parts = d.get("/log").json["cursor"].split(".")
        ahead = ".".join(parts[:2] + [str(int(parts[2]) + 1000)] + parts[3:])
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        for answer in (d.get("/log?since=" + ahead), d.get("/smart?url=%s&since=cursor:%s" % (quote(url), ahead)),
                       d.get("/events", Last_Event_ID=ahead), d.call("POST", "/sub?url=%s&from=%s" % (quote(url), ahead)),
                       d.call("POST", "/sub", "url=%s&from=%s" % (quote(url), ahead), form)):
            self.assert_problem(answer, 503, "busy")
            self.assertEqual("1", answer.header("Retry-After"))
        other = ".".join([parts[0], "0" * 8] + parts[2:])    # of another log
        self.assertEqual(200, d.get("/log?since=" + other).status)

    def test_no_is_not_said_blindly(self):  # NODE-08
        server = self.server()
        d = self.node(server)
        path = "/log?url=" + quote("http://none.example/")
        self.assert_problem(d.get(path), 404, "not-found")
        server.stop()
        self.wait(lambda: d.get(path).status == 503, what="503", daemon=d)
        server.start()
        self.wait(lambda: d.get(path).status == 404, what="404", daemon=d)

    def test_who_waits_hears_of_what_was_missed(self):  # NODE-07
        """A node that reads all anew wakes long polls and streams, although no notice names their feeds."""
        server = self.server()
        d = self.node(server)
        url = self.origin().set("/f", rss("one"))
        self.assertEqual(200, d.feed(url).status)
        for more in ("", "&url=" + quote(url)):
            since = d.get("/log?since=end").json["cursor"]
            with ThreadPoolExecutor() as pool:
                poll = pool.submit(d.get, "/log?timeout=100&since=" + since + more)
                self.wait(lambda: d.counter("log_waiters"), what="the poll to wait", daemon=d)
                server.psql(MISSED % AGAIN)
                self.assertEqual(1, len(poll.result(timeout=20 * PATIENCE).json["revisions"]))
        other = "http://127.0.0.1:1/gone"
        server.psql(COMMIT.format(id=700, url=other))
        stays, ends = (EventReader(d, "?since=end&url=" + quote(u)) for u in (url, other))
        for reader in (stays, ends):
            self.addCleanup(reader.close)
            reader.begin()
        server.psql(MISSED % ("DELETE FROM feeds WHERE id = 700;" + AGAIN))
        until = time.monotonic() + 10 * PATIENCE
        while ends.read():
            self.assertLess(time.monotonic(), until)    # it would go on with comments
        self.assertEqual(1, len(stays.until(1)))

    def test_a_ping_that_was_missed_is_found(self):  # NODE-07
        server, origin = self.server(), self.origin()
        d = self.node(server, "--node", "a")
        self.slots(d, 256)
        url = origin.set("/f", rss("one"))
        d.subscribe(url)
        self.wait(lambda: origin.seen("/f"), what="the first fetch", daemon=d)
        self.wait(lambda: d.feed(url).json["entries"], what="its entry", daemon=d)
        server.psql(MISSED % "UPDATE feeds SET next_reason = %d" % REASON_PING)
        self.wait(lambda: len(origin.seen("/f")) == 2, what="the fetch", daemon=d)
