#!/usr/bin/env python3
"""Makes steps with torch.autocast and, for Float16, torch.amp.GradScaler, for a test to make the same.

    amp.py mlp|cnn Float16|BFloat16 FOLDER

Writes to FOLDER: model.pt, scripted; data.safetensors; steps.safetensors with `losses`, `scales` (after each step; 0
without scaling), `skipped` (1 where gradients were not finite) and the last step's gradient.<parameter>. Of the mlp
gradients overflow until the scale has come down. Parameters do not move.
"""
import pathlib
import sys

import torch
from record import Cnn
from safetensors.torch import save_file
from torch import nn
from torch.nn import functional

STEPS = 12


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(16, 32)
        self.fc2 = nn.Linear(32, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.fc2(torch.relu(self.fc1(x)))

    @torch.jit.export
    def loss(self, inputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return functional.cross_entropy(self.forward(inputs), targets)


def main():
    kind, precision, folder = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
    torch.manual_seed(5)
    torch.set_num_threads(1)
    net = Mlp() if kind == "mlp" else Cnn()
    shape = (24, 16) if kind == "mlp" else (24, 1, 8, 8)
    inputs = torch.randn(shape) * (100 if kind == "mlp" else 1)
    targets = torch.randint(0, 10, (24,))
    save_file({"inputs": inputs, "targets": targets}, folder / "data.safetensors")
    torch.jit.script(net).save(folder / "model.pt")

    # Sums over a batch depend on its order: that of the first epoch, as the job's seed 0 has it.
    order = epoch_order(len(inputs))
    inputs, targets = inputs[order], targets[order]
    is_scaled = precision == "Float16"
    scaler = torch.amp.GradScaler("cpu", enabled=is_scaled)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.0)
    net.train()
    losses, scales, skipped = [], [], []
    for _ in range(STEPS):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16 if is_scaled else torch.bfloat16):
            loss = net.loss(inputs, targets)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        skipped.append(float(not all(p.grad.isfinite().all() for p in net.parameters())))
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
        scales.append(scaler.get_scale() if is_scaled else 0.0)
    steps = {f"gradient.{name}": p.grad.contiguous() for name, p in net.named_parameters()}
    for name, values in {"losses": losses, "scales": scales, "skipped": skipped}.items():
        steps[name] = torch.tensor(values, dtype=torch.float32)
    save_file(steps, folder / "steps.safetensors")


MASK = 2**64 - 1


def mix(z):
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def epoch_order(samples, seed=0, epoch=0):
    """As lib/base/epoch_order.h says."""
    state = mix((seed + 0x9E3779B97F4A7C15) & MASK) ^ mix((epoch + 0xBF58476D1CE4E5B9) & MASK)
    order = list(range(samples))
    for i in range(samples - 1, 0, -1):
        while True:
            state = (state + 0x9E3779B97F4A7C15) & MASK
            number = mix(state)
            if number < 2**64 - 2**64 % (i + 1):
                break
        j = number % (i + 1)
        order[i], order[j] = order[j], order[i]
    return order


if __name__ == "__main__":
    main()
