#!/usr/bin/env python3
"""Says once more, as the last words of a run, which tests failed and what each said of it: CI often shows no more than the end.

    tests/support/failures.py BUILD      after tests/run: Testing/results.xml and Testing/output.log

Exit status 2: there are no results to report on.
"""
import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import ctest_log

SHOWN = 12  # Tests whose words are shown; of the others the names.
LINES = 6  # Of one test.
WIDTH = 200  # Of one line.
GTEST = re.compile(r"^(?:\S*/)?(?P<place>[^/\s]+:\d+): Failure\n(?P<words>(?:(?!\[ )[^\n]+\n){0,6})", re.MULTILINE)
UNITTEST = re.compile(r"^(?P<head>(?:FAIL|ERROR): [^\n]*)\n.*?^-{70}\n(?:.*?)^(?P<words>[A-Za-z_][\w.]*(?:Error|Exception|Exit|Interrupt|Expired|Trouble)\b[^\n]*)",
                      re.MULTILINE | re.DOTALL)


def words_of(output):
    """The lines that tell why: of GoogleTest's failures, of unittest's, else a test's last."""
    lines = []
    for match in GTEST.finditer(output):
        lines += [match["place"], *match["words"].splitlines()]
    for match in UNITTEST.finditer(output):
        lines += [match["head"], match["words"]]
    if not lines:
        lines = [line for line in output.splitlines() if line.strip()][-LINES:]
    return [line.strip()[:WIDTH] for line in lines[:LINES] if line.strip()]


def failed(results):
    """[(name, what ctest calls it)] of the tests that neither passed nor were skipped."""
    found = []
    for case in ElementTree.parse(results).iter("testcase"):
        failure = case.find("failure")
        if failure is not None or case.get("status") == "fail":
            found.append((case.get("name"), (failure.get("message") if failure is not None else "") or "Failed"))
    return found


def report(found, outputs):
    """Lines for people, the names last: they are what is read when all else was cut off."""
    lines = []
    for name, verdict in found[:SHOWN]:
        lines += [f"\n{name}: {verdict}", *(f"  {line}" for line in words_of(outputs.get(name, "")))]
    lines.append(f"\n{len(found)} {'test' if len(found) == 1 else 'tests'} failed: {', '.join(name for name, _ in found)}")
    return lines


def main():
    folder = Path(sys.argv[1]) / "Testing"
    try:
        found = failed(folder / "results.xml")
        if found:
            print("\n".join(report(found, ctest_log.outputs(folder / "output.log"))), flush=True)
    except (OSError, ElementTree.ParseError) as trouble:
        print(f"failures: {trouble}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
