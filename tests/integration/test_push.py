"""XML-RPC push: PUSH-*."""
import re
import time
import urllib.parse
import xmlrpc.client

from .env.case import Case, slow
from .env.daemon import PATIENCE
from .env.fickle import Fickle
from .env.origin import Reply, atom, rss
from .test_discovery import page


def without_null(value):
    """XML-RPC has no null: absent members are left out, at any depth."""
    if isinstance(value, dict):
        return {k: without_null(v) for k, v in value.items() if v is not None}
    return [without_null(v) for v in value] if isinstance(value, list) else value


class Push(Case):
    def setUp(self):
        self.o, self.d = self.origin(), self.daemon()
        self.u = self.o.set("/f.xml", rss("old 2", "old 1"))

    def subscribed(self, receiver, url=None, **params):
        sub = self.d.subscribe(url or self.u, endpoint=receiver.url, **params)
        self.wait(lambda: (self.d.record(url or self.u) or {}).get("last_check"), daemon=self.d)
        return sub

    def publish(self, *titles, path="/f.xml", **kw):
        self.o.set(path, rss(*titles, **kw))
        self.d.ping(self.o.url(path))

    def only(self, receiver, *calls, shown=("old 2", "old 1")):
        """These calls, each a list of titles, and no other: a subscription is served in the order of the
        log, so the entry that is published now comes right after them."""
        self.publish("the next", *shown)
        self.wait(lambda: "the next" in receiver.titles(), daemon=self.d)
        self.assertEqual([*calls, ["the next"]],
                         [[e["title"] for e in entries] for _, _, entries in receiver.calls])
        self.assertEqual(len(calls) + 1, receiver.attempts)

    def test_new_entries_in_one_call_oldest_first(self):                 # PUSH-01 -04 -05 -06 -08
        r = self.receiver()
        sub = self.subscribed(r)
        new = ("new 3", "new 2", "new 1", "old 2", "old 1")
        self.publish(*new)
        self.wait(lambda: r.calls, daemon=self.d)
        self.assertEqual([(sub, self.u)], [(i, u) for i, u, _ in r.calls])
        self.only(r, ["new 1", "new 2", "new 3"], shown=new)

    def test_the_request(self):                                          # PUSH-02
        r = self.receiver()
        self.subscribed(r)
        self.publish("new", "old 2")
        self.wait(lambda: r.calls)
        fields = {k.lower(): v for k, v in r.fields[0].items()}
        self.assertTrue(fields["content-type"].startswith("text/xml"))
        self.assertEqual(len(r.raw[0]), int(fields["content-length"]))
        self.assertEqual("127.0.0.1:%d" % r.port, fields["host"])
        self.assertTrue(fields["user-agent"].startswith("Feedmill/"))
        self.assertNotIn("transfer-encoding", fields)

    def test_members_are_those_of_the_json(self):                        # PUSH-03 OBJ-03 OBJ-04
        r = self.receiver()
        self.subscribed(r)
        self.publish(("new", "Mon, 01 Jun 2020 10:00:00 GMT", "<digg:diggCount>42</digg:diggCount>"
                      '<product:content price="$2,021.99"/><category>c1</category>'), "old 2")
        self.wait(lambda: r.calls)
        pushed = r.calls[0][2][0]
        shown = next(e for e in self.d.feed(self.u).json["entries"] if e["id"] == "id-new")
        for key in ("id", "title", "link", "summary", "updated"):
            self.assertIn(key, pushed)
        self.assertEqual("42", pushed["digg_diggcount"])
        self.assertEqual("$2,021.99", pushed["product_content_"]["price"])
        self.assertEqual(without_null(shown), pushed)                    # D51

    def test_an_edit_is_pushed_and_a_touch_is_not(self):                 # PUSH-04 SCHED-12
        r = self.receiver()
        self.subscribed(r)
        self.publish("old 2", "old 1|edited")
        self.wait(lambda: r.calls)
        self.assertEqual(["old 1|edited"], r.titles())
        self.d.wait_idle()
        n = len(self.o.seen("/f.xml"))
        self.o.set("/f.xml", Reply(200, rss("old 2", "old 1|edited", head="<ttl>5</ttl>"), ETag='"2"'))
        self.d.ping(self.u)
        self.d.wait_idle()
        self.assertEqual(n + 1, len(self.o.seen("/f.xml")))
        self.only(r, ["old 1|edited"], shown=("old 2", "old 1|edited"))

    def test_the_url_is_the_one_subscribed(self):                        # PUSH-07 D8
        r = self.receiver()
        u = self.o.set("/page", page('<link rel=alternate type="application/rss+xml" href="/f.xml">'))
        self.subscribed(r, u)
        self.publish("new", "old 2")
        self.wait(lambda: r.calls)
        self.assertEqual(u, r.calls[0][1])

    def test_failures_are_retried(self):                                 # PUSH-09
        r = self.receiver(script=[500])
        self.subscribed(r)
        began = time.monotonic()
        self.publish("new", "old 2")
        self.wait(lambda: r.attempts >= 2, 15)
        self.assertLess(time.monotonic() - began, 8 + 5 * PATIENCE)
        self.wait(lambda: r.calls, 60)
        self.assertEqual((["new"], 2), (r.titles(), r.attempts))

    def test_every_kind_of_failure_is_retried(self):                     # PUSH-09
        self.d = self.daemon("--push-first-retry", "200ms")
        r = self.receiver(script=[500, "close", 302])
        self.subscribed(r)
        self.publish("new", "old 2")
        self.wait(lambda: r.calls, 60)
        self.assertEqual((["new"], 4), (r.titles(), r.attempts))

    def test_a_refused_endpoint_is_reached_later(self):                  # PUSH-09
        r = self.receiver()
        r.close()
        self.subscribed(r)
        self.publish("new 1", "old 2")
        sub = self.wait(lambda: [s for s in self.d.get("/sub?type=json").json["subscriptions"]
                                 if s.get("last_error")])[0]
        self.assertEqual("active", sub["state"])
        self.publish("new 2", "new 1", "old 2")
        again = self.receiver(port=r.port)
        self.wait(lambda: len(again.titles()) == 2, 30)
        self.assertEqual(["new 1", "new 2"], again.titles())

    def test_suspended_is_resumable_and_loses_nothing(self):             # PUSH-09
        self.d = self.daemon("--push-first-retry", "100ms", "--push-suspend-after", "1s",
                             "--push-max-retry", "1s")
        r = self.receiver(script=[500] * 40)
        sub = self.subscribed(r)
        self.publish("new", "old 2")

        def state():
            return self.d.get("/sub?type=json").json["subscriptions"][0]["state"]

        self.wait(lambda: state() == "suspended", 20)
        n = r.attempts
        r.script.clear()
        # another one fails from now on until it is suspended: longer than the longest pause of the first
        other = self.receiver(script=[500] * 40)
        second = self.d.subscribe(self.u, endpoint=other.url, from_="start")
        self.wait(lambda: any(s["id"] == second and s["state"] == "suspended" for s in
                              self.d.get("/sub?type=json").json["subscriptions"]), daemon=self.d)
        self.assertEqual(n, r.attempts)
        answer = self.d.call("POST", "/sub?id=%d&action=resume" % sub)
        self.assertIn(answer.status, (200, 204))
        self.wait(lambda: r.calls)
        self.assertEqual((["new"], "active"), (r.titles(), state()))

    def test_fault_and_garbage_are_deliveries(self):                     # PUSH-10 PUSH-11 D6
        r = self.receiver()
        r.returns = None
        self.subscribed(r)
        self.publish("new", "old 2")
        self.wait(lambda: r.calls)
        self.wait(lambda: self.d.get("/sub?type=json").json["subscriptions"][0]["faults"] == 1)
        self.only(r, ["new"], shown=("new", "old 2"))
        self.o.set("/garbage", Reply(200, "\0not xml"))
        self.d.subscribe(self.u, endpoint=self.o.url("/garbage"))
        for n, shown in enumerate((["newer", "new"], ["newest", "newer", "new"])):
            self.publish(*shown, "old 2")
            self.wait(lambda: len(self.o.seen("/garbage")) == n + 1, daemon=self.d)
        pushed = [re.findall(b"id-(new[a-z]*)", r.body) for r in self.o.seen("/garbage")]
        self.assertEqual([[b"newer"], [b"newest"]], pushed)

    def test_a_slow_endpoint_delays_nobody(self):                        # PUSH-12
        self.d = self.daemon("--push-timeout", "10m")
        slow_one, quick = self.receiver(script=[600.0]), self.receiver()
        self.subscribed(slow_one)
        self.subscribed(quick)
        self.publish("new 1", "old 2")
        self.wait(lambda: quick.calls, daemon=self.d)
        self.publish("new 2", "new 1", "old 2")
        self.wait(lambda: len(quick.calls) == 2, daemon=self.d)
        self.assertEqual([], slow_one.calls)

    def test_one_call_at_a_time_in_log_order(self):                      # PUSH-13
        r = self.receiver(script=[0.7] * 6)
        self.subscribed(r)
        self.d.subscribe(self.u, endpoint=r.url)
        for n in range(3):
            self.publish(*["n%d" % k for k in range(n, -1, -1)])
            self.wait(lambda: self.d.record(self.u)["entries"] == 3 + n)
        self.wait(lambda: len(r.titles()) == 6, 20)
        self.assertEqual(1, r.most_at_once)
        for sub in (1, 2):
            self.assertEqual(["n0", "n1", "n2"], r.titles(sub))

    def test_text_survives(self):                                        # PUSH-14 PUSH-15
        r = self.receiver()
        self.subscribed(r)
        title = "☃ & <b> ]]> \U0001F600 é\uE000"
        self.publish(title + "\u0001", "old 2")
        self.wait(lambda: r.calls)
        self.assertEqual(title, r.calls[0][2][0]["title"])
        for word in (b"<nil", b"<i8>", b"<ex:"):
            self.assertNotIn(word, r.raw[0])

    def test_each_subscription_has_its_own_id(self):                     # PUSH-16
        receivers = [self.receiver() for _ in range(4)]
        ids = [self.subscribed(r) for r in receivers]
        self.publish("new", "old 2")
        self.wait(lambda: all(r.calls for r in receivers))
        self.assertEqual(ids, [r.calls[0][0] for r in receivers])
        self.assertEqual(4, len(set(ids)))

    def test_deletions_are_not_pushed(self):                             # PUSH-17
        u = self.o.set("/a.xml", atom(("a", "2020-01-02T00:00:00Z"), ("b", "2020-01-01T00:00:00Z")))
        r = self.receiver()
        self.subscribed(r, u)
        self.o.set("/a.xml", atom(("a", "2020-01-02T00:00:00Z"), head=(
            '<at:deleted-entry xmlns:at="http://purl.org/atompub/tombstones/1.0" ref="urn:x:atom:b" '
            'when="2026-01-01T00:00:00Z"/>')))
        self.d.ping(u)
        self.wait(lambda: len(self.d.feed(u).json["entries"]) == 1, daemon=self.d)
        self.o.set("/a.xml", atom(("a", "2020-01-02T00:00:00Z"), ("c", "2020-01-03T00:00:00Z")))
        self.d.ping(u)
        self.wait(lambda: r.calls, daemon=self.d)
        self.assertEqual((["c"], 1), (r.titles(), r.attempts))

    def test_from_asks_for_more(self):                                   # D46
        early, late = self.receiver(), self.receiver()
        self.subscribed(early, from_="start")
        self.wait(lambda: early.calls)
        self.assertEqual(["old 1", "old 2"], early.titles())
        self.publish("new", "old 2", "old 1")
        self.wait(lambda: len(early.titles()) == 3)
        self.subscribed(late, from_="2000-01-01T00:00:00Z")
        self.wait(lambda: len(late.titles()) == 3)
        self.assertEqual(["old 1", "old 2", "new"], late.titles())

    def test_delete_ends_it(self):                                       # REST-25
        gone, stays = self.receiver(), self.receiver()
        sub = self.subscribed(gone)
        self.subscribed(stays)
        self.assertEqual(204, self.d.call("DELETE", "/sub?id=%d" % sub).status)
        for shown in (["new"], ["newer", "new"]):
            self.publish(*shown, "old 2")
            self.d.wait_idle()
            self.assertEqual(len(shown), len(stays.calls))
        self.assertEqual((2, 0), (self.d.counter("push_total"), gone.attempts))

    def test_callbacks_to_closed_addresses(self):                        # SCHED-18, separate lists
        d = self.daemon("--allow-fetch", "127.0.0.0/8", open_loopback=False)
        r = self.receiver()
        d.subscribe(self.u, endpoint=r.url, from_="start")
        sub = self.wait(lambda: [s for s in d.get("/sub?type=json").json["subscriptions"]
                                 if s.get("last_error")])[0]
        self.assertIn("--allow-callback", sub["last_error"])
        self.assertEqual(0, r.attempts)

    @slow
    def test_a_thousand_endpoints(self):                                 # PUSH-18
        r = self.receiver()
        for n in range(1000):
            self.d.subscribe(self.u, endpoint=r.url + "s%d" % n)
        self.wait(lambda: self.d.record(self.u)["last_check"])
        self.publish("new", "old 2")
        self.wait(lambda: len(r.calls) == 1000, daemon=self.d)
        self.assertEqual(1000, len({i for i, _, _ in r.calls}))
        self.assertLessEqual(r.most_at_once, 256)


