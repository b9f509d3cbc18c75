#!/usr/bin/env python3
"""with_postgres.py [--borrow | --lend] PROGRAM ARGUMENT...: runs a unit test beside a PostgreSQL that is its alone.
The program gets
  FEEDMILL_POSTGRES         the URI of the database, as a role without rights elsewhere
  FEEDMILL_POSTGRES_SUPER   the same as a superuser, over the socket
  FEEDMILL_POSTGRES_PID     the server's process
Exit code 77: PostgreSQL is not installed.

--borrow: a database of its own is enough. --lend: PROGRAM runs tests, and those that borrow get their databases from
this server, because to start one takes seconds; without PostgreSQL it runs all the same."""
import os
import signal
import subprocess
import sys
import unittest

TESTS = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
KNOWN_LEAKS = os.path.join(TESTS, "lsan.supp")
sys.path.insert(0, os.path.join(TESTS, "integration"))
from env.postgres import Postgres, borrowed  # noqa: E402


def run(server, address):
    env = dict(os.environ, LSAN_OPTIONS="print_suppressions=0:suppressions=" + KNOWN_LEAKS,
               FEEDMILL_POSTGRES=address,
               FEEDMILL_POSTGRES_PID=str(server.pid),
               FEEDMILL_POSTGRES_SUPER="postgresql://postgres@/%s?host=%s&port=%d"
               % (address.rsplit("/", 1)[1], server.folder, server.port))
    code = subprocess.run(sys.argv[1:], env=env).returncode
    if code:
        lines = [line[:300] for line in server.text().split("\n")[-40:]]
        sys.stderr.write("---- the server's log ----\n" + "\n".join(lines))
    return code if code >= 0 else 128 - code


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # the test runner's time-out; the server is stopped below
    how = sys.argv.pop(1) if sys.argv[1] in ("--borrow", "--lend") else ""
    try:
        server = borrowed() if how else Postgres()
    except unittest.SkipTest as why:
        if how == "--lend":
            return subprocess.run(sys.argv[1:]).returncode
        print(why)
        return 77
    try:
        if how == "--lend":
            return subprocess.run(sys.argv[1:], env=dict(os.environ, **server.loan())).returncode
        return run(server, server.new_database() if how == "--borrow" else server.uri())
    finally:
        server.close()


sys.exit(main())
