"""What /metrics tells: OPS-02."""
import http.client
import os
import re
import shutil
import socket
import subprocess
import time
import unittest
import urllib.parse
from email.utils import formatdate

from .env.case import Case
from .env.origin import rss
from .env.subscriber import Subscriber


class Metrics(Case):
    def setUp(self):
        self.o, self.d = self.origin(), self.daemon()

    def text(self):
        return self.d.get("/metrics").body.decode()

    def value(self, name, **labels):
        """The value of a series; None: it is not there."""
        wanted = name + ("{%s}" % ",".join('%s="%s"' % pair for pair in labels.items()) if labels else "")
        for line in self.text().splitlines():
            if line.startswith(wanted + " "):
                return float(line.rsplit(" ", 1)[1])
        return None

    def count(self, route, of_class):
        return self.value("feedmill_http_request_seconds_count", route=route, **{"class": of_class}) or 0

    def test_what_is_documented_is_served(self):                         # OPS-02
        with open(os.path.join(os.path.dirname(__file__), "../../docs/metrics.md"), encoding="utf-8") as file:
            documented = dict(re.findall(r"^\| `(\w+)[^`]*` \| (\w+) \|", file.read(), re.M))
        self.assertEqual(documented, dict(re.findall(r"^# TYPE (\w+) (\w+)$", self.text(), re.M)))
        for name in ("feedmill_http_request_seconds", "feedmill_fetch_seconds", "feedmill_publish_to_store_seconds",
                     "feedmill_store_to_push_seconds", "feedmill_database_bytes", "process_resident_memory_bytes"):
            self.assertIn(name, documented)
        ages = [name for name in documented if name.endswith("_oldest_age_seconds")]
        for queue in ("fetch", "parse", "store", "read", "push"):
            self.assertTrue(any(queue in name for name in ages), queue)

    @unittest.skipUnless(shutil.which("promtool"), "promtool (Debian: prometheus) is not installed")
    def test_promtool_finds_nothing(self):                               # OPS-02
        self.d.get("/sub")
        self.d.subscribe(self.o.set("/f.xml", rss("a")), endpoint=self.receiver().url)
        self.d.wait_idle()
        done = subprocess.run(["promtool", "check", "metrics"], input=self.text(), capture_output=True, text=True,
                              check=False, timeout=60)
        self.assertEqual((0, "", ""), (done.returncode, done.stdout, done.stderr))

    def test_times_of_requests_by_route_and_class(self):                 # OPS-02
        for _ in range(3):
            self.d.get("/sub")
        self.d.get("/sub?id=none")
        self.d.get("/nowhere")
        self.wait(lambda: self.count("/sub", "2xx") == 3, daemon=self.d)
        self.assertEqual(1, self.count("/sub", "4xx"))
        self.assertEqual(1, self.count("none", "4xx"))
        buckets = [float(line.rsplit(" ", 1)[1]) for line in self.text().splitlines()
                   if line.startswith('feedmill_http_request_seconds_bucket{route="/sub",class="2xx"')]
        self.assertEqual(sorted(buckets), buckets)
        self.assertEqual(3, buckets[-1])

    def test_the_time_counts_from_the_first_byte(self):                  # OPS-02
        with socket.create_connection(("127.0.0.1", self.d.port)) as s:
            s.sendall(b"GET /nodes HT")
            time.sleep(1)
            s.sendall(b"TP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            while s.recv(65536):
                pass
        self.wait(lambda: self.count("/nodes", "2xx") == 1, daemon=self.d)
        self.assertGreaterEqual(self.value("feedmill_http_request_seconds_sum", route="/nodes", **{"class": "2xx"}), 0.6)

    def test_long_polls_and_streams_are_apart(self):                     # OPS-02
        self.d.get("/log?since=start")
        self.d.get("/log?since=start&timeout=1")
        self.wait(lambda: self.count("/log waiting", "2xx") == 1, daemon=self.d)
        self.assertEqual(1, self.count("/log", "2xx"))
        waited = self.value("feedmill_http_request_seconds_sum", route="/log waiting", **{"class": "2xx"})
        self.assertGreaterEqual(waited, 0.99)
        stream = http.client.HTTPConnection("127.0.0.1", self.d.port)
        stream.request("GET", "/events")
        answer = stream.getresponse()
        time.sleep(1.2)
        answer.close()
        stream.close()
        self.wait(lambda: self.count("/events", "2xx") == 1, daemon=self.d)
        self.assertLess(self.value("feedmill_http_request_seconds_sum", route="/events", **{"class": "2xx"}), 1)

    def test_a_client_that_leaves(self):                                 # OPS-02
        with socket.create_connection(("127.0.0.1", self.d.port)) as s:
            s.sendall(b"GET /log?since=start&timeout=60 HTTP/1.1\r\nHost: localhost\r\n\r\n")
            self.d.wait_metric("log_waiters", 1)
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self.wait(lambda: self.count("/log waiting", "gone") == 1, daemon=self.d)

    def test_times_of_fetches_by_outcome(self):                          # OPS-02
        def fetched(outcome):
            return self.value("feedmill_fetch_seconds_count", outcome=outcome)

        good = self.o.set("/f.xml", rss("a"))
        before = fetched("document")
        self.d.feed(good)
        self.d.wait_idle()
        self.assertEqual(before + 1, fetched("document"))
        missing = fetched("missing")
        self.d.feed(self.o.url("/none.xml"))
        self.d.wait_idle()
        self.assertLess(missing, fetched("missing"))

    def test_from_the_publisher_to_the_subscriber(self):                 # OPS-02
        r = self.receiver()
        url = self.o.set("/f.xml", rss("old"))
        self.d.subscribe(url, endpoint=r.url)
        self.d.wait_idle()
        stored = "feedmill_publish_to_store_seconds"
        self.assertEqual(0, self.value(stored + "_count"))  # what was there before does not count
        self.o.set("/f.xml", rss(("new", formatdate(time.time() - 3600), ""), "undated", "old"))
        self.d.ping(url)
        self.wait(lambda: r.calls, daemon=self.d)
        self.d.wait_idle()
        self.assertEqual(1, self.value(stored + "_count"))
        self.assertAlmostEqual(3600, self.value(stored + "_sum"), delta=60)
        pushed = "feedmill_store_to_push_seconds"
        self.assertEqual(1, self.value(pushed + "_count"))
        self.assertLess(self.value(pushed + "_sum"), 60)

    def test_sizes(self):                                                # OPS-02
        with open("/proc/%d/status" % self.d.process.pid, encoding="utf-8") as file:
            rss_bytes = 1024 * int(re.search(r"VmRSS:\s*(\d+)", file.read()).group(1))
        self.assertAlmostEqual(rss_bytes, self.value("process_resident_memory_bytes"), delta=rss_bytes / 2)
        self.wait(lambda: self.value("feedmill_database_bytes") > 0, daemon=self.d)
        if self.engine == "sqlite":
            on_disk = sum(os.path.getsize(self.d.db + end) for end in ("", "-wal"))
            self.assertAlmostEqual(on_disk, self.value("feedmill_database_bytes"), delta=on_disk / 2)

    def test_deliveries_of_the_hub_count_too(self):                      # OPS-02
        url, s = self.o.set("/f.xml", rss("old")), Subscriber()
        self.addCleanup(s.close)
        topic = "%s/feed?url=%s&type=atom" % (self.d.base, urllib.parse.quote(url, safe=""))
        self.assertEqual(202, self.d.call("POST", "/hub", urllib.parse.urlencode(
            {"hub.mode": "subscribe", "hub.topic": topic, "hub.callback": s.url}),
            {"Content-Type": "application/x-www-form-urlencoded"}).status)
        self.d.wait_metric("hub_confirmed_total", 1)
        self.d.wait_idle()
        self.o.set("/f.xml", rss("new", "old"))
        self.d.ping(url)
        self.wait(lambda: s.deliveries, daemon=self.d)
        self.d.wait_idle()
        self.assertEqual(1, self.value("feedmill_store_to_push_seconds_count"))
        self.assertLess(self.value("feedmill_store_to_push_seconds_sum"), 60)
