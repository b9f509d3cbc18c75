#!/usr/bin/env python3
"""Reads every #include and checks that it points down (docs/architecture.md, "Layers"), that
third-party headers stay in their folders, and that no SQL stands outside storage/.
Prints what is wrong, then "1 0" or "0 1"."""
import os
import re
import sys

MAY = {
    "base": {"base"},
    "model": {"base", "model"},
    "net": {"base", "model", "net"},
    "feed": {"base", "model", "feed"},
    "storage": {"base", "model", "storage"},
    "fetcher": {"base", "model", "net", "feed", "fetcher"},
    "notifier": {"base", "model", "net", "feed", "notifier"},
    "api": {"base", "model", "net", "feed", "api"},
}
USES_STORE = {"fetcher", "notifier", "api"}
# third-party header -> where it may be included
HOME = {
    "sqlite3.h": r"storage/", "libmemcached/": r"storage/", "curl/curl.h": r"net/",
    "xmlrpc-c/": r"net/", "http_parser.h": r"net/", "ares.h": r"net/", "event2/": r"net/",
    "libxml/": r"(feed/|server/main\.c)", "jansson.h": r"(feed/|api/)", "uchardet": r"feed/",
    "uthash.h": r"base/", "openssl/": r"(base|net)/",
}
bad = []
for folder in list(MAY) + ["server"]:
    for top, _, names in os.walk(folder):
        for name in sorted(names):
            path = os.path.join(top, name)
            if not path.endswith((".c", ".h")):
                continue
            text = open(path, encoding="utf-8").read()
            if text.count("\n") > 800:
                bad.append("%s: %d lines: a second subject?" % (path, text.count("\n")))
            for kind, target in re.findall(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]', text, re.M):
                if kind == "<":
                    for header, home in HOME.items():
                        if target.startswith(header) and not re.match(home, path):
                            bad.append("%s: <%s> stays in %s" % (path, target, home))
                elif folder in MAY:
                    room = target.split("/")[0]
                    door = folder in USES_STORE and target == "storage/store.h"
                    if room not in MAY[folder] and not door and not target.endswith(".def"):
                        bad.append('%s: "%s" points up or sideways' % (path, target))
            if folder != "storage" and re.search(r"\bsqlite3_|\bPQexec", text):
                bad.append("%s: SQL outside storage/" % path)
for line in bad:
    print(line)
print("0 1" if bad else "1 0")
sys.exit(1 if bad else 0)
