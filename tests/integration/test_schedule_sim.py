"""feedmill schedule-sim: the decision of level 1, driven by fetches that are made up."""
import json
import subprocess
import unittest

from .env.daemon import BINARY, PATIENCE


class ScheduleSim(unittest.TestCase):
    def run_it(self, text, args=("--budget", "480", "--feeds", "10"), code=0):
        done = subprocess.run([BINARY, "schedule-sim", *args], input=text, capture_output=True, text=True,
                              timeout=60 * PATIENCE)
        self.assertEqual(code, done.returncode, done.stderr)
        return [json.loads(line) for line in done.stdout.splitlines()] if code == 0 else done.stderr

    def test_answers_come_in_order_within_bounds(self):                  # ETIQ-02
        lines, at = [], {}
        for i in range(200):
            for feed in ("a", "b", 3):
                at[feed] = at.get(feed, 1700000000) + 1800
                lines.append({"feed": feed, "at": at[feed], "new": {"a": 5, "b": i % 20 == 0, 3: 0}[feed] * 1, "shown": 20,
                              "dates": [at[feed] - 60]})
        out = self.run_it("".join(json.dumps(x) + "\n" for x in lines))
        self.assertEqual([x["feed"] for x in lines], [x["feed"] for x in out])
        for x, y in zip(lines, out):
            self.assertEqual({"feed", "next", "period", "rate", "why"}, set(y))
            self.assertEqual(x["at"] + y["period"], y["next"])
            self.assertTrue(300 <= y["period"] <= 86400, y)
            self.assertRegex(y["why"], r"^[A-Z].*\.$")
        a, b, c = out[-3:]
        self.assertTrue(a["rate"] > 100 > b["rate"] > c["rate"], out[-3:])
        self.assertTrue(a["period"] < b["period"] < c["period"], out[-3:])

    def test_forms_of_times_and_of_what_is_missing(self):                # ETIQ-02
        out = self.run_it('{"feed":"x","at":"2026-01-05T10:00:00Z","new":2,"shown":2,"dates":["2026-01-05T09:00:00+00:00",null]}\n'
                          '{"feed":"x","at":"2026-01-05T12:00:00Z","new":0,"shown":0,"dates":[]}\n\n'
                          '{"feed":"y","at":0,"new":1,"shown":1,"dates":[-50, 7.5, 7]}\n{"feed":"y","at":900.5}\n')
        self.assertEqual(["x", "x", "y", "y"], [x["feed"] for x in out])
        self.assertRegex(out[0]["next"], r"^2026-01-0\dT\d\d:\d\d:\d\dZ$")
        self.assertEqual(out[3]["period"] + 900, out[3]["next"])

    def test_a_batch_is_answered_at_its_end(self):                       # ETIQ-02
        sim = subprocess.Popen([BINARY, "schedule-sim", "--budget=100", "--feeds=2"], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, text=True)
        with sim:
            for at in (1000, 100000, 200000):
                sim.stdin.write('{"feed":1,"at":%d,"new":1,"shown":9,"dates":[]}\n' % at * 3000 + "\n")
                sim.stdin.flush()
                for _ in range(3000):
                    self.assertEqual(1, json.loads(sim.stdout.readline())["feed"])
            sim.stdin.close()
            self.assertEqual("", sim.stdout.read())

    def test_what_is_wrong_is_said(self):                                # ETIQ-02
        good = '{"feed":1,"at":5,"new":0,"shown":0,"dates":[]}\n'
        for line, word in (("nonsense", "line 2"), ('{"at":1}', "feed is neither"), ('{"feed":1,"at":"soon"}', "at is neither"),
                           ('{"feed":1,"at":1,"new":-1}', "new is not"), ('{"feed":1,"at":1,"shown":"x"}', "shown is not"), ("[]", "feed")):
            self.assertIn(word, self.run_it(good + line + "\n", code=2))
        for line, said in (('{"feed":1,"at":6,"new":3,"shown":2}', "line 2: new is 3 and shown is 2: new entries are among those shown"),
                           ('{"feed":1,"at":6,"new":1}', "new is 1 and shown is 0"),
                           ('{"feed":1,"at":4.9,"new":0}', "line 2: at is 1970-01-01T00:00:04Z, before the last fetch of this feed (1970-01-01T00:00:05Z)"),
                           ('{"feed":1,"at":6,"dates":[1,null,"soon"]}', "line 2: dates[2] is neither seconds nor a date of RFC 3339"),
                           ('{"feed":1,"at":6,"dates":[1e300]}', "dates[0] is neither"), ('{"feed":1,"at":6,"dates":7}', "dates is not a list")):
            self.assertIn(said, self.run_it(good + line + "\n", code=2))
        self.run_it(good + good + '{"feed":2,"at":4}\n')                   # other feeds have times of their own
        for args in ((), ("--budget", "0", "--feeds", "1"), ("--budget", "1"), ("--budget", "9", "--feeds", "many")):
            self.assertIn("is a whole number from 1", self.run_it("", args, code=2))


if __name__ == "__main__":
    unittest.main()
