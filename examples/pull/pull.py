"""pull.py URL FILE: keeps FILE the same as the document at URL.

The ETag of the document is kept in FILE.etag. While nothing is new, the answer is 304, without a body."""
import os
import sys
import urllib.error
import urllib.request

url, file = sys.argv[1:]


def replace(path, content):
    """The file has the old content or the new one, also after a crash."""
    with open(path + ".new", "wb") as out:
        out.write(content)
    os.replace(path + ".new", path)


request = urllib.request.Request(url)
if os.environ.get("FEEDMILL_TOKEN"):
    request.add_header("Authorization", "Bearer " + os.environ["FEEDMILL_TOKEN"])
if os.path.exists(file + ".etag"):
    with open(file + ".etag") as kept:
        request.add_header("If-None-Match", kept.read())
try:
    with urllib.request.urlopen(request) as answer:
        # first the document, then its tag: a crash in between costs one download
        replace(file, answer.read())
        replace(file + ".etag", answer.headers["ETag"].encode())
    print("changed")
except urllib.error.HTTPError as error:
    if error.code != 304:
        raise
    print("unchanged")
