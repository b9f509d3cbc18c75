"""What endpoints share. A consumer belongs to a run (`chaos.chaos.Run`), and writes down what it gets."""
import time
import urllib.parse

from ..moods import ENDS, Moods

KINDS = ("good", "good", "good", "flaky", "flaky", "sick", "slow", "dead")


class Endpoint:
    """An endpoint of HTTP with one or more subscriptions. A class for a sink has subscribe() and read();
    its `ok` is the answer that means delivered."""
    kind = None                             # the name of the consumer, as in NAMES
    ok = (200, b"", {})
    cut_counts = True                       # a 2xx counts although its body breaks off
    n_subs = 1                              # subscriptions with this endpoint

    def __init__(self, run, n, dice):
        self.run, self.n, self.dice = run, n, dice
        self.path = "/%s/%d" % (self.kind, n)
        self.url = run.server.url(self.path)
        self.moods = Moods(dice.choice(KINDS), dice, run.options.timeout)
        self.open, self.keys = None, []     # the Ask that is being answered; keys of its trails
        run.endpoints[self.path] = self

    def trail(self, key, feeds, began, **more):
        """Begin to note down what this subscription gets. `began`: the seqs between which it began."""
        self.keys.append(key)
        self.run.record.subs[key] = {"kind": self.kind, "endpoint": self.url, "feeds": list(feeds),
                                     "began": began, **more}
        self.run.record.trails.setdefault(key, [])

    async def serve(self, ask):
        if ask.method == "GET":
            await ask.body()
            return self.verify(ask, dict(urllib.parse.parse_qsl(ask.query, keep_blank_values=True)))
        mood = self.moods.draw()
        if mood == "leave" and ask.length > 2000 and self.dice.random() < 0.5:
            await ask.reader.readexactly(1000)      # cut in the middle of the call
            ask.reset()
            return False
        body = await ask.body()
        came = time.monotonic() - ask.age_s()
        one = {"t": time.monotonic(), "came": came, "mood": mood, "end": None, "how": None}
        one["left"] = not ask.is_there()            # it had waited here for longer than the peer did
        if self.open and self.open.is_there() and not one["left"]:
            one["overlap"] = True
        key, said = self.read(ask, body)
        one.update(said)
        if key is None:                             # nothing that is noted down
            ask.answer(*self.ok[:2], **self.ok[2])
            return True
        self.run.record.trails[key].append(one)
        if not one["left"]:
            self.open = ask
        refusal = self.refuses(key, one)
        if refusal and mood not in ENDS:
            how, status = ("refused" if ask.answer(refusal, b"because") else "failed"), refusal
        else:
            how, status = await self.moods.show(mood, ask, self.ok)
        if how == "cut":
            how = "acked" if self.cut_counts else "unclear"
        if how in ("acked", "refused") and time.monotonic() - came > self.run.options.timeout / 2:
            how = "unclear"                         # it may have come too late
        one["end"], one["how"], one["status"] = time.monotonic(), how, status

        def reset():
            if one["how"] in ("acked", "refused"):
                one["how"] = "unclear"              # the peer left without reading it
        ask.on_reset = reset
        if self.open is ask:
            self.open = None
        return mood not in ENDS

    def refuses(self, key, one):
        """The status with which it refuses this, or None."""
        return None

    def verify(self, ask, query):
        ask.answer(404)


class Acted:
    """What can be done with a subscription that has a number."""

    @staticmethod
    def act(run, key, dice, action):
        """Do one action, and note it down with what is known of its success."""
        query, noted = {"id": key, "action": action}, {"act": action}
        if action == "replay":
            rows = run.tail.rows(400)
            back = dice.randrange(1, 30)
            at = rows[-back] if len(rows) >= back else None
            query["from"] = at["cursor"] if at else "start"
            noted["seq"] = at["seq"] if at else 0
        elif action == "skip":
            end = run.daemon.get("/log?since=end").json
            query["to"], noted["seq"] = end["cursor"], end["seq"]
        elif action == "batch":
            noted["batch"] = dice.choice((1, 2, 3, 5, 100))
            run.patch(key, {"batch": noted["batch"]}, noted)
            return
        run.post("/sub?" + urllib.parse.urlencode(query), noted, key)
