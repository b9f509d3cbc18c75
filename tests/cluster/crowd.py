"""Many others at the servers: sessions that take all connections of the database, and clients of the nodes that hang."""
import contextlib
import socket
import struct

from integration.env.postgres import DATABASE, USER

TOO_MANY = b"C53300\0"


def session(server):
    """A session of the nodes' role, over the socket of the server; None: there is no room for one more."""
    body = struct.pack("!i", 196608) + b"user\0%s\0database\0%s\0\0" % (USER.encode(), DATABASE.encode())
    one = socket.socket(socket.AF_UNIX)
    try:
        one.settimeout(5)
        one.connect("%s/.s.PGSQL.%d" % (server.folder, server.port))
        one.sendall(struct.pack("!i", len(body) + 4) + body)
        said = b""
        while not said.endswith(b"Z\0\0\0\5I"):
            some = one.recv(4096)
            if not some or TOO_MANY in said + some:
                one.close()
                return None
            said += some
        return one
    except OSError:
        one.close()
        return None


def take_all(server, most=400):
    """Sessions until there is no room; end them by close()."""
    taken = []
    while len(taken) < most and (one := session(server)):
        taken.append(one)
    return taken


WAYS = (b"",                                                # it connects, and that is all
        b"GET /sub?type=json HT",                           # half a head
        b"POST /sub HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nurl=http",
        b"GET /events HTTP/1.1\r\nHost: x\r\nLast-Event-ID: start\r\n\r\n",     # from here on nothing is read
        b"GET /log?since=start&max=500 HTTP/1.1\r\nHost: x\r\n\r\n" * 50,
        b"GET /sub?type=json HTTP/1.1\r\nHost: x\r\n\r\n" * 50)


def hang(ports, dice, n):
    """Clients that hang, at nodes by chance. Returns their sockets."""
    hung = []
    for _ in range(n):
        one = socket.socket()
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        one.settimeout(2)
        with contextlib.suppress(OSError):
            one.connect(("127.0.0.1", dice.choice(ports)))
            one.sendall(dice.choice(WAYS))
        hung.append(one)
    return hung


def close(sockets):
    for one in sockets:
        with contextlib.suppress(OSError):
            one.close()
