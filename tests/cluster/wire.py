"""Which statements a node sends to PostgreSQL: reads the frontend's messages as they pass a proxy (PostgreSQL's manual,
"Message Formats")."""

ENCRYPTION = (80877103, 80877104)       # requests for TLS and GSSAPI, before the startup message


class Statements:
    """Of one connection. `find(beginning, where)`: at the next statement with this beginning, feed() returns a place."""

    def __init__(self):
        self.rest, self.is_started, self.texts = b"", False, {}
        self.wanted, self.is_bound = None, False

    def find(self, beginning, where):
        """`where`: before the statement is sent, or after."""
        self.wanted, self.is_bound = (beginning, where), False

    def feed(self, some):
        """Where, in these bytes, the connection is at the point that is looked for; None: it is not."""
        gone, found = -len(self.rest), None     # of what is left, that much is in earlier bytes
        self.rest += some
        while (n := self._length()) and len(self.rest) >= n:
            message, self.rest = self.rest[:n], self.rest[n:]
            if self._is_there(message):
                found, self.wanted = max(0, gone + (0 if self.where == "before" else n)), None
            gone += n
        return found

    def _length(self):
        """Of the next message; 0: not known yet."""
        at = 1 if self.is_started else 0
        return at + int.from_bytes(self.rest[at:at + 4], "big") if len(self.rest) >= at + 4 else 0

    def _is_there(self, message):
        if not self.is_started:
            self.is_started = int.from_bytes(message[4:8], "big") not in ENCRYPTION
            return False
        kind = message[:1]
        if kind == b"P":
            name, text = message[5:].split(b"\0", 2)[:2]
            self.texts[name] = text
        if not self.wanted:
            return False
        beginning, self.where = self.wanted
        if kind == b"B":
            self.is_bound = self.texts.get(message[5:].split(b"\0", 2)[1], b"").startswith(beginning)
            return self.is_bound and self.where == "before"
        return kind == b"E" and self.is_bound and self.where == "after"
