"""Atom-PMH, the producer: requirements PMHP-*, and TOMB-07."""
import time
import xml.etree.ElementTree as tree

from .env.archives import ATOM, FH, Document, chain, when
from .env.case import Case
from .env.daemon import quote
from .env.publisher import Publisher


def kind(entry):
    """As "Detecting entry type" tells: a record or a deletion."""
    content = entry.find(ATOM + "content")
    alternates = [l for l in entry.findall(ATOM + "link")
                  if l.get("rel") in (None, "alternate") and l.get("type")]
    if alternates and content is None:
        return "record"
    if content is not None and not content.get("src") and not (content.text or "").strip() \
            and not len(content) and not alternates:
        return "deletion"
    return "other"


class Harvester:
    """Remembers the time of the last harvest; reads back as far as that and no further."""

    def __init__(self, url):
        self.url, self.last, self.records, self.reads = url, None, {}, 0

    def harvest(self):
        url, found, newest = self.url, [], self.last
        for _ in range(500):
            if not url:
                break
            document = Document(url)
            self.reads += 1
            found += document.entries
            newest = max(filter(None, [newest, document.updated]))
            if self.last and document.updated < self.last:
                break
            url = document.link("prev-archive")
        else:
            raise AssertionError("the documents do not end")
        seen = {}
        for entry in found:
            at, name = when(entry.findtext(ATOM + "updated")), entry.findtext(ATOM + "id")
            if name not in seen or at > seen[name][0]:
                seen[name] = (at, entry)
        for name, (_, entry) in seen.items():
            if kind(entry) == "deletion":
                self.records.pop(name, None)
            else:
                self.records[name] = entry.findtext(ATOM + "title")
        self.last = newest


