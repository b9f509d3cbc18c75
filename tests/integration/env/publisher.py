"""A publisher whose feed grows, changes and loses entries."""


class Publisher:
    """An Atom feed with a past: what it shows is what was last added, edited or deleted."""

    def __init__(self, origin, path="/p.xml", name="p"):
        self.origin, self.path, self.name = origin, path, name
        self.entries, self.dead, self.n, self.title, self.author = {}, [], 0, "P", None
        self.url = self.publish()

    def publish(self):
        out = ['<feed xmlns="http://www.w3.org/2005/Atom" xmlns:at="http://purl.org/atompub/'
               'tombstones/1.0"><id>urn:pub:%s</id><title>%s</title><updated>2020-01-01T00:00:00Z'
               '</updated>' % (self.name, self.title)]
        if self.author is not None:
            out.append("<author><name>%s</name></author>" % self.author)
        for name, (text, updated) in self.entries.items():
            out.append('<entry><id>urn:pub:%s:%s</id><title>%s</title><updated>%s</updated>'
                       '<link href="http://p.example/%s"/><content>c</content></entry>'
                       % (self.name, name, text, updated, name))
        for name, at in self.dead:
            out.append('<at:deleted-entry ref="urn:pub:%s:%s" when="%s"><at:comment>spam &amp; such'
                       '</at:comment></at:deleted-entry>' % (self.name, name, at))
        return self.origin.set(self.path, "".join(out) + "</feed>")

    def date(self):
        self.n += 1
        return "2020-01-%02dT%02d:%02d:%02dZ" % (1 + self.n // 86400, self.n // 3600 % 24,
                                                 self.n // 60 % 60, self.n % 60)

    def put(self, name, text):
        self.entries[name] = (text, self.date())
        self.dead = [d for d in self.dead if d[0] != name]

    def delete(self, name):
        del self.entries[name]
        self.dead.append((name, self.date()))

    def sync(self, case):
        """Publish, ping, and wait until the daemon of this test case has it."""
        self.publish()
        if not self.origin.seen(self.path):
            case.d.feed(self.url)
        case.d.ping(self.url)
        wanted = {"urn:pub:%s:%s" % (self.name, n): t for n, (t, _) in self.entries.items()}

        def there():
            entries = case.d.feed(self.url, len=1000).json["entries"]
            return {e["id"]: e["title"] for e in entries} == wanted
        case.wait(there, 20, "the state %r" % wanted, case.d)
