#!/usr/bin/env python3
"""Compiles a sample of the sources without precompiled headers, which hide that a file forgot to include what it uses.

    tools/compiles_alone.py BUILD [SOURCE]...

Without sources: those that the last commit touched, and some that the commit's name draws, so that every commit looks at
others; four of each at most. Only syntax and types are checked, in seconds. The ci preset compiles everything that way.
Exit status 77: the build has no list of commands.
"""
import json
import random
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DRAWN = 4


def alone(command):
    """The command less the precompiled header and what it would write: it checks the syntax alone."""
    words, kept = iter(shlex.split(command)), []
    for word in words:
        if word in ("-o", "-MF", "-MT"):
            next(words)
        elif word == "-include":
            header = next(words)
            if not header.endswith("cmake_pch.hxx"):
                kept += [word, header]
        elif word not in ("-MD", "-c", "-Winvalid-pch", "-fpch-preprocess"):
            kept.append(word)
    while kept and not kept[0].endswith(("c++", "g++", "clang++", "clang++-14")):
        kept.pop(0)  # ccache and its environment.
    return [*kept, "-fsyntax-only"]


def git(*arguments):
    ran = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=False)
    return ran.stdout.strip() if ran.returncode == 0 else ""


def chosen(sources):
    """Names of sources below ROOT."""
    commit = git("rev-parse", "HEAD")
    touched = [name for name in git("diff", "--name-only", "HEAD~1", "HEAD").splitlines() if name in sources][:DRAWN]
    drawn = random.Random(commit).sample(sorted(sources), min(DRAWN, len(sources)))
    return sorted({*touched, *drawn})


def main():
    build = Path(sys.argv[1]).resolve()
    database = build / "compile_commands.json"
    if not database.is_file():
        print(f"skipped: {database} is not there: configure the build with a preset")
        return 77
    commands = {}
    for entry in json.loads(database.read_text()):
        path = Path(entry["directory"], entry["file"]).resolve()
        if path.is_relative_to(ROOT) and not path.is_relative_to(build):
            commands[str(path.relative_to(ROOT))] = entry
    names = sys.argv[2:] or chosen(set(commands))
    unknown = [name for name in names if name not in commands]
    if unknown:
        print(f"name sources of the build, relative to the checkout: no {', '.join(unknown)} in {database}")
        return 2

    def compiled(name):
        return subprocess.run(alone(commands[name]["command"]), cwd=commands[name]["directory"], capture_output=True, text=True, check=False)

    failed = 0
    with ThreadPoolExecutor(2) as pool:
        for name, result in zip(names, pool.map(compiled, names)):
            if result.returncode != 0:
                failed += 1
                print(f"include in {name} what it uses; alone it does not compile:\n{result.stderr}")
    print(f"compiled alone: {len(names) - failed} of {len(names)}: {' '.join(names)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
