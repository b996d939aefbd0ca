#!/usr/bin/env python3
"""One rank of DistributedDataParallel with gloo that sleeps by a delay table. beside_ddp.py starts it, in the Python of tools/setup.

    ddp_with_delays.py FOLDER RANK

What is to be done lies in FOLDER/task.json. A step computes, sleeps, and then reduces gradients: the sleep is before the backward
pass, in which gloo's reducing begins. A thread of rank 0 evaluates the newest version every period, as Paceline's evaluator
does, on a copy. Once a version has reached the target, rank 0 prints a JSON object and ends: seconds from the first step's
start to the end of the optimizer step that made this version, its number, and all steps' ends. The others are ended from outside.
"""
import json
import os
import sys
import threading
import time
from pathlib import Path

import safetensors.torch
import torch
import torch.distributed
from torch.nn.functional import cross_entropy
from torch.nn.parallel import DistributedDataParallel

import delay_tables


def batches(samples, batch, rank, ranks, seed):
    """This rank's part of each step's samples: all of an epoch in an order of the seed, and on into the next."""
    generator = torch.Generator().manual_seed(seed)
    left = torch.empty(0, dtype=torch.int64)
    while True:
        if len(left) < batch:
            left = torch.cat([left, torch.randperm(samples, generator=generator)])
        part = batch // ranks
        yield left[rank * part:(rank + 1) * part]
        left = left[batch:]


class Evaluator(threading.Thread):
    """Looks at the newest version once a period."""

    def __init__(self, task, ends, published):
        super().__init__(daemon=True)
        self.task, self.ends, self.published = task, ends, published
        self.net = torch.jit.load(task["model"])
        data = safetensors.torch.load_file(task["eval"])
        self.inputs, self.targets = data["inputs"], data["targets"].long()

    def run(self):
        looked_at = 0
        while True:
            time.sleep(self.task["period"])  # sleeps: what is measured looks once a period, as Paceline's evaluator does
            version, values = self.published()
            if version == looked_at:
                continue
            looked_at = version
            self.net.load_state_dict(values)
            with torch.no_grad():
                loss = cross_entropy(self.net(self.inputs), self.targets).item()
            if loss <= self.task["target"] or version == self.task["steps"]:
                done = {"reached": loss <= self.task["target"], "seconds": self.ends[version] - self.ends[0],
                        "steps": version, "ends": [end - self.ends[0] for end in self.ends[:version + 1]], "loss": loss}
                print(json.dumps(done), flush=True)
                os._exit(0)


def main():
    folder, rank = Path(sys.argv[1]), int(sys.argv[2])
    task = json.loads((folder / "task.json").read_text(encoding="utf-8"))
    os.nice(task["niceness"])
    torch.set_num_threads(1)
    ranks = task["workers"]
    torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/rendezvous", rank=rank, world_size=ranks)
    net = torch.jit.load(task["model"])
    wrapped = DistributedDataParallel(net, gradient_as_bucket_view=True)
    optimizer = torch.optim.SGD(net.parameters(), lr=task["rate"], momentum=task["momentum"], weight_decay=task["decay"])
    data = safetensors.torch.load_file(task["train"])
    inputs, targets = data["inputs"], data["targets"].long()
    delays = delay_tables.from_csv((folder / "delays.csv").read_text(encoding="utf-8"))
    drawn = batches(len(inputs), task["batch"], rank, ranks, task["seed"])
    newest = [0, {name: values.clone() for name, values in net.state_dict().items()}]
    lock = threading.Lock()

    def published():
        with lock:
            return newest[0], newest[1]

    torch.distributed.barrier()
    ends = [time.monotonic()]
    evaluator = Evaluator(task, ends, published) if rank == 0 else None
    if evaluator:
        evaluator.start()
    for step in range(task["steps"]):
        samples = next(drawn)
        optimizer.zero_grad()
        loss = cross_entropy(wrapped(inputs[samples]), targets[samples])
        time.sleep(delays[step % len(delays)][rank])  # sleeps: it stands for computing; the delay table says how long
        loss.backward()
        optimizer.step()
        ends.append(time.monotonic())
        if rank == 0:
            copy = {name: values.clone() for name, values in net.state_dict().items()}
            with lock:
                newest[:] = [step + 1, copy]
    if evaluator:
        evaluator.join()  # It ends this process.
    sys.stdin.read()  # The others are ended from outside, or end with the process that has started them.


if __name__ == "__main__":
    main()
