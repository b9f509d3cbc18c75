"""NODE-02 to NODE-12: nodes on one PostgreSQL with a standby, faults by dice (tests/cluster). A short run, and what must not
happen, planted into a record: the checker must find each."""
import argparse
import copy
import sys
import unittest
from unittest import mock

from chaos.server import LAST_RECEIVED, TICK_MS, Ask
from cluster import check
from cluster.cluster import Record, Run
from cluster.wire import Statements

from .env.case import slow
from .env.postgres import programs


class Short(unittest.TestCase):
    """A run of some seconds."""
    maxDiff = None

    @slow
    def test_nodes_and_the_database_fail(self):         # NODE-01 NODE-02 NODE-03 NODE-04 NODE-05 NODE-06 NODE-08 NODE-09
        if not programs():
            self.skipTest("PostgreSQL is not installed")
        options = argparse.Namespace(seconds=8, seed=7, nodes=3, kinds=["fail_over_lossy", "kill", "cut_long"], subs=6, feeds=6,
                                     pace=8, acts=4, consumers="webhook,webhook,events", lease=2, log_level="warn")
        run = Run(options, say=lambda text: None)
        found = run.whole()
        figures = run.figures()
        self.assertEqual([], found, figures)
        self.assertGreater(figures["revisions"], 30, figures)
        self.assertGreater(figures["calls"], 10, figures)
        self.assertGreater(sum(figures["faults"].values()), 0, figures)


class Origin(unittest.TestCase):
    """What is noted as the time of a request."""

    def test_no_request_is_noted_before_it_came(self):                                          # NODE-04
        """The kernel says 4 ms of what has just come, when a tick ends in between."""
        for ms, age_s in ((4, 0), (TICK_MS + 500, 0.5)):
            socket = mock.Mock()
            socket.getsockopt.return_value = bytes(LAST_RECEIVED) + ms.to_bytes(4, sys.byteorder)
            ask = Ask("GET", "/feeds/f0", {}, None, mock.Mock(get_extra_info=lambda _, s=socket: s))
            self.assertEqual(age_s, ask.age_s())


def cursor(n):
    return "fm1.0f1e2d3c.%d.%d" % (n, 1000000 + n)


