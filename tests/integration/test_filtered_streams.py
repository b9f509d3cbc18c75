"""Filters in /smart, /log and /events: what comes, what has left, and where a client stands then (VIEW-04, VIEW-09)."""
import concurrent.futures
import json
import time
import xml.etree.ElementTree as tree

from .env.case import Case, slow
from .env.daemon import quote
from .env.events import EventReader
from .env.origin import rss
from .env.publisher import Publisher

ATOM = "{http://www.w3.org/2005/Atom}"
FO = "{http://fanout.org/protocol/atom}"


class Streams(Case):
    def setUp(self):
        super().setUp()
        self.o, self.d = self.origin(), self.daemon()
        self.p = Publisher(self.o)

    def put(self, **titles):
        for name, title in titles.items():
            self.p.put(name, title)
        self.p.sync(self)

    def target(self, path, params, feeds=True):
        more = {"url": self.p.url} if feeds else {}
        return path + "?" + "&".join("%s=%s" % (k, quote(str(v))) for k, v in dict(more, **params).items())


class Smart(Streams):
    def pull(self, **params):
        answer = self.d.get(self.target("/smart/", dict({"timeout": 0}, **params)))
        self.assertEqual(200, answer.status, answer.body)
        return answer.json

    def told(self, page):
        return [(i["id"].split(":")[-1], "deleted" if i.get("deleted") else i["object"]["displayName"]) for i in page["items"]]

    def test_what_leaves_comes_as_a_deleted_item(self):                                    # VIEW-09 D53
        self.put(a="red", b="blue", c="blue", d="green")
        page = self.pull(q="red")
        self.assertEqual([("a", "red")], self.told(page))
        self.assertEqual(1, page["count"])
        self.assertNotIn("totalItems", page)        # it is not known without reading all of the stream
        since = "cursor:" + page["last_cursor"]
        self.put(a="was it red", b="red too", c="violet")
        page = self.pull(q="red", since=since)
        self.assertEqual({("a", "was it red"), ("b", "red too")}, set(self.told(page)))
        since = "cursor:" + page["last_cursor"]
        self.put(a="blue", c="yellow")
        page = self.pull(q="red", since=since)
        self.assertEqual([("a", "deleted")], self.told(page))
        self.assertNotIn("displayName", page["items"][0].get("object", {}))
        since = "cursor:" + page["last_cursor"]
        self.p.delete("b")
        self.p.delete("d")
        self.put(a="red again")
        self.assertEqual({("a", "red again"), ("b", "deleted")}, set(self.told(self.pull(q="red", since=since))))
        # from the beginning, too: a client may have been anywhere in between
        self.assertEqual({"a": "red again", "b": "deleted"}, dict(self.told(self.pull(q="red"))))
        atom = tree.fromstring(self.d.get(self.target("/smart/", {"q": "red", "type": "atom"})).body)
        self.assertIsNone(atom.find(FO + "total"))
        self.assertEqual([True, False], sorted((e.find(FO + "deleted") is None for e in atom.findall(ATOM + "entry")), reverse=True))

    def test_orders_and_pages(self):
        self.put(**{"e%d" % n: "red %d" % n if n % 3 == 0 else "blue %d" % n for n in range(30)})
        self.put(e3="red three")
        of = {order: [t for _, t in self.told(self.pull(q="red", order=order))]
              for order in ("modified", "-modified", "created", "-created")}
        self.assertEqual(10, len(of["created"]))
        self.assertEqual("red three", of["modified"][-1])
        self.assertEqual("red three", of["created"][1])
        for order in ("modified", "created"):
            self.assertEqual(of[order][::-1], of["-" + order])
        for order, all_of in of.items():
            found, since = [], {}
            while len(found) < 20:
                page = self.pull(q="red", order=order, max=3, **since)
                if not page["items"]:
                    break
                found += [t for _, t in self.told(page)]
                self.assertEqual("next" in page, len(found) < 10)
                since = {"since": "cursor:" + page["last_cursor"]}
            self.assertEqual(all_of, found)
        # the cursor of an item that does not match is a position as any other
        blue = "cursor:" + self.pull(max=2)["last_cursor"]
        self.assertEqual([t for t in of["modified"] if t != "red 0"], [t for _, t in self.told(self.pull(q="red", since=blue))])
        self.assertEqual(["red 0"], [t for _, t in self.told(self.pull(q="red", until=blue))])

    def test_dates_are_those_of_the_entries(self):                                         # VIEW-04
        self.put(a="red", b="red", c="red")         # a second apart, long ago
        dates = [self.p.entries[n][1] for n in "abc"]
        self.assertEqual(["b", "c"], [n for n, _ in self.told(self.pull(after=dates[1]))])
        self.assertEqual(["a"], [n for n, _ in self.told(self.pull(before=dates[1]))])
        self.assertEqual([], self.told(self.pull(after="7d")))
        self.assertEqual(3, len(self.told(self.pull(before="7d"))))

    def test_an_empty_answer_moves_on(self):                                               # VIEW-09
        self.put(a="red", b="blue")
        first = self.pull(q="red")["last_cursor"]
        for n in range(5):
            self.put(b="blue %d" % n)
        page = self.pull(q="red", since="cursor:" + first)
        self.assertEqual([], page["items"])
        self.assertEqual(self.pull(order="-modified", max=1)["last_cursor"], page["last_cursor"])
        self.assertEqual(page["last_cursor"], self.pull(q="red", since="cursor:" + page["last_cursor"])["last_cursor"])
        self.assertEqual(page["last_cursor"], self.pull(q="none at all")["last_cursor"])
        self.put(b="red")
        self.assertEqual([("b", "red")], self.told(self.pull(q="red", since="cursor:" + page["last_cursor"])))
        # not further than it looked
        until = self.pull(q="red", until="cursor:" + first)
        self.assertNotEqual(page["last_cursor"], until["last_cursor"])

    def test_a_long_poll_sleeps_while_nothing_matches(self):                               # VIEW-09
        self.put(a="red")
        since = "cursor:" + self.pull(q="red")["last_cursor"]
        with concurrent.futures.ThreadPoolExecutor() as pool:
            poll = pool.submit(self.pull, q="red", since=since, timeout=50)
            for n in range(4):
                self.put(b="blue %d" % n)
            self.assertFalse(poll.done())
            self.put(b="red 1")
            self.assertEqual([("b", "red 1")], self.told(poll.result()))
            began = time.monotonic()
            poll = pool.submit(self.pull, q="red", since="cursor:" + self.pull(q="red")["last_cursor"], timeout=2)
            self.put(c="blue")
            page = poll.result()
            self.assertGreaterEqual(time.monotonic() - began, 2)
            self.assertEqual([], page["items"])
            self.assertEqual(self.pull(order="-modified", max=1)["last_cursor"], page["last_cursor"])

    def test_another_filter_is_another_stream(self):
        self.put(a="red", b="blue")

        def id_of(**params):
            return tree.fromstring(self.d.get(self.target("/smart/", dict(params, type="atom"))).body).find(ATOM + "id").text
        ids = [id_of(), id_of(q="red"), id_of(q="blue"), id_of(q="RED"), id_of(q="red", max=1), id_of(q="red", after="7d")]
        self.assertEqual(4, len(set(ids)))
        self.assertEqual([ids[1]] * 2, ids[3:5])
        self.assertIn("q=red", self.pull(q="red", max=1)["url"])
        self.assert_problem(self.d.get(self.target("/smart/", {"q": '"red'})), 400, "bad-parameter", parameter="q", at=0)


