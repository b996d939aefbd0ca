#!/usr/bin/env python3
"""What tools/build shows of a build."""
import importlib.machinery
import importlib.util
import unittest
from pathlib import Path

loader = importlib.machinery.SourceFileLoader("build", str(Path(__file__).with_name("build")))
build = importlib.util.module_from_spec(importlib.util.spec_from_loader("build", loader))
loader.exec_module(build)


class ProgressTest(unittest.TestCase):
    def setUp(self):
        self.written = ""

    def progress(self, is_terminal):
        return build.Progress(self.write, is_terminal, 0)

    def write(self, text):
        self.written += text

    def test_a_terminal_has_one_line(self):
        progress = self.progress(True)
        for n in range(1, 5):
            progress.line(f"[{n}/4] Building {n}.o\n", n * 10)
        progress.end(40)
        self.assertEqual(self.written.count("\n"), 2)
        self.assertIn("\r\033[Kbuild: 2 of 4 steps, about 20 s left", self.written)
        self.assertTrue(self.written.endswith("build: 4 of 4 steps in 40 s\n"))

    def test_a_log_has_few_lines(self):
        progress = self.progress(False)
        for n in range(1, 401):
            progress.line(f"[{n}/400] Building {n}.o\n", n)
        self.assertEqual(self.written.count("\n"), 20)
        self.assertNotIn("\r", self.written)
        self.assertIn("build: 200 of 400 steps, about 3 min left\n", self.written)

    def test_what_a_compiler_says_is_shown_whole(self):
        for is_terminal in (False, True):
            self.written = ""
            progress = self.progress(is_terminal)
            progress.line("[1/2] Building a.o\n", 1)
            for said in ("FAILED: a.o\n", "a.cc:1:1: error: [x/y] expected\n", "ninja: build stopped\n"):
                progress.line(said, 1)
            self.assertIn("FAILED: a.o\na.cc:1:1: error: [x/y] expected\nninja: build stopped\n", self.written)

    def test_nothing_to_do_says_nothing(self):
        self.progress(True).end(3)
        self.assertEqual(self.written, "")


if __name__ == "__main__":
    unittest.main()
