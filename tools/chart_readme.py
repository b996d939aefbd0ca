#!/usr/bin/env python3
"""Makes the chart's README of its values.yaml: each value with its default and what the comment beside or above it says.

    tools/chart_readme.py           rewrites charts/paceline/README.md
    tools/chart_readme.py --check   says what has no comment, and whether the file is another one; exit 1 if so
"""
import re
import sys
from pathlib import Path

import yaml

CHART = Path(__file__).resolve().parents[1] / "charts/paceline"
INTRODUCTION = """# The chart paceline

<!-- Written by tools/chart_readme.py from values.yaml. -->

The operator of TrainingJobs, its rights, and on request alerts, dashboards and monitors.

```
helm install paceline charts/paceline --namespace paceline-system --create-namespace
helm test paceline --namespace paceline-system
```

[install.md](../../docs/install.md) says how: one namespace alone, several releases, upgrades, OpenShift, networks that are closed by default.
`values.schema.json` refuses what is not listed here. To leave out what has a default, say `null` (`--set operator.podSecurityContext.runAsUser=null`).

| value | default | what |
|---|---|---|
"""


def is_table(node):
    return isinstance(node, yaml.MappingNode) and not node.flow_style and bool(node.value)


def comment(lines, number):
    """That of the line, or of the lines above it."""
    beside = re.search(r"\s#\s+(.*)$", lines[number])
    if beside:
        return beside.group(1)
    above = []
    while number > 0 and re.match(r"\s*# ", lines[number - 1]):
        number -= 1
        above.insert(0, lines[number].strip().removeprefix("# "))
    return " ".join(above)


def default(node):
    """In one line; of a list of objects how many there are, since it would fill the table."""
    value = yaml.safe_load(yaml.serialize(node, Dumper=yaml.SafeDumper))
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return f"{len(value)} of them"
    return yaml.safe_dump(value, default_flow_style=True, width=10**6).strip().removesuffix("...").strip()


def rows(node, lines, path=""):
    """(path, default or None for a table of values, comment), in the file's order."""
    for key, value in node.value:
        name = f"{path}.{key.value}".removeprefix(".")
        said = comment(lines, key.start_mark.line)
        if is_table(value):
            if said:
                yield name, None, said
            yield from rows(value, lines, name)
        else:
            yield name, default(value), said


def all_rows(text):
    return list(rows(yaml.compose(text), text.splitlines()))


def readme(text):
    def cell(words):
        return words.replace("|", "\\|")
    written = [f"| `{name}` | {'' if value is None else f'`{cell(value)}`'} | {cell(said)} |" for name, value, said in all_rows(text)]
    return INTRODUCTION + "\n".join(written) + "\n"


def uncommented(text):
    """Fields of a table that says what it is need no words of their own: they are Kubernetes' own."""
    found = all_rows(text)
    tables = [name for name, value, _ in found if value is None]
    return [name for name, _, said in found if not said and not any(name.startswith(f"{table}.") for table in tables)]


def main():
    text = (CHART / "values.yaml").read_text()
    file = CHART / "README.md"
    if sys.argv[1:] != ["--check"]:
        file.write_text(readme(text))
        return 0
    wrong = [f"{name} has no comment" for name in uncommented(text)]
    if not file.is_file() or file.read_text() != readme(text):
        wrong.append("README.md is not that of values.yaml: tools/chart_readme.py")
    for one in wrong:
        print(f"charts/paceline: {one}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
