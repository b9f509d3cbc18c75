"""A database that takes nothing for a while: whatever is acknowledged meanwhile was not written down."""
import contextlib
import os
import sqlite3
import subprocess
import threading

from .daemon import PATIENCE, wait_for
from .postgres import programs

# a node beats meanwhile, or it would lose its lease
LOCK = """BEGIN; SET LOCAL lock_timeout = '%ds';
DO $$ BEGIN EXECUTE (SELECT 'LOCK TABLE ' || string_agg(tablename, ', ') || ' IN EXCLUSIVE MODE' FROM pg_tables
WHERE schemaname = 'public' AND tablename NOT IN ('nodes', 'slots')); END $$;
\\echo held
"""


@contextlib.contextmanager
def locked_file(path):
    db = sqlite3.connect(path, timeout=10 * PATIENCE, isolation_level=None)
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        db.execute("ROLLBACK")
        db.close()


@contextlib.contextmanager
def locked_tables(address):
    command = [os.path.join(programs(), "psql"), "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", address]
    session = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        session.stdin.write(LOCK % (10 * PATIENCE))
        session.stdin.flush()
        if session.stdout.readline() != "held\n":
            raise AssertionError("the tables could not be locked")
        yield
    finally:
        session.stdin.close()       # it rolls back
        session.wait(60 * PATIENCE)
        session.stdout.close()


def held(daemon):
    """Nothing is committed within."""
    return (locked_tables if daemon.db.startswith("postgresql:") else locked_file)(daemon.db)


def answers(daemon, call):
    """What `call` returned while nothing could be committed (None: it was waiting), and in the end."""
    got = []
    thread = threading.Thread(target=lambda: got.append(call()))
    with held(daemon):
        thread.start()
        wait_for(lambda: got or daemon.counter("http_held") > 0, 20, "that it waits", daemon)
        for _ in range(3):  # all that it waits for but a commit comes before these are answered
            assert daemon.get("/sub?type=json").status == 200
        early = list(got)
    thread.join(60 * PATIENCE)
    return early[0] if early else None, got[0] if got else None
