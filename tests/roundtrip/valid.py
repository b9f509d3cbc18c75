"""Is a document that was written valid? The rules of the three formats, and what the W3C's feed validator warns of."""
import html
import json
import re
import xml.parsers.expat
from html.entities import html5
from html.parser import HTMLParser

ATOM = "http://www.w3.org/2005/Atom"
NAMES = {ATOM: "atom", "http://purl.org/dc/elements/1.1/": "dc", "http://search.yahoo.com/mrss/": "media",
         "http://purl.org/rss/1.0/modules/content/": "content", "http://purl.org/syndication/history/1.0": "fh"}

URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?:[A-Za-z0-9._~:/?#@!$&'()*+,;=\[\]-]|%[0-9A-Fa-f]{2})+\Z")
IRI = re.compile("[A-Za-z][A-Za-z0-9+.-]*:(?:[A-Za-z0-9._~:/?#@!$&'()*+,;=\\[\\]\u00a0-\U0010fffd-]|%[0-9A-Fa-f]{2})+\\Z")
RFC3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)\Z")
RFC822 = re.compile(r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) \d{4}"
                    r" \d\d:\d\d:\d\d (GMT|[+-]\d{4})\Z")
LANGUAGE = re.compile(r"[A-Za-z]{1,8}(-[A-Za-z0-9]{1,8})*\Z")
EMAIL = re.compile(r"[^\s<>()\",;:@]+@[^\s<>()\",;:@]+\Z")
MEDIA_TYPE = re.compile(r"[A-Za-z0-9!#$&^_.+-]+/[A-Za-z0-9!#$&^_.+*-]+\Z")
SCRIPTS = ("javascript:", "vbscript:", "data:", "livescript:", "mocha:")
# registered link relations that stand in feeds
RELATIONS = set("""about alternate appendix archives author bookmark canonical chapter cite-as collection contents copyright
current describedby disclosure duplicate edit edit-form edit-media enclosure first glossary help hub icon index item last
latest-version license lrdd memento next next-archive original payment predecessor-version prev prev-archive preview previous
privacy-policy related replies search section self service start subsection successor-version tag terms-of-service
timegate timemap type up version-history via working-copy working-copy-of""".split())
VOID = set("area base br col embed hr img input link meta param source track wbr".split())
BARRED = set("script style iframe frame frameset object embed applet meta link base".split())
URL_ATTRIBUTES = {"href", "src", "cite", "action", "longdesc", "background", "poster", "data", "codebase", "usemap"}


class Node:
    """An element: name as (namespace, local), attributes by the same, text that stands directly in it."""
    def __init__(self, name, attributes):
        self.ns, _, self.local = name.rpartition("\x01")
        self.attributes, self.children, self.text = attributes, [], ""
        self.tag = (NAMES.get(self.ns, "{%s}" % self.ns) + ":" if self.ns else "") + self.local

    def all(self, tag):
        return [c for c in self.children if c.tag == tag]

    def one(self, tag):
        found = self.all(tag)
        return found[0].text if len(found) == 1 and not found[0].children else None


def read_xml(data):
    """The root of a strictly well-formed document in UTF-8, namespaces resolved."""
    data.decode("utf-8")
    p, stack, root = xml.parsers.expat.ParserCreate("utf-8", "\x01"), [], []

    def start(name, attributes):
        node = Node(name, attributes)
        (stack[-1].children if stack else root).append(node)
        stack.append(node)

    def text(s):
        stack[-1].text += s
    p.StartElementHandler, p.EndElementHandler, p.CharacterDataHandler = start, lambda name: stack.pop(), text
    p.buffer_text = True
    p.Parse(data, True)
    return root[0]


class Html(HTMLParser):
    """Markup that must be safe and have absolute references; its complaints are in `bad`."""
    def __init__(self):
        super().__init__(convert_charrefs=False)
        self.bad = []

    def handle_starttag(self, tag, attributes):
        if tag in BARRED:
            self.bad.append("html has <%s>" % tag)
        for name, value in attributes:
            value = (value or "").strip()
            if name.startswith("on"):
                self.bad.append("html has %s=" % name)
            if name in URL_ATTRIBUTES and value.lower().startswith(SCRIPTS[:2]):
                self.bad.append("html has a script as address")
            if name in ("href", "src") and value and not value.startswith("#") and not re.match("[A-Za-z][A-Za-z0-9+.-]*:", value):
                self.bad.append("html has the relative reference %r" % value[:60])

    def handle_entityref(self, name):
        if name + ";" not in html5:
            self.bad.append("html has &%s;" % name)


