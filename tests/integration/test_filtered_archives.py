"""Filters in archives (D54): the filter is in the signed word of a document's path, and a mirror of a filtered archive equals
the filtered view (VIEW-09), whatever is added, edited, deleted, and however often the daemon is killed."""
import os
import random
import threading
import time

from .env.archives import AT, ATOM, Document, SimplefeedConsumer, chain, reconstruct
from .env.case import Case
from .env.daemon import quote
from .env.publisher import Publisher
from .test_pmh import Harvester

ROUNDS = int(os.environ.get("FEEDMILL_ROUNDS", "24"))
SEED = int(os.environ.get("FEEDMILL_SEED", "5"))
WORDS = ("red", "blue", "green")
VIEWS = ("/archive", "/simple/recent", "/history", "/pmh")


class FilteredArchives(Case):
    SIZE = 4

    def setUp(self):
        super().setUp()
        self.o = self.origin()
        self.d = self.daemon("--archive-size", str(self.SIZE), "--fetch-host-gap", "0")
        self.p = Publisher(self.o)

    def at(self, view, params):
        return "%s%s?url=%s&%s" % (self.d.base, view, quote(self.p.url), params)

    def chain(self, view, params):
        return chain(self.at(view, params), "prev" if view == "/history" else "prev-archive")

    def fill(self, *titles):
        for title in titles:
            self.p.put("e%d" % len(self.p.entries), title)
        self.p.sync(self)

    def view(self, params):
        entries = self.d.get("/feed?type=json&len=1000&url=%s&%s" % (quote(self.p.url), params)).json["entries"]
        return {e["id"]: e["title"] for e in entries}


