"""Compares what a daemon has answered with what it says of itself (GET /openapi.json)."""
import functools
import json
import re


def of(method, path, answer):
    """What is compared of an answer: (method, path, status, media type, type of the problem)."""
    media_type = answer.header("Content-Type", "").partition(";")[0]
    kind = ""
    if media_type == "application/problem+json" and answer.body:
        kind = json.loads(answer.body)["type"]
    return method, path.partition("?")[0], answer.status, media_type, kind


@functools.lru_cache(4)     # most daemons of a class say the same, in many thousand lines
def operations(description):
    """[(method, pattern of its paths, responses)] of a text"""
    found = []
    for template, methods in json.loads(description)["paths"].items():
        pattern = re.sub(r"\\\{\w+\\\}", "[^/]+", re.escape(template.rstrip("/"))) + "/*"
        for method, operation in methods.items():
            found.append((method.upper(), re.compile(pattern), operation["responses"]))
    return found


def lacks(responses, status, media_type, kind):
    """What the responses of an operation lack of an answer; empty: nothing."""
    response = responses.get(str(status))
    if response is None:
        return "" if kind == "about:blank" else "the status"
    content = response.get("content", {})
    if media_type and media_type not in content and "*/*" not in content:
        return "the media type"
    if kind and kind != "about:blank":
        kinds = content[media_type]["schema"]["allOf"][1]["properties"]["type"]["enum"]
        return "" if kind in kinds else "the kind of problem"
    return ""


def undescribed(description, answers):
    """A line for each answer that is not described. What no operation has (other methods, unknown paths) is left out."""
    known = operations(description)
    lines = []
    for method, path, status, media_type, kind in sorted(answers):
        for other, pattern, responses in known:
            if other == method and pattern.fullmatch(path):
                what = lacks(responses, status, media_type, kind)
                if what:
                    lines.append("%s of %s %s: %d %s %s" % (what, method, path, status, media_type, kind))
                break
    return lines
