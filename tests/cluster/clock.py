"""The wall clock of one node, wrong: libfaketime is loaded into it and reads a file. Its monotonic clock stays right, as
when somebody sets the time of a machine."""
import glob

from . import preload

LIBRARIES = "/usr/lib/*/faketime/libfaketimeMT.so.1"
LOOKS_S = 1         # so often it reads the file


def missing():
    """Why there is none; None: there is."""
    return preload.missing() or (None if glob.glob(LIBRARIES) else "libfaketime is not installed")


class Clock:
    def __init__(self, folder):
        self.path = folder + "/clock"
        self.set()

    def environment(self):
        # without FORCE_MONOTONIC_FIX=0 waits by the monotonic clock end at once: nodes do not rest, nor wait when they stop
        return {"FAKETIME_TIMESTAMP_FILE": self.path, "FAKETIME_CACHE_DURATION": str(LOOKS_S),
                "FAKETIME_FORCE_MONOTONIC_FIX": "0",
                "FAKETIME_DONT_FAKE_MONOTONIC": "1", "DONT_FAKE_MONOTONIC": "1", "NO_FAKE_STAT": "1"}

    def library(self):
        return glob.glob(LIBRARIES)[0]

    def set(self, seconds=0.0):
        """It is so many seconds ahead. (A rate would change the waits of the node, too, so who wants drift calls it often.)"""
        with open(self.path, "w", encoding="ascii") as file:
            file.write("%+.3f\n" % seconds)
