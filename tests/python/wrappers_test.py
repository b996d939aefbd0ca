"""A module that PyTorch wraps trains as the plain one does, and its tensors have the plain one's names."""
import copy
import tempfile
import unittest
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import distributed, nn
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper
from torch.distributed.fsdp import FullyShardedDataParallel
from torch.nn.parallel import DataParallel, DistributedDataParallel

import paceline
from paceline._frozen import Freezing
from paceline._model import FlatModel
from paceline._wrappers import plain_module, plain_name
from model_test import handed_gradients, plain_gradients


def net():
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(4, 3), nn.Sequential(nn.BatchNorm1d(3), nn.Linear(3, 3)), nn.Linear(3, 2))


def compiled(module):
    return torch.compile(module, backend="eager")


def with_parts_wrapped():
    model = net()
    model[0] = compiled(model[0])
    model[1] = checkpoint_wrapper(model[1])  # Leaves itself out of the state_dict's names, and of no others.
    model[2] = DataParallel(compiled(model[2]))
    return model


def compiled_in_place():
    model = net()
    model.compile(backend="eager")
    return model


class Own(nn.Module):
    """Calls its parts what wrappers call theirs."""

    def __init__(self):
        super().__init__()
        self.module, self._orig_mod = nn.Linear(4, 2), nn.Linear(2, 2)


class NamesTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="paceline-wrappers-")
        self.addCleanup(scratch.cleanup)
        self.path = str(Path(scratch.name) / "model.safetensors")

    def test_they_are_the_plain_module_s(self):
        expected = [member.name for member in FlatModel(net())._members]
        self.assertIn("1.0.running_mean", expected)
        for make in (lambda: compiled(net()), lambda: DataParallel(compiled(net())),
                     lambda: compiled(with_parts_wrapped()), lambda: checkpoint_wrapper(net()), with_parts_wrapped, compiled_in_place):
            model = make()
            self.assertEqual([member.name for member in FlatModel(model)._members], expected)
            self.assertEqual(list(paceline.state_dict(model)), list(net().state_dict()))
            self.assertTrue(net().load_state_dict(paceline.state_dict(model)))
            self.assertIs(type(plain_module(model)), nn.Sequential)

    def test_what_a_script_calls_its_own_parts_stays(self):
        expected = ["module.weight", "module.bias", "_orig_mod.weight", "_orig_mod.bias"]
        for model in (Own(), compiled(Own())):
            self.assertEqual([member.name for member in FlatModel(model)._members], expected)
        self.assertEqual(plain_name(compiled(Own()), "_orig_mod._orig_mod.weight"), "_orig_mod.weight")

    def test_a_compiled_model_may_write_to_its_buffers(self):
        model = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4))
        flat = FlatModel(model)
        x = torch.randn(8, 4)
        torch.compile(model, backend="aot_eager")(x).sum().backward()
        norm = model[1]
        self.assertEqual(int(norm.num_batches_tracked), 1)
        wanted = 0.1 * torch.nn.functional.linear(x, model[0].weight, model[0].bias).mean(0)
        for index, member in enumerate(flat._members):
            if member.name == "1.running_mean":
                self.assertTrue(torch.allclose(flat._view(flat.values, index), wanted, atol=1e-6), "it is where shards read it")

    def test_messages_have_them(self):
        with self.assertRaisesRegex(paceline.Misuse, "parameter 0.weight is torch.float64"):
            FlatModel(compiled(nn.Sequential(nn.Linear(2, 2).double())))
        model = compiled(net())
        flat = FlatModel(model)
        plain_module(model)[0].weight.data = torch.zeros(3, 4)
        with self.assertRaisesRegex(paceline.Misuse, "^0.weight does not lie"):
            flat.check()
        self.assertEqual(Freezing(compiled(net()), [{"match": ["0.*"], "frozen": True}]).names, ["0.weight", "0.bias"])

    def test_a_file_is_read_into_the_plain_module_and_into_a_wrapped_one(self):
        values = {name: torch.rand_like(value) if value.is_floating_point() else value
                  for name, value in net().state_dict().items()}
        save_file(values, self.path)
        for model in (net(), compiled(net()), with_parts_wrapped()):
            paceline.load(model, self.path)
            for name, value in paceline.state_dict(model).items():
                self.assertTrue(torch.equal(value, values[name]), name)

    def test_a_file_of_before_has_the_names_of_a_compiled_module(self):
        values = {f"_orig_mod.{name}": value + 1 for name, value in net().state_dict().items()}
        save_file(values, self.path)
        for model in (net(), compiled(net())):
            paceline.load(model, self.path)
            for name, value in paceline.state_dict(model).items():
                self.assertTrue(torch.equal(value, values[f"_orig_mod.{name}"]), name)

    def test_an_exported_module_has_them(self):
        described = paceline.export(compiled(net()), torch.zeros(2, 4), self.path)
        names = [name for name, _ in torch.jit.load(described["torchScript"]).named_parameters()]
        self.assertEqual(names, [name for name, _ in net().named_parameters()])


class GradientsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory(prefix="paceline-wrappers-")
        distributed.init_process_group("gloo", init_method=f"file://{cls.scratch.name}/store", rank=0, world_size=1)

    @classmethod
    def tearDownClass(cls):
        distributed.destroy_process_group()
        cls.scratch.cleanup()

    def test_each_is_handed_over_once(self):
        """A DistributedDataParallel would put them back."""
        x = torch.randn(6, 4)

        def loss_of(module):
            return module(x).square().mean()

        for wrap in (compiled, DistributedDataParallel, lambda module: DistributedDataParallel(compiled(module)),
                     lambda module: compiled(DistributedDataParallel(module))):
            twin, model = net(), wrap(net())
            flat = FlatModel(model)
            for _ in range(2):
                expected = plain_gradients(twin, loss_of)
                found = handed_gradients(flat, loss_of)
                self.assertEqual(flat.leftover(), [])
                self.assertEqual(found.keys(), expected.keys())
                for name, gradient in expected.items():
                    torch.testing.assert_close(found[name], gradient, rtol=1e-6, atol=1e-7)

    def test_a_released_one_is_what_it_was(self):
        model = DistributedDataParallel(net())
        flat = FlatModel(model)
        self.assertFalse(model.require_backward_grad_sync)
        flat.release()
        self.assertTrue(model.require_backward_grad_sync and model.require_forward_param_sync)
        model(torch.randn(6, 4)).sum().backward()
        self.assertIsNotNone(model.module[0].weight.grad)

    def test_one_that_moves_parameters_in_each_pass_is_refused(self):
        for model in (FullyShardedDataParallel(net(), device_id=torch.device("cpu")),
                      nn.Sequential(FullyShardedDataParallel(net(), device_id=torch.device("cpu"), use_orig_params=True))):
            with self.assertRaisesRegex(paceline.Misuse, "take fully_shard.model. of torch.distributed.fsdp"):
                FlatModel(model)


class StateDictTest(unittest.TestCase):
    def test_it_stays_as_it_is(self):
        model = net()
        flat = FlatModel(model)
        kept, shown = paceline.state_dict(model), model.state_dict()
        expected = copy.deepcopy(kept)
        flat.values.zero_()
        self.assertEqual(shown["0.weight"].abs().sum().item(), 0)
        for name, value in kept.items():
            self.assertTrue(torch.equal(value, expected[name]), name)
            self.assertFalse(value.requires_grad)
            self.assertEqual(value.untyped_storage().nbytes(), value.numel() * value.element_size(), "all that torch.save writes")

    def test_tied_weights_are_one_and_what_is_no_tensor_is_kept(self):
        class Tied(nn.Module):
            def __init__(self):
                super().__init__()
                self.a, self.b, self.more = nn.Linear(2, 2), nn.Linear(2, 2, bias=False), [1]
                self.b.weight = self.a.weight

            def get_extra_state(self):
                return self.more

            def set_extra_state(self, state):
                self.more = state

        model = Tied()
        kept = paceline.state_dict(compiled(model))
        self.assertIs(kept["a.weight"], kept["b.weight"])
        model.more.append(2)
        other = Tied()
        other.load_state_dict(kept)
        self.assertEqual(other.more, [1])

    def test_a_layer_s_version_goes_with_it(self):
        kept = paceline.state_dict(compiled(net()))
        self.assertEqual(kept._metadata, net().state_dict()._metadata)


if __name__ == "__main__":
    unittest.main()
