"""Compares what was recorded with what the requirements demand. It knows nothing of how the daemon does it.

The truth is the log, read whole at the end, and the events of feeds, which stand in the same order. What a
subscription is due are its *items*: the revisions and events that it asked for. A checker holds all *states* in which
the subscription may be: how many items were acknowledged, where its chain is, and which delivery is under way. Each
call must fit one of them. There are several after a kill, because what was acknowledged in the last two seconds before
it may come again, and after an action whose answer did not come."""
import bisect
import collections

BEGAN = "where it began"
SLACK_S = 5.0       # a call may be under way so long when an action is answered
STALL_AROUND_S = 3.0    # a call so near to a stall may have been too late for the daemon
TICK_S = 0.02       # when a call came is known so exactly
LATE_S = 30.0       # who never fails has everything within this time
SANITIZED_KIB = 1 << 30     # a sanitizer reserves more addresses than this; then memory is not judged
GROWTH_KIB = 64 * 1024      # more than this in the last two thirds of the life of the last daemon is a leak

# done: items that were acknowledged; mark: the last_cursor of the delivery that was acknowledged last (BEGAN: where the
# subscription began; None: any that leads to `done`); tried: (end, is_refused) of the delivery that was tried at `done`; acts: number of actions that set
# the position
State = collections.namedtuple("State", "done mark tried acts")
Step = collections.namedtuple("Step", "at order what thing")


def seq_of(cursor):
    """Cursors are taken apart here only: to have events of feeds, which are not in the log, in their order."""
    return int(cursor.split(".")[2])


def with_doubts(record):
    """When the machine was too busy, what seemed to be answered in time may have come too late. Such calls are
    unclear."""
    stalls = sorted(record.stalls)
    starts = [began for began, _ in stalls]
    longest = max((until - began for began, until in stalls), default=0)
    for trail in record.trails.values():
        for call in trail if stalls else ():
            if call.get("how") not in ("acked", "refused"):
                continue
            for began, until in stalls[bisect.bisect_left(starts, call["t"] - STALL_AROUND_S - longest):]:
                if began > call["end"] + STALL_AROUND_S:
                    break
                if until > call["t"] - STALL_AROUND_S:
                    call["seemed"], call["how"] = call["how"], "unclear"
                    break


def feed_events(record):
    """What happened to feeds: all that was told to any subscription, by cursor."""
    told, wrong = {}, []
    for trail in record.trails.values():
        for call in trail:
            for row in call.get("rows", ()):
                if row.get("kind") == "feed" and call["prev"] != call["last"]:  # a dead letter has no cursor of its own
                    known = told.setdefault(row["cursor"], dict(row, seq=seq_of(row["cursor"])))
                    if (known["feed"], known["state"]) != (row["feed"], row["state"]):
                        wrong.append("two events of feeds have the cursor %s" % row["cursor"])
    last = {}
    for row in sorted(told.values(), key=lambda r: r["seq"]):
        before = last.get(row["feed"])
        if row["state"] in ("broken", "recovered"):
            if row["state"] == before or (row["state"] == "recovered" and before is None):
                wrong.append("%s is %s after %s (%s)" % (row["feed"], row["state"], before, row["cursor"]))
            last[row["feed"]] = row["state"]
    return list(told.values()), wrong


def read_rows(record, sub):
    """The rows that a reader of /events or /log is due."""
    return [r for r in record.log if r["seq"] > sub["began"][0] and (sub["feeds"] is None or r["feed"] in sub["feeds"])]


class Items:
    """What a subscription is due, in order."""

    def __init__(self, record, events, sub):
        feeds, kinds = set(sub["feeds"]), set(sub["events"])
        rows = [r for r in record.log if r["feed"] in feeds and r["kind"] in kinds]
        rows += [r for r in events if r["feed"] in feeds and "feed" in kinds]
        self.rows = sorted(rows, key=lambda r: r["seq"])
        self.by_cursor = {r["cursor"]: i for i, r in enumerate(self.rows)}
        self.by_title = {r.get("title"): i for i, r in enumerate(self.rows) if r.get("title")}

    def until(self, seq):
        """How many of them come up to this seq."""
        return sum(1 for r in self.rows if r["seq"] <= seq)

    def __len__(self):
        return len(self.rows)

    def name(self, i):
        if i >= len(self.rows):
            return "the end"
        return "%s (%s)" % (self.rows[i]["cursor"], self.rows[i].get("title") or self.rows[i]["kind"])


def in_order(trail):
    """The trail in the order in which things were begun. On a machine that is too busy, a call that the daemon has
    given up may be read only after its repeat, which came by another connection. It had failed before that one."""
    done = []
    for thing in trail:
        after = next((i for i, other in enumerate(done) if other.get("came", 0) > thing["came"] + TICK_S), None) \
            if thing.get("left") else None
        if after is not None:
            at = done[after]["t"]
            done.insert(after, {**thing, "t": at, "end": at, "how": "failed"})
        else:
            done.append(thing)
    return done


