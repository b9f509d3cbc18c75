"""Secrets are in no output, whatever fails: passwords of endpoints, feeds, brokers and callbacks, secrets of
webhooks and of the hub, header fields, the token, the secret of the XMPP component."""
import base64
import http.server
import os
import socket
import socketserver
import struct
import subprocess
import threading
import urllib.parse

from .env.case import Case
from .env.daemon import BINARY
from .env.origin import Reply, rss
from .env.servers import free_port
from .env.subscriber import Subscriber

MARK = "sEcReT"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
HOOK = "whsec_" + base64.b64encode((MARK + "-of-the-webhook-").encode() * 2).decode()
HOOK2 = "whsec_" + base64.b64encode((MARK + "-of-another-hook").encode() * 2).decode()
# a path says how the endpoint fails
FAILURES = ("500", "401", "404", "422", "302", "hang", "cut", "garbage", "long", "echo", "fault")
FAULT = """<methodResponse><fault><value><struct>
<member><name>faultCode</name><value><int>4</int></value></member>
<member><name>faultString</name><value>%s</value></member></struct></value></fault></methodResponse>"""


class _Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        pass


class Faulty:
    def __init__(self):
        closing = self.closing = threading.Event()

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                how = self.path.strip("/").split("?")[0]
                if how == "hang":
                    closing.wait(60)
                elif how == "garbage":
                    self.wfile.write(b"what do you mean?\r\n\r\n")
                elif how == "cut":
                    self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\ncut")
                elif how in ("echo", "fault") and "Authorization" not in self.headers:
                    self.wfile.write(b"HTTP/1.1 401 x\r\nWWW-Authenticate: Basic realm=x\r\nContent-Length: 0\r\n\r\n")
                elif how in ("echo", "fault"):      # it shows the request, as pages for developers do
                    said = str(self.headers).replace("\r", "").encode()
                    if how == "fault":
                        said = (FAULT % self.headers["Authorization"]).encode()
                    self.wfile.write(b"HTTP/1.1 %d x\r\nContent-Length: %d\r\n\r\n%s" % (
                        422 if how == "echo" else 200, len(said), said))
                elif how == "long":
                    self.wfile.write(b"HTTP/1.1 422 No\r\nContent-Length: 200000\r\n\r\n" + b"x" * 200000)
                else:
                    self.send_response(int(how))
                    self.send_header("Location", "/500")
                    self.send_header("Content-Length", "2")
                    self.end_headers()
                    self.wfile.write(b"no")

            def log_message(self, *_):
                pass

        self.server = _Server(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self):
        self.closing.set()
        self.server.shutdown()
        self.server.server_close()


def frame(kind, *parts):
    """A frame of AMQP with a method of the connection."""
    payload = struct.pack(">HH", 10, kind) + b"".join(parts)
    return struct.pack(">BHI", 1, 0, len(payload)) + payload + b"\xce"


class Talker(socketserver.ThreadingTCPServer):
    """A broker that repeats what it gets as the password."""
    daemon_threads = True

    class RequestHandlerClass(socketserver.BaseRequestHandler):
        def handle(self):
            self.request.recv(8)
            self.request.sendall(frame(10, b"\0\x09", bytes(4), b"\0\0\0\x05PLAIN", b"\0\0\0\x05en_US"))
            got = self.request.recv(65536)
            said = b"talker: " + got[got.index(b"\0mill\0") + 6:].split(b"\0")[0]
            self.request.sendall(frame(50, struct.pack(">HB", 403, len(said)), said, bytes(4)))
            self.request.recv(100)

    def __init__(self):
        super().__init__(("127.0.0.1", 0), self.RequestHandlerClass)
        self.port = self.server_address[1]
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()

    def close(self):
        self.shutdown()
        self.server_close()


