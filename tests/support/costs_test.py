#!/usr/bin/env python3
"""What tests/support/costs.py makes of a run, and that measured tells it the truth.

    tests/support/costs_test.py BUILD
"""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import costs

BUILD = Path(sys.argv.pop(1)) if len(sys.argv) > 1 else Path(__file__).resolve().parents[2] / "build/release"
MEASURED = BUILD / "tests/measured"


def test_of(name, *command, label="some"):
    return {"name": name, "command": ["measured", "usage.tsv", *command], "properties": [{"name": "LABELS", "value": [label, "other"]}]}


class CostsTest(unittest.TestCase):
    def test_a_test_costs_what_its_own_command_used(self):
        found = costs.costs([test_of("a", "run", "a"), test_of("b", "run", "b", label="lab"), test_of("not run", "run", "c")],
                            {"a": 3.0, "b": 2.0}, {"run\ta": 1.5, "run\tb": 0.5, "run\tc": 9.0})
        self.assertEqual(found, [costs.Cost("a", "some", 3.0, 1.5), costs.Cost("b", "lab", 2.0, 0.5)])

    def test_the_report_adds_up_by_label_and_says_what_is_waited_for(self):
        lines = costs.report([costs.Cost("Slow.One", "x", 100.0, 3.0), costs.Cost("Dear", "y", 61.0, 60.0), costs.Cost("Other", "y", 1.0, 30.0)],
                             [("Slow.*", "the tide")])
        text = "\n".join(lines)
        self.assertIn("processor minutes: 1.6, by label:\n    1.50  y (2 tests)\n    0.05  x (1 tests)", text)
        self.assertIn(" 100.0    97.0  Slow.One: the tide", text)
        self.assertIn("  61.0     1.0  Dear: it computes", text)

    def test_a_wait_that_is_not_listed_asks_for_its_reason(self):
        self.assertIn("tests/waits.txt", costs.report([costs.Cost("Slow", "x", 100.0, 3.0)], [])[-1])

    def test_a_malformed_line_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "waits.txt"
            path.write_text("# names\nA*: the tide\nno reason\n")
            with self.assertRaisesRegex(costs.Trouble, r"waits\.txt:3"):
                costs.read_waits(path)

    def test_the_list_of_the_tree_can_be_read(self):
        self.assertTrue(costs.read_waits())


@unittest.skipUnless(MEASURED.exists(), "measured is not built")
class MeasuredTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.file = Path(scratch.name) / "usage.tsv"

    def run_measured(self, *command):
        return subprocess.run([MEASURED, self.file, *command], capture_output=True, text=True, check=False)

    def test_it_counts_the_processor_of_what_a_program_waits_for(self):
        busy = "sum(range(30_000_000))"
        self.run_measured("sh", "-c", f"{sys.executable} -c '{busy}'; true")
        [seconds] = costs.read_usage(self.file).values()
        self.assertGreater(seconds, 0.1)

    def test_it_ends_as_the_program_does(self):
        self.assertEqual(self.run_measured("sh", "-c", "exit 77").returncode, 77)
        self.assertEqual(self.run_measured("sh", "-c", "kill -9 $$").returncode, -9)
        self.assertEqual(self.run_measured("/no/such/program").returncode, 127)

    def test_a_file_that_cannot_be_written_changes_no_verdict(self):
        self.file = Path("/no/such/folder/usage.tsv")
        self.assertEqual(self.run_measured("true").returncode, 0)

    def test_commands_are_found_again(self):
        self.run_measured("sh", "-c", "true\n", "a b", "")
        found = costs.costs([test_of("t", "sh", "-c", "true\n", "a b", "")], {"t": 1.0}, dict.fromkeys(costs.read_usage(self.file), 4.0))
        self.assertEqual(found[0].cpu, 4.0)


if __name__ == "__main__":
    unittest.main()
