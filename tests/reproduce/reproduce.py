#!/usr/bin/env python3
"""What the papers publish, on simulated clusters: our figure beside theirs.

    tests/reproduce/reproduce.py build/release [--only wbsp,ps-plus] [--seeds 3] [--jobs 2] [--full] [--rates FILE] [--write]

Each comparison is made twice: with one learning rate for all arms, and with each arm at the best of its own, which --full looks for and
keeps in the file of rates as they are found: what was found is not looked for again, so that it may be stopped. `auto` is no paper: all schemes
at one rate on 58 clusters, and scheme: Auto beside them (auto.py). JSON=FILE in the environment writes rows of
experiment, arm, setting, value, published, unit, seeds, low, high. --write puts them into the checked-in rows, and rewrites
tables and plots of docs/reproduction.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import resource
import sys
import time

import auto
import experiments
import page
from experiment import Lab, Measured
from rates import Rates

SEARCHED = 1  # Seeds by which rates are looked for; one that is taken reaches the target with all.
AUTO = "auto"
HERE = pathlib.Path(__file__).resolve().parent


def computing():
    """Processor seconds of the lives that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def missing(chosen, rates):
    return [f"{one.name}: {setting.name}: {arm}" for one in chosen for setting in one.settings for arm in setting.arms
            if rates.best(one, setting, arm) is None]


def find(chosen, rates, searched, lab, jobs):
    """Looks for all rates that are not known, by the lives of `searched`."""
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        searches = [pool.submit(rates.find, one, setting, arm, searched, lab) for one in chosen for setting in one.settings for arm in setting.arms]
        for number, search in enumerate(concurrent.futures.as_completed(searches), 1):
            search.result()
            print(f"\r{number} of {len(searches)} rates", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build")
    names = [one.name for one in experiments.ALL] + [AUTO]
    parser.add_argument("--only", type=lambda text: text.split(","), default=names)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--rates", type=pathlib.Path, default=HERE / "rates.json")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    unknown = sorted(set(options.only) - set(names))
    if unknown:
        parser.error(f"--only: {', '.join(unknown)}: there are {', '.join(names)}")
    chosen = [one for one in experiments.ALL if one.name in options.only]
    rates = Rates(options.rates)
    lab = Lab(options.build, options.seeds, options.jobs)
    if options.full:
        find(chosen, rates, Lab(options.build, SEARCHED, options.jobs), lab, options.jobs)
    elif missing(chosen, rates):
        sys.exit("no best rate is known, or the scenario changed since; make reproduce-full finds them:\n" + "\n".join(missing(chosen, rates)))
    rows = []
    for one in chosen:
        began, computed = time.monotonic(), computing()
        rows += Measured(one, lab, lambda setting, arm, of=one: rates.best(of, setting, arm)).all_rows()
        print(page.tables([row for row in rows if row["experiment"] == one.name]), flush=True)
        print(f"{one.name}: {options.seeds} seeds, {time.monotonic() - began:.0f} s, {computing() - computed:.0f} s of processors", file=sys.stderr, flush=True)
    if AUTO in options.only:
        began, computed = time.monotonic(), computing()
        rows += auto.measure_all(options.build, options.seeds, options.jobs)
        print(f"{AUTO}: {time.monotonic() - began:.0f} s, {computing() - computed:.0f} s of processors", file=sys.stderr, flush=True)
    if os.environ.get("JSON"):
        page.write_rows(pathlib.Path(os.environ["JSON"]), rows)
    if options.write:
        page.write_rows(page.ROWS, page.merged(page.read_rows(page.ROWS), rows))
        page.rewrite()


if __name__ == "__main__":
    main()
