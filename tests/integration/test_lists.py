"""Lists of feeds that subscriptions follow (VIEW-17), and the list of all feeds."""
import contextlib
import os
import sqlite3
import threading
import time

from .env.case import Case
from .env.daemon import quote
from .env.hook import Hook
from .env.nodes import NodesCase
from .env.origin import Reply, rss

FORM = {"Content-Type": "application/x-www-form-urlencoded"}


def outline(url, name="", folder=None):
    one = '<outline type="rss" text="%s" xmlUrl="%s"/>' % (name or url, url)
    return '<outline text="%s">%s</outline>' % (folder, one) if folder else one


def opml(*outlines, title="Team"):
    return ('<?xml version="1.0"?><opml version="2.0"><head><title>%s</title></head><body>%s</body></opml>'
            % (title, "".join(outlines)))


class Following:
    """What the tests of this file share: a list at /list.opml, and feeds that it may name."""

    def publish(self, n=5):
        self.o = self.origin()
        self.f = [self.o.set("/f%d.xml" % i, rss("old %d" % i, title="Feed %d" % i)) for i in range(n)]
        self.list_url = self.o.url("/list.opml")

    def put(self, *outlines, **fields):
        self.o.set("/list.opml", opml(*outlines), **fields)

    def follow(self, d, **params):
        fields = "&".join("%s=%s" % (k, quote(str(v))) for k, v in [("opml", self.list_url)] + list(params.items()))
        answer = d.call("POST", "/sub", fields, FORM)
        self.assertEqual(201, answer.status, answer.body)
        self.assertEqual(self.list_url, answer.json["list"])
        return answer.json["id"]

    def sub(self, d, n):
        answer = d.get("/sub?type=json&id=%d" % n)
        self.assertEqual(200, answer.status, answer.body)
        return answer.json["subscriptions"][0]

    def urls(self, d, n):
        return set(self.sub(d, n)["urls"])

    def ask(self, d):
        """Ping the list, and wait until it has been asked for and all that follows is done."""
        n = len(self.o.seen("/list.opml"))
        d.ping(self.list_url)
        self.wait(lambda: len(self.o.seen("/list.opml")) > n, what="a request for the list", daemon=d)
        d.wait_idle()

    def has(self, d, n, *wanted):
        self.wait(lambda: self.urls(d, n) == set(wanted), what="the feeds %s" % sorted(wanted), daemon=d)


