"""A model bound to flat memory trains as it did, bit by bit; what cannot be bound is named."""
import contextlib
import copy
import getpass
import os
import unittest
from unittest import mock

import torch
from torch import nn
from torch.nn.utils.parametrizations import spectral_norm, weight_norm

from paceline import Misuse
from paceline._frozen import Freezing, fits
from paceline._model import FlatModel, GivenUp
from paceline._name import have_a_name


class Tied(nn.Module):
    """An embedding that is the output's weight too, and one that is frozen."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(11, 8)
        self.position = nn.Embedding(5, 8)
        self.position.weight.requires_grad = False
        self.norm = nn.LayerNorm(8)
        self.out = nn.Linear(8, 11, bias=False)
        self.out.weight = self.embed.weight

    def forward(self, tokens):
        return self.out(self.norm(self.embed(tokens) + self.position(torch.arange(tokens.shape[1]))))


class Mean(nn.Module):
    """Binds its buffer anew in each forward pass."""

    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(3))

    def forward(self, x):
        self.mean = 0.5 * self.mean + 0.5 * x.mean(0).detach()
        return x


class Counts(nn.Module):
    def __init__(self):
        super().__init__()
        self.last = nn.Linear(3, 1)
        self.inner = Mean()

    def forward(self, x):
        return self.last(self.inner(x))


def image_net():
    return nn.Sequential(weight_norm(nn.Conv2d(1, 4, 3)), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(),
                         spectral_norm(nn.Linear(144, 5)))


def plain_gradients(model, loss_of):
    model.zero_grad()
    loss_of(model).backward()
    return {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}


def handed_gradients(flat, loss_of):
    """By the names of members, as hooks hand them over."""
    found = {}

    def take(index, gradient):
        found[flat._members[index].name] = gradient.clone()
        flat.drop_gradient(index)

    flat.on_gradient = take
    loss_of(flat.model).backward()
    flat.on_gradient = None
    return found


class FlatModelTest(unittest.TestCase):
    def agree(self, model, loss_of, same=torch.equal):
        twin = copy.deepcopy(model)
        flat = FlatModel(model)
        for _ in range(3):
            torch.manual_seed(1)
            expected = plain_gradients(twin, loss_of)
            torch.manual_seed(1)
            found = handed_gradients(flat, loss_of)
            self.assertEqual(found.keys(), expected.keys())
            for name, gradient in expected.items():
                self.assertTrue(same(found[name], gradient), name)
            with torch.no_grad():
                for mine, other in zip(model.parameters(), twin.parameters()):
                    other.sub_(other.grad if other.grad is not None else 0, alpha=0.1)
                    mine.copy_(other)
        for (name, mine), other in zip(model.state_dict().items(), twin.state_dict().values()):
            self.assertTrue(same(mine, other), name)
        return flat

    def test_tied_and_frozen(self):
        tokens = torch.randint(11, (4, 5))
        flat = self.agree(Tied(), lambda model: nn.functional.cross_entropy(model(tokens).flatten(0, 1), tokens.flatten()))
        self.assertEqual([member.name for member in flat._members],
                         ["embed.weight", "norm.weight", "norm.bias"])
        self.assertEqual([one.name for one in flat.frozen], ["position.weight"])

    def test_normalised_weights_and_running_means(self):
        images, labels = torch.randn(6, 1, 8, 8), torch.randint(5, (6,))
        # Kernels of convolutions round as their memory is aligned; a bias before BatchNorm has rounding for a gradient.
        self.agree(image_net(), lambda model: nn.functional.cross_entropy(model(images), labels),
                   lambda a, b: torch.allclose(a, b, rtol=1e-5, atol=2e-6))

    def test_under_autocast(self):
        x, y = torch.randn(6, 8), torch.randint(5, (6,))

        def loss_of(model):
            with torch.autocast("cpu", torch.bfloat16):
                return nn.functional.cross_entropy(model(x), y)

        self.agree(nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 5)), loss_of)

    def test_sparse_gradients_are_handed_over_dense(self):
        model = nn.Embedding(10, 3, sparse=True)
        flat = FlatModel(model)
        found = handed_gradients(flat, lambda m: m(torch.tensor([2, 2, 7])).sum())
        expected = torch.zeros(10, 3)
        expected[2], expected[7] = 2, 1
        self.assertTrue(torch.equal(found["weight"], expected))

    def test_values_are_the_model_s_own_memory(self):
        model = nn.Linear(3, 2)
        flat = FlatModel(model)
        flat.values.zero_()
        self.assertEqual(model.weight.abs().sum().item(), 0)
        with torch.no_grad():
            model.bias.fill_(1)
        self.assertEqual(flat.values.view(torch.float32).sum().item(), 2)

    def test_whoever_is_given_up_leaves_no_gradient(self):
        model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 2))
        flat = FlatModel(model)

        def refuse(index, gradient):
            raise GivenUp

        flat.on_gradient = refuse
        with self.assertRaises(GivenUp):
            model(torch.ones(1, 3)).sum().backward()
        flat.on_gradient = None
        flat.drop_gradients()
        self.assertEqual(flat.leftover(), [])

    def test_a_model_that_moved_is_named(self):
        for move in (lambda m: m.half(), lambda m: m.to(torch.bfloat16),
                     lambda m: nn.utils.vector_to_parameters(torch.zeros(8), m.parameters()),
                     lambda m: setattr(m.weight, "data", torch.zeros(2, 3))):
            model = nn.Linear(3, 2)
            flat = FlatModel(model)
            flat.check()
            model.zero_grad(set_to_none=True)
            flat.check()
            move(model)
            with self.assertRaisesRegex(Misuse, "weight does not lie any more"):
                flat.check()

    def test_what_cannot_be_bound_is_named(self):
        with self.assertRaisesRegex(Misuse, "0.weight is torch.float64"):
            FlatModel(nn.Sequential(nn.Linear(2, 2).double()))
        module = nn.Module()
        module.a = nn.Parameter(torch.zeros(3))
        module.b = nn.Parameter(module.a.data)
        with self.assertRaisesRegex(Misuse, "a and b share memory"):
            FlatModel(module)
        module = nn.Linear(2, 2)
        module.register_buffer("scale", torch.zeros(1, dtype=torch.float64))
        self.assertEqual([one.name for one in FlatModel(module).frozen], ["scale"])
        frozen = nn.Linear(2, 2).requires_grad_(False)
        with self.assertRaisesRegex(Misuse, "no parameter"):
            FlatModel(frozen)

    def test_what_is_not_in_the_state_dict_stays_one_s_own(self):
        module = nn.Linear(2, 2)
        module.register_buffer("mask", torch.ones(2, dtype=torch.bool))
        module.register_buffer("cache", torch.ones(2), persistent=False)
        flat = FlatModel(module)
        self.assertEqual([member.name for member in flat._members], ["weight", "bias"])

    def test_the_job_s_frozen_groups_get_no_gradient(self):
        model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 2))
        groups = [{"match": ["1.b?as"]}, {"match": ["nothing", "*.bias"], "frozen": True}]
        for are_averaged in (False, True):
            flat = FlatModel(model, are_averaged, Freezing(model, groups, are_averaged))
            self.assertEqual(flat.freezing.names, ["0.bias"])
            self.assertEqual([one.name for one in flat.frozen], [] if are_averaged else ["0.bias"])
            self.assertEqual(len(flat), 4 if are_averaged else 3)
            found = handed_gradients(flat, lambda m: m(torch.ones(1, 3)).sum())
            self.assertEqual(sorted(found), ["0.weight", "1.bias", "1.weight"])
            flat.release()
            self.assertTrue(model[0].bias.requires_grad)

    def test_patterns_have_two_wildcards_and_no_more(self):
        for pattern, name, expected in [("*", "a.b", True), ("a.?", "a.b", True), ("a.?", "a.bc", False), ("a", "a.b", False),
                                        ("[ab]", "a", False), ("[ab]", "[ab]", True), ("*norm*", "x.norm1.bias", True)]:
            self.assertEqual(fits(pattern, name), expected, (pattern, name))

    def test_a_released_model_is_an_ordinary_one(self):
        model = nn.Linear(3, 2)
        flat = FlatModel(model)
        flat.on_gradient = lambda index, gradient: self.fail("asked")
        before = model.weight.clone()
        flat.release()
        self.assertTrue(torch.equal(model.weight, before))
        self.assertEqual(model.bias.untyped_storage().nbytes(), 8, "saved alone, it would bring all others along")
        model(torch.ones(1, 3)).sum().backward()
        self.assertIsNotNone(model.weight.grad)

    def test_a_buffer_that_the_model_binds_anew_is_kept(self):
        for model in (Counts(), torch.jit.script(Counts())):
            flat = FlatModel(model)
            x = torch.tensor([[2.0, 4.0, 6.0]])
            model(x)
            flat.store_buffers()
            values = flat.values[flat._buffers_from:].view(torch.float32)[:3]
            self.assertEqual(values.tolist(), [1, 2, 3])
            values.fill_(8)  # As a version comes that others have had a part in...
            model(x)         # ...while the model binds what it made of the one before.
            flat.fetch()
            self.assertEqual(model.inner.mean.tolist(), [8, 8, 8])
            model(x)
            flat.store_buffers()
            self.assertEqual(values.tolist(), [5, 6, 7])
        model = Counts()
        flat = FlatModel(model)
        model.inner.mean = torch.zeros(4)
        with self.assertRaisesRegex(Misuse, r"buffer inner.mean has shape \[4\] now, it had \[3\]"):
            flat.store_buffers()
        model.inner.mean = None
        with self.assertRaisesRegex(Misuse, "buffer inner.mean is gone"):
            flat.store_buffers()

class NameTest(unittest.TestCase):
    def test_a_user_that_is_a_number_alone_has_a_name_for_pytorch(self):
        """As a pod's user often is; PyTorch asks for it when it makes an optimizer."""
        unnamed = {name: value for name, value in os.environ.items() if name not in ("LOGNAME", "USER", "LNAME", "USERNAME")}
        for lookup, expected in ((KeyError("uid not found: 65532"), "paceline"), (None, getpass.getuser())):
            with mock.patch.dict(os.environ, unnamed, clear=True):
                with mock.patch("pwd.getpwuid", side_effect=lookup) if lookup else contextlib.nullcontext():
                    have_a_name()
                    self.assertEqual(getpass.getuser(), expected)


if __name__ == "__main__":
    unittest.main()
