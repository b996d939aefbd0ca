#!/usr/bin/env python3
"""Plants sleeps in a small tree, takes reasons away in the real one, and asks whether tools/lint_sleeps.py finds each of them."""
import re
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import lint_sleeps  # noqa: E402

ROOT = Path(__file__).resolve().parents[1]
SLEEP = "  std::this_thread::sleep_for(kPeriod);"
REASON = "  // sleeps: it stands for a transfer"


class Planted(unittest.TestCase):
    def findings(self, files):
        """`files`: text by path."""
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            for path, text in files.items():
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(text)
            return list(lint_sleeps.check_tree(root))

    def check(self, path, text, *lines):
        """Of that file, with that text, the sleeps on `lines` are found, and no others."""
        self.assertEqual([re.match(r"\S+?:\d+:", finding).group() for finding in self.findings({path: text})],
                         [f"{path}:{line}:" for line in lines])

    def test_a_sleep_without_a_reason_is_found_in_all_that_tests(self):
        for path in ("lib/sync/a_test.cc", "lib/kube/testing/a.cc", "lib/kube/testing/a.h", "ps-server/service/a_testing.h",
                     "tests/bench/a.cc", "tests/support/a.h"):
            self.check(path, f"\n{SLEEP}\n", 2)
        for path in ("tests/e2e/a.py", "tools/a_test.py"):
            self.check(path, "import time\ntime.sleep(1)\n", 2)

    def test_products_may_sleep(self):
        self.check("lib/rpc/retry.cc", f"{SLEEP}\n")
        self.check("python/paceline/loop.py", "time.sleep(1)\n")

    def test_all_forms_are_found(self):
        for code in ("std::this_thread::sleep_until(then);", "::usleep(2000);", "absl::SleepFor(absl::Seconds(1));", "nanosleep(&time, nullptr);",
                     "clock_nanosleep(CLOCK_MONOTONIC, 0, &time, nullptr);", "sleep(1);", "poll(nullptr, 0, 20);"):
            with self.subTest(code):
                self.check("lib/sync/a_test.cc", f"{code}\n", 1)
        for code in ("time.sleep(1)", "sleep (1)", "await asyncio.sleep(1)", "retry(wait=time.sleep)", 'SCRIPT = """\n    time.sleep(1)\n"""'):
            with self.subTest(code):
                self.check("tests/python/a.py", f"{code}\n", 2 if "SCRIPT" in code else 1)

    def test_what_only_looks_alike(self):
        self.check("lib/sync/a_test.cc", '// sleep_for(x)\nShell("exec sleep 600"); /* usleep(1) */\nconst char* kWhy = "sleep(1)";\n'
                                         "Options{.sleep = [](Duration) {}}; poll(&waiting, 1, 20); slept.push_back(1);\n")
        self.check("tests/python/a.py", "# time.sleep(1)\nslept = 1\n")

    def test_a_reason_on_the_line_or_on_the_one_before_lets_it_stay(self):
        self.check("lib/sync/a_test.cc", f"{SLEEP}  // sleeps: it stands for a transfer\n{REASON}\n{SLEEP}\n")
        self.check("tests/python/a.py", "time.sleep(1)  # sleeps: it stands for computing\n# sleeps: for the same\ntime.sleep(1)\n")

    def test_what_is_no_reason(self):
        for above in ("  // sleeps:", "  // Their pace.", f"{REASON}\n", '  Log("// sleeps: in a string");'):
            with self.subTest(above):
                text = f"{above}\n{SLEEP}\n"
                self.check("lib/sync/a_test.cc", text, text.count("\n"))

    def test_the_reason_of_another_sleep_is_none(self):
        self.check("lib/sync/a_test.cc", f"{SLEEP}  // sleeps: it stands for a transfer\n{SLEEP}\n", 2)
        self.check("tests/python/a.py", "time.sleep(1)  # sleeps: it stands for computing\ntime.sleep(2)\n", 2)

    def test_the_shared_polls_alone_need_none(self):
        self.check("lib/base/testing/eventually.h", f"{SLEEP}\n")
        self.check("tests/support/eventually.py", "time.sleep(1)\n")
        self.check("lib/sync/testing/eventually.h", f"{SLEEP}\n", 1)

    def test_there_is_a_most(self):
        most = {f"tests/bench/{i}.cc": f"{REASON}\n{SLEEP}\n" for i in range(lint_sleeps.KEPT_MAX)}
        self.assertEqual(self.findings(most), [])
        found = self.findings({**most, "tests/python/a.py": "time.sleep(1)  # sleeps: one more\n"})
        self.assertEqual(len(found), 1)
        self.assertIn("11 sleeps with a reason, of 10 at most", found[0])
        self.assertIn("tests/python/a.py:1", found[0])


class Mutated(unittest.TestCase):
    """The tree as it is, with one change."""

    def test_each_kept_sleep_needs_its_reason(self):
        changes = 0
        for file in lint_sleeps.Tree(ROOT).files:
            path = file.relative_to(ROOT).as_posix()
            if not lint_sleeps.is_ours(path):
                continue
            text = file.read_text()
            for reason in re.finditer(r"sleeps: ", text):
                without = text[:reason.start()] + text[reason.end():]
                found = [line for line, has_reason in lint_sleeps.sleeps(path, without) if not has_reason]
                self.assertEqual(len(found), 1, f"{path}: {reason.start()}")
                changes += 1
        self.assertGreater(changes, 0)

    def test_the_shared_poll_is_found_under_another_name(self):
        for path in lint_sleeps.SHARED_POLLS:
            found = list(lint_sleeps.sleeps(path, (ROOT / path).read_text()))
            self.assertEqual([has_reason for _, has_reason in found], [False], path)


if __name__ == "__main__":
    unittest.main()
