"""The demo's publisher: feeds in several formats. One of them grows, one needs a password.

The feed of products (buy.xml) is a file in the folder that the daemon itself serves at /demo/.
"""
import base64
import email.utils
import html
import http.server
import json
import os
import threading
import time
import urllib.parse

# what the shop sells; the picture of each, as an SVG path in a square of 24 by 24
PRODUCTS = [
    ("Laptop 13\"", "M5 5h14v10H5zM2 18h20"),
    ("Camera", "M3 7h5l2-2h4l2 2h5v12H3zM12 9a4 4 0 1 0 .1 0"),
    ("Headphones", "M4 15v-3a8 8 0 0 1 16 0v3M4 14h3v6H4zM17 14h3v6h-3z"),
    ("Coffee machine", "M5 9h11v6a4 4 0 0 1-4 4H9a4 4 0 0 1-4-4zM16 10h2a2 2 0 0 1 0 5h-2M9 3v3M12 3v3"),
    ("Bicycle", "M6 12a4 4 0 1 0 .1 0M18 12a4 4 0 1 0 .1 0M6 16l4-8h6l2 8M10 8l4 8 2-8M9 6h3"),
    ("Telescope", "M3 12l13-7 3 5-13 6zM12 13v3M12 15l-4 6M12 15l4 6"),
    ("Keyboard", "M2 7h20v10H2zM5 10h1M9 10h1M13 10h1M17 10h1M7 14h10"),
    ("Garden chair", "M7 3v11h10V3M7 7h10M7 10h10M7 14v7M17 14v7M5 14h14"),
    ("Backpack", "M6 21V10a6 6 0 0 1 12 0v11zM9 14h6v4H9zM9 5V3h6v2"),
    ("Desk lamp", "M6 21h9M10 21l-3-9 7-6M12 4l6 6-7 1z"),
]
NEWS = ["Rain by the evening", "Harbour bridge open again", "Orchestra plays outdoors",
        "Library extends its hours", "Market moves to the square", "Ferry on time all week", "Crane lifts a sunken barge",
        "The crane is repaired"]            # README.md and docs/cli.md ask for cranes, also without barges; the last one is there first
PASSWORD = ("demo", "secret")


def when(seconds):
    return email.utils.formatdate(seconds, usegmt=True)


def stamp(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def rss(title, link, items):
    return ('<?xml version="1.0" encoding="utf-8"?>\n<rss version="2.0" xmlns:product='
            '"http://www.buy.com/rss/module/productV2/">\n<channel><title>%s</title><link>%s</link>'
            "<description>%s</description>\n%s</channel></rss>\n" % (title, link, title, "".join(items)))


def item(title, link, seconds, extra=""):
    return ("<item><title>%s</title><link>%s</link><guid>%s</guid><pubDate>%s</pubDate>"
            "<description>%s</description>%s</item>\n" % (
                html.escape(title), link, link, when(seconds), html.escape(title), extra))


def picture(strokes, hue):
    svg = ("<svg xmlns='http://www.w3.org/2000/svg' viewBox='-8 -4 40 32' stroke-width='1.2' fill='none' "
           "stroke='hsl(%d,45%%,28%%)' stroke-linejoin='round' stroke-linecap='round'>"
           "<path fill='hsl(%d,55%%,84%%)' stroke='none' d='M-40-40h99v99h-99z'/><path d='%s'/></svg>" % (
               hue, hue, strokes))
    return "data:image/svg+xml," + urllib.parse.quote(svg, safe="/:=' ")


class Publisher:
    """Serves on port 8090 of loopback, or on a free port if that one is taken; tick() publishes something new."""

    def __init__(self, folder):
        self.folder, self.count, self.started = folder, 0, time.time()
        self.lock = threading.Lock()
        self.news = [(NEWS[-1], self.started - 3600)]
        publisher = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                publisher.answer(self)

            def log_message(self, *args):
                pass

        try:
            self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 8090), Handler)
        except OSError:
            self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.base = "http://localhost:%d" % self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.tick()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def tick(self):
        with self.lock:
            now = time.time()
            self.news.insert(0, (NEWS[self.count % len(NEWS)] + " (%d)" % self.count, now))
            del self.news[10:]
            items = []
            for n in range(self.count + 7, self.count - 1, -1):
                name, strokes = PRODUCTS[n % len(PRODUCTS)]
                items.append(item("%s, model %d" % (name, n), "http://shop.example/%d" % n,
                                  self.started + n, '<product:content price="$%d.99" image="%s"/>' %
                                  (n * 13 % 90 + 9, picture(strokes, n * 47 % 360))))
            path = os.path.join(self.folder, "buy.xml")
            with open(path + ".new", "w", encoding="utf-8") as out:
                out.write(rss("A shop", "http://shop.example/", items))
            os.replace(path + ".new", path)
            self.count += 1

    def document(self, path):
        if path == "/news.rss":
            return "application/rss+xml", rss("City news", self.base + "/news", [
                item(t, self.base + "/news/%d" % at, at) for t, at in self.news])
        if path == "/releases.atom":
            return "application/atom+xml", (
                '<?xml version="1.0"?>\n<feed xmlns="http://www.w3.org/2005/Atom"><title>Releases</title>'
                "<id>urn:x-demo:releases</id><updated>%s</updated><author><name>Demo</name></author>"
                "<entry><title>Version 1.0</title><id>urn:x-demo:releases:1.0</id><updated>%s</updated>"
                '<link href="%s/releases/1.0"/><summary>The first one.</summary></entry></feed>' % (
                    stamp(self.started), stamp(self.started), self.base))
        if path == "/log.json":
            return "application/feed+json", json.dumps({
                "version": "https://jsonfeed.org/version/1.1", "title": "Build log", "items": [
                    {"id": "build-1", "content_text": "Build 1 passed.", "title": "Build 1",
                     "date_published": stamp(self.started - 60)}]})
        if path == "/bugs.rss":
            return "application/rss+xml", rss("Bugs", self.base + "/bugs", [
                item("Login page shows a blank screen", self.base + "/bugs/7", self.started - 120)])
        if path == "/list.opml":
            return "text/x-opml", (
                '<opml version="2.0"><head><title>All of the demo</title></head><body>%s</body></opml>' %
                "".join('<outline type="rss" text="%s" xmlUrl="%s%s"/>' % (name, self.base, feed)
                        for name, feed in (("City news", "/news.rss"), ("Releases", "/releases.atom"),
                                           ("Build log", "/log.json"))))
        if path in ("/", "/news"):
            return "text/html", ('<html><head><title>City news</title><link rel="alternate" type='
                                 '"application/rss+xml" href="/news.rss"></head><body>News.</body></html>')
        return None, None

    def answer(self, handler):
        with self.lock:
            kind, text = self.document(handler.path)
        wanted = "Basic " + base64.b64encode(":".join(PASSWORD).encode()).decode()
        if handler.path == "/bugs.rss" and handler.headers.get("Authorization") != wanted:
            handler.send_response(401)
            handler.send_header("WWW-Authenticate", 'Basic realm="bugs"')
            kind, text = "text/plain", "who are you?"
        else:
            handler.send_response(200 if text else 404)
        body = (text or "nothing here").encode()
        handler.send_header("Content-Type", (kind or "text/plain") + "; charset=utf-8")
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)
