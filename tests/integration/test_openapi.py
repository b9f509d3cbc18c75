"""GET /openapi.json (OPS-01): it has all that the tables have, and each of its examples is answered as it says."""
import http.client
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import urllib.parse

from .env.case import Case
from .env.daemon import PATIENCE
from .env.origin import Reply, atom, rss
from .test_access import declared, read

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
sys.path.append(os.path.join(ROOT, "scripts"))
import api_tables                                                           # noqa: E402

NPM = os.path.join(ROOT, "build-npm", "node_modules")
FORM = "application/x-www-form-urlencoded"
LIST = ('<opml version="2.0"><head/><body><outline type="rss" text="News" '
        'xmlUrl="http://localhost:9000/news.atom"/></body></opml>')
# What the examples ask for and the daemon of this test does not have, so that they get a problem.
ABSENT = {"get_enclosure_sha256_filename": 404, "get_simple_feeds_page": 404, "get_archive_feeds_page": 404, "get_history_feeds_instance": 404,
          "get_pmh_feeds_page": 404, "get_item_feeds_revision": 404, "get_websub_token": 404,
          "post_websub_token": 404, "get_notify_token": 404, "post_notify_token": 404, "get_demo": 404,
          "get_demo_file": 404, "post_nodes": 404, "post_session": 403}


