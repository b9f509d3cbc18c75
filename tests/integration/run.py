#!/usr/bin/env python3
"""Runs the integration tests against FEEDMILL_BINARY (default build/feedmill).

  run.py [--quick] [--engine pg] [--jobs N] [--slowest N] [-k PATTERN]... [MODULE | MODULE.CLASS | MODULE.CLASS.TEST]...

MODULE is a file of this folder without ".py"; no name means all of them. -k keeps the tests whose name
has PATTERN in it (shell wildcards are understood). --quick leaves out the tests marked slow.
--engine pg gives each daemon a database of its own in one PostgreSQL.
--jobs runs N classes of tests at a time, the longest first: they mostly wait. A class that takes more than a minute runs in
pieces, unless its tests share what setUpClass() starts. How long each takes is read
from seconds.txt, which --write-seconds renews. --slowest lists the N tests that took longest, and the N classes.
--count writes "PASSED FAILED" to a file, --report appends to a file which tests failed and the end of what
they said. With --again FILE, tests that failed run once more, alone, when they are few and none of them crashed,
hung or has a report of a sanitizer. One that passes then counts as passed, and what it said when it failed is appended
to that file. FEEDMILL_PATIENCE multiplies every deadline of a test: 3 for sanitizers, more on a busy machine.
A test that takes longer than FEEDMILL_HUNG seconds (150, times FEEDMILL_PATIENCE) is ended, and the rest of its
class with it; it is reported with the stacks of its threads and the logs of its daemons.
"""
import argparse
import atexit
import faulthandler
import json
import os
import random
import re
import signal
import sys
import tempfile
import threading
import time
import traceback
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
SECONDS = os.path.join(HERE, "seconds.txt")
HEAD, TAIL = 30, 60  # lines of a failed test that are reported
costs = []  # of each class that ran apart: seconds, those of a processor, its name
PIECE = 60  # seconds: a class that takes longer runs in pieces
FEW = 3    # failures of a busy machine; more of them are the program's
HUNG = float(os.environ.get("FEEDMILL_HUNG", 150 * float(os.environ.get("FEEDMILL_PATIENCE", "1"))))


class Timed(unittest.TextTestResult):
    """Also keeps how long each test took, set-up and clean-up included. `hung` is called, on a thread of its own, with what
    has not come to an end in time."""

    def __init__(self, *args, hung, **kw):
        super().__init__(*args, **kw)
        self.seconds, self.began, self.hung = {}, 0, hung
        self.watch("the start of the class")

    def watch(self, what):
        self.timer = threading.Timer(HUNG, self.hung, (self, what))
        self.timer.daemon = True
        self.timer.start()
        faulthandler.dump_traceback_later(HUNG + 60, exit=True)     # if no thread of Python can run

    def startTest(self, test):
        self.timer.cancel()
        self.watch(test.id())
        self.began = time.monotonic()
        super().startTest(test)

    def stopTest(self, test):
        super().stopTest(test)
        self.seconds[test.id()] = time.monotonic() - self.began
        self.timer.cancel()
        self.watch("what follows " + test.id())

    def stopTestRun(self):
        super().stopTestRun()
        self.timer.cancel()
        faulthandler.cancel_dump_traceback_later()


class Outcome:
    """What a run came to: how many tests passed, the seconds of each by its id, and what failed: its id -> what it said
    (several times, if it has subtests) and whether it may run again."""

    def __init__(self, passed=0, failures=(), seconds=()):
        self.passed, self.seconds, self.failures = passed, dict(seconds), dict(failures)

    def add(self, other):
        self.passed += other.passed
        self.seconds.update(other.seconds)
        self.failures.update(other.failures)

    def fail(self, what, text, again=False):
        said, may = self.failures.get(what, ("", True))
        self.failures[what] = (said + text.strip() + "\n", may and again)

    @property
    def failed(self):
        return len(self.failures)


def report(to, what, text):
    lines = text.strip().split("\n")
    if len(lines) > HEAD + TAIL:  # where it failed comes first, and then the log of a daemon
        lines[HEAD:-TAIL] = ["[...]"]
    if to:
        with open(to, "a") as out:
            out.write("integration test %s\n  %s\n" % (what, "\n  ".join(lines)))


def has_crashed(text):
    """A test that fails so is not run again."""
    from integration.env import daemon
    return "daemon.Crash:" in text or any(word in text for word in daemon.REPORTS)


def load(names, patterns):
    """The suite of these names ("test_push", "test_push.Push", "test_push.Push.test_...")."""
    loader = unittest.TestLoader()
    if patterns:
        loader.testNamePatterns = [p if "*" in p else "*%s*" % p for p in patterns]
    suite = unittest.TestSuite(loader.loadTestsFromName("integration." + n) for n in names)
    return suite, loader.errors


def tests_of(suite):
    for part in suite:
        if isinstance(part, unittest.TestSuite):
            yield from tests_of(part)
        else:
            yield part


