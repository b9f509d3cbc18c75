"""Smart Feeds over HTTP: requirements SMART-01..43."""
import json
import random
import re
import threading
import time
import urllib.parse
import xml.etree.ElementTree as tree
import zlib

from .env.case import Case, slow
from .env.daemon import PATIENCE, quote
from .env.publisher import Publisher

ATOM = "{http://www.w3.org/2005/Atom}"
FO = "{http://fanout.org/protocol/atom}"
UTC = re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")


class Smart(Case):
    def setUp(self):
        self.o, self.d = self.origin(), self.daemon()
        self.p = Publisher(self.o)

    def sync(self):
        self.p.sync(self)

    def fill(self, n, start=0):
        for i in range(start, start + n):
            self.p.put("e%d" % i, "t%d" % i)
        self.sync()

    def base(self, **params):
        return "/smart/?url=" + quote(self.p.url) + "".join(
            "&%s=%s" % (k, quote(str(v))) for k, v in params.items())

    def pull(self, accept=None, **params):
        answer = self.d.call("GET", self.base(**params),
                             headers={"Accept": accept} if accept else {}, timeout=90)
        self.assertEqual(200, answer.status, answer.body)
        return tree.fromstring(answer.body) if accept else answer.json

    def ids(self, **params):
        return [i["id"] for i in self.pull(timeout=0, **params)["items"]]

    def walk(self, **params):
        out, since, n = [], None, 0
        while True:
            more = {"since": "cursor:" + since} if since is not None else {}
            page = self.pull(timeout=0, **dict(params, **more))
            if not page["items"]:
                return out
            out += page["items"]
            since = page["last_cursor"]
            n += 1
            self.assertLess(n, 500)


