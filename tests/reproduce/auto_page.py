"""The tables of docs/reproduction.md that are about 58 clusters, from the rows that are checked in: single schemes and Auto beside the best of
them, at one rate and at the best of each, and Auto with more seeds where it is most likely to fail.
"""
import statistics

import auto
from auto import about
from experiment import BEST, SAME
from lives import FAILED

NAMES = {"bsp": "BSP", "asp": "ASP", "ssp1": "SSP1", "ssp3": "SSP3", "ssp8": "SSP8", "wbsp": "WBSP", "ps+": "PS+", "lb": "LB", "dbw": "DBW", "dbwI": "DBW I"}
SETS = {"": "of the 28", "e": "at the edge", "d": "drawn", "l": "large"}


def values_of(rows, unit, mode):
    """By setting, of each arm: (median, least, most) of that unit, at the rate of all or at the best; in the order of rows."""
    values = {}
    for row in rows:
        if row["experiment"] == auto.SINGLES and row["unit"] == unit and row["setting"].endswith(f", {BEST}") == (mode == BEST):
            setting = row["setting"].removesuffix(f", {BEST}")
            values.setdefault(setting, {})[row["arm"]] = tuple(FAILED if row[name] is None else row[name] for name in ("value", "low", "high"))
    return values


def times_of(rows, mode=SAME):
    """Beside BSP's."""
    return values_of(rows, auto.BESIDE, mode)


def name_of(arm):
    if arm.startswith("ka"):
        return "k-batch"
    return NAMES.get(arm) or ("bkI" if arm.endswith("I") else "bk")


def interrupts(arm):
    return arm.endswith("I")


def best_of(measured, fits=lambda arm: True):
    """Name and time of the best single scheme of those, BSP among them."""
    best, at = auto.oracle_of({arm: times for arm, times in measured.items() if arm == "auto" or fits(arm)})
    return name_of(best), at


def spread(times):
    return f"{auto.number(times[0])} ({auto.number(times[1])}, {auto.number(times[2])})"


def singles(rows, mode=SAME):
    yield "| # | scenario | bk | bkI | DBW | DBW I | SSP1 | SSP3 | SSP8 | ASP | k-batch | WBSP | PS+ | LB | best single |"
    yield "|" + "---|" * 15
    for setting, measured in times_of(rows, mode).items():
        best, at = auto.oracle_of(measured)
        yield f"{about(setting)} {' | '.join(auto.columns(measured))} | {best} {auto.number(at)} |"


def is_stars(arm):
    """Of STAR's modes, which update on the first x pushes of any version: x = 1, some, and with BSP all."""
    return arm == "asp" or arm.startswith("ka")


def beside_best(measured):
    """How near Auto comes to the best without interrupts, to the best of all, and to the best of STAR's modes."""
    kinds = (lambda arm: not interrupts(arm), lambda arm: True, is_stars)
    return [(*found, found[1] / measured["auto"][0]) for found in (best_of(measured, fits) for fits in kinds)]


def beside_star(measured):
    """How near Auto comes to STAR's heuristic, which chooses while it runs."""
    return measured["star"][0] / measured["auto"][0]


def summed(ratios):
    return f"{statistics.median(ratios):.2f} (worst {min(ratios):.2f})"


def summed_whole(ratios):
    return f"{statistics.median(ratios):.2f} (worst {min(ratios):.2f}, at least 0.9 in {sum(round(ratio, 2) >= 0.9 for ratio in ratios)})"


def autos(rows, mode=SAME):
    yield "| # | scenario | Auto | best, no interrupts | Auto there | best of all | Auto there | best of STAR's modes | Auto there | STAR's heuristic | Auto there |"
    yield "|---|---|---:|---|---:|---|---:|---|---:|---:|---:|"
    found = {}
    for setting, measured in times_of(rows, mode).items():
        of = beside_best(measured)
        found[setting] = [ratio for _, _, ratio in of] + [beside_star(measured)]
        cells = [f"{name} {number(time)} | {ratio:.2f}" for name, time, ratio in of]
        cells.append(f"{spread(measured['star'])} | {found[setting][-1]:.2f}")
        yield f"{about(setting)} {spread(measured['auto'])} | {' | '.join(cells)} |"
    yield ""
    plain, all_of, modes, star = zip(*found.values())
    by_set = [(words, [ratios[0] for setting, ratios in found.items() if setting[0].strip("0123456789") == prefix]) for prefix, words in SETS.items()]
    yield (f"Of {len(found)} scenarios, medians: {summed_whole(plain)} of the best without interrupts; {summed_whole(all_of)} of the best of all; "
           f"{summed_whole(modes)} of the best of STAR's modes; {summed_whole(star)} of STAR's heuristic. Without interrupts: " + ", ".join(f"{words} {summed(ratios)}" for words, ratios in by_set if ratios) + ". " +
           f"Geometric mean of its time beside BSP's: {mean_of(rows, 'auto', mode)}, of STAR's heuristic {mean_of(rows, 'star', mode)}.")


def mean_of(rows, arm, mode):
    return f"{statistics.geometric_mean(measured[arm][0] for measured in times_of(rows, mode).values()):.3f}"


def number(value):
    return "1.00" if value == 1 else auto.number(value)


def safety(rows):
    yield "| # | scenario | seeds | Auto, of BSP's time (least, most) | did not arrive |"
    yield "|---|---|---:|---:|---:|"
    of = [row for row in rows if row["experiment"] == auto.SAFETY]
    failed = {row["setting"]: row["value"] for row in of if row["unit"] == auto.FAILURES}
    for row in of:
        if row["unit"] == auto.BESIDE:
            times = tuple(FAILED if row[name] is None else row[name] for name in ("value", "low", "high"))
            yield f"{about(row['setting'])} {row['seeds']} | {spread(times)} | {failed[row['setting']]:g} |"


SECTIONS = {"singles": singles, "auto": autos, "safety": safety}
