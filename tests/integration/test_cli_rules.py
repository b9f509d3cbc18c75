"""Rules that all commands keep, each tried on every command or setting that there is."""
import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import termios
import threading

from .env.case import Case
from .env.daemon import BINARY, PATIENCE
from .env.origin import Reply, rss

# What `set` can set: a value, and what `show` has then: as JSON, and the line of a pipe and of a terminal.
SETTINGS = {
    "freq": ("7200", 7200, ("freq", "7200"), ("freq", "7200")),
    "title": ("Mine \u4e2d", "Mine \u4e2d", ("sub 1 title", "Mine \u4e2d"), ("sub 1 title", "Mine \u4e2d")),
    "folder": ("News/Linux", "News/Linux", ("sub 1 folder", "News/Linux"), ("sub 1 folder", "News/Linux")),
    "mirror": ("yes", True, ("mirror", "yes"), ("mirror", "yes")),
    "keep": ("36h", 129600, ("sub 1 keep", "129600"), ("sub 1 keep", "36h")),
    "keep_entries": ("12", 12, ("sub 1 keep_entries", "12"), ("sub 1 keep_entries", "12")),
}

# The commands that print rows: arguments, and the cells of each row.
ROWS = (("add NEW", 5), ("add FEED", 5), ("add BAD", 5), ("ls", 11), ("ls --all", 11), ("refresh FEED", 5), ("show FEED", 2), ("set FEED title=x", 3),
        ("search two", 4), ("tail --since start", 6), ("events --since start", 6), ("views", 4), ("nodes", 7), ("token add --name y --role read", 1), ("token ls", 6),
        ("sub", 10), ("sub add HOOK FEED", 2), ("sub test 2", 2), ("sub log 2", 7), ("sub dead 2", 3),
        ("rm NEW", 3), ("forget NEW", 3))

# Why the others print none.
NO_ROWS = {
    "documents": {"get", "export", "parse", "discover", "opml"},
    "a sentence or a number about the whole": {"import", "archive", "check", "compact", "version", "score"},
    "nothing, or a file": {"backup", "schedule-sim"},
    "rows, but it needs two databases: test_migrate": {"migrate"},
}
ENDLESS = ("tail", "events")


