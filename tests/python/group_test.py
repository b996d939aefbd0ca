"""A worker of two processes is one worker, and computes what one process would."""
import json
import sys
import unittest

import torch
from safetensors.torch import load_file

from jobs import JobTest
from paceline._group import share_of
from training_test import script_module

TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", "train.py"]


class ShareTest(unittest.TestCase):
    def test_parts_are_the_whole_and_weights_are_one(self):
        for count in range(1, 9):
            for ranks in range(1, 5):
                parts = [share_of(list(range(count)), rank, ranks) for rank in range(ranks)]
                self.assertEqual([sample for part, weight in parts if weight for sample in part], list(range(count)))
                self.assertAlmostEqual(sum(weight for _, weight in parts), 1)
                self.assertTrue(all(part for part, _ in parts))


class GroupTest(JobTest):
    def run_groups(self, *overrides, how=(), **options):
        self.script("group.py")
        command = json.dumps([*TORCHRUN, *how])
        return self.assert_succeeded(self.run_job(f"spec.workers.command={command}", *overrides, **options))

    def steps_of(self, worker, rank):
        return json.loads((self.folder / f"steps-{worker}-{rank}.json").read_text())

    def test_two_processes_each_compute_a_half(self):
        self.assert_ten_steps_learn_the_same()

    def test_parameters_that_are_sharded_learn_the_same(self):
        self.assert_ten_steps_learn_the_same(how=["sharded"])

    def assert_ten_steps_learn_the_same(self, **options):
        script = script_module("group")
        summary = self.run_groups("spec.training.stop={maxSteps: 10}", **options)
        self.assertEqual([worker["steps"] for worker in summary["workers"]], [10, 10])
        self.assertEqual(sum(worker["samples"] for worker in summary["workers"]), 320)
        model = script.make()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        parts = [self.steps_of(worker, rank)["indices"] for worker in (0, 1) for rank in (0, 1)]
        for step in range(10):
            self.assertEqual([len(part[step]) for part in parts], [8, 8, 8, 8])
            indices = [index for part in parts for index in part[step]]
            self.assertEqual(len(set(indices)), 32)
            optimizer.zero_grad()
            script.loss_of(model, script.points[indices], script.labels[indices]).backward()
            optimizer.step()
        trained = load_file(summary["model"])
        for name, value in model.named_parameters():
            torch.testing.assert_close(trained[name], value.detach(), rtol=1e-5, atol=1e-6)

    def test_ranks_are_equal_at_the_end_and_local_steps_work_too(self):
        summary = self.run_groups("spec.sync.scheme=WBSP", "spec.training.stop={maxEpochs: 6}", evaluator=True)
        self.assertGreater(summary["accuracy"], 0.9)
        self.assertEqual(self.steps_of(0, 0)["end"], self.steps_of(0, 1)["end"])

    def test_a_process_that_is_killed_ends_its_worker_which_comes_back(self):
        self.script("group.py")
        ended = self.run_job(f"spec.workers.command={json.dumps([*TORCHRUN, 'killed'])}", workers=1)
        summary = self.assert_succeeded(ended)
        self.assertEqual(summary["epochs"], 2, ended.words())
        self.assertEqual(sum(worker["samples"] for worker in summary["workers"]), 2 * 600)
        self.assertIn("rank 1 of this worker has ended; it is started again", ended.err)
        self.assertRegex(ended.worker_logs(), "Gone: rank 1 of this worker has ended")  # With its traceback.


if __name__ == "__main__":
    unittest.main()
