"""Parse, write as Atom, RSS and JSON Feed, parse again: is it valid, and is it the same?

    check.py --respin BINARY [--keep DIR] [--examples N] [--only WORD] PATH...

Every file under the paths goes through respin. What was written must pass valid.py and, Atom, the
schema of RFC 4287 (jing); what was read again must be equal to what was read first, entry by entry
and member by member, but for what docs/parsing.md says a format has no place for: the functions
below named `expected_...`. Prints each kind of difference with its number and its first examples.
"""
import argparse
import collections
import html
import json
import os
import re
import subprocess
import sys
import tempfile
import urllib.parse
import xml.etree.ElementTree as tree
from calendar import timegm
from html.parser import HTMLParser

import valid

FORMATS = ("atom", "rss", "jsonfeed")
RECEIVED = 1000000000
BASE = "http://example.org/dir/feed"  # as in respin.c
SCHEMA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "fixtures", "out", "atom.rnc")
# relations that a document of the middleware's own says for itself, or that mean nothing when it is not the publisher's
OURS = {"hub", "first", "last", "next", "prev", "previous", "prev-archive", "next-archive", "current"}
SCHEMES = set("""aim callto cvs facetime feed file ftp git gopher gtalk h323 hdl http https imap irc irc6 ircs itms magnet mailto
mms msnim news nntp prospero rsync rtsp rtspu sftp shttp sip sips skype smb sms snews ssh svn svn+ssh tel telnet wais
xmpp ymsg""".split())


