"""Named views: defined once, read by all (VIEW-01, VIEW-15, VIEW-16, ACC-06)."""
import json

from .env.daemon import own_database, quote
from .test_sets import Sets

JSON = {"Content-Type": "application/json"}
TYPES = {"atom": "application/atom+xml", "rss": "application/rss+xml", "json": "application/json",
         "jsonfeed": "application/feed+json"}


class Views(Sets):
    def put(self, name, body=None, d=None, headers=None, status=201, **fields):
        if body is None:
            body = "&".join("%s=%s" % (k, quote(str(v))) for k, v in fields.items())
            headers = dict({"Content-Type": "application/x-www-form-urlencoded"}, **(headers or {}))
        else:
            body, headers = json.dumps(body), dict(JSON, **(headers or {}))
        answer = (d or self.d).call("PUT", "/view/" + name, body, headers)
        self.assertEqual(status, answer.status, answer.body)
        return answer

    def read(self, name, query="", **kw):
        return self.titles("/view/%s?type=json%s" % (name, query), **kw)

    def listed(self, d=None):
        return (d or self.d).get("/view").json["views"]


class Definitions(Views):
    def setUp(self):
        super().setUp()
        self.a = self.feed("a", "red boat", "blue boat")
        self.b = self.feed("b", "red car", "blue car")

    def test_define_read_change_delete(self):                            # VIEW-15 VIEW-16
        self.assertEqual([], self.listed())
        answer = self.put("harbour", url=self.a, q="red", title="The harbour")
        self.assertEqual(self.d.base + "/view/harbour", answer.header("Location"))
        self.assertEqual((["red boat"], "The harbour"), (self.read("harbour"), self.listed()[0]["title"]))
        self.assertEqual(["harbour"], [v["name"] for v in self.listed()])
        self.assertEqual(([self.a], "red"), (self.listed()[0]["url"], self.listed()[0]["q"]))
        before = self.d.get("/view/harbour?type=json").header("ETag")
        self.put("harbour", status=200, url=self.a, q="blue")
        self.assertEqual(["blue boat"], self.read("harbour"))
        self.assertNotEqual(before, self.d.get("/view/harbour?type=json").header("ETag"))
        self.assertNotIn("title", self.listed()[0])
        self.assertEqual(200, self.d.call("GET", "/view/harbour?type=json", headers={"If-None-Match": before}).status)
        self.assertEqual(204, self.d.call("DELETE", "/view/harbour").status)
        self.assertEqual([], self.listed())
        self.assert_problem(self.d.get("/view/harbour"), 404, "not-found")
        self.assert_problem(self.d.call("DELETE", "/view/harbour"), 404, "not-found")

    def test_none_is_replaced_if_it_must_be_new(self):                  # VIEW-15 CON-06
        must_be_new = {"Content-Type": "application/json", "If-None-Match": "*"}
        put = lambda q: self.d.call("PUT", "/view/good", json.dumps({"all": True, "q": q}), must_be_new)
        self.assertEqual(201, put("item").status)
        for q in ("item", "other"):
            self.assert_problem(put(q), 412, "precondition-failed")
        self.assertEqual("item", self.d.get("/view").json["views"][0]["q"])
        self.assertEqual(204, self.d.call("DELETE", "/view/good").status)
        self.assertEqual(201, put("other").status)

    def test_json_has_texts_and_arrays(self):                            # VIEW-15
        self.put("j", {"url": [self.a, self.b], "q": "red", "len": 1, "title": "J"})
        self.assertEqual(1, len(self.read("j")))
        self.put("j", {"url": self.a, "category": "none"}, status=200)
        self.assertEqual([], self.read("j"))
        self.assert_problem(self.put("j", {"url": {"x": 1}}, status=400), 400, "bad-parameter")
        self.assert_problem(self.put("j", [1], status=400), 400, "bad-body")

    def test_json_is_read_strictly(self):                                # VIEW-15
        """A misspelt member would make a view without that filter."""
        for wrong in ({"catgory": "news"}, {"URL": self.b}, {"q": 5}, {"q": ["red"]}, {"title": ["x"]}, {"title": True}, {"author": [1]},
                      {"folder": 7}, {"len": True}, {"len": [5]}, {"len": {}}, {"all": "maybe"}, {"all": [True]}, {"order": 1},
                      {"sub": [True]}, {"after": False}, {"bogus": None}):
            with self.subTest(str(wrong)):
                answer = self.put("strict", dict({"url": self.a}, **wrong), status=400)
                self.assert_problem(answer, 400, "bad-parameter", parameter=next(iter(wrong)))
                self.assertIn("`%s`" % next(iter(wrong)), answer.json["detail"])
        self.assertEqual([], self.listed())
        self.put("strict", {"url": self.a, "q": None, "after": 1700000000, "all": 0, "author": ["Ann", "Bob"], "has": "audio"})

    def test_numbers_and_flags_are_shown_as_such(self):                  # VIEW-15
        """A view that was read can be put back, and says the same again."""
        sub = self.d.subscribe(self.a)
        for given in ({"url": self.b, "sub": sub, "all": True, "len": 5, "skip": 1, "obj": False, "chars": 80, "mirror": True,
                       "q": "7", "after": "1700000000"},
                      {"url": self.b, "sub": [str(sub)], "all": "1", "len": "5", "skip": "1", "obj": "0", "chars": "80",
                       "mirror": "", "q": "7", "after": "1700000000"}):
            self.d.call("DELETE", "/view/shaped")
            put = self.put("shaped", given).json
            shown = {k: put[k] for k in put if k not in ("name", "self", "created", "changed")}
            self.assertEqual({"url": [self.b], "sub": [sub], "all": True, "len": 5, "skip": 1, "obj": False, "chars": 80,
                              "mirror": True, "q": "7", "after": "1700000000"}, shown)
            self.assertIs(True, shown["all"])
            self.assertIs(False, shown["obj"])
            self.assertEqual(put, self.listed()[0])
            self.assertEqual(put, self.put("shaped", put, status=200).json)
        self.assertEqual(1000, self.put("many", {"url": self.a, "len": "9" * 30}).json["len"])

    def test_each_type_has_itself_as_self(self):                         # VIEW-15
        self.put("v", url=self.a)
        for kind, media in TYPES.items():
            with self.subTest(kind):
                answer = self.d.get("/view/v?type=" + kind)
                self.assertEqual(200, answer.status, answer.body)
                self.assertIn(media, answer.header("Content-Type"))
                self.assertIn("<%s/view/v?type=%s>; rel=\"self\"" % (self.d.base, kind), answer.header("Link"))

    def test_what_the_request_says_counts_first(self):                   # VIEW-15
        self.put("v", url=self.a + "," + self.b, len=1, type="json", q="red")
        self.assertEqual(1, len(self.d.get("/view/v").json["entries"]))
        self.assertEqual(["red boat", "red car"], self.read("v", "&len=9"))
        self.assertEqual(["red car"], self.read("v", "&len=9&q=car"))
        self.assertEqual(["red car"], self.read("v", "&len=9&q=car&url=&folder="))
        self.assertIn("xml", self.d.get("/view/v?type=rss").header("Content-Type"))

    def test_it_names_its_feeds_itself(self):                            # VIEW-15 VIEW-01
        """What would add feeds is not ignored; /feeds makes the union."""
        self.put("v", url=self.a)
        for name, value in (("url", self.b), ("folder", "News"), ("sub", "77"), ("view", "nosuch"), ("view", "v"), ("all", "1")):
            with self.subTest(name):
                answer = self.d.get("/view/v?type=json&%s=%s" % (name, quote(value)))
                self.assert_problem(answer, 400, "bad-parameter", parameter=name)
                self.assertIn("/feeds?view=NAME&%s=" % name, answer.json["detail"])
        self.assertEqual(4, len(self.titles("/feeds?type=json&view=v&url=" + quote(self.b))))
        self.assert_problem(self.d.get("/view/none?url=" + quote(self.b)), 404, "not-found")

    def test_skip_and_page_are_one_choice(self):                         # VIEW-15
        self.put("paged", url=self.a, len=1, page=2)
        self.put("skipped", url=self.a, len=1, skip=1)
        shown = self.read("paged")
        self.assertEqual(shown, self.read("skipped"))
        others = [self.read("paged", "&skip=0"), self.read("skipped", "&page=1"), self.read("paged", "&page=1")]
        self.assertEqual(1, len(set(map(tuple, others))))
        self.assertNotEqual(shown, others[0])

    def test_no_date_hides_a_change_of_the_view(self):                   # VIEW-16 VIEW-11
        self.put("dated", url=self.a, title="one")
        first = self.d.get("/view/dated?type=json")
        self.assertIsNone(first.header("Last-Modified"))
        self.put("dated", status=200, url=self.a, title="two")
        now = self.d.get("/view/dated?type=json", If_Modified_Since="Tue, 01 Jan 2080 00:00:00 GMT")
        self.assertEqual((200, "two"), (now.status, now.json["feed"]["title"]))

    def test_dates_of_parts_in_each_order(self):                         # VIEW-04 VIEW-05
        self.put("past", url=self.a, before="2090-01-01T00:00:00Z")
        self.put("future", url=self.a, after="2090-01-01T00:00:00Z")
        for order in ("date", "received", "changed"):
            with self.subTest(order):
                t = "/feeds?type=json&url=%s&order=%s&view=" % (quote(self.b), order)
                self.assertEqual({"red boat", "blue boat", "red car", "blue car"}, set(self.titles(t + "past")))
                self.assertEqual({"red car", "blue car"}, set(self.titles(t + "future")))

    def test_a_change_below_does_not_make_views_too_deep(self):          # VIEW-16
        for kind in "xy":
            self.put(kind + "0", url=self.a)
            for i in range(1, 8):
                self.put("%s%d" % (kind, i), view="%s%d" % (kind, i - 1))
        answer = self.put("x0", status=400, view="y7")
        self.assertIn("8 levels", answer.json["detail"])
        self.assertEqual(2, len(self.read("x7")))
        self.put("x6", status=200, view="y0")

    def test_names_and_what_is_wrong(self):                              # VIEW-15 VIEW-01
        for name in ("x", "A.b_c-9", "v" * 64):
            self.put(name, url=self.a)
        for name in ("v" * 65, "a%20b", "a%2Fb", "%C3%A9", "%2e", "%2e%2e"):
            self.assert_problem(self.put(name, url=self.a, status=400), 400, "bad-parameter")
            self.assert_problem(self.d.get("/view/" + name), 404, "not-found")
        for wrong in ({}, {"q": "red"}, {"url": "nonsense"}, {"url": self.a, "len": "x"}, {"url": self.a, "q": "("},
                      {"url": self.a, "has": "soup"}, {"url": self.a.replace("//", "//u:p@")}):
            self.assert_problem(self.put("w", status=400, **wrong), 400, "bad-parameter")
        self.assert_problem(self.put("w", url=self.a, sub=77, status=404), 404, "not-found")
        self.assertEqual(3, len(self.listed()))

    def test_views_in_other_requests(self):                              # VIEW-01 VIEW-16
        self.put("v", url=self.a, q="red")
        self.read("v")
        self.assertEqual(["red boat"], self.titles("/feeds?type=json&view=v"))
        self.assertEqual(["red boat"], self.titles("/feed?type=json&view=v"))
        self.assertEqual([], self.titles("/feeds?type=json&view=v&q=blue"))
        self.assertEqual(["red boat"], self.in_log("view=v"))
        self.assertEqual(1, len(self.d.get("/smart?type=json&view=v").json["items"]))
        for path in ("/feeds", "/smart", "/log", "/events", "/archive"):
            self.assert_problem(self.d.get(path + "?view=nosuch"), 404, "not-found")

    def test_a_union_keeps_each_filter_to_its_feeds(self):               # VIEW-01
        self.put("red", url=self.a, q="red")
        self.titles("/feeds?type=json&url=" + quote(self.b))
        both = "view=red&url=" + quote(self.b)
        self.assertEqual(["blue car", "red boat", "red car"], self.titles("/feeds?type=json&" + both))
        self.assertEqual(["blue car", "red boat", "red car"], self.in_log(both))
        self.assertEqual(["blue car"], self.titles("/feeds?type=json&q=blue&" + both))
        self.put("blue", url=self.b, q="blue")
        self.assertEqual(["blue car", "red boat"], self.titles("/feeds?type=json&view=red&view=blue"))
        self.put("two", url=self.b, view="red")
        self.assertEqual(["blue car", "red boat", "red car"], self.read("two"))
        self.put("three", view="two", q="boat")
        self.assertEqual(["red boat"], self.read("three"))
        self.assertEqual(["red boat"], self.in_log("view=three"))

    def test_circles_and_views_in_use(self):                             # VIEW-16
        self.assert_problem(self.put("a", view="a", status=400), 400, "bad-parameter")
        self.assert_problem(self.put("a", view="nosuch", status=404), 404, "not-found")
        self.put("a", url=self.a)
        self.put("b", view="a")
        self.put("c", view="b")
        for through in "bc":
            self.assert_problem(self.put("a", view=through, status=400), 400, "bad-parameter")
        self.assert_problem(self.d.call("DELETE", "/view/a"), 409, "in-use")
        for name in "cba":
            self.assertEqual(204, self.d.call("DELETE", "/view/" + name).status)

    def test_a_view_of_a_folder_follows_it(self):                        # VIEW-01 VIEW-16
        self.sub(self.a, folder="F")
        self.put("f", folder="F", q="red")
        self.assertEqual(["red boat"], self.read("f"))
        self.sub(self.b, folder="F")
        self.assertEqual(["red boat", "red car"], self.read("f"))

    def test_what_an_older_program_took_is_refused_with_its_reason(self):    # VIEW-15
        self.sub(self.a, folder="F")
        self.put("old", folder="F", q="boat")
        self.put("names", view="old")
        self.d.stop()
        self.d.sql("UPDATE views SET query = replace(query, 'q=boat', 'q=title:-x') WHERE name = 'old'")
        d = self.daemon("--min-period", "1s", db=self.d.db)
        old = [v for v in self.listed(d) if v["name"] == "old"][0]
        self.assertEqual(("title:-x", ["F"]), (old["q"], old["folder"]))
        self.assertIn("stands before the name of a field", old["error"])
        for path in ("/view/old", "/view/names", "/feeds?view=old", "/log?view=old"):   # without its words it would have all of the folder
            problem = self.assert_problem(d.get(path), 400, "bad-parameter")
            self.assertIn("stands before the name of a field", problem["detail"])
        self.put("old", dict(old, q="red"), status=200, d=d)              # what is told may come back
        self.assertEqual(["red boat"], self.read("names", d=d))
        self.assertNotIn("error", self.listed(d)[1])

    def test_it_is_recalled_until_it_changes(self):
        self.put("v", url=self.a)
        before = self.d.counter("recalled_total")

        def recalled():                                                  # a fetch may still end
            self.assertEqual(["blue boat", "red boat"], self.read("v"))
            return self.d.counter("recalled_total") > before
        if self.engine == "sqlite":                                      # other nodes may have changed it
            self.wait(recalled, daemon=self.d)
        self.put("v", url=self.b, status=200)
        self.assertEqual(["blue car", "red car"], self.read("v"))

    def test_it_is_there_after_a_crash(self):                            # VIEW-15
        for i in range(5):
            self.put("v%d" % i, url=self.a, q="red")
        self.d.kill()
        d = self.daemon("--min-period", "1s", db=self.d.db)
        self.assertEqual(["v%d" % i for i in range(5)], [v["name"] for v in self.listed(d)])
        self.assertEqual(["red boat"], self.read("v4", d=d))


