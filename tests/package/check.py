#!/usr/bin/env python3
"""check.py PACKAGE: look at a Debian package, and install, upgrade, remove and purge it in a clean root (OPS-06).

Root is needed. The root comes from debootstrap, and is kept in build-package/root.tar. No service manager runs there: the
daemon is started as the unit would (user, sockets, NOTIFY_SOCKET), and a program in the place of systemctl passes on what the
scripts of the package ask of it."""
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

OUT = os.path.abspath("build-package")
MIRROR = "http://deb.debian.org/debian"
PATIENCE_S = 300
SYSTEMCTL = """#!/bin/sh
echo "$*" >>/tmp/systemctl.log
case $* in
*is-active*) [ -e /tmp/daemon.pid ] ;;
*SIGUSR2*) kill -USR2 "$(cat /tmp/daemon.pid)" ;;
esac
"""


def say(text):
    print(text, flush=True)


def run(*args, **kw):
    done = subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **kw)
    if done.returncode:
        sys.exit("check: %s\n%s" % (" ".join(args), done.stdout))
    return done.stdout


def expect(what, is_so):
    if not is_so:
        sys.exit("check: it is not so that %s" % what)
    say("  " + what)


def wait(what, is_so):
    until = time.monotonic() + PATIENCE_S
    while not is_so():
        if time.monotonic() > until:
            sys.exit("check: waited in vain until %s" % what)
        time.sleep(0.05)


def look_at_units(package):
    with tempfile.TemporaryDirectory() as folder:
        run("dpkg-deb", "-x", package, folder)
        units = [os.path.join(folder, "lib/systemd/system/feedmill." + kind) for kind in ("service", "socket")]
        # the program of the package is not on this machine's path
        text = open(units[0], encoding="utf-8").read()
        with open(units[0], "w", encoding="utf-8") as f:
            f.write(text.replace("/usr/bin/feedmill", "/bin/true"))
        expect("systemd-analyze verify finds nothing", run("systemd-analyze", "verify", "--man=no", *units) == "")
        said = run("systemd-analyze", "security", "--offline=true", "--no-pager", units[0])
        score = float(re.search(r"exposure level for \S+: ([\d.]+)", said).group(1))
        expect("the exposure of the unit is %.1f, at most 2.0" % score, score <= 2.0)
        for page in ("man1/feedmill.1.gz", "man1/feedmill-serve.1.gz", "man5/feedmill.conf.5.gz"):
            path = os.path.join(folder, "usr/share/man", page)
            expect("mandoc finds nothing in %s" % page, run("sh", "-c", "gzip -dc '%s' | mandoc -T lint -W warning" % path) == "")


def look_at_documents(package):
    """Each link of a document to a file leads to one that is in the package."""
    with tempfile.TemporaryDirectory() as folder:
        run("dpkg-deb", "-x", package, folder)
        root = os.path.join(folder, "usr/share/doc/feedmill")
        documents = [os.path.join(at, name) for at, _, names in os.walk(root) for name in names if name.endswith(".md")]
        expect("README.md, the changes and the documents are there, not compressed", len(documents) > 15)
        astray = []
        for path in documents:
            text = open(path, encoding="utf-8").read()
            for link in re.findall(r"\]\(([^)\s#]+)[^)\s]*\)|src(?:set)?=\"([^\"]+)\"", text):
                link = link[0] or link[1]
                if ":" not in link and not os.path.exists(os.path.join(os.path.dirname(path), link)):
                    astray.append((os.path.relpath(path, root), link))
        expect("no link of theirs leads astray: %s" % astray, not astray)


def newer(package):
    """The same package as a later version."""
    with tempfile.TemporaryDirectory() as folder:
        run("dpkg-deb", "-R", package, folder)
        path = os.path.join(folder, "DEBIAN/control")
        text = open(path, encoding="utf-8").read()
        with open(path, "w", encoding="utf-8") as f:
            f.write(re.sub(r"(?m)^(Version: .*)$", r"\1+next", text))
        out = os.path.join(OUT, "next.deb")
        run("dpkg-deb", "--root-owner-group", "-b", folder, out)
        return out


