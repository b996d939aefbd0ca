"""Lines of a plain loop that a script leaves to w.step are named, and do no harm where they mean no harm."""
import contextlib
import io
import unittest

import torch
from torch import nn
from torch.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler
from torch.nn.utils import clip_grad_norm_, clip_grad_value_

import paceline
from paceline import _model
from paceline._model import FlatModel

from jobs import JobTest

X = torch.randn(64, 3, generator=torch.Generator().manual_seed(0))
Y = (X.sum(1) > 0).long()


def net():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))


def loss_of(model, x=X, y=Y):
    return nn.functional.cross_entropy(model(x), y)


def scaler():
    return torch.amp.GradScaler("cpu", init_scale=1024.0)


class AloneCase(unittest.TestCase):
    """A worker that trains alone is asked as one of a job is."""

    def setUp(self):
        self.model = net()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)

    def one_step(self, function):
        """What it prints. `function` has the worker and a batch."""
        with contextlib.redirect_stdout(io.StringIO()) as said:
            with paceline.worker(self.model, self.optimizer, batch_size=64) as w:
                for batch in w.data((X, Y)):
                    function(w, batch)
        return said.getvalue()

    def refused(self, function, words):
        before = [p.detach().clone() for p in self.model.parameters()]
        with self.assertRaisesRegex(paceline.Misuse, words):
            self.one_step(function)
        for parameter, value in zip(self.model.parameters(), before):
            self.assertTrue(torch.equal(parameter, value), "nothing was learnt")

    def learns(self, function):
        """As plain PyTorch in a step."""
        twin = net()
        loss_of(twin).backward()
        torch.optim.SGD(twin.parameters(), lr=0.1).step()
        self.one_step(function)
        for parameter, other in zip(self.model.parameters(), twin.parameters()):
            torch.testing.assert_close(parameter, other)


class BackwardTest(AloneCase):
    WORDS = r"delete loss.backward\(\): .* gradients of 0.weight and of 3 more are there already. .* w.accumulate\(part\).*gradientClipNorm"

    def test_before_a_step_it_is_refused(self):
        def step(w, _):
            loss = loss_of(self.model)
            loss.backward()
            w.step(loss)
        self.refused(step, self.WORDS)

    def test_before_a_part_of_one_too(self):
        def step(w, _):
            loss_of(self.model).backward()
            w.accumulate(loss_of(self.model) / 2)
        self.refused(step, self.WORDS)

    def test_between_parts_too(self):
        def step(w, _):
            w.accumulate(loss_of(self.model) / 2)
            (loss_of(self.model) / 2).backward()
            w.step(loss_of(self.model))
        self.refused(step, self.WORDS)

    def test_whose_gradients_are_dropped_it_does_no_harm(self):
        for set_to_none in (True, False):
            self.setUp()

            def step(w, _):
                x = X.clone().requires_grad_()
                loss_of(self.model, x).backward()  # For the inputs' gradient, as adversarial training wants it.
                self.assertIsNotNone(x.grad)
                self.model.zero_grad(set_to_none=set_to_none)
                w.accumulate(loss_of(self.model) / 2)
                w.step(loss_of(self.model) / 2)
            self.learns(step)

    def test_gradients_of_before_are_dropped(self):
        loss_of(self.model).backward()
        self.learns(lambda w, _: w.step(loss_of(self.model)))

    def test_other_parameters_gradients_are_the_script_s_own(self):
        other = nn.Linear(3, 2)

        def step(w, _):
            loss_of(other).backward()
            torch.optim.SGD(other.parameters(), lr=0.1).step()
            w.step(loss_of(self.model))
        self.learns(step)


class ScalerTest(AloneCase):
    WORDS = "delete the GradScaler .scale, unscale_, step, update.: .*torch.autocast.device, torch.bfloat16., which needs no scaler"

    def test_a_scaled_loss_is_refused_whatever_is_made_of_it(self):
        def mean_of_two(one):
            return sum(scaler().scale([one, one * 2])) / 3
        for made in (lambda one: scaler().scale(one), lambda one: scaler().scale(one) / 4, mean_of_two,
                     lambda one: torch.cuda.amp.GradScaler.scale(scaler(), one) + one,
                     lambda one: (lambda: scaler().scale(one))):
            self.refused(lambda w, _: w.step(made(loss_of(self.model))), self.WORDS)
            self.refused(lambda w, _: w.accumulate(made(loss_of(self.model))), self.WORDS)

    def test_one_derived_from_it_too(self):
        class Mine(torch.amp.GradScaler):
            def scale(self, outputs):
                return super().scale(outputs) * 1

        for kind in (Mine, ShardedGradScaler):
            with self.subTest(kind):
                self.refused(lambda w, _: w.step(kind("cpu").scale(loss_of(self.model))), self.WORDS)

    def test_the_idiom_by_hand_is_refused_at_its_first_line(self):
        own = scaler()
        for last in (lambda: own.unscale_(self.optimizer), lambda: own.step(self.optimizer)):
            def step(w, _):
                own.scale(loss_of(self.model)).backward()
                last()
            self.refused(step, self.WORDS)
            self.model.zero_grad()

        def scaled_backward(w, _):
            own.scale(loss_of(self.model)).backward()
            w.step(loss_of(self.model))
        self.refused(scaled_backward, "delete loss.backward.*delete the GradScaler with it: .*torch.autocast")

    def test_one_that_is_not_enabled_does_nothing(self):
        off = torch.amp.GradScaler("cpu", enabled=False)

        def step(w, _):
            w.step(off.scale(loss_of(self.model)))
            off.step(self.optimizer)
            off.update()
        self.learns(step)

    def test_one_of_other_parameters_works(self):
        other, own = nn.Linear(3, 2), scaler()
        theirs = torch.optim.SGD(other.parameters(), lr=0.1)
        before = other.weight.detach().clone()

        def step(w, _):
            own.scale(loss_of(other)).backward()
            own.unscale_(theirs)
            clip_grad_norm_(other.parameters(), 1.0)
            own.step(theirs)
            own.update()
            w.step(loss_of(self.model))
        self.learns(step)
        self.assertFalse(torch.equal(other.weight, before))


