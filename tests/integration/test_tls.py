"""Publishers behind TLS: which certificates are good, and what an operator reads of those that are not."""
import gzip
import os
import shutil
import socket
import ssl
import subprocess
import tempfile

from .env.case import Case
from .env.origin import Origin, rss
from .env.servers import free_port, server_folder, spawn

NGINX = """
daemon off; pid {folder}/pid; error_log {folder}/errors; worker_processes 1; {user}
events {{ worker_connections 64; }}
http {{
    log_format protocols "$server_protocol $http_accept_encoding"; access_log {folder}/access protocols;
    client_body_temp_path {folder}/t1; proxy_temp_path {folder}/t2; fastcgi_temp_path {folder}/t3;
    uwsgi_temp_path {folder}/t4; scgi_temp_path {folder}/t5;
    server {{
        listen 127.0.0.1:{port} ssl http2;
        ssl_certificate {folder}/cert.pem; ssl_certificate_key {folder}/cert.key;
        root {folder}/www; gzip_static always; default_type application/rss+xml;
    }}
}}
"""


class Authority:
    """An authority, and certificates that it has signed."""

    def __init__(self, folder, name="good"):
        self.folder, self.name = folder, name
        self.run("req", "-x509", *self.key("%s.key" % name), "-out", self.path("%s.pem" % name), "-days", "30",
                 "-subj", "/CN=%s authority" % name)

    def path(self, name):
        return os.path.join(self.folder, name)

    def key(self, name):
        return ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", self.path(name)]

    @staticmethod
    def run(*args):
        subprocess.run(["openssl", *args], check=True, capture_output=True)

    def context(self, name, alt="IP:127.0.0.1", days="30", key=None, use="serverAuth", digest="sha256"):
        """For a server: a certificate for `alt`."""
        key = ["-newkey", key, "-nodes", "-keyout", self.path(name + ".key")] if key else self.key(name + ".key")
        self.run("req", *key, "-out", self.path(name + ".csr"), "-subj", "/CN=" + name,
                 "-addext", "subjectAltName=" + alt, "-addext", "extendedKeyUsage=" + use)
        self.run("x509", "-req", "-in", self.path(name + ".csr"), "-CA", self.path(self.name + ".pem"),
                 "-CAkey", self.path(self.name + ".key"), "-CAcreateserial", "-out", self.path(name + ".pem"),
                 "-days", days, "-copy_extensions", "copy", "-" + digest)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.set_ciphers("ALL:@SECLEVEL=0")
        context.load_cert_chain(self.path(name + ".pem"), self.path(name + ".key"))
        return context


