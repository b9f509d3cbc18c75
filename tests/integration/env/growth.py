"""A feed that gets entry after entry."""
import threading

from .origin import rss

MOST = 400   # entries; the log can still be read in one piece


def grow(case, d, origin, url, pause=0.1):
    """Publish at /f.xml of the origin until the function that this returns is called, or the test ends. Without the
    pause many pings would become one fetch."""
    until = threading.Event()

    def publish():
        n = 0
        while not until.wait(pause) and n < MOST:
            n += 1
            origin.set("/f.xml", rss(*("new %d" % k for k in range(n, max(n - 5, 0), -1))))
            d.ping(url)
            d.feed(url)

    def stop():
        until.set()
        thread.join()

    thread = threading.Thread(target=publish)
    thread.start()
    case.addCleanup(stop)
    return stop