class Pull(Smart):
    def test_collection(self):                        # SMART-01 SMART-02 SMART-03 SMART-04 SMART-28
        self.fill(12)
        answer = self.d.get(self.base(max=5))
        self.assertEqual("application/json", answer.header("Content-Type").split(";")[0])
        page = answer.json
        self.assertEqual((5, 5, 12), (page["count"], len(page["items"]), page["totalItems"]))
        self.assertEqual("url=" + quote(self.p.url), urllib.parse.urlsplit(page["url"]).query)
        self.assertEqual(self.d.base + self.base(), page["url"])
        page = self.pull(timeout=3, since="time:0", order="created", max=2)
        self.assertEqual("url=%s&order=created" % quote(self.p.url),
                         urllib.parse.urlsplit(page["url"]).query)
        for item in page["items"]:
            self.assertTrue(item["id"].startswith("urn:pub:p:"))
            self.assertEqual("post", item["verb"])
            self.assertTrue(item["actor"]["objectType"])
            self.assertEqual(item["id"], item["object"]["id"])
            self.assertTrue(item["object"]["displayName"].startswith("t"))
            self.assertRegex(item["published"], UTC)
            self.assertRegex(item["updated"], UTC)

    def test_the_object_has_the_publishers_own_dates(self):
        self.fill(1)
        item, = self.pull()["items"]
        self.assertEqual(self.p.entries["e0"][1], item["object"]["updated"])
        self.assertGreater(item["updated"], item["object"]["updated"])

    def test_orders_are_reverses(self):                                   # SMART-09 SMART-25
        self.fill(15)
        self.p.put("e3", "edited")
        self.sync()
        for order in ("modified", "created"):
            ahead = [i["id"] for i in self.walk(order=order, max=4)]
            back = [i["id"] for i in self.walk(order="-" + order, max=4)]
            self.assertEqual(ahead, back[::-1])
            self.assertEqual(15, len(set(ahead)))
            self.assertEqual(back, self.ids(order="-" + order, since="cursor:"))     # D27
        self.assertEqual(["urn:pub:p:e%d" % i for i in range(15)],
                         [i["id"] for i in self.walk(order="created")])

    def test_pages(self):                     # SMART-07 SMART-08 SMART-10 SMART-11 SMART-19
        self.fill(120)                         # one fetch: many share a second
        self.assertEqual(50, self.pull()["count"])
        walked = [i["id"] for i in self.walk(max=7)]
        self.assertEqual(["urn:pub:p:e%d" % i for i in range(120)], walked)
        seen, page = [], self.pull(max=50)
        for _ in range(500):
            seen += [i["id"] for i in page["items"]]
            if "next" not in page:
                break
            self.assertIn("since=cursor%3A", page["next"])
            page = self.d.get(page["next"][len(self.d.base):]).json
        else:
            self.fail("the documents do not end")
        self.assertEqual(walked, seen)
        for max in (60, 119, 120, 121):            # a page follows only if there is something in it
            first = self.pull(max=max)
            self.assertEqual(max < 120, "next" in first)
            second = self.pull(max=120 - max, since="cursor:" + first["last_cursor"]) if max < 120 \
                else first
            self.assertNotIn("next", second)

    def test_next_keeps_the_end_that_was_asked_for(self):                # SMART-10 SMART-12
        self.fill(12)
        end = self.pull(max=9)["last_cursor"]
        for order in ("modified", "created", "-modified"):
            seen, page = [], self.pull(order=order, max=3, until=(
                "id:urn:pub:p:e2" if order[0] == "-" else "cursor:" + end))
            for _ in range(500):
                seen += [i["id"] for i in page["items"]]
                if "next" not in page:
                    break
                page = self.d.get(page["next"][len(self.d.base):]).json
            else:
                self.fail("the documents do not end")
            numbers = range(11, 2, -1) if order[0] == "-" else range(8)
            self.assertEqual(["urn:pub:p:e%d" % i for i in numbers], seen, order)

    def test_ranges(self):                                 # SMART-12 SMART-13 SMART-14
        self.fill(25)
        cursors = [self.pull(max=1, since="cursor:", timeout=0)["last_cursor"]]
        for _ in range(24):
            cursors.append(self.pull(max=1, since="cursor:" + cursors[-1])["last_cursor"])
        all_ids = ["urn:pub:p:e%d" % i for i in range(25)]
        self.assertEqual(all_ids[:9], self.ids(until="cursor:" + cursors[9]))
        self.assertEqual(all_ids[10:19],
                         self.ids(since="cursor:" + cursors[9], until="cursor:" + cursors[19]))
        self.assertEqual(all_ids[:9][::-1], self.ids(since="cursor:" + cursors[9], order="-modified"))
        stamp = self.pull(max=1)["items"][0]["updated"]
        seconds = int(time.mktime(time.strptime(stamp, "%Y-%m-%dT%H:%M:%SZ"))) - time.timezone
        for t in (stamp, seconds):
            self.assertIn(all_ids[0], self.ids(since="time:%s" % t, max=1000))
            self.assertIn(all_ids[0], self.ids(until="time:%s" % t, max=1000))
        self.assertEqual([], self.ids(until="time:%d" % (seconds - 1)))
        nothing = self.pull(since="cursor:" + cursors[4], until="cursor:" + cursors[5])     # D27
        self.assertEqual(([], cursors[4]), (nothing["items"], nothing["last_cursor"]))
        nothing = self.pull(until="time:%d" % (seconds - 1))
        self.assertEqual(([], cursors[-1]), (nothing["items"], nothing["last_cursor"]))
        self.assertEqual([], self.ids(since="time:%d" % (seconds + 100)))

    def test_cursors_outlive_the_process(self):                                     # SMART-05
        self.fill(8)
        page = self.pull(max=3)
        self.d.stop()
        self.d.start()
        self.fill(2, 8)
        self.assertEqual(["urn:pub:p:e%d" % i for i in range(3, 10)],
                         self.ids(since="cursor:" + page["last_cursor"]))

    def test_time_offset_checksum(self):                                  # SMART-06 SMART-15
        self.fill(9)
        items = self.walk()
        groups = {}
        for item in items:
            groups.setdefault(item["updated"], []).append(item["id"])
        stamp, group = max(groups.items(), key=lambda g: len(g[1]))
        t = int(time.mktime(time.strptime(stamp, "%Y-%m-%dT%H:%M:%SZ"))) - time.timezone
        rest = [i["id"] for i in items if i["updated"] > stamp]
        for offset in range(len(group)):
            check = zlib.crc32("_".join(group[:offset + 1]).encode())
            token = "%d_%d_%d" % (t, offset, check)
            self.assertEqual(group[offset + 1:] + rest, self.ids(since="cursor:" + token))
            self.assertEqual(group[:offset],
                             [i for i in self.ids(until="cursor:" + token) if i in group])
        for token in ("%d_%d_%d" % (t, 0, 1), "%d_%d_%d" % (t, 500, 1)):
            self.assertEqual(group + rest, self.ids(since="cursor:" + token))

    def test_cursors_of_another_log_count_as_their_time(self):                       # SMART-15 (D25)
        self.fill(9)
        name, log, _, at = self.pull(max=3)["last_cursor"].split(".")
        end = self.pull()["last_cursor"].split(".")[2]
        wanted = ["urn:pub:p:e%d" % i for i in range(2, 9)]      # its own item may come again
        other = "00000000" if log != "00000000" else "11111111"
        ahead = [(log, "999999")] if self.engine == "sqlite" else []    # NODE-03: at a node it is waited for
        for token in [(other, "1"), (other, end), (other, "999999")] + ahead:
            cursor = ".".join((name, token[0], token[1], at))
            self.assertEqual(wanted, self.ids(since="cursor:" + cursor), cursor)
            self.assertEqual(wanted[:0:-1], self.ids(order="-modified", max=6, until="cursor:" + (
                ".".join((name, token[0], token[1], str(int(at) + 1))))), cursor)

    def test_bad_positions(self):                          # SMART-16 SMART-17 SMART-18 SMART-20
        self.fill(5)
        for wrong in ("cursor:\0zz", "cursor:zz", "foo:1", "nocolon", "time:", "time:x", "id:",
                      "cursor:fm1.x", "cursor:1_2", "cursor:-1_0_0"):
            answer = self.d.get(self.base(since=wrong))
            self.assert_problem(answer, 400, "bad-position-spec")
        for wrong in ("0", "-1", "x", "1.5"):
            problem = self.assert_problem(self.d.get(self.base(max=wrong)), 400, "bad-parameter")
            self.assertIn("at least 1;", problem["detail"])
        self.assert_problem(self.d.get(self.base(order="up")), 400, "bad-parameter")
        self.assertEqual(["urn:pub:p:e3", "urn:pub:p:e4"],
                         self.ids(order="created", since="id:urn:pub:p:e2"))
        self.assertEqual(["urn:pub:p:e0", "urn:pub:p:e1"],
                         self.ids(order="created", until="id:urn:pub:p:e2"))
        self.assertEqual(404, self.d.get(self.base(since="id:urn:none:x")).status)

    def test_an_id_is_where_its_item_stands_now(self):                             # SMART-18
        self.fill(5)
        self.p.put("e1", "edited")
        self.sync()
        names = ["urn:pub:p:e%d" % i for i in (0, 2, 3, 4, 1)]
        self.assertEqual(names, self.ids())
        for k, name in enumerate(names):
            self.assertEqual(names[k + 1:], self.ids(since="id:" + name))
            self.assertEqual(names[:k], self.ids(until="id:" + name))

    def test_changes_and_deletions(self):                  # SMART-24 SMART-26 SMART-27 SMART-29
        self.fill(6)
        end = self.pull()["last_cursor"]
        middle = self.pull(max=2)["last_cursor"]
        self.p.put("e1", "edited")
        self.sync()
        page = self.pull(since="cursor:" + end)
        self.assertEqual(["urn:pub:p:e1"], [i["id"] for i in page["items"]])
        self.assertEqual("edited", page["items"][0]["object"]["displayName"])
        self.assertEqual(6, page["totalItems"])
        self.assertEqual({"urn:pub:p:e%d" % i for i in (1, 2, 3, 4, 5)},
                         set(self.ids(since="cursor:" + middle)))
        self.p.delete("e2")
        self.sync()
        gone = self.pull(since="cursor:" + page["last_cursor"])["items"]
        self.assertEqual(["urn:pub:p:e2"], [i["id"] for i in gone])
        self.assertIs(True, gone[0]["deleted"])
        for key in ("title", "content", "url"):
            self.assertNotIn(key, gone[0])
            self.assertNotIn(key, gone[0]["object"])
        whole = self.walk(max=2)
        self.assertEqual(6, len({i["id"] for i in whole}))
        self.assertEqual(6, self.pull()["totalItems"])

    def test_atom(self):                                   # SMART-30 SMART-31 SMART-32 SMART-33 SMART-34
        from .env.schema import check_atom
        self.fill(7)
        self.p.delete("e0")
        self.sync()
        page, json_page = self.pull("application/atom+xml", max=5), self.pull(max=5)
        self.assertEqual(str(json_page["totalItems"]), page.findtext(FO + "total"))
        self.assertEqual(json_page["last_cursor"], page.findtext(FO + "last_cursor"))
        self.assertEqual([i["id"] for i in json_page["items"]],
                         [e.findtext(FO + "id") for e in page.iter(ATOM + "entry")])
        links = {l.get("rel"): l.get("href") for l in page.findall(ATOM + "link")}
        self.assertEqual(json_page["url"], links["self"])
        more = self.d.call("GET", links["next"][len(self.d.base):],
                           headers={"Accept": "application/atom+xml"})
        last = tree.fromstring(more.body).findall(ATOM + "entry")
        self.assertEqual("true", last[-1].findtext(FO + "deleted"))
        self.assertFalse(last[-1].findtext(ATOM + "content"))
        self.assertIsNone(last[-1].find(ATOM + "summary"))
        check_atom(self, more.body)

    def test_jsonp(self):                                  # SMART-40 SMART-41 SMART-42
        self.p.put("e0", "line\u2028end")
        self.sync()
        answer = self.d.get(self.base(callback="my.cb_$1"))
        self.assertEqual("application/javascript", answer.header("Content-Type").split(";")[0])
        self.assertEqual("nosniff", answer.header("X-Content-Type-Options"))
        text = answer.body.decode()
        self.assertNotIn("\u2028", text)
        match = re.match(r"^(?:/\*.*?\*/)?my\.cb_\$1\((.*)\);\n?$", text, re.S)
        self.assertEqual("line\u2028end", json.loads(match.group(1))["items"][0]["title"])
        answer = self.d.get(self.base(callback="f"), Accept="application/atom+xml")
        match = re.match(r"^(?:/\*.*?\*/)?f\((.*)\);\n?$", answer.body.decode(), re.S)
        self.assertTrue(json.loads(match.group(1)).startswith("<?xml"))
        for wrong in ("alert(1)//", "", ".a", "a.", "a..b", "1a", "a-b", "a" * 129, "a b"):
            self.assert_problem(self.d.get(self.base(callback=wrong)), 400, "bad-parameter")

    def test_several_feeds(self):                                                   # SMART-43
        other = Publisher(self.o, "/q.xml", "q")
        for i in range(5):
            other.put("q%d" % i, "q%d" % i)
        other.publish()
        self.fill(5)
        self.d.feed(other.url)
        url = "/smart/?url=%s,%s&max=3" % (quote(self.p.url), quote(other.url))
        items, since = [], ""
        for _ in range(500):
            page = self.d.get(url + "&timeout=0&since=cursor%3A" + since).json
            if not page["items"]:
                break
            items += [i["id"] for i in page["items"]]
            since = page["last_cursor"]
        else:
            self.fail("the documents do not end")
        self.assertEqual(10, len(items))
        self.assertEqual({"p", "q"}, {i.split(":")[2] for i in items})
        self.assertEqual(10, page["totalItems"])

    def test_items_of_one_id_in_two_feeds(self):                          # SMART-29 SMART-32 SMART-43
        """Both are there, the later one under an id of its own, which is a position, too."""
        other = Publisher(self.o, "/q.xml", "p")
        self.fill(2)
        other.put("e0", "another")
        other.sync(self)
        base = "/smart/?url=%s,%s&timeout=0" % (quote(self.p.url), quote(other.url))
        items = self.d.get(base).json["items"]
        ids = [i["id"] for i in items]
        self.assertEqual(["urn:pub:p:e0", "urn:pub:p:e1"], ids[:2])
        self.assertEqual((3, 3), (len(ids), len(set(ids))))
        self.assertEqual(["t0", "t1", "another"], [i["title"] for i in items])
        self.assertEqual("urn:pub:p:e0", items[2]["object"]["id"])
        atom = tree.fromstring(self.d.get(base + "&type=atom").body)
        self.assertEqual(ids, [e.findtext(FO + "id") for e in atom.findall(ATOM + "entry")])
        self.assertEqual(ids, [e.findtext(ATOM + "id") for e in atom.findall(ATOM + "entry")])
        for i, name in enumerate(ids):
            later = self.d.get(base + "&order=created&since=" + quote("id:" + name)).json["items"]
            self.assertEqual(ids[i + 1:], [item["id"] for item in later])
        t = int(time.mktime(time.strptime(items[2]["updated"], "%Y-%m-%dT%H:%M:%SZ"))) - time.timezone
        group = [i["id"] for i in items if i["updated"] == items[2]["updated"]]
        token = "%d_%d_%d" % (t, len(group) - 1, zlib.crc32("_".join(group).encode()))
        self.assertEqual([], self.d.get(base + "&since=cursor:" + token).json["items"])
        alone = self.d.get("/smart/?timeout=0&url=" + quote(other.url)).json["items"]
        self.assertEqual(["urn:pub:p:e0"], [i["id"] for i in alone])


