"""Batches that a script does without, or of which its collate function left samples out: skipped, and nobody waits or is accused."""
import json
import math
import unittest
from types import SimpleNamespace

import torch
from torch import nn

import paceline
from paceline._skipping import held_by

from jobs import JobTest

BEGIN = """
    import json, math, os, torch, paceline
    from torch import nn
    from torch.utils.data import DataLoader, Dataset, default_collate
    torch.manual_seed(0)
    class Pictures(Dataset):
        broken = staticmethod(lambda i: False)
        def __len__(self): return 240
        def __getitem__(self, i):
            if self.broken(i): return None
            x = torch.randn(6, generator=torch.Generator().manual_seed(i))
            return x, int(x.sum() > 0)
    def collate(samples):
        samples = [sample for sample in samples if sample is not None]
        return default_collate(samples) if samples else (torch.zeros(0, 6), torch.zeros(0, dtype=torch.long))
    model = nn.Linear(6, 2)
    def step(w, batch): return w.step(nn.functional.cross_entropy(model(batch.x), batch.y))
    def tell(**what): print("TOLD", json.dumps(what), flush=True)
"""


class JobSkipTest(JobTest):
    def skips(self, text, *overrides, **options):
        """The job, and what its workers told."""
        self.script(BEGIN + text)
        ended = self.run_job("spec.training.globalBatchSize=16", "spec.training.stop={maxEpochs: 3}", *overrides, **options)
        return ended, [json.loads(line.split("TOLD ")[1]) for line in ended.worker_logs().splitlines() if "TOLD " in line]

    def assert_skipped(self, ended, count):
        self.assert_succeeded(ended)
        self.assertEqual((ended.summary["skippedSamples"], ended.summary["poisonedSamples"], ended.summary["expulsions"]), (count, 0, 0), ended.words())

    def test_what_collate_leaves_out_is_skipped_and_an_empty_batch_is_named(self):
        ended, told = self.skips("""
    Pictures.broken = staticmethod(lambda i: i % 20 != 1)
    empty = steps = 0
    with paceline.worker(model) as w:
        for batch in w.data(DataLoader(Pictures(), collate_fn=collate)):
            made = step(w, batch)
            empty += math.isnan(made.loss); steps += not math.isnan(made.loss)
    tell(empty=empty, steps=steps, finite=bool(torch.isfinite(model.weight).all()))
        """)
        self.assert_skipped(ended, 3 * (240 - 12))
        self.assertEqual(len(told), 2)
        for one in told:
            self.assertTrue(one["empty"] and one["steps"] and one["finite"], told)
        self.assertIn("was collated to none: all of them count as skipped", ended.worker_logs())
        self.assertIn("was collated to 1: that many count", ended.worker_logs())

    def test_batches_are_skipped_by_name_or_by_asking_for_the_next(self):
        for how, said in (("w.skip(); continue", "the script skips batches"), ("continue", "has made no step with the one before")):
            with self.subTest(how=how):
                ended, told = self.skips(f"""
    mine = 0
    with paceline.worker(model) as w:
        for batch in w.data(DataLoader(Pictures())):
            if 7 in batch.indices or 8 in batch.indices:
                mine += len(batch)
                {how}
            step(w, batch)
    tell(mine=mine)
                """)
                self.assert_skipped(ended, sum(one["mine"] for one in told))
                self.assertGreater(ended.summary["skippedSamples"], 0)
                self.assertIn(said, ended.worker_logs())

    def test_what_a_script_says_counts(self):
        """Of 16 samples 4 count on worker 0 and 8 on worker 1: the step is the mean of those twelve."""
        ended, told = self.skips("""
    counts = 4 if os.environ["PACELINE_INDEX"] == "0" else 8
    weights = []
    with paceline.worker(model) as w:
        for batch in w.data(DataLoader(Pictures())):
            weights.append(model.weight.detach().clone())
            w.step(model.weight.sum() * (1 if counts == 4 else 4), samples=counts)
    tell(index=w.index, moved=[float((before - after).mean()) for before, after in zip(weights, weights[1:])])
        """, "spec.training.optimizer={type: SGD}", "spec.training.learningRate={base: 0.25}", "spec.sync={scheme: BSP}")
        self.assert_skipped(ended, 3 * 240 // 16 * 4)
        for one in told:
            for moved in one["moved"]:
                self.assertAlmostEqual(moved, 0.25 * (4 * 1 + 8 * 4) / 12, places=5)

    def test_an_epoch_without_a_step_ends_the_job(self):
        ended, _ = self.skips("""
    with paceline.worker(model) as w:
        for batch in w.data(DataLoader(Pictures())):
            w.skip()
        """)
        self.assertNotEqual(ended.code, 0)
        self.assertIn("epoch 0 had no step: each of its batches was skipped or empty, or had no w.step(loss): one step for each batch", ended.err)

    def test_a_part_of_a_batch_is_not_skipped(self):
        ended, _ = self.skips("""
    with paceline.worker(model) as w:
        for batch in w.data(DataLoader(Pictures())):
            w.accumulate(nn.functional.cross_entropy(model(batch.x), batch.y) / 4)
        """, "spec.runPolicy.backoffLimit=0")
        self.assertNotEqual(ended.code, 0)
        self.assertIn("the batch before had no w.step(loss): one step for each batch", ended.err)

    def test_what_a_script_has_begun_by_itself_is_not_skipped(self):
        for body in ("nn.functional.cross_entropy(model(batch.x), batch.y).backward(); optimizer.step(); optimizer.zero_grad()", """
            try:
                w.step(nn.functional.cross_entropy(Half.apply(model(batch.x)), batch.y))
            except RuntimeError:
                continue
        """):
            with self.subTest(body=body):
                ended, _ = self.skips(f"""
    class Half(torch.autograd.Function):
        @staticmethod
        def forward(context, x): return x.clone()
        @staticmethod
        def backward(context, gradient): raise RuntimeError("in the middle")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with paceline.worker(model) as w:
        for batch in w.data(DataLoader(Pictures())):
            {body}
                """, "spec.runPolicy.backoffLimit=0")
                self.assertNotEqual(ended.code, 0)
                self.assertIn("the batch before had no w.step(loss): one step for each batch", ended.err)


class AloneSkipTest(unittest.TestCase):
    def worker(self, model, **options):
        return paceline.worker(model, torch.optim.SGD(model.parameters(), lr=0.5), batch_size=8, **options)

    def test_skips_as_in_a_job(self):
        model = nn.Linear(2, 1)
        seen, steps = [], 0
        with self.worker(model, epochs=2) as w:
            for batch in w.data((torch.ones(32, 2), torch.ones(32))):
                seen += batch.indices
                if 3 in batch.indices:
                    w.skip()
                elif 4 not in batch.indices:
                    steps += not w.step(model(batch.x).mean()).given_up
        self.assertEqual(sorted(seen), sorted(list(range(32)) * 2))
        self.assertGreater(steps, 0)

    def test_an_empty_batch_changes_nothing(self):
        model = nn.Linear(2, 1)
        before = model.weight.detach().clone()
        with self.worker(model) as w, self.assertRaisesRegex(paceline.Misuse, "no batch of epoch 0 had a step"):
            for batch in w.data([1] * 32, collate_fn=lambda samples: torch.zeros(0, 2)):
                self.assertTrue(math.isnan(w.step(model(batch.data).mean()).loss))
        self.assertTrue(torch.equal(model.weight, before))

    def test_samples_are_a_number_that_the_batch_has(self):
        model = nn.Linear(2, 1)
        for said in (-1, 9, 2.0, True, "4"):
            with self.subTest(said=said), self.worker(model) as w, self.assertRaisesRegex(paceline.Misuse, "from 0 to 8"):
                for batch in w.data((torch.ones(32, 2), torch.ones(32))):
                    w.step(model(batch.x).mean(), samples=said)

    def test_no_samples_behind_a_part_of_the_batch(self):
        model = nn.Linear(2, 1)
        with self.worker(model) as w, self.assertRaisesRegex(paceline.Misuse, "samples=0. behind w.accumulate"):
            for batch in w.data((torch.ones(32, 2), torch.ones(32))):
                w.accumulate(model(batch.x).mean() / 2)
                w.step(model(batch.x).mean() / 2, samples=0)

    def test_a_number_may_be_a_tensor(self):
        model = nn.Linear(2, 1)
        with self.worker(model) as w:
            for batch in w.data((torch.ones(32, 2), torch.ones(32))):
                self.assertTrue(math.isfinite(w.step(model(batch.x).mean(), samples=(batch.y > 0).sum()).loss))

    def test_skip_wants_a_batch(self):
        with self.worker(nn.Linear(2, 1)) as w, self.assertRaisesRegex(paceline.Misuse, "there is no batch"):
            w.skip()


class HeldByTest(unittest.TestCase):
    def test_how_many_samples_a_batch_holds(self):
        def rows(*shape):
            return torch.zeros(*shape)
        for data, held in [((rows(8, 3), rows(8)), 8), ((rows(5, 3), rows(5)), 5), ({"x": rows(0, 3), "y": rows(0)}, 0), (rows(5, 3), 5),
                           ([rows(3, 8), rows(3, 8)], 8), ((rows(5, 3), rows(8)), 8), ((rows(5, 3), rows(4)), 8), (rows(20, 3), 8),
                           ([1, 2], 8), (None, 8), ({"a": {"b": rows(2)}}, 8), ((rows(5, 3), torch.tensor(1.0)), 8),
                           (SimpleNamespace(x=rows(5)), 8), (([rows(3, 4, 4)] * 8, ["a caption"] * 8), 8), ((rows(3, 4), ["word"] * 8), 8),
                           ({"cat": rows(4), "dog": rows(4)}, 8), ({"input_ids": rows(1, 90), "labels": rows(1, 90)}, 8), ((rows(1, 6), rows(1)), 1),
                           (([object()] * 8, rows(0, 4), rows(0)), 8), ((), 8)]:
            with self.subTest(data=data):
                self.assertEqual(held_by(data, 8), held)


if __name__ == "__main__":
    unittest.main()
