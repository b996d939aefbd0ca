#!/usr/bin/env python3
"""Time to a held-out loss where workers are slowed down: Paceline's schemes beside DistributedDataParallel with gloo, live.

    tests/bench/beside_ddp.py BUILD [--tables jitter,mixed] [--arms bsp,auto] [--seeds 3] [--rates 1.0] [--jobs 1] [--keep FOLDER]

Both sides train the digits' MLP (simulator/scenarios/digits/mlp.pt) from the same initial values with four workers of one
thread, and sleep by the same delay table, a row a step, a column a worker (delay_tables.py). Seconds count from the first
step's start to the version that an evaluator, who looks every 200 ms, finds at the target. docs/performance.md says what came out.
JSON=FILE in the environment writes rows of experiment, arm, setting, value, published, unit, seeds, low, high.
"""
import argparse
import concurrent.futures
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import delay_tables

ROOT = Path(__file__).resolve().parents[2]
DIGITS = ROOT / "deploy" / "samples" / "digits"
WORKERS, BATCH, TARGET, PERIOD = 4, 128, 0.16, 0.2
ROWS = 6000        # Of a table: more steps than any worker makes.
STEPS = 1000       # Of DDP and BSP, at most.
NICENESS = 5       # As `paceline run` has its workers.
LATE = {"scheme": "BackupWorkers", "backupWorkers": {"count": 1}}
ARMS = {
    "ddp": None,
    "bsp": {"scheme": "BSP"},
    "auto": {"scheme": "Auto"},
    "auto-finish": {"scheme": "Auto", "lateWorker": "Finish"},
    "backup1": LATE,
    "backup1-interrupt": {**LATE, "lateWorker": "Interrupt"},
    "backup2-interrupt": {**LATE, "backupWorkers": {"count": 2}, "lateWorker": "Interrupt"},
    "asp": {"scheme": "ASP"},
    "dbw": {"scheme": "DBW"},
}
INTERRUPTED = ("auto", "backup1-interrupt", "backup2-interrupt")  # Whose late workers give their steps up.
UNREACHED = math.inf