class Secrets(Case):
    def setUp(self):
        self.n, self.secrets, self.shown = 0, [MARK, HOOK, HOOK[6:], HOOK2, HOOK2[6:]], []
        self.o = self.origin()
        self.u = self.o.set("/f.xml", rss("old"))

    def secret(self):
        """A new one, and the forms in which it might come out."""
        self.n += 1
        text = "%s/%d" % (MARK, self.n)
        self.secrets += [base64.b64encode(("mill:" + text).encode()).decode()]
        return text

    def with_password(self, scheme, rest):
        return "%s://mill:%s@%s" % (scheme, urllib.parse.quote(self.secret(), safe=""), rest)

    def say(self, answer):
        self.shown.append("%s %s" % (answer.headers, answer.body.decode(errors="replace")))
        return answer

    def post(self, path, *fields, **params):
        return self.say(self.d.call("POST", path, urllib.parse.urlencode(list(fields) + list(params.items())),
                                    FORM))

    def subscribe(self, endpoint, fields):
        answer = self.d.call("POST", "/sub", urllib.parse.urlencode(
            [("url", self.u), ("endpoint", endpoint)] + fields), FORM)
        self.assertEqual(201, answer.status, (endpoint, answer.body))
        self.assertNotIn(MARK, answer.body.decode())    # it has the webhook's secret: then, and never again
        return answer.json["id"]

    def command(self, *args):
        done = subprocess.run([BINARY, *args, "--server", self.d.base], capture_output=True, text=True,
                              timeout=120)
        self.shown += [done.stdout, done.stderr]

    def all_said(self, subs):
        for path in ("/", "/sub", "/sub?type=json&all=1", "/metrics", "/pings", "/changes", "/log?since=start",
                     "/feed?type=json&url=" + urllib.parse.quote(self.u, safe=""), "/smart/?url=" + urllib.parse.quote(
                         self.u, safe=""), "/recent", "/health", "/demo"):
            self.say(self.d.get(path))
        for sub in subs:
            for path in ("/sub?type=json&id=%d", "/sub?id=%d", "/sub/log?id=%d", "/sub/dead?id=%d"):
                self.say(self.d.get(path % sub))
            self.post("/sub?id=%d&action=test" % sub)
            self.post("/sub?id=%d&action=retry-dead" % sub)
            for action in "log", "dead", "test", "pause", "resume":
                self.command("sub", action, str(sub))
        self.command("sub")
        self.shown += self.d.log
        return "".join(self.shown)

    def none_in(self, text):
        for secret in self.secrets:
            at = text.find(secret)
            self.assertEqual(-1, at, "%s: ...%s..." % (secret, text[max(0, at - 300):at + 100]))

    def endpoints(self, faulty, silent, talker):
        """Endpoints of all carriers, each with a secret, that fail in different ways."""
        closed = free_port()
        for how in FAILURES:
            rest = "127.0.0.1:%d/%s" % (faulty.port, how)
            yield self.with_password("http", rest), [("sink", "webhook"), ("secret", HOOK),
                                                     ("header.X-Key", self.secret())]
            yield self.with_password("http", rest + "?rpc"), []
        for place in "127.0.0.1:%d" % closed, "127.0.0.1:%d" % silent, "10.255.255.1", "nobody.invalid":
            for scheme in "http", "https":
                yield self.with_password(scheme, place + "/x"), [("sink", "webhook"), ("secret", HOOK2)]
            for scheme in "amqp", "amqps":
                yield self.with_password(scheme, place + "/?exchange=e"), []
        yield self.with_password("amqp", "127.0.0.1:%d/?exchange=e" % talker), []
        yield "xmpp:alice@nobody.invalid/desk", []

    def wrong(self):
        """Endpoints that are refused."""
        s = MARK
        for scheme in "http", "https", "amqp", "amqps", "ftp", "xmpp", "mailto", "":
            start = scheme and scheme + "://"
            for rest in ("u:%s" % s, "u:%s/x?exchange=e" % s, "u:%s@" % s, "u:%s@h:x/" % s, "u:%s/p@h:x/" % s,
                         "%s:@h:99999/" % s, "[u:%s@h]/" % s, "u:%s@h/a/b/c?exchange=" % s, ":%s" % s):
                yield start + rest
                yield urllib.parse.quote(start + rest, safe="")
        yield "amqp:u:%s" % s
        yield "u:%s" % s

    def test_of_endpoints(self):                                  # AMQP-04 HOOK-07 REST-28 ERR-02 DELIV-04
        faulty = Faulty()
        self.addCleanup(faulty.close)
        talker = Talker()
        self.addCleanup(talker.close)
        silent = socket.create_server(("127.0.0.1", 0), backlog=50)
        self.addCleanup(silent.close)
        self.d = self.daemon(
            "--log-level", "debug", "--push-first-retry", "100ms", "--push-max-retry", "1s", "--push-timeout",
            "1s", "--push-refusals", "1", "--xmpp-server", "127.0.0.1:%d" % free_port(), "--xmpp-component",
            "feeds.localhost", "--allow-callback", "::1/128", env={"FEEDMILL_XMPP_SECRET": self.secret()})
        subs = [self.subscribe(endpoint, fields) for endpoint, fields in
                self.endpoints(faulty, silent.getsockname()[1], talker.port)]
        hub = Subscriber()
        self.addCleanup(hub.close)
        hub.script = [500, 302, b"HTTP/1.1 2", 401]
        for callback in (hub.server.server_address[1], free_port()):
            self.post("/", ("hub.mode", "subscribe"), ("hub.topic", self.u), ("hub.secret", self.secret()),
                      ("hub.callback", "http://127.0.0.1:%d/cb" % callback))
            self.post("/", ("hub.mode", "subscribe"), ("hub.topic", self.u), ("hub.secret", self.secret()),
                      ("hub.callback", self.with_password("http", "127.0.0.1:%d/cb" % callback)))
        for how in FAILURES[:4]:        # feeds with a password
            self.o.set("/%s.xml" % how, Reply(int(how), b"no"))
            self.post("/sub", url=self.with_password("http", self.o.url("/%s.xml" % how).split("//")[1]))
        for endpoint in self.wrong():
            self.post("/sub", url=self.u, endpoint=endpoint)
            self.say(self.d.call("PATCH", "/sub?id=%d" % subs[0], '{"endpoint":"%s"}' % endpoint,
                                 {"Content-Type": "application/json"}))
            self.post("/sub", url=endpoint)
            self.say(self.d.get("/feed?url=" + urllib.parse.quote(endpoint, safe="")))
        webhook = [("url", self.u), ("endpoint", "http://127.0.0.1:9/"), ("sink", "webhook")]
        for fields in ([("secret", self.secret())], [("secret", HOOK), ("secret", HOOK2)],
                       [("header.X-Key", self.secret() + "\nx")], [("header.Host", self.secret())],
                       [("secret", HOOK), ("sink", "xmlrpc")], [("endpoint", self.with_password("amqp", "h/?exchange=e"))]):
            self.assertLessEqual(400, self.post("/sub", *(webhook + fields)).status)
        self.o.set("/f.xml", rss("new", "old"))
        self.d.ping(self.u)
        for sub in subs:
            self.wait(lambda: self.d.get("/sub/log?id=%d" % sub).json["deliveries"], daemon=self.d)
        text = self.all_said(subs)
        for said in ("401", "422", "refused", "timed out", "--allow-callback", "nobody.invalid", "XMPP", "dead",
                     "talker: ***", "X-Key: ***", "Authorization: Basic ***", "fault 4: Basic ***"):
            self.assertIn(said, text)   # it did fail in these ways
        self.none_in(text)
        self.d.stop()
        self.none_in("".join(self.d.log))

    def test_of_the_token(self):                                  # ERR-02
        token = self.secret()
        self.d = self.daemon("--log-level", "debug", env={"FEEDMILL_TOKEN": token})
        basic = base64.b64encode((":" + token).encode()).decode()
        wrong = base64.b64encode((":" + token + "x").encode()).decode()
        self.secrets += [basic, wrong]
        for field in ("Bearer " + token, "Basic " + basic, "Bearer %sx" % token, "Basic " + wrong, token,
                      "Bearer", "Basic %s" % token):
            for path in "/", "/sub?type=json", "/metrics", "/feed?url=x", "/sub/log?id=1", "/nothing":
                self.say(self.d.get(path, Authorization=field))
        for args in (["sub"], ["sub", "--token", token], ["sub", "--token", token + "x"],
                     ["sub", "log", "1", "--token", token]):
            self.command(*args)
        os.kill(self.d.process.pid, 1)  # settings are read again, and said
        self.d.wait_log("reload")
        self.none_in("".join(self.shown + self.d.log))

    def test_of_tokens_that_were_made(self):                      # ACC-03
        chief = {"Authorization": "Bearer chief"}
        self.d = self.daemon("--log-level", "debug", "--token", "chief")
        u = self.origin().set("/f.xml", rss("one"))
        token = self.d.call("POST", "/tokens?name=x&role=admin", headers=chief).json["token"]
        self.secrets += [token, token[3:], base64.b64encode((":" + token).encode()).decode()]
        topic = urllib.parse.quote(self.d.base + "/feed?type=atom&url=%s&key=%s" % (u, token), safe="")
        paths = ("/", "/sub?type=json", "/metrics", "/feed?url=x", "/sub/log?id=1", "/nothing", "/tokens", "/nodes",
                 "/feed?type=atom&url=" + u, "/smart?url=" + u, "/archive/recent?url=" + u, "/log?url=" + u, "/log?since=x",
                 "/item?x=1", "/tokens?id=1")
        for path in paths:
            self.say(self.d.get(path, Authorization="Bearer " + token))
            for key in ("key=", "%6bEy=".lower()):
                with_key = path + ("&" if "?" in path else "?") + key + token
                self.say(self.d.get(with_key))
                self.say(self.d.get(with_key + "x"))
                self.say(self.d.call("POST", with_key))
        self.say(self.d.call("POST", "/hub", "hub.mode=subscribe&hub.callback=%s&hub.topic=%s" % (u, topic),
                             dict(FORM, **chief)))
        self.say(self.d.call("POST", "/pleaseNotify", "port=1&path=/&protocol=http-post&url1=" + topic,
                             dict(FORM, **chief)))
        for args in (["token", "ls", "--server", self.d.base, "--token", token], ["sub", "--token", token]):
            self.command(*args)
        self.none_in("".join(self.shown + self.d.log))
