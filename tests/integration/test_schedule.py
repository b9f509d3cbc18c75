"""Sweeper, monitor, fetcher as seen from outside: SCHED-*, PING-07."""
import datetime
import email.utils
import gzip
import os
import signal
import subprocess
import threading
import time
import zlib

from .env.case import Case, slow
from .env.daemon import BINARY, PATIENCE, quote
from .env.origin import Origin, Reply, rss


class Outage(Case):
    """Our own connection is down: most publishers cannot be reached."""

    FEED = Reply(200, rss("a"), Connection="close")      # so that nothing stays connected to a publisher that is gone

    def reasons(self, d):
        answer = d.get("/readyz")
        self.assertEqual(200, answer.status)
        return answer.json["reasons"]

    def metric(self, d, name):
        return [int(line.split()[1]) for line in d.get("/metrics").body.decode().splitlines()
                if line.startswith("feedmill_%s " % name)][0]

    def all_well(self, d, urls):
        return all(d.record(u)["state"] == "ok" and d.record(u)["errors"] == 0 for u in urls)

    def test_it_counts_for_no_feed(self):                                # ETIQ-04
        origins = [self.origin() for _ in range(6)]
        d = self.daemon("--min-period", "1s")
        urls = [o.set("/f.xml", self.FEED) for o in origins]
        for u in urls:
            d.subscribe(u, freq=3)
        self.wait(lambda: self.all_well(d, urls), daemon=d)
        for o in origins:
            o.close()
        self.wait(lambda: self.reasons(d) == ["outage"], daemon=d)
        self.assertEqual(1, self.metric(d, "outage"))
        self.wait(lambda: self.all_well(d, urls), what="errors that are taken back", daemon=d)
        self.wait(lambda: self.metric(d, "fetch_running") == 0, daemon=d)
        before = self.metric(d, "fetch_total")
        time.sleep(7)                                                    # each was due twice
        self.assertLessEqual(self.metric(d, "fetch_total") - before, 3)  # the probe, and what had begun
        self.assertTrue(self.all_well(d, urls))
        again = [Origin(port=o.port) for o in origins]
        for o in again:
            self.addCleanup(o.close)
            o.set("/f.xml", self.FEED)
        self.wait(lambda: self.reasons(d) == [], daemon=d)
        self.assertEqual(0, self.metric(d, "outage"))
        self.wait(lambda: all(len(o.seen("/f.xml")) > 1 for o in again), daemon=d)
        self.assertTrue(self.all_well(d, urls))

    def test_dead_feeds_do_not_hold_others_back(self):                   # ETIQ-04
        dead = [self.origin() for _ in range(8)]
        d = self.daemon()
        for o in dead:
            o.close()
            d.subscribe("http://127.0.0.1:%d/f.xml" % o.port)
        self.wait(lambda: self.metric(d, "outage") == 1, daemon=d)
        urls = [self.origin().set("/f.xml", self.FEED) for _ in range(3)]
        since = time.monotonic()
        for u in urls:
            d.subscribe(u)
        self.wait(lambda: all((d.record(u) or {}).get("last_success") for u in urls), daemon=d)
        self.assertLess(time.monotonic() - since, 9)                     # the next probe of a dead one
        self.assertEqual((0, []), (self.metric(d, "outage"), self.reasons(d)))

    def test_most_publishers_stay_dead(self):                            # ETIQ-04
        dead, alive = [self.origin() for _ in range(6)], [self.origin() for _ in range(4)]
        d = self.daemon("--test-clock", self.clock())
        urls = [o.set("/f.xml", self.FEED) for o in dead + alive]
        for u in urls:
            d.subscribe(u, freq=1800)
        self.wait(lambda: all((d.record(u) or {}).get("last_success") for u in urls), daemon=d)
        for o in dead:
            o.close()
        for i in range(1, 9):
            self.ahead(i * 1900)
            self.wait(lambda: all(len(o.seen("/f.xml")) > i for o in alive), what="the others, on time", daemon=d)
        self.wait(lambda: all(d.record(u)["errors"] > 1 for u in urls[:6]), daemon=d)
        self.assertEqual((0, []), (self.metric(d, "outage"), self.reasons(d)))
        self.assertTrue(self.all_well(d, urls[6:]))

    def test_names_that_do_not_exist_begin_none(self):                   # ETIQ-04
        alive, dead = self.origin(), [self.origin() for _ in range(6)]
        d = self.daemon()
        url = alive.set("/f.xml", self.FEED)
        d.subscribe(url)
        self.wait(lambda: self.all_well(d, [url]), daemon=d)
        urls = ["http://127.0.0.1:%d/f.xml" % o.port for o in dead]
        for o in dead:
            o.close()
        d.stop()
        d.start()                                                        # nobody has answered since
        for u in urls:
            d.subscribe(u)
        self.wait(lambda: all((d.record(u) or {}).get("errors") for u in urls), daemon=d)
        self.assertEqual((0, []), (self.metric(d, "outage"), self.reasons(d)))

    def test_a_restart_does_not_end_it(self):                            # ETIQ-04
        origins = [self.origin() for _ in range(6)]
        d = self.daemon("--min-period", "1s")
        urls = [o.set("/f.xml", self.FEED) for o in origins]
        subs = [d.subscribe(u, freq=3) for u in urls]
        self.wait(lambda: self.all_well(d, urls), daemon=d)
        for o in origins:
            o.close()
        self.wait(lambda: self.metric(d, "outage") == 1, daemon=d)
        self.wait(lambda: self.all_well(d, urls), what="errors that are taken back", daemon=d)
        for sub in subs[3:]:                                             # what is left is too few to begin one
            self.assertEqual(204, d.call("DELETE", "/sub?id=%d" % sub).status)
        d.stop()
        d.start()
        self.wait(lambda: self.metric(d, "outage") == 1, daemon=d)
        self.wait(lambda: self.metric(d, "fetch_failed_total") >= 3, daemon=d)
        self.assertTrue(self.all_well(d, urls[:3]))


