"""A reader of server-sent events, as the WHATWG specification describes it (HTML, section 9.2)."""
import http.client
import socket
import threading

from .daemon import PATIENCE


class Event:
    def __init__(self, kind, data, id_):
        self.kind, self.data, self.id = kind, data, id_

    def __repr__(self):
        return "Event(%s, %s)" % (self.kind, self.id)


class Parser:
    """Section 9.2.6, "Interpreting an event stream". Takes bytes, gives events."""

    def __init__(self):
        self.rest, self.begun = b"", False
        self.last_id, self.id, self.retry, self.comments = "", "", None, 0
        self._clear()

    def _clear(self):
        self.kind, self.data = "", []

    def feed(self, some):
        self.rest += some
        if not self.begun:
            if len(self.rest) < 3 and b"\xef\xbb\xbf".startswith(self.rest):
                return
            self.begun = True
            if self.rest.startswith(b"\xef\xbb\xbf"):
                self.rest = self.rest[3:]
        while True:
            ends = [i for i in (self.rest.find(b"\r"), self.rest.find(b"\n")) if i >= 0]
            if not ends:
                return
            end = min(ends)
            if self.rest[end:] == b"\r":
                return  # LF may follow
            line = self.rest[:end].decode("utf-8", "replace")
            self.rest = self.rest[end + (2 if self.rest[end:end + 2] == b"\r\n" else 1):]
            event = self.line(line)
            if event:
                yield event

    def line(self, line):
        if line == "":
            return self.dispatch()
        if line.startswith(":"):
            self.comments += 1
            return None
        name, _, value = line.partition(":")
        value = value[1:] if value.startswith(" ") else value
        if name == "event":
            self.kind = value
        elif name == "data":
            self.data.append(value)
        elif name == "id" and "\0" not in value:
            self.id = value
        elif name == "retry" and value.isascii() and value.isdigit():
            self.retry = int(value)
        return None

    def dispatch(self):
        self.last_id = self.id
        event = Event(self.kind or "message", "\n".join(self.data), self.last_id)
        there = bool(self.data)
        self._clear()
        return event if there else None


class EventReader:
    """One connection to /events. next() waits for an event; until(n) for n of them."""

    def __init__(self, daemon, query="", last_id=None, room=None, **headers):
        self.parser, self.events = Parser(), []
        fields = {k.replace("_", "-"): v for k, v in headers.items()}
        if last_id is not None:
            fields["Last-Event-ID"] = last_id
        self.connection = http.client.HTTPConnection("127.0.0.1", daemon.port)
        self.sock = self.connection.sock = socket.socket()
        self.sock.settimeout(30 * PATIENCE)
        if room:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
        self.sock.connect(("127.0.0.1", daemon.port))
        self.connection.request("GET", "/events" + query, headers=fields)
        self.answer = self.connection.getresponse()

    @property
    def last_id(self):
        return self.parser.last_id

    def read(self):
        """Read what there is; False at the end."""
        some = self.answer.read1(65536)
        self.events += self.parser.feed(some)
        return bool(some)

    def begin(self):
        """Wait for the first lines, after which the stream has its position."""
        while self.parser.retry is None or not self.last_id:
            if not self.read():
                raise AssertionError("the stream ended before its first lines")
        return self

    def until(self, n):
        while len(self.events) < n:
            if not self.read():
                raise AssertionError("the stream ended after %d of %d events" % (len(self.events), n))
        return self.events

    def close(self):
        """Leave with a reset: a client that ends its side early could still be reading."""
        if self.sock.fileno() >= 0:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self.answer.close()
        self.connection.close()


class FaithfulReader(threading.Thread):
    """Reads until stop(); when the stream breaks it comes again with the id of the last event."""

    def __init__(self, daemon, query, last_id=None):
        super().__init__(daemon=True)
        self.d, self.query, self.last_id = daemon, query, last_id
        self.events, self.n_connections, self.stopped = [], 0, threading.Event()
        self.wrong = []
        self.start()

    def run(self):
        while not self.stopped.is_set():
            reader = None
            try:
                reader = EventReader(self.d, self.query, self.last_id)
                if reader.answer.status != 200:
                    self.wrong.append(reader.answer.status)
                    return
                self.n_connections += 1
                done = 0
                while reader.read() and not self.stopped.is_set():
                    self.events += reader.events[done:]
                    done = len(reader.events)
                    self.last_id = reader.last_id or self.last_id
            except (OSError, http.client.HTTPException):
                self.stopped.wait(0.02)
            finally:
                if reader:
                    reader.close()

    def stop(self):
        self.stopped.set()
