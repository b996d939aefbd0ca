#!/usr/bin/env python3
"""Says within seconds, before anything is built, whether what was asked for selects a test; and if it does not, what there is.

    tests/support/selection.py words TEXT             its words, as quotes make them, quoted for a shell
    tests/support/selection.py ctest BUILD [WORD]...  exit 1 if these arguments of ctest select nothing, 2 if they are wrong
    tests/support/selection.py closest [WORD]...      of the names on standard input, one a line, those that are like a word

Before a build ctest knows no names of cases. So it is asked about a stand-in: names and labels that the sources say
(test_names.py), and those that the last run found. A name that only a running program knows, such as a value that it prints
as a test's parameter, is found after its first run.
"""
import difflib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import test_names

ROOT = Path(__file__).resolve().parents[2]
SHOWN_MAX = 8
# With these, ctest selects by what ran before, or in another folder, or only tells something.
NOT_BY_NAME = {"--rerun-failed", "--show-only", "-I", "--tests-information", "--preset", "--list-presets", "--test-dir", "--print-labels", "-h", "-H",
               "--help", "--version", "-S", "-SP", "--script", "-D", "--build-and-test"}
NAMING = {"-R": "names", "--tests-regex": "names", "-L": "labels", "--label-regex": "labels"}


class Wrong(ValueError):
    pass


def ctest_options():
    """By option, whether the next word is its value. As `ctest --help` has them: all spellings of a line take one, or none does."""
    said = subprocess.run(["ctest", "--help"], capture_output=True, text=True, check=True).stdout
    options = {}
    for line in said.splitlines():
        if not re.match(r"  -", line):
            continue
        spellings = re.split(r"\s*= |=\s|\s{3,}", line.strip())[0]
        takes_value = re.search(r"[\w-] [<\[]| until-| after-", spellings) is not None
        for name in re.findall(r"(?:^|[, ])(-[\w.-]+)", spellings):
            options[name] = options.get(name, False) or takes_value
    return options


def check_words(words):
    """Wrong if ctest, which is silent about it, would leave a word aside."""
    options, left = ctest_options(), list(words)
    while left:
        word = left.pop(0)
        if not word.startswith("-"):
            raise Wrong(f"Write an option before '{word}', such as -R {shlex.quote(word)}: ctest runs everything for a word of its own")
        name = word.split("=", 1)[0]
        joined = re.match(r"(-j)(\d+)$", word)
        if joined or ("=" in word and name in ("--no-tests", "--show-only", "--preset")):
            continue
        if "=" in word or name not in options:
            like = difflib.get_close_matches(name, options, 1)
            raise Wrong(f"Correct '{word}': ctest has no such option, and would run everything"
                        + (f" (there is {like[0]}, with its value as the next word)" if "=" in word and name in options
                           else f" (there is {like[0]})" if like else ""))
        if name in ("-j", "--parallel") and not (left and left[0].isdigit()):
            raise Wrong(f"Write how many tests run side by side after {name}: ctest takes the next word for it, whatever that is")
        if options[name]:
            if not left or (not left[0] and name in NAMING):
                raise Wrong(f"Write what {name} is to be: the option wants a value")
            left.pop(0)


def found_lists(build):
    """What ctest's last run found; not what programs left that are built no more, or are one test by now."""
    for file in sorted(build.glob("**/*_tests.cmake")):
        tests = file.parent / "CTestTestfile.cmake"
        if tests.is_file() and file.name.replace("_tests.cmake", "_include.cmake") in tests.read_text():
            yield file


def stand_in(folder, tests, build):
    def quoted(text):
        return f"[====[{text}]====]"
    lines = []
    for name, labels in tests:
        lines.append(f"add_test({quoted(name)} true)\n")
        if labels:
            lines.append(f"set_tests_properties({quoted(name)} PROPERTIES LABELS {quoted(';'.join(labels))})\n")
    lines += [f"include({quoted(file)})\n" for file in found_lists(build)]
    (folder / "CTestTestfile.cmake").write_text("".join(lines))


def count(words, tests, build):
    """How many tests ctest would select; Wrong, with its own words, if it cannot be asked that."""
    with tempfile.TemporaryDirectory() as folder:
        stand_in(Path(folder), tests, build)
        done = subprocess.run(["ctest", "-N", *words], cwd=folder, capture_output=True, text=True, check=False)
    total = re.search(r"^Total Tests: (\d+)$", done.stdout, re.MULTILINE)
    refused = [line for line in (done.stdout + done.stderr).splitlines() if line.startswith("RegularExpression::compile")]
    if done.returncode != 0 or total is None or refused:
        raise Wrong("Correct what ctest refuses:\n" + ("\n".join(refused) or done.stderr.strip() or done.stdout.strip()))
    return int(total[1])


def closest(words, names):
    """The names that hold a part of a word, or are nearly one."""
    found = []
    by_lower = {name.lower(): name for name in names}
    for part in re.findall(r"\w{3,}", " ".join(word for word in words if not word.startswith("-")).lower()):
        if part not in ("and", "not", "tests", "e2e"):
            found += difflib.get_close_matches(part, by_lower, SHOWN_MAX, 0.7)
            found += [name for name in by_lower if part in name][:SHOWN_MAX]
    return [by_lower[name] for name in dict.fromkeys(found)][:SHOWN_MAX]


def columns(names, width=120):
    """As many in a line as fit, below one another in the order of the alphabet."""
    lines, line = [], " "
    for name in sorted(names):
        if len(line) + len(name) + 1 > width:
            lines.append(line)
            line = " "
        line += f" {name}"
    return "\n".join([*lines, line])


def explain(words, known):
    asked = [(NAMING[option], value) for option, value in zip(words, words[1:]) if option in NAMING]
    lines = [f"Change ARGS: '{shlex.join(words)}' selects none of the tests."]
    for what, value in asked:
        if what == "names":
            like = closest([value], known.names())
            if value in known.labels():
                lines.append(f"{value} is a label: -L {value}")
            lines += [f"{suite} is a suite of {program}, which is one test: -R {program}" for program, suites in known.whole.items()
                      for suite in suites if suite.lower() in value.lower()]
            lines += [f"The program {value} has the suites {', '.join(known.programs[value])}"] if known.programs.get(value) else []
        else:
            like = closest([value], known.labels())
        lines.append(f"{what.capitalize()} like '{value}': {', '.join(like) or 'none'}")
    lines += ["Labels (-L):", columns(known.labels()), "Test programs (-R takes one of their suites or cases):",
              columns(known.programs), "Other tests (-R):", columns(known.others())]
    return "\n".join(lines)


def check_ctest(build, words):
    if not words or shutil.which("ctest") is None:  # All of it; or a machine that make sets up first.
        return 0
    if any(word.split("=", 1)[0] in NOT_BY_NAME for word in words):
        return 0
    try:
        check_words(words)
        known = test_names.read(ROOT)
        if count(words, known.tests, build) > 0:
            return 0
    except Wrong as trouble:
        print(f"tests: {trouble}", file=sys.stderr)
        return 2
    print(f"tests: {explain(words, known)}", file=sys.stderr)
    return 1


def main():
    command, *words = sys.argv[1:] or [""]
    if command == "words":
        try:
            print(shlex.join(shlex.split(" ".join(words))))
        except ValueError as trouble:
            sys.exit(f"tests: Close the quotes in ARGS: {trouble}: {' '.join(words)}")
    elif command == "ctest" and words:
        sys.exit(check_ctest(Path(words[0]), words[1:]))
    elif command == "closest":
        print(", ".join(closest(words, sys.stdin.read().splitlines())) or "none")
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
