#!/usr/bin/env python3
"""Looks for the checkout's folder in what the compiler makes of sources: where it stands there, another clone compiles them anew, though
ccache has them, and a message of the program names a folder that its user has not.

    tools/same_in_each_clone.py BUILD

It looks at the definitions of all commands, and at what the preprocessor makes of some: batches, because a batch names its sources by
whole paths (those of lib/store, and some that the commit's name draws), and tests. Only PLACES may know where the checkout lies. Exit
status 77: the build has no list of commands, or no batches.
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
PLACES = source_commands.ROOT / "lib/base/testing/places.cc"


def commands(build):
    """Of each batch, and of each source that is compiled by itself: its path and its command, without a precompiled header."""
    database = build / "compile_commands.json"
    if not database.is_file():
        return {}, {}
    batches, alone = {}, {}
    for entry in json.loads(database.read_text()):
        path = Path(entry["directory"], entry["file"]).resolve()
        command = source_commands.alone(entry["command"], entry["file"], entry["file"]), entry["directory"]
        if path.parent.name == "Unity":
            batches[str(path.relative_to(build))] = command
        elif path != PLACES and path.is_relative_to(source_commands.ROOT) and not path.is_relative_to(build):
            alone[str(path.relative_to(source_commands.ROOT))] = command
    return batches, alone


def defined(command):
    """The definitions on a command line that name the checkout."""
    return [word for word in command if word.startswith("-D") and str(source_commands.ROOT) in word]


def preprocessed(command, folder):
    at = command.index("-o")
    return subprocess.run([*command[:at], *command[at + 2:], "-E", "-P"], cwd=folder, capture_output=True, text=True, check=True).stdout


def main():
    build = Path(sys.argv[1]).resolve()
    batches, alone = commands(build)
    if not batches:
        print(f"skipped: {build} compiles no sources together: configure it with the preset release")
        return 77
    found = {**batches, **alone}
    named = {name: words[0] for name, (command, _) in found.items() if (words := defined(command))}
    known = [name for name in batches if name.startswith(KNOWN)]
    draw = random.Random(git("rev-parse", "HEAD"))
    looked_at = {*known, *draw.sample(sorted(batches), min(DRAWN, len(batches))), *draw.sample(sorted(alone), min(DRAWN, len(alone)))}
    for name in sorted(looked_at - named.keys()):
        line = next((line for line in preprocessed(*found[name]).splitlines() if str(source_commands.ROOT) in line), None)
        if line is not None:
            named[name] = line.strip()
    for name, what in sorted(named.items()):
        print(f"leave the checkout's folder out of {name}: {what}")
    print(f"looked at {len(found)} commands and into {len(looked_at)} sources, {len(known)} of them known; {len(named)} name {source_commands.ROOT}")
    return 1 if named or not known or not alone else 0


if __name__ == "__main__":
    sys.exit(main())
