"""Jobs whose workers are Python scripts train as plain PyTorch does, under every scheme."""
import importlib.util
import json
import unittest

import torch
from safetensors.torch import load_file

from jobs import SCRIPTS, JobTest


def script_module(name):
    spec = importlib.util.spec_from_file_location(name, SCRIPTS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class TrainingTest(JobTest):
    def steps_of(self, worker):
        return json.loads((self.folder / f"steps-{worker}.json").read_text())

    def test_ten_steps_are_plain_pytorch_s(self):
        script = script_module("transformer")
        self.script("transformer.py")
        summary = self.assert_succeeded(self.run_job(
            "spec.training.stop={maxSteps: 10}", "spec.training.optimizer.sgd.momentum=0.9",
            "spec.training.optimizer.sgd.weightDecay=0.001", arguments=["0"]))
        model = script.make()
        optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.1, momentum=0.9,
                                    weight_decay=0.001)
        tokens, wanted = script.samples()
        ours = [self.steps_of(0), self.steps_of(1)]
        for step in range(10):
            indices = [index for worker in ours for index in worker["indices"][step]]
            self.assertEqual(len(indices), 32)
            optimizer.zero_grad()
            loss = script.loss_of(model, tokens[indices], wanted[indices])
            told = sum(worker["losses"][step] for worker in ours) / 2
            self.assertAlmostEqual(told, loss.item(), delta=1e-5 * loss.item())
            loss.backward()
            optimizer.step()
        trained = load_file(summary["model"])
        for name, value in model.named_parameters():
            self.assertLess((trained[name] - value).norm(), 1e-5 * value.norm(), name)

    def test_each_sample_is_trained_on_once_an_epoch(self):
        self.script("transformer.py")
        self.assert_succeeded(self.run_job("spec.training.stop={maxEpochs: 1}", arguments=["0"]))
        seen = sorted(index for worker in (0, 1) for step in self.steps_of(worker)["indices"] for index in step)
        self.assertEqual(seen, list(range(800)))

    def test_it_learns_under_every_scheme(self):
        self.script("transformer.py")
        for scheme in ("BSP", "DBW", "WBSP", "PSPlus", "ASP"):
            with self.subTest(scheme=scheme):
                rate = "0.05" if scheme in ("ASP", "PSPlus") else "0.1"
                summary = self.assert_succeeded(self.run_job(
                    f"spec.sync.scheme={scheme}", "spec.training.stop={maxEpochs: 8}", "spec.training.seed=3",
                    f"spec.training.learningRate.base={rate}", arguments=["0.1"], evaluator=True))
                self.assertLess(summary["loss"], 0.5, "17 words by chance: 2.83")

    def test_a_metric_of_its_own_is_the_target(self):
        self.script("""
            import torch, paceline
            torch.manual_seed(0)
            x = torch.randn(320, 8); y = (x.sum(1) > 0).long()
            model = torch.nn.Linear(8, 2)
            def judge():
                out = model(x)
                return {"loss": torch.nn.functional.cross_entropy(out, y), "errors": (out.argmax(1) != y).sum()}
            with paceline.worker(model) as w:
                for batch in w.data((x, y)):
                    w.step(torch.nn.functional.cross_entropy(model(batch.x), batch.y))
                w.evaluate(judge)
        """)
        ended = self.run_job(
            "spec.training.stop={maxEpochs: 10000, target: {metric: errors, value: 40, better: Lower}}", evaluator=True)
        self.assertLessEqual(self.assert_succeeded(ended)["metrics"]["errors"], 40)
        state = json.loads(next(self.folder.glob("paceline-runs/mine-*/summary.json")).read_text())
        self.assertIn("target errors <= 40 reached", state["finished"]["reason"])

    def test_batches_are_as_large_as_the_job_says(self):
        self.script("transformer.py")
        self.assert_succeeded(self.run_job(
            "spec.sync.batchSizing={strategy: NARX, minBatchSize: 4}", "spec.training.stop={maxEpochs: 3}",
            "spec.chaos={enabled: true, delays: [{kind: PerWorker, perWorker: [0, 0.03]}]}", arguments=["0"]))
        slow, fast = (sum(map(len, self.steps_of(worker)["indices"][-10:])) for worker in (1, 0))
        self.assertLess(slow, fast)


if __name__ == "__main__":
    unittest.main()
