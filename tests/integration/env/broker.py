"""A real rabbitmq-server in a folder of its own: on loopback, on free ports, with an epmd of its own,
as another user when the tests run as root. Also a consumer of it, by the package amqplib."""
import json
import os
import pwd
import shutil
import signal
import subprocess
import threading
import time
import unittest

from .daemon import PATIENCE
from .servers import free_ports, server_folder, spawn

SERVER = "/usr/lib/rabbitmq/bin/rabbitmq-server"
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
NPM = os.path.join(ROOT, "build-npm", "node_modules")
PASSWORD = "pa:ss/w@rd é"          # as the broker has it
ENCODED = "pa%3Ass%2Fw%40rd%20%C3%A9"   # as it stands in a URL


class Broker:
    """User `mill` with PASSWORD, vhosts "/" and "news/two". `tls`: (certificate, key) as PEM: it has a
    port for TLS, too. `config`: more lines of its configuration."""

    def __init__(self, tls=None, config=()):
        epmd = shutil.which("epmd")
        if not epmd or not os.path.exists(SERVER) or not shutil.which("erl"):
            raise unittest.SkipTest("rabbitmq-server is not installed")
        self.port, self.tls_port, self.epmd_port, self.dist_port = free_ports(4)
        self.folder = server_folder("broker")
        self.user = {}
        if os.geteuid() == 0:
            entry = pwd.getpwnam("rabbitmq")
            self.user = {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
        self._write(tls, config)
        self.env = {
            "PATH": os.environ["PATH"], "LANG": "C.UTF-8", "HOME": self.folder,
            "RUNNING_UNDER_SYSTEMD": "1",   # the script becomes the server, so its number is ours
            "ERL_EPMD_PORT": str(self.epmd_port), "ERL_EPMD_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODENAME": "mill%d@localhost" % self.port,
            "RABBITMQ_DIST_PORT": str(self.dist_port),
            "RABBITMQ_MNESIA_BASE": self._in("mnesia"), "RABBITMQ_LOG_BASE": self._in("log"),
            "RABBITMQ_CONFIG_FILE": self._in("rabbitmq.conf"),
            "RABBITMQ_ADVANCED_CONFIG_FILE": self._in("none.config"),
            "RABBITMQ_CONF_ENV_FILE": self._in("none.env"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": self._in("plugins"),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS":
                "-kernel inet_dist_use_interface {127,0,0,1} +S 1:1 +sbwt none",
        }
        self.process, self.starts = None, 0
        self.epmd = spawn([epmd, "-port", str(self.epmd_port), "-address", "127.0.0.1"],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=self.env, **self.user)
        try:
            self.start()
        except BaseException:
            self.close()
            raise

    def _in(self, name):
        return os.path.join(self.folder, name)

    def _write(self, tls, config):
        users = [{"name": "mill", "password": PASSWORD, "tags": "administrator"},
                 {"name": "other", "password": "other-password", "tags": ""}]
        vhosts = ["/", "news/two"]
        rights = [{"user": u["name"], "vhost": v, "configure": ".*", "write": ".*", "read": ".*"}
                  for u in users for v in vhosts]
        files = {"definitions.json": json.dumps({"users": users, "permissions": rights,
                                                 "vhosts": [{"name": v} for v in vhosts]}),
                 "plugins": "[].\n",
                 "rabbitmq.conf": "\n".join([
                     "listeners.tcp.1 = 127.0.0.1:%d" % self.port,
                     "load_definitions = " + self._in("definitions.json"),
                     "loopback_users = none", "log.console = false", "log.file.level = info",
                     *config, ""])}
        if tls:
            files["cert.pem"], files["key.pem"] = tls
            files["rabbitmq.conf"] += "\n".join([
                "listeners.ssl.1 = 127.0.0.1:%d" % self.tls_port,
                "ssl_options.certfile = " + self._in("cert.pem"),
                "ssl_options.keyfile = " + self._in("key.pem"),
                "ssl_options.cacertfile = " + self._in("cert.pem"),
                "ssl_options.verify = verify_none", ""])
        for name, text in files.items():
            with open(self._in(name), "w", encoding="utf-8") as f:
                f.write(text)
        if self.user:
            for path in [self.folder] + [self._in(name) for name in files]:
                os.chown(path, self.user["user"], self.user["group"])

    def start(self):
        self.process = spawn([SERVER], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=self.env,
                             cwd=self.folder, start_new_session=True, **self.user)
        self.starts += 1
        until = time.monotonic() + 120 * PATIENCE
        while self.text().count("Server startup complete") < self.starts:
            if self.process.poll() is not None or time.monotonic() > until:
                raise AssertionError("the broker does not start:\n" + self.text()[-4000:])
            time.sleep(0.1)

    def stop(self):
        """It ends at once, as by a failure of its machine: what it confirmed is there afterwards."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(60)

    def close(self):
        if self.process and self.process.poll() is None:
            self.stop()
        self.epmd.terminate()
        self.epmd.wait(60)
        shutil.rmtree(self.folder, ignore_errors=True)

    def text(self):
        out = ""
        for folder, _, names in os.walk(self._in("log")):
            for name in names:
                with open(os.path.join(folder, name), errors="replace") as f:
                    out += f.read()
        return out

    def url(self, query, vhost="", user="mill:" + ENCODED, port=None, scheme="amqp"):
        return "%s://%s@127.0.0.1:%d/%s?%s" % (scheme, user, port or self.port, vhost, query)

    def _node(self, vhost="%2f", **options):
        node = shutil.which("node")
        if not node or not os.path.isdir(os.path.join(NPM, "amqplib")):
            raise unittest.SkipTest("node and its package amqplib are not installed")
        options["url"] = self.url("", vhost, "other:other-password").rstrip("?")
        return [node, os.path.join(ROOT, "tests", "npm", "amqp.js"), json.dumps(options)]

    def do(self, *calls, vhost="%2f"):
        """Call methods of a channel: ["assertExchange", "x", "topic"], ..."""
        done = subprocess.run(self._node(vhost, calls=calls), env=dict(os.environ, NODE_PATH=NPM),
                              stdout=subprocess.PIPE, text=True, timeout=60 * PATIENCE)
        assert done.returncode == 0, done.stdout

    def _control(self, *args):
        subprocess.run(["/usr/lib/rabbitmq/bin/rabbitmqctl", "-q", *args], env=self.env, cwd=self.folder,
                       check=True, timeout=60 * PATIENCE, stdout=subprocess.DEVNULL, **self.user)

    def set_memory(self, share):
        """The share of the machine's memory above which it takes no messages."""
        self._control("set_vm_memory_high_watermark", share)

    def allow_messages(self, n_bytes):
        """The largest message of new channels."""
        self._control("eval", "application:set_env(rabbit, max_message_size, %d)." % n_bytes)

    def consumer(self, queue, vhost="%2f"):
        return Consumer(self._node(vhost, queue=queue))


class Message:
    def __init__(self, line):
        said = json.loads(line)
        self.key, self.exchange, self.properties = said["key"], said["exchange"], said["properties"]
        self.headers, self.text = self.properties["headers"], said["body"]
        self.body = json.loads(self.text)

    @property
    def title(self):
        return self.body.get("entry", {}).get("title")


class Consumer:
    """Reads a queue, acknowledging each message."""

    def __init__(self, command):
        self.messages, self.lock = [], threading.Lock()
        self.process = subprocess.Popen(command, env=dict(os.environ, NODE_PATH=NPM),
                                        stdout=subprocess.PIPE, text=True)
        self.ready = threading.Event()
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()
        assert self.ready.wait(60 * PATIENCE)

    def _read(self):
        for line in self.process.stdout:
            if line.startswith("{"):
                with self.lock:
                    self.messages.append(Message(line))
            else:
                self.ready.set()

    def titles(self):
        with self.lock:
            return [m.title for m in self.messages]

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(60)
        self.thread.join(10)
        self.process.stdout.close()