class Case:
    """One run: an arm that meets the table of a kind and seed at a learning rate."""

    def __init__(self, arm, kind, seed, rate, momentum=0.0):
        self.arm, self.kind, self.seed, self.rate, self.momentum = arm, kind, seed, rate, momentum

    @property
    def setting(self):
        return f"{self.kind}, rate {self.rate:g}" + (f", momentum {self.momentum:g}" if self.momentum else "")

    def manifest(self):
        return {
            "apiVersion": "paceline.dev/v1alpha1", "kind": "TrainingJob", "metadata": {"name": "beside-ddp"},
            "spec": {
                "model": {"torchScript": str(ROOT / "simulator/scenarios/digits/mlp.pt"), "loss": "CrossEntropy"},
                "data": {"train": str(DIGITS / "train.safetensors"), "eval": str(DIGITS / "test.safetensors")},
                "training": {
                    "globalBatchSize": BATCH, "seed": self.seed,
                    "optimizer": {"type": "SGD", "sgd": {"momentum": self.momentum}}, "learningRate": {"base": self.rate},
                    "stop": {"maxEpochs": STEPS * BATCH // 1437, "target": {"metric": "Loss", "value": TARGET}}},
                "sync": ARMS[self.arm],
                "parameterServer": {"shards": 1}, "workers": {"replicas": WORKERS},
                "evaluator": {"periodSeconds": f"{PERIOD * 1000:.0f}ms"}, "checkpoint": {"enabled": False},
                "chaos": {"enabled": True, "seed": self.seed, "delays": [{"kind": "Trace", "trace": "delays.csv"}]}}}

    def task(self):
        spec = self.manifest()["spec"]
        return {"model": spec["model"]["torchScript"], **spec["data"], "workers": WORKERS, "batch": BATCH, "seed": self.seed,
                "rate": self.rate, "momentum": self.momentum, "decay": 0.0, "target": TARGET, "period": PERIOD, "steps": STEPS,
                "niceness": NICENESS}


class Run:
    """What came of it."""

    def __init__(self, seconds, steps, step_seconds):
        self.seconds, self.steps, self.step_seconds = seconds, steps, step_seconds


def run_ddp(case, folder, python):
    (folder / "task.json").write_text(json.dumps(case.task()), encoding="utf-8")
    program = Path(__file__).with_name("ddp_with_delays.py")
    with open(folder / "errors.log", "wb") as errors:
        ranks = [subprocess.Popen([python, "-W", "ignore", program, folder, str(rank)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=errors, text=True, env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"})
                 for rank in range(WORKERS)]
        try:
            said = ranks[0].communicate(timeout=1200)[0]
        finally:
            for rank in ranks:
                rank.kill()
                rank.wait()
                rank.stdin.close()
                rank.stdout.close()
    if not said.strip():
        raise RuntimeError((folder / "errors.log").read_text(encoding="utf-8")[-2000:])
    done = json.loads(said.splitlines()[-1])
    return Run(done["seconds"] if done["reached"] else UNREACHED, done["steps"], median_gap(done["ends"]))


def run_paceline(case, folder, program):
    (folder / "job.yaml").write_text(json.dumps(case.manifest()), encoding="utf-8")  # JSON is YAML.
    done = subprocess.run([program, "run", folder / "job.yaml", "--runs", folder], capture_output=True, text=True, check=False, timeout=1200)
    found = list(folder.glob("*/summary.json"))
    if done.returncode != 0 or not found:
        raise RuntimeError(done.stderr[-2000:])
    evaluation = json.loads(found[0].read_text(encoding="utf-8"))["evaluation"]
    return read_trace(found[0].with_name("policy.trace").read_text(encoding="utf-8"), evaluation["version"], evaluation["loss"] <= TARGET)


def read_trace(trace, version, is_reached):
    """From a policy trace: the first release begins the first step, and a version is there once it is published."""
    # A release stands below the event, with its time, that it answers.
    start = float(re.findall(r"^@(\S+) ", trace[:re.search(r"^  release ", trace, re.M).start()], re.M)[-1])
    ends = {int(number): float(at) - start for at, number in re.findall(r"^@(\S+) committed v(\d+)", trace, re.M)}
    until = sorted(end for number, end in ends.items() if number <= version)
    return Run(ends[version] if is_reached else UNREACHED, version, median_gap([0.0, *until]))


def median_gap(ends):
    return statistics.median(after - before for before, after in zip(ends, ends[1:]))


def run(case, folder, python, program):
    folder.mkdir(parents=True)
    (folder / "delays.csv").write_text(delay_tables.as_csv(delay_tables.table(case.kind, case.seed, WORKERS, ROWS)), encoding="utf-8")
    return run_ddp(case, folder, python) if case.arm == "ddp" else run_paceline(case, folder, program)


def speeds(runs, arm, setting):
    """How many times as fast as DDP, seed by seed, where both are known."""
    seeds = sorted(seed for (an_arm, a_setting, seed) in runs if (an_arm, a_setting) == (arm, setting) and ("ddp", setting, seed) in runs)
    pairs = [(runs["ddp", setting, seed].seconds, runs[arm, setting, seed].seconds) for seed in seeds]
    return [0.0 if mine == UNREACHED else theirs / mine for theirs, mine in pairs]


def rows_of(runs):
    """What JSON=FILE gets: seconds, and the speed beside DDP. null: not in the median of seeds."""
    rows = []
    for arm, setting in dict.fromkeys((arm, setting) for arm, setting, _ in runs):
        of_arm = [one.seconds for (an_arm, a_setting, _), one in runs.items() if (an_arm, a_setting) == (arm, setting)]
        for values, unit in ((of_arm, "s to the target"), (speeds(runs, arm, setting), "times DDP's speed")):
            if not values:
                continue
            low, value, high = (None if bound == UNREACHED else round(bound, 4) for bound in (min(values), statistics.median(values), max(values)))
            rows.append({"experiment": "R7", "arm": arm, "setting": setting, "value": value, "published": 3.0 if arm == "auto" and "DDP" in unit else None,
                         "unit": unit, "seeds": len(values), "low": low, "high": high})
    return rows


def table_of(runs):
    def number(value, form):
        return "-" if value == UNREACHED else format(value, form)
    lines = ["| table | arm | seconds (least, most) | versions | ms a version | speed / DDP (least, most) |", "|---|---|---:|---:|---:|---:|"]
    for arm, setting in sorted(dict.fromkeys((arm, setting) for arm, setting, _ in runs), key=lambda one: (one[1], list(ARMS).index(one[0]))):
        of_arm = [one for (an_arm, a_setting, _), one in runs.items() if (an_arm, a_setting) == (arm, setting)]
        seconds, speed = [one.seconds for one in of_arm], speeds(runs, arm, setting)
        beside = f"{statistics.median(speed):.2f} ({min(speed):.2f}, {max(speed):.2f})" if speed else ""
        lines.append(f"| {setting} | {arm} | {number(statistics.median(seconds), '.1f')} ({number(min(seconds), '.1f')}, {number(max(seconds), '.1f')}) | "
                     f"{statistics.median(one.steps for one in of_arm):.0f} | {1e3 * statistics.median(one.step_seconds for one in of_arm):.0f} | {beside} |")
    return "\n".join(lines)


def main():
    def words(text):
        return text.split(",")
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("--tables", type=words, default=list(delay_tables.KINDS))
    parser.add_argument("--arms", type=words, default=list(ARMS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--rates", type=lambda text: [float(rate) for rate in words(text)], default=[1.0])
    parser.add_argument("--momentum", type=float, default=0.0)
    parser.add_argument("--jobs", type=int, default=1, help="runs at a time: they mostly sleep")
    parser.add_argument("--keep", type=Path, help="a new folder in which what runs leave behind stays")
    options = parser.parse_args()
    found = subprocess.run([ROOT / "tools" / "setup", "--python"], capture_output=True, text=True, check=False)
    if found.returncode != 0:
        print(f"skipped: {found.stderr.strip()}")
        return 77
    cases = [Case(arm, kind, seed, rate, options.momentum) for seed in range(1, options.seeds + 1) for rate in options.rates
             for kind in options.tables for arm in options.arms]
    with tempfile.TemporaryDirectory() as temporary:
        folder = (options.keep or Path(temporary)).resolve()
        python, program = found.stdout.strip(), options.build.resolve() / "bin" / "paceline"
        runs, problems = run_all(cases, options.jobs, lambda case: run(case, folder / f"{case.kind}-{case.rate:g}-{case.arm}-{case.seed}", python, program))
    print(table_of(runs))
    if os.environ.get("JSON"):
        Path(os.environ["JSON"]).write_text(json.dumps(rows_of(runs), indent=1) + "\n", encoding="utf-8")
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


def run_all(cases, jobs, one):
    """Runs by arm, setting and seed, and what went wrong with those that are missing: the others count."""
    runs, problems = {}, []
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        started = {pool.submit(one, case): case for case in cases}
        for done in concurrent.futures.as_completed(started):
            case = started[done]
            about = f"{case.setting}, {case.arm}, seed {case.seed}"
            try:
                runs[case.arm, case.setting, case.seed] = done.result()
            except (RuntimeError, OSError, subprocess.SubprocessError) as error:
                problems.append(f"{about}: {error}")
                continue
            print(f"{about}: {done.result().seconds:.1f} s, {done.result().steps} versions", file=sys.stderr, flush=True)
    return runs, problems


if __name__ == "__main__":
    sys.exit(main())
