"""feedmill score: how polite a fetcher is to publishers, over simulated days."""
import json
import os
import re
import subprocess
import sys
import unittest

from .env.daemon import BINARY, PATIENCE

# asks for all feeds again and again, as a loop around curl does
LOOP = """
import os, urllib.request
while True:
    for url in os.environ["FEEDMILL_SCORE_URLS"].split():
        try:
            urllib.request.urlopen(url.replace("reader:s%20e@", "")).read()
        except OSError:
            pass
"""


class Score(unittest.TestCase):
    def score(self, *args, code=0, **env):
        done = subprocess.run([BINARY, "score", *args], capture_output=True, text=True, timeout=400 * PATIENCE,
                              env=dict(os.environ, **env))
        self.assertEqual(code, done.returncode, done.stdout + done.stderr)
        return done.stdout if code == 0 else done.stderr

    def rules(self):
        return [line.split()[0] for line in self.score("--rules").splitlines()]

    def test_ours_has_full_marks_over_sixty_days_and_each_sin_is_found(self):         # ETIQ-11
        said = self.score("--days", "60", "--sin", "all", FEEDMILL_LEVEL1_PERIOD="6h")
        self.assertTrue(said.startswith("score 100/100\n"), said)
        self.assertNotIn("not tried", said)
        self.assertNotIn("ended by itself", said)
        rules = self.rules()
        self.assertGreaterEqual(len(rules), 20)
        self.assertEqual([(rule, rule) for rule in rules],
                         re.findall(r"^sin (\S+): score \d\d?/100, lost (.+)$", said, re.M), said)

    def test_a_daemon_as_command_and_one_sin(self):                                   # ETIQ-11
        said = json.loads(self.score("--days", "2", "--sin", "ttl", "--json", "--", BINARY, "serve",
                                     FEEDMILL_LEVEL1_PERIOD="2h"))
        self.assertEqual(["ttl"], [lost["rule"] for lost in said["lost"]], said)
        self.assertLess(said["score"], 100)
        self.assertIn("moved", said["not_tried"])

    def test_a_loop_that_asks_again_and_again(self):                                  # ETIQ-11
        said = self.score("--days", "1", "--speed", "86400", "--", sys.executable, "-c", LOOP)
        self.assertLess(int(re.match(r"score (\d+)/100\n", said).group(1)), 100, said)
        lost = re.findall(r"^lost ([^:]+):", said, re.M)
        self.assertLessEqual({"names-itself", "subscribers", "gzip"}, set(lost), said)

    def test_who_asks_nothing_gets_nothing(self):                                     # ETIQ-11
        said = self.score("--days", "1", "--", "true")
        self.assertTrue(said.startswith("score 0/100\n"), said)
        self.assertIn("ended by itself", said)

    def test_a_command_that_is_not_there(self):                                       # ETIQ-11 CLI-01
        self.assertEqual("feedmill score: nosuchcmd cannot be started: No such file or directory\n",
                         self.score("--days", "1", "--", "nosuchcmd", code=1))

    def test_wrong_use_is_said(self):                                                 # ETIQ-11
        self.assertIn("--days takes a number from 1 to", self.score("--days", "0", code=2))
        self.assertIn("--rules lists them", self.score("--sin", "nonsense", code=2))


if __name__ == "__main__":
    unittest.main()