def steps_of(record, kind, trail):
    """Calls, actions and kills of a subscription in the order of time."""
    steps = []
    for thing in in_order(trail):
        what = "act" if "act" in thing else "call"
        steps.append(Step(thing["t"], len(steps), what, thing))
        if thing["end"] is not None:
            steps.append(Step(thing["end"], len(steps), what + " end", thing))
    for away, back in record.outages.get(kind, ()):
        steps.append(Step(away, -1, "away", away))
        steps.append(Step(back, -1, "back", back))
    for killed, emptied in record.kills:
        steps.append(Step(killed, -1, "kill", killed))
        steps.append(Step(emptied, -1, "emptied", emptied))
    return sorted(steps, key=lambda s: (s.at, s.order))


class Trail:
    """The check of one subscription to which calls are made. Subclasses say what a call is."""
    SETS_POSITION = ("replay", "skip")

    def __init__(self, record, events, key):
        self.record, self.key, self.sub = record, key, record.subs[key]
        self.items, self.faults = Items(record, events, self.sub), []
        low, high = (self.items.until(seq) for seq in self.sub["began"])
        self.began = low, high
        self.states = {State(n, BEGAN, None, 0) for n in range(low, high + 1)}
        self.history = []           # (since when, states)
        self.stale, self.stale_until = set(), 0     # what calls may come from that an action has overtaken
        self.latest, self.under_way, self.is_dead = None, {}, False    # is_dead: killed, and what it had sent is still read
        self.open_act, self.last_act, self.n_acts, self.sure_acts = None, None, 0, 0
        self.batches = [[self.sub.get("batch") or 100, float("inf")]]   # how many, until when
        self.batch_until, self.paused_at = 0, None

    def fault(self, at, text, *args):
        self.faults.append("%s %s at %.3f: %s" % (self.sub["kind"], self.key, at, text % args))

    def set_states(self, at, states):
        self.states = set(states)
        self.history.append((at, frozenset(self.states)))

    def change_states(self, change):
        """Change all states, those of the past as well."""
        self.states = {change(s) for s in self.states}
        self.history = [(at, frozenset(change(s) for s in states)) for at, states in self.history]

    def run(self):
        self.history.append((0, frozenset(self.states)))
        for step in steps_of(self.record, self.sub["kind"], self.record.trails.get(self.key, ())):
            getattr(self, "on_" + step.what.replace(" ", "_"))(step.at, step.thing)
        self.on_the_end()
        return self.faults

    # ---- kills ----
    def states_since(self, since):
        """Those of now, and all from that moment on."""
        back = set(self.states)
        for (_, states), (until, _) in zip(reversed(self.history[:-1]), reversed(self.history)):
            if until < since:
                break
            back |= states
        return back

    def on_kill(self, at, _):
        """Back to any state of the last two seconds; but actions that were answered are on disk."""
        back = self.states_since(at - self.record.options["window_s"])
        for act in (self.last_act, self.open_act):
            if act:
                back |= {self.after(s, act) for s in back if s.acts < act["number"]}
        back = {s for s in back if s.acts >= self.sure_acts}
        if at <= self.batch_until:
            back = {s._replace(tried=None) for s in back}
        tried = {s._replace(tried=None) for s in back if s.tried}
        self.is_dead = True
        self.set_states(at, back - tried)   # what was tried stays fixed

    def on_emptied(self, at, _):
        self.is_dead = False
        self.under_way.clear()

    # ---- actions ----
    def after(self, state, act):
        """The state when this action is done."""
        done = self.items.until(act["seq"])
        if act["act"] == "skip":
            done = max(done, state.done)
        return State(done, state.mark, None, act["number"])

    def with_open_act(self, states):
        if self.open_act is None:
            return set(states)
        return set(states) | {self.after(s, self.open_act) for s in states if s.acts < self.open_act["number"]}

    def on_act(self, at, act):
        if act["act"] == "batch":
            self.change_batch(at, act)
        elif act["act"] == "resume":
            self.paused_at = None
        elif act["act"] in self.SETS_POSITION:
            self.n_acts += 1
            act["number"], self.open_act = self.n_acts, act
            self.stale = set(self.states) | (self.stale if at <= self.stale_until else set())
            self.set_states(at, self.with_open_act(self.states))

    def on_act_end(self, at, act):
        if act["act"] == "batch":
            self.change_batch(at, act)
        elif act["act"] == "pause" and act["status"] == 200:
            self.paused_at = at
        elif act["act"] in self.SETS_POSITION:
            self.end_act(at, act)

    def change_batch(self, at, act):
        """A delivery that was tried may have another size now."""
        if act["end"] == at and act["status"] == 200:
            self.batches = [[n, min(until, at + SLACK_S)] for n, until in self.batches]
        if act["status"] in (200, None):
            self.batches.append([act["batch"], float("inf")])
        self.batch_until = at + SLACK_S
        self.change_states(lambda s: s._replace(tried=None))

    def end_act(self, at, act):
        self.open_act = None
        if act["status"] == 200:
            self.sure_acts, self.last_act = act["number"], act
            self.stale |= {s for s in self.states if s.acts < act["number"]}
            self.stale_until = at + SLACK_S
            self.set_states(at, {s for s in self.states if s.acts >= act["number"]})
        elif act["status"] is not None:
            self.set_states(at, {s for s in self.states if s.acts < act["number"]})
        else:       # nobody knows
            self.sure_acts, self.last_act = act["number"], None
            self.stale_until = at + SLACK_S
            self.set_states(at, self.states)
            self.change_states(lambda s: s._replace(acts=act["number"]))

    # ---- calls ----
    def on_call(self, at, call):
        self.latest = call
        self.check_time(at, call)
        found = self.indexes(at, call)
        if not found:
            return
        a, b = self.check_order(at, found)
        self.check_batch(at, call, a, b)
        fitting = {s for s in self.states if self.fits(s, call, a, b)}
        stale = (self.open_act is not None or call.get("came", at) <= self.stale_until) and \
            any(self.fits(s, call, a, b) for s in self.stale)
        if not fitting and not stale:
            self.unfit(at, call, a, b)
            fitting = {State(a, call.get("prev"), None, self.n_acts)}
        is_old = call.get("left") and at <= self.batch_until       # it may be of the time before the size was changed
        fitting = {s._replace(tried=None if is_old else (b, False)) for s in fitting}
        if fitting and not stale and not self.is_dead:
            self.set_states(at, self.with_open_act(fitting))
        self.under_way[id(call)] = (a, b, fitting, stale)

    def check_time(self, at, call):
        if call.get("overlap"):
            self.fault(at, "a call while another one to the same endpoint is under way")
        if self.paused_at is not None and at > self.paused_at + SLACK_S:
            self.fault(at, "a call although it was paused at %.3f", self.paused_at)

    def check_order(self, at, found):
        """Items of one delivery follow one another. Returns the first, and the one after the last."""
        a, b = min(found), max(found) + 1
        if sorted(found) != list(range(a, b)):
            self.fault(at, "a delivery with something left out, or twice: %s", [self.items.name(i) for i in found])
        elif found != sorted(found):
            self.fault(at, "a delivery in another order than the log: %s", [self.items.name(i) for i in found])
        return a, b

    def check_batch(self, at, call, a, b):
        most = max(n for n, until in self.batches if at <= until)
        if b - a > most and not any(s.tried == (b, False) for s in self.states):
            self.fault(at, "%d entries in a delivery of at most %d", b - a, most)

    def fits(self, state, call, a, b):
        return state.done == a and self.in_chain(state, call) and self.is_the_same_again(state, b)

    def in_chain(self, state, call):
        if "prev" not in call:
            return True
        if state.mark == BEGAN:
            return self.began[0] <= self.items.until(seq_of(call["prev"])) <= self.began[1]
        if state.mark is None:
            return self.items.until(seq_of(call["prev"])) == state.done
        return call["prev"] == state.mark

    @staticmethod
    def is_the_same_again(state, b):
        """A delivery is fixed at its first try, unless it was refused: then a smaller part is tried."""
        if state.tried is None:
            return True
        end, is_refused = state.tried
        return b < end if is_refused else b == end

    def unfit(self, at, call, a, b):
        """Say what is wrong with a call that fits no state."""
        done = sorted({s.done for s in self.states})
        if a not in done:
            if a > done[-1]:
                self.fault(at, "lost: %s was expected, %s came", self.items.name(done[-1]), self.items.name(a))
            else:
                self.fault(at, "again after its acknowledgement: %s came, %s was expected", self.items.name(a),
                           self.items.name(done[0]))
        elif not any(s.done == a and self.in_chain(s, call) for s in self.states):
            self.fault(at, "the chain is broken: prev_cursor is %s, acknowledged was %s", call.get("prev"),
                       " or ".join(sorted({str(s.mark) for s in self.states if s.done == a})))
        else:
            self.fault(at, "another delivery than the one that was tried: it ends at %s, not at %s",
                       self.items.name(b - 1), " or ".join(sorted({
                           self.items.name(s.tried[0] - 1) for s in self.states if s.done == a and s.tried})))

    def on_call_end(self, at, call):
        if id(call) not in self.under_way:
            return
        a, b, fitting, stale = self.under_way.pop(id(call))
        is_late = self.latest is not call       # the daemon did not wait for its end
        if is_late and call["how"] not in ("acked", "unclear"):
            return
        overtaken = stale or any(s.acts < self.sure_acts for s in fitting)
        moves = call["how"] in ("acked", "unclear") or self.is_buried(call, a, b)
        states = set()
        for s in fitting:
            if s.acts >= self.sure_acts:
                states |= self.outcomes(at, call, a, b, s)
        if overtaken and moves:     # the chain moves, the position does not
            states |= {s._replace(mark=call.get("last")) for s in self.states}
        if (overtaken and call["how"] != "acked") or self.is_dead or is_late:
            states |= self.states
        if at <= self.batch_until:
            states = {s._replace(tried=None) for s in states}
        self.set_states(at, self.with_open_act(states))

    def is_buried(self, call, a, b):
        """Was it refused for good, as far as one knows?"""
        return False

    def outcomes(self, at, call, a, b, s):
        taken, kept = State(b, call.get("last"), None, s.acts), s._replace(tried=(b, False))
        if call["how"] == "acked":
            return {taken}
        if call["how"] == "unclear" and call["status"] < 300:
            return {taken, kept}
        return {kept}

    def on_the_end(self):
        done = sorted({s.done for s in self.states})
        if len(self.items) not in done:
            self.fault(0, "lost: %s and what follows it was not delivered", self.items.name(done[-1]))

    def indexes(self, at, call):
        """Of the items of a call."""
        raise NotImplementedError


