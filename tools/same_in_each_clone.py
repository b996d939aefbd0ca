#!/usr/bin/env python3
"""Looks for the checkout's folder in what the compiler makes of sources: where it stands there, another clone compiles them anew, though
ccache has them, and a message of the program names a folder that its user has not.

    tools/same_in_each_clone.py BUILD

It looks at batches of sources, because a batch names its sources by whole paths: at those of lib/store, and at some that the commit's
name draws. Exit status 77: the build has no list of commands, or no batches.
"""
import json
import random
import subprocess
import sys
from pathlib import Path

import source_commands
from compiles_alone import git

DRAWN = 4
KNOWN = "lib/store/"  # Checks what it is given, and so names its files.


def batches(build):
    """Of each batch: its path and its command, without a precompiled header."""
    database = build / "compile_commands.json"
    if not database.is_file():
        return {}
    found = {}
    for entry in json.loads(database.read_text()):
        path = Path(entry["directory"], entry["file"]).resolve()
        if path.parent.name == "Unity":
            found[str(path.relative_to(build))] = source_commands.alone(entry["command"], entry["file"], entry["file"]), entry["directory"]
    return found


def preprocessed(command, folder):
    at = command.index("-o")
    return subprocess.run([*command[:at], *command[at + 2:], "-E", "-P"], cwd=folder, capture_output=True, text=True, check=True).stdout


def main():
    build = Path(sys.argv[1]).resolve()
    found = batches(build)
    if not found:
        print(f"skipped: {build} compiles no sources together: configure it with the preset release")
        return 77
    known = [name for name in found if name.startswith(KNOWN)]
    bad = 0
    for name in sorted({*known, *random.Random(git("rev-parse", "HEAD")).sample(sorted(found), min(DRAWN, len(found)))}):
        named = next((line for line in preprocessed(*found[name]).splitlines() if str(source_commands.ROOT) in line), None)
        if named is not None:
            bad += 1
            print(f"leave the checkout's folder out of {name}: {named.strip()}")
    print(f"looked at {len(known)} known batches and some of {len(found)}, {bad} of them name {source_commands.ROOT}")
    return 1 if bad or not known else 0


if __name__ == "__main__":
    sys.exit(main())
