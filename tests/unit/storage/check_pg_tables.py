#!/usr/bin/env python3
"""The schema of PostgreSQL beside that of SQLite: both are made, and compared column by column.
`check_pg_tables.py SCHEMA_PG.SQL`, which is the text that storage/pg/make_schema.py has made."""
import hashlib
import os
import sqlite3
import subprocess
import sys
import unittest

ROOT = os.environ.get("FEEDMILL_SOURCE", ".")
GENERATED = sys.argv.pop(1)
sys.path.insert(0, os.path.join(ROOT, "storage", "pg"))
import make_schema  # noqa: E402

TYPES = {"INTEGER": "bigint", "TEXT": "text", "BLOB": "bytea"}
# the tables that SQLite has no use for, and that of words, which is a virtual one there
BESIDE = {"log", "notices", "unnoticed", "nodes", "slots", "forks", "terms"}
BODY = {"title", "link", "summary", "author", "doc", "ext"}      # columns of revisions that are in bodies
LONG = "http://a.example/" + "".join(hashlib.sha512(b"%d" % n).hexdigest() for n in range(125))  # 16 KB of chance


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as text:
        return text.read()


class Schema(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.uri = os.environ["FEEDMILL_POSTGRES"]
        cls.sqlite = sqlite3.connect(":memory:")
        cls.sqlite.executescript(read("schema.sql"))
        cls.psql("DROP OWNED BY CURRENT_USER; CREATE SCHEMA IF NOT EXISTS mill; BEGIN;" + read(os.path.abspath(GENERATED)) + "COMMIT")

    @classmethod
    def tearDownClass(cls):
        cls.sqlite.close()

    @classmethod
    def psql(cls, sql, fails=False):
        done = subprocess.run(["psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", cls.uri, "-f", "-"],
                              input="SET search_path TO mill; SET client_min_messages TO warning;" + sql,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
        assert (done.returncode != 0) == fails, done.stdout
        return done.stdout.strip()

    def columns(self):
        found = {}
        for line in self.psql("SELECT table_name, column_name, data_type, is_nullable FROM"
                              " information_schema.columns WHERE table_schema = 'mill'").split("\n"):
            table, column, kind, nullable = line.split("|")
            if table != "bodies_0":
                found.setdefault(table, {})[column] = (kind, nullable == "NO")
        return found

    def expected(self):
        """What SQLite has, with the types of PostgreSQL."""
        tables = {}
        for (name,) in self.sqlite.execute("SELECT name FROM pragma_table_list WHERE schema = 'main' AND type = 'table'"
                                           " AND name NOT LIKE 'sqlite%' AND name <> 'meta'"):
            tables[name] = {c[1]: (TYPES[c[2]], bool(c[3] or c[5]))
                            for c in self.sqlite.execute("SELECT * FROM pragma_table_info(?)", (name,))}
        rows = tables["revisions"]
        tables["bodies"] = {c: rows.pop(c) for c in sorted(BODY)}
        tables["bodies"]["id"] = rows["body"] = ("bigint", True)
        return tables

    def test_every_column_is_in_both_engines(self):
        found, wanted = self.columns(), self.expected()
        self.assertEqual(BESIDE, set(found) - set(wanted))
        self.assertEqual(wanted, {name: found.get(name) for name in wanted})

    def test_the_log_has_the_facts_of_meta(self):
        facts = set(self.columns()["log"])
        for name in ("log_id", "secret", "version", "last_seq", "last_at_us"):
            self.assertIn("--   %s " % name, read("schema.sql"))
            self.assertIn(name, facts)

    def test_every_index_is_in_both_engines(self):
        ours = {name for (name,) in self.sqlite.execute(
            "SELECT name FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL")}
        theirs = set(self.psql("SELECT indexname FROM pg_indexes WHERE schemaname = 'mill'").split("\n"))
        self.assertEqual(set(), ours - theirs)

    def test_texts_are_compared_by_bytes(self):        # as SQLite does, whatever the server's locale
        other = self.psql("SELECT table_name, column_name FROM information_schema.columns WHERE table_schema ="
                          " 'mill' AND data_type = 'text' AND collation_name IS DISTINCT FROM 'C'")
        self.assertEqual("", other)

    def test_rows_of_an_index_may_be_longer_than_a_page(self):
        self.psql("INSERT INTO feeds (id, url, page_url, version) VALUES (77, '%(u)s', '%(u)s', 1);"
                  "INSERT INTO aliases VALUES ('%(u)s', '%(u)s', 77);"
                  "INSERT INTO entries VALUES (1, 77, '%(u)s', 1, 1, 0, 0, 0, 0, '', '');"
                  "INSERT INTO archives (feed_id, url, place) VALUES (77, '%(u)s', 1);"
                  "INSERT INTO graves VALUES (77, '%(u)s', 1);" % {"u": LONG})

    def test_a_url_has_one_feed(self):
        self.psql("INSERT INTO feeds (url, credential, version) VALUES ('http://once.example/', 'a:b', 1),"
                  " ('http://once.example/', '', 1)")
        said = self.psql("INSERT INTO feeds (url, version) VALUES ('http://once.example/', 1)", fails=True)
        self.assertIn("duplicate key", said)
        self.assertIn("INSERT 0 0", self.psql(
            "\\unset QUIET\nINSERT INTO feeds (url, version) VALUES ('http://once.example/', 1)"
            " ON CONFLICT (md5(url), md5(credential)) DO NOTHING"))

    def test_hot_tables_refer_to_nothing(self):
        self.assertEqual("", self.psql(
            "SELECT conrelid::regclass FROM pg_constraint WHERE contype = 'f' AND conrelid::regclass::text"
            " IN ('entries', 'revisions', 'overlays', 'contents', 'bodies')"))

    def test_what_is_not_understood_ends_the_build(self):
        good, rules = "CREATE TABLE t (id INTEGER PRIMARY KEY, x TEXT) STRICT;", "--@ replaced old\n"
        old = "CREATE TABLE old (x TEXT) STRICT;"
        self.assertIn("CREATE TABLE t (\n    id bigint PRIMARY KEY", make_schema.make(good + old, rules))
        for schema, more in (("CREATE TABLE t (id REAL) STRICT", ""), ("CREATE TABLE t (id INTEGER)", ""),
                             ("CREATE TABLE t (id INTEGER CHECK (id > 0)) STRICT", ""),
                             (good + "CREATE INDEX i ON t (x)", ""),          # short or long?
                             (good + "CREATE INDEX i ON t (y)", ""),
                             (good + "CREATE UNIQUE INDEX i ON t (x)", "--@ long t.x\n"),
                             (good + "CREATE TRIGGER z AFTER INSERT ON t BEGIN SELECT 1; END", ""),
                             (good, "--@ replaced q\n"), (good, "--@ long t.z\n"), (good, "--@ said t\n"),
                             (good, "--@ moved t (q) to others\n")):
            with self.assertRaises(make_schema.Wrong, msg=schema + more):
                make_schema.make(schema, more)


if __name__ == "__main__":
    unittest.main()
