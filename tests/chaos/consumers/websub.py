"""Subscribers of our hub. A delivery is a document with the newest version of each entry that is new or
changed; titles tell which revisions they are."""
import hashlib
import hmac
import urllib.parse
import xml.etree.ElementTree as tree

from .base import Endpoint

ATOM = "{http://www.w3.org/2005/Atom}"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
SECRET = "s3cret"


class Consumer(Endpoint):
    kind = "websub"
    ok = (204, b"", {})
    actions = ()
    events = ("new", "changed")

    @staticmethod
    def topic(feeds):
        return "%s?url=%s&type=atom" % ("/feed" if len(feeds) == 1 else "/feeds",
                                        urllib.parse.quote(",".join(feeds), safe=""))

    def subscribe(self, feeds, began):
        topic = self.run.daemon.base + self.topic(feeds)
        form = {"hub.mode": "subscribe", "hub.topic": topic, "hub.callback": self.url,
                "hub.lease_seconds": "864000", "hub.secret": SECRET}
        self.trail(self.path, feeds, None, events=list(self.events), topic=topic)
        answer = self.run.daemon.call("POST", "/hub", urllib.parse.urlencode(form), FORM)
        assert answer.status == 202, (answer.status, answer.body)
        self.run.await_sub(self.url)
        self.run.record.subs[self.path]["began"] = began()

    def verify(self, ask, query):
        if query.get("hub.mode") == "denied":
            self.run.record.wrong.append("%s was denied: %r" % (self.path, query))
        ask.answer(200, query.get("hub.challenge", "").encode())

    def check_signature(self, ask, body):
        mac = "sha256=" + hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
        if ask.fields.get("x-hub-signature") != mac:
            self.run.record.wrong.append("%s: the signature is %r" % (self.path, ask.fields.get("x-hub-signature")))

    def read(self, ask, body):
        self.check_signature(ask, body)
        root = tree.fromstring(body)
        return self.path, {"titles": [e.findtext(ATOM + "title") for e in root.findall(ATOM + "entry")]}
