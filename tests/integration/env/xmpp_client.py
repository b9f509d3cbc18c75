"""A client of XMPP (slixmpp), as a program: run by env/xmpp.py with a Python that has slixmpp.

    xmpp_client.py JID PASSWORD PORT

Each line on standard input is a stanza to send, or "bye". Each stanza that comes is a line of JSON on
standard output: its XML. The first line says that the client is online, with its full JID."""
import asyncio
import json
import logging
import os
import sys
import xml.etree.ElementTree as tree

import slixmpp
from slixmpp.xmlstream.handler import Callback
from slixmpp.xmlstream.matcher.base import MatcherBase


class Anything(MatcherBase):
    def match(self, stanza):
        return stanza.name in ("iq", "message")


def say(**what):
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


class Client(slixmpp.ClientXMPP):
    def __init__(self, jid, password):
        super().__init__(jid, password)
        self.rest = b""
        self.add_event_handler("session_start", self.on_start)
        self.add_event_handler("failed_auth", lambda _: say(failed="auth"))

    async def on_start(self, _):
        self.send_presence()
        self.register_handler(Callback("all", Anything(None), self.on_stanza))
        asyncio.get_event_loop().add_reader(0, self.on_input)
        say(online=str(self.boundjid))

    def on_stanza(self, stanza):
        say(stanza=tree.tostring(stanza.xml, encoding="unicode"))

    def on_input(self):
        data = os.read(0, 65536)
        *lines, self.rest = (self.rest + data).split(b"\n")
        for line in lines if data else [b"bye"]:
            if line == b"bye":
                asyncio.get_event_loop().remove_reader(0)
                self.disconnect()
                asyncio.get_event_loop().call_later(0.2, asyncio.get_event_loop().stop)
            else:
                self.send_raw(line.decode())


logging.basicConfig(level=logging.ERROR)
client = Client(sys.argv[1], sys.argv[2])
client.connect(("127.0.0.1", int(sys.argv[3])), disable_starttls=True)
client.process(forever=True)