class ViewOwners(Views):
    args = ["--token", "chief", "--anonymous", "read"]

    def setUp(self):
        super().setUp()
        self.a, self.b = self.feed("a"), self.feed("b")
        self.chief = {"Authorization": "Bearer chief"}
        self.ann, self.bob = (self.token(n) for n in ("ann", "bob"))

    def token(self, name):
        answer = self.post("/tokens", headers=self.chief, name=name, role="subscribe")
        return {"Authorization": "Bearer " + answer.json["token"]}

    def test_all_read_and_the_maker_and_admins_change(self):             # ACC-06
        self.sub(self.a, headers=self.ann)
        self.put("v", headers=self.ann, all=1)
        for who in (self.ann, self.bob, self.chief, {}):
            self.assertEqual(["a1"], self.read("v", headers=who))
        self.assert_problem(self.put("v", headers=self.bob, url=self.b, status=403), 403, "forbidden")
        self.assert_problem(self.d.call("DELETE", "/view/v", headers=self.bob), 403, "forbidden")
        self.assert_problem(self.put("w", url=self.b, status=403), 403, "role-needed")
        self.put("v", headers=self.chief, all=1, q="a1", status=200)     # its sets are still the maker's
        self.sub(self.b, headers=self.bob)
        self.assertEqual(["a1"], self.read("v"))
        self.put("v", headers=self.ann, url=self.a, status=200)
        self.assertEqual(204, self.d.call("DELETE", "/view/v", headers=self.chief).status)
        self.put("mine", headers=self.bob, all=1)
        self.assertEqual(["b1"], self.read("mine", headers=self.ann))

    def test_feeds_behind_a_password_stay_with_their_subscriber(self):   # ACC-06
        secret = self.a.replace("//", "//u:p@")
        self.sub(secret, headers=self.ann)
        self.sub(self.b, headers=self.ann)
        self.wait(lambda: self.titles("/feeds?type=json&all=1", headers=self.ann) == ["a1", "b1"], what="the feeds")
        self.put("v", headers=self.ann, all=1)
        self.assertEqual(["b1"], self.read("v"))


class ViewsOfNodes(Views):
    engine = "sqlite"   # the database is named here

    def setUp(self):
        self.o = self.origin()
        db = own_database()
        self.d, self.other = (self.daemon("--node", "n%d" % i, "--min-period", "1s", "--fetch-host-gap", "0", db=db)
                              for i in range(2))

    def test_any_node_knows_what_another_acknowledged(self):             # VIEW-15 NODE-02
        a, b = self.feed("a"), self.feed("b")
        self.put("v", url=a)
        self.assertEqual(["a1"], self.read("v", d=self.other))
        for i in range(10):
            with self.subTest(i):
                self.put("v", url=b if i % 2 == 0 else a, d=self.other, status=200)
                self.assertEqual(["b1"] if i % 2 == 0 else ["a1"], self.read("v"))
        self.assert_problem(self.put("v", view="v", d=self.other, status=400), 400, "bad-parameter")
        self.assertEqual(204, self.d.call("DELETE", "/view/v").status)
        self.assert_problem(self.other.get("/view/v"), 404, "not-found")
