#!/usr/bin/env python3
"""count_tests.py BUILD-DIR: prints "PASSED FAILED" of the last `meson test` there, counting each test
function of a program, and a program without such as one. One that failed otherwise (a crash, a leak, a
time-out) is a failure, and so is one that was to run functions and ran none."""
import re
import sys
import xml.etree.ElementTree as tree

passed = failed = 0
for case in tree.parse(sys.argv[1] + "/meson-logs/testlog.junit.xml").getroot().iter("testcase"):
    said = "".join(part.text or "" for kind in ("system-out", "system-err") for part in case.iter(kind))
    good = len(re.findall(r"^\[ +OK \] ", said, re.M))
    bad = len(set(re.findall(r"^\[ +(?:FAILED|ERROR) +\] (test_\w+)", said, re.M)))
    if case.find("failure") is not None or case.find("error") is not None:
        bad = max(bad, 1)
    elif not good:
        good, bad = ("[====" not in said, "[====" in said)
    passed, failed = passed + good, failed + bad
print(passed, failed)
