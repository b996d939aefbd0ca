#!/usr/bin/env python3
"""Records what torch.optim computes, for lib/optim/optimizer_test.cc.

Usage: record.py > vectors.txt     (with the torch version that the first line of vectors.txt names)

Format, one keyword a line, values after it:
  case NAME          begins a case
  optimizer SGD|AdamW
  option KEY VALUE   what differs from the default
  parameters V...    initial values
  step RATE          one step: then its gradient, and the parameters after it
  gradient V...
  parameters V...
  state NAME V...    at the end of the case
"""
import torch

SIZE = 11
STEPS = 5
RATES = [0.1, 0.1, 0.05, 0.02, 0.01]

CASES = [
    ("sgd-plain", torch.optim.SGD, {}),
    ("sgd-weight-decay", torch.optim.SGD, {"weight_decay": 0.05}),
    ("sgd-momentum", torch.optim.SGD, {"momentum": 0.9}),
    ("sgd-dampening", torch.optim.SGD, {"momentum": 0.8, "dampening": 0.3}),
    ("sgd-nesterov", torch.optim.SGD, {"momentum": 0.9, "nesterov": True}),
    ("sgd-nesterov-weight-decay", torch.optim.SGD, {"momentum": 0.9, "nesterov": True, "weight_decay": 0.0005}),
    ("sgd-all-but-nesterov", torch.optim.SGD, {"momentum": 0.9, "dampening": 0.1, "weight_decay": 0.01}),
    ("adamw-default", torch.optim.AdamW, {}),
    ("adamw-no-weight-decay", torch.optim.AdamW, {"weight_decay": 0.0}),
    ("adamw-betas-weight-decay", torch.optim.AdamW, {"beta1": 0.8, "beta2": 0.95, "eps": 1e-6, "weight_decay": 0.1}),
]


def line(keyword, tensor):
    print(keyword, *(f"{value:.9g}" for value in tensor.tolist()))


def record(name, kind, options):
    print("case", name)
    print("optimizer", kind.__name__)
    for key, value in options.items():
        print("option", key, f"{float(value):.9g}")
    arguments = dict(options)
    if "beta1" in arguments:
        arguments["betas"] = (arguments.pop("beta1"), arguments.pop("beta2"))
    generator = torch.Generator().manual_seed(7)
    parameters = torch.nn.Parameter(torch.randn(SIZE, generator=generator))
    optimizer = kind([parameters], lr=RATES[0], foreach=False, **arguments)
    line("parameters", parameters.data)
    for rate in RATES:
        gradient = torch.randn(SIZE, generator=generator)
        gradient[0] = 0
        gradient[1] *= 1e-6
        gradient[2] *= 1e3
        optimizer.param_groups[0]["lr"] = rate
        parameters.grad = gradient.clone()
        optimizer.step()
        print("step", rate)
        line("gradient", gradient)
        line("parameters", parameters.data)
    for key, value in optimizer.state[parameters].items():
        if key != "step" and value is not None:
            line(f"state {key}", value)


print("# torch", torch.__version__.split("+")[0])
for case in CASES:
    record(*case)