class Waiting(Smart):
    def test_immediately(self):                                                     # SMART-21
        self.fill(2)
        cursor = self.pull()["last_cursor"]
        began = time.monotonic()
        page = self.pull(since="cursor:" + cursor, timeout=0)
        self.assertLess(time.monotonic() - began, 50)       # not held for 55 seconds
        self.assertEqual(([], cursor), (page["items"], page["last_cursor"]))
        self.assertNotIn("next", page)

    def test_held_for_a_while(self):                                                # SMART-22
        self.fill(2)
        cursor = self.pull()["last_cursor"]
        began = time.monotonic()
        page = self.pull(since="cursor:" + cursor, timeout=2)
        self.assertGreaterEqual(time.monotonic() - began, 1.9)
        self.assertEqual([], page["items"])

    @slow
    def test_held_for_55_seconds_unless_told_otherwise(self):                       # SMART-22 D28
        self.fill(2)
        cursor = self.pull()["last_cursor"]
        began = time.monotonic()
        self.assertEqual([], self.pull(since="cursor:" + cursor)["items"])
        self.assertGreaterEqual(time.monotonic() - began, 54.9)
        self.assertLess(time.monotonic() - began, 55 + 20 * PATIENCE)

    def test_released_by_news(self):                                                # SMART-23
        self.fill(2)
        cursor, got, began = self.pull()["last_cursor"], [], time.monotonic()
        created = self.pull(order="created")["last_cursor"]

        def hold(**params):
            got.append((self.pull(timeout=55, **params), time.monotonic()))

        threads = [threading.Thread(target=hold, kwargs=dict(since="cursor:" + cursor))
                   for _ in range(8)]
        late = threading.Thread(target=hold, kwargs=dict(since="cursor:" + created, order="created"))
        for t in threads + [late]:
            t.start()
        self.d.wait_metric("log_waiters", 9)
        self.p.put("e0", "edited")       # no item is created: the last one goes on waiting
        self.sync()
        for t in threads:
            t.join(20 * PATIENCE)
        self.assertEqual(8, len(got))
        self.assertLess(max(at for _, at in got) - began, 50)       # not held to the end
        self.assertEqual({"urn:pub:p:e0"}, {p["items"][0]["id"] for p, _ in got})
        self.assertTrue(late.is_alive())
        self.fill(1, 7)
        late.join(20 * PATIENCE)
        self.assertEqual(["urn:pub:p:e7"], [i["id"] for i in got[-1][0]["items"]])

    def test_empty_feed(self):                                                      # SMART-21
        self.sync()
        page = self.pull(timeout=0)
        self.assertEqual((0, 0, ""), (page["count"], page["totalItems"], page["last_cursor"]))
        page = self.pull(since="cursor:", timeout=0)
        self.assertEqual([], page["items"])

    def test_a_page_without_items_repeats_the_cursor(self):                        # SMART-21 (D27)
        self.fill(3)
        first, last = (self.pull(max=n)["last_cursor"] for n in (1, 3))
        for order, until in (("modified", first), ("-modified", last), ("created", first),
                             ("-created", last)):
            page = self.pull(order=order, since="cursor:", until="cursor:" + until)
            self.assertEqual(([], ""), (page["items"], page["last_cursor"]), order)


