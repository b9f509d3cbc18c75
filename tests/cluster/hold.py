"""Nodes that stop at a chosen point, not at any: right before a request is sent (hold.c, loaded into the node), or at a
statement on its way to the database (proxy.py)."""
import os
import shutil
import subprocess
import tempfile

from . import preload

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "hold.c")


def missing():
    return preload.missing() or (None if shutil.which("cc") else "there is no C compiler")


def build(folder):
    """Returns the library."""
    made = folder + "/hold.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o", made, SOURCE, "-ldl"], check=True)
    return made


class Hold:
    """The point of one node."""

    def __init__(self, folder):
        self.file = tempfile.NamedTemporaryFile(dir=folder, prefix="hold-", buffering=0)
        self.disarm()

    def environment(self):
        return {"FEEDMILL_HOLD": self.file.name}

    def arm(self, kind):
        """The node stops before the next request: G, a fetch; P, a call to an endpoint."""
        os.pwrite(self.file.fileno(), kind.encode(), 0)

    def disarm(self):
        os.pwrite(self.file.fileno(), b"-", 0)

    def has_stopped(self):
        return os.pread(self.file.fileno(), 1, 0) == b"s"
