"""The loop of an engine: see README.md in this folder."""
import sys
import time


def serve(parse, n_args=1, passes=None):
    """Answer requests; `parse` takes the bytes of a document and returns its number of entries.
    `passes`: takes documents and seconds, returns (passes, processor time)."""
    sets = {}
    with open(sys.argv[n_args], encoding="utf-8") as f:
        for line in f:
            name, path = line.rstrip("\n").split("\t")
            with open(path, "rb") as document:
                sets.setdefault(name, []).append(document.read())
    print("ready", flush=True)
    for line in sys.stdin:
        what, name = line.split()
        documents = sets.get(name, [])
        if what == "empty":
            print(sum(parse(d) == 0 for d in documents), flush=True)
        else:
            print("%d %.9f" % (passes or loop)(parse, documents, float(what)), flush=True)


def loop(parse, documents, seconds):
    n, used, begin = 0, 0.0, time.process_time()
    while n == 0 or used < seconds:
        for d in documents:
            parse(d)
        n += 1
        used = time.process_time() - begin
    return n, used
