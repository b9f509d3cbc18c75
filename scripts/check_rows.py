#!/usr/bin/env python3
"""check_rows.py [--write] [--requirements FILE]: holds docs/conformance.md and docs/decisions.md against the tree.

Every row of docs/conformance.md is the id of a demand, what is done about it, and the tests that name the id. It is
an error if no test names an id, if an id has two rows, or if the last column is empty or names a test that does not
name the id; --write brings that column up to date.
Every D-number (D1, D48) in a comment, a test or a document is a row of docs/decisions.md, or it is an error. A row
that nobody cites is fine.
With --requirements, the ids of that file's tables (`| ID | level | ...`) that have no row are printed with their
level, and those that only some test names; they are not errors. The last line is "PASSED FAILED".
"""
import argparse
import os
import re
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
TABLE = os.path.join(ROOT, "docs", "conformance.md")
ID = r"[A-Z]{2,6}-\d{2,3}"
ROW = re.compile(r"^\| (%s) \| (.*?) \| (.*?) \|$" % ID)
DECISIONS = os.path.join(ROOT, "docs", "decisions.md")
CITED_IN = (".c", ".h", ".def", ".py", ".sql", ".md", ".sh", ".build")  # kinds of files that may cite a decision
SHOWN = 3  # files named in a row


def named_in_tests():
    """id -> the test files that name it; "PUSH-01 -04" names two."""
    found = {}
    for folder, folders, files in os.walk(os.path.join(ROOT, "tests")):
        folders[:] = [f for f in folders if f not in ("fixtures", "__pycache__")]
        for name in files:
            if not name.endswith((".c", ".h", ".py")):
                continue
            path = os.path.join(folder, name)
            with open(path, encoding="utf-8", errors="replace") as text:
                for match in re.finditer(r"\b(%s)((?:,? -\d{2,3}\b)*)" % ID, text.read()):
                    prefix = match.group(1).rsplit("-", 1)[0]
                    ids = [match.group(1)] + [prefix + n for n in re.findall(r"-\d{2,3}", match.group(2))]
                    for one in ids:
                        found.setdefault(one, set()).add(os.path.relpath(path, os.path.join(ROOT, "tests")))
    return found


def shown(files):
    names = sorted(files, key=lambda f: (not f.startswith("integration"), f))
    more = len(names) - SHOWN
    return ", ".join("`%s`" % n for n in names[:SHOWN]) + (" and %d more" % more if more > 0 else "")


def check(found, write):
    errors, seen, out = [], set(), []
    with open(TABLE, encoding="utf-8") as table:
        lines = table.read().split("\n")
    for line in lines:
        row = ROW.match(line)
        if not row and re.match(r"^\| *%s\b" % ID, line):
            errors.append("not a row of three columns: " + line)
        if row:
            one, what, tests = row.groups()
            if one in seen:
                errors.append(one + " stands there twice")
            if one not in found:
                errors.append("no test names " + one)
            elif not write and not set(re.findall("`(.*?)`", tests) or [""]) <= found[one]:
                errors.append("%s: the tests are %s; run scripts/check_rows.py --write" % (one, shown(found[one])))
            seen.add(one)
            line = "| %s | %s | %s |" % (one, what, shown(found.get(one, ())))
        out.append(line)
    if write and out != lines:
        with open(TABLE, "w", encoding="utf-8") as table:
            table.write("\n".join(out))
    if not seen:
        errors.append("there are no rows")
    return errors, seen


def cited():
    """number of a decision -> the files that cite it."""
    found = {}
    for folder, folders, files in os.walk(ROOT):
        folders[:] = [f for f in folders if f not in ("fixtures", "seeds", "__pycache__")
                      and not f.startswith((".", "build"))]
        for name in files:
            path = os.path.join(folder, name)
            if not name.endswith(CITED_IN) or os.path.samefile(path, DECISIONS):
                continue
            with open(path, encoding="utf-8", errors="replace") as text:
                for one in re.findall(r"\bD[1-9]\d{0,2}\b", text.read()):
                    found.setdefault(one, set()).add(os.path.relpath(path, ROOT))
    return found


def check_decisions():
    with open(DECISIONS, encoding="utf-8") as table:
        rows = re.findall(r"^\| (D\d+) \| .+ \| .+ \| .+ \|$", table.read(), re.M)
    errors = ["docs/decisions.md: %s has two rows" % one for one in sorted(set(rows)) if rows.count(one) > 1]
    for one, files in sorted(cited().items()):
        if one not in rows:
            errors.append("docs/decisions.md has no row %s, which is cited in %s" % (one, ", ".join(sorted(files))))
    return errors if rows else ["docs/decisions.md has no rows"]


def compare(path, seen, found):
    with open(path, encoding="utf-8") as text:
        wanted = dict(re.findall(r"^\| (%s) \| ([MSO]) \|" % ID, text.read(), re.M))
    for one, level in wanted.items():
        if one not in seen:
            print("missing: %s (%s)%s" % (one, level, ", though a test names it" if one in found else ""))
    for one in sorted(seen - set(wanted)):
        print("unknown there: " + one)
    print("%d of %d rows are here" % (len(seen & set(wanted)), len(wanted)))


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--write", action="store_true")
    options.add_argument("--requirements", metavar="FILE")
    args = options.parse_args()
    found = named_in_tests()
    errors, seen = check(found, args.write)
    errors += check_decisions()
    for error in errors:
        print(error)
    if args.requirements:
        compare(args.requirements, seen, found)
    print("0 1" if errors else "1 0")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