class Log(Streams):
    def log(self, feeds=True, **params):
        answer = self.d.get(self.target("/log", params, feeds))
        self.assertEqual(200, answer.status, answer.body)
        return answer.json

    def told(self, page):
        return [(r["kind"], r["uid"].split(":")[-1], r.get("entry", {}).get("title")) for r in page["revisions"]]

    def test_what_leaves_is_told(self):                                                    # VIEW-09 D53
        self.put(a="red", b="blue", c="green")
        page = self.log(q="red")
        self.assertEqual([("new", "a", "red")], self.told(page))
        self.put(a="was red", b="red too", c="yellow")
        self.put(a="blue")
        self.put(a="black", c="grey")
        self.p.delete("b")
        self.p.delete("c")
        self.p.delete("a")
        self.p.sync(self)
        page = self.log(q="red", since=page["cursor"])
        self.assertEqual([("changed", "a", "was red"), ("changed", "b", "red too")], sorted(self.told(page)[:2]))
        self.assertEqual([("left", "a", None), ("deleted", "b", None)], self.told(page)[2:])
        left = page["revisions"][2]
        self.assertNotIn("entry", left)
        self.assertIn({"seq": left["seq"], "kind": "changed"},
                      [{"seq": r["seq"], "kind": r["kind"]} for r in self.log(max=1000)["revisions"]])
        self.assertEqual(self.told(self.log(q="red", max=1000)), self.told(self.log(feeds=False, q="red", max=1000)))

    def test_the_position_moves_past_what_does_not_match(self):                            # VIEW-07 VIEW-09
        self.put(**{"e%d" % n: "red %d" % n if n % 50 == 0 else "blue %d" % n for n in range(120)})
        for q, titles in (("red", ["red 0", "red 50", "red 100"]), ("-blue", ["red 0", "red 50", "red 100"]), ("black", [])):
            for feeds in (True, False):
                found, since, n_answers = [], "start", 0
                while True:
                    page = self.log(feeds, q=q, since=since, max=2)
                    found += [t for _, _, t in self.told(page)]
                    n_answers, since = n_answers + 1, page["cursor"]
                    if page["seq"] == page["last_seq"]:
                        break
                self.assertEqual(titles, found)
                self.assertEqual(2 if titles else 1, n_answers)     # the page that is not full goes to the end
                self.assertEqual(self.log(since="end")["cursor"], since)

    def test_a_long_poll_sleeps_while_nothing_matches(self):                               # VIEW-09
        self.put(a="red")
        for feeds in (True, False):
            with concurrent.futures.ThreadPoolExecutor() as pool:
                poll = pool.submit(self.log, feeds, q="red", since="end", timeout=50)
                for n in range(3):
                    self.put(**{"b%d" % feeds: "blue %d" % n})
                self.assertFalse(poll.done())
                self.put(**{"b%d" % feeds: "red"})
                self.assertEqual([("changed", "b%d" % feeds, "red")], self.told(poll.result()))
                poll = pool.submit(self.log, feeds, q="red", since="end", timeout=2)
                self.put(c="blue %s" % feeds)
                page = poll.result()
                self.assertEqual(([], page["last_seq"]), (page["revisions"], page["seq"]))

    def test_dates_and_wrong_filters(self):                                                # VIEW-04
        self.put(a="red", b="red")
        self.assertEqual(["b"], [uid for _, uid, _ in self.told(self.log(after=self.p.entries["b"][1]))])
        self.assertEqual([], self.told(self.log(after="7d")))
        for path in ("/log", "/events"):
            self.assert_problem(self.d.get(self.target(path, {"has": "pictures"})), 400, "bad-parameter", parameter="has")


