#!/usr/bin/env python3
"""Finds sleeps in tests. A test that sleeps in place of waiting is slow where the machine is fast, and fails where it is slow.

    tools/lint_sleeps.py [ROOT]      prints file:line and what to do; exit 1 if anything is wrong

Rules, for test files beside the code, testing/ folders and all of tests/, C++ and Python, with the scripts that tests hold as text:
- A sleep has a reason, on its line or in a comment of its own on the line before: `// sleeps: why no wait is possible`.
- There are at most KEPT_MAX of them in all.
- The two shared polls, Eventually and its Python sister, may sleep. What is polled is polled by them.
"""
import re
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from lint_layers import blank, is_test  # noqa: E402
from tree import Tree  # noqa: E402

KEPT_MAX = 10
SHARED_POLLS = {"lib/base/testing/eventually.h", "tests/support/eventually.py"}
PLANTED = {"tools/lint_sleeps_test.py"}  # It has sleeps as text, for this program to find.

SLEEP = {
    "c++": re.compile(r"\b(?:sleep_for|sleep_until|SleepFor|(?:clock_)?nanosleep|usleep|sleep)\s*\(|\bpoll\s*\(\s*(?:nullptr|NULL)\b"),
    "python": re.compile(r"\btime\.sleep\b|\bsleep\s*\("),
}
LANGUAGES = {".cc": "c++", ".h": "c++", ".py": "python"}
REASON = {"c++": re.compile(r"//\s*sleeps: \S"), "python": re.compile(r"#\s*sleeps: \S")}
COMMENT = {"c++": "//", "python": "#"}


def is_ours(path):
    if Path(path).suffix not in LANGUAGES or path in SHARED_POLLS | PLANTED:
        return False
    return is_test(path) or path.startswith("tests/") or Path(path).stem.endswith(("_test", "_testing"))


def sleeps(path, text):
    """(line, whether it has a reason) of each sleep in a file."""
    language = LANGUAGES[Path(path).suffix]
    code = blank(text, keep_strings=False) if language == "c++" else re.sub(r"#[^\n]*", "", text)
    lines = text.splitlines()
    for match in SLEEP[language].finditer(code):
        line = code.count("\n", 0, match.start()) + 1
        before = lines[line - 2].strip() if line > 1 else ""
        has_reason = REASON[language].search(lines[line - 1]) or (
            before.startswith(COMMENT[language]) and REASON[language].search(before))
        yield line, bool(has_reason)


def check_tree(root):
    kept = []
    for file in Tree(root).files:
        path = file.relative_to(root).as_posix()
        if not is_ours(path):
            continue
        for line, has_reason in sleeps(path, file.read_text()):
            if has_reason:
                kept.append(f"{path}:{line}")
            else:
                yield (f"{path}:{line}: a test sleeps: wait for an event (Eventually, a condition variable, a file, a descriptor), or say "
                       f"`{COMMENT[LANGUAGES[file.suffix]]} sleeps: why no wait is possible`")
    if len(kept) > KEPT_MAX:
        yield f"{len(kept)} sleeps with a reason, of {KEPT_MAX} at most: {', '.join(kept)}"


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent)
    findings = list(check_tree(root))
    for finding in findings:
        print(finding)
    if findings:
        print(f"{len(findings)} findings")
        sys.exit(1)


if __name__ == "__main__":
    main()
