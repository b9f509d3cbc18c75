"""A real PostgreSQL in a folder of its own: on loopback, on a free port, as another user when the tests run as
root."""
import contextlib
import glob
import os
import pwd
import re
import secrets
import shutil
import signal
import subprocess
import time
import unittest
import urllib.parse

from .servers import free_port, server_folder, spawn

VERSION_MIN = 15
LOAN = "FEEDMILL_POSTGRES_LOAN"     # folder, port and process of a server that gives databases to others
TEMPLATE = "template"               # in its folder: what initdb has made
USER, DATABASE = "mill", "feedmill"
PASSWORD = "pa:ss/w@rd é%"
PATIENCE = float(os.environ.get("FEEDMILL_PATIENCE", "1"))


def programs():
    """The folder of the newest PostgreSQL that is installed and new enough; None: there is none."""
    found = [(int(m.group(1)), m.group(0)) for m in (re.match(r"/usr/lib/postgresql/(\d+)/bin$", f)
                                                     for f in glob.glob("/usr/lib/postgresql/*/bin"))
             if m and os.path.exists(m.group(0) + "/initdb")]
    version, folder = max(found, default=(0, None))
    return folder if version >= VERSION_MIN else None


def run_as():
    """The user of its programs, as options of subprocess: they refuse root."""
    if os.geteuid() != 0:
        return {}
    entry = pwd.getpwnam("postgres")
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


def environment(folder):
    return {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "HOME": folder, "TZ": "UTC"}


