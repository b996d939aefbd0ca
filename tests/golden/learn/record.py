#!/usr/bin/env python3
"""Records what PyTorch computes for two small models, beside this file: <name>.pt and <name>.safetensors.

    cnn          scripted, BatchNorm, a method loss(inputs, targets)
    transformer  traced, scaled_dot_product_attention, a tied embedding, for loss CrossEntropy

Each .safetensors file holds `inputs`, `targets`, `loss`, one tensor gradient.<parameter> each, and one tensor
buffer.<buffer> each as the step leaves it. Recorded with torch 2.11.0; needs the packages torch and safetensors.
"""
import pathlib

import torch
from safetensors.torch import save_file
from torch import nn
from torch.nn import functional

HERE = pathlib.Path(__file__).parent


class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, padding=1)
        self.norm1 = nn.BatchNorm2d(8)
        self.conv2 = nn.Conv2d(8, 12, 3, padding=1)
        self.norm2 = nn.BatchNorm2d(12)
        self.fc = nn.Linear(12 * 4 * 4, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.norm1(self.conv1(x)))
        x = functional.max_pool2d(torch.relu(self.norm2(self.conv2(x))), 2)
        return self.fc(x.flatten(1))

    @torch.jit.export
    def loss(self, inputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return functional.cross_entropy(self.forward(inputs), targets)


class Transformer(nn.Module):
    def __init__(self, vocabulary=32, width=16, heads=4, length=12):
        super().__init__()
        self.heads = heads
        self.embedding = nn.Embedding(vocabulary, width)
        self.position = nn.Parameter(torch.randn(length, width) * 0.1)
        self.norm1 = nn.LayerNorm(width)
        self.query_key_value = nn.Linear(width, 3 * width)
        self.project = nn.Linear(width, width)
        self.norm2 = nn.LayerNorm(width)
        self.expand = nn.Linear(width, 4 * width)
        self.contract = nn.Linear(4 * width, width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, tokens):
        x = self.embedding(tokens) + self.position
        query, key, value = (
            part.unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for part in self.query_key_value(self.norm1(x)).chunk(3, dim=-1)
        )
        attended = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.project(attended.transpose(1, 2).flatten(2))
        x = x + self.contract(functional.gelu(self.expand(self.norm2(x))))
        return self.head(x)


def record(name, scripted, inputs, targets, loss_of):
    scripted.save(str(HERE / f"{name}.pt"))
    model = torch.jit.load(str(HERE / f"{name}.pt")).train()
    loss = loss_of(model, inputs, targets)
    loss.backward()
    tensors = {"inputs": inputs, "targets": targets, "loss": loss.detach().reshape(1)}
    tensors |= {f"gradient.{key}": value.grad for key, value in model.named_parameters()}
    tensors |= {f"buffer.{key}": value for key, value in model.named_buffers()}
    save_file(tensors, str(HERE / f"{name}.safetensors"))
    print(f"{name}: loss {loss.item():.6f}, {len(tensors)} tensors")


def main():
    torch.manual_seed(7)
    torch.set_num_threads(1)
    record(
        "cnn",
        torch.jit.script(Cnn()),
        torch.rand(24, 1, 8, 8),
        torch.randint(0, 10, (24,)),
        lambda model, inputs, targets: model.loss(inputs, targets),
    )
    transformer = Transformer()
    tokens = torch.randint(0, 32, (6, 13))
    record(
        "transformer",
        torch.jit.trace(transformer, tokens[:2, :-1]),
        tokens[:, :-1].contiguous(),
        tokens[:, 1:].contiguous(),
        lambda model, inputs, targets: functional.cross_entropy(model(inputs).flatten(0, 1), targets.flatten()),
    )


if __name__ == "__main__":
    main()
