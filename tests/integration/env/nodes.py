"""Several daemons on one PostgreSQL."""
import unittest

from .case import Case
from .postgres import Postgres

# commits whose notices are gone
MISSED = "BEGIN; %s; UPDATE log SET last_notice = last_notice + 1; SELECT pg_notify('feedmill', ''); COMMIT"


class NodesCase(Case):
    engine = "sqlite"   # a test that names no server means a file

    def server(self):
        server = Postgres()
        self.addCleanup(server.close)
        return server

    def node(self, server, name, *args):
        try:
            return self.daemon("--db", server.uri(), "--node", name, "--node-lease", "2s", "--push-timeout", "1s",
                               "--push-first-retry", "200ms", "--log-level", "debug", *args)
        except AssertionError as why:
            if "in use by another Feedmill" in str(why):
                raise unittest.SkipTest("one daemon works on a database")
            raise

    def slots(self, daemon):
        """How many slots each node has, as this one has seen it last."""
        return {n["name"]: n["slots"] for n in daemon.get("/nodes").json["nodes"]}

    def two(self, *args):
        """The nodes a and b, with half of the slots each."""
        self.server_of_nodes = self.server()
        nodes = [self.node(self.server_of_nodes, name, *args) for name in "ab"]
        for d in nodes:
            self.wait(lambda: self.slots(d) == {"a": 128, "b": 128}, what="half of the slots each", daemon=d)
        return nodes
