#!/usr/bin/env python3
"""Says what the tests of a run cost: processor minutes by label, the dearest tests, and the slowest with what they wait for.

    tests/support/costs.py BUILD      after `ctest --output-junit Testing/results.xml`

The seconds of processor are those that tests/support/measured wrote: of a test's own processes and of all that they waited for.
Processes that a test kills together with their parent are not in them. tests/waits.txt says what a slow test waits for.

Exit status 2: there are no results to report on, or tests/waits.txt has a line that cannot be read.
"""
import fnmatch
import json
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

WAITS = Path(__file__).resolve().parents[1] / "waits.txt"
SHOWN = 10
IDLE_SHARE = 0.25  # A test that used its processor for longer than this share of its time was waited for, and waits for nothing.


class Trouble(ValueError):
    """Files that cannot be read; the message says which, and what would be right."""


class Cost(NamedTuple):
    name: str
    label: str
    wall: float
    cpu: float


def read_waits(path=WAITS):
    """[(pattern of names, what those tests wait for)], the first that fits counts."""
    found = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        pattern, separator, what = (part.strip() for part in line.partition(":"))
        if not separator or not pattern or not what:
            raise Trouble(f"write `NAME PATTERN: what it waits for` in {path.name}:{number}, not: {line}")
        found.append((pattern, what))
    return found


def read_usage(path):
    """{command: seconds of processor}; of a command that ran more than once, the last time."""
    found = {}
    for line in path.read_text(errors="replace").splitlines():
        fields = line.split("\t")
        try:
            found["\t".join(fields[2:])] = float(fields[1])
        except (IndexError, ValueError):
            continue  # Cut off in the middle: the disk was full.
    return found


def read_walls(path):
    """{name: seconds} of the tests that ran."""
    return {case.get("name"): float(case.get("time")) for case in ElementTree.parse(path).getroot().iter("testcase")
            if case.get("status") != "notrun"}


def costs(tests, walls, usage):
    """tests: those that `ctest --show-only=json-v1` tells of."""
    found = []
    for test in tests:
        if test["name"] not in walls:
            continue
        # Less the program that measures and its file.
        command = "\t".join(test.get("command", [])[2:]).replace("\n", " ")
        labels = next((one["value"] for one in test.get("properties", []) if one["name"] == "LABELS"), [])
        found.append(Cost(test["name"], labels[0] if labels else "no label", walls[test["name"]], usage.get(command, 0.0)))
    return found


def report(found, waits):
    """Lines for people."""
    by_label = {}
    for cost in found:
        by_label.setdefault(cost.label, []).append(cost)
    total = sum(cost.cpu for cost in found)
    lines = [f"\nprocessor minutes: {total / 60:.1f}, by label:"]
    for label, members in sorted(by_label.items(), key=lambda one: -sum(cost.cpu for cost in one[1])):
        lines.append(f"  {sum(cost.cpu for cost in members) / 60:6.2f}  {label} ({len(members)} tests)")
    lines.append("the dearest tests, seconds of processor:")
    for cost in sorted(found, key=lambda one: -one.cpu)[:SHOWN]:
        lines.append(f"  {cost.cpu:6.1f}  {cost.name}")
    lines.append("the slowest tests, seconds, those without a processor among them, and what they wait for:")
    for cost in sorted(found, key=lambda one: -one.wall)[:SHOWN]:
        idle = max(0.0, cost.wall - cost.cpu)
        if idle < IDLE_SHARE * cost.wall:
            reason = "it computes"
        else:
            reason = next((what for pattern, what in waits if fnmatch.fnmatchcase(cost.name, pattern)),
                          "say what it waits for in tests/waits.txt")
        lines.append(f"  {cost.wall:6.1f}  {idle:6.1f}  {cost.name}: {reason}")
    return lines


def main():
    build = Path(sys.argv[1])
    try:
        waits = read_waits()
        usage = build / "Testing/usage.tsv"
        if not usage.is_file():
            print(f"costs: no test was measured: {usage} is not there")
            return 0
        shown = subprocess.run(["ctest", "--test-dir", str(build), "--show-only=json-v1"], capture_output=True, text=True, check=True)
        tests = json.loads(shown.stdout)["tests"]
        found = costs(tests, read_walls(build / "Testing/results.xml"), read_usage(usage))
    except (Trouble, OSError, subprocess.CalledProcessError, ElementTree.ParseError) as trouble:
        print(f"costs: {trouble}", file=sys.stderr)
        return 2
    print("\n".join(report(found, waits)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
