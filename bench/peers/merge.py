#!/usr/bin/env python3
"""A small service as many people write it: Python's feedparser, and a cache in memory.

    merge.py PORT FILE...

Each FILE is a document of one feed; its name is the feed's in the answers. They are read once, as after a poll, and
kept as feedparser made them. GET /NEWEST?n=50&feed=NAME,NAME,... answers with the newest entries of these feeds as
JSON, and keeps the answer. It says "ready" when all files are read.
"""
import heapq
import http.server
import json
import os
import sys
import time
import urllib.parse

import feedparser


def entries_of(path):
    """(time, entry) of one document, newest first."""
    with open(path, "rb") as f:
        found = feedparser.parse(f.read()).entries
    keys = ("id", "title", "link", "summary", "updated", "published", "content", "author", "tags")
    listed = [(time.mktime(e.get("published_parsed") or e.get("updated_parsed") or time.gmtime(0)),
               {k: e[k] for k in keys if k in e}) for e in found]
    return sorted(listed, key=lambda e: e[0], reverse=True)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    feeds, answers = {}, {}

    def do_GET(self):
        body = self.answers.get(self.path)
        if body is None:
            question = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)
            runs = [self.feeds[name] for name in question["feed"][0].split(",")]
            merged = heapq.merge(*runs, key=lambda e: e[0], reverse=True)
            newest = [e for _, (_, e) in zip(range(int(question["n"][0])), merged)]
            body = self.answers[self.path] = json.dumps({"entries": newest}).encode()
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
                         + body)

    def log_message(self, *args):
        pass


def main():
    for path in sys.argv[2:]:
        Handler.feeds[os.path.basename(path)] = entries_of(path)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
    print("ready", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
