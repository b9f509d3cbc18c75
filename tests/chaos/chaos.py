"""One run: a daemon, publishers, consumers of all kinds, somebody who acts at random, and kill -9."""
import collections
import http.client
import json
import os
import random
import shutil
import sqlite3
import threading
import time
import urllib.parse

from integration.env.daemon import PATIENCE, Daemon, wait_for

from . import check, consumers
from .server import Server
from .world import World

DOWN = (OSError, http.client.HTTPException)
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
JSON = {"Content-Type": "application/json"}
STUCK_S = 60        # after the end of all faults, something more is delivered within this, times PATIENCE
REFUSALS_S = 60     # so long the daemon tries a refused entry again, when it is tried more than once; nothing moves
SAMPLE_S = 2        # between looks at what the daemon uses
STALL_S = 0.3       # an answer usually takes some milliseconds


class Record:
    """What happened, as the checker reads it (check.py)."""

    def __init__(self, **options):
        self.options = options      # refusals, window_s; wall_s: the wall clock minus ours
        self.subs = {}              # key -> what was subscribed
        self.trails = collections.defaultdict(list)     # key -> calls and actions
        self.outages = {}           # kind -> [when its server went away, when it was back]
        self.kills = []             # [when it was killed, when all that it had sent was read]
        self.witness = None         # key of the subscription that is told everything and never fails
        self.samples = []           # what the daemon used: [when, process, KiB of memory, threads, descriptors]
        self.stalls = []            # [from, until] when the daemon, or the whole machine, was slow to answer
        self.settled_s = None       # so long after the end of all faults everything was delivered
        self.wrong = []             # faults that were seen at once
        # at the end; notes: delivery logs; urls: URL of a feed by its number; ended: keys of subscriptions that are
        # not there any more
        self.log, self.dead, self.notes, self.urls, self.ended = [], {}, {}, {}, []

    def as_json(self):
        return {k: v for k, v in vars(self).items()}

    @classmethod
    def from_json(cls, kept):
        """What as_json() returned, after it went through JSON: there all keys are texts."""
        record = cls()
        for name, value in kept.items():
            if isinstance(value, dict):
                value = {int(k) if k.isdigit() else k: v for k, v in value.items()}
            setattr(record, name, value)
        return record


class Watch(threading.Thread):
    """Looks at what the daemon uses."""

    def __init__(self, daemon, samples):
        super().__init__(daemon=True)
        self.daemon_, self.samples, self.stopped = daemon, samples, threading.Event()
        self.is_sanitized = False
        self.start()

    def look(self):
        pid = self.daemon_.process.pid
        try:
            with open("/proc/%d/status" % pid, encoding="ascii") as status:
                found = dict(line.split(":", 1) for line in status)
            self.is_sanitized = int(found["VmPeak"].split()[0]) > check.SANITIZED_KIB
            self.samples.append([time.monotonic(), pid, int(found["VmRSS"].split()[0]), int(found["Threads"]),
                                 len(os.listdir("/proc/%d/fd" % pid))])
        except (OSError, KeyError):
            pass        # it was killed

    def run(self):
        while not self.stopped.wait(SAMPLE_S):
            self.look()


class Tail(threading.Thread):
    """Keeps the end of the log, for those who name a position. And sees how quickly the daemon answers."""

    def __init__(self, daemon, stalls):
        super().__init__(daemon=True)
        self.stalls = stalls
        self.daemon_, self.lock, self.stopped = daemon, threading.Lock(), threading.Event()
        self.kept, self.since = collections.deque(maxlen=400), "start"
        self.start()

    def run(self):
        while not self.stopped.wait(0.2):
            began = time.monotonic()
            try:
                page = self.daemon_.get("/log?max=200&since=" + self.since).json
                if time.monotonic() - began > STALL_S:
                    self.stalls.append([began, time.monotonic()])
                with self.lock:
                    self.kept.extend({"seq": r["seq"], "cursor": r["cursor"]} for r in page["revisions"])
                self.since = page["cursor"]
            except (*DOWN, ValueError, KeyError):
                pass

    def rows(self, n):
        with self.lock:
            return list(self.kept)[-n:]


