#!/usr/bin/env python3
"""Asks tests/e2e/run, where cluster and Paceline are stand-ins, what it selects, runs and makes clusters for.

Exit 77, with the reason, where this machine has no pytest with what the suite wants of it.
"""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COPIED = ["tests/e2e/run", "tests/e2e/conftest.py", "tests/e2e/pytest.ini", "tests/support/selection.py", "tests/support/skips.py",
          "tests/support/ctest_log.py", "tests/support/test_names.py", "tools/tree.py"]
NOTE = 'echo "$(basename "$0") $*" >>"$NOTES"\n'
TREE = {
    "tests/cluster/cluster": f'#!/bin/sh\n{NOTE}[ "$1" != run ] || {{ shift; exec "$@"; }}\n',
    "tools/images": "#!/bin/sh\necho an-image\n",
    "tests/e2e/install.py": "import os\nNAMESPACE = 'n'\ndef install(): open(os.environ['NOTES'], 'a').write('install\\n')\ndef uninstall(): pass\n",
    "tests/e2e/diagnosis.py": "def dump(*_): return ''\n",
    "tests/e2e/job.py": "ROOT = Job = None\n",
    "tests/e2e/kubectl.py": "Namespace = kubectl = run = None\n",
    "tests/e2e/nodes.py": "SharedClaim = need_kind = None\n",
    "tests/e2e/digits_test.py": "import pytest\ndef test_trains(): pass\n@pytest.mark.long\ndef test_takes_long(): pass\n",
    "tests/e2e/nodes_test.py": "import pytest\n@pytest.mark.alone\ndef test_node_lost(): pass\n@pytest.mark.alone\n@pytest.mark.long\n"
                               "def test_two_nodes_lost(): pass\n",
    "tests/e2e/moon_test.py": "import pytest\ndef test_moon():\n    pytest.skip('no  moon')\ndef test_breaks(): assert False\n",
    "tests/allowed_skips.txt": "",
}


class Suite(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name).resolve()
        for path, text in TREE.items():
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_text(text)
            (self.root / path).chmod(0o755)
        for path in COPIED:
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / path, self.root / path)
        self.output, self.notes = "", []

    def run_suite(self, *arguments, **environment):
        """Its exit status; `notes` are what was done to a cluster."""
        notes = self.root / "notes"
        notes.write_text("")
        plain = {name: value for name, value in os.environ.items() if name != "CI" and not name.startswith(("KUBE", "PACELINE", "PYTEST"))}
        done = subprocess.run([self.root / "tests/e2e/run", *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                              cwd=self.root, env={**plain, "NOTES": str(notes), **environment})
        self.output, self.notes = done.stdout, [line.split(" ")[0:2] for line in notes.read_text().splitlines()]
        return done.returncode

    def installs(self):
        return self.notes.count(["install"])

    def test_what_selects_nothing_makes_no_cluster(self):
        for arguments, said in [(["-k", "digist"], "Names like that: digits"), (["-m", "nomark"], "selects none of the 6 tests"),
                                (["tests/e2e/nodes_test.py", "-k", "trains"], "selects none"), (["tests/e2e/gone_test.py"], "file or directory not found"),
                                (["tests/e2e/digits_test.py::test_gone"], "Names like that: digits"), (["--bogus"], "unrecognized arguments: --bogus"),
                                (["-k", "("], "Wrong expression passed to '-k'")]:
            with self.subTest(arguments=arguments):
                self.assertIn(self.run_suite("--check", *arguments), (4, 5), self.output)
                self.assertIn(said, self.output)
        for environment in ({}, {"KUBECONFIG": "a-file"}, {"PACELINE_CLUSTER": "mine"}):
            with self.subTest(environment=environment):
                self.assertEqual(self.run_suite("-k", "digist", **environment), 5)
                self.assertEqual(self.notes, [])

    def test_a_half_without_tests_is_not_run(self):
        self.assertEqual(self.run_suite("-k", "digits"), 0, self.output)
        self.assertEqual((self.notes[0], self.installs()), (["cluster", "run"], 1))
        self.assertIn("2 passed", self.output)
        self.assertNotIn("deselected", self.output)
        self.assertIn("gw2", self.output)  # Three side by side.
        self.assertEqual(self.run_suite("-k", "nodes"), 0, self.output)
        self.assertNotIn("gw0", self.output)
        self.assertEqual(self.installs(), 1)
        self.assertIn("2 passed", self.output)

    def test_both_halves_run_each_test_once(self):
        for arguments in (["-m", "long"], ["-k", "long or two_nodes"], ["tests/e2e/digits_test.py::test_takes_long", "tests/e2e/nodes_test.py::test_two_nodes_lost"]):
            with self.subTest(arguments):
                self.assertEqual(self.run_suite(*arguments, KUBECONFIG="a-file"), 0, self.output)
                self.assertEqual((self.output.count("1 passed"), self.installs(), len(self.notes)), (2, 2, 2), self.output)

    def test_a_file_is_meant_instead_of_the_folder(self):
        self.assertEqual(self.run_suite("tests/e2e/digits_test.py", KUBECONFIG="a-file"), 0, self.output)
        self.assertIn("2 passed", self.output)

    def test_check_is_silent_and_makes_nothing(self):
        for arguments in ([], ["-k", "digits and trains"], ["-x"], ["tests/e2e"]):
            self.assertEqual((self.run_suite("--check", *arguments), self.output, self.notes), (0, "", []))

    def test_what_only_lists_makes_no_cluster(self):
        for check in ([], ["--check"]):
            self.assertEqual(self.run_suite(*check, "--co", "-q", "-k", "digits"), 0)
            self.assertIn("digits_test.py::test_trains", self.output)
            self.assertEqual(self.notes, [])

    def test_a_failure_fails_and_the_other_half_runs(self):
        self.assertEqual(self.run_suite("-k", "breaks or node_lost", KUBECONFIG="a-file"), 1, self.output)
        self.assertEqual(self.installs(), 2)
        self.assertIn("moon_test.py::test_breaks", self.output[self.output.index("1 passed"):])

    def test_exit_first_leaves_the_other_half_out(self):
        self.assertNotEqual(self.run_suite("-x", "-k", "breaks or node_lost", KUBECONFIG="a-file"), 0, self.output)
        self.assertEqual(self.installs(), 1)

    def test_a_skip_fails_in_ci_unless_it_is_allowed(self):
        line = "moon_test.py::test_moon no moon\n"
        for text, environment, wanted in [("", {"CI": "true"}, 1), ("", {}, 0), (line, {"CI": "true"}, 0), (line.replace("moon\n", "sun\n"), {"CI": "true"}, 1)]:
            with self.subTest(text=text, environment=environment):
                (self.root / "tests/allowed_skips.txt").write_text(text)
                self.assertEqual(self.run_suite("-k", "test_moon", **environment), wanted, self.output)
                self.assertEqual(self.output.count("moon_test.py::test_moon: no moon"), 1, self.output)

    def test_a_skipped_file_counts(self):
        (self.root / "tests/e2e/moon_test.py").write_text("import pytest\npytest.skip('no moon', allow_module_level=True)\n")
        self.assertEqual(self.run_suite("-k", "trains or moon", CI="true"), 1, self.output)
        self.assertIn("not allowed: moon_test.py: no moon", self.output)


def main():
    asked = subprocess.run(["/usr/bin/python3", "-c", "import pytest, xdist, pytest_timeout"], capture_output=True, check=False)
    if asked.returncode != 0:
        print("skipped: there is no pytest with xdist and timeout (tools/setup --cluster)")
        sys.exit(77)
    unittest.main()


if __name__ == "__main__":
    main()
