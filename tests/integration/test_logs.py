"""The access log, ids of requests, and the formats of logs: OPS-04."""
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile

from .env.case import Case
from .env.daemon import BINARY, PATIENCE, quote
from .env.origin import rss

SECRETS = ("Open-Sesame", "hush-hush", "pass-word", "t0ken-in-url", "callback-path", "secret-name")


class Logs(Case):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.path = os.path.join(self.folder, "access.log")

    def lines(self, n, path=None):
        """The lines of the access log, when there are as many."""
        def there():
            if not os.path.exists(path or self.path):
                return None
            with open(path or self.path, encoding="utf-8") as file:
                lines = file.read().splitlines()
            return lines if len(lines) >= n else None
        return self.wait(there, what="%d lines of the access log" % n)


class AccessLog(Logs):
    def test_one_line_a_request(self):                                   # OPS-04
        d = self.daemon("--access-log", self.path)
        d.get("/sub", User_Agent='a "quoted" one')
        d.get("/nowhere")
        lines = sorted(self.lines(2))                                    # two loops write them, in any order
        self.assertEqual(2, len(lines))
        self.assertRegex(lines[0], r'^time=[0-9TZ:.-]{27} request=[0-9a-f]{16} peer=127.0.0.1 token=- method=GET target="/sub" '
                                   r'route=/sub agent="a \\"quoted\\" one" status=200 bytes=\d+ ms=\d+\.\d{3}$')
        self.assertIn(' route=none ', lines[1])
        self.assertIn(' status=404 ', lines[1])

    def test_what_cannot_be_read_and_who_leaves(self):                   # OPS-04
        d = self.daemon("--access-log", self.path)
        with socket.create_connection(("127.0.0.1", d.port)) as s:
            s.sendall(b"GET hush-hush\r\n\r\n")
            head = s.recv(65536).decode()
        given = re.search(r"X-Request-Id: (\w+)", head).group(1)
        self.assertIn("request=%s peer=127.0.0.1 token=- method=- " % given, self.lines(1)[0])
        with socket.create_connection(("127.0.0.1", d.port)) as s:
            s.sendall(b"GET /log?since=start&timeout=60 HTTP/1.1\r\nHost: localhost\r\n\r\n")
            d.wait_metric("log_waiters", 1)
            n = len(self.lines(1))
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self.wait(lambda: [line for line in self.lines(n) if "target=\"/log?" in line and " status=0 " in line])

    def test_no_secrets(self):                                           # OPS-04
        d = self.daemon("--access-log", self.path, "--token", "Open-Sesame", "--log-level", "debug")
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        feed = quote("http://user:pass-word@127.0.0.1:1/f?key=t0ken-in-url")
        asked = ["/sub?key=Open-Sesame", "/sub?k%65y=Open-Sesame", "/metrics?key=Open-Sesame&key=Open-Sesame",
                 "/feed?key=Open-Sesame&url=" + feed, "/feeds?key=Open-Sesame&url=%s,%s" % (feed, feed),
                 "/sub?secret-name=1&key=Open-Sesame", "/Open-Sesame", "/websub/hush-hush", "/notify/hush-hush",
                 "/smart?key=Open-Sesame&url=%s&callback=hush-hush" % feed, "/?Open-Sesame", "/feed/?key=Open-Sesame;x=1"]
        for target in asked:
            d.get(target)
        d.get("/sub", Authorization="Bearer Open-Sesame")
        d.call("POST", "/sub?key=Open-Sesame&secret=hush-hush&header.X=hush-hush&header.X:%20hush-hush=&fetch_header.X:%20hush-hush=&endpoint=" +
               quote("https://user:pass-word@hook.example/callback-path?x=t0ken-in-url"), "", form)
        d.call("POST", "/hub?hub.secret=hush-hush&hub.callback=" + quote("http://h.example/callback-path"), "", form)
        lines = self.lines(len(asked) + 3)
        for secret in SECRETS:
            self.assertEqual([], [line for line in lines if secret in line])
        self.assertIn('target="/feed?key=*&url=http://127.0.0.1:1/f?*"', lines[3])  # what is not secret is there
        self.assertIn(" token=option ", lines[0])
        self.assertIn('endpoint=https://hook.example/*', "".join(lines))

    def test_callers_are_known_by_the_id_of_their_token(self):           # OPS-04
        d = self.daemon("--access-log", self.path, "--token", "Open-Sesame")
        made = d.call("POST", "/tokens?name=me&role=read", headers={"Authorization": "Bearer Open-Sesame"}).json
        d.get("/feed", Authorization="Bearer " + made["token"])
        self.assertIn(" token=%d " % made["id"], "".join(self.lines(2)))    # in any order: they are of two loops
        self.assertNotIn(made["token"], "".join(self.lines(2)))

    def test_it_is_opened_anew(self):                                    # OPS-04
        d = self.daemon("--access-log", self.path)
        d.get("/sub")
        self.lines(1)
        os.rename(self.path, self.path + ".1")
        d.process.send_signal(signal.SIGHUP)
        d.wait_log("event=reloaded")
        d.get("/nodes")
        self.assertIn("route=/nodes", self.lines(1)[0])
        self.assertEqual(1, len(self.lines(1, self.path + ".1")))

    def test_a_file_that_cannot_be_opened(self):                         # OPS-04
        done = subprocess.run([BINARY, "serve", "--listen", "127.0.0.1:0", "--db", os.path.join(self.folder, "f.db"),
                               "--access-log", "/nonexistent/a.log"], capture_output=True, text=True, timeout=60 * PATIENCE)
        self.assertEqual(2, done.returncode)
        self.assertIn("option access-log: cannot open \"/nonexistent/a.log\"", done.stderr)

    def test_nobody_waits_for_a_reader_that_does_not_read(self):         # OPS-04
        d = self.daemon("--access-log", "-")    # nobody reads more than the first line of what it prints
        with socket.create_connection(("127.0.0.1", d.port)) as s:
            agent = "x" * 180
            batch = ("GET /healthz HTTP/1.1\r\nHost: localhost\r\nUser-Agent: %s\r\n\r\n" % agent).encode() * 100
            got = 0
            for _ in range(100):
                s.sendall(batch)
                want = got + 100
                while got < want:
                    got += s.recv(1 << 20).count(b"HTTP/1.1 200")
        self.wait(lambda: d.counter("access_log_dropped_total") > 0, daemon=d)
        self.assertLess(d.counter("access_log_lines_total"), 10000)


