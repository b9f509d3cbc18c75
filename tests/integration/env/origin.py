"""A scripted publisher: a reply per path, a record of every request."""
import base64
import gzip
import hashlib
import http.server
import socket
import socketserver
import threading
import time


class Reply:
    """What a path answers. `body` may be bytes or text; fields as keyword arguments
    (Content_Type="..."); `delay` seconds before it; `auth` = (scheme, user, password)."""

    def __init__(self, status=200, body=b"", delay=0, auth=None, length=None, endless=False,
                 reset=False, **fields):
        self.status, self.delay, self.auth = status, delay, auth
        self.body = body.encode() if isinstance(body, str) else body
        self.length, self.endless, self.reset = length, endless, reset
        self.fields = {k.replace("_", "-"): v for k, v in fields.items()}


class Seen:
    def __init__(self, handler, body):
        self.method, self.path, self.headers = handler.command, handler.path, handler.headers
        self.body, self.at = body, time.monotonic()
        self.status = None


def moved(to):
    """A document that is nothing but the word that the feed has moved. It is believed at once, unlike 301 (ETIQ-05)."""
    return Reply(200, "<redirect><newLocation>%s</newLocation></redirect>" % to, Content_Type="application/xml")


class Origin:
    """A publisher; behind TLS with an ssl.SSLContext."""

    def __init__(self, tls=None, port=0):
        self.scheme = "https" if tls else "http"
        self.pages, self.requests, self.lock = {}, [], threading.Lock()
        self.open_now, self.open_most = {}, {}
        origin = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                origin.answer(self)

            do_POST = do_HEAD = do_GET

            def log_message(self, *args):
                pass

        class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
            daemon_threads = True
            request_queue_size = 256

            def handle_error(self, request, client_address):
                pass

        self.server = Server(("127.0.0.1", port), Handler)
        if tls:     # the handshake is made by the thread of the request, when it reads
            self.server.socket = tls.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        self.port = self.server.server_address[1]
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True)
        self.thread.start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def url(self, path, user=None):
        return "%s://%s127.0.0.1:%d%s" % (self.scheme, user + "@" if user else "", self.port, path)

    def set(self, path, reply, *more, **fields):
        """The path answers `reply` from now on; with more: one after the other, the last stays.
        Text stands for a 200 with that body."""
        replies = [r if isinstance(r, (Reply,)) or callable(r) else Reply(200, r, **fields)
                   for r in (reply,) + more]
        with self.lock:
            self.pages[path] = replies
        return self.url(path)

    def seen(self, path):
        with self.lock:
            return [r for r in self.requests if r.path == path]

    # ---- answering ----
    def answer(self, handler):
        length = int(handler.headers.get("Content-Length") or 0)
        seen = Seen(handler, handler.rfile.read(length) if length else b"")
        with self.lock:
            self.requests.append(seen)
            replies = self.pages.get(handler.path)
            reply = None
            if replies:
                reply = replies.pop(0) if len(replies) > 1 else replies[0]
            n = self.open_now[handler.path] = self.open_now.get(handler.path, 0) + 1
            self.open_most[handler.path] = max(n, self.open_most.get(handler.path, 0))
        try:
            if callable(reply):
                reply = reply(seen)
            self.send(handler, seen, reply or Reply(404, "nothing here"))
        except (BrokenPipeError, ConnectionResetError):
            handler.close_connection = True

    def leave(self, seen):
        """The request is open no longer: said before its answer goes out, which may bring the next one."""
        with self.lock:
            self.open_now[seen.path] -= 1

    def send(self, handler, seen, reply):
        if reply.delay:
            time.sleep(reply.delay)
        self.leave(seen)
        if reply.reset:
            handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                          b"\x01\x00\x00\x00\x00\x00\x00\x00")
            handler.close_connection = True
            handler.connection.close()
            return
        status, body, fields = reply.status, reply.body, dict(reply.fields)
        if reply.auth and not self.allowed(seen, reply.auth):
            status, body = 401, b"who are you?"
            fields = {"WWW-Authenticate": 'Basic realm="t"' if reply.auth[0] == "Basic" else
                      'Digest realm="t", qop="auth", nonce="abc", algorithm=MD5'}
        elif status == 200 and self.fresh(seen, fields):
            status, body = 304, b""
        if fields.get("Content-Encoding") == "gzip" and status == 200:
            body = gzip.compress(body)
        seen.status = status
        handler.send_response(status)
        for key, value in fields.items():
            handler.send_header(key, value)
        if reply.endless:
            handler.send_header("Connection", "close")
            handler.end_headers()
            handler.close_connection = True
            while True:
                handler.wfile.write(body or b"x" * 65536)
        if status != 304:
            handler.send_header("Content-Length", str(reply.length or len(body)))
        handler.end_headers()
        if handler.command != "HEAD" and status != 304:
            handler.wfile.write(body)
        if reply.length:
            handler.close_connection = True

    @staticmethod
    def fresh(seen, fields):
        etag, modified = fields.get("ETag"), fields.get("Last-Modified")
        if etag and seen.headers.get("If-None-Match") is not None:
            return etag == seen.headers["If-None-Match"]
        return bool(modified) and seen.headers.get("If-Modified-Since") == modified

    @staticmethod
    def allowed(seen, auth):
        scheme, user, password = auth
        given = seen.headers.get("Authorization", "")
        if scheme == "Basic":
            return given == "Basic " + base64.b64encode(
                ("%s:%s" % (user, password)).encode()).decode()
        parts = dict(p.strip().split("=", 1) for p in given[7:].split(",")) if given else {}
        parts = {k: v.strip('"') for k, v in parts.items()}

        def md5(text):
            return hashlib.md5(text.encode()).hexdigest()

        if parts.get("username") != user:
            return False
        a1, a2 = md5("%s:t:%s" % (user, password)), md5("%s:%s" % (seen.method, parts.get("uri")))
        return parts.get("response") == md5(":".join(
            [a1, "abc", parts.get("nc", ""), parts.get("cnonce", ""), parts.get("qop", ""), a2]))


