"""Bars as SVG: of each setting a group, of each arm two bars, at the rate of all and at the best of its own."""
from xml.sax.saxutils import escape

LINE, LABEL, WIDTH, VALUE, TOP = 9, 130, 440, 120, 46
COLOURS = ("#9db8d9", "#24598f")
NAMES = ("at the same rate", "each at its best rate")


def bars(title, groups):
    """`groups`: (setting, [(arm, row, row)]). A bar is a row's value with a line from its low to its high; a row without one has failed."""
    most = max((row["high"] if row["high"] is not None else row["value"] or 0 for _, arms in groups for _, *rows in arms for row in rows), default=1) or 1
    parts, y = [], TOP
    for index, name in enumerate(NAMES):
        x = LABEL + 160 * index
        parts.append(f'<rect x="{x}" y="26" width="10" height="10" fill="{COLOURS[index]}"/><text x="{x + 14}" y="35">{name}</text>')
    for setting, arms in groups:
        y += 2 * LINE
        parts.append(f'<text x="4" y="{y}" font-weight="bold">{escape(setting)}</text>')
        for arm, *rows in arms:
            y += 6
            parts.append(f'<text x="{LABEL - 6}" y="{y + LINE + 4}" text-anchor="end">{escape(arm)}</text>')
            for colour, row in zip(COLOURS, rows):
                parts += bar(y, row, most, colour)
                y += LINE
        y += LINE
    width, height = LABEL + WIDTH + VALUE, y + LINE
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" font-size="11">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        f'<text x="4" y="16" font-size="13">{escape(title)}</text>', *parts, "</svg>", ""])


def bar(y, row, most, colour):
    if row["value"] is None:
        return [f'<text x="{LABEL}" y="{y + LINE}" font-size="9" fill="#a33">not reached</text>']
    along = lambda value: LABEL + WIDTH * value / most
    parts = [f'<rect x="{LABEL}" y="{y}" width="{along(row["value"]) - LABEL:.1f}" height="{LINE - 1}" fill="{colour}"/>']
    end = along(row["value"])
    if row["high"] is not None and row["high"] > row["low"]:
        end = along(row["high"])
        parts.append(f'<line x1="{along(row["low"]):.1f}" x2="{end:.1f}" y1="{y + LINE / 2 - .5}" y2="{y + LINE / 2 - .5}" stroke="black"/>')
    return parts + [f'<text x="{end + 4:.1f}" y="{y + LINE - 1}" font-size="9">{row["value"]:.2f}</text>']
