"""Smart Feeds of others, followed by cursor: each item once, in order, across whatever breaks: SMARTC-*."""
import random
import threading

from .env.case import Case
from .env.smart_server import SmartServer
from .env.websub_hub import Hub


class Followed(Case):
    ARGS = ()

    def smart(self, n=0, **kw):
        server = SmartServer(**kw)
        self.addCleanup(server.close)
        for i in range(n):
            server.put("i%04d" % i, "t%d" % i, same_second=i % 7 > 0)
        return server

    def mirrored(self, d, url):
        entries, page = {}, 1
        while True:
            answer = d.feed(url, len=1000, page=page)
            self.assertEqual(200, answer.status, answer.body[:500])
            got = {e["id"]: e["title"] for e in answer.json["entries"]}
            entries.update(got)
            if len(got) < 1000:
                return entries
            page += 1

    def wait_equal(self, d, url, s, seconds=20, ping=False):
        def there():
            if ping:
                d.ping(url)
            return self.mirrored(d, url) == s.state()
        self.wait(there, seconds, "the state of the server", d)
        d.wait_idle()       # the last ping may have asked for one more poll

    def log(self, d):
        """The log of the daemon: (kind, initial, title) of each revision. In PostgreSQL the title stands in another table."""
        texts = "revisions JOIN bodies ON bodies.id = revisions.body" if self.engine == "pg" else "revisions"
        rows = d.sql("SELECT kind, initial, title FROM %s ORDER BY seq" % texts)
        return [(int(kind), int(initial), title) for kind, initial, title in rows]

    def check_log(self, d, n_items):
        """Nothing was stored twice: one new revision an item, and no change that changes nothing."""
        log = self.log(d)
        self.assertEqual(n_items, sum(kind == 0 for kind, _, _ in log))


