#!/usr/bin/env python3
"""Asks whether the documents still tell the truth about the tree.

    tools/check_docs.py [ROOT]      prints what is wrong; exit 1 if anything is

It looks at the files that git tracks, so that a scratch file or a build folder neither breaks nor keeps a rule; in a copy
without git, at all files.

- The folder table of docs/architecture.md has one row for each folder there is, and no other.
- Its dependency table names every find_package and pkg_check_modules of the CMake files, and no other.
- docs/metrics.md has a row for each metric that the programs register, and no other.
- The table of limits in docs/wire.md has a row for each constant of lib/base/limits.h, with its value, and no other.
- Each test and each file of tests that docs/promises.md names exists.
- What the Makefile runs of the tree can be run.
- No source file is longer than 500 lines.
- No text names a path of somebody's machine.
- Relative links in documents lead somewhere.
- Every ADR has its four headings and a number of its own.
"""
import os
import re
import sys
from pathlib import Path

from tree import Tree

LINES_MAX = 500
SOURCES = {".h", ".cc", ".py", ".proto", ".cmake"}
TEXTS = SOURCES | {".md", ".txt", ".json", ".yaml", ".yml", ""}
SHELVES = ("lib", "ps-server", "worker", "cli", "simulator", "operator", "tests")
ADR_HEADINGS = ("Status", "Context", "Decision", "Consequences")

MACHINE_PATH = re.compile(r"(?<![\w.$}/-])/(?:work|home|farm|root|Users)/[\w.]")
PACKAGE = re.compile(r"^\s*find_package\(\s*([\w+-]+)", re.MULTILINE)
MODULES = re.compile(r"^\s*pkg_check_modules\(\s*\w+((?:\s+[^\s)]+)+)", re.MULTILINE)
TEST_CC = re.compile(r"^TEST(?:_F|_P)?\((\w+),\s*(\w+)\)", re.MULTILINE)
TEST_PY = re.compile(r"^ *def (test_\w+)", re.MULTILINE)
PROMISED = re.compile(r"`(?:[A-Z]\w+\.(?=test_))?(test_\w+|[A-Z]\w+\.[A-Z]\w+)`")
PROMISED_FILE = re.compile(r"`(tests/[\w./-]+)`")
METRIC = re.compile(r'"(paceline_[a-z0-9_]+)"')
METRIC_ROW = re.compile(r"^\|\s*`(paceline_\w+)`", re.MULTILINE)
LIMIT = re.compile(r"^inline constexpr \w+ (k\w+) = ([\d'.]+);", re.MULTILINE)
LIMIT_ROW = re.compile(r"^\|\s*`(k\w+)`\s*\|\s*([\d,.]+)", re.MULTILINE)
COMMAND = re.compile(r"^\t@?(?:\w+=\S+ )*((?:tests|tools)/[\w./-]+)", re.MULTILINE)
LINK = re.compile(r"\]\(([^)\s]+)\)")


def folders(tree):
    """Top-level folders and those one below a shelf, where they hold a file."""
    found = set()
    for file in tree.files:
        parts = file.relative_to(tree.root).parts[:-1]
        if not parts or parts[0].startswith("."):
            continue
        found.add(parts[0])
        if parts[0] in SHELVES and len(parts) > 1:
            found.add("/".join(parts[:2]))
    return found


