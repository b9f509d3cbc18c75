"""--db-replica with a real standby: documents are read there, and are never older than what the daemon knows (NODE-01)."""
import subprocess

from cluster.database import Pair

from .env.case import Case, slow
from .env.daemon import BINARY, PATIENCE
from .env.origin import rss


class Replica(Case):
    engine = "sqlite"   # the database is named here

    def setUp(self):
        self.pair = Pair(is_sync=False)     # the copy is late whenever it likes
        self.addCleanup(self.pair.close)
        self.d = self.daemon("--db-replica", self.pair.standby.uri(), db=self.pair.primary.uri())
        self.names, self.n_documents, self.o = [], 0, self.origin()
        self.url = self.o.set("/f.xml", rss())
        self.d.feed(self.url)

    def publish(self):
        """One more entry. Returns when the daemon has told its readers of it."""
        cursor = self.d.get("/log?since=end").json["cursor"]
        self.names.insert(0, "e%d" % len(self.names))
        self.o.set("/f.xml", rss(*self.names))
        self.d.ping(self.url)
        while not self.d.get("/log?timeout=60&since=" + cursor).json["revisions"]:
            pass

    def check(self):
        """A document that nobody has asked for before is drawn with all that the daemon knows."""
        self.n_documents += 1
        self.check_titles(self.d.feed(self.url, len=100 + self.n_documents))

    def check_titles(self, answer):
        self.assertEqual(200, answer.status, answer.body)
        self.assertEqual(self.names, [e["title"] for e in answer.json["entries"]])

    def reads(self):
        return self.d.counter("replica_reads_total")

    def wait_reads(self):
        """Wait until one more document was read from the copy."""
        n = self.reads()

        def there():
            self.check()
            return self.reads() > n
        self.wait(there, what="a document from the copy", daemon=self.d)

    def follow(self, primary):
        """Replication goes on."""
        self.pair.set(self.pair.standby, primary_conninfo="host=%s port=%d user=postgres" % (primary.folder, primary.port))
        self.pair.await_standby()

    def test_documents_come_from_the_copy(self):
        for _ in range(12):
            self.publish()
            self.check()        # at once: the copy may lack it
        self.wait_reads()

    def test_the_copy_is_behind(self):
        self.publish()
        self.wait_reads()
        self.pair.lag()
        self.publish()
        n, late = self.reads(), self.d.counter("replica_late_total")

        def refused():
            self.check()
            return self.d.counter("replica_late_total") > late
        self.wait(refused, what="that the copy is asked", daemon=self.d)
        self.assertEqual(n, self.reads())
        self.follow(self.pair.primary)
        self.wait_reads()

    @slow
    def test_the_copy_goes_and_comes_back(self):
        self.publish()
        self.wait_reads()
        self.pair.standby.stop()
        for _ in range(3):
            self.publish()
            self.check()
        self.pair.standby.start()
        self.wait_reads()

    @slow
    def test_documents_are_drawn_while_the_server_is_away(self):    # NODE-08
        self.publish()
        self.wait_reads()
        self.pair.primary.stop()
        n = self.reads()

        def drawn():
            self.n_documents += 1
            answer = self.d.feed(self.url, len=100 + self.n_documents)
            self.assertIn(answer.status, (200, 503))    # a reader leaves a copy that was late alone for a moment
            return answer.status == 200
        self.wait(drawn, what="a document", daemon=self.d)
        self.check_titles(self.d.feed(self.url, len=100 + self.n_documents))
        self.assertGreater(self.reads(), n)
        self.assert_problem(self.d.get("/log"), 503, "busy")        # a position is read from the server itself
        self.pair.primary.start()
        self.wait(lambda: self.d.get("/readyz").status == 200, what="/readyz", daemon=self.d)

        def answered():
            return [self.d.get("/log").status for _ in range(8)] == 8 * [200]
        self.wait(answered, what="that all readers have found it", daemon=self.d)
        self.publish()
        self.check()

    def test_another_log_is_refused(self):
        other = self.pair.primary.new_database()
        self.daemon(db=other)
        done = subprocess.run([BINARY, "serve", "--listen", "127.0.0.1:0", "--db", other, "--node", "x",
                               "--db-replica", self.pair.standby.uri()],
                              capture_output=True, text=True, timeout=60 * PATIENCE)
        self.assertEqual(1, done.returncode, done.stderr)
        self.assertIn("is not a copy of the database: it has another log", done.stderr)
