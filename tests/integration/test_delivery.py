"""What all sinks share, as its users see and change it: DELIV-*, VIEW-18."""
import datetime
import http.client
import json
import os
import shutil
import signal
import tempfile
import threading
import time
import urllib.parse

from .env.case import Case
from .env.daemon import PATIENCE
from .env.hook import Hook
from .env.origin import rss

JSON = {"Content-Type": "application/json"}


class Delivery(Case):
    ARGS = ("--push-first-retry", "100ms", "--push-max-retry", "1s")

    def setUp(self):
        self.o, self.d = self.origin(), self.daemon(*self.ARGS)
        self.u = self.o.set("/f.xml", rss("old 2", "old 1"))
        self.r = self.receiver()

    def subscribed(self, **params):
        self.sub = self.d.subscribe(self.u, endpoint=self.r.url, **params)
        self.wait(lambda: (self.d.record(self.u) or {}).get("last_check"), daemon=self.d)
        return self.sub

    def publish(self, *titles):
        self.o.set("/f.xml", rss(*titles))
        self.d.ping(self.u)

    def get(self, path):
        return self.d.get(path).json

    def shown(self):
        return self.get("/sub?type=json&id=%d" % self.sub)["subscriptions"][0]

    def act(self, action, **params):
        path = "/sub?" + urllib.parse.urlencode({"id": self.sub, "action": action, **params})
        answer = self.d.call("POST", path)
        self.assertEqual(200, answer.status, answer.body)
        return answer.json

    def patch(self, body, fields=JSON):
        text = json.dumps(body) if fields is JSON else urllib.parse.urlencode(body)
        return self.d.call("PATCH", "/sub?id=%d" % self.sub, text, fields)

    def log(self, query=""):
        return self.get("/sub/log?id=%d%s" % (self.sub, query))["deliveries"]


class Wishes(Delivery):
    """What a subscription wants."""

    def test_events_and_batch(self):                                     # DELIV-02 DELIV-11
        self.subscribed(events="new", batch="2")
        shown = self.shown()
        self.assertEqual((["new"], 2), (shown["events"], shown["batch"]))
        self.publish("new 3", "new 2", "new 1", "old 2|edited")
        self.wait(lambda: len(self.r.titles()) >= 3, daemon=self.d)
        self.d.wait_idle()
        self.assertEqual([["new 1", "new 2"], ["new 3"]],
                         [[e["title"] for e in entries] for _, _, entries in self.r.calls])

    def test_what_is_usual(self):                                        # DELIV-02 DELIV-11
        self.subscribed()
        shown = self.shown()
        self.assertEqual((["new", "changed"], 100), (shown["events"], shown["batch"]))
        self.subscribed(events="changed,new")
        self.assertEqual(["new", "changed"], self.shown()["events"])

    def test_wrong_wishes(self):                                         # DELIV-02 DELIV-11
        for wish in ("events=new,deleted", "events=left", "events=feed", "events=news", "batch=0",
                     "batch=1001", "batch=ten"):
            answer = self.d.call("POST", "/sub?url=%s&endpoint=%s&%s" % (self.u, self.r.url, wish))
            problem = self.assert_problem(answer, 400, "bad-parameter",
                                          parameter=wish.partition("=")[0])
            self.assertIn("new" if wish.startswith("events") else "1000", problem["detail"])
        self.assertEqual([], self.d.get("/sub?type=json").json["subscriptions"])


