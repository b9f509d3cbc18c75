"""Shared by bench/run and bench/parse: their release build, and running programs."""
import os
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.join(ROOT, "build-bench")
WORK = os.path.join(BUILD, "work")


class Missing(Exception):
    """Something cannot be measured on this machine; the text says what is needed."""


def need(program, package=None):
    path = shutil.which(program) or shutil.which(program, path="/usr/sbin:/sbin")
    if path is None:
        raise Missing("%s is not installed (Debian: apt install %s)" % (program, package or program))
    return path


def stop(text):
    sys.exit("%s: %s" % (os.path.join("bench", os.path.basename(sys.argv[0])), text))


def arguments(help_text):
    """What was typed after the name of the program; --help is answered here."""
    if {"-h", "--help"} & set(sys.argv[1:]):
        print(help_text.strip())
        sys.exit(0)
    return sys.argv[1:]


def build(*targets):
    """Build these programs (default: all) in build-bench/."""
    for program in ("meson", "ninja"):
        try:
            need(program)
        except Missing as e:
            stop(e)
    if not os.path.exists(os.path.join(BUILD, "build.ninja")):
        run(["meson", "setup", BUILD, ROOT, "--buildtype=release", "-Dbench=true"], quiet=True)
    run(["ninja", "-C", BUILD, *targets], quiet=True)


def run(command, quiet=False):
    done = subprocess.run([str(c) for c in command], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT if quiet else None, text=True)
    if done.returncode != 0:
        stop("%s failed\n%s" % (" ".join(map(str, command)), done.stdout))
    return done.stdout


def program(name):
    return os.path.join(BUILD, "bench", name)


def work(*names):
    return os.path.join(WORK, *names)


def document(kind, entries, entry_len):
    """A made-up feed as a file."""
    path = work("%s-%d-%d.xml" % (kind, entries, entry_len))
    with open(path, "wb") as f:
        subprocess.run([program("bench_documents"), kind, str(entries), str(entry_len)], stdout=f,
                       check=True)
    return path


def number(x):
    return "-" if x is None else "%.1f" % x if x < 1000 else "{:,.0f}".format(x)
