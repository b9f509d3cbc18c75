"""A WebSub subscriber written from the specification alone: a callback that confirms what it is asked
and keeps what it is sent."""
import hashlib
import hmac
import http.server
import socketserver
import threading
import time
import urllib.parse
import xml.etree.ElementTree as tree

ATOM = "{http://www.w3.org/2005/Atom}"


class _Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def handle_error(self, request, client_address):
        pass


class Delivery:
    def __init__(self, path, fields, body):
        self.path, self.fields, self.body, self.at = path, fields, body, time.monotonic()

    @property
    def root(self):
        return tree.fromstring(self.body)

    @property
    def titles(self):
        return [e.findtext(ATOM + "title") for e in self.root.findall(ATOM + "entry")]

    def links(self):
        """The one Link field: rel -> URL."""
        fields = [v for k, v in self.fields if k.lower() == "link"]
        assert len(fields) == 1, fields
        return dict(reversed(one.strip().split("; ", 1)) for one in fields[0].split(", "))

    def field(self, name):
        values = [v for k, v in self.fields if k.lower() == name.lower()]
        assert len(values) <= 1, values
        return values[0] if values else None

    def is_signed_by(self, secret, method="sha256"):
        name, _, mac = (self.field("X-Hub-Signature") or "").partition("=")
        return name == method and hmac.compare_digest(
            mac, hmac.new(secret.encode(), self.body, getattr(hashlib, method)).hexdigest())


class Subscriber:
    """`confirm(query)` answers a verification: (status, body[, fields]); None: the challenge. `script`: for each
    delivery in turn a status, a (status, fields) pair, seconds to sleep first, or the bytes of an answer
    after which the connection is closed (a pair with seconds: held so long before); then 204."""

    def __init__(self):
        self.verifications, self.denials, self.deliveries = [], [], []
        self.raw_queries, self.elsewhere = [], []
        self.script, self.confirm, self.delay = [], None, 0
        self.lock = threading.Lock()
        subscriber = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self, status, body=b"", fields=()):
                self.send_response(status)
                for name, value in fields:
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_GET(self):
                raw = self.path.partition("?")[2]
                query = dict(urllib.parse.parse_qsl(raw, keep_blank_values=True))
                if not self.path.startswith("/cb"):
                    subscriber.elsewhere.append(self.path)
                    return self.answer(200)
                time.sleep(subscriber.delay)
                with subscriber.lock:
                    subscriber.raw_queries.append(raw)
                    (subscriber.denials if query.get("hub.mode") == "denied"
                     else subscriber.verifications).append(query)
                said = (200, query.get("hub.challenge", ""), ())
                if subscriber.confirm:
                    said = (*(subscriber.confirm(query) or said), ())[:3]
                self.answer(said[0], said[1].encode(), said[2])

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                with subscriber.lock:
                    step = subscriber.script.pop(0) if subscriber.script else 204
                if isinstance(step, float):
                    time.sleep(step)
                    step = 204
                raw, held = step if isinstance(step, tuple) else (step, 0)
                if isinstance(raw, bytes):
                    with subscriber.lock:
                        subscriber.deliveries.append(
                            Delivery(self.path, list(self.headers.items()), body))
                    self.wfile.write(raw)
                    time.sleep(held)
                    self.close_connection = True
                    return
                status, fields = step if isinstance(step, tuple) else (step, ())
                if not self.path.startswith("/cb"):
                    subscriber.elsewhere.append(self.path)
                with subscriber.lock:
                    subscriber.deliveries.append(
                        Delivery(self.path, list(self.headers.items()), body))
                self.answer(status, b"" if status == 204 else b"not looked at", fields)

            def log_message(self, *args):
                pass

        self.server = _Server(("127.0.0.1", 0), Handler)
        self.url = "http://127.0.0.1:%d/cb" % self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def titles(self):
        """Of all entries of all deliveries, in order of arrival, oldest first within one."""
        with self.lock:
            return [t for d in self.deliveries for t in reversed(d.titles)]


class Mirror:
    """The push strategy of Smart Feeds ("Updates via Push"): L is the last cursor; a push whose
    prev_cursor is L is taken, any other one is a sign that something was missed, and is answered by
    pulling from L."""

    FO = "{http://fanout.org/protocol/atom}"

    def __init__(self, pull):
        self.pull, self.items, self.pulls, self.last = pull, {}, 0, None
        self.catch_up()

    def take(self, root):
        for entry in root.findall(ATOM + "entry"):
            name = entry.findtext(self.FO + "id")
            if entry.findtext(self.FO + "deleted") == "true":
                self.items.pop(name, None)
            else:
                self.items[name] = entry.findtext(ATOM + "title")
        self.last = root.findtext(self.FO + "last_cursor")

    def catch_up(self):
        for _ in range(500):
            self.pulls += 1
            root = self.pull(since="cursor:" + (self.last or ""), timeout=0)
            self.take(root)
            if not root.findall(ATOM + "entry"):
                return
        else:
            raise AssertionError("the documents do not end")

    def push(self, delivery):
        root = delivery.root
        if root.findtext(self.FO + "prev_cursor") == self.last:
            self.take(root)
        else:
            self.catch_up()
