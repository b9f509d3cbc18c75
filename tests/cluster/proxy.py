"""TCP proxies: between a node and its database, and between all clients and the nodes. One thread serves all of them."""
import asyncio
import threading

from .wire import Statements


class Loop:
    """The thread of the proxies."""

    def __init__(self):
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()

    def run(self, coroutine):
        """Run it there, and return what it returns."""
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(60)

    def close(self):
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join(10)


class Proxy:
    """`target`: a function that returns the port to which a new connection goes; None: it is refused. `delay_s` and
    `bytes_per_s` (0: any number) hold for each connection and each way. `is_tapped`: what is sent is read, for hold()."""

    def __init__(self, loop, target, is_tapped=False):
        self.loop, self.target, self.is_tapped = loop, target, is_tapped
        self.is_cut, self.delay_s, self.bytes_per_s, self.writers = False, 0.0, 0, set()
        self.wanted, self.on_held, self.taps = None, None, set()
        self.port = loop.run(self._open())

    async def _open(self):
        self.gates = {"up": asyncio.Event(), "down": asyncio.Event()}
        for gate in self.gates.values():
            gate.set()
        self.server = await asyncio.start_server(self._serve, "127.0.0.1", 0, backlog=1024)
        return self.server.sockets[0].getsockname()[1]

    async def _serve(self, reader, writer):
        port, there, pumps = None if self.is_cut else self.target(), None, []
        try:
            if port is not None:
                there_reader, there = await asyncio.open_connection("127.0.0.1", port)
                self.writers |= {writer, there}
                pumps = [asyncio.ensure_future(self._pump(reader, there, "up")),
                         asyncio.ensure_future(self._pump(there_reader, writer, "down"))]
                await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        except OSError:
            pass
        finally:
            for pump in pumps:
                pump.cancel()
            for one in (writer, there):
                if one:
                    self._end(one)

    def _end(self, writer):
        """What was written still goes out, unless the connection is cut."""
        self.writers.discard(writer)
        if self.is_cut:
            writer.transport.abort()
        else:
            writer.close()

    async def _pump(self, reader, writer, way):
        tap = Statements() if self.is_tapped and way == "up" else None
        if tap:
            self._listen(tap)
        try:
            while some := await reader.read(65536):
                at = tap.feed(some) if tap else None
                if at is not None:
                    await self._send(writer, some[:at], way)
                    self._reached()
                    some = some[at:]
                await self._send(writer, some, way)
        except OSError:
            pass
        finally:
            self.taps.discard(tap)

    async def _send(self, writer, some, way):
        wait_s = self.delay_s + (len(some) / self.bytes_per_s if self.bytes_per_s else 0)
        if wait_s:
            await asyncio.sleep(wait_s)
        await self.gates[way].wait()
        writer.write(some)
        await writer.drain()

    # ---- points in a transaction ----
    def _listen(self, tap):
        self.taps.add(tap)
        if self.wanted:
            tap.find(*self.wanted)

    def _reached(self):
        if self.wanted:
            self.wanted = None
            self.gates["up"].clear()
            self.on_held()

    def hold(self, beginning, where, on_held):
        """At the next statement that begins so, nothing goes up any more until mend(), and on_held() is called on the
        thread of the proxies. `where`: "before" it is sent, or "after"."""
        async def do():
            self.wanted, self.on_held = (beginning, where), on_held
            for tap in self.taps:
                tap.find(beginning, where)
        self.loop.run(do())

    def unhold(self):
        """The point is not looked for any more. What is held stays so."""
        async def do():
            self.wanted = None
        self.loop.run(do())

    # ---- faults ----
    def cut(self):
        """All connections break, and there are no new ones."""
        async def do():
            self.is_cut = True
            for writer in list(self.writers):
                writer.transport.abort()
        self.loop.run(do())

    def silence(self, *ways):
        """What is sent does not arrive before mend()."""
        async def do():
            for way in ways:
                self.gates[way].clear()
        self.loop.run(do())

    def mend(self):
        async def do():
            self.is_cut, self.delay_s, self.bytes_per_s, self.wanted = False, 0.0, 0, None
            for gate in self.gates.values():
                gate.set()
        self.loop.run(do())

    def close(self):
        self.cut()
        self.loop.run(self._close())

    async def _close(self):
        self.server.close()
        for gate in self.gates.values():
            gate.set()
        await asyncio.sleep(0.02)
