"""Each worker is two processes of torchrun; says what its steps were made of, and what each process's part was.

    train.py [sharded | killed]     FSDP2; or process 1 of worker 0 kills itself in its third step, once
"""
import json
import os
import signal
import sys

import torch
from torch import nn

import paceline

torch.manual_seed(0)
points = torch.randn(600, 6)
labels = (points.sum(1) > 0).long()


def make():
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 2))


def loss_of(model, x, y):
    return nn.functional.cross_entropy(model(x), y)


if __name__ == "__main__":
    model = make()
    if os.environ["RANK"] == "1" and "sharded" not in sys.argv:
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.zero_()  # The job's values are rank 0's.
    if "sharded" in sys.argv:
        from torch import distributed
        from torch.distributed.fsdp import fully_shard
        distributed.init_process_group("gloo")
        fully_shard(model[0])
        fully_shard(model)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # What it writes at the end takes all of its processes.
    dies = "killed" in sys.argv and (os.environ["PACELINE_ATTEMPT"], os.environ["PACELINE_INDEX"], os.environ["RANK"]) == ("0", "0", "1")
    indices = []
    with paceline.worker(model) as w:
        for batch in w.data((points, labels)):
            if dies and len(indices) == 2:
                os.kill(os.getpid(), signal.SIGKILL)
            if not w.step(loss_of(model, batch.x, batch.y)).given_up:
                indices.append(list(batch.indices))
        w.evaluate(lambda: {"loss": loss_of(model, points, labels),
                            "accuracy": (model(points).argmax(1) == labels).float().mean()})
    if not w.is_evaluator:
        with open(f"steps-{w.index}-{os.environ['RANK']}.json", "w", encoding="utf-8") as out:
            json.dump({"indices": indices, "end": {n: getattr(p, "full_tensor", lambda p=p: p)().flatten()[:3].tolist() for n, p in model.named_parameters()}}, out)
