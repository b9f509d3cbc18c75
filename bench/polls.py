"""The row `polls` of bench/scale: a database in a file with a million feeds at local origins, of which 1,000 are due each second.

Nine of ten have not changed (304). The tenth is read for the first time: a document of five entries. The feeds are at 50,000
hosts. bench_origin notes when each request came, and the number in the URL says in which second it was due.
"""
import os
import re
import sqlite3
import subprocess
import time

import building

FEEDS, HOSTS, RATE = 1000000, 50000, 1000
ENTRIES, ENTRY_LEN = 5, 600
LEAD = 20           # seconds from the filling to the first due second, and three times as long as the filling took
TICKS = os.sysconf("SC_CLK_TCK")
FILL = """
INSERT INTO feeds (url, credential, site_url, title, etag, body_hash, fetched, next_fetch_at, wanted_at, version, id_url)
WITH RECURSIVE numbers (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n + 1 < %(feeds)d),
urls (n, host) AS (SELECT n, 'http://127.' || (1 + n %% %(hosts)d / 62500) || '.' || (n %% 62500 / 250) || '.' || (1 + n %% 250)
 || ':%(port)d/' FROM (SELECT n FROM numbers))
SELECT host || 'feeds/' || n || '/atom.xml', '', host, 'Feed number ' || n,
 CASE WHEN n %% 10 > 0 THEN '"1"' END, CASE WHEN n %% 10 > 0 THEN zeroblob(16) END, n %% 10 > 0, n / %(rate)d, %(now)d, n + 1, host || 'feeds/' || n || '/atom.xml'
FROM urls
"""


class File:
    """A database in a file, of which a daemon has made the tables."""

    def __init__(self, folder):
        self.path = os.path.join(folder, "polls.db")
        self.remove()

    def remove(self):
        for end in ("", "-wal", "-shm"):
            if os.path.exists(self.path + end):
                os.unlink(self.path + end)

    def uri(self):
        return self.path

    def size(self):
        return sum(os.path.getsize(self.path + end) for end in ("", "-wal") if os.path.exists(self.path + end))

    def fill(self, port):
        """Returns the first second in which feeds are due: when a daemon will have started."""
        began = time.time()
        with sqlite3.connect(self.path) as db:
            db.execute(FILL % {"feeds": FEEDS, "hosts": HOSTS, "port": port, "rate": RATE, "now": int(began)})
            took = time.time() - began
            first = int(time.time() + 3 * took + LEAD)
            db.execute("UPDATE feeds SET next_fetch_at = next_fetch_at + %d" % first)
            db.execute("UPDATE meta SET value = %d WHERE name = 'version'" % (FEEDS + 1))
        db.close()
        return first


class Origin:
    """bench_origin, which writes a line for each request: when, which URL."""

    def __init__(self, folder):
        self.log = os.path.join(folder, "polls.log")
        document = building.document("rss", ENTRIES, ENTRY_LEN)
        self.child = subprocess.Popen([building.program("bench_origin"), document, self.log], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, text=True)
        self.port = int(self.child.stdout.readline())

    def lags(self, first):
        """How late each feed was asked for, in seconds, ascending. The origin has ended."""
        self.close()
        with open(self.log) as f:
            asked = re.findall(r"^([\d.]+) /feeds/(\d+)/", f.read(), re.M)
        return sorted(float(at) - (first + int(n) // RATE) for at, n in asked)

    def close(self):
        if self.child.returncode is None:
            self.child.communicate()


def processor(daemon):
    """Seconds that all threads of the daemon have had."""
    with open("/proc/%d/stat" % daemon.child.pid) as f:
        return sum(int(x) for x in f.read().rpartition(")")[2].split()[11:13]) / TICKS


def counters(daemon, *names):
    text = daemon.get("/metrics").decode()
    return [int(re.search(r"^feedmill_%s (\d+)$" % name, text, re.M).group(1)) for name in names]


def measure(daemon, first, seconds):
    """Let the feeds of so many seconds become due. Returns the figures, and how many were fetched."""
    time.sleep(max(0.0, first - time.time()))
    used, began = processor(daemon), time.time()
    most = 0
    while time.time() < first + seconds:
        time.sleep(min(1.0, max(0.0, first + seconds - time.time())))
        most = max(most, daemon.resident())
    used, took = processor(daemon) - used, time.time() - began
    fetched, asked, unchanged = counters(daemon, "polls_total", "fetch_total", "fetch_304_total")
    return [("fetches whose outcome is on disk", "a second", fetched / took, float(RATE), fetched / took / RATE),
            ("of them, answered 304", "%", 100 * unchanged / asked, None, None),
            ("processor", "cores", used / took, None, None),
            ("the same, of a fetch", "us", used / fetched * 1e6, None, None),
            ("memory at most, per feed", "bytes", most / FEEDS, None, None)], fetched



def rows(start, seconds):
    """`start(file, *options)` starts a daemon."""
    os.makedirs(building.WORK, exist_ok=True)
    file, origin = File(building.WORK), Origin(building.WORK)
    options = ("--allow-fetch", "127.0.0.0/8", "--feed-quota", "0")
    try:
        with start(file, *options) as daemon:
            daemon.wait_idle()
            empty = daemon.resident()
        first = file.fill(origin.port)
        size = file.size()
        with start(file, *options) as daemon:
            yield "start with %s feeds in a file" % building.number(FEEDS), "s", daemon.seconds, None, None
            daemon.wait_idle()
            yield "memory per feed", "bytes", (daemon.resident() - empty) / FEEDS, None, None
            if time.time() > first:
                building.stop("the daemon was ready %d s after the first feeds were due" % (time.time() - first))
            figures, fetched = measure(daemon, first, seconds)
            yield from figures
        lags = origin.lags(first)
        for name, at in (("median", 0.5), ("99 %", 0.99), ("the latest", 1.0)):
            yield "lag of due feeds, " + name, "s", lags[min(len(lags) - 1, int(at * len(lags)))], None, None
        yield "growth of the database, of a fetch", "bytes", (file.size() - size) / fetched, None, None
    finally:
        origin.close()
        file.remove()
