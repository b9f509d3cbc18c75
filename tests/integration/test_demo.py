"""The demos: one of several nodes is killed, nothing is missing (NODE-05, NODE-06); what README.md says to try shows something."""
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading

from .env.case import Case, slow
from .env.daemon import BINARY, PATIENCE
from .env.postgres import programs
from .env.servers import spawn

ROOT = os.path.join(os.path.dirname(__file__), "..", "..")
DEMO = os.path.join(ROOT, "demo", "nodes.py")


class Examples(Case):
    """What README.md and docs/cli.md say to try while the demo runs."""
    engine = "sqlite"

    def commands(self):
        """The arguments of each curl of README.md's list, without the program."""
        with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as f:
            part = f.read().split("More to try while the demo runs:")[1].split("\n## ")[0]
        return [shlex.split(line)[1:] for line in part.splitlines() if line.startswith("    curl")]

    def ask(self, d, publisher, args):
        method, body, path = "GET", [], None
        args = [a.replace("localhost:8090", publisher.base.split("//")[1]) for a in args]
        while args:
            word = args.pop(0)
            if word == "-X":
                method = args.pop(0)
            elif word == "-d":
                body.append(args.pop(0))
                method = "POST" if method == "GET" else method
            else:
                path = word.replace("http://localhost:8080", "")
        answer = d.call(method, path, "&".join(body) or None,
                        {"Content-Type": "application/x-www-form-urlencoded"} if body else None)
        return method, path, answer

    def all_show_something(self, d, publisher):
        commands = self.commands()
        self.assertGreater(len(commands), 8)
        for args in commands:
            method, path, answer = self.ask(d, publisher, args)
            with self.subTest(path=path):
                self.assertIn(answer.status, (200, 201) if method != "GET" else (200,), answer.body)
                if method == "GET":
                    word = b"crane" if "crane" in path else b"http://localhost:%d/" % int(publisher.base.rsplit(":", 1)[1])
                    self.assertIn(word, re.sub(rb"(?i)<title>cranes|q=crane|view/cranes", b"", answer.body).lower())
                    self.assertNotIn(b'"entries":[]', answer.body.replace(b" ", b""))
        said = subprocess.run([BINARY, "search", "crane", "-barge", "--server", d.base], capture_output=True, text=True,
                              timeout=60 * PATIENCE)
        self.assertEqual(0, said.returncode, said.stderr)
        self.assertIn("The crane is repaired", said.stdout)
        self.assertNotIn("barge", said.stdout)

    def test_each_shows_something_at_first_and_after_a_while(self):
        sys.path.insert(0, os.path.join(ROOT, "demo"))
        self.addCleanup(sys.path.remove, sys.path[0])
        from publisher import Publisher
        folder = tempfile.mkdtemp(prefix="feedmill-test-")
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        publisher, d = Publisher(folder), self.daemon()
        self.addCleanup(publisher.close)
        d.subscribe(publisher.base + "/news.rss", publisher.base + "/releases.atom", publisher.base + "/log.json")
        d.wait_idle()
        self.all_show_something(d, publisher)
        for _ in range(30):
            publisher.tick()
            d.ping(publisher.base + "/news.rss")
            d.wait_idle()
        self.all_show_something(d, publisher)


class Demo(Case):
    @slow
    def test_one_of_two_nodes_is_killed(self):
        if not programs():
            self.skipTest("PostgreSQL is not installed")
        process = spawn([sys.executable, DEMO, BINARY, "2"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        end = threading.Timer(120 * PATIENCE, process.kill)
        end.start()
        self.addCleanup(end.cancel)
        self.addCleanup(process.stdout.close)
        said = []
        for line in process.stdout:
            said.append(line)
            if "is started again" in line:
                process.send_signal(signal.SIGINT)
        self.assertEqual(0, process.wait(), "".join(said))
        for words in ("---- kill -9 of mill", "nothing is missing. ", " 0 out of order.", "stopped"):
            self.assertIn(words, "".join(said))
