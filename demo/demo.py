#!/usr/bin/env python3
"""demo.py BINARY [OPTION]...: runs the daemon with a publisher and a receiver, until Ctrl-C."""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import urllib.parse
import urllib.request
import xmlrpc.server

sys.dont_write_bytecode = True
from publisher import PASSWORD, Publisher  # noqa: E402 (the folder of this file)


MERGE = "/feeds?url={P}/news.rss,{P}/releases.atom,{P}/log.json"
BUGS = "/feed?url=%s/bugs.rss&type=json"


class Receiver:
    """What a user would write to be told of new entries: an XML-RPC server with one function."""

    def __init__(self):
        self.server = xmlrpc.server.SimpleXMLRPCServer(("localhost", 0), logRequests=False)
        self.url = "http://localhost:%d/" % self.server.server_address[1]
        self.server.register_function(self.feedReceived)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def feedReceived(self, subscription_id, url, entries):
        for entry in entries:
            print("pushed to subscription %d from %s: %s" % (subscription_id, url, entry["title"]),
                  flush=True)
        return 1


def post(base, **fields):
    data = urllib.parse.urlencode(fields).encode()
    return urllib.request.urlopen(base + "/sub", data).read().decode()


def show(base, path, publisher):
    print("  curl '%s%s'" % (base, path.replace("{P}", publisher.base)))


def entries(base, path, publisher):
    """The entries of a merge, from the daemon's JSON answer."""
    address = base + path.replace("{P}", publisher.base)
    return json.load(urllib.request.urlopen(address, timeout=60))["entries"]


def tell(base, binary, publisher):
    """Prints what a newcomer should see first: fetched feeds, a merge, and commands to try."""
    entries(base, BUGS % publisher.base.replace("//", "//%s:%s@" % PASSWORD), publisher)
    merge = entries(base, MERGE + "&type=json&len=5", publisher)  # waits for the first fetches
    print("Feedmill runs on %s, a publisher of several feeds on %s.\n\nFetched:" %
          (base, publisher.base), flush=True)
    subprocess.run([binary, "ls", "--server", base], check=False)
    print("\nMerged, newest first, from RSS, Atom and JSON Feed:")
    for entry in merge:
        at = "%04d-%02d-%02d %02d:%02d:%02d" % tuple(entry["updated_parsed"][:6])
        print("  %s  %-10s  %s" % (at, entry["source"]["title"], entry["title"]))
    print("\nTry, in another shell:")
    show(base, "/feed?url={P}/&type=json&len=3", publisher)
    show(base, MERGE + "&type=atom", publisher)
    show(base, "/opml?url={P}/list.opml&type=rss", publisher)
    show(base, BUGS % publisher.base.replace("//", "//%s:%s@" % PASSWORD), publisher)
    show(base, "/sub", publisher)
    server = "" if base.endswith(":8080") else " --server " + base
    print("  %s ls%s        # and show, get, sub, tail, --help" % (binary, server))
    print("  a browser at %s/demo/ (the Ajax Product Spy)\n" % base)
    print("The publisher gains an entry every few seconds; a receiver subscribed to it prints each push.\n"
          "Ctrl-C stops everything.\n", flush=True)


def main():
    binary, options = sys.argv[1], sys.argv[2:]
    folder = tempfile.mkdtemp(prefix="feedmill-demo-")
    www = os.path.join(folder, "www")
    shutil.copytree(os.path.join(os.path.dirname(os.path.abspath(__file__)), "www"), www)
    publisher, receiver = Publisher(www), Receiver()
    daemon = subprocess.Popen(
        [binary, "serve", "--db", os.path.join(folder, "demo.db"), "--demo-dir", www,
         "--allow-fetch", "127.0.0.0/8", "--allow-fetch", "::1", "--allow-callback", "127.0.0.0/8",
         "--allow-callback", "::1", "--min-period", "2s", "--log-level", "warn"] + options,
        stdout=subprocess.PIPE, text=True, start_new_session=True)
    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: stopped.set())
    try:
        line = daemon.stdout.readline()
        match = re.search(r"ready on (http://\S+)", line)
        if not match:
            return daemon.wait() or 1
        base = match.group(1).replace("127.0.0.1", "localhost")
        post(base, endpoint=receiver.url, url=publisher.base + "/", freq="5")
        post(base, url=base + "/demo/buy.xml", freq="5")
        secret = publisher.base.replace("//", "//%s:%s@" % PASSWORD) + "/bugs.rss"
        post(base, url=",".join(publisher.base + p for p in ("/releases.atom", "/log.json")) +
             "," + secret)
        tell(base, binary, publisher)
        while not stopped.wait(5) and daemon.poll() is None:
            publisher.tick()
        return 0 if stopped.is_set() else daemon.wait()
    finally:
        if daemon.poll() is None:
            daemon.send_signal(signal.SIGTERM)
            try:
                daemon.wait(20)
            except subprocess.TimeoutExpired:
                daemon.kill()
        publisher.close()
        shutil.rmtree(folder, ignore_errors=True)
        print("stopped", flush=True)


if __name__ == "__main__":
    sys.exit(main())
