"""GET /events: revisions as server-sent events, for readers of all kinds."""
import http.client
import json
import os
import shutil
import socket
import subprocess
import tempfile
import threading
import time
import unittest
import urllib.parse

from .env.case import Case, slow
from .env.daemon import PATIENCE, quote
from .env.events import EventReader, FaithfulReader, Parser
from .env.origin import Reply, moved, rss
from .env.publisher import Publisher

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
NPM = os.path.join(ROOT, "build-npm", "node_modules")


class Events(Case):
    def setUp(self):
        self.o = self.origin()
        self.d = self.daemon("--cors-origin", "*")

    def reader(self, query="", **kw):
        reader = EventReader(self.d, query, **kw)
        self.addCleanup(reader.close)
        return reader

    def faithful(self, query="", last_id=None):
        reader = FaithfulReader(self.d, query, last_id)
        self.addCleanup(reader.stop)
        return reader

    def log(self, query=""):
        """All revisions of the log, as objects; and the bytes of the answers."""
        rows, raw, since = [], b"", "start"
        while True:
            answer = self.d.get("/log?max=1000&since=%s&%s" % (since, query))
            self.assertEqual(200, answer.status, answer.body)
            raw += answer.body
            page = answer.json
            rows += page["revisions"]
            since = page["cursor"]
            if not page["revisions"]:
                return rows, raw

    def many(self, n, path="/many.xml", first=0, more=""):
        """A feed of n entries, fetched."""
        url = self.o.set(path, rss(*["e%d|%s" % (i, more) for i in range(first, first + n)]))
        before = self.d.get("/log?since=end").json["last_seq"]
        self.d.feed(url, len=1)
        self.wait(lambda: self.d.get("/log?since=end").json["last_seq"] == before + n, 60, daemon=self.d)
        return url

    def assert_as_in_log(self, events, query=""):
        rows, raw = self.log(query)
        self.assertEqual([r["cursor"] for r in rows], [e.id for e in events])
        self.assertEqual([r["kind"] for r in rows], [e.kind for e in events])
        for event in events:
            self.assertIn(event.data.encode(), raw)
        self.assertEqual(rows, [json.loads(e.data) for e in events])

    # ---- what an event is ----
    def test_each_revision_is_an_event(self):                                            # SSE-01 SSE-03
        p = Publisher(self.o)
        p.put("a", "One")
        p.sync(self)
        reader = self.reader("?since=start").begin()
        self.assertEqual(200, reader.answer.status)
        self.assertEqual("text/event-stream", reader.answer.getheader("Content-Type"))
        self.assertEqual("no-store", reader.answer.getheader("Cache-Control"))
        self.assertEqual("no", reader.answer.getheader("X-Accel-Buffering"))
        self.assertEqual("*", reader.answer.getheader("Access-Control-Allow-Origin"))
        self.assertIsNone(reader.answer.getheader("Content-Length"))
        p.put("b", "Two")
        p.put("a", "One, edited")
        p.sync(self)
        p.delete("b")
        p.sync(self)
        reader.until(4)
        self.assertEqual({"new", "changed", "deleted"}, {e.kind for e in reader.events})
        self.assert_as_in_log(reader.events)

    def test_without_a_position_it_begins_now(self):                                           # SSE-03
        p = Publisher(self.o)
        p.put("a", "One")
        p.sync(self)
        reader = self.reader().begin()
        self.assertEqual(self.log()[0][-1]["cursor"], reader.last_id)
        self.assertEqual([], reader.events)
        p.put("b", "Two")
        p.sync(self)
        self.assertEqual("Two", json.loads(reader.until(1)[0].data)["entry"]["title"])

    def test_a_client_cut_off_before_the_first_event_misses_nothing(self):                     # SSE-02
        p = Publisher(self.o)
        p.put("a", "One")
        p.sync(self)
        reader = self.reader().begin()
        reader.close()
        p.put("b", "Two")
        p.sync(self)
        again = self.reader(last_id=reader.last_id)
        self.assertEqual("Two", json.loads(again.until(1)[0].data)["entry"]["title"])

    def test_only_the_feeds_asked_for(self):                                            # SSE-01 VIEW-01
        mine, other = Publisher(self.o, "/m.xml", "m"), Publisher(self.o, "/o.xml", "o")
        for p in (mine, other):
            p.put("a", p.name)
            p.sync(self)
        reader = self.reader("?url=" + quote(mine.url)).begin()
        every = self.reader().begin()
        for i in range(3):
            for p in (other, mine):
                p.put("n%d" % i, "%s%d" % (p.name, i))
                p.sync(self)
        titles = [json.loads(e.data)["entry"]["title"] for e in reader.until(3)]
        self.assertEqual(["m0", "m1", "m2"], titles)
        self.assertEqual(6, len(every.until(6)))
        behind = self.reader("?since=start&url=" + quote(mine.url))
        behind.until(4)
        self.assert_as_in_log(behind.events, "url=" + quote(mine.url))

    def test_what_happens_to_a_feed_itself_is_no_event(self):                           # SSE-01 DELIV-02
        p = Publisher(self.o)
        p.put("a", "One")
        p.sync(self)
        reader = self.reader().begin()
        self.o.set(p.path, Reply(500, "broken"))
        for i in range(3):      # the feed counts as broken then
            n = self.d.counter("fetch_failed_total")
            self.d.ping(p.url)
            self.d.wait_metric("fetch_failed_total", n + 1)
            self.d.wait_idle()
        p.put("b", "Two")
        p.sync(self)
        self.assertEqual("Two", json.loads(reader.until(1)[0].data)["entry"]["title"])
        again = self.reader("?since=start").until(2)
        self.assert_as_in_log(again)
        self.assertGreater(self.d.get("/log").json["last_seq"], 2)

    # ---- where it goes on ----
    def test_it_goes_on_after_any_event(self):                                                 # SSE-02
        self.many(40)
        whole = self.reader("?since=start").until(40)
        for i in (0, 17, 38):
            rest = self.reader(last_id=whole[i].id).until(39 - i)
            self.assertEqual([e.id for e in whole[i + 1:]], [e.id for e in rest])
            rest = self.reader("?since=" + whole[i].id).until(39 - i)
            self.assertEqual([e.id for e in whole[i + 1:]], [e.id for e in rest])

    def test_the_field_wins(self):                                                             # SSE-02
        self.many(20)
        whole = self.reader("?since=start").until(20)
        rest = self.reader("?since=start", last_id=whole[14].id).until(5)
        self.assertEqual([e.id for e in whole[15:]], [e.id for e in rest])
        rest = self.reader("?since=nonsense", last_id=whole[14].id).until(5)
        self.assertEqual(whole[15].id, rest[0].id)
        empty = self.reader("?since=start", last_id="").until(20)       # an empty id is none
        self.assertEqual(whole[0].id, empty[0].id)

    def test_positions_are_those_of_the_log(self):                                      # SSE-02 SSE-03
        self.many(5)
        rows = self.log()[0]
        foreign = "fm1.00000000.99999.%s" % rows[2]["cursor"].split(".")[3]
        for text in ("start", "2", foreign, "time:2001-01-01", "0"):
            wanted = self.d.get("/log?since=" + quote(text)).json["revisions"]
            for kw in ({"query": "?since=" + quote(text)}, {"last_id": text}):
                events = self.reader(**kw).until(len(wanted))
                self.assertEqual([r["cursor"] for r in wanted], [e.id for e in events], text)

    def test_wrong_questions(self):                                                            # SSE-02
        self.many(3)
        for query in ("since=yesterday", "since=99999", "since=fm1.x", "url=http://no.example/",
                      "url=ftp://x", "since=start&since=end"):
            log, events = self.d.get("/log?" + query), self.d.get("/events?" + query)
            same = [{k: v for k, v in a.json.items() if k != "instance"} for a in (log, events)]
            self.assertEqual((log.status, same[0]), (events.status, same[1]), query)
            self.assert_problem(events, log.status)
        answer = self.d.call("GET", "/events", headers={"Last-Event-ID": "x"})
        self.assert_problem(answer, 400, "bad-position-spec", parameter="Last-Event-ID")
        self.assert_problem(self.d.call("POST", "/events"), 405, "method-not-allowed")

    def test_across_kill_9(self):                                                              # SSE-02
        p = Publisher(self.o)
        p.put("first", "first")
        p.sync(self)
        start = self.reader().begin().last_id
        readers = [self.faithful(), self.faithful("", start),
                   self.faithful("?url=" + quote(p.url), start)]
        self.wait(lambda: all(r.last_id for r in readers), daemon=self.d)
        for i in range(5):
            self.wait(lambda: all(r.n_connections > i for r in readers), what="the readers, come again", daemon=self.d)
            for k in range(4):
                p.put("k%d-%d" % (i, k), "text %d %d" % (i, k))
            p.put("first", "edited %d" % i)
            p.publish()
            self.d.ping(p.url)
            if i % 2:
                time.sleep(0.1 * i)     # the kill comes before, in and after the commit
            self.d.kill()
            self.d.start()
        p.sync(self)
        wanted = [r["cursor"] for r in self.log("url=" + quote(p.url))[0]][1:]
        for reader in readers:
            self.wait(lambda r=reader: len(r.events) >= len(wanted), 20, "all events", self.d)
            self.assertEqual(wanted, [e.id for e in reader.events])
            self.assertEqual([], reader.wrong)

    # ---- much of it ----
    def test_thousands_of_revisions_and_a_reader_that_stops(self):                      # SSE-03 SSE-04
        n, burst = 5000, 10000
        self.many(n, more="x" * 300)    # more than the kernel takes
        eager = self.reader("?since=start")
        eager.until(n)
        self.assert_as_in_log(eager.events)
        eager.close()
        stopped = [self.reader("?since=start") for _ in range(2)]
        waits = self.d.wait_metric("http_unsent_bytes", 1)
        self.assertLessEqual(waits, len(stopped) * 1024 * 1024)
        self.many(burst, "/more.xml", n)                # while they do not read
        self.assertLessEqual(self.d.counter("http_unsent_bytes"), len(stopped) * 1024 * 1024)
        wanted = [r["cursor"] for r in self.log()[0]]
        for reader in stopped:
            self.assertEqual(wanted, [e.id for e in self.read_on(reader, n + burst)])

    def read_on(self, reader, n):
        """n events, also when the reader has paused for too long and must come again."""
        events = []
        while True:
            try:
                return events + reader.until(n - len(events))[:]
            except (OSError, http.client.HTTPException):
                events += reader.events
                reader = self.reader(last_id=reader.last_id)

    def test_streams_that_ask_the_same_share_the_reading(self):                                # SSE-05
        p = Publisher(self.o)
        p.put("a", "One")
        p.sync(self)
        readers = [self.reader(query).begin() for query in ("", "?url=" + quote(p.url)) * 20]
        self.assertEqual(40, self.d.counter("event_streams"))
        self.d.wait_idle()
        before = self.d.counter("event_reads_total")
        p.put("b", "Two")
        p.sync(self)
        events = [r.until(1)[0] for r in readers]
        self.assertEqual(1, len({e.data for e in events}))
        self.assertEqual(1, self.d.counter("event_reads_total") - before)
        for reader in readers:
            reader.close()
        self.d.wait_metric("events_total", 40)
        self.wait(lambda: self.d.counter("event_streams") == 0, daemon=self.d)

    def test_large_entries_come_whole(self):                                            # SSE-01 SSE-04
        big = "x" * 3000000
        items = ["<item><guid>b%d</guid><title>b%d</title><description>%s</description></item>"
                 % (i, i, big) for i in range(3)]
        url = self.o.set("/big.xml", "<rss version='2.0'><channel><title>t</title>%s</channel></rss>"
                         % "".join(items))
        reader = self.reader().begin()
        slow_one = self.reader(room=65536).begin()
        self.wait(lambda: self.d.feed(url, len=1).status == 200, daemon=self.d)         # it is large
        for r in (reader, slow_one):
            self.assertGreater(min(len(e.data) for e in r.until(3)), 3000000)
        self.assertEqual([e.id for e in reader.events], [e.id for e in slow_one.events])

    # ---- clients of all kinds ----
    def test_head_and_http_1_0(self):                                                          # SSE-01
        self.many(2)
        answer = self.d.call("HEAD", "/events?since=start")
        self.assertEqual((200, b""), (answer.status, answer.body))
        self.assertEqual("text/event-stream", answer.header("Content-Type"))
        self.assertEqual(404, self.d.call("HEAD", "/events?url=http://no.example/").status)
        with socket.create_connection(("127.0.0.1", self.d.port), 30 * PATIENCE) as s:
            s.sendall(b"GET /events?since=start HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n")
            got = b""
            while got.count(b"\n\n") < 3:
                got += s.recv(65536)
        head, _, body = got.partition(b"\r\n\r\n")
        self.assertIn(b"\r\nConnection: close", head)
        self.assertNotIn(b"chunked", head)
        self.assertEqual(2, len(list(Parser().feed(body))))

    def test_a_preflight_lets_the_field_through(self):                                         # SSE-02
        answer = self.d.call("OPTIONS", "/events", headers={
            "Origin": "http://x.example", "Access-Control-Request-Method": "GET",
            "Access-Control-Request-Headers": "last-event-id"})
        self.assertIn("Last-Event-ID", answer.header("Access-Control-Allow-Headers"))

    def test_the_token(self):                                                                  # SSE-01
        d = self.daemon("--token", "t0ken")
        self.assert_problem(d.get("/events"), 401, "unauthorized")
        reader = EventReader(d, "", Authorization="Bearer t0ken")
        self.addCleanup(reader.close)
        self.assertEqual(200, reader.begin().answer.status)

    def test_curl(self):                                                                       # SSE-01
        p = Publisher(self.o)
        p.put("a", "One")
        p.sync(self)
        curl = subprocess.Popen(["curl", "-sN", self.d.base + "/events?since=start"],
                                stdout=subprocess.PIPE)
        self.addCleanup(curl.stdout.close)
        self.addCleanup(curl.wait)
        self.addCleanup(curl.kill)
        parser, events = Parser(), []
        for n in (1, 2):
            while len(events) < n:
                events += parser.feed(os.read(curl.stdout.fileno(), 65536))
            if n == 1:
                p.put("b", "Two")
                p.sync(self)
        self.assertEqual(2000, parser.retry)
        self.assert_as_in_log(events)

    def test_the_package_eventsource(self):                                             # SSE-01 SSE-02
        node = shutil.which("node")
        if not node or not os.path.isdir(os.path.join(NPM, "eventsource")):
            self.skipTest("node and its package eventsource are not installed")
        p = Publisher(self.o)
        p.put("a", "One")
        p.sync(self)
        client = subprocess.Popen([node, os.path.join(ROOT, "tests", "npm", "events.js"),
                                   self.d.base + "/events?since=start", "3"],
                                  stdout=subprocess.PIPE, text=True,
                                  env=dict(os.environ, NODE_PATH=NPM))
        self.addCleanup(client.stdout.close)
        self.addCleanup(client.wait)
        self.addCleanup(client.kill)
        self.assertEqual(["open", 1], json.loads(client.stdout.readline()))
        lines = [json.loads(client.stdout.readline())]
        self.d.kill()                                   # it comes again by itself
        self.d.start()
        p.put("b", "Two")
        p.put("a", "One, edited")
        p.sync(self)
        while len(lines) < 3:
            line = json.loads(client.stdout.readline())
            lines += [line] if line[0] != "open" else []
        self.assertEqual(0, client.wait(30 * PATIENCE))
        rows = self.log()[0]
        self.assertEqual([[r["kind"], r["cursor"]] for r in rows], [line[:2] for line in lines])
        self.assertEqual(rows, [json.loads(line[2]) for line in lines])

    def test_chromium(self):                                                            # SSE-01 SSE-02
        browser = shutil.which("chromium") or shutil.which("chromium-browser")
        if not browser:
            self.skipTest("chromium is not installed")
        self.o.set("/page.html", Reply(200, """<script>
            const source = new EventSource("%s/events?since=start");
            function tell(event) {
                fetch("/got?" + encodeURIComponent(JSON.stringify(
                    [event.type, event.lastEventId, JSON.parse(event.data).entry?.title ?? null])));
            }
            for (const kind of ["new", "changed", "deleted"]) source.addEventListener(kind, tell);
            </script>""" % self.d.base, Content_Type="text/html"))
        p = Publisher(self.o)
        p.put("a", "One")
        p.sync(self)
        folder = tempfile.mkdtemp(prefix="feedmill-chromium-")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        client = subprocess.Popen([browser, "--headless=new", "--no-sandbox", "--disable-gpu",
                                   "--disable-dev-shm-usage", "--no-first-run",
                                   "--user-data-dir=" + folder, self.o.url("/page.html")],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(client.wait)
        self.addCleanup(client.kill)

        def got():
            with self.o.lock:
                paths = [r.path for r in self.o.requests if r.path.startswith("/got?")]
            return [json.loads(urllib.parse.unquote(path[5:])) for path in paths]

        self.wait(lambda: len(got()) >= 1, 60, "the first event", self.d)
        self.d.kill()
        self.d.start()
        p.put("b", "Two")
        p.sync(self)
        p.delete("a")
        p.sync(self)
        self.wait(lambda: len(got()) >= 3, 60, "all events", self.d)
        rows = self.log()[0]
        self.assertEqual(sorted([r["kind"], r["cursor"], (r.get("entry") or {}).get("title")]
                                for r in rows), sorted(got()))

    # ---- ends ----
    def test_the_daemons_end_is_the_streams_end(self):                                         # SSE-02
        self.d = self.daemon("--stop-timeout", "10m")
        self.many(3)
        readers = [self.reader("?since=start") for _ in range(5)]
        for reader in readers:
            reader.until(3)
        stopping = threading.Thread(target=self.d.stop)
        stopping.start()
        for reader in readers:
            while reader.read():        # the last chunk: http.client would raise without it
                pass
        stopping.join()
        self.assertEqual(0, self.d.process.returncode)

    def test_a_feed_that_became_part_of_another(self):                                         # SSE-02
        p, old = Publisher(self.o, "/new.xml", "n"), Publisher(self.o, "/old.xml", "o")
        for k in (p, old):
            k.put("a", k.name)
            k.sync(self)
        query = "?url=" + quote(old.url)
        reader = self.faithful(query)
        self.wait(lambda: reader.last_id, daemon=self.d)
        self.o.set("/old.xml", moved(p.url))
        self.d.ping(old.url)
        self.wait(lambda: self.d.record(old.url) is None, daemon=self.d)
        p.put("b", "after")
        p.publish()
        self.d.ping(p.url)
        self.wait(lambda: any("after" in e.data for e in reader.events), 20, "the event", self.d)
        self.assertEqual(len(reader.events), len({e.id for e in reader.events}))

    def test_opened_and_closed_many_times(self):                                        # SSE-04 SSE-05
        self.many(300)
        for _ in range(10):
            readers = [self.reader("?since=start", room=65536) for _ in range(30)]
            for i, reader in enumerate(readers):
                if i % 3 == 0:
                    reader.read()
                reader.close()
        self.wait(lambda: self.d.counter("event_streams") == 0 and
                  self.d.counter("http_unsent_bytes") == 0, 20, "the end of all streams", self.d)
        self.assertEqual(300, len(self.reader("?since=start").until(300)))

    @slow
    def test_comments_and_the_end_of_one_that_stays_away(self):                                # SSE-04
        self.many(8000, more="x" * 300)
        began = time.monotonic()
        away = self.reader("?since=start")
        reader = self.reader().begin()
        while reader.parser.comments < 2:
            self.assertTrue(reader.read())
        self.assertGreater(time.monotonic() - began, 28)
        self.assertEqual(0, self.d.counter("http_slow_total"))
        self.d.wait_metric("http_slow_total", 1, 80)
        self.assertGreater(time.monotonic() - began, 55)
        self.wait(lambda: self.d.counter("event_streams") == 1 and self.d.counter("http_unsent_bytes") == 0, daemon=self.d)
        with self.assertRaises((OSError, http.client.HTTPException)):
            while away.read():
                pass


if __name__ == "__main__":
    unittest.main()
