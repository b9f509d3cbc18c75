"""Publishers at several hosts, and what they see of those who fetch."""
import re
import time

from chaos import world
from chaos.server import Server as OneHost
from integration.env.servers import free_port

HOSTS, QUIET = 4, 2         # publishers and endpoints at so many hosts; beside them, feeds that nobody pings or reads
QUIET_FEEDS = 3             # at each quiet host
NODE = re.compile(r"http://([a-z0-9]+)\.node\.example/")
COOL_S = 2


def hosts():
    return ["127.0.0.%d" % n for n in range(1, HOSTS + QUIET + 1)]


class Server(OneHost):
    """Its paths are spread over the hosts by their number."""

    def __init__(self):
        super().__init__(hosts(), free_port())

    def url(self, path, host=None):
        n = int(re.search(r"\d+$", path).group())
        return super().url(path, host or hosts()[n % HOSTS])


class Feed(world.Feed):
    """Notes each request for it in `seen`. A quiet one asks for rest at times."""
    world = None

    def __init__(self, server, n, dice, quiet_host=None):
        super().__init__(server, n, dice)
        self.quiet = quiet_host is not None
        if self.quiet:
            self.url = server.url("/feeds/" + self.name, quiet_host)

    async def serve(self, ask):
        node = NODE.search(ask.fields.get("user-agent", ""))
        fetch = {"feed": self.url, "host": self.url.split("/")[2], "is_quiet": self.quiet, "t": time.monotonic() - ask.age_s(),
                 "node": node and node.group(1), "end": float("inf"), "status": 0, "cool_s": 0}
        self.world.fetches.append(fetch)
        try:
            left = await ask.left(0 if self.world.is_calm else self.dice.choice((0, 0.02, 0.1, 0.4)))
        finally:
            fetch["end"] = time.monotonic()
        if left:
            return False
        if self.quiet and not self.world.is_calm and self.dice.random() < 0.04:
            fetch["status"], fetch["cool_s"] = 429, COOL_S
            ask.answer(429, Retry_After=str(COOL_S))
        else:
            await super().serve(ask)
            fetch["status"] = 200
        return True


class World(world.World):
    """`fetches`: all that was requested."""

    def __init__(self, server, n_feeds, dice):
        self.fetches, self.is_calm = [], False
        kind = type("Feed", (Feed,), {"world": self})
        super().__init__(server, n_feeds, dice, kind)
        quiet = [kind(server, n_feeds + n, dice, hosts()[HOSTS + n % QUIET]) for n in range(QUIET * QUIET_FEEDS)]
        by_path = {"/feeds/" + f.name: f for f in self.feeds + quiet}
        self.quiet = quiet

        async def serve(ask):
            return await by_path[ask.path].serve(ask)
        server.routes["feeds"] = serve
