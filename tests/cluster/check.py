"""Compares what outsiders saw of several nodes with what was promised (NODE-02 to NODE-09). It knows nothing of how the
nodes do it.

What happened to the nodes and the database is in `record.faults`: {kind, node, t, until}. `lossy` ones lose what
was acknowledged from `t` on. Near a fault some promises are weaker, and each check says which."""
import collections

from chaos import check as chaos_check
from chaos.check import seq_of

AFTER_S = 2.0       # beyond a lease and a push, so long the consequences of a fault may be seen
SLOW_S = 1.5        # a transfer that takes so long need not count against the limit of its host any more
CLOCK_S = 0.05      # of what is measured here
HASTE_S = 0.4       # requests leave a node in time and may reach a busy machine so much nearer to one another
PING_S = 40.0       # a ping is followed by a fetch within this, whatever happens


def lossy(record):
    return [f for f in record.faults if f.get("lossy")]


def is_lost_time(record, t):
    """May what was acknowledged at this time be lost?"""
    return any(f["t"] - CLOCK_S <= t <= f["until"] for f in lossy(record))


def is_left_out(record, seq):
    """Is it a number that a standby which took over did not have?"""
    return any(last < seq < following for last, following in record.forks)


def after_s(record):
    return record.options["lease_s"] + record.options["push_timeout_s"] + AFTER_S * record.options["patience"]


def near(record, t, kinds=None):
    """The faults whose consequences may be seen at this time."""
    before, after = record.options["window_s"], after_s(record)
    return [f for f in record.faults if f["t"] - before <= t <= f["until"] + after and (not kinds or f["kind"] in kinds)]


# ---- (a) the log ----
class Looks:
    """What one reader saw by SQL: each look is a snapshot."""

    def __init__(self, record, name):
        self.record, self.name = record, name
        self.known, self.top, self.at_us, self.last_seq, self.found = {}, None, 0, 0, []

    def fault(self, look, text, *args):
        self.found.append("%s at %.3f: %s" % (self.name, look["t"], text % args))

    def run(self):
        for look in self.record.sql[self.name]:
            self.check_end(look)
            for row in look["rows"]:
                self.check_row(look, row)
        return self.found

    def check_end(self, look):
        follows = [following - 1 for _, following in self.record.forks]
        if look["last_seq"] != look["newest"] and look["last_seq"] not in follows:
            self.fault(look, "the log says that it ends at %d, and its newest row is %d", look["last_seq"], look["newest"])
        if look["last_seq"] < self.last_seq and self.name == "primary" and \
                not any(f["t"] <= look["t"] for f in lossy(self.record)):
            self.fault(look, "the log went back from %d to %d", self.last_seq, look["last_seq"])
        self.last_seq = max(self.last_seq, look["last_seq"])

    def check_row(self, look, row):
        seq, at_us = row[:2]
        if seq in self.known:
            if self.known[seq] != row:
                self.fault(look, "the number %d was given twice: %s, before %s", seq, row, self.known[seq])
            return
        self.known[seq] = row
        if self.top is None:
            self.top, self.at_us = seq, at_us
            return
        if seq <= self.top:
            self.fault(look, "row %d came after %d had been seen", seq, self.top)
            return
        if seq != self.top + 1 and not self.is_jump(seq):
            self.fault(look, "a gap: row %d follows %d", seq, self.top)
        if at_us <= self.at_us:
            self.fault(look, "the time of row %d is not later than that of the row before", seq)
        self.top, self.at_us = seq, at_us

    def is_jump(self, seq):
        """From what was seen to the number after a fork; there may have been several forks without a row."""
        return any(last <= self.top < following == seq for last, following in self.record.forks) or \
            any(following == seq and any(last <= self.top < other for last, other in self.record.forks)
                for _, following in self.record.forks)