class ByTitle(Trail):
    """XML-RPC."""

    def indexes(self, at, call):
        found = [self.items.by_title.get(t) for t in call["titles"]]
        for title, i in zip(call["titles"], found):
            if i is None:
                self.fault(at, "%r is not due to it", title)
            elif call["url"] != self.items.rows[i]["feed"]:
                self.fault(at, "%r came with the URL %s", title, call["url"])
        return [i for i in found if i is not None]


class ByCursor(Trail):
    """Sinks that send cursors: webhooks and all that look like them."""

    def __init__(self, *args):
        super().__init__(*args)
        self.refused = {}       # item -> the calls in which it was refused alone
        self.dead = {}          # item -> "in", "out" or "maybe": does the list of dead letters have it?
        self.dead_at = {}       # item -> when that was decided
        self.dropped_at = {}    # item -> when somebody dropped it
        self.wanted = set()     # items that may come as dead letters again
        self.unsure = set()     # id() of calls whose refusal a kill may have undone
        self.ids, self.entries_of = {}, {}

    def indexes(self, at, call):
        found = []
        for row in call["rows"]:
            i = self.items.by_cursor.get(row["cursor"])
            if i is None:
                self.fault(at, "%s (%s) is not due to it", row["cursor"], row.get("title"))
                continue
            due = self.items.rows[i]
            for name in ("kind", "feed", "uid", "at", "title", "state"):
                if row.get(name) != due.get(name):
                    self.fault(at, "%s of %s is %r, and %r in the log", name, row["cursor"], row.get(name), due.get(name))
            found.append(i)
        return found

    # ---- ids ----
    def check_id(self, at, call):
        """The same id for the same delivery, another one for another."""
        rows = tuple(r["cursor"] for r in call["rows"])
        if self.entries_of.setdefault(call["id"], rows) != rows:
            self.fault(at, "the id %s has other entries than before", call["id"])
        if self.open_act or at <= self.stale_until:
            return
        known = self.ids.setdefault((rows, self.n_acts), call["id"])
        if known != call["id"]:
            self.fault(at, "another id for the same delivery: %s, before %s", call["id"], known)

    # ---- dead letters ----
    def on_act(self, at, act):
        super().on_act(at, act)
        if act["act"] == "retry-dead":
            self.wanted |= {i for i, is_in in self.dead.items() if is_in != "out"} | set(self.refused)

    def on_act_end(self, at, act):
        super().on_act_end(at, act)
        if act["act"] == "drop-dead" and act["status"] in (200, None):
            for i, is_in in self.dead.items():
                if is_in != "out":
                    sure = act["status"] == 200 and self.dead_at[i] < act["t"] - SLACK_S
                    self.dead[i] = "out" if sure else "maybe"
                    self.dropped_at[i] = at
        if act["act"] in self.SETS_POSITION and act["status"] == 200:
            self.refused.clear()

    def on_call(self, at, call):
        letter = self.letter_of(call)
        if letter is not None:
            self.latest = call
            self.check_time(at, call)
            self.check_letter(at, call, letter)
            self.narrow(at, call)
            self.under_way[id(call)] = (letter, None, None, None)
            return
        super().on_call(at, call)
        if self.indexes_quietly(call):
            self.check_id(at, call)

    def indexes_quietly(self, call):
        found = [self.items.by_cursor.get(r["cursor"]) for r in call["rows"]]
        return None if None in found else found

    def letter_of(self, call):
        """Is this a dead letter that is delivered again? Then its item; what fits as news is news. A dead letter
        does not move the chain: its last_cursor is its prev_cursor."""
        if len(call["rows"]) != 1 or call["prev"] != call["last"]:
            return None
        row, found = call["rows"][0], self.indexes_quietly(call)
        if found and self.items.rows[found[0]]["kind"] == row["kind"] and \
                any(self.fits(s, call, found[0], found[0] + 1) for s in self.states | self.stale):
            return None
        if row["kind"] != "feed":
            return found[0] if found and found[0] in self.wanted else None
        for i in sorted(self.wanted):
            due = self.items.rows[i]
            if due["kind"] == "feed" and (due["feed"], due["state"]) == (row["feed"], row["state"]) \
                    and self.dead.get(i) != "out":
                return i
        return None

    def check_letter(self, at, call, i):
        came = min(call.get("came", at), at)        # it may have been on its way when it was dropped
        if self.dead.get(i) == "out" and max(self.dead_at[i], self.dropped_at.get(i, 0)) < came - SLACK_S:
            self.fault(at, "again after its acknowledgement: the dead letter %s", self.items.name(i))
        if not any(s.mark == BEGAN or call["prev"] == s.mark for s in self.states):
            self.fault(at, "the chain is broken at a dead letter: prev_cursor is %s, acknowledged was %s",
                       call["prev"], " or ".join(sorted({str(s.mark) for s in self.states})))

    def narrow(self, at, call):
        """A dead letter tells where the chain is, and so which states it cannot be in."""
        fitting = {s for s in self.states if self.in_chain(s, call)}
        if fitting and not self.is_dead and self.open_act is None and at > self.stale_until:
            self.set_states(at, fitting)

    def on_call_end(self, at, call):
        under_way = self.under_way.get(id(call))
        if under_way is None:
            return
        if under_way[1] is None:
            del self.under_way[id(call)]
            self.end_letter(at, call, under_way[0])
            return
        seemed = {**call, "how": call.get("seemed", call["how"])}
        if self.is_buried(seemed, *under_way[:2]) and not under_way[2]:      # an action has overtaken it
            self.decide(at, under_way[0], "maybe")
        super().on_call_end(at, call)
        if call["how"] == "acked" or (call["how"] == "unclear" and call["status"] < 300):
            for i in self.indexes_quietly(call) or ():
                self.refused.pop(i, None)
                if self.dead.get(i, "out") != "out":
                    self.decide(at, i, "out" if call["how"] == "acked" and not self.is_dead else "maybe")

    def end_letter(self, at, call, i):
        if call["how"] not in ("acked", "unclear") or call["status"] >= 300:
            return
        is_sure = call["how"] == "acked" and not self.is_dead
        self.decide(at, i, "out" if is_sure else "maybe")
        moved = {s._replace(mark=call["last"]) for s in self.states if self.in_chain(s, call)}
        self.set_states(at, moved if is_sure and moved else moved | self.states)

    def decide(self, at, i, is_in):
        self.dead[i], self.dead_at[i] = is_in, at

    def is_buried(self, call, a, b):
        return call["how"] == "refused" and b - a == 1 and \
            1 + len(self.refused.get(a, ())) >= self.record.options["refusals"]

    def outcomes(self, at, call, a, b, s):
        if call["how"] != "refused" and not (call["how"] == "unclear" and call["status"] >= 300):
            return super().outcomes(at, call, a, b, s)
        kept, smaller = s._replace(tried=(b, False)), s._replace(tried=(b, True))
        is_sure = call["how"] == "refused" and not self.is_dead
        if b - a > 1:
            return {smaller} if is_sure else {smaller, kept}
        refused = self.refused.setdefault(a, [])
        if call not in refused:
            refused.append(call)
        most = self.record.options["refusals"]
        if len(refused) < most:
            return {kept}
        buried = State(b, call.get("last"), None, s.acts)
        is_sure = is_sure and sum(id(c) not in self.unsure for c in refused) >= most
        self.decide(at, a, "in" if is_sure else "maybe")
        return {buried} if is_sure else {buried, kept}

    def on_kill(self, at, thing):
        """What was decided in the last two seconds may be undone."""
        super().on_kill(at, thing)
        since = at - self.record.options["window_s"]
        for i, decided in self.dead_at.items():
            if decided >= since:
                self.dead[i] = "maybe"
        for refused in self.refused.values():
            self.unsure |= {id(call) for call in refused if call["end"] >= since}

    def on_the_end(self):
        super().on_the_end()
        cursors = [d["cursor"] for d in self.record.dead.get(self.key, ())]
        for cursor, n in collections.Counter(cursors).items():
            if n > 1:
                self.fault(0, "%d dead letters for %s", n, cursor)
            i = self.items.by_cursor.get(cursor)
            if i is None or self.dead.get(i, "out") == "out":
                self.fault(0, "a dead letter that was not refused, or was delivered since: %s", cursor)
        for i, is_in in self.dead.items():
            if is_in == "in" and self.items.rows[i]["cursor"] not in cursors:
                self.fault(0, "no dead letter for %s, which was refused", self.items.name(i))


