#!/usr/bin/env python3
"""check_docs.py BINARY [--write]: docs/config.md and docs/metrics.md are what the tables of the
sources say. Prints what is stale, then "1 0" or "0 1"; --write renews them."""
import re
import subprocess
import sys


def metrics():
    out = ["# Metrics", "", "Served at `/metrics` in the Prometheus text format, each with the prefix "
           "`feedmill_`.", "", "| name | kind | meaning |", "| --- | --- | --- |"]
    text = open("base/stats.def", encoding="utf-8").read()
    for name, kind, meaning in re.findall(r'^STAT\((\w+), (\w+), "(.*)"\)$', text, re.M):
        out.append("| `%s` | %s | %s |" % (name, kind.lower(), meaning))
    # those that are asked for when needed, not counted
    text = open("api/metrics.c", encoding="utf-8").read()
    for name, meaning in re.findall(r"# HELP feedmill_(\w+) ([^\\%]+)\\n", text):
        kind = re.search(r"# TYPE feedmill_%s (\w+)" % name, text).group(1)
        out.append("| `%s` | %s | %s |" % (name, kind, meaning))
    return "\n".join(out) + "\n"


wanted = {
    "docs/config.md": subprocess.run([sys.argv[1], "serve", "--help-markdown"], check=True,
                                     capture_output=True, text=True).stdout,
    "docs/metrics.md": metrics(),
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
print("0 1" if stale else "1 0")
sys.exit(1 if stale else 0)
