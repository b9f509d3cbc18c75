"""Feedmill as a subscriber of publishers' hubs (WebSub): SUBR-*."""
import gzip
import hmac
import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import urllib.parse
import zlib

from .env.case import Case, slow
from .env.daemon import BINARY, HUNG, PATIENCE
from .env.origin import Reply, moved, rss
from .env.websub_hub import Hub, atom


class Subscriber(Case):
    def setUp(self):
        self.o, self.h = self.origin(), self.hub()

    def hub(self, **kw):
        hub = Hub(**kw)
        self.addCleanup(hub.close)
        return hub

    def asked(self, n=1, mode="subscribe", hub=None, seconds=HUNG, daemon=None):
        """The n-th request of this mode at the hub."""
        hub = hub or self.h
        self.wait(lambda: len(hub.subscribers(mode)) >= n, seconds, "%s %d" % (mode, n), daemon)
        return hub.subscribers(mode)[n - 1]

    def active(self, d, u, state="active"):
        self.wait(lambda: (d.record(u) or {}).get("hub_state") == state, what=state, daemon=d)
        return d.record(u)

    def marker(self, d):
        """Another feed's subscription becomes active at a hub of its own: what the daemon had to say to
        hubs before has been said."""
        hub = self.hub()
        path = "/marker%d" % hub.port
        u = self.o.url(path)
        self.o.set(path, atom("marker", hub=hub.url(), self_=u))
        d.subscribe(u)
        self.active(d, u)

    def titles(self, d, u):
        return {e["title"] for e in d.feed(u).json["entries"]}

    def subscribed(self, *args, n=1, **kw):
        """A daemon with an active subscription at self.h: (daemon, feed URL, request)."""
        u = self.o.url("/f.atom")
        self.o.set("/f.atom", atom("old", hub=self.h.url(), self_=u))
        d = self.daemon(*args)
        d.subscribe(u, **kw)
        asked = self.asked(daemon=d)
        self.active(d, u)
        return d, u, asked

    # ---- discovery ----
    def test_link_fields_lead_to_a_verified_subscription(self):          # SUBR-100 SUBR-304
        d = self.daemon()
        u = self.o.set("/f.xml", Reply(200, rss("a"), Link='<%s>; rel=hub, <%s>; rel="self"' % (
            self.h.url(), self.o.url("/f.xml"))))
        d.subscribe(u)
        asked = self.asked()
        self.assertEqual(u, asked.topic)
        self.assertTrue(asked.callback.startswith(d.base + "/websub/"), asked.callback)
        self.assertGreater(int(asked.lease_seconds), 0)
        self.assertTrue(16 <= len(asked.secret.encode()) < 200)
        self.wait(lambda: self.h.verified)
        self.assertEqual([("subscribe", 200, True)], self.h.verified)
        self.assertEqual(self.h.url(), self.active(d, u)["hub"])

    def test_a_password_in_the_name_of_a_topic_is_not_shown(self):       # ETIQ-08
        d = self.daemon()
        secret = self.o.url("/f.xml").replace("http://", "http://who:secret-word@")
        u = self.o.set("/f.xml", Reply(200, rss("a"), Link='<%s>; rel=hub, <%s>; rel="self"' % (self.h.url(), secret)))
        d.subscribe(u)
        self.asked()
        self.wait(lambda: d.get("/sub/feed?id=1").json["hub_topic"] == u, daemon=d)
        for path in "/sub/feed?id=1", "/sub/feeds", "/sub?type=json&all=1":
            self.assertNotIn(b"secret-word", d.get(path).body, path)

    def test_links_in_the_head_of_a_page(self):                          # SUBR-101
        d = self.daemon()
        feed = self.o.set("/feed.rss", rss("a"))
        page = self.o.url("/page")
        self.o.set("/page", Reply(200, (
            '<html><head><title>t</title><link rel="hub" href="%s"><link rel=self href="/page">'
            '<link rel=alternate type="application/rss+xml" href="%s"></head><body>'
            '<link rel="hub" href="http://127.0.0.1:1/decoy"></body></html>') % (self.h.url(), feed),
            Content_Type="text/html"))
        d.subscribe(page)
        asked = self.asked(daemon=d)
        self.assertEqual(page, asked.topic)
        self.active(d, page)
        # what the hub sends is the page: it says that there is something new
        self.o.set("/feed.rss", rss("a", "b"))
        status, _ = self.h.deliver(asked, "<html><body>new</body></html>", content_type="text/html")
        self.assertIn(status, (200, 202))
        self.wait(lambda: "b" in self.titles(d, feed), what="the fetch", daemon=d)

    def test_a_page_without_a_feed(self):                                # SUBR-101
        d = self.daemon("--announced-only")
        page = self.o.url("/page")
        self.o.set("/page", Reply(200, (
            '<html><head><link rel="hub" href="%s"><link rel="self" href="%s"></head><body>x'
            '</body></html>') % (self.h.url(), page), Content_Type="text/html"))
        d.subscribe(page)
        asked = self.asked(daemon=d)
        self.assertEqual(page, asked.topic)
        self.active(d, page)
        # a feed appears: the hub's word is enough to have it found
        feed = self.o.set("/late.rss", rss("a"))
        self.o.set("/page", Reply(200, (
            '<html><head><link rel="hub" href="%s"><link rel="self" href="%s"><link rel=alternate '
            'type="application/rss+xml" href="%s"></head></html>') % (self.h.url(), page, feed),
            Content_Type="text/html"))
        self.assertIn(self.h.deliver(asked, "<html>", content_type="text/html")[0], (200, 202))
        self.wait(lambda: "a" in self.titles(d, feed), what="the feed", daemon=d)

    def test_readers_are_interest_enough(self):                          # SUBR-100
        d, u = self.daemon(), self.o.url("/f.atom")
        self.o.set("/f.atom", atom("old", hub=self.h.url(), self_=u))
        self.assertEqual(200, d.feed(u).status)
        self.asked(daemon=d)
        self.active(d, u)

    def test_links_of_json_feed(self):                                   # SUBR-102
        d, u = self.daemon(), self.o.url("/f.json")
        self.o.set("/f.json", Reply(200, json.dumps({
            "version": "https://jsonfeed.org/version/1.1", "title": "t", "feed_url": u,
            "hubs": [{"type": "WebSub", "url": self.h.url()}],
            "items": [{"id": "1", "content_text": "x"}]}), Content_Type="application/feed+json"))
        d.subscribe(u)
        self.assertEqual(u, self.asked(daemon=d).topic)

    def test_links_of_atom(self):                                        # SUBR-102
        d, u, asked = self.subscribed()
        self.assertEqual(u, asked.topic)

    def test_links_of_rss(self):                                         # SUBR-103
        d = self.daemon()
        u = self.o.url("/f.rss")
        self.o.set("/f.rss", (
            '<rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom"><channel><title>t</title>'
            '<atom:link rel="hub" href="%s"/><atom:link rel="self" href="%s"/>'
            '<item><title>a</title></item></channel></rss>') % (self.h.url(), u))
        d.subscribe(u)
        self.assertEqual(u, self.asked(daemon=d).topic)

    def test_link_fields_come_before_the_document(self):                 # SUBR-104
        decoy, d = self.hub(), self.daemon()
        u = self.o.url("/f.atom")
        self.o.set("/f.atom", Reply(
            200, atom("a", hub=decoy.url(), self_=self.o.url("/decoy")),
            Link='<%s>; rel="hub", <%s>; rel="self"' % (self.h.url(), u)))
        d.subscribe(u)
        self.assertEqual(u, self.asked(daemon=d).topic)
        self.active(d, u)
        self.assertEqual([], decoy.asked)

    def test_the_topic_is_the_advertised_self(self):                     # SUBR-200
        d = self.daemon()
        other = self.o.url("/other?x=1&y=%C3%A4")
        u = self.o.set("/f.xml", Reply(200, rss("a"), Link='<%s>; rel="hub", <%s>; rel="self"' % (
            self.h.url(), other)))
        d.subscribe(u)
        self.assertEqual(other, self.asked(daemon=d).topic)
        self.active(d, u)

    def redirected(self, status):
        d = self.daemon()
        u, u2 = self.o.url("/old.xml"), self.o.url("/new.xml")
        self.o.set("/old.xml", Reply(status, Location=u2))
        self.o.set("/new.xml", Reply(200, rss("a"), Link='<%s>; rel="hub", <%s>; rel="self"' % (
            self.h.url(), u2 + "?self")))
        d.subscribe(u)
        self.assertEqual(u2 + "?self", self.asked(daemon=d).topic)
        return d, u, u2

    def test_a_topic_behind_302(self):                                   # SUBR-201
        d, u, _ = self.redirected(302)
        self.assertEqual(u, self.active(d, u)["url"])

    def test_a_topic_behind_301(self):                                   # SUBR-202
        d, _, u2 = self.redirected(301)
        self.assertEqual(u2, self.active(d, u2)["url"])

    def moved_hub(self, status):
        u = self.o.url("/f.atom")
        self.o.set("/f.atom", atom("a", hub=self.h.url("/moved%d" % status), self_=u))
        d = self.daemon()
        d.subscribe(u)
        asked = self.asked(daemon=d)
        self.assertEqual(("/hub", u), (asked.path, asked.topic))
        self.assertEqual(("application/x-www-form-urlencoded", asked.body), self.h.moved)
        self.active(d, u)

    def test_a_hub_that_answers_307(self):                               # SUBR-203
        self.moved_hub(307)

    def test_a_hub_that_answers_308(self):                               # SUBR-204
        self.moved_hub(308)

    # ---- callbacks ----
    def test_a_hub_whose_answer_breaks_off(self):                        # SUBR-100
        """Its status is the answer."""
        for raw in (b"HTTP/1.1 202 Accepted\r\nContent-Length: 100\r\n\r\nbroken",
                    b"HTTP/1.1 202 Accepted\r\n\r\n" + b"x" * 300_000):
            with self.subTest(raw=raw[:70]):
                h = self.hub(raw=raw)
                path = "/%d.atom" % len(raw)
                u = self.o.set(path, atom("old", hub=h.url(), self_=self.o.url(path)))
                d = self.daemon()
                d.subscribe(u)
                self.active(d, u)
                self.marker(d)
                self.assertEqual(0, d.counter("upstream_failed_total"))
                self.assertEqual(1, len(h.asked))

    def test_what_a_hub_repeats_of_our_secrets_is_not_shown(self):       # SUBR-207 SUBR-304
        u = self.o.set("/f.atom", atom("old", hub=self.h.url(), self_=self.o.url("/f.atom")))
        self.h.status = 400
        self.h.reason = lambda asked: "I know %s, %s" % (asked.callback, asked.secret)
        d = self.daemon()
        d.subscribe(u)
        asked = self.asked(daemon=d)
        self.assertEqual("the hub refused with status 400",
                         self.active(d, u, "failed")["hub_error"])
        self.assertEqual(200, self.h.say(asked, "denied", reason="no " + asked.callback)[0])
        self.wait(lambda: "denied" in d.record(u)["hub_error"], what="denial", daemon=d)
        token = asked.callback.rsplit("/", 1)[1]
        for text in (d.get("/sub?type=json&all=1").body.decode(), d.text()):
            self.assertNotIn(token, text)
            self.assertNotIn(asked.secret, text)

    def test_a_silent_hub_keeps_no_other_waiting(self):                  # SUBR-100
        silent, d = self.hub(raw=b""), self.daemon("--fetch-timeout", "10m")
        urls = []
        for i in range(60):
            path = "/s%d.atom" % i
            urls.append(self.o.set(path, atom("old", hub=silent.url(), self_=self.o.url(path))))
        d.subscribe(*urls)
        self.wait(lambda: len(silent.asked) >= 4, what="four requests", daemon=d)
        u = self.o.set("/f.atom", atom("old", hub=self.h.url(), self_=self.o.url("/f.atom")))
        d.subscribe(u)
        self.active(d, u)
        self.assertEqual(4, len(silent.asked))

    def test_verifications_that_were_not_asked_for(self):                # SUBR-205 SUBR-206
        d, u, asked = self.subscribed()
        self.assertEqual(404, self.h.say(asked, "subscribe", topic=u + "x", challenge="c",
                                         lease_seconds=9)[0])
        self.assertEqual(404, self.h.say(asked, "unsubscribe", challenge="c")[0])
        self.assertEqual(404, self.h.say(asked, "other", challenge="c")[0])
        self.assertEqual(404, self.h.say(asked, "subscribe", lease_seconds=9)[0])
        self.assertEqual(404, self.h.say(asked, "subscribe", challenge="", lease_seconds=9)[0])
        for path in ("/websub/unknown", "/websub", "/websub/", "/websub/" + "a" * 40):
            self.assertEqual(404, d.get(path + "?hub.mode=subscribe&hub.topic=" +
                                        urllib.parse.quote(u) + "&hub.challenge=c").status)
            self.assertEqual(404, d.call("POST", path, atom("x")).status)
        self.assertEqual("active", d.record(u)["hub_state"])

    def test_callbacks_and_secrets_are_unique(self):                     # SUBR-207 SUBR-304
        d = self.daemon()
        for name in ("/a", "/b", "/c"):
            u = self.o.url(name)
            self.o.set(name, atom("x", hub=self.h.url(), self_=u))
            d.subscribe(u)
        self.asked(3, daemon=d)
        tokens = [a.callback.rsplit("/", 1)[1] for a in self.h.subscribers()]
        self.assertEqual(3, len(set(tokens)))
        self.assertTrue(all(len(t) * 4 >= 128 and int(t, 16) for t in tokens), tokens)
        self.assertEqual(3, len({a.secret for a in self.h.subscribers()}))

    # ---- deliveries ----
    def test_a_delivery_is_stored_and_pushed_without_a_fetch(self):      # SUBR-300 SUBR-305 SUBR-308
        r = self.receiver()
        d, u, asked = self.subscribed(endpoint=r.url)
        before = len(self.o.seen("/f.atom"))
        status, _ = self.h.deliver(asked, atom("new"))
        self.assertEqual(2, status // 100)
        self.assertEqual({"old", "new"}, self.titles(d, u))              # merged: old is not gone
        self.wait(lambda: r.titles() == ["new"], what="the push", daemon=d)
        self.assertEqual(before, len(self.o.seen("/f.atom")))
        self.assertTrue(d.record(u)["hub_delivered"])
        self.h.deliver(asked, atom("newer").replace("<title>F<", "<title>Only what is new<"))
        self.assertIn("newer", self.titles(d, u))
        self.assertEqual("F", d.record(u)["title"])          # the head is that of the last poll

    def test_a_delivery_survives_kill(self):                             # SUBR-300
        d, u, asked = self.subscribed()
        self.assertEqual(2, self.h.deliver(asked, atom("new"))[0] // 100)
        d.kill()
        d.start()
        self.assertEqual({"old", "new"}, self.titles(d, u))
        self.assertEqual(2, self.h.deliver(asked, atom("later"))[0] // 100)
        self.assertEqual({"old", "new", "later"}, self.titles(d, u))
        self.assertEqual(1, len(self.h.subscribers()))

    def test_a_wrong_signature_is_ignored(self):                         # SUBR-301 D36
        d, u, asked = self.subscribed()
        for method, secret in (("sha256", "other"), ("sha1", ""), ("md5", asked.secret)):
            self.assertEqual(202, self.h.deliver(asked, atom("evil"), method, secret)[0])
        self.h.deliver(asked, atom("good"))
        self.assertEqual({"old", "good"}, self.titles(d, u))

    def test_a_missing_signature_is_refused(self):                       # SUBR-302 D36
        d, u, asked = self.subscribed()
        self.assertEqual(403, self.h.deliver(asked, atom("evil"), None)[0])
        self.h.deliver(asked, atom("good"))
        self.assertEqual({"old", "good"}, self.titles(d, u))

    def test_four_methods_of_signing(self):                              # SUBR-303
        d, u, asked = self.subscribed()
        methods = ["sha1", "sha256", "sha384", "sha512"]
        for method in methods:
            self.assertEqual(2, self.h.deliver(asked, atom(method), method)[0] // 100)
        self.assertEqual({"old", *methods}, self.titles(d, u))

    def test_compressed_deliveries_are_decoded(self):                    # SUBR-300 SUBR-301
        d, u, asked = self.subscribed()
        deflate = zlib.compressobj(wbits=-15)
        brotli = atom("b").encode()              # one uncompressed meta-block (RFC 7932 section 9.2)
        brotli = ((len(brotli) - 1) << 4 | 1 << 20).to_bytes(3, "little") + brotli + b"\x03"
        for coding, title, body in (
                ("gzip", "g", gzip.compress(atom("g").encode())),
                ("deflate", "d", zlib.compress(atom("d").encode())),
                ("Deflate", "r", deflate.compress(atom("r").encode()) + deflate.flush()),
                ("br", "b", brotli),
                ("gzip, deflate", "t", zlib.compress(gzip.compress(atom("t").encode()))),
                ("identity", "i", atom("i").encode())):
            with self.subTest(coding=coding):
                self.assertEqual(200, self.h.deliver(asked, body, coding=coding)[0])
                self.assertIn(title, self.titles(d, u))
        body = gzip.compress(atom("forged").encode())       # signed are the bytes as sent
        signed = hmac.new(asked.secret.encode(), atom("forged").encode(), "sha256").hexdigest()
        status, _ = self.h.call("POST", asked.callback, body, {
            "Content-Type": "application/atom+xml", "Content-Encoding": "gzip",
            "X-Hub-Signature": "sha256=" + signed})
        self.assertEqual(202, status)
        self.assertNotIn("forged", self.titles(d, u))

    def test_codings_that_hurt_are_refused(self):                        # SUBR-300
        d, u, asked = self.subscribed()
        bomb = gzip.compress(b" " * 40_000_000)
        for coding, body, expected in (
                ("compress", b"x", 415), ("gzip, compress", b"x", 415), ("zstd", b"x", 400), ("gzip,gzip,gzip,gzip", b"x", 415),
                ("gzip", atom("plain").encode(), 400), ("gzip", bomb, 413),
                ("gzip", gzip.compress(atom("cut").encode())[:-20], 400)):
            with self.subTest(coding=coding, expected=expected):
                status, answer = self.h.deliver(asked, body, coding=coding)
                self.assertEqual(expected, status, answer)
        self.assertEqual(200, self.h.deliver(asked, atom("good"))[0])
        self.assertEqual({"old", "good"}, self.titles(d, u))

    def test_an_empty_complete_delivery_deletes_nothing(self):           # SUBR-308
        d, u, asked = self.subscribed()
        body = atom("new").replace("<entry>", '<complete xmlns="http://purl.org/syndication/'
                                              'history/1.0"/><entry>', 1)
        self.assertEqual(2, self.h.deliver(asked, body)[0] // 100)
        self.assertEqual({"old", "new"}, self.titles(d, u))

    def test_a_late_delivery_does_not_undo_a_later_one(self):            # SUBR-300
        d, u, asked = self.subscribed()

        def entry(title, updated):
            return atom("x", updated=updated).replace("<title>x<", "<title>%s<" % title)
        self.h.deliver(asked, entry("second", "2024-01-02T00:00:00Z"))
        self.h.deliver(asked, entry("first", "2024-01-01T00:00:00Z"))
        self.assertEqual({"old", "second"}, self.titles(d, u))
        self.h.deliver(asked, entry("third", "2024-01-03T00:00:00Z"))
        self.assertEqual({"old", "third"}, self.titles(d, u))

    def test_deliveries_at_once_are_all_kept(self):                      # SUBR-300
        d, u, asked = self.subscribed()
        names = ["n%d" % i for i in range(150)]
        status = []
        threads = [threading.Thread(target=lambda n=n: status.append(
            self.h.deliver(asked, atom(n))[0])) for n in names]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual({200}, set(status))
        self.assertEqual({"old", *names}, {e["title"] for e in d.feed(u, len=200).json["entries"]})

    def test_callbacks_need_no_token_and_are_bounded(self):
        d, u, asked = None, self.o.url("/f.atom"), None
        self.o.set("/f.atom", atom("old", hub=self.h.url(), self_=u))
        d = self.daemon("--token", "t")
        auth = {"Authorization": "Bearer t", "Content-Type": "application/x-www-form-urlencoded"}
        self.assertEqual(201, d.call("POST", "/sub", "url=" + urllib.parse.quote(u, ""),
                                     auth).status)
        asked = self.asked(daemon=d)
        self.wait(lambda: self.h.verified)
        self.assertEqual([("subscribe", 200, True)], self.h.verified)
        self.assertEqual(2, self.h.deliver(asked, atom("new"))[0] // 100)
        self.assertEqual(413, self.h.deliver(asked, b" " * (9 << 20))[0])

    # ---- leases ----
    def test_a_lease_is_renewed_before_its_end(self):                    # SUBR-306
        self.h.lease = int(4 * PATIENCE)
        d, u, first = self.subscribed()
        second = self.asked(2, daemon=d)
        self.assertLess(second.at - first.at, self.h.lease)
        self.assertEqual((first.callback, first.secret), (second.callback, second.secret))
        self.asked(3, daemon=d)
        self.assertEqual("active", d.record(u)["hub_state"])

    def test_polling_slows_down_while_the_hub_works(self):               # SUBR-306
        d, u, asked = self.subscribed("--level2-period", "1s", "--hub-backup-period", "1h", freq=2)
        self.h.deliver(asked, atom("new"))
        d.wait_idle()
        self.wait(lambda: d.record(u)["next_reason"] == "hub", what="the slow pace", daemon=d)
        d.wait_idle()                                          # a poll of before may be on its way
        before = len(self.o.seen("/f.atom"))
        other = self.o.set("/other.xml", rss("a"))             # without a hub: at the usual pace
        d.subscribe(other, freq=2)
        self.wait(lambda: len(self.o.seen("/other.xml")) >= 8, what="eight polls", daemon=d)
        self.assertLess(len(self.o.seen("/f.atom")), before + 4)         # after 2, 4 and 8 seconds
        # the hub withdraws: the usual pace is back at once
        self.assertEqual(200, self.h.say(asked, "denied", reason="not any more")[0])
        before = len(self.o.seen("/f.atom"))
        self.wait(lambda: len(self.o.seen("/f.atom")) >= before + 3, what="the usual pace", daemon=d)
        shown = d.record(u)
        self.assertEqual(("failed", "the hub denied it: not any more", "period"),
                         (shown["hub_state"], shown["hub_error"], shown["next_reason"]))

    def test_a_silent_hub_leaves_the_usual_pace(self):                   # SUBR-306
        d, u, _ = self.subscribed("--level2-period", "1s", "--hub-backup-period", "1h", freq=2)
        self.o.set("/f.atom", atom("old", "missed", hub=self.h.url(), self_=u))
        self.wait(lambda: "missed" in self.titles(d, u), what="the update", daemon=d)
        self.assertTrue(d.record(u)["hub_missed"])
        before = len(self.o.seen("/f.atom"))
        self.wait(lambda: len(self.o.seen("/f.atom")) >= before + 4, what="polls", daemon=d)
        self.assertEqual("period", d.record(u)["next_reason"])

    def test_a_hub_that_never_verifies_leaves_the_usual_pace(self):      # SUBR-306
        self.h.verifies = False
        u = self.o.url("/f.atom")
        self.o.set("/f.atom", atom("old", hub=self.h.url(), self_=u))
        d = self.daemon("--level2-period", "1s")
        d.subscribe(u, freq=2)
        self.asked(daemon=d)
        self.wait(lambda: len(self.o.seen("/f.atom")) >= 4, what="polls", daemon=d)
        self.assertEqual(("asking", "period"),
                         (d.record(u)["hub_state"], d.record(u)["next_reason"]))

    def test_a_lease_that_ends_gives_the_usual_pace_back(self):          # SUBR-306
        self.h.lease = int(6 * PATIENCE)
        d, u, asked = self.subscribed("--level2-period", "1s", "--hub-backup-period", "1h", freq=2)
        self.h.status = 500
        self.h.deliver(asked, atom("new"))
        self.wait(lambda: d.record(u)["next_reason"] == "hub", what="the slow pace", daemon=d)
        self.active(d, u, "failed")
        before = len(self.o.seen("/f.atom"))
        self.wait(lambda: len(self.o.seen("/f.atom")) >= before + 3, what="the usual pace", daemon=d)
        self.assertIn("500", d.record(u)["hub_error"])

    def test_a_refused_request_is_tried_again_at_the_next_hub(self):
        other, u = self.hub(), self.o.url("/f.atom")
        self.h.status = 404
        self.o.set("/f.atom", Reply(200, rss("a"), Link=(
            '<%s>; rel="hub", <%s>; rel="hub", <%s>; rel="self"' % (
                self.h.url(), other.url(), u))))
        d = self.daemon("--level2-period", "1s")
        d.subscribe(u, freq=2)
        asked = self.asked(daemon=d)
        self.active(d, u, "failed")
        self.assertIn("404", d.record(u)["hub_error"])
        self.h.say(asked, "denied")
        self.asked(hub=other, daemon=d)
        self.assertEqual(other.url(), self.active(d, u)["hub"])

    # ---- the end ----
    def end(self, d, u, *sub_ids):
        for i in sub_ids:
            self.assertEqual(2, d.call("DELETE", "/sub?id=%d" % i).status // 100)

    def test_the_last_interest_ends_the_subscription(self):              # SUBR-307
        d, u, asked = self.subscribed()
        self.assertEqual(200, d.feed(u).status)
        ids = [s["id"] for s in d.get("/sub?type=json").json["subscriptions"]]
        more = d.subscribe(u)
        self.end(d, u, more)
        self.marker(d)
        self.assertEqual([], self.h.subscribers("unsubscribe"))
        self.end(d, u, *ids)
        last = self.asked(1, "unsubscribe", daemon=d)
        self.assertEqual((asked.callback, asked.topic), (last.callback, last.topic))
        self.wait(lambda: ("unsubscribe", 200, True) in self.h.verified)
        self.active(d, u, "idle")
        self.assertIn(self.h.deliver(asked, atom("late"))[0], (404, 410))
        # wanted again: another callback
        d.subscribe(u)
        self.assertNotEqual(asked.callback, self.asked(2, daemon=d).callback)
        self.active(d, u)

    @slow
    def test_an_end_before_kill_is_carried_out_after_it(self):           # SUBR-307
        d, u, asked = self.subscribed()
        self.h.status = 503
        self.end(d, u, *[s["id"] for s in d.get("/sub?type=json").json["subscriptions"]])
        self.asked(1, "unsubscribe", daemon=d)
        d.kill()
        self.h.status = 202
        d.start()
        self.asked(2, "unsubscribe", seconds=40, daemon=d)
        self.wait(lambda: ("unsubscribe", 200, True) in self.h.verified, daemon=d)

    def test_a_feed_that_names_another_hub_moves_to_it(self):
        d, u, asked = self.subscribed("--level2-period", "1s", freq=2)
        other = self.hub()
        self.o.set("/f.atom", atom("old", hub=other.url(), self_=u))
        self.asked(hub=other, daemon=d)
        self.asked(1, "unsubscribe", daemon=d)
        self.wait(lambda: d.record(u)["hub"] == other.url(), what="the other hub", daemon=d)
        self.active(d, u)
        self.o.set("/f.atom", atom("old"))
        self.asked(1, "unsubscribe", hub=other, daemon=d)
        self.wait(lambda: d.record(u)["hub"] is None, daemon=d)

    def test_feeds_that_merge_keep_one_subscription(self):             # SUBR-202 SUBR-307
        d = self.daemon("--level2-period", "1s")
        a, b = self.o.url("/a"), self.o.url("/b")
        for u in (a, b):
            self.o.set(u[len(self.o.url("")):], atom("x", hub=self.h.url(), self_=u))
            d.subscribe(u, freq=2)
            self.active(d, u)
        self.o.set("/a", moved(b))
        ended = self.asked(1, "unsubscribe", daemon=d)
        self.assertEqual(a, ended.topic)
        self.wait(lambda: ("unsubscribe", 200, True) in self.h.verified, daemon=d)
        self.assertEqual("active", d.record(b)["hub_state"])
        self.assertIsNone(d.record(a))
        asked = [x for x in self.h.subscribers() if x.topic == b][0]
        self.assertEqual(2, self.h.deliver(asked, atom("y"))[0] // 100)
        self.assertEqual({"x", "y"}, self.titles(d, a))

    def test_a_lease_that_ended_while_we_were_down_is_asked_for(self):   # SUBR-306
        self.h.lease = 3
        d, u, first = self.subscribed()
        d.kill()
        time.sleep(self.h.lease + 0.5)
        n, n_verified = len(self.h.subscribers()), len(self.h.verified)
        self.h.lease = 1000
        d.start()
        self.assertEqual(first.callback, self.asked(n + 1, daemon=d).callback)
        self.wait(lambda: len(self.h.verified) > n_verified, daemon=d)
        self.active(d, u)

    # ---- one Feedmill behind another ----
    def federated(self, path):
        """Two daemons, the second subscribed to this path of the first."""
        u = self.o.set("/f.xml", rss("a"))
        first, second = self.daemon(), self.daemon()
        first.subscribe(u)
        self.wait(lambda: "a" in self.titles(first, u))
        v = first.base + path % urllib.parse.quote(u, "")
        second.subscribe(v)
        self.active(second, v)
        return u, v, first, second

    def test_a_feedmill_behind_a_feedmill(self):                         # SUBR-300 SUBR-305
        u, v, first, second = self.federated("/feed?url=%s&type=atom")
        shown = second.record(v)
        self.assertEqual(first.base + "/hub", shown["hub"])
        checked = shown["last_check"]
        self.o.set("/f.xml", rss("b", "a"))
        first.ping(u)
        self.wait(lambda: self.titles(second, v) == {"a", "b"}, what="the delivery", daemon=second)
        self.assertEqual(checked, second.record(v)["last_check"])
        self.end(second, v, *[s["id"] for s in second.get("/sub?type=json").json["subscriptions"]])
        self.active(second, v, "idle")
        self.wait(lambda: [s["endpoint"] for s in first.get("/sub?type=json").json["subscriptions"]]
                  == [None], daemon=first)

    def test_a_feedmill_behind_a_stream(self):                           # SUBR-300
        u, v, first, second = self.federated("/smart?url=%s&type=atom&order=-modified")
        self.o.set("/f.xml", rss("b", "a"))
        first.ping(u)
        self.wait(lambda: self.titles(second, v) == {"a", "b"}, what="the delivery", daemon=second)
        self.assertTrue(second.record(v)["hub_delivered"])

    def test_a_feedmill_behind_one_with_a_token(self):                   # SUBR-300
        """Its documents and its hub ask for the token; the callback of the other needs none."""
        u = self.o.set("/f.xml", rss("a"))
        first, second = self.daemon("--token", "t0ken"), self.daemon()
        v = "%s/archive?url=%s" % (first.base.replace("//", "//any:t0ken@"), urllib.parse.quote(u, ""))
        second.subscribe(v)
        self.wait(lambda: [f["hub_state"] for f in second.get("/sub?type=json").json["feeds"]]
                  == ["active"], what="the subscription", daemon=second)
        self.o.set("/f.xml", rss("b", "a"))
        token = {"Authorization": "Bearer t0ken"}
        self.assertEqual(200, first.call("GET", "/ping?url=" + urllib.parse.quote(u), headers=token).status)
        self.wait(lambda: self.titles(second, v) == {"a", "b"}, what="the delivery", daemon=second)
        self.assertTrue(second.get("/sub?type=json").json["feeds"][0]["hub_delivered"])
        self.assertNotIn("t0ken", second.get("/sub?type=json").body.decode() + second.text())

    def test_the_feeds_password_is_for_its_own_origin(self):
        auth, user = ("Basic", "u", "pw"), "u:pw"
        d = self.daemon()
        curious = self.hub(status=401, raw=b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n"
                           b'WWW-Authenticate: Basic realm="t"\r\n\r\n')
        sent = []

        def hub(seen):
            if seen.headers["Authorization"]:
                sent.append(seen)
                return Reply(307, Location=curious.url())
            return Reply(401, WWW_Authenticate='Basic realm="t"')
        self.o.set("/hub", hub)
        for n, (path, at) in enumerate((("/f.atom", self.o.url("/hub")), ("/g.atom", curious.url()))):
            u = self.o.url(path)
            self.o.set(path, Reply(200, atom("a", hub=at, self_=u), auth=auth))
            d.subscribe(self.o.url(path, user))
            self.asked(n + 1, hub=curious, daemon=d)
            self.active(d, u, "failed")
        self.assertEqual(1, len(sent))
        self.assertEqual({None}, {a.headers["Authorization"] for a in curious.subscribers()})

    # ---- where hubs can reach us ----
    def test_a_public_address_is_in_the_callback(self):
        u = self.o.url("/f.atom")
        self.o.set("/f.atom", atom("old", hub=self.h.url(), self_=u))
        d = self.daemon("--base-url", "http://feeds.example/mill/")
        d.subscribe(u)
        self.assertTrue(self.asked(daemon=d).callback.startswith(
            "http://feeds.example/mill/websub/"))

    def test_another_public_address_is_told_to_the_hub(self):
        u, folder = self.o.url("/f.atom"), tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        config = os.path.join(folder, "feedmill.conf")
        open(config, "w").close()
        self.o.set("/f.atom", atom("old", hub=self.h.url(), self_=u))
        d = self.daemon("--config", config)
        d.subscribe(u)
        self.asked(daemon=d)
        self.active(d, u)
        with open(config, "w") as out:
            out.write("base-url = http://other.example\n")
        d.process.send_signal(signal.SIGHUP)
        second = self.asked(2, daemon=d)
        self.assertTrue(second.callback.startswith("http://other.example/websub/"))
        self.assertNotEqual(self.h.subscribers()[0].secret, second.secret)

    def test_a_hub_elsewhere_is_not_asked_without_a_public_address(self):
        u = self.o.url("/f.atom")
        self.o.set("/f.atom", atom("old", hub="http://192.0.2.1/hub", self_=u))
        d = self.daemon()
        d.subscribe(u)
        shown = self.active(d, u, "idle")
        self.assertEqual(("http://192.0.2.1/hub", None), (shown["hub"], shown["hub_error"]))
        self.assertEqual(0, d.counter("upstream_requests_total"))

    def test_requests_to_hubs_pass_the_guard(self):
        u = self.o.url("/f.atom")
        self.o.set("/f.atom", atom("old", hub="http://10.1.2.3/hub", self_=u))
        d = self.daemon("--base-url", "http://feeds.example")
        d.subscribe(u)
        self.assertIn("cannot be asked", self.active(d, u, "failed")["hub_error"])

    def test_show_says_what_the_hub_does(self):
        d, u, _ = self.subscribed()
        out = subprocess.run([BINARY, "show", "--server", d.base, u], capture_output=True,
                             text=True, check=True).stdout
        self.assertRegex(out, r"hub_state\tactive")
        self.assertIn(self.h.url(), out)
