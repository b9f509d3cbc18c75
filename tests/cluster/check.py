"""Compares what outsiders saw of several nodes with what was promised. It knows nothing of how the nodes do it.

Which check proves what:
    NODE-01  all of this goes on on PostgreSQL; the integration tests do by hand (HACKING.md)
    NODE-02  look(), look_list(), change() of cluster.py, ack_faults()
    NODE-03  Looks, log_faults(), reader_faults(), page_faults(), cursor_faults()
    NODE-04  Fetches
    NODE-05  Trail, topic_faults(), Looks.check_positions()
    NODE-06  Trail, Fetches.check_rest(), Trail.check_late(), table_faults()
    NODE-07  reader_faults(), wake_faults()
    NODE-08  ack_faults(), answer_faults(), away_faults(); cluster.py waits for /readyz after each fault
    NODE-09  Looks, log_faults(), shown_faults()
    NODE-10  moved_faults()
    NODE-11  node_faults(); drain() of faults.py waits for the end of a drain
    NODE-12  misfit_faults()

What happened to the nodes and the database is in `record.faults`: {kind, node, t, until}. `lossy` ones lose what
was acknowledged from `t` on. Near a fault some promises are weaker, and each check says which."""
import collections

from chaos import check as chaos_check
from chaos.check import seq_of

STOPS = ("leave", "drain")      # the node ends as it should
FREEZES = ("freeze", "held_commit", "held_transfer")     # after these a node goes on with what it had begun
BEATS_S, ANSWER_S = 30.0, 5.0   # NODE-06: work goes on within; NODE-08: a request is answered within
WAKE_S = 0.3        # NODE-07: half of the long polls end within this. The second look of a node takes 0.5 s
REFUSES_S = 10.0    # NODE-12
BUSY = 4            # processes that want to run, for each core: then nobody can tell who is late
SLOTS = 256
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


def quantiles(values, which):
    ordered = sorted(values)
    return [ordered[min(len(ordered) - 1, int(q * len(ordered)))] for q in which] if ordered else []


def is_busy(record, since, until):
    """Has the machine had too much to do at this time?"""
    there = [share for t, share in record.load if since - 1 <= t <= until + 1]
    return bool(there) and sum(there) / len(there) > BUSY


def broken_s(record, since, until):
    """So long something was broken between these times."""
    ends = sorted((max(f["t"], since), min(f["until"], until)) for f in record.faults)
    total = 0.0
    for begin, end in ends:
        total += max(0.0, end - max(begin, since))
        since = max(since, end)
    return total