class Lists(Following, Case):
    def setUp(self):
        self.publish()
        self.d = self.daemon("--ping-gap", "0s", "--list-ttl", "0s")

    # ---- what a list changes ----
    def test_feeds_come_move_are_renamed_and_go(self):                   # VIEW-17
        f, d = self.f, self.d
        self.put(outline(f[0], "Zero", "News"), outline(f[1], "One"))
        n = self.follow(d)
        self.has(d, n, f[0], f[1])
        self.put(outline(f[0], "Null", "Old news"), outline(f[2], "Two"), outline(f[1], "One"))
        self.ask(d)
        s = self.sub(d, n)
        told = {u: (name, folder) for u, name, folder in zip(s["urls"], s["names"], s["folders"])}
        self.assertEqual({f[0]: ("Null", ["Old news"]), f[1]: ("One", []), f[2]: ("Two", [])}, told)
        self.put(outline(f[2], "Two"))
        self.ask(d)
        self.assertEqual(set(f[:3]), self.urls(d, n))                    # one answer takes nothing away
        self.assertEqual(2, self.sub(d, n)["list"]["absent"])
        self.ask(d)
        self.assertEqual({f[2]}, self.urls(d, n))

    def test_a_304_is_an_equal_answer(self):                             # VIEW-17
        f, d = self.f, self.d
        self.put(outline(f[0]), outline(f[1]), ETag='"1"')
        n = self.follow(d)
        self.has(d, n, f[0], f[1])
        self.put(outline(f[0]), ETag='"2"')
        self.ask(d)
        self.assertEqual({f[0], f[1]}, self.urls(d, n))
        self.ask(d)
        seen = self.o.seen("/list.opml")[-1]
        self.assertEqual(('"2"', 304), (seen.headers["If-None-Match"], seen.status))
        self.assertEqual({f[0]}, self.urls(d, n))

    def test_the_same_bytes_are_an_equal_answer(self):                   # VIEW-17
        f, d = self.f, self.d
        self.put(outline(f[0]), outline(f[1]))
        n = self.follow(d)
        self.has(d, n, f[0], f[1])
        self.put(outline(f[1]))
        self.ask(d)
        self.put(outline(f[1]), outline(f[2]))                           # another answer: not equal
        self.ask(d)
        self.assertEqual(set(f[:3]), self.urls(d, n))
        self.ask(d)
        self.assertEqual({f[1], f[2]}, self.urls(d, n))

    def test_an_empty_list_removes_nothing_however_often(self):          # VIEW-17
        f, d = self.f, self.d
        self.put(outline(f[0]), outline(f[1]), ETag='"1"')
        n = self.follow(d)
        self.has(d, n, f[0], f[1])
        self.put(ETag='"2"')
        for _ in range(4):
            self.ask(d)
            self.assertEqual({f[0], f[1]}, self.urls(d, n))
        self.put(outline(f[0]), ETag='"3"')
        self.ask(d)
        self.assertEqual({f[0], f[1]}, self.urls(d, n))
        self.ask(d)
        self.assertEqual({f[0]}, self.urls(d, n))

    def test_a_broken_list_removes_nothing(self):                        # VIEW-17
        f = self.f
        d = self.d = self.daemon("--ping-gap", "0s", "--fetch-timeout", "1s")
        whole = opml(outline(f[0]), outline(f[1]))
        self.o.set("/list.opml", whole, ETag='"1"')
        n = self.follow(d)
        self.has(d, n, f[0], f[1])
        login = "<!DOCTYPE html><html><head><title>Log in</title></head><body><form></form></body></html>"
        feed = rss("not a list")
        for bad, why in ((Reply(500, "down"), "500"), (Reply(200, login, Content_Type="text/html", ETag='"h"'), "HTML page"),
                         (Reply(200, whole[:whole.index("<outline", whole.index("<outline") + 1)], ETag='"t"'), "breaks off"),
                         (Reply(200, ""), "empty document"), (Reply(200, feed), "a feed"), (Reply(200, "{}"), "JSON"),
                         (Reply(404, "gone?"), "404"), (Reply(200, whole, delay=3), "")):
            self.o.set("/list.opml", bad)
            for _ in range(2):
                self.ask(d)
                told = self.sub(d, n)
                self.assertEqual({f[0], f[1]}, set(told["urls"]), why)
                self.assertEqual(0, told["list"]["absent"], why)
                self.assertIn(why, told["list"]["last_error"])
                self.assertGreater(told["list"]["errors"], 0)
        self.o.set("/list.opml", opml(outline(f[1])))
        self.ask(d)
        self.assertIsNone(self.sub(d, n)["list"]["last_error"])
        self.assertEqual({f[0], f[1]}, self.urls(d, n))
        self.o.set("/list.opml", Reply(500, "down"))                     # it does not count as an answer
        self.ask(d)
        self.o.set("/list.opml", opml(outline(f[1])))
        self.ask(d)
        self.assertEqual({f[1]}, self.urls(d, n))

    def test_a_list_that_fails_at_first(self):                           # VIEW-17
        f, d = self.f, self.d
        self.o.set("/list.opml", Reply(503, "later"))
        n = self.follow(d)
        self.wait(lambda: self.sub(d, n)["list"]["last_error"], daemon=d)
        told = self.sub(d, n)
        self.assertEqual(([], 0, 503), (told["urls"], told["list"]["feeds"], told["list"]["status"]))
        self.put(outline(f[0]))
        self.ask(d)
        self.assertEqual({f[0]}, self.urls(d, n))

    # ---- what the request says ----
    def test_the_listing_shows_the_list(self):                           # VIEW-17
        f, d = self.f, self.d
        self.put(outline(f[0], folder="In"), outline(f[1]))
        n = self.follow(d, freq=3600, folder="Out/er")
        self.has(d, n, f[0], f[1])
        told = self.sub(d, n)
        self.assertEqual((self.list_url, "Team", ["Out", "er"], 2, 0, "ok", 200, 0, None, 3600),
                         tuple(told["list"][k] for k in ("url", "title", "folder", "feeds", "absent", "state", "status",
                                                         "errors", "last_error", "period")))
        self.assertEqual({f[0]: ["Out", "er", "In"], f[1]: ["Out", "er"]}, dict(zip(told["urls"], told["folders"])))
        self.assertTrue(told["list"]["next_check"] > told["list"]["last_check"])
        periods = {x["url"]: x["period"] for x in d.get("/sub?type=json").json["feeds"]}
        self.assertEqual({f[0], f[1]}, set(periods))                     # the list is not among them,
        self.assertNotIn(3600, periods.values())                         # and its period is its own
        self.assertNotIn(self.list_url.encode(), d.get("/sub").body)
        self.assertIsNone(self.sub(d, d.subscribe(f[2]))["list"])

    def test_patch_changes_the_list(self):                               # VIEW-17 VIEW-18
        f, d = self.f, self.d
        self.put(outline(f[0], "Zero", "In"), outline(f[1], "One"))
        n = self.follow(d, folder="A")
        self.has(d, n, f[0], f[1])
        answer = d.call("PATCH", "/sub?id=%d&folder=B/C&title=Mine&freq=7200" % n)
        self.assertEqual(200, answer.status, answer.body)
        told = answer.json
        self.assertEqual({f[0]: ["B", "C", "In"], f[1]: ["B", "C"]}, dict(zip(told["urls"], told["folders"])))
        self.assertEqual(("Mine", 7200), (told["list"]["title"], told["list"]["period"]))
        self.assertEqual(["Zero", "One"], told["names"])
        self.put(outline(f[0], "Zero", "In"), outline(f[1], "One", "Deep"))
        self.ask(d)
        told = self.sub(d, n)
        self.assertEqual({f[0]: ["B", "C", "In"], f[1]: ["B", "C", "Deep"]}, dict(zip(told["urls"], told["folders"])))
        told = d.call("PATCH", "/sub?id=%d&folder=" % n).json
        self.assertEqual({f[0]: ["In"], f[1]: ["Deep"]}, dict(zip(told["urls"], told["folders"])))

    def test_requests_that_make_no_sense(self):                          # VIEW-17
        d = self.d
        for more in ("url=" + quote(self.f[0]), "known=skip", "sanitize=no"):
            answer = d.call("POST", "/sub", "opml=%s&%s" % (quote(self.list_url), more), FORM)
            self.assert_problem(answer, 400, parameter=more.split("=")[0])
        self.assert_problem(d.call("POST", "/sub?opml=" + quote(self.list_url), opml(outline(self.f[0])),
                                   {"Content-Type": "text/x-opml"}), 400, parameter="opml")
        self.assert_problem(d.call("POST", "/sub?opml=ftp://a/"), 400, parameter="opml")
        self.put(outline(self.f[0]))
        n = self.follow(d)
        self.has(d, n, self.f[0])
        self.assert_problem(d.call("DELETE", "/sub?id=%d&url=%s" % (n, quote(self.f[0]))), 400, parameter="url")
        self.assertEqual({self.f[0]}, self.urls(d, n))

    # ---- beside other subscriptions ----
    def test_a_feed_in_two_lists_and_by_hand(self):                      # VIEW-17
        f, d = self.f, self.d
        self.put(outline(f[0], "Mine"), outline(f[1]))
        other = self.o.set("/other.opml", opml(outline(f[0], "Theirs")))
        n = self.follow(d)
        self.has(d, n, f[0], f[1])
        hand = d.subscribe(f[0], known="skip")                           # a feed of a list is not known by hand
        m = d.call("POST", "/sub?opml=" + quote(other)).json["id"]
        self.has(d, n, f[0], f[1])
        self.has(d, m, f[0])
        self.put(outline(f[1]))
        self.ask(d)
        self.ask(d)
        self.assertEqual(({f[1]}, {f[0]}, {f[0]}), (self.urls(d, n), self.urls(d, m), self.urls(d, hand)))
        self.assertEqual(204, d.call("DELETE", "/sub?id=%d" % n).status)
        self.assertEqual(({f[0]}, {f[0]}), (self.urls(d, m), self.urls(d, hand)))
        self.assertEqual(0, d.record(f[1])["subscribers"])
        d.ping(self.list_url)                                            # nobody follows it any more
        d.wait_idle()

    def test_two_follow_one_list(self):                                  # VIEW-17
        f, d = self.f, self.d
        self.put(outline(f[0]), outline(f[1]), ETag='"1"')
        n = self.follow(d)
        self.has(d, n, f[0], f[1])
        m = self.follow(d, folder="Second")                              # the list has not changed
        self.has(d, m, f[0], f[1])
        self.assertEqual([["Second"], ["Second"]], self.sub(d, m)["folders"])
        self.put(outline(f[1]), ETag='"2"')
        self.ask(d)
        self.ask(d)
        self.assertEqual(({f[1]}, {f[1]}), (self.urls(d, n), self.urls(d, m)))

    def test_a_feed_is_not_taken_from_others_by_following_it(self):      # VIEW-17
        d, u = self.d, self.f[0]
        answer = d.call("POST", "/sub?opml=" + quote(u))
        self.assertEqual(201, answer.status, answer.body)
        self.wait(lambda: self.sub(d, answer.json["id"])["list"]["last_error"], daemon=d)
        n = d.subscribe(u)
        d.wait_idle()
        self.assertEqual("old 0", d.feed(u).json["entries"][0]["title"])
        self.assertEqual({u}, self.urls(d, n))
        told = self.sub(d, answer.json["id"])
        self.assertEqual([], told["urls"])
        self.assertIn("a feed, not a list", told["list"]["last_error"])

    def test_a_list_is_not_read_as_a_feed(self):                         # VIEW-17
        d = self.d
        self.put(outline(self.f[0]))
        n = self.follow(d)
        self.has(d, n, self.f[0])
        self.assert_problem(d.feed(self.list_url), 422, "no-feed")
        self.assertEqual({self.f[0]}, self.urls(d, n))
        feed = d.get("/feeds?type=json&sub=%d" % n).json
        self.assertEqual(["old 0"], [e["title"] for e in feed["entries"]])

    def test_included_lists(self):                                       # VIEW-17 OPML-06
        f, d = self.f, self.d
        self.o.set("/more.opml", opml(outline(f[1], folder="Deep"), '<outline type="include" text="x" url="list.opml"/>'))
        more = '<outline text="More"><outline type="include" text="more" url="more.opml"/></outline>'
        self.put(outline(f[0]), more, ETag='"1"')
        n = self.follow(d)
        self.has(d, n, f[0], f[1])
        told = self.sub(d, n)
        self.assertEqual({f[0]: [], f[1]: ["More", "Deep"]}, dict(zip(told["urls"], told["folders"])))
        self.o.set("/more.opml", opml(outline(f[2])))                    # the list itself has not changed
        self.ask(d)
        self.assertEqual(set(f[:3]), self.urls(d, n))
        for bad in (Reply(500, "down"), opml(), "<html><title>Log in</title></html>"):
            self.o.set("/more.opml", bad)
            for _ in range(3):
                self.ask(d)
                self.assertEqual(set(f[:3]), self.urls(d, n))
        self.o.set("/more.opml", opml(outline(f[2])))
        self.ask(d)
        self.ask(d)
        self.assertEqual({f[0], f[2]}, self.urls(d, n))

    # ---- deliveries ----
    def test_feeds_of_the_list_are_pushed(self):                         # VIEW-17
        f, d = self.f, self.d
        hook = Hook()
        self.addCleanup(hook.close)
        self.put(outline(f[0]))
        n = self.follow(d, endpoint=hook.url, sink="webhook", q="crane")
        self.has(d, n, f[0])
        self.put(outline(f[0]), outline(f[1]))
        self.ask(d)
        for i in (0, 1):
            self.o.set("/f%d.xml" % i, rss("a crane %d" % i, "other %d" % i, "old %d" % i, title="Feed %d" % i))
            d.ping(f[i])
            self.wait(lambda: "a crane %d" % i in hook.titles(), what="a delivery", daemon=d)
        self.assertEqual(["a crane 0", "a crane 1"], sorted(hook.titles()))
        self.put(outline(f[0]))
        self.ask(d)
        self.ask(d)
        self.o.set("/f1.xml", rss("crane again", title="Feed 1"))
        d.ping(f[1])
        d.wait_idle()
        self.assertNotIn("crane again", hook.titles())

    # ---- kill -9 ----
    def test_nothing_is_lost_by_a_kill(self):                            # VIEW-17
        f, d = self.f, self.d
        self.put(outline(f[0]), outline(f[1]), ETag='"1"')
        n = self.follow(d)
        d.kill()                                                         # the request was acknowledged
        d.start()
        self.has(d, n, f[0], f[1])
        self.put(outline(f[1]), outline(f[2]), ETag='"2"')
        self.ask(d)
        d.kill()                                                         # between the two equal answers
        d.start()
        self.assertEqual(set(f[:3]), self.urls(d, n))
        self.ask(d)
        self.assertEqual({f[1], f[2]}, self.urls(d, n))
        self.assertEqual(304, self.o.seen("/list.opml")[-1].status)


