"""A scripted rssCloud of a publisher, written from the RSS Advisory Board's text alone: takes
registrations by http-post and by xml-rpc, asks the handler for a challenge, and notifies. All
registrations, and the handlers' answers, are recorded."""
import http.server
import sys
import threading
import time
import traceback
import urllib.parse
import xmlrpc.client

from .websub_hub import Hub

FORM = {"Content-Type": "application/x-www-form-urlencoded"}


class Registration:
    """What the middleware asked for; `handler`: the URL that a cloud makes of it."""

    def __init__(self, procedure, port, path, protocol, url, domain, caller):
        self.procedure, self.path, self.protocol, self.url = procedure, path, protocol, url
        self.at = time.monotonic()
        self.handler = "http://%s:%d%s" % (domain or caller, int(port), path)


class PublisherCloud:
    """`proves`: how it checks a handler: "challenge", "test" (for clouds that know no domain) or None.
    `status`, `says`: of its answer; None: what it found. `raw`: bytes instead of an answer, after which
    the connection is closed; b"": it is held open."""

    def __init__(self, proves="challenge", status=200, says=None, raw=None):
        self.proves, self.status, self.says, self.raw = proves, status, says, raw
        self.registrations, self.lock = [], threading.Lock()
        cloud = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.path.startswith("/moved"):
                    self.answer(int(self.path[len("/moved"):]), b"", Location="/pleaseNotify")
                    return
                registration = cloud.read(self, body)
                success = cloud.check(registration)
                with cloud.lock:
                    cloud.registrations.append(registration)
                if cloud.raw == b"":
                    time.sleep(600)
                elif cloud.raw is not None:
                    self.wfile.write(cloud.raw)
                    self.close_connection = True
                else:
                    self.answer(cloud.status, cloud.word(registration, success).encode(),
                                Content_Type="text/xml")

            def answer(self, status, body, **fields):
                self.send_response(status)
                for name, value in fields.items():
                    self.send_header(name.replace("_", "-"), value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request, client_address):
                if not isinstance(sys.exc_info()[1], OSError):  # the daemon may leave
                    traceback.print_exc()

        self.server = Server(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def element(self, protocol="http-post", path=None, procedure=None, domain="127.0.0.1", port=None):
        """The `cloud` of a channel."""
        rpc = protocol == "xml-rpc"
        return '<cloud domain="%s" port="%s" path="%s" registerProcedure="%s" protocol="%s"/>' % (
            domain, port or self.port, path or ("/RPC2" if rpc else "/pleaseNotify"),
            procedure if procedure is not None else "cloud.register" if rpc else "", protocol)

    # ---- registrations ----
    def read(self, request, body):
        caller = request.client_address[0]
        if request.path == "/RPC2":
            assert request.headers["Content-Type"].startswith("text/xml"), request.headers
            params, method = xmlrpc.client.loads(body)
            assert method == "cloud.register", method
            procedure, port, path, protocol, urls, domain = params
            assert isinstance(port, int) and len(urls) == 1, params
            return Registration(procedure, port, path, protocol, urls[0], domain, caller)
        assert request.headers["Content-Type"] == FORM["Content-Type"], request.headers
        form = dict(urllib.parse.parse_qsl(body.decode(), keep_blank_values=True,
                                           strict_parsing=True))
        return Registration(form["notifyProcedure"], form["port"], form["path"], form["protocol"],
                            form["url1"], form["domain"], caller)

    def check(self, registration):
        if self.proves == "test" or registration.protocol == "xml-rpc":
            return self.notify(registration)[0] == 200
        if self.proves == "challenge":
            challenge = "c%d &?=ä+ok" % time.monotonic_ns()
            return self.challenge(registration, challenge) == (200, challenge.encode())
        return True

    def word(self, registration, success):
        if self.says is not None:
            return self.says(registration) if callable(self.says) else self.says
        if registration.protocol == "xml-rpc":
            return xmlrpc.client.dumps((success,), methodresponse=True)
        return ('<?xml version="1.0"?>\n<notifyResult success="%s" msg="The handler %s."/>' % (
            str(success).lower(), "is right" if success else "did not answer as it must"))

    # ---- calls of the handler: (status, body) ----
    def challenge(self, registration, challenge, url=None):
        query = urllib.parse.urlencode({"url": url or registration.url, "challenge": challenge})
        return Hub.call("GET", registration.handler + "?" + query)

    def notify(self, registration, url=None):
        url = url or registration.url
        if registration.protocol == "xml-rpc":
            body = xmlrpc.client.dumps((url,), registration.procedure).encode()
            status, answer = Hub.call("POST", registration.handler, body,
                                      {"Content-Type": "text/xml"})
            if status == 200:
                assert xmlrpc.client.loads(answer) == ((True,), None), answer
            return status, answer
        return Hub.call("POST", registration.handler, urllib.parse.urlencode({"url": url}), FORM)
