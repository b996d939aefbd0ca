"""A small GPT that learns to write licences, character by character: Debian's, which every Debian machine has.

Started by gpt.yaml; by hand it trains alone. Output and embedding are one matrix.
"""
import math
from pathlib import Path

import torch
from torch import nn

import paceline

CONTEXT, WIDTH, HEADS, LAYERS = 64, 96, 4, 2
LICENSES = Path("/usr/share/common-licenses")


def read_text():
    """All licences, one after the other, as bytes."""
    files = sorted(path for path in LICENSES.iterdir() if path.is_file() and not path.is_symlink())
    if not files:
        raise SystemExit(f"there is no text in {LICENSES}, where Debian has it")
    return torch.tensor(list(b"\n\n".join(path.read_bytes() for path in files)))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm_1, self.norm_2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x):
        batch, length, _ = x.shape
        q, k, v = self.qkv(self.norm_1(x)).view(batch, length, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, WIDTH))
        return x + self.mlp(self.norm_2(x))


class GPT(nn.Module):
    def __init__(self, characters):
        super().__init__()
        self.embed, self.position = nn.Embedding(characters, WIDTH), nn.Embedding(CONTEXT, WIDTH)
        for embedding in (self.embed, self.position):
            nn.init.normal_(embedding.weight, std=0.05)
        self.blocks = nn.Sequential(*(Block() for _ in range(LAYERS)))
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, characters, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, tokens):
        return self.head(self.norm(self.blocks(self.embed(tokens) + self.position.weight[:tokens.shape[1]])))


torch.manual_seed(0)
text = read_text()
letters, tokens = text.unique(return_inverse=True)
windows = tokens.unfold(0, CONTEXT + 1, CONTEXT // 2)
train, test = windows[:-len(windows) // 20], windows[-len(windows) // 20:]
model = GPT(len(letters))


def loss_of(batch):
    return nn.functional.cross_entropy(model(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())


def evaluate():
    loss = loss_of(test)
    return {"loss": loss, "samples": len(test), "bits_per_character": loss / math.log(2)}


with paceline.worker(model, torch.optim.AdamW(model.parameters(), lr=2e-3), epochs=2, batch_size=16) as w:
    for batch in w.data((train,)):
        w.step(loss_of(batch.x))
    w.evaluate(evaluate)
