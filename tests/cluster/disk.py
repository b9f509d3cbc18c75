"""Small disks of their own for the databases: tmpfs, which can be made full and roomy again. Only root can, and what is
mounted is seen by this process and its children alone, so nothing is left when they end."""
import ctypes
import os
import shutil
import subprocess

from integration.env.servers import server_folder

CLONE_NEWNS, MS_REC, MS_PRIVATE = 0x20000, 0x4000, 1 << 18
SIZE = 2 << 30
state = {"is_own": False}


def missing():
    """Why there can be none here; None: there can."""
    if state["is_own"]:
        return None
    if os.geteuid() != 0 or not shutil.which("mount"):
        return "only root can mount a disk"
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNS) or libc.mount(b"none", b"/", None, MS_REC | MS_PRIVATE, None):
        return "mounting: " + os.strerror(ctypes.get_errno())
    folder = server_folder("disk")
    try:
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder], capture_output=True, text=True)
        if done.returncode:
            return done.stderr.strip()
        subprocess.run(["umount", folder], check=True)
    finally:
        os.rmdir(folder)
    state["is_own"] = True
    return None


def folder(name, in_memory=False):
    """As server_folder(), with a disk of its own if missing() has said that there can be one."""
    made = server_folder(name, in_memory)
    if state["is_own"]:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=700,size=%d" % SIZE, "tmpfs", made], check=True)
    return made


def resize(where, size):
    subprocess.run(["mount", "-o", "remount,size=%d" % size, where], check=True)


def fill(where, left=0):
    """From now on it has room for so many bytes only."""
    there = os.statvfs(where)
    resize(where, (there.f_blocks - there.f_bfree) * there.f_frsize + left)


def free(where):
    resize(where, SIZE)


def remove(where):
    if os.path.ismount(where):
        subprocess.run(["umount", "-l", where], check=True)
    shutil.rmtree(where, ignore_errors=True)