class Checker:
    def __init__(self):
        self.bad = []

    def want(self, ok, *what):
        if not ok:
            self.bad.append(" ".join(str(w)[:120] for w in what))
        return ok

    def html(self, text, where):
        h = Html()
        h.feed(text)
        h.close()
        for b in h.bad:
            self.bad.append("%s: %s" % (where, b))

    def uri(self, text, where, ascii_only=False):
        self.want(text is not None and (URI if ascii_only else IRI).match(text), where, "is not an absolute reference:", repr(text))
        self.want(not (text or "").lower().startswith(SCRIPTS), where, "is a script:", repr(text))


# ---------------------------------------------------------------- Atom

def atom_text(c, node, where):
    kind = node.attributes.get("type", "text")
    c.want(kind in ("text", "html"), where, "type", kind)
    c.want(not node.children, where, "has elements in it")
    if kind == "text":
        c.want("<" not in node.text and not re.search(r"&[A-Za-z#][A-Za-z0-9]*;", node.text), where, "has markup in a text:", repr(node.text[:60]))
    else:
        c.html(node.text, where)


def atom_person(c, node, where):
    c.want((node.one("atom:name") or "").strip(), where, "has no name")
    for email in node.all("atom:email"):
        c.want(EMAIL.match(email.text), where, "email", repr(email.text))
    for uri in node.all("atom:uri"):
        c.uri(uri.text, where + " uri")


def atom_common(c, node, where):
    """What feed, entry and source share."""
    pairs = set()
    for link in node.all("atom:link"):
        at = link.attributes
        rel = at.get("rel", "alternate")
        c.uri(at.get("href"), where + " link " + rel)
        c.want(rel in RELATIONS or IRI.match(rel), where, "link rel", repr(rel))
        c.want("type" not in at or MEDIA_TYPE.match(at["type"]), where, "link type", at.get("type"))
        c.want("hreflang" not in at or LANGUAGE.match(at["hreflang"]), where, "hreflang", at.get("hreflang"))
        c.want(at.get("length", "0").isdigit(), where, "link length", at.get("length"))
        if rel == "alternate":
            pair = (at.get("type"), at.get("hreflang"))
            c.want(pair not in pairs, where, "has two alternates", pair)
            pairs.add(pair)
    for category in node.all("atom:category"):
        c.want(category.attributes.get("term", "").strip(), where, "category without term")
        c.want("scheme" not in category.attributes or IRI.match(category.attributes["scheme"]), where, "scheme",
               category.attributes.get("scheme"))
    for kind in ("author", "contributor"):
        for person in node.all("atom:" + kind):
            atom_person(c, person, where + " " + kind)
    for kind in ("title", "subtitle", "summary", "rights"):
        for text in node.all("atom:" + kind):
            atom_text(c, text, where + " " + kind)
    for kind in ("icon", "logo"):
        for ref in node.all("atom:" + kind):
            c.uri(ref.text, where + " " + kind)
    for kind in ("id", "title", "updated"):
        c.want(len(node.all("atom:" + kind)) == 1, where, "has not one", kind)
    c.uri(node.one("atom:id"), where + " id")
    for kind in ("updated", "published"):
        for date in node.all("atom:" + kind):
            c.want(RFC3339.match(date.text), where, kind, repr(date.text))
    return pairs


def languages(c, node, where="element"):
    lang = node.attributes.get("http://www.w3.org/XML/1998/namespace\x01lang")
    c.want(not lang or LANGUAGE.match(lang), node.tag, "xml:lang", repr(lang))
    for child in node.children:
        if child.ns == ATOM:
            languages(c, child)


def atom(data):
    """ATOM-01 to ATOM-16 as rules; the schema is jing's."""
    c = Checker()
    root = read_xml(data)
    c.want(root.tag == "atom:feed", "root is", root.tag)
    atom_common(c, root, "feed")
    languages(c, root)
    c.want(sum(link.attributes.get("rel") == "self" for link in root.all("atom:link")) == 1, "feed has not one self link")
    c.want(root.all("atom:author"), "feed has no author")
    seen = set()
    for entry in root.all("atom:entry"):
        alternates = atom_common(c, entry, "entry")
        c.want(entry.one("atom:id") not in seen, "id twice:", entry.one("atom:id"))
        seen.add(entry.one("atom:id"))
        content = entry.all("atom:content")
        c.want(alternates or content, "entry has neither content nor alternate link")
        for node in content:
            if "src" in node.attributes:
                c.uri(node.attributes["src"], "content src")
                c.want(entry.all("atom:summary"), "content src without summary")
                c.want("type" not in node.attributes or MEDIA_TYPE.match(node.attributes["type"]), "content type",
                       node.attributes.get("type"))
            elif re.search(r"[+/]xml$", node.attributes.get("type", "")):  # RFC 4287, 4.1.3.3
                c.want(len(node.children) == 1 and not node.text.strip(), "content of XML is not one element")
            else:
                atom_text(c, node, "content")
        for source in entry.all("atom:source"):
            atom_common(c, source, "source")
    return c.bad