class Moves(Case):
    """Permanent redirects of a feed that is known."""

    WEEK = 7 * 86400

    def test_a_week_and_three_fetches(self):                            # ETIQ-05 DISC-08
        for status in (301, 308):
            o = self.origin()
            d = self.daemon("--test-clock", self.clock(), "--level2-period", "1d")
            old, new = o.set("/old", rss("a")), o.set("/new", rss("b", "a"))
            d.subscribe(old, freq=2)
            self.wait(lambda: (d.record(old) or {}).get("last_success"), what="the first fetch", daemon=d)
            o.set("/old", Reply(status, "", Location="/new"))
            for day in (0, 1, 2, 3):            # maintenance for a day
                o.set("/new", Reply(200, "<html><body>sorry", Content_Type="text/html") if day == 1 else rss("b", "a"))
                self.ahead(day * 86400)
                self.asked_again(d, o, old, "/new")
                self.assertEqual((old, new), (d.record(old)["url"], d.record(old)["move_to"]), day)
            self.assertIn("b", self.titles(d, old))
            d.kill()
            d.start()
            self.ahead(self.WEEK + 60)
            self.asked_again(d, o, old, "/new")
            self.wait(lambda: d.record(new), what="the move", daemon=d)
            self.assertIsNone(d.record(new)["move_to"])
            n = len(o.seen("/old"))
            self.asked_again(d, o, old, "/new")                          # the old address means the same feed
            for name in (old, new):
                self.assertEqual(new, d.get("/sub/feed?url=" + name).json["url"])
            self.assertEqual(n, len(o.seen("/old")))
            self.assertIn("b", self.titles(d, old))
            d.stop()

    def test_who_answers_for_the_feed_for_a_day_does_not_move_it(self):  # ETIQ-05
        """A redirect leads elsewhere, and the document there says that the feed has moved."""
        o, other, away = self.origin(), self.origin(), self.origin()
        d = self.daemon("--test-clock", self.clock(), "--level2-period", "1d")
        old, new = o.set("/old", rss("a")), other.set("/new", rss("b", "a"))
        away.set("/word", rss("c", "a").replace("<channel>", "<channel><itunes:new-feed-url xmlns:itunes="
                 '"http://www.itunes.com/dtds/podcast-1.0.dtd">%s</itunes:new-feed-url>' % new))
        d.subscribe(old, freq=2)
        self.wait(lambda: (d.record(old) or {}).get("last_success"), what="the first fetch", daemon=d)
        o.set("/old", Reply(302, "", Location=away.url("/word")))
        for day in range(3):
            self.ahead(day * 86400)
            n = len(other.seen("/new"))
            d.ping(old)
            self.wait(lambda n=n: len(other.seen("/new")) > n, what="/new", daemon=d)
            d.wait_idle()
            self.assertEqual((old, new), (d.record(old)["url"], d.record(old)["move_to"]), day)
        o.set("/old", rss("a"))                                          # it was a mistake
        self.asked_again(d, o, old, "/old")
        self.assertIsNone(d.record(old)["move_to"])
        o.set("/old", Reply(302, "", Location=away.url("/word")))
        for day in (4, 5, 11):
            self.ahead(day * 86400)
            n = len(other.seen("/new"))
            d.ping(old)
            self.wait(lambda n=n: len(other.seen("/new")) > n, what="/new", daemon=d)
            d.wait_idle()
        self.wait(lambda: d.record(new), what="the move after a week", daemon=d)
        self.assertEqual(new, d.record(new)["url"])

    def test_one_that_is_taken_back_begins_anew(self):                  # ETIQ-05
        o, d = self.origin(), self.daemon("--test-clock", self.clock())
        old = o.set("/old", rss("a"))
        o.set("/new", rss("a"))
        d.subscribe(old)
        self.wait(lambda: (d.record(old) or {}).get("last_success"), what="the first fetch", daemon=d)
        for _ in range(3):
            o.set("/old", Reply(301, "", Location="/new"))
            self.asked_again(d, o, old, "/new")
        since = d.record(old)["move_since"]
        n = len(o.seen("/old"))
        self.ahead(self.WEEK - 3600)
        self.wait(lambda: len(o.seen("/old")) > n, what="that it is due", daemon=d)
        d.wait_idle()
        self.assertEqual(since, d.record(old)["move_since"])
        o.set("/old", rss("a"))
        self.asked_again(d, o, old, "/old")
        self.assertIsNone(d.record(old)["move_to"])
        o.set("/old", Reply(301, "", Location="/new"))
        self.asked_again(d, o, old, "/new")
        n = len(o.seen("/old"))
        self.ahead(self.WEEK + 2 * 86400)
        self.wait(lambda: len(o.seen("/old")) > n, what="that it is due again", daemon=d)
        d.wait_idle()
        self.assertEqual(old, d.record(old)["url"])
        self.assertGreater(d.record(old)["move_since"], since)

    def asked_again(self, d, o, url, path):
        n = len(o.seen(path))
        d.ping(url)
        self.wait(lambda: len(o.seen(path)) > n, what=path, daemon=d)
        d.wait_idle()

    def titles(self, d, url):
        return [e["title"] for e in d.feed(url).json["entries"]]


