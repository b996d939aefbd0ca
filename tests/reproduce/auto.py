#!/usr/bin/env python3
"""How near `scheme: Auto` comes to the best single scheme and to STAR's heuristic, and what each scheme is worth beside BSP, on simulated clusters.

    tests/reproduce/auto.py build/release [--seeds 3] [--only 0,3,e1,d4] [--sets before,edge,drawn,large] [--jobs 1] [--singles ROWS]
    tests/reproduce/auto.py build/release --safety [--seeds 12] [--only e0,24]

`make reproduce` calls both. The first prints a table: of each scenario each arm's time to the target beside BSP's (less is faster; - : it did not get there in the
median within three times BSP's time), the best single scheme, Auto beside it, and STAR. JSON=FILE in the environment writes rows of
experiment, arm, setting, value, unit, seeds, low, high. Arms of a seed meet the same delays. With --singles the single schemes are not run again: ROWS
is the file that an earlier run wrote. With --safety Auto alone is beside BSP, with more seeds, on the scenarios in which it is most likely to fail.
docs/reproduction.md says what came out.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import statistics
import sys
import time

import auto_scenarios
import lives
from experiment import BEST, ROW
from lives import FAILED, beside, seconds_of

PATIENCE = 3      # Times BSP's time, until an arm has failed.
DBW_WORKERS = 64  # At most: its refits take the cube of them.
STEPS = 4_000     # Of BSP, at most: a scenario in which it needs more is no scenario.
HARDEST = ["2", "5", "24", "25", "26", "e0", "e1", "e2", "e3"]  # Where Auto, or an earlier one, failed, or is likely to.
SAFETY_SEEDS = 12
SINGLES, SAFETY = "auto", "auto-safety"  # Experiments.
BESIDE, FAILURES = "of BSP's time", "lives that did not arrive"


def arms(size):
    """Of n workers: name and spec.sync of each single scheme, beside BSP."""
    found = {}
    quorums = sorted({max(1, round(size * share)) for share in (0.25, 0.5, 0.75)} | {size - 1})
    for k in quorums:
        backup = {"scheme": "BackupWorkers", "backupWorkers": {"count": size - k}}
        found[f"b{k}"] = backup
        found[f"b{k}I"] = {**backup, "lateWorker": "Interrupt"}
    if size <= DBW_WORKERS:
        found["dbw"] = {"scheme": "DBW"}
        found["dbwI"] = {"scheme": "DBW", "lateWorker": "Interrupt"}
    for staleness in (1, 3, 8):
        found[f"ssp{staleness}"] = {"scheme": "SSP", "ssp": {"staleness": staleness}}
    found["asp"] = {"scheme": "ASP"}
    for share in (0.25, 0.5, 0.75):
        quorum = max(2, round(size * share))
        found[f"ka{quorum}"] = {"scheme": "KBatchAsync", "quorum": quorum}
    found["wbsp"] = {"scheme": "WBSP"}
    found["ps+"] = {"scheme": "PSPlus"}
    found["lb"] = {"scheme": "BSP", "batchSizing": {"strategy": "EMA"}}
    return found


AUTO = {"scheme": "Auto"}
# STAR's heuristic, which is no single scheme, so that the oracle does not choose it.
STAR = {"scheme": "DBW", "dbw": {"method": "STAR"}, "late": "Weigh", "modulation": {"rule": "None"}, "updateScale": "PerWorker"}
ADAPTIVE = {"auto": AUTO, "star": STAR}


def measure(simulator, scenario, known=None):
    """Of each arm its time beside BSP's: (median, least, most), and the seconds of a seed that BSP takes. `known` arms are as they are."""
    spec = scenario.spec()
    spec["stop"]["steps"] = STEPS
    bsp = seconds_of(simulator.run(spec, {"bsp": {"scheme": "BSP"}}))["bsp"]
    if FAILED in bsp:
        return None, bsp
    del spec["stop"]["steps"]
    spec["stop"]["seconds"] = PATIENCE * max(bsp)
    known = known or {}
    syncs = {arm: sync for arm, sync in arms(scenario.size).items() if arm not in known} | ADAPTIVE
    times = seconds_of(simulator.run(spec, syncs))
    return known | {arm: beside(of_arm, bsp) for arm, of_arm in times.items()}, bsp


