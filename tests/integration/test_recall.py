"""Requests that are known from before: answered without looking anything up, and never wrong for it."""
import gzip
import os
import signal
import threading

from .env.case import Case
from .env.daemon import quote
from .env.origin import Reply, moved, rss


class Recall(Case):
    """Each test asks until the answer is recalled, changes one thing on which it depends, and asks again."""

    def setUp(self):
        super().setUp()
        self.o = self.origin()

    def target(self, *urls, path="/feed", **params):
        return path + "?" + "&".join(["url=" + quote(u) for u in urls] + ["%s=%s" % p for p in params.items()])

    def recalled(self, d, target, **headers):
        """The answer, when it has come from memory."""
        def known():                       # it is drawn first, and a fetch may still end
            before = d.counter("recalled_total")
            answer = d.get(target, **headers)
            self.assertEqual(200, answer.status)
            return answer if d.counter("recalled_total") == before + 1 else None
        return self.wait(known, daemon=d)

    def titles(self, answer):
        return [e["title"] for e in answer.json["entries"]]

    def test_all_that_a_known_request_may_be_answered(self):
        d = self.daemon()
        t = self.target(self.o.set("/f.xml", rss(*"abcdefgh")), type="json")
        first = d.get(t)
        again = self.recalled(d, t)
        self.assertEqual((first.status, first.body), (again.status, again.body))
        for name in ("ETag", "Last-Modified", "Cache-Control", "Vary", "Link", "Content-Type"):
            self.assertEqual(first.header(name), again.header(name), name)
        self.assertEqual("gzip", d.get(t, Accept_Encoding="gzip").header("Content-Encoding"))  # it is made now
        n = d.counter("recalled_total")
        zipped = d.get(t, Accept_Encoding="gzip")
        self.assertEqual("gzip", zipped.header("Content-Encoding"))
        for tag in (first.header("ETag"), zipped.header("ETag")):
            unmodified = d.get(t, If_None_Match=tag)
            self.assertEqual((304, tag, b""), (unmodified.status, unmodified.header("ETag"), unmodified.body))
            self.assertIsNone(unmodified.header("Link"))
        self.assertEqual(304, d.get(t, If_Modified_Since=first.header("Last-Modified")).status)
        head = d.call("HEAD", t)
        self.assertEqual((200, b"", first.header("ETag")), (head.status, head.body, head.header("ETag")))
        self.assertEqual(n + 5, d.counter("recalled_total"))

    def test_one_document_is_drawn_with_and_without_gzip_at_once(self):        # HTTP-11
        d = self.daemon()
        u = self.o.set("/f.xml", rss(*["entry %d" % n for n in range(100)]))
        d.feed(u)
        for n in range(30):      # of each length, a document that nobody has asked for
            t = self.target(u, type="json", len=50 + n)
            start, answers = threading.Barrier(6), {}

            def ask(k):
                start.wait()
                answers[k] = d.get(t, **({"Accept_Encoding": "gzip"} if k % 2 else {}))
            asking = [threading.Thread(target=ask, args=(k,)) for k in range(6)]
            for thread in asking:
                thread.start()
            for thread in asking:
                thread.join()
            answers["late"], answers["late zipped"] = d.get(t), d.get(t, Accept_Encoding="gzip")
            plain = answers["late"].body
            for k, a in answers.items():
                zipped = k == "late zipped" or (k != "late" and k % 2 == 1)
                self.assertEqual((200, "gzip" if zipped else None), (a.status, a.header("Content-Encoding")))
                self.assertEqual(plain, gzip.decompress(a.body) if zipped else a.body)

    def test_a_client_that_always_has_the_newest_is_known_too(self):
        d = self.daemon()
        t = self.target(self.o.set("/f.xml", rss("a")), type="json")
        tag = d.get(t).header("ETag")
        d.wait_idle()                      # what ends after the first answer changes what is known of the feed
        before = d.counter("recalled_total")

        def is_recalled():
            self.assertEqual(304, d.get(t, If_None_Match=tag).status)
            return d.counter("recalled_total") > before
        self.wait(is_recalled, what="an answer from memory", daemon=d)

    def test_a_new_entry(self):
        d = self.daemon()
        u, v = self.o.set("/f.xml", rss("a")), self.o.set("/g.xml", rss("b"))
        for t in (self.target(u, type="json"), self.target(u, v, path="/feeds", type="json")):
            old = self.recalled(d, t)
            newest = "n%d" % len(t)
            self.o.set("/f.xml", rss(newest, "a"))
            d.ping(u)
            self.wait(lambda: newest in self.titles(d.get(t)), daemon=d)
            self.assertEqual(200, d.get(t, If_None_Match=old.header("ETag")).status)

    def test_news_of_another_feed_and_of_its_own_in_turns(self):
        """That nothing has changed is remembered until anything does; then its feeds are looked at."""
        d = self.daemon()
        u, v = self.o.set("/f.xml", rss("a")), self.o.set("/g.xml", rss("b"))
        t, of_other = self.target(u, type="json"), self.target(v, type="json")
        d.call("PUT", "/view/both?url=%s,%s" % (quote(u), quote(v)))
        for round in range(3):
            d.wait_idle()
            old = self.recalled(d, t)
            self.assertEqual(old.body, self.recalled(d, t).body)
            if self.engine == "sqlite":                                      # other nodes may have changed it
                view = self.recalled(d, "/view/both?type=json")
                self.assertEqual(view.body, self.recalled(d, "/view/both?type=json").body)
            self.o.set("/g.xml", rss("other %d" % round, "b"))
            d.ping(v)
            self.wait(lambda: "other %d" % round in self.titles(d.get(of_other)), daemon=d)
            d.wait_idle()
            self.assertEqual(old.body, self.recalled(d, t).body)
            self.assertIn("other %d" % round, self.titles(d.get("/view/both?type=json")))
            self.o.set("/f.xml", rss("own %d" % round, "a"))
            d.ping(u)
            self.wait(lambda: "own %d" % round in self.titles(d.get(t)), daemon=d)
            self.assertIn("own %d" % round, self.titles(d.get("/view/both?type=json")))

    def test_a_delta_is_of_what_the_client_has(self):
        d = self.daemon()
        u = self.o.set("/f.xml", rss("a"))
        t = self.target(u, type="atom")
        old = self.recalled(d, t)
        self.o.set("/f.xml", rss("b", "a"))
        d.ping(u)
        self.wait(lambda: b">b<" in d.get(t).body, daemon=d)
        self.recalled(d, t)
        delta = d.get(t, If_None_Match=old.header("ETag"), A_IM="feed")
        self.assertEqual((226, 1), (delta.status, delta.body.count(b"<entry")))

    def test_other_fields_of_the_request(self):
        d = self.daemon("--allow-host", "one.example", "--allow-host", "two.example")
        t = self.target(self.o.set("/f.xml", rss("a")))
        for host in ("one.example", "two.example"):
            for accept, start in (("application/atom+xml", b"<?xml"), ("application/json", b"{")):
                answer = self.recalled(d, t, Host=host, Accept=accept)
                self.assertTrue(answer.body.startswith(start), (accept, answer.body[:80]))
                self.assertIn("http://%s/feed" % host, answer.header("Link"))
                if start == b"<?xml":
                    self.assertIn(b"http://%s/feed" % host.encode(), answer.body)

    def test_a_feed_that_moves(self):
        d = self.daemon()
        old, new = self.o.set("/old.xml", rss("a")), self.o.set("/new.xml", rss("b"))
        t, of_new = self.target(old, type="json"), self.target(new, type="json")
        self.assertEqual(["a"], self.titles(self.recalled(d, t)))
        self.assertEqual(["b"], self.titles(self.recalled(d, of_new)))
        self.o.set("/old.xml", moved(new))
        d.ping(old)
        self.wait(lambda: set(self.titles(d.get(t))) == {"a", "b"}, daemon=d)
        self.assertEqual({"a", "b"}, set(self.titles(d.get(of_new))))

    def test_a_page_that_becomes_a_feed_of_its_own(self):
        d = self.daemon()
        feed = self.o.set("/feed.xml", rss("a"))
        page = self.o.set("/page", '<html><head><link rel="alternate" type="application/rss+xml" href="%s">'
                          '</head></html>' % feed, Content_Type="text/html")
        t = self.target(page, type="json")
        self.assertEqual(["a"], self.titles(self.recalled(d, t)))
        self.o.set("/feed.xml", rss("b", "a"))
        d.ping(feed)
        self.wait(lambda: self.titles(d.get(t)) == ["b", "a"], daemon=d)

    def test_a_feed_of_which_nothing_was_read(self):
        """That it fails is not remembered."""
        d = self.daemon()
        u = self.o.set("/f.xml", Reply(503))
        t = self.target(u, type="json")
        self.assertEqual(502, d.get(t).status)
        both = self.target(u, self.o.set("/g.xml", rss("b")), path="/feeds", type="json")
        for _ in range(3):
            self.assertEqual(["b"], self.titles(d.get(both)))
        self.assertEqual(0, d.counter("recalled_total"))
        self.o.set("/f.xml", rss("a"))
        d.ping(u)
        d.wait_idle()
        self.assertEqual({"a", "b"}, set(self.titles(d.get(both))))
        self.assertEqual(["a"], self.titles(d.get(t)))

    def test_settings(self):
        d = self.daemon(env={"FEEDMILL_CONFIG": "/dev/null"})
        path = d.env["FEEDMILL_CONFIG"] = os.path.join(d.folder, "conf")

        def settings(text):
            with open(path, "w") as out:
                out.write(text)

        settings("cors-origin = http://a.example\n")
        d.stop()
        d.start()
        t = self.target(self.o.set("/f.xml", rss("a")), type="json")
        self.assertEqual("http://a.example", self.recalled(d, t).header("Access-Control-Allow-Origin"))
        settings("cors-origin = http://b.example\n")
        d.process.send_signal(signal.SIGHUP)
        d.wait_log("event=reload")
        self.assertEqual("http://b.example", d.get(t).header("Access-Control-Allow-Origin"))

    def test_a_token_is_asked_for_all_the_same(self):
        d = self.daemon("--token", "t0p")
        t = self.target(self.o.set("/f.xml", rss("a")), type="json")
        for _ in range(3):
            self.assertEqual(200, d.get(t, Authorization="Bearer t0p").status)
        self.assertEqual(401, d.get(t).status)

    def test_a_password_in_the_url(self):
        d = self.daemon()
        self.o.set("/f.xml", Reply(200, rss("a"), auth=("Basic", "joe", "s3cret")))
        t = self.target(self.o.url("/f.xml", "joe:s3cret"), type="json")
        answer = self.recalled(d, t)
        self.assertIn("private", answer.header("Cache-Control"))
        self.assertNotIn("s3cret", answer.header("Link"))
        self.assertEqual(1, len(self.titles(answer)))
        other = d.get(self.target(self.o.url("/f.xml", "joe:wrong"), type="json"))
        self.assertNotEqual(200, other.status)

    def test_more_than_is_kept(self):
        """The first requests are forgotten, and answered as before."""
        d = self.daemon()
        u = self.o.set("/f.xml", rss("a"))
        first = self.recalled(d, self.target(u, type="json", x="0"))
        filler = "y" * 16000
        for n in range(600):
            self.assertEqual(200, d.get(self.target(u, type="json", x="%d%s" % (n, filler))).status)
        self.assertEqual(first.body, d.get(self.target(u, type="json", x="0")).body)
