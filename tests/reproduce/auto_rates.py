#!/usr/bin/env python3
"""The clusters of auto.py with each arm at the best of its own learning rates: looking for them, and the lives at them.

    tests/reproduce/auto_rates.py build/release [--only 0,3,e1,d4] [--seeds 3] [--jobs 2] [--full]

An arm's best rate is looked for as the papers' are (rates.py), from the scenario's rate on, and kept beside theirs in rates.json; with --full those
that are not known are looked for first. Prints auto.py's table; times are beside BSP's at BSP's own best rate. `make reproduce` measures all of them.
"""
import argparse
import concurrent.futures
import sys

import auto
import lives
from experiment import BEST, RATE, Experiment, Lab, Setting, spec_of
from lives import FAILED, beside, seconds_of
from rates import FILE, SEARCHED, Rates

BSP = {"scheme": "BSP"}
BSP_SECONDS = 4_000  # Until BSP has failed at a rate; at the scenarios' own it takes 110 to 1,360.


def experiment_of(scenarios):
    """BSP is each setting's first arm. What is to be learnt stays as it is at the scenario's rate."""
    return Experiment(auto.SINGLES, [
        Setting(auto.setting_of(label, scenario), scenario.spec(), scenario.rate, {"bsp": BSP} | auto.arms(scenario.size) | auto.ADAPTIVE)
        for label, scenario in scenarios])


def find(experiment, rates, searched, all_seeds, jobs):
    """Looks for all rates that are not known: BSP's first, since an arm has failed after three times its time at the scenario's rate."""
    rates.find_all([(experiment, setting, "bsp", BSP_SECONDS) for setting in experiment.settings], searched, all_seeds, jobs, " of BSP")
    patience = {setting.name: auto.PATIENCE * rates.at_start(experiment, setting, "bsp") for setting in experiment.settings}
    rates.find_all([(experiment, setting, arm, patience[setting.name]) for setting in experiment.settings for arm in setting.arms if arm != "bsp"],
                   searched, all_seeds, jobs, " of the other arms")


def measure(simulator, setting, rate_of):
    """As auto.measure: of each arm its time at `rate_of(arm)` beside BSP's at its own, and BSP's seconds."""
    spec = spec_of(setting, rate_of("bsp"))
    spec["stop"]["seconds"] = BSP_SECONDS
    bsp = seconds_of(simulator.run(spec, {"bsp": BSP}))["bsp"]
    if FAILED in bsp:
        return None, bsp
    by_rate = {}
    for arm, sync in setting.arms.items():
        if arm != "bsp":
            by_rate.setdefault(rate_of(arm), {})[arm] = sync
    times = {}
    for rate, syncs in by_rate.items():  # Arms of one rate share a process.
        spec = spec_of(setting, rate)
        spec["stop"]["seconds"] = auto.PATIENCE * max(bsp)
        times |= seconds_of(simulator.run(spec, syncs))
    return {arm: beside(times[arm], bsp) for arm in setting.arms if arm != "bsp"}, bsp


def measure_all(build, seeds, jobs, experiment, rates):
    """Rows of times and rates, and a printed line of each scenario."""
    simulator = lives.Simulator(build, seeds)

    def of(setting):
        return measure(simulator, setting, lambda arm: rates.best(experiment, setting, arm))

    rows, measured_of = [], {}
    print("Each arm at the best of its own rates:\n" + auto.HEAD)
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for setting, (measured, bsp) in zip(experiment.settings, pool.map(of, experiment.settings)):
            where = f"{setting.name}, {BEST}"
            rows += auto.rows_of(where, measured, bsp, seeds)
            rows += [auto.row_of(auto.SINGLES, arm, where, RATE, seeds, (rates.best(experiment, setting, arm),) * 3) for arm in setting.arms]
            measured_of[setting.name] = measured
            print(auto.line_of(setting.name, measured), flush=True)
    print("\n".join(auto.summary(measured_of)))
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", type=lambda text: text.split(","), default=[])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--full", action="store_true")
    options = parser.parse_args()
    experiment, rates = experiment_of(auto.chosen(only=options.only)), Rates(FILE)
    if options.full:
        find(experiment, rates, Lab(options.build, SEARCHED, options.jobs), Lab(options.build, options.seeds, options.jobs), options.jobs)
    elif unknown := rates.missing([experiment]):
        sys.exit("no best rate is known, or the scenario changed since; --full finds them:\n" + "\n".join(unknown))
    rows = measure_all(options.build, options.seeds, options.jobs, experiment, rates)
    auto.keep(rows)


if __name__ == "__main__":
    main()