class Pull(Followed):
    def test_a_backlog_of_3000_items_is_read_with_the_first_fetch(self):     # SMARTC-01 -11
        s, d = self.smart(3000), self.daemon(*self.ARGS)
        d.subscribe(s.url())
        self.wait_equal(d, s.url(), s)
        self.check_log(d, 3000)
        self.assertTrue(all(initial for _, initial, _ in self.log(d)))
        self.assertLess(len(s.asked), 8)
        self.assertEqual("", s.queries()[0])
        self.assertTrue(all("timeout=0" in q and "since=cursor%3A" in q for q in s.queries()[1:]))
        self.assertNotIn("partial", d.feed(s.url()).json)
        self.assertEqual(s.last(), d.record(s.url())["cursor"])
        self.assertEqual(s.url(), d.record(s.url())["url"])

    def test_later_only_what_is_new_is_asked_for(self):                      # SMARTC-02 -05
        s, d, r = self.smart(120), self.daemon(*self.ARGS), self.receiver()
        d.subscribe(s.url(), endpoint=r.url)
        self.wait_equal(d, s.url(), s)
        self.assertEqual(s.last(), d.record(s.url())["cursor"])
        last, n = s.last(), len(s.asked)
        s.put("new", "new")
        s.put("i0003", "edited")
        s.delete("i0005")
        self.wait_equal(d, s.url(), s, ping=True)
        self.assertEqual("since=cursor%%3A%s&timeout=0" % last, s.queries()[n])
        self.assertTrue(all("If-None-Match" not in a.headers for a in s.asked))
        self.wait(lambda: len(r.titles()) >= 2, daemon=d)
        self.assertEqual(["new", "edited"], r.titles())             # the backlog is not news

    def test_json_is_followed_as_atom_is(self):                              # SMARTC-01 -04
        s, d = self.smart(130, kinds=("json",)), self.daemon(*self.ARGS)
        d.subscribe(s.url())
        self.wait_equal(d, s.url(), s)
        s.put("i0001", "ed & ited")
        s.delete("i0002")
        s.put("more", "more")
        self.wait_equal(d, s.url(), s, ping=True)
        self.assertEqual("Ann", d.feed(s.url()).json["entries"][0]["author"])

    def test_a_server_that_links_to_nothing_is_asked_until_it_is_empty(self): # SMARTC-06
        s, d = self.smart(230, links=False), self.daemon(*self.ARGS)
        d.subscribe(s.url())
        self.wait_equal(d, s.url(), s)
        self.check_log(d, 230)

    def test_a_server_that_clamps_or_refuses_max(self):                      # SMARTC-06
        for kw in {"most": 70}, {"refuses_max": True}:
            s, d = self.smart(400, **kw), self.daemon(*self.ARGS)
            d.subscribe(s.url())
            self.wait_equal(d, s.url(), s)
            self.check_log(d, 400)
            self.assertLess(len(s.asked), 14)

    def test_items_of_a_feed_that_was_empty_are_news(self):                  # SMARTC-05
        s, d, r = self.smart(0), self.daemon(*self.ARGS), self.receiver()
        d.subscribe(s.url(), endpoint=r.url)
        self.wait(lambda: s.asked and d.record(s.url())["status"] == 200, daemon=d)
        for n in range(60):
            s.put("n%d" % n, "n%d" % n)
        self.wait_equal(d, s.url(), s, ping=True)
        self.wait(lambda: len(r.titles()) >= 60, daemon=d)
        self.assertEqual(["n%d" % n for n in range(60)], r.titles())

    def test_ids_alone_tell_items_apart(self):                               # SMARTC-04
        s, d = self.smart(), self.daemon(*self.ARGS)
        for n in range(20):
            s.put("x%d" % n, "the same", same_second=True)
        d.subscribe(s.url())
        self.wait_equal(d, s.url(), s)
        s.put("y", "the same", same_second=True)
        self.wait_equal(d, s.url(), s, ping=True)

    def test_a_deletion_counts_whatever_its_date(self):                      # SMARTC-04
        s, d = self.smart(5), self.daemon(*self.ARGS)
        s.clock += 10 ** 8
        s.put("late", "of the future")
        s.clock -= 10 ** 8
        d.subscribe(s.url())
        self.wait_equal(d, s.url(), s)
        s.script = [lambda ask: (200, {"Content-Type": "application/atom+xml"}, s.atom(
            [deleted(s, "late")], s.url(), "1_0_1"))]
        self.wait_equal(d, s.url(), s, ping=True)

    def test_orders(self):                                                   # SMARTC-10
        s, d = self.smart(120), self.daemon(*self.ARGS)
        created, newest = s.url("/stream?order=created"), s.url("/stream?order=-modified")
        for url in created, newest:
            d.subscribe(url)
        self.wait_equal(d, created, s)
        self.wait(lambda: len(self.mirrored(d, newest)) == 50, daemon=d)
        before = s.state()
        s.put("i0001", "edited")
        s.put("new", "new")
        for url in created, newest:
            d.ping(url)
        self.wait(lambda: "new" in self.mirrored(d, created).values(), daemon=d)
        self.assertEqual(dict(before, **{"urn:s:new": "new"}), self.mirrored(d, created))
        self.wait(lambda: {"new", "edited"} <= set(self.mirrored(d, newest).values()), daemon=d)
        self.assertIsNone(d.record(newest)["cursor"])
        self.assertFalse([q for q in s.queries() if "-modified" in q and "since" in q])

    def test_parameters_of_a_piece_are_not_taken_for_the_stream(self):       # SMARTC-11
        s, d = self.smart(120), self.daemon(*self.ARGS)
        url = s.url("/stream?x=1%202&max=5")
        d.subscribe(url)
        self.wait_equal(d, url, s)
        self.assertTrue(all(q.startswith("x=1%202&since=cursor%3A") for q in s.queries()[1:]))
        self.assertFalse([q for q in s.queries() if q.count("max=") > 1])

    def sure_move(self, d, s, old, new):
        """Entries come by way of the redirect; after a week it is believed (ETIQ-05)."""
        for n in range(3):
            s.put("new %s %d" % (old, n), "new")
            self.wait_equal(d, s.url(old), s, ping=True)
        self.assertIsNone(d.record(s.url(new)))
        self.ahead(7 * 86400 + 5)

        def is_there():
            d.ping(s.url(old))
            return d.record(s.url(new))
        self.wait(is_there, what="the move", daemon=d)

    def test_a_stream_that_moves(self):                                      # SMARTC-11
        s, d = self.smart(60), self.daemon(*self.ARGS, "--test-clock", self.clock())
        answer = s.answer
        d.subscribe(s.url("/old?x=1"))
        self.wait_equal(d, s.url("/old?x=1"), s)

        def moved(ask):
            if ask.base == "/old":
                return 301, {"Location": s.url("/new?" + ask.path.partition("?")[2])}, b""
            return answer(ask)
        s.answer = moved
        self.sure_move(d, s, "/old?x=1", "/new?x=1")
        s.put("newer", "newer")
        self.wait_equal(d, s.url("/new?x=1"), s, ping=True)
        self.check_log(d, 64)

    def test_a_redirection_that_loses_the_cursor(self):                     # SMARTC-11
        s, d = self.smart(130), self.daemon(*self.ARGS, "--test-clock", self.clock())
        answer = s.answer
        s.answer = lambda ask: (302, {"Location": "/stream?x=1"}, b"") if ask.base == "/go" else answer(ask)
        d.subscribe(s.url("/go"))
        self.wait_equal(d, s.url("/go"), s)
        s.put("new", "new")
        self.wait_equal(d, s.url("/go"), s, ping=True)
        self.check_log(d, 131)
        self.assertEqual(s.url("/go"), d.record(s.url("/go"))["url"])
        s.answer = lambda ask: (301, {"Location": "/stream?x=1"}, b"") if ask.base == "/go" else answer(ask)
        self.sure_move(d, s, "/go", "/stream?x=1")

    def test_a_stream_that_a_page_announces(self):                           # SMARTC-11
        s, d = self.smart(130), self.daemon(*self.ARGS)
        page = b'<html><link rel="alternate" type="application/atom+xml" href="/stream?x=1"></html>'
        s.script = [lambda ask: (200, {"Content-Type": "text/html"}, page)]
        d.subscribe(s.url("/"))
        self.wait_equal(d, s.url("/"), s)
        self.assertEqual(s.url("/stream?x=1"), d.record(s.url("/"))["url"])
        self.assertEqual(s.url("/"), d.record(s.url("/"))["page_url"])

    def test_a_long_stream_is_read_in_turns(self):                           # SMARTC-01
        s, d = self.smart(450, most=50), self.daemon(*self.ARGS, "--catch-up", "3")
        goes_on = threading.Event()
        self.addCleanup(goes_on.set)
        s.on_ask = lambda ask: len(s.queries()) > 4 and goes_on.wait()      # the fifth is of another poll:
        d.subscribe(s.url())
        d.wait_metric("polls_total", 1)                                     # the first one ends without it
        self.assertEqual(200, len(self.mirrored(d, s.url())))
        self.assertTrue(d.feed(s.url()).json["partial"])
        self.wait(lambda: len(s.queries()) > 4, what="that it goes on by itself", daemon=d)
        goes_on.set()
        self.wait_equal(d, s.url(), s, 30, ping=True)
        self.check_log(d, 450)

    def test_a_stream_behind_a_password(self):                               # SMARTC-11
        s, d = self.smart(120), self.daemon(*self.ARGS)
        s.script = [lambda ask: None if ask.headers.get("Authorization") else (
            401, {"WWW-Authenticate": 'Basic realm="s"'}, b"")] * 9
        url = s.url(user="ann:secret")
        d.subscribe(url)
        self.wait_equal(d, url, s)
        self.assertGreater(len([a for a in s.asked if a.status == 200 and "since" in a.path]), 0)

    def test_the_pieces_are_no_news_of_the_feed(self):
        s, d = self.smart(60), self.daemon(*self.ARGS)
        d.subscribe(s.url())
        self.wait_equal(d, s.url(), s)
        for kind in "json", "atom", "rss":
            body = d.feed(s.url(), type=kind).body.decode()
            self.assertNotIn("cursor", body)
            self.assertNotIn("since=", body)
            self.assertTrue(kind == "json" or "fanout" not in body, body)


