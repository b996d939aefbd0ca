"""A batch whose backward pass is run in parts gives what it gives as a whole."""
import unittest

from safetensors.torch import load_file
import torch

from jobs import JobTest

SCRIPT = """
    import sys, torch, paceline
    torch.manual_seed(0)
    x = torch.randn(320, 5); y = (x.sum(1) > 0).long()
    model = torch.nn.Sequential(torch.nn.Linear(5, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))
    model.head = torch.nn.Linear(5, 1)
    def loss_of(x, y): return torch.nn.functional.cross_entropy(model[:3](x), y)
    with paceline.worker(model) as w:
        for batch in w.data((x, y)):
            half = len(batch) // 2
            extra = model.head(batch.x[:half]).square().mean() / 2
            if sys.argv[1] == "parts":
                w.accumulate(loss_of(batch.x[:half], batch.y[:half]) / 2 + extra)  # What `step` does not reach again.
                w.step(loss_of(batch.x[half:], batch.y[half:]) / 2)
            else:
                w.step((loss_of(batch.x[:half], batch.y[:half]) + loss_of(batch.x[half:], batch.y[half:])) / 2 + extra)
"""


class AccumulateTest(JobTest):
    def model_of(self, how):
        self.script(SCRIPT)
        return load_file(self.assert_succeeded(self.run_job("spec.training.stop={maxSteps: 8}", arguments=[how]))["model"])

    def test_parts_add_up(self):
        whole, parts = self.model_of("whole"), self.model_of("parts")
        self.assertEqual(whole.keys(), parts.keys())
        for name, value in whole.items():
            torch.testing.assert_close(parts[name], value, rtol=1e-5, atol=1e-6)


if __name__ == "__main__":
    unittest.main()
