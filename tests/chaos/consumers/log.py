"""Readers of /log: each page begins at the cursor of the one before it."""
import http.client
import threading
import urllib.parse

from .. import check


class Consumer(threading.Thread):
    kind = "log"
    actions, n_subs = (), 1

    def __init__(self, run, n, dice):
        super().__init__(daemon=True)
        self.run_, self.dice, self.key = run, dice, "/log/%d" % n
        self.stopped = threading.Event()

    def subscribe(self, feeds, began):
        """`feeds` None: all."""
        whole = feeds is None or self.dice.random() < 0.3
        self.more = "" if whole else "&url=" + urllib.parse.quote(",".join(feeds), safe="")
        self.since = self.run_.daemon.get("/log?since=end").json["cursor"]
        self.got = []
        self.run_.record.subs[self.key] = {"kind": self.kind, "feeds": None if whole else list(feeds),
                                           "began": began(), "got": self.got}
        self.start()

    def run(self):
        while not self.stopped.is_set():
            try:
                answer = self.run_.daemon.get("/log?since=%s&max=%d&timeout=%d%s" % (
                    self.since, self.dice.choice((1, 7, 100)), self.dice.choice((0, 1, 2)), self.more))
                if answer.status == 503:
                    self.stopped.wait(0.1)
                    continue
                if answer.status != 200:
                    self.run_.record.wrong.append("%s: %d %r" % (self.key, answer.status, answer.body[:300]))
                    return
                page = answer.json
                self.got += [check.as_read(row) for row in page["revisions"]]
                self.since = page["cursor"]
                self.stopped.wait(self.dice.uniform(0, 0.3))
            except (OSError, http.client.HTTPException, ValueError):
                self.stopped.wait(0.05)

    def stop(self):
        self.stopped.set()
