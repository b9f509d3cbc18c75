"""Values of options that are wrong: `serve --check` says so, and no handover ends a daemon for one."""
import json
import os
import shutil
import signal
import subprocess
import tempfile

from .env.case import Case
from .env.daemon import BINARY, PATIENCE

# What is never right for an option of a kind.
KINDS = {"N": "many", "TIME": "soon", "AGE": "soon", "BYTES": "much", None: "perhaps"}
# Options for which no text is wrong.
FREE = {"token", "xmpp-secret", "test-clock"}
# The others: a value that a daemon could not use. {} is a folder in which there is "text", a file of text.
FAULTS = {
    "access-log": ["{}/missing/a.log", "{}"],
    "allow-callback": ["nowhere", "10.0.0.0/99"],
    "allow-fetch": ["nowhere"],
    "allow-host": ["http://feeds.example"],
    "announce": ["x"],
    "anonymous": ["admin"],
    "base-url": ["x"],
    "contact-url": ["x", "", "https://u:p@a.example/", "https://a.example/(x)", "mailto:x"],
    "cors-origin": ["app.example"],
    "db": ["{}/missing/f.db", "{}", "{}/text", "postgresql://x:1/2@y/z", "postgresql://x@127.0.0.1:99999/y", "postgresql://x@127.0.0.1/y?sslmode=bogus", ""],
    "db-replica": ["postgresql://x/y"],
    "demo-dir": ["{}/missing", "{}/text"],
    "key-file": ["{}/missing", "{}/text", "{}", "{}/empty"],
    "listen": ["0.0.0.0", "x", "nosuch.invalid:8080"],
    "log-format": ["xml"],
    "log-level": ["loud"],
    "memcached": ["localhost", "localhost:x"],
    "mirror": ["{}/missing/m", "{}/text"],
    "mirror-types": ["audio", "x", "", "audio/*,x", "*/mp3", "audio/mp3;x=y"],
    "node": ["a/b", "a b", "ä", 101 * "a"],
    "ping-server": ["x", "ftp://a.example/changes.xml"],
    "xmpp-allow": ["-1", "@example.org", "alice@", "alice@example.org/phone", "a b", "example..org"],
    "xmpp-component": ["user@feeds.example.org"],
    "xmpp-server": ["127.0.0.1"],
}
# What an option needs beside it.
BESIDE = {
    "xmpp-component": "xmpp-server = 127.0.0.1:9\nxmpp-secret = s\n",
    "xmpp-server": "xmpp-component = feeds.example.org\nxmpp-secret = s\n",
}


def all_options():
    """Their names, each with what its value is called; None: it is a switch."""
    shape = json.loads(subprocess.run([BINARY, "help", "serve", "--json"], capture_output=True, text=True, check=True).stdout)
    return {flag["name"][2:]: flag["arg"] for flag in shape["flags"] if flag["name"] not in ("--config", "--check")}



