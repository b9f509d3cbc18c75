"""events.py BASE FOLDER [QUESTION]: writes each event to FOLDER/news.jsonl as it happens.

FOLDER/position is the id of the last event that was taken. The event is written first, then its id:
after a crash it may come twice, but none is lost.
QUESTION: which entries, as view=NAME or "folder=News&q=crane". When the server cannot go on from
the position (410), all that it has comes again. FEEDMILL_TOKEN: the token."""
import http.client
import json
import os
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

base, folder, question = (sys.argv[1:] + [""])[:3]
token = os.environ.get("FEEDMILL_TOKEN")
fields = {"Authorization": "Bearer " + token} if token else {}
news, position = os.path.join(folder, "news.jsonl"), os.path.join(folder, "position")


def note(last_id):
    with open(position + ".new", "w") as out:
        out.write(last_id)
    os.replace(position + ".new", position)


def follow():
    since = "start"
    if os.path.exists(position):
        with open(position) as kept:
            since = kept.read()
    query = urllib.parse.urlencode({"since": since})
    request = urllib.request.Request(base + "/events?" + query + "&" + question, headers=fields)
    # a comment comes every 15 seconds, so a silent connection is dead
    with urllib.request.urlopen(request, timeout=60) as stream:
        last_id = None
        for line in stream:
            if not line.endswith(b"\n"):
                break  # the connection ended in the middle of a line
            name, _, value = line.decode().rstrip("\n").partition(": ")
            if name == "id":
                last_id = value
            elif name == "data":
                with open(news, "a") as out:
                    out.write(value + "\n")
            elif line == b"\n" and last_id:  # the end of an event
                note(last_id)


os.makedirs(folder, exist_ok=True)
while True:
    try:
        follow()
    except (OSError, http.client.HTTPException) as error:
        print(error, file=sys.stderr)
        if isinstance(error, urllib.error.HTTPError) and error.code == 410:
            note(json.load(error).get("horizon", "start"))
    time.sleep(2)