class ByServer(Trail):
    """Sinks that give messages to a server, which gives them to the receiver. It is the server that acknowledges, so
    what the receiver has may come again when the server goes away, and may be missing when it drops messages: then the
    receiver sees it from the chain."""
    is_away = False

    def indexes(self, at, call):
        """By the last cursor and the number of items."""
        b = self.items.by_cursor.get(call["last"], -1) + 1
        rows = self.items.rows[max(0, b - call["n"]):b]
        titles = [t for r in rows if (t := r.get("title"))]
        if b == 0 or titles != [t for t in call["titles"] if t in self.items.by_title]:
            self.fault(at, "a message up to %s has %r, and not %r", call["last"], call["titles"], titles)
            return []
        return list(range(b - call["n"], b))

    def on_away(self, at, _):
        self.on_kill(at, at)
        self.is_away = True
        self.go_anywhere(at)

    def on_emptied(self, at, _):
        self.is_dead = self.is_away

    def on_back(self, at, _):
        self.is_away = self.is_dead = False
        self.go_anywhere(at)

    def go_anywhere(self, at):
        """What is dropped is not known: it goes on anywhere, and PreviousCursor says where."""
        least = min(s.done for s in self.states)
        self.set_states(at, {State(n, None, None, 0) for n in range(least, len(self.items) + 1)})