def outcome_of(result):
    # a test may fail several times, by its subtests; the set-up of a class fails without being a test
    bad = [(getattr(test, "test_case", test).id(), trace) for test, trace in result.failures + result.errors]
    good = set(result.seconds) - {what for what, _ in bad} - {test.id() for test, _ in result.skipped}
    outcome = Outcome(len(good), seconds=result.seconds)
    for what, trace in bad:
        outcome.fail(what, trace, again=not has_crashed(trace))
    return outcome


def stacks():
    """Where the threads of this process are, as lines; the main thread comes last."""
    with tempfile.TemporaryFile("w+") as out:
        faulthandler.dump_traceback(out)
        out.seek(0)
        return out.read().split("\n")


def end_hung(result, what, write):
    """Report what hangs, and end this process."""
    from integration.env import daemon
    lines = ["---- the test ----"] + stacks()[-TAIL // 2:]
    for one in list(daemon.running):
        lines[:0] = ["---- a daemon ----"] + one.abort().split("\n")[-TAIL // 2:]
    what = "%s: it hung, and was ended after %g s" % (what, HUNG)
    print("%s\n%s" % (what, "\n".join(lines)), flush=True)
    outcome = outcome_of(result)
    outcome.fail(what, "\n".join(lines))
    write(outcome)
    os._exit(1)


def run_here(names, patterns, write):
    """Run these tests in this process. `write` keeps the outcome of a process that is ended."""
    suite, _ = load(names, patterns)

    def result(*args, **kw):
        return Timed(*args, hung=lambda result, what: end_hung(result, what, write), **kw)
    return outcome_of(unittest.TextTestRunner(verbosity=2, stream=sys.stdout, resultclass=result).run(suite))


class Apart:
    """A class that runs in a process of its own. It is forked: to start Python anew and to read the modules again would take
    longer than the tests of many a class."""

    def __init__(self, name, names, patterns):
        self.name = name
        # not a pipe: a program that the class has left behind would keep it open
        self.outcome, self.output = tempfile.NamedTemporaryFile("r"), tempfile.TemporaryFile("w+", errors="replace")
        self.began = time.monotonic()
        sys.stdout.flush()
        self.pid = os.fork()
        if not self.pid:
            self._run(names, patterns)

    def _run(self, names, patterns):
        atexit._clear()     # what the parent has started is not ours
        random.seed()
        for stream in 1, 2:
            os.dup2(self.output.fileno(), stream)

        def write(outcome):
            with open(self.outcome.name, "w") as out:
                json.dump(vars(outcome), out)
        code = 1
        try:
            outcome = run_here(names, patterns, write)
            write(outcome)
            code = 1 if outcome.failed or not outcome.passed else 0
        except BaseException:
            traceback.print_exc(file=sys.stdout)
        finally:
            atexit._run_exitfuncs()
            sys.stdout.flush()
            os._exit(code)

    def ended(self, status, used):
        """Returns its output and its outcome."""
        code = os.waitstatus_to_exitcode(status)
        costs.append((time.monotonic() - self.began, used.ru_utime + used.ru_stime, self.name))
        with self.outcome, self.output:
            written = self.outcome.read()
            self.output.seek(0)
            said = self.output.read()
        outcome = Outcome()
        if written:
            outcome = Outcome(**json.loads(written))
        else:
            outcome.fail("%s: the whole class ended with code %d" % (self.name, code), said)
        if has_crashed(said):  # one test may have shown what another has failed by
            for what, (text, _) in outcome.failures.items():
                outcome.failures[what] = (text, False)
        return said, outcome


def run_apart(pieces, patterns, jobs):
    """Run each of these (what it is called, names) in a process of its own, `jobs` at a time. Yields the output and the outcome of
    each that has ended."""
    waiting, running = list(pieces), {}
    while waiting or running:
        while waiting and len(running) < jobs:
            one = Apart(*waiting.pop(0), patterns)
            running[one.pid] = one
        pid, status, used = os.wait4(-1, 0)     # with all that it has started and waited for
        if pid in running:                      # the other child is the PostgreSQL that is lent
            yield running.pop(pid).ended(status, used)


def run_again(total, again_to):
    """Run what failed once more, when that is allowed. What passes then is told in the file `again_to`."""
    allowed = [what for what, (_, may) in total.failures.items() if may]
    if total.failed > FEW:
        return
    for what in allowed:
        name = re.sub(r"^setUpClass \((.*)\)$", r"\1", what).partition("integration.")[2]
        print("---- again: %s ----" % name, flush=True)
        (said, outcome), = run_apart([(name, [name])], None, 1)
        sys.stdout.write(said)
        if outcome.passed and not outcome.failed:
            report(again_to, what, total.failures.pop(what)[0])
            total.add(outcome)


def known_seconds():
    """seconds.txt: class -> seconds."""
    try:
        with open(SECONDS) as lines:
            return {name: float(seconds) for name, seconds in (line.split() for line in lines)}
    except FileNotFoundError:
        return {}


def write_seconds(outcome):
    found = known_seconds()
    measured = {}
    for test, seconds in outcome.seconds.items():
        name = class_of(test)
        measured[name] = measured.get(name, 0) + seconds
    found.update(measured)
    with open(SECONDS, "w") as out:
        for name in sorted(found):
            out.write("%s %.0f\n" % (name, found[name]))


def class_of(test_id):
    return ".".join(test_id.split(".")[1:3])


def has_own_setup(test):
    """Do the tests of its class share what takes long to start?"""
    return any(getattr(type(test), name).__func__ is not getattr(unittest.TestCase, name).__func__
               for name in ("setUpClass", "tearDownClass"))


def pieces(suite):
    """[(seconds, what it is called, names)] of what is to run apart, the longest first: the classes, and the pieces of a class that
    takes long, so that the end of the run does not wait for it."""
    known, found, classes = known_seconds(), [], {}
    for test in tests_of(suite):
        classes.setdefault(class_of(test.id()), []).append(test)
    for name, tests in classes.items():
        seconds = known.get(name, float("inf"))     # a class that nobody has measured may be the longest
        n = min(len(tests), round(seconds / PIECE)) if name in known and not has_own_setup(tests[0]) else 1
        if n < 2:
            found.append((seconds, name, [name]))
            continue
        for i in range(n):
            found.append((seconds / n, "%s, %d of %d" % (name, i + 1, n),
                          [test.id().partition(".")[2] for test in tests[i::n]]))
    return sorted(found, key=lambda piece: (-piece[0], piece[1]))


def run_jobs(names, patterns, jobs, write):
    """Run these tests, `jobs` classes at a time; a test that was named itself runs apart, too."""
    single = [n for n in names if n.count(".") == 2]
    suite, errors = load([n for n in names if n not in single], patterns)
    if errors:  # a module that cannot be read: it says so when it is run as any other
        return run_here(names, patterns, write)
    total = Outcome()
    for text, outcome in run_apart([(n, [n]) for n in single] + [piece[1:] for piece in pieces(suite)], patterns, jobs):
        sys.stdout.write(text)
        sys.stdout.flush()
        total.add(outcome)
    return total


def write_outcome(args, outcome):
    if args.count:
        with open(args.count, "w") as out:
            out.write("%d %d\n" % (outcome.passed, outcome.failed))


def lend():
    """Start the PostgreSQL from which the tests get their databases."""
    from integration.env.postgres import borrowed
    server = borrowed()
    os.environ.update(server.loan())
    atexit.register(server.close)


def main():
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job inherits it ignored
    options = argparse.ArgumentParser(description=__doc__,
                                      formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--quick", action="store_true")
    options.add_argument("--engine", choices=["sqlite", "pg"], default="sqlite")
    options.add_argument("--jobs", type=int, default=1)
    options.add_argument("--slowest", type=int, default=0)
    options.add_argument("--write-seconds", action="store_true")
    options.add_argument("--count")
    options.add_argument("--report")
    options.add_argument("--again")
    options.add_argument("-k", action="append")
    options.add_argument("names", nargs="*", metavar="NAME")
    args = options.parse_args()
    began = time.monotonic()
    if not os.access(os.environ.get("FEEDMILL_BINARY", "build/feedmill"), os.X_OK):
        options.error("FEEDMILL_BINARY does not name the daemon (and there is no build/feedmill)")
    if args.quick:
        os.environ["FEEDMILL_QUICK"] = "1"
    if args.engine != "sqlite":
        os.environ["FEEDMILL_TEST_ENGINE"] = args.engine
    sys.path.insert(0, os.path.dirname(HERE))
    if args.engine == "pg":
        lend()
    sys.dont_write_bytecode = True
    names = [n[:-3] if n.endswith(".py") else n for n in args.names] or sorted(
        n[:-3] for n in os.listdir(HERE) if n.startswith("test_") and n.endswith(".py"))
    def write(outcome):
        write_outcome(args, outcome)
    if args.jobs > 1:
        outcome = run_jobs(names, args.k, args.jobs, write)
    else:
        outcome = run_here(names, args.k, write)
    if args.again:
        run_again(outcome, args.again)
    for what, (text, _) in outcome.failures.items():
        report(args.report, what, text)
    if args.jobs > 1:
        print("integration: %d passed, %d failed; the processors were busy with it %.0f %% of the time" % (
            outcome.passed, outcome.failed,
            100 * sum(cost[1] for cost in costs) / os.cpu_count() / (time.monotonic() - began)), flush=True)
    if not outcome.seconds and not outcome.failed:
        print("no test has such a name")
    for test, seconds in sorted(outcome.seconds.items(), key=lambda t: -t[1])[:args.slowest]:
        print("%6.1f s  %s" % (seconds, test.partition(".")[2]))
    for seconds, processor, name in sorted(costs, reverse=True)[:args.slowest]:
        print("%6.1f s, %6.1f s of a processor  %s" % (seconds, processor, name))
    if args.write_seconds:
        write_seconds(outcome)
    write(outcome)
    return 1 if outcome.failed or not outcome.passed else 0


if __name__ == "__main__":
    sys.exit(main())
