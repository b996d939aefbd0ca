"""The data of a manifest, as lib/learn reads them: .safetensors, .npy and IDX."""
import json  # noqa: F401
import os

import numpy
import torch
from safetensors.torch import load_file


def read(folder, path, targets_path):
    """Inputs and targets."""
    path = os.path.join(folder, path)
    if path.endswith(".safetensors"):
        found = load_file(path)
        inputs, targets = found["inputs"], found["targets"]
    elif path.endswith(".npy"):
        other = targets_path or os.path.basename(path).replace("inputs", "targets")
        inputs, targets = (torch.from_numpy(numpy.load(os.path.join(folder, one))) for one in (path, other))
    else:
        other = os.path.join(folder, targets_path) if targets_path else path.replace("images-idx3", "labels-idx1")
        inputs, targets = idx(path).unsqueeze(1).float() / 255, idx(other)
    return widened(inputs), widened(targets)


def idx(path):
    with open(path, "rb") as file:
        data = file.read()
    shape = [int.from_bytes(data[4 + 4 * i:8 + 4 * i], "big") for i in range(data[3])]
    return torch.from_numpy(numpy.frombuffer(data, numpy.uint8, offset=4 + 4 * len(shape)).copy()).view(shape)


def widened(tensor):
    return tensor if tensor.dtype in (torch.float32, torch.int64) else tensor.long()
