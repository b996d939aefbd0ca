#!/usr/bin/env python3
"""Turns the digits table that scikit-learn carries into train.safetensors and test.safetensors beside this file.

    convert.py /usr/lib/python3/dist-packages/sklearn/datasets/data/digits.csv.gz

Needs nothing beyond Python's standard library. The split is seeded and stratified: of each class the same share is held
out, 360 samples in all. The same table gives the same bytes.
"""
import gzip
import json
import pathlib
import random
import struct
import sys

HELD_OUT = 360
SEED = 1


def write_safetensors(path, inputs, targets):
    """inputs: rows of 64 floats; targets: integers."""
    tensors = [
        ("inputs", "F32", [len(inputs), 1, 8, 8], b"".join(struct.pack("<64f", *row) for row in inputs)),
        ("targets", "I64", [len(targets)], struct.pack(f"<{len(targets)}q", *targets)),
    ]
    header, begin = {}, 0
    for name, dtype, shape, data in tensors:
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [begin, begin + len(data)]}
        begin += len(data)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(data for *_, data in tensors))


def split(labels):
    """Positions of (train, test), each in a shuffled order."""
    shuffle = random.Random(SEED)
    by_class = {}
    for position, label in enumerate(labels):
        by_class.setdefault(label, []).append(position)
    # Largest remainder, so that the held-out set has exactly HELD_OUT samples.
    exact = {label: len(positions) * HELD_OUT / len(labels) for label, positions in by_class.items()}
    count = {label: int(share) for label, share in exact.items()}
    by_remainder = sorted(exact, key=lambda label: (count[label] - exact[label], label))
    for label in by_remainder[: HELD_OUT - sum(count.values())]:
        count[label] += 1
    train, test = [], []
    for label in sorted(by_class):
        shuffle.shuffle(by_class[label])
        test += by_class[label][: count[label]]
        train += by_class[label][count[label] :]
    shuffle.shuffle(train)
    shuffle.shuffle(test)
    return train, test


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with gzip.open(sys.argv[1], "rt") as table:
        rows = [[int(float(field)) for field in line.split(",")] for line in table]
    labels = [row[64] for row in rows]
    here = pathlib.Path(__file__).parent
    for name, positions in zip(("train", "test"), split(labels)):
        inputs = [[pixel / 16 for pixel in rows[position][:64]] for position in positions]
        write_safetensors(here / f"{name}.safetensors", inputs, [labels[position] for position in positions])
        print(f"{name}.safetensors: {len(positions)} samples")


main()