def deleted(server, name):
    server.items[name].deleted = True
    return server.items[name]


class Faults(Followed):
    def test_failures_in_the_first_walk_lose_and_double_nothing(self):       # SMARTC-03
        s, d = self.smart(900, most=90), self.daemon(*self.ARGS)
        s.script = [None, "cut", None, 500, "short", None, None, "cut", 503]
        d.subscribe(s.url())
        self.wait_equal(d, s.url(), s, 40, ping=True)
        self.check_log(d, 900)
        self.assertEqual([], s.script)

    def test_edits_and_deletions_while_walking(self):                        # SMARTC-04
        s, d, chance = self.smart(1500, most=60), self.daemon(*self.ARGS), random.Random(7)

        def stir(ask):
            with s.lock:
                alive = [i.id for i in s.items.values() if not i.deleted]
                if len(s.asked) < 25:
                    s.put(chance.choice(alive), "edit %d" % len(s.asked))
                    s.delete(chance.choice(alive))
                    s.put("new%d" % len(s.asked), "new", same_second=True)
        s.on_ask = stir
        d.subscribe(s.url())
        self.wait_equal(d, s.url(), s, 40, ping=True)

    def test_kill_9_between_the_pieces(self):                                # SMARTC-03
        s, d = self.smart(3000, most=60), self.daemon(*self.ARGS)
        d.subscribe(s.url())
        for n in 5, 13, 30:
            self.wait(lambda: len(s.asked) >= n, what="request %d" % n, daemon=d)
            d.kill()
            with s.lock:
                n_asked = len(s.asked)
            s.put("while down %d" % n, "d")
            d.start()
            if n > 5:
                d.ping(s.url())
            self.wait(lambda: len(s.asked) > n_asked, what="that it goes on, first by itself", daemon=d)
            self.assertIn("since=cursor", s.queries()[n_asked])
        self.wait_equal(d, s.url(), s, 60)
        self.check_log(d, 3003)
        self.assertTrue(all(initial for _, initial, _ in self.log(d)))

    def test_a_cursor_that_is_refused_starts_it_over(self):                  # SMARTC-07
        s, d, r = self.smart(300), self.daemon(*self.ARGS), self.receiver()
        d.subscribe(s.url(), endpoint=r.url)
        self.wait_equal(d, s.url(), s)
        self.wait(lambda: d.record(s.url())["cursor"] == s.last(), daemon=d)
        s.put("new", "new")
        for status in 400, 410:
            n = len(s.asked)
            s.script = [status]
            s.put("new%d" % status, "new%d" % status)
            d.ping(s.url())
            self.wait(lambda: len(s.asked) >= n + 2, daemon=d)
            self.assertEqual("", s.queries()[n + 1])
            self.wait_equal(d, s.url(), s, 30, ping=True)
            self.assertEqual(0, d.record(s.url())["errors"])
        self.check_log(d, 303)
        self.wait(lambda: len(r.titles()) >= 3, daemon=d)
        self.assertEqual(["new", "new400", "new410"], r.titles())

    def test_a_cursor_that_is_taken_as_a_time(self):                         # SMARTC-07
        s, d = self.smart(), self.daemon(*self.ARGS)
        for n in range(9):
            s.put("m%d" % n, "m", same_second=True)
        d.subscribe(s.url())
        self.wait_equal(d, s.url(), s)
        s.put("m8", "edited")                           # the cursor's instant loses its last member
        s.put("new", "new")
        self.wait_equal(d, s.url(), s, ping=True)
        self.check_log(d, 10)

    def test_a_piece_that_ends_in_its_middle_is_not_taken(self):             # SMARTC-03
        s, d = self.smart(60), self.daemon(*self.ARGS)
        d.subscribe(s.url())
        self.wait_equal(d, s.url(), s)
        for kind in "short", "cut":
            for n in range(30):
                s.put("%s%d" % (kind, n), kind)
            s.script = [kind]
            d.ping(s.url())
            self.wait(lambda: d.record(s.url())["errors"] > 0, what="an error for " + kind, daemon=d)
            self.wait_equal(d, s.url(), s, ping=True)


