"""Frozen tensors by themselves: what is compared of them, the file that is handed over, and models that lack them."""
import ctypes
import json
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace

import safetensors.torch
import torch
from safetensors.torch import save_file
from torch import nn

import paceline
from paceline import Misuse
from paceline._frozen import Frozen, is_own
from paceline._frozen_file import FrozenFile, TakenFile
from paceline._model import FlatModel


class Extra(nn.Linear):
    """Has more in its state dict than parameters and buffers, as bitsandbytes' layers have."""
    def _save_to_state_dict(self, destination, prefix, keep_vars):
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "weight.quant_map"] = torch.arange(4, dtype=torch.uint8)
        destination[prefix + "weight.absmax"] = torch.ones(4)


class LoadTest(unittest.TestCase):
    def test_tied_and_additional_tensors_of_what_is_left_out_are_not_missed(self):
        model = nn.ModuleDict({"first": Extra(4, 4, bias=False, dtype=torch.bfloat16), "out": nn.Linear(4, 2),
                               "last": nn.Linear(4, 4, bias=False, dtype=torch.bfloat16)})
        model["last"].weight = model["first"].weight
        model["first"].requires_grad_(False)
        with tempfile.TemporaryDirectory() as folder:
            path = folder + "/model.safetensors"
            own = Frozen("first.weight", model["first"].weight)
            save_file({"out.weight": torch.ones(2, 4), "out.bias": torch.ones(2)}, path,
                      {"left_out": json.dumps({"first.weight": [own.type, own.digest()]})})
            paceline.load(model, path)
            self.assertTrue(torch.equal(model["out"].weight, torch.ones(2, 4)))
            save_file({"out.weight": torch.ones(2, 4), "more": torch.ones(2)}, path,
                      {"left_out": json.dumps({"first.weight": [own.type, own.digest()]})})
            with self.assertRaisesRegex(RuntimeError, "missing out.bias; too many more"):
                paceline.load(model, path)


class Scaled(torch.Tensor):
    """Numbers of another type and a scale that say they are float32, as quantised weights do."""
    @staticmethod
    def __new__(cls, numbers, scale):
        return torch.Tensor._make_wrapper_subclass(cls, numbers.shape, dtype=torch.float32)

    def __init__(self, numbers, scale):
        self.numbers, self.scale = numbers.to(torch.int8), scale

    def __tensor_flatten__(self):
        return ["numbers"], {"scale": self.scale}

    @classmethod
    def __torch_dispatch__(cls, function, types, arguments=(), named=None):
        if function in (torch.ops.aten.detach.default, torch.ops.aten.alias.default):
            return Scaled(arguments[0].numbers, arguments[0].scale)
        raise NotImplementedError(str(function))


class PrintTest(unittest.TestCase):
    """What is seen of a write to .data, which moves no version counter."""
    def test_any_element_counts_however_the_tensor_lies(self):
        for tensor in (torch.zeros(63), torch.zeros(3, 4, 5).permute(2, 0, 1), torch.zeros(2, 3, 4, 4).to(memory_format=torch.channels_last),
                       torch.zeros(5, dtype=torch.bfloat16), torch.zeros(7, dtype=torch.bool), torch.zeros(4, 6)[:, 1:3],
                       torch.zeros(21, dtype=torch.uint8)[3:20], torch.zeros(3, dtype=torch.complex64), torch.zeros(())):
            for index in range(tensor.numel()):
                one = Frozen("t", tensor.clone(memory_format=torch.preserve_format))
                one.digest()
                one.check(is_due=True)
                where = tuple(int(i) for i in torch.unravel_index(torch.tensor(index), one.tensor.shape))
                one.tensor.data[where] = 1
                with self.assertRaises(Misuse):
                    one.check(is_due=True)

    def test_a_look_takes_no_memory(self):
        def kilobytes(what):
            return int(next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(what)).split()[1])
        for dtype in (torch.uint8, torch.bfloat16, torch.float32):
            one = Frozen("t", torch.ones(64 << 20, dtype=torch.uint8).view(dtype))
            one.check(is_due=True)
            Path("/proc/self/clear_refs").write_text("5")  # The peak begins anew.
            before = kilobytes("VmRSS")
            one._was = one._print = None
            one.digest()
            one.check(is_due=True)
            self.assertLess(kilobytes("VmHWM") - before, 32 << 10, dtype)

    def test_memory_shared_with_what_is_trained_is_refused(self):
        trained = nn.Embedding(5, 3)
        frozen = nn.Embedding.from_pretrained(trained.weight)
        with self.assertRaisesRegex(Misuse, "frozen parameter frozen.weight shares memory with trained.weight"):
            FlatModel(nn.ModuleDict({"trained": trained, "frozen": frozen}))
        FlatModel(nn.ModuleDict({"trained": trained, "frozen": nn.Embedding.from_pretrained(trained.weight.detach().clone())}))

    def test_what_has_no_values_is_refused_by_name(self):
        with self.assertRaisesRegex(Misuse, "frozen parameter t is of a kind whose values cannot be compared"):
            Frozen("t", torch.zeros(3, device="meta")).digest()


