"""Readers of paged logs, written from the specifications alone: Simplefeed ("Consuming"), RFC 5005
section 4.2 with RFC 6721, and Feed History draft-00 section 5."""
import datetime
import urllib.request
import xml.etree.ElementTree as tree

ATOM = "{http://www.w3.org/2005/Atom}"
FH = "{http://purl.org/syndication/history/1.0}"
AT = "{http://purl.org/atompub/tombstones/1.0}"


def when(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))


class Document:
    def __init__(self, url, answer=None):
        if answer is None:
            with urllib.request.urlopen(url, timeout=60) as got:
                self.headers, self.body = got.headers, got.read()
        else:
            self.headers, self.body = dict(answer.headers), answer.body
        self.url = url
        self.root = tree.fromstring(self.body)
        assert self.root.tag == ATOM + "feed", self.root.tag
        self.id = self.root.findtext(ATOM + "id")
        self.updated = when(self.root.findtext(ATOM + "updated"))
        self.entries = self.root.findall(ATOM + "entry")
        self.ids = [e.findtext(ATOM + "id") for e in self.entries]
        self.titles = [e.findtext(ATOM + "title") for e in self.entries]

    def link(self, rel):
        links = self.links(rel)
        assert len(links) <= 1, (rel, links)
        return links[0] if links else None

    def links(self, rel):
        return [l.get("href") for l in self.root.findall(ATOM + "link") if l.get("rel") == rel]

    def has(self, tag):
        return self.root.find(tag) is not None


def chain(url, rel="prev-archive"):
    """The document at the URL and those behind it, newest first."""
    documents, seen = [], set()
    while url:
        assert url not in seen, "a loop at " + url
        seen.add(url)
        documents.append(Document(url))
        url = documents[-1].link(rel)
    return documents


class SimplefeedConsumer:
    """Remembers the last id; walks back until it finds it, then forward."""

    def __init__(self, url):
        self.url, self.last, self.events = url, None, []

    def poll(self):
        document, found, pending = Document(self.url), False, []
        for _ in range(500):
            fresh = []
            for entry in document.entries:
                if entry.findtext(ATOM + "id") == self.last:
                    found = True
                    break
                fresh.append(entry)
            pending = list(reversed(fresh)) + pending
            back = document.link("prev-archive")
            if found or not back:
                break
            document = Document(back)
        else:
            raise AssertionError("the documents do not end")
        self.events += pending
        if pending:
            self.last = pending[-1].findtext(ATOM + "id")
        return [e.findtext(ATOM + "id") for e in pending]


def reconstruct(documents):
    """RFC 5005 section 4.2: of the entries with one id the newest by its own `updated`, then by that
    of its document, then the higher in it; a tombstone hides what is not later than it."""
    best, dead = {}, {}
    for order, document in enumerate(documents):
        for place, entry in enumerate(document.entries):
            key = (when(entry.findtext(ATOM + "updated")), document.updated, -order, -place)
            name = entry.findtext(ATOM + "id")
            if name not in best or key > best[name][0]:
                best[name] = (key, entry)
        for stone in document.root.findall(AT + "deleted-entry"):
            at = when(stone.get("when"))
            dead[stone.get("ref")] = max(at, dead.get(stone.get("ref"), at))
    return {name: entry for name, (key, entry) in best.items()
            if name not in dead or key[0] > dead[name]}
