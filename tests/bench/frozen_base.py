#!/usr/bin/env python3
"""What a frozen base costs: a step's bytes, the time of training, and the start, by what the script says becomes of it.

    tests/bench/frozen_base.py BUILD [--megabytes 1074] [--steps 20] [--ways whole,omit,averaged]

The job trains adapters of 10 MB on four frozen layers of float32, on one machine, with two scripts over sockets, one run each.
"""
import argparse
import json
import math
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TRAIN = """
import sys, time, torch, paceline
from torch import nn
width, rank, way = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
torch.manual_seed(0)

class Adapted(nn.Module):
    def __init__(self):
        super().__init__()
        self.base = nn.ModuleList([nn.Linear(width, width, bias=False) for _ in range(4)]).requires_grad_(False)
        self.down = nn.ModuleList([nn.Linear(width, rank, bias=False) for _ in range(4)])
        self.up = nn.ModuleList([nn.Linear(rank, width, bias=False) for _ in range(4)])
        self.out = nn.Linear(width, 2)

    def forward(self, x):
        for base, down, up in zip(self.base, self.down, self.up):
            x = torch.relu(base(x) + up(down(x)))
        return self.out(x)

x = torch.randn(160, width)
y = (x.sum(1) > 0).long()
model = Adapted()
began = time.monotonic()
with paceline.worker(model, frozen=way) as w:
    for step, batch in enumerate(w.data((x, y))):
        if step == 0:
            print("START", time.monotonic() - began, flush=True)
        w.step(nn.functional.cross_entropy(model(batch.x), batch.y))
"""


def run(options, way):
    """One job: bytes pushed and pulled a step by a worker, seconds of training, seconds to the first batch."""
    width = math.isqrt(options.megabytes * 1_000_000 // 16)
    rank = max(1, 10_000_000 // (32 * width))
    with tempfile.TemporaryDirectory(prefix="paceline-frozen-") as scratch:
        folder = Path(scratch)
        (folder / "train.py").write_text(TRAIN)
        manifest = {"apiVersion": "paceline.dev/v1alpha1", "kind": "TrainingJob", "metadata": {"name": "frozen"},
                    "spec": {"training": {"globalBatchSize": 16, "learningRate": {"base": 0.01}, "stop": {"maxSteps": options.steps}},
                             "network": {"transport": "Sockets"},
                             "workers": {"replicas": 2, "command": [sys.executable, "train.py", str(width), str(rank), way]},
                             "runPolicy": {"schedulingPolicy": {"scheduleTimeoutSeconds": 600}}}}
        (folder / "job.yaml").write_text(json.dumps(manifest))
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "python"),
                       "PACELINE_WORKER_LIBRARY": str(options.build / "lib" / "libpaceline_worker.so")}
        subprocess.run([options.build / "bin" / "paceline", "run", "job.yaml", "-o", "json"], cwd=folder, env=environment, check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        state = json.loads(next(folder.glob("paceline-runs/*/summary.json")).read_text())
        starts = [float(found) for log in folder.rglob("*worker*.log") for found in re.findall(r"START ([\d.]+)", log.read_text())]
        model = next(folder.glob("paceline-runs/*/model.safetensors")).stat().st_size
    workers = state["workers"]
    steps = sum(worker["steps"] for worker in workers)
    return (sum(worker["pushedBytes"] for worker in workers) / steps, sum(worker["pulledBytes"] for worker in workers) / steps,
            state["seconds"], max(starts), model)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=lambda path: Path(path).resolve())
    parser.add_argument("--megabytes", type=int, default=1074)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--ways", default="whole,omit,averaged")
    options = parser.parse_args()
    print(f"frozen: {options.megabytes} MB; {options.steps} steps of two workers")
    print(f"{'frozen=':<10} {'pushed a step':>14} {'pulled a step':>14} {'training':>10} {'first batch':>12} {'model file':>12}")
    for way in options.ways.split(","):
        pushed, pulled, seconds, start, model = run(options, way)
        print(f"{way:<10} {pushed / 1e6:>11.2f} MB {pulled / 1e6:>11.2f} MB {seconds:>8.1f} s {start:>10.1f} s {model / 1e6:>9.1f} MB", flush=True)


if __name__ == "__main__":
    main()
