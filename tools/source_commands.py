#!/usr/bin/env python3
"""How each source of a build is compiled by itself: without the others of its batch and without a precompiled header.

    tools/source_commands.py BUILD      writes BUILD/sources/compile_commands.json, for clang-tidy and editors
"""
import json
import re
import shlex
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BATCHED = re.compile(r'^#include "(.+)"$', re.MULTILINE)


def alone(command, batch, source):
    """The words of `command`, which compiles the file `batch`, as they compile `source` and write nothing else."""
    words, kept = iter(shlex.split(command)), []
    for word in words:
        if word in ("-MF", "-MT"):
            next(words)
        elif word == "-include":
            header = next(words)
            if not header.endswith("cmake_pch.hxx"):
                kept += [word, header]
        elif word not in ("-MD", "-Winvalid-pch", "-fpch-preprocess"):
            kept.append(source if word == batch else word)
    while kept and not kept[0].endswith(("c++", "g++", "clang++", "clang++-14")):
        kept.pop(0)  # ccache and its environment.
    return kept


def commands(build):
    """Of each source below ROOT that BUILD compiles, by its name there: the entry of a database of commands. None: BUILD has none."""
    database = build / "compile_commands.json"
    if not database.is_file():
        return None
    found = {}
    for entry in json.loads(database.read_text()):
        path = Path(entry["directory"], entry["file"]).resolve()
        is_batch = path.parent.name == "Unity"
        for source in BATCHED.findall(path.read_text()) if is_batch else [str(path)]:
            if Path(source).is_relative_to(ROOT) and not Path(source).is_relative_to(build):
                found[str(Path(source).relative_to(ROOT))] = {
                    "directory": entry["directory"], "file": source, "arguments": alone(entry["command"], entry["file"], source)}
    return found


def main():
    build = Path(sys.argv[1]).resolve()
    found = commands(build)
    if found is None:
        print(f"{build} has no compile_commands.json: configure it with a preset", file=sys.stderr)
        return 1
    folder = build / "sources"
    folder.mkdir(exist_ok=True)
    for entry in found.values():
        # clang-tidy does not know all that g++ is told.
        entry["arguments"] += ["-Wno-unknown-warning-option", "-Wno-unused-command-line-argument"]
    (folder / "compile_commands.json").write_text(json.dumps(list(found.values()), indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
