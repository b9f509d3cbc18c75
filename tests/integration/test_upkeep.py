"""Care of a database file: a backup while it is used, the check of the log's rules, the smallest form."""
import contextlib
import json
import os
import re
import shutil
import signal
import sqlite3
import stat
import subprocess
import tempfile
import threading
import time

from .env.case import Case
from .env.daemon import BINARY, PATIENCE, quote
from .env.growth import grow
from .env.origin import rss
from .env.postgres import DATABASE, PASSWORD, USER, Postgres

# Each breaks one rule of storage/log_rules.def, and is found by its words, in a file and in a PostgreSQL.
FAULTS = [
    ("UPDATE meta SET value = 1 WHERE name = 'last_seq'", "the log ends where it says"),
    ("UPDATE revisions SET at_us = 1 WHERE seq = 2", "time rises with the numbers of the log: not so at revision 2"),
    ("INSERT INTO feed_events VALUES (1, 1, 5, 0, NULL)", "a number of the log is given once: not so at number 1"),
    ("UPDATE revisions SET entry_id = 999 WHERE seq = 1", "each revision is of an entry: not so at revision 1"),
    ("UPDATE entries SET feed_id = 77 WHERE id = 1", "what a row refers to is there"),
    ("INSERT INTO feeds (id, url, version) VALUES (2, 'http://y.example/', 1); UPDATE entries SET feed_id = 2 WHERE id = 1",
     "a revision has the feed of its entry"),
    ("UPDATE entries SET first_seq = 900 WHERE id = 1", "an entry names its first and its newest revision"),
    ("UPDATE entries SET deleted = 1 WHERE id = 1", "an entry is deleted when its newest revision says so, and has its date: not so at entry 1"),
    ("UPDATE revisions SET prev_seq = 1 WHERE seq = 2", "a revision names an earlier one of its entry"),
    ("UPDATE revisions SET doc = '{' WHERE seq = 1", "documents of entries are JSON: not so at revision 1"),
    ("UPDATE revisions SET doc = '' WHERE seq = 1", "only a deletion has no document"),
    ("UPDATE subscriptions SET position = 5000", "no position is after the end of the log: not so at subscription 1: position"),
    ("UPDATE feeds SET horizon = 5000", "no position is after the end of the log: not so at feed 1: horizon"),
    ("INSERT INTO dead_letters (sub_id, seq, at_us, uid, at, status, answer) VALUES (1, 5000, 1, 'x', 1, 400, '')",
     "no position is after the end of the log: not so at dead letter 1: seq"),
    ("DROP TABLE dead_letters", "tables and indexes are there: not so at table dead_letters: it is missing"),
    ("DROP INDEX revisions_feed", "tables and indexes are there: not so at index revisions_feed: it is missing"),
    ("ALTER TABLE feeds DROP COLUMN pace", "tables and indexes are there: not so at table feeds: it lacks column pace TEXT"),
    ("DROP INDEX sub_feeds_url; CREATE INDEX sub_feeds_url ON sub_feeds (sub_id, feed_id)",
     "tables and indexes are there: not so at index sub_feeds_url: it lacks of sub_feeds: url, part 1"),
    ("UPDATE subscriptions SET filter = 'q=((('", "a filter can be read: not so at subscription 1: filter"),
    ("UPDATE subscriptions SET sink = 'zork', endpoint = 'http://x.example/'", "what is pushed goes by a sink that there is: not so at subscription 1: zork"),
    ("UPDATE subscriptions SET sink_settings = '{'", "what is kept as JSON is JSON: not so at subscription 1: sink_settings"),
    ("UPDATE heads SET head = 'xx'", "what is kept as JSON is JSON: not so at feed 1: head"),
    ("DELETE FROM heads", "a feed that was fetched has a head: not so at feed 1"),
    ("UPDATE feeds SET n_subscriptions = 0", "a feed has as many subscriptions as it says: not so at feed 1: 0, there are 1"),
    ("UPDATE feeds SET last_seq = 2", "a feed says up to where its revisions go: not so at feed 1: 2, there was 3"),
    ("UPDATE feeds SET last_seq = 5000", "no position is after the end of the log: not so at feed 1: last_seq"),
    ("UPDATE feeds SET newest_at = newest_at - 1", "a feed has no entry that is later than it says: not so at feed 1: "),
    ("UPDATE feeds SET newest_at = NULL", "a feed has no entry that is later than it says: not so at feed 1: none, there is "),
    ("UPDATE entries SET doc_hash = x'00' WHERE id = 2", "the marks and hashes of an entry are whole: not so at entry 2"),
    ("UPDATE revisions SET sort_at = 1 WHERE seq = 2", "says so, and has its date: not so at entry 2"),
    ("DELETE FROM indexed; INSERT INTO indexed (one, seq, n) VALUES (1, 5000, 1)", "the index of words ends with the log"),
    ("UPDATE revisions SET kind = 77 WHERE seq = 2", "a kind or a state is one that there is: not so at revision 2: kind 77"),
    ("UPDATE entries SET deleted = 77 WHERE id = 3", "a kind or a state is one that there is: not so at entry 3: deleted 77"),
    ("UPDATE feeds SET state = 9", "a kind or a state is one that there is: not so at feed 1: state 9"),
    ("DELETE FROM entry_keys WHERE (feed_id, key, entry_id) IN (SELECT * FROM entry_keys WHERE entry_id = 2 LIMIT 1)",
     "an entry is found by its marks: not so at entry 2, key "),
    ("UPDATE entries SET marks = x'00' WHERE id = 2", "the marks and hashes of an entry are whole: not so at entry 2"),
    ("UPDATE entry_keys SET entry_id = 99 WHERE entry_id = 3", "a key leads to an entry of its feed: not so at key "),
    ("UPDATE feeds SET n_entries = 7", "a feed has as many entries as it says: not so at feed 1: 7, there are 3"),
    ("UPDATE feeds SET n_items = 7", "a feed has as many entries, with those deleted, as it says: not so at feed 1: 7, there are 3"),
    ("DELETE FROM revisions WHERE seq = 2", "an entry names its first and its newest revision: not so at entry 2"),
    # its place is taken by a later one, so only the first is missing
    ("UPDATE revisions SET seq = 4, batch = 4 WHERE seq = 3; UPDATE entries SET seq = 4 WHERE seq = 3;"
     "UPDATE meta SET value = 4 WHERE name = 'last_seq'", "the first revision of an entry is there: not so at revision 3 of entry 3"),
    ("DELETE FROM revisions WHERE seq = 2; DELETE FROM entries WHERE seq = 2; UPDATE feeds SET n_entries = 2, n_items = 2;"
     "DELETE FROM entry_keys WHERE entry_id = 2", "the revisions of a fetch follow one another: not so at revision 3: the one before it is missing"),
    ("INSERT INTO mirrors (key, url, state, sha256, since_at) VALUES ('k', 'http://x.example/', 1, 'no digest', 1)",
     "a mirrored file has the name of its bytes: not so at file k"),
]
FILE_FAULTS = [
    ("DROP INDEX entries_newest; CREATE INDEX entries_newest ON entries (id) WHERE 0;"
     "PRAGMA writable_schema = 1; UPDATE sqlite_schema SET sql = 'CREATE INDEX entries_newest ON entries (id)'"
     " WHERE name = 'entries_newest'", "the file is as SQLite wrote it"),
]
PG_FAULTS = [
    ("DELETE FROM log", "the log says where it stands, in one row"),
    ("DELETE FROM bodies WHERE id = (SELECT body FROM revisions WHERE seq = 2)", "what a row refers to is there: not so at revisions: body "),
    ("UPDATE sub_feeds SET feed_id = 77", "what a row refers to is there: not so at sub_feeds: feed_id 77"),
    ("UPDATE entries SET uid = (SELECT uid FROM entries WHERE id = (SELECT min(id) FROM entries))", "a feed has each entry once: not so at entry "),
    ("INSERT INTO graves VALUES (1, 'x', 1), (1, 'x', 2)", "a feed has each archive and each grave once: not so at grave of feed 1"),
    ("SELECT setval('entry_blocks', 1, false)", "the next ids are new: not so at entries: "),
    ("SELECT setval('feeds_id_seq', 1, false)", "the next ids are new: not so at feeds: 1"),
    ("UPDATE log SET last_notice = 0", "the notices of commits end where the log says: not so at notice "),
    ("DELETE FROM slots WHERE slot = 7", "each host belongs to a slot: not so at slot 7"),
    ("DROP SEQUENCE body_blocks", "tables and indexes are there: not so at sequence body_blocks: it is missing"),
    ("ALTER TABLE sub_feeds DROP CONSTRAINT sub_feeds_feed_id_fkey",
     "tables and indexes are there: not so at table sub_feeds: it lacks feed_id refers to feeds"),
    ("UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'feeds_key'::regclass",
     "tables and indexes are there: not so at index feeds_key: it lacks of feeds: url, part 0"),
]


