"""One run: nodes on a pair of databases, publishers, consumers, clients that change and read, and faults."""
import contextlib
import copy
import hashlib
import http.client
import os
import random
import shutil
import subprocess
import tempfile
import threading
import time
import traceback
import urllib.parse

from chaos import chaos, consumers
from integration.env.archives import Document
from integration.env.daemon import BINARY, PATIENCE, Daemon, quote, wait_for

from . import check, faults
from .database import Pair
from .nodes import Front, Node
from .proxy import Loop
from .watch import Load, Watcher
from .world import Server, World

DOWN = (OSError, http.client.HTTPException)
PUSH_TIMEOUT_S, GAP_S, PER_HOST = 1.5, 0.8, 2
SEEN_S = 5          # what one node acknowledged another one shows, or says 503, within this
ORPHANS = {
    "revisions without an entry": "SELECT count(*) FROM revisions r LEFT JOIN entries e ON e.id = r.entry_id WHERE e.id IS NULL",
    "entries without their newest revision":
        "SELECT count(*) FROM entries e LEFT JOIN revisions r ON r.seq = e.seq WHERE r.seq IS NULL",
    "entries without a feed": "SELECT count(*) FROM entries e LEFT JOIN feeds f ON f.id = e.feed_id WHERE f.id IS NULL",
    "texts without a revision":
        "SELECT count(*) FROM bodies b LEFT JOIN revisions r ON r.body = b.id WHERE r.seq IS NULL",
    "revisions without a text":
        "SELECT count(*) FROM revisions r LEFT JOIN bodies b ON r.body = b.id WHERE b.id IS NULL",
    "overlays without a revision":
        "SELECT count(*) FROM overlays o LEFT JOIN revisions r USING (seq) WHERE r.seq IS NULL",
    "slots of nobody that is there":
        "SELECT count(*) FROM slots s LEFT JOIN nodes n ON n.id = s.owner WHERE s.owner IS NOT NULL AND n.id IS NULL"}


class Record(chaos.Record):
    """What happened, as the checker reads it (check.py)."""

    def __init__(self, **options):
        super().__init__(**options)
        self.faults = []        # {kind, node, t, until, lossy}
        self.sql = {"primary": [], "standby": []}   # what readers by SQL saw
        self.fetches, self.acks, self.pages = [], [], []
        # at the end; rows: as SQL shows them; forks: [last, next] number; logs: cursors that each node shows
        self.texts = {}         # digest of a page -> the page
        self.load = []          # [when, how many processes wanted to run for each core]
        self.misfits = []       # {t, option, status, took_s, said}: nodes that differed from the others
        self.answers = []       # [when asked, when answered, what, status (0: none), Retry-After] of clients
        self.cursors = []       # [when, status, cursor of one node, cursor and first row that another one answered]
        self.away = []          # [when, node, what, status] of a node that is cut off
        self.wakes = []         # [when it began, when it ended, number of its first row] of long polls
        self.shown = {}         # feed -> uid -> title: what it shows at the end
        self.moved = {}         # what a file showed to which all was moved: log, pages, keys, check
        self.rows, self.forks, self.logs, self.tables = [], [], {}, {"keys": [], "orphans": {}, "sessions": []}


class At:
    """The run as a reader at one node sees it."""

    def __init__(self, run, node):
        self.daemon, self.record, self.server, self.options = node, run.record, run.server, run.options