# ---- (a) the log ----
class Looks:
    """What one reader saw by SQL: each look is a snapshot."""

    def __init__(self, record, name):
        self.record, self.name = record, name
        self.known, self.top, self.at_us, self.last_seq, self.found = {}, None, 0, 0, []
        self.positions = {}     # of subscriptions

    def fault(self, look, text, *args):
        self.found.append("%s at %.3f: %s" % (self.name, look["t"], text % args))

    def run(self):
        for look in self.record.sql[self.name]:
            self.check_end(look)
            self.check_positions(look)
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

    def check_positions(self, look):
        """They never go back, but with a server that is lost."""
        for sub, position in look.get("positions", {}).items():
            before, at = self.positions.get(sub, (0, 0))
            if position < before and not any(f["until"] >= at - CLOCK_S and f["t"] <= look["t"] for f in lossy(self.record)):
                self.fault(look, "the position of subscription %s went back from %d to %d", sub, before, position)
            self.positions[sub] = position, look["t"]

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
        if self.sub.get("witness"):
            self.check_late()
        return self.found

    def check_late(self):
        """It never fails, so what is late was with the nodes. Other endpoints of its host may hold it up for one call."""
        seen = {}
        for look in self.record.sql["primary"]:
            for row in look["rows"]:
                seen.setdefault(row[0], look["t"])
        came = {}
        for call in self.record.trails.get(self.key, ()):
            for row in call.get("rows", ()):
                came.setdefault(row["cursor"], call["t"])
        for row in self.rows[self.began[1]:]:
            since, until = seen.get(row["seq"]), came.get(row["cursor"])
            if since and until and not is_busy(self.record, since, until) and until - since > BEATS_S * self.record.options["patience"] + broken_s(self.record, since, until):
                self.found.append("%s %s at %.3f: %s came %.1f s after it was in the log"
                                  % (self.sub["kind"], self.key, until, row["cursor"], until - since))

    def check_overlap(self, call):
        """A node that was frozen may finish one call."""
        if not call.get("overlap"):
            return
        freeze = next((f for f in near(self.record, call["t"], FREEZES)), None)
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
    is_frozen = any(f["kind"] in FREEZES for f in record.faults)
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
            its = [f for f in self.record.fetches if f["feed"] == feed]
            self.check_feed(its)
            if its[0]["is_quiet"]:
                self.check_rest(its)
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
            if freeze["kind"] not in FREEZES:
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

    def check_rest(self, fetches):
        """Nobody pings it, and it is fetched again all the time, by its old owner or by the next one."""
        times = sorted(f["t"] for f in fetches if f["t"] < self.record.options["calm_at"]) + [self.record.options["calm_at"]]
        for since, until in zip(times, times[1:]):
            if not is_busy(self.record, since, until) and until - since > BEATS_S * self.record.options["patience"] + broken_s(self.record, since, until):
                self.found.append("%s at %.3f: for %.1f s nobody fetched it" % (fetches[0]["feed"], until, until - since))

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
                    not is_busy(self.record, before["t"], f["t"]) and not self.is_excepted((f["host"], "gap"), before, f):
                self.fault(f, "%.3f s after another fetch at %s", f["t"] - before["t"], f["host"])

    def check_cooling(self, fetches):
        """Of the next owner, too, and of a daemon that starts."""
        for asked in fetches:
            if not asked["cool_s"] or near(self.record, asked["end"]):
                continue
            for f in fetches:
                if asked["end"] + 0.3 < f["t"] < asked["end"] + asked["cool_s"] - CLOCK_S and \
                        not is_busy(self.record, asked["end"], f["t"]) and not self.is_excepted((f["host"], "cool"), f):
                    self.fault(f, "%s had asked for %d s of rest at %.3f", f["host"], asked["cool_s"], asked["end"])


# ---- (d) what was acknowledged ----
def ack_faults(record):
    """record.acks: {what, t, end, key}. What is about the same key is in order."""
    last, changed, found = {}, {}, []
    for ack in record.acks:
        if ack["what"] == "ping":
            found += ping_faults(record, ack)
        elif ack["what"] in ("changed", "maybe"):
            changed[ack["key"]] = None if ack["what"] == "maybe" or is_lost_time(record, ack["end"]) else ack
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
    folders = record.tables.get("folders", {})
    return found + ["changed at %.3f, and not so at the end: %s" % (ack["end"], key) for key, ack in changed.items()
                    if ack and key in folders and folders[key] != [[ack["folder"]]]]


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


# ---- what clients were answered ----
def cursor_faults(record):
    """record.cursors: a cursor of one node is taken by another as its own. A server that is lost takes its end along."""
    found = []
    for t, status, given, got, first in record.cursors:
        if any(f["t"] <= t <= f["until"] + after_s(record) for f in lossy(record)):
            continue
        if status not in (0, 200, 503):
            found.append("the cursor %s of another node was answered with %d at %.3f" % (given, status, t))
        elif status == 200 and (seq_of(got) < seq_of(given) or (first and seq_of(first) <= seq_of(given))):
            found.append("the cursor %s of another node was taken for an earlier one at %.3f: %s, and then %s"
                         % (given, t, first, got))
    return found


def answer_faults(record):
    """record.answers: in time, whatever the database does. A node that has stopped answers later."""
    found = []
    for t, end, what, status, again in record.answers:
        has_stopped = any(f["kind"] in FREEZES and f["t"] <= end and f["until"] >= t for f in record.faults)
        if status and end - t > ANSWER_S * record.options["patience"] and not has_stopped and \
                not is_busy(record, t, end):
            found.append("%s at %.3f was answered after %.1f s" % (what, t, end - t))
        is_write = not what.startswith("GET ")      # of which a node that stops does not know whether it was done
        if status == 503 and again is None and what != "GET /readyz" and not (is_write and near(record, end, STOPS)):
            found.append("%s at %.3f: 503 without Retry-After" % (what, t))
    return found


