#!/usr/bin/env python3
"""How long tests/support/eventually.py waits, on a clock of its own."""
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from eventually import LONGEST, eventually  # noqa: E402


class Waits(unittest.TestCase):
    def setUp(self):
        self.now = 0

    def wait(self, is_so, position=None):
        return eventually(is_so, 10, every_seconds=1, position=position, clock=lambda: self.now, pause=self.pause)

    def pause(self, seconds):
        self.now += seconds

    def test_returns_at_once_what_is_so(self):
        self.assertEqual(self.wait(lambda: "found"), "found")
        self.assertEqual(self.now, 0)

    def test_ends_after_the_deadline(self):
        self.assertFalse(self.wait(lambda: False))
        self.assertEqual(self.now, 11)

    def test_goes_on_while_the_position_changes(self):
        """In steps of nine seconds: slower than any deadline in all, and never as long as one without a step."""
        self.assertTrue(self.wait(lambda: self.now >= 50, position=lambda: self.now // 9))

    def test_ends_where_the_position_stays(self):
        self.assertFalse(self.wait(lambda: False, position=lambda: min(self.now, 20)))
        self.assertEqual(self.now, 31)

    def test_ends_though_the_position_changes_for_ever(self):
        self.assertFalse(self.wait(lambda: False, position=lambda: self.now))
        self.assertEqual(self.now, LONGEST * 10 + 1)


if __name__ == "__main__":
    unittest.main()
