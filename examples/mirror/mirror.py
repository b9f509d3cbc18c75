"""mirror.py BASE FILE [QUESTION]: FILE has all entries as they are now, and follows the log.

FILE has the entries and the cursor up to which they are known, so both change in one step: after a
crash nothing is lost and nothing comes twice. The server holds a request until there is news.

QUESTION: which entries, as view=NAME or "folder=News&q=crane"; an edited one may leave them (`left`).
When the server cannot go on from the cursor (410), the mirror begins anew. FEEDMILL_TOKEN: the token."""
import http.client
import json
import os
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

base, file, question = (sys.argv[1:] + [""])[:3]
token = os.environ.get("FEEDMILL_TOKEN")
fields = {"Authorization": "Bearer " + token} if token else {}
mirror = {"cursor": "start", "entries": {}}
if os.path.exists(file):
    with open(file) as kept:
        mirror = json.load(kept)


def pull():
    query = {"since": mirror["cursor"], "max": 1000, "timeout": 55}
    request = urllib.request.Request(base + "/log?" + urllib.parse.urlencode(query) + "&" + question, headers=fields)
    with urllib.request.urlopen(request, timeout=90) as answer:
        return json.load(answer)


def keep(log):
    for revision in log["revisions"]:
        key = "%d %s" % (revision["feed"], revision["uid"])
        if revision["kind"] in ("deleted", "left"):
            mirror["entries"].pop(key, None)
        else:
            mirror["entries"][key] = revision["entry"]
    mirror["cursor"] = log["cursor"]
    with open(file + ".new", "w") as out:
        json.dump(mirror, out)
    os.replace(file + ".new", file)


while True:
    try:
        log = pull()
    except (OSError, http.client.HTTPException) as error:
        print(error, file=sys.stderr)
        if isinstance(error, urllib.error.HTTPError) and error.code == 410:
            mirror = {"cursor": json.load(error).get("horizon", "start"), "entries": {}}
        time.sleep(2)
        continue
    keep(log)
    for revision in log["revisions"]:
        print(revision["kind"], revision.get("entry", {}).get("title", revision["uid"]), flush=True)
