"""A handler of rssCloud notifications, by http-post and by xml-rpc; records what comes."""
import http.server
import threading
import time
import urllib.parse
import xmlrpc.client


class CloudHandler:
    """`status`: of its answers; `answers`: what it says to a challenge (None: the challenge), and
    what its procedure returns."""

    def __init__(self):
        self.status, self.says, self.returns, self.delay = 200, None, True, 0
        self.challenges, self.posts, self.calls = [], [], []
        handler = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                query = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)
                handler.challenges.append((self.path.split("?")[0], query))
                said = query["challenge"][0] if handler.says is None else handler.says
                self.answer(said.encode(), "text/plain")

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if "xml" in self.headers["Content-Type"]:
                    params, method = xmlrpc.client.loads(body)
                    handler.calls.append((method, params))
                    said = xmlrpc.client.dumps((handler.returns,), methodresponse=True)
                    self.answer(said.encode(), "text/xml")
                else:
                    handler.posts.append((self.path, urllib.parse.parse_qs(body.decode())))
                    self.answer(b"", "text/plain")

            def answer(self, body, media_type):
                time.sleep(handler.delay)
                self.send_response(handler.status)
                self.send_header("Content-Type", media_type)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def urls(self):
        """The URLs of all notifications by http-post, in order."""
        return [form["url"][0] for _, form in self.posts]

    def close(self):
        self.server.shutdown()
        self.server.server_close()
