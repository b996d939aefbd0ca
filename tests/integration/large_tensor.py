#!/usr/bin/env python3
"""Trains a model with one tensor of more than 2 GiB for two steps, so that nothing that wraps there goes unseen.

    tests/integration/large_tensor.py PACELINE [CLASSES]

One worker, one shard, plain SGD. Wants 20 GiB of memory and 5 GiB of disk (TMPDIR); prints the peak of all processes.
Exit 77 where the machine has less. With a smaller number of classes it is a rehearsal: 592 are 2.2 GiB.
"""
import array
import json
import os
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))
from eventually import eventually  # noqa: E402

INPUTS = 1_000_000
MEMORY_GIB = 20
SAMPLES = 4
STEPS = 2  # Each of half of the samples.
RATE = 0.01
INPUT = 0.001
SECONDS_MAX = 1800

MANIFEST = """apiVersion: paceline.dev/v1alpha1
kind: TrainingJob
metadata: {{name: large}}
spec:
  model: {{builtIn: Softmax, inputShape: [{inputs}], classes: {classes}, loss: CrossEntropy}}
  data: {{train: train.safetensors}}
  training:
    globalBatchSize: 2
    optimizer: {{type: SGD}}
    learningRate: {{base: {rate}}}
    stop: {{maxSteps: {steps}}}
  parameterServer: {{shards: 1}}
  workers: {{replicas: 1}}
"""


def write_samples(path, classes):
    inputs = SAMPLES * INPUTS * 4
    header = json.dumps({
        "inputs": {"dtype": "F32", "shape": [SAMPLES, INPUTS], "data_offsets": [0, inputs]},
        "targets": {"dtype": "I64", "shape": [SAMPLES], "data_offsets": [inputs, inputs + 8 * SAMPLES]},
    }).encode()
    header += b" " * (-len(header) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(header)) + header)
        for sample in range(SAMPLES):
            file.write(struct.pack("<f", INPUT * (sample + 1)) * INPUTS)
        # The last class, whose rows lie behind the first 2 GiB.
        file.write(struct.pack("<q", classes - 1) * SAMPLES)


def resident(group):
    """Bytes that the processes of a session hold, each its own."""
    total = 0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
            if int(fields[3]) == group:
                total += int(fields[21]) * os.sysconf("SC_PAGESIZE")
        except (OSError, IndexError):
            continue  # It has ended.
    return total


def model_header(path):
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        return 8 + length, json.loads(file.read(length))


def check_model(path, classes):
    start, header = model_header(path)
    header.pop("__metadata__", None)
    name, weight = max(header.items(), key=lambda item: item[1]["data_offsets"][1] - item[1]["data_offsets"][0])
    begin, end = weight["data_offsets"]
    assert end - begin == classes * INPUTS * 4, (name, weight)
    assert path.stat().st_size == start + max(tensor["data_offsets"][1] for tensor in header.values())
    means = []
    with open(path, "rb") as file:
        for row in (0, classes - 1):
            file.seek(start + begin + row * INPUTS * 4)
            weights = array.array("f")
            weights.fromfile(file, INPUTS)
            means.append(sum(weights) / INPUTS)
    print(f"tensor {name}: {end - begin:,} bytes, mean of its first row {means[0]:.3g}, of its last {means[1]:.3g}")
    return means


def available_gib():
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) / (1 << 20)
    return 0


def main():
    program = Path(sys.argv[1]).resolve()
    classes = int(sys.argv[2]) if len(sys.argv) > 2 else 592
    wanted = MEMORY_GIB * classes / 592
    if available_gib() < wanted:
        print(f"skipped: wants {wanted:.1f} GiB of memory, {available_gib():.1f} are available")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        write_samples(folder / "train.safetensors", classes)
        (folder / "large.yaml").write_text(MANIFEST.format(inputs=INPUTS, classes=classes, steps=STEPS, rate=RATE))
        start, peak = time.monotonic(), 0
        with open(folder / "log", "wb") as log:
            run = subprocess.Popen([program, "run", "large.yaml"], cwd=folder, stdout=log, stderr=log, start_new_session=True)

            def has_ended():
                nonlocal peak
                peak = max(peak, resident(run.pid))
                return run.poll() is not None
            if not eventually(has_ended, SECONDS_MAX):
                os.killpg(run.pid, 9)
        print(f"{STEPS} steps of a model of {classes * INPUTS * 4 / (1 << 30):.2f} GiB: "
              f"{time.monotonic() - start:.0f} s, peak of all processes {peak / (1 << 30):.1f} GiB")
        models = list(folder.rglob("model.safetensors"))
        if run.returncode != 0 or not models:
            print((folder / "log").read_text(errors="replace")[-4000:])
            sys.exit(1)
        first, last = check_model(models[0], classes)
        # All samples are of the last class: its weights have grown by the rate times the mean input of each step, from
        # random ones whose mean is about 1e-6; of any other class they have hardly moved.
        grown = RATE * sum(INPUT * (sample + 1) for sample in range(SAMPLES)) / SAMPLES * STEPS
        if not (abs(last - grown) < 0.1 * grown and abs(first) < 0.1 * grown):
            print(f"the last row was not trained as it should be: want a mean of {grown:.3g}")
            sys.exit(1)


if __name__ == "__main__":
    main()