class Root:
    def __init__(self):
        base = os.path.join(OUT, "root.tar")
        self.path = tempfile.mkdtemp(prefix="feedmill-root-")
        if not os.path.exists(base):
            say("making a clean root")
            run("debootstrap", "--variant=minbase", "bookworm", self.path, MIRROR)
            run("tar", "-C", self.path, "-cf", base, ".")
        else:
            run("tar", "-C", self.path, "-xf", base)
        os.chmod(self.path, 0o755)          # the daemon's user must get into it
        shutil.copy("/etc/resolv.conf", self.at("/etc/resolv.conf"))
        run("mount", "--bind", "/proc", self.at("/proc"))
        self.run("apt-get", "update")

    def close(self):
        run("umount", self.at("/proc"))
        shutil.rmtree(self.path)

    def at(self, path):
        return self.path + path

    def run(self, *args):
        return run("chroot", self.path, "env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND=noninteractive",
                   "LC_ALL=C", *args)

    def put(self, path, text, mode=0o644):
        with open(self.at(path), "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(self.at(path), mode)

    def install(self, package):
        shutil.copy(package, self.at("/tmp/feedmill.deb"))
        return self.run("apt-get", "install", "-y", "--no-install-recommends", "/tmp/feedmill.deb")


class Daemon:
    """What systemd would do with the units of the package."""

    def __init__(self, root):
        self.root = root
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port = self.listener.getsockname()[1]
        self.notify = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.notify.bind(root.at("/run/notify"))
        self.notify.settimeout(PATIENCE_S)
        os.chmod(root.at("/run/notify"), 0o777)
        unit = open(root.at("/lib/systemd/system/feedmill.service"), encoding="utf-8").read()
        self.log = open(os.path.join(OUT, "daemon.log"), "w", encoding="utf-8")
        script = 'exec 3<&%d; cd /var/lib/feedmill; LISTEN_PID=$$ LISTEN_FDS=1 exec setpriv --reuid feedmill --regid feedmill ' \
                 '--clear-groups --no-new-privs --bounding-set=-all %s' % (
                     self.listener.fileno(), re.search("(?m)^ExecStart=(.*)$", unit).group(1))
        self.process = subprocess.Popen(
            ["/usr/sbin/chroot", root.path, "/bin/sh", "-c", script], pass_fds=[self.listener.fileno()], stdout=self.log, stderr=self.log,
            env={"PATH": "/usr/bin:/bin", "NOTIFY_SOCKET": "/run/notify", "WATCHDOG_USEC": "120000000"})
        root.put("/tmp/daemon.pid", "%d\n" % self.process.pid)
        self.until(b"READY=1")

    def until(self, state):
        while self.notify.recv(256) != state:
            pass

    def get(self, path, method="GET", body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        connection.request(method, path, body)
        answer = connection.getresponse()
        said = answer.read()
        connection.close()
        return answer.status, said

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        expect("the daemon ends with 0", self.process.wait(PATIENCE_S) == 0)
        os.unlink(self.root.at("/tmp/daemon.pid"))


class Clients:
    """Threads that ask as fast as they can, each request on a connection of its own."""

    def __init__(self, daemon, n):
        self.daemon, self.is_over, self.failed, self.asked = daemon, threading.Event(), [], 0
        self.threads = [threading.Thread(target=self.ask) for _ in range(n)]
        for t in self.threads:
            t.start()

    def ask(self):
        while not self.is_over.is_set():
            try:
                status, _ = self.daemon.get("/sub?type=json")
                if status != 200:
                    self.failed.append(status)
            except (OSError, http.client.HTTPException) as e:
                self.failed.append(repr(e))
            self.asked += 1

    def end(self):
        self.is_over.set()
        for t in self.threads:
            t.join()


def try_it(root, package):
    next_one = newer(package)
    say("install")
    root.install(package)
    ids = root.run("id", "feedmill")
    expect("there is a user feedmill of the system", int(re.search(r"uid=(\d+)", ids).group(1)) < 1000)
    expect("nobody can log in as it", "nologin" in root.run("getent", "passwd", "feedmill"))
    expect("only the daemon may read the options",
           root.run("stat", "-c", "%a %U %G", "/etc/feedmill.conf").strip() == "640 root feedmill")
    expect("its data are its own", root.run("stat", "-c", "%a %U %G", "/var/lib/feedmill").strip() == "750 feedmill feedmill")
    expect("units, completions and options are there", all(os.path.exists(root.at(path)) for path in (
        "/lib/systemd/system/feedmill.service", "/lib/systemd/system/feedmill.socket", "/etc/feedmill.conf",
        "/usr/share/bash-completion/completions/feedmill.bash", "/usr/share/zsh/vendor-completions/_feedmill",
        "/usr/share/fish/vendor_completions.d/feedmill.fish")))
    expect("both units are enabled", all(os.path.lexists(root.at("/etc/systemd/system/" + path)) for path in (
        "multi-user.target.wants/feedmill.service", "sockets.target.wants/feedmill.socket")))

    say("upgrade")
    with open(root.at("/etc/feedmill.conf"), "a", encoding="utf-8") as f:
        f.write("allow-fetch = 127.0.0.0/8\n")
    os.makedirs(root.at("/run/systemd/system"))
    root.put("/usr/bin/systemctl", SYSTEMCTL, 0o755)
    daemon = Daemon(root)
    expect("the daemon serves", daemon.get("/healthz")[0] == 200)
    status, made = daemon.get("/sub", "POST", "endpoint=http://127.0.0.1:9/&url=http://127.0.0.1:9/feed")
    expect("it takes a subscription (%d)" % status, status // 100 == 2)
    program = os.stat("/proc/%d/exe" % daemon.process.pid).st_ino
    clients = Clients(daemon, 8)
    wait("clients ask", lambda: clients.asked > 50)
    root.install(next_one)
    daemon.until(b"READY=1")
    before = clients.asked
    wait("clients go on", lambda: clients.asked > before + 50)
    clients.end()
    expect("no request of %d failed: %s" % (clients.asked, clients.failed[:3]), not clients.failed)
    expect("the process is the same, its program a new one", daemon.process.poll() is None
           and os.stat("/proc/%d/exe" % daemon.process.pid).st_ino != program)
    expect("the subscription is there", len(json.loads(daemon.get("/sub?type=json")[1])) > 0)
    expect("what was set stays", "allow-fetch = 127.0.0.0/8" in open(root.at("/etc/feedmill.conf"), encoding="utf-8").read()
           and root.run("stat", "-c", "%a %G", "/etc/feedmill.conf").strip() == "640 feedmill")
    daemon.end()

    say("remove")
    root.run("dpkg", "--remove", "feedmill")
    expect("the program is gone, options and data are not", not os.path.exists(root.at("/usr/bin/feedmill"))
           and os.path.exists(root.at("/etc/feedmill.conf")) and os.path.exists(root.at("/var/lib/feedmill/feeds.db")))
    root.install(package)
    expect("it can be installed again", "feedmill" in root.run("feedmill", "version"))

    say("purge")
    root.run("dpkg", "--purge", "feedmill")
    left = root.run("sh", "-c", "find / -xdev -path /proc -prune -o -path /tmp -prune -o -path /run -prune -o -name '*feedmill*' -print")
    expect("nothing is left: %s" % left.split(), not left.split())


def main():
    if len(sys.argv) != 2 or os.geteuid() != 0:
        sys.exit("usage, as root: tests/package/check.py PACKAGE")
    package = os.path.abspath(sys.argv[1])
    say("look")
    expect("lintian finds no error", "E: " not in run("lintian", "--fail-on", "error", "--allow-root", package))
    look_at_units(package)
    look_at_documents(package)
    root = Root()
    try:
        try_it(root, package)
    finally:
        root.close()
    say("all is well")


main()
