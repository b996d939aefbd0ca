"""The tables and plots of docs/reproduction, from the rows that are checked in beside them.

    tests/reproduce/page.py      rewrites them
"""
import json
import pathlib
import re

import auto_page
import auto_rates_page
import plot
from experiment import BEST, COMPUTING, RATE, RATES_PART, SAME, STEP_SECONDS, STEPS, part_said

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "docs/reproduction"
ROWS = FOLDER / "rows.json"
OF_CLUSTERS = auto_page.SECTIONS | auto_rates_page.SECTIONS
SECTION = re.compile(rf"(<!-- (tables|published|all published|{'|'.join(OF_CLUSTERS)})(?: ([\w-]+))?: written by tests/reproduce/page.py -->\n).*?(<!-- end -->)", re.DOTALL)
OF_ARMS = {RATE, STEPS, STEP_SECONDS, COMPUTING, RATES_PART, "virtual seconds"}


def read_rows(path):
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else []


def write_rows(path, rows):
    lines = ",\n".join(json.dumps(row) for row in rows)
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def merged(before, rows):
    """Of the experiments that were measured anew only the new rows."""
    anew = {row["experiment"] for row in rows}
    kept = [row for row in before if row["experiment"] not in anew]
    return sorted(kept + rows, key=lambda row: row["experiment"])  # Stable: an experiment's stay in order.


def number(value):
    """With three digits that count."""
    if value is None:
        return "-"
    if value == 0:
        return "0"
    shown = f"{value:.3g}"
    return f"{value:,.0f}" if "e" in shown and abs(value) >= 1 else shown


def ranged(row):
    """The median, and the least and the most where they differ from it."""
    middle, low, high = (number(row[name]) for name in ("value", "low", "high"))
    return middle if low == middle == high else f"{middle} ({low}..{high})"


def is_time(row):
    return row["unit"].startswith("of ") and row["unit"].endswith("'s time")


def settings_of(rows):
    """Names of settings that have arms at both rates, in order."""
    return list(dict.fromkeys(row["setting"].removesuffix(f", {SAME}") for row in rows if row["setting"].endswith(f", {SAME}") and row["unit"] == RATE))


def arms_of(rows, setting):
    return list(dict.fromkeys(row["arm"] for row in rows if row["setting"] == f"{setting}, {SAME}" and row["unit"] == RATE))


def own_rows(rows):
    """Those that an experiment adds, and those of arms for which something is published."""
    named = {(f"{setting}, {mode}", arm) for setting in settings_of(rows) for arm in arms_of(rows, setting) for mode in (SAME, BEST)}
    named |= {(setting, arm) for setting in settings_of(rows) for arm in arms_of(rows, setting)}
    first = {setting: arms_of(rows, setting)[0] for setting in settings_of(rows)}

    def is_of_arm(row):
        baseline = first.get(re.sub(f", ({SAME}|{BEST})$", "", row["setting"]))
        return (row["setting"], row["arm"]) in named and (row["unit"] in OF_ARMS or row["unit"] == f"of {baseline}'s time")
    return [row for row in rows if row["published"] is not None or not is_of_arm(row)]


def table_of(rows, setting):
    arms = arms_of(rows, setting)
    at = {(row["arm"], row["setting"], row["unit"]): row for row in rows}
    beside = f"of {arms[0]}'s time"
    rate = number(at[arms[0], f"{setting}, {SAME}", RATE]["value"])
    yield (f"| {setting} | at {rate}: {beside} | s a step | steps | computing | at its best: rate | {beside} | s a step | steps | computing | the larger rate's part of the gain |")
    yield "|---|" + "---:|" * 10
    for arm in arms:
        cells = [arm]
        for mode in (SAME, BEST):
            row = lambda unit, mode=mode: at[arm, f"{setting}, {mode}", unit]
            cells += [number(row(RATE)["value"])] if mode == BEST else []
            cells += [ranged(row(beside)), number(row(STEP_SECONDS)["value"]), number(row(STEPS)["value"]), f"{row(COMPUTING)['value']:.0%}"]
        part = at.get((arm, setting, RATES_PART))
        cells.append("" if part is None else part_said(part["value"]))
        yield "| " + " | ".join(cells) + " |"


def published_of(rows):
    yield "| | setting | unit | published | here |"
    yield "|---|---|---|---:|---:|"
    for row in rows:
        yield f"| {row['arm']} | {row['setting']} | {row['unit']} | {number(row['published']) if row['published'] is not None else ''} | {ranged(row)} |"


def tables(rows):
    """Of one experiment: a table a setting, and what it adds to them."""
    parts = ["\n".join(table_of(rows, setting)) for setting in settings_of(rows)]
    own = own_rows(rows)
    return "\n\n".join(parts + (["\n".join(published_of(own))] if own else []))


def filled(text, rows):
    """The page with its marked sections as they follow from the rows."""
    def section(match):
        kind, name = match.group(2), match.group(3)
        of = [row for row in rows if name is None or row["experiment"] == name]
        if kind == "tables":
            made = tables(of)
        elif kind in OF_CLUSTERS:
            made = "\n".join(OF_CLUSTERS[kind](rows))
        else:
            made = "\n".join(published_of([row for row in of if row["published"] is not None]))
        return f"{match.group(1)}{made}\n{match.group(4)}"
    return SECTION.sub(section, text)


def pages():
    return [FOLDER.with_suffix(".md"), *sorted(FOLDER.glob("*.md"))]


def plots(rows):
    """File names and SVGs."""
    for name in dict.fromkeys(row["experiment"] for row in rows):
        of = [row for row in rows if row["experiment"] == name]
        groups = []
        if not settings_of(of):  # Of clusters that are compared at one rate only there are tables.
            continue
        for setting in settings_of(of):
            arms = arms_of(of, setting)
            times = {(row["arm"], row["setting"]): row for row in of if row["unit"] == f"of {arms[0]}'s time"}
            groups.append((setting, [(arm, *(times[arm, f"{setting}, {mode}"] for mode in (SAME, BEST))) for arm in arms]))
        yield f"{name}.svg", plot.bars(f"{name}: time to the target beside the first arm's; less is faster", groups)


def rewrite():
    rows = read_rows(ROWS)
    for path in pages():
        path.write_text(filled(path.read_text(encoding="utf-8"), rows), encoding="utf-8")
    for name, svg in plots(rows):
        (FOLDER / name).write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    rewrite()
