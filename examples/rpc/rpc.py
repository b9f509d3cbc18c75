"""rpc.py PORT FILE: an XML-RPC server to which entries are pushed. FILE has the last state of each.

The entries are on disk before the call is answered. A fault would count as delivered, so when something
fails there is no answer at all: then the call comes again. An entry that comes twice changes nothing."""
import http.server
import json
import os
import sys
import xmlrpc.client

port, file = int(sys.argv[1]), sys.argv[2]
entries = {}  # by feed and id
if os.path.exists(file):
    with open(file) as kept:
        entries = json.load(kept)


def feed_received(subscription, url, new):
    for entry in new:
        entries[url + " " + entry["id"]] = entry
        print(entry.get("title", entry["id"]), flush=True)
    with open(file + ".new", "w") as out:
        json.dump(entries, out, default=str)
        out.flush()
        os.fsync(out.fileno())
    os.replace(file + ".new", file)


class Server(http.server.BaseHTTPRequestHandler):
    timeout = 30  # who sends nothing does not hold up the others for longer

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        params, method = xmlrpc.client.loads(body)
        if method == "feedReceived":
            feed_received(*params)
            answer = xmlrpc.client.dumps((True,), methodresponse=True)
        else:
            answer = xmlrpc.client.dumps(xmlrpc.client.Fault(1, "there is no method " + method))
        self.send_response(200)
        self.send_header("Content-Type", "text/xml")
        self.end_headers()
        self.wfile.write(answer.encode())


http.server.HTTPServer(("127.0.0.1", port), Server).serve_forever()
