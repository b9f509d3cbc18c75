"""Origins of files that do what no origin should (ENCL-01, ENCL-02, ENCL-04)."""
import hashlib
import os
import re
import socket
import threading

from . import test_enclosures
from .test_enclosures import MB, item, rss


class RawOrigin:
    """Answers each request with what `answers[path]` writes: a function of the socket, the fields of the request, and
    how many requests for the path came before."""

    def __init__(self):
        self.answers, self.asked = {}, {}
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        threading.Thread(target=self.run, daemon=True).start()

    def run(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        with client:
            head = b""
            while b"\r\n\r\n" not in head:
                more = client.recv(65536)
                if not more:
                    return
                head += more
            line, *fields = head.decode().split("\r\n\r\n")[0].split("\r\n")
            path = line.split(" ")[1]
            fields = {f.split(": ")[0].lower(): f.split(": ", 1)[1] for f in fields}
            before = self.asked.setdefault(path, [])
            before.append(fields)
            try:
                self.answers[path](client, fields, len(before) - 1)
            except OSError:
                pass

    def url(self, path):
        return "http://127.0.0.1:%d%s" % (self.listener.getsockname()[1], path)

    def close(self):
        self.listener.close()


def answer(status, *fields, body=b""):
    lines = ["HTTP/1.1 %s X" % status, "Connection: close", *fields]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


class Nasty(test_enclosures.Enclosures):
    """Not the tests of the class above: those run there."""

    def setUp(self):
        super().setUp()
        self.raw = RawOrigin()
        self.addCleanup(self.raw.close)

    def on(self, path, function):
        self.raw.answers[path] = function

    def name(self, d, name, *paths):
        self.items.insert(0, item(name, *((self.raw.url(p), "audio/mpeg") for p in paths)))
        self.o.set("/f.xml", rss(*self.items))
        d.ping(self.feed_url)

    def state(self, d, name):
        return (self.items_of(d).get("urn:e:" + name) or {}).get("mirror") or {}

    def wait_body(self, d, body):
        digest = hashlib.sha256(body).hexdigest()
        self.wait(lambda: os.path.exists(self.path(digest)), what="the file", daemon=d)
        self.wait(lambda: d.get("/enclosure/" + digest).status == 200, what="the row", daemon=d)
        return d.get("/enclosure/%s/a.mp3" % digest)

    def wait_error(self, d, name, words, state="waiting"):
        self.wait(lambda: re.search(words, self.state(d, name).get("error") or ""), daemon=d,
                  what=lambda: "%s: %s" % (words, self.state(d, name)))
        self.assertEqual(state, self.state(d, name)["state"])

    def test_wrong_lengths(self):       # ENCL-01
        """A length that is too large is a break; what comes after one that is too small is not of the file."""
        body = os.urandom(100000)
        d = self.mirror()

        def long(client, fields, n):
            first = int(fields.get("range", "bytes=0-")[6:-1])
            status = 206 if first else 200
            client.sendall(answer(status, 'ETag: "e"', "Content-Type: audio/mpeg", "Content-Length: %d" %
                                  (len(body) - first + (50000 if n == 0 else 0)),
                                  *(["Content-Range: bytes %d-%d/%d" % (first, len(body) - 1, len(body))] if first else []),
                                  body=body[first:]))
        self.on("/long", lambda c, f, n: long(c, f, n) if n == 0 else c.sendall(
            answer(416, 'ETag: "e"', "Content-Range: bytes */%d" % len(body))))
        self.on("/short", lambda c, f, n: c.sendall(answer(
            200, "Content-Type: audio/mpeg", "Content-Length: 70000", body=body)))
        self.on("/no-number", lambda c, f, n: c.sendall(answer(
            200, "Content-Type: audio/mpeg", "Content-Length: many" if n == 0 else "Content-Length: 5", body=b"12345")))
        self.name(d, "1", "/long", "/short", "/no-number")
        self.assertEqual(body, self.wait_body(d, body).body)
        self.assertEqual("bytes=%d-" % len(body), self.raw.asked["/long"][1]["range"])
        self.assertEqual(body[:70000], self.wait_body(d, body[:70000]).body)
        self.assertEqual(b"12345", self.wait_body(d, b"12345").body)

    def test_breaks_at_the_same_place(self):       # ENCL-01
        """The pauses grow, also when something came that does not help: from the beginning again, or a byte more each time."""
        body, d = os.urandom(300000), self.mirror()
        head = ["Content-Type: audio/mpeg", "Content-Length: %d" % len(body)]
        self.on("/bare", lambda c, f, n: c.sendall(answer(200, *head, body=body[:200000])))
        self.on("/ignores", lambda c, f, n: c.sendall(answer(200, 'ETag: "e"', *head, body=body[:200000])))
        self.on("/unasked", lambda c, f, n: c.sendall(answer(
            206, "Content-Range: bytes 0-199999/300000", "Content-Length: 200000", body=body[:200000])))

        def creeps(client, fields, n):
            at = int(fields.get("range", "bytes=0-")[6:-1])
            if not at:
                return client.sendall(answer(200, 'ETag: "e"', *head, body=body[:200000]))
            client.sendall(answer(206, 'ETag: "e"', "Content-Range: bytes %d-299999/300000" % at,
                                  "Content-Length: %d" % (300000 - at), body=body[at:at + 1]))
        self.on("/creeps", creeps)
        self.name(d, "1", "/bare", "/ignores", "/unasked", "/creeps")
        for path in ("/bare", "/ignores", "/unasked", "/creeps"):
            self.wait(lambda p=path: [line for line in list(d.log) if p in line and "tries=3" in line], daemon=d,
                      what="a third try of %s that counts as one" % path)

    def test_answers_to_a_request_for_the_rest(self):       # ENCL-01
        """A wrong place, another file without an If-Range, a 416 of another length, a 206 that nobody asked for, a rest that
        is longer than the whole: what comes in the end is right."""
        body, d = os.urandom(200000), self.mirror()
        half = len(body) // 2

        def cut(client):
            client.sendall(answer(200, 'ETag: "e"', "Content-Type: audio/mpeg", "Content-Length: %d" % len(body), body=body[:half]))

        def whole(client):
            client.sendall(answer(200, 'ETag: "e"', "Content-Type: audio/mpeg", "Content-Length: %d" % len(body), body=body))

        def rest(*fields, status=206, body=body[half:]):
            return lambda c: c.sendall(answer(status, "Content-Type: audio/mpeg", "Content-Length: %d" % len(body), *fields, body=body))
        second = {
            "/place": rest('ETag: "e"', "Content-Range: bytes %d-%d/%d" % (half - 7, len(body) - 1, len(body))),
            "/other": rest('ETag: "f"', "Content-Range: bytes %d-%d/%d" % (half, len(body) - 1, len(body)), body=b"x" * half),
            "/weak": rest('ETag: W/"e"', "Content-Range: bytes %d-%d/%d" % (half, len(body) - 1, len(body)), body=b"x" * half),
            "/416": rest("Content-Range: bytes */%d" % (half - 1), status=416, body=b"no"),
            "/416-none": rest(status=416, body=b"no"),
            "/longer": rest('ETag: "e"', "Content-Range: bytes %d-%d/%d" % (half, len(body) + 99, len(body)), body=body[half:] + b"y" * 100),
            "/parts": rest('ETag: "e"', "Content-Type: multipart/byteranges; boundary=x", body=b"--x\r\n"),
        }

        def serve(path):
            return lambda c, f, n: cut(c) if n == 0 else second[path](c) if n == 1 else whole(c)
        for path in second:
            self.on(path, serve(path))
        self.on("/uninvited", lambda c, f, n: whole(c) if n else c.sendall(
            answer(206, "Content-Type: audio/mpeg", "Content-Range: bytes 5-9/10", "Content-Length: 5", body=b"12345")))
        self.name(d, "1", *second, "/uninvited")
        self.wait(lambda: d.counter("mirror_files_total") == len(second) + 1, daemon=d, seconds=240,
                  what=lambda: str({p: len(a) for p, a in self.raw.asked.items()}))
        digest = hashlib.sha256(body).hexdigest()
        self.assertEqual([digest], [name for _, _, names in os.walk(self.dir) for name in names])
        self.assertEqual(body, self.wait_body(d, body).body)

    def test_a_body_without_end(self):      # ENCL-01
        """It ends at --mirror-size, is not tried again, and leaves nothing."""
        d = self.mirror("--mirror-size", "3M")
        block = b"%x\r\n" % 65536 + b"z" * 65536 + b"\r\n"

        def endless(client, fields, n):
            client.sendall(answer(200, 'ETag: "e"', "Content-Type: audio/mpeg", "Transfer-Encoding: chunked"))
            while True:
                client.sendall(block)
        self.on("/endless", endless)
        self.name(d, "1", "/endless")
        self.wait_error(d, "1", "--mirror-size", state="failed")
        self.assertEqual(1, len(self.raw.asked["/endless"]))
        self.wait(lambda: not os.listdir(os.path.join(self.dir, "partial")), what="that nothing is left", daemon=d)
        self.assertEqual(0, d.counter("mirror_bytes"))
        self.assertLess(d.counter("mirror_bytes_total"), 3 * MB + 1)

    def test_redirects(self):               # ENCL-01
        """The guard judges each hop; a circle ends."""
        d = self.mirror()
        d.stop()
        d.args = [a for a in d.args if a not in ("--allow-fetch", "127.0.0.0/8", "--allow-callback")]
        d.args += ["--allow-fetch", "127.0.0.1/32"]
        d.start()
        to = lambda url: lambda c, f, n: c.sendall(answer(302, "Location: " + url, "Content-Length: 0"))
        self.on("/inside", to(self.raw.url("/x").replace("127.0.0.1", "127.0.0.2")))
        self.on("/named", to(self.raw.url("/x").replace("127.0.0.1", "localhost.")))
        self.on("/file", to("file:///etc/passwd"))
        self.on("/circle", to("/circle"))
        self.on("/good", to("/end"))
        self.on("/end", lambda c, f, n: c.sendall(answer(200, "Content-Type: audio/mpeg", "Content-Length: 3", body=b"end")))
        self.on("/x", lambda c, f, n: c.sendall(answer(200, "Content-Type: audio/mpeg", "Content-Length: 3", body=b"bad")))
        for path in "/inside", "/file", "/circle", "/good":
            self.name(d, path[1:], path)
        self.assertEqual(b"end", self.wait_body(d, b"end").body)
        self.wait_error(d, "inside", "private or special")
        self.wait_error(d, "file", ".")
        self.wait_error(d, "circle", "redirect")
        self.assertNotIn("/x", self.raw.asked)

    def test_the_total_while_several_are_on_their_way(self):    # ENCL-01, ENCL-04
        """What comes in four transfers together is more than the total: the sum of the folder stays near it, and each
        is stored, or has left for a later one."""
        d = self.mirror("--mirror-total", "1M", "--mirror-size", "600K")
        go = threading.Event()

        def half(body):
            def serve(client, fields, n):
                client.sendall(answer(200, 'ETag: "e"', "Content-Type: audio/mpeg", "Content-Length: %d" % len(body), body=body[:len(body) // 2]))
                go.wait(60)
                client.sendall(body[len(body) // 2:])
            return serve
        bodies = [bytes([65 + i]) * 500000 for i in range(6)]
        others = [RawOrigin() for _ in range(3)]
        for other in others:
            self.addCleanup(other.close)
        for i, body in enumerate(bodies):
            others[i % 3].answers["/%d" % i] = half(body)
        self.items.insert(0, item("1", *((others[i % 3].url("/%d" % i), "audio/mpeg") for i in range(6))))
        self.o.set("/f.xml", rss(*self.items))
        d.ping(self.feed_url)
        self.wait(lambda: d.counter("mirror_running") == 4, what="four transfers", daemon=d)
        go.set()
        self.wait(lambda: d.counter("mirror_files_total") == 6, what="all of them", daemon=d)
        self.wait(lambda: d.counter("mirror_bytes") <= MB, what="what fits", daemon=d)
        d.wait_idle()
        stored = [b for b in bodies if os.path.exists(self.path(hashlib.sha256(b).hexdigest()))]
        self.assertEqual(2, len(stored))
        self.assertEqual(1000000, d.counter("mirror_bytes"))
        self.assertEqual(4, d.counter("mirror_dropped_total"))

    def test_a_kill_in_the_middle_of_four(self):    # ENCL-01
        """Each goes on where it was, with If-Range."""
        d, bodies = self.mirror(), [os.urandom(2 * MB) for _ in range(4)]
        others = [RawOrigin() for _ in range(2)]
        stall = threading.Event()

        def serve(body):
            def answer_it(client, fields, n):
                first = int(fields.get("range", "bytes=0-")[6:-1])
                client.sendall(answer(206 if first else 200, 'ETag: "e"', "Content-Type: audio/mpeg",
                                      "Content-Length: %d" % (len(body) - first), "Content-Range: bytes %d-%d/%d"
                                      % (first, len(body) - 1, len(body)), body=body[first:first + (MB if n == 0 else len(body))]))
                if n == 0:
                    stall.wait(60)
            return answer_it
        for i, body in enumerate(bodies):
            others[i % 2].answers["/%d" % i] = serve(body)
        self.items.insert(0, item("1", *((others[i % 2].url("/%d" % i), "audio/mpeg") for i in range(4))))
        self.o.set("/f.xml", rss(*self.items))
        d.ping(self.feed_url)
        partial = os.path.join(self.dir, "partial")
        self.wait(lambda: sum(os.path.getsize(os.path.join(partial, f)) for f in os.listdir(partial)) > 4 * MB, what="halves", daemon=d)
        d.kill()
        stall.set()
        d.start()
        for body in bodies:
            self.assertEqual(body, self.wait_body(d, body).body)
        for other in others:
            other.close()
            for asked in other.asked.values():
                self.assertEqual([("bytes=%d-" % MB, '"e"')], [(f["range"], f["if-range"]) for f in asked[1:]])


for name in dir(test_enclosures.Enclosures):
    if name.startswith("test_"):
        setattr(Nasty, name, None)
