"""A server with many XML-RPC endpoints, each of which answers or hangs by its own rule."""
import asyncio
import threading
import time

ANSWER = (b'<?xml version="1.0"?><methodResponse><params><param><value><int>1</int></value></param>'
          b"</params></methodResponse>")


class Fickle:
    """`hangs(path, n)`: does the n-th call (from 1) of this path get no answer? It listens on every
    address of the loopback: 127.0.0.1, 127.0.0.2 ... are as many hosts."""

    def __init__(self, hangs):
        self.hangs, self.arrivals, self.running, self.most_at_once = hangs, {}, 0, 0
        self.loop, ready = asyncio.new_event_loop(), threading.Event()
        self.thread = threading.Thread(target=self._run, args=(ready,), daemon=True)
        self.thread.start()
        ready.wait()

    def _run(self, ready):
        asyncio.set_event_loop(self.loop)
        self.server = self.loop.run_until_complete(
            asyncio.start_server(self._serve, "0.0.0.0", 0, backlog=1024))
        self.port = self.server.sockets[0].getsockname()[1]
        ready.set()
        self.loop.run_forever()

    async def _serve(self, reader, writer):
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                length = head.lower().split("content-length:")[1].split("\r\n")[0]
                await reader.readexactly(int(length))
                await self._answer(head.split()[1], reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def _answer(self, path, reader, writer):
        calls = self.arrivals.setdefault(path, [])
        calls.append(time.monotonic())
        self.running += 1
        self.most_at_once = max(self.most_at_once, self.running)
        try:
            if self.hangs(path, len(calls)):
                await reader.read(1)  # until the caller gives up
                raise ConnectionResetError
        finally:
            self.running -= 1  # before the answer goes out, which may bring the next call
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\nContent-Length: %d\r\n\r\n"
                     % len(ANSWER) + ANSWER)
        await writer.drain()

    def url(self, path, host=1):
        """The endpoint at this path of the host-th host (from 1)."""
        return "http://127.0.%d.%d:%d%s" % (host // 250, host % 250 + 1, self.port, path)

    def n_calls(self, path):
        return len(self.arrivals.get(path, ()))

    def close(self):
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(5)
        tasks = asyncio.all_tasks(self.loop)
        for task in tasks:
            task.cancel()
        self.server.close()
        self.loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
        self.loop.close()
