"""How an endpoint behaves: a mood for each call, drawn by the dice of the endpoint.

A mood is a coroutine function of an Ask whose body was read. It returns (what came of it, status): "acked",
a 2xx was sent whole; "failed": no 2xx was sent, or its peer had left; "unclear": a 2xx was sent, and it
cannot be known whether the peer waited for it."""

LATE_S = 0.4        # after the time-out of the daemon


class Moods:
    """`kind` says how often it fails; `timeout` is --push-timeout in seconds."""
    KINDS = {
        "good": {"answer": 97, "slow": 2, "busy": 1},
        "flaky": {"answer": 60, "fail": 12, "busy": 4, "leave": 8, "cut_head": 6, "cut_body": 5, "moved": 5},
        "sick": {"answer": 25, "fail": 25, "unavailable": 10, "leave": 20, "cut_head": 10, "slow": 10},
        "slow": {"answer": 50, "slow": 40, "late": 5, "hang": 5},
        "dead": {"answer": 20, "hang": 40, "late": 20, "leave": 20},
    }

    def __init__(self, kind, dice, timeout):
        self.kind, self.dice, self.timeout, self.calm = kind, dice, timeout, False
        self.names, self.weights = zip(*self.KINDS[kind].items())

    def draw(self):
        """The name of the next mood. It is drawn even when it does not count: the dice go on as before."""
        name = self.dice.choices(self.names, self.weights)[0]
        return "answer" if self.calm else name

    async def show(self, name, ask, ok):
        """`ok`: the status of a good answer, with its body."""
        return await getattr(self, "_" + name)(ask, ok)

    @staticmethod
    def _good(ask, ok):
        status, body, fields = ok
        return "acked" if ask.answer(status, body, **fields) else "failed"

    async def _answer(self, ask, ok):
        return self._good(ask, ok), ok[0]

    async def _slow(self, ask, ok):
        if await ask.left(self.dice.uniform(0.02, 0.3)):
            return "failed", 0
        return self._good(ask, ok), ok[0]

    async def _fail(self, ask, _):
        ask.answer(self.dice.choice((500, 502, 404, 403)), b"no")
        return "failed", 500

    async def _unavailable(self, ask, _):
        ask.answer(503, b"")
        return "failed", 503

    async def _busy(self, ask, _):
        ask.answer(429, b"", Retry_After="1")
        return "failed", 429

    async def _moved(self, ask, _):
        ask.answer(302, b"", Location="/elsewhere")
        return "failed", 302

    async def _leave(self, ask, _):
        """It accepts, and dies before it answers."""
        ask.reset()
        return "failed", 0

    async def _cut_head(self, ask, _):
        ask.send(b"HTTP/1.1 20")
        return "failed", 0

    async def _cut_body(self, ask, ok):
        """The status is there and counts; the body breaks off."""
        if not ask.send(b"HTTP/1.1 %d x\r\nContent-Length: 1000\r\n\r\nhalf" % ok[0]):
            return "failed", ok[0]
        return "cut", ok[0]

    async def _hang(self, ask, _):
        await ask.left(60)
        return "failed", 0

    async def _late(self, ask, ok):
        if await ask.left(self.timeout + LATE_S):
            return "failed", 0
        return "unclear" if ask.answer(ok[0], ok[1], **ok[2]) else "failed", ok[0]


ENDS = {"leave", "cut_head", "cut_body", "hang", "late"}    # after these the connection ends