class Documents(FilteredArchives):
    def test_documents_count_what_matches(self):        # D54 VIEW-07 ARCH-09 SIMP-04 SIMP-05 SIMP-08
        self.fill(*["%s %d" % (WORDS[n % 3], n) for n in range(30)])
        self.assertEqual([2, 4, 4], [len(d.entries) for d in self.chain("/archive", "q=red")])
        for view in VIEWS:
            with self.subTest(view):
                documents = self.chain(view, "q=red")
                self.assertEqual(["red %d" % n for n in range(27, -1, -3)], [t for d in documents for t in d.titles])
                self.assertEqual(1, len({d.id for d in documents}))
                self.assertNotEqual(documents[0].id, Document(self.at(view, "")).id)
                for d in documents[1:]:
                    self.assertEqual(documents[0].body, Document(d.link("current") or documents[0].url).body)

    def test_one_spelling_of_a_filter_has_one_chain(self):      # D54
        self.fill(*["Red %d" % n for n in range(9)], "blue")
        one, two = (self.chain("/archive", q) for q in ("q=red&has=content", "has=content&has=content&q=RED"))
        self.assertEqual([d.url for d in one[1:]], [d.url for d in two[1:]])
        other = self.chain("/archive", "q=red")
        self.assertNotEqual(one[1].url, other[1].url)
        word = one[1].url.split("/")[-2]
        self.assertEqual(404, self.d.get("/archive/%s0/0" % word[:-1]).status)

    def test_sealed_documents_stay(self):       # D54 ARCH-05 SIMP-03 FH-02 SIMP-11
        self.fill(*["red %d" % n for n in range(10)], "blue")
        chains = {v: self.chain(v, "q=red") for v in VIEWS}
        sealed = [chains[v][-1] for v in VIEWS] + [Document(chains["/history"][0].link("this"))]
        for n in range(0, 10, 3):
            self.p.put("e%d" % n, "blue now")       # leaves
        self.p.delete("e4")
        self.p.title = "another name"
        self.p.sync(self)
        self.fill(*["red too %d" % n for n in range(9)])
        self.d.kill()
        self.d.start()
        for d in sealed:
            now = Document(d.url)
            self.assertEqual(d.body, now.body)
            self.assertIn("immutable", now.headers["Cache-Control"])

    def test_an_author_of_the_feed_counts_as_of_its_time(self):     # D54: a pure function of what is stored
        def show(author, *titles):
            self.o.set("/a.xml", "<feed xmlns='http://www.w3.org/2005/Atom'><id>urn:a</id><title>A</title>"
                       "<updated>2020-01-01T00:00:00Z</updated><author><name>%s</name></author>%s</feed>" % (author, "".join(
                           "<entry><id>urn:a:%s</id><title>%s</title><updated>2020-01-01T00:00:00Z</updated></entry>" % (t, t)
                           for t in titles)))
        titles = ["t%d" % n for n in range(9)]
        show("Ann", *titles)
        url = "%s/archive?author=ann&url=%s" % (self.d.base, quote(self.o.url("/a.xml")))
        before = chain(url)
        self.assertEqual([1, 4, 4], [len(d.entries) for d in before])
        show("Bob", "new", *titles)
        self.d.ping(self.o.url("/a.xml"))
        self.wait(lambda: b"new" in self.d.feed(self.o.url("/a.xml")).body, daemon=self.d)
        self.d.kill()
        self.d.start()
        after = chain(url)
        self.assertEqual([d.ids for d in before], [d.ids for d in after])
        self.assertEqual(before[2].body, Document(before[2].url).body)

    def test_ages_count_from_the_revision(self):        # VIEW-04 D54
        self.fill("old", "old too")
        self.assertEqual([], Document(self.at("/archive", "after=7d")).ids)
        documents = [self.chain("/archive", "before=7d") for _ in range(2)]
        self.assertEqual(["old too", "old"], documents[0][0].titles)
        self.assertEqual([d.url for d in documents[0]], [d.url for d in documents[1]])

    def test_caches_and_compression(self):      # VIEW-11 SIMP-12
        self.fill(*["red %s%d" % ("long " * 300, n) for n in range(9)], "blue")
        for view in VIEWS:
            with self.subTest(view):
                documents = self.chain(view, "q=red")
                for d in documents[0], documents[-1]:
                    path = d.url[len(self.d.base):]
                    answer = self.d.get(path)
                    self.assertIn("Accept-Encoding", answer.header("Vary"))
                    self.assertEqual(304, self.d.get(path, If_None_Match=answer.header("ETag")).status)
                    self.assertEqual("gzip", self.d.get(path, Accept_Encoding="gzip").header("Content-Encoding"))
        tag = self.d.get(self.at("/archive", "q=red")[len(self.d.base):]).header("ETag")
        self.assertNotEqual(tag, self.d.get(self.at("/archive", "q=blue")[len(self.d.base):]).header("ETag"))

    def test_what_cannot_be(self):      # D54
        self.fill("red")
        self.assert_problem(self.d.get("/archive?url=%s&q=(red" % quote(self.p.url)), 400, "bad-parameter")
        long = self.d.get("/archive?url=%s&%s" % (quote(self.p.url), "&".join("author=%s%d" % ("x" * 900, n) for n in range(3))))
        self.assert_problem(long, 422, "too-large")

    def test_a_set_composes(self):      # VIEW-01 D52
        other = Publisher(self.o, "/q.xml", "q")
        other.put("e0", "red of q")
        other.publish()
        self.fill("red of p", "blue of p")
        for url in self.p.url, other.url:
            answer = self.d.call("POST", "/sub", "folder=X&url=" + quote(url), {"Content-Type": "application/x-www-form-urlencoded"})
            self.assertEqual(201, answer.status, answer.body)
        for named in "folder=X", "all=1", "url=%s,%s" % (quote(self.p.url), quote(other.url)):
            for view in VIEWS:
                self.wait(lambda: sorted(Document("%s%s?%s&q=red" % (self.d.base, view, named)).titles) == ["red of p", "red of q"],
                          what=view + named, daemon=self.d)

    def test_an_entry_leaves_and_comes_back_within_a_second(self):      # D54 VIEW-09 ARCH-03
        """A tombstone says when to the microsecond, and so does the date of what comes back."""
        for n in range(20):
            self.fill("blue")
            name = list(self.p.entries)[-1]
            self.p.delete(name)
            self.p.sync(self)
            time.sleep(1 - time.time() % 1)
            began = int(time.time())
            for title in "blue again", "red", "blue at last":   # the first one is dated with this second: it was deleted
                self.p.entries[name] = (title, "2020-01-01T00:00:00Z")
                self.p.dead = []
                self.p.sync(self)
            if int(time.time()) == began:
                break
        else:
            self.skipTest("no round went into one second")
        state = reconstruct(self.chain("/archive", "q=-red"))
        self.assertEqual(self.view("q=-red"), {n: e.findtext(ATOM + "title") for n, e in state.items()})

    def test_an_entry_of_the_future_leaves_and_comes_back(self):        # D54 VIEW-09 ARCH-03
        """Its own date is later than all that happens to it, so it alone does not say what comes first."""
        self.fill("blue")
        for title in ("red", "blue", "red", "blue", "red"):
            for n in range(8):
                self.p.entries["future%d" % n] = (title, "2099-01-01T00:00:00Z")
            self.p.sync(self)
            for q in ("q=red", "q=-red"):
                with self.subTest(title=title, q=q):
                    state = reconstruct(self.chain("/archive", q))
                    self.assertEqual(self.view(q), {n: e.findtext(ATOM + "title") for n, e in state.items()})

    def test_a_mode_of_all_records(self):       # PMHP-13
        self.fill("red", "blue", "red too")
        self.p.put("e0", "blue now")
        self.p.sync(self)
        self.assertEqual(["red too"], Document(self.at("/pmh", "mode=complete&q=red")).titles)


