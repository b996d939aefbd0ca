"""A small transformer with tied weights and a frozen embedding of positions; says which samples its steps were made of."""
import json
import sys

import torch
from torch import nn

import paceline

WORDS, LENGTH, WIDTH = 17, 6, 32


class Transformer(nn.Module):
    def __init__(self, dropout):
        super().__init__()
        self.embed = nn.Embedding(WORDS, WIDTH)
        self.position = nn.Embedding(LENGTH, WIDTH)
        self.position.weight.requires_grad = False
        self.layer = nn.TransformerEncoderLayer(WIDTH, 4, 64, dropout, batch_first=True)
        self.out = nn.Linear(WIDTH, WORDS)
        self.out.weight = self.embed.weight

    def forward(self, tokens):
        return self.out(self.layer(self.embed(tokens) * 4 + self.position(torch.arange(LENGTH))))


def make(dropout=0.0):
    torch.manual_seed(7)
    return Transformer(dropout)


def samples():
    """What is wanted at each place is the word three further on in the vocabulary."""
    tokens = torch.randint(WORDS, (800, LENGTH), generator=torch.Generator().manual_seed(1))
    return tokens, (tokens + 3) % WORDS


def loss_of(model, tokens, wanted):
    return nn.functional.cross_entropy(model(tokens).flatten(0, 1), wanted.flatten())


def main():
    model = make(float(sys.argv[1]))
    tokens, wanted = samples()
    losses, indices = [], []
    with paceline.worker(model) as w:
        for batch in w.data((tokens, wanted)):
            step = w.step(loss_of(model, batch.x, batch.y))
            if not step.given_up:
                losses.append(step.loss)
                indices.append(list(batch.indices))
        w.evaluate(lambda: loss_of(model, tokens[:200], wanted[:200]))
    if not w.is_evaluator:
        with open(f"steps-{w.index}.json", "w", encoding="utf-8") as out:
            json.dump({"losses": losses, "indices": indices}, out)


if __name__ == "__main__":
    main()
