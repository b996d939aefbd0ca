"""What a larger rate is worth on the 58 clusters: the tables of docs/reproduction/best-rates.md, and the one of docs/reproduction.md that sums them up."""
import statistics

import auto
from auto import about
from auto_page import autos, interrupts, name_of, number, singles, times_of, values_of
from experiment import BEST, RATE, SAME, part_said, rates_part
from lives import FAILED

# What a line of the summary is of: its name, and whether an arm is one of those whose fastest is chosen.
LINES = {name: lambda arm, name=name: arm not in auto.ADAPTIVE and name_of(arm) == name for name in
         ("bk", "bkI", "DBW", "DBW I", "SSP1", "SSP3", "SSP8", "ASP", "k-batch", "WBSP", "PS+", "LB")} | {
    "the best single one, no interrupts": lambda arm: arm not in auto.ADAPTIVE and not interrupts(arm),
    "the best single one": lambda arm: arm not in auto.ADAPTIVE,
    "Auto": lambda arm: arm == "auto",
    "STAR's heuristic": lambda arm: arm == "star",
}


def fastest(measured, fits):
    """Arm and median of the fastest, which may be BSP itself; None where there is none."""
    return min(((arm, times[0]) for arm, times in ({"bsp": (1.0,)} | measured).items() if fits(arm)), key=lambda found: found[1], default=None)


def by_kind(rows):
    yield ("| | at the scenario's rate: of BSP's time | arrives in | each at its best: of BSP's time | arrives in | its best rate beside BSP's | the larger rate's part of the gain |")
    yield "|---|" + "---:|" * 6
    times, rates = {mode: times_of(rows, mode) for mode in (SAME, BEST)}, values_of(rows, RATE, BEST)
    for name, fits in LINES.items():
        found = {setting: [fastest(times[mode][setting], fits) for mode in (SAME, BEST)] for setting in times[BEST]}
        found = {setting: of for setting, of in found.items() if None not in of}
        both = {setting: of for setting, of in found.items() if all(time < FAILED for _, time in of)}
        same, best = (statistics.geometric_mean(of[i][1] for of in both.values()) for i in (0, 1))
        larger = statistics.geometric_mean(rates[setting][of[1][0]][0] / rates[setting]["bsp"][0] for setting, of in both.items())
        arrives = [f"{sum(of[i][1] < FAILED for of in found.values())} of {len(found)}" for i in (0, 1)]
        yield (f"| {name} | {number(same)} | {arrives[0]} | {number(best)} | {arrives[1]} | {larger:.2f} | {part_said(rates_part(same, best)) if same < 1 else ''} |")


def rates_of(rows):
    """Of each scenario the rates that were the best, and what BSP's is worth to it."""
    yield "| # | scenario | BSP's rate | BSP's time there, of that at the scenario's | the fastest single one | its rate | Auto's rate | STAR's rate |"
    yield "|---|---|---:|---:|---|---:|---:|---:|"
    rates, times = values_of(rows, RATE, BEST), times_of(rows, BEST)
    seconds = [values_of(rows, "virtual seconds", mode) for mode in (SAME, BEST)]
    for setting, measured in times.items():
        arm, _ = fastest(measured, LINES["the best single one"])
        at = {name: f"{rates[setting][name][0]:g}" for name in rates[setting]}
        gain = seconds[1][setting]["bsp"][0] / seconds[0][setting]["bsp"][0]
        yield f"{about(setting)} {at['bsp']} | {number(gain)} | {arm} | {at[arm]} | {at['auto']} | {at['star']} |"


SECTIONS = {"rates": by_kind, "best-rates": rates_of, "best-singles": lambda rows: singles(rows, BEST), "best-auto": lambda rows: autos(rows, BEST)}
