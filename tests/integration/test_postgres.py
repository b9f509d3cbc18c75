"""One daemon on a PostgreSQL: how it starts, and what it does while the database is away (NODE-08). Some
classes of other modules run on it, too; run.py --engine pg runs all of them there (NODE-01)."""
import concurrent.futures
import random
import subprocess
import time

from . import (test_bounds, test_catchup, test_crash, test_delivery, test_filtered_mirrors, test_filtered_pushes, test_followed,
               test_forget, test_hub, test_rest, test_retention, test_sets, test_tracker, test_view_changes)
from .env.case import Case
from .env.daemon import BINARY, PATIENCE, quote
from .env.hook import Hook
from .env.origin import rss
from .env.postgres import PASSWORD, Postgres

ANSWER_S = 5    # every request is answered within this time


class OneNode(Case):
    def setUp(self):
        self.server = Postgres()
        self.addCleanup(self.server.close)

    def node(self):
        return self.daemon("--node-lease", "2s", db=self.server.uri())

    def answer(self, d, path):
        began = time.monotonic()
        answer = d.get(path)
        self.assertLess(time.monotonic() - began, ANSWER_S * PATIENCE, path)
        return answer

    def refused(self, db, *args):
        """What a daemon says that does not start."""
        done = subprocess.run([BINARY, "serve", "--listen", "127.0.0.1:0", "--db", db] + list(args),
                              capture_output=True, text=True, timeout=60 * PATIENCE)
        if "built without it" in done.stderr:
            self.skipTest("built without PostgreSQL")
        self.assertEqual(1, done.returncode, done.stderr)
        self.assertNotIn(PASSWORD, done.stderr)
        self.assertNotIn("w%40rd", done.stderr)
        return done.stderr

    def test_the_database_is_away(self):    # NODE-08
        d = self.node()
        self.assertEqual(200, d.get("/readyz").status)
        self.assertEqual(200, d.get("/log").status)
        self.server.stop()
        self.wait(lambda: d.get("/readyz").status == 503, what="/readyz to fail", daemon=d)
        self.assertEqual(200, d.get("/healthz").status)
        for path in ("/log", "/sub?id=1"):
            answer = self.answer(d, path)
            self.assert_problem(answer, 503, "busy")
            self.assertEqual("5", answer.header("Retry-After"))
        self.server.start()
        self.wait(lambda: d.get("/readyz").status == 200, what="/readyz to recover", daemon=d)
        self.wait(lambda: d.get("/log").status == 200, what="/log to recover", daemon=d)
        # another reader may have tried to connect a moment ago, and waits before it tries again
        self.wait(lambda: d.get("/sub?id=1").status == 404, what="/sub to recover", daemon=d)
        self.server.stop()
        self.assertEqual(0, d.stop())       # it does not wait for the database

    def test_sessions_are_ended_while_nobody_asks(self):        # NODE-08
        """As by a server that is started anew: those who read seldom see it before they ask. Or each of them would fail once,
        and what it was to store would be fetched again."""
        o, d = self.origin(), self.daemon("--fetch-host-gap", "0", db=self.server.uri())
        urls = [o.set("/%d.xml" % n, rss("one")) for n in range(12)]
        d.subscribe(*urls)
        self.wait(lambda: all((d.record(u) or {}).get("last_success") for u in urls), daemon=d)
        d.wait_idle()
        self.server.psql("SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE usename = 'mill'")
        self.wait(lambda: d.get("/readyz").status == 200, what="/readyz to recover", daemon=d)
        for n, u in enumerate(urls):
            o.set("/%d.xml" % n, rss("two", "one"))
            self.wait(lambda u=u: d.get("/ping?url=" + quote(u)).status == 200, daemon=d)
        self.wait(lambda: all(d.get("/feed?type=json&url=" + quote(u)).body.count(b'"two"') for u in urls), daemon=d)
        self.assertEqual(0, d.counter("fetch_failed_total"), d.text())

    def fill(self, d, o, name):
        """Fetch feeds of some 300 kB until the database is full; returns how many."""
        dice, n = random.Random(name), 0
        while d.counter("database_fill") != 2:
            n += 1
            self.assertLess(n, 200, "it is never full")
            url = o.set("/%s%d.xml" % (name, n), rss(*[
                ("%s %d %d" % (name, n, k), None, "<description>%s</description>" % " ".join(
                    "w%d" % dice.randrange(30000) for _ in range(300))) for k in range(100)]))
            d.subscribe(url)
            self.wait(lambda url=url: d.counter("database_fill") == 2 or (d.record(url) or {}).get("entries"),
                      what="the entries, or the bound", daemon=d)
            d.wait_metric("work_pending", 0)
        return n

    def size(self):
        return int(self.server.psql("SELECT pg_database_size(current_database())"))

    def forget_all_but(self, d, stays):
        for feed in d.get("/sub/feeds?len=500").json["feeds"]:
            if feed["url"] != stays:
                self.assertEqual(204, d.call("DELETE", "/sub/feed?id=%d" % feed["id"]).status)
        dead = "SELECT n_dead_tup FROM pg_stat_user_tables WHERE relname = 'bodies_0'"
        self.wait(lambda: int(self.server.psql(dead)) > 100, what="the server to count them", daemon=d)

    def test_room_that_is_free_inside_is_used_again(self):      # KEEP-05 NODE-01
        """The files do not shrink when feeds go. Before VACUUM only a fifth of the tables is counted as room."""
        self.server.close()
        self.server = Postgres(autovacuum="off")
        bound, o = 22_000_000, self.origin()
        d = self.daemon("--max-size", str(bound), "--fetch-host-gap", "0", db=self.server.uri())
        stays = o.set("/stays.xml", rss("a"))
        d.feed(stays)
        for turn in "wxyz":
            n, size = self.fill(d, o, turn), self.size()
            self.assertGreater(size, bound * 9 // 10)
            self.assertLess(size, bound * 5 // 4)               # docs/upkeep.md
            url = o.set("/new%s.xml" % turn, rss("b"))
            self.wait(lambda url=url: d.feed(url).status == 503 or not d.call(  # a small one may still find its room
                "DELETE", "/sub/feed?id=%d" % d.record(url)["id"]), what="a refusal", daemon=d)
            self.forget_all_but(d, stays)
            if turn == "w":     # the next turn finds little room
                continue
            self.server.psql("VACUUM")
            self.assertGreater(self.size(), bound * 3 // 4)     # the files keep nearly all
            self.wait(lambda: d.counter("database_fill") == 0, what="room", daemon=d)
            self.assertGreater(d.counter("database_bytes"), bound * 3 // 4)
            o.set("/stays.xml", rss(turn, "a"))
            d.ping(stays)
            self.wait(lambda turn=turn: turn in [e["title"] for e in d.feed(stays).json["entries"]], what="the entry", daemon=d)
            self.assertTrue(turn == "x" or n > 3, n)

    def test_it_ends_while_the_keeper_waits(self):      # NODE-08 KEEP-01
        d = self.daemon("--node-lease", "2s", "--keep-entries", "1", db=self.server.uri())
        url = self.origin().set("/f.xml", rss("a", "b", "c"))
        d.subscribe(url)
        d.feed(url)
        self.server.freeze()        # what the keeper hands over is not answered
        self.addCleanup(self.server.thaw)
        self.wait(lambda: d.get("/readyz").status == 503, what="/readyz to fail", daemon=d)
        self.assertEqual(0, d.stop())

    def test_a_database_that_does_not_answer(self):     # NODE-08
        d = self.node()
        self.server.freeze()
        with concurrent.futures.ThreadPoolExecutor(8) as threads:   # more than there are readers
            for answer in threads.map(lambda _: self.answer(d, "/log"), range(8)):
                self.assert_problem(answer, 503, "busy")
        self.wait(lambda: d.get("/readyz").status == 503, what="/readyz to fail", daemon=d)
        self.server.thaw()
        self.wait(lambda: d.get("/readyz").status == 200, what="/readyz to recover", daemon=d)
        self.wait(lambda: d.get("/log").status == 200, what="/log to recover", daemon=d)

    def test_a_database_without_room(self):     # NODE-08
        """What PostgreSQL says when its disk is full, at the rows of a subscription."""
        d = self.node()
        feed = "url=" + quote(self.origin().set("/f.xml", rss(("one", "Mon, 01 Jun 2020 10:00:00 GMT", ""))))
        self.server.psql("CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE disk_full; END $$;"
                         "CREATE TRIGGER no_room BEFORE INSERT ON subscriptions EXECUTE FUNCTION no_room();"
                         "CREATE TRIGGER no_room BEFORE UPDATE ON log EXECUTE FUNCTION no_room()")
        fields = {"Content-Type": "application/x-www-form-urlencoded"}
        answer = d.call("POST", "/sub", feed, fields)
        self.assert_problem(answer, 503, "unavailable")
        self.assertEqual("60", answer.header("Retry-After"))
        self.assertEqual(200, d.get("/log").status)
        self.assertEqual(["disk-full"], d.get("/readyz").json["reasons"])       # OPS-03
        self.server.psql("DROP TRIGGER no_room ON subscriptions; DROP TRIGGER no_room ON log")
        self.wait(lambda: d.get("/readyz").status == 200, what="/readyz to recover by itself", daemon=d)
        self.assertEqual(201, d.call("POST", "/sub", feed, fields).status)

    def test_an_outcome_that_is_not_written_is_work(self):     # NODE-08 DELIV-01
        """Nobody takes it for done between two tries to write it."""
        d, h = self.daemon(db=self.server.uri()), Hook()
        self.addCleanup(h.close)
        o = self.origin()
        url = o.set("/f.xml", rss("old"))
        d.subscribe(url, endpoint=h.url, sink="webhook")
        d.wait_idle()
        self.server.psql("CREATE FUNCTION no_room() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE disk_full; END $$;"
                         "CREATE TRIGGER no_room BEFORE UPDATE ON subscriptions EXECUTE FUNCTION no_room()")
        o.set("/f.xml", rss("new", "old"))
        d.ping(url)
        d.wait_log("event=outcome_unwritten", 2)
        pending = []
        while len(pending) < 20:
            pending.append(d.counter("work_pending"))
            time.sleep(0.1)
        self.assertNotIn(0, pending)
        self.server.psql("DROP TRIGGER no_room ON subscriptions")
        d.wait_idle()
        self.assertEqual([0], [sub["lag"] for sub in d.get("/sub?type=json&all=1").json["subscriptions"]])
        self.assertEqual(["new"], h.titles())

    def test_a_database_without_memory(self):     # NODE-08
        """What PostgreSQL says when it has too little memory: it is like a database that is away, no full disk."""
        d = self.node()
        feed = "url=" + quote(self.origin().set("/f.xml", rss(("one", "Mon, 01 Jun 2020 10:00:00 GMT", ""))))
        self.server.psql("CREATE FUNCTION short() RETURNS trigger LANGUAGE plpgsql AS"
                         " $$ BEGIN RAISE out_of_memory; END $$;"
                         "CREATE TRIGGER short BEFORE INSERT ON subscriptions EXECUTE FUNCTION short()")
        fields = {"Content-Type": "application/x-www-form-urlencoded"}
        answer = d.call("POST", "/sub", feed, fields)
        self.assert_problem(answer, 503, "busy")
        self.assertEqual("5", answer.header("Retry-After"))
        self.assertNotIn("disk-full", d.get("/readyz").json["reasons"])
        with concurrent.futures.ThreadPoolExecutor(1) as threads:   # it is repeated when there is memory again
            waiting = threads.submit(d.call, "POST", "/sub", feed, fields)
            self.server.psql("DROP TRIGGER short ON subscriptions")
            self.assertEqual(201, waiting.result().status)

    def test_a_start_without_a_database(self):
        self.assertIn("pg_amcheck", self.refused(self.server.uri(), "--check-db"))
        self.server.psql("CREATE TABLE strange (n int)")
        self.assertIn("tables of another program", self.refused(self.server.uri()))
        self.assertIn("password authentication failed", self.refused(self.server.uri(password=PASSWORD + "!")))
        self.server.stop()
        self.assertIn("cannot connect to the database", self.refused(self.server.uri()))


class Crash(test_crash.Crash):
    engine = "pg"


class Acknowledged(test_crash.Acknowledged):
    engine = "pg"


class CaughtUp(test_catchup.Crash):
    engine = "pg"


class Killed(test_delivery.Killed):
    engine = "pg"


class Merged(test_rest.Merged):
    engine = "pg"


class Publish(test_hub.Publish):
    engine = "pg"


class SetsFollow(test_sets.Changes):
    engine = "pg"


class FilteredMirrors(test_filtered_mirrors.Mirrors):
    engine = "pg"


class FilteredPushes(test_filtered_pushes.FilteredPushes):
    engine = "pg"


class Forget(test_forget.Forget):
    engine = "pg"


class Bounds(test_bounds.Bounds):
    engine = "pg"


class ViewsChange(test_view_changes.Changes):    # VIEW-16
    engine = "pg"


class Sealed(test_tracker.Sealed):              # ETIQ-08
    engine = "pg"


class FollowsAView(test_followed.Subscribed):    # VIEW-16
    engine = "pg"


class Retention(test_retention.Retention):    # KEEP-01 KEEP-02 KEEP-04
    engine = "pg"


class RetentionHistories(test_retention.Histories):    # KEEP-02 KEEP-04
    engine = "pg"
