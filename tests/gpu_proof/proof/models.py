"""Models and samples, the same on both sides: TorchScript and safetensors for the programs, tensors for PyTorch here."""
import safetensors.torch
import torch
from torch import nn


class Convolutions(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 32, 3, padding=1)
        self.norm = nn.BatchNorm2d(32)
        self.second = nn.Conv2d(32, 64, 3, padding=1, stride=2)
        self.last = nn.Linear(64 * 16 * 16, 10)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        x = torch.relu(self.norm(self.first(images)))
        return self.last(torch.relu(self.second(x)).flatten(1))


class Block(nn.Module):
    """Self-attention with four heads, then a perceptron of each position."""

    def __init__(self, features: int):
        super().__init__()
        self.features = features
        self.before, self.between = nn.LayerNorm(features), nn.LayerNorm(features)
        self.query_key_value = nn.Linear(features, 3 * features)
        self.inner, self.outer = nn.Linear(features, 4 * features), nn.Linear(4 * features, features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        heads = self.query_key_value(self.before(x)).view(x.size(0), x.size(1), 12, self.features // 4).transpose(1, 2)
        mixed = nn.functional.scaled_dot_product_attention(heads[:, :4], heads[:, 4:8], heads[:, 8:])
        x = x + mixed.transpose(1, 2).flatten(2)
        return x + self.outer(nn.functional.gelu(self.inner(self.between(x))))


class Attention(nn.Module):
    """Two blocks over positions of 64 features, then the mean position."""

    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(Block(64), Block(64))
        self.last = nn.Linear(64, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.last(self.blocks(x).mean(1))


def perceptron(*widths):
    modules = []
    for before, after in zip(widths, widths[1:]):
        modules += [nn.Linear(before, after), nn.ReLU()]
    return nn.Sequential(*modules[:-1])


MODELS = {
    'perceptron': (lambda: perceptron(256, 512, 512, 10), (256,)),
    'convolutions': (Convolutions, (3, 32, 32)),
    'attention': (Attention, (32, 64)),
}


def make(name, samples, folder):
    """(module, inputs, targets), and NAME.pt and NAME.safetensors in `folder`."""
    torch.manual_seed(1)
    maker, shape = MODELS[name]
    module = maker()
    inputs, targets = torch.randn(samples, *shape), torch.randint(10, (samples,))
    torch.jit.script(module).save(str(folder / f'{name}.pt'))
    safetensors.torch.save_file({'inputs': inputs, 'targets': targets}, folder / f'{name}.safetensors')
    return module, inputs, targets
