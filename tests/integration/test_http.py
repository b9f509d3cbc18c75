"""The HTTP layer by raw bytes: HTTP-17..26."""
import os
import re
import signal
import socket
import tempfile
import threading
import time

from .env.case import Case, slow
from .env.daemon import PATIENCE, quote
from .env.origin import Reply, rss


class Raw(Case):
    @classmethod
    def setUpClass(cls):
        from .env.daemon import Daemon
        from .env.origin import Origin
        cls.o, cls.d = Origin(), Daemon("--allow-host", "t", db=cls.new_database())
        cls.addClassCleanup(cls.o.close)
        cls.addClassCleanup(cls.d.close)
        cls.u = cls.o.set("/f.xml", rss(*["entry %d" % n for n in range(50)]))
        cls.d.feed(cls.u)
        cls.path = "/feed?type=rss&url=" + quote(cls.u)

    def tearDown(self):                                                  # HTTP-22
        self.assertEqual(200, self.d.get("/sub").status)

    def connect(self):
        s = socket.create_connection(("127.0.0.1", self.d.port), timeout=30 * PATIENCE)
        self.addCleanup(s.close)
        return s

    @staticmethod
    def everything(s):
        out = b""
        try:
            while True:
                piece = s.recv(65536)
                if not piece:
                    break
                out += piece
        except ConnectionResetError:
            pass
        return out

    def ask(self, data):
        s = self.connect()
        try:
            s.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            pass
        return self.everything(s)

    @staticmethod
    def answers(data):
        return len(re.findall(rb"HTTP/1\.1 \d\d\d ", data))

    @staticmethod
    def status(answer):
        return int(answer.split(b" ", 2)[1]) if answer.startswith(b"HTTP/1.1 ") else 0

    def request(self, path=None, fields="", method="GET", close=True, body=b""):
        return ("%s %s HTTP/1.1\r\nHost: t\r\n%s%s\r\n" % (
            method, path or self.path, fields, "Connection: close\r\n" if close else "")).encode() + body

    def test_pipelining(self):                                           # HTTP-17
        answer = self.ask(self.request("/nonexistent", close=False) + self.request("/sub", close=False) +
                          self.request("/changes.xml"))
        found = [int(p[:3]) for p in answer.split(b"HTTP/1.1 ")[1:]]
        self.assertEqual([404, 200, 200], found)
        self.assertLess(answer.index(b"<opml"), answer.index(b"<weblogUpdates"))

    def test_a_connection_is_kept(self):                                 # HTTP-17
        s = self.connect()
        for _ in range(3):
            s.sendall(self.request(close=False))
            head = b""
            while b"\r\n\r\n" not in head:
                head += s.recv(65536)
            head, rest = head.split(b"\r\n\r\n", 1)
            length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
            while len(rest) < length:
                rest += s.recv(65536)
            self.assertEqual(200, self.status(head))

    def test_host(self):                                                 # HTTP-18
        self.assertEqual(400, self.status(self.ask(b"GET /sub HTTP/1.1\r\n\r\n")))
        self.assertEqual(400, self.status(self.ask(b"GET /sub HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n")))

    def test_http_1_0(self):                                             # HTTP-19
        answer = self.ask(b"GET /sub HTTP/1.0\r\n\r\n")
        self.assertEqual(200, self.status(answer))

    def test_ambiguous_framing(self):                                    # HTTP-20
        smuggled = b"GET /smuggled HTTP/1.1\r\nHost: t\r\n\r\n"
        for fields in ("Content-Length: 5\r\nContent-Length: 6\r\n",
                       "Content-Length: 5\r\nContent-Length: 5\r\n",
                       "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
                       "Content-Length: +5\r\n", "Content-Length: 5, 5\r\n", "Content-Length : 5\r\n",
                       "Content-Length: 0x5\r\n", "Content-Length: -1\r\n", "Content-Length: \r\n",
                       "Content-Length: 99999999999999999999\r\n",
                       "Transfer-Encoding: xchunked\r\n", "Transfer-Encoding: chunked, gzip\r\n",
                       "Transfer-Encoding: gzip, chunked\r\n", "Transfer-Encoding: \tchunked\x0b\r\n",
                       "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
                       " Folded: x\r\n", "X: a\r\n folded\r\n", "X\r\n", "X: a\x00b\r\n", "X: a\rb\r\n",
                       "Bad name: x\r\n", ": empty\r\n"):
            answer = self.ask(self.request("/sub", fields, "POST", close=False) + b"hello" + smuggled)
            self.assertIn(self.status(answer), (400, 413, 501), (fields, answer[:100]))
            self.assertEqual(1, self.answers(answer), (fields, answer))
        for line in (b"GET /sub HTTP/1.1\nHost: t\n\n", b"GET  /sub HTTP/1.1\r\nHost: t\r\n\r\n",
                     b"GET /sub\r\n\r\n", b"GET /sub HTTP/2.0\r\nHost: t\r\n\r\n", b"\x16\x03\x01\x02\x00\x01",
                     b"CONNECT t:80 HTTP/1.1\r\nHost: t\r\n\r\n", b"GET /a\x00b HTTP/1.1\r\nHost: t\r\n\r\n"):
            answer = self.ask(line + smuggled)
            self.assertIn(self.status(answer) or 400, (400, 405, 501, 505), (line, answer[:100]))
            self.assertLessEqual(self.answers(answer), 1, (line, answer))

    def test_chunked_framing(self):                                      # HTTP-20 HTTP-23
        head = "Transfer-Encoding: chunked\r\nContent-Type: application/x-www-form-urlencoded\r\n"
        form = ("url=" + quote(self.u)).encode()
        body = b"3\r\n" + form[:3] + b"\r\n%x;ext=1\r\n" % len(form[3:]) + form[3:] + b"\r\n0\r\nT: x\r\n\r\n"
        self.assertEqual(201, self.status(self.ask(self.request("/sub", head, "POST", body=body))))
        for bad in (b"x\r\n", b"-1\r\n", b"5\r\nhelloXX0\r\n\r\n", b"ffffffffffffffffff\r\n", b"5\nhello\n0\n\n",
                    b"0x5\r\nhello\r\n0\r\n\r\n"):
            answer = self.ask(self.request("/sub", head, "POST", body=bad))
            self.assertIn(self.status(answer), (400, 413), bad)

    def test_endless_chunks(self):                                       # HTTP-23
        s = self.connect()
        s.sendall(self.request("/sub", "Transfer-Encoding: chunked\r\n", "POST", close=False))
        piece = b"10000\r\n" + b"x" * 65536 + b"\r\n"
        try:
            for _ in range(400):
                s.sendall(piece)
        except (BrokenPipeError, ConnectionResetError):
            pass
        answer = self.everything(s)
        self.assertIn(self.status(answer) or 413, (413,))

    def test_over_long(self):                                            # HTTP-21
        self.assertIn(self.status(self.ask(self.request("/" + "x" * 300000))), (400, 414, 431))
        self.assertIn(self.status(self.ask(self.request(fields="X: %s\r\n" % ("y" * 300000)))), (400, 431))
        self.assertIn(self.status(self.ask(self.request(fields="X: y\r\n" * 5000))), (400, 431))

    def test_expect(self):                                               # HTTP-26
        form = b"url=" + quote(self.u).encode()
        s = self.connect()
        s.sendall(self.request("/sub", "Expect: 100-continue\r\nContent-Length: %d\r\nContent-Type: "
                               "application/x-www-form-urlencoded\r\n" % len(form), "POST"))
        self.assertTrue(s.recv(100).startswith(b"HTTP/1.1 100 "))
        s.sendall(form)
        self.assertEqual(201, self.status(self.everything(s)))

    def test_half_closed(self):
        s = self.connect()
        s.sendall(self.request(close=False))
        s.shutdown(socket.SHUT_WR)
        self.assertEqual(200, self.status(self.everything(s)))

    def test_ranges_are_ignored(self):                                   # HTTP-24
        whole, part = self.d.get(self.path), self.d.get(self.path, Range="bytes=0-9")
        self.assertEqual((200, whole.body), (part.status, part.body))
        self.assertIsNone(part.header("Content-Range"))

    def test_slow_clients_starve_nobody(self):                           # HTTP-25
        stuck = []
        for n in range(200):
            s = self.connect()
            s.sendall((b"GET /sub HTTP/1.1\r\nHost: t\r\nX: " if n % 2 else
                       b"POST /sub HTTP/1.1\r\nHost: t\r\nContent-Length: 100\r\n\r\nabc"))
            stuck.append(s)
        began = time.monotonic()
        self.assertEqual(200, self.d.get(self.path).status)
        self.assertLess(time.monotonic() - began, 3 * PATIENCE)

    def test_a_dripping_header_ends(self):                               # HTTP-25
        s = self.connect()
        began = time.monotonic()
        s.sendall(b"GET /sub HTTP/1.1\r\nHost: t\r\n")
        s.settimeout(1)
        while time.monotonic() - began < 60 * PATIENCE:
            try:
                s.sendall(b"X")
                if s.recv(4096) == b"":
                    break
            except socket.timeout:
                continue
            except OSError:
                break
        self.assertLess(time.monotonic() - began, 10 + 10 * PATIENCE)

    def test_a_client_that_does_not_read(self):                          # HTTP-25
        s = socket.socket()
        self.addCleanup(s.close)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        s.connect(("127.0.0.1", self.d.port))
        for _ in range(200):
            s.sendall(self.request(close=False))
        began = time.monotonic()
        self.assertEqual(200, self.d.get(self.path).status)
        self.assertLess(time.monotonic() - began, 3 * PATIENCE)

    def test_a_client_that_left_frees_its_request(self):
        u = self.o.set("/slow.xml", Reply(200, rss("a"), delay=60))
        waiting = [self.connect() for _ in range(20)]
        for s in waiting:
            s.sendall(self.request("/feed?url=" + quote(u), close=False))
        self.wait(lambda: self.d.counter("http_held") >= 20)
        time.sleep(1.1)  # in the first second an end is taken for a half-close, and is answered
        for s in waiting:
            s.close()
        self.wait(lambda: self.d.counter("http_held") == 0, 8)       # before the fetch is over

    def test_thousands_of_idle_connections(self):
        idle = []
        for _ in range(2000):
            s = socket.create_connection(("127.0.0.1", self.d.port), timeout=30 * PATIENCE)
            self.addCleanup(s.close)
            idle.append(s)
        began = time.monotonic()
        self.assertEqual(200, self.d.get(self.path).status)
        self.assertLess(time.monotonic() - began, 3 * PATIENCE)
        self.d.wait_metric("http_connections", 2000)     # a loop may still be accepting what the kernel took

    def test_random_bytes(self):                                         # HTTP-22
        import random
        dice = random.Random(7)
        whole = self.request(fields="Content-Length: 3\r\n", body=b"abc")
        for _ in range(300):
            data = bytearray(whole)
            for _ in range(dice.randrange(1, 6)):
                data[dice.randrange(len(data))] = dice.randrange(256)
            s = self.connect()
            s.sendall(bytes(data[:dice.randrange(len(data))]))
            s.close()


