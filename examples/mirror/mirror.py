"""mirror.py BASE FILE: FILE has all entries as they are now, and follows the log.

FILE has the entries and the cursor up to which they are known, so both change in one step: after a
crash nothing is lost and nothing comes twice. The server holds a request until there is news."""
import http.client
import json
import os
import sys
import time
import urllib.parse
import urllib.request

base, file = sys.argv[1:]
mirror = {"cursor": "start", "entries": {}}
if os.path.exists(file):
    with open(file) as kept:
        mirror = json.load(kept)


def pull():
    query = {"since": mirror["cursor"], "max": 1000, "timeout": 55}
    with urllib.request.urlopen(base + "/log?" + urllib.parse.urlencode(query), timeout=90) as answer:
        return json.load(answer)


def keep(log):
    for revision in log["revisions"]:
        key = "%d %s" % (revision["feed"], revision["uid"])
        if revision["kind"] == "deleted":
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
        time.sleep(2)
        continue
    keep(log)
    for revision in log["revisions"]:
        print(revision["kind"], revision.get("entry", {}).get("title", revision["uid"]), flush=True)