class Ids(Logs):
    def test_an_id_is_taken_or_made(self):                               # OPS-04
        d = self.daemon("--access-log", self.path)
        good = ["a", "x" * 64, "0af7651916cd43dd-8448eb211c80319c", "Root=1-67891233-abcdef012345678912345678", "a/b+c=="]
        bad = ["", "x" * 65, "with space", "quote\"", "semi;colon", "caf\u00e9", "a, b"]
        for given in good:
            self.assertEqual(given, d.get("/sub", X_Request_Id=given).header("X-Request-Id"))
        made = [d.get("/sub", X_Request_Id=given).header("X-Request-Id") for given in bad]
        made += [d.get("/sub").header("X-Request-Id") for _ in range(20)]
        self.assertEqual(len(made), len(set(made)))
        for one in made:
            self.assertRegex(one, "^[0-9a-f]{16}$")
        logged = re.findall(r" request=(\S+) ", "\n".join(self.lines(len(good) + len(made))))
        self.assertEqual(sorted(good + made), sorted(logged))   # two loops write them, in any order

    def test_problems_and_streams_tell_it(self):                         # OPS-04
        d = self.daemon("--log-level", "debug")
        problem = self.assert_problem(d.get("/nowhere", X_Request_Id="mine-1"), 404)
        self.assertEqual("urn:feedmill:request:mine-1", problem["instance"])
        d.wait_log(" request=mine-1")           # the line about it
        with socket.create_connection(("127.0.0.1", d.port)) as s:
            s.sendall(b"GET /events HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: mine-2\r\n\r\n")
            self.assertIn(b"X-Request-Id: mine-2\r\n", s.recv(65536))

    def test_an_answer_from_another_thread(self):                        # OPS-04
        d = self.daemon("--log-level", "debug")
        missing = self.origin().url("/none.xml")
        answer = d.get("/feed?url=" + quote(missing), X_Request_Id="mine-3")
        self.assertEqual("mine-3", answer.header("X-Request-Id"))
        self.assertIn("request=mine-3", d.wait_log("event=problem"))


class Formats(Logs):
    def test_json(self):                                                 # OPS-04
        d = self.daemon("--access-log", self.path, "--log-format", "json", "--log-level", "debug")
        url = self.origin().set("/f.xml", rss("a"))
        d.feed(url)
        d.get("/nowhere")
        for line in self.lines(2):
            said = json.loads(line)
            self.assertIsInstance(said["status"], int)
            self.assertIsInstance(said["ms"], (int, float))
            self.assertEqual("127.0.0.1", said["peer"])
        d.wait_log('"event":"problem"')
        for line in list(d.log):
            if not line.startswith("=="):
                self.assertLessEqual({"time", "level", "module", "event"}, set(json.loads(line)))

    def test_a_reload_changes_it(self):                                  # OPS-04
        config = os.path.join(self.folder, "f.conf")
        with open(config, "w", encoding="utf-8") as file:
            file.write("access-log = %s\n" % self.path)
        d = self.daemon("--config", config)
        d.get("/sub")
        self.assertTrue(self.lines(1)[0].startswith("time="))
        with open(config, "w", encoding="utf-8") as file:
            file.write("access-log = %s.json\nlog-format = json\n" % self.path)
        d.process.send_signal(signal.SIGHUP)
        d.wait_log('"event":"reloaded"')
        d.get("/nodes")
        self.assertEqual("/nodes", json.loads(self.lines(1, self.path + ".json")[0])["route"])
        with open(config, "w", encoding="utf-8") as file:
            file.write("log-format = xml\n")
        d.process.send_signal(signal.SIGHUP)
        d.wait_log("is not text or json")
        self.assertEqual(200, d.get("/sub").status)

    def test_priorities_for_the_journal(self):                           # OPS-04
        """sd-daemon(3): lines begin with their priority if standard error is the stream that the journal names."""
        read, write = os.pipe()
        is_ = os.fstat(write)
        env = dict(os.environ, JOURNAL_STREAM="%d:%d" % (is_.st_dev, is_.st_ino))
        process = subprocess.Popen([BINARY, "serve", "--listen", "127.0.0.1:0", "--db", os.path.join(self.folder, "f.db")],
                                   stdout=subprocess.PIPE, stderr=write, env=env, text=True)
        os.close(write)
        self.assertIn("ready", process.stdout.readline())
        process.send_signal(signal.SIGTERM)
        self.assertEqual(0, process.wait(60 * PATIENCE))
        process.stdout.close()
        with os.fdopen(read, encoding="utf-8") as said:
            lines = said.read().splitlines()
        self.assertTrue(lines)
        for line in lines:
            self.assertTrue(line.startswith("<6>time="), line)
