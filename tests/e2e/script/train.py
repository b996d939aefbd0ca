"""Tells two clouds of points apart; goes on for as long as the job likes."""
import torch
from torch import nn

import paceline

torch.manual_seed(0)
points = torch.randn(2000, 8)
labels = (points.sum(1) > 0).long()
model = nn.Sequential(nn.Linear(8, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 2))


def evaluate():
    outputs = model(points[1500:])
    return {"loss": nn.functional.cross_entropy(outputs, labels[1500:]), "samples": 500,
            "accuracy": (outputs.argmax(1) == labels[1500:]).float().mean()}


with paceline.worker(model) as w:
    for batch in w.data((points[:1500], labels[:1500])):
        w.step(nn.functional.cross_entropy(model(batch.x), batch.y))
    w.evaluate(evaluate)
print("the script ends")