class Impostors(Followed):
    """Servers that look smart but are not: polled, never asked for ever."""

    def page(self, s, cursor, next_=None, n=30):
        rows = s.ordered("modified")[:n]
        return 200, {"Content-Type": "application/atom+xml"}, s.atom(rows, s.url(), cursor, next_)

    def rests(self, s, d, most):
        """It comes to rest after at most so many requests, and so does each poll."""
        d.wait_idle()
        self.assertLessEqual(len(s.asked), most, s.queries())
        for _ in range(2):
            n = len(s.asked)
            d.ping(s.url())
            d.wait_idle()
            self.assertGreater(len(s.asked), n)
            self.assertLessEqual(len(s.asked) - n, most, s.queries()[n:])
        self.assertNotIn("partial", d.feed(s.url()).json)

    def serve(self, make, n=30):
        server = self.smart(n)
        answer = server.answer
        server.answer = lambda ask: make(server, ask, answer)
        d = self.daemon(*self.ARGS)
        d.subscribe(server.url())
        return server, d

    def news_come(self, s, d):
        """What it shows is taken, and pushed, as that of any feed."""
        with s.lock:
            first = s.ordered("modified")[0]
            first.title = "seen"
        self.wait_equal(d, s.url(), s, ping=True)
        self.assertIn((1, 0, "seen"), self.log(d))

    def test_since_is_ignored(self):                                         # SMARTC-08
        s, d = self.serve(lambda s, ask, answer: self.page(s, "c1", s.url() + "?since=cursor%3Ac1"))
        self.rests(s, d, 3)
        self.news_come(s, d)

    def test_cursors_go_in_a_circle(self):                                   # SMARTC-08
        s, d = self.serve(lambda s, ask, answer: self.page(
            s, "b" if "Aa" in ask.path else "a", s.url() + "?since=x"))
        self.rests(s, d, 4)
        self.news_come(s, d)

    def test_each_answer_has_another_cursor(self):                           # SMARTC-08
        s, d = self.serve(lambda s, ask, answer: self.page(
            s, "c%d" % len(s.asked), s.url() + "?since=x"))
        self.rests(s, d, 12)
        self.news_come(s, d)

    def test_every_cursor_is_refused(self):                                  # SMARTC-07 -08
        s, d = self.serve(lambda s, ask, answer: (400, {}, b"") if "since" in ask.path else self.page(
            s, "c%d" % len(s.asked), s.url() + "?since=x"))
        self.rests(s, d, 7)
        self.news_come(s, d)

    def test_a_cursor_of_a_million_bytes(self):                              # SMARTC-08
        s, d = self.serve(lambda s, ask, answer: self.page(s, "c" * 1000000, s.url() + "?since=x"))
        self.rests(s, d, 3)
        self.news_come(s, d)
        s, d = self.serve(lambda s, ask, answer: self.page(
            s, "c" * (1000000 if "since" in ask.path else 3), s.url() + "?since=x"))
        self.rests(s, d, 3)
        self.assertEqual("ccc", d.record(s.url())["cursor"])
        self.news_come(s, d)

    def test_a_cursor_that_makes_the_server_fail_for_ever(self):             # SMARTC-07
        s = self.smart(30)
        d = self.daemon(*self.ARGS)
        d.subscribe(s.url())
        self.wait_equal(d, s.url(), s)
        self.wait(lambda: d.record(s.url())["cursor"], daemon=d)
        answer = s.answer
        s.answer = lambda ask: (500, {}, b"") if "since" in ask.path else answer(ask)
        s.put("i0000", "edited")
        for n in range(8):
            d.ping(s.url())
            d.wait_idle()
            self.assertIn(d.record(s.url())["errors"], (n + 1, 0))
        self.assertEqual(0, d.record(s.url())["errors"])
        self.wait_equal(d, s.url(), s)

    def test_the_stream_becomes_an_ordinary_feed(self):                      # SMARTC-08
        s, d = self.smart(60), self.daemon(*self.ARGS)
        d.subscribe(s.url())
        self.wait_equal(d, s.url(), s)
        body = ('<feed xmlns="http://www.w3.org/2005/Atom"><title>p</title><entry><id>urn:s:plain</id>'
                "<title>plain</title><updated>2021-01-01T00:00:00Z</updated></entry></feed>").encode()
        s.answer = lambda ask: (200, {"Content-Type": "application/atom+xml"}, body)
        d.ping(s.url())
        self.wait(lambda: "plain" in self.mirrored(d, s.url()).values(), daemon=d)
        d.wait_idle()
        self.assertIsNone(d.record(s.url())["cursor"])
        d.ping(s.url())
        d.wait_idle()
        self.assertEqual("", s.queries()[-1])


