"""Says of each batch what its parameters are, as seen through views that were kept since before the first.

versions.py HOW: `shown`, `copied` (of worker 1: `mixed`), `touched` (writes a little in some steps), `written` (much, in each), `forked`.
"""
import hashlib
import json
import os
import sys

import torch
import paceline
from paceline import _model

HOW = sys.argv[1]
INDEX = int(os.environ["PACELINE_INDEX"])


def copied(size):
    return None, torch.zeros(size, dtype=torch.uint8)


def digest(tensors):
    found = hashlib.sha256()
    for tensor in tensors:
        found.update(tensor.detach().contiguous().numpy().tobytes())
    return found.hexdigest()[:16]


def is_published(tensor):
    """Whether it lies in memory of the parameter servers."""
    address = tensor.data_ptr() + tensor.numel() * 2  # In its middle.
    with open("/proc/self/maps", encoding="utf-8") as maps:
        for line in maps:
            begin, end = (int(part, 16) for part in line.split()[0].split("-"))
            if begin <= address < end:
                return "memfd:paceline" in line
    return False


def touch(model, number):
    """Where it changes no gradient of this step."""
    weight = model[0].weight.data
    if HOW == "touched" and number % 3 == 1:
        weight[7, :5] = 1000.0 + number
    elif HOW == "written":
        weight.mul_(1.5)


def child_of(views):
    """A child that says its digest once it is told to."""
    to_child, from_child = os.pipe(), os.pipe()
    process = os.fork()
    if process == 0:
        os.read(to_child[0], 1)
        os.write(from_child[1], digest(views).encode())
        os._exit(0)
    return process, to_child[1], from_child[0]


def main():
    torch.manual_seed(0)
    x = torch.randn(320, 256)
    y = (x.sum(1) > 0).long()
    model = torch.nn.Sequential(torch.nn.Linear(256, 1200), torch.nn.BatchNorm1d(1200), torch.nn.ReLU(), torch.nn.Linear(1200, 2))
    if HOW == "copied" or HOW == "mixed" and INDEX == 1:
        _model.take_memory = copied
    digests, published, losses, child = [], [], [], None
    with paceline.worker(model) as w:
        views = [parameter.detach() for parameter in model.parameters()] + [model.state_dict()["0.weight"][5:7]]
        addresses = [parameter.data_ptr() for parameter in model.parameters()]
        for number, batch in enumerate(w.data((x, y))):
            digests.append(digest(views))
            published.append(is_published(model[0].weight))
            assert digests[-1] == digest([*model.parameters(), model[0].weight[5:7]]), "views are of something else"
            assert addresses == [parameter.data_ptr() for parameter in model.parameters()], "parameters have moved"
            loss = torch.nn.functional.cross_entropy(model(batch.x), batch.y)
            if HOW == "forked" and number == 3:
                child = child_of(views)
                published.append(is_published(model[0].weight))
            touch(model, number)
            step = w.step(loss)
            losses.append(step.loss)
            if number == 0:
                print("begun", flush=True)
        last = digest(views)
    said = {"digests": digests, "published": published, "losses": losses, "last": last, "after": digest(views),
            "model": digest([*model.parameters(), model[0].weight[5:7]]), "published_after": is_published(views[0])}
    if child is not None:
        os.write(child[1], b"g")
        said["child"] = os.read(child[2], 100).decode()
        said["status"] = os.waitpid(child[0], 0)[1]
    model(x).sum().backward()  # An ordinary model again.
    with open(f"versions-{INDEX}.json", "w", encoding="utf-8") as out:
        json.dump(said, out)


if __name__ == "__main__":
    main()
