#!/usr/bin/env python3
"""Asks tests/support/skips.py, and tests/run with a real ctest, about tests that skip in every way there is."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import skips  # noqa: E402

GTEST = """[ RUN      ] A.Runs
[       OK ] A.Runs (0 ms)
[ RUN      ] A.Skips
/src/a_test.cc:7: Skipped
no sun
in winter
[  SKIPPED ] A.Skips (12 ms)
[ RUN      ] All/P.SaysNothing/1
of others/src/a_test.cc:9: Skipped

[  SKIPPED ] All/P.SaysNothing/1 (0 ms)
[ DISABLED ] A.DISABLED_Helps
[==========] 4 tests from 2 test suites ran. (0 ms total)
[  PASSED  ] 1 test.
[  SKIPPED ] 2 tests, listed below:
[  SKIPPED ] A.Skips
[  SKIPPED ] All/P.SaysNothing/1
"""
UNITTEST = """test_a (m_test.C.test_a) ... skipped "no 'moon'"
test_b (m_test.C.test_b)
What it is about. ... words
skipped 'no\\nstars'
test_c (m_test.C.test_c) ... ok
test_d (m_test.C.test_d) ...
  test_d (m_test.C.test_d) (i=1) ... skipped 'a part'
setUpClass (m_test.D) ... skipped 'all of a class'
test_e (m_test.E) ... skipped 'by an older Python'

----------------------------------------------------------------------
Ran 4 tests in 0.000s

OK (skipped=5)
"""
UNITTEST_BRIEF = """.s.s
----------------------------------------------------------------------
Ran 4 tests in 0.000s

