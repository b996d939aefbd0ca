#!/usr/bin/env python3
"""Exports the sample's network, untrained, as cnn.pt beside this file. Needs PyTorch 2.

Two 3x3 convolutions, max pooling, two linear layers: 21,610 parameters. Centred inputs, tanh and a LayerNorm make it
forgiving: it also learns from gradients that are a few versions old. The seed fixes the weights it begins with.
"""
import pathlib

import torch
from torch import nn


class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, kernel_size=3, padding=1)
        self.conv2 = nn.Conv2d(16, 32, kernel_size=3, padding=1)
        self.fc1 = nn.Linear(32 * 4 * 4, 32)
        self.norm = nn.LayerNorm(32)
        self.fc2 = nn.Linear(32, 10)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        x = images * 2 - 0.6
        x = torch.tanh(self.conv1(x))
        x = torch.tanh(self.conv2(x))
        x = nn.functional.max_pool2d(x, 2).flatten(1)
        return self.fc2(torch.tanh(self.norm(self.fc1(x))))


torch.manual_seed(1)
model = Cnn()
path = pathlib.Path(__file__).parent / "cnn.pt"
torch.jit.script(model).save(str(path))
print(f"{path.name}: {sum(p.numel() for p in model.parameters())} parameters")
