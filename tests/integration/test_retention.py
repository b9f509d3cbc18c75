"""Retention takes what is old, and every reader that would lack some of it is told (KEEP-01, KEEP-02, D58, D59)."""
import http.client
import json
import os
import random
import subprocess
import urllib.parse

from .env.archives import Document
from .env.case import Case
from .env.daemon import BINARY, PATIENCE, quote
from .env.events import EventReader
from .env.origin import Reply, rss

ROUNDS = int(os.environ.get("FEEDMILL_ROUNDS", "2"))
KEPT = (1, 4) if ROUNDS < 10 else (1, 2, 3, 4, 8, 20)   # entries of a feed
SEED = int(os.environ.get("FEEDMILL_SEED", "9"))


class Readers(Case):
    def setUp(self):
        self.o = self.origin()

    def show(self, d, *titles):
        """The publisher shows these, and they are stored."""
        url = self.o.set("/f.xml", rss(*titles))
        if d.record(url) is None:
            d.subscribe(url)
        else:
            d.ping(url)
        self.wait(lambda: set(titles) <= set(self.titles(d.feed(url, len=100).json)), what="the entries", daemon=d)
        d.wait_idle()
        return url

    def titles(self, document):
        return [e.get("title") for e in document["entries"]]

    def kept(self, d, cursor, query=""):
        """What follows a position, by the cursors of the answers."""
        rows = []
        while True:
            answer = d.get("/log?max=1&since=%s&%s" % (cursor, query))
            self.assertEqual(200, answer.status, answer.body)
            cursor = answer.json["cursor"]
            rows += answer.json["revisions"]
            if not answer.json["revisions"]:
                return rows, cursor

    def event_status(self, d, since, query=""):
        http_ = http.client.HTTPConnection("127.0.0.1", urllib.parse.urlsplit(d.base).port, timeout=60)
        self.addCleanup(http_.close)
        http_.request("GET", "/events?" + query, headers={"Last-Event-ID": since})
        answer = http_.getresponse()
        if answer.status == 200:
            return 200, None
        return answer.status, json.loads(answer.read())

    def gone(self, answer):
        self.assert_problem(answer, 410, "history-gone")
        return answer.json["horizon"]

    def commands_tell(self, d, lagging, horizon, url):        # CLI-04
        """Where to go on, and what they say is right."""
        position = os.path.join(d.folder, "position")
        with open(position, "w", encoding="ascii") as f:
            f.write(lagging + "\n")
        for args in (["tail", "--since", "start"], ["tail", "--position", position], ["events", "--since", "start"],
                     ["sub", "add", "--from", "start", "http://127.0.0.1:9/", url]):
            done = subprocess.run([BINARY, *args, "--server", d.base], capture_output=True, text=True, timeout=20 * PATIENCE)
            self.assertEqual((1, True), (done.returncode, "follows the cursor %s." % horizon in done.stderr), (args, done.stderr))
        done = subprocess.Popen([BINARY, "events", "--since", horizon, "--server", d.base], stdout=subprocess.PIPE, text=True)
        self.assertTrue(done.stdout.readline())
        done.kill()
        done.communicate()

    def swept(self, d):
        """The keeper has looked at everything that is stored."""
        rounds = d.counter("retention_rounds_total")
        d.wait_metric("retention_rounds_total", rounds + 2)

    def pushed(self, d, receiver, url, since):
        """What a new subscription is given that begins there."""
        answer = d.call("POST", "/sub", "url=%s&from=%s&endpoint=%s" % (quote(url), since, quote(receiver.url)))
        self.assertEqual(201, answer.status, answer.body)
        d.wait_idle()
        self.wait(lambda: receiver.titles(), what="a push", daemon=d)
        d.wait_idle()
        return sorted(receiver.titles())

    def taken(self, d, n):
        self.wait(lambda: d.sql("SELECT sum(n_taken) FROM feeds") == [[str(n)]], what="%d to be taken" % n, daemon=d)


