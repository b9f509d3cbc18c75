#!/usr/bin/env python3
"""check_prose.py [--advice] [FILE]...: looks for English that has to be read twice.

It reads comments, string literals and documents, and finds: "X is no Y" for "X is not a Y"; a clause
that begins with "who" and has no noun before it; "behind" for "after" (documents only); names that
the glossary has replaced (those in `code` in the last column of docs/glossary.md); files that a
document names and that do not exist; lines of the log that are not made of name=value. Prints FILE:LINE and what was found, then "1 0" or "0 1". With
--advice it never fails.
"""
import os
import re
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
SOURCE, DOCUMENT = (".c", ".h", ".def", ".sql", ".py"), (".md",)
SKIPPED = {"fixtures", "seeds", "__pycache__", "node_modules"}
# comments, and string literals with those that follow at once ("a" "b" is one text)
TEXTS = re.compile(r'/\*.*?\*/|//[^\n]*|--[^\n]*|"(?:[^"\\\n]|\\.)*"(?:\s*"(?:[^"\\\n]|\\.)*")*', re.S)
IS_NO = re.compile(r"(?<![Tt]here )\b(?:is|are|was|were) no "
                   r"(?!(?:longer|more|less|later|earlier)\b)[a-z]\w*")
BEHIND = re.compile(r"\bbehind\b")
# not a question ("who is it?"), and not a list of them ("who asks, which view")
WHO = re.compile(r"(?:^|[.;:] )who [a-z]+(?![^.;?]*(?:\?|, (?:which|what|whose)\b))[^.;]*", re.I)
PATH = re.compile(r"`((?:[a-z_]+/)+[a-z\d_.-]+\.[a-z]+)`")  # not "sink_NAME.c"

# module, event, and the format of what follows
LOG = re.compile(r'\blog_(?:debug|info|warn|error)\(\s*"\w*",\s*"\w*",((?:\s*"(?:[^"\\]|\\.)*")+)')


def loose_words(whole):
    """Pairs (line, word) of formats of the log: what stands outside quotes and has no name."""
    for match in LOG.finditer(whole):
        text = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', match.group(1)))
        for word in re.sub(r'\\".*?\\"', "x", text).split():
            if "=" not in word and word != "%s":
                yield whole.count("\n", 0, match.start()) + 1, word


def flat(text):
    """The text on one line, without margins of comments and seams of literals; the line of each character."""
    out, lines, line = [], [], 1
    for match in re.finditer(r'\s*"\s*\n?\s*"|\s*\n[ \t]*(?:\*(?!/)|//|#)?[ \t]*|.', text, re.S):
        one = match.group()
        out.append(one if len(one) == 1 and one != "\n" else " ")
        lines.append(line)
        line += one.count("\n")
    return "".join(out), lines


def texts(path, text):
    """Pairs (offset, text) of what a person reads."""
    if path.endswith(DOCUMENT):
        # x for code, in blocks and in lines
        return [(0, re.sub(r"^ {4}.*$|`[^`\n]*`", lambda m: "x" * len(m.group()), text, flags=re.M))]
    if path.endswith(".py"):
        return [(0, text)]
    return [(m.start(), re.sub(r"^(/\*+|//|--|\")\s*", lambda mark: " " * len(mark.group()), m.group()))
            for m in TEXTS.finditer(text)]


def forbidden():
    """Names in `code` in the last column of the glossary's table."""
    names = []
    for line in open(os.path.join(ROOT, "docs", "glossary.md"), encoding="utf-8"):
        if line.startswith("|"):
            names += re.findall(r"`(\w+)`", line.rstrip().rstrip("|").rpartition("|")[2])
    return re.compile(r"(?<![A-Za-z0-9])(?:%s)(?![a-z0-9])" % "|".join(names)) if names else None


def look(path, names):
    with open(os.path.join(ROOT, path), encoding="utf-8", errors="replace") as file:
        whole = file.read()
    found = []
    for offset, part in texts(path, whole):
        text, lines = flat(part)
        first = whole.count("\n", 0, offset)
        rules = [(IS_NO, 'say "is not a"'), (WHO, '"who" needs a noun before it')]
        if path.endswith(DOCUMENT):
            rules.append((BEHIND, 'say "after" or name the relation'))
        for rule, advice in rules:
            for match in rule.finditer(text):
                at = match.start() + len(match.group()) - len(match.group().lstrip(".;: "))
                found.append((first + lines[at], advice, match.group().strip(" .;:")[:60]))
    if path.endswith(DOCUMENT) and path != "docs/conformance.md":  # check_rows.py reads that one
        for match in PATH.finditer(whole):
            name = match.group(1)
            if not name.startswith("build") and not os.path.exists(os.path.join(ROOT, name)):
                found.append((whole.count("\n", 0, match.start()) + 1, "no such file", name))
    elif names:
        for match in names.finditer(whole):
            found.append((whole.count("\n", 0, match.start()) + 1, "the glossary has another word for", match.group()))
    if path.endswith(".c") and not path.startswith("tests/"):
        found += [(line, "a line of the log has name=value only", word) for line, word in loose_words(whole)]
    return ["%s:%d: %s: %s" % (path, line, advice, what) for line, advice, what in sorted(found)]


def files():
    for folder, folders, names in os.walk(ROOT):
        folders[:] = sorted(f for f in folders if f not in SKIPPED and not f.startswith((".", "build")))
        for name in sorted(names):
            path = os.path.relpath(os.path.join(folder, name), ROOT)
            if name.endswith(SOURCE + DOCUMENT) and path != "scripts/check_prose.py":
                yield path


def main():
    advice = "--advice" in sys.argv
    names = forbidden()
    wrong = []
    for path in [a for a in sys.argv[1:] if not a.startswith("--")] or files():
        wrong += look(path, names)
    for line in wrong:
        print(line)
    print("0 1" if wrong and not advice else "1 0")
    return 1 if wrong and not advice else 0


if __name__ == "__main__":
    sys.exit(main())