class Changes(Delivery):
    """PATCH /sub."""

    def test_each_member(self):                                          # VIEW-18
        self.subscribed()
        other = self.receiver()
        for name, value, shown in (("title", "My name", ("names", ["My name"])),
                                   ("folder", "News/World", ("folders", [["News", "World"]])),
                                   ("events", ["new"], ("events", ["new"])),
                                   ("batch", 7, ("batch", 7)),
                                   ("endpoint", other.url, ("endpoint", other.url)),
                                   ("paused", True, ("state", "paused")),
                                   ("paused", False, ("state", "active")),
                                   ("title", None, ("names", [None]))):
            answer = self.patch({name: value})
            self.assertEqual(200, answer.status, answer.body)
            self.assertEqual(shown[1], answer.json[shown[0]], name)
            self.assertEqual(answer.json, self.shown())
        self.assertEqual(200, self.patch({"freq": 600}).status)
        self.assertEqual(600, self.d.record(self.u)["period"])
        self.publish("new", "old 2")
        self.wait(lambda: other.titles() == ["new"], daemon=self.d)
        self.assertEqual([], self.r.titles())

    def test_failures_of_another_endpoint_are_forgotten(self):           # VIEW-18 DELIV-09
        self.r.script = [500] * 50
        self.subscribed()
        self.publish("new", "old 2")
        self.wait(lambda: self.shown()["last_error"], daemon=self.d)
        self.patch({"paused": True})
        self.d.wait_idle()
        answer = self.patch({"endpoint": self.r.url + "/other"}).json
        self.assertEqual((None, None, 0), tuple(answer[k] for k in ("last_error", "next_try", "failures")))

    def test_what_was_read_can_be_put_back(self):                        # VIEW-18
        """PATCH takes what GET answers. A name that neither has is refused, because it was misspelt."""
        self.subscribed()
        before = self.shown()
        answer = self.patch(before)
        self.assertEqual((200, before), (answer.status, answer.json))
        for name in ("catgory", "Title", "urlss"):
            answer = self.patch({"title": "no", name: "x"})
            self.assert_problem(answer, 400, "bad-parameter", parameter=name)
            self.assertIn("`%s`" % name, answer.json["detail"])
        self.assertEqual(before, self.shown())
        feed = self.d.get("/sub/feed?id=%d" % before["feeds"][0]).json
        answer = self.d.call("PATCH", "/sub/feed", json.dumps(feed), JSON)
        self.assertEqual(200, answer.status, answer.body)
        self.assertEqual({k for k in feed}, {k for k in answer.json})
        for wrong in ({"pause": 1}, {"keep_entries": [1]}, {"keep_entries": True}, {"freq": {}}, {"paused": [True]}):
            answer = self.d.call("PATCH", "/sub/feed", json.dumps(dict(wrong, id=feed["id"])), JSON)
            self.assert_problem(answer, 400, "bad-parameter", parameter=next(iter(wrong)))

    def test_a_form(self):                                               # VIEW-18
        self.subscribed()
        fields = {"Content-Type": "application/x-www-form-urlencoded"}
        answer = self.patch({"title": "T", "folder": "", "paused": "1", "batch": "3",
                             "events": "changed"}, fields)
        self.assertEqual(200, answer.status, answer.body)
        self.assertEqual((["T"], [[]], "paused", 3, ["changed"]),
                         tuple(answer.json[k] for k in ("names", "folders", "state", "batch", "events")))

    def test_wrong_changes(self):                                        # VIEW-18
        self.subscribed()
        before = self.shown()
        for body in ({"title": 1}, {"folder": []}, {"freq": "often"}, {"events": "news"},
                     {"events": [1]}, {"events": []}, {"events": ""}, {"batch": 1001}, {"batch": "x"}, {"paused": 1}, {"paused": "yes"},
                     {"endpoint": "not a url"}, {"endpoint": None}):
            self.assert_problem(self.patch(body), 400, "bad-parameter", parameter=next(iter(body)))
        self.assert_problem(self.patch([]), 400, "bad-body")
        answer = self.d.call("PATCH", "/sub?id=%d" % self.sub, "<x/>", {"Content-Type": "text/xml"})
        self.assert_problem(answer, 415)
        self.assert_problem(self.d.call("PATCH", "/sub?id=77", "{}", JSON), 404, "not-found")
        self.assert_problem(self.d.call("PATCH", "/sub", "{}", JSON), 400, parameter="id")
        self.assertEqual(before, self.shown())
        self.assertIn("PATCH", self.d.call("OPTIONS", "/sub").header("Allow"))

    def test_a_listed_feed_gets_an_endpoint(self):                       # VIEW-18
        self.sub = self.d.subscribe(self.u)
        self.wait(lambda: (self.d.record(self.u) or {}).get("last_check"), daemon=self.d)
        self.assertEqual((None, None), (self.shown()["lag"], self.shown()["endpoint"]))
        answer = self.patch({"endpoint": self.r.url})
        self.assertEqual("xmlrpc", answer.json["sink"])
        self.publish("new", "old 2")
        self.wait(lambda: self.r.titles() == ["new"], daemon=self.d)