def log_faults(record):
    found = []
    for name in record.sql:
        looks = Looks(record, name)
        found += looks.run()
        end = {row[0]: row for row in record.rows}
        for seq, row in looks.known.items():
            if end.get(seq, row) != row:
                found.append("the number %d was given twice: %s, before %s" % (seq, end[seq], row))
            elif seq not in end and not is_left_out(record, seq):
                found.append("row %d was seen by %s, and is not there at the end" % (seq, name))
    first = next(iter(record.logs), None)
    for node, cursors in record.logs.items():
        if cursors != record.logs[first]:
            found.append("/log of the nodes %s and %s differ at the end" % (first, node))
    return found


def reader_faults(record, key):
    """/log at a node, /events at any: without the rows that were lost with a server."""
    sub = record.subs[key]
    sub["got"] = [r for r in sub["got"] if not is_left_out(record, seq_of(r["cursor"]))]
    return chaos_check.reader_faults(record, key)


# ---- (b) subscriptions ----
class Trail:
    """The calls to one subscription, by cursors."""

    def __init__(self, record, key):
        self.record, self.key, self.sub, self.found = record, key, record.subs[key], []
        self.rows = [r for r in record.log if r["feed"] in self.sub["feeds"] and r["kind"] in self.sub["events"]]
        self.index = {r["cursor"]: i for i, r in enumerate(self.rows)}
        low, high = self.sub["began"]
        self.began = sum(r["seq"] <= low for r in self.rows), sum(r["seq"] <= high for r in self.rows)
        self.top = None             # index of the newest row that was seen
        self.acked, self.unclear = {}, set()    # index -> when it was acknowledged first; indexes that may be
        self.marks = None           # what the previous cursor of a call may be; None: its beginning
        self.spent = collections.Counter()      # exceptions that frozen nodes have used

    def fault(self, call, text, *args):
        self.found.append("%s %s at %.3f: %s" % (self.sub["kind"], self.key, call["t"], text % args))

    def run(self):
        for call in self.record.trails.get(self.key, ()):
            if "act" not in call:
                self.check_overlap(call)
                self.check_chain(call)
                self.check_rows(call)
                self.take(call)
        self.check_end()
        return self.found

    def check_overlap(self, call):
        """A node that was frozen may finish one call."""
        if not call.get("overlap"):
            return
        freeze = next((f for f in near(self.record, call["t"], ("freeze",))), None)
        if freeze is None or self.spent[freeze["t"]]:
            self.fault(call, "a call while another one to the same endpoint is under way")
        else:
            self.spent[freeze["t"]] += 1

    def check_chain(self, call):
        if self.marks is None:
            low, high = self.sub["began"]
            if not low <= seq_of(call["prev"]) <= high:
                self.fault(call, "it begins after %s", call["prev"])
        elif call["prev"] not in self.marks:
            self.fault(call, "the chain is broken: prev_cursor is %s, acknowledged was %s", call["prev"],
                       " or ".join(sorted(self.marks)))
        due = [r["cursor"] for r in self.rows if seq_of(call["prev"]) < r["seq"] <= seq_of(call["last"])]
        got = [r["cursor"] for r in call["rows"] if not is_left_out(self.record, seq_of(r["cursor"]))]
        if due != got and (got or due):
            self.fault(call, "from %s to %s it has %s, and not %s", call["prev"], call["last"], got, due)

    def check_rows(self, call):
        for row in call["rows"]:
            i = self.index.get(row["cursor"])
            if i is None:
                if not is_left_out(self.record, seq_of(row["cursor"])):
                    self.fault(call, "%s is not due to it", row["cursor"])
                continue
            if self.top is None and not self.began[0] <= i <= self.began[1]:
                self.fault(call, "lost: it begins with %s", row["cursor"])
            if self.top is not None and i > self.top + 1:
                self.fault(call, "lost, or in another order: %s was expected, %s came",
                           self.rows[self.top + 1]["cursor"], row["cursor"])
            if i in self.acked and not self.may_repeat(call, self.acked[i]):
                self.fault(call, "again after its acknowledgement: %s", row["cursor"])
            self.top = max(i, -1 if self.top is None else self.top)

    def may_repeat(self, call, acked):
        """Was a fault between the acknowledgement and this call?"""
        return any(f["t"] <= call["t"] for f in near(self.record, acked))

    def take(self, call):
        if call["how"] not in ("acked", "unclear") or call["status"] >= 300:
            return
        if call["how"] == "acked" and not near(self.record, call["end"]):
            self.marks = {call["last"]}
        else:
            self.marks = (self.marks or {call["prev"]}) | {call["last"]}
        for row in call["rows"]:
            if row["cursor"] in self.index:
                i = self.index[row["cursor"]]
                if call["how"] == "acked":
                    self.acked.setdefault(i, call["end"])
                else:
                    self.unclear.add(i)

    def check_end(self):
        missing = [r["cursor"] for i, r in enumerate(self.rows) if i >= self.began[1] and i not in self.acked and i not in self.unclear]
        if missing:
            self.found.append("%s %s: lost: %s was not delivered" % (self.sub["kind"], self.key, missing[0]))


