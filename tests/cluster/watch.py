"""Who looks on: readers of the log by SQL, at the primary and at the standby; and how busy the machine is."""
import os
import threading
import time

from .database import Session

BACK = 400      # numbers before the newest that are read again: none may come late
LOOK = """SELECT json_build_object('last_seq', l.last_seq, 'newest',
 greatest((SELECT coalesce(max(seq), 0) FROM revisions), (SELECT coalesce(max(seq), 0) FROM feed_events)), 'rows',
 (SELECT coalesce(json_agg(json_build_array(seq, at_us, feed_id, entry_id) ORDER BY seq), '[]') FROM (
 SELECT seq, at_us, feed_id, entry_id FROM revisions WHERE seq > %d UNION ALL
 SELECT seq, at_us, feed_id, 0 FROM feed_events WHERE seq > %d) r), 'positions',
 (SELECT coalesce(json_object_agg(id, position), '{}') FROM subscriptions WHERE endpoint IS NOT NULL)) FROM log l"""


class Watcher(threading.Thread):
    """Looks at one server of the pair all the time. `name`: primary or standby."""

    def __init__(self, pair, name, looks):
        super().__init__(daemon=True)
        self.pair, self.name, self.looks, self.stopped = pair, name, looks, threading.Event()
        self.seen, self.known = 0, {}       # newest number; rows of the last look
        self.places = {}                    # positions of subscriptions, in the last look
        self.start()

    def run(self):
        session, server = None, None
        while not self.stopped.wait(0.1):
            now = self.pair.servers()[self.name]
            if session and (now is not server or session.process.poll() is not None):
                session.close()
                session = None
            if now and not session:
                session, server = Session(now), now
            if session:
                self.look(session)
        if session:
            session.close()

    def look(self, session):
        at, since = time.monotonic(), max(0, self.seen - BACK)
        look = session.ask(LOOK % (since, since))
        if look is None:
            return
        look["t"] = at
        if look["rows"]:
            self.seen = max(self.seen, look["rows"][-1][0])
        known, self.known = self.known, {row[0]: row for row in look["rows"]}
        look["rows"] = [row for row in look["rows"] if known.get(row[0]) != row]
        places, self.places = self.places, look["positions"]
        look["positions"] = {n: at for n, at in look["positions"].items() if places.get(n) != at}
        if look["rows"] or look["positions"] or not self.looks or look["last_seq"] != self.looks[-1]["last_seq"]:
            self.looks.append(look)


class Load(threading.Thread):
    """How many processes want to run, for each core."""

    def __init__(self, samples):
        super().__init__(daemon=True)
        self.samples, self.stopped = samples, threading.Event()
        self.start()

    def run(self):
        while not self.stopped.wait(0.5):
            with open("/proc/loadavg", encoding="ascii") as load:
                runnable = int(load.read().split()[3].partition("/")[0])
            self.samples.append([time.monotonic(), runnable / os.cpu_count()])