class Events(Streams):
    def reader(self, *, feeds=True, last_id=None, **params):
        reader = EventReader(self.d, self.target("", params, feeds), last_id)
        self.addCleanup(reader.close)
        return reader.begin()

    def log(self, **params):
        return self.d.get(self.target("/log", dict({"max": 1000}, **params))).json["revisions"]

    def test_news_and_the_past_are_those_of_the_log(self):                                 # VIEW-09 D53
        self.put(a="red", b="blue", c="green")
        readers = [self.reader(q="red", since="start"), self.reader(q="red", since="start", feeds=False),
                   self.reader(q="red", since="start")]
        all_of = self.reader(since="start")
        blue = self.reader(q="blue", since="start")
        self.put(a="was red", b="red too", c="yellow")
        self.put(a="blue")
        self.p.delete("b")
        self.p.delete("c")
        self.put(a="black")
        self.put(d="red at last")
        readers.append(self.reader(q="red", since="start"))
        for reader in readers:
            events = reader.until(6)
            self.assertEqual(["new", "changed", "changed", "left", "deleted", "new"], [e.kind for e in events])
            self.assertEqual(self.log(q="red"), [json.loads(e.data) for e in events])
            self.assertEqual([r["cursor"] for r in self.log(q="red")], [e.id for e in events])
        self.assertEqual(self.log(), [json.loads(e.data) for e in all_of.until(len(self.log()))])
        self.assertEqual(["new", "left", "changed", "left"], [e.kind for e in blue.until(4)])

    def test_streams_that_ask_the_same_share_one_reading(self):
        self.put(a="red")
        readers = [self.reader(q="red") for _ in range(20)]
        before = self.d.counter("event_reads_total")
        self.put(a="red too")
        for reader in readers:
            self.assertEqual("changed", reader.until(1)[0].kind)
        # the log once, and then once for the streams of each loop
        self.assertLessEqual(self.d.counter("event_reads_total") - before, 1 + 4)

    @slow                                           # a comment comes every 15 s
    def test_the_id_moves_past_what_does_not_match(self):                                  # VIEW-09
        self.put(a="red")
        reader, other = self.reader(q="red"), self.reader(q="blue -blue")
        began = reader.last_id
        self.put(b="blue 1")
        self.put(b="blue 2")
        end = self.d.get("/log?since=end").json["cursor"]
        for one in (reader, other):
            while one.last_id != end:
                self.assertTrue(one.read())
            self.assertEqual([], one.events)
        self.assertNotEqual(began, end)
        # a client that comes again has no more than that to be read
        again = self.reader(q="red", last_id=reader.last_id)
        self.put(b="red")
        self.assertEqual(["changed"], [e.kind for e in again.until(1)])
        self.assertEqual(["changed"], [e.kind for e in reader.until(1)])

    def test_feeds_with_a_password_are_left_out(self):
        self.put(a="red")
        secret = self.o.set("/secret.xml", rss("red secret", "blue secret")).replace("://", "://me:pw@")
        self.assertEqual(200, self.d.feed(secret).status)
        for named in ({}, {"url": self.p.url + "," + secret}):
            reader = self.reader(feeds=False, q="red", since="start", **named)
            self.put(b="red %d" % len(named))
            rows = self.d.get(self.target("/log", dict({"q": "red"}, **named), False)).json["revisions"]
            self.assertEqual(rows, [json.loads(e.data) for e in reader.until(len(rows))])
            titles = [r["entry"]["title"] for r in rows]
            self.assertEqual(bool(named), "red secret" in titles)
            self.assertNotIn("blue secret", titles)
            self.assertEqual("red %d" % len(named), titles[-1])
