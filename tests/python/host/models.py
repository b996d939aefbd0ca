"""The model and the loss of a manifest, as lib/learn makes them."""
import math
import os

import numpy
import torch
from safetensors.torch import load_file
from torch import nn
from torch.nn import functional

GOLDEN = 0x9e3779b97f4a7c15


class SplitMix64:
    """Of lib/base/epoch_order.h, a block at a time."""

    def __init__(self, state):
        self.state = state

    def uniform(self, count):
        steps = numpy.arange(1, count + 1, dtype=numpy.uint64)
        z = numpy.uint64(self.state) + steps * numpy.uint64(GOLDEN)
        self.state = (self.state + count * GOLDEN) % 2**64
        z = (z ^ (z >> numpy.uint64(30))) * numpy.uint64(0xbf58476d1ce4e5b9)
        z = (z ^ (z >> numpy.uint64(27))) * numpy.uint64(0x94d049bb133111eb)
        z ^= z >> numpy.uint64(31)
        return (z >> numpy.uint64(11)).astype(numpy.float64) * 2.0**-53


class BuiltIn(nn.Module):
    """Of lib/learn/builtin_net.cc: names, shapes and starting values, bit by bit."""

    def __init__(self, model, shape, outputs, seed):
        super().__init__()
        random = SplitMix64(seed)
        self.convolutions, self.linears = [], []
        hidden = [model["hidden"]] if model.get("hidden") else [64]
        width = math.prod(shape)
        if model["builtIn"] == "Cnn":
            channels = shape[0]
            for number, more in enumerate([16, 32], 1):
                self._add(self.convolutions, f"conv{number}", nn.Conv2d(channels, more, 3, padding=1), random)
                channels = more
            width = channels * (shape[1] // 2) * (shape[2] // 2)
        widths = [outputs] if model["builtIn"] == "Softmax" else hidden + [outputs]
        for number, following in enumerate(widths, 1):
            name = "fc" if model["builtIn"] == "Softmax" else f"fc{number}"
            self._add(self.linears, name, nn.Linear(width, following), random)
            width = following

    def _add(self, to, name, layer, random):
        bound = 1 / math.sqrt(math.prod(layer.weight.shape[1:]))
        with torch.no_grad():
            for tensor in (layer.weight, layer.bias):
                values = (2 * random.uniform(tensor.numel()) - 1) * bound
                tensor.copy_(torch.from_numpy(values.astype(numpy.float32)).view(tensor.shape))
        self.add_module(name, layer)
        to.append(name)

    def forward(self, x):
        for name in self.convolutions:
            x = functional.relu(getattr(self, name)(x))
        if self.convolutions:
            x = functional.max_pool2d(x, 2)
        x = x.flatten(1)
        for number, name in enumerate(self.linears):
            x = getattr(self, name)(functional.relu(x) if number else x)
        return x


def make(spec, folder, train):
    """As TrainingOptionsFrom has it; the seed is the job's."""
    model = spec["model"]
    if model.get("torchScript"):
        made = torch.jit.load(os.path.join(folder, model["torchScript"]))
    else:
        inputs, targets = train
        shape = model.get("inputShape") or list(inputs.shape[1:])
        outputs = model.get("classes") or (int(targets.max()) + 1 if targets.dtype == torch.int64 else targets[0].numel())
        made = BuiltIn(model, shape, outputs, spec["training"]["seed"])
    if model.get("init") and os.environ.get("PACELINE_ROLE", "worker") == "worker":
        values = load_file(os.path.join(folder, model["init"]))
        with torch.no_grad():
            for name, tensor in made.state_dict(keep_vars=True).items():
                tensor.copy_(values[name])
    return made


def are_classes(outputs, targets):
    return targets.dtype == torch.int64 and outputs.is_floating_point() and outputs.shape[:-1] == targets.shape


def correct(outputs, targets):
    if outputs is None or not are_classes(outputs, targets):
        return 0
    return int(outputs.detach().argmax(-1).eq(targets).sum())


def judged(targets):
    return targets.numel()


def loss(name, model):
    """Of inputs and targets: the loss, and the outputs where they are known."""
    def cross_entropy(inputs, targets):
        outputs = model(inputs)
        return functional.cross_entropy(outputs.reshape(-1, outputs.size(-1)), targets.reshape(-1)), outputs

    def squared_error(inputs, targets):
        outputs = model(inputs)
        return functional.mse_loss(outputs.reshape(targets.shape), targets), outputs

    def own(inputs, targets):
        return model.loss(inputs, targets), None
    return {"CrossEntropy": cross_entropy, "MeanSquaredError": squared_error, "Model": own}[name]