class Tokens(HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.out = []

    def handle_starttag(self, tag, attributes):
        self.out.append((tag,) + tuple(sorted((k, v or "") for k, v in attributes)))

    def handle_endtag(self, tag):
        self.out.append("/" + tag)

    def handle_data(self, data):
        if self.out and isinstance(self.out[-1], list):
            self.out[-1][0] += data
        else:
            self.out.append([data])


def blank(s):
    return re.sub(r"[ \t\r\n\x0c]+", " ", s)


def tokens(markup):
    """HTML as what it means: tags, and text with its references decoded and white space single."""
    t = Tokens()
    t.feed(markup)
    t.close()
    out = [("text", blank(x[0])) if isinstance(x, list) else x for x in t.out]
    while out and out[0] == ("text", " "):
        out.pop(0)
    while out and out[-1] == ("text", " "):
        out.pop()
    return [(x[0], x[1].lstrip()) if i == 0 and x[0] == "text" else x for i, x in enumerate(out)]


def plain(markup):
    """The words of HTML."""
    t = Tokens()
    t.feed(markup)
    t.close()
    return "".join(x[0] if isinstance(x, list) else " " for x in t.out).split()


def is_html(kind, text):
    return kind in ("text/html", "application/xhtml+xml", "html", "xhtml", "") or kind is None


def markup(o, key):
    """A text construct as HTML; None when it is absent or empty."""
    detail = o.get(key + "_detail") or {}
    if not detail and key == "summary":  # made of a content
        detail = ([c for c in o.get("content") or [] if c.get("value") == o.get(key)] or [{}])[0]
    text = (detail.get("value") or "").strip() or o.get(key)
    if not isinstance(text, str) or not text.strip():
        return None
    text = text.strip()
    return text if is_html(detail.get("type"), text) else html.escape(text, quote=False)


def address(s):
    """An address as it may leave; None when it must not."""
    if not isinstance(s, str) or not s.strip():
        return None
    s = re.sub(r"%(?![0-9A-Fa-f]{2})", "%25", s.strip())
    first, mark, rest = s.partition("#")
    s = first + mark + rest.replace("#", "%23")
    s = urllib.parse.quote(s, safe="%:/?#@!$&'()*+,;=~")
    scheme = re.match("([A-Za-z][A-Za-z0-9+.-]*):.", s)
    if not scheme or scheme.group(1).lower() not in SCHEMES:
        return None
    if scheme.group(1).lower() in ("http", "https") and not re.match(r"[a-z]+://([^/?#]*@)?[^/?#:@]", s, re.I):
        return None
    return s


def when(o, key):
    nine = o.get(key)
    return timegm(tuple(nine)) if isinstance(nine, list) and len(nine) == 9 and nine[0] > 0 else None


def is_iri(s):
    return bool(s and valid.IRI.match(s) and (address(s) or not s.lower().startswith("http")))


def length(value):
    text = str(value if value is not None else "").strip()
    return int(text) if text.isdigit() and int(text) < 1 << 63 else None


def media_type(value):
    value = (value or "").split(";")[0].strip() if isinstance(value, str) else ""
    return value.lower() if re.match(r"[^\s()<>@,;:\\\"/\[\]?=\x7f-\U0010ffff]+/[^\s()<>@,;:\\\"/\[\]?=\x7f-\U0010ffff]+\Z", value) else None


def language(value):
    return value.strip() if isinstance(value, str) and valid.LANGUAGE.match(value.strip()) else None


def link_type(rel, value):
    """The parser takes a link for HTML that does not say its type; an enclosure must say one in RSS."""
    value = media_type(value)
    other = {"enclosure": ("text/html", "application/octet-stream"), "self": ("application/atom+xml", "text/html")}
    return None if value in other.get(rel, ("text/html",)) else value


def links(o):
    """(rel, href, type, hreflang, title, length), without those that cannot leave; one alternate a type and language."""
    out, taken = [], set()
    listed = [dict(link) for link in o.get("links") or [] if isinstance(link, dict)]
    if address(o.get("comments")):  # which Atom calls a relation
        listed.append({"rel": "replies", "href": o["comments"]})
    show = o.get("link") or ""
    show = address(show if ":" in show else urllib.parse.urljoin(BASE, show) if show else None)
    listed.sort(key=lambda link: not ((link.get("rel") or "alternate").lower() == "alternate" and address(link.get("href")) == show))
    if show and not any((k.get("rel") or "alternate").lower() == "alternate" and address(k.get("href")) == show for k in listed[:1]):
        listed.insert(0, {"rel": "alternate", "href": show})
    for link in listed:
        rel, href = (link.get("rel") or "alternate").strip(), address(link.get("href"))
        rel = rel if ":" in rel else rel.lower()
        if not href or rel in OURS or not (rel in valid.RELATIONS or valid.IRI.match(rel)):
            continue
        one = (rel, href, link_type(rel, link.get("type")), language(link.get("hreflang")), (link.get("title") or "").strip() or None,
               length(link.get("length")) or None)
        key = (rel, one[2], one[3]) if rel == "alternate" else (rel, href)
        if key not in taken:
            taken.add(key)
            out.append(one)
        elif one[4]:  # the same address, and its title
            out = [one if k[:4] == one[:4] and not k[4] else k for k in out]
    return out


def persons(o, key):
    out = []
    listed = o.get(key)
    for p in listed if isinstance(listed, list) else []:
        if not isinstance(p, dict):
            continue
        email = (p.get("email") or "").strip()
        email = email[7:] if email.lower().startswith("mailto:") else email
        email = email if valid.EMAIL.match(email) else None
        uri = address(p.get("href") or p.get("uri"))
        name = " ".join(plain(p.get("name") or "")) if "<" in (p.get("name") or "") or "&" in (p.get("name") or "") \
            else blank(p.get("name") or "").strip()
        host = urllib.parse.urlsplit(uri).hostname if uri else None
        name = name or email or host
        if name and (name, email, uri) not in out:
            out.append((name, email, uri))
    return out


def tags(o):
    out = []
    for t in o.get("tags") or []:
        term, scheme, label = ((t.get(k) or "").strip() or None for k in ("term", "scheme", "label"))
        term = term or label
        if term and (term, scheme) not in [x[:2] for x in out]:
            out.append((blank(term), scheme, blank(label) if label and label != term else None))
    return out


def contents(o):
    """What the contents say beyond the summary; a summary may be read once more as content, and is none the less."""
    out, said = [], [[]]
    summary = markup(o, "summary")
    for c in (o.get("content") or []) + (o.get("summaries") or []):
        text = (c.get("value") or "").strip()
        kind = c.get("type") or ""
        if text and (is_html(kind, text) or kind.startswith("text/")):
            one = tokens(text if is_html(kind, text) else html.escape(text, quote=False))
            words = [w for x in one if x[0] == "text" and isinstance(x[1], str) for w in x[1].split()]
            if words not in said and (not summary or words != plain(summary)):
                out.append(one)
                said.append(words)
        elif not text and address(c.get("src")):
            out.append([("src", address(c["src"]))])
    return out


def elements(fragment):
    """The foreign elements of a fragment, each in canonical form, sorted."""
    if not fragment:
        return []
    root = tree.fromstring("<r>" + fragment + "</r>")
    out = []
    for child in root:
        child.tail = None
        if child.tag.startswith("{urn:feedmill:attributes}"):
            child.attrib.pop("n")  # the place in a list from which doubles may have gone
        out.append(tree.canonicalize(tree.tostring(child, encoding="unicode"), rewrite_prefixes=True))
    return sorted(out)


BARRED = {"urn:feedmill:attributes", "http://www.w3.org/2001/XInclude"}
HTML_NAMES = {"a", "b", "blockquote", "br", "div", "em", "i", "img", "p", "pre", "span", "strong", "ul", "ol", "li"}

# members that are compared by a function of their own, or follow from those that are
OWN = {"id", "source_id", "guidislink", "title", "title_detail", "link", "links", "enclosures", "summary", "summary_detail", "summaries", "content",
       "authors", "author", "author_detail", "contributors", "published", "published_parsed", "updated", "updated_parsed",
       "tags", "source", "comments",
       "href"}  # of the author, whatever else it is


def source(o):
    s = o.get("source")
    if not isinstance(s, dict):
        return None
    selves = [link.get("href") for link in s.get("links") or [] if link.get("rel") == "self"]
    if not (address(s.get("href") or s.get("url")) or address(s.get("link")) or address(s.get("id")) or selves):
        return None  # it does not say which
    return {"title": tokens(markup(s, "title") or ""), "id": s.get("id"), "feed": address(s.get("href") or s.get("url") or (selves or [None])[0]),
            "link": address(s.get("link")), "updated": when(s, "updated_parsed"), "authors": persons(s, "authors"),
            "tags": tags(s), "rights": tokens(markup(s, "rights") or "")}


def member(value):
    """A member that does not concern the writers, without what says where it was read."""
    if isinstance(value, dict):
        return {k: address(urllib.parse.urljoin(BASE, v)) or v if k in ("href", "url", "src", "rdf:resource", "resource") and isinstance(v, str) and v
                else member(v) for k, v in value.items() if k != "base"}
    if isinstance(value, list):
        return [member(v) for v in value]
    return value


def view(fact):
    """An entry as it is compared."""
    o = fact["obj"]
    summary, content = markup(o, "summary"), contents(o)
    v = {"id": fact["iri"], "title": tokens(markup(o, "title") or ""), "links": links(o),
         "link": address(o.get("link")), "authors": persons(o, "authors"), "contributors": persons(o, "contributors"),
         "summary": tokens(summary) if summary else None, "content": content, "published": when(o, "published_parsed"),
         "updated": when(o, "updated_parsed"), "tags": tags(o), "source": source(o), "ext": elements(fact["ext"])}
    if sum((k.get("rel") or "alternate") == "alternate" for k in o.get("links") or []) > 1:  # one of them may leave
        v["ext"] = [x for x in v["ext"] if not ("urn:feedmill:attributes" in x and 'e="link"' in x)]
    for key, value in o.items():
        if key.endswith("_detail") and key[:-7] in o:
            continue
        if key not in OWN:
            v["." + key] = tokens(markup(o, key) or "") if "value" in (o.get(key + "_detail") or {}) else member(value)
    if isinstance(v.get(".image"), dict) and v[".image"].get("href"):
        v[".image"] = v[".image"]["href"]
    return v


# ---------------------------------------------------------------- what docs/parsing.md, "What leaves", says of each format

def expected(fmt, v, again, is_json, namespaces):
    """The first reading as the second one must have it; `again` where an addition is allowed."""
    v = dict(v)
    if fmt != "jsonfeed":  # what is in JSON only has no element, what has no namespace is none, two colons make no name,
        for key in list(v):  # and the names of our own marks are barred
            uri = namespaces.get(key[1:].partition("_")[0])
            if key[0] == "." and (is_json and key not in (".image", ".language") or ":" in key or uri in BARRED
                                  or uri is None and "_" in key.rstrip("_")[1:] and again.get(key) is None):
                del v[key]
                again.pop(key, None)
            elif key.startswith(".wfw_") and isinstance(v[key], str):  # an address in a text stays as it was written
                v[key] = again[key]
    else:  # an extension is an object
        v = {k: x for k, x in v.items() if not k.startswith("._") or isinstance(x, dict)}
    if not v["title"] and (fmt == "atom" or not v["summary"] and all(c[0][0] == "src" for c in v["content"])):
        v["title"] = again["title"]  # Atom asks for a title, RSS for that or a description
    if not v["summary"] and all(c[0][0] == "src" for c in v["content"]):
        v["summary"] = again["summary"]  # JSON Feed asks for a content, Atom for a summary of what is elsewhere
    if fmt == "jsonfeed":  # it holds no XML, and a date has one form
        v["ext"] = again["ext"]
        v = {k: x for k, x in v.items() if not k.endswith("_parsed")}
        for key in [k for k in again if k.endswith("_parsed")]:
            del again[key]
    if not v["link"]:
        v["link"] = again["link"]  # made of another link
        named = ("alternate", html.unescape(v["id"]), None, None, None, None)
        if fmt != "rss" and named in again["links"] and named not in v["links"]:
            v["links"] = v["links"] + [named]  # made of the id: only RSS can say that it is not a permalink
    if v["updated"] is None:  # it cannot be read
        v["updated"] = v["published"] if v["published"] is not None else RECEIVED
    if v["published"] is None and fmt != "atom":
        v["published"] = v["updated"]  # the one date that every reader of these formats looks at
    if fmt == "atom":
        v["tags"] = [(term, scheme if is_iri(scheme) else None, label) for term, scheme, label in v["tags"]]
    if v["source"] and again["source"]:  # a source has an id and a date
        v["source"] = {k: x if x or k == "authors" else again["source"][k] for k, x in v["source"].items()}
    added = [x for x in again["ext"] if x not in v["ext"] and re.match(r"<n\d:(thumbnail|created|publisher|language|rights)\b", x)]
    again["ext"] = [x for x in again["ext"] if x not in added]
    for x in (v, again):  # what is in XHTML is barred outside of content: a browser would act on it
        for key in list(x):
            if key.startswith(".xhtml_") or key.strip("._") in HTML_NAMES:
                del x[key]
    if v["summary"] is None and again["summary"] in v["content"]:  # it was empty
        v["summary"] = again["summary"]
        v["content"] = [c for c in v["content"] if c != v["summary"]]
    if fmt == "rss":  # an enclosure has no title
        enclosure = ([k for k in v["links"] if k[0] == "enclosure"] or [None])[0]
        v["links"] = [k[:4] + (None,) + k[5:] if k is enclosure else k for k in v["links"]]
    if is_json and fmt != "jsonfeed":  # which the extension _feedmill had
        again.pop(".created", None)
        again.pop(".created_parsed", None)
    if is_json and fmt != "jsonfeed" and ".image" in v:
        thumbnail = again.pop(".media_thumbnail", None)
        again[".image"] = (thumbnail or [{}])[0].get("url")
        v[".image"] = address(v[".image"])
    if fmt == "rss":  # the title of an entry need not be that of its link too
        v["links"] = [k[:4] + (None,) + k[5:] if k[0] == "alternate" and k[4] and k not in again["links"]
                      and plain(k[4]) == [w for x in v["title"] if x[0] == "text" and isinstance(x[1], str) for w in x[1].split()] else k for k in v["links"]]
    if fmt != "atom":  # their `link` and `url` say no type; a further link does
        bare = [k for k in again["links"] if k[0] == "alternate" and k not in v["links"]]
        again["links"] = [k for k in again["links"] if k not in bare or k[1] not in [x[1] for x in v["links"] if x[0] == "alternate"]]
    hrefs = [k[1] for k in v["links"]]  # an entry without a link may get one of its other links
    if not any(k[0] == "alternate" for k in v["links"]):
        again["links"] = [k for k in again["links"] if k[0] != "alternate" or k[1] not in hrefs]
    if fmt == "rss" and any("@" in p[0] for p in v["authors"]):  # a dc:creator with an address in it
        v["authors"] = again["authors"]
    if not language(v.get(".language")):
        v.pop(".language", None)
        again.pop(".language", None)
    for x in (v, again):  # of the feed's image, if it has one
        x.pop(".width", None)
        x.pop(".height", None)
    return v


def compare(fmt, first, again, is_json, namespaces, report):
    first = expected(fmt, first, again, is_json, namespaces)
    for key in sorted(set(first) | set(again)):
        a, b = first.get(key), again.get(key)
        if key in ("links", "tags"):  # sets
            a, b = sorted(a, key=repr), sorted(b, key=repr)
        if a != b and (a or b):
            if isinstance(a, list) and isinstance(b, list):
                a, b = [x for x in a if x not in b], [x for x in b if x not in a]
            report(fmt, key, a, b)


def run(args):
    names = []
    for path in args.paths:
        if os.path.isdir(path):
            names += sorted(os.path.join(d, f) for d, _, files in os.walk(path) for f in files if not f.endswith((".golden.json", ".want.json", ".jsonl")))
        else:
            names.append(path)
    out = args.keep or tempfile.mkdtemp()
    os.makedirs(out, exist_ok=True)
    subprocess.run([args.respin, out], input="\n".join(names) + "\n", text=True, check=True)
    found = collections.OrderedDict()

    def report(fmt, what, *detail):
        found.setdefault((fmt, what), []).append((name, detail))
    n_entries = 0
    for i, name in enumerate(names):
        where = os.path.join(out, str(i))
        for fmt in FORMATS:
            for kind in ("", "merged."):
                with open("%s.%s%s" % (where, kind, fmt), "rb") as f:
                    data = f.read()
                try:
                    for bad in getattr(valid, fmt)(data):
                        report(kind + fmt, "invalid: " + re.split(r"[:'\"]", bad)[0], bad)
                except Exception as e:
                    report(kind + fmt, "unreadable", repr(e))
        with open(where + ".json", "rb") as f:
            for bad in valid.object_form(f.read()):
                report("json", "invalid: " + bad.split(":")[0], bad)
        with open(where + ".facts") as f:
            facts = json.load(f)
        first = [view(e) for e in facts["first"]["entries"]]
        n_entries += len(first)
        for fmt in FORMATS:
            again = facts[fmt]["entries"]
            if facts[fmt]["bozo"]:
                report(fmt, "bozo", facts[fmt]["why"])
            if len(again) != len(first):
                report(fmt, "number of entries", len(first), len(again))
                continue
            for a, b in zip(first, again):
                compare(fmt, a, view(b), facts["first"]["version"].startswith(("json", "as")),
                        facts["first"]["namespaces"], report)
    files = [os.path.join(out, "%d.%satom" % (i, kind)) for i in range(len(names)) for kind in ("", "merged.")]
    for at in range(0, len(files), 500):
        done = subprocess.run(["jing", "-c", SCHEMA] + files[at:at + 500], capture_output=True, text=True)
        for line in done.stdout.splitlines() + done.stderr.splitlines():
            if "Unable to locate" in line:  # of Debian's wrapper for Java programs
                continue
            place = re.match(r".*/(\d+)\.(merged\.)?atom:", line)
            name = names[int(place.group(1))] if place else "jing"
            report("atom", "schema: " + re.sub(r'"[^"]*"', '""', line.rpartition("error: ")[2])[:60], line)
    for (fmt, what), cases in found.items():
        if args.only and args.only not in "%s %s" % (fmt, what):
            continue
        print("%6d in %4d files  %s  %s" % (len(cases), len({c[0] for c in cases}), fmt, what))
        for name, detail in cases[:args.examples]:
            print("        %s" % os.path.basename(name))
            for d in detail:
                print("            %s" % (d if isinstance(d, str) else repr(d))[:args.width])
    print("%d files, %d entries, %d formats: %s" % (len(names), n_entries, len(FORMATS), "%d differences of %d kinds" % (
        sum(map(len, found.values())), len(found)) if found else "valid, and the same when read again"))
    return not found


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--respin", required=True)
    p.add_argument("--keep")
    p.add_argument("--examples", type=int, default=2)
    p.add_argument("--width", type=int, default=300)
    p.add_argument("--only")
    p.add_argument("paths", nargs="+")
    args = p.parse_args()
    if subprocess.run(["sh", "-c", "command -v jing"], stdout=subprocess.DEVNULL).returncode:
        sys.exit("check.py: jing is missing")
    sys.exit(0 if run(args) else 1)


if __name__ == "__main__":
    main()
