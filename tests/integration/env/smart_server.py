"""A Smart Feed server written from the specification ("HTTP Pull", "HTTP Push", "Cursors") alone: no
version log, so its cursors are T_O_C, and one whose check fails is taken as a time."""
import http.server
import json
import socket
import socketserver
import threading
import time
import urllib.parse
import zlib
from xml.sax.saxutils import escape, quoteattr

FO = "http://fanout.org/protocol/atom"


class Item:
    def __init__(self, name, at):
        self.id, self.title, self.created, self.modified, self.deleted = name, None, at, at, False


class Ask:
    def __init__(self, handler):
        self.path, self.headers, self.at = handler.path, handler.headers, time.monotonic()
        self.base, _, query = handler.path.partition("?")
        self.query = urllib.parse.parse_qs(query, keep_blank_values=True)
        self.status = 200

    def get(self, name, default=None):
        values = self.query.get(name, [default])
        assert len(values) == 1, self.path
        return values[0]


class SmartServer:
    """`page`: items of an answer by default; `most`: more are not given; `refuses_max`: 400 when `max`
    is given; `links`: whether it gives `next`; `kinds`: of "atom", "json", those it speaks. `script`: for
    each request in turn a status, "cut" (the connection breaks in the body), "short" (the body ends in
    its middle, as if it were all), a function (ask) -> None or (status, fields, body); then it answers."""

    def __init__(self, page=50, most=1000, refuses_max=False, links=True, kinds=("atom", "json"), hub=None,
                 names_itself=True):
        self.page, self.most, self.refuses_max, self.links = page, most, refuses_max, links
        self.kinds, self.hub, self.script, self.asked = kinds, hub, [], []
        self.names_itself = names_itself
        self.items, self.clock, self.lock = {}, 1600000000, threading.RLock()
        self.on_ask = None
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                ask = Ask(self)
                with server.lock:
                    server.asked.append(ask)
                    step = server.script.pop(0) if server.script else None
                if server.on_ask:
                    server.on_ask(ask)
                status, fields, body = server.answer(ask) if not callable(step) else (
                    step(ask) or server.answer(ask))
                if isinstance(step, int):
                    status, fields, body = step, {}, b"scripted"
                ask.status = status
                self.send_response(status)
                for name, value in fields.items():
                    self.send_header(name, value)
                if step == "short":
                    body = body[:len(body) // 2]
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if step == "cut":
                    self.wfile.write(body[:len(body) // 2])
                    self.wfile.flush()
                    self.connection.shutdown(socket.SHUT_RDWR)
                    self.close_connection = True
                    return
                self.wfile.write(body)

            def log_message(self, *args):
                pass

        class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
            daemon_threads = True
            request_queue_size = 64

            def handle_error(self, request, client_address):
                pass

        self.server = Server(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def url(self, path="/stream", user=None):
        return "http://%s127.0.0.1:%d%s" % (user + "@" if user else "", self.port, path)

    def queries(self):
        with self.lock:
            return [a.path.partition("?")[2] for a in self.asked]

    # ---- contents ----
    def put(self, name, title, same_second=False):
        with self.lock:
            self.clock += 0 if same_second else 1
            item = self.items.setdefault(name, Item(name, self.clock))
            item.title, item.modified, item.deleted = title, self.clock, False

    def delete(self, name):
        with self.lock:
            self.clock += 1
            self.items[name].modified, self.items[name].deleted = self.clock, True

    def state(self):
        """What a mirror holds."""
        with self.lock:
            return {"urn:s:" + i.id: i.title for i in self.items.values() if not i.deleted}

    # ---- positions ----
    def ordered(self, by):
        return sorted(self.items.values(), key=lambda i: (getattr(i, by), i.id))

    @staticmethod
    def checksum(group):
        return zlib.crc32("_".join(i.id for i in group).encode())

    def cursor(self, rows, by, item):
        group = [i for i in rows if getattr(i, by) == getattr(item, by)]
        at = group.index(item)
        return "%d_%d_%d" % (getattr(item, by), at, self.checksum(group[:at + 1]))

    def behind(self, rows, by, spec):
        """The rows behind a position."""
        kind, colon, value = spec.partition(":")
        if not colon or kind not in ("cursor", "time"):
            raise ValueError(spec)
        if kind == "cursor":
            t, o, c = (int(part) for part in value.split("_"))
            group = [i for i in rows if getattr(i, by) == t]
            if o < len(group) and self.checksum(group[:o + 1]) == c:
                return rows[rows.index(group[o]) + 1:]
            value = t
        return [i for i in rows if getattr(i, by) >= int(value)]

    # ---- answers ----
    def answer(self, ask):
        with self.lock:
            try:
                return self.piece(ask)
            except ValueError as why:
                return 400, {}, str(why).encode()

    def piece(self, ask):
        order = ask.get("order", "modified")
        by = order.lstrip("-")
        if by not in ("modified", "created") or (self.refuses_max and ask.get("max")):
            raise ValueError("no")
        rows, since = self.ordered(by), ask.get("since")
        last = since.partition(":")[2] if since else None
        wanted = rows if since is None else self.behind(rows, by, since)
        if order[0] == "-":
            wanted = wanted[::-1]
        size = min(int(ask.get("max") or self.page), self.most)
        shown = wanted[:size]
        if shown:
            last = self.cursor(rows, by, shown[-1])
        elif last is None and rows:
            last = self.cursor(rows, by, rows[-1])
        keep = [(k, v) for k, vs in ask.query.items() for v in vs if k not in ("since", "max", "timeout")]
        base = self.url(ask.base) + ("?" + urllib.parse.urlencode(keep) if keep else "")
        following = None
        if self.links and len(wanted) > size:
            following = "%s%csince=cursor%%3A%s&max=%d" % (base, "&" if keep else "?", last, size)
        atom = "atom" in self.kinds and ("json" not in self.kinds or
                                         "application/atom+xml" in ask.headers.get("Accept", ""))
        if not atom:
            return 200, {"Content-Type": "application/json; charset=utf-8"}, self.json(
                shown, base, last, following)
        fields = {"Content-Type": "application/atom+xml; charset=utf-8", "ETag": '"%s"' % last}
        if self.hub:
            fields["Link"] = '<%s>; rel="hub"' % self.hub
            if self.names_itself:
                fields["Link"] += ', <%s>; rel="self"' % base
        return 200, fields, self.atom(shown, base, last, following)

    def json(self, shown, base, last, following):
        out = {"count": len(shown), "totalItems": len(self.items), "url": base, "last_cursor": last or "",
               "items": [self.activity(i) for i in shown]}
        if following:
            out["next"] = following
        return json.dumps(out).encode()

    def activity(self, item):
        out = {"id": "urn:s:" + item.id, "verb": "post", "published": stamp(item.created),
               "updated": stamp(item.modified), "actor": {"objectType": "person", "displayName": "Ann"}}
        if item.deleted:
            return dict(out, deleted=True)
        return dict(out, object={"objectType": "note", "displayName": item.title, "content": "<p>c</p>",
                                 "url": "http://s.example/" + item.id})

    def atom(self, shown, base, last, following=None, previous=None):
        out = ['<?xml version="1.0"?><feed xmlns="http://www.w3.org/2005/Atom" xmlns:fo="%s"><id>%s</id>'
               "<title>S</title><updated>%s</updated>" % (FO, escape(base), stamp(self.clock))]
        if self.names_itself:
            out.append('<link rel="self" href=%s/>' % quoteattr(base))
        if following:
            out.append('<link rel="next" href=%s/>' % quoteattr(following))
        out.append("<fo:total>%d</fo:total>" % len(self.items))
        if previous is not None:
            out.append("<fo:prev_cursor>%s</fo:prev_cursor>" % previous)
        out.append("<fo:last_cursor>%s</fo:last_cursor>" % (last or ""))
        for item in shown:
            body = ('<content/><fo:deleted>true</fo:deleted>' if item.deleted else
                    '<title>%s</title><content>c</content><link href="http://s.example/%s"/>' %
                    (escape(item.title), item.id))
            out.append("<entry><id>urn:s:%s</id><updated>%s</updated><author><name>Ann</name></author>%s"
                       "<fo:id>%s</fo:id></entry>" % (item.id, stamp(item.modified), body, item.id))
        return ("".join(out) + "</feed>").encode()

    def push(self, since, path="/stream"):
        """The document that a hub delivers of what is behind a cursor ("": all), and its last cursor."""
        with self.lock:
            rows = self.ordered("modified")
            shown = self.behind(rows, "modified", "cursor:" + since) if since else rows
            last = self.cursor(rows, "modified", shown[-1]) if shown else since
            return self.atom(shown, self.url(path), last, previous=since).decode(), last

    def last(self):
        with self.lock:
            rows = self.ordered("modified")
            return self.cursor(rows, "modified", rows[-1]) if rows else ""


def stamp(at):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))