class Property(Smart):
    def test_cuts_make_the_whole(self):                    # SMART-07 SMART-08 SMART-24 SMART-26
        """For any history and any cuts, what was read by cursor is what was there: a mirror that
        applies the items in order is the feed."""
        chance, mirror, since, names = random.Random(11), {}, "", 0
        for turn in range(10):
            for _ in range(chance.randrange(1, 6)):
                action = chance.random()
                if action < 0.6 or len(self.p.entries) < 3:
                    self.p.put("n%d" % names, "t%d" % names)
                    names += 1
                elif action < 0.8:
                    self.p.put(chance.choice(sorted(self.p.entries)), "edit %d" % turn)
                else:
                    self.p.delete(chance.choice(sorted(self.p.entries)))
            self.sync()
            if turn == 5:
                self.d.kill()
                self.d.start()
            for _ in range(chance.randrange(0, 4)):
                page = self.pull(since="cursor:" + since, max=chance.randrange(1, 5), timeout=0)
                since = page["last_cursor"]
                for item in page["items"]:
                    mirror[item["id"]] = None if item.get("deleted") else item["title"]
        for _ in range(500):
            page = self.pull(since="cursor:" + since, max=3, timeout=0)
            if not page["items"]:
                break
            since = page["last_cursor"]
            for item in page["items"]:
                mirror[item["id"]] = None if item.get("deleted") else item["title"]
        else:
            self.fail("the documents do not end")
        self.assertEqual({"urn:pub:p:" + n: t for n, (t, _) in self.p.entries.items()},
                         {i: t for i, t in mirror.items() if t is not None})
        self.assertEqual(page["totalItems"], len(mirror))

    def test_any_position_cuts_the_whole(self):
        """SMART-05 -07 -08 -09 -12 -13 -14 -18 -24 -25 -26 -27 -29 -43: for any history of three
        feeds, two of which share ids, with kills between: what lies behind a position and what
        lies before it are the whole, in all orders; and behind an old cursor is what came since."""
        chance, names, old = random.Random(29), 0, []
        self.all = [self.p, Publisher(self.o, "/q.xml", "p"), Publisher(self.o, "/r.xml", "r")]
        for p in self.all:
            p.sync(self)
        for turn in range(12):
            p = chance.choice(self.all)
            for _ in range(chance.randrange(1, 7)):
                action = chance.random()
                if action < 0.6 or len(p.entries) < 3:
                    p.put("n%d" % chance.randrange(names + 2), "t%d" % names)
                    names += 1
                elif action < 0.8:
                    p.put(chance.choice(sorted(p.entries)), "edit %d %d" % (turn, names))
                else:
                    p.delete(chance.choice(sorted(p.entries)))
            p.sync(self)
            if turn in (4, 9):
                self.d.kill()
                self.d.start()
            urls = ",".join(p.url for p in self.all if chance.random() < 0.6) or self.p.url
            for order in ("modified", "created"):
                self.check_positions(chance, urls, order, old)
            for position in chance.sample(old, min(3, len(old))):
                self.check_old(chance, *position)

    def read(self, chance, urls, order, since="cursor:", until=None):
        """All between two positions, in pieces of any size."""
        out, last = [], None
        for _ in range(500):
            page = self.d.get("/smart/?url=%s&order=%s&timeout=0&max=%d&since=%s%s" % (
                quote(urls), order, chance.choice((1, 2, 3, 7, 50)), quote(since),
                "" if until is None else "&until=" + quote(until))).json
            if not page["items"]:
                return out, last
            out += page["items"]
            last = page["last_cursor"]
            since = "cursor:" + last
        self.fail("the pieces do not end")

    def check_positions(self, chance, urls, order, old):
        whole = self.read(chance, urls, order)[0]
        ids = [i["id"] for i in whole]
        self.assertEqual(len(ids), len(set(ids)))
        self.assertEqual(whole[::-1], self.read(chance, urls, "-" + order)[0])
        if not whole:
            return
        k = chance.randrange(len(whole))
        cursor = self.d.get("/smart/?url=%s&order=%s&max=%d" % (quote(urls), order, k + 1)).json[
            "last_cursor"]
        old.append((urls, order, cursor, whole, k))
        for spec in ("cursor:" + cursor, "id:" + ids[k]):
            self.assertEqual(whole[k + 1:], self.read(chance, urls, order, spec)[0])
            self.assertEqual(whole[:k], self.read(chance, urls, order, until=spec)[0])
            self.assertEqual(whole[:k][::-1], self.read(chance, urls, "-" + order, spec)[0])
            self.assertEqual(whole[k + 1:][::-1],
                             self.read(chance, urls, "-" + order, until=spec)[0])
        key = {"modified": "updated", "created": "published"}[order]
        at, low = whole[k][key], chance.randrange(k + 1)
        spec = "time:" + at
        self.assertEqual([i for i in whole if i[key] >= at],
                         self.read(chance, urls, order, spec)[0])
        self.assertEqual([i for i in whole if i[key] <= at],
                         self.read(chance, urls, order, until=spec)[0])
        self.assertEqual(whole[low + 1:k], self.read(chance, urls, order, "id:" + ids[low],
                                                     "cursor:" + cursor)[0] if low < k else [])

    def check_old(self, chance, urls, order, cursor, whole, k):
        """A position of a state that is past."""
        now = self.read(chance, urls, order)[0]
        known = whole[:k + 1]
        if order == "created":
            self.assertEqual([i["id"] for i in whole], [i["id"] for i in now[:len(whole)]])
            self.assertEqual(now[k + 1:], self.read(chance, urls, order, "cursor:" + cursor)[0])
        else:
            self.assertEqual([i for i in now if i not in known],
                             self.read(chance, urls, order, "cursor:" + cursor)[0])
            self.assertEqual([i for i in now if i in known[:-1]],
                             self.read(chance, urls, order, until="cursor:" + cursor)[0])