class Strangers(Following, Case):
    """ACC-04: what lists of anonymous callers have fetched is bounded."""

    def test_lists_of_strangers_come_little_by_little(self):             # VIEW-17 ACC-04
        self.publish(30)
        d = self.daemon("--token", "t0ken-of-the-owner", "--anonymous", "subscribe", "--unknown-rate", "50", "--ping-gap", "0s")
        self.put(*[outline(u) for u in self.f])
        n = self.follow(d)
        told = self.wait(lambda: self.urls(d, n), daemon=d)
        d.wait_idle()
        self.assertLessEqual(len(told), 6)
        self.assertLess(len([u for u in self.f if self.o.seen("/" + u.rsplit("/", 1)[1])]), 8)
        own = d.call("POST", "/sub?opml=" + quote(self.list_url), headers={"Authorization": "Bearer t0ken-of-the-owner"})
        self.assertEqual(201, own.status, own.body)
        self.has(d, n, *self.f)                                          # known by then

    def test_included_lists_count(self):                                 # ACC-04 OPML-06
        self.publish(1)
        d = self.daemon("--unknown-rate", "50", "--token", "t0ken-of-the-owner", "--anonymous", "subscribe")
        more = [self.o.set("/more%d" % i, opml(outline(self.f[0]))) for i in range(12)]
        body = opml(*['<outline type="include" text="more" url="%s"/>' % u for u in more])
        answer = d.call("POST", "/sub", body, {"Content-Type": "text/x-opml"})
        self.assertEqual(201 if answer.status == 201 else 429, answer.status, answer.body)
        self.assertLessEqual(sum(len(self.o.seen("/more%d" % i)) for i in range(12)), 6)
        own = {"Content-Type": "text/x-opml", "Authorization": "Bearer t0ken-of-the-owner"}
        answer = d.call("POST", "/sub", body, own)
        self.assertEqual((201, 0), (answer.status, answer.json["problem_count"]), answer.body)