class Mirrors(FilteredArchives):
    def readers(self, params):
        """What four kinds of readers make of the documents, and what they should have."""
        want = self.view(params)
        state = reconstruct(self.chain("/archive", params))
        yield "/archive", want, {n: e.findtext(ATOM + "title") for n, e in state.items()}
        first = {}
        for d in self.chain("/history", params):
            here = reconstruct([d])
            for name in d.ids + [stone.get("ref") for stone in d.root.findall(AT + "deleted-entry")]:
                first.setdefault(name, here[name].findtext(ATOM + "title") if name in here else None)
        yield "/history", want, {k: v for k, v in first.items() if v is not None}
        self.harvesters[params].harvest()
        yield "/pmh", want, self.harvesters[params].records
        consumer = self.consumers[params]
        consumer.poll()
        events = {}
        for e in consumer.events:
            about = [l.get("href") for l in e.findall(ATOM + "link") if l.get("rel") == "related"]
            name = about[0] if about else e.findtext(ATOM + "id")
            content = e.find(ATOM + "content")
            is_gone = content is not None and content.text is None and e.findtext(ATOM + "title") == "Deleted"
            events[name] = None if is_gone else e.findtext(ATOM + "title")
        yield "/simple", want, {k: v for k, v in events.items() if v is not None}

    def test_mirrors_equal_the_view(self):      # VIEW-09 D53 D54 ARCH-03 FH-03 PMHP-05 PMHP-11 SIMP-13 SIMP-16
        dice = random.Random(SEED)
        filters = ["q=red", "q=-red", "q=red%20blue", "q=red%20OR%20green", "q=title:bl*&has=content"]
        self.harvesters = {f: Harvester(self.at("/pmh", f)) for f in filters}
        self.consumers = {f: SimplefeedConsumer(self.at("/simple/recent", f)) for f in filters}
        self.fill("red", "blue")
        sealed = {}
        for n in range(ROUNDS):
            for _ in range(dice.randint(1, 4)):
                name, title = "e%d" % dice.randrange(8), " ".join(dice.choice(WORDS) for _ in range(dice.randint(1, 2)))
                if name in self.p.entries and dice.random() < 0.2:
                    self.p.delete(name)
                elif name in self.p.entries and dice.random() < 0.5:
                    self.p.entries[name] = (title, self.p.entries[name][1])     # an edit that leaves the date alone
                else:
                    self.p.put(name, title)
            if n % 8 == 5:
                self.p.publish()
                self.d.ping(self.p.url)
                threading.Event().wait(dice.choice([0, 0.01, 0.03]))
                self.d.kill()
                self.d.start()
            self.p.sync(self)
            if n % 3 != 2:
                continue
            for f in filters:
                for view, want, got in self.readers(f):
                    self.assertEqual(want, got, "%s?%s in round %d (FEEDMILL_SEED=%d)" % (view, f, n, SEED))
            for f in filters[:2]:
                for d in self.chain("/archive", f)[3:] + self.chain("/simple/recent", f)[2:] + self.chain("/history", f)[1:]:
                    self.assertEqual(sealed.setdefault(d.url, d.body), d.body)
        self.assertGreater(len(sealed), 6)