def singles_of(rows):
    """What rows_of made of single schemes at the scenarios' rates, by label."""
    known = {}
    for row in rows:
        if row["unit"] != BESIDE or row["setting"].endswith(BEST) or row["arm"] in ADAPTIVE:
            continue
        values = (FAILED if row[name] is None else row[name] for name in ("value", "low", "high"))
        known.setdefault(row["setting"].split()[0], {})[row["arm"]] = tuple(values)
    return known


def number(value):
    return "-" if value == FAILED else f"{value:.2f}".removeprefix("0")


def columns(measured):
    """What the table shows of one scenario: the best of its quorums, with and without interrupts, and each other arm."""
    def best_of(fits):
        found = min((arm for arm in measured if fits(arm)), key=lambda arm: measured[arm][0])
        return f"{found} {number(measured[found][0])}"
    is_quorum = lambda arm: arm[0] == "b" and arm[1].isdigit()
    shown = [best_of(lambda arm: is_quorum(arm) and arm[-1] != "I"), best_of(lambda arm: is_quorum(arm) and arm[-1] == "I")]
    for arm in ("dbw", "dbwI", "ssp1", "ssp3", "ssp8", "asp", "ka", "wbsp", "ps+", "lb"):
        if arm == "ka":
            shown.append(best_of(lambda one: one.startswith("ka")))
        else:
            shown.append(number(measured[arm][0]) if arm in measured else "")
    return shown


def oracle_of(measured):
    """The best single scheme, afterwards; BSP itself is one."""
    singles = {"bsp": 1.0} | {arm: of_arm[0] for arm, of_arm in measured.items() if arm not in ADAPTIVE}
    best = min(singles, key=singles.get)
    return best, singles[best]


def sets():
    """By name: the prefix of labels, and the scenarios."""
    return {"before": ("", auto_scenarios.BEFORE), "edge": ("e", auto_scenarios.EDGE),
            "drawn": ("d", auto_scenarios.drawn(20, seed=1)), "large": ("l", auto_scenarios.large())}


def chosen(names=None, only=()):
    """Labels and scenarios of those sets, or of all: 0, 1, ... of those before, e0, ... of the edge, d0, ... of those drawn, l0, ... of many workers."""
    all_of = sets()
    found = [(f"{prefix}{i}", scenario) for name in names or all_of for prefix, scenarios in [all_of[name]] for i, scenario in enumerate(scenarios)]
    return [(label, scenario) for label, scenario in found if not only or label in only]


def setting_of(label, scenario):
    return f"{label} {scenario.name}, {scenario.problem} n{scenario.size}"


def rows_of(setting, measured, bsp, seeds):
    rows = [row_of(SINGLES, "bsp", setting, "virtual seconds", seeds, (statistics.median(bsp), min(bsp), max(bsp)))]
    return rows + [row_of(SINGLES, arm, setting, BESIDE, seeds, of_arm) for arm, of_arm in (measured or {}).items()]


def row_of(experiment, arm, setting, unit, seeds, values):
    """Of a median, the least and the most; what has failed is null."""
    value, low, high = (None if one == FAILED else one for one in values)
    return dict(zip(ROW, (experiment, arm, setting, value, None, unit, seeds, low, high)))


def safety_rows(simulator, label, scenario):
    """Auto beside BSP, and how many of its lives did not arrive though BSP's did."""
    spec = scenario.spec()
    spec["stop"]["steps"] = STEPS
    bsp = seconds_of(simulator.run(spec, {"bsp": {"scheme": "BSP"}}))["bsp"]
    spec["stop"] = {"loss": spec["stop"]["loss"], "seconds": PATIENCE * max(time for time in bsp if time != FAILED)}
    auto = seconds_of(simulator.run(spec, {"auto": AUTO}))["auto"]
    ratios = [FAILED if mine == FAILED else mine / theirs for mine, theirs in zip(auto, bsp) if theirs != FAILED]
    failed = ratios.count(FAILED)
    values = (statistics.median_low(ratios), min(ratios), max(ratios))
    setting = setting_of(label, scenario)
    return [row_of(SAFETY, "auto", setting, BESIDE, len(ratios), values), row_of(SAFETY, "auto", setting, FAILURES, len(ratios), (failed,) * 3)]