def table(text, heading):
    """What stands in backticks in the first cells of the table below `heading`, in order."""
    section = re.search(rf"^## {re.escape(heading)}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    rows = re.findall(r"^\|\s*`([^`]+)`[^|]*\|", section.group(1), re.MULTILINE) if section else []
    return [row.rstrip("/") for row in rows]


def packages(tree):
    found = set()
    for file in tree.files:
        if file.name != "CMakeLists.txt" and file.suffix != ".cmake":
            continue
        text = re.sub(r"#[^\n]*", "", file.read_text())
        found |= set(PACKAGE.findall(text))
        for modules in MODULES.findall(text):
            found |= {word for word in modules.split() if word not in ("REQUIRED", "IMPORTED_TARGET", "QUIET")}
    return found


def metrics(tree):
    found = set()
    for file in tree.files:
        path = file.relative_to(tree.root)
        if file.suffix in (".h", ".cc") and path.parts[0] != "tests" and not file.name.endswith("_test.cc") and (
                path.parts[:2] != ("lib", "telemetry")):
            found |= set(METRIC.findall(file.read_text()))
    return found


def compare(page, what, listed, existing):
    for name in sorted({name for name in listed if listed.count(name) > 1}):
        yield f"{page}: {what} {name} has more than one row"
    for name in sorted(existing - set(listed)):
        yield f"{page}: {what} {name} has no row"
    for name in sorted(set(listed) - existing):
        yield f"{page}: {what} {name} has a row but does not exist"


def check_text(tree, file):
    path = file.relative_to(tree.root).as_posix()
    text = file.read_text(errors="replace")
    lines = text.count("\n")
    if file.suffix in SOURCES and lines > LINES_MAX:
        yield f"{path}: {lines} lines, at most {LINES_MAX}; split it by reason to change"
    for match in MACHINE_PATH.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        yield f"{path}:{line}: a path of one machine: {match.group(0)}"
    if file.suffix == ".md":
        for target in LINK.findall(re.sub(r"```.*?```", "", text, flags=re.DOTALL)):
            if ":" in target or target.startswith("#"):
                continue
            if not tree.has(file.parent / target.split("#")[0]):
                yield f"{path}: a link leads nowhere: {target}"


def check_adrs(tree):
    numbers = {}
    for file in tree.files:
        if file.parent != tree.root / "docs/adr" or file.suffix != ".md":
            continue
        path = file.relative_to(tree.root).as_posix()
        text = file.read_text()
        for heading in ADR_HEADINGS:
            if f"\n## {heading}\n" not in text:
                yield f"{path}: no heading '## {heading}'"
        number = file.name[:4]
        if not number.isdigit() or numbers.setdefault(number, path) != path:
            yield f"{path}: wants a number of its own, as in 0001-title.md"


def check_limits(tree):
    page = "docs/wire.md"
    source = tree.text("lib/base/limits.h")
    limits = {name: value.replace("'", "") for name, value in LIMIT.findall(source)}
    if source.count("inline constexpr") != len(limits):
        yield "lib/base/limits.h: wants each limit as a plain number on one line"
    rows = LIMIT_ROW.findall(tree.text(page))
    yield from compare(page, "limit", [name for name, _ in rows], set(limits))
    for name, value in rows:
        if name in limits and value.replace(",", "") != limits[name]:
            yield f"{page}: limit {name} is {limits[name]}, its row says {value}"


def check_promises(tree):
    page = "docs/promises.md"
    tests = tree.root / "tests"
    existing = set()
    for file in tree.files:
        if file.suffix == ".cc" and (file.name.endswith("_test.cc")):
            existing |= {f"{suite}.{case}" for suite, case in TEST_CC.findall(file.read_text())}
        elif file.suffix == ".py" and tests in file.parents:
            existing |= set(TEST_PY.findall(file.read_text()))
    for name in PROMISED.findall(tree.text(page)):
        if name not in existing:
            yield f"{page}: there is no test {name}"
    for path in PROMISED_FILE.findall(tree.text(page)):
        if not tree.has(tree.root / path):
            yield f"{page}: there is no file {path}"


def check_commands(tree):
    for name in sorted(set(COMMAND.findall(tree.text("Makefile")))):
        if not tree.has(name) or not os.access(tree.root / name, os.X_OK):
            yield f"Makefile: {name} cannot be run: it must be an executable file"


def check_tree(root):
    tree = Tree(root)
    architecture = tree.text("docs/architecture.md")
    page = "docs/architecture.md"
    yield from compare(page, "folder", table(architecture, "The tree"), folders(tree))
    yield from compare(page, "dependency", table(architecture, "Dependencies"), packages(tree))
    page = "docs/metrics.md"
    yield from compare(page, "metric", METRIC_ROW.findall(tree.text(page)), metrics(tree))
    yield from check_limits(tree)
    yield from check_promises(tree)
    yield from check_commands(tree)
    yield from check_adrs(tree)
    for file in tree.files:
        if file.suffix in TEXTS and file.stat().st_size < 1 << 20:
            yield from check_text(tree, file)


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent)
    findings = list(check_tree(root))
    for finding in findings:
        print(finding)
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
