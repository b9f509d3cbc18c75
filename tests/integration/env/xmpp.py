"""A real XMPP server (prosody) in a folder of its own, and clients that know nothing of Feedmill
(slixmpp)."""
import json
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree as tree
from xml.sax.saxutils import quoteattr

from .daemon import HUNG, PATIENCE, wait_for
from .servers import free_ports, server_folder, spawn

SECRET = "a secret of the component"
COMPONENT = "feeds.localhost"
CLIENT = os.path.join(os.path.dirname(__file__), "xmpp_client.py")
CONFIG = """
daemonize = false
pidfile = "%(folder)s/prosody.pid"
data_path = "%(folder)s/data"
log = { info = "%(folder)s/log" }
modules_enabled = { "roster", "saslauth", "disco", "ping" }
modules_disabled = { "s2s", "tls" }
c2s_require_encryption = false
allow_unencrypted_plain_auth = true
authentication = "internal_plain"
interfaces = { "127.0.0.1" }
c2s_ports = { %(client_port)d }
component_ports = { %(component_port)d }
VirtualHost "localhost"
Component "%(component)s"
    component_secret = "%(secret)s"
"""
PUBSUB = "{http://jabber.org/protocol/pubsub}"
EVENT = "{http://jabber.org/protocol/pubsub#event}"
RSM = "{http://jabber.org/protocol/rsm}"
ERRORS = "{urn:ietf:params:xml:ns:xmpp-stanzas}"
SHIM = "{http://jabber.org/protocol/shim}"
ATOM = "{http://www.w3.org/2005/Atom}"


def python():
    """A Python that has slixmpp, or None. Debian's package is for Debian's own Python."""
    for one in (sys.executable, "/usr/bin/python3"):
        if subprocess.run([one, "-c", "import slixmpp"], capture_output=True).returncode == 0:
            return one
    return None


def is_there():
    return shutil.which("prosody") is not None and python() is not None


class Prosody:
    """It refuses to run as root, so then it runs as the user that its package has made."""

    def __init__(self):
        self.folder = server_folder("xmpp")
        self.component_port, self.client_port = free_ports(2)
        self.clients, self.process = [], None
        self.user = pwd.getpwnam("prosody") if os.getuid() == 0 else None
        with open(os.path.join(self.folder, "prosody.cfg.lua"), "w") as f:
            f.write(CONFIG % dict(vars(self), component=COMPONENT, secret=SECRET))
        for name in ("data", "certs"):
            os.mkdir(os.path.join(self.folder, name))
        for user in ("alice", "bob"):
            self._account(user)
        if self.user:
            for top, _, names in os.walk(self.folder):
                for path in [top] + [os.path.join(top, n) for n in names]:
                    os.chown(path, self.user.pw_uid, self.user.pw_gid)
        self.start()

    def _account(self, user):
        folder = os.path.join(self.folder, "data", "localhost", "accounts")
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, user + ".dat"), "w") as f:
            f.write('return { ["password"] = "pw" };\n')

    def start(self):
        extra = {}
        if self.user:
            extra = dict(user=self.user.pw_uid, group=self.user.pw_gid, extra_groups=[])
        self.process = spawn(
            ["prosody", "--config", os.path.join(self.folder, "prosody.cfg.lua")],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=self.folder, **extra)
        for port in (self.component_port, self.client_port):
            wait_for(lambda: self.process.poll() is not None or self._listens(port), HUNG,
                     "prosody at port %d" % port)
        assert self.process.poll() is None, "prosody has ended with %d" % self.process.poll()

    @staticmethod
    def _listens(port):
        with socket.socket() as s:
            return s.connect_ex(("127.0.0.1", port)) == 0

    def stop(self):
        self.process.terminate()
        self.process.wait(30 * PATIENCE)

    def pause(self):
        """It neither reads nor answers."""
        self.process.send_signal(signal.SIGSTOP)

    def resume(self):
        self.process.send_signal(signal.SIGCONT)

    def close(self):
        for client in self.clients:
            client.close()
        if self.process.poll() is None:
            self.resume()
            self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def args(self):
        return ["--xmpp-server", "127.0.0.1:%d" % self.component_port,
                "--xmpp-component", COMPONENT]

    def env(self):
        return {"FEEDMILL_XMPP_SECRET": SECRET}

    def client(self, user="alice", resource="one"):
        client = Client(self.client_port, "%s@localhost/%s" % (user, resource))
        self.clients.append(client)
        return client


