"""Filters in /smart, /log and /events: what comes, what has left, and where a client stands then (VIEW-04, VIEW-09)."""
import concurrent.futures
import time
import xml.etree.ElementTree as tree

from .env.case import Case
from .env.daemon import quote
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
