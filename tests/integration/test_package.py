"""What a package has beside the program, made of the tables of commands and options: OPS-06."""
import os
import re
import shutil
import subprocess
import tempfile
import unittest

from .env.daemon import BINARY, PATIENCE

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def run(*args, code=0, **env):
    done = subprocess.run(args, capture_output=True, text=True, timeout=120 * PATIENCE, env=dict(os.environ, **env))
    if code is not None and done.returncode != code:
        raise AssertionError((args, done.returncode, done.stdout, done.stderr))
    return done.stdout + done.stderr


def options():
    return re.findall(r"^  --([\w-]+)", run(BINARY, "serve", "--help"), re.M)


def commands():
    return re.findall(r"^  ([\w-]+)", run(BINARY, "help"), re.M)


def plain(page):
    """The text of a page without the marks of roff."""
    return re.sub(r"\\f[BIR]", "", page.replace("\\-", "-").replace("\\(aq", "'"))


class Files(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="feedmill-test-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def made(self, name, *args):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(run(BINARY, *args))
        return path

    def checked_by(self, program, *args, **env):
        """What a program for such files says, if there is one here."""
        if shutil.which(program):
            self.assertEqual("", run(program, *args, code=None, **env), program)


class Manual(Files):
    def page(self, name):
        path = self.made(name, "help", "--man", name)
        self.checked_by("mandoc", "-T", "lint", "-W", "warning", path)
        if os.path.exists("/usr/share/man") and shutil.which("groff"):
            self.checked_by("groff", "-man", "-ww", "-Tutf8", "-z", path)
        return plain(open(path, encoding="utf-8").read())

    def test_commands(self):                                             # OPS-06
        page = self.page("feedmill.1")
        for name in commands():
            if name != "serve":
                self.assertIn('.SS "%s"\nfeedmill %s' % (name, name), page)
        for name in ("token", "sub"):
            for term, text in re.findall(r"^  (\S.*)\n      (.+)", run(BINARY, "help", name), re.M):
                if not term.startswith("-h"):
                    self.assertIn(".TP\n%s\n%s\n" % (term, text), page)

    def test_options(self):                                              # OPS-06
        daemon, config = self.page("feedmill-serve.1"), self.page("feedmill.conf.5")
        self.assertGreater(len(options()), 50)
        for name in options():
            self.assertIn(".TP\n--%s" % name, daemon)
            self.assertIn("Variable: FEEDMILL_%s." % name.upper().replace("-", "_"), daemon)
            if name != "config":
                self.assertIn(".TP\n%s " % name, config)

    def test_the_day_is_that_of_the_source(self):                        # OPS-06
        self.assertIn('"2001-09-09"', run(BINARY, "help", "--man", "feedmill.1", SOURCE_DATE_EPOCH="1000000000"))

    def test_unknown(self):
        self.assertIn('did you mean "feedmill.1"?', run(BINARY, "help", "--man", "feedmil.1", code=2))
        self.assertIn("bash|zsh|fish", run(BINARY, "help", "--completion", "cmd.exe", code=2))


class ConfigFile(Files):
    def test_it_has_each_option_and_sets_those_that_were_given(self):    # OPS-06
        args = ("--db", "/x y/f.db", "--allow-fetch", "10.0.0.0/8", "--allow-fetch", "::1/128", "--hub=no", "--ping-gap", "3s",
                "--level1-period", "2h", "--cache-size", "1M", "--token", "hidden")
        path = self.made("f.conf", "serve", "--help-config", *args)
        text = open(path, encoding="utf-8").read()
        for name in options():
            if name != "config":
                self.assertRegex(text, "(?m)^#?%s =" % name)
        self.assertNotIn("hidden", text)
        self.assertEqual({"db = /x y/f.db", "allow-fetch = 10.0.0.0/8", "allow-fetch = ::1/128", "hub = no", "ping-gap = 3000",
                          "level1-period = 7200", "cache-size = 1048576"},
                         set(line for line in text.splitlines() if line and line[0] != "#"))
        self.assertEqual(text, run(BINARY, "serve", "--help-config", "--config", path))
        self.assertLess(max(map(len, text.splitlines())), 100)

    def test_a_comment_of_it_is_its_default(self):                       # OPS-06
        path = self.made("f.conf", "serve", "--help-config")
        text = open(path, encoding="utf-8").read()
        with open(path, "w", encoding="utf-8") as f:
            f.write(re.sub(r"(?m)^#([\w-]+ =)", r"\1", text))
        self.assertEqual(text, run(BINARY, "serve", "--help-config", "--config", path))

    def test_a_line_that_is_wrong(self):                                 # OPS-06
        path = os.path.join(self.folder, "f.conf")
        for line, said in (("lisen = x", "did you mean listen?"), ("hub = perhaps", "yes or no"), ("hub", "name = value")):
            with open(path, "w", encoding="utf-8") as f:
                f.write("# one\n\n%s\n" % line)
            error = run(BINARY, "serve", "--config", path, code=2)
            self.assertIn("%s: line 3" % path, error)
            self.assertIn(said, error)


    def test_check_says_what_is_wrong(self):                             # OPS-06
        path = os.path.join(self.folder, "f.conf")
        for text, code, said in (("keep = 90d\n", 0, "in order"), ("lisen = x\n", 2, "did you mean listen?"),
                                 ("listen = 0.0.0.0\n", 2, "option listen")):
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
            out = run(BINARY, "serve", "--check", "--config", path, "--db", os.path.join(self.folder, "f.db"), code=code)
            self.assertIn(said, out)
        self.assertEqual(["f.conf"], os.listdir(self.folder))


class Units(Files):
    @unittest.skipUnless(shutil.which("systemd-analyze"), "systemd is not here")
    def test_units(self):                                                # OPS-06
        for kind in ("service", "socket"):
            with open(os.path.join(ROOT, "debian/feedmill." + kind), encoding="utf-8") as f:
                text = f.read().replace("/usr/bin/feedmill ", BINARY + " ")
            with open(os.path.join(self.folder, "feedmill." + kind), "w", encoding="utf-8") as f:
                f.write(text)
        unit = os.path.join(self.folder, "feedmill.service")
        said = run("systemd-analyze", "security", "--offline=true", "--no-pager", unit, code=None)
        if "exposure level" not in said:
            self.skipTest("this systemd judges no unit that is not loaded: " + said)
        self.assertLessEqual(float(re.search(r"exposure level for \S+: ([\d.]+)", said).group(1)), 2.0)
        said = run("systemd-analyze", "verify", "--man=no", unit, os.path.join(self.folder, "feedmill.socket"), code=None)
        self.assertEqual([], [line for line in said.splitlines() if "feedmill" in line])    # others are the machine's

    def test_the_unit_starts_only_what_the_package_needs(self):          # OPS-06
        """dash and coreutils are on every Debian; /bin/kill is in procps, which is not."""
        with open(os.path.join(ROOT, "debian/feedmill.service"), encoding="utf-8") as f:
            programs = re.findall(r"(?m)^Exec\w+=[-+!@:]*(\S+)", f.read())
        self.assertEqual({"/usr/bin/feedmill", "/usr/bin/sh"}, set(programs))


class Completion(Files):
    def complete(self, script, *words):
        """What bash offers for the last of these words."""
        line = " ".join("'%s'" % word for word in words)
        return run("bash", "--norc", "-c", "cd %s && . %s && COMP_WORDS=(%s) COMP_CWORD=%d && _feedmill && printf '%%s\\n' \"${COMPREPLY[@]}\""
                   % (self.folder, script, line, len(words) - 1)).split()

    def test_bash(self):                                                 # OPS-06
        script = self.made("feedmill.bash", "help", "--completion", "bash")
        run("bash", "-n", script)
        open(os.path.join(self.folder, "list.opml"), "w", encoding="utf-8").close()
        self.assertEqual(sorted(commands() + ["help"]), sorted(self.complete(script, "feedmill", "")))
        self.assertEqual(["--" + name for name in ["help"] + options()],
                         [flag.partition("=")[0] for flag in self.complete(script, "feedmill", "serve", "--")])
        for words, offered in (
                (("se",), ["search", "serve", "set"]), (("help", "sea"), ["search"]), (("add", "--fo"), ["--folder"]),
                (("serve", "--hub"), ["--hub-backup-period", "--hub-lease", "--hub-lease-max", "--hub-lease-min", "--hub=no"]),
                (("token", ""), ["add", "ls", "rm"]), (("sub", "r"), ["replay", "resume", "retry-dead", "rm"]),
                (("token", "add", "--role", ""), ["admin", "read", "subscribe"]), (("token", "add", "--name", ""), []),
                (("serve", "--anonymous", ""), ["none", "read", "subscribe"]), (("serve", "--log-format", "=", "j"), ["json"]),
                (("serve", "--log-level", "="), ["debug", "error", "info", "warn"]), (("sub", "add", "--sink", "x"), ["xmlrpc", "xmpp"]),
                (("get", "--type", "j"), ["json", "jsonfeed"]), (("ls", "--type", ""), []),
                (("import", "li"), ["list.opml"]), (("import", "x", "--fol"), ["--folder", "--follow"]),
                (("backup", "--db", "li"), ["list.opml"]), (("serve", "--config", "li"), ["list.opml"]), (("ls", ""), []), (("tail", ""), []), (("parse", "li"), ["list.opml"]),
                (("set", "1", ""), ["folder=", "freq=", "keep=", "keep_entries=", "mirror=", "title="]), (("set", ""), []),
                (("set", "1", "freq=1", "keep"), ["keep=", "keep_entries="]), (("set", "1", "keep", "=", "x"), []),
                (("set", "1", "keep", "="), []), (("sub", "set", "1", "se"), ["secret="]), (("sub", "log", "1", "se"), []),
                (("help", "--man", "feedmill-"), ["feedmill-serve.1"]), (("help", "--completion", ""), ["bash", "fish", "zsh"]),
                (("help", "--c"), ["--completion"]), (("nonsense", ""), [])):
            self.assertEqual(offered, sorted(self.complete(script, "feedmill", *words)), words)

    def test_zsh(self):                                                  # OPS-06
        script = self.made("_feedmill", "help", "--completion", "zsh")
        text = open(script, encoding="utf-8").read()
        self.assertTrue(text.startswith("#compdef feedmill\n"))
        for name in commands():
            self.assertIn("\n    %s)\n" % name, text)
        for name in options():
            self.assertRegex(text, r"(?m)^ +'\*?--%s(=-)?\[" % name)
        self.assertIn(":ROLE:(read subscribe admin)'", text)
        self.assertIn(":FORMAT:(text json)'", text)
        self.assertIn("addresses, e.g. 10.0.0.0/8]:CIDR: '", text)       # a sentence, not the text up to its first full stop
        self.assertIn('{compadd -S "" -- freq= title= folder= mirror= keep= keep_entries=}', text)
        self.assertIn(":SHELL:( bash zsh fish)'", text)
        self.checked_by("zsh", "-n", script)

    def test_fish(self):                                                 # OPS-06
        script = self.made("feedmill.fish", "help", "--completion", "fish")
        text = open(script, encoding="utf-8").read()
        for name in commands():
            self.assertIn("\ncomplete -c feedmill -n __feedmill_first -a %s -d '" % name, text)
        for name in options():
            self.assertIn("'__feedmill_in serve' -l %s -d '" % name, text)
        self.checked_by("fish", "--no-execute", script)
        if shutil.which("fish") is None:
            return
        for line, offered in (("feedmill se", ["search", "serve", "set"]), ("feedmill set 1 keep", ["keep=", "keep_entries="]),
                              ("feedmill sub set 1 se", ["secret="]), ("feedmill sub log 1 se", []),
                              ("feedmill token add --role ", ["admin", "read", "subscribe"]),
                              ("feedmill help --completion z", ["zsh"]), ("feedmill sub re", ["replay", "resume", "retry-dead"])):
            found = run("fish", "--no-config", "-c", "source %s; complete -C '%s'" % (script, line)).splitlines()
            self.assertEqual(offered, sorted(word.partition("\t")[0] for word in found), line)
