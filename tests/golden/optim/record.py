#!/usr/bin/env python3
"""Records what PyTorch computes, for the tests of lib/optim and lib/store.

Usage, with the torch version that the first line of each file names:
    record.py optimizers > vectors.txt     torch.optim's optimizers, and Lion and LAMB, which it lacks
    record.py groups > groups.txt          the same with several tensors and parameter groups
    record.py schedules > schedules.txt    torch.optim.lr_scheduler
    record.py averages > averages.txt      torch.optim.swa_utils.AveragedModel with get_ema_multi_avg_fn

Format, one keyword a line, values after it:
  case NAME          begins a case
  optimizer SGD|AdamW|Adagrad|Lion|Lamb
  option KEY VALUE   what differs from the default
  tensor NAME SIZE   of groups.txt: its values are the next SIZE of each line below
  parameters V...    initial values
  step RATE          one step: then its gradient, and the parameters after it
  gradient V...
  parameters V...
  state NAME V...    at the end of the case
of averages.txt, whose optimizer is SGD: option decay VALUE, and after the parameters of each step
  average V...       of the model's after that step
and of schedules.txt: option KEY VALUE, in steps where it is a time, and
  rates V...         of each step, from the first

Lion and LAMB are written out below from their papers: Chen et al. 2023, arXiv 2302.06675, algorithm 2; You et al. 2020,
arXiv 1904.00962, algorithm 2, with the norms themselves for phi, and a ratio of 1 where a norm is 0.
"""
import sys

import torch
from torch.optim import lr_scheduler, swa_utils

SIZE = 11
RATES = [0.1, 0.1, 0.05, 0.02, 0.01]
LONG_SIZE = 37
LONG_RATES = [0.05 * (1 - step / 25) for step in range(20)]


