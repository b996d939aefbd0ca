#!/usr/bin/env python3
"""Asks tests/support/selection.py what `make test ARGS=...` selects, of a small tree and of this one.

    tests/support/selection_test.py [BUILD]      with BUILD also: that sources say all names which ctest has found there
"""
import re
import shlex
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import selection  # noqa: E402
import test_names  # noqa: E402

BUILD = Path(sys.argv.pop(1)) if len(sys.argv) > 1 and not sys.argv[1].startswith("-") else None
TREE = {
    "lib/sync/CMakeLists.txt": "paceline_library(sync SOURCES a.cc)\n# paceline_test(gone SOURCES gone_test.cc)\n"
                               "paceline_test(sync\n  SOURCES a_test.cc ${CMAKE_SOURCE_DIR}/tests/b_test.cc\n  DEPS base)\n"
                               "paceline_test(sync WHOLE NAME sync_cluster_test SOURCES cluster_test.cc LABELS cluster)\n"
                               "set(walks ${CMAKE_SOURCE_DIR}/tests/walks)\n"
                               "paceline_test(sync NAME sync_explore LABELS explore SOURCES ${walks}/explore_test.cc)\n",
    "lib/sync/cluster_test.cc": "TEST(ClusterTest, Forms) {}\n",
    "lib/sync/a_test.cc": "TEST(SyncTest, Waits) {}\n  TEST_F(Fixture,\n      Holds) {}\nTEST(SyncTest, DISABLED_Rests) {}\n// TEST(Gone, Away)\n",
    "tests/walks/explore_test.cc": "TEST(Walk, GoesOn) {}\n",
    "tests/b_test.cc": 'TEST_P(Schemes, Train) {}\nINSTANTIATE_TEST_SUITE_P(\n    All, Schemes, Values(Scheme::kBsp, Case{"Small", 3}));\n',
    "tests/python/CMakeLists.txt": "foreach(module loader model)\n  add_test(NAME python_${module} COMMAND run ${module}_test)\n"
                                   "  set_tests_properties(python_${module} PROPERTIES LABELS python TIMEOUT 3)\nendforeach()\n",
    "tests/host/CMakeLists.txt": "function(host_test program name)\n  add_test(NAME hosts_${program}_${name} COMMAND run)\n"
                                 "  set_tests_properties(hosts_${program}_${name} PROPERTIES LABELS hosts)\nendfunction()\n"
                                 "host_test(faults stopped)\nforeach(program faults job)\n  host_test(${program} all)\nendforeach()\n",
    "build/release/lib/CMakeLists.txt": "add_test(NAME scratch COMMAND run)\n",
}


