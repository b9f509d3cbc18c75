"""The programs of the thesis, with Python 3's module names: REST-35."""
import json
import os
import re
import subprocess
import sys
import urllib.parse
import urllib.request
import xml.etree.ElementTree as tree

from .env.case import Case
from .env.daemon import PATIENCE
from .env.origin import rss
from .test_discovery import page

PULL = """
import json, urllib.request
d = urllib.request.urlopen('{base}/feed/\\
?url={url}&type=json').read()
o = json.loads(d)
for e in o['entries'] : print(e['title'])
"""

PUSH = """
import urllib.parse, urllib.request
from xmlrpc.server import SimpleXMLRPCServer
def feedReceived(subscription_id, url, entries):
    for e in entries : print(e['title'], flush=True)
server = SimpleXMLRPCServer(("localhost", 0), logRequests=False)
postdata = urllib.parse.urlencode({{'endpoint':'http://localhost:%d/' % server.server_address[1],\\
'url':'{url}'}}).encode()
urllib.request.urlopen('{base}/sub/', postdata)
print('listening', flush=True)
server.register_function(feedReceived)
server.serve_forever()
"""


class Thesis(Case):
    def setUp(self):
        self.o = self.origin()
        self.d = self.daemon("--allow-fetch", "::1", "--allow-callback", "::1")
        self.o.set("/rss", rss("Star City", "The Engine"))
        self.u = self.o.set("/", page('<link rel="alternate" type="application/rss+xml" href="/rss">'))

    def run_program(self, text):
        process = subprocess.Popen([sys.executable, "-c", text.format(base=self.d.base, url=self.u)],
                                   stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def test_procedural_feed_printing(self):
        self.assertEqual("Star City\nThe Engine\n", self.run_program(PULL).communicate(timeout=60 * PATIENCE)[0])

    def test_event_driven_feed_printing(self):
        process = self.run_program(PUSH)
        self.assertEqual("listening\n", process.stdout.readline())
        self.wait(lambda: (self.d.record(self.u) or {}).get("last_check"), daemon=self.d)
        self.o.set("/rss", rss("New \u2603", "Star City", "The Engine"))
        self.d.ping(self.u)
        self.assertEqual("New \u2603\n", process.stdout.readline())

    def test_the_product_spy(self):
        top = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        folder = os.path.join(self.d.folder, "www")
        os.makedirs(folder)
        for name in ("index.html", "ajax.js"):
            with open(os.path.join(top, "demo", "www", name)) as f, \
                    open(os.path.join(folder, name), "w") as out:
                out.write(f.read())

        def publish(*names):
            with open(os.path.join(folder, "buy.xml"), "w") as out:
                out.write(rss(*[(n, None, '<product:content price="$2,021.99" image="http://i.example/%s"/>'
                                 % n) for n in names]))

        publish("lamp", "desk")
        self.d.args += ["--demo-dir", folder]
        self.d.stop()
        self.d.start()
        index = self.d.get("/demo/")
        self.assertTrue(index.header("Content-Type").startswith("text/html"))
        self.assertEqual(200, self.d.get("/demo/ajax.js").status)
        self.assertIn(b"/demo/buy.xml&type=json&len=50&obj", index.body)
        buy = "http://127.0.0.1:%d/demo/buy.xml" % self.d.port
        path = "/feed?url=%s&type=json&len=50&obj" % buy
        entries = self.d.get(path).json
        self.assertEqual(["lamp", "desk"], [e["title"] for e in entries])
        self.assertEqual("$2,021.99", entries[0]["product_content_"]["price"])
        publish("chair", "lamp", "desk")
        self.d.ping(buy)
        self.wait(lambda: len(self.d.get(path).json) == 3)
        for bad in ("/demo/../feeds.db", "/demo/%2e%2e/feeds.db", "/demo/..%2ffeeds.db", "/demo//etc/passwd"):
            self.assertEqual(404, self.d.get(bad).status, bad)
