"""A tabular model, wide and deep: who clicks on what, from two categories with embeddings, their crossing and four numbers.

The data are made, by a rule that the model does not know. Started by clicks.yaml; by hand it trains alone.
"""
import torch
from torch import nn

import paceline

PEOPLE, THINGS, CROSSES, NUMBERS = 500, 200, 4096, 4


def make_clicks(count):
    generator = torch.Generator().manual_seed(5)
    taste, kind = torch.randn(PEOPLE, 2, generator=generator), torch.randn(THINGS, 2, generator=generator)
    people = torch.randint(PEOPLE, (count,), generator=generator)
    things = torch.randint(THINGS, (count,), generator=generator)
    numbers = torch.randn(count, NUMBERS, generator=generator)
    wish = (taste[people] * kind[things]).sum(1) + numbers[:, 0] * numbers[:, 1] + 0.5 * torch.randn(count, generator=generator)
    return people, things, numbers, (wish > 0).float()


class WideAndDeep(nn.Module):
    def __init__(self):
        super().__init__()
        self.wide = nn.Embedding(CROSSES, 1)
        self.person, self.thing = nn.Embedding(PEOPLE, 8), nn.Embedding(THINGS, 8)
        self.deep = nn.Sequential(nn.Linear(24 + NUMBERS, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 1))
        for embedding in (self.wide, self.person, self.thing):
            nn.init.normal_(embedding.weight, std=0.3)

    def forward(self, people, things, numbers):
        person, thing = self.person(people), self.thing(things)
        deep = self.deep(torch.cat([person, thing, person * thing, numbers], 1))
        return (deep + self.wide((people * 31 + things) % CROSSES)).squeeze(1)


def area_under_curve(scores, clicked):
    """How often one that was clicked on has the higher score than one that was not."""
    ranks = scores.argsort().argsort().float() + 1
    hits = clicked.sum()
    return ((ranks * clicked).sum() - hits * (hits + 1) / 2) / (hits * (len(clicked) - hits))


torch.manual_seed(0)
columns = make_clicks(60000)
train, test = tuple(column[:50000] for column in columns), tuple(column[50000:] for column in columns)
model = WideAndDeep()


def loss_of(people, things, numbers, clicked):
    return nn.functional.binary_cross_entropy_with_logits(model(people, things, numbers), clicked)


def evaluate():
    scores = model(*test[:3])
    return {"loss": nn.functional.binary_cross_entropy_with_logits(scores, test[3]), "samples": len(scores),
            "accuracy": ((scores > 0).float() == test[3]).float().mean(), "auc": area_under_curve(scores, test[3])}


with paceline.worker(model, torch.optim.Adagrad(model.parameters(), lr=0.05), epochs=5, batch_size=256) as w:
    for people, things, numbers, clicked in w.data(train):
        w.step(loss_of(people, things, numbers, clicked))
    w.evaluate(evaluate)