class ByBroker(ByCursor):
    """AMQP: what is in a durable queue, in its order. Nobody knows when the broker took a message, so only the number
    of times is bounded at which it goes back: once for each kill of the daemon or of the broker. A broker that is killed
    may have written some of the messages that it did not confirm: what is missing between them must come again."""

    def run(self):
        breaks = len(self.record.kills) + len(self.record.outages.get("amqp", ())) + len(self.record.stalls)
        done, most, n_back, gap = self.began[0], self.began[0], 0, None     # gap: (index, time) of the first one
        for call in self.record.trails.get(self.key, ()):
            found = self.indexes(call["t"], call)
            if not found:
                continue
            i = found[0]
            if i < done and (gap is None or i <= gap[0]):
                gap = None
            elif i > done and gap is None:
                gap = done, call["t"], self.items.name(i)
            n_back += i < done
            before = BEGAN if i == self.began[0] else self.items.rows[i - 1]["cursor"]
            if not self.in_chain(State(i, before, None, 0), call):
                self.fault(call["t"], "the chain is broken: prev_cursor is %s, acknowledged was %s", call["prev"], before)
            done, most = i + 1, max(most, i + 1)
            if gap and not self.record.outages.get("amqp"):
                self.fault(gap[1], "lost: %s was expected, %s came", self.items.name(gap[0]), gap[2])
                gap = None
        if gap:
            self.fault(gap[1], "lost: %s was expected, %s came", self.items.name(gap[0]), gap[2])
        if most < len(self.items):
            self.fault(0, "lost: %s and what follows it was not delivered", self.items.name(most))
        if n_back > breaks:
            self.fault(0, "again after its acknowledgement, %d times; there were %d kills", n_back, breaks)
        return self.faults


