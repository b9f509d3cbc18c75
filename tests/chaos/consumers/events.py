"""Readers of /events that come again with Last-Event-ID. They leave at random, and read slowly at random."""
import http.client
import json
import socket
import threading
import urllib.parse

from integration.env.events import EventReader

from .. import check


class Consumer(threading.Thread):
    kind = "events"
    actions, n_subs = (), 1

    def __init__(self, run, n, dice):
        super().__init__(daemon=True)
        self.run_, self.dice, self.key = run, dice, "/events/%d" % n
        self.last_id, self.reader, self.stopped = None, None, threading.Event()
        self.patience = dice.choice((10**9, 10**9, 200, 20))    # events after which it leaves
        self.slow = dice.random() < 0.2

    def subscribe(self, feeds, began):
        whole = self.dice.random() < 0.3
        self.query = "" if whole else "?url=" + urllib.parse.quote(",".join(feeds), safe="")
        self.last_id = self.run_.daemon.get("/log?since=end").json["cursor"]
        self.got = []
        self.run_.record.subs[self.key] = {"kind": self.kind, "feeds": None if whole else list(feeds),
                                           "began": began(), "got": self.got}
        self.start()

    def run(self):
        while not self.stopped.is_set():
            reader = None
            try:
                reader = self.reader = EventReader(self.run_.daemon, self.query, self.last_id,
                                     room=4096 if self.slow else None)
                if reader.answer.status == 503:
                    self.stopped.wait(0.1)
                    continue
                if reader.answer.status != 200:
                    self.run_.record.wrong.append("%s: status %d" % (self.key, reader.answer.status))
                    return
                reader.sock.settimeout(5)
                self.read(reader)
            except (OSError, http.client.HTTPException):
                self.stopped.wait(0.05)
            finally:
                if reader:
                    reader.close()

    def read(self, reader):
        done = 0
        while not self.stopped.is_set() and reader.read():
            for event in reader.events[done:]:
                row = json.loads(event.data)
                if event.id != row["cursor"] or event.kind != row["kind"]:
                    self.run_.record.wrong.append("%s: event %r has %s" % (self.key, event, event.data))
                self.got.append(check.as_read(row))
            done = len(reader.events)
            self.last_id = reader.last_id or self.last_id
            if done > self.patience:
                return
            if self.slow and not self.run_.calm and self.dice.random() < 0.1:
                self.stopped.wait(0.5)

    def stop(self):
        self.stopped.set()
        reader = self.reader
        if reader:
            try:
                reader.sock.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