def seconds(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def pause(shown):
    return seconds(shown["next_check"]) - seconds(shown["last_check"])


class Gaps(Case):
    """Entries may have come and gone between two fetches."""

    BASE = "<feed xmlns='http://www.w3.org/2005/Atom' xmlns:fh='http://purl.org/syndication/history/1.0'><id>urn:f</id>" \
           "<title>F</title><updated>2026-01-01T00:00:00Z</updated>%s</feed>"

    def document(self, ids, *links, archive=False):
        """Atom with these entries, the newest first."""
        return self.BASE % ("".join("<link rel='%s' href='%s'/>" % link for link in links) + ("<fh:archive/>" if archive else "")
                            + "".join("<entry><id>urn:%d</id><title>e%d</title><updated>2026-01-01T00:%02d:00Z</updated>"
                                      "<content>x</content></entry>" % (i, i, i) for i in ids))

    def titles(self, d, url):
        return [e["title"] for e in d.get("/feed?url=%s&type=json&len=100" % quote(url)).json["entries"]]

    def again(self, d):
        """Two days later, as no ping has it: then the pings would decide when it is fetched."""
        before = len(self.o.seen("/f"))
        self.now += 2 * 86400
        self.ahead(self.now)
        self.wait(lambda: len(self.o.seen("/f")) > before, what="that it is due", daemon=d)
        d.wait_idle()

    def test_a_chain_of_archives_closes_a_gap(self):                     # ETIQ-10
        self.o, self.now, d = self.origin(), 0, self.daemon("--test-clock", self.clock())
        url = self.o.set("/f", self.document([3, 2, 1], ("prev-archive", "a0")))
        self.o.set("/a0", self.document([0], ("current", "f"), archive=True))
        d.subscribe(url)
        self.wait(lambda: len(self.titles(d, url)) == 4, what="the first archive", daemon=d)
        self.assertIsNone(d.record(url)["gap_since"])
        usual = d.record(url)["period"]

        # nine entries came at once: the document holds three, and two archives have the others
        self.o.set("/a1", self.document([6, 5, 4], ("prev-archive", "a0"), ("current", "f"), archive=True))
        self.o.set("/a2", Reply(503, ""))
        self.o.set("/f", self.document([12, 11, 10], ("prev-archive", "a2")))
        self.again(d)
        self.wait(lambda: d.record(url)["gap_since"], what="the gap", daemon=d)
        self.assertEqual(7, len(self.titles(d, url)))
        shown = d.record(url)
        self.assertEqual((1, "gap"), (shown["level"], shown["next_reason"]))
        self.assertLess(shown["period"], usual)
        self.assertAlmostEqual(shown["period"], pause(shown), delta=0.02 * shown["period"] + 5)
        self.o.set("/a2", self.document([9, 8, 7], ("prev-archive", "a1"), ("current", "f"), archive=True))
        self.o.set("/f", self.document([13, 12, 11], ("prev-archive", "a2")))
        self.again(d)
        self.wait(lambda: d.record(url)["gap_since"] is None, what="that the gap is closed", daemon=d)
        self.assertEqual(["e%d" % i for i in range(13, -1, -1)], sorted(self.titles(d, url), key=lambda t: -int(t[1:])))
        self.assertEqual((1, 1), (len(self.o.seen("/a0")), len(self.o.seen("/a1"))))
        shown = d.record(url)                                            # at once, not with the next fetch
        self.assertEqual("period", shown["next_reason"])
        self.assertNotIn("missed", shown["why"])
        self.assertAlmostEqual(shown["period"], pause(shown), delta=5)

    def test_archives_that_do_not_reach_back_close_no_gap(self):         # ETIQ-10
        self.o, self.now, d = self.origin(), 0, self.daemon("--test-clock", self.clock())
        url = self.o.set("/f", self.document([3, 2, 1]))
        d.subscribe(url)
        self.wait(lambda: (d.record(url) or {}).get("last_success"), daemon=d)
        self.o.set("/f", self.document([9, 8, 7], ("prev-archive", "a1")))
        self.o.set("/a1", self.document([8, 6], ("prev-archive", "a0"), archive=True))
        self.o.set("/a0", self.document([5], archive=True))              # nobody has e4
        self.again(d)
        self.assertEqual(["e5", "e6"], sorted(self.titles(d, url))[3:5])
        since = d.record(url)["gap_since"]
        self.assertIsNotNone(since)
        self.o.set("/f", self.document([10, 9, 8], ("prev-archive", "a1")))
        self.again(d)                                                    # all that there is was read
        self.assertEqual((since, "gap"), tuple(d.record(url)[k] for k in ("gap_since", "next_reason")))
        self.o.set("/f", self.document([14, 13, 12], ("prev-archive", "a2")))
        self.o.set("/a2", self.document([11, 10, 9], ("prev-archive", "a1"), archive=True))
        self.again(d)                                                    # it leads to what was read since the gap
        self.assertEqual(since, d.record(url)["gap_since"])
        self.o.set("/f", self.document([19, 18, 17], ("prev-archive", "a3")))
        self.o.set("/a3", self.document(range(16, 2, -1), archive=True))
        self.again(d)                                                    # it has e3, which was there before
        self.wait(lambda: d.record(url)["gap_since"] is None, what="that the gap is closed", daemon=d)
        self.assertIn("e4", self.titles(d, url))

    def test_an_archive_that_grows_is_read_again(self):                  # ETIQ-10
        """Each document names the same archive. The gap stays until that was read again, and those before it are not."""
        self.o, self.now, d = self.origin(), 0, self.daemon("--test-clock", self.clock())
        url = self.o.set("/f", self.document([5, 4, 3], ("prev-archive", "a1")))
        self.o.set("/a1", self.document([2, 1], ("prev-archive", "a0"), archive=True))
        self.o.set("/a0", self.document([0], archive=True))
        d.subscribe(url)
        self.wait(lambda: len(self.titles(d, url)) == 6, what="all archives", daemon=d)
        self.o.set("/a1", Reply(503, ""))
        self.o.set("/f", self.document([9, 8, 7], ("prev-archive", "a1")))
        self.again(d)
        self.assertIsNotNone(d.record(url)["gap_since"])
        self.o.set("/a1", self.document([6, 5, 4, 3, 2, 1], ("prev-archive", "a0"), archive=True))
        self.again(d)
        self.wait(lambda: d.record(url)["gap_since"] is None, what="that the gap is closed", daemon=d)
        self.assertEqual(["e%d" % i for i in range(9, -1, -1)], sorted(self.titles(d, url), key=lambda t: -int(t[1:])))
        self.assertEqual(1, len(self.o.seen("/a0")))

    def test_without_archives_it_stays_open(self):                       # ETIQ-10
        self.o, self.now, d = self.origin(), 0, self.daemon("--test-clock", self.clock())
        url = self.o.set("/f", self.document([3, 2, 1]))
        d.subscribe(url)
        self.wait(lambda: (d.record(url) or {}).get("last_success"), daemon=d)
        self.o.set("/f", self.document([9, 8, 7]))
        self.again(d)
        since = d.record(url)["gap_since"]
        self.assertIsNotNone(since)
        self.o.set("/f", self.document([10, 9, 8]))
        self.again(d)
        self.assertEqual(since, d.record(url)["gap_since"])


class ByHand(Case):
    def test_it_is_told_as_such_soon_after_another_one_too(self):        # CLI-03 CON-03
        o, d, form = self.origin(), self.daemon(), {"Content-Type": "application/x-www-form-urlencoded"}
        url = o.set("/f.xml", rss("a"))
        d.subscribe(url, freq=86400)
        self.wait(lambda: (d.record(url) or {}).get("last_success"), daemon=d)
        feed, held = d.record(url)["id"], threading.Event()

        def slowly(_):
            held.wait(60)
            return Reply(200, rss("a"))

        def by_hand():
            self.assertEqual(200, d.call("PATCH", "/sub/feed", "id=%d&fetch=1" % feed, form).status)
        time.sleep(5.1)                                                  # else it comes later
        o.set("/f.xml", slowly)
        n = len(o.seen("/f.xml"))
        by_hand()
        self.wait(lambda: len(o.seen("/f.xml")) > n, what="the first one", daemon=d)
        by_hand()                                                        # while that is under way
        held.set()
        self.wait(lambda: len(o.seen("/f.xml")) > n + 1, what="the second one", daemon=d)
        d.wait_idle()
        by_hand()                                                        # within five seconds of the last one
        self.wait(lambda: len(o.seen("/f.xml")) > n + 2, what="the third one", daemon=d)
        d.wait_idle()
        self.assertEqual(["hand"] * 3, [f["reason"] for f in d.get("/sub/feed?id=%d" % feed).json["history"][:3]])


class Cooling(Case):
    """A host that refuses one of its feeds."""

    def others_come(self, d, other, seconds):
        """So much later, what is due was started: the feed of another host has come."""
        n = len(other.seen("/else"))
        self.ahead(seconds)
        self.wait(lambda: len(other.seen("/else")) > n, what="a feed of another host", daemon=d)

    def test_all_feeds_of_the_host_rest_and_come_back_one_by_one(self):  # ETIQ-03
        o, other = self.origin(), self.origin()
        d = self.daemon("--test-clock", self.clock(), "--fetch-host-gap", "0", "--level2-period", "10m")
        paths = ["/f%d" % i for i in range(6)]
        urls = [o.set(path, rss("a")) for path in paths]
        elsewhere = other.set("/else", rss("a"))
        for i, u in enumerate(urls + [elsewhere]):
            d.subscribe(u, freq=2 if i % 2 == 0 else 600)                # a level, and an exact period
        self.wait(lambda: all((d.record(u) or {}).get("last_success") for u in urls + [elsewhere]), daemon=d)
        o.set("/f0", Reply(429, "", Retry_After="3600"))
        d.ping(urls[0])
        self.wait(lambda: d.record(urls[0])["status"] == 429, what="the refusal", daemon=d)
        n = len(o.requests)
        o.set("/f0", rss("a", "b"))
        self.told_to_rest(d, urls)
        for _ in range(3):                                               # anybody may ping, so that waits, too
            d.ping(urls[1])
            time.sleep(1.1)
        d.subscribe(o.set("/new", rss("a")))                              # what is new waits, too
        time.sleep(1.1)
        self.assertEqual(n, len(o.requests))
        self.told_to_rest(d, urls)
        d.kill()                                                         # the rest is on the disk
        d.start()
        self.others_come(d, other, 1800)
        self.others_come(d, other, 2700)
        self.assertEqual(n, len(o.requests))                             # all six were due meanwhile

        most = self.answer_slowly(o, paths)
        self.ahead(3980)        # the one that was refused comes up to a tenth later than its host lets it
        self.wait(lambda: {r.path for r in o.requests[n:]} >= set(paths + ["/new"]), what="all of them", daemon=d)
        d.wait_idle()
        self.assertEqual(1, most[0])                                     # each after the answer to the one before

    def test_the_one_that_was_refused_comes_back_with_them(self):         # ETIQ-03 ETIQ-01
        now, d = 0, self.daemon("--test-clock", self.clock())
        for fields, rest in (({"Retry_After": "120"}, 120), ({}, 60)):
            u = self.origin().set("/f", Reply(429, "", **fields))
            d.subscribe(u, freq=3600)
            self.wait(lambda: (d.record(u) or {}).get("status") == 429, daemon=d)
            shown = d.record(u)
            self.assertEqual("retry-after", shown["next_reason"])
            self.assertTrue(rest - 1 <= pause(shown) <= 1.1 * rest + 2, shown)
            now += 1.1 * rest + 5
            self.ahead(now)
            self.wait(lambda: d.record(u)["errors"] == 2, what="it is asked after the pause", daemon=d)
            self.assertTrue(3600 <= pause(d.record(u)) <= 7921, d.record(u))     # who refuses again is left alone
        v = self.origin().set("/f", Reply(503, ""))                      # it asks for nothing
        d.subscribe(v, freq=3600)
        self.wait(lambda: (d.record(v) or {}).get("status") == 503, daemon=d)
        self.assertEqual("backoff", d.record(v)["next_reason"])

    def answer_slowly(self, o, paths):
        """Returns a list of one number: how many requests were there at a time, at most."""
        open_now, most, lock = [0], [0], threading.Lock()

        def answer(_):
            with lock:
                open_now[0] += 1
                most[0] = max(most[0], open_now[0])
            time.sleep(0.2)
            with lock:
                open_now[0] -= 1
            return Reply(200, rss("a", "b"))
        for path in paths:
            o.set(path, answer)
        return most

    def test_they_come_one_by_one_too_when_the_daemon_was_stopped(self):  # ETIQ-03
        o, paths = self.origin(), ["/f%d" % i for i in range(6)]
        d = self.daemon("--test-clock", self.clock(), "--fetch-host-gap", "0", "--level2-period", "10m")
        urls = [o.set(path, rss("a")) for path in paths]
        for u in urls:
            d.subscribe(u, freq=2)
        self.wait(lambda: all((d.record(u) or {}).get("last_success") for u in urls), daemon=d)
        o.set("/f0", Reply(429, "", Retry_After="600"))
        d.ping(urls[0])
        self.wait(lambda: d.record(urls[0])["status"] == 429, what="the refusal", daemon=d)
        d.stop()
        n, most = len(o.requests), self.answer_slowly(o, paths)
        self.ahead(7200)                    # the pause and the time after it, in which they would have come, are over
        d.start()
        self.wait(lambda: len({r.path for r in o.requests[n:]}) == len(paths), what="all of them", daemon=d)
        d.wait_idle()
        self.assertEqual(1, most[0])

    def test_the_host_that_refuses_rests_although_another_one_led_there(self):  # ETIQ-03
        o, other = self.origin(), self.origin()
        d = self.daemon("--test-clock", self.clock(), "--fetch-host-gap", "0")
        elsewhere = other.set("/else", rss("a"))
        leads, there, here = other.set("/leads", rss("a")), o.set("/there", rss("a")), o.set("/here", rss("a"))
        for u in (leads, here, elsewhere):
            d.subscribe(u, freq=600)
        self.wait(lambda: all((d.record(u) or {}).get("last_success") for u in (leads, here, elsewhere)), daemon=d)
        other.set("/leads", Reply(302, "", Location=there))
        o.set("/there", Reply(429, "", Retry_After="43200"))
        d.ping(leads)
        self.wait(lambda: d.record(leads)["status"] == 429, what="the refusal", daemon=d)
        n = len(o.seen("/here"))
        self.others_come(d, other, 1800)
        self.others_come(d, other, 40000)                                # eleven hours later
        self.assertEqual(n, len(o.seen("/here")))
        self.others_come(d, other, 48000)
        self.wait(lambda: len(o.seen("/here")) > n, daemon=d)

    def test_nothing_is_asked_of_a_host_that_rests(self):                # ETIQ-03
        """Not for who discovers, reads or lists, and not where a redirect leads."""
        o, other = self.origin(), self.origin()
        d = self.daemon("--test-clock", self.clock(), "--fetch-host-gap", "0")
        first, there, new = (o.set(path, rss("a")) for path in ("/first", "/there", "/new"))
        leads = other.set("/leads", Reply(302, "", Location=there))
        to_be_led, elsewhere = other.set("/led", rss("a")), other.set("/else", rss("a"))
        opml = '<opml version="2.0"><body><outline type="rss" xmlUrl="%s"/></body></opml>' % new
        lists = o.set("/list", opml), other.set("/list", opml)
        for u in (first, leads, to_be_led, elsewhere):
            d.subscribe(u, freq=600)
        self.wait(lambda: all((d.record(u) or {}).get("last_success") for u in (first, leads, to_be_led, elsewhere)), daemon=d)
        o.set("/first", Reply(429, "", Retry_After="3600"))
        d.ping(first)
        self.wait(lambda: d.record(first)["status"] == 429, what="the refusal", daemon=d)
        o.set("/first", rss("a"))
        n = len(o.requests)
        for path in ("/discover?url=" + quote(new), "/feed?url=" + quote(new), "/opml?url=" + quote(lists[0]),
                     "/opml?url=" + quote(lists[1]), "/feed?url=" + quote(other.set("/to", Reply(302, "", Location=new)))):
            with self.subTest(path):
                answer = d.get(path)
                self.assert_problem(answer, 503, "host-rests")
                self.assertIn("asked for a pause until", answer.json["detail"])
                self.assertTrue(3000 < int(answer.header("Retry-After")) <= 3601, answer.headers)
        self.assertEqual(200, d.feed(first).status)                      # what is stored is shown
        answer = d.call("PATCH", "/sub/feed?id=%d&fetch=1" % d.record(leads)["id"])
        self.assert_problem(answer, 503, "host-rests")                   # it is known where it leads
        other.set("/led", Reply(302, "", Location=there))
        self.others_come(d, other, 700)
        self.wait(lambda: all(d.record(u)["last_error"] for u in (leads, to_be_led)), what="that they wait", daemon=d)
        for u in (leads, to_be_led):
            r = d.record(u)
            self.assertEqual((0, 200, "retry-after"), (r["errors"], r["status"], r["next_reason"]))
            self.assertIn("asked for a pause until", r["last_error"])
            self.assertGreater(r["next_check"], d.record(first)["last_check"])
        self.assertEqual(n, len(o.requests))
        self.others_come(d, other, 4500)
        self.wait(lambda: len(o.seen("/there")) > 2, what="both", daemon=d)
        self.wait(lambda: all(d.record(u)["last_error"] is None for u in (leads, to_be_led)), daemon=d)

    def test_a_page_that_refuses_has_its_host_rest(self):                # ETIQ-03
        o = self.origin()
        d = self.daemon()
        page = o.set("/page", Reply(429, "", Retry_After="3600"))
        self.assert_problem(d.get("/discover?url=" + quote(page)), 502)
        self.assert_problem(d.feed(o.set("/f", rss("a"))), 503, "host-rests")
        self.assertEqual(1, len(o.requests))

    def told_to_rest(self, d, urls):
        """ETIQ-03: each feed of the host is told to come when its pause is over, in words and in the list."""
        shown = [d.record(u) for u in urls]
        ends = {f["next_check"] for f in shown[1:] if f["level"] == 2}
        end, = ends                                                      # they were due before
        end_s, from_s = (datetime.datetime.fromisoformat(t.replace("Z", "+00:00")).timestamp()
                         for t in (end, shown[0]["last_check"]))
        self.assertTrue(3595 <= end_s - from_s <= 3605, (end, shown[0]))
        for f in shown:
            self.assertGreaterEqual(f["next_check"], end)
            self.assertEqual("retry-after", f["next_reason"])
        for f in shown[1:]:
            self.assertIn("asked for a pause until " + end, f["why"])
            one = d.get("/sub/feed?id=%d" % f["id"]).json
            self.assertEqual([f[k] for k in ("next_check", "next_reason", "why")],
                             [one[k] for k in ("next_check", "next_reason", "why")])
        listed = {f["url"]: f for f in d.get("/sub/feeds?sort=next").json["feeds"]}
        self.assertEqual([(f["next_check"], f["next_reason"]) for f in shown],
                         [(listed[u]["next_check"], listed[u]["next_reason"]) for u in urls])
        self.assertNotIn(list(listed)[0], urls)                          # the feed of another host comes first
        answer = d.call("PATCH", "/sub/feed?id=%d&fetch=1" % shown[1]["id"])
        self.assert_problem(answer, 503, "host-rests")                   # by hand not either
        self.assertIn("until " + end, answer.json["detail"])
        left = int(answer.header("Retry-After"))
        self.assertTrue(3000 < left <= 3602, left)   # seconds are rounded up

    def test_a_pause_of_most_of_a_day_is_kept(self):                     # ETIQ-03
        o, other = self.origin(), self.origin()
        d = self.daemon("--test-clock", self.clock(), "--fetch-host-gap", "0", "--level2-period", "10m")
        urls = [o.set("/f%d" % i, rss("a")) for i in range(2)]
        for u in urls + [other.set("/else", rss("a"))]:
            d.subscribe(u, freq=2)
        self.wait(lambda: all((d.record(u) or {}).get("last_success") for u in urls), daemon=d)
        o.set("/f0", Reply(429, "", Retry_After="80000"))
        d.ping(urls[0])
        self.wait(lambda: d.record(urls[0])["status"] == 429, what="the refusal", daemon=d)
        n = len(o.requests)
        d.kill()
        d.start()
        self.assertEqual("retry-after", d.record(urls[1])["next_reason"])
        self.others_come(d, other, 40000)
        self.others_come(d, other, 79000)
        self.assertEqual(n, len(o.requests))

    def test_another_refusal_cools_again(self):                          # ETIQ-03
        o, other = self.origin(), self.origin()
        d = self.daemon("--test-clock", self.clock(), "--fetch-host-gap", "0", "--level2-period", "10m")
        urls = [o.set("/f%d" % i, rss("a")) for i in range(4)]
        for u in urls + [other.set("/else", rss("a"))]:
            d.subscribe(u, freq=2)
        self.wait(lambda: all((d.record(u) or {}).get("last_success") for u in urls), daemon=d)
        for i in range(4):
            o.set("/f%d" % i, Reply(503, "", Retry_After="3600"))
        d.ping(urls[0])
        self.wait(lambda: d.record(urls[0])["status"] == 503, what="the refusal", daemon=d)
        refused = 1
        for at in (3700, 7800):
            n = len(o.requests)
            self.ahead(at)
            self.wait(lambda n=n: len(o.requests) > n, what="the next one", daemon=d)
            refused += 1        # the pause counts from the refusal: it must not come after the clock is set on
            self.wait(lambda: sum(d.record(u)["errors"] for u in urls) == refused, what="the refusal", daemon=d)
            self.others_come(d, other, at + 700)
            self.others_come(d, other, at + 1400)
            self.assertEqual(n + 1, len(o.requests))                     # it is refused, and the others wait on


class Adaptive(Case):
    """Level 1 follows how a feed posts."""

    HOUR, DAY = 3600, 86400

    def posting(self, path, every_s):
        """A feed that has 20 entries, one each `every_s` seconds up to now. Its clock is that of self.now."""
        def document(_):
            newest = int(time.time() + self.now) // every_s
            return Reply(200, rss(*(("e%d" % i, email.utils.formatdate(i * every_s, usegmt=True), "")
                                    for i in range(newest, newest - 20, -1))))
        return self.o.set(path, document)

    def setUp(self):
        self.o, self.now = self.origin(), 0
        self.busy, self.quiet = self.posting("/busy", 600), self.posting("/quiet", 10 * self.DAY)

    def subscribed(self, *args):
        d = self.daemon("--test-clock", self.clock(), *args)
        d.subscribe(self.busy, self.quiet)
        self.wait(lambda: all((d.record(u) or {}).get("last_success") for u in (self.busy, self.quiet)),
                  what="the first fetches", daemon=d)
        return d

    def later(self, d, seconds):
        """Time goes on, and the busy feed is due."""
        n = len(self.o.seen("/busy"))
        self.now += seconds
        self.ahead(self.now)
        self.wait(lambda: len(self.o.seen("/busy")) > n, what="that it is due", daemon=d)
        d.wait_idle()

    def test_what_posts_more_is_asked_more(self):                        # ETIQ-01 SCHED-01
        d = self.subscribed()
        zero, two, exact = (self.posting(path, 600) for path in ("/zero", "/two", "/exact"))
        for u, freq in ((zero, 0), (two, 2), (exact, 777)):
            d.subscribe(u, freq=freq)
        self.wait(lambda: d.record(zero)["last_success"], what="the fetch of level 0", daemon=d)
        self.assertEqual((0, self.DAY), (d.record(zero)["level"], d.record(zero)["period"]))
        for n in range(40):                                              # for a day at least, so that each hour is known
            self.later(d, 3 * self.HOUR)
            if n >= 8 and d.record(self.quiet)["period"] > 3 * self.HOUR:
                break
        busy, quiet = d.record(self.busy), d.record(self.quiet)
        self.assertTrue(300 <= busy["period"] < busy["period"] * 4 < quiet["period"] <= self.DAY, (busy, quiet))
        self.assertTrue(30 < busy["rate"] < 300 and 0 < quiet["rate"] < 1, (busy, quiet))
        for shown in (busy, quiet):
            self.assertEqual((1, "period"), (shown["level"], shown["next_reason"]))
            self.assertRegex(shown["why"], r"^It posts about [0-9.]+ entries (a day|in a hundred days)\b.*\.$")
        for u, period in ((two, 300), (exact, 777)):
            shown = d.record(u)
            self.assertEqual(period, shown["period"])
            self.assertGreater(shown["rate"], 10)
        shown = subprocess.run([BINARY, "show", self.quiet], capture_output=True, text=True, timeout=120 * PATIENCE,
                               env=dict(os.environ, FEEDMILL_SERVER=d.base)).stdout
        self.assertIn("rate\t%.6g\n" % quiet["rate"], shown)
        self.assertIn("why\t" + quiet["why"], shown)
        d.stop()
        d.start()
        again = d.record(self.quiet)
        self.assertEqual([quiet[k] for k in ("rate", "period", "why", "next_check")],
                         [again[k] for k in ("rate", "period", "why", "next_check")])

    def test_without_it_the_level_decides(self):                         # ETIQ-01
        d = self.subscribed("--adaptive=no")
        self.later(d, 3 * self.HOUR)
        for u in (self.busy, self.quiet):
            shown = d.record(u)
            self.assertEqual((1800, "It is fetched every 30 minutes."), (shown["period"], shown["why"]))
            self.assertIsNotNone(shown["rate"])

    def test_a_budget_of_fetches(self):                                  # ETIQ-02
        d = self.daemon("--test-clock", self.clock(), "--adaptive-budget", "2")
        d.subscribe(self.quiet)
        self.wait(lambda: (d.record(self.quiet) or {}).get("last_success"), what="the first fetch", daemon=d)
        self.assertGreater(d.record(self.quiet)["period"], 6 * self.HOUR)


class Schedule(Case):
    def setUp(self):
        self.o = self.origin()

    def fetched(self, d, u, n=1):
        path = u[u.index("/", 8):]
        self.wait(lambda: len(self.o.seen(path)) >= n, what="fetch %d of %s" % (n, path), daemon=d)
        self.wait(lambda: d.record(u)["last_check"], daemon=d)
        return self.o.seen(path)

    def test_levels_and_status(self):                                    # SCHED-01 SCHED-02 D41
        d = self.daemon()
        u = self.o.set("/f.xml", Reply(200, rss("a"), ETag='"v1"'))
        for freq, level, period in ((None, 1, 1800), (0, 0, 86400), (2, 2, 300), (10, None, 10)):
            d.subscribe(u, **({} if freq is None else {"freq": freq}))
            self.fetched(d, u)
            shown = d.record(u)
            self.assertEqual(period, shown["period"])
            if level is not None:
                self.assertEqual(level, shown["level"])
            for key in ("last_check", "last_change", "next_check", "status", "etag", "next_reason"):
                self.assertIn(key, shown)
        self.assertEqual((200, '"v1"'), (shown["status"], shown["etag"]))

    def test_an_exact_period_is_kept(self):                              # SCHED-02 SCHED-03 SCHED-16
        d = self.daemon("--min-period", "1s")
        u = self.o.set("/f.xml", Reply(200, rss("a", head="<ttl>120</ttl>"),
                                       Cache_Control="max-age=3600"))
        d.subscribe(u, freq=3)
        self.fetched(d, u, 4)
        shown = d.record(u)
        self.assertEqual(3, seconds(shown["next_check"]) - seconds(shown["last_check"]))

    def test_hints_lengthen_a_level(self):                               # SCHED-16
        d = self.daemon()
        u = self.o.set("/f.xml", rss("a", head="<ttl>120</ttl>"))
        d.subscribe(u)
        self.fetched(d, u)
        shown = d.record(u)
        self.assertGreaterEqual(seconds(shown["next_check"]) - seconds(shown["last_check"]),
                                7190)
        self.assertEqual("ttl", shown["next_reason"])

    @staticmethod
    def seconds(text):
        import datetime
        return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()

    def test_a_ping_moves_level_1_to_0(self):                            # SCHED-04 SCHED-06 SCHED-07
        d = self.daemon()
        u, v = self.o.set("/f.xml", rss("a")), self.o.set("/g.xml", rss("b"))
        d.subscribe(u)
        d.subscribe(v, freq=2)
        self.fetched(d, u)
        self.fetched(d, v)
        for x in (u, v):
            d.ping(x)
        self.fetched(d, u, 2)
        self.fetched(d, v, 2)
        self.wait(lambda: d.record(u)["level"] == 0)
        self.assertEqual((2, 300), (d.record(v)["level"], d.record(v)["period"]))

    def test_an_unannounced_update_moves_level_0_to_1(self):             # SCHED-05
        d = self.daemon("--level0-period", "1s")
        u = self.o.set("/f.xml", rss("a"))
        d.subscribe(u, freq=0)
        self.fetched(d, u)
        self.assertEqual(0, d.record(u)["level"])
        self.o.set("/f.xml", rss("b", "a"))
        self.wait(lambda: d.record(u)["level"] == 1, daemon=d)

    def test_bursts_of_pings_are_merged(self):                           # SCHED-07 SCHED-10
        d = self.daemon("--ping-gap", "1s")
        u, other = self.o.set("/f.xml", Reply(200, rss("a"), delay=0.05)), self.o.set("/g.xml", rss("b"))
        for url in (u, other):
            d.subscribe(url)
            self.fetched(d, url)
        n = len(self.o.seen("/f.xml"))
        began = time.monotonic()
        for _ in range(100):                        # for two seconds: 40 fetches, were they not merged
            last = time.monotonic()
            d.ping(u)
            time.sleep(0.02)
        most = 3 + int(time.monotonic() - began)    # one a second, if the burst takes that long
        self.wait(lambda: self.o.seen("/f.xml")[-1].at > last, what="the fetch for the last ping", daemon=d)
        for i in (2, 3):                            # what would follow it comes before the other's second
            d.ping(other)
            self.fetched(d, other, i)
        self.assertTrue(1 <= len(self.o.seen("/f.xml")) - n <= most, len(self.o.seen("/f.xml")) - n)
        self.assertEqual(1, self.o.open_most["/f.xml"])

    def test_validators_come_back_verbatim(self):                        # SCHED-11 D44
        d = self.daemon()
        u = self.o.set("/f.xml", Reply(200, rss("a"), ETag='W/"odd, tag"',
                                       Last_Modified="Mon, 01 Jun 2020 10:00:00 +0000"))
        d.subscribe(u)
        self.fetched(d, u)
        d.ping(u)
        d.wait_idle()
        second = self.fetched(d, u, 2)[1]
        self.assertEqual('W/"odd, tag"', second.headers["If-None-Match"])
        self.assertEqual("Mon, 01 Jun 2020 10:00:00 +0000", second.headers["If-Modified-Since"])
        self.assertEqual(304, second.status)
        self.assertEqual(1, d.counter("fetch_304_total"))
        self.assertIsNone(d.record(u)["last_error"])

    def test_validators_go_only_to_the_url_that_gave_them(self):         # SCHED-11
        """Two documents behind one redirect, by turns, have the same tag. A query that changes is the same place."""
        d = self.daemon()
        one = self.o.set("/one.xml", Reply(200, rss("a"), ETag='"1"'))
        signed = [self.o.set("/cdn.xml?key=%d" % i, Reply(200, rss("c"), ETag='"1"')) for i in range(2)]
        self.o.set("/two.xml", Reply(200, rss("b", "a"), ETag='"1"'))
        u, cdn = self.o.set("/f.xml", Reply(302, "", Location=one)), self.o.set("/g.xml", Reply(302, "", Location=signed[0]))
        d.subscribe(u, cdn)
        for url in (u, cdn):
            self.fetched(d, url)
        d.wait_idle()

        def again(path):
            n = len(self.o.seen(path))
            d.ping(u)
            d.ping(cdn)
            self.wait(lambda: len(self.o.seen(path)) > n, what=path, daemon=d)
            d.wait_idle()
            return self.o.seen(path)[-1]
        self.assertEqual(304, again("/one.xml").status)
        self.o.set("/f.xml", Reply(302, "", Location=self.o.url("/two.xml")))
        self.o.set("/g.xml", Reply(302, "", Location=signed[1]))
        first = again("/two.xml")
        self.assertEqual(200, first.status)
        self.assertNotIn("If-None-Match", first.headers)
        self.assertEqual(2, len(d.feed(u).json["entries"]))
        self.assertEqual(304, again("/two.xml").status)
        self.assertEqual({304}, {r.status for r in self.o.seen("/cdn.xml?key=1")})
        for path in ("/f.xml", "/g.xml"):
            self.assertTrue(all("If-None-Match" not in r.headers for r in self.o.seen(path)))

    def test_a_document_that_was_cut_off_is_asked_for_whole(self):       # SCHED-11
        d = self.daemon()
        whole = rss(*["n%d" % i for i in range(40)])
        cut = self.o.set("/f.xml", Reply(200, whole[:len(whole) // 2], ETag='"1"'), Reply(200, whole, ETag='"1"'))
        faulty = self.o.set("/g.xml", Reply(200, rss("a&").replace("&amp;", "&"), ETag='"1"'))
        d.subscribe(cut, faulty)
        self.fetched(d, cut)
        self.fetched(d, faulty)
        d.wait_idle()
        self.assertTrue(0 < len(d.feed(cut, len=50).json["entries"]) < 40)
        for u in (cut, faulty):
            d.ping(u)
        self.assertNotIn("If-None-Match", self.fetched(d, cut, 2)[1].headers)
        self.assertEqual(304, self.fetched(d, faulty, 2)[1].status)      # its end is there
        d.wait_idle()
        self.assertEqual(40, len(d.feed(cut, len=50).json["entries"]))

    def test_the_same_body_is_no_update(self):                           # SCHED-12
        d = self.daemon()
        u = self.o.set("/f.xml", Reply(200, rss("a"), ETag='"1"'), Reply(200, rss("a"), ETag='"2"'))
        d.subscribe(u)
        self.fetched(d, u)
        tag = d.feed(u).header("ETag")
        d.ping(u)
        d.wait_idle()
        self.assertEqual((2, 1), (len(self.o.seen("/f.xml")), d.counter("fetch_same_total")))
        self.assertEqual(tag, d.feed(u).header("ETag"))
        self.assertEqual('"2"', d.record(u)["etag"])

    def test_hanging_publishers_delay_nobody(self):                      # SCHED-09
        d = self.daemon("--fetch-timeout", "10m")
        hanging = [self.o.set("/h%d" % n, Reply(200, "", delay=300)) for n in range(8)]
        good = [self.o.set("/g%d" % n, rss("g%d" % n)) for n in range(92)]
        d.subscribe(*(hanging + good))
        self.wait(lambda: all(self.o.seen("/g%d" % n) for n in range(92)), daemon=d)

    def test_compressed_answers(self):                                   # SCHED-13
        d = self.daemon()
        u = self.o.set("/f.xml", Reply(200, rss("zipped"), Content_Encoding="gzip"))
        self.assertEqual("zipped", d.feed(u).json["entries"][0]["title"])
        self.assertIn("gzip", self.o.seen("/f.xml")[0].headers["Accept-Encoding"])

    def test_codings_as_browsers_take_them(self):                        # SCHED-13
        d = self.daemon()
        text = rss("one", "two").encode()
        packed = gzip.compress(text[:200]) + gzip.compress(text[200:])
        for n, (coding, body) in enumerate((
                ("GZIP", packed), ("x-gzip", packed + b"\0" * 512), ("Deflate", zlib.compress(text)),
                ("Deflate", zlib.compress(text)[2:-4]), ("identity", text), ("utf-8", text),
                ("GZIP, x-gzip", gzip.compress(packed)))):
            u = self.o.set("/f%d.xml" % n, Reply(200, body, Content_Encoding=coding))
            self.assertEqual(["one", "two"], [e["title"] for e in d.feed(u).json["entries"]], (n, coding))
        u = self.o.set("/cut.xml", Reply(200, packed[:-30], Content_Encoding="GZIP"))
        self.assert_problem(d.feed(u), 502)

    def test_gone_and_retry_after(self):                                 # SCHED-14 ETIQ-06
        d = self.daemon("--min-period", "1s", "--fetch-host-gap", "0")
        gone = self.o.set("/gone", rss("a"), Reply(410), rss("a"))
        busy = self.o.set("/busy", Reply(503, Retry_After="7"))
        other = self.o.set("/other", Reply(404))
        d.subscribe(gone, freq=3)
        self.fetched(d, gone, 3)                # one answer 410 does not end it (ETIQ-06)
        self.wait(lambda: d.record(gone)["state"] == "ok", daemon=d)
        pauses = {}                              # after so many errors

        def third_error():
            shown = d.record(other)
            if shown["last_check"]:
                pauses[shown["errors"]] = seconds(shown["next_check"]) - seconds(shown["last_check"])
            return shown["errors"] >= 3
        d.subscribe(other, freq=3)
        self.wait(third_error, what="the third error", daemon=d)
        self.assertGreater(pauses[max(pauses)], pauses[min(pauses)], pauses)
        self.assertEqual("backoff", d.record(other)["next_reason"])
        d.subscribe(busy, freq=3)
        self.fetched(d, busy)
        self.wait(lambda: d.record(busy)["next_reason"] == "retry-after")
        shown = d.record(busy)
        self.assertGreaterEqual(
            seconds(shown["next_check"]) - seconds(shown["last_check"]), 6.5)
        guarded = self.o.set("/guarded", Reply(403, "<html>Just a moment", Content_Type="text/html"))
        d.subscribe(guarded)
        self.wait(lambda: "challenge" in (d.record(guarded)["last_error"] or ""), daemon=d)     # ETIQ-07

    def test_user_agent(self):                                           # SCHED-17
        d = self.daemon("--contact-url", "https://company.example/bot")
        u = self.o.set("/f.xml", rss("a"))
        d.subscribe(u)
        d.subscribe(u)
        self.fetched(d, u)
        d.ping(u)
        agent = self.fetched(d, u, 2)[1].headers["User-Agent"]
        self.assertIn("Feedmill/", agent)
        self.assertIn("+https://company.example/bot", agent)
        self.assertIn("2 subscribers", agent)

    def read_again(self, d):
        """The change log is read twice, and what that brings about is fetched."""
        n = len(self.o.seen("/changes.xml"))
        self.wait(lambda: len(self.o.seen("/changes.xml")) >= n + 3, what="two readings", daemon=d)
        d.wait_idle()

    def test_the_monitor_reads_change_logs(self):                        # SCHED-08 PING-07
        updated = email.utils.formatdate(time.time() - 30, usegmt=True)

        def log(url, when):
            return ('<?xml version="1.0"?><weblogUpdates version="2" updated="%s" count="1">'
                    '<weblog name="x" url="%s" when="%d"/></weblogUpdates>' % (updated, url, when))

        u = self.o.set("/f.xml", rss("a"))
        changes = self.o.set("/changes.xml", log("http://unknown.example/", 1))
        d = self.daemon("--ping-server", changes, "--monitor-period", "1s")
        d.subscribe(u)
        self.fetched(d, u)
        updated = email.utils.formatdate(time.time() + 2, usegmt=True)
        self.o.set("/changes.xml", log(u, 2))
        self.fetched(d, u, 2)
        self.wait(lambda: d.record(u)["level"] == 0)
        self.read_again(d)
        self.assertEqual(2, len(self.o.seen("/f.xml")))
        updated = email.utils.formatdate(time.time() + 2, usegmt=True)
        self.o.set("/changes.xml", log("http://site.example/", 1))
        self.fetched(d, u, 3)

    def test_a_static_change_log_names_a_feed_that_comes_later(self):    # PING-07
        u, answers = self.o.set("/f.xml", rss("a")), threading.Event()
        log = Reply(200, '<weblogUpdates version="2" updated="%s" count="1"><weblog name="x" url="%s" when="2"/>'
                    "</weblogUpdates>" % (email.utils.formatdate(usegmt=True), u), ETag='"1"')

        def change_log(seen):
            answers.wait()
            return log
        self.addCleanup(answers.set)
        answers.set()
        d = self.daemon("--ping-server", self.o.set("/changes.xml", change_log), "--monitor-period", "1s")
        self.wait(lambda: len(self.o.seen("/changes.xml")) >= 2)
        answers.clear()         # so that the first fetch is not the one that the log asks for, too
        d.subscribe(u)
        self.fetched(d, u)
        answers.set()
        self.fetched(d, u, 2)
        self.read_again(d)
        self.assertEqual(2, len(self.o.seen("/f.xml")))

    def test_a_busy_path_holds_no_other_feed_of_its_host(self):          # SCHED-02 SCHED-14
        """It rests with its host, is asked once more after that, and then at its own period only."""
        d = self.daemon("--min-period", "1s")
        busy, other = self.o.set("/busy", Reply(503, Retry_After="10")), self.o.set("/f.xml", rss("a"))
        d.subscribe(busy)
        self.fetched(d, busy)
        d.subscribe(other, freq=3)
        self.fetched(d, other, 3)
        self.assertEqual(2, len(self.fetched(d, busy, 2)))

    def test_reload_changes_periods(self):
        d = self.daemon(env={"FEEDMILL_CONFIG": "/dev/null"})
        path = os.path.join(d.folder, "conf")
        d.env["FEEDMILL_CONFIG"] = path
        with open(path, "w") as out:
            out.write("level1-period = 30m\n")
        d.stop()
        d.start()
        u = self.o.set("/f.xml", rss("a"))
        d.subscribe(u)
        self.fetched(d, u)
        with open(path, "w") as out:
            out.write("level1-period = 40m\n")
        d.process.send_signal(signal.SIGHUP)
        d.wait_log("event=reloaded")
        d.ping(u)
        self.fetched(d, u, 2)
        self.wait(lambda: d.record(u)["level"] == 0)     # the fetch that the ping asked for has ended
        d.subscribe(u, freq=1)
        shown = d.record(u)
        self.assertEqual(2400, shown["period"])
        self.assertEqual(2400, seconds(shown["next_check"]) - seconds(shown["last_check"]))
        with open(path, "w") as out:
            out.write("no-such-option = 1\n")
        d.process.send_signal(signal.SIGHUP)
        d.wait_log("reload_refused")
        self.assertEqual(200, d.get("/sub").status)
