#!/usr/bin/env python3
"""Reads every #include and checks that it points down (docs/architecture.md, "Layers"), that
third-party headers stay in their folders, that no SQL stands outside storage/, and that the comment
at the top of a file names that file.
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
    "search": {"base", "model", "feed", "search"},
    "fetcher": {"base", "model", "net", "feed", "fetcher"},
    "score": {"base", "score"},
    "mirror": {"base", "model", "net", "feed", "mirror"},
    "notifier": {"base", "model", "net", "feed", "notifier"},
    "api": {"base", "model", "net", "feed", "api"},
}
# rooms within a folder -> the rooms of the same folder they may include; "" is the folder itself,
# which stands on top
ROOMS = {
    "api": {
        "http": {"http"},
        "views": {"http", "views"},
        "hub": {"http", "views", "hub"},
        "lists": {"http", "views", "lists"},
        "mcp": {"http", "views", "mcp"},
        "pings": {"http", "pings"},
        "xmpp": {"http", "views", "xmpp"},
        "": {"", "http", "views", "hub", "lists", "mcp", "pings", "xmpp"},
    },
    # what both engines do knows neither; what moves a log between them knows both
    "storage": {"": {""}, "sqlite": {"", "sqlite"}, "pg": {"", "pg", "sqlite"}},
    "feed": {
        "text": {"text"},
        "read": {"text", "read"},
        "write": {"text", "lists", "words", "write"},
        "identity": {"text", "identity"},
        "lists": {"text", "read", "lists"},
        "words": {"text", "identity", "words"},
        "filter": {"text", "words", "filter"},
    },
}
ROOM_DOORS = {("storage/migrate.c", "storage/pg/migrate.h")}
USES_STORE = {"fetcher", "notifier", "api", "search", "mirror"}
STORE_DOORS = {"storage/store.h", "storage/pushes.h", "storage/nodes.h", "storage/index.h",
               "storage/mirrors.h", "storage/upkeep.h"}
# third-party header -> where it may be included
HOME = {
    "sqlite3.h": r"storage/", "libpq-fe.h": r"storage/pg/", "libmemcached/": r"storage/", "curl/curl.h": r"net/",
    "xmlrpc-c/": r"net/", "http_parser.h": r"net/", "ares.h": r"net/", "amqp": r"net/broker_", "event2/": r"net/",
    "libxml/": r"(feed/|server/main\.c)", "jansson.h": r"(feed/|api/)", "uchardet": r"feed/", "idn2.h": r"(net|feed)/",
    "uthash.h": r"base/", "openssl/": r"(base|net)/", "strophe.h": r"net/",
    "unicase.h": r"feed/words/", "unictype.h": r"feed/words/", "uninorm.h": r"feed/words/", "unistr.h": r"feed/words/",
    "unigbrk.h": r"feed/words/",
}
bad = []


def room_of(path):
    parts = path.split("/")
    return parts[1] if len(parts) > 2 else ""


for folder in list(MAY) + ["server"]:
    for top, _, names in os.walk(folder):
        for name in sorted(names):
            path = os.path.join(top, name)
            if not path.endswith((".c", ".h")):
                continue
            text = open(path, encoding="utf-8").read()
            if not text.startswith("/* %s - " % path):
                bad.append("%s: its first line does not name it" % path)
            if text.count("\n") > 800:
                print("advice: %s has %d lines: is there a second subject?"
                      % (path, text.count("\n")))
            if folder in ROOMS and room_of(path) not in ROOMS[folder]:
                bad.append("%s: it stands in no room of %s/" % (path, folder))
            for kind, target in re.findall(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]', text, re.M):
                if kind == "<":
                    for header, home in HOME.items():
                        if target.startswith(header) and not re.match(home, path):
                            bad.append("%s: <%s> stays in %s" % (path, target, home))
                elif folder in MAY:
                    room = target.split("/")[0]
                    door = folder in USES_STORE and target in STORE_DOORS
                    if room not in MAY[folder] and not door and not target.endswith(".def"):
                        bad.append('%s: "%s" points up or sideways' % (path, target))
                    if (folder in ROOMS and room == folder and not target.endswith(".def")
                            and (path, target) not in ROOM_DOORS
                            and room_of(target) not in ROOMS[folder].get(room_of(path), set())):
                        bad.append('%s: "%s" points up or sideways within %s/'
                                   % (path, target, folder))
            if folder != "storage" and re.search(r"\bsqlite3_|\bPQexec", text):
                bad.append("%s: SQL outside storage/" % path)
for line in bad:
    print(line)
print("0 1" if bad else "1 0")
sys.exit(1 if bad else 0)
