"""Webhooks: HOOK-*, as their receivers see them."""
import base64
import datetime
import json
import os
import shutil
import subprocess
import threading
import time
import urllib.parse

from .env.case import Case
from .env.daemon import PATIENCE
from .env.hook import Hook
from .env.origin import Reply, rss
from .env.publisher import Publisher

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
NPM = os.path.join(ROOT, "build-npm", "node_modules")
SECRET = "whsec_" + base64.b64encode(b"k" * 24).decode()
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


class Webhooks(Case):
    def setUp(self):
        self.o = self.origin()
        self.u = self.o.set("/f.xml", rss("old 2", "old 1"))
        self.d = None

    def started(self, *args, **kw):
        self.d = self.daemon("--push-first-retry", "200ms", *args, **kw)
        return self.d

    def hook(self, *script):
        hook = Hook(script)
        self.addCleanup(hook.close)
        return hook

    def post(self, **params):
        d = self.d or self.started()
        fields = [(k.replace("__", "-").replace("header_", "header."), v) for k, v in params.items()]
        return d.call("POST", "/sub", urllib.parse.urlencode(fields), FORM)

    def subscribed(self, hook, url=None, **params):
        """A webhook whose feed was fetched: what comes now is new."""
        answer = self.post(url=url or self.u, endpoint=hook.url, sink="webhook", **params)
        self.assertEqual(201, answer.status, answer.body)
        self.wait(lambda: (self.d.record(url or self.u) or {}).get("last_check"), daemon=self.d)
        return answer.json

    def publish(self, *titles, **kw):
        self.o.set("/f.xml", rss(*titles, **kw))
        self.d.ping(self.u)

    def calls(self, hook, n):
        self.wait(lambda: len(hook.calls) >= n, daemon=self.d)
        return hook.calls[:n]

    def rows(self, url=None):
        """The log, by cursor."""
        return {r["cursor"]: r for r in self.d.get("/log?since=start&max=1000&url=" + (url or self.u))
                .json["revisions"]}

    def listed(self, sub):
        return self.d.get("/sub?type=json&id=%d" % sub).json["subscriptions"][0]

    def judged(self, lines):
        """What the package standardwebhooks says to each [secret, fields, body]."""
        node = shutil.which("node")
        if not node or not os.path.isdir(os.path.join(NPM, "standardwebhooks")):
            self.skipTest("node and its package standardwebhooks are not installed")
        done = subprocess.run([node, os.path.join(ROOT, "tests", "npm", "webhook.js")],
                              input="".join(json.dumps(line) + "\n" for line in lines), text=True,
                              stdout=subprocess.PIPE, env=dict(os.environ, NODE_PATH=NPM), check=True)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def verified(self, lines):
        self.assertEqual([json.loads(line[2]) for line in lines], self.judged(lines))

    # ---- what is sent ----
    def test_the_package_standardwebhooks_verifies(self):                # HOOK-01 HOOK-02
        h = self.hook(500)
        given, made = self.subscribed(h, secret=SECRET), self.subscribed(h)
        self.assertEqual(SECRET, given["secret"])
        self.publish(("n\u00e4w </b>\u2028", None, ""), "old 2", "old 1")
        secrets = {s["id"]: s["secret"] for s in (given, made)}
        lines = []
        for call in self.calls(h, 3):
            lines.append([secrets[call.data["subscription"]], call.fields, call.body.decode()])
        lines.append([SECRET if lines[0][0] != SECRET else made["secret"], *lines[0][1:]])
        lines.append([*lines[0][:2], lines[0][2] + " "])
        self.verified(lines[:3])
        self.assertEqual(["WebhookVerificationError"] * 2, self.judged(lines[3:]))

    def test_entries_are_those_of_the_log(self):                         # HOOK-01 HOOK-03
        h = self.hook()
        sub = self.subscribed(h, secret=SECRET)["id"]
        self.assertEqual(2, len(self.rows()))
        self.publish("new 2", "new 1", "old 2|edited", "old 1")
        call = self.calls(h, 1)[0]
        self.assertEqual(["new 1", "new 2", "old 2|edited"], sorted(call.titles))
        self.assertEqual(("application/json", "feed.entries"),
                         (call.fields["content-type"], call.type))
        self.assertRegex(call.said["timestamp"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$")
        self.assertLess(abs(int(call.fields["webhook-timestamp"]) - time.time()), 600)
        self.assertTrue(call.is_signed_by(SECRET))
        self.assertEqual({"subscription", "prev_cursor", "last_cursor", "entries"}, set(call.data))
        self.assertEqual((sub, call.data["entries"][-1]["cursor"]),
                         (call.data["subscription"], call.data["last_cursor"]))
        rows = self.rows()
        self.assertEqual(list(rows.values()),               # it began before the feed was fetched
                         self.d.get("/log?since=" + call.data["prev_cursor"]).json["revisions"])
        shown = {e["id"]: e for e in self.d.feed(self.u).json["entries"]}
        record = self.d.record(self.u)
        for e in call.data["entries"]:
            row = rows[e["cursor"]]
            self.assertEqual({k: row[k] for k in ("kind", "cursor", "at", "uid", "entry")},
                             {k: v for k, v in e.items() if k != "feed"})
            self.assertEqual(shown[e["entry"]["id"]], e["entry"])
            self.assertEqual({"id": row["feed"], "url": self.u, "title": record["title"]}, e["feed"])
        self.publish("new 3", "new 2", "new 1", "old 2|edited")
        again = self.calls(h, 2)[1]
        self.assertEqual(call.data["last_cursor"], again.data["prev_cursor"])
        self.assertNotEqual(call.id, again.id)

    def test_fifty_entries_in_small_calls(self):                         # HOOK-03 DELIV-10
        h = self.hook()
        self.started("--push-entries", "7")
        self.subscribed(h, secret=SECRET)
        self.publish(*["e%02d" % k for k in range(49, -1, -1)])
        self.wait(lambda: len(h.titles()) >= 50, daemon=self.d)
        self.assertEqual(["e%02d" % k for k in range(50)], h.titles())
        self.assertEqual([7] * 7 + [1], [len(c.titles) for c in h.calls])
        for before, after in zip(h.calls, h.calls[1:]):
            self.assertEqual(before.data["last_cursor"], after.data["prev_cursor"])
        self.assertEqual(8, len({c.id for c in h.calls}))
        self.assertTrue(all(c.is_signed_by(SECRET) for c in h.calls))

    def test_many_subscriptions_share_their_entries(self):               # HOOK-02
        h = self.hook()
        subs = [self.subscribed(h, header_X__N=str(k)) for k in range(5)]
        self.publish("new", "old 2", "old 1")
        calls = self.calls(h, 5)
        self.assertEqual({s["id"] for s in subs}, {c.data["subscription"] for c in calls})
        self.assertEqual(5, len({c.id for c in calls}))
        for call in calls:
            k = [s["id"] for s in subs].index(call.data["subscription"])
            self.assertTrue(call.is_signed_by(subs[k]["secret"]))
            self.assertEqual((str(k), ["new"]), (call.fields["x-n"], call.titles))

    # ---- the same again ----
    def test_a_retry_is_the_same_delivery(self):                         # HOOK-02
        def in_the_next_second(handler):
            self.next_second()
            handler.send_error(500)

        h = self.hook(in_the_next_second, b"", 302)
        sub = self.subscribed(h, secret=SECRET)["id"]
        self.publish("new", "old 2", "old 1")
        calls = self.calls(h, 4)
        self.assertEqual(1, len({(c.id, c.body) for c in calls}))
        self.assertTrue(all(c.is_signed_by(SECRET) for c in calls))
        times = [int(c.fields["webhook-timestamp"]) for c in calls]
        self.assertEqual(sorted(times), times)
        self.assertGreater(times[-1], times[0])
        self.d.wait_idle()
        answer = self.d.call("POST", "/sub?id=%d&action=resume&from=%s"
                             % (sub, calls[0].data["prev_cursor"]))
        self.assertEqual(200, answer.status, answer.body)
        again = self.calls(h, 5)[4]
        self.assertEqual(["new"], again.titles)
        self.assertNotEqual(calls[0].id, again.id)

    def test_a_feed_is_renamed_between_two_tries(self):                  # HOOK-02
        renamed = threading.Event()
        self.addCleanup(renamed.set)

        def late(handler):
            renamed.wait(60)
            handler.send_error(500)

        h = self.hook(late)
        self.subscribed(h)
        self.publish("new", "old 2", "old 1")
        self.calls(h, 1)
        self.publish("new", "old 2", "old 1", title="Another name")
        self.wait(lambda: self.d.record(self.u)["title"] == "Another name", daemon=self.d)
        renamed.set()
        first, again = self.calls(h, 2)
        self.assertEqual(["A feed", "Another name"],
                         [c.data["entries"][0]["feed"]["title"] for c in (first, again)])
        self.assertEqual((first.id, ["new"]), (again.id, again.titles))

    def test_kill_9_while_the_endpoint_hangs(self):                      # HOOK-02 DELIV-01
        held = threading.Event()
        h = self.hook(held)
        self.started("--push-entries", "3")
        self.subscribed(h, secret=SECRET)
        self.publish("e5", "e4", "e3", "e2", "e1")
        first = self.calls(h, 1)[0]
        self.d.kill()
        held.set()
        self.d.start()
        self.publish("e6", "e5", "e4", "e3", "e2", "e1")    # more than there was at the first try
        self.wait(lambda: "e6" in h.titles(), daemon=self.d)
        self.assertEqual((first.id, first.body), (h.calls[1].id, h.calls[1].body))
        self.assertEqual(["e1", "e2", "e3"] * 2 + ["e4", "e5", "e6"], h.titles())

    def test_kill_9_while_a_part_of_what_was_refused_hangs(self):        # HOOK-02 D56
        held = threading.Event()
        h = self.hook(422, held)
        self.started()
        self.subscribed(h, secret=SECRET)
        self.publish("e5", "e4", "e3", "e2", "e1")
        whole, part = self.calls(h, 2)
        self.assertEqual((5, ["e1", "e2"]), (len(whole.titles), part.titles))
        self.d.kill()
        held.set()
        self.d.start()
        self.wait(lambda: "e5" in h.titles()[7:], daemon=self.d)
        self.assertEqual((part.id, part.body), (h.calls[2].id, h.calls[2].body))
        self.assertEqual(["e1", "e2", "e3", "e4", "e5"], h.titles()[7:])

    # ---- events ----
    def test_a_deletion_has_no_entry(self):                              # HOOK-03 DELIV-02
        p, h = Publisher(self.o), self.hook()
        self.started()
        p.put("a", "One")
        p.sync(self)
        self.subscribed(h, p.url, events="deleted,changed")
        p.put("b", "Two")
        p.delete("a")
        p.sync(self)
        entry = self.calls(h, 1)[0].data["entries"][0]
        row = next(r for r in self.rows(p.url).values() if r["kind"] == "deleted")
        self.assertEqual({k: row[k] for k in ("kind", "cursor", "at", "uid")},
                         {k: v for k, v in entry.items() if k != "feed"})

    def test_a_feed_is_told_as_broken_after_six_hours(self):             # DELIV-03
        """It is asked once a day, and failed an hour after it was well."""
        self.d = self.daemon("--test-clock", self.clock(), "--level2-period", "1d")
        h = self.hook()
        self.subscribed(h, events="feed", freq="2")
        self.o.set("/f.xml", Reply(500, b""))
        self.ahead(3600)
        n = len(self.o.seen("/f.xml"))
        self.d.ping(self.u)
        self.wait(lambda: self.d.record(self.u)["errors"] == 1, what="the failure", daemon=self.d)
        self.ahead(6 * 3600 + 5)
        self.assertEqual("broken", self.calls(h, 1)[0].data["state"])
        self.assertEqual(n + 2, len(self.o.seen("/f.xml")))

    def test_events_of_a_feed(self):                                     # HOOK-04 DELIV-03 DELIV-10
        h = self.hook(500)
        sub = self.subscribed(h, secret=SECRET, events="new,feed")["id"]
        self.publish("new 1", "old 2", "old 1")
        self.calls(h, 2)
        self.o.set("/f.xml", Reply(500, b""))
        for _ in range(3):
            self.d.wait_idle()
            self.d.ping(self.u)
        self.calls(h, 3)
        self.publish("new 2", "new 1", "old 2")
        broken, recovered = [c for c in self.calls(h, 5) if c.type == "feed.state"]
        record = self.d.record(self.u)
        feed = {"id": record["id"], "url": self.u, "title": record["title"]}
        for call, state in ((broken, "broken"), (recovered, "recovered")):
            self.assertEqual({"subscription": sub, "state": state, "feed": feed,
                              "detail": call.data["detail"],
                              "prev_cursor": call.data["prev_cursor"],
                              "last_cursor": call.data["last_cursor"]}, call.data)
            self.assertTrue(call.is_signed_by(SECRET))
        self.assertIn("500", broken.data["detail"])
        self.assertIsNone(recovered.data["detail"])
        for before, after in zip(h.calls[1:], h.calls[2:]):
            self.assertEqual(before.data["last_cursor"], after.data["prev_cursor"])
        self.assertEqual(["new 1", "new 1", "new 2"], h.titles())

    # ---- another secret ----
    def test_for_a_day_both_secrets_sign(self):                          # HOOK-05 VIEW-18
        h = self.hook()
        made = self.subscribed(h, header_X="hush")
        path = "/sub?id=%d" % made["id"]
        self.publish("one", "old 2", "old 1")
        self.assertTrue(self.calls(h, 1)[0].is_signed_by(made["secret"]))
        changed = self.d.call("PATCH", path, json.dumps({"secret": SECRET}),
                              {"Content-Type": "application/json"})
        self.assertEqual(200, changed.status, changed.body)
        self.publish("two", "one", "old 2")
        call = self.calls(h, 2)[1]
        self.assertEqual(2, len(call.fields["webhook-signature"].split(" ")))
        for secret in (SECRET, made["secret"]):
            self.assertTrue(call.is_signed_by(secret))
        lines = [[s, call.fields, call.body.decode()] for s in (SECRET, made["secret"])]
        self.assertEqual("hush", call.fields["x"])
        other = self.hook()
        changed = self.d.call("PATCH", path, urllib.parse.urlencode({"endpoint": other.url}), FORM)
        self.assertEqual(200, changed.status, changed.body)
        self.publish("three", "two", "one")
        call = self.calls(other, 1)[0]
        self.assertEqual(["three"], call.titles)
        self.assertTrue(call.is_signed_by(SECRET) and call.is_signed_by(made["secret"]))
        for body, status in (({"secret": "whsec_hush"}, 400), ({"header.Host": "x"}, 400)):
            answer = self.d.call("PATCH", path, json.dumps(body), {"Content-Type": "application/json"})
            self.assert_problem(answer, status)
            self.assertNotIn(b"hush", answer.body)
        self.verified(lines)

    # ---- answers ----
    def test_refused_entries_become_dead_letters(self):                  # HOOK-06 D56 DELIV-05
        for status in (400, 413, 415, 422):
            h = self.hook()
            h.decide = lambda call, s=status: s if "bad" in call.titles else 204
            self.started("--push-refusals", "1")
            sub = self.subscribed(h, secret=SECRET)["id"]
            self.publish("e4", "e3", "bad", "e2", "e1")
            self.wait(lambda: h.calls and h.calls[-1].titles[-1:] == ["e4"]
                      and "bad" not in h.calls[-1].titles, daemon=self.d)
            self.d.wait_idle()
            taken = [c for c in h.calls if "bad" not in c.titles]
            self.assertEqual(["e1", "e2", "e3", "e4"], [t for c in taken for t in c.titles])
            self.assertEqual(("active", 4), (self.listed(sub)["state"], self.listed(sub)["delivered"]))
            self.assertEqual(1, self.d.counter("push_dead_total"))
            alone = [c for c in h.calls if c.titles == ["bad"]]
            after = next(c for c in taken if "e3" in c.titles)
            self.assertEqual((1, alone[0].data["last_cursor"]), (len(alone), after.data["prev_cursor"]))
            self.o.set("/f.xml", rss("old 2", "old 1"))

    def test_410_suspends_at_once(self):                                 # HOOK-06 D56
        h = self.hook(410)
        sub = self.subscribed(h)["id"]
        self.publish("new", "old 2", "old 1")
        self.wait(lambda: self.listed(sub)["state"] == "suspended", daemon=self.d)
        self.assertEqual(1, len(h.calls))

    def test_retry_after_is_heard(self):                                 # HOOK-06 D56
        for status in (429, 503):
            h = self.hook((status, [("Retry-After", "2")]))
            self.started()
            self.subscribed(h)
            began = time.monotonic()
            self.publish("new %d" % status, "old 2", "old 1")
            one, two = self.calls(h, 2)
            self.assertGreater(time.monotonic() - began, 1.9)
            self.assertEqual(one.id, two.id)

    def test_a_pause_survives_a_restart(self):                           # DELIV-09 D56
        h, other = self.hook((503, [("Retry-After", "600")])), self.hook()
        sub, same = self.subscribed(h)["id"], self.subscribed(h)["id"]
        free = self.subscribed(other)["id"]
        self.publish("new", "old 2", "old 1")
        tried = lambda: [s for s in (sub, same) if self.listed(s)["next_try"]]
        self.wait(lambda: tried() and other.titles(), daemon=self.d)
        sub, same = tried()[0], sub + same - tried()[0]
        next_try = self.listed(sub)["next_try"]
        for stop in (self.d.kill, self.d.stop):
            stop()
            self.d.start()
            said = len(other.titles())
            self.publish("new at %d" % said, "new", "old 2", "old 1")
            self.wait(lambda: len(other.titles()) > said, daemon=self.d)
            self.d.wait_idle()
            self.assertEqual((1, next_try), (len(h.calls), self.listed(sub)["next_try"]))
            self.assert_close(next_try, self.listed(sub)["held_until"])
            self.assert_close(next_try, self.listed(same)["held_until"])
            self.assertEqual((None, None), (self.listed(same)["next_try"], self.listed(free)["held_until"]))
        self.assertEqual(200, self.d.call("POST", "/sub?id=%d&action=resume" % sub).status)
        self.calls(h, 2)
        self.assertIsNone(self.listed(same)["held_until"])

    def assert_close(self, one, two):
        """Two times, up to the rounding of a second at each start of the daemon."""
        one, two = (datetime.datetime.strptime(t, "%Y-%m-%dT%H:%M:%SZ") for t in (one, two))
        self.assertLess(abs((one - two).total_seconds()), 5)

    def test_any_2xx_is_delivered(self):                                 # HOOK-06
        long = b"x" * 200000
        self.started()
        for answer in (200, 201, 204, 299,
                       b"HTTP/1.1 200 OK\r\nContent-Length: 200000\r\n\r\n" + long,
                       b"HTTP/1.1 202 Accepted\r\nContent-Length: 9\r\n\r\nbroken"):
            with self.subTest(answer=str(answer)[:60]):
                self.taken_once(answer)

    def taken_once(self, *answer):
        h = self.hook(*answer)
        sub = self.subscribed(h)["id"]
        before = self.d.counter("push_failed_total")
        self.publish("new %d" % sub, "old 2", "old 1")
        self.wait(lambda: self.listed(sub)["delivered"] == 1, daemon=self.d)
        self.d.wait_idle()
        self.assertEqual(1, len(h.calls))
        self.assertEqual(before, self.d.counter("push_failed_total"))
        self.assertEqual(204, self.d.call("DELETE", "/sub?id=%d" % sub).status)

    def test_an_answer_that_never_ends_is_delivered(self):               # HOOK-06
        self.started("--push-timeout", "%ds" % (2 * PATIENCE))
        done = threading.Event()
        self.addCleanup(done.set)

        def endless(handler):
            handler.send_response(200)
            handler.send_header("Content-Length", "60000")
            handler.end_headers()
            while not done.wait(0.05):
                handler.wfile.write(b"x")

        self.taken_once(endless)

    def test_redirects_are_not_followed(self):                           # HOOK-06
        other = self.hook()
        h = self.hook((307, [("Location", other.url)]))
        self.subscribed(h)
        self.publish("new", "old 2", "old 1")
        self.calls(h, 2)
        self.assertEqual([], other.calls)

    # ---- what a subscriber may say ----
    def test_own_fields_are_sent_and_never_shown(self):                  # HOOK-07 HOOK-02
        h = self.hook(500)
        self.started("--log-level", "debug")
        made = self.subscribed(h, secret=SECRET, header_Authorization="Bearer hush1",
                               header_X__Key="hush2 \u00e4", header_Empty="")
        query = urllib.parse.urlencode({"url": self.u, "endpoint": h.url + "2", "sink": "webhook",
                                        "secret": SECRET, "header.X-Key": "hush2 in query"})
        self.assertEqual(201, self.d.call("POST", "/sub?" + query).status)
        self.publish("new", "old 2", "old 1")
        self.calls(h, 3)
        self.d.wait_idle()
        fields = next(c for c in h.calls if c.data["subscription"] == made["id"]).fields
        self.assertEqual(("Bearer hush1", "hush2 \u00e4"),
                         (fields["authorization"], fields["x-key"].encode("latin-1").decode()))
        self.assertNotIn("empty", fields)
        told = b"".join(self.d.get(path).body for path in
                        ("/sub", "/sub?type=json&all=1", "/metrics", "/sub?type=json&id=%d" % made["id"],
                         "/sub/log?id=%d" % made["id"], "/sub/dead?id=%d" % made["id"]))
        told += "".join(self.d.log).encode()
        for secret in (b"hush", SECRET.encode(), SECRET[6:].encode()):
            self.assertNotIn(secret, told)

    def test_what_is_refused(self):                                      # HOOK-02 HOOK-07 D55
        ok = dict(url=self.u, endpoint="http://127.0.0.1:9/", sink="webhook")
        short = "whsec_" + base64.b64encode(b"k" * 23).decode()
        long = "whsec_" + base64.b64encode(b"k" * 65).decode()
        bad = [("secret", short), ("secret", long), ("secret", SECRET[6:]), ("secret", "whsec_###"),
               ("header.Host", "hush"), ("header.connection", "hush"), ("header.Content-Type", "hush"),
               ("header.CONTENT-X", "hush"), ("header.Transfer-Encoding", "hush"), ("header.TE", "hush"),
               ("header.Upgrade", "hush"), ("header.Expect", "hush"), ("header.webhook-id", "hush"),
               ("header.Webhook-Any", "hush"), ("header.", "hush"), ("header.a b", "hush"),
               ("header.a:", "hush"), ("header.X", "hush\r\nY: 1"), ("header.X", "hush\0"),
               ("sink", "websub"), ("sink", "WEBHOOK")]
        self.started()
        for name, value in bad:
            with self.subTest(name=name, value=value):
                answer = self.post(**{**ok, name: value})
                problem = self.assert_problem(answer, 400, "bad-parameter")
                if name != "sink":
                    self.assertNotIn("hush", answer.body.decode())
                    self.assertNotIn(value, answer.body.decode())
                self.assertEqual(name.split(".")[0], problem["parameter"].split(".")[0])
        self.assert_problem(self.post(**ok, **{"header.X%d" % k: "v" for k in range(9)}), 400)
        self.assertEqual(201, self.post(**ok, **{"header.X%d" % k: "v" for k in range(8)}).status)
        self.assert_problem(self.post(**{**ok, "sink": "xmlrpc"}, secret=SECRET), 400, parameter="secret")
        self.assert_problem(self.post(**{**ok, "sink": "xmlrpc"}, **{"header.X": "hush"}), 400)
        self.assert_problem(self.post(url=self.u, sink="webhook"), 400, parameter="sink")
        self.assertEqual(["xmlrpc", "webhook"], self.post(**{**ok, "sink": "x"}).json["allowed"][:2])
        twice = self.d.call("POST", "/sub", urllib.parse.urlencode(
            [*ok.items(), ("secret", SECRET), ("secret", SECRET[:-4] + "AAAA")]), FORM)
        self.assert_problem(twice, 400)
        self.assertNotIn(b"whsec_a", twice.body)

    def test_the_default_is_xml_rpc(self):                               # D55
        answer = self.post(url=self.u, endpoint="http://127.0.0.1:9/", sink="")
        self.assertEqual((201, None), (answer.status, answer.json.get("secret")))
        self.assertEqual("xmlrpc", self.listed(answer.json["id"])["sink"])

    def test_a_made_secret_is_told_once(self):                           # HOOK-02
        h = self.hook()
        made = self.subscribed(h)
        self.assertRegex(made["secret"], r"^whsec_[A-Za-z0-9+/]{32,}={0,2}$")
        self.assertIn(len(base64.b64decode(made["secret"][6:])), range(24, 65))
        self.assertNotEqual(made["secret"], self.subscribed(h)["secret"])
        self.assertNotIn("secret", self.listed(made["id"]))
        self.publish("new", "old 2", "old 1")
        call = next(c for c in self.calls(h, 2) if c.data["subscription"] == made["id"])
        self.assertTrue(call.is_signed_by(made["secret"]))

    def test_the_guard_of_callbacks(self):                               # HOOK-07
        h = self.hook()
        self.started("--allow-fetch", "127.0.0.0/8", open_loopback=False)
        sub = self.subscribed(h)["id"]
        self.publish("new", "old 2", "old 1")
        error = self.wait(lambda: self.listed(sub)["last_error"], daemon=self.d)
        self.assertIn("--allow-callback", error)
        self.assertEqual([], h.calls)

    def test_a_list_as_body(self):                                       # HOOK-02
        h = self.hook()
        self.started()
        query = urllib.parse.urlencode({"endpoint": h.url, "sink": "webhook", "secret": SECRET})
        opml = '<opml version="2.0"><body><outline text="a" xmlUrl="%s"/></body></opml>' % self.u
        answer = self.d.call("POST", "/sub?" + query, opml, {"Content-Type": "text/x-opml"})
        self.assertEqual((201, SECRET), (answer.status, answer.json["secret"]))
        self.wait(lambda: (self.d.record(self.u) or {}).get("last_check"), daemon=self.d)
        self.publish("new", "old 2", "old 1")
        self.assertTrue(self.calls(h, 1)[0].is_signed_by(SECRET))