class Tls(Case):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder)
        self.good, self.other = Authority(self.folder), Authority(self.folder, "other")

    def secure(self, context):
        """The URL of a feed behind TLS."""
        o = Origin(context)
        self.addCleanup(o.close)
        return o.set("/f.xml", rss("a"))

    def nginx(self, certificate):
        """One that offers HTTP/2. Its port, and what is in its log."""
        if not shutil.which("nginx", path="/usr/sbin:" + os.environ["PATH"]):
            self.skipTest("nginx is not installed")
        folder, port = server_folder("nginx"), free_port()
        self.addCleanup(shutil.rmtree, folder)
        for ending in ("pem", "key"):
            shutil.copy(self.good.path("%s.%s" % (certificate, ending)), folder + "/cert." + ending)
        os.mkdir(folder + "/www")
        for n in range(8):
            with open(folder + "/www/%d.xml.gz" % n, "wb") as f:
                f.write(gzip.compress(rss("entry %d" % n).encode()))
        os.chmod(folder, 0o755)
        with open(folder + "/config", "w") as f:
            f.write(NGINX.format(folder=folder, port=port, user="user root;" if os.geteuid() == 0 else ""))
        process = spawn(["/usr/sbin/nginx", "-c", folder + "/config", "-p", folder])
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)
        self.wait(lambda: os.path.exists(folder + "/pid"), what="nginx")

        def log():
            with open(folder + "/access") as f:
                return f.read().splitlines()
        return port, log

    def test_http_2_where_it_is_offered(self):                           # ETIQ-09
        self.good.context("fine")
        port, log = self.nginx("fine")
        d = self.daemon("--fetch-host-gap", "0", env={"SSL_CERT_FILE": self.good.path("good.pem")})
        urls = ["https://127.0.0.1:%d/%d.xml" % (port, n) for n in range(8)]
        for _ in range(2):                                               # the second time, it asks whether they are new
            for n, url in enumerate(urls):
                self.assertEqual(["entry %d" % n], [e["title"] for e in d.feed(url).json["entries"]])
                d.ping(url)
            d.wait_idle()
        self.wait(lambda: len(log()) >= 16, daemon=d)
        self.assertEqual({"HTTP/2.0 gzip, deflate, br, zstd"}, set(log()))
        self.assertEqual({None}, {d.record(url)["last_error"] for url in urls})

    def test_wrong_certificates_are_no_outage(self):                     # ETIQ-04 ETIQ-09
        urls = [self.secure(self.other.context("stranger%d" % i)) for i in range(6)]
        d = self.daemon(env={"SSL_CERT_FILE": self.good.path("good.pem")})
        for url in urls:
            d.subscribe(url)
        self.wait(lambda: all((d.record(url) or {}).get("errors") for url in urls), what="an error of each", daemon=d)
        self.assertEqual(0, d.counter("outage"))

    def test_each_way_to_fail_is_told(self):                             # ETIQ-09
        plain = self.origin()
        urls = {
            "expired": self.secure(self.good.context("late", days="-1")),
            "authority that is unknown": self.secure(self.other.context("stranger")),
            "another name": self.secure(self.good.context("named", alt="DNS:feeds.example")),
            "does not speak TLS": plain.set("/f.xml", rss("a")).replace("http:", "https:"),
        }
        fine = self.secure(self.good.context("fine"))
        old, asking = self.good.context("old"), self.good.context("asking")
        old.minimum_version, old.maximum_version = ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1
        urls["before 1.2"] = self.secure(old)
        asking.load_verify_locations(self.good.path("good.pem"))
        asking.verify_mode = ssl.CERT_REQUIRED
        urls["a certificate of the client"] = self.secure(asking)
        urls["is too short"] = self.secure(self.good.context("weak", key="rsa:1024"))
        urls["not one for servers"] = self.secure(self.good.context("mail", use="emailProtection"))
        urls["method that is not safe"] = self.secure(self.good.context("sha1", digest="sha1"))
        nameless = self.good.context("nameless")
        nameless.sni_callback = lambda *_: ssl.ALERT_DESCRIPTION_UNRECOGNIZED_NAME
        urls["no site of this name"] = self.secure(nameless)
        d = self.daemon(env={"SSL_CERT_FILE": self.good.path("good.pem")})
        self.assertEqual(["a"], [e["title"] for e in d.feed(fine).json["entries"]])
        for why, url in urls.items():
            with self.subTest(why):
                answer = d.feed(url)
                self.assert_problem(answer, 502)
                d.subscribe(url)
                self.wait(lambda: d.record(url)["last_error"], what=why, daemon=d)
                told = d.record(url)["last_error"]
                self.assertRegex(told, "no TLS with 127.0.0.1|the connection to .* broke")
                self.assertEqual([w for w in urls if w in told], [why], told)

    def test_a_handshake_that_hangs_is_told(self):                       # ETIQ-09
        silent = socket.create_server(("127.0.0.1", 0))                  # it takes connections, and never says anything
        self.addCleanup(silent.close)
        d = self.daemon("--fetch-timeout", "2s")
        answer = d.feed("https://127.0.0.1:%d/f.xml" % silent.getsockname()[1])
        self.assert_problem(answer, 504, "upstream-timeout")
        self.assertIn("the handshake did not end in time", answer.json["detail"])
