"""Parameters that a step has no gradient of are not stepped, as plain PyTorch does it."""
import json
import unittest

import torch
from safetensors.torch import load_file, save_file
from torch import nn

from jobs import JobTest

# `sometimes` has its turn in every third step of worker 0 alone, up to step 7; two shards cut it.
MODEL = """
import torch
from torch import nn

class Heads(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(5)
        self.body = nn.Linear(8, 300)
        self.sometimes = nn.Linear(300, 150)
        self.never = nn.Linear(300, 1)

def loss_of(model, x, worker, step):
    hidden = torch.tanh(model.body(x))
    loss = hidden.square().mean()
    if worker == 0 and step % 3 == 0 and step < 7:
        loss = loss + model.sometimes(hidden).mean()
    return loss

torch.manual_seed(6)
x = torch.randn(320, 8)
"""
SCRIPT = MODEL + """
import json, paceline
model = Heads()
seen = []
with paceline.worker(model) as w:
    for step, batch in enumerate(w.data((x, x))):
        seen.append(list(batch.indices))
        w.step(loss_of(model, batch.x, w.index, step))
if not w.is_evaluator:
    open(f"seen-{w.index}.json", "w").write(json.dumps(seen))
"""
STEPS = 10


class UnusedTest(JobTest):
    def seen_by(self, worker):
        return json.loads((self.folder / f"seen-{worker}.json").read_text())

    def plain(self, make_optimizer, clip):
        """What one process of plain PyTorch learns of the same batches, with the mean of both workers' losses."""
        names = {}
        exec(MODEL, names)
        model, x = names["Heads"](), names["x"]
        optimizer = make_optimizer(model.parameters())
        ours = [self.seen_by(0), self.seen_by(1)]
        for step in range(STEPS):
            optimizer.zero_grad()
            (sum(names["loss_of"](model, x[worker[step]], i, step) for i, worker in enumerate(ours)) / 2).backward()
            if clip:
                nn.utils.clip_grad_norm_(model.parameters(), clip)
            optimizer.step()
        return names["Heads"](), model

    def test_whoever_has_no_gradient_is_not_stepped_as_in_plain_pytorch(self):
        for name, overrides, make, clip in (
                ("AdamW", ("spec.training.optimizer={type: AdamW, adamW: {weightDecay: 0.1}}", "spec.parameterServer.shards=2"),
                 lambda p: torch.optim.AdamW(p, lr=0.01, weight_decay=0.1), None),
                ("SGD", ("spec.training.optimizer={sgd: {momentum: 0.9, dampening: 0.5, weightDecay: 0.01}}",
                         "spec.network.transport=Sockets", "spec.training.gradientClipNorm=0.05"),
                 lambda p: torch.optim.SGD(p, lr=0.01, momentum=0.9, dampening=0.5, weight_decay=0.01), 0.05)):
            with self.subTest(name):
                self.script(SCRIPT)
                summary = self.assert_succeeded(self.run_job(
                    f"spec.training.stop={{maxSteps: {STEPS}}}", "spec.training.learningRate.base=0.01", *overrides))
                initial, wanted = self.plain(make, clip)
                trained = load_file(summary["model"])
                for parameter, value in wanted.named_parameters():
                    self.assertLess((trained[parameter] - value).norm(), 1e-5 * value.norm(), parameter)
                self.assertTrue(torch.equal(trained["never.weight"], initial.never.weight))
                self.assertFalse(torch.equal(trained["sometimes.weight"], initial.sometimes.weight))

    def test_deltas_leave_it_as_it_is(self):
        for name, scheme in (("PSPlus", ("spec.sync.scheme=PSPlus",)), ("WBSP", ("spec.sync.scheme=WBSP",))):
            with self.subTest(name):
                self.script(SCRIPT)
                summary = self.assert_succeeded(self.run_job(
                    "spec.training.stop={maxEpochs: 2}", "spec.training.learningRate.base=0.01",
                    "spec.training.optimizer={type: AdamW, adamW: {weightDecay: 0.1}}", *scheme))
                names = {}
                exec(MODEL, names)
                trained = load_file(summary["model"])
                self.assertTrue(torch.equal(trained["never.weight"], names["Heads"]().never.weight))
                self.assertFalse(torch.equal(trained["body.weight"], names["Heads"]().body.weight))

    def test_a_worker_without_a_script_says_so_too(self):
        class Scripted(nn.Module):
            def __init__(self):
                super().__init__()
                torch.manual_seed(5)
                self.body, self.never = nn.Linear(8, 2), nn.Linear(8, 2)

            def forward(self, x):
                return self.body(x)
        model = Scripted()
        torch.jit.script(model).save(str(self.folder / "model.pt"))
        save_file({"inputs": torch.randn(64, 8), "targets": torch.randint(2, (64,))}, str(self.folder / "data.safetensors"))
        summary = self.assert_succeeded(self.start(
            "spec.workers.command=null", "spec.model={torchScript: model.pt, loss: CrossEntropy}", "spec.data={train: data.safetensors}",
            "spec.training.optimizer={type: AdamW, adamW: {weightDecay: 0.1}}").wait())
        trained = load_file(summary["model"])
        self.assertTrue(torch.equal(trained["never.weight"], model.never.weight))
        self.assertFalse(torch.equal(trained["body.weight"], model.body.weight))


if __name__ == "__main__":
    unittest.main()
