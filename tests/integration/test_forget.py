"""A feed is removed with all that it has (KEEP-01)."""
import json
import os
import subprocess

from .env.case import Case
from .env.daemon import BINARY, PATIENCE, quote
from .env.origin import Reply, moved, rss

# Tables, and the rows of feed 1 in them.
ROWS = ["feeds WHERE id = 1", "heads WHERE feed_id = 1", "head_log WHERE feed_id = 1", "entries WHERE feed_id = 1",
        "entry_keys WHERE feed_id = 1", "revisions WHERE feed_id = 1", "sub_feeds WHERE feed_id = 1",
        "feed_events WHERE feed_id = 1", "aliases WHERE feed_id = 1"]


class Forget(Case):
    def run_it(self, d, *args, code=0):
        done = subprocess.run([BINARY] + list(args), capture_output=True, text=True, timeout=120 * PATIENCE,
                              env=dict(os.environ, FEEDMILL_SERVER=d.base))
        self.assertEqual(code, done.returncode, (args, done.stdout, done.stderr))
        return done.stdout + done.stderr

    def log(self, d, since):
        return [e["uid"] for e in d.get("/log?max=1000&since=%s" % since).json["revisions"]]

    def archive(self, d, *urls):
        """The path of the first document of the archive of these feeds."""
        answer = d.get("/archive?" + "&".join("url=" + quote(u) for u in urls)).body.decode()
        at = answer.split('rel="prev-archive"')[1].split('href="')[1].split('"')[0]
        return at.removeprefix(d.base).rsplit("/", 1)[0] + "/0"

    def test_nothing_of_it_is_left(self):                                 # KEEP-01
        d, o, r = self.daemon("--archive-size", "2"), self.origin(), self.receiver()
        gone = o.set("/gone.xml", rss(*"gfedcba"))
        stays = o.set("/stays.xml", rss(*"54321"))
        both = d.subscribe(gone, stays)
        alone = d.subscribe(gone, endpoint=r.url + "/alone")
        for url in (gone, stays):
            d.feed(url)
        d.wait_idle()
        number = d.record(gone)["id"]
        self.assertEqual(1, number)
        before = d.get("/log?max=1000").json["revisions"]
        last = before[-1]["cursor"]
        at = max(n for n, revision in enumerate(before) if revision["feed"] == 1) - 2   # the position is at one that goes
        follow = [revision["uid"] for revision in before[at + 1:] if revision["feed"] != 1]
        word, other = self.archive(d, gone, stays), self.archive(d, stays)
        sealed = d.get(other).body
        self.assertEqual(200, d.get(word).status)
        o.set("/gone.xml", rss(*"hgfedcba"))
        d.ping(gone)
        self.wait(lambda: r.titles() == ["h"], what="the push of h", daemon=d)
        d.wait_idle()
        self.assertIn("\tremoved\t", self.run_it(d, "forget", gone))
        for rows in ROWS:
            self.assertEqual([["0"]], d.sql("SELECT count(*) FROM " + rows), rows)
        self.assertEqual([["0"]], d.sql("SELECT count(*) FROM overlays WHERE seq NOT IN (SELECT seq FROM revisions)"))
        subs = {s["id"]: s["urls"] for s in d.get("/sub?type=json").json["subscriptions"]}
        self.assertEqual({both: [stays]}, subs, "%d has ended" % alone)
        self.assertIsNone(d.record(gone))
        # positions stay good, and numbers go on
        self.assertEqual(5, len(self.log(d, "0")))
        self.assertEqual(follow, self.log(d, before[at]["cursor"]))
        self.assertEqual([], self.log(d, last))
        o.set("/stays.xml", rss(*"654321"))
        d.ping(stays)
        self.wait(lambda: len(self.log(d, last)) == 1, what="the new entry", daemon=d)
        # a document that it had a part in is gone, the others stay as they were
        self.assert_problem(d.get(word), 410, "history-gone")
        self.assertEqual(sealed, d.get(other).body)
        self.assertEqual(5, len(d.feed(stays, len=5).json["entries"]))
        # its address leads to another feed
        self.assertEqual(8, len(d.feed(gone, len=100).json["entries"]))
        self.assertGreater(d.record(gone)["id"], 2)

    def test_a_feed_that_became_part_of_another_is_not_removed(self):     # KEEP-01
        d, o = self.daemon("--archive-size", "2"), self.origin()
        old, new = o.set("/old.xml", rss(*"edcba")), o.set("/new.xml", rss(*"54321"))
        d.subscribe(old, new)
        for url in (old, new):
            self.assertEqual(5, len(d.feed(url).json["entries"]))
        word = self.archive(d, old, new)
        before = d.get(word)
        self.assertEqual(200, before.status)
        o.set("/old.xml", moved(new))
        d.ping(old)
        self.wait(lambda: d.record(old) is None, what="the merge", daemon=d)
        d.wait_idle()
        self.assertEqual(10, len(d.feed(new, len=20).json["entries"]))
        self.assertEqual((200, before.body), (d.get(word).status, d.get(word).body))
        self.run_it(d, "forget", new)
        self.assert_problem(d.get(word), 410, "history-gone")

    def test_what_cannot_be_removed(self):                                # KEEP-01
        d, o = self.daemon(), self.origin()
        listed = o.set("/list.opml", '<opml version="2.0"><body><outline type="rss" xmlUrl="%s"/></body></opml>' %
                       o.set("/f.xml", rss("a")))
        d.subscribe(opml=listed)
        self.wait(lambda: d.record(o.url("/f.xml")), what="the feed of the list", daemon=d)
        d.wait_idle()
        number = int(d.sql("SELECT id FROM feeds WHERE is_list = 1")[0][0])
        self.assert_problem(d.call("DELETE", "/sub/feed?id=%d" % number), 409, "in-use")
        self.assert_problem(d.call("DELETE", "/sub/feed?id=77"), 404, "not-found")
        self.assert_problem(d.call("DELETE", "/sub/feed"), 400, "bad-parameter")
        self.assertIn("there is no feed", self.run_it(d, "forget", "http://unknown.example/", code=1))
        self.assertEqual(["url"], [k for k in json.loads(self.run_it(d, "forget", "--json", str(
            d.record(o.url("/f.xml"))["id"])))[0] if k == "url"])
