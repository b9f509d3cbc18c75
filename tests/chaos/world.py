"""Publishers whose feeds grow, change, lose entries and fail, all by dice. No two versions of an entry have
the same title, so a title names a revision."""
from xml.sax.saxutils import escape

SHOWN = 30      # entries of a document


class Feed:
    def __init__(self, server, n, dice):
        self.name, self.dice = "f%d" % n, dice
        self.url = server.url("/feeds/" + self.name)
        self.entries, self.dead = {}, []        # newest last
        self.n_entries = self.n_versions = self.failing = self.n_served = 0
        self.document = b""
        self.add(5)

    # ---- what happens to it ----
    def add(self, n=1):
        for _ in range(n):
            self.n_entries += 1
            self.version("e%d" % self.n_entries)
        while len(self.entries) > SHOWN:
            del self.entries[next(iter(self.entries))]
        self.draw()

    def version(self, name):
        self.n_versions += 1
        size = self.dice.choice((10, 10, 10, 200, 3000))
        self.entries[name] = ("%s %s v%d" % (self.name, name, self.n_versions), self.stamp(),
                              self.dice.choice("abcd&<\u2603") * size)

    def edit(self, n=1):
        for name in self.dice.sample(sorted(self.entries), min(n, len(self.entries))):
            self.version(name)
        self.draw()

    def delete(self):
        name = self.dice.choice(sorted(self.entries))
        del self.entries[name]
        self.n_versions += 1
        self.dead = self.dead[-10:] + [(name, self.stamp())]
        if len(self.entries) < 3:
            self.add(3)
        self.draw()

    def revive(self):
        """A deleted entry comes again."""
        if self.dead:
            self.version(self.dead.pop(self.dice.randrange(len(self.dead)))[0])
        self.draw()

    def happen(self):
        what = self.dice.random()
        if what < 0.60:
            self.add(self.dice.choice((1, 1, 1, 2, 3, 8)))
        elif what < 0.82:
            self.edit(self.dice.choice((1, 1, 2, 5)))
        elif what < 0.92:
            self.delete()
        elif what < 0.95:
            self.revive()
        elif what < 0.97:
            self.add(SHOWN + 5)     # more than a document has: a gap
        else:
            self.failing = self.dice.choice((1, 3, 4, 5))   # so many fetches fail

    # ---- its document ----
    def stamp(self):
        n = self.n_versions
        return "2020-%02d-%02dT%02d:%02d:%02dZ" % (1 + n // 2419200 % 12, 1 + n // 86400 % 28, n // 3600 % 24,
                                                   n // 60 % 60, n % 60)

    def draw(self):
        out = ['<feed xmlns="http://www.w3.org/2005/Atom" xmlns:at="http://purl.org/atompub/tombstones/1.0">'
               "<id>urn:{0}</id><title>{0}</title><updated>2020-01-01T00:00:00Z</updated>".format(self.name)]
        for name, (title, updated, text) in reversed(self.entries.items()):
            out.append('<entry><id>urn:%s:%s</id><title>%s</title><updated>%s</updated><link '
                       'href="http://p.example/%s/%s"/><content>%s</content></entry>'
                       % (self.name, name, title, updated, self.name, name, escape(text)))
        for name, at in self.dead:
            out.append('<at:deleted-entry ref="urn:%s:%s" when="%s"/>' % (self.name, name, at))
        self.document = ("".join(out) + "</feed>").encode()

    async def serve(self, ask):
        await ask.body()
        self.n_served += 1
        if self.failing:
            self.failing -= 1
            ask.answer(self.dice.choice((500, 503)))
        else:
            ask.answer(200, self.document, Content_Type="application/atom+xml")


class World:
    def __init__(self, server, n_feeds, dice, feed=Feed):
        self.dice = dice
        self.feeds = [feed(server, n, dice) for n in range(n_feeds)]
        by_path = {"/feeds/" + f.name: f for f in self.feeds}

        async def serve(ask):
            await by_path[ask.path].serve(ask)
        server.routes["feeds"] = serve

    def happen(self):
        """Something happens to some feed, which is returned."""
        feed = self.dice.choice(self.feeds)
        if not feed.failing:
            feed.happen()
        return feed

    def heal(self):
        for feed in self.feeds:
            feed.failing = 0
