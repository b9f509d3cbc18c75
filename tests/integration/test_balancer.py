"""Two nodes behind nginx and behind HAProxy, with the files of examples/balancer (NODE-02, NODE-06, NODE-07)."""
import http.client
import os
import re
import shutil
import socket
import subprocess
import urllib.parse

from .env.case import Case
from .env.daemon import PATIENCE, Answer, own_database
from .env.events import EventReader
from .env.servers import free_port, server_folder, spawn

EXAMPLES = os.path.join(os.path.dirname(__file__), "..", "..", "examples", "balancer")
RSS = ("<rss version='2.0'><channel><title>t</title><link>http://x.example/</link><description/>"
       "<item><guid>1</guid><title>%s</title></item></channel></rss>")


class Behind:
    """A balancer, to which requests go as to a daemon."""

    def __init__(self, port):
        self.port = port

    def call(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30 * PATIENCE)
        try:
            connection.request(method, path, body, {"Content-Type": "application/x-www-form-urlencoded"} if body else {})
            answer = connection.getresponse()
            return Answer(answer.status, answer.headers, answer.read())
        finally:
            connection.close()


class Balancer(Case):
    engine = "sqlite"   # the database is named here

    def balancer(self, name, command):
        """The balancer of an example, before two nodes and a third one that is not there."""
        if not shutil.which(name, path="/usr/sbin:" + os.environ["PATH"]):
            self.skipTest("%s is not installed" % name)
        port, db = free_port(), own_database()
        self.nodes = [self.daemon("--node", "n%d" % i, "--node-lease", "3s", "--base-url", "http://127.0.0.1:%d" % port,
                                  db=db) for i in range(2)]
        folder = server_folder(name)
        self.addCleanup(shutil.rmtree, folder)
        with open(os.path.join(EXAMPLES, [f for f in os.listdir(EXAMPLES) if f.startswith(name)][0])) as f:
            text = f.read()
        ports = {8080: port, 8081: self.nodes[0].port, 8082: free_port(), 8083: self.nodes[1].port}
        text = re.sub(r":(808\d)|(?<=listen )(8080)", lambda m: m.group(0).replace(
            m.group(1) or m.group(2), str(ports[int(m.group(1) or m.group(2))])), text)
        text = re.sub(r"(maxconn|worker_connections) \d+", r"\1 500", text)     # this user may open fewer files
        with open(folder + "/config", "w") as f:
            f.write(text)
        errors = self.enterContext(open(folder + "/said", "w+"))
        process = spawn([a.format(folder=folder) for a in command], stdout=errors, stderr=errors)
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)
        self.wait(lambda: process.poll() is not None or self.listens(port), what=name)
        errors.seek(0)
        self.assertIsNone(process.poll(), errors.read())
        return Behind(port)

    @staticmethod
    def listens(port):
        with socket.socket() as s:
            return s.connect_ex(("127.0.0.1", port)) == 0

    def nginx(self):
        return self.balancer("nginx", ["/usr/sbin/nginx", "-c", "{folder}/config", "-p", "{folder}", "-g",
                                       "daemon off; pid {folder}/pid; error_log {folder}/errors;"])

    def haproxy(self):
        return self.balancer("haproxy", ["/usr/sbin/haproxy", "-db", "-f", "{folder}/config"])

    def works(self, front):
        """What one node has acknowledged, each shows; an event comes at once; a node may die."""
        url = self.origin().set("/f", RSS % "one")
        answer = front.call("POST", "/sub", urllib.parse.urlencode({"url": url, "endpoint": "http://127.0.0.1:9/"}))
        self.assertEqual(201, answer.status, answer.body)
        number = answer.json["id"]
        for _ in range(6):
            self.assertEqual(200, front.call("GET", "/sub?id=%d" % number).status)
        reader = EventReader(front, "?since=start")
        self.addCleanup(reader.close)
        self.assertEqual("new", reader.until(1)[0].kind)
        self.nodes[0].kill()
        for _ in range(20):
            answer = front.call("GET", "/feed?url=%s&type=json" % url)
            self.assertEqual(200, answer.status, answer.body)
            self.assertIn(b"one", answer.body)

    def test_nginx(self):
        self.works(self.nginx())

    def test_haproxy(self):
        front = self.haproxy()
        self.wait(lambda: front.call("GET", "/").status == 200, what="a node that is ready")
        self.works(front)