class FileTest(unittest.TestCase):
    def file(self, **tensors):
        frozen = [Frozen(name, tensor) for name, tensor in tensors.items()]
        return FrozenFile(frozen, [one.digest() for one in frozen])

    def read(self, file, piece):
        found = bytearray()
        while len(found) < len(file):
            size = min(piece, len(file) - len(found))
            place = (ctypes.c_char * size)()
            self.assertEqual(file.read(len(found), size, ctypes.addressof(place)), 0)
            found += bytes(place)
        return bytes(found)

    def test_is_what_safetensors_reads_whatever_the_pieces(self):
        tensors = {"a": torch.arange(5, dtype=torch.uint8), "b": torch.randn(3, 7).T, "c": torch.randn(6).bfloat16(), "d": torch.zeros(0),
                   "e": torch.tensor(True), "f": torch.arange(4)}
        file = self.file(**tensors)
        for piece in (1, 7, 64, 10_000):
            found = safetensors.torch.load(self.read(file, piece))
            self.assertEqual(sorted(found), sorted(tensors))
            for name, tensor in tensors.items():
                self.assertEqual(found[name].dtype, tensor.dtype)
                self.assertTrue(torch.equal(found[name], tensor), name)

    def test_its_name_is_that_of_what_is_in_it(self):
        one = self.file(a=torch.ones(3), b=torch.ones(2))
        self.assertEqual(one.of, self.file(b=torch.ones(2), a=torch.ones(3)).of)
        for other in (self.file(a=torch.ones(3)), self.file(a=torch.ones(3), b=torch.zeros(2)), self.file(a=torch.ones(3), c=torch.ones(2))):
            self.assertNotEqual(one.of, other.of)

    def test_what_is_more_than_its_bytes_is_not_in_it(self):
        four = nn.Parameter(torch.zeros(4, dtype=torch.uint8), requires_grad=False)
        four.quant_state = SimpleNamespace(as_dict=lambda packed: {"absmax": torch.ones(2)})
        self.assertEqual(len(self.file(a=four, b=torch.quantize_per_tensor(torch.ones(4), 0.5, 0, torch.qint8), c=torch.eye(3).to_sparse(),
                                       d=Scaled(torch.ones(3), 1.0), e=torch.ones(2, dtype=torch.complex64))), 0)


class TakenTest(unittest.TestCase):
    def test_what_comes_in_pieces_takes_the_place_of_the_values(self):
        def drawn(seed):
            draw = torch.Generator().manual_seed(seed)
            across = torch.randn(5, 3, generator=draw).t()
            return [Frozen("a", torch.randn(7, 2, generator=draw).bfloat16()), Frozen("across", across),
                    Frozen("one", torch.randn((), generator=draw)), Frozen("eight", torch.randn(5, generator=draw).to(torch.float8_e5m2)), Frozen("none", torch.empty(0)),
                    Frozen("bytes", torch.randint(0, 255, (9,), generator=draw, dtype=torch.uint8))]
        first = drawn(1)
        file = FrozenFile(first, [one.digest() for one in first])
        room = (ctypes.c_char * len(file))()
        self.assertEqual(file.read(0, len(file), ctypes.addressof(room)), 0)
        for size in (3, 64, len(file)):
            mine = drawn(2)
            taken = TakenFile(mine)
            for _ in range(2):  # It was replaced meanwhile, and comes once more.
                for begin in range(0, len(file), size):
                    count = min(size, len(file) - begin)
                    self.assertEqual(taken.take(begin, len(file), ctypes.addressof(room) + begin, count), 0)
            for one, other in zip(mine, first):
                self.assertTrue(torch.equal(one.tensor.float(), other.tensor.float()), one.name)
                self.assertEqual(one.tensor.stride(), other.tensor.stride())

    def test_another_shape_is_not_taken(self):
        first = Frozen("a", torch.ones(4))
        file = FrozenFile([first], [first.digest()])
        room = (ctypes.c_char * len(file))()
        file.read(0, len(file), ctypes.addressof(room))
        mine = torch.zeros(2, 2)
        self.assertEqual(TakenFile([Frozen("a", mine)]).take(0, len(file), ctypes.addressof(room), len(file)), 1)
        self.assertEqual(float(mine.sum()), 0)