class Actions(Delivery):
    """POST /sub with `action`."""

    def test_pause_and_resume(self):                                     # DELIV-06
        self.subscribed()
        self.assertEqual("paused", self.act("pause")["state"])
        self.publish("new", "old 2")
        self.d.wait_idle()
        self.assertEqual(0, self.r.attempts)
        self.assertEqual(1, self.shown()["lag"])
        self.assertEqual("active", self.act("resume")["state"])
        self.wait(lambda: self.r.titles() == ["new"], daemon=self.d)

    def test_replay(self):                                               # DELIV-06
        self.subscribed()
        self.publish("new", "old 2")
        self.wait(lambda: self.r.titles() == ["new"], daemon=self.d)
        self.d.wait_idle()
        self.act("replay", **{"from": "start"})
        self.wait(lambda: self.r.titles() == ["new", "old 1", "old 2", "new"], daemon=self.d)

    def test_replay_during_a_call(self):                                 # DELIV-01 DELIV-06
        self.r.script.append(1.0)                 # this call is held
        self.subscribed()
        self.publish("new", "old 2")
        self.wait(lambda: self.r.attempts == 1, daemon=self.d)
        self.act("replay", **{"from": "start"})
        self.wait(lambda: self.r.titles() == ["new", "old 1", "old 2", "new"], daemon=self.d)
        self.assertEqual(1, self.r.most_at_once)

    def test_replay_and_skip_keep_the_state(self):                       # DELIV-06
        self.subscribed()
        self.act("pause")
        self.publish("new", "old 2")
        self.d.wait_idle()
        self.assertEqual("paused", self.act("replay", **{"from": "start"})["state"])
        self.assertEqual(3, self.shown()["lag"])
        answer = self.act("skip")
        self.assertEqual(("paused", 0), (answer["state"], answer["lag"]))
        self.act("resume")
        self.publish("after", "new")
        self.wait(lambda: self.r.titles(), daemon=self.d)
        self.assertEqual(["after"], self.r.titles())

    def test_skip_to_a_position(self):                                   # DELIV-06
        self.subscribed()
        self.act("pause")
        self.publish("one", "old 2")
        self.d.wait_idle()
        cursor = self.d.get("/log?since=end").json["cursor"]
        self.publish("two", "one")
        self.d.wait_idle()
        self.assertEqual(1, self.act("skip", to=cursor)["lag"])
        self.act("resume")
        self.wait(lambda: self.r.titles() == ["two"], daemon=self.d)
        answer = self.d.call("POST", "/sub?id=%d&action=skip&to=start" % self.sub)
        self.assert_problem(answer, 400, parameter="to")

    def test_a_test(self):                                               # DELIV-06
        self.subscribed()
        self.act("pause")
        answered = self.act("test")
        self.assertEqual((200, None), (answered["status"], answered["error"]))
        self.assertIn("methodResponse", answered["answer"])
        self.assertEqual([(self.sub, self.u, [])], self.r.calls)
        self.r.script += [500, 503]
        failed = self.act("test")
        self.assertEqual((500, ""), (failed["status"], failed["answer"]))
        self.assertIn("500", failed["error"])
        self.assertEqual(503, self.act("test")["status"])
        self.d.wait_idle()
        self.assertEqual(3, self.r.attempts)                             # none is repeated
        shown = self.shown()
        self.assertEqual(("paused", 0, None), (shown["state"], shown["failures"], shown["last_error"]))
        self.assertEqual([], self.log())

    def test_a_test_waits_for_the_call_under_way(self):                  # DELIV-06 DELIV-07
        self.r.script.append(1.0)
        self.subscribed()
        self.publish("new", "old 2")
        self.wait(lambda: self.r.attempts == 1, daemon=self.d)
        self.assertEqual(200, self.act("test")["status"])
        self.assertEqual(1, self.r.most_at_once)
        self.assertEqual(["new"], self.r.titles())

    def test_a_test_without_an_answer(self):                             # DELIV-06
        self.subscribed()
        self.r.close()
        answered = self.act("test")
        self.assertEqual((None, None), (answered["status"], answered["answer"]))
        self.assertTrue(answered["error"])

    def test_what_cannot_be_tested(self):                                # DELIV-06
        self.sub = self.d.subscribe(self.u)
        answer = self.d.call("POST", "/sub?id=%d&action=test" % self.sub)
        self.assertIn("no endpoint", self.assert_problem(answer, 400, "bad-parameter")["detail"])

    def test_a_stop_during_a_test(self):                                 # DELIV-06
        self.subscribed()
        self.r.script += [5.0, 5.0]
        calls = [threading.Thread(target=self.try_test, daemon=True) for _ in range(3)]
        for call in calls:
            call.start()
        self.wait(lambda: self.r.attempts == 1, daemon=self.d)
        self.assertEqual(0, self.d.stop())

    def try_test(self):
        try:
            self.d.call("POST", "/sub?id=%d&action=test" % self.sub)
        except (OSError, http.client.HTTPException):
            pass

    def test_wrong_actions(self):                                        # DELIV-06
        self.subscribed()
        for query, status, parameter in (("id=%d&action=stop" % self.sub, 400, "action"),
                                         ("id=%d&action=replay" % self.sub, 400, "from"),
                                         ("id=77&action=pause", 404, "id"),
                                         ("action=pause", 400, "id"),
                                         ("id=%d&action=drop-dead&dead=x" % self.sub, 400, "dead"),
                                         ("id=%d&action=retry-dead&dead=9" % self.sub, 404, None)):
            self.assert_problem(self.d.call("POST", "/sub?" + query), status, parameter=parameter)