class Topic(Trail):
    """WebSub: documents with the newest version of each entry. `done` is the last item of what was acknowledged."""

    def __init__(self, *args):
        super().__init__(*args)
        self.newest = {}        # uid -> index of its last version
        for i, row in enumerate(self.items.rows):
            self.newest[row["feed"], row["uid"]] = i
        self.gone = self.deleted()

    def deleted(self):
        """Indexes of versions that were deleted later."""
        last = {}
        for row in self.record.log:
            last[row["feed"], row["uid"]] = row["kind"]
        return {i for name, i in self.newest.items() if last.get(name) == "deleted"}

    def on_call(self, at, call):
        if call.get("overlap"):
            self.fault(at, "a call while another one to the same endpoint is under way")
        self.latest = call
        found = self.found(at, call)
        if None in found or not found:
            self.fault(at, "a document with something that is not due: %r", call.get("titles") or call.get("rows"))
            return
        if len(set(found)) < len(found):
            self.fault(at, "a document has something twice")
        a, b = min(found), max(found) + 1
        fitting = {s for s in self.states if self.fits_document(s, a, b, found)}
        if not fitting:
            self.unfit_document(at, a, b, found)
        elif not any(self.in_chain(s, call) for s in fitting):
            self.fault(at, "the chain is broken: prev_cursor is %s, acknowledged was %s", call["prev"],
                       " or ".join(sorted({str(s.mark) for s in fitting})))
            fitting = None
        fitting = {s for s in fitting or {State(a, call.get("prev"), None, 0)} if self.in_chain(s, call)}
        if not self.is_dead:
            self.set_states(at, fitting)
        self.under_way[id(call)] = (a, b, fitting, False)

    def found(self, at, call):
        """Indexes of what is in the document; None: it is not due."""
        return [self.items.by_title.get(t) for t in call["titles"]]

    def fits_document(self, state, a, b, found):
        return state.done <= a and not self.left_out(state.done, found, b)

    def unfit_document(self, at, a, b, found):
        done = sorted({s.done for s in self.states})
        if a < done[0]:
            self.fault(at, "again after its acknowledgement: %s came, %s was expected", self.items.name(a),
                       self.items.name(done[0]))
        else:
            self.fault(at, "lost: a document up to %s has not %s", self.items.name(b - 1),
                       [self.items.name(i) for i in self.left_out(done[-1], found, b)])

    def left_out(self, done, found, b):
        """What is not in the document although no newer version follows."""
        there = set(found)
        return [i for i in range(done, b) if i not in there and i not in self.gone
                and i == self.newest[self.items.rows[i]["feed"], self.items.rows[i]["uid"]]]

    def outcomes(self, at, call, a, b, s):
        return {s._replace(tried=None) for s in super().outcomes(at, call, a, b, s)}

    def on_the_end(self):
        done = max(s.done for s in self.states)
        left = self.left_out(done, (), len(self.items))
        if left:
            self.fault(0, "lost: %s", [self.items.name(i) for i in left[:5]])


