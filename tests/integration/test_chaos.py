"""DELIV-01: everything fails at random, and every consumer gets what it is due (tests/chaos). A short run, and faults
that are planted into what was recorded: the checker must find each."""
import argparse
import copy
import os
import unittest

from chaos import check, consumers
from chaos.chaos import Record, Run

from .env.case import slow
from .env.daemon import PATIENCE


class Case(unittest.TestCase):
    def whole(self, **more):
        options = argparse.Namespace(**{**dict(
            seconds=10, seed=20061, subs=60, kills=5, feeds=10, pace=8, acts=8, consumers=list(consumers.NAMES),
            refusals=1, timeout=1.5, window=2 * PATIENCE, outage=5, database=None, log_level="warn"), **more})
        run = Run(options, say=lambda text: None)
        faults = run.whole()
        figures = run.figures()
        self.assertEqual([], faults, figures)
        self.assertEqual(options.kills, figures["kills"], figures)
        return figures


class Quick(Case):
    """A run of some seconds with all kinds of consumers that need no server."""

    @slow
    def test_everything_fails_at_random(self):              # DELIV-01 DELIV-05 DELIV-06 DELIV-07 DELIV-10 SSE-02
        figures = self.whole()
        for name, at_least in (("consumers", 58), ("revisions", 60), ("calls", 200), ("read", 200)):
            self.assertGreater(figures[name], at_least, figures)


class RealServers(Case):
    """They go away and come back."""

    def run_with(self, name):
        if consumers.find(name).Missing and not os.environ.get("FEEDMILL_ALL"):
            self.skipTest(consumers.find(name).Missing)
        figures = self.whole(seconds=8, subs=12, kills=2, consumers=[name, "webhook"])
        self.assertGreater(figures["outages"], 0, figures)

    @slow
    def test_xmpp(self):                                                 # DELIV-01 XMPP-00
        self.run_with("xmpp")

    @slow
    def test_amqp(self):                                                 # DELIV-01 AMQP-03
        self.run_with("amqp")


def cursor(n):
    return "fm1.0f1e2d3c.%d.%d" % (n, 1000000 + n)


class Story:
    """A recording in which nothing is wrong: a log of twenty revisions of one feed, and what consumers got of it."""
    FEED = "http://f.example/"

    def __init__(self, **options):
        self.record = Record(refusals=1, window_s=2, wall_s=0, **options)
        self.record.log = [
            {"seq": n, "cursor": cursor(n), "at": "1970-01-01T00:00:%02dZ" % n, "kind": "new", "uid": "u%d" % n,
             "feed": self.FEED, "title": "t%d" % n} for n in range(1, 21)]
        self.now, self.marks = 0, {}

    def sub(self, key, kind, **more):
        self.record.subs[key] = {"kind": kind, "feeds": [self.FEED], "began": [0, 0], "events": ["new"], **more}
        self.marks[key] = cursor(0)
        return key

    def calls(self, key, *calls):
        """Calls one after the other, a second each: (first, last, how); the chain is as it must be."""
        for first, last, how in calls:
            rows = [{k: r[k] for k in ("kind", "cursor", "at", "uid", "feed", "title")}
                    for r in self.record.log[first - 1:last]]
            call = {"t": self.now, "end": self.now + 0.5, "how": how, "rows": rows, "prev": self.marks[key],
                    "last": cursor(last), "id": "msg %d %d" % (first, last), "titles": [r["title"] for r in rows],
                    "url": self.FEED, "status": {"acked": 200, "refused": 422}.get(how, 500)}
            self.record.trails[key].append(call)
            if how == "acked" or (how == "refused" and first == last):
                self.marks[key] = call["last"]
            self.now += 1
        return self.record.trails[key]

    def act(self, key, action, status=200, **more):
        self.record.trails[key].append({"act": action, "t": self.now, "end": self.now + 0.1, "status": status, **more})
        self.now += 1

    def kill(self):
        self.record.kills.append([self.now, self.now + 0.1])
        self.now += 1

    def letter(self, key, n):
        self.record.dead.setdefault(key, []).append({"cursor": cursor(n), "status": 422, "answer": "because"})

    def faults(self):
        return check.faults(copy.deepcopy(self.record))


