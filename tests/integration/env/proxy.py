"""A proxy: HTTP (a whole URL, or CONNECT) and SOCKS5 (RFC 1928, 1929) at one port, and a record of what it was asked."""
import base64
import socket
import socketserver
import struct
import threading


class Proxy:
    """`user`: "name:password" that it wants; None: anybody may use it. `asked`: ("GET", URL), ("CONNECT", "host:port"), or
    ("SOCKS5", "host:port")."""

    def __init__(self, user=None):
        self.user, self.asked = user, []
        proxy = self

        class Handler(socketserver.BaseRequestHandler):
            def handle(self):
                try:
                    first = self.request.recv(1, socket.MSG_PEEK)
                    if first:
                        (proxy.socks if first == b"\5" else proxy.http)(self.request)
                except OSError:
                    pass

        class Server(socketserver.ThreadingTCPServer):
            daemon_threads = True

        self.server = Server(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def url(self, scheme, user=None):
        return "%s://%s127.0.0.1:%d" % (scheme, user + "@" if user else "", self.port)

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def http(self, client):
        head = b""
        while b"\r\n\r\n" not in head:
            piece = client.recv(4096)
            if not piece:
                return
            head += piece
        lines = head.decode().split("\r\n")
        method, target, _ = lines[0].split(" ")
        fields = [line for line in lines[1:] if line and not line.lower().startswith("proxy-")]
        wanted = "Proxy-Authorization: Basic " + base64.b64encode((self.user or "").encode()).decode()
        if self.user and wanted not in lines:
            client.sendall(b"HTTP/1.1 407 No\r\nProxy-Authenticate: Basic realm=\"x\"\r\nContent-Length: 0\r\n\r\n")
            return
        self.asked.append((method, target))
        if method == "CONNECT":
            host, port = target.rsplit(":", 1)
            with socket.create_connection((host, int(port))) as far:
                client.sendall(b"HTTP/1.1 200 Yes\r\n\r\n")
                self.between(client, far)
            return
        host, path = target.split("://", 1)[1].split("/", 1)
        with socket.create_connection((host.split(":")[0], int(host.split(":")[1]))) as far:
            far.sendall("\r\n".join(["%s /%s HTTP/1.1" % (method, path)] + fields + ["Connection: close", "", ""]).encode())
            self.between(client, far)

    def socks(self, client):
        read = client.makefile("rb").read
        methods = read(read(2)[1])
        if self.user:
            if 2 not in methods:
                client.sendall(b"\5\xff")
                return
            client.sendall(b"\5\2")
            read(1)
            given = b":".join(read(read(1)[0]) for _ in range(2))
            client.sendall(b"\1" + (b"\0" if given == self.user.encode() else b"\1"))
            if given != self.user.encode():
                return
        else:
            client.sendall(b"\5\0")
        kind = read(4)[3]
        host = socket.inet_ntoa(read(4)) if kind == 1 else read(read(1)[0]).decode()
        port = struct.unpack(">H", read(2))[0]
        self.asked.append(("SOCKS5", "%s:%d" % (host, port)))
        with socket.create_connection((host, port)) as far:
            client.sendall(b"\5\0\0\1\0\0\0\0\0\0")
            self.between(client, far)

    @staticmethod
    def between(client, far):
        """Pass bytes both ways until the far side has no more."""
        def pass_on():
            try:
                while True:
                    piece = client.recv(65536)
                    if not piece:
                        break
                    far.sendall(piece)
            except OSError:
                pass
        threading.Thread(target=pass_on, daemon=True).start()
        while True:
            piece = far.recv(65536)
            if not piece:
                return
            client.sendall(piece)
