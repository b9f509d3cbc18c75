"""Webhooks. Some endpoints refuse some entries, alone and in a batch."""
import json
import zlib

from .base import Acted, Endpoint

EVENTS = ("new,changed", "new,changed,deleted,left", "new,changed,deleted,left,feed", "new,feed", "deleted,feed")


class Consumer(Acted, Endpoint):
    kind = "webhook"
    ok = (204, b"", {})
    actions = ("pause", "replay", "skip", "batch", "retry-dead", "drop-dead")

    def __init__(self, run, n, dice):
        super().__init__(run, n, dice)
        # one entry in so many is refused; 0: none
        self.refused_one_in = dice.choice((0, 0, 0, 9, 25))
        self.events = dice.choice(EVENTS)
        self.batch = dice.choice((100, 100, 1, 3, 10))
        self.forgiving = False
        self.n_subs = dice.choice((1, 1, 1, 1, 3))

    def subscribe(self, feeds, began):
        answer = self.run.subscribe(feeds, self.url, sink="webhook", events=self.events, batch=self.batch)
        self.trail(answer["id"], feeds, began(), events=self.events.split(","), batch=self.batch,
                   refuses=bool(self.refused_one_in))

    def read(self, ask, body):
        said = json.loads(body)
        data = said["data"]
        if said["type"] == "test":
            return None, {}
        rows = [{k: e.get(k) for k in ("kind", "cursor", "at", "uid")} |
                {"feed": e["feed"]["url"], "title": (e.get("entry") or {}).get("title")}
                for e in data.get("entries", ())]
        if said["type"] == "feed.state":
            rows = [{"kind": "feed", "cursor": data["last_cursor"], "feed": data["feed"]["url"],
                     "state": data["state"]}]
        return data["subscription"], {"id": ask.fields["webhook-id"], "rows": rows,
                                      "prev": data["prev_cursor"], "last": data["last_cursor"]}

    def refuses(self, key, one):
        """Which entries are refused is a matter of the subscription and the revision, not of dice: it is the same
        in each try."""
        if not self.refused_one_in or self.forgiving:
            return None
        for row in one["rows"]:
            mark = zlib.crc32(("%s %s" % (key, row["cursor"])).encode())
            if mark % self.refused_one_in == 0:
                return (400, 413, 415, 422)[mark // 7 % 4]
        return None
