"""What the tables of the API say, for checks and tests: which route reads which parameters."""
import os
import re

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as text:
        return text.read()


def routes():
    """{(path, method): names of parameters} by api/routes.def and api/http/parameters.def."""
    paths = dict(re.findall(r'#define (PATH_\w+) "([^"]*)"', read("model", "paths.h")))
    names = dict(re.findall(r'^PARAM\((\w+), "([^"]+)"', read("api", "http", "parameters.def"), re.M))
    text = read("api", "routes.def").replace("\\\n", "")
    groups = dict(re.findall(r"^#define (OF_\w+) (.*)$", text, re.M))
    found = {}
    for path, method, rest in re.findall(r'^ROUTE\(([^,]+), "([A-Z]+)",(.*?)(?=^ROUTE|^#undef)', text, re.M | re.S):
        while re.search(r"\bOF_", rest):
            rest = re.sub(r"\bOF_\w+", lambda m: groups[m.group()], rest)
        whole = "".join(paths.get(word, word.strip('"')) for word in path.split())
        found[(whole, method)] = {names[i] for i in re.findall(r"\bP\((\w+)\)", rest)}
    return found
