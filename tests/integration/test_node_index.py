"""Several nodes on one log: the index of words, which one node makes for all."""
from .env.nodes import NodesCase

N = 1200    # more than one node adds at a time
LEADER = "SELECT n.name FROM slots s JOIN nodes n ON n.id = s.owner WHERE s.slot = 0"
# the storer that has come so far waits within its transaction
HOLD = ("CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN IF NEW.seq > %d THEN PERFORM pg_sleep(300); END IF; RETURN NEW; END $$;"
        "CREATE TRIGGER hold BEFORE INSERT OR UPDATE ON indexed FOR EACH ROW EXECUTE FUNCTION hold()" % (N // 2))
HELD = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'"


def words(n):
    items = "".join("<item><guid>g%d</guid><title>every word%d %s</title></item>"
                    % (i, i, "third" if i % 3 == 0 else "") for i in range(n))
    return "<rss version='2.0'><channel><title>t</title>%s</channel></rss>" % items


class NodeIndex(NodesCase):
    def test_its_node_is_killed_in_the_middle(self):    # NODE-06 NODE-03
        nodes = dict(zip("ab", self.two()))
        server = self.server_of_nodes
        leader = nodes.pop(server.psql(LEADER))
        other, = nodes.values()
        server.psql(HOLD)
        url = self.origin().set("/f", words(N))
        self.assertEqual(200, other.feed(url, len=0).status)
        self.wait(lambda: server.psql(HELD) == "1", what="a group that is not stored yet", daemon=leader)
        leader.kill()
        reached = int(server.psql("SELECT seq FROM indexed"))
        self.assertTrue(0 < reached <= N // 2, reached)
        server.psql("DROP TRIGGER hold ON indexed;"
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'PgSleep'")
        self.wait(lambda: server.psql("SELECT seq >= %d FROM indexed" % N) == "t", what="the rest", daemon=other)
        self.assertEqual(N - reached, other.counter("index_rows_total"))
        # each revision is there once, with its own words; so what is found is all there is
        self.assertEqual("%d|%d" % (N, N), server.psql("SELECT count(*), count(DISTINCT seq) FROM terms"))
        for word, n in (("every", N), ("third", N // 3), ("word7", 1), ("word%d" % (N - 1), 1), ("nothing", 0)):
            entries = other.feed(url, len=1000, q=word).json["entries"]
            self.assertEqual(min(n, 1000), len(entries), word)
        log = other.get("/log?q=third&max=1000").json["revisions"]
        self.assertEqual(N // 3, len(log))