class Shown(Delivery):
    """What can be seen of deliveries."""

    def test_the_log(self):                                              # DELIV-04
        self.r.script += [500, "close"]
        self.subscribed()
        self.publish("new 2", "new 1", "old 2")
        self.wait(lambda: self.r.titles(), daemon=self.d)
        self.d.wait_idle()
        log = self.log()
        self.assertEqual([("delivered", 3, 200), ("retry", 2, None), ("retry", 1, 500)],
                         [(d["verdict"], d["try"], d["status"]) for d in log])
        self.assertEqual([2, 2, 2], [d["n_entries"] for d in log])
        self.assertEqual(None, log[0]["error"])
        self.assertIn("500", log[2]["error"])
        self.assertEqual({"at", "try", "n_entries", "first_cursor", "last_cursor", "status", "ms",
                          "verdict", "error"}, set(log[0]))
        entries = self.d.get("/log?since=start").json
        self.assertEqual(entries["cursor"], log[0]["last_cursor"])
        self.assertEqual(log[:1], self.log("&max=1"))
        for path in ("/sub/log", "/sub/dead"):
            self.assert_problem(self.d.get(path), 400, parameter="id")
            self.assert_problem(self.d.get(path + "?id=77"), 404, "not-found")
        self.assertEqual({"dead": []}, self.d.get("/sub/dead?id=%d" % self.sub).json)

    def test_lag_of_an_endpoint_that_is_down(self):                      # DELIV-12
        self.r.script += [500] * 10000
        self.subscribed()
        shown = self.shown()
        self.assertEqual((0, 0, 0), (shown["lag"], shown["lag_s"], shown["dead"]))
        began = time.time()
        self.publish("new 2", "new 1", "old 2")
        self.wait(lambda: self.shown()["lag_s"] >= 1, daemon=self.d)
        self.assertEqual(2, self.shown()["lag"])
        self.d.wait_metric("push_lag_revisions", 2)
        self.d.wait_metric("push_lag_seconds", 1)
        self.assertLessEqual(self.shown()["lag_s"], time.time() - began + 1)
        self.r.script.clear()
        self.wait(lambda: self.shown()["lag"] == 0, daemon=self.d)
        self.wait(lambda: self.d.counter("push_lag_revisions") == 0, daemon=self.d)
        self.assertEqual(["new 1", "new 2"], self.r.titles())


