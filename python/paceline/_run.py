"""A job from a notebook or a program."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from typing import Any, Dict, Mapping, Sequence, Union

from ._errors import Error, Misuse


def run(job: Union[str, Mapping[str, Any]], *, overrides: Sequence[str] = (), program: str = "paceline",
        progress: bool = True) -> Dict[str, Any]:
    """Runs a job on this machine until it is over, and gives its summary (as `paceline run -o json` has it).

    `job`: a manifest's path, or the manifest as a dict, whose relative paths start in the current folder. `overrides`:
    as of --set, "spec.sync.scheme=DBW". `program`: a path, or a name in PATH. Error, with what was said, if the job does
    not succeed; whatever stops this call stops the job too.
    """
    found = shutil.which(program)
    if found is None:
        raise Misuse(f"there is no program {program}: `make build` of Paceline makes it (build/release/bin), name its path")
    text = None if isinstance(job, (str, os.PathLike)) else json.dumps(job)
    command = [found, "run", "-" if text is not None else os.fspath(job), "-o", "json"]  # type: ignore[arg-type]
    for override in overrides:
        command += ["--set", override]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True) as process:
        said = []
        try:
            assert process.stdin and process.stdout and process.stderr
            process.stdin.write(text or "")
            process.stdin.close()
            for line in process.stderr:
                said.append(line.rstrip())
                if progress:
                    _show(said[-1])
            out = process.stdout.read()
            code = process.wait()
        except BaseException:
            process.terminate()  # It stops its processes, and waits for them.
            process.wait()
            raise
    if progress:
        print(file=sys.stderr)
    if code != 0:
        raise Error("the job did not succeed:\n" + "\n".join(said[-20:]))
    return json.loads(out)


def _show(line: str) -> None:
    """Progress in one line that is written over; all else stays."""
    share = line.lstrip().split(" ", 1)
    if len(share) == 2 and share[0].isdigit() and share[1].startswith("%"):
        done = int(share[0]) * 20 // 100
        print(f"\r[{'#' * done}{' ' * (20 - done)}] {line.strip():<100}", end="", file=sys.stderr, flush=True)
    else:
        print(f"\r{line:<124}", file=sys.stderr)
