"""Subscriptions whose messages go to a real broker (rabbitmq) that is killed and started. All use one exchange with one
durable queue; the routing key tells them apart. The queue is read at the end: its order is that in which the broker took
the messages, and what it confirmed must be there."""
import os
import shutil
import time

from integration.env import broker
from integration.env.daemon import wait_for

IS_THERE = shutil.which("epmd") and os.path.exists(broker.SERVER) and os.path.isdir(os.path.join(broker.NPM, "amqplib"))
Missing = None if IS_THERE else "rabbitmq-server or amqplib is not installed"
EVENTS = ["new", "changed", "deleted"]
READ_S = 600        # for all messages of a run, times PATIENCE


class Server(broker.Broker):
    def __init__(self, run):
        super().__init__()
        self.run = run
        self.do(["assertExchange", "feeds", "topic"], ["assertQueue", "all", {"durable": True}],
                ["bindQueue", "all", "feeds", "#"])

    @staticmethod
    def options():
        return [], {}

    def pause_s(self, seconds):
        """Away for so long; returns when it is back."""
        self.stop()
        time.sleep(seconds)
        self.start()

    def read_end(self):
        """Take all messages of the queue into the trails of their subscriptions."""
        self.do(["publish", "feeds", "end", "{}", {"headers": {}}])
        consumer = self.consumer("all")
        wait_for(lambda: consumer.messages and consumer.messages[-1].key == "end", READ_S, "the end of the queue")
        consumer.close()
        keys = {sub["key"]: key for key, sub in self.run.record.subs.items() if sub["kind"] == "amqp"}
        for at, message in enumerate(consumer.messages[:-1]):
            self.run.record.trails[keys[message.key]].append(
                {"t": at, "end": at, "how": "acked", "status": 200, "message_id": message.properties["messageId"],
                 "prev": message.headers["prev_cursor"], "last": message.headers["cursor"],
                 "rows": [{k: message.body.get(k) for k in ("kind", "cursor", "at", "uid")} |
                          {"feed": message.body["url"], "title": (message.body.get("entry") or {}).get("title")}]})


class Consumer:
    kind = "amqp"
    n_subs = 1
    actions = ()

    def __init__(self, run, n, dice):
        self.run, self.n, self.dice, self.keys = run, n, dice, []

    def subscribe(self, feeds, began):
        key = "sub.%d" % self.n
        answer = self.run.subscribe(feeds, self.run.servers[self.kind].url("exchange=feeds&key=" + key),
                                    events=",".join(EVENTS))
        self.keys.append(answer["id"])
        self.run.record.subs[answer["id"]] = {"kind": self.kind, "feeds": list(feeds), "began": began(),
                                              "events": EVENTS, "key": key}
