#!/usr/bin/env python3
"""Plants untruths in a small tree and asks whether tools/check_docs.py finds each of them, and nothing else."""
import os
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import check_docs  # noqa: E402

TREE = {
    "docs/architecture.md": "# A\n\n## The tree\n\n| folder | for |\n|---|---|\n| `docs` | d |\n| `lib/` | l |\n"
                            "| `lib/base` | b |\n\n## Dependencies\n\n| name | for |\n|---|---|\n| `fmt` | text |\n"
                            "| `cpp-httplib` | HTTP |\n",
    "docs/metrics.md": "# M\n\n| name |\n|---|\n| `paceline_version` |\n",
    "lib/base/m.cc": 'Gauge("paceline_version")\n',
    "docs/adr/0001-a.md": "# A\n\n## Status\n\n## Context\n\n## Decision\n\n## Consequences\n",
    "lib/base/CMakeLists.txt": "find_package(fmt REQUIRED)  # not find_package(boost)\n"
                               "pkg_check_modules(httplib REQUIRED IMPORTED_TARGET cpp-httplib)\n",
    "README.md": "[tree](docs/architecture.md#the-tree) [away](https://example.org/x)\n",
    "build/release/a.cc": "x\n" * 600,
    ".ci/run": "make test\n",
}


def write(root, files):
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)


def git(root, *arguments):
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    subprocess.run(["git", "-C", root, *arguments], env=environment, check=True)


