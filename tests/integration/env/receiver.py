"""An XML-RPC endpoint as users write it, on xmlrpc.server; records every call."""
import socketserver
import threading
import time
import xmlrpc.server


class _Server(socketserver.ThreadingMixIn, xmlrpc.server.SimpleXMLRPCServer):
    daemon_threads = True
    request_queue_size = 256

    def handle_error(self, request, client_address):
        pass


class Receiver:
    """`script`: for each call in turn an HTTP status, "close" (no answer), "none" (returns None: a
    fault), or seconds to sleep as a float; after its end every call is acknowledged."""

    def __init__(self, script=(), port=0):
        self.calls, self.attempts, self.script = [], 0, list(script)
        self.raw, self.fields = [], []
        self.running, self.most_at_once = 0, 0
        self.lock = threading.Lock()
        receiver = self

        class Handler(xmlrpc.server.SimpleXMLRPCRequestHandler):
            rpc_paths = ()

            def do_POST(self):
                with receiver.lock:
                    receiver.attempts += 1
                    receiver.running += 1
                    receiver.most_at_once = max(receiver.most_at_once, receiver.running)
                    step = receiver.script.pop(0) if receiver.script else None
                    receiver.fields.append(dict(self.headers.items()))
                if isinstance(step, float):
                    time.sleep(step)
                if step == "close":
                    self.leave()
                    self.close_connection = True
                    self.connection.close()
                elif isinstance(step, int):
                    self.rfile.read(int(self.headers["Content-Length"]))
                    self.send_response(step)
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                else:
                    super().do_POST()

            def leave(self):
                """The call is over: said before its answer goes out, which may bring the next one."""
                with receiver.lock:
                    receiver.running -= 1

            def end_headers(self):
                self.leave()
                super().end_headers()

            def decode_request_content(self, data):
                with receiver.lock:
                    receiver.raw.append(data)
                return super().decode_request_content(data)

            def log_message(self, *args):
                pass

        self.server = _Server(("127.0.0.1", port), requestHandler=Handler, logRequests=False)
        self.port = self.server.server_address[1]
        self.url = "http://127.0.0.1:%d/" % self.port
        self.server.register_function(self._received, "feedReceived")
        self.returns = 1
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def _received(self, subscription_id, url, entries):
        with self.lock:
            self.calls.append((subscription_id, url, entries))
        return self.returns

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def titles(self, subscription_id=None):
        """Titles of all entries received, in order of arrival."""
        with self.lock:
            return [e.get("title") for i, _, entries in self.calls for e in entries
                    if subscription_id in (None, i)]
