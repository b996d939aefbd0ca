#!/usr/bin/env python3
"""Makes train.safetensors and test.safetensors beside this file, or in the folder that is given.

    make_data.py [FOLDER]

Ten classes of images of 16 x 16 pixels. A class is four blobs of light; a sample has them moved a little, brighter or darker,
under noise. Needs nothing beyond Python's standard library, takes some seconds, and gives the same bytes each time.
"""
import json
import math
import pathlib
import random
import struct
import sys

SIZE, CLASSES, BLOBS = 16, 10, 4
SAMPLES = {"train": 4096, "test": 512}
SHIFT, NOISE = 1.0, 0.4  # Pixels, and brightness; standard deviations.
SEED = 1


def blob(x, y, brightness):
    """Pixels of one blob of light, as (position, value), where there is any to speak of."""
    for row in range(max(0, int(y) - 3), min(SIZE, int(y) + 5)):
        for column in range(max(0, int(x) - 3), min(SIZE, int(x) + 5)):
            value = brightness * math.exp(-((column - x) ** 2 + (row - y) ** 2) / 3)
            yield row * SIZE + column, value


def image(chance, blobs):
    pixels = [chance.gauss(0, NOISE) for _ in range(SIZE * SIZE)]
    for x, y in blobs:
        for position, value in blob(x + chance.gauss(0, SHIFT), y + chance.gauss(0, SHIFT), chance.uniform(0.6, 1.4)):
            pixels[position] += value
    return pixels


def write_safetensors(path, inputs, targets):
    tensors = [
        ("inputs", "F32", [len(inputs), 1, SIZE, SIZE], b"".join(struct.pack(f"<{SIZE * SIZE}f", *row) for row in inputs)),
        ("targets", "I64", [len(targets)], struct.pack(f"<{len(targets)}q", *targets)),
    ]
    header, begin = {}, 0
    for name, dtype, shape, data in tensors:
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [begin, begin + len(data)]}
        begin += len(data)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(data for *_, data in tensors))


def main():
    if len(sys.argv) > 2:
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1]) if len(sys.argv) == 2 else pathlib.Path(__file__).parent
    chance = random.Random(SEED)
    classes = [[(chance.uniform(2, SIZE - 3), chance.uniform(2, SIZE - 3)) for _ in range(BLOBS)] for _ in range(CLASSES)]
    for name, count in SAMPLES.items():
        targets = [position % CLASSES for position in range(count)]
        write_safetensors(folder / f"{name}.safetensors", [image(chance, classes[target]) for target in targets], targets)
        print(f"{name}.safetensors: {count} samples")


main()
