"""Who gets what Feedmill delivers: a class in a file of this folder for each kind."""
import importlib

NAMES = ("xmlrpc", "webhook", "websub", "rsscloud", "events", "log")


def find(name):
    return importlib.import_module("chaos.consumers." + name).Consumer
