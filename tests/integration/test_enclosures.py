"""Mirrored enclosures (ENCL-01 to ENCL-04): files that entries name are fetched, kept and served."""
import hashlib
import http.server
import io
import json
import os
import re
import subprocess
import threading
import time
import wave

from .env.case import Case
from .env.daemon import BINARY, quote
from .env.events import EventReader
from .env.origin import moved
from .test_console import InBrowser

MB = 1024 * 1024


class File:
    """What an origin has at a path. `cuts`: how many bytes each of the next answers has before its connection breaks."""

    def __init__(self, body, type="audio/mpeg", etag='"one"', cuts=(), ranges=True, status=200):
        self.body, self.type, self.etag, self.cuts = body, type, etag, list(cuts)
        self.ranges, self.status = ranges, status
        self.asked = []                     # the fields of each request
        self.gate = threading.Event()       # a body waits for it after its first half
        self.gate.set()

    @property
    def digest(self):
        return hashlib.sha256(self.body).hexdigest()


class FileOrigin(http.server.ThreadingHTTPServer):
    """An origin of files."""
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.files = {}
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, *_):
        pass

    def add(self, path, *args, **kw):
        self.files[path] = File(*args, **kw)
        return self.files[path]

    def url(self, path):
        return "http://127.0.0.1:%d%s" % (self.server_port, path)

    def close(self):
        self.shutdown()
        self.server_close()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        file = self.server.files.get(self.path)
        if file is None:
            self.send_error(404)
            return
        file.asked.append({k.lower(): v for k, v in self.headers.items()})
        first, status = 0, file.status
        given = self.headers.get("Range")
        if given and file.ranges and self.headers.get("If-Range", file.etag) == file.etag:
            first = int(given[len("bytes="):-1])
            status = 206 if first < len(file.body) else 416
        self.send_response(status)
        if status == 206:
            self.send_header("Content-Range", "bytes %d-%d/%d" % (first, len(file.body) - 1, len(file.body)))
        elif status == 416:
            self.send_header("Content-Range", "bytes */%d" % len(file.body))
        if file.type and status != 206:     # RFC 9110 15.3.7: the client has it already
            self.send_header("Content-Type", file.type)
        if file.etag:
            self.send_header("ETag", file.etag)
        self.send_header("Content-Length", str(len(file.body) - first))
        self.end_headers()
        self.send(file, first)

    def send(self, file, first):
        end = len(file.body)
        if file.cuts:
            end = min(end, first + file.cuts.pop(0))
        half = min(end, first + (len(file.body) - first) // 2)
        self.wfile.write(file.body[first:half])
        self.wfile.flush()
        file.gate.wait(60)
        self.wfile.write(file.body[half:end])
        if end < len(file.body):
            self.wfile.flush()
            self.close_connection = True


def item(name, *files):
    """An item of a feed; files: (URL, type)."""
    return ("<item><guid isPermaLink='false'>urn:e:%s</guid><title>%s</title>%s</item>"
            % (name, name, "".join("<enclosure url='%s' type='%s' length='7'/>" % f for f in files)))


def rss(*items):
    return "<rss version='2.0'><channel><title>P</title><link>http://p.example/</link>%s</channel></rss>" % "".join(items)


class Enclosures(Case):
    def setUp(self):
        self.o = self.origin()
        self.files = FileOrigin()
        self.addCleanup(self.files.close)
        self.items = []

    def mirror(self, *args):
        """A daemon that mirrors, with a subscribed feed."""
        d = self.daemon(*args)
        d.stop()
        self.dir = os.path.join(d.folder, "mirror")
        d.args += ["--mirror", self.dir]
        d.start()
        self.feed_url = self.o.set("/f.xml", rss(item("0")))
        d.subscribe(self.feed_url, mirror="yes")
        d.feed(self.feed_url)
        return d

    def publish(self, d, name, *paths, type="audio/mpeg"):
        """A new entry with these files."""
        self.items.insert(0, item(name, *((self.files.url(p), type) for p in paths)))
        self.o.set("/f.xml", rss(*self.items))
        d.ping(self.feed_url)

    def path(self, digest):
        return os.path.join(self.dir, digest[:2], digest)

    def wait_stored(self, d, file):
        """Wait until it is served. Looks at the folder, so that the daemon has nothing else to do."""
        self.wait(lambda: os.path.exists(self.path(file.digest)), what="the file", daemon=d)
        self.wait(lambda: d.get("/enclosure/" + file.digest).status == 200, what="the row", daemon=d)

    def served(self, d, file, name="a.mp3", **fields):
        return d.get("/enclosure/%s/%s" % (file.digest, name), **fields)

    def resident(self, d):
        """Bytes of memory that the daemon has had at most."""
        with open("/proc/%d/status" % d.process.pid) as status:
            return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))

    def test_is_stored_by_content_and_served(self):     # ENCL-01, ENCL-02
        d = self.mirror()
        body = bytes(range(256)) * 400
        one = self.files.add("/a%20b.mp3", body)
        self.files.add("/same.mp3", body)
        self.publish(d, "1", "/a%20b.mp3", "/same.mp3")
        self.publish(d, "2", "/a%20b.mp3")
        self.wait_stored(d, one)
        self.wait(lambda: d.counter("mirror_files_total") == 2, what="both files", daemon=d)
        found = [name for _, _, names in os.walk(self.dir) for name in names]
        self.assertEqual([one.digest], found)           # once, and nothing partial is left
        self.assertEqual(len(body), d.counter("mirror_bytes"))
        self.assertEqual(1, len(one.asked))             # the second entry had nothing to ask for

        whole = self.served(d, one)
        self.assertEqual((200, body), (whole.status, whole.body))
        self.assertEqual('"%s"' % one.digest, whole.header("ETag"))
        self.assertEqual("public, max-age=31536000, immutable", whole.header("Cache-Control"))
        self.assertEqual("audio/mpeg", whole.header("Content-Type"))
        self.assertEqual('inline; filename="a.mp3"', whole.header("Content-Disposition"))
        self.assertEqual("nosniff", whole.header("X-Content-Type-Options"))
        self.assertTrue(whole.header("Content-Security-Policy").startswith("default-src 'none'; media-src 'self'; "))
        self.assertEqual("bytes", whole.header("Accept-Ranges"))
        for fields in ({}, {"Range": "bytes=5-9"}):     # which is for GET
            head = d.call("HEAD", "/enclosure/%s/a.mp3" % one.digest, None, fields)
            self.assertEqual((200, b"", str(len(body))), (head.status, head.body, head.header("Content-Length")))
        self.assertEqual(304, self.served(d, one, If_None_Match=whole.header("ETag")).status)
        self.assertEqual('inline; filename="x_.._y_.mp3"',
                         self.served(d, one, name="x%22..%0Dy%22.mp3").header("Content-Disposition"))

        self.assertEqual("inline; filename=\"_rger (live).mp3\"; filename*=UTF-8''%C3%84rger%20%28live%29.mp3",
                         self.served(d, one, name="b/%C3%84rger%20(live).mp3").header("Content-Disposition"))

        size = len(body)
        for given, first, last in (("bytes=0-0", 0, 0), ("bytes=5-9", 5, 9), ("bytes=-3", size - 3, size - 1),
                                   ("bytes=7-", 7, size - 1), ("bytes=9-999999999", 9, size - 1),
                                   ("bytes=9-99999999999999999999", 9, size - 1)):
            part = self.served(d, one, Range=given)
            self.assertEqual((206, body[first:last + 1]), (part.status, part.body), given)
            self.assertEqual("bytes %d-%d/%d" % (first, last, size), part.header("Content-Range"))
        for given in ("bytes=%d-" % size, "bytes=-0", "bytes=99999999999999999999-"):
            none = self.served(d, one, Range=given)
            self.assert_problem(none, 416, "range")
            self.assertEqual("bytes */%d" % size, none.header("Content-Range"))
        for fields in ({"Range": "bytes=0-1,5-6"}, {"Range": "lines=0-1"}, {"Range": "bytes=9-5"},
                       {"Range": "bytes=0-1", "If_Range": '"other"'}):
            whole = self.served(d, one, **fields)
            self.assertEqual((200, size), (whole.status, len(whole.body)), fields)
        self.assertEqual(206, self.served(d, one, Range="bytes=0-1", If_Range='"%s"' % one.digest).status)
        same = self.served(d, one, Range="bytes=0-1", If_None_Match='"%s"' % one.digest)
        self.assertEqual((304, None), (same.status, same.header("Content-Range")))
        self.assert_problem(self.served(d, one, If_Match='"zz"'), 412, "precondition-failed")
        for tags in '"zz", "%s"' % one.digest, "*":
            self.assertEqual(200, self.served(d, one, If_Match=tags).status)

        self.assert_problem(d.get("/enclosure/" + "0" * 64 + "/a.mp3"), 404, "not-found")
        for path in ("/enclosure", "/enclosure/", "/enclosure/..%2f..%2ffeeds.db", "/enclosure/" + one.digest.upper()):
            self.assert_problem(d.get(path), 404, "not-found")

    def plant(self, *names):
        """Files of old that a crash may have left in the folder."""
        paths = [os.path.join(self.dir, name) for name in names]
        for path in paths:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(b"x")
            os.utime(path, (time.time() - 7200,) * 2)
        return paths

    def test_goes_on_after_breaks_and_restarts(self):    # ENCL-01, ENCL-02, ENCL-04
        """The origin cuts, the daemon is killed and started again; the file comes in parts. What a crash may have left
        goes at the start."""
        d = self.mirror()
        body = os.urandom(3 * MB)
        file = self.files.add("/big.mp3", body, type="audio/ogg", cuts=[MB, MB // 2])
        file.gate.clear()       # the first answer stops after its half
        self.publish(d, "1", "/big.mp3")
        partial = os.path.join(self.dir, "partial", hashlib.sha256(self.files.url("/big.mp3").encode()).hexdigest())
        self.wait(lambda: os.path.exists(partial) and os.path.getsize(partial) > 0, what="the first bytes", daemon=d)
        d.kill()
        file.gate.set()
        had = os.path.getsize(partial)
        self.assertLess(had, len(body))
        none = "ab" + "0" * 62
        left = self.plant("partial/" + none, "partial/%s.tag" % none, "ab/" + none)
        kept = self.plant("partial/mine", "ab/mine", "mine/" + none)
        d.start()
        self.wait_stored(d, file)
        self.wait(lambda: not any(map(os.path.exists, left)), what="an empty folder", daemon=d)
        for path in kept:       # the mirror has not put it there
            os.remove(path)
        whole = self.served(d, file)
        self.assertEqual((body, "audio/ogg"), (whole.body, whole.header("Content-Type")))
        self.assertNotIn("range", file.asked[0])
        self.assertEqual("bytes=%d-" % had, file.asked[1]["range"])
        for asked in file.asked[1:]:
            self.assertEqual('"one"', asked["if-range"])
        firsts = [int(asked["range"][6:-1]) for asked in file.asked[1:]]
        self.assertEqual(sorted(set(firsts)), firsts)       # each goes on where the one before ended
        self.assertEqual([], os.listdir(os.path.join(self.dir, "partial")))

    def test_what_was_deleted_by_hand_comes_back(self):     # ENCL-01, ENCL-02
        d = self.mirror()
        file = self.files.add("/a.mp3", b"sound" * 1000)
        self.publish(d, "1", "/a.mp3")
        self.wait_stored(d, file)
        for spoil in (os.unlink, lambda path: os.truncate(path, 7)):
            n = len(file.asked)
            spoil(self.path(file.digest))
            file.gate.clear()
            answer = self.served(d, file)
            self.assertEqual((302, self.files.url("/a.mp3")), (answer.status, answer.header("Location")))
            self.wait(lambda n=n: len(file.asked) > n, what="that it is fetched", daemon=d)
            self.assertEqual(302, self.served(d, file).status)
            file.gate.set()
            self.wait_stored(d, file)
            self.assertEqual(file.body, self.served(d, file).body)
            self.assertEqual(n + 1, len(file.asked))

    def test_a_lost_file_does_not_tell_a_private_address(self):     # ENCL-02
        """Its URL may hold the token of a private feed. Callers who may not see all feeds are not told of it."""
        d = self.mirror()
        file = self.files.add("/a.mp3?token=secret", b"sound" * 1000)
        self.publish(d, "1", "/a.mp3?token=secret")
        self.wait_stored(d, file)
        d.stop()
        d.args += ["--token", "x", "--anonymous", "read"]
        d.start()
        file.gate.clear()
        os.unlink(self.path(file.digest))
        for _ in range(2):      # also while it is fetched
            answer = self.served(d, file)
            self.assert_problem(answer, 503, "busy")
            self.assertEqual("30", answer.header("Retry-After"))
            self.assertNotIn(b"secret", answer.body)
            self.assertIsNone(answer.header("Location"))
        told = self.served(d, file, Authorization="Bearer x")
        self.assertEqual((302, self.files.url("/a.mp3?token=secret")), (told.status, told.header("Location")))
        file.gate.set()
        self.wait_stored(d, file)

    def test_a_folder_that_is_away_loses_nothing(self):     # ENCL-01, ENCL-02
        """A disk that is not mounted leaves an empty folder: no file is dropped, and none is fetched again."""
        d = self.mirror()
        file = self.files.add("/a.mp3", b"sound" * 1000)
        self.publish(d, "1", "/a.mp3")
        self.wait_stored(d, file)
        os.rename(self.dir, self.dir + ".away")
        for make in (lambda: None, lambda: os.mkdir(self.dir)):
            make()
            answer = self.served(d, file)
            self.assert_problem(answer, 503, "busy")
            self.assertEqual("30", answer.header("Retry-After"))
        d.wait_log("event=folder_broken")
        time.sleep(2.5)     # the mirror looks each second, and at what was served
        self.assertEqual(1, sum("event=folder_broken" in line for line in d.log))
        self.assertEqual(["mirror-folder"], d.get("/readyz").json["reasons"])
        os.rmdir(self.dir)
        os.rename(self.dir + ".away", self.dir)
        self.assertEqual(file.body, self.served(d, file).body)
        self.assertEqual(1, len(file.asked))
        self.assertEqual(0, d.counter("mirror_dropped_total"))

    def test_a_transfer_that_ends_while_the_folder_is_away_is_tried_again(self):     # ENCL-01, ENCL-04
        d = self.mirror("--mirror-total", "250K", "--mirror-size", "200K")
        old = self.files.add("/old.mp3", b"o" * 150000)
        self.publish(d, "1", "/old.mp3")
        self.wait_stored(d, old)
        new = self.files.add("/new.mp3", b"n" * 140000)
        new.gate.clear()
        self.publish(d, "2", "/new.mp3")
        self.wait(lambda: new.asked, what="the request", daemon=d)
        os.rename(self.dir, self.dir + ".away")
        d.wait_log("event=folder_broken")
        new.gate.set()
        d.wait_log("event=postponed")
        self.assertEqual(0, d.counter("mirror_dropped_total"))
        self.assertEqual(150000, d.counter("mirror_bytes"))
        os.rename(self.dir + ".away", self.dir)
        self.wait_stored(d, new)        # now there is a place for it, and room is made
        self.assert_problem(self.served(d, old), 410, "gone")
        self.assertEqual((1, 140000), (d.counter("mirror_dropped_total"), d.counter("mirror_bytes")))

    def test_a_start_without_the_disk_makes_no_folder(self):     # ENCL-01
        """The folder on the disk below would be taken for that of the mirror. What is wanted meanwhile waits."""
        d = self.mirror()
        file = self.files.add("/a.mp3", b"sound" * 1000)
        self.publish(d, "1", "/a.mp3")
        self.wait_stored(d, file)
        d.stop()
        os.rename(self.dir, self.dir + ".away")
        os.mkdir(self.dir)
        d.start()
        d.wait_log("event=folder_broken")
        late = self.files.add("/late.mp3", b"late" * 1000)
        self.publish(d, "2", "/late.mp3")
        self.assert_problem(self.served(d, file), 503, "busy")
        self.assertEqual(["mirror-folder"], d.get("/readyz").json["reasons"])
        self.assertEqual([], os.listdir(self.dir))
        os.rmdir(self.dir)
        os.rename(self.dir + ".away", self.dir)
        self.wait_stored(d, late)
        self.assertEqual(file.body, self.served(d, file).body)
        d.wait_log("event=folder_back")
        self.assertEqual([], d.get("/readyz").json["reasons"])
        self.assertEqual(1, len(file.asked))

    def test_other_content_and_no_ranges(self):     # ENCL-01
        """What changes in between is fetched from its beginning, and so is what an origin cannot give in parts."""
        d = self.mirror()
        changes = self.files.add("/changes.mp3", os.urandom(MB), cuts=[MB // 4])
        changes.gate.clear()
        plain = self.files.add("/plain.mp3", os.urandom(MB), cuts=[MB // 4], ranges=False)
        untagged = self.files.add("/untagged.mp3", os.urandom(MB), cuts=[MB // 4], etag=None)
        self.publish(d, "1", "/changes.mp3", "/plain.mp3", "/untagged.mp3")
        self.wait(lambda: changes.asked, what="the first request", daemon=d)
        old = changes.digest
        now = self.files.add("/changes.mp3", os.urandom(MB), etag='"two"')
        changes.gate.set()
        for file in (now, plain, untagged):
            self.wait_stored(d, file)
            self.assertEqual(file.body, self.served(d, file).body)
        self.assertFalse(os.path.exists(self.path(old)))
        self.assertEqual('"one"', now.asked[0]["if-range"])
        self.assertIn("range", plain.asked[1])
        self.assertNotIn("range", untagged.asked[1])        # nobody could say whether it is the same

    def test_large_files_are_not_in_memory(self):   # ENCL-01, ENCL-02
        d = self.mirror()
        body = os.urandom(MB) * 64
        file = self.files.add("/big.mp4", body, type="video/mp4", cuts=[20 * MB])
        before = self.resident(d)
        self.publish(d, "1", "/big.mp4", type="video/mp4")
        self.wait_stored(d, file)
        whole = self.served(d, file)
        self.assertEqual(body, whole.body)
        self.assertLess(self.resident(d) - before, len(body) // 2)

    def test_what_is_not_mirrored(self):    # ENCL-01
        d = self.mirror("--mirror-size", "100K", "--mirror-types", "audio/*, image/png")
        fine = self.files.add("/fine.mp3", b"f" * 1000, type="application/octet-stream")    # the entry knows better
        big = self.files.add("/big.mp3", b"b" * 200000)
        page = self.files.add("/page.mp3", b"<html/>", type="text/html; charset=utf-8")
        late = self.files.add("/late.mp3", b"l" * 1000, status=503)
        self.publish(d, "1", "/big.mp3", "/page.mp3", "/late.mp3", "/fine.mp3")
        self.wait_stored(d, fine)
        self.assertEqual("audio/mpeg", self.served(d, fine).header("Content-Type"))
        self.wait(lambda: len(late.asked) > 1, what="another try", daemon=d)
        late.status = 200
        self.wait_stored(d, late)
        self.assertEqual((1, 1), (len(big.asked), len(page.asked)))     # these are not tried again
        # another guard, the same files: nothing goes to an address that is closed
        d.stop()
        d.args = [a for a in d.args if a not in ("--allow-fetch", "127.0.0.0/8", "--allow-callback")]
        d.args += ["--allow-fetch", "127.0.0.1/32"]
        d.start()
        closed = self.files.add("/closed.mp3", b"c")
        self.items.insert(0, item("2", (self.files.url("/closed.mp3").replace("127.0.0.1", "127.0.0.2"), "audio/mpeg")))
        self.o.set("/f.xml", rss(*self.items))
        d.ping(self.feed_url)
        d.wait_log("private or special")
        self.assertEqual([], closed.asked)

    def test_what_nobody_wants_any_more_ends(self):     # ENCL-01, ENCL-04
        """The feed is not mirrored any more: what waits ends, also in the middle of a transfer; what is stored stays."""
        d = self.mirror()
        stored, refused, slow = (self.files.add("/%s.mp3" % name, name.encode() * 50000) for name in ("here", "refused", "slow"))
        refused.status = 503
        slow.gate.clear()
        for file in stored, refused, slow:
            self.publish(d, file.body[:4].decode(), *(path for path, f in self.files.files.items() if f is file))
        self.wait_stored(d, stored)
        self.wait(lambda: refused.asked and slow.asked, what="the requests", daemon=d)
        d.subscribe(self.feed_url, mirror="no")
        slow.gate.set()         # its transfer ends by itself, or is ended
        self.wait(lambda: all(self.items_of(d)["urn:e:" + name]["mirror"]["state"] == "dropped" for name in ("refu", "slow")),
                  what="the end of both", daemon=d)
        items = self.items_of(d)
        for name in "refu", "slow":
            self.assertEqual("no feed with mirror=yes wants it any more", items["urn:e:" + name]["mirror"]["error"])
        self.assertEqual("stored", items["urn:e:here"]["mirror"]["state"])
        self.assertEqual(stored.body, self.served(d, stored).body)
        n = len(refused.asked)
        refused.status = 200
        self.wait(lambda: not os.listdir(os.path.join(self.dir, "partial")), what="an empty folder", daemon=d)
        self.assertFalse(os.path.exists(self.path(slow.digest)))
        d.subscribe(self.feed_url, mirror="yes")
        self.publish(d, "again", "/refused.mp3")        # a new entry wants it
        self.wait_stored(d, refused)
        self.assertEqual(n + 1, len(refused.asked))

    def test_what_no_entry_names_leaves(self):          # ENCL-04
        """Two feeds name a file, and one address more has the same content. It leaves with the last entry that names it."""
        d = self.mirror()
        file = self.files.add("/a.mp3", b"a" * 50000)
        self.files.add("/same.mp3", file.body)
        other, ends = self.files.add("/edited.mp3", b"e" * 1000), self.files.add("/waits.mp3", b"w", status=503)
        self.publish(d, "1", "/a.mp3", "/same.mp3", "/edited.mp3")
        second = self.o.set("/g.xml", rss(item("g", (self.files.url("/a.mp3"), "audio/mpeg"), (self.files.url("/waits.mp3"), ""))))
        d.subscribe(second, mirror="yes")
        d.feed(second)
        for stored in file, other:
            self.wait_stored(d, stored)
        self.wait(lambda: ends.asked and d.counter("mirror_files_total") == 3, what="all", daemon=d)
        self.assertEqual(51000, d.counter("mirror_bytes"))
        self.items[0] = item("1", (self.files.url("/a.mp3"), "audio/mpeg"), (self.files.url("/same.mp3"), "audio/mpeg"))
        self.o.set("/f.xml", rss(*self.items))
        d.ping(self.feed_url)
        self.wait(lambda: d.counter("mirror_bytes") == 50000, what="the end of what was named before", daemon=d)
        self.assertFalse(os.path.exists(self.path(other.digest)))
        self.assert_problem(self.served(d, other), 404, "not-found")
        for url, left in (second, 50000), (self.feed_url, 0):
            done = subprocess.run([BINARY, "forget", url, "--server", d.base], capture_output=True, text=True)
            self.assertEqual(0, done.returncode, done.stderr)
            self.assertEqual(50000, d.counter("mirror_bytes"))
            if left:
                self.assertEqual(200, self.served(d, file).status)
        self.wait(lambda: d.counter("mirror_bytes") == 0, what="the end of the file", daemon=d)
        self.assertFalse(os.path.exists(self.path(file.digest)))
        self.wait(lambda: d.sql("SELECT count(*) FROM mirrors") == [["0"]], what="that no row is left", daemon=d)
        self.assertEqual([["0"]], d.sql("SELECT count(*) FROM mirror_names"))

    def test_a_file_stays_when_its_feed_becomes_part_of_another(self):      # ENCL-04
        """Both have the entry; only the feed that goes was mirrored, so only its entry is known to name the file."""
        d = self.mirror()
        file = self.files.add("/a.mp3", b"a" * 50000)
        self.publish(d, "1", "/a.mp3")
        self.wait_stored(d, file)
        new = self.o.set("/new.xml", rss(*self.items))
        d.subscribe(new)
        d.feed(new)
        self.o.set("/f.xml", moved(new))
        d.ping(self.feed_url)
        self.wait(lambda: d.record(self.feed_url) is None, what="the merge", daemon=d)
        self.assertEqual([["1"]], d.sql("SELECT count(*) FROM mirror_names"))
        time.sleep(12)      # the walk looks each ten seconds
        self.assertEqual(50000, d.counter("mirror_bytes"))
        self.assertEqual(200, self.served(d, file).status)

    def test_needs_a_folder_and_is_a_setting_of_the_feed(self):    # ENCL-01
        d = self.daemon()
        url = self.o.set("/f.xml", rss(item("0")))
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        answer = d.call("POST", "/sub", "mirror=yes&url=" + quote(url), form)
        self.assert_problem(answer, 400, "bad-parameter", parameter="mirror")
        self.assertIn("--mirror", answer.json["detail"])
        d.stop()
        d = self.mirror()
        self.assertTrue(d.record(self.feed_url)["mirror"])
        self.assert_problem(d.call("POST", "/sub", "mirror=perhaps&url=" + quote(url), form), 400, "bad-parameter")
        d.subscribe(self.feed_url, mirror="no")
        self.assertFalse(d.record(self.feed_url)["mirror"])
        quiet = self.files.add("/quiet.mp3", b"q")
        self.publish(d, "1", "/quiet.mp3")
        d.wait_idle()
        d.subscribe(self.feed_url, mirror="yes")
        loud = self.files.add("/loud.mp3", b"l")
        self.publish(d, "2", "/loud.mp3")
        self.wait_stored(d, loud)
        self.assertEqual([], quiet.asked)       # it came while the feed was not mirrored
        # by PATCH and by the command line, too
        sub = d.subscribe(self.feed_url)
        for value, on in (("no", False), ("yes", True)):
            answer = d.call("PATCH", "/sub?id=%d" % sub, "mirror=" + value, form)
            self.assertEqual((200, on), (answer.status, d.record(self.feed_url)["mirror"]))
        body = {"Content-Type": "application/json"}
        self.assertEqual(200, d.call("PATCH", "/sub?id=%d" % sub, '{"mirror":false}', body).status)
        self.assertFalse(d.record(self.feed_url)["mirror"])
        for wrong in ('{"mirror":7}', '{"mirror":"perhaps"}'):
            self.assert_problem(d.call("PATCH", "/sub?id=%d" % sub, wrong, body), 400, "bad-parameter", parameter="mirror")
        for command, on in ((["set", self.feed_url, "mirror=yes"], True), (["sub", "set", str(sub), "mirror=no"], False)):
            done = subprocess.run([BINARY, *command, "--server", d.base], capture_output=True, text=True)
            self.assertEqual(0, done.returncode, done.stderr)
            self.assertEqual(on, d.record(self.feed_url)["mirror"])
        other = self.o.set("/other.xml", rss(item("other", (self.files.url("/add.pdf"), "application/pdf"))))
        paper = self.files.add("/add.pdf", b"%PDF-1.4", type="application/pdf")
        done = subprocess.run([BINARY, "add", "--mirror", other, "--server", d.base], capture_output=True, text=True)
        self.assertEqual(0, done.returncode, done.stderr)
        self.wait_stored(d, paper)      # no browser shows it where scripts are forbidden
        paper = self.served(d, paper, "a.pdf")
        self.assertEqual('attachment; filename="a.pdf"', paper.header("Content-Disposition"))
        self.assertEqual("sandbox; default-src 'none'", paper.header("Content-Security-Policy"))


    def items_of(self, d):
        """The entries of the log at /item, by id, as they are now."""
        revisions = d.get("/log?since=start&max=1000&links=1").json["revisions"]
        answers = [d.get(revision["item"].replace(".html", "") + ".json") for revision in revisions]
        return {answer.json["id"]: answer.json for answer in answers}

    def test_views_name_the_mirror(self):       # ENCL-03
        d = self.mirror()
        one, late = self.files.add("/a.mp3", b"a" * 5000, type="audio/ogg"), self.files.add("/b.mp3", b"b", status=503)
        media = ("<media:content xmlns:media='http://search.yahoo.com/mrss/' url='%s?x=1&amp;y=2' type='video/mp4'/>"
                 % self.files.url("/c.mp4"))
        film = self.files.add("/c.mp4?x=1&y=2", b"c" * 300, type="video/mp4")
        asked = "/feed?url=%s&type=" % quote(self.feed_url)
        body = item("1", (self.files.url("/a.mp3"), "audio/mpeg"), (self.files.url("/b.mp3"), "audio/mpeg"))
        self.items.append(body.replace("</item>", media + "</item>"))
        self.o.set("/f.xml", rss(*self.items))
        d.ping(self.feed_url)
        for file in (one, film):
            self.wait_stored(d, file)
        self.wait(lambda: late.asked, what="the refusal", daemon=d)
        urls = {file: "%s/enclosure/%s/%s" % (d.base, file.digest, name) for file, name in ((one, "a.mp3"), (film, "c.mp4"))}
        original = {one: self.files.url("/a.mp3"), film: self.files.url("/c.mp4?x=1&y=2"), late: self.files.url("/b.mp3")}

        def enclosures(entry):
            self.assertEqual(original[one], entry["enclosures"][0]["original"])
            return [(e["href"], e["length"], e["type"]) for e in entry["enclosures"]]
        shown = [(urls[one], "5000", "audio/ogg"), (original[late], "7", "audio/mpeg")]
        entry = d.get(asked + "json&mirror=1").json["entries"][0]
        self.assertEqual(shown, enclosures(entry))
        self.assertEqual((urls[film], original[film], "300"),
                         tuple(entry["media_content"][0][name] for name in ("url", "original", "filesize")))
        self.assertNotIn("original", entry["enclosures"][1])
        plain = d.get(asked + "json")
        self.assertNotIn("/enclosure/", plain.body.decode())
        self.assertNotIn("original", plain.body.decode())

        atom = d.get(asked + "atom&mirror=1").body.decode()
        self.assertRegex(atom, '<link rel="enclosure"[^>]*href="%s"' % urls[one])
        for file in (one, film):
            self.assertRegex(atom, '<link rel="via" href="%s"' % original[file].replace("?", "[?]").replace("&", "&amp;"))
        self.assertRegex(atom, '<media:content[^>]* url="%s"' % urls[film])
        self.assertIn('<enclosure url="%s" length="5000" type="audio/ogg"/>' % urls[one], d.get(asked + "rss&mirror=1").body.decode())
        self.assertEqual([urls[one], original[late]],
                         [a["url"] for a in d.get(asked + "jsonfeed&mirror=1").json["items"][0]["attachments"]])

        # streams and the log: the same revisions and cursors
        log, same = (d.get("/log?since=start&mirror=%d" % on).json for on in (1, 0))
        self.assertEqual(shown, enclosures(log["revisions"][-1]["entry"]))
        self.assertEqual([r["cursor"] for r in same["revisions"]], [r["cursor"] for r in log["revisions"]])
        self.assertEqual(same["cursor"], log["cursor"])
        smart = [d.get("/smart?type=json&since=cursor:&url=%s&mirror=%d" % (quote(self.feed_url), on)) for on in (1, 0)]
        files = smart[0].json["items"][-1]["object"]["attachments"]
        self.assertEqual((urls[one], original[one], 5000), tuple(files[0][name] for name in ("url", "original", "fileSize")))
        self.assertEqual((original[late], None), (files[1]["url"], files[1].get("original")))
        self.assertNotIn("original", smart[1].body.decode())
        self.assertEqual(smart[1].json["last_cursor"], smart[0].json["last_cursor"])
        told = []
        for on in (1, 0):
            reader = EventReader(d, "?since=start&mirror=%d" % on)
            self.addCleanup(reader.close)
            told.append((reader.until(2)[-1].data, reader.last_id))
        self.assertEqual(shown, enclosures(json.loads(told[0][0])["entry"]))
        self.assertNotIn("original", told[1][0])
        self.assertEqual(told[1][1], told[0][1])
        page = d.get("/log?since=start&links=1").json["revisions"][-1]["item"].replace(".html", "") + ".json"
        self.assertEqual(shown, enclosures(d.get(page + "?mirror=1").json))
        self.assertNotIn("original", d.get(page).json["enclosures"][0])
        self.assertIsNone(d.get(page).header("Last-Modified"))     # what became of files changes without the entry

        # of the documents of the log the entry documents alone: the others never change
        for path in ("/simple/recent?", "/archive?", "/history?"):
            path += "url=%s" % quote(self.feed_url)
            for kind in ("atom", "rss"):
                answer, plain = (d.get("%s&type=%s%s" % (path, kind, more)) for more in ("&mirror=1", ""))
                self.assertEqual(200, answer.status, path)
                self.assertIn(urls[one], answer.body.decode(), path)
                self.assertIn(original[one], answer.body.decode(), path)    # the link `via`
                self.assertIsNone(answer.header("Last-Modified"))
                self.assertNotIn("/enclosure/", plain.body.decode(), path)
                for page in re.findall(r"%s/(?:simple|archive|history)/\w+/[0-9-]+[.a-z]*" % d.base, answer.body.decode()):
                    self.assertNotIn("/enclosure/", d.get(page[len(d.base):]).body.decode(), page)
        self.assertEqual(400, d.get("/archive?url=%s&mirror=maybe" % quote(self.feed_url)).status)

        # documents change with the mirror, those without it do not
        tags = [d.get(asked + "json" + more).header("ETag") for more in ("", "&mirror=1")]
        late.status = 200
        self.wait_stored(d, late)
        self.wait(lambda: self.served_url(d, asked, late), what="the mirror's URL", daemon=d)
        now = [d.get(asked + "json" + more).header("ETag") for more in ("", "&mirror=1")]
        self.assertEqual(tags[0], now[0])
        self.assertNotEqual(tags[1], now[1])
        self.assertEqual(200, d.get(asked + "json&mirror=1", If_None_Match=tags[1]).status)
        self.assertEqual(304, d.get(asked + "json&mirror=1", If_None_Match=now[1]).status)

    def served_url(self, d, asked, file):
        return "/enclosure/%s/" % file.digest in d.get(asked + "json&mirror=1").body.decode()

    def test_least_recently_needed_leave_first(self):   # ENCL-04
        d = self.mirror("--mirror-total", "250K", "--mirror-size", "200K")
        names = ("a", "b", "c")
        a, b, c = (self.files.add("/%s.mp3" % name, name.encode() * 100000) for name in names)
        for name, file in (("a", a), ("b", b)):
            self.publish(d, name, "/%s.mp3" % name)
            self.wait_stored(d, file)
        self.assertEqual(200, self.served(d, a).status)     # b is the one that nobody needed for longer
        self.publish(d, "c", "/c.mp3")
        self.wait_stored(d, c)
        self.assert_problem(self.served(d, b), 410, "gone")
        self.assertFalse(os.path.exists(self.path(b.digest)))
        self.assertEqual(200, self.served(d, a).status)
        self.assertEqual(200000, d.counter("mirror_bytes"))

        self.files.add("/big.mp3", b"x" * 210000)
        self.files.add("/refused.mp3", b"x", status=403)
        self.publish(d, "big", "/big.mp3")
        self.publish(d, "refused", "/refused.mp3")
        self.wait(lambda: d.counter("mirror_failed_total") >= 2, what="two failures", daemon=d)
        self.wait(lambda: (self.items_of(d)["urn:e:refused"]["mirror"] or {}).get("error"), what="the error", daemon=d)
        items = self.items_of(d)
        for name, file, state in (("a", a, "stored"), ("b", b, "dropped"), ("c", c, "stored")):
            mirror = items["urn:e:" + name]["mirror"]
            self.assertEqual((state, file.digest, 100000), (mirror["state"], mirror["sha256"], mirror["size"]))
            self.assertEqual(mirror, items["urn:e:" + name]["enclosures"][0]["mirror"])
            self.assertEqual(state == "dropped", mirror["error"] is not None)
        big, refused = (items["urn:e:" + name]["mirror"] for name in ("big", "refused"))
        self.assertEqual(("failed", None, None), (big["state"], big["sha256"], big["size"]))
        self.assertIn("--mirror-size", big["error"])
        self.assertEqual("waiting", refused["state"])
        self.assertIn("403", refused["error"])
        self.assertNotIn("mirror", items["urn:e:0"])

        self.publish(d, "b2", "/b.mp3")         # it is needed again, and now a is the one
        self.wait_stored(d, b)
        self.assertEqual(("stored", "dropped"), tuple(self.items_of(d)["urn:e:" + name]["mirror"]["state"] for name in "bc"))

        # what has come in part counts, too: now it is a
        part = self.files.add("/part.mp3", b"p" * 150000, cuts=[140000] + [0] * 1000)
        self.publish(d, "part", "/part.mp3")
        self.wait(lambda: d.counter("mirror_bytes") == 100000, what="room for a part", daemon=d)
        self.assertFalse(os.path.exists(self.path(a.digest)))
        part.cuts = []
        self.wait_stored(d, part)
        self.assertEqual(200, self.served(d, b).status)
        self.assertIn("range", part.asked[1])


class Played(InBrowser, Enclosures):
    """A browser plays what is mirrored. Not the tests of the classes above: those run there."""

    def setUp(self):
        Enclosures.setUp(self)

    def test_a_browser_plays_it(self):      # ENCL-02
        self.d = self.mirror()
        body = io.BytesIO()
        with wave.open(body, "wb") as sound:
            sound.setparams((1, 1, 8000, 0, "NONE", "NONE"))
            sound.writeframes(b"\x80" * 8000 * 60)
        file = self.files.add("/a.wav", body.getvalue(), type="audio/wav")
        self.publish(self.d, "1", "/a.wav", type="audio/wav")
        self.wait_stored(self.d, file)
        self.look("plays", "/enclosure/%s/a.wav" % file.digest)


for name in dir(Enclosures):
    if name.startswith("test_"):
        setattr(Played, name, None)


class EnclosuresPg(Enclosures):
    """What the database has a part in."""
    engine = "pg"
    test_is_stored_by_content_and_served = test_large_files_are_not_in_memory = test_other_content_and_no_ranges = \
        test_needs_a_folder_and_is_a_setting_of_the_feed = None

    def test_nothing_is_dropped_while_the_folder_is_away(self):     # ENCL-01, ENCL-04
        """Two files are to make room for a third, and the disk goes away while the database is busy with the first one."""
        d = self.mirror("--mirror-total", "250K", "--mirror-size", "220K")
        old = [self.files.add("/%d.mp3" % i, b"%d" % i * 60000) for i in range(2)]
        for i, file in enumerate(old):
            self.publish(d, str(i), "/%d.mp3" % i)
            self.wait_stored(d, file)
        d.sql("CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(300); RETURN NEW; END $$;"
              "CREATE TRIGGER hold BEFORE UPDATE ON mirrors FOR EACH ROW WHEN (NEW.state = 3) EXECUTE FUNCTION hold()")
        new = self.files.add("/new.mp3", b"n" * 200000)
        self.publish(d, "new", "/new.mp3")
        held = "FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = current_database()"
        self.wait(lambda: d.sql("SELECT count(*) " + held) == [["1"]], what="the first drop", daemon=d)
        os.rename(self.dir, self.dir + ".away")
        d.sql("ALTER TABLE mirrors DISABLE TRIGGER hold")
        d.sql("SELECT pg_terminate_backend(pid) " + held)
        d.wait_log("event=postponed")
        self.assertEqual([["1", "1"]], d.sql("SELECT count(*) FILTER (WHERE state = 1), count(*) FILTER (WHERE state = 3)"
                                             " FROM mirrors"))
        os.rename(self.dir + ".away", self.dir)
        self.wait_stored(d, new)        # now there is a place for it, and the second one makes room
        self.assertEqual((2, 200000), (d.counter("mirror_dropped_total"), d.counter("mirror_bytes")))
