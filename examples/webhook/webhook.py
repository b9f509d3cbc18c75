"""webhook.py PORT: receives the deliveries of a webhook.

    WEBHOOK_SECRET=whsec_... INBOX=inbox python3 webhook.py 9001

A delivery is verified; its entries go to INBOX/news.jsonl; then INBOX/taken.json notes that they are
there; then it is acknowledged. What was not acknowledged comes again, with the same id: after a crash an
entry may come twice, but none is lost."""
import base64
import hashlib
import hmac
import http.server
import json
import os
import sys
import time

KEY = base64.b64decode(os.environ["WEBHOOK_SECRET"].removeprefix("whsec_"))
if not KEY:
    sys.exit("WEBHOOK_SECRET is not a secret")
INBOX = os.environ["INBOX"]
NEWS, TAKEN = os.path.join(INBOX, "news.jsonl"), os.path.join(INBOX, "taken.json")

os.makedirs(INBOX, exist_ok=True)
taken = {}  # of each subscription: the last delivery, as its id and the cursor where it ends
if os.path.exists(TAKEN):
    with open(TAKEN) as kept:
        taken = json.load(kept)


def is_genuine(fields, body):
    name, at = fields.get("webhook-id", ""), fields.get("webhook-timestamp", "")
    mac = hmac.new(KEY, b"%s.%s.%s" % (name.encode(), at.encode(), body), hashlib.sha256).digest()
    wanted = b"v1," + base64.b64encode(mac)
    signatures = fields.get("webhook-signature", "").split()
    return any(hmac.compare_digest(wanted, one.encode()) for one in signatures) and abs(time.time() - int(at)) < 300


def take(data):
    """Write down what was delivered. It is on disk when this returns."""
    with open(NEWS, "a") as out:
        for entry in data.get("entries", []):
            out.write(json.dumps(entry) + "\n")
        out.flush()
        os.fsync(out.fileno())


def note(data, name):
    """Note that this delivery is here."""
    taken[str(data["subscription"])] = {"id": name, "cursor": data["last_cursor"]}
    with open(TAKEN + ".new", "w") as out:
        json.dump(taken, out)
        out.flush()
        os.fsync(out.fileno())
    os.replace(TAKEN + ".new", TAKEN)


def receive(name, message):
    data = message["data"]
    last = taken.get(str(data["subscription"]))
    if message["type"] == "test" or (last and last["id"] == name):
        return
    if last and data["prev_cursor"] != last["cursor"]:
        print("something is missing: see /log?since=" + last["cursor"], file=sys.stderr)
    take(data)
    note(data, name)


class Receiver(http.server.BaseHTTPRequestHandler):
    timeout = 30  # who sends nothing does not hold up the others for longer

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        genuine = is_genuine(self.headers, body)
        if genuine:
            receive(self.headers["webhook-id"], json.loads(body))
        self.send_response(204 if genuine else 401)
        self.end_headers()


http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Receiver).serve_forever()