FAILED (failures=1, skipped=2)
"""


class Found(unittest.TestCase):
    def test_cases_of_googletest(self):
        self.assertEqual(list(skips.gtest_skips(GTEST)), [
            ("A.Skips", "no sun\nin winter\n"), ("All/P.SaysNothing/1", "\n"), ("A.DISABLED_Helps", "disabled")])

    def test_a_reason_is_its_own_cases(self):
        text = "[ RUN      ] A.One\n/a.cc:7: Skipped\none\n[  SKIPPED ] A.One (0 ms)\n[ RUN      ] A.Two\n[  SKIPPED ] A.Two (0 ms)\n"
        self.assertEqual(list(skips.gtest_skips(text)), [("A.One", "one\n"), ("A.Two", "")])

    def test_cases_of_unittest(self):
        self.assertEqual(list(skips.unittest_skips(UNITTEST, "python_m")), [
            ("m_test.C.test_a", "no 'moon'"), ("m_test.C.test_b", "no\nstars"), ("m_test.C.test_d", "a part"),
            ("m_test.D.setUpClass", "all of a class"), ("m_test.E.test_e", "by an older Python")])

    def test_cases_of_unittest_that_are_only_counted(self):
        self.assertEqual(list(skips.unittest_skips(UNITTEST_BRIEF, "python_m")),
                         [("python_m", "2 of its cases, whose reasons cannot be read (unittest -v shows them)")])

    def test_words_of_other_programs_are_no_skips(self):
        text = "a step was skipped 'too late'\ntest_a (m.C.test_a) ... skipped 'x'\n[  SKIPPED ] 2 tests, listed below:\nOK (skipped=2)\n"
        self.assertEqual(list(skips.unittest_skips(text, "t")) + list(skips.gtest_skips(text)), [])

    def test_the_reason_of_a_script(self):
        self.assertEqual(skips.script_reason("starts\ncluster: skipped: no Go\nends\n"), "no Go")
        self.assertEqual(skips.script_reason("starts\nlinks cannot be made here: not root\n\n"), "links cannot be made here: not root")
        self.assertEqual(skips.script_reason(""), "")


class List(unittest.TestCase):
    def read(self, text):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "list.txt"
            file.write_text(text)
            return skips.read_list(file)

    def allows(self, text, name, reason):
        return any(line.holds(skips.Skip(name, reason)) for line in self.read(text))

    def test_comments_and_empty_lines(self):
        self.assertEqual(self.read("# why\n\n   \n  # because\n"), [])

    def test_name_and_reason_must_both_hold(self):
        for name, reason, is_allowed in [("A.Skips", "no sun", True), ("A.Skips", "no sun today", False), ("A.Skips", "no moon", False),
                                         ("A.Skips", "", False), ("A.SkipsToo", "no sun", False), ("B.A.Skips", "no sun", False)]:
            with self.subTest(name=name, reason=reason):
                self.assertEqual(self.allows("A.Skips   no sun\n", name, reason), is_allowed)

    def test_patterns(self):
        self.assertTrue(self.allows("*/P.Says*/Memory by design", "All/P.SaysSo/Memory", "by design"))
        self.assertFalse(self.allows("*/P.Says*/Memory by design", "All/P.SaysSo/Tcp", "by design"))
        self.assertTrue(self.allows("a_test.py::test_a[x-1]\tno sun.*", "a_test.py::test_a[x-1]", "no sun: winter"))
        self.assertTrue(self.allows("A.Skips .*", "A.Skips", ""))

    def test_a_line_that_cannot_be_read_is_named(self):
        for line, trouble in [("A.Skips", "the reason that it gives: got 'A.Skips'"), ("A.Skips   ", "the reason that it gives"),
                              ("A.Skips no (sun", "Write the reason as a regular expression")]:
            with self.subTest(line), self.assertRaisesRegex(skips.Malformed, r"list\.txt:2: ") as caught:
                self.read(f"# why\n{line}\n")
            self.assertIn(trouble, str(caught.exception))

    def test_the_list_of_this_repository_can_be_read(self):
        skips.read_list(skips.LIST)


class Run(unittest.TestCase):
    """tests/run, with a list of its own, on tests that print what real ones do."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        (self.root / "tests/support").mkdir(parents=True)
        (self.root / "build").mkdir()
        shutil.copy(HERE.parent / "run", self.root / "tests/run")
        shutil.copy(HERE.parent / "waits.txt", self.root / "tests/waits.txt")
        for script in ("skips.py", "costs.py", "failures.py", "ctest_log.py"):
            shutil.copy(HERE / script, self.root / "tests/support" / script)
        self.tests = []

    def add(self, name, output, status=0, properties=""):
        (self.root / f"{len(self.tests)}.out").write_text(output)
        # Measured, as tests/support/measured does it, so that tests/run reports on its costs.
        self.tests.append(f'add_test([=[{name}]=] sh -c "echo >> {self.root}/build/Testing/usage.tsv; cat {self.root}/{len(self.tests)}.out; exit {status}")\n'
                          f"set_tests_properties([=[{name}]=] PROPERTIES SKIP_RETURN_CODE 77 {properties})\n")

    def run_tests(self, allowed, *arguments, **environment):
        (self.root / "tests/allowed_skips.txt").write_text(allowed)
        (self.root / "build/CTestTestfile.cmake").write_text("".join(self.tests))
        plain = {name: value for name, value in os.environ.items() if name != "CI"}
        done = subprocess.run([self.root / "tests/run", self.root / "build", "-j", "2", *arguments], env={**plain, **environment},
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        return done.returncode, done.stdout

    def test_nothing_is_skipped(self):
        self.add("runs", "fine\n")
        status, output = self.run_tests("", CI="true")
        self.assertEqual(status, 0, output)
        self.assertNotIn("skipped", output)

    def test_each_kind_fails_in_ci_and_only_there(self):
        gtest = 'SKIP_REGULAR_EXPRESSION "\\\\[  SKIPPED \\\\]"'
        for kind in [("A.Skips", GTEST[GTEST.index("[ RUN      ] A.Skips"):GTEST.index("[ RUN      ] All")], 0, gtest), ("whole_test", GTEST),
                     ("python_m", UNITTEST), ("python_q", UNITTEST_BRIEF), ("script", "skipped: no moon\n", 77), ("off", "", 0, "DISABLED TRUE")]:
            with self.subTest(kind[0]):
                self.tests = []
                self.add("runs", "fine\n")
                self.add(*kind)
                status, output = self.run_tests("", CI="true")
                self.assertEqual(status, 1, output)
                self.assertIn("Make them run on this machine, or allow them in tests/allowed_skips.txt", output)
                self.assertIn("not allowed: ", output)
                # The lines that it says to write are enough.
                lines = output[output.index("Lines that would allow"):].split("\n", 1)[1]
                self.assertEqual(self.run_tests(lines, CI="true")[0], 0, lines)
                for environment in ({}, {"CI": "false"}):
                    status, output = self.run_tests("", **environment)
                    self.assertEqual(status, 0, output)
                    self.assertIn("not allowed: ", output)

    def test_another_reason_fails(self):
        self.add("script", "skipped: no moon\n", 77)
        self.assertEqual(self.run_tests("# why\nscript no moon\n", CI="true")[0], 0)
        self.assertEqual(self.run_tests("script no sun\n", CI="true")[0], 1)
        self.assertEqual(self.run_tests("script no moon\nother never used\n", CI="true")[0], 0)

    def test_a_malformed_list_fails_everywhere(self):
        self.add("runs", "fine\n")
        status, output = self.run_tests("script\n")
        self.assertEqual(status, 2, output)
        self.assertIn("tests/allowed_skips.txt:1: Write a test's name", output)

    def test_a_failure_weighs_more_than_a_skip(self):
        self.add("fails", "broken\n", 1)
        self.add("script", "skipped: no moon\n", 77)
        status, output = self.run_tests("", CI="true")
        self.assertEqual(status, 8, output)  # ctest's own.
        self.assertIn("not allowed: script: no moon", output)

    def test_what_failed_is_said_last(self):
        self.add("runs", "fine\n")
        self.add("fails", "begins\nbroken\n", 1)
        self.add("script", "skipped: no moon\n", 77)
        self.assertTrue(self.run_tests("")[1].endswith("\nfails: Failed\n  begins\n  broken\n\n1 test failed: fails\n"))

    def test_output_longer_than_ctest_keeps_in_its_xml(self):
        self.add("whole_test", "x" * 5000 + "\n" + GTEST + "y" * 5000)
        status, output = self.run_tests("", CI="true")
        self.assertEqual(status, 1, output)
        self.assertIn("A.Skips: no sun in winter", output)

    def test_a_test_that_is_off_hides_no_other(self):
        """ctest then empties its log when a report asks it for the tests' names."""
        self.add("off", "", 0, "DISABLED TRUE")
        self.add("whole_test", GTEST)
        status, output = self.run_tests("off disabled\n", CI="true")
        self.assertEqual(status, 1, output)
        self.assertIn("A.Skips: no sun in winter", output)

    def test_only_what_ran_counts(self):
        self.add("runs", "fine\n")
        self.add("script", "skipped: no moon\n", 77)
        self.assertEqual(self.run_tests("", CI="true")[0], 1)
        self.assertEqual(self.run_tests("", "-R", "runs", CI="true")[0], 0)

    def test_nothing_selected_is_ctests_error(self):
        self.add("runs", "fine\n")
        self.assertEqual(self.run_tests("", "-R", "nothing")[0], 8)

    def test_a_list_of_tests_is_no_run(self):
        self.add("script", "skipped: no moon\n", 77)
        status, output = self.run_tests("", "-N", CI="true")
        self.assertEqual(status, 0, output)
        self.assertIn("Total Tests: 1", output)


if __name__ == "__main__":
    unittest.main()
