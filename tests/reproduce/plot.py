"""Bars as SVG, each a median with a line from the least to the most. `bars` makes a page of them: a group for each setting, and for each arm
one bar at the rate of all and one at the best of its own."""
from typing import NamedTuple
from xml.sax.saxutils import escape


class Layout(NamedTuple):
    """Pixels: of a bar with the gap below it, of what stands left of the bars, of the longest bar, and of what stands right of them."""
    line: int
    label: int
    width: int
    value: int
    font: int


PAGE = Layout(line=9, label=130, width=440, value=120, font=9)
LINE, TOP = PAGE.line, 46
COLOURS = ("#9db8d9", "#24598f")
NAMES = ("at the same rate", "each at its best rate")


def bars(title, groups):
    """`groups`: (setting, [(arm, row, row)]). A bar is a row's value with a line from its low to its high; a row without one has failed."""
    longest = most(row for _, arms in groups for _, *rows in arms for row in rows)
    parts, y = legend(NAMES, COLOURS, PAGE.label, 26, 160), TOP
    for setting, arms in groups:
        y += 2 * LINE
        parts.append(f'<text x="4" y="{y}" font-weight="bold">{escape(setting)}</text>')
        for arm, *rows in arms:
            y += 6
            parts.append(f'<text x="{PAGE.label - 6}" y="{y + LINE + 4}" text-anchor="end">{escape(arm)}</text>')
            for colour, row in zip(COLOURS, rows):
                parts += bar(y, row, longest, colour)
                y += LINE
        y += LINE
    width, height = PAGE.label + PAGE.width + PAGE.value, y + LINE
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" font-size="11">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        f'<text x="4" y="16" font-size="13">{escape(title)}</text>', *parts, "</svg>", ""])


def most(rows):
    return max((row["high"] if row["high"] is not None else row["value"] or 0 for row in rows), default=1) or 1


def legend(names, colours, x, y, step):
    return [f'<rect x="{x + step * index}" y="{y}" width="10" height="10" fill="{colour}"/>'
            f'<text x="{x + step * index + 14}" y="{y + 9}">{escape(name)}</text>' for index, (name, colour) in enumerate(zip(names, colours))]


def bar(y, row, longest, colour, layout=PAGE, said="{:.2f}".format):
    """`said` makes the text beside the bar of the row's value."""
    if row["value"] is None:
        return [f'<text x="{layout.label}" y="{y + layout.line}" font-size="{layout.font}" fill="#a33">not reached</text>']
    along = lambda value: layout.label + layout.width * value / longest
    end, middle = along(row["value"]), y + layout.line / 2 - .5
    parts = [f'<rect x="{layout.label}" y="{y}" width="{end - layout.label:.1f}" height="{layout.line - 1}" fill="{colour}"/>']
    if row["high"] is not None and row["high"] > row["low"]:
        end = along(row["high"])
        parts.append(f'<line x1="{along(row["low"]):.1f}" x2="{end:.1f}" y1="{middle}" y2="{middle}" stroke="black"/>')
    base = y + layout.line - 1 - (layout.line - layout.font) // 2
    return parts + [f'<text x="{end + 4:.1f}" y="{base}" font-size="{layout.font}">{escape(said(row["value"]))}</text>']
