"""What becomes of cursors, streams and waiting requests when the definition of a view changes (VIEW-16, VIEW-09)."""
import json
import re
import threading
import time

from .env.daemon import quote
from .env.events import EventReader
from .test_views import Views

CURSOR = re.compile(r"^fm1\.[0-9a-f]{8}\.\d+\.\d+(\.[0-9a-f]{8})?$")


class Changes(Views):
    def setUp(self):
        super().setUp()
        self.a, self.b = self.feed("a", "red one", "blue one"), self.feed("b", "red two", "blue two")
        self.titles("/feeds?type=json&url=%s,%s" % (quote(self.a), quote(self.b)))
        self.put("v", url=self.a, q="red")

    def log(self, since=None, query="view=v", status=200, **kw):
        answer = self.d.get("/log?%s%s" % (query, "" if since is None else "&since=" + since), **kw)
        self.assertEqual(status, answer.status, answer.body)
        return answer

    def change(self, **fields):
        self.put("v", status=200, **(fields or {"url": self.a, "q": "blue"}))

    def gone(self, answer):
        problem = self.assert_problem(answer, 410, "view-changed")
        self.assertIn("tart again", problem["detail"])

    def test_the_log(self):                                              # VIEW-16
        page = self.log().json
        cursor = page["cursor"]
        for one in [cursor] + [r["cursor"] for r in page["revisions"]]:
            self.assertTrue(CURSOR.match(one).group(1), one)
            self.assertEqual(page["revisions"][0]["cursor"].split(".")[4], one.split(".")[4])
        self.assertEqual(["red one"], [r["entry"]["title"] for r in page["revisions"]])
        self.log(cursor)
        self.log(cursor, "view=v&q=one")                                 # the request's own filter may be another
        self.change()
        self.gone(self.log(cursor, status=410))
        self.gone(self.log(cursor, "view=v&url=" + quote(self.b), status=410))
        again = self.log("start").json
        self.assertEqual(["blue one"], [r["entry"]["title"] for r in again["revisions"]])
        self.log(again["cursor"])
        self.change(url=self.a, q="red")                                 # as it was at first
        self.log(cursor)

    def test_the_same_definition_is_no_change(self):                     # VIEW-15 VIEW-16
        before = self.put("v", status=200, url=self.a, q="red").json
        time.sleep(1.1)                                                  # its times are in seconds
        again = self.put("v", status=200, url=self.a, q="red").json
        self.assertEqual((before["created"], before["changed"]), (again["created"], again["changed"]))
        other = self.put("v", status=200, url=self.a, q="blue").json
        self.assertEqual(before["created"], other["created"])
        self.assertNotEqual(before["changed"], other["changed"])
        self.assertEqual(other["changed"], self.d.get("/view").json["views"][0]["changed"])

    def test_what_json_cannot_say(self):                                 # VIEW-15
        for method, path, body in (("PUT", "/view/v", r'{"url":"http://h.example/","q":"a\u0000b"}'),
                                   ("PATCH", "/sub?id=1", r'{"title":"\\\u0000"}')):
            answer = self.d.call(method, path, body, {"Content-Type": "application/json"})
            self.assertIn("U+0000", self.assert_problem(answer, 400, "bad-body")["detail"])
        fine = self.d.call("PUT", "/view/v", r'{"url":"http://h.example/","title":"\\u0000"}', {"Content-Type": "application/json"})
        self.assertEqual((200, "\\u0000"), (fine.status, fine.json["title"]))
        problem = self.assert_problem(self.d.get("/feeds?all=1&has=foo"), 400, parameter="has")
        self.assertEqual(["enclosure", "audio", "video", "image", "content"], problem["allowed"])

    def test_only_requests_of_views_have_an_edition(self):               # VIEW-16
        for query in ("", "url=" + quote(self.a), "url=%s&q=red" % quote(self.a)):
            page = self.log(query=query).json
            for one in [page["cursor"]] + [r["cursor"] for r in page["revisions"]]:
                self.assertIsNone(CURSOR.match(one).group(1), one)
        plain = self.log(query="").json["cursor"]
        self.change()
        self.log(plain)                                                  # a position of the log fits everywhere
        mine = self.log().json["cursor"]
        self.change(url=self.b)
        self.log(mine, "url=" + quote(self.a))

    def test_what_is_of_look_alone_changes_nothing(self):                # VIEW-16
        cursor = self.log().json["cursor"]
        self.change(url=self.a, q="red", title="Another", len=3, type="json")
        self.log(cursor)

    def test_a_view_below_counts(self):                                  # VIEW-16
        self.put("w", view="v")
        self.put("x", url=self.b, view="w")
        cursors = {name: self.log(query="view=" + name).json["cursor"] for name in "wx"}
        two = self.log(query="view=w&view=x").json["cursor"]
        self.change()
        for name, cursor in cursors.items():
            self.gone(self.log(cursor, "view=" + name, status=410))
        self.gone(self.log(two, "view=w&view=x", status=410))

    def test_a_smart_feed(self):                                         # VIEW-16
        for kind in ("json", "atom"):
            with self.subTest(kind):
                self.change(url=self.a, q="red")
                answer = self.d.get("/smart?view=v&type=" + kind)
                found = re.findall(rb"fm1\.[0-9a-f.]+", answer.body)
                self.assertTrue(found)
                for one in found:
                    self.assertTrue(CURSOR.match(one.decode()).group(1), one)
                path = "/smart?view=v&timeout=0&type=%s&since=cursor:%s" % (kind, found[-1].decode())
                self.assertEqual(200, self.d.get(path).status)
                self.change()
                self.gone(self.d.get(path))
                self.assertEqual(200, self.d.get("/smart?view=v&type=%s&since=cursor:" % kind).status)

    def test_requests_that_wait(self):                                   # VIEW-16
        log = self.log().json["cursor"]
        smart = self.d.get("/smart?view=v&type=json").json["last_cursor"]
        got = {}

        def ask(name, path):
            got[name] = self.d.get(path)
        threads = [threading.Thread(target=ask, args=pair) for pair in (
            ("log", "/log?view=v&timeout=60&since=" + log),
            ("smart", "/smart?view=v&type=json&timeout=60&since=cursor:" + smart))]
        for t in threads:
            t.start()
        self.wait(lambda: self.d.counter("log_waiters") == 2, what="two that wait", daemon=self.d)
        self.put("other", url=self.a)                                    # not theirs: they wait on
        self.d.wait_idle()
        self.assertEqual(2, self.d.counter("log_waiters"))
        self.change()
        for t in threads:
            t.join(50)
        for name in ("log", "smart"):
            self.gone(got[name])

    def test_event_streams(self):                                        # VIEW-16 SSE-02
        reader = EventReader(self.d, "?view=v&since=start")
        self.addCleanup(reader.close)
        first = reader.until(1)[0]
        self.assertTrue(CURSOR.match(first.id).group(1), first.id)
        self.assertEqual(first.id, json.loads(first.data)["cursor"])
        other = EventReader(self.d, "?url=" + quote(self.a))
        self.addCleanup(other.close)
        other.begin()
        self.wait(lambda: self.d.counter("event_streams") == 2, daemon=self.d)
        self.put("w", url=self.b)
        self.d.wait_idle()
        self.assertEqual(2, self.d.counter("event_streams"))
        self.change()
        self.wait(lambda: self.d.counter("event_streams") == 1, what="the end of the stream", daemon=self.d)
        self.gone(self.d.get("/events?view=v", Last_Event_ID=first.id))
        self.gone(self.d.get("/events?view=v&since=" + first.id))
        again = EventReader(self.d, "?view=v&since=start")
        self.addCleanup(again.close)
        self.assertEqual(["blue one"], [json.loads(e.data)["entry"]["title"] for e in again.until(1)])

    def test_a_stream_of_a_view_without_filter_goes_on(self):            # VIEW-16 SSE-01
        self.put("all", url=self.a)
        reader = EventReader(self.d, "?view=all")
        self.addCleanup(reader.close)
        reader.begin()
        self.feed("a", "green one", "red one", "blue one")
        self.d.ping(self.a)
        event = reader.until(1)[0]
        self.assertEqual("green one", json.loads(event.data)["entry"]["title"])
        self.feed("a", "grey one", "green one", "red one", "blue one")
        self.d.ping(self.a)
        resumed = EventReader(self.d, "?view=all", last_id=event.id)
        self.addCleanup(resumed.close)
        self.assertEqual("grey one", json.loads(resumed.until(1)[0].data)["entry"]["title"])

    def test_archives(self):                                             # VIEW-16 D54
        def titles(path):
            return set(re.findall(rb"(red|blue) (?:one|two)", self.d.get(path).body))
        for path in ("/archive", "/simple/recent", "/history"):
            with self.subTest(path):
                self.change(url=self.a, q="red")
                self.assertEqual({b"red"}, titles(path + "?view=v"))
                self.assertEqual(set(), titles(path + "?view=v&q=blue"))
                before = self.d.get(path + "?view=v").header("ETag")
                self.change()
                self.assertEqual({b"blue"}, titles(path + "?view=v"))
                self.assertNotEqual(before, self.d.get(path + "?view=v").header("ETag"))
                mixed = self.d.get(path + "?view=v&url=" + quote(self.b)).body
                self.assertEqual({(b"blue", b"one"), (b"red", b"two"), (b"blue", b"two")},
                                 set(re.findall(rb"(red|blue) (one|two)", mixed)), mixed)
