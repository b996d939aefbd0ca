#!/usr/bin/env python3
"""What the processes of a job hold in memory, in models: bytes beside those of the model's parameters.

    tests/bench/memory.py BUILD [--workers 2] [--shards 2] [--optimizer SGD] [--transport Auto] [--steps 30] [--set FIELD=VALUE]...

The job trains a perceptron of 3072-4096-4096-10 units, 29.4 million parameters or 117.6 MB, on one machine, with a script. The most that
each process held (proportional set size: what several share counts for each in part) is looked for every 50 ms; of it is taken what
the same job holds with a model of next to nothing.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
UNITS = [3072, 4096, 4096, 10]
TRAIN = """
import sys, torch, paceline
units = [int(word) for word in sys.argv[1:]]
layers = [layer for a, b in zip(units, units[1:]) for layer in (torch.nn.Linear(a, b), torch.nn.ReLU())][:-1]
model = torch.nn.Sequential(*layers)
x, y = torch.rand(512, units[0]), torch.randint(units[-1], (512,))
with paceline.worker(model) as w:
    for batch in w.data((x, y)):
        w.step(torch.nn.functional.cross_entropy(model(batch.x), batch.y))
"""


def manifest(python, units, options):
    training = {"globalBatchSize": 32 * options.workers, "optimizer": {"type": options.optimizer}, "learningRate": {"base": 0.01},
                "stop": {"maxSteps": options.steps}}
    if options.optimizer == "SGD":
        training["optimizer"]["sgd"] = {"momentum": 0.9}
    return {"apiVersion": "paceline.dev/v1alpha1", "kind": "TrainingJob", "metadata": {"name": "memory"},
            "spec": {"training": training, "network": {"transport": options.transport}, "parameterServer": {"shards": options.shards},
                     "workers": {"replicas": options.workers, "command": [python, "train.py", *map(str, units)]}}}


def name_of(process):
    """Of a process of the job; "" of any other."""
    words = (process / "cmdline").read_bytes().decode(errors="replace").split("\0")
    if Path(words[0]).name == "paceline-ps":
        return f"parameter server {words[words.index('--rank') + 1]}"
    said = dict(one.split("=", 1) for one in (process / "environ").read_text(errors="replace").split("\0") if "=" in one)
    return f"worker {said['PACELINE_INDEX']}" if "train.py" in words and "PACELINE_INDEX" in said else ""


def held(session):
    """Bytes by process, of those that a session has."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if int((process / "stat").read_text().rpartition(")")[2].split()[3]) != session or not (name := name_of(process)):
                continue
            for line in (process / "smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    found[name] = found.get(name, 0) + 1024 * int(line.split()[1])
        except (OSError, IndexError, ValueError):
            continue  # It has ended.
    return found


def most_held(options, python, units):
    with tempfile.TemporaryDirectory(prefix="paceline-memory-") as folder:
        (Path(folder) / "train.py").write_text(TRAIN)
        (Path(folder) / "job.yaml").write_text(json.dumps(manifest(python, units, options)))
        command = [options.build / "bin" / "paceline", "run", "job.yaml", "-o", "json", *(word for one in options.set for word in ("--set", one))]
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "PACELINE_WORKER_LIBRARY": str(options.build / "lib" / "libpaceline_worker.so")}
        most, all_of_them = {}, 0
        with subprocess.Popen(command, cwd=folder, env=environment, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as run:
            while run.poll() is None:
                now = held(run.pid)
                all_of_them = max(all_of_them, sum(now.values()))
                for name, size in now.items():
                    most[name] = max(most.get(name, 0), size)
                try:
                    run.wait(0.05)
                except subprocess.TimeoutExpired:
                    pass
            if run.returncode != 0:
                sys.exit(run.stderr.read().decode())
        return {**dict(sorted(most.items())), "all at once": all_of_them}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--shards", type=int, default=2)
    parser.add_argument("--optimizer", choices=["SGD", "AdamW"], default="SGD")
    parser.add_argument("--transport", choices=["Auto", "Sockets"], default="Auto")
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--set", action="append", default=[])
    options = parser.parse_args()
    options.build = options.build.resolve()
    found = subprocess.run([ROOT / "tools" / "setup", "--python"], capture_output=True, text=True, check=False)
    if found.returncode != 0:
        print(f"skipped: {found.stderr.strip()}")
        return 77
    bare, full = (most_held(options, found.stdout.strip(), units) for units in ([8, 8, 10], UNITS))
    model = 4 * sum(a * b + b for a, b in zip(UNITS, UNITS[1:]))
    for name, size in full.items():
        rest = bare.get(name, 0)
        print(f"{name:<20}{size / 1e6:8.0f} MB, {rest / 1e6:6.0f} without the model: {(size - rest) / model:5.2f} models")
    return 0


if __name__ == "__main__":
    sys.exit(main())
