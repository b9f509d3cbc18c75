"""A scripted hub, written from WebSub (W3C 2018) alone: takes subscription requests, verifies them at
the callback, delivers. Every request and every answer of a callback is recorded."""
import hashlib
import hmac
import http.client
import http.server
import threading
import time
import urllib.parse

from .daemon import PATIENCE


class Asked:
    """A request at the hub: its form, as lists of values, and when it came."""

    def __init__(self, body, path, headers):
        self.body, self.path, self.headers, self.at = body, path, headers, time.monotonic()
        self.form = urllib.parse.parse_qs(body.decode(), keep_blank_values=True, strict_parsing=True)

    def __getattr__(self, name):
        values = self.form.get("hub." + name, [None])
        assert len(values) == 1, (name, values)
        return values[0]


class Hub:
    """`lease`: seconds granted; `verifies`: False for one that takes requests and stays silent. `raw`:
    the bytes of its answer, after which the connection is closed; b"": it is held open."""

    def __init__(self, lease=1000, verifies=True, status=202, raw=None):
        self.raw, self.reason = raw, lambda asked: ""   # what it says beside its status
        self.lease, self.verifies, self.status = lease, verifies, status
        self.asked, self.verified, self.lock = [], [], threading.Lock()
        hub = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.path.startswith("/moved"):
                    with hub.lock:
                        hub.moved = (self.headers["Content-Type"], body)
                    self.send_response(int(self.path[len("/moved"):]))
                    self.send_header("Location", "/hub")
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return
                assert self.headers["Content-Type"] == "application/x-www-form-urlencoded"
                asked = Asked(body, self.path, self.headers)
                with hub.lock:
                    hub.asked.append(asked)
                if hub.raw == b"":
                    time.sleep(600)
                elif hub.raw is not None:
                    self.wfile.write(hub.raw)
                    self.close_connection = True
                else:
                    body = hub.reason(asked).encode()
                    self.send_response(hub.status)
                    self.send_header("Content-Length", str(len(body)))
                    self.end_headers()
                    self.wfile.write(body)
                if hub.status == 202 and hub.verifies:
                    threading.Thread(target=hub.verify, args=(asked,), daemon=True).start()

            def log_message(self, *args):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request, client_address):
                pass

        self.server = Server(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def url(self, path="/hub"):
        return "http://127.0.0.1:%d%s" % (self.port, path)

    def subscribers(self, mode="subscribe"):
        with self.lock:
            return [a for a in self.asked if a.mode == mode]

    # ---- calls of callbacks ----
    @staticmethod
    def call(method, url, body=None, headers=None):
        """Status and body of the answer."""
        parts = urllib.parse.urlsplit(url)
        connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=60 * PATIENCE)
        try:
            connection.request(method, parts.path + ("?" + parts.query if parts.query else ""),
                               body=body, headers=headers or {})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def say(self, asked, mode, **more):
        """A GET at the callback: verification (with challenge=) or denial (with reason=)."""
        fields = [("hub.mode", mode), ("hub.topic", more.pop("topic", asked.topic))]
        fields += [("hub." + name, value) for name, value in more.items()]
        sign = "&" if "?" in asked.callback else "?"
        return self.call("GET", asked.callback + sign + urllib.parse.urlencode(fields))

    def verify(self, asked):
        challenge = "c%d &?=ä+ok" % time.monotonic_ns()
        more = {"lease_seconds": self.lease} if asked.mode == "subscribe" else {}
        status, body = self.say(asked, asked.mode, challenge=challenge, **more)
        with self.lock:
            self.verified.append((asked.mode, status, body == challenge.encode()))

    def deliver(self, asked, body, method="sha256", secret=None, content_type="application/atom+xml",
                coding=None):
        """POST the body; method None: not signed. (status, body)"""
        body = body.encode() if isinstance(body, str) else body
        headers = {"Content-Type": content_type,
                   "Link": '<%s>; rel="hub", <%s>; rel="self"' % (self.url(), asked.topic)}
        if coding:
            headers["Content-Encoding"] = coding
        if method:
            key = (asked.secret if secret is None else secret).encode()
            headers["X-Hub-Signature"] = "%s=%s" % (
                method, hmac.new(key, body, getattr(hashlib, method)).hexdigest())
        return self.call("POST", asked.callback, body, headers)


def atom(*titles, hub=None, self_=None, updated="2024-01-01T00:00:00Z"):
    """An Atom document: an entry a title, whose id is made of it."""
    links = "".join('<link rel="%s" href="%s"/>' % (rel, href)
                    for rel, href in (("hub", hub), ("self", self_)) if href)
    entries = "".join(
        "<entry><id>urn:e:%s</id><title>%s</title><updated>%s</updated><content>c</content></entry>"
        % (t, t, updated) for t in titles)
    return ('<feed xmlns="http://www.w3.org/2005/Atom"><id>urn:f</id><title>F</title><updated>%s'
            "</updated>%s%s</feed>" % (updated, links, entries))
