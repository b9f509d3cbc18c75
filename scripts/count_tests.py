#!/usr/bin/env python3
"""count_tests.py BUILD-DIR [REPORT AGAIN]: prints "PASSED FAILED" of the last `meson test` there, counting each
test function of a program, and a program without such as one. One that failed otherwise (a crash, a leak, a
time-out) is a failure, and so is one that was to run functions and ran none. What failed is appended to the
file REPORT: the program, how it ended, and what each failed function said.

With AGAIN, functions that failed run once more, alone, when they are few and nothing worse than a wrong value was
seen. One that passes then counts as passed, and what it said when it failed is appended to the file AGAIN."""
import json
import re
import subprocess
import sys

TAIL = 60       # lines of a failed program that are reported
TAIL_ONE = 25   # and of a failed function
FEW = 3         # failures of a busy machine; more of them are the program's
HUNG_S = 300
WORSE = re.compile(r"Sanitizer|runtime error:|Test failed with exception|impossible:")
LEAKED = 23     # how a program exits when memory was left, as a function that fails half-way leaves it
LEAK = re.compile(r"^(=*\d*=*ERROR: LeakSanitizer: detected|SUMMARY: AddressSanitizer: \d+ byte\(s\) leaked).*$", re.M)
STEP = re.compile(r"^\[ +(RUN|OK|FAILED|ERROR|SKIPPED) +\] (\S+)$")


class Program:
    """What the log says of a program."""

    def __init__(self, test):
        self.name, self.result, self.code = test["name"], test["result"], test["returncode"]
        self.duration, self.command, self.env = test["duration"], test["command"], test["env"]
        self.text = (test.get("stdout", "") + "\n" + test.get("stderr", "")).strip()
        self.good, self.bad, self.unfinished = [], {}, None  # bad: function -> what it said
        said = []
        for line in self.text.split("\n"):
            step = STEP.match(line)
            if not step:
                said.append(line)
            elif step[1] == "RUN":
                self.unfinished, said = step[2], []
            else:
                if step[1] == "OK":
                    self.good.append(step[2])
                elif step[1] != "SKIPPED":
                    self.bad.setdefault(step[2], said)
                self.unfinished, said = None, []
        self.passed, self.failed = len(self.good), len(self.bad)
        if self.result not in ("OK", "EXPECTEDFAIL", "SKIP"):
            self.failed = max(self.failed, 1)
        elif not self.good:
            self.passed, self.failed = ("[====" not in self.text, "[====" in self.text)

    def may_run_again(self):
        """Did it end as it should, with some wrong values? Then its exit code is how many functions failed, unless one of
        them has left memory. One that leaks otherwise leaks again when it
        runs alone."""
        ended = 0 < self.code <= len(self.bad) or (self.code == LEAKED and self.bad)
        return (self.result == "FAIL" and not self.unfinished and ended
                and not WORSE.search(LEAK.sub("", self.text)))

    def passes_alone(self, function):
        try:
            done = subprocess.run(self.command, cwd=sys.argv[1], env=dict(self.env, FEEDMILL_TESTS=function),
                                  stdin=subprocess.DEVNULL, capture_output=True, timeout=HUNG_S)
        except subprocess.TimeoutExpired:
            return False
        return done.returncode == 0 and re.search(rb"^\[ +OK \] %s$" % function.encode(), done.stdout, re.M)

    def describe(self):
        at = " in " + self.unfinished if self.unfinished else ""
        text = "unit test %s: %s%s after %.1f s, exit code %s\n" % (self.name, self.result, at, self.duration, self.code)
        for function, said in self.bad.items():
            text += block(function, said, TAIL_ONE)
        if not self.may_run_again():
            text += block("the end of its output", [line for line in self.text.split("\n")
                                                    if not re.match(r"\[ +(RUN|OK) +\]", line)], TAIL)
        return text


def block(title, lines, most):
    return "  %s\n" % title + "".join("    %s\n" % line for line in lines[-most:] if line.strip())


def run_again(programs):
    """Run what failed once more, when that is allowed; returns what to tell about those that passed."""
    bad = [p for p in programs if p.failed]
    told = ""
    if sum(p.failed for p in bad) <= FEW:
        for program in [p for p in bad if p.may_run_again()]:
            for function, said in list(program.bad.items()):
                if program.passes_alone(function):
                    told += "unit test %s\n" % program.name + block(function, said, TAIL_ONE)
                    del program.bad[function]
                    program.passed, program.failed = program.passed + 1, program.failed - 1
    return told


def append(name, text):
    with open(name, "a") as out:
        out.write(text)


with open(sys.argv[1] + "/meson-logs/testlog.json") as log:
    programs = [Program(json.loads(line)) for line in log]
if len(sys.argv) > 3:
    append(sys.argv[3], run_again(programs))
if len(sys.argv) > 2:
    append(sys.argv[2], "".join(p.describe() for p in programs if p.failed))
print(sum(p.passed for p in programs), sum(p.failed for p in programs))
