#!/usr/bin/env python3
"""Makes the chart of README.md and its caption from the tables of docs/performance.md, so that each figure is written down once.

    tests/reproduce/readme_chart.py      rewrites docs/images/beside-ddp.svg and the marked section of README.md
"""
import pathlib
import re
from xml.sax.saxutils import escape

import plot

ROOT = pathlib.Path(__file__).resolve().parents[2]
PERFORMANCE, README = ROOT / "docs/performance.md", ROOT / "README.md"
CHART = ROOT / "docs/images/beside-ddp.svg"

STEP = ("A step beside PyTorch", "ms a step (least, most)", "speed / DDP")
LOSS = "Each at the best of its rates"
DDP_STEP, OUR_STEP = "DDP, gloo", "Paceline, shared memory (the default on one machine)"
DDP_SECONDS, OUR_SECONDS, OUR_SPEED = "DDP at 1.0, seconds", "Auto at 1.0, seconds", "Auto at 1.0"
TABLES = {
    "jitter": "random (jitter)",
    "half-jitter": "half random (half-jitter)",
    "mixed": "one worker 4x slower (mixed)",
    "Pareto": "heavy tail (Pareto)",
    "phases": "slow phases, in turns (phases)",
}

CELL = re.compile(r"([\d.]+)(?: \(([\d.]+), ([\d.]+)\))?")
SECTION = re.compile(r"(<!-- chart: written by tests/reproduce/readme_chart.py -->\n).*?(<!-- end -->)", re.DOTALL)

BIG = plot.Layout(line=17, label=232, width=470, value=138, font=12)
COLOURS, NAMES = ("#a3adb9", "#4a8bd0"), ("PyTorch DDP (gloo)", "Paceline")
LEFT, INK, GREY = 18, "#1f2328", "#59636e"


def rows_below(text, heading):
    """The rows of all tables below a heading, up to the next one, each as {column: cell}."""
    section = re.search(rf"^#+ {re.escape(heading)}.*?\n(.*?)(?=^#+ |\Z)", text, re.MULTILINE | re.DOTALL)
    if section is None:
        raise LookupError(f"docs/performance.md has no heading '{heading}'")
    head = None
    for line in section.group(1).splitlines():
        if not line.startswith("|"):
            head = None
            continue
        cells = [cell.strip().replace("*", "") for cell in line.strip("| ").split("|")]
        if line.startswith("| |"):
            cells.insert(0, "")
        if head is None:
            head = cells
        elif not set(line) <= set("|-: "):
            yield dict(zip(head, cells))


def figure(text, heading, name, column):
    """The median with the least and the most, where they are there, of the first row of that name that has the column."""
    for row in rows_below(text, heading):
        if row.get("") == name and column in row:
            value, low, high = (number and float(number) for number in CELL.fullmatch(row[column]).groups())
            return {"value": value, "low": low, "high": high}
    raise LookupError(f"docs/performance.md, {heading}: no row '{name}' with a column '{column}'")


class Figures:
    def __init__(self, text):
        heading, milliseconds, speed = STEP
        self.step = [figure(text, heading, name, milliseconds) for name in (DDP_STEP, OUR_STEP)]
        self.step_speed = figure(text, heading, OUR_STEP, speed)["value"]
        self.seconds = {table: [figure(text, LOSS, name, table) for name in (DDP_SECONDS, OUR_SECONDS)] for table in TABLES}
        self.speeds = {table: figure(text, LOSS, OUR_SPEED, table)["value"] for table in TABLES}


def pair(y, label, rows, longest, value, speed):
    """Two bars, DDP's above ours, with the label of both; `value` is the format of what they say."""
    parts = [f'<text x="{BIG.label - 10}" y="{y + BIG.line + 4}" text-anchor="end">{escape(label)}</text>']
    for index, (row, colour, form) in enumerate(zip(rows, COLOURS, (value, f"{value}, {speed:.2f}x as fast"))):
        parts += plot.bar(y + index * BIG.line, row, longest, colour, BIG, form.format)
    return parts


def heading(y, title, setting):
    return [f'<text x="{LEFT}" y="{y}" font-size="14" font-weight="bold">{escape(title)}</text>',
            f'<text x="{LEFT}" y="{y + 18}" fill="{GREY}">{escape(setting)}</text>']


def svg(figures):
    parts = [f'<text x="{LEFT}" y="30" font-size="17" font-weight="bold">Paceline beside PyTorch DDP, on one machine: shorter bars are better</text>',
             *plot.legend(NAMES, COLOURS, LEFT, 44, 170)]
    parts += heading(86, "One training step, milliseconds", "No delays. Perceptron of 29.4 million parameters, batches of 32, two workers.")
    parts += pair(116, "no delays", figures.step, plot.most(figures.step), "{:.0f} ms", figures.step_speed)
    parts += heading(186, "Time to a held-out loss of 0.16, seconds",
                     "Injected delays, the same on both sides. MLP of 2,410 parameters, four workers; scheme Auto, at DDP's best learning rate.")
    y, longest = 216, plot.most(row for rows in figures.seconds.values() for row in rows)
    for table, label in TABLES.items():
        parts += pair(y, label, figures.seconds[table], longest, "{:.1f} s", figures.speeds[table])
        y += 2 * BIG.line + 12
    parts.append(f'<text x="{LEFT}" y="{y + 14}" fill="{GREY}">Virtual machine, two cores of an AMD EPYC. '
                 "Bars: medians of nine rounds (step) and three seeds (loss). Lines: least to most.</text>")
    width, height = BIG.label + BIG.width + BIG.value + LEFT, y + 32
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'font-family="Helvetica, Arial, sans-serif" font-size="12" fill="{INK}" role="img" aria-labelledby="title desc">',
        f'<title id="title">Paceline beside PyTorch DDP</title><desc id="desc">{escape(said(figures))}</desc>',
        f'<rect x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="6" fill="white" stroke="#d1d9e0"/>', *parts, "</svg>", ""])


def said(figures):
    """The chart in one sentence, for a screen reader."""
    least, largest = min(figures.speeds.values()), max(figures.speeds.values())
    return (f"Bars, shorter is better: a step takes Paceline {figures.step[1]['value']:g} ms and DDP {figures.step[0]['value']:g} ms; with injected delays "
            f"Paceline reaches the loss {least:.2f} to {largest:.2f} times as fast as DDP")


def section(figures):
    path = CHART.relative_to(README.parent).as_posix()
    return (f"![{said(figures)}]({path})\n\n"
            f"*Shorter is better. Above: one step of a perceptron with 29.4 million parameters, two workers. Below: scheme `Auto`, an MLP\n"
            f"of 2,410 parameters, four workers that injected delays slow down. One virtual machine, two cores, no GPU; DDP with gloo\n"
            f"([a step](docs/performance.md#a-step-beside-pytorch-make-bench-step), [time to a loss](docs/performance.md#each-at-the-best-of-its-rates)).*\n")


def filled(readme, figures):
    if not SECTION.search(readme):
        raise LookupError("README.md has no section for the chart")
    return SECTION.sub(lambda match: match.group(1) + section(figures) + match.group(2), readme)


def rewrite():
    figures = Figures(PERFORMANCE.read_text(encoding="utf-8"))
    CHART.parent.mkdir(exist_ok=True)
    CHART.write_text(svg(figures), encoding="utf-8")
    README.write_text(filled(README.read_text(encoding="utf-8"), figures), encoding="utf-8")


if __name__ == "__main__":
    rewrite()
