"""Deliveries to a message broker: AMQP-*, with a real rabbitmq-server, as its consumers see them."""
import datetime
import json
import os
import signal
import socket
import subprocess
import threading
import time
import urllib.parse

from .env.broker import ENCODED, PASSWORD, Broker
from .env.case import Case
from .env.origin import Reply, rss

FORM = {"Content-Type": "application/x-www-form-urlencoded"}


def meet_all(listener, met):
    """Keep each connection that comes, in `met`, and say nothing."""
    while True:
        try:
            met.append(listener.accept()[0])
        except OSError:
            return


class Amqp(Case):
    TLS, CONFIG = None, ()

    @classmethod
    def setUpClass(cls):
        cls.b = Broker(cls.TLS, cls.CONFIG)
        cls.addClassCleanup(cls.b.close)
        cls.b.do(["assertExchange", "news", "topic"])

    def setUp(self):
        self.o = self.origin()
        self.u = self.o.set("/f.xml", rss("old"))
        self.d = None
        self.queue = self.id().split(".")[-1]

    def started(self, *args, **kw):
        self.d = self.daemon("--push-first-retry", "200ms", "--push-max-retry", "1s", *args, **kw)
        return self.d

    def post(self, endpoint, **params):
        d = self.d or self.started()
        return d.call("POST", "/sub", urllib.parse.urlencode(
            {"url": self.u, "endpoint": endpoint, **params}), FORM)

    def subscribed(self, endpoint, **params):
        answer = self.post(endpoint, **params)
        self.assertEqual(201, answer.status, answer.body)
        for u in params.get("url", self.u).split(","):
            self.fetched(u)
        return answer.json["id"]

    def fetched(self, url):
        self.wait(lambda: (self.d.record(url) or {}).get("last_check"), daemon=self.d)

    def bound(self, exchange, *keys, vhost="%2f"):
        """A consumer of a queue of this test alone."""
        self.b.do(["assertExchange", exchange, "topic"], ["assertQueue", self.queue],
                  *[["bindQueue", self.queue, exchange, key] for key in keys], vhost=vhost)
        return self.consumer(vhost)

    def consumer(self, vhost="%2f"):
        consumer = self.b.consumer(self.queue, vhost)
        self.addCleanup(consumer.close)
        return consumer

    def publish(self, *titles):
        self.o.set("/f.xml", rss(*titles))
        self.d.ping(self.u)

    def come(self, consumer, n):
        self.wait(lambda: len(consumer.messages) >= n, what="%d messages" % n, daemon=self.d)
        return consumer.messages[:n]

    def listed(self, sub):
        return self.d.get("/sub?type=json&id=%d" % sub).json["subscriptions"][0]

    def log(self, sub):
        return self.d.get("/sub/log?id=%d" % sub).json["deliveries"]

    def failed(self, sub, *words):
        """What a delivery is said to have failed of: a text with these words. It is tried again, and the first time may
        fail of something else on a machine that stalls."""
        def told():
            error = self.listed(sub)["last_error"]
            return error if error and all(word in error for word in words) else None
        return self.wait(told, what="failure %r" % (words,), daemon=self.d)


