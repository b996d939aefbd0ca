#!/usr/bin/env python3
"""Says which tests were skipped and why. In CI (CI=true) it fails if one of them may not be: tests/allowed_skips.txt says which may.

    tests/support/skips.py ctest BUILD     after tests/run: tests, and what is skipped within one
    tests/support/skips.py pytest FILE     FILE has a line `NAME<tab>REASON` for each skip, as tests/e2e/conftest.py writes it

Exit status 1: a skip is not allowed; 2: the list has a line that cannot be read, or there is nothing to report on.
"""
import ast
import fnmatch
import os
import re
import sys
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import ctest_log

LIST = Path(__file__).resolve().parents[1] / "allowed_skips.txt"

GTEST_SKIPPED = re.compile(r"\[  SKIPPED \] (\S+) \(\d+ ms\)")
GTEST_DISABLED = re.compile(r"^\[ DISABLED \] (\S+)$", re.MULTILINE)
GTEST_REASON = re.compile(r":\d+: Skipped\n")
UNITTEST_NAME = re.compile(r"^\s*(\w+) \(([\w.]+)\)")
UNITTEST_SKIPPED = re.compile(r"(?:^|\.\.\. )skipped (['\"].*['\"])$")
UNITTEST_RAN = re.compile(r"^Ran \d+ tests? in ", re.MULTILINE)
UNITTEST_COUNT = re.compile(r"^(?:OK|FAILED) \([^)\n]*\bskipped=(\d+)", re.MULTILINE)
SCRIPT_REASON = re.compile(r"\bskipped: (.*)")


class Skip(NamedTuple):
    name: str
    reason: str


class Malformed(ValueError):
    """Of the list, or of what tests left."""


def gtest_skips(output):
    """Of a GoogleTest program, whatever of its cases it was asked to run."""
    for match in GTEST_SKIPPED.finditer(output):
        began = output.rfind(f"[ RUN      ] {match[1]}\n", 0, match.start())
        reason = GTEST_REASON.split(output[max(began, 0):match.start()])[1:]
        yield Skip(match[1], reason[-1] if reason else "")
    for match in GTEST_DISABLED.finditer(output):
        yield Skip(match[1], "disabled")


def unittest_skips(output, test):
    """Of Python's unittest. What names no reason (it is not verbose, or others print in between) counts for the whole test."""
    if not UNITTEST_RAN.search(output):
        return
    name, found = test, 0
    for line in output.splitlines():
        named = UNITTEST_NAME.match(line)
        if named:
            name = named[2] if named[2].endswith(f".{named[1]}") else f"{named[2]}.{named[1]}"
        skipped = UNITTEST_SKIPPED.search(line)
        if skipped:
            found += 1
            yield Skip(name, read_literal(skipped[1]))
    missing = sum(map(int, UNITTEST_COUNT.findall(output))) - found
    if missing > 0:
        yield Skip(test, f"{missing} of its cases, whose reasons cannot be read (unittest -v shows them)")


def read_literal(text):
    try:
        return str(ast.literal_eval(text))
    except (SyntaxError, ValueError):
        return text


def script_reason(output):
    said = SCRIPT_REASON.findall(output)
    lines = [line for line in output.splitlines() if line.strip()]
    return said[-1] if said else lines[-1] if lines else ""


def ctest_skips(build):
    """All of the last run of ctest in that build folder."""
    results, log = build / "Testing" / "results.xml", build / "Testing" / "output.log"
    for file in (results, log):
        if not file.is_file():
            raise Malformed(f"Run tests/run first: there is no {file}")
    outputs = ctest_log.outputs(log)
    for case in ElementTree.parse(results).iter("testcase"):
        name, inside = case.get("name"), []
        output = outputs.get(name, "")
        inside = [*gtest_skips(output), *unittest_skips(output, name)]
        yield from inside
        if not inside and case.get("status") == "disabled":
            yield Skip(name, "disabled")
        elif not inside and case.find("skipped") is not None:
            yield Skip(name, script_reason(output))


def pytest_skips(file):
    for line in file.read_text().splitlines():
        name, _, reason = line.partition("\t")
        yield Skip(name, reason)


class Allowed:
    """One line of the list."""

    def __init__(self, line, place):
        self.pattern, _, reason = line.partition(" ")
        if not reason.strip():
            raise Malformed(f"{place}: Write a test's name or pattern and then the reason that it gives: got '{line}'")
        try:
            self.reason = re.compile(reason.strip())
        except re.error as trouble:
            raise Malformed(f"{place}: Write the reason as a regular expression: got '{reason.strip()}': {trouble}") from trouble

    def holds(self, skip):
        # A bracket is part of pytest's names, so that it matches itself.
        pattern = self.pattern.replace("[", "[[]")
        return fnmatch.fnmatchcase(skip.name, pattern) and self.reason.fullmatch(skip.reason) is not None


def read_list(file):
    lines = enumerate(file.read_text().splitlines(), 1)
    return [Allowed(line.strip().replace("\t", " "), f"{file}:{number}") for number, line in lines
            if line.strip() and not line.strip().startswith("#")]


def literal(text):
    """A regular expression that means just this text, for people to read."""
    return re.sub(r"[.^$*+?{}\[\]\\|()]", r"\\\g<0>", text)


def report(skips, allowed, is_ci):
    """Prints all; returns whether all of them may be."""
    skips = sorted({Skip(skip.name, " ".join(skip.reason.split())) for skip in skips})
    wrong = [skip for skip in skips if not any(line.holds(skip) for line in allowed)]
    if skips:
        print(f"\n{len(skips)} skipped, {len(skips) - len(wrong)} of them as tests/allowed_skips.txt allows:")
    for skip in skips:
        print(f"  {'not allowed: ' if skip in wrong else ''}{skip.name}: {skip.reason or '(gives no reason)'}")
    if wrong and is_ci:
        print(f"Make them run on this machine, or allow them in tests/allowed_skips.txt: with CI=true {len(wrong)} skipped "
              f"{'test fails' if len(wrong) == 1 else 'tests fail'} the run. Lines that would allow {'it' if len(wrong) == 1 else 'them'}:")
        for skip in wrong:
            print(f"  {skip.name} {literal(skip.reason) or '.*'}")
    return not (wrong and is_ci)


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in ("ctest", "pytest"):
        sys.exit(__doc__)
    find = {"ctest": ctest_skips, "pytest": pytest_skips}[sys.argv[1]]
    try:
        allowed = read_list(LIST)
        is_fine = report(find(Path(sys.argv[2])), allowed, os.environ.get("CI", "").lower() in ("true", "1"))
    except Malformed as trouble:
        print(f"skips: {trouble}", file=sys.stderr)
        sys.exit(2)
    sys.exit(0 if is_fine else 1)


if __name__ == "__main__":
    main()