class Lion(torch.optim.Optimizer):
    def __init__(self, parameters, lr, betas=(0.9, 0.99), weight_decay=0.0, foreach=False):
        super().__init__(parameters, {"lr": lr, "betas": betas, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for p in group["params"]:
                m = self.state[p].setdefault("exp_avg", torch.zeros_like(p))
                update = torch.sign(beta1 * m + (1 - beta1) * p.grad)
                p.sub_(group["lr"] * (update + group["weight_decay"] * p))
                m.copy_(beta2 * m + (1 - beta2) * p.grad)


class Lamb(torch.optim.Optimizer):
    def __init__(self, parameters, lr, betas=(0.9, 0.999), eps=1e-6, weight_decay=0.01, foreach=False):
        super().__init__(parameters, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for p in group["params"]:
                state = self.state[p]
                m = state.setdefault("exp_avg", torch.zeros_like(p))
                v = state.setdefault("exp_avg_sq", torch.zeros_like(p))
                t = state["step"] = state.get("step", 0) + 1
                m.copy_(beta1 * m + (1 - beta1) * p.grad)
                v.copy_(beta2 * v + (1 - beta2) * p.grad**2)
                update = m / (1 - beta1**t) / ((v / (1 - beta2**t)).sqrt() + group["eps"]) + group["weight_decay"] * p
                length, size = update.norm(), p.norm()
                ratio = size / length if size > 0 and length > 0 else 1.0
                p.sub_(group["lr"] * ratio * update)


SGD, AdamW, Adagrad = torch.optim.SGD, torch.optim.AdamW, torch.optim.Adagrad
SHORT_CASES = [
    ("sgd-plain", SGD, {}),
    ("sgd-weight-decay", SGD, {"weight_decay": 0.05}),
    ("sgd-momentum", SGD, {"momentum": 0.9}),
    ("sgd-dampening", SGD, {"momentum": 0.8, "dampening": 0.3}),
    ("sgd-nesterov", SGD, {"momentum": 0.9, "nesterov": True}),
    ("sgd-nesterov-weight-decay", SGD, {"momentum": 0.9, "nesterov": True, "weight_decay": 0.0005}),
    ("sgd-all-but-nesterov", SGD, {"momentum": 0.9, "dampening": 0.1, "weight_decay": 0.01}),
    ("adamw-default", AdamW, {}),
    ("adamw-no-weight-decay", AdamW, {"weight_decay": 0.0}),
    ("adamw-betas-weight-decay", AdamW, {"beta1": 0.8, "beta2": 0.95, "eps": 1e-6, "weight_decay": 0.1}),
]
LONG_CASES = [
    ("adagrad-default", Adagrad, {}),
    ("adagrad-decays-weights-and-rate", Adagrad,
     {"lr_decay": 0.01, "initial_accumulator_value": 0.1, "eps": 1e-6, "weight_decay": 0.05}),
    ("lion-default", Lion, {}),
    ("lion-betas-weight-decay", Lion, {"beta1": 0.95, "beta2": 0.98, "weight_decay": 0.1}),
    ("lamb-default", Lamb, {}),
    ("lamb-betas-weight-decay", Lamb, {"beta1": 0.8, "beta2": 0.95, "eps": 1e-5, "weight_decay": 0.1}),
]
GROUP_CASES = [
    ("sgd", SGD, {"momentum": 0.9, "weight_decay": 0.05}),
    ("adamw", AdamW, {"weight_decay": 0.1}),
    ("adagrad", Adagrad, {"weight_decay": 0.05}),
    ("lion", Lion, {"weight_decay": 0.1}),
    ("lamb", Lamb, {"weight_decay": 0.1}),
]
TENSORS = [("stem.weight", 35), ("stem.bias", 7), ("norm.weight", 5), ("table.weight", 13), ("head.weight", 17)]


def line(keyword, tensor):
    print(keyword, *(f"{value:.9g}" for value in tensor.tolist()))


def begin(name, kind, options):
    print("case", name)
    print("optimizer", kind.__name__)
    for key, value in options.items():
        print("option", key, f"{float(value):.9g}")
    arguments = dict(options)
    if "beta1" in arguments:
        arguments["betas"] = (arguments.pop("beta1"), arguments.pop("beta2"))
    return arguments


def record(name, kind, options, size, rates):
    arguments = begin(name, kind, options)
    generator = torch.Generator().manual_seed(7)
    parameters = torch.nn.Parameter(torch.randn(size, generator=generator))
    optimizer = kind([parameters], lr=rates[0], foreach=False, **arguments)
    line("parameters", parameters.data)
    for rate in rates:
        gradient = torch.randn(size, generator=generator)
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


# Biases and norm.weight without decay and at a tenth of the rate, table.weight frozen.
def record_groups(name, kind, options):
    arguments = begin(name, kind, options)
    generator = torch.Generator().manual_seed(11)
    tensors = {}
    for tensor, size in TENSORS:
        print("tensor", tensor, size)
        tensors[tensor] = torch.nn.Parameter(torch.randn(size, generator=generator))
    slow = ["stem.bias", "norm.weight"]
    tensors["table.weight"].requires_grad_(False)
    rate = 0.05
    optimizer = kind([
        {"params": [tensors["stem.weight"], tensors["head.weight"]]},
        {"params": [tensors[one] for one in slow], "weight_decay": 0.0},
    ], lr=rate, foreach=False, **arguments)
    line("parameters", torch.cat([p.data for p in tensors.values()]))
    for step in range(20):
        rate = 0.05 * (1 - step / 25)
        optimizer.param_groups[0]["lr"] = rate
        optimizer.param_groups[1]["lr"] = 0.1 * rate
        gradients = [torch.randn(size, generator=generator) for _, size in TENSORS]
        for p, gradient in zip(tensors.values(), gradients):
            p.grad = gradient.clone() if p.requires_grad else None
        optimizer.step()
        print("step", rate)
        line("gradient", torch.cat(gradients))
        line("parameters", torch.cat([p.data for p in tensors.values()]))


class OneParameter(torch.nn.Module):
    def __init__(self, values):
        super().__init__()
        self.w = torch.nn.Parameter(values)


def record_average(decay):
    begin(f"decay-{decay}", SGD, {"momentum": 0.9, "decay": decay})
    generator = torch.Generator().manual_seed(13)
    model = OneParameter(torch.randn(LONG_SIZE, generator=generator))
    optimizer = SGD(model.parameters(), lr=LONG_RATES[0], momentum=0.9)
    average = swa_utils.AveragedModel(model, multi_avg_fn=swa_utils.get_ema_multi_avg_fn(decay))
    line("parameters", model.w.data)
    for rate in LONG_RATES:
        gradient = torch.randn(LONG_SIZE, generator=generator)
        optimizer.param_groups[0]["lr"] = rate
        model.w.grad = gradient.clone()
        optimizer.step()
        average.update_parameters(model)
        print("step", rate)
        line("gradient", gradient)
        line("parameters", model.w.data)
        line("average", average.module.w.data)


BASE = 0.4
SCHEDULES = [
    ("cosine", 50, {"final": 0.04}, lambda o: lr_scheduler.CosineAnnealingLR(o, 50, eta_min=0.04)),
    ("linear", 50, {"final": 0.04}, lambda o: lr_scheduler.LinearLR(o, 1, 0.1, 50)),
    ("step", 50, {"step": 7, "factor": 0.5}, lambda o: lr_scheduler.StepLR(o, 7, 0.5)),
    ("polynomial", 50, {"power": 2}, lambda o: lr_scheduler.PolynomialLR(o, 50, 2)),
    ("polynomial", 37, {"power": 0.5}, lambda o: lr_scheduler.PolynomialLR(o, 37, 0.5)),
    ("wsd", 50, {"warmup": 5, "share": 0.2, "final": 0.04}, lambda o: lr_scheduler.SequentialLR(o, [
        lr_scheduler.LinearLR(o, 1 / 5, 1, 4), lr_scheduler.ConstantLR(o, 1, 1), lr_scheduler.LinearLR(o, 1, 0.1, 10)],
        [5, 40])),
    ("one_cycle", 50, {}, lambda o: lr_scheduler.OneCycleLR(o, BASE, 50, cycle_momentum=False)),
    ("one_cycle", 37, {"peak": 0.45, "start": 10, "end": 100}, lambda o: lr_scheduler.OneCycleLR(
        o, BASE, 37, pct_start=0.45, div_factor=10, final_div_factor=100, cycle_momentum=False)),
    ("restarts", 50, {"period": 7, "final": 0.04}, lambda o: lr_scheduler.CosineAnnealingWarmRestarts(
        o, 7, eta_min=0.04)),
    ("restarts", 50, {"period": 5, "longer": 2}, lambda o: lr_scheduler.CosineAnnealingWarmRestarts(o, 5, 2)),
]


def record_schedule(name, steps, options, make):
    print("case", name)
    for key, value in {"base": BASE, "steps": steps, **options}.items():
        print("option", key, f"{float(value):.17g}")
    optimizer = SGD([torch.nn.Parameter(torch.zeros(1))], lr=BASE)
    schedule = make(optimizer)
    rates = []
    for _ in range(steps):
        rates.append(float(optimizer.param_groups[0]["lr"]))
        optimizer.step()
        if len(rates) < steps:
            schedule.step()
    print("rates", *(f"{rate:.17g}" for rate in rates))


print("# torch", torch.__version__.split("+")[0])
if sys.argv[1:] == ["optimizers"]:
    for case in SHORT_CASES:
        record(*case, SIZE, RATES)
    for case in LONG_CASES:
        record(*case, LONG_SIZE, LONG_RATES)
elif sys.argv[1:] == ["groups"]:
    for case in GROUP_CASES:
        record_groups(*case)
elif sys.argv[1:] == ["averages"]:
    for decay in [0.999, 0.9, 0.5, 0.2]:
        record_average(decay)
elif sys.argv[1:] == ["schedules"]:
    for case in SCHEDULES:
        record_schedule(*case)
else:
    sys.exit(__doc__)
