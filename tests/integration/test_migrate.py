"""feedmill migrate: a log goes into PostgreSQL and comes back, and nobody who follows it notices."""
import os
import subprocess

from .env.case import Case
from .env.daemon import BINARY, PATIENCE, quote
from .env.origin import rss
from .env.postgres import Postgres


class Migrate(Case):
    engine = "sqlite"   # the log begins in a file

    def run_it(self, *args, code=0):
        done = subprocess.run([BINARY, "migrate"] + list(args), capture_output=True, text=True, timeout=120 * PATIENCE)
        if "built without it" in done.stderr:
            self.skipTest("built without PostgreSQL")
        self.assertEqual(code, done.returncode, (args, done.stdout, done.stderr))
        return done.stdout if code == 0 else done.stderr

    def test_a_log_goes_and_comes_back(self):                            # NODE-10
        server = Postgres()
        self.addCleanup(server.close)
        o, d = self.origin(), self.daemon()
        url = o.set("/f.xml", rss("one", "two"))
        file = os.path.join(d.folder, "feeds.db")
        d.subscribe(url)
        d.wait_idle()
        archive = "/archive?url=" + quote(url)
        before, document = d.feed(url), d.get(archive)
        self.assertEqual((2, 200), (len(before.json["entries"]), document.status))
        self.assertIn("is in use by another process", self.run_it("--from", file, "--to", server.uri(), code=1))
        d.stop()
        said = self.run_it("--from", file, "--to", server.uri())
        self.assertRegex(said, r"revisions\t2\tcopied\n")
        self.assertIn("is not empty", self.run_it("--from", file, "--to", server.uri(), code=1))
        self.assertNotIn("different", self.run_it("--from", file, "--to", server.uri(), "--check"))
        for name in ("", "-wal", "-shm"):
            if os.path.exists(file + name):
                os.unlink(file + name)
        self.run_it("--from", server.uri(), "--to", file)
        d.start()
        after = d.get("/feed?url=%s&type=json" % quote(url), If_None_Match=before.header("ETag"))
        self.assertEqual(304, after.status)         # the same log, the same version
        self.assertEqual(document.body, d.get(archive).body)
        o.set("/f.xml", rss("one", "two", "three"))
        d.ping(url)
        d.wait_idle()
        self.assertEqual(3, len(d.feed(url).json["entries"]))
        d.stop()
        said = self.run_it("--from", file, "--to", server.uri(), "--check", code=1)
        self.assertRegex(said, r"\d tables differ")
        server.psql("UPDATE log SET schema_version = 9999")
        said = self.run_it("--from", file, "--to", server.uri(), code=1)
        self.assertIn("newer", said)
        self.assertNotIn("w%40rd", said)            # the password is never shown
        self.assertNotIn("w@rd", said)

    def test_wrong_arguments(self):
        self.assertIn("usage", self.run_it("--from", "x.db", code=2))
        self.assertIn("one side must be a file", self.run_it("--from", "x.db", "--to", "y.db", code=2))
        self.run_it("--from", "none.db", "--to", "postgresql://nobody@127.0.0.1:1/x", code=1)

    def test_the_daemon_says_that_it_cannot_connect(self):
        done = subprocess.run([BINARY, "serve", "--db", "postgresql://mill@127.0.0.1:1/x"], capture_output=True,
                              text=True, timeout=60 * PATIENCE)
        self.assertEqual(1, done.returncode)
        self.assertIn("cannot connect to the database", done.stderr)
        self.assertIn("127.0.0.1", done.stderr)