def topic_faults(record, key):
    """WebSub, by the checker of one node: any fault is a kill to it. A frozen node may finish a call. A document has the
    newest versions, so when some were lost nobody can tell what it should have."""
    if lossy(record):
        return []
    record.kills = [[f["t"], f["until"] + after_s(record)] for f in record.faults]
    whole = chaos_check.Topic(record, [], key).run()
    is_frozen = any(f["kind"] == "freeze" for f in record.faults)
    return [f for f in whole if not (is_frozen and "under way" in f)]


# ---- (c) fetches ----
class Fetches:
    """What origins saw: {feed, host, is_quiet, node, t, end, status, cool_s}."""

    def __init__(self, record):
        self.record, self.found = record, []
        self.exceptions = collections.Counter()

    def fault(self, fetch, text, *args):
        self.found.append("%s at %.3f by %s: %s" % (fetch["feed"], fetch["t"], fetch["node"], text % args))

    def run(self):
        for feed in {f["feed"] for f in self.record.fetches}:
            self.check_feed([f for f in self.record.fetches if f["feed"] == feed])
        for host in {f["host"] for f in self.record.fetches}:
            there = [f for f in self.record.fetches if f["host"] == host]
            self.check_limit(there)
            if there[0]["is_quiet"]:
                self.check_gaps(there)
                self.check_cooling(there)
        return self.found

    def is_excepted(self, what, *fetches):
        """A node that was frozen may finish one request that it had begun. When a server was lost, what was taken or given
        back at its last beats is lost, too: each feed may be fetched by the old and the new owner once."""
        for lost in lossy(self.record):
            if all(lost["t"] <= f["t"] <= lost["until"] + after_s(self.record) for f in fetches) and \
                    not self.exceptions[what, lost["t"]]:
                self.exceptions[what, lost["t"]] += 1
                return True
        for freeze in self.record.faults:
            if freeze["kind"] != "freeze":
                continue
            for f in fetches:
                if f["node"] == freeze["node"] and f["t"] <= freeze["until"] + 1 and f["end"] >= freeze["t"] and \
                        self.exceptions[what, freeze["t"]] < 1:
                    self.exceptions[what, freeze["t"]] += 1
                    return True
        return False

    def check_feed(self, fetches):
        last = None
        for f in sorted(fetches, key=lambda f: f["t"]):
            if last and f["t"] < last["end"] and not self.is_excepted(f["feed"], last, f):
                self.fault(f, "another fetch of it is under way, since %.3f by %s", last["t"], last["node"])
            if last is None or f["end"] > last["end"]:
                last = f

    def check_limit(self, fetches):
        most = self.record.options["per_host"]
        running = []
        for f in sorted(fetches, key=lambda f: f["t"]):
            running = [r for r in running if r["end"] > f["t"] and f["t"] - r["t"] < SLOW_S] + [f]
            if len(running) > most and not self.is_excepted(f["host"], *running):
                self.fault(f, "%d transfers with %s at once: %s", len(running), f["host"],
                           sorted({r["node"] for r in running}))

    def check_gaps(self, fetches):
        """A gap may be shorter when the owner has changed. The first fetches of feeds wait for nothing. Near a fault, and
        when the subscription has ended, nobody can tell."""
        ordered, known, later = sorted(fetches, key=lambda f: f["t"]), set(), []
        for f in ordered:
            if f["feed"] in known and f["t"] < self.record.options["calm_at"] and not near(self.record, f["t"]):
                later.append(f)
            known.add(f["feed"])
        for before, f in zip(later, later[1:]):
            if f["t"] - before["t"] < self.record.options["gap_s"] - HASTE_S and f["node"] == before["node"] and \
                    not self.is_excepted((f["host"], "gap"), before, f):
                self.fault(f, "%.3f s after another fetch at %s", f["t"] - before["t"], f["host"])

    def check_cooling(self, fetches):
        """A new owner does not know yet what its predecessor was asked for; a daemon that starts does not either."""
        for asked in fetches:
            if not asked["cool_s"] or near(self.record, asked["end"]):
                continue
            for f in fetches:
                if asked["end"] + 0.3 < f["t"] < asked["end"] + asked["cool_s"] - CLOCK_S and f["node"] == asked["node"] and \
                        not self.is_excepted((f["host"], "cool"), f):
                    self.fault(f, "%s had asked for %d s of rest at %.3f", f["host"], asked["cool_s"], asked["end"])