class Webhooks(Delivery):
    """What a sink with answers of its own adds."""
    ARGS = Delivery.ARGS + ("--push-refusals", "1")

    def setUp(self):
        super().setUp()
        self.r = self.h = Hook()
        self.addCleanup(self.h.close)

    def subscribed(self, **params):
        return super().subscribed(sink="webhook", **params)

    def test_dead_letters(self):                                         # DELIV-05 DELIV-04
        self.h.decide = lambda call: 422 if "bad" in call.titles else 204
        self.subscribed()
        self.publish("good 2", "bad", "good 1", "old 2")
        dead = self.wait(lambda: self.d.get("/sub/dead?id=%d" % self.sub).json["dead"], daemon=self.d)
        self.assertEqual([(422, "because")], [(d["status"], d["answer"]) for d in dead])
        self.wait(lambda: "good 2" in [t for c in self.h.calls for t in c.titles], daemon=self.d)
        self.d.wait_idle()
        self.assertEqual(1, self.shown()["dead"])
        self.assertIn("dead", [d["verdict"] for d in self.log()])
        cursors = [e["cursor"] for c in self.h.calls for e in c.data["entries"] if "bad" in c.titles]
        self.assertIn(dead[0]["cursor"], cursors)
        path = "/sub?id=%d&action=retry-dead&dead=%d"
        self.assert_problem(self.d.call("POST", path % (self.sub, 99)), 404, "not-found")
        self.h.decide = None
        self.assertEqual(200, self.d.call("POST", path % (self.sub, dead[0]["dead"])).status)
        self.wait(lambda: self.shown()["dead"] == 0, daemon=self.d)
        self.assertEqual(["bad"], self.h.calls[-1].titles)

    def test_answers_that_are_not_complete(self):                        # DELIV-05 DELIV-06 HOOK-06
        """The first bytes say why, also when the rest is too much, does not come, or does not end."""
        why = b"the title is missing. "
        head = b"HTTP/1.1 %d Because\r\nContent-Length: %d\r\n\r\n"
        done = threading.Event()
        self.addCleanup(done.set)

        def endless(handler):
            handler.wfile.write(head % (422, 60000) + why)
            done.wait(60)

        self.d = self.daemon(*self.ARGS, "--push-timeout", "%ds" % (2 * PATIENCE))
        self.subscribed()
        for step in (head % (422, 200000) + why + b"x" * 200000, head % (422, 60000) + why, endless):
            self.h.script = [step] * 20                                  # more, if the machine stalls
            self.publish("bad %d" % len(self.h.calls), "old 2")
            dead = self.wait(lambda: self.d.get("/sub/dead?id=%d" % self.sub).json["dead"], daemon=self.d)
            self.assertEqual([422], [d["status"] for d in dead])
            self.assertTrue(dead[0]["answer"].startswith(why.decode()))
            self.assertLessEqual(len(dead[0]["answer"]), 1024)
            self.act("drop-dead", dead="all")
        self.h.script = [head % (500, 60000) + why]
        told = self.act("test")
        self.assertEqual((500, why.decode()), (told["status"], told["answer"]))
        self.assertIn("status 500", told["error"])

    def test_dead_letters_are_dropped(self):                             # DELIV-05
        self.h.decide = lambda call: 422
        self.subscribed()
        self.publish("bad", "old 2")
        self.wait(lambda: self.shown()["dead"], daemon=self.d)
        self.assertEqual(0, self.act("drop-dead", dead="all")["dead"])
        self.assertEqual([], self.d.get("/sub/dead?id=%d" % self.sub).json["dead"])

    def test_the_chain(self):                                            # DELIV-10
        self.subscribed(batch="1")
        self.publish("3", "2", "1", "old 2")
        self.wait(lambda: len(self.h.calls) == 3, daemon=self.d)
        self.publish("4", "3", "old 1|edited")
        self.wait(lambda: len(self.h.calls) >= 5, daemon=self.d)
        said = [c.data for c in self.h.calls]
        for before, after in zip(said, said[1:]):
            self.assertEqual(before["last_cursor"], after["prev_cursor"])

    def test_all_events(self):                                           # DELIV-02
        self.subscribed(events="new,changed,deleted,left,feed")
        self.assertEqual(["new", "changed", "deleted", "left", "feed"], self.shown()["events"])

    def test_a_test_says_so(self):                                       # DELIV-06
        self.subscribed()
        self.h.script.append(410)
        answered = self.act("test")
        self.assertEqual((410, "because"), (answered["status"], answered["answer"]))
        self.assertEqual(["test"], [c.type for c in self.h.calls])
        self.assertEqual("active", self.shown()["state"])

    def test_another_secret(self):                                       # VIEW-18
        self.subscribed()
        secret = "whsec_" + "B" * 32
        self.assertEqual(200, self.patch({"secret": secret, "header.X-Mine": "1"}).status)
        self.assertNotIn(b"BBBB", self.d.get("/sub?type=json").body)
        self.assertEqual(204, self.act("test")["status"])
        self.assertTrue(self.h.calls[0].is_signed_by(secret))
        self.assertEqual("1", self.h.calls[0].fields["x-mine"])
        problem = self.assert_problem(self.patch({"secret": "short"}), 400, parameter="secret")
        self.assertNotIn("short", json.dumps(problem))

    def test_a_listed_feed_becomes_a_webhook(self):                      # VIEW-18
        self.sub = self.d.subscribe(self.u)
        answer = self.patch({"endpoint": self.h.url, "sink": "webhook"}).json
        self.assertEqual("webhook", answer["sink"])
        self.act("test")
        self.assertTrue(self.h.calls[0].is_signed_by(answer["secret"]))