class Push(Followed):
    """Smart Feeds, "Updates/Synchronization via Push"."""

    def pushed(self, n=60, **kw):
        hub = Hub()
        self.addCleanup(hub.close)
        s, d = self.smart(n, hub=hub.url(), **kw), self.daemon(*self.ARGS)
        d.subscribe(s.url())
        self.wait_equal(d, s.url(), s)
        self.wait(lambda: (d.record(s.url()) or {}).get("hub_state") == "active", daemon=d)
        d.wait_idle()
        self.assertEqual(s.last(), d.record(s.url())["cursor"])
        return s, d, hub, hub.subscribers()[0]

    def test_a_push_that_follows_is_taken_without_a_pull(self):              # SMARTC-09
        s, d, hub, asked = self.pushed()
        n, last = len(s.asked), s.last()
        for turn in range(3):
            s.put("new%d" % turn, "new")
            s.put("i0003", "edit %d" % turn)
            s.delete("i001%d" % turn)
            body, to = s.push(last)
            self.assertEqual(200, hub.deliver(asked, body)[0])
            last = to
            self.assertEqual(last, d.record(s.url())["cursor"])
            self.assertEqual(s.state(), self.mirrored(d, s.url()))
        self.assertEqual(n, len(s.asked))

    def test_a_push_after_one_that_was_missed_leads_to_a_pull(self):         # SMARTC-09
        s, d, hub, asked = self.pushed()
        last, n = s.last(), len(s.asked)
        s.put("missed", "missed")
        s.put("i0001", "missed too")
        middle = s.last()
        s.put("new", "new")
        body, _ = s.push(middle)
        self.assertEqual(200, hub.deliver(asked, body)[0])
        self.wait_equal(d, s.url(), s)
        self.assertIn("since=cursor%%3A%s&" % last, s.queries()[n])
        self.check_log(d, 62)

    def test_an_old_push_changes_nothing(self):                              # SMARTC-09
        s, d, hub, asked = self.pushed()
        last = s.last()
        s.put("i0001", "older")
        body, _ = s.push(last)
        s.put("i0001", "newer")
        self.wait_equal(d, s.url(), s, ping=True)
        self.assertEqual(200, hub.deliver(asked, body)[0])
        self.wait_equal(d, s.url(), s)
        repeated, _ = s.push("%s" % s.last())
        n = len(s.asked)
        self.wait(lambda: d.record(s.url())["cursor"] == s.last(), daemon=d)
        self.assertEqual(200, hub.deliver(asked, repeated)[0])
        self.assertEqual("newer", self.mirrored(d, s.url())["urn:s:i0001"])

    def test_a_push_without_cursors_leads_to_a_pull(self):                   # SMARTC-09
        s, d, hub, asked = self.pushed()
        s.put("new", "new")
        body, _ = s.push(s.last())
        body = body.replace("fo:last_cursor", "fo:x").replace("fo:prev_cursor", "fo:y")
        self.assertEqual(200, hub.deliver(asked, body)[0])
        self.wait_equal(d, s.url(), s)

    def test_the_topic_is_the_base_url(self):                               # SMARTC-09 -11
        for names_itself in True, False:
            s, d, hub, asked = self.pushed(names_itself=names_itself)
            for n in range(2):
                s.put("new%d" % n, "new")
                self.wait_equal(d, s.url(), s, ping=True)
            self.assertEqual([s.url()], [a.topic for a in hub.subscribers()])