class Nodes(Following, NodesCase):
    def test_the_owner_of_the_host_asks(self):                           # VIEW-17 NODE-02
        self.publish()
        a, b = self.two("--ping-gap", "0s")
        self.put(outline(self.f[0]), outline(self.f[1]), ETag='"1"')
        n = self.follow(a)
        for d in (a, b):
            self.has(d, n, self.f[0], self.f[1])
        self.put(outline(self.f[1]), outline(self.f[2]), ETag='"2"')
        for d in (a, b):
            seen = len(self.o.seen("/list.opml"))
            d.ping(self.list_url)
            self.wait(lambda: len(self.o.seen("/list.opml")) > seen, what="a request for the list", daemon=d)
            for node in (a, b):
                node.wait_idle()
        for d in (a, b):
            self.has(d, n, self.f[1], self.f[2])


class LongList(Case):
    """GET /sub of many feeds."""
    engine = "sqlite"   # its file is filled here
    N = 200000

    def test_it_may_last(self):                                          # NODE-01
        d = self.daemon()
        d.stop()
        with contextlib.closing(sqlite3.connect(d.db)) as db, db:
            db.executemany("INSERT INTO feeds (url, credential, title, fetched, next_fetch_at, next_reason, version, id_url)"
                           " VALUES (?1, '', 'Feed', 1, 4000000000, 0, ?2, ?1)",
                           (("http://h%d.example/%d" % (n % 5000, n), n) for n in range(1, self.N + 1)))
        ahead = os.path.join(d.folder, "ahead")
        again = self.daemon("--test-clock", ahead, db=d.db)
        again.wait_log("event=test_clock")
        answers = []
        asks = threading.Thread(target=lambda: answers.append(again.get("/sub?type=json&all=1")))
        asks.start()
        time.sleep(0.2)     # if it has not come by then, the test shows nothing
        self.assertTrue(asks.is_alive(), "it was answered too soon: take a larger N")
        with open(ahead + ".new", "w", encoding="ascii") as out:
            out.write("100\n")
        os.replace(ahead + ".new", ahead)
        asks.join()
        self.assertEqual(200, answers[0].status, answers[0].body[:200])
        self.assertEqual(self.N, len(answers[0].json["feeds"]))
