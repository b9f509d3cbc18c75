"""The demo of several nodes: one is killed, nothing is missing (NODE-05, NODE-06)."""
import os
import signal
import subprocess
import sys
import threading

from .env.case import Case, slow
from .env.daemon import BINARY, PATIENCE
from .env.postgres import programs
from .env.servers import spawn

DEMO = os.path.join(os.path.dirname(__file__), "..", "..", "demo", "nodes.py")


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
