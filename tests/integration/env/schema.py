"""Validity of Atom documents, by the schema of RFC 4287 appendix B and jing."""
import os
import shutil
import subprocess
import tempfile

SCHEMA = os.path.join(os.path.dirname(__file__), "..", "..", "fixtures", "out", "atom.rnc")


def check_atom(case, *bodies):
    """Fail unless all bodies are valid; skipped where jing is missing."""
    if not shutil.which("jing"):
        case.skipTest("jing is not installed")
    with tempfile.TemporaryDirectory() as folder:
        names = []
        for i, body in enumerate(bodies):
            names.append(os.path.join(folder, "%d.atom" % i))
            with open(names[-1], "wb") as out:
                out.write(body)
        done = subprocess.run(["jing", "-c", SCHEMA] + names, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        case.assertEqual(0, done.returncode, done.stdout + bodies[0].decode()[:3000])
