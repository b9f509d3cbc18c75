#!/usr/bin/env python3
"""make_shape.py MADE.SQL: prints what tables, columns, keys, references, indexes and sequences a database has that was made by
this text of make_schema.py, as rows PART(kind, name, part) for storage/pg/check.c. What is not understood ends it."""
import re
import sys

TYPES = {"bigint", "text", "bytea", "boolean", "tsvector", "bigint[]"}
COLUMN = re.compile(r'(\w+)\s+([a-z]+(?:\[\])?)(.*)', re.S)
REFERENCE = re.compile(r"REFERENCES (\w+)")
KEY = re.compile(r"(PRIMARY KEY|UNIQUE) \(([\w, ]+)\)")
TABLE = re.compile(r"CREATE TABLE (\w+) \((.*?)\)(?: PARTITION BY RANGE \(id\)| WITH \([^)]*\))?", re.S)
INDEX = re.compile(r"CREATE (?:UNIQUE )?INDEX (\w+) ON (\w+) (?:USING gin )?\((.*?)\)( WHERE .*)?", re.S)
SEQUENCE = re.compile(r"CREATE SEQUENCE (\w+)")
OTHERS = re.compile(r"(INSERT INTO|ALTER TABLE|CREATE TABLE \w+ PARTITION OF) ")


def split(text):
    return re.split(r", *(?![^(]*\))", re.sub(r"\s+", " ", text).strip())


def index(name, table, columns, where=None):
    """A key over a hash is one of the column in it, as in the statement that reads the catalog."""
    for i, column in enumerate(columns):
        over = re.sub(r"^.*?\((\w+).*$", r"\1", column).split()[0]
        yield "index", name, "of %s: %s, part %d%s" % (table, over, i, ", of some rows" if where else "")


def table(name, body):
    keyed = [c for kind, columns in KEY.findall(body) if kind == "PRIMARY KEY" for c in split(columns)]
    for part in split(body):
        key, column = KEY.fullmatch(part), COLUMN.fullmatch(part)
        if key:
            names = split(key.group(2))
            yield from index("%s_pkey" % name if key.group(1) == "PRIMARY KEY" else "%s_%s_key" % (name, "_".join(names)),
                             name, names)
            continue
        if not column or column.group(2) not in TYPES:
            sys.exit("make_shape.py: not understood: %s: %s" % (name, part))
        of, kind, rest = column.groups()
        is_key = "PRIMARY KEY" in rest
        is_set = is_key or of in keyed or "NOT NULL" in rest
        yield "table", name, "column %s %s%s" % (of, kind, " NOT NULL" if is_set else "")
        if is_key:
            yield from index("%s_pkey" % name, name, [of])
        if REFERENCE.search(rest):
            yield "table", name, "%s refers to %s" % (of, REFERENCE.search(rest).group(1))


def parts(text):
    for one in re.sub(r"--[^\n]*", "", text).split(";"):
        one = one.strip()
        made, over, sequence = TABLE.fullmatch(one), INDEX.fullmatch(one), SEQUENCE.fullmatch(one)
        if made:
            yield from table(made.group(1), made.group(2))
        elif over:
            yield from index(over.group(1), over.group(2), split(over.group(3)), over.group(4))
        elif sequence:
            yield "sequence", sequence.group(1), "its numbers"
        elif one and not OTHERS.match(one):
            sys.exit("make_shape.py: not understood: " + one)


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as made:
        for part in parts(made.read()):
            print('PART("%s", "%s", "%s")' % part)