class Run:
    def __init__(self, options, say=print):
        self.options, self.say, self.calm = options, say, False
        self.dice = random.Random(options.seed)
        self.record = Record(refusals=options.refusals, window_s=options.window,
                             wall_s=time.time() - time.monotonic())
        self.endpoints, self.consumers, self.servers = {}, [], {}
        self.server = Server()
        for name in {"webhook", *options.consumers}:
            self.server.routes[name] = lambda ask: self.endpoints[ask.path].serve(ask)
        self.world = World(self.server, options.feeds, self.fork())
        for name in options.consumers:
            if hasattr(consumers.find(name), "Server"):
                self.servers[name] = consumers.find(name).Server(self)
        args, env = [], {}
        for server in self.servers.values():
            args += server.options()[0]
            env.update(server.options()[1])
        self.daemon = Daemon(
            *args,
            "--push-first-retry", "50ms", "--push-max-retry", "1s", "--fetch-host-gap", "0",
            "--push-timeout", "%dms" % (options.timeout * 1000), "--push-refusals", str(options.refusals),
            "--ping-rate", "100000", "--ping-burst", "100000", "--min-period", "1s",
            "--log-level", options.log_level, env=env)
        self.tail, self.watch = Tail(self.daemon, self.record.stalls), Watch(self.daemon, self.record.samples)

    def fork(self):
        """Dice of its own for each thread and endpoint, so that the order of threads does not matter."""
        return random.Random(self.dice.getrandbits(64))

    # ---- talking to the daemon ----
    def subscribe(self, feeds, url, **params):
        fields = [("url", f) for f in feeds] + [("endpoint", url), *params.items()]
        answer = self.daemon.call("POST", "/sub", urllib.parse.urlencode(fields), FORM)
        if answer.status != 201:
            raise AssertionError("subscribing: %d %r" % (answer.status, answer.body))
        return answer.json

    def subs(self):
        return self.daemon.get("/sub?type=json").json["subscriptions"]

    def await_sub(self, endpoint):
        wait_for(lambda: any(s["endpoint"] == endpoint for s in self.subs()), what="the subscription of " + endpoint,
                 daemon=self.daemon)

    def end_seq(self):
        return self.daemon.get("/log?since=end").json["seq"]

    def post(self, path, noted, key, method="POST", body=None, fields=None):
        """A call that changes a subscription, noted down in its trail. `status`: 0: it did not reach the
        daemon; None: nobody knows."""
        noted.update(t=time.monotonic(), status=None, end=None)
        self.record.trails[key].append(noted)
        try:
            noted["status"] = self.daemon.call(method, path, body, fields, timeout=20).status
        except ConnectionRefusedError:
            noted["status"] = 0
        except DOWN:
            pass
        noted["end"] = time.monotonic()
        return noted["status"]

    def patch(self, key, body, noted):
        return self.post("/sub?id=%d" % key, noted, key, "PATCH", json.dumps(body), JSON)

    # ---- the beginning ----
    def begin(self):
        feeds = [f.url for f in self.world.feeds]
        self.daemon.subscribe(*feeds)       # listed, so that all are fetched before the first consumer comes
        for url in feeds:
            wait_for(lambda u=url: (self.daemon.record(u) or {}).get("last_success"), what="the first fetch",
                     daemon=self.daemon)
        self.daemon.wait_idle()
        if "xmpp" in self.servers:
            wait_for(lambda: self.daemon.counter("xmpp_connected") == 1, what="the XMPP server", daemon=self.daemon)
        self.add_witness(feeds)
        names = self.options.consumers
        late = self.options.subs // 10
        for n in range(self.options.subs - late):
            self.add(names[n % len(names)], n)
        self.late = [(names[n % len(names)], n) for n in range(self.options.subs - late, self.options.subs)]

    def add_witness(self, feeds):
        """Webhooks that never fail. One is told all events of feeds, which are not in the log. One is told all of one feed:
        what comes late there was delayed by others."""
        seq = self.end_seq()
        for n, events, some in ((-1, "feed", feeds), (-2, "new,changed,deleted", feeds[:1])):
            witness = consumers.find("webhook").Consumer(self, n, self.fork())
            witness.moods.calm, witness.refused_one_in, witness.batch, witness.events = True, 0, 100, events
            witness.subscribe(some, lambda: [seq, seq])
        self.record.witness = witness.keys[0]

    def add(self, name, n):
        consumer = consumers.find(name).Consumer(self, n, self.fork())
        feeds = [f.url for f in consumer.dice.sample(
            self.world.feeds, min(consumer.dice.choice((1, 1, 1, 2, 4)), len(self.world.feeds)))]
        low = self.end_seq()
        for _ in range(consumer.n_subs):
            consumer.subscribe(feeds, lambda: [low, self.end_seq()])
        self.consumers.append(consumer)

    # ---- what goes on ----
    def publish(self, dice):
        """News, until it stops."""
        while not self.stopping.wait(dice.expovariate(self.options.pace)):
            feed = self.world.happen()
            try:
                self.daemon.get("/ping?url=" + urllib.parse.quote(feed.url, safe=""))
            except DOWN:
                pass

    def operate(self, dice):
        """Somebody acts on subscriptions, until it stops."""
        paused = []
        while not self.stopping.wait(dice.expovariate(self.options.acts)):
            try:
                if self.late and dice.random() < 0.1:
                    self.add_late()
                if paused and dice.random() < 0.5:
                    self.resume(paused, dice.randrange(len(paused)))
                    continue
                able = [c for c in self.consumers if c.actions]
                if not able:
                    continue
                consumer = dice.choice(able)
                key, action = dice.choice(consumer.keys), dice.choice(consumer.actions)
                if action == "retry-dead":
                    consumer.forgiving = dice.random() < 0.5
                consumer.act(self, key, dice, action)
                if action == "pause":
                    paused.append(key)
            except (*DOWN, ValueError):
                pass    # it asked something first, and the daemon was killed
        while paused:
            self.resume(paused, 0)

    def resume(self, paused, i):
        if self.post("/sub?id=%d&action=resume" % paused[i], {"act": "resume"}, paused[i]) == 200:
            del paused[i]

    def add_late(self):
        """One that comes in the middle; if the daemon is killed meanwhile nobody is promised anything."""
        name, n = self.late.pop()
        if name in ("webhook", "xmlrpc", "events", "log"):
            self.add(name, n)

    def interrupt(self, dice):
        """The real servers go away and come back, until it stops."""
        while self.servers and not self.stopping.wait(dice.uniform(2, self.options.outage)):
            name = dice.choice(sorted(self.servers))
            at = time.monotonic()
            outage = [at, float("inf")]
            self.record.outages.setdefault(name, []).append(outage)
            self.servers[name].pause_s(dice.uniform(0, 2))
            outage[1] = time.monotonic() + 1

    def kill(self):
        at = time.monotonic()
        self.daemon.kill()
        self.server.empty()
        self.record.kills.append([at, time.monotonic()])
        self.daemon.start()

    def go_on(self):
        """The whole time with its kills."""
        self.stopping = threading.Event()
        threads = [threading.Thread(target=f, args=(self.fork(),)) for f in (self.publish, self.operate, self.interrupt)]
        for thread in threads:
            thread.start()
        dice, began = self.fork(), time.monotonic()
        moments = sorted(dice.uniform(0, self.options.seconds) for _ in range(self.options.kills))
        try:
            for moment in moments:
                time.sleep(max(0, began + moment - time.monotonic()))
                self.kill()
            time.sleep(max(0, began + self.options.seconds - time.monotonic()))
        finally:
            self.stopping.set()
            self.calm = True
            for endpoint in self.endpoints.values():
                endpoint.moods.calm = True
            for thread in threads:
                thread.join()

    # ---- the end ----
    def settle(self):
        """Nothing fails any more: all that is due arrives."""
        self.world.heal()
        for feed in self.world.feeds:
            before = feed.n_served
            self.daemon.ping(feed.url)
            wait_for(lambda f=feed, n=before: f.n_served > n, what="a fetch of " + feed.url, daemon=self.daemon)
        began = time.monotonic()
        while True:
            if not self.wait_delivered():
                return
            self.daemon.wait_idle()
            if not self.lagging():          # a fetch may have brought something just now
                break
        self.record.settled_s = time.monotonic() - began

    def lagging(self):
        return [(s["id"], s["state"], s["lag"], s["last_error"]) for s in self.subs()
                if s["lag"] or s["state"] != "active"]

    def wait_delivered(self):
        """Until nothing lags. False: nothing moves any more."""
        least, moved = float("inf"), time.monotonic()
        stuck = STUCK_S * PATIENCE + (REFUSALS_S if self.options.refusals > 1 else 0)
        while True:
            lagging, now = self.lagging(), time.monotonic()
            lag = sum(1 + s[2] for s in lagging)
            if not lagging:
                return True
            if lag < least:
                moved, least = now, lag
            elif now - moved > stuck:
                self.record.wrong += ["not delivered at the end: %r" % (s,) for s in lagging]
                return False
            time.sleep(0.1)

    def read_end(self):
        """What the daemon says at the end."""
        record, since = self.record, "start"
        record.urls = {str(f["id"]): f["url"] for f in self.daemon.get("/sub?type=json&all=1").json["feeds"]}
        while True:
            page = self.daemon.get("/log?max=500&since=" + since).json
            record.log += [{k: r[k] for k in ("seq", "cursor", "at", "kind", "uid")} |
                           {"feed": r["url"], "title": (r.get("entry") or {}).get("title")}
                           for r in page["revisions"]]
            since = page["cursor"]
            if not page["revisions"]:
                break
        self.watch.look()
        record.options["sanitized"] = self.watch.is_sanitized
        subs = self.subs()
        there = {s["id"]: s["id"] for s in subs} | {s["endpoint"]: s["id"] for s in subs}
        for key, sub in record.subs.items():
            if "got" in sub:
                continue
            number = there.get(key if isinstance(key, int) else sub["endpoint"])
            if number is None:
                record.ended.append(key)
                continue
            record.dead[key] = self.daemon.get("/sub/dead?id=%d" % number).json["dead"]
            record.notes[key] = self.daemon.get("/sub/log?id=%d" % number).json["deliveries"]
        for server in self.servers.values():
            if hasattr(server, "read_end"):
                server.read_end()
        for reader in self.consumers:
            if isinstance(reader, threading.Thread):
                wanted = len(check.read_rows(record, record.subs[reader.key]))
                try:
                    wait_for(lambda r=reader, n=wanted: len(r.got) >= n, 10)
                except AssertionError:
                    pass        # the checker says what is missing

    def whole(self):
        """All of it; returns the faults."""
        try:
            self.begin()
            self.say("%d consumers, %d feeds" % (len(self.consumers), len(self.world.feeds)))
            self.go_on()
            self.say("%d kills; nothing fails any more" % len(self.record.kills))
            self.settle()
            self.read_end()
        finally:
            self.close()
        self.record.wrong += self.server.errors
        return check.faults(self.record)

    def close(self):
        self.tail.stopped.set()
        self.watch.stopped.set()
        readers = [c for c in self.consumers if isinstance(c, threading.Thread)]
        for reader in readers:
            reader.stop()
        for reader in readers:
            reader.join(30)
        try:
            self.daemon.stop()
            if self.options.database:
                shutil.copytree(self.daemon.folder, self.options.database)
            self.check_database()
            self.daemon.close()
        finally:
            for server in self.servers.values():
                server.close()
            self.server.close()

    def check_database(self):
        """The file is sound after all kills."""
        db = sqlite3.connect(os.path.join(self.daemon.folder, "feeds.db"))
        for check_ in ("integrity_check", "foreign_key_check"):
            self.record.wrong += ["%s: %r" % (check_, row) for row in db.execute("PRAGMA " + check_) if row != ("ok",)]
        db.close()

    def figures(self):
        """What there was, in numbers."""
        calls = [c for trail in self.record.trails.values() for c in trail if "act" not in c]
        how = collections.Counter(c["how"] for c in calls)
        acts = collections.Counter(a["act"] for trail in self.record.trails.values() for a in trail
                                   if a.get("act") and a["status"] == 200)
        return {"consumers": len(self.record.subs), "revisions": len(self.record.log),
                "kills": len(self.record.kills),
                "outages": sum(len(o) for o in self.record.outages.values()), "calls": len(calls), "how": dict(how), "acts": dict(acts),
                "dead": sum(len(d) for d in self.record.dead.values()),
                "ended": len(self.record.ended), "settled_s": self.record.settled_s and round(self.record.settled_s, 1),
                "stalled_s": round(sum(end - began for began, end in self.record.stalls), 1), **check.usage(self.record),
                "read": sum(len(s.get("got", ())) for s in self.record.subs.values())}