class Fickleness(Case):
    """Endpoints that hang, beside one that always answers: /good."""
    N = 800
    MOST = 300  # seconds: the longest delay of the good one, half of what one call may hang

    def start(self, hangs):
        """The daemon, and a server of endpoints."""
        self.o, self.d = self.origin(), self.daemon("--push-timeout", "10m")
        self.u = self.o.set("/f.xml", rss("old"))
        self.f = Fickle(lambda path, n: path != "/good" and hangs(n))
        self.addCleanup(self.f.close)
        self.n_published = 0

    def subscribe_good(self):
        self.d.subscribe(self.u, endpoint=self.f.url("/good"))
        self.wait(lambda: self.d.record(self.u)["last_check"])

    def subscribe_bad(self, hosts):
        for k in range(self.N):
            self.d.subscribe(self.u, endpoint=self.f.url("/%d" % k, 1 + k % hosts))

    def publish(self):
        """One more entry; how long after its fetch the good one waited for it."""
        self.n_published += 1
        self.o.set("/f.xml", rss(*["n%d" % k for k in range(self.n_published, 0, -1)], "old"))
        n = len(self.o.seen("/f.xml"))
        self.d.ping(self.u)
        self.wait(lambda: len(self.o.seen("/f.xml")) > n, daemon=self.d)
        began = time.monotonic()
        self.wait(lambda: self.f.n_calls("/good") >= self.n_published, 100, daemon=self.d)
        return self.f.arrivals["/good"][self.n_published - 1] - began

    def answer_and_hang_in_turn(self, hosts):
        self.start(lambda n: n % 2 == 0)
        self.subscribe_bad(hosts)
        self.subscribe_good()
        self.publish()
        self.wait(lambda: all(self.f.n_calls("/%d" % k) for k in range(self.N)), 60)
        for _ in range(5):
            self.assertLess(self.publish(), self.MOST)
        self.assertLessEqual(self.f.most_at_once, 256)

    @slow
    def test_many_hosts_that_answer_and_hang_in_turn(self):              # PUSH-12 DELIV-07
        self.answer_and_hang_in_turn(hosts=self.N)

    @slow
    def test_one_host_that_answers_and_hangs_in_turn(self):              # PUSH-12 DELIV-07
        self.answer_and_hang_in_turn(hosts=1)

    @slow
    def test_new_endpoints_that_hang(self):                              # PUSH-12 DELIV-07
        self.start(lambda n: True)
        self.subscribe_good()
        for _ in range(4):
            self.publish()
        self.subscribe_bad(hosts=self.N)
        for _ in range(3):
            self.assertLess(self.publish(), self.MOST)
