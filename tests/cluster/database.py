"""A PostgreSQL and its standby, which takes over when the primary is killed."""
import contextlib
import json
import os
import signal
import subprocess
import threading
import time

from integration.env.daemon import wait_for
from integration.env.postgres import DATABASE, USER, Postgres, environment, run_as
from integration.env.servers import free_port

from . import disk

SETTINGS = {"wal_keep_size": "128MB", "wal_retrieve_retry_interval": "200ms", "hot_standby_feedback": "on",
            "max_connections": 120}


def kill_all(server):
    """kill -9 of the postmaster and all its sessions; a session that lives would hold the memory that they share."""
    pids = []
    with contextlib.suppress(OSError):
        with open("/proc/%d/task/%d/children" % (server.pid, server.pid), encoding="ascii") as children:
            pids = [int(pid) for pid in children.read().split()]
    server.process.kill()
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    server.process.wait(60)


class Primary(Postgres):
    """Its files are on a disk of its own, where that is possible."""
    make_folder, remove_folder = staticmethod(disk.folder), staticmethod(disk.remove)


    def answers(self, seconds=3):
        """Does it take sessions, now or soon? It starts its processes anew when one of them has failed."""
        until = time.monotonic() + seconds
        while self.process.poll() is None and time.monotonic() < until:
            if self._is_ready():
                return True
            time.sleep(0.1)
        return False


class Standby(Primary):
    """A copy of another server that follows it."""

    def __init__(self, primary):
        self.bin, self.port = primary.bin, free_port()
        self.folder = self.make_folder("postgres", in_memory=True)
        self.data = os.path.join(self.folder, "data")
        self.user, self.process = run_as(), None
        self.env = environment(self.folder)
        try:
            if self.user:
                os.chown(self.folder, self.user["user"], self.user["group"])
            self._run("pg_basebackup", "-D", self.data, "-h", primary.folder, "-p", str(primary.port), "-U",
                      "postgres", "-R", "-X", "stream", "-c", "fast", "--no-sync")
            with open(self.data + "/postgresql.auto.conf", "a", encoding="utf-8") as conf:
                conf.write("port = %d\nunix_socket_directories = '%s'\nsynchronous_standby_names = ''\n"
                           % (self.port, self.folder))
            self.start()
        except BaseException:
            self.close()
            raise


class Session:
    """A psql that stays connected: a statement a line, an answer of one row of JSON."""

    def __init__(self, server):
        self.process = subprocess.Popen(
            [server.bin + "/psql", "-X", "-q", "-A", "-t", "-h", server.folder, "-p", str(server.port), "-U", "postgres",
             "-d", DATABASE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            env=server.env, cwd="/")

    def ask(self, sql):
        """None: there was no answer."""
        try:
            self.process.stdin.write(" ".join(sql.split()) + ";\n\\echo\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
            if not line:
                return None
            if line.strip():
                self.process.stdout.readline()
                return json.loads(line)
            return None
        except (OSError, ValueError):
            return None

    def close(self):
        self.process.kill()
        self.process.wait(10)
        for stream in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(OSError):      # a statement is in it that nobody reads
                stream.close()


class Pair:
    """`primary` takes the writes. `is_sync`: a commit waits for the standby, whenever there is one."""

    def __init__(self, is_sync=True):
        self.is_sync, self.standby, self.lock = is_sync, None, threading.Lock()
        self.primary = Primary(**SETTINGS)
        try:
            self.rebuild()
        except BaseException:
            self.close()
            raise

    def set(self, server, **settings):
        for name, value in settings.items():
            server.psql("ALTER SYSTEM SET %s = '%s'" % (name, value), database="postgres")
        server.psql("SELECT pg_reload_conf()", database="postgres")

    def rebuild(self):
        """Make a new standby, and wait until it follows."""
        standby = Standby(self.primary)
        with self.lock:
            self.standby = standby
        self.await_standby()
        if self.is_sync:
            self.set(self.primary, synchronous_standby_names="*")

    def await_standby(self):
        wait_for(lambda: self.primary.psql("SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'",
                                           database="postgres") == "1", what="the standby")

    def crash(self):
        """kill -9 of all its processes, and start it."""
        kill_all(self.primary)
        time.sleep(0.2)
        self.primary.start()

    def fill_disk(self, left):
        """The primary's disk has room for so many bytes more."""
        disk.fill(self.primary.folder, left)

    def free_disk(self):
        """There is room again. The server may have ended meanwhile."""
        disk.free(self.primary.folder)
        if not self.primary.answers():
            kill_all(self.primary)
            self.primary.start()

    def lag(self):
        """From now on nothing comes to the standby, and nobody waits for it."""
        self.set(self.primary, synchronous_standby_names="")
        self.set(self.standby, primary_conninfo="")
        wait_for(lambda: self.primary.psql("SELECT count(*) FROM pg_stat_replication", database="postgres") == "0",
                 what="the end of replication")

    def fail_over(self):
        """The primary is killed for ever, and the standby takes its place. Nobody follows it before rebuild()."""
        kill_all(self.primary)
        self.standby.psql("SELECT pg_promote(true, 60)", database="postgres")
        with self.lock:
            old, self.primary, self.standby = self.primary, self.standby, None
        old.close()

    def end_session(self, dice):
        """End one session of the nodes."""
        pids = self.primary.psql("SELECT pid FROM pg_stat_activity WHERE usename = '%s' ORDER BY pid" % USER).split()
        if pids:
            self.primary.psql("SELECT pg_terminate_backend(%s)" % dice.choice(pids))

    def servers(self):
        with self.lock:
            return {"primary": self.primary, "standby": self.standby}

    def close(self):
        for server in (self.standby, self.primary):
            if server:
                server.close()
