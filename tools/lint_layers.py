#!/usr/bin/env python3
"""Compares the #include lines of every folder with tools/layers.txt, and keeps clocks, threads, chance and I/O out of
the folders that are marked pure there.

    tools/lint_layers.py [ROOT]      prints file:line and what is allowed; exit 1 if anything is wrong

Rules:
- A file may include its own target's folder and those of the targets that its line lists.
- Tests (foo_test.cc, testing/) may also include whatever lies on a lower floor, or is in the closure of their target.
- Programs (the top-level folders with a main.cc to be) never include one another, not even in tests.
- Third-party headers that have walls around them (WALLS) stay inside.
- What crosses targets lives in tests/, which may include anything.

It looks at the files that git tracks; in a copy without git, at all files.
"""
import re
import sys
from pathlib import Path

from tree import Tree

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)
# Generated code is included as protoc names it.
GENERATED = "paceline/v1/"
SHELF = ("lib", "proto", "tests")

# Third-party headers and the only targets that may include them.
WALLS = [
    (re.compile(r"(torch|ATen|c10)/"), {"learn"}),
    (re.compile(r"(grpc|grpcpp|google/protobuf)/"), {"proto", "rpc", "ps_service"}),
    (re.compile(r"(prometheus|spdlog)/"), {"telemetry"}),
    (re.compile(r"yaml-cpp/"), {"job", "kube_client"}),
    (re.compile(r"curl/"), {"kube_client", "kube_testing", "controller"}),
    (re.compile(r"absl/"), {"base", "process"}),
]

BANNED_IN_PURE = [
    ("a clock (time is an argument)",
     r"\b(?:steady_clock|system_clock|high_resolution_clock|clock_gettime|gettimeofday)\b|::now\s*\(|<ctime>"),
    ("threads and locks",
     r"\bstd::(?:jthread|thread|\w*mutex|condition_variable\w*|atomic\w*|async|future|promise|call_once|once_flag|"
     r"(?:lock|scoped|unique|shared)_(?:guard|lock))\b|\bthread_local\b|\bpthread_\w+|"
     r"<(?:thread|mutex|shared_mutex|atomic|condition_variable|future|pthread\.h)>"),
    ("the environment", r"\b(?:secure_)?getenv\b|\bsetenv\b"),
    ("containers without an order", r"\bunordered_(?:map|set|multimap|multiset)\b"),
    ("chance, or what differs between standard libraries",
     r"\bstd::\w+_distribution\b|\brandom_device\b|\bstd::(?:shuffle|sample|random_shuffle)\b|\bs?rand\s*\("),
    ("files and streams",
     r"<(?:fstream|iostream|filesystem|unistd\.h|fcntl\.h|sys/\w+\.h)>|\bstd::(?:[io]?fstream|cout|cerr|cin|clog|"
     r"filesystem)\b|\bfopen\b"),
]
BANNED_IN_PURE = [(what, re.compile(pattern)) for what, pattern in BANNED_IN_PURE]

COMMENT_OR_STRING = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<delimiter>[^()\\ ]*)\(.*?\)(?P=delimiter)"|"(?:\\.|[^"\\\n])*"', re.DOTALL)


class Target:
    def __init__(self, floor, name, folder, purity, uses):
        self.floor, self.name, self.folder, self.purity, self.uses = int(floor), name, folder, purity, uses
        self.closure = set()


def read_layers(path):
    targets = {}
    for line in path.read_text().splitlines():
        fields = line.split()
        if fields and fields[0].isdigit():
            target = Target(*fields[:4], [name for name in fields[4:] if name != "-"])
            targets[target.name] = target
    for target in sorted(targets.values(), key=lambda t: t.floor):
        for name in target.uses:
            target.closure |= {name} | targets[name].closure
    return targets


def owner(path, targets):
    """The target whose folder is the longest that holds `path`."""
    holding = [t for t in targets.values() if path.startswith(t.folder + "/")]
    return max(holding, key=lambda t: len(t.folder), default=None)


def is_test(path):
    return path.endswith("_test.cc") or "/testing/" in path


def blank(text, keep_strings):
    """`text` without comments (and without what strings hold), every line where it was."""
    def replace(match):
        token = match.group(0)
        if not token.startswith("/") and keep_strings:
            return token
        return re.sub(r"[^\n]", " ", token)
    return COMMENT_OR_STRING.sub(replace, text)


def allowed_targets(path, target, targets):
    allowed = {target.name} | set(target.uses)
    if is_test(path):
        allowed |= target.closure | {t.name for t in targets.values() if t.floor < target.floor}
    return allowed


def check_quoted(path, target, included, targets):
    if included.startswith("tests/"):
        return f'{path} may not include "{included}": only tests/ includes tests/'
    used = owner("proto/" if included.startswith(GENERATED) else included, targets)
    if used is None:
        return f'"{included}" is of no target in tools/layers.txt; includes are relative to the repository'
    top, used_top = path.split("/")[0], used.folder.split("/")[0]
    if used_top not in SHELF and top not in SHELF and top != used_top:
        return f'"{included}": programs never use one another ({top} and {used_top})'
    allowed = allowed_targets(path, target, targets)
    if used.name not in allowed:
        return f'"{included}" is of {used.name}; {target.name} may use: {" ".join(sorted(allowed - {target.name})) or "nothing"}'
    return None


def check_wall(target, included):
    for pattern, inside in WALLS:
        if pattern.match(included) and target.name not in inside:
            return f"<{included}> stays inside: {' '.join(sorted(inside))}"
    return None


def check_file(root, path, targets):
    target = owner(path, targets)
    text = (root / path).read_text()
    code = blank(text, keep_strings=True)
    for match in INCLUDE.finditer(code):
        line = code.count("\n", 0, match.start(2)) + 1
        kind, included = match.groups()
        wrong = check_quoted(path, target, included, targets) if kind == '"' else check_wall(target, included)
        if wrong:
            yield f"{path}:{line}: {wrong}"
    if target.purity != "pure" or is_test(path):
        return
    code = blank(text, keep_strings=False)
    for what, pattern in BANNED_IN_PURE:
        for match in pattern.finditer(code):
            line = code.count("\n", 0, match.start()) + 1
            yield f"{path}:{line}: {target.name} is pure and may not use {what}: {match.group(0).strip()}"


def check_tree(root):
    targets = read_layers(root / "tools/layers.txt")
    tree = Tree(root)
    for top in sorted({t.folder.split("/")[0] for t in targets.values()}):
        for file in tree.below(top):
            path = file.relative_to(root).as_posix()
            if file.suffix not in (".h", ".cc"):
                continue
            if owner(path, targets) is None:
                yield f"{path}:1: the folder is of no target in tools/layers.txt"
            else:
                yield from check_file(root, path, targets)


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parent.parent)
    findings = list(check_tree(root))
    for finding in findings:
        print(finding)
    if findings:
        print(f"{len(findings)} findings; the floors are in tools/layers.txt")
        sys.exit(1)


if __name__ == "__main__":
    main()