def for_pg(statements):
    """The same damage where the schema of PostgreSQL differs. References are not looked at, as after a bad restore."""
    for of_file, of_pg in ((r"UPDATE meta SET value = (\d+) WHERE name = 'last_seq'", r"UPDATE log SET last_seq = \1"),
                           (r"UPDATE revisions SET doc = ('.*?') WHERE (seq = \d+)",
                            r"UPDATE bodies SET doc = \1 WHERE id = (SELECT body FROM revisions WHERE \2)"),
                           (r"\bx'00'", r"'\\x00'::bytea")):
        statements = re.sub(of_file, of_pg, statements)
    # ids of entries are drawn in blocks
    statements = re.sub(r"\b(?<!sub_)(entry_id|entries.*? WHERE id) = ([123])\b", r"\1 = \2 + (SELECT min(id) FROM entries) - 1", statements)
    return "SET session_replication_role = replica; SET allow_system_table_mods = on; " + statements


class Upkeep(Case):
    engine = "sqlite"   # PostgreSQL has its own programs

    def folder(self):
        folder = tempfile.mkdtemp(prefix="feedmill-test-")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        return folder

    def run_(self, *args, code=0):
        done = subprocess.run([BINARY, *args], capture_output=True, text=True, timeout=120 * PATIENCE)
        self.assertEqual(code, done.returncode, done.stdout + done.stderr)
        self.assertLessEqual(done.stderr.count("\n"), 1)
        return done.stdout + done.stderr

    def check(self, path, code=0):
        return self.run_("check", "--db", path, code=code)

    def filled(self, *args):
        """A daemon with a subscription to a feed of a few entries."""
        d, o = self.daemon(*args), self.origin()
        self.url = o.set("/f.xml", rss("c", "b", "a"))
        d.subscribe(self.url)
        d.feed(self.url)
        d.wait_idle()
        return d, o