class Plain(Amqp):
    def test_what_is_confirmed_while_the_daemon_stands_still_counts(self):  # AMQP-03 DELIV-01
        self.started("--push-timeout", "3s")
        c = self.bound("still", "#")
        self.subscribed(self.b.url("exchange=still"))
        self.publish("first", "old")
        self.come(c, 1)
        self.d.wait_idle()
        os.killpg(self.b.process.pid, signal.SIGSTOP)
        self.addCleanup(os.killpg, self.b.process.pid, signal.SIGCONT)
        self.publish("second", "first", "old")
        self.d.wait_metric("push_running", 1)
        os.kill(self.d.process.pid, signal.SIGSTOP)
        os.killpg(self.b.process.pid, signal.SIGCONT)
        time.sleep(3.5)
        os.kill(self.d.process.pid, signal.SIGCONT)
        self.d.wait_idle()
        self.assertEqual(0, self.d.counter("push_failed_total"))
        self.assertEqual(["first", "second"], c.titles())

    def test_messages_are_objects_of_the_log(self):                      # AMQP-01 AMQP-02 DELIV-10
        self.started()
        c = self.bound("own", "feed.*.new", "feed.*.changed")
        sub = self.subscribed(self.b.url("exchange=own"))
        self.assertEqual("amqp", self.listed(sub)["sink"])
        self.publish("new 2", "new 1", "old|edited")
        messages = self.come(c, 3)
        rows = {r["cursor"]: r for r in self.d.get("/log?since=start").json["revisions"]}
        lines = self.d.get("/log?since=start").body.decode()
        for m in messages:
            row = rows[m.headers["cursor"]]
            self.assertEqual(row, m.body)
            self.assertIn(m.text, lines)                                 # byte for byte
            self.assertEqual("feed.%d.%s" % (row["feed"], row["kind"]), m.key)
            self.assertRegex(m.properties["messageId"], "^%s[-0-9a-f]*:%d$" % (
                row["cursor"].split(".")[1], row["seq"]))
            self.assertEqual((row["kind"], "application/json", 2),
                             (m.properties["type"], m.properties["contentType"],
                              m.properties["deliveryMode"]))
            self.assertEqual((self.u, sub), (m.headers["feed_url"], m.headers["subscription"]))
            at = datetime.datetime.fromisoformat(row["at"].replace("Z", "+00:00"))
            self.assertEqual(int(at.timestamp()), m.properties["timestamp"])
        self.assertEqual({"new", "changed"}, {m.body["kind"] for m in messages})
        self.publish("new 3", "new 2", "new 1", "old|edited")
        messages = self.come(c, 4)
        for before, after in zip(messages, messages[1:]):
            self.assertEqual(before.headers["cursor"], after.headers["prev_cursor"])
        rest = self.d.get("/log?since=" + messages[0].headers["prev_cursor"]).json["revisions"]
        self.assertEqual([m.headers["cursor"] for m in messages],
                         [r["cursor"] for r in rest if not r["initial"]])

    def test_a_filter(self):                                             # VIEW-10 D53 DELIV-10
        self.started()
        c = self.bound("own", "feed.#")
        since = self.d.get("/log?since=end").json["cursor"]
        sub = self.subscribed(self.b.url("exchange=own"), q="red", batch=2, events="new,changed,deleted,left")
        self.publish("red 3", "blue", "red 2", "red 1", "old")
        self.come(c, 3)      # before the next document: a version that nobody fetched is in no log
        self.publish("red 3", "blue", "red 2", "red 1|blue", "old|blue")
        self.come(c, 4)
        self.publish("red 4", "blue|red", "red 3", "red 2")
        messages = self.come(c, 6)
        self.d.wait_idle()
        rows = self.d.get("/log?q=red&since=" + since).json["revisions"]
        self.assertEqual(rows, [m.body for m in messages])
        self.assertEqual([since] + [r["cursor"] for r in rows][:-1], [m.headers["prev_cursor"] for m in messages])
        self.assertEqual(0, self.listed(sub)["lag"])

    def test_runs_shrink_with_failures_and_grow_step_by_step(self):      # AMQP-03 DELIV-11
        self.started()
        sub = self.subscribed(self.b.url("exchange=not.yet"), batch=16)
        self.publish(*("new %d" % n for n in range(80)))
        self.wait(lambda: self.listed(sub)["failures"] >= 3, what="three failures", daemon=self.d)
        c = self.bound("not.yet", "#")
        self.come(c, 80)
        self.wait(lambda: self.listed(sub)["lag"] == 0, daemon=self.d)
        log = [(note["verdict"], note["n_entries"]) for note in reversed(self.log(sub))]
        n_failed = sum(verdict == "retry" for verdict, _ in log)
        due, left = [("retry", max(16 >> i, 1)) for i in range(n_failed)], 80
        while left:
            halved = max(min(n_failed, 10) - (len(due) - n_failed), 0)
            due.append(("delivered", min(left, max(16 >> halved, 1))))
            left -= due[-1][1]
        self.assertEqual(due, log)

    def test_key_vhost_and_an_exchange_that_is_made(self):               # AMQP-01 DELIV-02
        c_url = self.b.url("exchange=made&key=a.%7Bkind%7D.{feed}&declare=topic", "news%2Ftwo")
        self.started("--test-clock", self.clock())
        sub = self.subscribed(c_url, events="new,deleted,feed")
        shown = self.listed(sub)["endpoint"]
        self.assertEqual("amqp://127.0.0.1:%d/news%%2Ftwo?exchange=made"
                         "&key=a.%%7Bkind%%7D.%%7Bfeed%%7D&declare=topic" % self.b.port, shown)
        self.publish("first", "old")
        self.failed(sub, "a.new.1")                       # nobody is bound yet
        c = self.bound("made", "a.#", vhost="news%2ftwo")
        self.assertEqual(["first"], [m.title for m in self.come(c, 1)])
        self.end_feed(self.d, self.o, "/f.xml", lambda: self.come(c, 2))
        broken, gone = self.come(c, 3)[1:]
        self.assertEqual("a.broken.1", broken.key)
        self.assertEqual(("a.gone.1", "feed.state", "gone", self.u),
                         (gone.key, gone.properties["type"], gone.body["kind"], gone.body["url"]))
        self.assertEqual(broken.headers["cursor"], gone.headers["prev_cursor"])
        self.assertEqual(gone.headers["cursor"], gone.body["cursor"])

    def test_a_test(self):                                               # AMQP-01 DELIV-06
        self.started()
        c = self.bound("own", "feed.1.test")
        good, bad = self.subscribed(self.b.url("exchange=own")), self.subscribed(
            self.b.url("exchange=own&key=elsewhere"))
        said = self.d.call("POST", "/sub?id=%d&action=test" % good).json
        self.assertEqual({"status": 200, "answer": "", "error": None}, said)
        m = self.come(c, 1)[0]
        self.assertEqual(("test", {"kind": "test", "subscription": good}),
                         (m.properties["type"], m.body))
        said = self.d.call("POST", "/sub?id=%d&action=test" % bad).json
        self.assertEqual(312, said["status"])
        self.assertIn('"elsewhere"', said["error"])

    def test_a_run_of_several_feeds(self):                               # AMQP-03 AMQP-05 DELIV-11
        self.started()
        c = self.bound("own", "run.#")
        urls = [self.o.set("/run%d.xml" % k, rss("old")) for k in range(3)]
        sub = self.subscribed(self.b.url("exchange=own&key=run.{feed}"), url=",".join(urls))
        self.d.call("POST", "/sub?id=%d&action=pause" % sub)
        for n in range(3):
            for k, u in enumerate(urls):
                self.o.set("/run%d.xml" % k, rss(*["%d.%d" % (i, k) for i in range(n, -1, -1)], "old"))
                self.d.ping(u)
            self.d.wait_idle()
        before = len(self.log(sub))
        self.d.call("POST", "/sub?id=%d&action=resume" % sub)
        messages = self.come(c, 9)
        seqs = [m.body["seq"] for m in messages]
        self.assertEqual(sorted(seqs), seqs)
        self.d.wait_idle()
        last = self.log(sub)[:-before] if before else self.log(sub)
        self.assertEqual([("delivered", 9, 200)],
                         [(e["verdict"], e["n_entries"], e["status"]) for e in last])
        for one, other in zip(messages, messages[1:]):
            self.assertEqual(one.headers["cursor"], other.headers["prev_cursor"])

    # ---- what fails ----
    def test_after_a_failure_fewer_are_sent(self):                       # AMQP-03 DELIV-01
        """A broker that does not confirm so many in time must not get them all again and again."""
        self.started()
        sub = self.subscribed(self.b.url("exchange=later&key=few"), batch="16")
        titles = ["e%d" % n for n in range(16, 0, -1)]
        self.publish(*titles, "old")
        self.wait(lambda: len(self.log(sub)) >= 6, daemon=self.d)
        self.assertEqual([16, 8, 4, 2, 1, 1], [n["n_entries"] for n in reversed(self.log(sub))][:6])
        c = self.bound("later", "#")
        self.assertEqual(titles[::-1], [m.title for m in self.come(c, 16)])
        self.wait(lambda: self.listed(sub)["lag"] == 0, daemon=self.d)
        self.assertEqual(16, len(c.messages))

    def test_one_that_fails_disturbs_no_other(self):                     # AMQP-03 AMQP-04
        self.started()
        c = self.bound("own", "good.#")
        good = self.subscribed(self.b.url("exchange=own&key=good.{kind}"))
        missing = self.subscribed(self.b.url("exchange=missing"))
        lost = self.subscribed(self.b.url("exchange=own&key=lost"))
        wrong = self.subscribed(self.b.url("exchange=own&key=good.x", user="mill:not-this-one"))
        vhost = self.subscribed(self.b.url("exchange=own&key=good.y", "nowhere"))
        for n in range(3):
            self.publish(*["e%d" % k for k in range(n, -1, -1)], "old")
            self.come(c, n + 1)
        self.assertEqual(["e0", "e1", "e2"], c.titles())
        self.failed(missing, "404 NOT_FOUND")
        self.failed(lost, 'no queue gets the routing key "lost"')
        self.failed(wrong, "403 ACCESS_REFUSED")
        self.failed(vhost, "530 NOT_ALLOWED")
        self.assertEqual([200] * 3, [e["status"] for e in self.log(good)])
        self.assertEqual(312, self.log(lost)[0]["status"])
        self.assertEqual({"retry"}, {e["verdict"] for e in self.log(missing)})
        self.b.do(["assertExchange", "missing", "topic"],
                  ["bindQueue", self.queue, "missing", "#"])
        self.come(c, 6)                                                  # it has not lost anything
        self.assertEqual(["e0", "e1", "e2"], c.titles()[3:6])

    def test_passwords_are_never_shown(self):                            # AMQP-04
        self.started("--log-level", "debug")
        sub = self.subscribed(self.b.url("exchange=missing2"))
        wrong = self.subscribed(self.b.url("exchange=own", user="mill:sEcReT%2Fnot"))
        self.publish("new", "old")
        self.failed(sub)
        self.failed(wrong)
        answers = [self.post(e) for e in (
            "amqp://mill:sEcReT%2F1@127.0.0.1/", "amqp://mill:sEcReT/1@127.0.0.1/?exchange=e",
            "amqp://mill:1sEcReT/1@127.0.0.1/?exchange=e", "amqp://mill:sEcReT@127.0.0.1:x/?exchange=e",
            "amqp%3A%2F%2Fmill%3AsEcReT%40127.0.0.1%2F", "amqp:mill:sEcReT@127.0.0.1",
            "amqp://mill:sEcReT@h/?exchange=e&heartbeat=3", "amqp://mill:sEcReT@h/a/b?exchange=e")]
        self.assertEqual({400}, {a.status for a in answers})
        shown = [a.body.decode() for a in answers] + self.d.log
        for path in ("/sub", "/sub?type=json", "/sub?type=opml", "/metrics", "/sub/log?id=%d" % sub,
                     "/sub/log?id=%d" % wrong, "/sub/dead?id=%d" % sub):
            shown.append(self.d.get(path).body.decode())
        shown.append(self.d.call("POST", "/sub?id=%d&action=test" % wrong).body.decode())
        shown.append(self.d.call("PATCH", "/sub?id=%d" % sub, json.dumps(
            {"endpoint": self.b.url("exchange=own2")}), {"Content-Type": "application/json"})
            .body.decode())
        text = "".join(shown)
        for secret in (PASSWORD, ENCODED, urllib.parse.quote(PASSWORD), "sEcReT", "pa:ss",
                       json.dumps(PASSWORD)[1:-1]):
            self.assertNotIn(secret, text)

    def test_a_broker_that_says_nothing(self):                           # AMQP-03 AMQP-04
        with socket.create_server(("127.0.0.1", 0)) as silent:
            self.started("--push-timeout", "1s")
            c = self.bound("own", "silent.#")
            dead = self.subscribed("amqp://127.0.0.1:%d/?exchange=own" % silent.getsockname()[1])
            self.subscribed(self.b.url("exchange=own&key=silent.a"))
            self.publish("new", "old")
            self.come(c, 1)
            self.assertRegex(self.failed(dead), "does not go on|in time|failed")
            self.assertEqual(0, self.d.stop())                           # nothing hangs

    def test_who_asks_does_not_wait_for_the_pause_of_a_link(self):       # AMQP-04 DELIV-06
        """After a failure to connect, the broker is left alone: for 5, 10, 20 and 30 s here. But a test and `resume`
        try at once, each by a connection of its own. No failure is told of what was not tried."""
        with socket.create_server(("127.0.0.1", 0)) as silent:
            self.d = self.daemon("--push-first-retry", "5s", "--push-timeout", "300ms")
            met = []
            threading.Thread(target=meet_all, args=(silent, met), daemon=True).start()
            sub = self.subscribed("amqp://127.0.0.1:%d/?exchange=own" % silent.getsockname()[1])
            began = time.monotonic()
            self.publish("new", "old")
            for n in range(1, 5):
                self.wait(lambda: len(self.log(sub)) == n, what="failure %d" % n, daemon=self.d)
                self.wait(lambda: len(met) >= 2 * n - 1, what="its connection", daemon=self.d)
                told = self.d.call("POST", "/sub?id=%d&action=test" % sub).json
                self.assertRegex(told["error"], "does not go on|in time")
                self.wait(lambda: len(met) >= 2 * n, what="the connection of the test", daemon=self.d)
                self.d.call("POST", "/sub?id=%d&action=resume" % sub)
            self.assertLess(time.monotonic() - began, 60)
            for entry in self.log(sub):
                self.assertRegex(entry["error"], "does not go on|in time")

    def test_a_broker_that_is_short_of_memory(self):                     # AMQP-03 AMQP-04
        self.started("--push-timeout", "2s")
        c = self.bound("own", "full.#")
        sub = self.subscribed(self.b.url("exchange=own&key=full.a"))
        self.b.set_memory("0.00001")
        try:
            self.publish("new", "old")
            self.failed(sub, "short of memory")
        finally:
            self.b.set_memory("0.4")
        self.come(c, 1)

    def test_many_silent_brokers(self):                                  # DELIV-07 AMQP-03
        with socket.create_server(("127.0.0.1", 0), backlog=1000) as silent:
            self.started()
            c = self.bound("own", "many.#")
            good = self.subscribed(self.b.url("exchange=own&key=many.a"))
            self.publish("e0", "old")
            self.come(c, 1)
            for k in range(200):
                self.assertEqual(201, self.post("amqp://127.0.0.1:%d/v%d?exchange=own" % (
                    silent.getsockname()[1], k)).status)
            for n in range(2, 5):
                self.publish(*["e%d" % k for k in range(n - 1, -1, -1)], "old")
                self.come(c, n)
            self.assertEqual({None}, {e["error"] for e in self.log(good)})

    def test_calls_that_make_room_for_others(self):                      # DELIV-04 DELIV-07 AMQP-04
        """Some end before their time; what they waited for is said, and why they ended."""
        with socket.create_server(("127.0.0.1", 0), backlog=1000) as silent, \
                socket.create_server(("127.0.0.1", 0), backlog=1000) as mute:
            self.started("--push-timeout", "30s", "--push-calls", "4")
            for k in range(8):
                self.subscribed("amqp://127.0.0.1:%d/v%d?exchange=own" % (silent.getsockname()[1], k))
                self.subscribed("http://127.0.0.1:%d/%d" % (mute.getsockname()[1], k))
            self.publish("new", "old")
            after = "; others wait, so it is called again with more time"

            def told(what):
                return any((s["last_error"] or "").endswith(what + after)
                           for s in self.d.get("/sub?type=json").json["subscriptions"])
            self.wait(lambda: told("the broker accepted the connection, and does not go on"), daemon=self.d)
            self.wait(lambda: told("no answer came so far"), daemon=self.d)

    def test_the_guard(self):                                            # AMQP-04
        self.d = self.daemon("--allow-fetch", "127.0.0.0/8", open_loopback=False)
        for host in ("127.0.0.1", "localhost"):
            sub = self.subscribed("amqp://%s:%d/?exchange=own&key=%s" % (host, self.b.port, host))
            self.publish(host, "old")
            self.failed(sub, "--allow-callback")

    # ---- what ends and comes back ----
    def test_the_broker_ends_and_comes_back(self):                       # AMQP-03 AMQP-04
        self.started()
        self.b.do(["assertExchange", "again", "topic"], ["assertQueue", self.queue],
                  ["bindQueue", self.queue, "again", "#"])
        sub = self.subscribed(self.b.url("exchange=again"))
        titles = ["e%03d" % k for k in range(300)]
        self.publish(*titles[99::-1], "old")
        self.d.wait_metric("push_entries_total", 1)
        self.b.stop()
        self.publish(*titles[199::-1], "old")
        self.failed(sub)
        self.b.start()
        self.publish(*titles[::-1], "old")
        c = self.consumer()
        self.wait(lambda: set(titles) <= set(c.titles()), daemon=self.d)
        self.in_order(titles, c)

    def in_order(self, titles, consumer):
        """At least once, and what comes for the first time comes in order."""
        first = list(dict.fromkeys(consumer.titles()))
        self.assertEqual(titles, first)
        ends = {m.headers["cursor"]: m for m in consumer.messages}
        for m in consumer.messages[1:]:
            if m.title != titles[0]:
                self.assertIn(m.headers["prev_cursor"], ends)

    def test_the_daemon_is_killed(self):                                 # AMQP-03 DELIV-01
        self.started()
        c = self.bound("killed", "#")
        self.subscribed(self.b.url("exchange=killed"), batch=20)
        titles = ["e%03d" % k for k in range(200)]
        for n in range(40, 201, 40):
            self.publish(*titles[n - 1::-1], "old")
            self.wait(lambda: len(set(c.titles())) > n - 40, daemon=self.d)
            self.d.kill()
            self.d.start()
            self.d.ping(self.u)
        self.wait(lambda: set(titles) <= set(c.titles()), daemon=self.d)
        self.d.wait_idle()
        self.in_order(titles, c)


