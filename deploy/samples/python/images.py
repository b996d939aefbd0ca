"""An image classifier with augmentation: handwritten digits, shifted and dimmed anew each time they are looked at.

Started by images.yaml; by hand it trains alone.
"""
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import nn
from torch.utils.data import Dataset

import paceline

FOLDER = Path(__file__).parent.parent / "digits"


class Digits(Dataset):
    """8x8 pixels each, 0 to 1."""

    def __init__(self, name, augments):
        columns = load_file(str(FOLDER / f"{name}.safetensors"))
        self.images, self.labels = columns["inputs"].float(), columns["targets"]
        self.augments = augments

    def __len__(self):
        return len(self.images)

    def __getitem__(self, index):
        image = self.images[index]
        if self.augments:
            down, right = torch.randint(-1, 2, (2,)).tolist()
            image = image.roll((down, right), (-2, -1)) * (0.7 + 0.6 * torch.rand(()))
        return image, self.labels[index]


def block(inputs, outputs):
    return nn.Sequential(nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU())


torch.manual_seed(0)
train, test = Digits("train", augments=True), Digits("test", augments=False)
model = nn.Sequential(block(1, 16), block(16, 32), nn.MaxPool2d(2), block(32, 64), nn.Flatten(),
                      nn.Dropout(0.2), nn.Linear(64 * 16, 10))


def evaluate():
    outputs = model(test.images)
    return {"loss": nn.functional.cross_entropy(outputs, test.labels), "samples": len(test),
            "accuracy": (outputs.argmax(1) == test.labels).float().mean(),
            "top2": (outputs.topk(2, 1).indices == test.labels[:, None]).any(1).float().mean()}


with paceline.worker(model, torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9), epochs=10, batch_size=64) as w:
    for images, labels in w.data(train):
        outputs = model(images)
        w.step(nn.functional.cross_entropy(outputs, labels), correct=int((outputs.argmax(1) == labels).sum()))
    w.evaluate(evaluate)