class Access(Case):
    def test_token(self):
        d = self.daemon("--token", "t0p")
        self.assertEqual(401, d.get("/sub").status)
        self.assertTrue(d.get("/sub").header("WWW-Authenticate"))
        self.assertEqual(200, d.get("/sub", Authorization="Bearer t0p").status)
        import base64
        basic = base64.b64encode(b"anyone:t0p").decode()
        self.assertEqual(200, d.get("/sub", Authorization="Basic " + basic).status)
        self.assertEqual(401, d.get("/sub", Authorization="Bearer t0").status)

    def raw(self, d, text):
        with socket.create_connection(("127.0.0.1", d.port), timeout=30 * PATIENCE) as s:
            s.sendall(text.encode())
            s.shutdown(socket.SHUT_WR)
            return int(s.makefile("rb").read().split()[1])

    def test_foreign_names_get_nothing_without_a_token(self):            # DNS rebinding
        d = self.daemon("--base-url", "https://Feeds.example:8443", "--allow-host", "alias.example")
        for host in ("127.0.0.1", "127.0.0.1:%d" % d.port, "localhost", "LocalHost:1", "a.localhost", "[::1]:80",
                     "192.0.2.7", "feeds.example", "FEEDS.example.:443", "alias.example", ""):
            self.assertEqual(200, self.raw(d, "GET /sub HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n" % host), host)
        for host in ("evil.example", "evil.example:%d" % d.port, "127.0.0.1.evil.example", "localhost.evil.example",
                     "notlocalhost", "x.feeds.example", "[evil]", "1.2.3", "::1"):
            for method, path in (("GET", "/sub"), ("POST", "/RPC2"), ("POST", "/sub"), ("GET", "/")):
                self.assertEqual(421, self.raw(d, "%s %s HTTP/1.1\r\nHost: %s\r\nContent-Length: 0\r\nConnection: close"
                                                  "\r\n\r\n" % (method, path, host)), (method, path, host))
        self.assertEqual(200, self.raw(d, "GET /sub HTTP/1.0\r\n\r\n"))
        self.assertEqual(200, self.raw(d, "GET /healthz HTTP/1.1\r\nHost: evil.example\r\n\r\n"))
        problem = self.assert_problem(d.get("/sub", Host="evil.example"), 421, "misdirected")
        self.assertIn("--allow-host", problem["detail"])
        d = self.daemon("--token", "t0p")                                # a page that knows the token is welcome
        self.assertEqual(200, d.get("/sub", Host="any.example", Authorization="Bearer t0p").status)

    def test_reload_keeps_the_door_shut(self):
        path = tempfile.mkstemp(suffix=".conf")[1]
        self.addCleanup(os.unlink, path)

        def write(text):
            with open(path, "w") as out:
                out.write(text)

        write("token = t0p\n")
        d = self.daemon("--config", path, "--listen", "0.0.0.0:0")
        write("")                           # nobody outside this machine gets in without a token
        d.process.send_signal(signal.SIGHUP)
        self.wait(lambda: any("reload_refused" in line and "token" in line for line in d.log))
        self.assertEqual(401, d.get("/sub").status)
        write("token = n3w\n")
        d.process.send_signal(signal.SIGHUP)
        d.wait_log("event=reloaded")
        self.assertEqual(401, d.get("/sub", Authorization="Bearer t0p").status)
        self.assertEqual(200, d.get("/sub", Authorization="Bearer n3w").status)

    def test_slow_readers_of_a_large_document(self):                  # HTTP-25
        """They hold no more than --send-size together, and others are served meanwhile."""
        o, d = self.origin(), self.daemon("--cache-size", "0", "--send-size", "16M")
        u = o.set("/f.xml", rss(*[("entry %d" % n, None, "<x:y xmlns:x='urn:x'>%s</x:y>" % ("text " * 16000))
                                  for n in range(100)]))
        self.assertEqual(200, d.feed(u).status)
        length = len(d.feed(u, len=100).body)
        self.assertGreater(length, 6 << 20)  # more than the kernel takes at once
        readers, told = [], []
        for n in range(24):
            s = socket.socket()
            self.addCleanup(s.close)
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            s.connect(("127.0.0.1", d.port))
            s.sendall(("GET /feed?type=json&len=100&n=%d&url=%s HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
                       % (n, quote(u))).encode())
            readers.append(s)
        for s in readers:
            s.settimeout(30 * PATIENCE)
            try:
                told.append(s.recv(12))
            except ConnectionResetError:
                told.append(b"")  # closed for another one
            self.assertLessEqual(d.counter("http_unsent_bytes"), 16 << 20)
        self.assertGreater(told.count(b"HTTP/1.1 503"), 0)
        self.assertGreater(told.count(b"HTTP/1.1 200"), 0)
        self.wait(lambda: d.get("/sub").status == 200, daemon=d)     # once their documents are made, on a slow machine
        for s in readers:
            s.close()
        self.wait(lambda: d.counter("http_unsent_bytes") == 0)

    def test_options_tells_the_methods_of_each_path(self):
        d = self.daemon()
        for path, methods in (("/view", "GET, HEAD"), ("/view/x", "GET, HEAD, PUT, DELETE"), ("/feed", "GET, HEAD"),
                              ("/sub", "GET, HEAD, POST, PATCH, DELETE"), ("/mcp", "POST")):   # VIEW-15
            answer = d.call("OPTIONS", path)
            self.assertEqual((204, methods), (answer.status, answer.header("Allow")), path)
        refused = d.call("POST", "/view", "")
        self.assertEqual((405, "GET, HEAD"), (refused.status, refused.header("Allow")))
        self.assertEqual(404, d.call("PUT", "/view", "").status)             # it says that a name is missing
        self.assertEqual(404, d.call("OPTIONS", "/nope").status)

    def test_cors(self):                                                 # REST-32
        d = self.daemon("--cors-origin", "https://app.example")
        answer = d.get("/sub")
        self.assertEqual("https://app.example", answer.header("Access-Control-Allow-Origin"))
        self.assertLessEqual({"ETag", "Link", "Retry-After"}, set(answer.header("Access-Control-Expose-Headers").split(", ")))
        self.assertIsNone(self.daemon().get("/sub").header("Access-Control-Allow-Origin"))
        asked = d.call("OPTIONS", "/mcp", headers={"Origin": "https://app.example", "Access-Control-Request-Method": "POST"})
        self.assertEqual("POST", asked.header("Access-Control-Allow-Methods"))            # MCP-02: clients in browsers
        self.assertIn("Content-Type", asked.header("Access-Control-Allow-Headers"))
        self.assertEqual("https://app.example", asked.header("Access-Control-Allow-Origin"))
        answer = d.call("POST", "/mcp", '{"jsonrpc":"2.0","id":1,"method":"ping"}',
                        {"Content-Type": "application/json", "Origin": "https://app.example"})
        self.assertEqual((200, "https://app.example"), (answer.status, answer.header("Access-Control-Allow-Origin")))
        self.assertIsNone(d.call("POST", "/ping", "").header("Access-Control-Allow-Origin"))