class LossTest(AloneCase):
    def test_what_is_none_is_refused(self):
        class Output:
            loss = torch.zeros(())

        for made, words in ((lambda: Output(), r"hand w.step the loss, a tensor with its graph: its .loss, say: got an Output"),
                            (lambda: loss_of(self.model).item(), "hand w.step the loss, a tensor with its graph: got a float"),
                            (lambda: (loss_of(self.model), 1), "got a tuple"),
                            (lambda: nn.functional.cross_entropy(self.model(X), Y, reduction="none"),
                             r"the mean over the batch \(loss.mean\(\)\): got a loss of shape \[64\]"),
                            (lambda: loss_of(self.model).detach(), "does not depend on the model .* it has no graph")):
            self.refused(lambda w, _: w.step(made()), words)
            self.refused(lambda w, _: w.accumulate(made()), words)


class SaidOnceTest(unittest.TestCase):
    """What a worker of a job says; alone the script's optimizer is the one that counts."""

    def setUp(self):
        self.said = []
        former = _model._warn
        self.addCleanup(setattr, _model, "_warn", former)
        _model._warn = self.said.append
        self.model = net()
        self.flat = FlatModel(self.model)
        self.addCleanup(self.flat.release)

    def test_a_step_of_the_script_s_optimizer(self):
        for kind in (torch.optim.SGD, torch.optim.SGD, torch.optim.AdamW):
            kind(self.model.parameters(), lr=0.1).step()
        self.assertEqual([words.split(" is not wanted")[0] for words in self.said],
                         ["step() of the script's SGD", "step() of the script's AdamW"])

    def test_clipping_where_no_gradients_are(self):
        for clip in (clip_grad_norm_, nn.utils.clip_grad_norm_, nn.utils.clip_grad_value_):
            self.said.clear()
            self.flat.watch._said.clear()
            for _ in range(2):
                clip(self.model.parameters(), 1.0)
            self.assertEqual(len(self.said), 1)
            self.assertIn("a job clips by spec.training.gradientClipNorm", self.said[0])

    def test_nothing_where_they_are(self):
        self.flat.on_gradient = lambda index, gradient: None
        loss_of(self.model).backward()  # As of w.accumulate.
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), 1e-3)
        self.assertGreater(norm, 1e-3)
        nn.utils.clip_grad_value_((p for p in self.model.parameters()), 1e-9)
        self.assertLessEqual(self.model[0].weight.grad.abs().max(), 1e-9)
        self.assertEqual(self.said, [])

    def test_what_is_trained_beside_the_job(self):
        other = net()
        loss_of(other).backward()
        for _ in range(2):
            torch.optim.SGD(other.parameters(), lr=0.1).step()
        self.assertEqual(len(self.said), 1)
        self.assertRegex(self.said[0], "the script's SGD trains parameters that paceline.worker was not given: .*ModuleDict")

    def test_nothing_of_others(self):
        other = net()
        loss_of(other).backward()
        nn.utils.clip_grad_norm_(other.parameters(), 1.0)
        self.flat.release()
        torch.optim.SGD(other.parameters(), lr=0.1).step()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        torch.optim.SGD(self.model.parameters(), lr=0.1).step()
        self.assertEqual(self.said, [])


class JobIdiomsTest(JobTest):
    def test_each_is_refused_in_a_job_too_and_the_right_line_works_after_it(self):
        self.script("""
            import torch, paceline
            from torch import nn
            torch.manual_seed(0)
            x = torch.randn(64, 3); y = (x.sum(1) > 0).long()
            model = nn.Linear(3, 2)
            optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
            scaler = torch.amp.GradScaler("cpu")
            def refused(words, function):
                try:
                    function()
                except paceline.Misuse as error:
                    assert words in str(error), error
                else:
                    raise AssertionError(words)
            with paceline.worker(model) as w:
                for number, batch in enumerate(w.data([{"inputs": one, "labels": two} for one, two in zip(x, y)])):
                    def loss(inputs, labels): return nn.functional.cross_entropy(model(inputs), labels)
                    if number == 0:
                        loss(**batch).backward()
                        refused("delete loss.backward()", lambda: w.step(loss(**batch)))
                        loss(**batch).backward()
                        refused("delete loss.backward()", lambda: w.accumulate(loss(**batch)))
                        model.zero_grad()
                    if number == 1:
                        refused("delete the GradScaler", lambda: w.step(scaler.scale(loss(**batch))))
                        refused("delete the GradScaler", lambda: w.accumulate(scaler.scale(loss(**batch))))
                        refused("delete the GradScaler", lambda: scaler.step(optimizer))
                    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                    optimizer.step()
                    w.step(loss(**batch))
        """)
        ended = self.run_job("spec.training.globalBatchSize=16", "spec.training.stop={maxSteps: 4}", "spec.runPolicy.backoffLimit=0", workers=1)
        self.assert_succeeded(ended)
        self.assertEqual(ended.worker_logs().count("step() of the script's SGD is not wanted"), 1)
        self.assertEqual(ended.worker_logs().count("clipping finds no gradients"), 1)


if __name__ == "__main__":
    unittest.main()