class Records(Case):
    def setUp(self):
        self.o = self.origin()
        self.d = self.daemon("--archive-size", "5")
        self.p = Publisher(self.o)

    def fill(self, n, start=0):
        for i in range(start, start + n):
            self.p.put("e%d" % i, "t%d" % i)
        self.p.sync(self)

    def at(self, **params):
        return self.d.base + "/pmh?url=" + quote(self.p.url) + "".join(
            "&%s=%s" % p for p in params.items())

    def get(self, url, **headers):
        return self.d.get(url[len(self.d.base):], **headers)

    def state(self):
        return {"urn:pub:p:" + n: t for n, (t, _) in self.p.entries.items()}

    def test_chain(self):        # PMHP-01 PMHP-02 PMHP-03 PMHP-04 PMHP-12 PMHP-15 PMHP-16
        self.fill(12)
        self.p.put("e0", "edited")
        self.p.delete("e3")
        self.p.sync(self)
        documents = chain(self.at())
        harvester = Harvester(self.at())
        harvester.harvest()
        self.assertEqual(self.state(), harvester.records)
        for i, document in enumerate(documents):
            self.assertFalse(document.has(FH + "complete"))
            self.assertEqual(bool(i), document.has(FH + "archive"))
            self.assertEqual(1, len(document.links("self")))
            self.assertEqual(self.at(), document.link("current"))
            for entry in document.entries:
                self.assertIn(kind(entry), ("record", "deletion"))
                self.assertLessEqual(when(entry.findtext(ATOM + "updated")), document.updated)
        for referrer, referee in zip(documents, documents[1:]):
            for entry in referrer.entries:
                self.assertLessEqual(referee.updated, when(entry.findtext(ATOM + "updated")))
        entries = [e for d in documents for e in d.entries]
        self.assertEqual(1, [kind(e) for e in entries].count("deletion"))

    def events(self, name):
        """(time, kind) of a record's entries, newest first."""
        out = [(when(e.findtext(ATOM + "updated")), kind(e)) for d in chain(self.at())
               for e in d.entries if e.findtext(ATOM + "id") == "urn:pub:p:" + name]
        return sorted(out, reverse=True)

    def test_times_of_a_record(self):    # PMHP-05 PMHP-06 PMHP-07 PMHP-11 PMHP-14 PMHP-17
        self.fill(7)
        before = self.events("e2")
        self.p.put("e2", "edited")
        self.p.sync(self)
        after = self.events("e2")
        self.assertEqual(before, after[1:])
        self.assertGreater(after[0][0], before[0][0])
        self.assertLess(abs(after[0][0].timestamp() - time.time()), 120)
        self.p.delete("e2")
        self.p.sync(self)
        self.p.put("e2", "back")
        self.p.sync(self)
        times = self.events("e2")
        self.assertEqual(["record", "deletion", "record", "record"], [k for _, k in times])
        self.assertEqual(4, len({t for t, _ in times}))

    def test_alternates(self):           # PMHP-08 PMHP-09 PMHP-10 PMHP-18 PMHP-20 PMHP-21 TOMB-07
        from .env.schema import check_atom
        self.fill(3)
        entry = Document(self.at()).entries[0]
        self.assertIsNone(entry.find(ATOM + "content"))
        links = {l.get("type"): l.get("href") for l in entry.findall(ATOM + "link")
                 if l.get("rel") in (None, "alternate")}
        self.assertEqual({"application/atom+xml", "application/json", "text/html"}, set(links))
        for kind_of, url in links.items():
            answer = self.get(url)
            self.assertEqual(200, answer.status)
            self.assertEqual(kind_of, answer.header("Content-Type").split(";")[0])
            self.assertEqual(304, self.get(url, If_None_Match=answer.header("ETag")).status)
        answer = self.get(links["application/atom+xml"])
        root = tree.fromstring(answer.body)
        self.assertEqual(ATOM + "entry", root.tag)
        self.assertEqual(entry.findtext(ATOM + "id"), root.findtext(ATOM + "id"))
        own = [l.get("href") for l in root.findall(ATOM + "link") if l.get("rel") == "self"]
        self.assertEqual([links["application/atom+xml"]], own)
        check_atom(self, answer.body)
        self.assertEqual("t2", self.get(links["application/json"]).json["title"])
        page = self.get(links["text/html"])
        self.assertIn(b"<h1>", page.body)
        self.assertIn("sandbox", page.header("Content-Security-Policy"))
        bare = links["application/json"][:-len(".json")]
        self.assertEqual("text/html", self.get(bare, Accept="text/html").header("Content-Type")
                         .split(";")[0])
        self.assertEqual(406, self.get(bare, Accept="image/png").status)
        self.p.delete("e2")
        self.p.sync(self)
        deletion = Document(self.at()).entries[0]
        self.assertEqual("deletion", kind(deletion))
        self.assertEqual(entry.findtext(ATOM + "id"), deletion.findtext(ATOM + "id"))
        for url in links.values():
            self.assert_problem(self.get(url), 410)
        stone = self.get(bare, Accept="application/atomdeleted+xml")
        self.assertEqual(410, stone.status)
        self.assertEqual("{http://purl.org/atompub/tombstones/1.0}deleted-entry",
                         tree.fromstring(stone.body).tag)
        refused = self.get(bare, Accept="application/atomdeleted+xml;q=0, */*")
        self.assert_problem(refused, 410)
        self.assertEqual(["Accept"] * 2, [a.header("Vary") for a in (stone, refused)])
        word = bare.rsplit("/", 1)[0]
        for wrong in (word + "/999999.atom", word + "/x", word + "/0", word[:-1] + "/1.atom"):
            self.assert_problem(self.get(wrong), 404, "not-found")

    def test_the_id_is_the_same_after_a_move(self):                     # PMHP-18 ATOM-05
        from .env.origin import moved, rss
        url = self.o.set("/old.xml", rss(("one", None, "<guid isPermaLink='false'>a b</guid>")))
        self.d.feed(url)
        self.o.set("/old.xml", moved(self.o.url("/new.xml")))
        self.o.set("/new.xml", rss(("one", None, "<guid isPermaLink='false'>a b</guid>"),
                                   title="Moved"))

        def moved():
            self.d.ping(url)
            return self.d.record(self.o.url("/new.xml"))
        self.wait(moved, what="the move", daemon=self.d)
        entry = Document(self.d.base + "/pmh?url=" + quote(url)).entries[0]
        link = [l.get("href") for l in entry.findall(ATOM + "link")
                if l.get("type") == "application/atom+xml"][0]
        self.assertEqual(entry.findtext(ATOM + "id"),
                         tree.fromstring(self.get(link).body).findtext(ATOM + "id"))

    def test_complete_mode(self):                                   # PMHP-13 ARCH-12 PMHC-07
        self.fill(12)
        self.p.delete("e4")
        self.p.sync(self)
        document = Document(self.at(mode="complete"))
        self.assertTrue(document.has(FH + "complete"))
        self.assertEqual(set(self.state()), set(document.ids))
        self.assertEqual(11, len(document.ids))
        self.assertEqual(document.link("self"), document.link("current"))
        self.assertEqual({"record"}, {kind(e) for e in document.entries})
        self.assertIn('rel="hub"', self.get(self.at(mode="complete")).header("Link"))     # PUBL-01
        rss = self.o.set("/site.xml", '<rss version="2.0"><channel><title>T</title><link>http://site.'
                         'example/</link><description>d</description><item><title>a</title></item>'
                         '</channel></rss>')
        document = Document(self.d.base + "/pmh?mode=complete&url=" + quote(rss))
        self.assertEqual(["current", "self"],
                         sorted(l.get("rel") for l in document.root.findall(ATOM + "link")))
        answer = self.get(self.at(mode="other"))
        self.assert_problem(answer, 400, "bad-parameter")

    def test_incremental(self):                                                     # PMHP-19
        self.fill(23)
        harvester = Harvester(self.at())
        harvester.harvest()
        self.assertEqual(5, harvester.reads)
        self.p.put("e1", "edited")
        self.p.delete("e2")
        self.p.sync(self)
        harvester.harvest()
        self.assertLessEqual(harvester.reads, 5 + 3)
        self.assertEqual(self.state(), harvester.records)