class Retention(Readers):
    def test_every_reader_is_told(self):                                  # KEEP-01 KEEP-02
        d = self.daemon("--keep-entries", "2", "--archive-size", "2")
        other = self.o.set("/other.xml", rss("x"))
        d.subscribe(other)
        d.feed(other)
        url = self.show(d, *"cba")
        start = d.get("/log?since=start&max=1000").json
        lagging = start["revisions"][1]["cursor"]
        old = Document(d.base + "/archive?url=" + quote(url)).link("prev-archive")
        self.assertEqual(200, d.get(old.removeprefix(d.base)).status)
        self.show(d, *"fedc")                        # b and a are old and not shown; c is shown
        self.taken(d, 2)
        d.wait_idle()
        last = d.get("/log?since=end").json["cursor"]
        # those who lack something
        for since in ("start", "0", "time:0", lagging):
            horizon = self.gone(d.get("/log?since=%s" % since))
        self.gone(d.get("/log"))
        self.gone(d.get("/log?since=start&url=" + quote(url)))
        self.gone(d.get("/smart?order=modified&since=cursor:&url=" + quote(url)))
        status, problem = self.event_status(d, lagging)
        self.assertEqual((410, horizon), (status, problem["horizon"]))
        self.gone(d.get(old.removeprefix(d.base)))
        r = self.receiver()
        for since in ("start", lagging):
            answer = d.call("POST", "/sub", "url=%s&from=%s&endpoint=%s" % (quote(url), since, quote(r.url)))
            self.assertEqual(horizon, self.gone(answer))
        self.commands_tell(d, lagging, horizon, url)
        self.assertFalse([line for line in list(d.log) if "draw_failed" in line])     # an old position is not our fault
        # those who lack nothing
        self.assertEqual([], d.get("/log?since=" + last).json["revisions"])
        self.assertEqual(["x"], [e["entry"]["title"] for e in
                                 d.get("/log?since=start&url=" + quote(other)).json["revisions"]])
        self.assertEqual(200, self.event_status(d, last)[0])
        self.assertEqual(200, self.event_status(d, horizon)[0])
        # from the horizon all that is kept follows
        rows, cursor = self.kept(d, horizon)
        self.assertEqual(["c", "d", "e", "f", "x"], sorted(e["entry"]["title"] for e in rows))
        # a reader that is interrupted on that way goes on where it was, by the cursors of single revisions and events
        for at, row in enumerate(rows):
            after, _ = self.kept(d, row["cursor"])
            self.assertEqual([r["seq"] for r in rows[at + 1:]], [r["seq"] for r in after])
        reader = EventReader(d, last_id=horizon)
        self.addCleanup(reader.close)
        self.assertEqual([r["cursor"] for r in rows], [e.id for e in reader.until(len(rows))])
        self.assertEqual([], d.get("/log?since=" + cursor).json["revisions"])
        self.assertEqual(["f", "e", "d", "c"], self.titles(d.feed(url, len=10).json))
        items = d.get("/smart?order=modified&max=1&type=json&since=cursor:%s&url=%s" % (horizon, quote(url)))
        self.assertEqual(200, items.status, items.body)
        # who names no position begins with the oldest that is kept, and comes to the end from there
        asked = "/smart?type=json&max=1&timeout=0&url=%s&url=%s" % (quote(url), quote(other))
        answer, titles = d.get(asked), []
        while answer.status == 200 and answer.json["items"]:
            titles += [i["title"] for i in answer.json["items"]]
            answer = d.get("%s&since=cursor:%s" % (asked, answer.json["last_cursor"]))
        self.assertEqual(200, answer.status, answer.body)
        self.assertEqual(["c", "d", "e", "f", "x"], sorted(titles))
        # and so it is with a subscription: it says that it knows what is lost, and is given the rest
        self.assertEqual(["c", "d", "e", "f"], self.pushed(d, r, url, horizon))
        sub = d.get("/sub?type=json").json["subscriptions"][-1]["id"]
        self.assertEqual(horizon, self.gone(d.call("POST", "/sub", "id=%d&action=replay&from=start" % sub)))
        answer = d.call("POST", "/sub", "id=%d&action=replay&from=%s" % (sub, horizon))
        self.assertEqual(200, answer.status, answer.body)
        self.wait(lambda: sorted(r.titles()) == sorted("cdef" * 2), what="all of it again", daemon=d)
        # another start knows it, too
        d.stop()
        d.start()
        self.assertEqual(horizon, self.gone(d.get("/log?since=" + lagging)))
        self.gone(d.get(old.removeprefix(d.base)))
        # a delta cannot tell what came and was taken since
        newest = "/feed?type=atom&url=" + quote(url)
        etag = d.get(newest).header("ETag")
        self.show(d, *"gfed")
        delta = d.get(newest, **{"If-None-Match": etag, "A-IM": "feed"})
        self.assertEqual((226, 1), (delta.status, delta.body.count(b"<entry")))
        self.show(d, *"kjih")
        self.taken(d, 7)
        d.wait_idle()
        delta = d.get(newest, **{"If-None-Match": etag, "A-IM": "feed"})
        self.assertEqual((200, 4), (delta.status, delta.body.count(b"<entry")))

    def test_nothing_is_taken_that_is_needed(self):                       # KEEP-01 KEEP-04
        d = self.daemon("--keep", "1s")
        url = self.o.set("/f.xml", rss(*"cba"))
        r = self.receiver()
        r.status = 500
        d.subscribe(url)
        d.feed(url)
        self.show(d, *"dc")
        self.taken(d, 2)
        # it was known, so it is not new; nor does it come back
        self.o.set("/f.xml", rss(*"dcb"))
        d.ping(url)
        d.wait_idle()
        self.assertEqual(["d", "c"], self.titles(d.feed(url, len=10).json))
        # a document that broke off does not say that the rest is gone
        whole = rss("d")
        self.o.set("/f.xml", whole[:whole.index("</item>") + 9])
        d.ping(url)
        d.wait_idle()
        self.swept(d)
        self.assertEqual(["d", "c"], self.titles(d.feed(url, len=10).json))

    def test_without_a_bound_all_is_kept(self):                           # KEEP-01
        d = self.daemon()
        self.show(d, *"ba")
        self.show(d, *"dc")
        self.assertEqual(4, len(d.get("/log?since=start&max=1000").json["revisions"]))
        self.assertEqual([["0"]], d.sql("SELECT count(*) FROM feeds WHERE horizon > 0"))

    def test_a_wish_needs_no_further_document(self):                      # KEEP-01
        d = self.daemon()
        url = self.show(d, *"cba")
        self.show(d, *"edc")
        d.ping(url)                                                      # the same document once more
        d.wait_idle()
        feed, asked = d.record(url)["id"], len(self.o.requests)
        self.o.set("/f.xml", Reply(404))
        d.stop()
        d.start()                                                        # it is known after a start, too
        self.assertEqual(200, d.call("PATCH", "/sub/feed?id=%d" % feed, "keep_entries=1").status)
        self.taken(d, 2)                                                 # c and d are shown
        self.assertEqual(["e", "d", "c"], self.titles(d.feed(url, len=10).json))
        self.assertEqual(asked, len(self.o.requests))

    def test_the_widest_wish_counts(self):                                # KEEP-01
        d = self.daemon()
        url = self.show(d, *"cba")
        sub = d.get("/sub?type=json").json["subscriptions"][0]
        self.assertEqual((None, None), (sub["keep"], sub["keep_entries"]))
        for wrong in ("keep=soon", "keep=-1", "keep_entries=x", "keep_entries=-1", "keep=200000000000"):
            self.assert_problem(d.call("PATCH", "/sub?id=%d" % sub["id"], wrong), 400, "bad-parameter")
        answer = d.call("PATCH", "/sub?id=%d" % sub["id"], "keep_entries=2&keep=0")
        self.assertEqual((0, 2), (answer.json["keep"], answer.json["keep_entries"]))
        other = d.subscribe(url)                                         # it wishes what the options say: all
        self.show(d, *"fedc")
        self.swept(d)
        self.assertEqual(200, d.get("/log?since=start").status)
        answer = d.call("PATCH", "/sub?id=%d" % other, json.dumps({"keep_entries": 3}),
                        {"Content-Type": "application/json"})
        self.assertEqual(3, answer.json["keep_entries"])
        self.taken(d, 2)                                                 # c is shown
        self.gone(d.get("/log?since=start"))
        # a wish of the feed itself is shared by those without one
        answer = d.call("PATCH", "/sub?id=%d" % other, json.dumps({"keep_entries": None}),
                        {"Content-Type": "application/json"})
        self.assertIsNone(answer.json["keep_entries"])
        feed = d.record(url)["id"]
        answer = d.call("PATCH", "/sub/feed?id=%d" % feed, "keep_entries=1")
        self.assertEqual(1, answer.json["keep_entries"])
        self.show(d, *"hg")
        self.taken(d, 2 + 4)                                             # one wants 2, so g stays by that, too

    def test_from_new_to_old_the_end_is_told(self):                      # KEEP-02
        d = self.daemon("--keep-entries", "2")
        url = self.show(d, *"ba")
        self.show(d, *"dc")
        self.taken(d, 2)
        page = d.get("/smart/?type=json&order=-modified&max=1&url=" + quote(url))
        titles = []
        while page.status == 200:
            titles += [i["object"]["displayName"] for i in page.json["items"]]
            page = d.get(page.json["next"].removeprefix(d.base))
        self.assertEqual(["d", "c"], titles)
        self.gone(page)