class Story:
    """A recording in which nothing is wrong: a log of twenty revisions of one feed, of two nodes."""
    FEED, HOST = "http://127.0.0.1:9/f", "127.0.0.1:9"

    def __init__(self):
        self.record = r = Record(lease_s=2, push_timeout_s=1.5, per_host=2, gap_s=0.8, patience=1, window_s=2, wall_s=0,
                                 refusals=1, calm_at=40)
        r.log = [{"seq": n, "cursor": cursor(n), "at": "1970-01-01T00:00:%02dZ" % n, "kind": "new", "uid": "u%d" % n,
                  "feed": self.FEED, "title": "t%d" % n} for n in range(1, 21)]
        r.rows = [[n, 1000000 + n, 1, n] for n in range(1, 21)]
        r.logs = {"a": [cursor(n) for n in range(1, 21)], "b": [cursor(n) for n in range(1, 21)]}
        for name in r.sql:
            r.sql[name] = [{"t": n, "last_seq": n, "newest": n, "rows": [r.rows[n - 1]]} for n in range(1, 21)]
        r.subs[1] = {"kind": "webhook", "feeds": [self.FEED], "events": ["new"], "began": [0, 0]}
        for n in range(1, 21):
            self.call(n)
        r.subs["/log/1"] = {"kind": "log", "feeds": None, "began": [0, 0],
                            "got": [{k: x[k] for k in ("cursor", "kind", "uid", "title")} for x in r.log]}
        for n in range(20):
            self.fetch(n, n + 0.2)
        r.acks = [{"what": "made", "key": "sub 1", "t": 3, "end": 3.1}, {"what": "made", "key": "sub 2", "t": 4, "end": 4.1},
                  {"what": "ended", "key": "sub 2", "t": 5, "end": 5.1},
                  {"what": "ping", "key": self.FEED, "t": 6, "end": 6.1}]
        r.tables["keys"] = ["sub 1"]
        r.tables["nodes"] = {name: [["a", 128, 0], ["b", 128, 0]] for name in "ab"}
        r.tables["folders"] = {"sub 1": []}
        r.cursors = [[8, 200, cursor(8), cursor(9), cursor(9)], [9, 503, cursor(9), None, None]]
        r.answers = [[8, 8.1, "GET /sub", 200, None], [9, 9.1, "GET /sub", 503, "1"], [9, 30, "GET /sub", 0, None]]
        r.away = [[8, "a", "/readyz", 503], [8, "a", "/sub?id", 0]]
        r.wakes = [[0.5, 1 + 0.01, n % 20 + 1] for n in range(40)]
        r.shown = {self.FEED: {"u20": "t20"}}
        r.moved = {"check": [0, 0], "said": ["", ""], "log": r.logs["a"], "keys": ["sub 1"], "pages": {}}
        r.misfits = [{"t": 8, "option": "--base-url", "status": 2, "took_s": 0.1, "said": "another --base-url"}]
        r.pages = [[n, "ab"[n % 2], "/simple/x/%d" % (n // 2), "digest %d" % (n // 2), '"tag"'] for n in range(8)]

    def call(self, n, **more):
        call = {"t": n, "end": n + 0.5, "how": "acked", "status": 204, "prev": cursor(n - 1), "last": cursor(n),
                "rows": [{"cursor": cursor(n)}], **more}
        self.record.trails[1].append(call)
        return call

    def fetch(self, t, end, **more):
        fetch = {"feed": self.FEED, "host": self.HOST, "is_quiet": True, "node": "a", "t": t, "end": end, "status": 200,
                 "cool_s": 0, **more}
        self.record.fetches.append(fetch)
        return fetch

    def fault(self, kind, t, until, node="a", **more):
        self.record.faults.append({"kind": kind, "node": node, "t": t, "until": until, **more})

    def fail_over(self):
        """A server took over that has the rows up to 10, while 12 had been given."""
        r = self.record
        self.fault("fail_over_lossy", 10, 13, None, lossy=True)
        r.forks = [[10, 100]]
        moved = {n: n + 89 for n in range(11, 21)}
        for row in r.log:
            row["seq"] = moved.get(row["seq"], row["seq"])
            row["cursor"] = cursor(row["seq"])
        r.rows = [[n, 1000000 + n, 1, n] for n in [row["seq"] for row in r.log]]
        r.logs = {"a": [row["cursor"] for row in r.log]}
        r.moved["log"] = r.logs["a"]
        late = [{"t": n - 80, "last_seq": n, "newest": n, "rows": [[n, 1000000 + n, 1, n]]} for n in range(100, 110)]
        for name in r.sql:
            r.sql[name] = r.sql[name][:12] + copy.deepcopy(late)
        del r.trails[1][12:]
        self.call(13, prev=cursor(10), last=cursor(100), rows=[{"cursor": cursor(100)}])
        for n in range(101, 110):
            self.call(n - 87, prev=cursor(n - 1), last=cursor(n), rows=[{"cursor": cursor(n)}])
        got = r.subs["/log/1"]["got"]
        r.subs["/log/1"]["got"] = got[:12] + [{k: x[k] for k in ("cursor", "kind", "uid", "title")} for x in r.log[10:]]

    def faults(self):
        return check.faults(copy.deepcopy(self.record))


class Statement(unittest.TestCase):
    """What a proxy reads of what a node sends to the database."""

    def test_a_node_stops_at_a_statement(self):                                                 # NODE-06
        start = (8).to_bytes(4, "big") + (80877103).to_bytes(4, "big") + (9).to_bytes(4, "big") + (196608).to_bytes(4, "big") + b"\0"

        def message(kind, body):
            return kind + (len(body) + 4).to_bytes(4, "big") + body
        parse, bind = message(b"P", b"s1\0COMMIT\0\0\0"), message(b"B", b"\0s1\0\0\0\0\0\0\0")
        other, execute = message(b"B", b"\0s2\0\0\0\0\0\0\0"), message(b"E", b"\0\0\0\0\0")
        for where, at in (("before", len(other + execute)), ("after", len(other + execute + bind + execute))):
            for cut in range(1, len(other + execute + bind + execute)):     # in two pieces, however it is cut
                statements = Statements()
                self.assertIsNone(statements.feed(start + parse + bind + execute))
                statements.find(b"COMM", where)
                sent = other + execute + bind + execute
                first, second = statements.feed(sent[:cut]), statements.feed(sent[cut:])
                found = first if first is not None else cut + second
                self.assertIn(found, range(at, max(at, cut) + 1) if where == "before" else (at,))
                self.assertIsNone(statements.feed(bind + execute))


class Checker(unittest.TestCase):
    """The checker finds what is planted, and nothing where nothing is wrong."""

    def setUp(self):
        self.s = Story()
        self.r, self.trail = self.s.record, self.s.record.trails[1]

    def found(self, text):
        found = self.s.faults()
        self.assertTrue(any(text in fault for fault in found), found)

    def test_nothing_is_wrong(self):                                                            # NODE-03
        self.assertEqual([], self.s.faults())
        self.s.fail_over()
        self.assertEqual([], self.s.faults())

    # ---- the log ----
    def test_a_row_comes_late(self):                                                            # NODE-03
        looks = self.r.sql["primary"]
        looks[8]["rows"], looks[9]["rows"] = looks[9]["rows"], looks[8]["rows"]
        self.found("row 9 came after 10 had been seen")

    def test_a_gap(self):                                                                       # NODE-03
        del self.r.sql["standby"][9]
        self.found("a gap: row 11 follows 9")

    def test_time_stands_still(self):                                                           # NODE-03
        for rows in (self.r.rows, *(look["rows"] for look in self.r.sql["primary"])):
            for row in rows:
                row[1] -= 2 * (row[0] == 9)
        self.found("the time of row 9")

    def test_the_end_is_not_the_newest_row(self):                                               # NODE-03
        self.r.sql["primary"][5]["last_seq"] = 7
        self.found("its newest row is 6")

    def test_a_number_is_given_twice(self):                                                     # NODE-09
        self.s.fail_over()
        self.r.forks = []
        self.r.rows[10] = [11, 1000011, 1, 77]
        self.found("the number 11 was given twice")

    def test_a_row_vanishes(self):                                                              # NODE-09
        del self.r.rows[7]
        self.found("row 8 was seen by primary, and is not there")

    def test_the_log_goes_back(self):                                                           # NODE-09
        self.r.sql["primary"].append({"t": 21, "last_seq": 19, "newest": 19, "rows": []})
        self.found("the log went back from 20 to 19")

    def test_nodes_show_different_logs(self):                                                   # NODE-03
        del self.r.logs["b"][4]
        self.found("/log of the nodes a and b differ")

    def test_a_reader_misses_a_row(self):                                                       # NODE-03 NODE-07
        del self.r.subs["/log/1"]["got"][7]
        self.found("log /log/1: lost")

    def test_a_reader_sees_a_row_twice(self):                                                   # NODE-03
        got = self.r.subs["/log/1"]["got"]
        got.insert(8, got[7])
        self.found("log /log/1: again")

    def test_a_position_goes_back(self):                                                        # NODE-05
        for n, look in enumerate(self.r.sql["primary"]):
            look["positions"] = {"1": n}
        self.assertEqual([], self.s.faults())
        self.r.sql["primary"][9]["positions"] = {"1": 7}
        self.found("the position of subscription 1 went back from 8 to 7")
        self.s.fault("fail_over_lossy", 9.5, 9.9, None, lossy=True)
        self.assertFalse(any("position" in f for f in self.s.faults()))

    def test_a_cursor_of_another_node(self):                                                    # NODE-03
        for seen, text in (([8, 200, cursor(8), cursor(7), None], "was taken for an earlier one"),
                           ([8, 200, cursor(8), cursor(9), cursor(8)], "was taken for an earlier one"),
                           ([8, 410, cursor(8), None, None], "was answered with 410")):
            self.r.cursors[0] = seen
            self.found(text)

    # ---- subscriptions ----
    def test_a_lost_delivery(self):                                                             # NODE-05
        del self.trail[9]
        self.found("lost, or in another order: %s was expected" % cursor(10))

    def test_a_lost_end(self):                                                                  # NODE-05
        del self.trail[-1]
        self.found("lost: %s was not delivered" % cursor(20))

    def test_only_failed(self):                                                                 # NODE-05
        self.trail[-1].update(how="failed", status=500)
        self.found("lost: %s was not delivered" % cursor(20))

    def test_swapped_deliveries(self):                                                          # NODE-05
        self.trail[8]["rows"], self.trail[9]["rows"] = self.trail[9]["rows"], self.trail[8]["rows"]
        self.found("in another order")

    def test_a_position_that_moved_back(self):                                                  # NODE-05
        self.trail.insert(10, dict(self.trail[6], t=10.6, end=10.7))
        self.found("again after its acknowledgement: %s" % cursor(7))

    def test_a_repeat_after_a_kill(self):                                                       # NODE-06
        self.s.fault("kill", 10.55, 10.55)
        self.trail.insert(10, dict(self.trail[9], t=10.6, end=10.7))
        self.assertEqual([], self.s.faults())
        self.trail.insert(10, dict(self.trail[6], t=10.6, end=10.7))
        self.found("again after its acknowledgement: %s" % cursor(7))

    def test_a_broken_chain(self):                                                              # NODE-05
        self.trail[9]["prev"] = cursor(8)
        self.found("the chain is broken")

    def test_a_hole_in_a_delivery(self):                                                        # NODE-05
        self.trail[8].update(last=cursor(10))
        del self.trail[9]
        self.found("from %s to %s it has" % (cursor(8), cursor(10)))

    def test_two_calls_at_once(self):                                                           # NODE-05
        self.trail[9]["overlap"] = True
        self.found("another one to the same endpoint is under way")
        self.s.fault("cut_long", 9, 12)
        self.found("another one to the same endpoint is under way")
        self.s.fault("freeze", 4, 10)
        self.assertEqual([], self.s.faults())
        self.trail[10]["overlap"] = True
        self.found("another one to the same endpoint is under way")

    def test_a_late_delivery(self):                                                             # NODE-06
        self.r.subs[1]["witness"] = True
        self.assertEqual([], self.s.faults())
        self.trail[-1].update(t=51, end=51.1)
        self.found("%s came 31.0 s after it was in the log" % cursor(20))
        self.s.fault("crash", 30, 32)
        self.assertEqual([], self.s.faults())

    def test_a_transfer_of_a_held_node(self):                                                   # NODE-06
        self.trail[9]["overlap"] = True
        self.s.fault("held_transfer", 4, 10)
        self.assertEqual([], self.s.faults())

    # ---- fetches ----
    def test_two_fetches_of_a_feed(self):                                                       # NODE-04
        self.r.fetches[9]["node"], self.r.fetches[9]["end"] = "b", 10.1
        self.found("another fetch of it is under way")
        self.s.fault("kill", 4, 9, "b")
        self.found("another fetch of it is under way")
        self.s.fault("freeze", 4, 9.5, "b")
        self.assertEqual([], self.s.faults())
        self.r.faults = []
        self.s.fault("fail_over_lossy", 8, 8.5, None, lossy=True)
        self.assertFalse(any("another fetch" in fault for fault in self.s.faults()))

    def test_too_many_at_a_host(self):                                                          # NODE-04
        for n in range(3):
            self.s.fetch(7.2 + n / 100, 7.8, feed="http://127.0.0.1:9/%d" % n, node="ab"[n % 2])
        self.found("3 transfers with 127.0.0.1:9 at once: ['a', 'b']")

    def test_a_gap_between_fetches(self):                                                       # NODE-04
        self.r.fetches[9].update(t=8.3, end=8.4)
        self.found("0.300 s after another fetch")
        self.r.fetches[9]["node"] = "b"
        self.assertEqual([], self.s.faults())

    def test_a_host_that_rests(self):                                                           # NODE-04
        self.r.fetches[9].update(status=429, cool_s=2)
        self.found("had asked for 2 s of rest")
        self.s.fault("kill", 9.1, 10)
        self.assertEqual([], self.s.faults())

    def test_nobody_fetches(self):                                                              # NODE-06
        self.r.options["calm_at"] = 49
        self.assertEqual([], self.s.faults())
        self.r.options["calm_at"] = 52
        self.found("for 33.0 s nobody fetched it")
        self.s.fault("wrong_clock", 30, 34)
        self.assertEqual([], self.s.faults())

    # ---- what clients were answered ----
    def test_an_answer_is_late(self):                                                           # NODE-08
        self.r.answers[0][1] = 14
        self.found("GET /sub at 8.000 was answered after 6.0 s")
        self.s.fault("hanging_clients", 7, 15, None)
        self.found("GET /sub at 8.000 was answered after 6.0 s")
        self.r.load = [[10, 5], [12, 4]]        # the machine is too busy to tell
        self.assertEqual([], self.s.faults())
        self.r.load[0][1] = 2
        self.found("GET /sub at 8.000 was answered after 6.0 s")
        self.s.fault("freeze", 7, 13)
        self.assertFalse(any("answered after" in f for f in self.s.faults()))

    def test_nobody_says_when_to_come_again(self):                                              # NODE-08
        self.r.answers[1][4] = None
        self.found("GET /sub at 9.000: 503 without Retry-After")
        self.r.answers[1][2] = "POST /sub"
        self.found("POST /sub at 9.000: 503 without Retry-After")
        self.s.fault("leave", 8, 10)        # it may have been done
        self.assertEqual([], self.s.faults())

    def test_a_node_without_a_database(self):                                                   # NODE-08
        self.r.away += [[8, "a", "/sub?id", 404], [8, "b", "/readyz", 200]]
        self.found("/sub?id of node a, which was cut off, was 404")
        self.found("/readyz of node b, which was cut off, was 200")

    def test_readers_wake_late(self):                                                           # NODE-07
        for wake in self.r.wakes:
            wake[1] += 1 + wake[2]
        self.found("half of 40 long polls ended more than")

    # ---- what was acknowledged, and the end ----
    def test_a_subscription_is_missing(self):                                                   # NODE-08
        self.r.tables["keys"] = []
        self.found("not in the database at the end: sub 1")
        self.s.fault("fail_over_lossy", 2, 3.5, None, lossy=True)
        self.assertFalse(any("not in the database" in f for f in self.s.faults()))

    def test_a_subscription_comes_back(self):                                                   # NODE-08
        self.r.tables["keys"] += ["sub 2"]
        self.found("ended at 5.100 and in the database")

    def test_a_ping_is_forgotten(self):                                                         # NODE-08
        self.r.acks.append({"what": "ping", "key": self.s.FEED, "t": 30, "end": 30.1})
        self.found("no fetch follows the ping")

    def test_a_page_differs(self):                                                              # NODE-03
        self.r.pages[5][3] = "another"
        self.found("the body of /simple/x/2 of node b")

    def test_a_tag_differs(self):                                                               # NODE-03
        self.r.pages[5][4] = '"another"'
        self.assertEqual([], self.s.faults())
        self.r.options["calm_at"] = 3
        self.found("the entity tag of /simple/x/2 of node b")

    def test_a_change_is_forgotten(self):                                                       # NODE-02
        self.r.acks.append({"what": "changed", "key": "sub 1", "t": 7, "end": 7.1, "folder": "x1"})
        self.found("changed at 7.100, and not so at the end: sub 1")
        self.r.tables["folders"]["sub 1"] = [["x1"]]
        self.assertEqual([], self.s.faults())
        self.r.acks.append({"what": "changed", "key": "sub 1", "t": 8, "end": 8.1, "folder": "x2"})
        self.found("changed at 8.100")
        self.r.acks.append({"what": "maybe", "key": "sub 1", "t": 9, "end": 9.1})
        self.assertEqual([], self.s.faults())

    def test_what_was_lost_does_not_come_again(self):                                           # NODE-09
        self.r.shown[self.s.FEED]["u21"] = "t21"
        self.found("shows u21 as 't21' at the end, and the log has None")
        self.r.shown[self.s.FEED] = {"u20": "another"}
        self.found("shows u20 as 'another' at the end")

    def test_a_log_that_is_moved(self):                                                         # NODE-10
        self.r.options["calm_at"] = 3
        self.r.moved["pages"] = {"/simple/x/2": "digest 2"}
        self.assertEqual([], self.s.faults())
        self.r.moved["pages"] = {"/simple/x/2": "another"}
        self.found("/simple/x/2 of the file to which all was moved differs")
        self.r.moved["keys"] = []
        self.found("the file to which all was moved has other subscriptions")
        self.r.moved["log"] = self.r.moved["log"][1:]
        self.found("/log of the file to which all was moved differs")
        self.r.moved["check"] = [0, 1]
        self.found("feedmill migrate: [0, 1]")

    def test_a_node_is_not_shown(self):                                                         # NODE-11
        self.r.tables["nodes"]["a"] = [["a", 256, 0]]
        self.found("/nodes of a has ['a'] at the end")
        self.r.tables["nodes"]["a"] = [["a", 128, 0], ["b", 127, 0]]
        self.found("/nodes of a at the end")

    def test_a_node_that_differs(self):                                                         # NODE-12
        for wrong in ({"status": 0}, {"status": None}, {"took_s": 11}, {"said": "I do not like it"}):
            with mock.patch.dict(self.r.misfits[0], wrong):
                self.found("a node with another --base-url ended with")
        self.r.load = [[8, 5]]                  # the machine is too busy to tell
        with mock.patch.dict(self.r.misfits[0], took_s=11):
            self.assertEqual([], self.s.faults())
        self.r.load = []
        self.r.misfits[0]["said"] = "cannot connect to the database"
        self.found("a node with another --base-url ended with")
        self.s.fault("crash", 8, 9)
        self.assertEqual([], self.s.faults())

    def test_orphans_and_sessions(self):                                                        # NODE-06
        self.r.tables["orphans"]["entries without a feed"] = 2
        self.r.tables["sessions"] = ["idle in transaction"]
        self.found("2 orphans")
        self.found("left in a transaction")