class Clock(Delivery):
    """Pauses by the clock of tests."""
    ARGS = ()

    def get(self, path):
        """A request that is being answered while the clock jumps is late by then, and gets 503."""
        answer = self.d.get(path)
        while answer.status == 503:
            self.assertIn("in time", answer.json["detail"])
            answer = self.d.get(path)
        self.assertEqual(200, answer.status, answer.body)
        return answer.json

    def ahead(self, seconds):
        self.seconds += seconds
        with open(self.path + ".new", "w", encoding="ascii") as out:
            out.write("%d\n" % self.seconds)
        os.replace(self.path + ".new", self.path)

    def failed(self, n):
        """Failure `n`, when it is the last one: the pause that follows it, in seconds; else None."""
        shown, log = self.shown(), self.log()
        if shown["failures"] != n or not log or log[0]["try"] != n:
            return None
        at = datetime.datetime.fromisoformat(log[0]["at"].replace("Z", "+00:00"))
        return (datetime.datetime.fromisoformat(shown["next_try"].replace("Z", "+00:00")) - at).total_seconds()

    def test_pauses_and_the_end(self):                                   # DELIV-09 PUSH-09
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        self.path, self.seconds = os.path.join(folder, "ahead"), 0
        self.d = self.daemon("--test-clock", self.path)
        self.d.wait_log("event=test_clock")
        self.r.script = [500] * 1000
        self.subscribed()
        self.publish("new", "old 2")
        n = 1
        for nominal in (2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 3600, 3600):
            # a machine that stalls may be late, and find that the next failure has come already
            pause = self.wait(lambda: self.shown()["failures"] > n or self.failed(n),
                              what="failure %d" % n, daemon=self.d)
            if pause is not True:
                self.assertGreaterEqual(pause, 0.8 * nominal)
                self.assertLessEqual(pause, 1.2 * nominal + 2)           # from whole seconds to whole seconds
                if pause > 10:
                    self.ahead(int(pause) + 1)
            n += 1
        self.assertEqual("active", self.shown()["state"])
        self.ahead(7 * 86400)
        self.wait(lambda: self.shown()["state"] == "suspended", daemon=self.d)
        self.assertEqual([], self.r.titles())
        self.assertEqual("active", self.act("resume")["state"])


