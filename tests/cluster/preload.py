"""Libraries that are loaded into the nodes."""
from integration.env.daemon import BINARY


def missing():
    """Why nothing can be loaded; None: it can."""
    with open(BINARY, "rb") as program:
        return "a sanitizer must be loaded first" if b"__asan_init" in program.read() else None
