#!/usr/bin/env python3
"""What `paceline advise` says of a run of each sample, and what came of it live: how many times as fast as BSP.

    tests/integration/advised_beside_live.py BUILD [--samples digits-h2,digits-jitter] [--seeds 3] [--arms auto] [--recorded FOLDER]

A run of each sample under BSP is recorded and advised on; then `paceline compare` runs BSP, what was advised, and --arms beside
them, to the sample's own target, looked at every 100 ms. Samples without a target get an accuracy of 97 %. No part of `make test`: it measures
time. Live figures are of the same seed's BSP; milliseconds a version, told and live, show what of a difference is the cluster's, and versions what is the model's. What was tried on the job's own model is held against what was told of that.
With --recorded runs are read from FOLDER/SAMPLE, where an earlier call put them, if they are there.
JSON=FILE in the environment writes rows of experiment, arm, setting, value, published, unit, seeds, low, high; published is what was told.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "deploy" / "samples"
LOCAL = ["digits", "digits-groups", "digits-h2", "digits-jitter", "digits-phase", "digits-slow-link", "patterns"]
TARGET = "spec.training.stop={maxEpochs: 40, target: {metric: Accuracy, value: 0.97}}"  # Of samples that have none.
BSP = ["--set", "spec.sync={scheme: BSP}"]
OFTEN = ["--set", "spec.evaluator.periodSeconds=100ms"]  # Runs of some seconds are told apart no finer than that.


def paceline(program, *words):
    done = subprocess.run([program, *words], cwd=ROOT, capture_output=True, text=True, timeout=1200, check=False)
    if done.returncode != 0:
        sys.exit(f"paceline {' '.join(map(str, words))}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout


def record(program, manifest, folder, sets):
    """The folder of a run under BSP; the one that is there already, if there is one."""
    def runs():
        return [path for path in folder.glob("*") if path.is_dir() and not path.is_symlink()]
    if not runs():
        paceline(program, "run", manifest, "--runs", folder, *BSP, *sets)
    run, = runs()
    return run


def figures_of(advice, arm):
    """What was told of the arm at the job's rate, as it runs live: on the job's model, if it was tried there, else on the quadratic; and which."""
    for where, arms in (("model", (advice["model"] or {"arms": []})["arms"]), ("quadratic", advice["arms"])):
        for one in arms:
            if one["arm"] == arm:
                return one["equal_rates"], where
    return None, None


def told_of(figures):
    """Median, least and most; nothing where it was not told."""
    speed = figures and figures["speed"]
    return (speed["median"], speed["low"], speed["high"]) if speed else None


def live_of(runs, arm):
    """Median, least and most of times as fast as BSP with the same seed; nothing if a run of both did not reach the target."""
    seconds = {(run["scheme"], run["seed"]): run["seconds_to_target"] for run in runs if run["reached"]}
    seeds = sorted({run["seed"] for run in runs})
    if any((name, seed) not in seconds for seed in seeds for name in ("bsp", arm)):
        return None
    ratios = [seconds["bsp", seed] / seconds[arm, seed] for seed in seeds]
    return statistics.median(ratios), min(ratios), max(ratios)


def told_version(figures):
    """Milliseconds of one, and how many."""
    return (1e3 * figures["step_seconds"], figures["seconds"] / figures["step_seconds"]) if figures else (None, None)


def live_version(runs, arm):
    """Milliseconds of one, and how many; medians."""
    reached = [run for run in runs if run["scheme"] == arm and run["reached"]]
    if not reached:
        return None, None
    return statistics.median(1e3 * run["seconds_to_target"] / run["steps"] for run in reached), statistics.median(run["steps"] for run in reached)


def verdict(told, live):
    if live is None:
        return "not reached"
    if live[0] < told[1]:
        return "below the range"
    return "above the range" if live[0] > told[2] else "within the range"


def spread(speed):
    return "" if speed is None else f"{speed[0]:.2f} ({speed[1]:.2f}, {speed[2]:.2f})"


def number(value, form):
    return "-" if value is None else format(value, form)


def print_row(sample, arm, told, where, live, told_version, live_version):
    held = "" if told is None or arm == "bsp" else f"{verdict(told, live)}, on the {where}"
    (told_ms, told_versions), (live_ms, live_versions) = told_version, live_version
    print(f"| {sample} | {arm} | {spread(told)} | {spread(live) or '-'} | {held} | {number(told_ms, '.1f')} | {number(live_ms, '.1f')} | "
          f"{number(told_versions, '.0f')} | {number(live_versions, '.0f')} |", flush=True)


def manifest_of(sample, folder):
    """Data that a sample makes is made, in a copy of it."""
    if not (SAMPLES / sample / "make_data.py").exists() or (SAMPLES / sample / "train.safetensors").exists():
        return SAMPLES / f"{sample}.yaml"
    (folder / sample).mkdir(exist_ok=True)
    subprocess.run([SAMPLES / sample / "make_data.py", folder / sample], stdout=subprocess.DEVNULL, check=True)
    copy = folder / f"{sample}.yaml"
    copy.write_text((SAMPLES / f"{sample}.yaml").read_text(encoding="utf-8"), encoding="utf-8")
    return copy


def measure(program, sample, options, folder):
    """Rows of the sample, and what is printed of it."""
    manifest = manifest_of(sample, folder)
    sets = OFTEN if "target:" in manifest.read_text(encoding="utf-8").replace("or target:", "") else [*OFTEN, "--set", TARGET]
    run = record(program, manifest, (options.recorded or folder / "runs") / sample, sets)
    advice = json.loads(paceline(program, "advise", run, "-o", "json"))
    advised = [advice["best"]] if advice["best"] else []
    arms = advised + [arm for arm in options.arms if arm not in advised]
    runs = []
    if arms:
        runs = json.loads(paceline(program, "compare", manifest, "--schemes", ",".join(["bsp", *arms]), "--seeds", str(options.seeds), "-o", "json",
                                   "--runs", folder / "live", *sets))
    if not advised:
        print(f"| {sample} | nothing | | | | | | | |", flush=True)
    rows = []
    for arm in ["bsp", *arms] if arms else []:
        figures, where = figures_of(advice, arm)
        told, live = told_of(figures), live_of(runs, arm)
        print_row(sample, f"**{arm}**" if arm in advised else arm, told, where, live, told_version(figures), live_version(runs, arm))
        value, low, high = live or (None, None, None)
        rows.append({"experiment": "advised", "arm": arm, "setting": sample, "value": value, "published": told and told[0],
                     "unit": "times BSP's speed", "seeds": options.seeds, "low": low, "high": high})
    return rows


def main():
    def words(text):
        return text.split(",")
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("--samples", type=words, default=LOCAL)
    parser.add_argument("--arms", type=words, default=[])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--recorded", type=Path)
    options = parser.parse_args()
    if options.recorded:
        options.recorded = options.recorded.resolve()
    program = options.build.resolve() / "bin" / "paceline"
    print("| sample | setting (bold: advised) | told (least, most) | live (least, most) | | ms a version, told | live | versions, told | live |\n"
          "|---|---|---:|---:|---|---:|---:|---:|---:|", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        rows = [row for sample in options.samples for row in measure(program, sample, options, Path(folder))]
    if os.environ.get("JSON"):
        Path(os.environ["JSON"]).write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
