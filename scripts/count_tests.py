#!/usr/bin/env python3
"""count_tests.py BUILD-DIR [REPORT]: prints "PASSED FAILED" of the last `meson test` there, counting each
test function of a program, and a program without such as one. One that failed otherwise (a crash, a leak, a
time-out) is a failure, and so is one that was to run functions and ran none. What failed is appended to the
file REPORT: the program, how it ended, in which function if it did not go on, and the end of what it said."""
import json
import re
import sys

TAIL = 60  # lines of a failed program that are reported


def describe(test):
    said = (test.get("stdout", "") + "\n" + test.get("stderr", "")).strip().split("\n")
    steps = re.findall(r"^\[ +(RUN|OK|FAILED|ERROR|SKIPPED) +\] (\w+)", "\n".join(said), re.M)
    at = " in " + steps[-1][1] if steps and steps[-1][0] == "RUN" else ""
    said = [line for line in said if not re.match(r"\[ +(RUN|OK) +\]", line)]
    return "unit test %s: %s%s after %.1f s, exit code %s\n  %s\n" % (
        test["name"], test["result"], at, test["duration"], test["returncode"], "\n  ".join(said[-TAIL:]))


passed = failed = 0
report = []
with open(sys.argv[1] + "/meson-logs/testlog.json") as log:
    tests = [json.loads(line) for line in log]
for test in tests:
    said = test.get("stdout", "") + "\n" + test.get("stderr", "")
    good = len(re.findall(r"^\[ +OK \] ", said, re.M))
    bad = len(set(re.findall(r"^\[ +(?:FAILED|ERROR) +\] (test_\w+)", said, re.M)))
    if test["result"] not in ("OK", "EXPECTEDFAIL", "SKIP"):
        bad = max(bad, 1)
    elif not good:
        good, bad = ("[====" not in said, "[====" in said)
    passed, failed = passed + good, failed + bad
    if bad:
        report.append(describe(test))
if len(sys.argv) > 2:
    with open(sys.argv[2], "a") as out:
        out.write("".join(report))
print(passed, failed)