class Histories(Readers):
    """Feeds of which entries are added, edited and not shown any more, while old ones are taken away."""

    def change(self):
        """Another document of one of the feeds."""
        url, shown = self.dice.choice(list(self.shown.items()))
        for _ in range(self.dice.randint(1, 3)):
            self.n += 1
            if shown and self.dice.random() < 0.3:
                at = self.dice.randrange(len(shown))
                shown[at] = "%s|%d" % (shown[at].split("|")[0], self.n)
                self.stored[url].append(shown[at])
            else:
                shown.insert(0, "k%d" % self.n)
                self.stored[url].append(shown[0])
        del shown[self.dice.randint(2, 4):]
        self.stored[url] = [t for t in self.stored[url] if t in shown or t in self.known]
        self.known |= set(shown)
        path = urllib.parse.urlsplit(url).path
        self.o.set(path, rss(*shown, *self.old(url, shown)))
        self.d.ping(url)
        self.wait(lambda: set(shown) <= set(self.titles(self.d.feed(url, len=100).json)), what="the entries", daemon=self.d)
        self.d.wait_idle()

    def old(self, url, shown):
        """Some that were shown before, as they were last, to be shown again. Nothing comes of that, also if they are gone."""
        last = {}
        for title in self.stored[url]:
            last[title.split("|")[0]] = title
        old = [t for k, t in last.items() if k not in {s.split("|")[0] for s in shown}]
        return self.dice.sample(old, min(len(old), self.dice.choice((0, 0, 1, 3))))

    def all(self):
        return {t for titles in self.stored.values() for t in titles}

    def follow(self, cursor, query=""):
        """What /log gives after a cursor, in pages; None: it lacks something, and says so."""
        titles = []
        while True:
            answer = self.d.get("/log?since=%s&max=%d%s" % (cursor, self.dice.choice((1, 3, 50)), query))
            if answer.status == 410:
                self.gone(answer)
                return None
            self.assertEqual(200, answer.status, answer.body)
            titles += [r["entry"]["title"] for r in answer.json["revisions"]]
            cursor = answer.json["cursor"]
            if not answer.json["revisions"]:
                return titles

    def newest(self, titles):
        """The last state of each entry of which one of these is a state."""
        last = {}
        for title in sorted(self.all(), key=lambda t: int(t.split("|")[-1].lstrip("k"))):
            last[title.split("|")[0]] = title
        return {last[t.split("|")[0]] for t in titles}

    def deltas(self, tags, before):
        """Who has had a document asks for what is new in it: that is all of it, or the whole document comes (RFC 3229)."""
        for url, tag in tags.items():
            answer = self.d.get("/feed?type=atom&len=100&url=" + quote(url), **{"If-None-Match": tag, "A-IM": "feed"})
            due = self.newest(set(self.stored[url]) - before)
            if answer.status == 304:
                self.assertEqual(set(), due)
                continue
            self.assertIn(answer.status, (200, 226))
            titles = Document("", answer).titles
            if answer.status == 226:
                self.assertEqual(sorted(due), sorted(titles))
            else:
                self.assertEqual(sorted(self.titles(self.d.feed(url, len=100).json)), sorted(titles))

    def push(self, cursor, due):
        """A subscription that begins there is given all of it, or is refused."""
        r = self.receiver()
        answer = self.d.call("POST", "/sub", "%s&from=%s&endpoint=%s" % (
            "&".join("url=" + quote(u) for u in self.shown), cursor, quote(r.url)))
        if answer.status == 201:
            self.wait(lambda: len(r.titles()) >= len(due), what="%d pushes" % len(due), daemon=self.d)
            self.d.wait_idle()
            self.assertEqual(sorted(due), sorted(r.titles()))
            self.assertEqual(204, self.d.call("DELETE", "/sub?id=%d" % json.loads(answer.body)["id"]).status)
        else:
            self.gone(answer)
        return answer.status

    def check(self, cursor, before, tags):
        """A reader that has had `before` goes on from its cursor."""
        due = self.all() - before
        told = self.follow(cursor)
        if told is not None:
            self.assertEqual(sorted(due), sorted(told))
        filtered = self.follow(cursor, "&q=-nothing")
        self.assertEqual(told is None, filtered is None)
        if told is not None:
            self.assertEqual(sorted(due), sorted(filtered))
        self.deltas(tags, before)
        urls = "&".join("url=" + quote(u) for u in self.shown)
        items = self.d.get("/smart/?type=json&order=modified&timeout=0&max=1000&since=cursor:%s&%s" % (cursor, urls))
        if items.status == 200:
            self.assertEqual(sorted(self.newest(due)),
                             sorted(i["object"]["displayName"] for i in items.json["items"]))
        else:
            self.gone(items)
        status, _ = self.event_status(self.d, cursor)
        self.assertEqual({status}, {items.status, 410 if told is None else 200})
        if status == 200 and due:
            reader = EventReader(self.d, last_id=cursor)
            self.addCleanup(reader.close)
            events = [json.loads(e.data) for e in reader.until(len(due))]
            self.assertEqual(sorted(due), sorted(e["entry"]["title"] for e in events))
        return status

    def archive(self, url):
        """Walk the archive of a feed. What was seen before is as it was, or gone."""
        for at, body in self.seen.items():
            answer = self.d.get(at)
            if answer.status == 200:
                self.assertEqual(body, answer.body.replace(self.d.base.encode(), b""), at)
            else:
                self.gone(answer)
        at, titles = "/archive?url=" + quote(url), []
        while at is not None:
            answer = self.d.get(at)
            if answer.status == 410:
                self.gone(answer)
                return
            document = Document(self.d.base + at, answer)
            titles += document.titles
            if not at.startswith("/archive?") and document.link("next-archive"):   # else it will get that link
                self.seen[at] = answer.body.replace(self.d.base.encode(), b"")
            at = document.link("prev-archive")
            at = at and at.removeprefix(self.d.base)
        # of two states of an entry in one document, the newer one is shown
        self.assertLessEqual(self.newest(set(self.stored[url])), set(titles))
        self.assertLessEqual(set(titles), set(self.stored[url]))

    def test_no_answer_lacks_without_saying_so(self):                    # KEEP-02 KEEP-04
        for kept in KEPT:
            with self.subTest(kept=kept):
                self.history(kept)

    def history(self, kept):
        self.d = self.daemon("--keep-entries", str(kept), "--archive-size", "2")
        self.dice, self.n, self.known, self.seen = random.Random(SEED + kept), 0, set(), {}
        self.shown, self.stored, statuses = {}, {}, []
        for name in ("x", "y"):
            url = self.o.set("/%s.xml" % name, rss())
            self.d.subscribe(url)
            self.shown[url], self.stored[url] = [], []
        lags = []
        for i in range(ROUNDS):
            for _ in range(5):
                self.change()
                tags = {u: self.d.get("/feed?type=atom&len=100&url=" + quote(u)).header("ETag") for u in self.shown}
                lags.append((self.d.get("/log?since=end").json["cursor"], self.all(), tags))
            if i == ROUNDS // 2:
                self.d.stop()
                self.d.start()
            self.swept(self.d)
            statuses += [self.check(*lag) for lag in lags]
            for cursor, before, _ in lags[-6:]:
                pushed = self.push(cursor, self.all() - before)
                self.assertEqual(pushed == 410, self.follow(cursor) is None)
            taken = int(self.d.sql("SELECT sum(n_taken) FROM feeds")[0][0])
            self.assertEqual(taken > 0, self.follow("start") is None)
            for url in self.shown:
                self.archive(url)
        self.assertEqual({200, 410}, set(statuses), "seed %d, kept %d" % (SEED, kept))
        self.d.stop()