class Run(chaos.Run):
    def __init__(self, options, say=print):
        self.options, self.say, self.calm = options, say, False
        self.options.timeout, self.options.refusals = PUSH_TIMEOUT_S, 1     # of the endpoints
        self.lease_s = options.lease
        self.dice = random.Random(options.seed)
        self.record = Record(refusals=1, window_s=2.0 * PATIENCE, wall_s=time.time() - time.monotonic(), lease_s=options.lease,
                             push_timeout_s=PUSH_TIMEOUT_S, per_host=PER_HOST, gap_s=GAP_S, patience=PATIENCE)
        self.endpoints, self.consumers, self.nodes, self.watchers = {}, [], [], []
        self.kinds = faults.possible([k for k in faults.KINDS if k in options.kinds], say)
        self.pair = self.front = self.server = None
        self.closing = []
        try:
            self.open()
        except BaseException:
            self.close()
            raise

    def open(self):
        self.server = Server()
        self.closing.append(self.server.close)
        for name in options_consumers(self.options):
            self.server.routes[name] = lambda ask: self.endpoints[ask.path].serve(ask)
        self.world = World(self.server, self.options.feeds, self.fork())
        self.record.fetches = self.world.fetches
        self.pair = Pair()
        self.closing.append(self.pair.close)
        loop = Loop()
        self.closing.append(loop.close)
        self.front = self.daemon = Front(loop, self.dice.getrandbits(64))
        self.closing.append(self.front.close)
        extras = [extra for kind, extra in (("wrong_clock", "clock"), ("held_transfer", "hold")) if kind in self.kinds]
        for n in range(self.options.nodes):
            node = Node(loop, self.pair, "n%d" % n, self.arguments(), extras)
            self.nodes.append(node)
            self.closing.append(node.close)
        self.front.nodes = self.nodes
        self.watchers = [Watcher(self.pair, name, self.record.sql[name]) for name in self.record.sql] + [Load(self.record.load)]

    def arguments(self, is_node=True):
        lease = ["--node-lease", "%dms" % (self.lease_s * 1000)] if is_node else []
        return [*lease, "--base-url", self.front.base, "--archive-size", "5",
                "--push-first-retry", "50ms", "--push-max-retry", "1s", "--push-timeout", "%dms" % (PUSH_TIMEOUT_S * 1000),
                "--push-refusals", "1", "--fetch-host-gap", "%dms" % (GAP_S * 1000), "--fetch-per-host", str(PER_HOST),
                "--level1-period", "5s", "--level2-period", "1s", "--min-period", "1s", "--ping-rate", "100000",
                "--ping-burst", "100000", "--log-level", self.options.log_level]

    # ---- the beginning ----
    def begin(self):
        busy, quiet = [f.url for f in self.world.feeds], [f.url for f in self.world.quiet]
        self.front.subscribe(*busy)
        self.quiet_sub = self.front.subscribe(*quiet, freq=2)
        for url in busy + quiet:
            wait_for(lambda u=url: (self.front.record(u) or {}).get("last_success"), what="the first fetch",
                     daemon=self.front)
        names = options_consumers(self.options)
        for n in range(self.options.subs):
            self.add(names[n % len(names)], n)
        for n, node in enumerate(self.nodes):
            self.add_reader(node, self.options.subs + n)

    def add(self, name, n):
        consumer = consumers.find(name).Consumer(self, n, self.fork())
        consumer.refused_one_in, consumer.n_subs = 0, 1
        if name == "webhook":
            consumer.events = "new,changed,deleted,left"
            consumer.moods.calm = is_witness = n == 0       # one never fails: what is late there is late by the nodes
        low, feeds = self.end_seq(), consumer.dice.sample([f.url for f in self.world.feeds],
                                                          consumer.dice.choice((1, 2, 4)))
        consumer.subscribe(feeds, lambda: [low, self.end_seq()])
        if name == "webhook" and is_witness:
            self.record.subs[consumer.keys[0]]["witness"] = True
        self.consumers.append(consumer)

    def add_reader(self, node, n):
        """All of the log, at one node."""
        reader = consumers.find("log").Consumer(At(self, node), n, self.fork())
        low = self.end_seq()
        reader.subscribe(None, lambda: [low, self.end_seq()])
        self.consumers.append(reader)

    # ---- what goes on ----
    def ask(self, node, method, path, body=None, fields=None):
        """A request that may fail; 0: there was no answer."""
        t, answer = time.monotonic(), None
        with contextlib.suppress(*DOWN):
            answer = node.call(method, path, body, fields, timeout=20)
        status = answer.status if answer else 0
        self.record.answers.append([t, time.monotonic(), method + " " + path.partition("?")[0], status,
                                    answer and answer.header("Retry-After")])
        return status, answer

    def acknowledged(self, what, key, t):
        self.record.acks.append({"what": what, "key": key, "t": t, "end": time.monotonic()})

    def publish(self, dice):
        """News, until it stops."""
        while not self.stopping.wait(dice.expovariate(self.options.pace)):
            feed, t = self.world.happen(), time.monotonic()
            if self.ask(self.front, "GET", "/ping?url=" + quote(feed.url))[0] == 200:
                self.acknowledged("ping", feed.url, t)

    def operate(self, dice):
        """Subscriptions without an endpoint come and go, each request at any node."""
        mine = []
        while not self.stopping.wait(dice.expovariate(self.options.acts)):
            what = dice.random()
            if mine and what < 0.4:
                self.end(mine.pop(dice.randrange(len(mine))))
            elif mine and what < 0.6:
                self.change(dice, dice.choice(mine))
            elif what < 0.7:
                self.hand_over(*dice.sample(self.nodes, 2) if len(self.nodes) > 1 else self.nodes * 2)
            else:
                self.make(dice, mine)

    def make(self, dice, mine):
        t, feed = time.monotonic(), dice.choice(self.world.feeds)
        status, answer = self.ask(self.front, "POST", "/sub", "url=" + quote(feed.url), chaos.FORM)
        if status != 201:
            return self.expect("POST /sub", status, (0, 503))
        number = answer.json["id"]
        self.acknowledged("made", "sub %d" % number, t)
        mine.append(number)
        if dice.random() < 0.3:
            return self.look_list(number, t)
        return self.look("GET /sub?id=%d after it was made" % number, number, (200,), t)

    def change(self, dice, number):
        """Its folder, which tells the changes apart."""
        t, folder = time.monotonic(), "x%d" % dice.getrandbits(40)
        status, _ = self.ask(self.front, "PATCH", "/sub?id=%d" % number, '{"folder":"%s"}' % folder, chaos.JSON)
        if status != 200:
            self.acknowledged("maybe", "sub %d" % number, t)
            if not check.lossy(self.record):
                self.expect("PATCH /sub", status, (0, 503))
            return
        self.record.acks.append({"what": "changed", "key": "sub %d" % number, "t": t, "end": time.monotonic(), "folder": folder})
        status, answer = self.ask(self.front, "GET", "/sub?type=json&id=%d" % number)
        shown = [s.get("folders") for s in answer.json["subscriptions"]] if status == 200 else None
        if shown and not self.is_loss_near(t) and shown != [[[folder]]]:
            self.record.wrong.append("GET /sub?id=%d after PATCH at %.3f: %s, not %s" % (number, t, shown, folder))

    def hand_over(self, one, other):
        """NODE-03: a cursor of one node, at once at another."""
        status, answer = self.ask(one, "GET", "/log?since=end")
        if status != 200:
            return
        t, given = time.monotonic(), answer.json["cursor"]
        status, answer = self.ask(other, "GET", "/log?max=3&since=" + quote(given))
        page = answer.json if status == 200 else {"cursor": None, "revisions": []}
        first = page["revisions"][0]["cursor"] if page["revisions"] else None
        self.record.cursors.append([t, status, given, page["cursor"], first])

    def end(self, number):
        t = time.monotonic()
        status, _ = self.ask(self.front, "DELETE", "/sub?id=%d" % number)
        if status != 204:       # nobody knows
            self.record.acks.append({"what": "unknown", "key": "sub %d" % number, "t": t, "end": time.monotonic()})
            if not check.lossy(self.record):
                self.expect("DELETE /sub", status, (0, 503))
            return
        self.acknowledged("ended", "sub %d" % number, t)
        self.look("GET /sub?id=%d after it was ended" % number, number, (404,), t)

    def look(self, what, number, good, t):
        """NODE-02: at another node, without waiting. Near the loss of a server nobody is promised anything."""
        status, _ = self.ask(self.front, "GET", "/sub?type=json&id=%d" % number)
        if not self.is_loss_near(t):
            self.expect(what, status, (*good, 0, 503))

    def look_list(self, number, t):
        status, answer = self.ask(self.front, "GET", "/sub?type=json")
        if status == 200 and not self.is_loss_near(t) and number not in [s["id"] for s in answer.json["subscriptions"]]:
            self.record.wrong.append("GET /sub at %.3f does not have %d, which was made before" % (time.monotonic(), number))

    def is_loss_near(self, t):
        return any(f["until"] + 1 >= t for f in check.lossy(self.record))

    def look_away(self, node, known):
        """NODE-08: what a node says that has been cut off for more than two thirds of a lease."""
        for what in ("/readyz", "/sub?id=%d" % known):
            self.record.away.append([time.monotonic(), node.name, what.partition("=")[0], self.ask(node, "GET", what)[0]])

    def wait_for_news(self, dice):
        """NODE-07: long polls, each at any node."""
        since = None
        while not self.stopping.is_set():
            status, answer = self.ask(self.front, "GET", "/log?since=end") if since is None else (200, None)
            since = answer.json["cursor"] if answer and status == 200 else since
            node, t = dice.choice(self.nodes), time.monotonic()
            with contextlib.suppress(*DOWN, ValueError, KeyError):
                answer = node.call("GET", "/log?max=100&timeout=2&since=%s" % quote(since or "end"), timeout=20)
                page = answer.json if answer.status == 200 else {"cursor": None, "revisions": []}
                if page["revisions"]:
                    self.record.wakes.append([t, time.monotonic(), page["revisions"][0]["seq"]])
                since = page["cursor"]
            self.stopping.wait(0.02)

    def expect(self, what, status, good):
        if status not in good:
            self.record.wrong.append("%s at %.3f: %d" % (what, time.monotonic(), status))

    def browse(self, dice):
        """Pages of the past, at any node."""
        while not self.stopping.wait(dice.expovariate(1)):
            try:
                self.read_pages(dice.choice(self.nodes), dice.choice(self.world.feeds))
            except (*DOWN, ValueError):
                pass

    def read_pages(self, node, feed, is_needed=False):
        """The sealed pages of a feed, as this node gives them."""
        path = "/simple/recent?url=" + quote(feed.url)
        while path:
            answer = node.call("GET", path, timeout=20)
            if answer.status != 200:
                if is_needed:
                    self.record.wrong.append("%s of %s: %d" % (path, node.name, answer.status))
                return
            if not path.startswith("/simple/recent"):
                seen = hashlib.sha256(answer.body).hexdigest()
                self.record.pages.append([time.monotonic(), node.name, path, seen, answer.header("ETag")])
                self.record.texts[seen] = answer.body.decode()
            answer.headers = dict(answer.headers)
            link = Document(path, answer).link("prev-archive")
            parts = urllib.parse.urlsplit(link or "")
            path = parts.path + ("?" + parts.query if parts.query else "")

    def await_ready(self):
        """NODE-08: a node is ready again soon after all is whole."""
        for node in self.nodes:
            wait_for(lambda n=node: self.ask(n, "GET", "/readyz")[0] == 200, faults.READY_S, "readiness of " + node.name, node)

    def break_things(self, dice, until):
        """One fault after the other, for so long. Each kind that was asked for comes before any comes again."""
        kinds, left = self.kinds, []
        while time.monotonic() < until:
            time.sleep(min(dice.uniform(0.3, 2), max(0.0, until - time.monotonic())))
            if not kinds or time.monotonic() >= until:
                continue
            if not left:
                left = dice.sample(kinds, len(kinds))
            faults.KINDS[left.pop()](self, dice)
            self.await_ready()

    def guarded(self, work, dice):
        """What a thread of the harness does wrong ends the run with a fault."""
        try:
            work(dice)
        except Exception:
            self.record.wrong.append(traceback.format_exc())

    def go_on(self):
        self.stopping = threading.Event()
        threads = [threading.Thread(target=self.guarded, args=(f, self.fork()))
                   for f in (self.publish, self.operate, self.browse, self.wait_for_news)]
        for thread in threads:
            thread.start()
        try:
            self.break_things(self.fork(), time.monotonic() + self.options.seconds)
        finally:
            self.stopping.set()
            self.calm = True
            for endpoint in self.endpoints.values():
                endpoint.moods.calm = True
            for thread in threads:
                thread.join()

    # ---- the end ----
    def settle(self):
        """Nothing fails any more, and those who fetch come to rest: all that is due arrives."""
        self.world.is_calm, self.record.options["calm_at"] = True, time.monotonic()
        wait_for(lambda: self.ask(self.front, "DELETE", "/sub?id=%d" % self.quiet_sub)[0] in (204, 404), what="DELETE /sub",
                 daemon=self.front)
        self.await_stored()
        super().settle()

    def await_stored(self):
        """Each feed was fetched and stored since nothing happens to it any more. What a node could not store it fetches
        again later, and until then it is at rest."""
        self.world.heal()
        urls, since = {f.url for f in self.world.feeds}, time.time() + 1

        def left():
            feeds = self.front.get("/sub?type=json&all=1").json["feeds"]
            late = [f["url"] for f in feeds if f["url"] in urls and not (    # it may come from a clock that was wrong
                f["last_success"] and int(since) <= chaos.check.seconds(f["last_success"]) <= time.time() + 1)]
            for url in late:
                self.ask(self.front, "GET", "/ping?url=" + quote(url))
            time.sleep(0.2)
            return late
        wait_for(lambda: not left(), what="a fetch of all feeds", daemon=self.front)

    def read_end(self):
        """What all of them say, once nothing moves any more."""
        for _ in range(20):
            before = self.last_seq()
            self.read_all()
            if self.last_seq() == before:
                break
        self.record.tables["keys"] = ["sub " + n for n in self.sql("SELECT id FROM subscriptions").split()]
        self.record.tables["folders"] = {"sub %d" % s["id"]: s.get("folders", []) for s in
                                         self.front.get("/sub?type=json").json["subscriptions"]}
        self.record.shown = {f.url: {"urn:%s:%s" % (f.name, name): entry[0] for name, entry in f.entries.items()}
                             for f in self.world.feeds}
        self.read_nodes()
        self.record.tables["orphans"] = {name: int(self.sql(sql)) for name, sql in ORPHANS.items()}
        self.await_readers()
        self.await_no_transactions()

    def read_nodes(self):
        """NODE-11: what each node says of all, once the slots are shared out."""
        def look():
            seen = {n.name: n.get("/nodes").json["nodes"] for n in self.nodes}
            self.record.tables["nodes"] = {name: [[n["name"], n["slots"], n["behind"]] for n in there]
                                           for name, there in seen.items()}
            return not check.node_faults(self.record)
        with contextlib.suppress(AssertionError):
            wait_for(look, 10 * PATIENCE)

    def move(self):
        """NODE-10: all that is there goes into a file; what a daemon with that file shows."""
        for node in self.nodes:
            node.stop()
        folder = tempfile.mkdtemp(prefix="feedmill-moved-")
        try:
            args = [BINARY, "migrate", "--from", self.pair.primary.uri(), "--to", folder + "/moved.db"]
            done = [subprocess.run(args + more, capture_output=True, text=True) for more in ([], ["--check"])]
            moved = self.record.moved = {"check": [d.returncode for d in done], "said": [d.stderr[-500:] for d in done]}
            if not any(moved["check"]):
                daemon = Daemon(*self.arguments(is_node=False), db=folder + "/moved.db")
                try:
                    self.read_moved(daemon, moved)
                finally:
                    daemon.close()
        finally:
            shutil.rmtree(folder)

    def read_moved(self, daemon, moved):
        moved["log"] = [r["cursor"] for r in self.read_log(daemon)]
        moved["keys"] = ["sub %d" % s["id"] for s in daemon.get("/sub?type=json").json["subscriptions"]]
        moved["pages"] = {}
        for path in {p[2] for p in self.record.pages if p[0] >= self.record.options["calm_at"]}:
            answer = daemon.get(path)
            moved["pages"][path] = hashlib.sha256(answer.body).hexdigest() if answer.status == 200 else answer.status

    def sql(self, text):
        return self.pair.primary.psql(text)

    def numbers(self, text):
        return [[int(x) for x in line.split("|")] for line in self.sql(text).splitlines()]

    def last_seq(self):
        return self.numbers("SELECT last_seq FROM log")[0][0]

    def read_all(self):
        record = self.record
        record.forks = self.numbers("SELECT last_seq, next_seq FROM forks ORDER BY timeline")
        record.rows = self.numbers("SELECT seq, at_us, feed_id, entry_id FROM revisions UNION ALL"
                                   " SELECT seq, at_us, feed_id, 0 FROM feed_events ORDER BY 1")
        for n, node in enumerate(self.nodes):
            rows = self.read_log(node)
            record.log = record.log if n else rows
            record.logs[node.name] = [r["cursor"] for r in rows]
            for feed in self.world.feeds + self.world.quiet:
                self.read_pages(node, feed, is_needed=True)

    def read_log(self, node):
        rows, since = [], "start"
        while True:
            page = node.get("/log?max=500&since=" + since).json
            rows += [{k: r[k] for k in ("seq", "cursor", "at", "kind", "uid")} |
                     {"feed": r["url"], "title": (r.get("entry") or {}).get("title")} for r in page["revisions"]]
            since = page["cursor"]
            if not page["revisions"]:
                return rows

    def await_readers(self):
        for reader in self.consumers:
            if isinstance(reader, threading.Thread) and chaos.check.read_rows(self.record, self.record.subs[reader.key]):
                last = chaos.check.read_rows(self.record, self.record.subs[reader.key])[-1]["cursor"]
                try:
                    wait_for(lambda r=reader, c=last: r.got and r.got[-1]["cursor"] == c, 10)
                except AssertionError:
                    pass        # the checker says what is missing

    def await_no_transactions(self):
        sql = ("SELECT pid, state, now() - xact_start, left(query, 80) FROM pg_stat_activity WHERE usename = 'mill'"
               " AND xact_start < now() - interval '2 s'")
        try:
            wait_for(lambda: not self.sql(sql), 10)
        except AssertionError:
            self.record.tables["sessions"] = self.sql(sql).splitlines()

    def whole(self):
        """All of it; returns the faults."""
        try:
            self.begin()
            self.say("%d nodes, %d consumers" % (len(self.nodes), len(self.consumers)))
            self.go_on()
            self.say("no more faults")
            self.await_ready()
            self.settle()
            self.read_end()
            self.move()
            self.record.wrong += ["a watcher has ended" for w in self.watchers if not w.is_alive()]
        finally:
            self.close()
        self.record.wrong += self.server.errors
        return check.faults(copy.deepcopy(self.record))

    def close(self):
        readers = [c for c in self.consumers if isinstance(c, threading.Thread)]
        for thread in readers:
            thread.stop()
        for thread in self.watchers:
            thread.stopped.set()
        for thread in readers + self.watchers:
            thread.join(30)
        wrong = None
        while self.closing:
            try:
                self.closing.pop()()
            except Exception as why:
                wrong = wrong or why
        if wrong:
            raise wrong

    def figures(self):
        """What there was, in numbers."""
        record = self.record
        calls = [c for trail in record.trails.values() for c in trail]
        kinds = [f["kind"] for f in record.faults]
        return {"nodes": len(self.nodes), "consumers": len(record.subs), "revisions": len(record.log),
                "faults": {k: kinds.count(k) for k in sorted(set(kinds))}, "calls": len(calls),
                "fetches": len(record.fetches), "acks": len(record.acks), "pages": len(record.pages),
                "looks": {k: len(v) for k, v in record.sql.items()}, "forks": len(record.forks),
                "read": sum(len(s.get("got", ())) for s in record.subs.values()),
                "stopped": sum(f.get("stopped", False) for f in record.faults), "answers": len(record.answers), "cursors": len(record.cursors), "away": len(record.away),
                "runnable": round(sum(share for _, share in record.load) / max(1, len(record.load)), 1),
                "wakes_ms": [round(1000 * x) for x in check.quantiles(check.wakes_s(record), (0.5, 0.99))],
                "settled_s": record.settled_s and round(record.settled_s, 1)}


def options_consumers(options):
    return options.consumers.split(",") if isinstance(options.consumers, str) else list(options.consumers)