class Rules(Case):
    def setUp(self):
        self.o = self.origin()
        self.u = self.o.set("/f.xml", rss("one a\tb", "two", title="News \u4e2d"))

    def run_it(self, *args, code=0):
        done = subprocess.run([BINARY, *args], capture_output=True, text=True, timeout=120 * PATIENCE, env=self.env())
        if code is not None:
            self.assertEqual(code, done.returncode, (args, done.stdout, done.stderr))
        return done.stdout

    def env(self):
        fields = {k: v for k, v in os.environ.items() if k != "COLUMNS"}
        return dict(fields, FEEDMILL_SERVER=self.d.base, FEEDMILL_TOKEN="t0p", TERM="xterm", NO_COLOR="1")

    def printed(self, args, width=None):
        """The standard output: into a pipe, or on a terminal of this width."""
        ours, theirs = os.pipe() if width is None else pty.openpty()
        if width is not None:
            fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
        run = subprocess.Popen([BINARY, *args], stdout=theirs, stderr=subprocess.DEVNULL, env=self.env())
        os.close(theirs)
        out = b""
        while True:
            try:
                piece = os.read(ours, 65536)
            except OSError:                      # the other end of the terminal is closed
                break
            out += piece
            if not piece or (args[0] in ENDLESS and out.count(b"\n") >= 2):
                break
        os.close(ours)
        run.terminate()
        run.wait(60 * PATIENCE)
        return out.decode().replace("\r\n", "\n")

    # ---- settings ----
    def test_what_is_set_is_shown(self):                                 # CLI-03
        self.d = self.daemon("--mirror", "yes")
        self.run_it("add", self.u)
        known = subprocess.run([BINARY, "set", "1", "\u00f8=1"], capture_output=True, text=True, env=self.env(), timeout=60 * PATIENCE).stderr
        self.assertEqual(set(SETTINGS), set(re.search(r"but (\S+) \(", known)[1].split("|")), "a setting is not in the table of this test")
        before = json.loads(self.run_it("show", self.u, "--json"))["settings"]
        self.assertEqual([1], [s["id"] for s in before])
        self.run_it("set", self.u, *["%s=%s" % (key, of[0]) for key, of in SETTINGS.items()])
        (after,) = json.loads(self.run_it("show", self.u, "--json"))["settings"]
        piped = [tuple(line.split("\t")) for line in self.run_it("show", self.u).splitlines()]
        seen = self.printed(["show", self.u], width=200).splitlines()
        for key, (_, as_json, in_pipe, on_terminal) in SETTINGS.items():
            with self.subTest(key):
                self.assertNotEqual(before[0][key], after[key])
                self.assertEqual(as_json, after[key])
                self.assertIn(in_pipe, piped)
                self.assertIn(on_terminal, [tuple(re.split("  +", line, maxsplit=1)) if "  " in line else
                                            (on_terminal[0], line[len(on_terminal[0]) + 1:]) for line in seen])

    def test_what_no_one_has_set_is_not_shown(self):                     # CLI-03
        self.d = self.daemon()
        self.run_it("add", self.u)
        self.assertEqual([["sub 1 state", "active"]], [line.split("\t") for line in self.run_it("show", self.u).splitlines() if line.startswith("sub 1")])

    # ---- many feeds ----
    def test_a_part_of_the_list(self):                                   # CLI-02
        """ls by state, folder and words; more than the daemon gives at once, too."""
        self.d = self.daemon()
        many = ["http://10.0.0.1/many/%d" % n for n in range(1200)]      # nothing is asked at these addresses
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        self.assertEqual(201, self.d.call("POST", "/sub", "folder=Many&url=" + ",".join(many), form).status)
        self.run_it("add", "--folder", "\u65e5\u672c/News", self.u)
        bad = self.o.set("/bad.xml", Reply(500))
        self.run_it("add", bad, code=1)
        self.wait(lambda: self.d.record(bad)["state"] == "failing", what="the failure")

        def urls(*args):
            return [line.split("\t")[8] for line in self.run_it("ls", *args).splitlines()]

        self.assertEqual(1202, len(urls()))
        self.assertEqual(many, urls("--folder", "Many"))                 # in the order of ls
        self.assertEqual([bad], urls("--state", "failing", "bad"))
        self.assertEqual([self.u], urls("--folder", "\u65e5\u672c"))
        self.assertEqual([self.u], urls("NEWS", "\u4e2d"))                # whatever the case; all words
        self.assertEqual([], urls("NEWS", "nosuchword"))
        self.assertEqual([self.u], [f["url"] for f in json.loads(self.run_it("ls", "--json", "news"))])
        self.assertEqual([self.u], urls("--all", "news"))
        self.run_it("ls", "--state", "broken", code=2)
        self.assertEqual("Nothing matches.\n", self.printed(["ls", "nosuchword"], 80))
        self.assertEqual("1 feed: 1 ok", self.printed(["ls", "news"], 80).splitlines()[-1])
        self.assertRegex(self.printed(["ls"], 80).splitlines()[-1], r"^1202 feeds: 1 ok, \d+ failing(, \d+ new)?$")

    def test_addresses_as_people_type_them(self):                        # CLI-03
        """Whatever their spelling, what they came to is told, and they are known again."""
        self.d = self.daemon()
        u = self.o.set("/%E6%97%A5.xml", rss("three", title="Feed"))
        typed = u.replace("%E6%97%A5", "\u65e5").replace("http://", "HTTP://")
        self.assertEqual("1\tok\t%s\tFeed\t-\n" % u, self.run_it("add", typed))
        self.assertTrue(self.run_it("add", typed).startswith("1\tknown\t"))
        self.assertTrue(self.run_it("add", u).startswith("1\tknown\t"))
        self.assertIn("three", self.run_it("show", typed))
        self.assertEqual(u, self.run_it("refresh", typed).split()[-1])
        self.assertIn("\tended\t", self.run_it("rm", typed))

    def test_many_are_refreshed_together(self):                          # CLI-03
        """The publisher answers none before all are asked for."""
        self.d = self.daemon()
        urls = [self.o.set("/%d.xml" % n, rss("one")) for n in range(3)]
        self.run_it("add", *urls)
        self.d.wait_idle()
        together = threading.Barrier(3, timeout=60 * PATIENCE)

        def answer(_):
            together.wait()
            return Reply(200, rss("one", "two"))

        for n in range(3):
            self.o.set("/%d.xml" % n, answer)
        rows = [line.split("\t") for line in self.run_it("refresh", *urls).splitlines()]
        self.assertEqual([["ok", "200", "2", u] for u in urls], [row[1:] for row in rows])

    def test_a_paused_feed_is_listed_as_paused(self):                    # CLI-02
        self.d = self.daemon()
        self.run_it("add", self.u)
        self.d.call("PATCH", "/sub/feed?id=1", "paused=1", {"Content-Type": "application/x-www-form-urlencoded"})
        for args in ([], ["--state", "paused"]):
            self.assertEqual("paused", self.run_it("ls", *args).split("\t")[2])
        self.assertEqual("1 feed: 1 paused", self.printed(["ls"], 80).splitlines()[-1])

    def test_no_database_is_made_to_list_its_tokens(self):               # ACC-01
        self.d = self.daemon()
        path = os.path.join(self.d.folder, "typo.db")
        for args in (["ls"], ["rm", "1"]):
            done = subprocess.run([BINARY, "token", *args, "--db", path], capture_output=True, text=True, timeout=60 * PATIENCE)
            self.assertEqual((1, "feedmill token: %s: No such file or directory\n" % path), (done.returncode, done.stderr))
        self.assertFalse(os.path.exists(path))

    def test_feeds_have_numbers_everywhere(self):                        # CLI-03
        self.d = self.daemon()
        self.run_it("add", self.u)
        self.assertEqual(self.run_it("get", self.u), self.run_it("get", "1"))
        self.assertEqual(2, self.printed(["tail", "--since", "start", "1"]).count(self.u))
        self.assertEqual(2, self.printed(["events", "--since", "start", "1"]).count(self.u))
        for command in ("get", "tail", "events"):
            self.run_it(command, "99", code=1)

    # ---- rows ----
    def test_rows_have_tabs_in_a_pipe_and_none_on_a_terminal(self):      # CLI-02
        self.d = self.daemon("--token", "t0p")
        known = {c["name"] for c in json.loads(self.run_it("help", "--json"))["commands"]} - {"serve", "help"}
        named = {row.split()[0] for row, _ in ROWS}
        self.assertEqual(known, named.union(*NO_ROWS.values()), "a command is in no table of this test")
        self.run_it("add", self.u)
        self.run_it("sub", "add", "http://127.0.0.1:1/", self.u)
        self.run_it("sub", "replay", "2", "start")
        self.d.call("PUT", "/view/harbour?url=" + self.u, "", {"Authorization": "Bearer t0p"})
        self.wait(lambda: json.loads(self.run_it("sub", "log", "2", "--json")), what="a delivery")
        for n, (row, cells) in enumerate(ROWS):
            for width in (None, 80):
                new = self.o.set("/new%d%s.xml" % (n, width), rss("three", title="A title"))
                if row in ("rm NEW", "forget NEW"):
                    self.run_it("add", new)
                words = {"FEED": self.u, "NEW": new, "BAD": self.o.set("/bad%s" % width, Reply(500)), "HOOK": "http://127.0.0.1:1/"}
                with self.subTest(row, width=width):
                    out = self.printed([words.get(word, word) for word in row.split()], width)
                    lines = out.splitlines()
                    self.assertTrue(lines or row == "sub dead 2" or (row == "add BAD" and width))
                    if width is None and lines:
                        self.assertEqual({cells - 1}, {line.count("\t") for line in lines}, out)
                        self.assertNotIn("  ", out)
                        self.assertNotIn("", [cell for line in lines for cell in line.split("\t")])
                    elif width:
                        self.assertNotIn("\t", out)
