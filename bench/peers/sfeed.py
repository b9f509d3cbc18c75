"""sfeed, which reads one document from standard input: sfeed.py LIST PROGRAM."""
import os
import sys
import tempfile

import engine

PROGRAM = sys.argv[2]
SINK = os.open(os.devnull, os.O_WRONLY)


def start(document, out=SINK):
    """Processor time of one process that reads `document`, an open file."""
    os.lseek(document, 0, os.SEEK_SET)
    pid = os.posix_spawn(PROGRAM, [PROGRAM], {},
                         file_actions=[(os.POSIX_SPAWN_DUP2, document, 0),
                                       (os.POSIX_SPAWN_DUP2, out, 1)])
    usage = os.wait4(pid, 0)[2]
    return usage.ru_utime + usage.ru_stime


def in_memory(content=b""):
    fd = os.memfd_create("document")
    with open(fd, "wb", closefd=False) as f:
        f.write(content)
    return fd


def parse(document):
    fd = in_memory(document)
    with tempfile.TemporaryFile() as out:
        start(fd, out.fileno())
        out.seek(0)
        n = sum(1 for _ in out)
    os.close(fd)
    return n


def passes(_, documents, seconds):
    nothing, opened = in_memory(), [in_memory(d) for d in documents]
    n, used, spent = 0, 0.0, 0.0
    while n == 0 or spent < seconds:
        for fd in opened:
            with_document, without = start(fd), start(nothing)
            used += with_document - without
            spent += with_document + without
        n += 1
    for fd in [nothing, *opened]:
        os.close(fd)
    return n, used


engine.serve(parse, passes=passes)