class Description(Case):
    def setUp(self):
        self.o = self.origin()
        self.d = self.daemon("--token", "chief", "--anonymous", "subscribe")
        self.all = self.d.get("/openapi.json").json
        self.operations = {operation["operationId"]: (path, method.upper(), operation)
                           for path, methods in self.all["paths"].items() for method, operation in methods.items()}

    def operations_of(self, path, method):
        """Those that a row of the table became: of its path, and of templates below it."""
        for where, methods in self.all["paths"].items():
            if (where == path or (path != "/" and where.startswith(path + "/") and (where, method) not in api_tables.routes())) \
                    and method.lower() in methods:
                yield methods[method.lower()]

    def test_nothing_is_missing(self):                                                  # OPS-01
        self.assertEqual(set(declared()), set(api_tables.routes()))
        for (path, method), names in api_tables.routes().items():
            operations = list(self.operations_of(path, method))
            self.assertTrue(operations, (path, method))
            here = {p["name"] for o in operations for p in o.get("parameters", ()) if p["in"] == "query"}
            self.assertEqual({"url1" if n == "urlN" else n for n in names}, here, (path, method))
            for operation in operations:
                for parameter in operation.get("parameters", ()):
                    self.assertIn("example", parameter)
                    self.assertTrue(parameter["description"].endswith("."), parameter)
                for media_type, content in operation.get("requestBody", {}).get("content", {}).items():
                    self.assertIn("example", content)
                    if media_type in (FORM, "application/json"):
                        schema = content["schema"]
                        known = set(schema["properties"]) | {p for p in schema.get("patternProperties", ())}
                        self.assertEqual(len(names), len(known), (path, method, known ^ names))

    def test_each_problem_is_there(self):                                               # OPS-01
        rows = re.findall(r'^PROBLEM\(\w+, "([\w-]+)", (\d+), "([^"]+)"', read("api", "http", "problems.def"), re.M)
        kinds = {one["const"].rpartition(":")[2]: one
                 for one in self.all["components"]["schemas"]["Problem"]["properties"]["type"]["oneOf"]}
        self.assertEqual({name for name, _, _ in rows} | {"blank"}, set(kinds))
        for name, status, title in rows:
            self.assertEqual((title, "Status %s." % status), (kinds[name]["title"], kinds[name]["description"]))
        # every kind is one that an operation can answer, but for what a path answers to other methods
        answered = {kind.rpartition(":")[2] for _, _, operation in self.operations.values()
                    for response in operation["responses"].values()
                    for content in response.get("content", {}).values()
                    for part in content["schema"].get("allOf", ())
                    for kind in part.get("properties", {}).get("type", {}).get("enum", ())}
        self.assertEqual({name for name, _, _ in rows} - {"method-not-allowed"}, answered)

    def test_statuses_set_by_hand_are_there(self):                                      # OPS-01
        """Where the code gives a problem another status than that of its kind, the description has it."""
        views = ["/feed", "/feeds", "/opml", "/view/{name}", "/smart", "/archive", "/simple/recent", "/pmh", "/history"]
        by_hand = {"api/views/log.c": {422: (["too-large"], ["/log"])},
                   "api/views/gather.c": {403: (["upstream-failed"], views + ["/discover"])},
                   "api/views/documents.c": {422: (["too-large"], views)},
                   "api/views/archive.c": {422: (["too-large"], views[5:])},
                   "api/views/item.c": {404: (["not-found"], ["/item/{feeds}/{revision}"]),
                                        410: (["not-found"], ["/item/{feeds}/{revision}"])},
                   "api/backup.c": {507: (["unavailable"], ["/backup"])},
                   "api/lists/opml.c": {422: (["too-large", "not-opml"], ["/opml"])}}
        found = {}
        for folder, _, names in os.walk(os.path.join(ROOT, "api")):
            for name in names:
                path = os.path.relpath(os.path.join(folder, name), ROOT)
                texts = re.findall(r"\bp(?:\.|->)status = ([^;]*);", read(*path.split(os.sep))) if name.endswith(".c") else ()
                for text in texts:
                    found.setdefault(path, set()).update(int(status) for status in re.findall(r"\d{3}", text))
        self.assertEqual({path: set(statuses) for path, statuses in by_hand.items()}, found)
        for statuses in by_hand.values():
            for status, (kinds, paths) in statuses.items():
                for path in paths:
                    methods = self.all["paths"][path]
                    answer = methods.get("get", methods.get("post"))["responses"].get(str(status), {})
                    schema = answer.get("content", {}).get("application/problem+json", {}).get("schema", {"allOf": [{}, {}]})
                    told = schema["allOf"][1].get("properties", {}).get("type", {}).get("enum", [])
                    for kind in kinds:
                        self.assertIn("urn:feedmill:problem:" + kind, told, (path, status))

    def test_it_is_clean(self):                                                         # OPS-01
        node, program = shutil.which("node"), os.path.join(NPM, ".bin", "redocly")
        if not node or not os.path.exists(program):
            self.skipTest("node and its package @redocly/cli are not installed")
        version = subprocess.run([node, "--version"], capture_output=True, text=True).stdout
        if int(re.match(r"v(\d+)", version).group(1)) < 20:
            self.skipTest("@redocly/cli needs node 20")
        with tempfile.TemporaryDirectory() as folder:
            name = os.path.join(folder, "openapi.json")
            for daemon in (self.d, self.daemon("--base-url", "https://feeds.test/mill/", "--hub-lease-min", "7s")):
                with open(name, "wb") as file:
                    file.write(daemon.get("/openapi.json").body)
                done = subprocess.run([node, program, "lint", "--format=json", name], capture_output=True, text=True,
                                      timeout=120 * PATIENCE, cwd=folder,
                                      env=dict(os.environ, REDOCLY_TELEMETRY="off", REDOCLY_SUPPRESS_UPDATE_NOTICE="true"))
                self.assertEqual(0, done.returncode, done.stdout + done.stderr)
                self.assertEqual([], json.loads(done.stdout)["problems"])

    def test_it_follows_the_options(self):                                              # OPS-01
        d = self.daemon("--base-url", "https://feeds.test/mill/", "--hub-lease-min", "7s", "--hub-lease-max", "9d",
                        "--min-period", "33s")
        answer = d.get("/openapi.json")
        operations = {path: methods for path, methods in answer.json["paths"].items()}
        self.assertEqual("https://feeds.test/mill", answer.json["servers"][0]["url"])
        lease = [p for p in operations["/hub"]["post"]["parameters"] if p["name"] == "hub.lease_seconds"][0]
        self.assertEqual({"minimum": 7, "maximum": 9 * 86400}, lease["schema"]["x-counts-within"])
        freq = [p for p in operations["/sub"]["post"]["parameters"] if p["name"] == "freq"][0]
        self.assertEqual([{"type": "integer", "minimum": 0, "maximum": 2},
                          {"type": "integer", "minimum": 33, "maximum": 366 * 86400}], freq["schema"]["anyOf"])
        self.assertEqual(304, d.get("/openapi.json", If_None_Match=answer.header("ETag")).status)

    # ---- the examples ----
    def ours(self, value):
        """An example names a publisher and this server by the addresses of the documents."""
        if isinstance(value, list):
            return [self.ours(one) for one in value]
        if isinstance(value, dict):
            return {name: self.o.port if name == "port" else self.ours(one) for name, one in value.items()}
        if isinstance(value, str):
            return value.replace("http://localhost:9000", self.o.url("")).replace("http://localhost:8080", self.d.base)
        return value

    def ask(self, operation, method, path, query, media_type=None, body=None, fields=()):
        """Make a request; what comes must be described. Returns the status."""
        connection = http.client.HTTPConnection("127.0.0.1", self.d.port, timeout=120 * PATIENCE)
        self.addCleanup(connection.close)
        target = path + ("?" + urllib.parse.urlencode(query, doseq=True) if query else "")
        fields = dict(fields, Authorization="Bearer chief")
        if media_type:
            fields["Content-Type"] = media_type
        connection.request(method, target, body=body, headers=fields)
        answer = connection.getresponse()
        got = (answer.getheader("Content-Type") or "").partition(";")[0]
        text = b"" if got == "text/event-stream" else answer.read()
        response = operation["responses"].get(str(answer.status))
        self.assertIsNotNone(response, (method, target, answer.status, text[:500]))
        offered = response.get("content", {})
        self.assertTrue(got in offered or "*/*" in offered or not (got or offered),
                        (method, target, answer.status, got, text[:500]))
        if got == "application/problem+json":
            self.assertIn(json.loads(text)["type"], offered[got]["schema"]["allOf"][1]["properties"]["type"]["enum"])
        return answer.status

    def requests(self, operation, template):
        """(path, query, media type, body) of what the examples make together."""
        path = template
        parameters = operation.get("parameters", ())
        for parameter in parameters:
            if parameter["in"] == "path":
                path = path.replace("{%s}" % parameter["name"], parameter["example"])
        query = [(p["name"], self.ours({p["name"]: p["example"]})[p["name"]], p["required"] or p["name"] == "url")
                 for p in parameters if p["in"] == "query"]                     # it names feeds, unless others do
        bodies = operation.get("requestBody", {}).get("content", {})
        for media_type, content in bodies.items():
            shown = self.ours(content["example"])
            body = (urllib.parse.urlencode(shown, doseq=True) if media_type == FORM
                    else json.dumps(shown) if media_type == "application/json" else shown)
            yield path, [], media_type, body
        if not bodies:
            yield path, [(name, value) for name, value, required in query if required], None, None
        yield path, [(name, value) for name, value, _ in query], None, None     # all together
        fields = {p["name"]: p["example"] for p in parameters if p["in"] == "header"}
        if fields:
            yield path, [(name, value) for name, value, needed in query if needed], None, None, fields
        for name, value, required in query if not bodies else ():
            if not required:
                yield path, [(n, v) for n, v, needed in query if needed] + [(name, value)], None, None

    def prepare(self):
        self.o.set("/news.atom", atom(("Crane", "2026-01-01T10:00:00Z"), ("Boat", "2026-01-02T10:00:00Z")))
        self.o.set("/news.rss", rss("Crane", "Boat"))
        self.o.set("/list.opml", Reply(200, self.ours(LIST).encode()), Content_Type="text/x-opml")
        self.assertEqual(200, self.d.feed(self.o.url("/news.atom")).status)
        self.assertEqual(201, self.d.call("PUT", "/view/harbour?url=" + self.o.url("/news.atom")).status)

    def test_each_example_is_answered_as_described(self):                               # OPS-01
        self.prepare()
        for path, method in (("/sub", "POST"), ("/tokens", "POST")):                    # others need what these make
            operation = self.all["paths"][path][method.lower()]
            for where, query, media_type, body in list(self.requests(operation, path))[:1]:
                self.assertEqual(201, self.ask(operation, method, where, query, media_type, body))
        last = ["delete_sub", "delete_sub_feed", "delete_tokens", "delete_view_name"]
        for name in sorted(self.operations, key=lambda name: (name in last, name)):
            path, method, operation = self.operations[name]
            if name == "delete_sub":        # no feed can be taken out of one that follows a view
                self.assertEqual(200, self.d.call("PATCH", "/sub?id=1&view=", headers={"Authorization": "Bearer chief"}).status)
            statuses = [self.ask(operation, method, *one) for one in self.requests(operation, path)]
            if name in ABSENT:
                self.assertEqual({ABSENT[name]}, set(statuses), name)
            else:               # of other methods the first one is whole: the others have parameters for different ends
                for status in statuses if method == "GET" else statuses[:1]:
                    self.assertIn(status, (200, 201, 202, 204), (name, statuses))

    def test_bounds_are_what_it_says(self):                                             # OPS-01 REST-10
        """A number is refused where the schema has a bound, and nowhere else."""
        self.prepare()
        operation = self.all["paths"]["/sub"]["post"]
        where, query, media_type, body = next(self.requests(operation, "/sub"))
        self.assertEqual(201, self.ask(operation, "POST", where, query, media_type, body))
        tried = 0
        for path, method, operation in self.operations.values():
            if method != "GET":
                continue
            path = next(self.requests(operation, path))[0]
            needed = [(p["name"], self.ours(p["example"])) for p in operation.get("parameters", ())
                      if p["in"] == "query" and (p["required"] or p["name"] == "url")]
            for parameter in operation.get("parameters", ()):
                schema = parameter["schema"]
                if parameter["in"] != "query" or schema["type"] != "integer" or parameter["required"]:
                    continue
                bounds = schema.get("x-counts-within", schema)
                if "maximum" in bounds:
                    status = self.ask(operation, method, path, needed + [(parameter["name"], bounds["maximum"] + 1)])
                    self.assertEqual(400 if "maximum" in schema else 200, status, (path, parameter))
                if schema["minimum"] > 0:
                    status = self.ask(operation, method, path, needed + [(parameter["name"], schema["minimum"] - 1)])
                    self.assertEqual(400, status, (path, parameter))
                tried += 1
        self.assertGreater(tried, 12)


if __name__ == "__main__":
    unittest.main()