class Faults(Case):
    engine = "sqlite"

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="feedmill-test-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.config = os.path.join(self.folder, "f.conf")
        with open(os.path.join(self.folder, "text"), "w", encoding="ascii") as f:
            f.write("This is not what anybody expects.\n")
        with open(os.path.join(self.folder, "empty"), "wb"):
            pass

    def write(self, text):
        with open(self.config, "w", encoding="utf-8") as f:
            f.write(text)

    def faults(self):
        """Pairs of an option and a config file with a value that is wrong for it."""
        for name, kind in all_options().items():
            values = FAULTS.get(name) or ([] if name in FREE else [KINDS[kind]])
            for value in values:
                yield name, "%s%s = %s\n" % (BESIDE.get(name, ""), name, value.format(self.folder))

    def test_the_table_has_all_options(self):
        options = all_options()
        self.assertGreater(len(options), 80)
        self.assertEqual(set(), set(FAULTS) - set(options))
        for name, kind in options.items():
            self.assertTrue(name in FAULTS or name in FREE or kind in KINDS, "%s needs a value that is wrong" % name)

    def test_check_names_each_option_that_is_wrong(self):                # OPS-06
        before = os.listdir(self.folder)
        args = [BINARY, "serve", "--check", "--config", self.config, "--db", os.path.join(self.folder, "f.db")]
        for name, text in self.faults():
            with self.subTest(text):
                self.write(text)
                done = subprocess.run(args[:-2] if name == "db" else args, capture_output=True, text=True, timeout=60 * PATIENCE)
                self.assertEqual(2, done.returncode, done.stderr)
                n = text.count("\n")
                self.assertRegex(done.stderr, r"^feedmill serve: config file \S+: line %d: option %s: " % (n, name))
                self.assertEqual(1, done.stderr.count("\n"))
        self.assertEqual(sorted([*before, "f.conf"]), sorted(os.listdir(self.folder)))

    def test_check_as_json(self):                                        # CLI-01
        for text, code in (("keep = 90d\n", 0), ("keep = soon\n", 2), ("log-level = loud\n", 2)):
            self.write(text)
            done = subprocess.run([BINARY, "serve", "--check", "--config", self.config, "--json", "--db", os.path.join(self.folder, "f.db")],
                                  capture_output=True, text=True, timeout=60 * PATIENCE)
            said = json.loads(done.stdout)
            self.assertEqual((code, {"ok", "problem"}, code == 0), (done.returncode, set(said), said["ok"]), done.stderr)
            self.assertEqual(done.stderr[len("feedmill serve: "):-1] or None, said["problem"])

    def test_links_and_pipes_are_right(self):                            # OPS-06
        """A database behind a link in a folder where nothing can be made, and a key that can be read once."""
        real, closed = os.path.join(self.folder, "real"), os.path.join(self.folder, "closed")
        for folder in real, closed:
            os.mkdir(folder)
        os.symlink(os.path.join(real, "f.db"), os.path.join(closed, "f.db"))
        with open(os.path.join(real, "f.db"), "wb"):
            pass
        os.chmod(closed, 0o555)
        os.chmod(self.folder, 0o755)
        os.chmod(real, 0o777)
        os.chmod(os.path.join(real, "f.db"), 0o666)
        as_nobody = (lambda: os.setuid(65534)) if os.geteuid() == 0 else None
        if subprocess.run(["test", "-w", os.path.join(real, "f.db")], preexec_fn=as_nobody).returncode != 0:
            self.skipTest("the folder of the tests is where only root can go")
        read, write = os.pipe()
        os.write(write, b"ab" * 32)
        os.close(write)
        done = subprocess.run([BINARY, "serve", "--check", "--db", os.path.join(closed, "f.db"), "--key-file", "/dev/stdin"],
                              stdin=read, capture_output=True, text=True, timeout=60 * PATIENCE, preexec_fn=as_nobody)
        left = os.read(read, 100)
        os.close(read)
        self.assertEqual((0, b"ab" * 32), (done.returncode, left), done.stderr)

    def test_a_variable_that_is_misspelt(self):                          # OPS-06
        self.write("")
        done = subprocess.run([BINARY, "serve", "--check", "--config", self.config, "--db", os.path.join(self.folder, "f.db")],
                              capture_output=True, text=True, timeout=60 * PATIENCE, env=dict(os.environ, FEEDMILL_KEEP_ENTRIS="5"))
        self.assertEqual((0, 1), (done.returncode, done.stderr.count("\n")), done.stderr)
        self.assertIn("event=variable_unknown name=\"FEEDMILL_KEEP_ENTRIS\" did_you_mean=FEEDMILL_KEEP_ENTRIES", done.stderr)

    def hold_out(self, faults):
        """A daemon goes on when its file has one of these lines at a handover."""
        base = "db = %s/f.db\nlisten = 127.0.0.1:0\n" % self.folder
        path = os.path.join(self.folder, "log")

        def refusals():
            with open(path, encoding="utf-8") as said:
                return [line for line in said if "event=handover_refused" in line and line.endswith("\n")]

        self.write(base)
        with open(path, "w", encoding="utf-8") as log:
            process = subprocess.Popen([BINARY, "serve", "--config", self.config], stdout=subprocess.PIPE, stderr=log, text=True)
        try:
            self.assertIn("ready on http://", process.stdout.readline())
            for n, (name, text) in enumerate(faults, 1):
                self.write(base + text)
                process.send_signal(signal.SIGUSR2)
                self.wait(lambda: len(refusals()) == n or process.poll() is not None, what=text)
                self.assertIsNone(process.poll(), text)
                self.assertRegex(refusals()[-1], r"\boption %s\b" % name)
            self.write(base)
            process.send_signal(signal.SIGUSR2)
            self.assertIn("ready on http://", process.stdout.readline())
        finally:
            process.terminate()
            process.wait(60 * PATIENCE)
            process.stdout.close()

    def test_no_option_that_is_wrong_ends_a_daemon(self):                # OPS-07
        """The line is added to the file of a daemon that runs, as before an upgrade of the package."""
        faults = list(self.faults()) + [("listen", "listen = 0.0.0.0:0\n")]    # for the last, only it knows its tokens
        for i in range(0, len(faults), 15):                 # the log shows 20 lines of a kind in a while
            self.hold_out(faults[i:i + 15])
