"""Several nodes on one log: the mirror, which one node fills for all, in a folder that all have."""
import os
import shutil
import signal
import tempfile
import time

from .env.nodes import NodesCase
from .test_enclosures import FileOrigin, item, rss

LEADER = "SELECT n.name FROM slots s JOIN nodes n ON n.id = s.owner WHERE s.slot = 0"


class NodeMirror(NodesCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="feedmill-mirror-")
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)
        self.o, self.files, self.items = self.origin(), FileOrigin(), []
        self.addCleanup(self.files.close)

    def mirror(self):
        """The node that leads and the other one, with a file that is stored and one of which half has come."""
        nodes = dict(zip("ab", self.two("--mirror", self.dir)))
        leader = nodes.pop(self.server_of_nodes.psql(LEADER))
        (self.other_name, other), = nodes.items()
        self.feed_url = self.o.set("/f.xml", rss(item("0")))
        other.subscribe(self.feed_url, mirror="yes")
        other.feed(self.feed_url)
        self.kept = self.files.add("/kept.mp3", b"k" * 50000)
        self.publish(other, "1", "/kept.mp3")
        for d in leader, other:
            self.wait(lambda: self.status(d, self.kept) == 200, what="the first file", daemon=d)
        self.half = self.files.add("/half.mp3", b"h" * 4000000)
        self.half.gate.clear()
        self.publish(other, "2", "/half.mp3")
        self.wait(lambda: self.bytes_of_parts() > 1000000, what="the first half", daemon=leader)
        self.assertEqual((1, 0), (leader.counter("mirror_running"), other.counter("mirror_running")))
        return leader, other

    def publish(self, d, name, *paths):
        self.items.insert(0, item(name, *((self.files.url(p), "audio/mpeg") for p in paths)))
        self.o.set("/f.xml", rss(*self.items))
        d.ping(self.feed_url)

    def status(self, d, file):
        return d.get("/enclosure/" + file.digest).status

    def bytes_of_parts(self):
        folder = os.path.join(self.dir, "partial")
        return sum(os.path.getsize(os.path.join(folder, name)) for name in os.listdir(folder))

    def is_stored(self, file):
        return os.path.exists(os.path.join(self.dir, file.digest[:2], file.digest))

    def assert_complete(self, d, n_half):
        """All that is named is there, with its row, and nothing was asked for too often."""
        for file in self.kept, self.half:
            self.assertTrue(self.is_stored(file))
            self.assertEqual(file.body, d.get("/enclosure/" + file.digest).body)
        self.assertEqual((1, n_half), (len(self.kept.asked), len(self.half.asked)))
        self.assertEqual("2|2", self.server_of_nodes.psql("SELECT count(*), count(*) FILTER (WHERE state = 1) FROM mirrors"))
        self.assertEqual("2", self.server_of_nodes.psql("SELECT count(*) FROM mirror_names"))

    def test_the_leader_is_killed_in_the_middle_of_a_file(self):    # NODE-06 ENCL-01 ENCL-04
        """The other one goes on where it was; what is there stays, and the first one begins nothing anew when it is back."""
        leader, other = self.mirror()
        leader.kill()
        self.half.gate.set()
        self.wait(lambda: self.status(other, self.half) == 200, what="the rest", daemon=other)
        self.assertIn("range", self.half.asked[1])
        self.assert_complete(other, 2)
        leader.start()
        self.wait(lambda: self.slots(other) == {"a": 128, "b": 128}, what="half of the slots each", daemon=other)
        late = self.files.add("/late.mp3", b"l" * 1000)
        self.items[0] = item("2", (self.files.url("/half.mp3"), "audio/mpeg"), (self.files.url("/late.mp3"), "audio/mpeg"))
        self.publish(other, "3")
        self.wait(lambda: self.status(leader, late) == 200, what="the last file", daemon=other)
        self.server_of_nodes.psql("DELETE FROM mirror_names WHERE key = (SELECT key FROM mirrors WHERE url LIKE '%late.mp3')")
        self.wait(lambda: self.server_of_nodes.psql("SELECT count(*) FROM mirrors") == "2", what="the walk", daemon=other)
        self.assert_complete(leader, 2)
        self.assertFalse(self.is_stored(late))

    def test_the_leader_is_frozen_in_the_middle_of_a_file(self):    # NODE-06 ENCL-01 ENCL-04
        """Another one leads, and stores more. When the first one wakes up it harms nothing; its file comes, too."""
        leader, other = self.mirror()
        leader.process.send_signal(signal.SIGSTOP)
        try:
            self.wait(lambda: self.server_of_nodes.psql(LEADER) == self.other_name, what="another leader", daemon=other)
            more = self.files.add("/more.mp3", b"m" * 1000)
            self.publish(other, "3", "/more.mp3")
            self.wait(lambda: self.status(other, more) == 200, what="another file", daemon=other)
            self.half.gate.set()        # the rest is on its way to the one that is frozen
            time.sleep(1)
        finally:
            leader.process.send_signal(signal.SIGCONT)
        self.wait(lambda: self.status(other, self.half) == 200, what="the rest", daemon=other)
        self.wait(lambda: self.slots(other) == {"a": 128, "b": 128}, what="half of the slots each", daemon=other)
        for d in leader, other:
            for file in self.kept, more, self.half:
                self.assertEqual(file.body, d.get("/enclosure/" + file.digest).body)
        self.assertEqual("3|3|4051000", self.server_of_nodes.psql(
            "SELECT count(*), count(*) FILTER (WHERE state = 1), sum(size) FROM mirrors"))
        self.assertEqual((1, 1), (len(self.kept.asked), len(more.asked)))
        self.assertLessEqual(len(self.half.asked), 3)       # the lead may go back to the first one, with what it has
