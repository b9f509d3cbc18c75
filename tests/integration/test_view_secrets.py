"""A feed that gets secrets after a view named it leaves the view for those who follow it already (VIEW-16, ACC-06)."""
import json
import threading

from .env.daemon import own_database, quote
from .env.events import EventReader
from .env.hook import Hook
from .test_sets import FORM
from .test_views import Views


class Secrets(Views):
    """All that follows the view of bob is open when the feed gets secrets. Ann has subscribed to the feed itself."""
    args = ["--token", "chief-of-all-tokens", "--push-first-retry", "100ms", "--push-max-retry", "1s"]

    def setUp(self):
        super().setUp()
        self.begin(self.d)

    def begin(self, d):
        self.chief = {"Authorization": "Bearer chief-of-all-tokens"}
        self.ann, self.bob = ({"Authorization": "Bearer " + self.post(
            "/tokens", headers=self.chief, name=name, role="subscribe").json["token"]} for name in ("ann", "bob"))
        self.a, self.b = self.feed("a", "a old"), self.feed("b", "b old")
        self.hooks = {}
        self.put("v", headers=self.bob, url=self.a + "," + self.b)
        self.hook("ann", self.ann, self.d, url=self.a)
        self.sub(self.b, headers=self.bob)
        self.wait(lambda: self.in_log("", headers=self.chief) == ["a old", "b old"], what="the first fetches")
        self.hook("bob", self.bob, d, view="v")
        self.readers = [self.reader(d, "?view=v" + more, self.bob) for more in ("", "&q=old+OR+news")]
        self.open = self.reader(d, "?url=" + quote(self.a), self.ann)
        self.got, self.threads = {}, []
        for name, path in (("log", "/log?view=v&since=end&timeout=60"),
                           ("smart", "/smart?view=v&type=json&timeout=60&since=cursor:" + d.call(
                               "GET", "/smart?view=v&type=json", headers=self.bob).json["last_cursor"])):
            t = threading.Thread(target=self.ask, args=(d, name, path))
            t.start()
            self.threads.append(t)
        self.wait(lambda: b"log_waiters 2\n" in d.call("GET", "/metrics", headers=self.chief).body, what="two that wait")

    def ask(self, d, name, path):
        self.got[name] = d.call("GET", path, headers=self.bob)

    def hook(self, name, who, d, **fields):
        self.hooks[name] = hook = Hook(())
        self.addCleanup(hook.close)
        answer = self.post("/sub", d, who, endpoint=hook.url, sink="webhook", **fields)
        self.assertEqual(201, answer.status, answer.body)

    def reader(self, d, query, who):
        reader = EventReader(d, query, **who)
        self.addCleanup(reader.close)
        return reader.begin()

    def news(self, name, *titles, headers=None):
        self.feed(name, *titles)
        feed = {f["url"]: f["id"] for f in self.d.call("GET", "/sub?type=json&all=1", headers=self.chief).json["feeds"]}
        body = "id=%d&fetch=1" % feed[self.o.url("/%s.xml" % name)]
        self.assertEqual(200, self.d.call("PATCH", "/sub/feed", body + (headers or ""), dict(FORM, **self.chief)).status)

    def check(self, d):
        # the first document that comes with the secrets is theirs already
        self.news("a", "a secret news", "a old", headers="&cookie=sid%3D1")
        self.wait(lambda: "a secret news" in self.in_log("", headers=self.chief), what="the news of the protected feed")
        self.assertEqual(["a secret news"], self.titles_of(self.open.until(1)))
        self.wait(lambda: self.hooks["ann"].titles()[-1:] == ["a secret news"], what="the call to ann")
        later = self.reader(d, "?view=v&since=start", self.bob)
        self.news("b", "b news", "b old")
        for t in self.threads:
            t.join()
        self.assertEqual(["b news"], [r["entry"]["title"] for r in self.got["log"].json["revisions"]])
        self.assertEqual(200, self.got["smart"].status)
        self.assertNotIn(b"secret", self.got["smart"].body)
        self.assertIn(b"b news", self.got["smart"].body)
        self.wait(lambda: self.hooks["bob"].titles() != [], what="the call to bob")
        self.assertEqual(["b news"], self.hooks["bob"].titles())
        self.assertEqual(["b old", "b news"], self.titles_of(later.until(2)))
        for reader in self.readers:                                      # its client comes again, and then has the rest
            while reader.read():
                pass
            self.assertEqual([], self.titles_of(reader.events))

    def titles_of(self, events):
        return [json.loads(e.data)["entry"]["title"] for e in events]


class OneNode(Secrets):
    def test_what_is_open_does_not_get_it(self):                         # VIEW-16 ACC-06
        self.check(self.d)


class TwoNodes(Secrets):
    engine = "sqlite"   # the database is named here

    def setUp(self):
        self.o = self.origin()
        db = own_database()
        self.d, self.other = (self.daemon("--node", "n%d" % i, "--min-period", "1s", "--fetch-host-gap", "0", *self.args, db=db)
                              for i in range(2))
        self.begin(self.other)

    def test_what_is_open_at_another_node_does_not_get_it(self):         # VIEW-16 ACC-06 NODE-02
        self.check(self.other)
