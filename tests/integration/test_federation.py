"""One Feedmill takes from another what that has: its whole archive, edits and deletions, across restarts
of either."""
import random

from .env.case import Case
from .env.daemon import quote
from .env.publisher import Publisher


class Federation(Case):
    def setUp(self):
        self.o = self.origin()
        self.d = self.daemon("--archive-size", "5", "--ping-gap", "0")     # near the publisher
        self.far = self.daemon("--ping-gap", "0")                          # takes from the first
        self.p = Publisher(self.o)

    def mirrored(self, url):
        entries = self.far.feed(url, len=1000).json["entries"]
        return {e["id"]: e["title"] for e in entries}

    def test_an_archive_is_taken_whole(self):               # ARCHC-01 ARCHC-02 ARCHC-03 TOMB-02
        chance, names = random.Random(5), 0
        for _ in range(23):
            self.p.put("n%d" % names, "t%d" % names)
            names += 1
        self.p.sync(self)
        url = "%s/archive?url=%s" % (self.d.base, quote(self.p.url))
        wanted = {"urn:pub:p:" + n: t for n, (t, _) in self.p.entries.items()}
        self.wait(lambda: self.mirrored(url) == wanted, 30, "the whole archive", self.far)
        for turn in range(6):
            for _ in range(4):
                self.p.put("n%d" % names, "t%d" % names)
                names += 1
            self.p.put(chance.choice(sorted(self.p.entries)), "edit %d" % turn)
            self.p.delete(chance.choice(sorted(self.p.entries)))
            if turn == 2:
                self.far.kill()                             # it misses a few documents
            self.p.sync(self)
            if turn == 4:
                self.far.start()
                self.d.kill()
                self.d.start()
            if turn in (2, 3):
                continue
            wanted = {"urn:pub:p:" + n: t for n, (t, _) in self.p.entries.items()}

            def there():
                self.far.ping(url)
                return self.mirrored(url) == wanted
            self.wait(there, 30, "the state after turn %d" % turn, self.far)
