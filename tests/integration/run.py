#!/usr/bin/env python3
"""Runs the integration tests against FEEDMILL_BINARY (default build/feedmill).

  run.py [--quick] [--jobs N] [--count FILE] [--report FILE] [-k PATTERN]... [MODULE]...

--quick leaves out the tests marked slow; --jobs runs N modules at a time (they mostly wait); --count
writes "PASSED FAILED" to FILE, --report appends to FILE which tests failed and the end of what they said.
"""
import argparse
import concurrent.futures
import os
import signal
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
TAIL = 60  # lines of a failed test that are reported


def report(to, what, text):
    if to:
        with open(to, "a") as out:
            out.write("integration test %s\n  %s\n" % (what, "\n  ".join(text.strip().split("\n")[-TAIL:])))


def run_here(names, patterns, report_to):
    """Run modules in this process; returns (passed, failed)."""
    sys.path.insert(0, os.path.dirname(HERE))
    sys.dont_write_bytecode = True
    loader = unittest.TestLoader()
    if patterns:
        loader.testNamePatterns = [p if "*" in p else "*%s*" % p for p in patterns]
    suite = unittest.TestSuite(loader.loadTestsFromName("integration." + n) for n in names)
    result = unittest.TextTestRunner(verbosity=2, stream=sys.stdout).run(suite)
    for test, trace in result.failures + result.errors:
        report(report_to, test.id(), trace)
    failed = len(result.failures) + len(result.errors)
    # what failed in the set-up of a class was not counted as run
    apart = sum(isinstance(test, unittest.suite._ErrorHolder) for test, _ in result.errors)
    return result.testsRun - (failed - apart) - len(result.skipped), failed


def run_apart(name, patterns, report_to):
    """Run a module in a process of its own; returns (its output, passed, failed)."""
    with tempfile.NamedTemporaryFile("r") as count:
        command = [sys.executable, os.path.abspath(__file__), "--count", count.name, name]
        if report_to:
            command += ["--report", report_to]
        for pattern in patterns or ():
            command += ["-k", pattern]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace")
        numbers = count.read().split()
    if len(numbers) != 2:  # it died
        report(report_to, "%s: the whole module ended with code %d" % (name, done.returncode), done.stdout)
        return done.stdout, 0, 1
    return done.stdout, int(numbers[0]), int(numbers[1])


def main():
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job inherits it ignored
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--quick", action="store_true")
    options.add_argument("--jobs", type=int, default=1)
    options.add_argument("--count")
    options.add_argument("--report")
    options.add_argument("-k", action="append")
    options.add_argument("modules", nargs="*")
    args = options.parse_args()
    if args.quick:
        os.environ["FEEDMILL_QUICK"] = "1"
    names = [n.replace(".py", "") for n in args.modules] or sorted(
        n[:-3] for n in os.listdir(HERE) if n.startswith("test_") and n.endswith(".py"))
    if args.jobs > 1 and len(names) > 1:
        passed = failed = 0
        # long ones first, so that none runs alone at the end
        names.sort(key=lambda n: -os.path.getsize(os.path.join(HERE, n + ".py")))
        with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
            for text, good, bad in pool.map(lambda n: run_apart(n, args.k, args.report), names):
                sys.stdout.write(text)
                passed, failed = passed + good, failed + bad
        print("integration: %d passed, %d failed" % (passed, failed), flush=True)
    else:
        passed, failed = run_here(names, args.k, args.report)
    if args.count:
        with open(args.count, "w") as out:
            out.write("%d %d\n" % (passed, failed))
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
