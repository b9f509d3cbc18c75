"""A database that takes nothing for a while: whatever is acknowledged meanwhile was not written down."""
import contextlib
import os
import sqlite3
import threading

from .daemon import PATIENCE, wait_for


@contextlib.contextmanager
def held(daemon):
    """Nothing is committed within."""
    db = sqlite3.connect(os.path.join(daemon.folder, "feeds.db"), timeout=10 * PATIENCE,
                         isolation_level=None)
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        db.execute("ROLLBACK")
        db.close()


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
