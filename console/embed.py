#!/usr/bin/env python3
"""embed.py FOLDER FILE...: prints a C file with the files of the console, each also as gzip, and the hash of all of
them. The first one is the page; @FILES@ in it becomes the address of the others, which has the hash."""
import gzip
import hashlib
import os
import sys

TYPES = {".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml",
         ".js": "text/javascript; charset=utf-8"}


def array(name, data):
    rows = [",".join(str(b) for b in data[i:i + 64]) for i in range(0, len(data), 64)]
    return "static const unsigned char %s[] = {\n%s};\n" % (name, ",\n".join(rows) or "0")


def main(folder, names):
    files = [(n, open(os.path.join(folder, n), "rb").read()) for n in names]
    digest = hashlib.sha256()
    for name, data in files:
        digest.update(b"%s %d\n" % (name.encode(), len(data)) + data)
    tag = digest.hexdigest()[:16]
    print("/* made by console/embed.py */\n#include \"api/console.h\"\n")
    rows = []
    for i, (name, data) in enumerate(files):
        if i == 0:
            data = data.replace(b"@FILES@", b"console/" + tag.encode())
        packed = gzip.compress(data, 9, mtime=0)
        print(array("plain_%d" % i, data) + array("packed_%d" % i, packed))
        rows.append("    {\"%s\", \"%s\", plain_%d, packed_%d, %d, %d},\n"
                    % (name, TYPES[os.path.splitext(name)[1]], i, i, len(data), len(packed)))
    if not rows:
        rows = ["    {\"\", \"\", NULL, NULL, 0, 0},\n"]
    print("const struct console_file console_files[] = {\n%s};" % "".join(rows))
    print("const size_t n_console_files = %d;\nconst char console_hash[] = \"%s\";" % (len(files), tag))


main(sys.argv[1], sys.argv[2:])
