"""The row `start` of bench/scale: how a daemon starts on a file of feeds without entries, and of as many that have 30 each.

The entries came one after the other, each time one of every feed, so the pages of indexes are filled as in use. Before a start
the file is taken out of the page cache, so that the bytes it reads are those of the disk.
"""
import os
import re
import sqlite3
import subprocess
import time

import building
import polls
from building import number

FEEDS, ENTRIES = 100000, 30
BORN = 1700000000       # when the first entry came
FILL_FEEDS = """
INSERT INTO feeds (url, credential, site_url, title, fetched, next_fetch_at, version, id_url, n_entries, n_items, last_change_at,
 last_seq, newest_at)
WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < %(feeds)d)
SELECT u, '', 'http://host' || (n %% 50000) || '.example.org/', 'Feed number ' || n, 1, 4000000000, n, u, %(entries)d, %(entries)d,
 %(last)d, CASE WHEN %(entries)d > 0 THEN %(before)d + n ELSE 0 END, CASE WHEN %(entries)d > 0 THEN %(last)d + n %% 3600 END
FROM (SELECT n, 'http://host' || (n %% 50000) || '.example.org/feeds/' || n || '/atom.xml' AS u FROM numbers);
INSERT INTO heads (feed_id, head, ext) SELECT id, '{}', '' FROM feeds;
"""
FILL_ENTRIES = """
INSERT INTO entries (id, feed_id, uid, first_seq, seq, sort_at, dated, iri_hash, essence, doc_hash)
SELECT %(before)d + id, id, 'urn:uuid:' || id || '-%(turn)d', %(before)d + id, %(before)d + id, %(at)d + id %% 3600, 1,
 (%(before)d + id) * 7919, zeroblob(16), zeroblob(16) FROM feeds;
INSERT INTO revisions (seq, entry_id, feed_id, batch, kind, initial, at_us, sort_at, title, link, doc, ext)
SELECT %(before)d + id, %(before)d + id, id, %(before)d + id, 0, 0, %(at)d * 1000000 + id, %(at)d + id %% 3600, 'Entry %(turn)d',
 url || '/%(turn)d', '{"title":"Entry %(turn)d","content":"%(text)s"}', '' FROM feeds;
"""
FILL_META = """
UPDATE meta SET value = %(seq)d WHERE name = 'last_seq'; UPDATE meta SET value = %(at)d * 1000000 + %(feeds)d WHERE name = 'last_at_us';
UPDATE meta SET value = %(feeds)d + 1 WHERE name = 'version';
"""


class File(polls.File):
    def __init__(self, folder):
        self.path = os.path.join(folder, "start.db")
        self.remove()

    def fill(self, entries):
        """Each feed gets so many entries, one an hour."""
        at = BORN + 3600 * max(0, entries - 1)
        with sqlite3.connect(self.path) as db:
            db.execute("PRAGMA cache_size = -1000000")
            db.executescript("BEGIN;" + FILL_FEEDS % {"feeds": FEEDS, "entries": entries, "last": at,
                                                      "before": FEEDS * max(0, entries - 1)} + "COMMIT")
            for turn in range(entries):
                db.executescript("BEGIN;" + FILL_ENTRIES % {"before": FEEDS * turn, "turn": turn, "at": BORN + 3600 * turn,
                                                            "text": "some text " * 20} + "COMMIT")
            db.executescript(FILL_META % {"seq": FEEDS * entries, "at": at, "feeds": FEEDS})
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        db.close()
        self.forget()

    def forget(self):
        """The next reader gets the file from the disk."""
        subprocess.run(["sync", self.path], check=True)
        fd = os.open(self.path, os.O_RDONLY)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(fd)


def bytes_read(daemon):
    with open("/proc/%d/io" % daemon.child.pid) as f:
        return int(re.search(r"^read_bytes: (\d+)", f.read(), re.M).group(1))


def rows(new_daemon):
    """new_daemon(file): a daemon that listens."""
    os.makedirs(building.WORK, exist_ok=True)
    for entries in (0, ENTRIES):
        file = File(building.WORK)
        try:
            with new_daemon(file) as daemon:
                daemon.wait_idle()
                empty = daemon.resident()
            file.fill(entries)
            with new_daemon(file) as daemon:
                began = time.monotonic() - daemon.seconds
                daemon.wait_idle()
                idle = time.monotonic() - began
                used, got, memory = polls.processor(daemon), bytes_read(daemon), daemon.resident()   # before the index of words grows
                who = "%s feeds of %d entries" % (number(FEEDS), entries)
                yield "start with %s, cold" % who, "s", daemon.seconds, None, None
                yield "the same, until it is idle", "s", idle, None, None
                yield "the same, processor", "us/feed", used / FEEDS * 1e6, None, None
                yield "the same, read from the disk", "bytes/feed", got / FEEDS, None, None
                yield "the same, memory", "bytes/feed", (memory - empty) / FEEDS, None, None
            with new_daemon(file) as daemon:
                yield "the same once more, warm", "s", daemon.seconds, None, None
        finally:
            file.remove()
