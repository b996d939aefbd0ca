"""The script that is a worker: python loop.py FOLDER cuda|cpu small|norms|large. It writes steps-INDEX-RANK.json
of what its steps were."""
import json
import os
import statistics
import sys
import time
from pathlib import Path

import torch
from torch import nn

SIZES = {'small': (64, 128, 10), 'norms': (64, 128, 10), 'large': (1024, 2048, 2048, 10)}


def make(size):
    torch.manual_seed(7)
    widths = SIZES[size]
    modules = []
    for before, after in zip(widths, widths[1:]):
        modules += [nn.Linear(before, after), *([nn.BatchNorm1d(after)] if size == 'norms' else []), nn.ReLU()]
    return nn.Sequential(*modules[:-1])


def samples(size):
    drawn = torch.Generator().manual_seed(1)
    widths = SIZES[size]
    return torch.randn(4096, widths[0], generator=drawn), torch.randint(10, (4096,), generator=drawn)


def batches_of(count, batch, steps):
    for step in range(steps):
        begin = step * batch % count
        yield slice(begin, begin + batch)


def loss_of(model, x, y):
    return nn.functional.cross_entropy(model(x), y)


def main(folder, device, size):
    import paceline
    model = make(size).to(device)
    losses, indices, ends = [], [], []
    with paceline.worker(model) as w:
        for batch in w.data(samples(size)):
            batch = batch.to(device)
            step = w.step(loss_of(model, batch.x, batch.y))
            ends.append(time.perf_counter())
            if not step.given_up:
                losses.append(step.loss)
                indices.append(list(batch.indices))
    took = [1e3 * (after - before) for before, after in zip(ends, ends[1:])][len(ends) // 4:]
    said = {'losses': losses, 'indices': indices, 'step_ms': statistics.median(took)}
    Path(folder, f'steps-{w.index}-{os.environ.get("RANK", "0")}.json').write_text(json.dumps(said))


if __name__ == '__main__':
    main(*sys.argv[1:])
