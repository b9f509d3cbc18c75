"""Real servers: their ports, folders and processes."""
import ctypes
import os
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import threading


def free_ports(n):
    """Ports at which nobody listens. None is of the range from which the kernel takes ports of outgoing
    connections: with thousands of these, a port of that range is often taken before the server has it, or
    while it is stopped."""
    with open("/proc/sys/net/ipv4/ip_local_port_range") as f:
        first = int(f.read().split()[0])
    found = []
    while len(found) < n:
        port = random.SystemRandom().randrange(min(10000, first - 2000), first)
        with socket.socket() as s:
            try:
                s.bind(("127.0.0.1", port))
            except OSError:
                continue
        if port not in found:
            found.append(port)
    return found


def free_port():
    return free_ports(1)[0]


def server_folder(name, in_memory=False):
    """A folder that another user can reach: servers that refuse root run as one, and the folder of a test run
    is private. `in_memory`: where there is room, for a server that syncs its files all the time."""
    top = "/tmp" if os.geteuid() == 0 else None
    if top and in_memory and os.path.isdir("/dev/shm") and shutil.disk_usage("/dev/shm").free > 1 << 30:
        top = "/dev/shm"
    return tempfile.mkdtemp(prefix="feedmill-%s-" % name, dir=top)


def spawn(args, **options):
    """As subprocess.Popen(). The server is killed when this process ends without having stopped it."""
    libc, set_death_signal = ctypes.CDLL(None), 1

    def tie():
        libc.prctl(set_death_signal, signal.SIGKILL)

    # The kernel means the thread that starts the server: the main thread lives as long as the process.
    if threading.current_thread() is threading.main_thread():
        options["preexec_fn"] = tie
    return subprocess.Popen(args, **options)