def away_faults(record):
    """record.away: a node that has no database says so."""
    return ["%s of node %s, which was cut off, was %d at %.3f" % (what, node, status, t)
            for t, node, what, status in record.away if status not in (0, 503)]


def wakes_s(record):
    """How long after its commit a row ended the long polls that waited for it, while nothing was broken."""
    at = {row[0]: row[1] / 1e6 - record.options["wall_s"] for row in record.rows}
    return [end - at[seq] for t, end, seq in record.wakes
            if seq in at and t + CLOCK_S < at[seq] and not near(record, t) and not near(record, end)]


def wake_faults(record):
    found = [] if is_busy(record, 0, float("inf")) else wakes_s(record)
    middle = quantiles(found, (0.5,))
    if len(found) >= 20 and middle[0] > WAKE_S * record.options["patience"]:
        return ["half of %d long polls ended more than %.3f s after the commit" % (len(found), middle[0])]
    return []


# ---- the end ----
def shown_faults(record):
    """record.shown: what feeds show at the end is in the log, even what was lost in between."""
    newest = {}
    for row in record.log:
        newest[row["feed"], row["uid"]] = row
    return ["%s shows %s as %r at the end, and the log has %r" % (feed, uid, title, row and (row["kind"], row["title"]))
            for feed, entries in record.shown.items() for uid, title in entries.items()
            for row in [newest.get((feed, uid))] if not row or row["kind"] == "deleted" or row["title"] != title]


def node_faults(record):
    """record.tables["nodes"]: by the node that was asked, [name, slots, behind] of all."""
    found, there = [], record.tables.get("nodes", {})
    for asked, nodes in there.items():
        if sorted(n[0] for n in nodes) != sorted(there):
            found.append("/nodes of %s has %s at the end" % (asked, [n[0] for n in nodes]))
        elif sum(n[1] for n in nodes) != SLOTS or any(n[2] for n in nodes):
            found.append("/nodes of %s at the end: %s" % (asked, nodes))
    return found


def moved_faults(record):
    """record.moved: a file that was made of the database shows the same."""
    moved, found = record.moved, []
    if not moved:
        return []
    if any(moved["check"]):
        return ["feedmill migrate: %s %s" % (moved["check"], moved["said"])]
    if moved["log"] != next(iter(record.logs.values())):
        found.append("/log of the file to which all was moved differs")
    if sorted(moved["keys"]) != sorted(record.tables["keys"]):
        found.append("the file to which all was moved has other subscriptions")
    last = {page[2]: page[3] for page in record.pages if page[0] >= record.options["calm_at"]}
    return found + ["%s of the file to which all was moved differs" % path for path, seen in moved["pages"].items()
                    if last.get(path) != seen]


def misfit_faults(record):
    """record.misfits: nodes that differ from the others."""
    found = []
    for m in record.misfits:
        busy = is_busy(record, m["t"] - m["took_s"], m["t"])
        if "cannot connect" in m["said"] and (
                busy or near(record, m["t"], {f["kind"] for f in record.faults} - {"misfit"})):
            continue            # it did not come so far
        late = m["took_s"] > REFUSES_S * record.options["patience"] and not busy
        if not m["status"] or late or m["option"] not in m["said"]:
            found.append("a node with another %s ended with %s after %.1f s at %.3f: %s"
                         % (m["option"], m["status"], m["took_s"], m["t"], m["said"]))
    return found


def faults(record):
    """All faults, as texts."""
    found = list(record.wrong) + log_faults(record) + Fetches(record).run() + ack_faults(record)
    for more in (page_faults, table_faults, cursor_faults, answer_faults, away_faults, wake_faults, shown_faults, node_faults,
                 moved_faults, misfit_faults):
        found += more(record)
    for key, sub in record.subs.items():
        if "got" in sub:
            found += reader_faults(record, key)
        elif sub["kind"] == "websub":
            found += topic_faults(record, key)
        else:
            found += Trail(record, key).run()
    return found
