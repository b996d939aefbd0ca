#!/usr/bin/env python3
"""Runs a small job again and again, each time with other calls of one of its programs failing, as limits of a system make them fail.

    tests/limits/walk.py BUILD                     a few of them, in a minute: what `make test` runs
    tests/limits/walk.py BUILD --all               each call in turn, until none fails any more: an hour
    tests/limits/walk.py BUILD --program paceline-ps --kind thread --from 20 --to 30

A run is good if it ends by itself in time, nothing in it crashes, and one that failed says which limit it was.
Exit status 1: one was not.
"""
import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
DEADLINE_SECONDS = 150
QUIET_MAX = 8  # So many runs in a row in which nothing failed end a walk: what is behind them is not called.
SETTINGS = ["spec.workers.replicas=2", "spec.training.stop={maxSteps: 40}", "spec.runPolicy.backoffLimit=1", "spec.chaos=null"]
KINDS = {"paceline-ps": ["thread", "descriptor", "mapping"], "paceline-worker": ["thread", "descriptor", "mapping"],
         "paceline": ["thread", "descriptor", "process"]}
# What has hung or left something behind. A limit of descriptors falls on another call in each run: those are for --all.
SHORT = [("paceline-ps", "thread", 0), ("paceline-ps", "thread", 25), ("paceline-worker", "thread", 3), ("paceline", "thread", 1),
         ("paceline", "process", 0), ("paceline", "process", 3)]
CRASHES = re.compile(r"terminate called|Check failed|was killed by signal (?:6|11|4|7|8)\b|SIGABRT|SIGSEGV|Segmentation fault")
LIMITS = re.compile(r"ulimit|limit of (?:processes|open files)|pids limit|[Tt]oo many open files|[Cc]annot allocate memory|out of memory|"
                    r"Resource temporarily unavailable")


class Run(NamedTuple):
    code: int  # None: it had to be killed.
    output: str
    logs: str
    left: list  # Private folders.

    def trouble(self):
        """What is wrong with how it went; empty: nothing."""
        if self.code is None:
            return f"it was not over within {DEADLINE_SECONDS} s"
        if crash := CRASHES.search(self.output + self.logs):
            return f"it crashed: {crash[0]}"
        if self.left:
            return f"it left {', '.join(self.left)} in TMPDIR"
        if self.code != 0 and not LIMITS.search(self.output):
            return "it failed and did not say which limit it was"
        return ""


def run_job(build, program, kind, start, count=0):
    with tempfile.TemporaryDirectory(prefix="limits-") as folder:
        environment = {**os.environ, "LD_PRELOAD": str(build / "tests/libfailing_calls.so"), "FAIL_PROGRAM": program, "FAIL_KIND": kind,
                       "FAIL_FROM": str(start), "FAIL_COUNT": str(count), "TMPDIR": folder}
        command = [build / "bin/paceline", "run", ROOT / "deploy/samples/digits.yaml"]
        for setting in SETTINGS:
            command += ["--set", setting]
        job = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               start_new_session=True)
        try:
            output, code = job.communicate(timeout=DEADLINE_SECONDS)[0], job.returncode
        except subprocess.TimeoutExpired:
            os.killpg(job.pid, signal.SIGKILL)
            output, code = job.communicate()[0], None
        logs = "".join(path.read_text(errors="replace") for path in sorted(Path(folder).glob("paceline-runs/*/logs/*.log*")))
        return Run(code, output, logs, [path.name for path in Path(folder).glob("paceline-??????")])


def show(program, kind, start, run):
    """Prints how it went; returns whether it was good."""
    trouble = run.trouble()
    words = [line.strip() for line in run.output.splitlines() if " failed: " in line or line.startswith("paceline: ")]
    print(f"{program} {kind} {start}: {'bad: ' + trouble if trouble else 'good'}, exit code {run.code}{': ' + words[-1][:200] if words else ''}",
          flush=True)
    if trouble:
        print(run.output[-3000:] + run.logs[-3000:], flush=True)
    return not trouble


def walk(build, program, kind, start, end):
    """All of [start, end), or until nothing fails any more; returns how many were bad."""
    bad = quiet = 0
    while (start < end if end else quiet < QUIET_MAX):
        run = run_job(build, program, kind, start)
        bad += not show(program, kind, start, run)
        # A run may go well without what failed: the logs say so.
        quiet = 0 if run.code != 0 or LIMITS.search(run.output + run.logs) else quiet + 1
        start += 1
    return bad


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=Path)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--program", choices=sorted(KINDS))
    parser.add_argument("--kind", choices=["thread", "descriptor", "mapping", "process"])
    parser.add_argument("--from", dest="start", type=int, default=0)
    parser.add_argument("--to", dest="end", type=int)
    options = parser.parse_args()
    build = options.build.resolve()
    if options.program or options.all:
        bad = sum(walk(build, program, kind, options.start, options.end)
                  for program in ([options.program] if options.program else KINDS)
                  for kind in ([options.kind] if options.kind else KINDS[program]))
    else:
        bad = sum(not show(*case, run_job(build, *case)) for case in SHORT)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