class Backup(Upkeep):
    def test_under_load_then_restored(self):                             # OPS-05
        d, o = self.filled()
        copy = os.path.join(self.folder(), "copy.db")
        stop = grow(self, d, o, self.url)
        self.wait(lambda: len(d.get("/log?max=500&since=start").json["revisions"]) > 10, daemon=d)
        before = d.get("/log?max=500&since=start").json
        self.run_("backup", copy, "--db", d.db)
        after = d.get("/log?max=500&since=start").json
        stop()
        self.check(d.db)
        self.check(copy)
        self.assertEqual(0o600, stat.S_IMODE(os.stat(copy).st_mode))
        self.assertEqual(["copy.db"], os.listdir(os.path.dirname(copy)))     # one file, and nothing is left over
        with contextlib.closing(sqlite3.connect(copy)) as db:
            last = db.execute("SELECT max(seq) FROM revisions").fetchone()[0]
        restored = self.daemon(db=copy)                                  # it begins to fetch at once
        rows = [r for r in restored.get("/log?max=500&since=start").json["revisions"] if r["seq"] <= last]
        self.assertGreaterEqual(len(rows), len(before["revisions"]))
        self.assertEqual(rows, after["revisions"][:len(rows)])
        for row in before["revisions"]:                                  # every cursor from before
            later = restored.get("/log?max=500&since=" + row["cursor"]).json["revisions"]
            self.assertEqual([r for r in later if r["seq"] <= last],
                             [r for r in rows if r["seq"] > row["seq"]])
        self.assertEqual(1, len(restored.get("/sub?type=json").json["feeds"]))

    def test_while_old_revisions_are_taken(self):                        # OPS-05 KEEP-02
        d, o = self.filled("--keep-entries", "2")
        r = self.receiver()
        sub = d.subscribe(self.url, endpoint=r.url)
        copies, cursors = self.folder(), []
        stop = grow(self, d, o, self.url)
        for i in range(3):
            taken = d.counter("retention_taken_total")
            self.wait(lambda: d.counter("retention_taken_total") > taken, what="more to be taken", daemon=d)
            cursors.append(d.get("/log?since=end").json["cursor"])
            copy = os.path.join(copies, "copy%d.db" % i)
            self.run_("backup", copy, "--db", d.db)
            self.check(copy)
        stop()
        d.wait_idle()
        self.check(d.db)
        position = d.get("/sub?type=json&id=%d" % sub).json["subscriptions"][0]["position"]
        with contextlib.closing(sqlite3.connect(copy)) as db:
            seqs = [seq for seq, in db.execute("SELECT seq FROM revisions ORDER BY seq")]
            horizon = db.execute("SELECT max(horizon) FROM feeds").fetchone()[0]
        self.assertGreater(horizon, 0)
        d.stop()
        o.close()                                                        # nothing more comes
        restored = self.daemon(db=copy)
        self.assert_problem(restored.get("/log?since=start"), 410, "history-gone")
        told = restored.get("/log?since=start").json["horizon"]
        self.assertEqual(seqs, [r["seq"] for r in restored.get("/log?max=500&since=" + told).json["revisions"]])
        for cursor in cursors:
            at, answer = int(cursor.split(".")[2]), restored.get("/log?max=500&since=" + cursor)
            self.assertEqual(410 if at < horizon else 200, answer.status, answer.body)
            if answer.status == 200:
                self.assertEqual([seq for seq in seqs if seq > at], [r["seq"] for r in answer.json["revisions"]])
        after = restored.get("/sub?type=json&id=%d" % sub).json["subscriptions"][0]
        self.assertEqual(("active", r.url), (after["state"], after["endpoint"]))
        self.assertLessEqual(after["position"], position)
        restored.wait_idle()
        self.check(copy)

    def test_what_came_after_it_is_skipped_by_no_cursor(self):           # OPS-05
        """A cursor from after the backup is one before all that the restored log gives."""
        d, o = self.filled()
        copy = os.path.join(self.folder(), "copy.db")
        self.run_("backup", copy, "--db", d.db)
        o.set("/f.xml", rss("lost 2", "lost 1", "c", "b", "a"))
        d.ping(self.url)
        d.wait_idle()
        late = d.get("/log?since=end").json["cursor"]
        d.stop()
        restored = self.daemon(db=copy)
        o.set("/f.xml", rss("new", "lost 2", "lost 1", "c", "b", "a"))
        restored.ping(self.url)
        restored.wait_idle()
        rows = restored.get("/log?since=" + late).json["revisions"]
        self.assertEqual(["lost 1", "lost 2", "new"], [r["entry"]["title"] for r in rows])
        self.check(copy)

    def test_it_replaces_an_older_one_and_nothing_else(self):            # OPS-05
        d, _ = self.filled()
        folder = self.folder()
        copy = os.path.join(folder, "copy.db")
        for _ in range(2):
            self.run_("backup", copy, "--db", d.db)
        self.check(copy)
        os.symlink(d.db, os.path.join(folder, "link.db"))
        for to, why in ((d.db, "the database itself"), (os.path.join(folder, "link.db"), "the database itself"),
                        (d.db + "-wal", "the database itself"), (d.db + "-shm", "the database itself"),
                        (os.path.join(os.path.dirname(d.db), ".", "feeds.db-journal"), "the database itself"),
                        (folder, "not a plain file")):
            for db in (d.db, os.path.join(folder, "link.db")):
                self.assertIn(why, self.run_("backup", to, "--db", db, code=2))
        self.assertIn("No such file", self.run_("backup", "/nonexistent/x.db", "--db", d.db, code=1))
        self.assertIn("No such file", self.run_("backup", copy, "--db", "/nonexistent/x.db", code=1))
        self.assertIn("pg_dump", self.run_("backup", copy, "--db", "postgresql:///x", code=2))
        self.assertIn("usage", self.run_("backup", "--db", d.db, code=2))
        self.assertEqual(["copy.db", "link.db"], sorted(os.listdir(folder)))