class SmartTopic(Topic):
    """A Smart Feed by WebSub: deleted items are there too, and the cursors of the chain."""

    def deleted(self):
        return set()

    def found(self, at, call):
        found, end = [], self.items.by_cursor.get(call["last"], -1) + 1
        for row in call["rows"]:
            if row["deleted"]:
                found.append(max((i for i, r in enumerate(self.items.rows[:end])
                                  if r["kind"] == "deleted" and r["uid"] == row["uid"]), default=None))
            else:
                found.append(self.items.by_title.get(row["title"]))
        if None not in found and found and max(found) + 1 != end:
            self.fault(at, "a document up to %s has the last_cursor %s", self.items.name(max(found)), call["last"])
        return found


class Told(Trail):
    """rssCloud: a handler is told that something has changed. Five failures in a row end its registration, so
    a state is the number of failures in a row. After a kill it may be what it was in the last two seconds."""
    MOST = 5

    def __init__(self, *args):
        super().__init__(*args)
        self.states = {0}

    def on_call(self, at, call):
        if call.get("overlap"):
            self.fault(at, "a call while another one to the same endpoint is under way")
        if call["url"] not in self.sub["feeds"]:
            self.fault(at, "it was told of %s", call["url"])
        if self.states == {self.MOST} and not self.is_dead:
            self.fault(at, "a call after %d failures in a row, which end its registration", self.MOST)
            self.set_states(at, {0})

    def on_call_end(self, at, call):
        states = set()
        if call["how"] in ("acked", "unclear"):
            states |= {n if n == self.MOST else 0 for n in self.states}
        if call["how"] != "acked":
            states |= {min(n + 1, self.MOST) for n in self.states}
        if call.get("mood") in ("leave", "cut_head"):   # HTTP clients call again at once when a used connection breaks:
            states |= self.states                       # not a failure yet
        self.set_states(at, states | self.states if self.is_dead else states)

    def on_kill(self, at, _):
        self.is_dead = True
        self.set_states(at, self.states_since(at - self.record.options["window_s"]))

    def on_the_end(self):
        changes = self.check_changes()
        heard = max((c["t"] for c in self.record.trails.get(self.key, ()) if c["how"] in ("acked", "unclear")),
                    default=0)
        if self.key in self.record.ended:
            if self.MOST not in self.states:
                self.fault(0, "its registration has ended after at most %d failures in a row", max(self.states))
        elif self.states == {self.MOST}:
            self.fault(0, "its registration is there after %d failures in a row", self.MOST)
        elif changes and heard < changes[-1]:
            self.fault(0, "lost: it was not told of the last change")

    def check_changes(self):
        """Something has changed before each notification. Returns when it did."""
        offset, window = self.record.options["wall_s"], self.record.options["window_s"]
        changes = [seconds(r["at"]) - offset for r in self.items.rows if r["seq"] > self.sub["began"][0]]
        taken = [c for c in self.record.trails.get(self.key, ()) if c["how"] == "acked"]
        last = None
        for call in taken:
            if not any((last["t"] - SLACK_S if last else 0) < at <= call["t"] for at in changes) and \
                    not any(last and last["end"] >= killed - window and killed <= call["t"]
                            for killed, _ in self.record.kills):
                self.fault(call["t"], "it was told of a change that there was not")
            last = call
        return changes


def seconds(text):
    import datetime
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def as_read(row):
    """What is kept of a row that a reader got."""
    return {"cursor": row["cursor"], "kind": row["kind"], "uid": row["uid"],
            "title": (row.get("entry") or {}).get("title")}


def reader_faults(record, key):
    """/events and /log: each row once, in order, none left out."""
    sub = record.subs[key]
    due = [(r["cursor"], r["kind"], r["uid"], r["title"]) for r in read_rows(record, sub)]
    got = [(r["cursor"], r["kind"], r["uid"], r["title"]) for r in sub["got"]]
    if due and sub["began"][0] != sub["began"][1] and got:      # it began somewhere between
        while due and due[0] != got[0] and seq_of(due[0][0]) <= sub["began"][1]:
            del due[0]
    if got == due:
        return []
    at = next((i for i, (a, b) in enumerate(zip(got, due)) if a != b), min(len(got), len(due)))
    what = "again" if at < len(got) and got[at] in got[:at] else "lost, or in another order"
    return ["%s %s: %s: row %d is %s, and not %s (%d of %d rows)" % (
        sub["kind"], key, what, at, got[at] if at < len(got) else None, due[at] if at < len(due) else None,
        len(got), len(due))]


