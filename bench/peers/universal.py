"""Python's feedparser, the Universal Feed Parser: universal.py LIST sanitized|raw."""
import io
import sys

import feedparser

import engine

SANITIZED = sys.argv[2] == "sanitized"


def parse(document):
    try:
        found = feedparser.parse(io.BytesIO(document), sanitize_html=SANITIZED,
                                 resolve_relative_uris=SANITIZED)
    except Exception:  # it raises whatever the parsers below it raise
        return 0
    return len(found.entries)


engine.serve(parse)