class Check(Upkeep):
    def test_each_rule_finds_what_breaks_it(self):                       # OPS-05
        d, _ = self.filled()
        self.assertIn("whole", self.check(d.db))             # while the daemon serves
        d.stop()
        for statements, words in FAULTS + FILE_FAULTS:
            broken = os.path.join(d.folder, "broken.db")
            shutil.copy(d.db, broken)
            db = sqlite3.connect(broken)
            db.executescript(statements)
            db.close()
            with self.subTest(words):
                said = self.check(broken, code=1)
                self.assertIn(words, said)
                self.assertNotIn("no such", said)             # what is missing is told once, not by each rule

    def test_what_is_not_a_database_of_ours(self):                       # OPS-05
        folder = self.folder()
        other, text = os.path.join(folder, "other.db"), os.path.join(folder, "text.db")
        db = sqlite3.connect(other)
        db.execute("CREATE TABLE t (a)")
        db.commit()
        db.close()
        with open(text, "w") as out:
            out.write("this is not a database at all\n" * 300)
        self.assertIn("not a database of Feedmill", self.check(other, code=2))
        self.assertIn("not a database", self.check(text, code=2))
        self.assertIn("No such file", self.check(os.path.join(folder, "none.db"), code=2))
        self.assertEqual(["other.db", "text.db"], sorted(os.listdir(folder)))

    def test_damaged_pages(self):                                        # OPS-05
        d, _ = self.filled()
        d.stop()
        size = os.path.getsize(d.db)
        with open(d.db, "r+b") as f:
            f.seek(size // 2 // 4096 * 4096)
            f.write(b"\x0d" + os.urandom(8 * 4096 - 1))
        self.assertIn("is damaged", self.check(d.db, code=1))

    def test_a_file_of_another_schema(self):                             # OPS-05
        d, _ = self.filled()
        d.stop()
        d.sql("PRAGMA user_version = 3")
        self.assertIn("brings it up to date", self.check(d.db, code=2))


class CheckPostgres(Upkeep):
    """The same of a PostgreSQL."""

    def setUp(self):
        self.server = Postgres()
        self.addCleanup(self.server.close)

    def stored(self, *args):
        d, o = self.daemon(*args, db=self.server.uri()), self.origin()
        self.url = o.set("/f.xml", rss("c", "b", "a"))
        d.subscribe(self.url)
        d.feed(self.url)
        d.wait_idle()
        return d, o

    def check(self, path, code=0):
        said = super().check(path, code)
        self.assertNotIn(PASSWORD, said)
        self.assertNotIn("w%40rd", said)
        return said

    def test_each_rule_finds_what_breaks_it(self):                       # OPS-05 NODE-01
        d, _ = self.stored()
        self.assertIn("whole", self.check(self.server.uri()))             # while the daemon serves
        d.stop()
        first = int(self.server.psql("SELECT min(id) FROM entries"))
        for n, (statements, words) in enumerate(FAULTS + PG_FAULTS):
            words = words.replace("column pace TEXT", "column pace text")
            words = re.sub(r"(?<!loca)entry ([123])\b", lambda m: "entry %d" % (int(m.group(1)) + first - 1), words)
            name = "broken_%d" % n
            self.server.psql("CREATE DATABASE %s OWNER %s TEMPLATE %s" % (name, USER, DATABASE), database="postgres")
            self.server.psql(for_pg(statements), database=name)
            with self.subTest(words):
                said = self.check(self.server.uri(database=name), code=1)
                self.assertIn(words, said)
                self.assertIn("is damaged", said)
                self.assertNotIn("does not exist", said)      # what is missing is told once, not by each rule
            self.server.psql("DROP DATABASE %s" % name, database="postgres")

    def test_under_load(self):                                           # OPS-05 NODE-01 KEEP-02
        """Two nodes store, and retention takes."""
        d, o = self.stored("--keep-entries", "2")
        other = self.daemon("--keep-entries", "2", db=self.server.uri())
        stop = grow(self, d, o, self.url, pause=0.02)
        until = time.monotonic() + 60 * PATIENCE
        n = 0
        while n < 10 or (d.counter("retention_taken_total") + other.counter("retention_taken_total") == 0 and
                         time.monotonic() < until):
            self.assertIn("whole", self.check(self.server.uri()))
            n += 1
        stop()
        self.assertGreater(d.counter("retention_taken_total") + other.counter("retention_taken_total"), 0)
        d.wait_idle()
        self.assertGreater(int(self.server.psql("SELECT last_seq FROM log")), 20)
        self.assertEqual("0", self.server.psql("SELECT count(*) FROM pg_stat_database WHERE temp_files > 0"))

    def test_faults_as_json(self):                                       # OPS-05 CLI-02
        d, _ = self.stored()
        d.stop()
        self.assertEqual({"whole": True, "faults": []}, json.loads(self.run_("check", "--json", "--db", self.server.uri())))
        self.server.psql("UPDATE feeds SET n_entries = 7")
        done = subprocess.run([BINARY, "check", "--json", "--db", self.server.uri()], capture_output=True, text=True)
        self.assertEqual(1, done.returncode)
        self.assertEqual({"whole": False, "faults": [{"rule": "a feed has as many entries as it says", "at": "feed 1: 7, there are 3"}]},
                         json.loads(done.stdout))

    def test_damaged_pages(self):                                        # OPS-05 NODE-01
        """A statement that meets them fails: the rule is not so, and the rules after it are looked at."""
        d, _ = self.stored()
        d.stop()
        path = self.server.psql("CHECKPOINT; SELECT pg_relation_filepath('bodies_0')")
        self.server.psql("UPDATE feeds SET n_subscriptions = 5")
        self.server.stop(signal.SIGINT)
        with open(os.path.join(self.server.data, path), "r+b") as f:
            f.write(b"\xff" * 100)
        self.server.start()
        said = self.check(self.server.uri(), code=1)
        self.assertIn("documents of entries are JSON: not so at the database failed: ", said)
        self.assertIn("a feed has as many subscriptions as it says", said)

    def test_what_cannot_be_looked_at(self):                             # OPS-05 NODE-01
        uri = self.server.uri()
        self.assertIn("is not a database of Feedmill", self.check(uri, code=2))    # it is empty
        self.server.psql("CREATE TABLE log (a int)")
        self.assertIn("is not a database of Feedmill", self.check(uri, code=2))
        self.server.psql("DROP TABLE log")
        d, _ = self.stored()
        d.stop()
        for version, words in ((3, "brings it up to date"), (9999, "has schema 9999")):
            self.server.psql("UPDATE log SET schema_version = %d" % version)
            self.assertIn(words, self.check(uri, code=2))
        self.assertIn("password authentication failed", self.check(self.server.uri(password=PASSWORD + "!"), code=2))
        self.assertIn("VACUUM", self.run_("compact", "--db", uri, code=2))
        self.assertIn("pg_dump", self.run_("backup", "/nonexistent/x.db", "--db", uri, code=2))
        self.server.stop()
        self.assertIn("cannot connect", self.check(uri, code=2))
        self.assertIn("not of the form", self.check("postgresql://a:b@c@d/e", code=2))


class OthersFolder(Upkeep):
    """The folder of the database cannot be written, as on a disk that is mounted for reading. SQLite wants to make files there."""

    def as_nobody(self):
        if os.geteuid() == 0:
            os.setuid(65534)

    def run_(self, *args, code=0):
        try:
            done = subprocess.run([BINARY, *args], capture_output=True, text=True, timeout=120 * PATIENCE, preexec_fn=self.as_nobody)
        except PermissionError:
            self.skipTest("the program is where only root can run it")
        self.assertEqual(code, done.returncode, done.stdout + done.stderr)
        self.assertLessEqual(done.stderr.count("\n"), 1)
        return done.stdout + done.stderr

    def close_folder(self, d):
        for name in os.listdir(d.folder):
            os.chmod(os.path.join(d.folder, name), 0o644)
        os.chmod(d.folder, 0o555)
        if subprocess.run(["test", "-r", d.db], preexec_fn=self.as_nobody).returncode != 0:
            self.skipTest("the folder of the tests is where only root can go")
        self.addCleanup(os.chmod, d.folder, 0o755)
        self.before = sorted(os.listdir(d.folder))

    def copy_place(self):
        folder = self.folder()
        os.chmod(folder, 0o777)
        return os.path.join(folder, "copy.db")

    def test_a_whole_database_is_read(self):                             # OPS-05
        d, _ = self.filled()
        d.stop()
        odd = os.path.join(d.folder, "a?b#c%d é.db")
        shutil.copy(d.db, odd)
        self.close_folder(d)
        for path in (d.db, odd):
            self.assertIn("whole", self.check(path))
            copy = self.copy_place()
            self.run_("backup", copy, "--db", path)
            self.assertIn("whole", self.check(copy))
        self.assertEqual(self.before, sorted(os.listdir(d.folder)))

    def test_a_damaged_one_is_found(self):                               # OPS-05
        d, _ = self.filled()
        d.stop()
        d.sql("DELETE FROM heads")
        self.close_folder(d)
        self.assertIn("a feed that was fetched has a head: not so at feed 1", self.check(d.db, code=1))

    def test_what_is_in_a_log_needs_the_folder(self):                    # OPS-05
        d, _ = self.filled()
        d.kill()
        os.remove(d.db + "-shm")
        self.close_folder(d)
        for args in (("check",), ("backup", self.copy_place())):
            said = self.run_(*args, "--db", d.db, code=2 if args == ("check",) else 1)
            self.assertIn("cannot be read here: its folder must be writable, because what was written last is in a log beside it", said)
            self.assertNotIn("damaged", said)

    def test_it_changes_while_it_is_read(self):                          # OPS-05
        """A daemon that came and went has left nothing but another time of the file."""
        d, _ = self.filled()
        d.stop()
        self.close_folder(d)
        ends = threading.Event()

        def touch():
            while not ends.is_set():
                os.utime(d.db)
        toucher = threading.Thread(target=touch)
        toucher.start()
        copy = self.copy_place()
        try:
            for args in (("check",), ("backup", copy)):
                self.assertIn("a daemon worked on %s meanwhile; try again" % d.db, self.run_(*args, "--db", d.db, code=2 if args == ("check",) else 1))
        finally:
            ends.set()
            toucher.join()
        self.assertFalse(os.path.exists(copy))

    def test_a_daemon_works_on_it(self):                                 # OPS-05
        d, _ = self.filled()
        self.close_folder(d)
        os.chmod(d.db + "-shm", 0o600)
        os.chmod(d.db + "-wal", 0o600)
        said = self.run_("check", "--db", d.db, code=2) if os.geteuid() == 0 else "a daemon works on it"
        self.assertIn("a daemon works on it", said)
        self.assertNotIn("damaged", said)


class Words(Upkeep):
    """The words of revisions that are gone leave the index of words, also when these were few and large (KEEP-03, KEEP-05)."""

    def pages(self, d):
        with contextlib.closing(sqlite3.connect("file:%s?mode=ro" % d.db, uri=True)) as db:
            return db.execute("SELECT count(*) FROM terms_data").fetchone()[0]

    def words(self, n_small):
        """A daemon with two feeds: of short entries, and of 80 with 2500 words each that no other entry has."""
        d, o = self.daemon(), self.origin()
        text = '<content:encoded xmlns:content="http://purl.org/rss/1.0/modules/content/">%s</content:encoded>'
        self.small = o.set("/small.xml", rss(*("short %d" % k for k in range(n_small))))
        self.large = o.set("/large.xml", rss(*(("long %d" % k, "", text % " ".join(
            "%x" % hash((k, i)) for i in range(2500))) for k in range(80))))
        for url in (self.small, self.large):
            d.subscribe(url)
            d.feed(url)
        d.wait_idle()
        d.wait_metric("index_position", n_small + 80)
        self.assertGreater(self.pages(d), 256)
        return d

    def found(self, d, word):
        return len(d.feed(self.small, q=word, len=1000).json["entries"])

    def test_few_and_large_ones(self):                                   # KEEP-03 KEEP-05
        """They are not half of all revisions, but most of the file; and nothing comes after them."""
        d = self.words(200)
        d.call("DELETE", "/sub?id=2")
        self.assertEqual(204, d.call("DELETE", "/sub/feed?id=2").status)
        self.wait(lambda: self.pages(d) < 100, what="a small index", daemon=d)
        d.wait_metric("index_position", 280)
        self.assertEqual((1, 200), (self.found(d, "77"), self.found(d, "short")))

    def mostly_waste(self):
        """A daemon that is stopped, whose index is mostly of entries that are gone."""
        d = self.words(5)
        d.stop()
        for table in ("revisions", "entries", "entry_keys"):
            d.sql("DELETE FROM %s WHERE feed_id = 2" % table)
        d.sql("UPDATE feeds SET n_entries = 0, n_items = 0 WHERE id = 2")
        return d

    def test_compact_that_does_not_come_to_its_end(self):                # KEEP-05 OPS-05
        """The index is empty and says so, or neither."""
        d = self.mostly_waste()
        d.sql("CREATE TRIGGER stop BEFORE DELETE ON indexed BEGIN SELECT RAISE(ABORT, 'as if it was killed here'); END")
        self.assertIn("killed", self.run_("compact", "--db", d.db, code=1))
        d.sql("DROP TRIGGER stop")
        d.start()
        self.wait(lambda: self.found(d, "short") == 5, what="the words of all entries", daemon=d)

    def test_compact_takes_them_out(self):                               # KEEP-05 OPS-05
        d = self.mostly_waste()
        self.run_("compact", "--db", d.db)
        self.assertLess(self.pages(d), 10)
        self.assertLess(os.path.getsize(d.db), 1000000)
        self.check(d.db)
        d.start()
        d.wait_metric("index_position", 85)
        self.assertEqual((1, 5), (self.found(d, "3"), self.found(d, "short")))


class Compact(Upkeep):
    def test_free_space_goes_back(self):                                 # OPS-05
        d, o = self.filled()
        self.assertIn("in use", self.run_("compact", "--db", d.db, code=1))
        o.set("/big.xml", rss(*("entry %d %s" % (k, "x" * 5000) for k in range(300))))
        d.feed(o.url("/big.xml"))
        d.wait_idle()
        rows = d.get("/log?since=start&url=" + quote(self.url)).json
        d.stop()
        for table in ("revisions", "entries", "entry_keys"):
            d.sql("DELETE FROM %s WHERE feed_id = 2" % table)
        d.sql("UPDATE feeds SET n_entries = 0, n_items = 0 WHERE id = 2")
        before = os.path.getsize(d.db)
        said = self.run_("compact", "--db", d.db)
        after = os.path.getsize(d.db)
        self.assertIn("%d bytes before, %d now" % (before, after), said)
        self.assertLess(after, before / 2)
        self.check(d.db)
        d.start()
        self.assertEqual(rows, d.get("/log?since=start&url=" + quote(self.url)).json)