class Stop(Amqp):
    """Without a broker: a stop waits for no connection."""
    @classmethod
    def setUpClass(cls):
        pass

    def stops(self, scheme, port):
        """The shortest of three times counts: what else the machine does only adds to them."""
        took = []
        while not took or (min(took) >= 6 and len(took) < 3):
            self.o.set("/f.xml", rss("old"))
            self.started("--stop-timeout", "500ms")
            self.subscribed("%s://127.0.0.1:%d/?exchange=own" % (scheme, port))
            self.publish("new", "old")
            self.d.wait_metric("push_running", 1)
            began = time.monotonic()
            self.assertEqual(0, self.d.stop())
            took.append(time.monotonic() - began)
        self.assertLess(min(took), 6)     # to connect it may take 10 s

    def full(self):
        """The port of a server that takes no more connections: one waits for an answer there."""
        server = socket.create_server(("127.0.0.1", 0), backlog=0)
        self.addCleanup(server.close)
        for _ in range(4):
            waiting = socket.socket()
            self.addCleanup(waiting.close)
            waiting.setblocking(False)
            waiting.connect_ex(server.getsockname())
        return server.getsockname()[1]

    def test_while_it_connects(self):                                    # AMQP-04
        for scheme in "amqp", "amqps":
            with self.subTest(scheme):
                self.stops(scheme, self.full())

    def test_while_the_broker_says_nothing(self):                        # AMQP-04
        for scheme in "amqp", "amqps":
            with self.subTest(scheme), socket.create_server(("127.0.0.1", 0)) as silent:
                self.stops(scheme, silent.getsockname()[1])


