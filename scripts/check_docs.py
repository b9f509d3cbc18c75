#!/usr/bin/env python3
"""check_docs.py BINARY [--write]: docs/config.md, docs/metrics.md and the tables of docs/api.md are
what the tables of the sources say, docs/api.md has each route with its parameters, and each link
between documents leads to a file and a heading.
Prints what is stale or broken, then "1 0" or "0 1"; --write renews them, but for the problems of
docs/api.md, which say more than the source."""
import glob
import os
import re
import subprocess
import sys

import api_tables


def formats():
    """The table of docs/api.md between its marks, from model/formats.def."""
    out = ["<!-- formats -->", "| `type` | media type | suffix of archives | archives | streams |",
           "| --- | --- | --- | --- | --- |"]
    types = dict(re.findall(r'^#define (MEDIA_\w+) ("[^"]*")', open("model/media_types.h", encoding="utf-8").read(),
                            re.M))
    text = open("model/formats.def", encoding="utf-8").read()
    text = re.sub(r"\bMEDIA_\w+", lambda m: types[m.group()], text)
    text = re.sub(r'"[^"\n]*"(?:\s+"[^"\n]*")+', lambda m: '"%s"' % re.sub(r'"\s+"|^"|"$', "", m.group()), text)
    rows = re.findall(r'^FORMAT\(\w+, "(\w+)",\s*"([^"]*)",\s*"[^"]*",\s*"([^"]*)",\s*\w+,\s*([^)]*)\)',
                      text, re.M)
    streamed = {name for name, _, _, traits in rows if "FORMAT_IS_STREAMED" in traits}
    for name, media_type, suffix, traits in rows:
        if "FORMAT_IS_OFFERED" not in traits:
            continue
        archived = "FORMAT_IS_ARCHIVED" in traits
        out.append("| `%s` | `%s` | %s | %s | %s |" % (
            name, media_type, "`%s`" % suffix if suffix else "-", "yes" if archived else "-",
            "yes" if name in streamed else "-"))
    return "\n".join(out) + "\n<!-- /formats -->"


def api():
    text = open("docs/api.md", encoding="utf-8").read()
    return re.sub(r"<!-- formats -->.*?<!-- /formats -->", lambda _: formats(), text, flags=re.S)


def missing_problems():
    """Problems of api/http/problems.def that docs/api.md does not list with their status."""
    text = open("docs/api.md", encoding="utf-8").read()
    table = open("api/http/problems.def", encoding="utf-8").read()
    return [name for name, status in re.findall(r'^PROBLEM\(\w+, "([\w-]+)", (\d+),', table, re.M)
            if not re.search(r"^\| `%s` \|[^|]*\b%s\b" % (name, status), text, re.M)]


def missing_reasons():
    """Reasons of api/ready.def that docs/api.md does not list as they are there."""
    text = open("docs/api.md", encoding="utf-8").read()
    rows = re.findall(r'^READY(?:_STILL)?\("([\w-]+)", \w+, "(.*)"\)$', open("api/ready.def", encoding="utf-8").read(), re.M)
    return [name for name, meaning in rows if "| `%s` | %s |\n" % (name, meaning) not in text]


def sections(text):
    """{anchor: (heading, text)} of the headings of a document, each with what is below it."""
    found, heads = {}, list(re.finditer(r"^(#+) +(.*?) *$", text, re.M))
    for i, head in enumerate(heads):
        after = [other.start() for other in heads[i + 1:] if len(other.group(1)) <= len(head.group(1))]
        found[anchor_of(head.group(2))] = (head.group(2), text[head.end():after[0] if after else len(text)])
    return found


def missing_parameters():
    """(method, path, what) of each route that docs/api.md has no section for, and of each parameter that neither
    its section names nor one to which that leads."""
    every = sections(open("docs/api.md", encoding="utf-8").read())
    for (path, method), names in api_tables.routes().items():
        for heading, text in every.values():
            paths = re.sub(r"\{\w+\}", "", heading).split()
            if method in re.findall(r"[A-Z]{2,}", heading) and path in [p.rstrip(",").rstrip("/") or "/" for p in paths]:
                break
        else:
            yield method, path, "no section"
            continue
        linked = [every[to][1] for to in re.findall(r"\]\(#([^)]+)\)", text) if to in every]
        there = set(re.findall(r"`([^`\n]+)`", "\n".join([text] + linked)))
        for name in sorted(names):
            if name not in there and name.replace("urlN", "url1") not in there:
                yield method, path, "no parameter `%s`" % name


def anchor_of(heading):
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def anchors(path):
    """The names that the headings of a document have as targets of links."""
    text = re.sub(r"^```.*?^```", "", open(path, encoding="utf-8").read(), flags=re.M | re.S)
    return {anchor_of(heading)
            for heading in re.findall(r"^#+ +(.*?) *$", text, re.M)}


def broken_links():
    """(document, target) of each link to a file or heading that does not exist."""
    for path in sorted(p for p in glob.glob("**/*.md", recursive=True) if not p.startswith("build")):
        for target in re.findall(r"\]\(([^)\s]+)\)", open(path, encoding="utf-8").read()):
            name, _, anchor = target.partition("#")
            to = os.path.join(os.path.dirname(path), name) if name else path
            if ":" not in name and not (os.path.exists(to) and (not anchor or anchor in anchors(to))):
                yield path, target


def printed(flag):
    """The document that the daemon makes of the tables that it uses itself."""
    return subprocess.run([sys.argv[1], "serve", flag], check=True, capture_output=True, text=True).stdout


wanted = {
    "docs/config.md": printed("--help-markdown"),
    "docs/metrics.md": printed("--metrics-markdown"),
    "docs/api.md": api(),
}
stale = []
for path, text in wanted.items():
    if "--write" in sys.argv:
        open(path, "w", encoding="utf-8").write(text)
    try:
        if open(path, encoding="utf-8").read() != text:
            stale.append(path)
    except FileNotFoundError:
        stale.append(path)
for path in stale:
    print("%s is stale: python3 scripts/check_docs.py build/feedmill --write" % path)
missing = missing_problems()
for name in missing:
    print("docs/api.md does not list the problem %s with its status" % name)
unlisted = missing_reasons()
for name in unlisted:
    print("docs/api.md does not list the reason %s with its meaning" % name)
unsaid = list(missing_parameters())
for line in unsaid:
    print("docs/api.md, %s %s: %s" % line)
broken = list(broken_links())
for path, target in broken:
    print("%s: the link %s leads nowhere" % (path, target))
bad = stale or missing or unlisted or unsaid or broken
print("0 1" if bad else "1 0")
sys.exit(1 if bad else 0)