class Checker(unittest.TestCase):
    """The checker finds what is planted, and nothing where nothing is wrong."""

    def setUp(self):
        self.s = Story()

    def found(self, text):
        faults = self.s.faults()
        self.assertTrue(any(text in fault for fault in faults), faults)

    def webhook(self, *calls, **more):
        self.key = self.s.sub(1, "webhook", **more)
        return self.s.calls(self.key, *(calls or ((1, 5, "acked"), (6, 6, "failed"), (6, 6, "acked"),
                                                  (7, 15, "acked"), (16, 20, "acked"))))

    def test_nothing_is_wrong(self):                                                      # DELIV-01
        self.webhook()
        self.assertEqual([], self.s.faults())

    def test_a_lost_entry(self):                                                          # DELIV-01
        trail = self.webhook()
        del trail[3]["rows"][0]
        self.found("lost: %s" % cursor(7))

    def test_a_lost_entry_within_a_delivery(self):                                        # DELIV-01
        trail = self.webhook()
        del trail[3]["rows"][4]
        self.found("left out")

    def test_a_lost_delivery(self):                                                       # DELIV-01 DELIV-10
        trail = self.webhook()
        del trail[3]
        self.found("lost: %s" % cursor(7))

    def test_a_lost_end(self):                                                            # DELIV-01
        trail = self.webhook()
        del trail[-1]
        self.found("lost: %s" % cursor(16))

    def test_a_swapped_pair(self):                                                        # DELIV-01
        rows = self.webhook()[3]["rows"]
        rows[2], rows[3] = rows[3], rows[2]
        self.found("another order")

    def test_swapped_deliveries(self):                                                    # DELIV-01
        trail = self.webhook()
        trail[3]["t"], trail[4]["t"] = trail[4]["t"], trail[3]["t"]
        trail[3]["end"], trail[4]["end"] = trail[4]["end"], trail[3]["end"]
        self.found("lost")

    def test_a_double_after_acknowledgement(self):                                        # DELIV-01
        self.webhook((1, 5, "acked"), (1, 5, "acked"), (6, 20, "acked"))
        self.found("again after its acknowledgement: %s" % cursor(1))

    def test_a_broken_chain(self):                                                        # DELIV-10
        self.webhook()[3]["prev"] = cursor(5)
        self.found("the chain is broken")

    def test_a_chain_that_begins_elsewhere(self):                                         # DELIV-10
        self.webhook()[0]["prev"] = cursor(1)
        self.found("the chain is broken")

    def test_another_content(self):                                                       # HOOK-03
        self.webhook()[3]["rows"][1]["title"] = "another"
        self.found("title of %s" % cursor(8))

    def test_another_delivery_at_the_second_try(self):                                    # HOOK-02
        self.webhook((1, 5, "failed"), (1, 6, "acked"), (7, 20, "acked"))
        self.found("another delivery than the one that was tried")

    def test_another_id_at_the_second_try(self):                                          # HOOK-02
        self.webhook()[2]["id"] = "another"
        self.found("another id for the same delivery")

    def test_one_id_for_two_deliveries(self):                                             # HOOK-02
        trail = self.webhook()
        trail[3]["id"] = trail[0]["id"]
        self.found("has other entries than before")

    def test_too_many_entries(self):                                                      # DELIV-11
        self.webhook(batch=8)
        self.found("9 entries in a delivery of at most 8")

    def test_two_calls_at_a_time(self):                                                   # DELIV-07
        self.webhook()[3]["overlap"] = True
        self.found("under way")

    # ---- dead letters ----
    def refused(self):
        return self.webhook((1, 4, "refused"), (1, 2, "acked"), (3, 3, "refused"), (4, 20, "acked"), refuses=True)

    def test_a_refused_entry(self):                                                       # DELIV-05
        self.refused()
        self.s.letter(self.key, 3)
        self.assertEqual([], self.s.faults())

    def test_a_missing_dead_letter(self):                                                 # DELIV-05
        self.refused()
        self.found("no dead letter for %s" % cursor(3))

    def test_a_dead_letter_that_was_not_refused(self):                                    # DELIV-05
        self.refused()
        self.s.letter(self.key, 3)
        self.s.letter(self.key, 4)
        self.found("a dead letter that was not refused")

    def test_two_dead_letters_for_one_entry(self):                                        # DELIV-05
        self.refused()
        self.s.letter(self.key, 3)
        self.s.letter(self.key, 3)
        self.found("2 dead letters")

    def test_a_dead_letter_that_was_delivered(self):                                      # DELIV-05
        trail = self.refused()
        self.s.act(self.key, "retry-dead")
        self.s.calls(self.key, (3, 3, "acked"))
        trail[-1]["last"] = trail[-1]["prev"]
        self.assertEqual([], self.s.faults())
        self.s.letter(self.key, 3)
        self.found("was delivered since")

    def test_a_refused_batch_that_is_not_halved(self):                                    # D56 HOOK-02
        self.webhook((1, 4, "refused"), (1, 4, "acked"), (5, 20, "acked"), refuses=True)
        self.found("another delivery than the one that was tried")

    def test_a_dead_letter_tells_where_it_is(self):                                       # DELIV-01 DELIV-10
        """After a kill there are several places where it may be; the letter says which."""
        self.refused()
        self.s.letter(self.key, 3)
        trail = self.s.record.trails[self.key]
        self.s.kill()
        self.s.act(self.key, "retry-dead")
        self.s.calls(self.key, (3, 3, "acked"), (4, 20, "acked"))
        trail[-2]["last"] = trail[-2]["prev"]
        self.s.record.dead.clear()
        self.found("again after its acknowledgement: %s" % cursor(4))
        del trail[-1]
        self.assertEqual([], self.s.faults())
        trail[-1]["prev"] = trail[-1]["last"] = cursor(4)
        self.found("the chain is broken at a dead letter")

    def test_a_refusal_that_a_replay_overtakes(self):                                     # DELIV-05 DELIV-06
        self.webhook((1, 10, "acked"), refuses=True)
        self.s.act(self.key, "replay", seq=5)
        trail = self.s.calls(self.key, (11, 11, "refused"), (6, 10, "acked"), (11, 11, "refused"), (12, 20, "acked"))
        self.s.letter(self.key, 11)
        self.assertEqual([], self.s.faults())
        trail[-3]["prev"] = cursor(10)
        self.assertEqual([], self.s.faults())       # it was not counted
        trail[-3]["prev"] = cursor(9)
        self.found("the chain is broken")

    def test_a_late_refusal_that_a_skip_overtakes(self):                                  # DELIV-05 DELIV-06
        self.webhook((1, 10, "acked"), refuses=True)
        self.s.act(self.key, "skip", seq=15)
        self.s.calls(self.key, (11, 11, "refused"))[-1].update(how="unclear", seemed="refused")
        self.s.marks[self.key] = cursor(10)
        trail = self.s.calls(self.key, (16, 20, "acked"))
        self.s.letter(self.key, 11)
        self.assertEqual([], self.s.faults())
        trail[-2]["seemed"] = "acked"
        self.found("a dead letter that was not refused")

    # ---- kills ----
    def test_a_repeat_after_a_kill(self):                                                 # DELIV-01
        self.webhook((1, 5, "acked"), (6, 10, "acked"))
        self.s.kill()
        self.s.marks[self.key] = cursor(5)
        self.s.calls(self.key, (6, 10, "acked"), (11, 20, "acked"))
        self.assertEqual([], self.s.faults())

    def test_a_repeat_of_what_was_acknowledged_long_before(self):                         # DELIV-01
        self.webhook((1, 5, "acked"), (6, 7, "acked"), (8, 10, "acked"))
        self.s.now += 2
        self.s.kill()
        self.s.marks[self.key] = cursor(7)
        self.s.calls(self.key, (8, 10, "acked"), (11, 20, "acked"))
        self.found("again after its acknowledgement: %s" % cursor(8))

    def test_a_position_without_its_chain_after_a_kill(self):                             # DELIV-10
        self.webhook((1, 5, "acked"), (6, 10, "acked"))
        self.s.kill()
        self.s.calls(self.key, (6, 10, "acked"), (11, 20, "acked"))
        self.found("the chain is broken")

    # ---- actions ----
    def test_a_replay(self):                                                              # DELIV-06
        self.webhook((1, 10, "acked"))
        self.s.act(self.key, "replay", seq=5)
        trail = self.s.calls(self.key, (6, 20, "acked"))
        self.assertEqual([], self.s.faults())
        self.s.now += 10
        del trail[-1]
        self.s.marks[self.key] = cursor(10)
        self.s.calls(self.key, (11, 20, "acked"))
        self.found("lost: %s" % cursor(6))

    def test_a_replay_that_a_kill_undoes(self):                                           # DELIV-01 DELIV-06
        self.webhook((1, 10, "acked"))
        self.s.act(self.key, "replay", seq=5)
        self.s.kill()
        self.s.now += 10
        self.s.calls(self.key, (11, 20, "acked"))
        self.found("lost: %s" % cursor(6))

    def test_a_replay_whose_answer_was_lost(self):                                        # DELIV-06
        for first in (6, 11):
            self.s = Story()
            self.webhook((1, 10, "acked"))
            self.s.act(self.key, "replay", status=None, seq=5)
            self.s.kill()
            self.s.calls(self.key, (first, 20, "acked"))
            self.assertEqual([], self.s.faults())

    def test_a_skip(self):                                                                # DELIV-06
        self.webhook((1, 10, "acked"))
        self.s.act(self.key, "skip", seq=15)
        self.s.now += 10
        trail = self.s.calls(self.key, (16, 20, "acked"))
        self.assertEqual([], self.s.faults())
        del trail[-1]
        self.s.calls(self.key, (11, 20, "acked"))
        self.found("again after its acknowledgement")

    def test_a_skip_and_a_replay(self):                                                   # DELIV-06
        self.webhook((1, 10, "acked"))
        self.s.act(self.key, "skip", seq=20)
        self.s.act(self.key, "replay", seq=15)
        self.s.calls(self.key, (11, 13, "failed"), (16, 20, "acked"))   # the first was drawn before both
        self.assertEqual([], self.s.faults())

    def test_a_call_although_it_was_paused(self):                                         # DELIV-06
        self.webhook((1, 10, "acked"))
        self.s.act(self.key, "pause")
        self.s.now += 10
        self.s.calls(self.key, (11, 20, "acked"))
        self.found("although it was paused")

    # ---- others ----
    def test_calls_without_cursors(self):                                                 # DELIV-01
        key = self.s.sub(1, "xmlrpc")
        trail = self.s.calls(key, (1, 9, "acked"), (10, 12, "failed"), (10, 12, "acked"), (13, 20, "acked"))
        self.assertEqual([], self.s.faults())
        del trail[3]["titles"][0]
        self.found("lost: %s" % cursor(13))

    def test_topics(self):                                                                # DELIV-01
        self.s.record.log[3].update(uid="u2", kind="changed")
        key = self.s.sub("/websub/1", "websub", events=["new", "changed"])
        trail = self.s.calls(key, (1, 10, "acked"), (11, 20, "acked"))
        trail[0]["titles"].remove("t2")     # a newer version follows
        self.assertEqual([], self.s.faults())
        trail[0]["titles"].remove("t4")
        self.found("has not ['%s" % cursor(4))

    def test_smart_topics(self):                                              # DELIV-01 DELIV-10 SMART-52 SMART-55
        self.s.record.log[3].update(uid="u2", kind="changed")
        self.s.record.log[7].update(uid="u5", kind="deleted", title=None)
        key = self.s.sub("/smart/1", "smart", events=["new", "changed", "deleted"])
        trail = self.s.calls(key, (1, 10, "acked"), (11, 15, "failed"), (11, 15, "acked"), (16, 20, "acked"))
        for call in trail:
            call["rows"] = [{"uid": r["uid"], "title": r["title"], "deleted": r["kind"] == "deleted"}
                            for r in call["rows"] if r["uid"] != "u2" or r["kind"] == "changed"]
        self.assertEqual([], self.s.faults())
        del trail[0]["rows"][3]             # it was deleted later
        self.assertEqual([], self.s.faults())
        kept = trail[0]["rows"]
        trail[0]["rows"] = [r for r in kept if not r["deleted"]]
        self.found("has not ['%s" % cursor(8))
        trail[0]["rows"] = kept[:-1]
        self.found("has the last_cursor")
        trail[0]["rows"] = kept
        trail[2]["prev"] = cursor(9)
        self.found("the chain is broken")
        trail[2]["prev"] = cursor(10)
        del trail[2]
        self.found("lost: a document up to")

    def test_readers(self):                                                               # SSE-02
        got = [{k: r[k] for k in ("cursor", "kind", "uid", "title")} for r in self.s.record.log]
        for kind in ("events", "log"):
            sub = self.s.record.subs["/reader"] = {"kind": kind, "feeds": None, "began": [0, 0], "got": got}
            self.assertEqual([], self.s.faults())
            for wrong, text in ((got[:5] + got[6:], "lost"), (got[:6] + got[5:], "again"), (got[:-1], "lost"),
                                (got[:3] + [got[4], got[3]] + got[5:], "another order")):
                sub["got"] = wrong
                self.found(text)

    def test_events_of_feeds(self):                                                       # DELIV-03
        key = self.s.sub(1, "webhook", events=["new", "feed"])
        trail = self.s.calls(key, (1, 19, "acked"), (20, 20, "acked"), (20, 20, "acked"))
        for call, n, state in zip(trail[1:], (21, 22), ("broken", "recovered")):
            call.update(rows=[{"kind": "feed", "cursor": cursor(n), "feed": Story.FEED, "state": state}],
                        prev=cursor(n - 1 if n > 21 else 19), last=cursor(n), id="msg %d" % n)
        del self.s.record.log[19]
        self.assertEqual([], self.s.faults())
        trail[2]["rows"][0]["state"] = "broken"
        self.found("is broken after broken")

    def test_a_dead_event_of_a_feed_after_a_replay(self):                                 # DELIV-03 DELIV-05 DELIV-06
        """Where the chain is, an entry stands that is due once more; but what comes is the event."""
        key = self.s.sub(1, "webhook", events=["new", "feed"], refuses=True)
        trail = self.s.calls(key, (1, 9, "acked"), (10, 10, "refused"), (11, 15, "acked"))
        event = {"kind": "feed", "cursor": cursor(10), "feed": Story.FEED, "state": "gap"}
        trail[1]["rows"] = [event]
        del self.s.record.log[9]
        self.s.act(key, "replay", seq=14)
        self.s.act(key, "retry-dead")
        self.s.now += 10
        trail.append({"t": self.s.now, "end": self.s.now + 0.5, "how": "acked", "rows": [{**event, "cursor": cursor(15)}],
                      "prev": cursor(15), "last": cursor(15), "id": "letter", "status": 200})
        self.s.now += 1
        rows = [dict(trail[2]["rows"][-1])]
        trail.append({"t": self.s.now, "end": self.s.now + 0.5, "how": "acked", "rows": rows, "prev": cursor(15),
                      "last": cursor(15), "id": "again", "status": 200})
        self.s.now += 1
        rows = [{k: r[k] for k in rows[0]} for r in self.s.record.log[14:]]
        trail.append({"t": self.s.now, "end": self.s.now + 0.5, "how": "acked", "rows": rows, "prev": cursor(15),
                      "last": cursor(20), "id": "rest", "status": 200})
        self.assertEqual([], self.s.faults())
        trail[-3]["rows"][0]["state"] = "moved"             # no such event was refused
        self.found("is 'feed', and 'new' in the log")

    def test_messages_of_a_server(self):                                                  # DELIV-01 DELIV-10
        key = self.s.sub(1, "xmpp")
        trail = self.s.calls(key, (1, 5, "acked"), (6, 10, "acked"), (11, 15, "acked"), (16, 20, "acked"))
        for call in trail:
            call["n"] = len(call["rows"])
        self.assertEqual([], self.s.faults())
        del trail[1]
        self.found("lost: %s" % cursor(6))
        self.s.record.outages["xmpp"] = [[0.8, 1.8]]        # what is sent while the receiver is away is dropped
        self.assertEqual([], self.s.faults())
        trail[1]["prev"] = cursor(5)
        self.found("the chain is broken")

    def test_messages_of_a_broker(self):                                                  # DELIV-01 DELIV-10 AMQP-03
        key = self.s.sub(1, "amqp")
        trail = self.s.calls(key, *[(n, n, "acked") for n in range(1, 21)])
        self.assertEqual([], self.s.faults())
        self.s.record.kills.append([50, 51])
        trail[12:12] = copy.deepcopy(trail[10:12])          # two came again
        for at, call in enumerate(trail):
            call["t"] = call["end"] = at
        self.assertEqual([], self.s.faults())
        self.s.record.kills.clear()
        self.found("again after its acknowledgement")
        self.s.record.outages["amqp"] = [[50, 51]]
        self.assertEqual([], self.s.faults())
        hole = trail.pop(11)                                # of two that came again, one was not there before
        self.assertEqual([], self.s.faults())
        trail.insert(11, hole)
        hole = trail.pop(13)                                # nor later
        self.found("lost: %s" % cursor(12))
        trail.insert(13, hole)
        trail[15]["prev"] = cursor(1)
        self.found("the chain is broken")
        del trail[3]
        self.found("lost: %s" % cursor(4))

    def test_the_cloud(self):                                                             # DELIV-01
        key = self.s.sub("/rsscloud/1", "rsscloud")
        self.s.now = 21
        trail = self.s.calls(key, (1, 20, "acked"))
        self.assertEqual([], self.s.faults())
        trail[0]["t"] = 15
        self.found("not told of the last change")

    def told(self, *how):
        """A handler that was told so often, and answered like this."""
        self.s = Story()
        self.key = self.s.sub("/rsscloud/1", "rsscloud")
        self.s.now = 21
        return self.s.calls(self.key, *[(1, 20, one) for one in how])

    def test_five_failures_end_a_registration(self):                                      # CLOUD-06
        five = ("acked",) + 5 * ("failed",)
        for how, ended, text in (
                (five, True, None), (five, False, "its registration is there after 5 failures"),
                (five[:-1], True, "ended after at most 4 failures"), (five + ("failed",), True, "a call after 5"),
                (five[:4] + ("acked", "failed"), True, "ended after at most 1 failures"),
                (five[:4] + ("unclear", "failed"), True, None), (five[:4] + ("unclear", "failed"), False, None)):
            self.told(*how)
            if ended:
                self.s.record.ended.append(self.key)
            if text:
                self.found(text)
            else:
                self.assertEqual([], self.s.faults(), how)

    def test_a_call_that_is_made_again_at_once(self):                                     # CLOUD-06
        """A used connection broke before the answer, so the HTTP client has called again by itself."""
        for mood, text in (("leave", None), ("fail", "a call after 5")):
            trail = self.told(*5 * ("failed",), "acked")
            trail[1]["mood"] = mood
            if text:
                self.found(text)
            else:
                self.assertEqual([], self.s.faults())

    def test_failures_before_and_after_a_kill(self):                                      # CLOUD-06
        """The answer that ended the failures in a row may be lost."""
        for quiet, ended, text in ((0, True, None), (0, False, None), (10, False, None),
                                   (10, True, "ended after at most 2 failures")):
            self.told("failed", "failed", "failed", "acked")
            self.s.now += quiet
            self.s.kill()
            self.s.calls(self.key, (1, 20, "failed"), (1, 20, "failed"))
            if ended:
                self.s.record.ended.append(self.key)
            if text:
                self.found(text)
            else:
                self.assertEqual([], self.s.faults(), (quiet, ended))

    def test_a_subscription_that_is_not_there_any_more(self):                             # DELIV-01
        self.webhook()
        self.s.record.ended.append(self.key)
        self.found("not there any more")

    # ---- what is seen from outside ----
    def test_a_late_delivery(self):                                                       # DELIV-07
        self.webhook((1, 20, "acked"))
        self.s.record.witness = self.key
        self.assertEqual([], self.s.faults())
        self.s.record.options["wall_s"] = 45       # so all was stored so long before
        self.found("had to wait for 44")

    def test_descriptors_and_memory(self):                                                # DELIV-01
        self.webhook()
        self.s.record.samples = [[n, 1, 500000, 9, 900] for n in range(9)] + \
            [[10 + n, 2, 40000 + 10000 * n, 9, 50] for n in range(9)]
        self.assertEqual([], self.s.faults())
        self.s.record.samples[-1][2] += 20000
        self.found("memory grew from 70000 to 140000")
        self.s.record.options["sanitized"] = True
        self.assertEqual([], self.s.faults())
        self.s.record.samples[-1][4] = 103
        self.found("103 descriptors")

    def test_the_delivery_log(self):                                                      # DELIV-04
        trail = self.webhook()
        for call in trail:
            call["t"], call["end"] = call["t"] + 10, call["end"] + 10
        self.s.record.kills = [[2, 3]]
        notes = self.s.record.notes[self.key] = [
            {"verdict": "delivered" if c["how"] == "acked" else "retry", "n_entries": len(c["rows"]),
             "first_cursor": c["rows"][0]["cursor"]} for c in reversed(trail)]
        self.assertEqual([], self.s.faults())
        gone = notes.pop(2)
        self.found("the delivery log has")
        notes.insert(2, gone)
        notes[1]["n_entries"] -= 1
        self.found("the delivery log has")

    def test_what_a_dead_letter_says(self):                                               # DELIV-05
        self.refused()
        self.s.letter(self.key, 3)
        self.s.record.dead[self.key][0]["status"] = 500
        self.found("another answer than was given")
        key = self.s.sub(2, "xmlrpc")
        self.s.calls(key, (1, 20, "acked"))
        self.s.letter(key, 3)
        self.found("xmlrpc 2: a dead letter")

    def test_a_machine_that_was_too_busy(self):                                           # DELIV-01
        self.webhook((1, 5, "acked"), (1, 5, "acked"), (6, 20, "acked"))
        self.s.record.trails[self.key][1]["prev"] = cursor(0)
        self.s.record.stalls = [[90, 95]]
        self.found("again after its acknowledgement: %s" % cursor(1))
        self.s.record.stalls = [[0.2, 0.7]]                 # the first answer may have come too late
        self.assertEqual([], self.s.faults())

    def test_a_call_that_is_read_after_its_repeat(self):                                  # DELIV-01
        """It lay with the kernel, on another connection, until the daemon had given it up and called again."""
        calls = (1, 5, "acked"), (6, 10, "acked"), (6, 10, "failed"), (11, 20, "acked")
        trail = self.webhook(*calls)
        for call in trail:
            call["came"] = call["t"]
        trail[2]["prev"] = cursor(5)
        trail[2]["came"] = 0.7                              # the repeat came at 1
        self.found("again after its acknowledgement: %s" % cursor(6))
        trail[2]["left"] = True
        self.assertEqual([], self.s.faults())
        trail[1]["how"] = "unclear"
        self.assertEqual([], self.s.faults())
        trail[2]["came"] = trail[2]["t"]                    # it came after the other one
        trail[1]["how"] = "acked"
        self.found("again after its acknowledgement: %s" % cursor(6))

    def test_a_call_that_is_read_after_a_change_of_size(self):                            # DELIV-01 DELIV-11
        trail = self.webhook((1, 5, "acked"), (6, 7, "failed"))
        self.s.act(self.key, "batch", batch=1)
        self.s.calls(self.key, (6, 7, "failed"))
        trail[-1]["end"] = self.s.now + 0.7                 # its answer waits until the next call is there
        trail[-1]["came"] = trail[1]["t"] + 0.5
        self.s.calls(self.key, *((n, n, "acked") for n in range(6, 21)))
        self.found("another delivery than the one that was tried")
        trail[3]["left"] = True
        self.assertEqual([], self.s.faults())

    def test_a_dead_letter_on_its_way_when_it_is_dropped(self):                           # DELIV-05 DELIV-06
        trail = self.refused()
        self.s.now += 10
        self.s.act(self.key, "retry-dead")
        self.s.act(self.key, "drop-dead")
        for since, text in ((0, None), (10, "again after its acknowledgement: the dead letter")):
            self.s.now += since
            self.s.calls(self.key, (3, 3, "acked"))
            trail[-1]["last"] = trail[-1]["prev"]
            trail[-1]["came"] = trail[-1]["t"]
            if text:
                self.found(text)
            else:
                self.assertEqual([], self.s.faults())
            del trail[-1]

    def test_a_change_of_size_before_a_kill(self):                                        # DELIV-11
        key = self.s.sub(1, "webhook", batch=2)
        self.s.calls(key, (1, 2, "failed"))
        self.s.act(key, "batch", batch=5)
        self.s.calls(key, (1, 2, "failed"))
        self.s.kill()
        trail = self.s.calls(key, (1, 5, "acked"), (6, 10, "acked"), (11, 15, "acked"), (16, 20, "acked"))
        self.assertEqual([], self.s.faults())
        del trail[1]
        self.found("another delivery than the one that was tried")