class Away(Amqp):
    """Without a broker: what deliveries cost that it cannot get."""
    @classmethod
    def setUpClass(cls):
        pass

    def test_less_and_less_is_read(self):                                # AMQP-04 DELIV-07
        """Most subscriptions are not tried after each pause, because the first ones have found that the broker is
        still away. For each of them half as much is read the next time, too."""
        SUBS = 100
        with socket.create_server(("127.0.0.1", 0)) as gone:
            port = gone.getsockname()[1]
        self.started()
        for k in range(SUBS):
            self.assertEqual(201, self.post("amqp://127.0.0.1:%d/?exchange=own&key=k%d" % (port, k), batch=64).status)
        self.fetched(self.u)
        self.publish(*("new %d" % k for k in range(64)), "old")
        self.d.wait_metric("push_total", 5 * SUBS)
        drawn = self.d.counter("push_drawn_total")
        self.assertGreater(self.d.counter("push_total"), 1.2 * self.d.counter("push_failed_total"))  # some were not tried
        # 64, 32, 16 and so on of each, then one at a time; of one that was called less often, no more
        self.assertLessEqual(drawn, 127 * SUBS + max(self.d.counter("push_total") - 7 * SUBS, 0))


class Guard(Amqp):
    """Without a broker: no form of a private address leads there."""
    @classmethod
    def setUpClass(cls):
        pass

    def test_forms_of_addresses(self):                                   # AMQP-04
        servers = [socket.create_server(("127.0.0.1", 0))]
        port = servers[0].getsockname()[1]
        try:
            servers.append(socket.create_server(("::1", port), family=socket.AF_INET6))
        except OSError:
            pass                    # this machine has no IPv6, or something has the port
        for server in servers:
            self.addCleanup(server.close)
            server.setblocking(False)
        self.d = self.daemon("--allow-fetch", "127.0.0.0/8", "--push-first-retry", "200ms", open_loopback=False)
        hosts = ("127.0.0.1", "localhost", "LOCALHOST.", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "0.0.0.0",
                 "[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::127.0.0.1]", "[64:ff9b::7f00:1]",
                 "[2002:7f00:1::]", "10.0.0.1", "169.254.169.254", "[fe80::1]", "[fd00::1]")
        subs = []
        for host in hosts:
            for scheme in "amqp", "amqps":
                answer = self.post("%s://%s:%d/?exchange=e" % (scheme, host, port))
                if answer.status == 201:
                    subs.append(answer.json["id"])
                else:
                    self.assertEqual(400, answer.status, (host, answer.body))
        self.assertGreater(len(subs), 20)
        self.fetched(self.u)
        self.publish("new", "old")
        for sub in subs:
            self.assertRegex(self.failed(sub), "--allow-callback|cannot be resolved|could not be resolved",
                             self.listed(sub)["endpoint"])
        for server in servers:
            self.assertRaises(BlockingIOError, server.accept)


