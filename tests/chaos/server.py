"""One HTTP server for all publishers and endpoints, on one thread: what it notes down is in the order in
which it happened."""
import asyncio
import socket
import sys
import threading
import traceback

ESTABLISHED = 1     # TCP_INFO: the peer has not closed its side
LAST_RECEIVED = 52  # TCP_INFO: where the milliseconds stand since something was received
TICK_MS = 10        # the kernel counts them by its ticks, so there may be so many too many


class Ask:
    """A request whose body is still to be read, and its answer."""

    def __init__(self, method, target, fields, reader, writer):
        self.method, self.target, self.fields = method, target, fields
        self.path, _, self.query = target.partition("?")
        self.reader, self.writer = reader, writer
        self.length = int(fields.get("content-length", 0))
        self.on_reset = None    # called when it turns out that the peer left without reading the answer

    async def body(self):
        return await self.reader.readexactly(self.length) if self.length else b""

    def is_there(self):
        """Has the peer not closed the connection?"""
        try:
            sock = self.writer.get_extra_info("socket")
            return sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] == ESTABLISHED
        except OSError:
            return False

    def age_s(self):
        """So long ago, at least, the last of it came. On a machine that is too busy it lies with the kernel for a while."""
        try:
            sock = self.writer.get_extra_info("socket")
            info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, LAST_RECEIVED + 4)
            return max(0, int.from_bytes(info[LAST_RECEIVED:], sys.byteorder) - TICK_MS) / 1000
        except OSError:
            return 0.0

    async def left(self, seconds):
        """Wait so long; True as soon as the peer has closed the connection."""
        try:
            return await asyncio.wait_for(self.reader.read(1), seconds) == b""
        except asyncio.TimeoutError:
            return False
        except ConnectionError:
            return True

    def send(self, some):
        """False: the peer had left before."""
        if not self.is_there():
            return False
        self.writer.write(some)
        return True

    def answer(self, status, body=b"", **fields):
        """Send an answer; False: the peer had left before."""
        lines = ["HTTP/1.1 %d x" % status]
        lines += ["%s: %s" % (k.replace("_", "-"), v) for k, v in fields.items()]
        if status not in (204, 304):
            lines.append("Content-Length: %d" % len(body))
        return self.send(("\r\n".join(lines) + "\r\n\r\n").encode() + body)

    def reset(self):
        """Leave as a program does that dies."""
        sock = self.writer.get_extra_info("socket")
        try:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        except OSError:
            pass
        self.writer.transport.abort()


class Server:
    """`routes`: the first part of a path -> a coroutine function of an Ask, which returns False when the
    connection is to end. `hosts`: addresses of this machine, all with the same port."""

    def __init__(self, hosts=("127.0.0.1",), port=0):
        self.routes, self.writers, self.errors = {}, set(), []
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        self.server = self.run(asyncio.start_server(self._serve, hosts, port, backlog=4096, limit=1 << 20))
        self.port = self.server.sockets[0].getsockname()[1]

    def run(self, coroutine):
        """Run it on the thread of the server, and return what it returns."""
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(60)

    def url(self, path, host="127.0.0.1"):
        return "http://%s:%d%s" % (host, self.port, path)

    async def _serve(self, reader, writer):
        self.writers.add(writer)
        ask = None
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
                method, target, _ = head[0].split(" ")
                fields = dict((k.lower(), v.strip()) for k, _, v in
                              (line.partition(":") for line in head[1:] if line))
                ask = Ask(method, target, fields, reader, writer)
                route = self.routes.get(ask.path.split("/")[1])
                if not route:
                    ask.answer(404)
                elif await route(ask) is False:
                    return
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        except ConnectionError:
            if ask and ask.on_reset:
                ask.on_reset()
        except Exception:       # one of a test: it is told at the end
            self.errors.append(traceback.format_exc())
        finally:
            self.writers.discard(writer)
            writer.close()

    async def _emptied(self):
        quiet = 0
        for turn in range(200):
            quiet = 0 if self.writers else quiet + 1
            if quiet == 3:
                return
            if turn == 100:
                for writer in list(self.writers):
                    writer.transport.abort()
            await asyncio.sleep(0.01)

    def empty(self):
        """Wait until all that a dead client had sent is read, and its connections have ended."""
        self.run(self._emptied())

    def close(self):
        async def end():
            self.server.close()
            for writer in list(self.writers):
                writer.transport.abort()
            await asyncio.sleep(0.05)
        self.run(end())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(10)
