#!/usr/bin/env python3
"""Exports a small network for handwritten digits, untrained, as mlp.pt beside this file. Needs PyTorch 2.

64 pixels, one hidden layer of 32 with ReLU, 10 classes: 2,410 parameters. It fails from a learning rate that is not far above
the best one, so that schemes that step too far show it. The seed fixes the weights it begins with.
"""
import pathlib

import torch
from torch import nn


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(64, 32)
        self.fc2 = nn.Linear(32, 10)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        return self.fc2(torch.relu(self.fc1(images.flatten(1))))


torch.manual_seed(1)
model = Mlp()
path = pathlib.Path(__file__).parent / "mlp.pt"
torch.jit.script(model).save(str(path))
print(f"{path.name}: {sum(p.numel() for p in model.parameters())} parameters")