# ---- (d) what was acknowledged ----
def ack_faults(record):
    """record.acks: {what, t, end, key}. What is about the same key is in order."""
    last, found = {}, []
    for ack in record.acks:
        if ack["what"] == "ping":
            found += ping_faults(record, ack)
        elif not is_lost_time(record, ack["end"]):
            last[ack["key"]] = ack
        elif ack["key"] in last:
            del last[ack["key"]]
    there = set(record.tables["keys"])
    for key, ack in last.items():
        if ack["what"] == "made" and key not in there:
            found.append("acknowledged at %.3f and not in the database at the end: %s" % (ack["end"], key))
        if ack["what"] == "ended" and key in there:
            found.append("ended at %.3f and in the database at the end: %s" % (ack["end"], key))
    return found


def ping_faults(record, ack):
    if is_lost_time(record, ack["end"]) or any(
            f["feed"] == ack["key"] and ack["t"] - CLOCK_S <= f["t"] <= ack["end"] + PING_S * record.options["patience"]
            for f in record.fetches):
        return []
    return ["no fetch follows the ping of %s at %.3f" % (ack["key"], ack["end"])]


# ---- (e), (f) pages and the database at the end ----
def page_faults(record):
    """record.pages: [when, node, path, digest, entity tag]. A page that was read before a server was lost may differ, and each
    node needs a moment to learn of that. Entity tags change when another server takes over, so they are compared at
    the end only."""
    bodies, tags, found = {}, {}, []
    since = max((f["until"] + after_s(record) for f in lossy(record)), default=0)
    for t, node, path, digest, tag in record.pages:
        is_end = t >= record.options["calm_at"]
        for what, known, mark in (("body", bodies, digest), ("entity tag", tags, tag)):
            if not is_end and (t < since or what != "body"):
                continue
            first = known.setdefault(path, (mark, node, t))
            if first[0] != mark:
                found.append("the %s of %s of node %s at %.3f is not that of node %s at %.3f"
                             % (what, path, node, t, first[1], first[2]))
    return found


def table_faults(record):
    found = ["%d orphans: %s" % (n, name) for name, n in record.tables["orphans"].items() if n]
    return found + ["a session was left in a transaction: %s" % s for s in record.tables["sessions"]]


def faults(record):
    """All faults, as texts."""
    found = list(record.wrong) + log_faults(record) + Fetches(record).run() + ack_faults(record)
    found += page_faults(record) + table_faults(record)
    for key, sub in record.subs.items():
        if "got" in sub:
            found += reader_faults(record, key)
        elif sub["kind"] == "websub":
            found += topic_faults(record, key)
        else:
            found += Trail(record, key).run()
    return found
