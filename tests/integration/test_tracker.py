"""A bug tracker behind a password, as the thesis has it in 5.2: a real server that asks for it."""
import os
import shutil
import urllib.parse

from .env.case import Case
from .env.origin import Reply, rss
from .env.servers import free_port, server_folder, spawn

NGINX = """
daemon off; pid {folder}/pid; error_log {folder}/errors; worker_processes 1; {user}
events {{ worker_connections 64; }}
http {{
    log_format answers "$status $remote_user"; access_log {folder}/access answers;
    client_body_temp_path {folder}/t1; proxy_temp_path {folder}/t2; fastcgi_temp_path {folder}/t3;
    uwsgi_temp_path {folder}/t4; scgi_temp_path {folder}/t5;
    server {{
        listen 127.0.0.1:{port}; root {folder}/www; default_type application/rss+xml;
        auth_basic "tracker"; auth_basic_user_file {folder}/users;
    }}
}}
"""
WORD = "geh%eim"


class Tracker(Case):
    def setUp(self):
        if not shutil.which("nginx", path="/usr/sbin:" + os.environ["PATH"]):
            self.skipTest("nginx is not installed")
        self.folder, port = server_folder("nginx"), free_port()
        self.addCleanup(shutil.rmtree, self.folder)
        os.mkdir(self.folder + "/www")
        for folder in (self.folder, self.folder + "/www"):
            os.chmod(folder, 0o755)
        self.lock_with(WORD)
        self.publish("bug 1")
        user = "user root;" if os.geteuid() == 0 else ""
        self.write("config", NGINX.format(folder=self.folder, port=port, user=user))
        process = spawn(["/usr/sbin/nginx", "-c", self.folder + "/config", "-p", self.folder])
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)
        self.wait(lambda: os.path.exists(self.folder + "/pid"), what="nginx")
        self.shown = "http://127.0.0.1:%d/bugs.xml" % port
        self.url = self.shown.replace("//", "//joe:%s@" % urllib.parse.quote(WORD))
        self.d = self.daemon("--fetch-host-gap", "0")

    def write(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path + ".new", "w", encoding="ascii") as f:
            f.write(text)
        os.rename(path + ".new", path)

    def lock_with(self, password):
        self.write("users", "joe:{PLAIN}%s\n" % password)

    def publish(self, *bugs):
        self.write("www/bugs.xml", rss(*bugs))

    def asked(self, *answers):
        """The server has given these answers so far, to whom it was told."""
        def log():
            with open(self.folder + "/access", encoding="ascii") as f:
                return f.read().splitlines()
        self.wait(lambda: len(log()) >= len(answers), what="%d requests" % len(answers), daemon=self.d)
        self.d.wait_idle()
        self.assertEqual(list(answers), log())

    def titles(self):
        return [e["title"] for e in self.d.feed(self.url).json["entries"]]

    def test_a_bug_tracker_behind_a_password(self):                     # REST-28
        self.d.subscribe(self.url)
        self.assertEqual(["bug 1"], self.titles())
        past = ["401 -", "200 joe"]
        self.asked(*past)
        self.publish("bug 2", "bug 1")
        for answer in "200 joe", "304 joe":                              # the server need not ask any more
            self.d.ping(self.url)
            past.append(answer)
            self.asked(*past)
        self.assertEqual(["bug 2", "bug 1"], self.titles())
        self.lock_with("another")
        self.d.ping(self.url)
        past += ["401 joe", "401 -", "401 joe"]                          # is it asked for in another way now? no
        self.asked(*past)
        self.assertIn("401", self.d.record(self.shown)["last_error"])
        self.lock_with(WORD)
        self.d.ping(self.url)
        self.asked(*past, "401 -", "304 joe")
        self.assertIsNone(self.d.record(self.shown)["last_error"])
        self.assertEqual(["bug 2", "bug 1"], self.titles())
        for shown in (self.d.text(), self.d.get("/sub?type=json&all=1").body.decode(), self.d.get("/opml?all=1").body.decode(),
                      self.d.get("/metrics").body.decode()):
            self.assertNotIn(WORD, shown)
            self.assertNotIn(urllib.parse.quote(WORD), shown)

    def test_a_tracker_that_asks_for_digest(self):                      # REST-28
        o = self.origin()
        o.set("/bugs", Reply(200, rss("bug 1"), auth=("Digest", "joe", WORD)))
        url = o.url("/bugs", user="joe:" + urllib.parse.quote(WORD))
        self.assertEqual(["bug 1"], [e["title"] for e in self.d.feed(url).json["entries"]])
        for n in (2, 4):                                                 # each time it is asked: the answer is never Basic
            self.wait(lambda: len(o.seen("/bugs")) >= n, daemon=self.d)
            self.d.wait_idle()
            self.assertEqual([None, "Digest"] * (n // 2),
                             [(r.headers.get("Authorization") or "").split(" ")[0] or None for r in o.seen("/bugs")])
            self.d.ping(url)