class Killed(Delivery):
    """kill -9 under load, many subscriptions of one feed: outcomes are written together."""

    SUBS, KILLS = 200, 5

    def written(self, title):
        """Wait until the daemon has on disk that each subscription has this entry, the last one: that the receiver has it
        does not say so."""
        self.wait(lambda: title in [e["title"] for e in self.d.feed(self.u).json["entries"]], daemon=self.d)
        self.wait(lambda: all(sub["lag"] == 0 for sub in self.get("/sub?type=json&all=1")["subscriptions"]),
                  what="the last position of each", daemon=self.d)
        self.d.wait_idle()

    def test_only_what_was_just_acknowledged_comes_again(self):          # DELIV-01 DELIV-08
        h = Hook()
        self.addCleanup(h.close)
        taken, lock, repeated = {}, threading.Lock(), []     # (subscription, title) -> when; what came once more, and when

        def decide(call):
            now = time.monotonic()
            with lock:
                for title in call.titles:
                    key = call.data["subscription"], title
                    if key in taken:
                        repeated.append((key, taken[key], now))
                    taken.setdefault(key, now)
            return 204

        h.decide = decide
        subs = [self.d.subscribe(self.u, endpoint="%s/%d" % (h.url, i), sink="webhook")
                for i in range(self.SUBS)]
        self.wait(lambda: (self.d.record(self.u) or {}).get("last_check"), daemon=self.d)
        titles = ["old 2", "old 1"]
        for kill in range(self.KILLS):
            del repeated[:]
            failed = self.d.counter("push_failed_total")
            titles.insert(0, "sure %d" % kill)
            self.publish(*titles)
            self.written(titles[0])
            with lock:                                       # a call whose answer came too late comes again
                self.assertLessEqual(len(repeated), self.d.counter("push_failed_total") - failed)
                del repeated[:]
            titles.insert(0, "cut %d" % kill)
            self.publish(*titles)
            self.wait(lambda: len([k for k in list(taken) if k[1] == titles[0]]) > 20 * kill, daemon=self.d)
            self.d.kill()
            killed = time.monotonic()
            self.d.start()
            self.written(titles[0])
            with lock:
                # with the seconds from the kill to the first and to the second delivery
                said = [(key, round(at - killed, 2), round(again - killed, 2)) for key, at, again in repeated]
                self.assertEqual([], [x for x in said if x[0][1] != titles[0]])
                self.assertEqual([], [x for x in said if x[1] < -2 * PATIENCE])
        for sub in subs:
            want = [t for t in reversed(titles) if not t.startswith("old")]
            with lock:
                self.assertEqual(want, [t for s, t in taken if s == sub])


class BusyHost(Delivery):
    """More endpoints at one host than are called at once."""

    SUBS = 200

    def test_what_it_answers_late_comes_once(self):          # DELIV-01
        """A host that was quick, and needs longer for a moment. To cut its calls for the sake of those that wait would have it
        do them twice."""
        h = Hook()
        self.addCleanup(h.close)
        late = threading.Event()

        def decide(_):
            if late.is_set():
                return lambda handler: (time.sleep(0.5), handler.send_response(204), handler.end_headers())
            return 204

        h.decide = decide
        for i in range(self.SUBS):
            self.d.subscribe(self.u, endpoint="%s/%d" % (h.url, i), sink="webhook")
        self.wait(lambda: (self.d.record(self.u) or {}).get("last_check"), daemon=self.d)
        self.publish("quick", "old 2", "old 1")
        self.wait(lambda: h.titles().count("quick") == self.SUBS, daemon=self.d)
        self.d.wait_idle()
        late.set()
        began = time.monotonic()
        self.publish("late", "quick", "old 2", "old 1")
        self.wait(lambda: h.titles().count("late") >= self.SUBS, daemon=self.d)
        took = time.monotonic() - began
        self.d.wait_idle()
        if took < 2:                                         # on a busy machine a call may be two seconds late
            self.assertEqual(0, self.d.counter("push_cut_total"))
            self.assertEqual(self.SUBS, h.titles().count("late"))


class StoodStill(Delivery):
    ARGS = ("--push-first-retry", "100ms", "--push-timeout", "5s")

    def test_answers_that_came_meanwhile_count(self):       # DELIV-01
        """The daemon is stopped for longer than an endpoint may take, as with its machine. What was acknowledged is there when
        it goes on, and is not delivered again."""
        h, go = Hook(), threading.Event()
        self.addCleanup(h.close)
        self.addCleanup(go.set)
        go.set()
        h.decide = lambda _: lambda handler: (go.wait(), handler.send_response(204), handler.end_headers())
        for i in range(40):
            self.d.subscribe(self.u, endpoint="%s/%d" % (h.url, i), sink="webhook")
        self.wait(lambda: (self.d.record(self.u) or {}).get("last_check"), daemon=self.d)
        self.publish("first", "old 2")
        self.wait(lambda: h.titles().count("first") == 40, daemon=self.d)
        self.d.wait_idle()
        go.clear()
        self.publish("new", "first", "old 2")
        self.wait(lambda: h.titles().count("new") == 40, daemon=self.d)
        os.kill(self.d.process.pid, signal.SIGSTOP)
        go.set()
        time.sleep(5.5)
        os.kill(self.d.process.pid, signal.SIGCONT)
        self.d.wait_idle()
        self.assertEqual((0, 40), (self.d.counter("push_failed_total"), h.titles().count("new")))
