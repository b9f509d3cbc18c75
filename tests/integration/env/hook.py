"""An endpoint of webhooks that keeps what it is sent, and verifies it by the specification alone."""
import base64
import hashlib
import hmac
import http.server
import json
import socketserver
import threading


class _Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def handle_error(self, request, client_address):
        pass


class Call:
    def __init__(self, path, fields, body):
        self.path, self.body = path, body
        self.fields = {k.lower(): v for k, v in fields}
        self.id = self.fields.get("webhook-id")
        self.said = json.loads(body)
        self.type, self.data = self.said["type"], self.said["data"]

    @property
    def titles(self):
        return [e["entry"]["title"] for e in self.data.get("entries", ())]

    def is_signed_by(self, secret):
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
        text = b"%s.%s.%s" % (self.id.encode(), self.fields["webhook-timestamp"].encode(), self.body)
        mac = base64.b64encode(hmac.new(key, text, hashlib.sha256).digest()).decode()
        return any(hmac.compare_digest("v1," + mac, one)
                   for one in self.fields["webhook-signature"].split(" "))


class Hook:
    """`script`: for each call in turn a status, a (status, fields) pair, the bytes of an answer after
    which the connection is closed, an Event (the call is held until it is set), or a function of the handler. `decide(call)`
    says the status when the script has ended; otherwise it is 204."""

    def __init__(self, script=()):
        self.calls, self.script, self.decide = [], list(script), None
        self.lock, self.closing = threading.Lock(), threading.Event()
        hook = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                call = Call(self.path, list(self.headers.items()), body)
                with hook.lock:
                    step = hook.script.pop(0) if hook.script else None
                    if step is None:
                        step = hook.decide(call) if hook.decide else 204
                    hook.calls.append(call)
                if isinstance(step, threading.Event):
                    while not step.wait(0.05) and not hook.closing.is_set():
                        pass
                    step = 204
                if callable(step):
                    step(self)
                    return
                if isinstance(step, bytes):
                    self.wfile.write(step)
                    self.close_connection = True
                    return
                status, fields = step if isinstance(step, tuple) else (step, ())
                self.send_response(status)
                for name, value in fields:
                    self.send_header(name, value)
                self.send_header("Content-Length", "0" if status == 204 else "7")
                self.end_headers()
                self.wfile.write(b"" if status == 204 else b"because")

            def log_message(self, *args):
                pass

        self.server = _Server(("127.0.0.1", 0), Handler)
        self.url = "http://127.0.0.1:%d/hook" % self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self):
        self.closing.set()
        self.server.shutdown()
        self.server.server_close()

    def titles(self):
        with self.lock:
            return [t for c in self.calls for t in c.titles]