class Client:
    def __init__(self, port, jid):
        self.jid, self.stanzas, self.answers, self.n = jid, [], {}, 0
        self.online = self.failed = None
        self.process = subprocess.Popen([python(), CLIENT, jid, "pw", str(port)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        wait_for(lambda: self.online or self.failed, HUNG, "the client " + jid)
        assert self.online == jid, (self.online, self.failed)

    @property
    def bare(self):
        return self.jid.split("/")[0]

    def _read(self):
        for line in self.process.stdout:
            what = json.loads(line)
            if "stanza" in what:
                stanza = tree.fromstring(what["stanza"])
                self.stanzas.append(stanza)
                if stanza.tag.endswith("}iq"):
                    self.answers[stanza.get("id")] = stanza
            self.online = what.get("online", self.online)
            self.failed = what.get("failed", self.failed)

    def close(self):
        if self.process.poll() is None:
            try:
                self.process.stdin.write("bye\n")
                self.process.stdin.flush()
                self.process.wait(10 * PATIENCE)
            except (OSError, subprocess.TimeoutExpired):
                self.process.kill()
                self.process.wait(10)
        self.reader.join(5)
        self.process.stdin.close()
        self.process.stdout.close()

    def send(self, xml):
        self.process.stdin.write(xml.replace("\n", " ") + "\n")
        self.process.stdin.flush()

    def start(self, type, payload, to=COMPONENT):
        """Send a request; returns its id."""
        self.n += 1
        self.send("<iq type='%s' id='t%d' to=%s>%s</iq>" % (type, self.n, quoteattr(to), payload))
        return "t%d" % self.n

    def answer(self, id, seconds=HUNG, daemon=None):
        wait_for(lambda: id in self.answers, seconds, "the answer to " + id, daemon)
        return self.answers[id]

    def ask(self, type, payload, to=COMPONENT):
        return self.answer(self.start(type, payload, to))

    # ---- publish-subscribe ----
    def items_payload(self, node, **rsm):
        children = "".join("<%s>%s</%s>" % (k, v, k) if v != "" else "<%s/>" % k
                           for k, v in rsm.items())
        return ("<pubsub xmlns='http://jabber.org/protocol/pubsub'><items node=%s/>%s</pubsub>"
                % (quoteattr(node), "<set xmlns='http://jabber.org/protocol/rsm'>%s</set>" % children
                   if rsm else ""))

    def items(self, node, **rsm):
        iq = self.ask("get", self.items_payload(node, **rsm))
        assert iq.get("type") == "result", tree.tostring(iq)
        return Page(iq)

    def change(self, verb, node, jid=None, more=""):
        return self.ask("set", "<pubsub xmlns='http://jabber.org/protocol/pubsub'>"
                               "<%s node=%s jid=%s%s/></pubsub>"
                        % (verb, quoteattr(node), quoteattr(jid or self.jid), more))

    def subscribe(self, node, jid=None):
        iq = self.change("subscribe", node, jid)
        assert iq.get("type") == "result", tree.tostring(iq)
        return iq.find(PUBSUB + "pubsub/" + PUBSUB + "subscription")

    def pushes(self):
        return [Push(s) for s in list(self.stanzas)
                if s.tag.endswith("}message") and s.find(EVENT + "event") is not None]

    def wait_pushes(self, n, seconds=HUNG, daemon=None):
        return wait_for(lambda: len(self.pushes()) >= n and self.pushes(), seconds,
                        "%d messages" % n, daemon)


def error_of(iq):
    """The conditions of an error, the general one first."""
    error = [c for c in iq if c.tag.endswith("}error")]
    assert iq.get("type") == "error" and error, tree.tostring(iq)
    names = [c.tag for c in error[0] if not c.tag.endswith("}text")]
    names.sort(key=lambda tag: not tag.startswith(ERRORS))
    return [tag.split("}")[1] for tag in names]


class Page:
    def __init__(self, iq):
        self.iq = iq
        pubsub = iq.find(PUBSUB + "pubsub")
        self.list = pubsub.find(PUBSUB + "items")
        self.items = self.list.findall(PUBSUB + "item")
        self.ids = [i.get("id") for i in self.items]
        self.set = pubsub.find(RSM + "set")
        first = self.set.find(RSM + "first")
        self.first = first.text if first is not None else None
        self.index = int(first.get("index")) if first is not None and first.get("index") else None
        self.last = self.set.findtext(RSM + "last")
        count = self.set.findtext(RSM + "count")
        self.count = int(count) if count is not None else None
        self.size = len(tree.tostring(iq))


class Push:
    def __init__(self, message):
        self.message = message
        items = message.find(EVENT + "event/" + EVENT + "items")
        self.node = items.get("node")
        self.items = items.findall(EVENT + "item")
        self.ids = [i.get("id") for i in self.items]
        self.titles = [i.findtext(ATOM + "entry/" + ATOM + "title") for i in self.items]
        self.headers = {h.get("name"): h.text for h in message.iter(SHIM + "header")}
