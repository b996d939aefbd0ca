#!/usr/bin/env python3
"""What a script costs beside its own PyTorch loop: one job by paceline-worker, by scripts, and by plain loops, by turns.

    tests/bench/script_overhead.py BUILD [--model digits|mlp] [--workers 1] [--rounds 7] [--steps 600]

digits is the sample; mlp has 3072-4096-4096-10 units, 29.4 million parameters, and images by chance.

A worker's step is its computing, and then what workers and shards tell each other. A script computes in Python; so what it may
take is the plain loop's step, and that telling as paceline-worker has it (its step less its computing). "over both" is a
script's step beside that sum: 1.05 is the goal where each process has a core. Plain loops run at once, one for each worker.
Medians of rounds, the first fifth of the steps of each left out.
"""
import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "deploy" / "samples" / "digits.yaml"


class Task:
    """A job as its manifest, the files beside it, and how it is measured."""

    def __init__(self, manifest, model, data, batch, shards, steps):
        self.manifest, self.model, self.data, self.batch, self.shards, self.steps = manifest, model, data, batch, shards, steps


MLP = """
apiVersion: paceline.dev/v1alpha1
kind: TrainingJob
metadata: {name: mlp}
spec:
  model: {torchScript: mlp.pt, loss: CrossEntropy}
  data: {train: train.safetensors}
  training:
    globalBatchSize: 32
    optimizer: {type: SGD, sgd: {momentum: 0.9, weightDecay: 0.0005}}
    learningRate: {base: 0.01}
    stop: {maxSteps: 60}
    seed: 1
  workers: {replicas: 1}
"""
MAKE_MLP = """
import sys, torch
from safetensors.torch import save_file
torch.manual_seed(1)
units = [3072, 4096, 4096, 10]
layers = [layer for a, b in zip(units, units[1:]) for layer in (torch.nn.Linear(a, b), torch.nn.ReLU())][:-1]
torch.jit.script(torch.nn.Sequential(*layers)).save(sys.argv[1] + "/mlp.pt")
save_file({"inputs": torch.rand(512, units[0]), "targets": torch.randint(units[-1], (512,))}, sys.argv[1] + "/train.safetensors")
"""


def make_task(name, python, folder):
    if name == "digits":
        files = SAMPLE.parent / "digits"
        return Task(SAMPLE, files / "cnn.pt", files / "train.safetensors", 16, 1, 600)
    subprocess.run([python, "-W", "ignore", "-c", MAKE_MLP, folder], check=True)
    manifest = Path(folder) / "mlp.yaml"
    manifest.write_text(MLP, encoding="utf-8")
    return Task(manifest, Path(folder) / "mlp.pt", Path(folder) / "train.safetensors", 32, 2, 60)


# With what makes it quick: PyTorch's fused optimizer, and memory that is given back at the end alone, as ours has it.
PLAIN_LOOP = """
import ctypes, os, statistics, sys, time, torch
libc = ctypes.CDLL(None)
assert libc.mallopt(-1, 1 << 30) and libc.mallopt(-3, 1 << 30)  # Trim threshold, mmap threshold.
from safetensors.torch import load_file
os.nice(10)  # As paceline run has its workers.
torch.set_num_threads(1)
steps, batch, model, data = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], load_file(sys.argv[4])
x, y = data["inputs"], data["targets"].long()
model = torch.jit.load(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=0.0005, fused=True)
ends = []
for step in range(steps):
    rows = torch.randperm(len(x))[:batch].tolist()
    loss = torch.nn.functional.cross_entropy(model(x[rows]), y[rows])
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    float(loss.detach())
    ends.append(time.monotonic())
ends = ends[len(ends) // 5:]
print(1e3 * statistics.median(b - a for a, b in zip(ends, ends[1:])))
"""


def said(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def run_job(task, programs, workers, steps, environment):
    """Milliseconds of a step, and of them those of computing."""
    with tempfile.TemporaryDirectory() as folder:
        sets = [f"spec.workers.replicas={workers}", f"spec.training.globalBatchSize={task.batch * workers}", "spec.evaluator=null",
                f"spec.parameterServer.shards={task.shards}", f"spec.training.stop={{maxSteps: {steps}}}"]
        command = [Path(programs) / "paceline", "run", task.manifest, "--runs", folder]
        subprocess.run(command + [word for one in sets for word in ("--set", one)], env={**os.environ, **environment},
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
        trace = next(Path(folder).glob("*/policy.trace")).read_text(encoding="utf-8")
    first = steps // 5
    ends = [1e3 * float(at) for at in re.findall(r"^@(\S+) committed", trace, re.M)][first:]
    computing = [1e3 * float(time) for time in re.findall(r" push .*?compute=(\S+)", trace)][first * workers:]
    return statistics.median(b - a for a, b in zip(ends, ends[1:])), statistics.median(computing)


def run_plain(task, python, loops, steps):
    command = [python, "-W", "ignore", "-c", PLAIN_LOOP, str(steps), str(task.batch), task.model, task.data]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(loops)]
    return statistics.median(float(one.communicate()[0]) for one in running), 0.0


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("build", type=Path)
    parser.add_argument("--model", choices=["digits", "mlp"], default="digits")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--steps", type=int, help="600 of digits, 60 of mlp")
    options = parser.parse_args()
    found = subprocess.run([ROOT / "tools" / "setup", "--python"], capture_output=True, text=True, check=False)
    if found.returncode != 0:
        print(f"skipped: {found.stderr.strip()}")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        measure(options, found.stdout.strip(), folder)
    return 0


def measure(options, python, folder):
    task = make_task(options.model, python, folder)
    workers, steps = options.workers, options.steps or task.steps
    scripts = said(ROOT / "tests" / "python" / "host" / "in_place_of_worker", options.build, "/usr/bin/printenv",
                   "PACELINE_PROGRAMS")
    arms = {
        "PyTorch's loop": lambda: run_plain(task, python, workers, steps),
        "paceline-worker": lambda: run_job(task, options.build / "bin", workers, steps, {}),
        "a script": lambda: run_job(task, scripts, workers, steps, {"PACELINE_HOST_COPIES": "0"}),
        "a script, copies": lambda: run_job(task, scripts, workers, steps, {"PACELINE_HOST_COPIES": "1"}),
    }
    rows = {name: [] for name in arms}
    for _ in range(options.rounds):
        for name, arm in arms.items():
            rows[name].append(arm())
    sums = [plain + worker - computing for (plain, _), (worker, computing) in zip(rows["PyTorch's loop"], rows["paceline-worker"])]
    print(f"Milliseconds a step: {options.model}, BSP, {workers} workers, {task.shards} shards, batches of {task.batch} each, {steps} "
          f"steps, {options.rounds} rounds")
    print(f"{'':20}{'step':>8}{'least':>8}{'most':>8}{'computing':>11}{'over both':>11}")
    for name, times in rows.items():
        steps = [step for step, _ in times]
        over = statistics.median(step / both for step, both in zip(steps, sums))
        computing = statistics.median(part for _, part in times)
        print(f"{name:20}{statistics.median(steps):8.2f}{min(steps):8.2f}{max(steps):8.2f}"
              f"{computing or float('nan'):11.2f}{over if 'script' in name else float('nan'):11.2f}")


if __name__ == "__main__":
    sys.exit(main())