# ---- documents ----
def escape(text):
    return text.replace("&", "&amp;").replace("<", "&lt;")


def rss(*titles, title="A feed", items=None, head="", date=None):
    """RSS 2.0 with an item for each title, the first being the newest; a title may be a tuple
    (title, RFC 822 date, extra XML)."""
    out = ['<?xml version="1.0" encoding="utf-8"?>\n<rss version="2.0" '
           'xmlns:product="http://www.buy.com/rss/module/productV2/" '
           'xmlns:digg="http://digg.com/docs/diggrss/"><channel><title>%s</title>'
           '<link>http://site.example/</link><description>about it</description>%s' %
           (escape(title), head)]
    for entry in titles:
        name, when, extra = entry if isinstance(entry, tuple) else (entry, date, "")
        key = name.split("|")[0]
        out.append("<item><title>%s</title><link>http://site.example/%s</link>"
                   '<guid isPermaLink="false">id-%s</guid><description>text of %s</description>'
                   "%s%s</item>" % (escape(name), escape(key.replace(" ", "_")), escape(key),
                                    escape(name), "<pubDate>%s</pubDate>" % when if when else "",
                                    extra))
    return "".join(out) + "</channel></rss>"


def atom(*entries, title="An Atom feed", ident="urn:x:atom", head=""):
    """Atom 1.0; entries are (title, RFC 3339 updated)."""
    out = ['<?xml version="1.0"?>\n<feed xmlns="http://www.w3.org/2005/Atom"><title>%s</title>'
           "<id>%s</id><updated>2020-01-01T00:00:00Z</updated>%s" % (escape(title), ident, head)]
    for name, when in entries:
        out.append("<entry><title>%s</title><id>%s:%s</id><updated>%s</updated>"
                   '<link href="http://atom.example/%s"/><summary>about %s</summary></entry>' %
                   (escape(name), ident, escape(name), when, escape(name), escape(name)))
    return "".join(out) + "</feed>"