class SmallMessages(Amqp):
    CONFIG = ["max_message_size = 20000"]

    def dead(self, sub):
        return self.d.get("/sub/dead?id=%d" % sub).json["dead"]

    def started_with_two(self):
        """A subscription to a feed with large entries, and one to another feed by the same exchange."""
        self.started("--push-refusals", "1")
        c = self.bound("own", "large.#", "small.#")
        other = self.o.set("/small.xml", rss("old"))
        sub = self.subscribed(self.b.url("exchange=own&key=large.{feed}"))
        small = self.subscribed(self.b.url("exchange=own&key=small.{feed}"), url=other)
        return c, sub, small, other

    def test_a_message_that_is_too_large(self):                          # AMQP-03 DELIV-05
        c, sub, small, other = self.started_with_two()
        large = "large " + "x" * 30000
        titles = ["e%02d" % k for k in range(20)] + [large] + ["e%02d" % k for k in range(20, 40)]
        self.publish(*titles[::-1], "old")
        for n in range(3):      # on the same channel, meanwhile
            self.o.set("/small.xml", rss(*["s%d" % k for k in range(n, -1, -1)], "old"))
            self.d.ping(other)
        self.wait(lambda: self.dead(sub), daemon=self.d)
        for one in sub, small:      # what was on the channel when it was closed comes again
            self.wait(lambda: (self.listed(one)["lag"], self.listed(one)["last_error"]) == (0, None),
                      daemon=self.d)
        self.wait(lambda: {"e39", "s2"} <= set(c.titles()), daemon=self.d)
        first = list(dict.fromkeys(t for t in c.titles() if t[0] == "e"))
        self.assertEqual([t for t in titles if t != large], first)       # in order, and all others
        dead, = self.dead(sub)
        self.assertEqual(406, dead["status"])
        self.assertIn("PRECONDITION_FAILED", dead["answer"])
        before = next(m for m in c.messages if m.title == "e19")
        after = next(m for m in c.messages if m.title == "e20")
        self.assertEqual(dead["cursor"], after.headers["prev_cursor"])   # the chain runs over it
        self.assertNotEqual(dead["cursor"], before.headers["cursor"])
        self.assertEqual([], self.dead(small))
        self.assertEqual((1, "active", 1000), tuple(self.listed(sub)[k] for k in ("dead", "state", "batch")))
        self.assertIn("dead", {e["verdict"] for e in self.log(sub)})

    def test_a_dead_letter_that_is_tried_again(self):                    # AMQP-03 DELIV-05
        c, sub, _, _ = self.started_with_two()
        self.publish("x" * 30000, "old")
        self.wait(lambda: self.dead(sub), daemon=self.d)
        self.d.call("POST", "/sub?id=%d&action=retry-dead" % sub)
        self.wait(lambda: len(self.log(sub)) == 2, daemon=self.d)        # it is still too large
        self.d.wait_idle()
        dead, = self.dead(sub)
        self.b.allow_messages(1000000)
        try:
            self.d.call("POST", "/sub?id=%d&action=retry-dead" % sub)
            m = self.come(c, 1)[0]
        finally:
            self.b.allow_messages(20000)
        self.assertEqual(dead["cursor"], m.headers["cursor"])
        self.d.wait_idle()
        self.assertEqual([], self.dead(sub))


class Tls(Amqp):
    @classmethod
    def setUpClass(cls):
        made = subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "-", "-out", "-",
             "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-days", "2"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout
        at = made.index("-----BEGIN CERTIFICATE")
        cls.TLS = (made[at:], made[:at])
        super().setUpClass()

    def url(self, host, query):
        return self.b.url(query, port=self.b.tls_port, scheme="amqps").replace("127.0.0.1", host)

    def test_the_certificate_is_verified(self):                          # AMQP-01 AMQP-04
        self.started(env={"SSL_CERT_FILE": self.b.folder + "/cert.pem"})
        c = self.bound("own", "tls.#")
        self.subscribed(self.url("localhost", "exchange=own&key=tls.a"))
        other = self.subscribed(self.url("127.0.0.1", "exchange=own&key=tls.b"))
        self.publish("new", "old")
        self.come(c, 1)
        self.failed(other, "certificate")

    def test_an_unknown_authority(self):                                 # AMQP-04
        self.started()
        sub = self.subscribed(self.url("localhost", "exchange=own&key=tls.a"))
        self.publish("new", "old")
        self.failed(sub, "certificate")