def about(setting):
    """The first cells of a line of a table."""
    label, _, name = setting.partition(" ")
    return f"| {label} | {name} |"


HEAD = ("| # | scenario | bk | bkI | DBW | DBW I | SSP1 | SSP3 | SSP8 | ASP | k-batch | WBSP | PS+ | LB | best single | Auto | oracle/Auto | STAR |\n|" + "---|" * 18)


def line_of(setting, measured):
    """Of a scenario: each arm's time beside BSP's."""
    if measured is None:
        return f"{about(setting)} BSP does not reach the target |"
    best, at = oracle_of(measured)
    cells = columns(measured) + [f"{best} {number(at)}", number(measured["auto"][0]), f"{at / measured['auto'][0]:.2f}", number(measured["star"][0])]
    return f"{about(setting)} {' | '.join(cells)} |"


def summary(measured_of):
    """Lines of what the scenarios of each set come to; `measured_of` by setting."""
    for name, (prefix, _) in sets().items():
        found = [(oracle_of(measured)[1] / measured["auto"][0], measured["auto"][0]) for setting, measured in measured_of.items()
                 if measured is not None and setting.partition(" ")[0].rstrip("0123456789") == prefix]
        if found:
            yield (f"{name}: oracle/Auto median {statistics.median(ratio for ratio, _ in found):.2f}, worst {min(found)[0]:.2f}; "
                   f"slowest beside BSP {number(max(auto for _, auto in found))}; {len(found)} scenarios")


def measure_singles(build, seeds, jobs, scenarios, known):
    """Rows of all; prints a line of each scenario as it is measured, and what they come to."""
    simulator = lives.Simulator(build, seeds)
    rows, measured_of = [], {}
    print(HEAD)
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for (label, scenario), (measured, bsp) in zip(scenarios, pool.map(lambda one: measure(simulator, one[1], known.get(one[0])), scenarios)):
            setting = setting_of(label, scenario)
            rows += rows_of(setting, measured, bsp, seeds)
            measured_of[setting] = measured
            print(line_of(setting, measured), flush=True)
    print("\n".join(summary(measured_of)))
    return rows


def measure_safety(build, seeds, jobs, scenarios):
    """Rows of all; prints a line of each."""
    simulator = lives.Simulator(build, seeds)
    rows = []
    print(f"| # | scenario | Auto, of BSP's time | did not arrive, of {seeds} |\n|---|---|---|---|")
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for (label, scenario), (times, failed) in zip(scenarios, pool.map(lambda one: safety_rows(simulator, *one), scenarios)):
            rows += [times, failed]
            low, middle, high = (number(FAILED if times[name] is None else times[name]) for name in ("low", "value", "high"))
            print(f"| {label} | {scenario.name}, {scenario.problem} n{scenario.size} | {middle} ({low}, {high}) | {failed['value']} |", flush=True)
    return rows


def measure_all(build, seeds, jobs):
    """What make reproduce wants of Auto."""
    return measure_singles(build, seeds, jobs, chosen(), {}) + measure_safety(build, SAFETY_SEEDS, jobs, chosen(only=HARDEST))


def keep(rows):
    """In the file that JSON names in the environment, where it does."""
    if os.environ.get("JSON"):
        pathlib.Path(os.environ["JSON"]).write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("--seeds", type=int)
    parser.add_argument("--only", type=lambda text: text.split(","), default=[])
    parser.add_argument("--sets", type=lambda text: text.split(","), default=list(sets()))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--singles", type=pathlib.Path)
    parser.add_argument("--safety", action="store_true")
    options = parser.parse_args()
    began = time.monotonic()
    scenarios = chosen(options.sets, options.only or (HARDEST if options.safety else []))
    seeds = options.seeds or (SAFETY_SEEDS if options.safety else 3)
    if options.safety:
        rows = measure_safety(options.build, seeds, options.jobs, scenarios)
    else:
        known = singles_of(json.loads(options.singles.read_text(encoding="utf-8"))) if options.singles else {}
        rows = measure_singles(options.build, seeds, options.jobs, scenarios, known)
    print(f"{len(scenarios)} scenarios, {seeds} seeds, {time.monotonic() - began:.0f} s", file=sys.stderr)
    keep(rows)


if __name__ == "__main__":
    main()