class Postgres:
    """The role USER, which has no rights but on DATABASE, its own, with PASSWORD over TCP. Over the socket
    everybody is believed. `in_memory`: its files are, where there is room. `lends`: it keeps its files as they were at first, in
    TEMPLATE, for others. `settings`: lines of postgresql.conf."""
    make_folder, remove_folder = staticmethod(server_folder), staticmethod(lambda path: shutil.rmtree(path, ignore_errors=True))

    def __init__(self, in_memory=True, lends=False, **settings):
        self.bin = programs()
        if not self.bin:
            raise unittest.SkipTest("PostgreSQL %d or later is not installed" % VERSION_MIN)
        self.port = free_port()
        self.folder = self.make_folder("postgres", in_memory)
        self.data = os.path.join(self.folder, "data")
        self.user, self.process = {}, None
        self.env = environment(self.folder)
        try:
            self.user = run_as()
            if self.user:
                os.chown(self.folder, self.user["user"], self.user["group"])
            self._make(settings, lends)
            self.start()
            self.psql("CREATE ROLE %s LOGIN PASSWORD '%s'" % (USER, PASSWORD), database="postgres")
            self.psql("CREATE DATABASE %s OWNER %s" % (DATABASE, USER), database="postgres")
        except BaseException:
            self.close()
            raise

    def _make(self, settings, lends):
        template = os.path.join(lender() or self.folder, TEMPLATE)
        if os.path.isdir(template):     # initdb takes a second of a processor
            self._run("/bin/cp", "-a", template, self.data)
        else:
            self._run("initdb", "-D", self.data, "-U", "postgres", "-A", "trust", "--no-sync", "--no-instructions",
                      "--locale=C.UTF-8", "--encoding=UTF8")
        if lends:
            self._run("/bin/cp", "-a", self.data, template)
        lines = {"listen_addresses": "127.0.0.1", "port": self.port, "unix_socket_directories": self.folder,
                 "fsync": "off", "max_connections": 60, "shared_buffers": "32MB", "logging_collector": "off",
                 "log_timezone": "UTC", "max_wal_size": "256MB"}
        lines.update(settings)
        with open(self.data + "/postgresql.auto.conf", "a", encoding="utf-8") as conf:
            conf.write("".join("%s = '%s'\n" % line for line in lines.items()))
        with open(self.data + "/pg_hba.conf", "w", encoding="utf-8") as hba:
            hba.write("local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\n"
                      "local replication all trust\n")

    def _run(self, program, *arguments, **more):
        return subprocess.run([os.path.join(self.bin, program)] + list(arguments), env=self.env, cwd=self.folder,
                              check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=120 * PATIENCE, **self.user, **more).stdout

    def start(self):
        """Returns when it takes connections."""
        with open(self.folder + "/log", "ab") as log:
            self.process = spawn([self.bin + "/postgres", "-D", self.data], stdout=log, stderr=log,
                                 stdin=subprocess.DEVNULL, env=self.env, cwd=self.folder, **self.user)
        until = time.monotonic() + 60 * PATIENCE
        while not self._is_ready():
            if self.process.poll() is not None or time.monotonic() > until:
                raise AssertionError("PostgreSQL does not start:\n" + self.text()[-4000:])
            time.sleep(0.02)

    def _is_ready(self):
        return subprocess.run([self.bin + "/pg_isready", "-q", "-h", self.folder, "-p", str(self.port)],
                              env=self.env, cwd=self.folder).returncode == 0

    def stop(self, how=signal.SIGQUIT):
        """SIGINT: it ends its sessions and writes everything. SIGQUIT, SIGKILL: it ends as in a crash."""
        if self.process.poll() is None:
            self.thaw()
        self.process.send_signal(how)
        self.process.wait(60 * PATIENCE)

    def _signal_all(self, number):
        """To the server and its sessions."""
        with open("/proc/%d/task/%d/children" % (self.process.pid, self.process.pid)) as children:
            pids = [self.process.pid] + [int(pid) for pid in children.read().split()]
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)

    def freeze(self):
        """From now on it is silent."""
        self.process.send_signal(signal.SIGSTOP)    # it makes no session any more
        self._signal_all(signal.SIGSTOP)

    def thaw(self):
        self._signal_all(signal.SIGCONT)

    def close(self):
        if self.process and self.process.poll() is None:
            self.stop()
        self.remove_folder(self.folder)

    def psql(self, sql, database=DATABASE, user="postgres"):
        """What the statement gives, columns by "|"."""
        return self._run("psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h", self.folder, "-p",
                         str(self.port), "-U", user, "-d", database, "-f", "-", input=sql).strip()

    @contextlib.contextmanager
    def holding(self, sql):
        """What the statement has locked stays locked."""
        session = subprocess.Popen([os.path.join(self.bin, "psql"), "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-h",
                                    self.folder, "-p", str(self.port), "-U", "postgres", "-d", DATABASE],
                                   env=self.env, cwd=self.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                   **self.user)
        try:
            session.stdin.write("BEGIN; %s;\n\\echo held\n" % sql)
            session.stdin.flush()
            while session.stdout.readline().strip() != "held":
                if session.poll() is not None:
                    raise AssertionError("the statement failed: " + sql)
            yield
        finally:
            session.stdin.close()   # it rolls back
            session.wait(60 * PATIENCE)
            session.stdout.close()

    @property
    def pid(self):
        return self.process.pid

    def loan(self):
        """What programs have in their environment that borrow databases of it."""
        return {LOAN: "%s %d %d" % (self.folder, self.port, self.pid)}

    def new_database(self):
        """Returns the address of another database, which is empty and belongs to USER. Its name is nobody else's,
        whoever has borrowed the server."""
        name = "%s_%s" % (DATABASE, secrets.token_hex(8))
        self.psql("CREATE DATABASE %s OWNER %s TEMPLATE template0" % (name, USER), database="postgres")
        return self.uri(database=name)

    def uri(self, user=USER, password=PASSWORD, host=None, database=DATABASE, query=""):
        return "postgresql://%s:%s@%s/%s%s" % (user, urllib.parse.quote(password, safe=""),
                                               host or "127.0.0.1:%d" % self.port, database, query)

    def text(self):
        """Its log."""
        with open(self.folder + "/log", encoding="utf-8", errors="replace") as log:
            return log.read()


def lender():
    """The folder of the server that is lent to this process; None: there is none."""
    folder = os.environ.get(LOAN, "").rsplit(" ", 2)[0]
    return folder if folder and os.path.isdir(folder) else None     # a test that is run again may be too late


class Borrowed(Postgres):
    """A server of somebody else, for a database in it."""

    def __init__(self, loan):
        self.bin = programs()
        self.folder, port, pid = loan.rsplit(" ", 2)
        self.port, self.lender = int(port), int(pid)
        self.user, self.process = run_as(), None
        self.env = environment(self.folder)

    @property
    def pid(self):
        return self.lender

    def close(self):
        pass


def borrowed():
    """A server for databases of one's own: the one that was lent to this process, or a new one."""
    return Borrowed(os.environ[LOAN]) if lender() else Postgres(lends=True, max_connections=400)
