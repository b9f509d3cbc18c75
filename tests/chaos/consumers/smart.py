"""Subscribers of a Smart Feed at our hub. A delivery has the newest version of each item, those that were deleted too,
and the cursors of the chain."""
import json
import urllib.parse

from . import websub


class Consumer(websub.Consumer):
    kind = "smart"
    events = ("new", "changed", "deleted")

    @staticmethod
    def topic(feeds):
        return "/smart/?url=%s&type=json" % urllib.parse.quote(feeds[0], safe="")

    def subscribe(self, feeds, began):
        super().subscribe(feeds[:1], began)

    def read(self, ask, body):
        self.check_signature(ask, body)
        said = json.loads(body)
        return self.path, {"rows": [{"uid": i["id"], "title": i.get("title"), "deleted": bool(i.get("deleted"))}
                                    for i in said["items"]],
                           "prev": said["prev_cursor"], "last": said["last_cursor"]}