class SmallTree(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        for path, text in TREE.items():
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_text(text)
        self.known = test_names.read(self.root)
        self.build = self.root / "build/release"

    def count(self, text):
        words = shlex.split(text)
        selection.check_words(words)
        return selection.count(words, self.known.tests, self.build)

    def test_names(self):
        names = {name for name, _ in self.known.tests}
        self.assertLessEqual({"SyncTest.Waits", "Fixture.Holds", "SyncTest.Rests", "Walk.GoesOn", "sync_cluster_test", "python_loader",
                              "All/Schemes.Train/Bsp", "All/Schemes.Train/Small", "hosts_faults_stopped", "hosts_job_all"}, names)
        self.assertFalse({name for name in names if "$" in name or "Gone" in name} | ({"scratch", "gone_test"} & names))

    def test_labels_and_programs(self):
        self.assertEqual(self.known.labels(), ["cluster", "explore", "hosts", "python", "sync"])
        self.assertEqual(self.known.programs, {"sync_test": ["SyncTest", "Fixture", "Schemes"], "sync_explore": ["Walk"]})
        self.assertEqual(self.known.whole, {"sync_cluster_test": ["ClusterTest"]})

    def test_what_selects(self):
        for text, wanted in [("-R SyncTest", 2), ("-R 'Waits|Walk'", 2), ("-R ^python_loader$", 1), ("-L explore", 1), ("-L sync -L explore", 1),
                             ("-R Train/Bsp -j2", 1), ("-L hosts -E all", 1), ("-L python -R model --timeout 3 -VV", 1), ("-R 'a b'", 0),
                             ("-R nothing", 0), ("-L nolabel", 0), ("-L python -E python", 0), ("-R python -LE python", 0), ("-R python_", 2)]:
            with self.subTest(text):
                self.assertEqual(self.count(text), wanted)

    def test_names_that_only_a_run_has_found(self):
        self.assertEqual(self.count("-R 'pointing to'"), 0)
        (self.build / "lib/CTestTestfile.cmake").write_text('include("lib/a[1]_include.cmake")\n')
        (self.build / "lib/gone[1]_tests.cmake").write_text('add_test([=[Gone.Case]=] /gone_test)\n')
        (self.build / "lib/a[1]_tests.cmake").write_text('add_test([=[All/Schemes.Train/8-byte pointing to "x"]=] /a_test)\n')
        self.assertEqual(self.count("-R 'pointing to'"), 1)
        self.assertEqual(self.count("-R Gone"), 0)

    def test_words_that_are_wrong(self):
        for text, trouble in [("SyncTest", "Write an option before 'SyncTest', such as -R SyncTest"), ("--bogus", "ctest has no such option"),
                              ("--tests-regx x", "there is --tests-regex"), ("--tests-regex=x", "with its value as the next word"), ("-R", "wants a value"),
                              ("-R ''", "wants a value"), ("-j -R Sync", "how many tests run side by side"), ("-RSyncTest", "ctest has no such option"), ("-R '('", "Unmatched parentheses"),
                              ("--repeat x", "'--repeat' given invalid value 'x'")]:
            with self.subTest(text), self.assertRaises(selection.Wrong) as caught:
                self.count(text)
            self.assertIn(trouble, str(caught.exception))

    def test_options_that_select_nothing_by_themselves(self):
        for text in ("-j 3", "-j3 --schedule-random", "--no-tests=ignore", "-N", "--repeat until-fail:3", "-C Hosts"):
            with self.subTest(text):
                self.assertGreater(self.count(text), 5)

    def test_what_is_said_instead(self):
        said = selection.explain(["-R", "sync_tst"], self.known)
        self.assertRegex(said, r"^Change ARGS: '-R sync_tst' selects none of the tests\.")
        self.assertRegex(said, r"Names like 'sync_tst': .*SyncTest")
        self.assertIn("python_loader", said)
        self.assertIn("The program sync_test has the suites SyncTest, Fixture, Schemes", selection.explain(["-R", "sync_test"], self.known))
        self.assertIn("ClusterTest is a suite of sync_cluster_test, which is one test", selection.explain(["-R", "ClusterTest.Forms"], self.known))
        self.assertIn("explore is a label: -L explore", selection.explain(["-R", "explore"], self.known))
        self.assertRegex(selection.explain(["-L", "explor"], self.known), r"Labels like 'explor': explore")


class ThisTree(unittest.TestCase):
    def ask(self, *words):
        with tempfile.TemporaryDirectory() as empty:
            done = subprocess.run([HERE / "selection.py", "ctest", empty, *words], capture_output=True, text=True, check=False)
        return done.returncode, done.stderr

    def test_before_anything_is_built(self):
        for words, wanted in [((), 0), (("-R", "SafetensorsTest"), 0), (("-L", "python"), 0), (("-R", "NoSuchTest"), 1), (("-L", "nolabel"), 1),
                              (("--bogus",), 2), (("--rerun-failed",), 0), (("-I", "1,3"), 0)]:
            with self.subTest(words):
                status, said = self.ask(*words)
                self.assertEqual(status, wanted, said)
                self.assertEqual(bool(said), wanted != 0, said)

    def test_what_there_is_fits_a_screen(self):
        _, said = self.ask("-R", "NoSuchTest")
        self.assertLess(said.count("\n"), 50)
        self.assertFalse([line for line in said.splitlines()[2:] if len(line) > 125])

    def test_every_name_could_be_read(self):
        known = test_names.read(selection.ROOT)
        self.assertEqual([name for name, _ in known.tests if "$" in name], [])
        self.assertFalse([program for program in known.programs if "$" in program])

    @unittest.skipUnless(BUILD, "no build folder is named")
    def test_sources_say_what_ctest_found(self):
        """But for parameters: the values that a program prints. By name and label, since a selection may ask for both."""
        known = {(re.sub(r"^(\w+/\w+\.\w+/).*", r"\1", name, flags=re.DOTALL), label) for name, labels in test_names.read(selection.ROOT).tests
                 for label in labels}
        missing = []
        for file in selection.found_lists(BUILD):
            found = re.findall(r"^set_tests_properties\(\[=\[(.*?)\]=\]  PROPERTIES WORKING_DIRECTORY .* LABELS (\w+)", file.read_text(), re.MULTILINE)
            missing += [(name, label) for name, label in found
                        if (re.sub(r"^(\w+/\w+\.\w+/).*", r"\1", name), label) not in known]
        self.assertEqual(missing, [], "tests/support/test_names.py does not read how these are written")


class Words(unittest.TestCase):
    def words(self, text):
        return subprocess.run([HERE / "selection.py", "words", text], capture_output=True, text=True, check=False)

    def test_quotes_make_words_and_nothing_is_for_a_shell(self):
        for text, wanted in [("", []), ("  ", []), ("-R 'a b' -j 2", ["-R", "a b", "-j", "2"]), ("-R a|b$", ["-R", "a|b$"]), ("-k \"a and b\"", ["-k", "a and b"]),
                             ("-R $(date);*", ["-R", "$(date);*"]), ("-R it\\'s", ["-R", "it's"])]:
            with self.subTest(text):
                self.assertEqual(shlex.split(self.words(text).stdout), wanted)

    def test_an_open_quote(self):
        done = self.words("-R 'a")
        self.assertEqual(done.returncode, 1)
        self.assertIn("Close the quotes in ARGS", done.stderr)


if __name__ == "__main__":
    unittest.main()