class DigestTest(unittest.TestCase):
    def digest(self, tensor):
        return Frozen("t", tensor).digest()

    def test_is_of_the_bytes(self):
        for tensor in (torch.arange(6.0).bfloat16(), torch.arange(6, dtype=torch.uint8), torch.tensor(True), torch.zeros(0),
                       torch.randn(3, 4, dtype=torch.complex64), torch.zeros(2, 2).to(torch.float8_e4m3fn),
                       torch.quantize_per_tensor(torch.arange(4.0), 0.5, 0, torch.qint8), torch.eye(3).to_sparse()):
            with self.subTest(tensor=tensor):
                self.assertEqual(self.digest(tensor), self.digest(tensor.clone()))
        for other in (torch.arange(1.0, 7.0), torch.arange(6.0).flip(0)):
            self.assertNotEqual(self.digest(torch.arange(6.0)), self.digest(other))
        self.assertNotEqual(self.digest(torch.quantize_per_tensor(torch.arange(4.0), 0.5, 0, torch.qint8)),
                            self.digest(torch.quantize_per_tensor(torch.ones(4), 0.5, 0, torch.qint8)))

    def test_is_of_what_lies_beside_the_bytes(self):
        def four_bits(scale):
            parameter = nn.Parameter(torch.zeros(4, dtype=torch.uint8), requires_grad=False)
            parameter.quant_state = SimpleNamespace(as_dict=lambda packed: {"absmax": torch.full((2,), scale), "blocksize": 64})
            return parameter
        self.assertEqual(self.digest(four_bits(1.0)), self.digest(four_bits(1.0)))
        self.assertNotEqual(self.digest(four_bits(1.0)), self.digest(four_bits(2.0)))
        self.assertNotEqual(self.digest(Scaled(torch.ones(3), 1.0)), self.digest(Scaled(torch.ones(3), 2.0)))
        self.assertEqual(self.digest(Scaled(torch.ones(3), 2.0)), self.digest(Scaled(torch.ones(3), 2.0)))

    def test_what_only_says_that_it_is_float32_is_own_too(self):
        self.assertTrue(is_own(nn.Parameter(Scaled(torch.ones(3), 2.0), requires_grad=False)))
        self.assertTrue(is_own(nn.Parameter(Scaled(torch.ones(3), 2.0), requires_grad=False), are_averaged=True))
        self.assertFalse(is_own(nn.Parameter(torch.ones(3), requires_grad=False), are_averaged=True))
        self.assertFalse(is_own(nn.Parameter(torch.ones(3).bfloat16())))

    def test_is_the_same_however_the_tensor_lies(self):
        tensor = torch.arange(12.0).view(3, 4)
        self.assertEqual(self.digest(tensor.T), self.digest(tensor.T.contiguous()))


class AloneFrozenTest(unittest.TestCase):
    def test_trains_alone_too(self):
        model = nn.Sequential(nn.Linear(2, 4, dtype=torch.bfloat16).requires_grad_(False), nn.Linear(4, 1))
        before = model[0].weight.clone()
        with paceline.worker(model, torch.optim.SGD(model[1].parameters(), lr=0.5), batch_size=8) as w:
            for batch in w.data((torch.ones(32, 2), torch.ones(32))):
                w.step(model[1](model[0](batch.x.bfloat16()).float()).square().mean())
        self.assertTrue(torch.equal(model[0].weight, before))


if __name__ == "__main__":
    unittest.main()