def delays(record):
    """How long it took until the witness had each revision, in seconds, shortest first."""
    first = {}
    for call in record.trails.get(record.witness, ()):
        for row in call.get("rows", ()):
            if row.get("at"):
                first.setdefault(row["cursor"], call["t"] - (seconds(row["at"]) - record.options["wall_s"]))
    return sorted(first.values())


def late_faults(record):
    """One that never fails is not delayed by those that do. If it could not answer in time itself, the machine was too
    busy to tell."""
    slowest = max(delays(record), default=0)
    is_sure = all(c.get("act") or c["how"] == "acked" for c in record.trails.get(record.witness, ()) if not near_kill(record, c))
    return ["the witness had to wait for %.1f s" % slowest] if slowest > LATE_S and is_sure else []


def near_kill(record, call):
    """May a kill have to do with how this call ended?"""
    return any(killed - SLACK_S <= call["t"] <= emptied + SLACK_S for killed, emptied in record.kills)


def last_life(record):
    """Samples of the last daemon."""
    return [s for s in record.samples if s[1] == record.samples[-1][1]]


def usage(record):
    """Figures: delays of the witness; what the last daemon used at the end, and what it used at most."""
    took, life = delays(record), last_life(record)
    figures = {"delay_s": [round(took[len(took) // 2], 3), round(took[-1], 3)]} if took else {}
    for name, i in (("mib", 2), ("threads", 3), ("fds", 4)) if life else ():
        scale = 1024 if name == "mib" else 1
        figures[name] = [life[0][i] // scale, max(s[i] for s in life) // scale, life[-1][i] // scale]
    return figures


def usage_faults(record):
    """Descriptors are not more than there are peers; memory does not grow."""
    life, found = last_life(record), []
    if not life:
        return found
    most = 100 + 2 * (len(record.subs) + len(record.urls))
    if life[-1][4] > most:
        found.append("%d descriptors are open at the end; %d would be many" % (life[-1][4], most))
    third = life[len(life) // 3]
    if not record.options.get("sanitized") and life[-1][2] - third[2] > GROWTH_KIB:
        found.append("memory grew from %d to %d KiB" % (third[2], life[-1][2]))
    return found


def note_faults(record, key):
    """The delivery log of a webhook has what was delivered since the last kill, in order; it keeps a hundred lines
    (DELIV-04)."""
    since = max((emptied for _, emptied in record.kills), default=0) + SLACK_S
    calls = [c for c in record.trails.get(key, ()) if "act" not in c and c["t"] > since and c["how"] in ("acked", "unclear")
             and c["status"] < 300]
    noted = [n for n in record.notes.get(key, ()) if n["verdict"] == "delivered"]    # newest first
    for call in reversed(calls):
        if not noted:
            break
        first = call["rows"][0]["cursor"]
        fits = noted[0]["n_entries"] == len(call["rows"]) and (
            noted[0]["first_cursor"] == first or call["prev"] == call["last"])      # a dead letter is not in the chain
        if fits:
            del noted[0]
        elif call["how"] == "acked" and call is not calls[-1]:
            return ["webhook %s: the delivery log has %r where %s was delivered" % (key, noted[0], first)]
    return []


def dead_faults(record, key):
    """Dead letters say what was answered. Only webhooks refuse."""
    found = []
    for letter in record.dead.get(key, ()):
        if record.subs[key]["kind"] != "webhook":
            found.append("%s %s: a dead letter: %r" % (record.subs[key]["kind"], key, letter))
        elif letter.get("status") not in (400, 413, 415, 422) or letter.get("answer") != "because":
            found.append("webhook %s: a dead letter with another answer than was given: %r" % (key, letter))
    return found


CHECKS = {"xmlrpc": ByTitle, "webhook": ByCursor, "websub": Topic, "smart": SmartTopic, "rsscloud": Told, "xmpp": ByServer, "amqp": ByBroker}


def faults(record):
    """All faults, as texts."""
    with_doubts(record)
    events, found = feed_events(record)
    found += record.wrong + late_faults(record) + usage_faults(record)
    for key, sub in record.subs.items():
        if "got" in sub:
            found += reader_faults(record, key)
        else:
            found += CHECKS[sub["kind"]](record, events, key).run() + dead_faults(record, key)
            if sub["kind"] == "webhook":
                found += note_faults(record, key)
            if key in record.ended and sub["kind"] != "rsscloud":
                found.append("%s %s: its subscription is not there any more" % (sub["kind"], key))
    return found