# ---------------------------------------------------------------- RSS

CHANNEL = {"title", "link", "description", "language", "copyright", "managingEditor", "webMaster", "pubDate", "lastBuildDate",
           "category", "generator", "docs", "cloud", "ttl", "image", "rating", "textInput", "skipHours", "skipDays", "item"}
ITEM = {"title", "link", "description", "author", "category", "comments", "enclosure", "guid", "pubDate", "source"}
AUTHOR = re.compile(r"[^\s<>()\",;:@]+@[^\s<>()\",;:@]+( \(.+\))?\Z", re.S)


def rss_common(c, node, where, known):
    for child in node.children:
        if not child.ns:
            c.want(child.local in known, where, "has <%s>" % child.local)
        else:
            c.want(child.tag != "atom:entry" and child.tag != "atom:feed", where, "has", child.tag)
    for name in known - {"category", "item"}:
        c.want(len(node.all(name)) <= 1, where, "has two of", name)
    title = node.one("title")
    c.want(title is None or title.strip(), where, "title is empty")
    if title and re.search(r"</?[a-z]+[^<>]*>", title):  # so it is text, and Atom's title beside it says so
        c.want([t for t in node.all("atom:title") if title.split() == html.unescape(re.sub("</?[A-Za-z][^<>]*>", " ", t.text)).split()], where, "title has markup:", repr(title))
    for name in ("link", "comments"):
        for ref in node.all(name):
            c.uri(ref.text, where + " " + name, True)
    for name in ("pubDate", "lastBuildDate"):
        for date in node.all(name):
            c.want(RFC822.match(date.text), where, name, repr(date.text))
    for date in node.all("atom:updated"):
        c.want(RFC3339.match(date.text), where, "atom:updated", repr(date.text))
    for name in ("author", "managingEditor", "webMaster"):
        for person in node.all(name):
            c.want(AUTHOR.match(person.text), where, name, repr(person.text))
    for name in ("dc:creator", "category"):
        for named in node.all(name):
            c.want(named.text.strip(), where, "empty", name)
    for name in ("description", "content:encoded"):
        c.want(len(node.all(name)) <= 1, where, "has two of", name)
        for text in node.all(name):
            c.html(text.text, where + " " + name)
    for link in node.all("atom:link"):
        rel = link.attributes.get("rel", "alternate")
        c.uri(link.attributes.get("href"), where + " atom:link", True)
        c.want(rel in RELATIONS or IRI.match(rel), where, "atom:link rel", repr(rel))
        c.want(where == "item" or rel != "self" or link.attributes.get("type") == "application/rss+xml", where, "self link type")


def rss(data):
    """RSS-01 to RSS-14 as rules."""
    c = Checker()
    root = read_xml(data)
    c.want(root.tag == "rss" and root.attributes.get("version") == "2.0", "root", root.tag)
    channels = root.all("channel")
    if not c.want(len(channels) == 1 and len(root.children) == 1, "rss has not one channel"):
        return c.bad
    channel = channels[0]
    rss_common(c, channel, "channel", CHANNEL)
    for name in ("title", "link", "description", "lastBuildDate", "generator", "docs"):
        c.want(len(channel.all(name)) == 1 and channel.one(name).strip(), "channel has not one", name)
    c.want(sum(link.attributes.get("rel") == "self" for link in channel.all("atom:link")) == 1, "channel has not one self link")
    for lang in channel.all("language"):
        c.want(LANGUAGE.match(lang.text), "language", repr(lang.text))
    for ttl in channel.all("ttl"):
        c.want(ttl.text.isdigit() and int(ttl.text) > 0, "ttl", ttl.text)
    for image in channel.all("image"):
        c.uri(image.one("url"), "image url", True)
        c.want(image.one("title") == channel.one("title"), "the image's title is not the channel's")
        c.want(image.one("link") == channel.one("link"), "the image's link is not the channel's")
    seen = set()
    for item in channel.all("item"):
        rss_common(c, item, "item", ITEM)
        c.want(item.all("title") or item.all("description"), "item has neither title nor description")
        guid = item.all("guid")
        if c.want(len(guid) == 1 and guid[0].text.strip(), "item has no guid"):
            c.want(guid[0].text not in seen, "guid twice:", guid[0].text)
            seen.add(guid[0].text)
            permalink = guid[0].attributes.get("isPermaLink", "true")
            c.want(permalink == "false" or re.match("https?://", guid[0].text, re.I), "guid is not a permalink:", guid[0].text)
        for enclosure in item.all("enclosure"):
            at = enclosure.attributes
            c.want(re.match("https?://", at.get("url", ""), re.I) and URI.match(at["url"]), "enclosure url", at.get("url"))
            c.want(at.get("length", "").isdigit(), "enclosure length", at.get("length"))
            c.want(MEDIA_TYPE.match(at.get("type", "")), "enclosure type", at.get("type"))
        for source in item.all("source"):
            c.uri(source.attributes.get("url"), "source url", True)
    return c.bad


