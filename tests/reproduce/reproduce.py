#!/usr/bin/env python3
"""What the papers publish, on simulated clusters: our figure beside theirs.

    tests/reproduce/reproduce.py build/release [--only wbsp,ps-plus] [--seeds 3] [--jobs 2] [--full] [--rates FILE] [--write]

Each comparison is made twice: with one learning rate for all arms, and with each arm at the best of its own, which --full looks for and
keeps in the file of rates as they are found: what was found is not looked for again, so that it may be stopped. `auto` is no paper: all schemes
on 58 clusters, and scheme: Auto and STAR's heuristic beside them (auto.py at one rate, auto_rates.py at the best). JSON=FILE in the environment writes rows of
experiment, arm, setting, value, published, unit, seeds, low, high. --write puts them into the checked-in rows, and rewrites
tables and plots of docs/reproduction.
"""
import argparse
import json
import os
import pathlib
import resource
import sys
import time

import auto
import auto_rates
import experiments
import page
from experiment import Lab, Measured
from rates import FILE, SEARCHED, Rates

AUTO = "auto"


def computing():
    """Processor seconds of the lives that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    names = [one.name for one in experiments.ALL] + [AUTO]
    parser.add_argument("--only", type=lambda text: text.split(","), default=names)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--rates", type=pathlib.Path, default=FILE)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    unknown = sorted(set(options.only) - set(names))
    if unknown:
        parser.error(f"--only: {', '.join(unknown)}: there are {', '.join(names)}")
    chosen = [one for one in experiments.ALL if one.name in options.only]
    clusters = auto_rates.experiment_of(auto.chosen() if AUTO in options.only else [])
    rates = Rates(options.rates)
    lab = Lab(options.build, options.seeds, options.jobs)
    if options.full:
        searched = Lab(options.build, SEARCHED, options.jobs)
        wanted = [(one, setting, arm, setting.spec["stop"]["seconds"]) for one in chosen for setting in one.settings for arm in setting.arms]
        rates.find_all(wanted, searched, lab, options.jobs)
        auto_rates.find(clusters, rates, searched, lab, options.jobs)
    elif unknown := rates.missing([*chosen, clusters]):
        sys.exit("no best rate is known, or the scenario changed since; make reproduce-full finds them:\n" + "\n".join(unknown))
    rows = []
    for one in chosen:
        began, computed = time.monotonic(), computing()
        rows += Measured(one, lab, lambda setting, arm, of=one: rates.best(of, setting, arm)).all_rows()
        print(page.tables([row for row in rows if row["experiment"] == one.name]), flush=True)
        print(f"{one.name}: {options.seeds} seeds, {time.monotonic() - began:.0f} s, {computing() - computed:.0f} s of processors", file=sys.stderr, flush=True)
    if AUTO in options.only:
        began, computed = time.monotonic(), computing()
        rows += auto.measure_all(options.build, options.seeds, options.jobs)
        rows += auto_rates.measure_all(options.build, options.seeds, options.jobs, clusters, rates)
        print(f"{AUTO}: {time.monotonic() - began:.0f} s, {computing() - computed:.0f} s of processors", file=sys.stderr, flush=True)
    if os.environ.get("JSON"):
        page.write_rows(pathlib.Path(os.environ["JSON"]), rows)
    if options.write:
        page.write_rows(page.ROWS, page.merged(page.read_rows(page.ROWS), rows))
        page.rewrite()


if __name__ == "__main__":
    main()
