"""A batch of one sample is no sample's fault, and no end of a job whose model has batch norm."""
import contextlib
import copy
import io
import types
import unittest

import torch
from torch import nn

import paceline
from paceline._worker import Worker

from jobs import JobTest

X = torch.randn(33, 3, generator=torch.Generator().manual_seed(0))
SAID = "a batch of one sample: batch norm takes its running statistics for it"
REFUSED = r"give batch norm two samples or more, or its running statistics: model.train\(len\(batch\) > 1\)"


def net(norm=None):
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), norm or nn.BatchNorm1d(4), nn.Linear(4, 1))


class AloneTest(unittest.TestCase):
    def train(self, model, step=None, size=16, samples=X, epochs=1):
        """What it prints."""
        with contextlib.redirect_stdout(io.StringIO()) as said:
            with paceline.worker(model, torch.optim.SGD(model.parameters(), lr=0.1), batch_size=size, epochs=epochs) as w:
                for batch in w.data((samples,)):
                    step(w, batch) if step else w.step(model(batch.x).square().mean())
        return said.getvalue()

    def test_it_learns_with_running_statistics(self):
        model, seen = net(), []

        def step(w, batch):
            twin = copy.deepcopy(model)
            if len(batch) == 1:
                twin.eval()
            twin(batch.x).square().mean().backward()
            wanted = [value.detach() - 0.1 * value.grad for value in twin.parameters()]
            w.step(model(batch.x).square().mean())
            for value, other in zip(model.parameters(), wanted):
                torch.testing.assert_close(value.detach(), other)
            for value, other in zip(model.buffers(), twin.buffers()):
                self.assertTrue(torch.equal(value, other))
            self.assertTrue(all(module.training for module in model.modules()))
            seen.append(len(batch))

        said = self.train(model, step, epochs=2)
        self.assertEqual(seen, [16, 16, 1] * 2)
        self.assertEqual(said.count(SAID), 1)
        self.assertIn("several values (1)", said)
        self.assertFalse(model[1]._forward_hooks or model[1]._forward_pre_hooks)

    def test_values_of_one_image_are_several(self):
        model = nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.Flatten(), nn.Linear(72, 1))
        self.assertNotIn(SAID, self.train(model, size=4, samples=torch.randn(9, 1, 8, 8)))
        self.assertEqual(model[1].num_batches_tracked, 3)

    def test_a_layer_in_evaluation_stays_there(self):
        model = net()

        def step(w, batch):
            w.accumulate(model(batch.x).square().mean() / 2)
            model.eval()
            w.step(model(batch.x).square().mean() / 2)
            self.assertFalse(model[1].training)
            model.train()

        self.train(model, step)

    def test_a_compiled_model_likewise(self):
        plain = net()
        self.assertIn(SAID, self.train(torch.compile(plain, backend="eager"), epochs=2))
        self.assertEqual(plain[1].num_batches_tracked, 4)
        self.assertTrue(plain[1].training)

    def refused(self, model, **options):
        with self.assertRaisesRegex(paceline.Misuse, REFUSED + ".*PyTorch said: Expected more than 1 value"):
            self.train(model, **options)
        self.assertTrue(all(module.training for module in model.modules()))

    def test_without_statistics_it_says_what_to_do(self):
        self.refused(net(), size=1)
        self.refused(net(nn.BatchNorm1d(4, track_running_stats=False)))

    def test_a_part_of_one_sample_likewise(self):
        model = net()

        def step(w, batch):
            w.accumulate(model(batch.x[:-1]).square().mean() / 2)
            w.step(model(batch.x[-1:]).square().mean() / 2)

        self.refused(model, step=step)


class BlameTest(unittest.TestCase):
    def after(self, error):
        """What a job is told of a worker whose script raises it, and what the script ends with."""
        told = []
        worker = Worker.__new__(Worker)
        worker._batch, worker._steps, worker.is_evaluator, worker._close = object(), 0, False, lambda: None
        worker._session = types.SimpleNamespace(check=lambda name, *_: told.append(name))
        try:
            worker.__exit__(type(error), error, None)
        except paceline.Misuse as misuse:
            return told, misuse
        return told, None

    def test_no_sample_is_accused(self):
        refusal = "Expected more than 1 value per channel when training, got input size torch.Size([1, 4])"
        for error in (ValueError(refusal), RuntimeError(f"Traceback of TorchScript\nbuiltins.ValueError: {refusal}\n")):
            told, misuse = self.after(error)
            self.assertEqual(told, [])
            self.assertRegex(str(misuse), REFUSED)
        self.assertEqual(self.after(ValueError("no good")), (["fail_step"], None))


SCRIPT = """
    import torch, paceline
    torch.manual_seed(0)
    x = torch.randn(49, 3, generator=torch.Generator().manual_seed(0))
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Linear(4, 1))
    with paceline.worker(model) as w:
        for batch in w.data((x,)):
            if WORSE: raise KeyError("no good")
            w.step(model(batch.x).square().mean())
"""


class OneSampleTest(JobTest):
    def test_a_last_batch_of_one_sample_is_trained_on(self):
        self.script(SCRIPT.replace("WORSE", "False"))
        ended = self.run_job("spec.training.stop={maxEpochs: 1}")
        self.assert_succeeded(ended)
        self.assert_every_sample_once(ended, epochs=1)
        self.assertEqual(ended.worker_logs().count(SAID), 1)

    def test_a_sample_that_is_no_good_is_found(self):
        self.script(SCRIPT.replace("WORSE", "17 in batch.indices"))
        ended = self.run_job("spec.training.stop={maxEpochs: 1}", "spec.training.globalBatchSize=8")
        self.assert_succeeded(ended)
        self.assertIn("made two workers ill, or ended them: sample 17 (position ", ended.err)

    def test_batches_of_one_sample_are_refused_once_and_no_sample_accused(self):
        self.script(SCRIPT.replace("WORSE", "False"))
        ended = self.run_job("spec.training.globalBatchSize=2")
        self.assertNotEqual(ended.code, 0, ended.words())
        self.assertRegex(ended.err, REFUSED + ".*starting it again is of no use")
        self.assertNotIn("made two workers ill", ended.err)


if __name__ == "__main__":
    unittest.main()
