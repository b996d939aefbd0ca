#!/usr/bin/env python3
"""Compiles a sample of the sources by themselves: a precompiled header, or the sources before it in its batch, hide that a file forgot to
include what it uses.

    tools/compiles_alone.py BUILD [SOURCE]...

Without sources: those that the last commit touched, and some that the commit's name draws, so that every commit looks at
others; four of each at most. Only syntax and types are checked, in seconds. The ci preset compiles everything that way.
Exit status 77: the build has no list of commands.
"""
import random
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import source_commands

DRAWN = 4


def git(*arguments):
    ran = subprocess.run(["git", "-C", str(source_commands.ROOT), *arguments], capture_output=True, text=True, check=False)
    return ran.stdout.strip() if ran.returncode == 0 else ""


def chosen(sources):
    """Names of sources, relative to the checkout."""
    commit = git("rev-parse", "HEAD")
    touched = [name for name in git("diff", "--name-only", "HEAD~1", "HEAD").splitlines() if name in sources][:DRAWN]
    drawn = random.Random(commit).sample(sorted(sources), min(DRAWN, len(sources)))
    return sorted({*touched, *drawn})


def main():
    build = Path(sys.argv[1]).resolve()
    commands = source_commands.commands(build)
    if commands is None:
        print(f"skipped: {build} has no compile_commands.json: configure it with a preset")
        return 77
    names = sys.argv[2:] or chosen(set(commands))
    unknown = [name for name in names if name not in commands]
    if unknown:
        print(f"name sources of the build, relative to the checkout: no {', '.join(unknown)} in {build}")
        return 2

    def compiled(name):
        entry = commands[name]
        return subprocess.run([*entry["arguments"], "-fsyntax-only"], cwd=entry["directory"], capture_output=True, text=True, check=False)

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
