"""Who gets what Feedmill delivers: a class in a file of this folder for each kind."""
import importlib

NAMES = ("xmlrpc", "webhook", "websub", "smart", "rsscloud", "events", "log")
WITH_SERVERS = ("xmpp", "amqp")        # these need a real server, which is stopped and started


def find(name):
    """The module of a kind: Consumer, and perhaps Server; Missing says what is not installed."""
    return importlib.import_module("chaos.consumers." + name)