# ---------------------------------------------------------------- JSON Feed

HEAD = {"version": str, "title": str, "home_page_url": "url", "feed_url": "url", "description": str, "user_comment": str,
        "next_url": "url", "icon": "url", "favicon": "url", "authors": list, "language": "language", "expired": bool, "hubs": list,
        "items": list}
JSON_ITEM = {"id": str, "url": "url", "external_url": "url", "title": str, "content_html": "html", "content_text": str,
             "summary": str, "image": "url", "banner_image": "url", "date_published": "date", "date_modified": "date",
             "authors": list, "tags": list, "language": "language", "attachments": list}
ATTACHMENT = {"url": "reference", "mime_type": "type", "title": str, "size_in_bytes": int, "duration_in_seconds": (int, float)}
PERSON = {"name": str, "url": "reference", "avatar": "url"}


def members(c, o, known, where):
    for key, value in o.items():
        kind = known.get(key)
        if kind is None:
            c.want(key.startswith("_") and isinstance(value, dict), where, "has the unknown member", key)
        elif kind in ("url", "reference"):
            c.want(isinstance(value, str), where, key, value) and c.uri(value, where + " " + key, True)
            c.want(kind != "url" or re.match("https?://", value, re.I), where, key, value)
        elif kind == "date":
            c.want(isinstance(value, str) and RFC3339.match(value), where, key, value)
        elif kind == "language":
            c.want(isinstance(value, str) and LANGUAGE.match(value), where, key, value)
        elif kind == "type":
            c.want(isinstance(value, str) and MEDIA_TYPE.match(value), where, key, value)
        elif kind == "html":
            c.want(isinstance(value, str), where, key, value) and c.html(value, where + " " + key)
        else:
            c.want(isinstance(value, kind) and (value is True or not isinstance(value, bool)), where, key, value)
    for author in o.get("authors", []):
        members(c, author, PERSON, where + " author")
        c.want(any(author.get(k) for k in PERSON), where, "author is empty")


def no_scripts(c, value, where):
    """No address that a page would follow is a script, however deep."""
    if isinstance(value, dict):
        for key, v in value.items():
            if key in ("href", "url", "link", "src", "uri") and isinstance(v, str):
                v = re.sub(r"[\x00-\x20]", "", v).lower()
                c.want(not v.startswith(SCRIPTS) or re.match("data:(image|audio|video)/(?!svg)", v), where, key, "is a script:", v)
            no_scripts(c, v, where)
    elif isinstance(value, list):
        for v in value:
            no_scripts(c, v, where)


def jsonfeed(data):
    """JF-01 to JF-11 as rules."""
    c = Checker()
    o = json.loads(data.decode("utf-8"))
    members(c, o, HEAD, "feed")
    no_scripts(c, o, "feed")
    for key in ("version", "title", "items", "feed_url"):
        c.want(key in o, "feed has no", key)
    c.want(o.get("version") == "https://jsonfeed.org/version/1.1", "version", o.get("version"))
    c.want(o.get("next_url") != o.get("feed_url"), "next_url is feed_url")
    for hub in o.get("hubs", []):
        c.want(set(hub) == {"type", "url"}, "hub", hub)
    seen = set()
    for item in o.get("items", []):
        members(c, item, JSON_ITEM, "item")
        c.want(item.get("id") and item["id"] not in seen, "id", item.get("id"))
        seen.add(item.get("id"))
        c.want(("content_html" in item) != ("content_text" in item), "item has not one content")
        c.want(all(isinstance(t, str) and t.strip() for t in item.get("tags", [])), "tags", item.get("tags"))
        for attachment in item.get("attachments", []):
            members(c, attachment, ATTACHMENT, "attachment")
            c.want("url" in attachment and "mime_type" in attachment, "attachment", attachment)
            c.want(attachment.get("size_in_bytes", 0) >= 0, "size_in_bytes", attachment)
    return c.bad


def object_form(data):
    c = Checker()
    o = json.loads(data.decode("utf-8"))
    c.want(isinstance(o.get("entries"), list) and isinstance(o.get("feed"), dict), "feed and entries")
    no_scripts(c, o, "json")
    return c.bad
