"""opml.py BASE LIST: subscribes to all feeds of an OPML list.

With known=skip, what is subscribed already is not subscribed again, so it can be called each time that
the list has changed."""
import json
import os
import sys
import urllib.error
import urllib.request

base, path = sys.argv[1:]
with open(path, "rb") as file:
    request = urllib.request.Request(base + "/sub?known=skip", file.read(), {"Content-Type": "text/x-opml"})
if os.environ.get("FEEDMILL_TOKEN"):
    request.add_header("Authorization", "Bearer " + os.environ["FEEDMILL_TOKEN"])
try:
    with urllib.request.urlopen(request) as answer:
        result = json.load(answer)
except urllib.error.HTTPError as error:
    sys.exit(json.load(error)["detail"])
print("subscribed to %d feeds, %d were known" % (len(result["urls"]), len(result.get("known", []))))
for problem in result.get("problems", []):
    print("outline %d: %s" % (problem["outline"], problem["detail"]))
