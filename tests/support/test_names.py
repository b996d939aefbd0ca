"""What names and labels ctest will have, read from CMakeLists.txt and test sources before anything is built."""
import re
import sys
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
from tree import walked  # noqa: E402

FUNCTION = re.compile(r"^function\((\w+) ?([^)]*)\)\n(.*?)^endfunction\(\)", re.MULTILINE | re.DOTALL)
VARIABLE = re.compile(r"\bset\((\w+) ([^()\s]+)\)")
FOREACH = re.compile(r"foreach\((\w+) (?!IN )([^)]*)\)((?:(?!foreach\().)*?)endforeach\(\)", re.DOTALL)
COMMAND = re.compile(r"\b(paceline_test|add_test|set_tests_properties)\s*\(((?:[^()]|\([^()]*\))*)\)")
WORD = re.compile(r'"[^"]*"|[^\s"]+')
KEYWORDS = {"SERIAL", "WHOLE", "TIMEOUT", "NAME", "COST", "SOURCES", "DEPS", "LIBRARIES", "LABELS", "ENVIRONMENT"}
CASE = re.compile(r"^[ \t]*TEST(?P<kind>|_F|_P)\(\s*(?P<suite>\w+),\s*(?:DISABLED_)?(?P<case>\w+)\s*\)", re.MULTILINE)
INSTANCE = re.compile(r"\bINSTANTIATE_TEST_SUITE_P\(\s*(\w+),\s*(\w+)")
# What the parameter of a test may be called: a text, an enumerator, a number of its file.
PARAMETER = re.compile(r'"(\w+)"|\bk([A-Z]\w*)|\b(\d{1,4})\b')


class Names(NamedTuple):
    tests: list  # (name, labels)
    programs: dict  # By test program, its suites.
    whole: dict  # The same for programs that are one test.

    def names(self):
        """What a person may mean: suites, cases, other tests. No parameters."""
        cases = [name for name, _ in self.tests if "/" not in name]
        return list(dict.fromkeys([name.split(".")[0] for name in cases] + cases + [s for suites in self.programs.values() for s in suites]))

    def labels(self):
        return sorted({label for _, labels in self.tests for label in labels})

    def others(self):
        return [name for name, _ in self.tests if "." not in name and "/" not in name]


def read(root):
    known = Names([], {}, {})
    for path in walked(root):
        if Path(path).name == "CMakeLists.txt":
            read_commands(root, root / path, known)
    return known


def read_commands(root, file, known):
    others = {}
    for command, text in COMMAND.findall(expanded(file.read_text())):
        words = [word.strip('"') for word in WORD.findall(text)]
        if command == "paceline_test":
            read_program(root, file.parent, fields(words), known)
        elif command == "add_test" and words[0] == "NAME":
            others[words[1]] = []
        elif "LABELS" in words:
            for name in words[:words.index("PROPERTIES")]:
                others[name] = [label for label in words[words.index("LABELS") + 1].split(";") if label]
    known.tests.extend(others.items())


def expanded(text):
    """Without comments, loops and the file's own variables; what its own functions do, where it calls them."""
    text = re.sub(r"#[^\n]*", "", text)
    for name, value in VARIABLE.findall(text):
        text = text.replace(f"${{{name}}}", value)
    for name, parameters, body in FUNCTION.findall(text):
        def called(match, parameters=parameters.split(), body=body):
            for parameter, value in zip(parameters, WORD.findall(match[1])):
                body = body.replace(f"${{{parameter}}}", value)
            return body
        text = re.sub(rf"^([ \t]*){name}\(([^)]*)\)", lambda match, called=called: called((match[0], match[2])), FUNCTION.sub("", text),
                      flags=re.MULTILINE)
    while FOREACH.search(text):
        text = FOREACH.sub(lambda match: "".join(match[3].replace(f"${{{match[1]}}}", item) for item in match[2].split()), text)
    return text


def fields(words):
    """The arguments of paceline_test by keyword; TARGET is the first."""
    found, keyword = {"TARGET": [words[0]]}, "TARGET"
    for word in words[1:]:
        if word in KEYWORDS:
            keyword = word
            found.setdefault(keyword, [])
        else:
            found[keyword].append(word)
    return found


def read_program(root, folder, arguments, known):
    target = arguments["TARGET"][0]
    name = arguments.get("NAME", [f"{target}_test"])[0]
    labels = [target, *arguments.get("LABELS", [])]
    cases, instances = [], []
    for source in arguments.get("SOURCES", []):
        source = source.replace("${CMAKE_SOURCE_DIR}", str(root)).replace("${CMAKE_CURRENT_SOURCE_DIR}", str(folder))
        file = folder / source
        if not file.is_file():
            continue
        text = file.read_text()
        cases += [match.groupdict() for match in CASE.finditer(text)]
        parameters = {word for words in PARAMETER.findall(text) for word in words if word}
        instances += [(prefix, suite, parameters) for prefix, suite in INSTANCE.findall(text)]
    suites = list(dict.fromkeys(case["suite"] for case in cases))
    if "WHOLE" in arguments:
        known.tests.append((name, labels))
        known.whole[name] = suites
        return
    known.programs[name] = suites
    for case in cases:
        if case["kind"] != "_P":
            known.tests.append((f"{case['suite']}.{case['case']}", labels))
        for prefix, suite, parameters in instances:
            if case["kind"] == "_P" and suite == case["suite"]:
                known.tests.extend((f"{prefix}/{suite}.{case['case']}/{parameter}", labels) for parameter in ["", *sorted(parameters)])
