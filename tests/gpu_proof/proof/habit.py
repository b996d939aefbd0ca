"""The script that is a worker, with one habit of scripts for a GPU: python habit.py HABIT cuda|cpu. It ends with an error where what it
trained is not what it should be."""
import contextlib
import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

CLASSES = 4
BATCH = 64


class Net(nn.Module):
    """Convolutions with a batch norm, and a base that is not trained."""

    def __init__(self):
        super().__init__()
        self.base = nn.Linear(16, 16).to(torch.bfloat16).requires_grad_(False)
        self.features = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.last = nn.Linear(16, CLASSES)

    def forward(self, images):
        found = self.features(images)
        return self.last(found + self.base(found.to(self.base.weight.dtype)).to(found.dtype))


def samples():
    drawn = torch.Generator().manual_seed(1)
    targets = torch.randint(CLASSES, (512,), generator=drawn)
    return torch.randn(512, 3, 8, 8, generator=drawn) * 0.5 + (targets / 2).reshape(-1, 1, 1, 1), targets


def wrapped(model, habit, device):
    """As the habit hands it to paceline.worker."""
    if habit == 'channels_last':
        return model.to(memory_format=torch.channels_last)
    if habit == 'compile':  # For a CPU it would need a compiler that may not be there.
        return torch.compile(model, backend='inductor' if device == 'cuda' else 'aot_eager')
    if habit == 'reduce-overhead':
        return torch.compile(model, mode='reduce-overhead')
    if habit == 'half':
        return model.half()
    return model


def main(habit, device):
    import paceline
    torch.manual_seed(0)
    torch.backends.cudnn.benchmark = True
    if habit == 'first':
        torch.manual_seed(int.from_bytes(open('/dev/urandom', 'rb').read(4), 'little'))
    model = Net()
    model = wrapped(model if habit == 'late' else model.to(device), habit, device)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    loader = DataLoader(TensorDataset(*samples()), batch_size=BATCH, shuffle=True, num_workers=2, pin_memory=device == 'cuda',
                        persistent_workers=True)
    casts = {'amp': torch.bfloat16, 'amp16': torch.float16, 'scaler': torch.float16}
    scaler = torch.amp.GradScaler(device)
    losses = []
    with paceline.worker(model, frozen='first' if habit == 'first' else 'whole') as w:
        if habit == 'late':
            model.to(device)
        for images, targets in w.data(loader):
            images, targets = images.to(device, non_blocking=True), targets.to(device, non_blocking=True)
            if habit == 'channels_last':
                images = images.to(memory_format=torch.channels_last)
            if habit == 'half':
                images = images.half()
            if habit == 'accumulate':
                halves = [nn.functional.cross_entropy(model(part), wanted) / 2 for part, wanted in zip(images.chunk(2), targets.chunk(2))]
                w.accumulate(halves[0])
                loss = halves[1]
                w.step(loss)
            else:
                cast = torch.autocast(device, dtype=casts[habit]) if habit in casts else contextlib.nullcontext()
                with cast:
                    loss = nn.functional.cross_entropy(model(images), targets)
                w.step(scaler.scale(loss) if habit == 'scaler' else loss)
            losses.append(loss.item())
    last = next(value for name, value in model.named_parameters() if name.endswith('last.weight'))
    assert last.device.type == device, last.device
    quarter = max(len(losses) // 4, 1)
    first, end = (sum(part) / len(part) for part in (losses[:quarter], losses[-quarter:]))
    assert end < 0.9 * first, f'the loss went from {first:.3f} to {end:.3f}'
    if habit != 'first':
        for name, value in model.state_dict().items():
            if 'base.' in name:
                assert torch.equal(value.to(before[name].device), before[name]), f'{name} has changed'


if __name__ == '__main__':
    main(*sys.argv[1:])