class Planted(unittest.TestCase):
    def findings(self, planted, untracked=None):
        """`untracked`: what git does not track of the tree, beside build/; the tree is then a repository."""
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            write(root, {**TREE, **planted})
            if untracked is not None:
                git(root, "init", "--quiet")
                git(root, "add", "--all", ":!build")
                write(root, untracked)
            return list(check_docs.check_tree(root))

    def check(self, planted, *wanted, untracked=None):
        found = self.findings(planted, untracked)
        self.assertEqual(len(found), len(wanted), found)
        for finding, want in zip(found, wanted):
            self.assertIn(want, finding)

    def test_a_true_tree_passes(self):
        self.check({})

    def test_a_folder_without_a_row(self):
        self.check({"lib/sync/a.h": ""}, "folder lib/sync has no row")
        self.check({"tools/a": ""}, "folder tools has no row")

    def test_a_row_without_a_folder(self):
        text = TREE["docs/architecture.md"].replace("| `lib/base` | b |", "| `lib/base` | b |\n| `lib/gone` | g |")
        self.check({"docs/architecture.md": text}, "lib/gone has a row but does not exist")

    def test_a_row_twice(self):
        text = TREE["docs/architecture.md"].replace("| `docs` | d |", "| `docs` | d |\n| `docs` | d |")
        self.check({"docs/architecture.md": text}, "docs has more than one row")

    def test_an_unnamed_dependency(self):
        self.check({"lib/base/x.cmake": "  find_package(yaml-cpp REQUIRED)\n"}, "dependency yaml-cpp has no row")

    def test_a_stale_dependency(self):
        self.check({"lib/base/CMakeLists.txt": "find_package(fmt)\n"}, "cpp-httplib has a row but does not exist")

    def test_a_metric_without_a_row(self):
        self.check({"lib/base/n.cc": 'Counter("paceline_steps_total")\n'}, "metric paceline_steps_total has no row")
        self.check({"lib/base/n_test.cc": 'Counter("paceline_steps_total")\n'})

    def test_a_row_without_a_metric(self):
        self.check({"lib/base/m.cc": ""}, "metric paceline_version has a row but does not exist")

    def test_a_limit_and_its_row(self):
        header = "inline constexpr size_t kA = 1'024;\ninline constexpr double kB = 0.5;  // Seconds.\n"
        page = "| limit | value | of |\n|---|---|---|\n| `kA` | 1,024 | bytes |\n| `kB` | 0.5 | s |\n"
        self.check({"lib/base/limits.h": header, "docs/wire.md": page})
        self.check({"lib/base/limits.h": header, "docs/wire.md": page.replace("1,024", "1,025")}, "kA is 1024, its row says 1,025")
        self.check({"lib/base/limits.h": header, "docs/wire.md": page.replace("| `kB` | 0.5 | s |\n", "")}, "limit kB has no row")
        self.check({"docs/wire.md": page.replace("| `kA` | 1,024 | bytes |\n", "")}, "limit kB has a row but does not exist")
        self.check({"lib/base/limits.h": header.replace("1'024", "size_t{1} << 10"), "docs/wire.md": page},
                   "plain number", "limit kA has a row but does not exist")

    def test_a_promise_without_its_test(self):
        tests = {"tests/e2e/a_test.py": "class A:\n    def test_kept(self):\n", "lib/base/a_test.cc": "TEST_F(Life,\n  IsKept) {\n"}
        tree = TREE["docs/architecture.md"].replace("| `lib/base`", "| `tests` | t |\n| `tests/e2e` | e |\n| `lib/base`")
        promised = "`test_kept` `ATest.test_kept` `test_broken` `ATest.test_s3` `Life.IsKept` `Life.Lost` `tests/e2e/a_test.py` `tests/b.py`\n"
        self.check({**tests, "docs/architecture.md": tree, "docs/promises.md": promised},
                   "there is no test test_broken", "there is no test test_s3", "there is no test Life.Lost",
                   "there is no file tests/b.py")

    def test_a_command_that_cannot_be_run(self):
        tree = TREE["docs/architecture.md"].replace("| `lib/base`", "| `tests` | t |\n| `lib/base`")
        planted = {"docs/architecture.md": tree, "tests/a.py": "", "Makefile": "a: b\n\t@cmake b\n\t@X=1 tests/a.py $(B)\n\t@/usr/bin/python3 tests/a.py\n"}
        self.check(planted, "tests/a.py cannot be run")

    def test_a_long_source(self):
        self.check({"lib/base/a.cc": "x\n" * 501}, "lib/base/a.cc: 501 lines")
        self.check({"lib/base/a.cc": "x\n" * 500})

    def test_a_path_of_one_machine(self):
        self.check({"lib/base/a.h": "\n// see /ho" + "me/ada/paceline\n"}, "lib/base/a.h:2: a path of one machine")
        self.check({"lib/base/a.h": "// $HO" + "ME/ho" + "me/x and a/ro" + "ot/b\n"})

    def test_a_dead_link(self):
        self.check({"README.md": "[x](docs/gone.md)\n"}, "a link leads nowhere: docs/gone.md")
        self.check({"README.md": "```\n[x](docs/gone.md)\n```\n"})

    def test_an_adr_without_a_heading_or_number(self):
        self.check({"docs/adr/0002-b.md": "# B\n\n## Status\n\n## Context\n\n## Decision\n"}, "'## Consequences'")
        self.check({"docs/adr/0001-b.md": TREE["docs/adr/0001-a.md"]}, "a number of its own")

    def test_what_git_does_not_track_breaks_no_rule(self):
        self.check({}, untracked={
            "lib/sync/a.cc": 'find_package(boost)\nGauge("paceline_scratch")\n' + "x\n" * 600, "lib/sync/CMakeLists.txt": "find_package(boost)\n",
            "notes.md": "[x](docs/gone.md) /ho" + "me/ada/paceline\n", "docs/adr/draft.md": "", "docs/promises.md": "`test_broken`\n",
            "paceline-trial/a.cc": "x\n" * 600})

    def test_what_git_does_not_track_keeps_no_rule(self):
        text = TREE["docs/architecture.md"].replace("| `lib/base` | b |", "| `lib/base` | b |\n| `lib/scratch` | s |")
        planted = {"docs/architecture.md": text, "README.md": "[x](docs/scratch.md) [y](docs) [z](docs/adr/0001-a.md#status)\n"}
        self.check(planted, "lib/scratch has a row but does not exist", "a link leads nowhere: docs/scratch.md",
                   untracked={"lib/scratch/a.h": "", "docs/scratch.md": ""})
        tree = TREE["docs/architecture.md"].replace("| `lib/base`", "| `tests` | t |\n| `lib/base`")
        self.check({"docs/architecture.md": tree, "docs/promises.md": "`test_kept`\n", "tests/b.py": ""}, "there is no test test_kept",
                   untracked={"tests/a_test.py": "def test_kept():\n"})

    def test_what_git_tracks_breaks_a_rule(self):
        self.check({"lib/base/a.cc": "x\n" * 501, "README.md": "[x](docs/gone.md)\n"}, "a link leads nowhere: docs/gone.md",
                   "lib/base/a.cc: 501 lines", untracked={})

    def test_a_tracked_file_that_was_just_deleted(self):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            write(root, {**TREE, "build/release/a.cc": "", "README.md": "[x](notes.md)\n", "notes.md": ""})
            git(root, "init", "--quiet")
            git(root, "add", "--all", ":!build")
            (root / "notes.md").unlink()
            self.assertEqual(list(check_docs.check_tree(root)), ["README.md: a link leads nowhere: notes.md"])

    def test_a_hook_of_another_repository_changes_nothing(self):
        with tempfile.TemporaryDirectory() as other:
            git(other, "init", "--quiet")
            with unittest.mock.patch.dict(os.environ, {"GIT_DIR": f"{other}/.git", "GIT_INDEX_FILE": f"{other}/.git/index"}):
                self.check({"lib/base/a.cc": "x\n" * 501}, "lib/base/a.cc: 501 lines", untracked={})


if __name__ == "__main__":
    unittest.main()
