#!/usr/bin/env python3
"""Which lines tests/support/failures.py takes for those that tell why a test failed."""
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import failures  # noqa: E402

GTEST = """[ RUN      ] A.Adds
a long story
/src/lib/a_test.cc:7: Failure
Expected equality of these values:
  sum
    Which is: 3
  4

[  FAILED  ] A.Adds (0 ms)
[  FAILED  ] 1 test, listed below:
[  FAILED  ] A.Adds
"""
UNITTEST = """test_a (m.C.test_a) ... ok
test_b (m.C.test_b) ... FAIL

======================================================================
FAIL: test_b (m.C.test_b)
----------------------------------------------------------------------
Traceback (most recent call last):
  File "m.py", line 3, in test_b
    self.assertEqual(1, 2)
AssertionError: 1 != 2 : with words
of two lines

======================================================================
ERROR: test_c (m.C.test_c)
----------------------------------------------------------------------
Traceback (most recent call last):
subprocess.TimeoutExpired: Command 'x' timed out after 3 seconds

----------------------------------------------------------------------
Ran 3 tests in 0.001s

FAILED (failures=1, errors=1)
"""


class Words(unittest.TestCase):
    def test_of_googletest(self):
        self.assertEqual(failures.words_of(GTEST), ["a_test.cc:7", "Expected equality of these values:", "sum", "Which is: 3", "4"])

    def test_of_unittest(self):
        self.assertEqual(failures.words_of(UNITTEST), [
            "FAIL: test_b (m.C.test_b)", "AssertionError: 1 != 2 : with words", "ERROR: test_c (m.C.test_c)",
            "subprocess.TimeoutExpired: Command 'x' timed out after 3 seconds"])

    def test_of_another_program_are_its_last(self):
        self.assertEqual(failures.words_of("".join(f"line {number}\n\n" for number in range(20))), [f"line {number}" for number in range(14, 20)])
        self.assertEqual(failures.words_of(""), [])

    def test_are_cut_where_they_are_long(self):
        self.assertEqual(failures.words_of("x" * 1000), ["x" * failures.WIDTH])


class Report(unittest.TestCase):
    def test_names_come_last_and_all_of_them(self):
        found = [(f"t{number}", "Timeout") for number in range(failures.SHOWN + 1)]
        lines = failures.report(found, {"t0": "slow\n", f"t{failures.SHOWN}": "hidden\n"})
        self.assertEqual(lines[:2], ["\nt0: Timeout", "  slow"])
        self.assertNotIn("  hidden", lines)
        self.assertEqual(lines[-1], "\n13 tests failed: " + ", ".join(name for name, _ in found))

    def test_only_failures_count(self):
        with tempfile.TemporaryDirectory() as folder:
            results = Path(folder) / "results.xml"
            results.write_text('<testsuite><testcase name="a" status="run"/><testcase name="b" status="fail"><failure message="Timeout"/></testcase>'
                               '<testcase name="c" status="notrun"><skipped message="x"/></testcase></testsuite>')
            self.assertEqual(failures.failed(results), [("b", "Timeout")])


if __name__ == "__main__":
    unittest.main()
