"""Frozen parameters, of any type: each worker's own, and the same on all."""
import ctypes
import json
import subprocess
import tempfile
import textwrap
import unittest
from pathlib import Path
from types import SimpleNamespace

import safetensors.torch
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import nn

import paceline
from paceline import Misuse
from paceline._frozen import Frozen, is_own
from paceline._frozen_file import FrozenFile
from paceline._model import FlatModel

from jobs import JobTest

BEGIN = """
    import os, torch, paceline
    from torch import nn
    torch.manual_seed(0)
    x = torch.randn(640, 8); y = (x.sum(1) > 0).long()
    class Four(nn.Module):
        '''Two numbers of four bits in each byte, and their scale, as quantised weights are.'''
        def __init__(self, rows, columns):
            super().__init__()
            self.packed = nn.Parameter(torch.randint(0, 255, (rows, columns // 2), dtype=torch.uint8), requires_grad=False)
            self.scale = nn.Parameter(torch.full((rows,), 1 / 16, dtype=torch.float16), requires_grad=False)
        def forward(self, x):
            weight = torch.cat([self.packed & 15, self.packed >> 4], 1).to(x.dtype) - 8
            return x @ (weight * self.scale[:, None].to(x.dtype)).T
    class Adapted(nn.Module):
        '''A base in bfloat16 and in four bits, as it was downloaded, and a small float32 adapter.'''
        def __init__(self):
            super().__init__()
            self.base = nn.Linear(8, 16, dtype=torch.bfloat16).requires_grad_(False)
            self.four = Four(16, 8)
            self.down, self.up = nn.Linear(8, 2, bias=False), nn.Linear(2, 16, bias=False)
            self.out = nn.Linear(16, 2)
        def forward(self, x): return self.out(torch.relu(self.base(x.bfloat16()).float() + self.four(x) + self.up(self.down(x))))
    model = Adapted()
    loss_of = lambda batch: nn.functional.cross_entropy(model(batch.x), batch.y)
"""
TRAINED = ["down.weight", "out.bias", "out.weight", "up.weight"]
OWN = ["base.bias", "base.weight", "four.packed", "four.scale"]


def adapted():
    """The script's model in this process."""
    names = {}
    exec(textwrap.dedent(BEGIN), names)
    return names["model"]


class FrozenTest(JobTest):
    def trains(self, text, *overrides, **options):
        self.script(BEGIN + text)
        return self.run_job("spec.training.stop={maxEpochs: 3}", "spec.runPolicy.backoffLimit=0", *overrides, **options)

    def test_a_base_of_other_types_stays_as_it_was_and_does_not_travel(self):
        ended = self.trains("""
    before = {name: value.clone() for name, value in model.state_dict().items()}
    with paceline.worker(model) as w:
        for batch in w.data((x, y)):
            w.step(loss_of(batch))
    for name, value in model.state_dict().items():
        assert torch.equal(value, before[name]) == name.startswith(("base", "four")), name
        assert value.dtype == before[name].dtype
    print("KEPT", flush=True)
        """)
        self.assert_succeeded(ended)
        self.assertEqual(ended.worker_logs().count("KEPT"), 2)
        self.assertIn("frozen, and this worker's own: 4 parameters, base.weight the first", ended.worker_logs())
        base = adapted()
        written = load_file(ended.summary["model"])
        self.assertEqual(sorted(written), sorted([*OWN, *TRAINED]))
        for name in OWN:
            self.assertEqual(written[name].dtype, base.state_dict()[name].dtype)
            self.assertTrue(torch.equal(written[name], base.state_dict()[name]), name)
        model = adapted()
        for value in model.state_dict().values():
            value.zero_()
        paceline.load(model, ended.summary["model"])
        for name, value in model.state_dict().items():
            self.assertTrue(torch.equal(value, written[name]), name)
        self.assertEqual(sorted(path.name for path in Path(ended.summary["model"]).parent.iterdir() if "frozen" in path.name), [])

    def test_the_model_file_omits_them_where_the_script_says_so(self):
        ended = self.trains("""
    with paceline.worker(model, frozen="omit") as w:
        for batch in w.data((x, y)):
            w.step(loss_of(batch))
        """)
        self.assert_succeeded(ended)
        with safe_open(ended.summary["model"], "pt") as file:
            self.assertEqual(sorted(file.keys()), TRAINED)
            left_out = json.loads(file.metadata()["left_out"])
        self.assertEqual(sorted(left_out), OWN)
        self.assertEqual(left_out["base.weight"][0], "bfloat16 [16, 8]")
        model = adapted()
        paceline.load(model, ended.summary["model"])
        self.assertTrue(torch.equal(model.out.weight, load_file(ended.summary["model"])["out.weight"]))
        nn.init.zeros_(model.base.weight)
        with self.assertRaisesRegex(RuntimeError, "base.weight is bfloat16 .16, 8. and has other values than"):
            paceline.load(model, ended.summary["model"])
        paceline.load(model, ended.summary["model"], strict=False)
        self.assertEqual(float(model.base.weight.abs().sum()), 0, "its own stay")

    def test_workers_that_have_another_base_are_refused_by_its_name(self):
        ended = self.trains("""
    if os.environ["PACELINE_INDEX"] == "1":
        model.base.weight[3, 3] += 1
    with paceline.worker(model) as w:
        for batch in w.data((x, y)):
            w.step(loss_of(batch))
        """)
        self.assertNotEqual(ended.code, 0)
        self.assertIn("frozen parameter base.weight has other values than that of the other workers", ended.err)

    def test_what_is_trained_after_all_is_refused(self):
        ended = self.trains("""
    with paceline.worker(model) as w:
        for step, batch in enumerate(w.data((x, y))):
            if step == 2:
                model.base.requires_grad_(True)
            w.step(loss_of(batch))
        """)
        self.assertNotEqual(ended.code, 0)
        self.assertIn("parameter base.weight is bfloat16 [16, 8] and was frozen", ended.err)

    def test_what_the_script_changes_is_refused_and_what_it_loads_before_its_loop_counts(self):
        ended = self.trains("""
    with paceline.worker(model) as w:
        model.load_state_dict({name: value + (name == "base.weight") for name, value in model.state_dict().items()})
        for step, batch in enumerate(w.data((x, y))):
            w.step(loss_of(batch))
            print(f"STEP {step}.", flush=True)
            if step == 4:
                model.base.weight.add_(1)
        """)
        self.assertNotEqual(ended.code, 0)
        self.assertIn("STEP 4.", ended.worker_logs())
        self.assertNotIn("STEP 5.", ended.worker_logs(), "it is seen at once")
        self.assertIn("frozen parameter base.weight has changed since training began", ended.err)

    def test_those_of_float32_do_not_travel_either(self):
        ended = self.trains("""
    model = nn.Sequential(nn.Linear(8, 4096), nn.ReLU(), nn.Linear(4096, 2))
    model[0].requires_grad_(False)
    before = model[0].weight.clone()
    with paceline.worker(model) as w:
        for batch in w.data((x, y)):
            w.step(nn.functional.cross_entropy(model(batch.x), batch.y))
    assert torch.equal(model[0].weight, before)
        """, "spec.network.transport=Sockets")
        self.assert_succeeded(ended)
        state = json.loads(next(self.folder.glob("paceline-runs/*/summary.json")).read_text())
        bytes_a_step = max(worker["pushedBytes"] / worker["steps"] for worker in state["workers"])
        self.assertLess(bytes_a_step, 4 * (2 * 4096 + 2) * 1.1)

    def test_a_teacher_that_follows_is_refused_and_averaged_where_the_script_says_so(self):
        text = """
    import copy
    model = nn.ModuleDict({"student": nn.Linear(8, 2), "teacher": nn.Linear(8, 2)})
    model["teacher"].load_state_dict(model["student"].state_dict())
    model["teacher"].requires_grad_(False)
    with paceline.worker(model%s) as w:
        for step, batch in enumerate(w.data((x, y))):
            w.step(nn.functional.cross_entropy(model["student"](batch.x) + model["teacher"](batch.x), batch.y))
            for slow, quick in zip(model["teacher"].parameters(), model["student"].parameters()):
                slow.data.mul_(0.9).add_(quick.data, alpha=0.1)
    torch.save(model["teacher"].weight.clone(), f"teacher-{w.index}.pt")
        """
        ended = self.trains(text % "")
        self.assertNotEqual(ended.code, 0)
        self.assertRegex(ended.err, 'frozen parameter teacher.weight has changed .* say paceline.worker.model, frozen="averaged"')
        ended = self.trains(text % ', frozen="averaged"')
        self.assert_succeeded(ended)
        model = load_file(ended.summary["model"])
        self.assertEqual(sorted(model), ["student.bias", "student.weight", "teacher.bias", "teacher.weight"])
        self.assertFalse(torch.equal(model["student.weight"], model["teacher.weight"]))

    def test_a_job_that_has_them_as_buffers_goes_on_so(self):
        place = self.folder / "checkpoints"

        def of(epochs, way, **options):
            return self.trains(f"""
    model = nn.Sequential(nn.Linear(8, 4), nn.Linear(4, 2))
    model[0].weight.requires_grad_(False)
    with paceline.worker(model{way}) as w:
        for batch in w.data((x, y)):
            w.step(nn.functional.cross_entropy(model(batch.x), batch.y))
            """, f"spec.training.stop={{maxEpochs: {epochs}}}", "spec.training.parameterGroups=[{match: ['0.bias'], frozen: true}]",
                               f"spec.checkpoint={{periodSeconds: 100ms, volume: {{hostPath: {{path: {place}, type: DirectoryOrCreate}}}}}}", **options)
        self.assert_succeeded(of(1, ', frozen="averaged"'))
        for path in self.folder.rglob("*.log"):
            path.unlink()
        ended = of(2, "", options=["--resume"])
        self.assert_succeeded(ended)
        self.assertRegex(ended.worker_logs(), "frozen parameters are averaged, as before this job went on: .*1 of this worker's frozen parameters, "
                                              "0.weight the first, are averaged according to checkpoint")
        self.assertEqual(sorted(load_file(ended.summary["model"])), ["0.bias", "0.weight", "1.bias", "1.weight"])

    def test_buffers_of_other_types_are_own_too_and_may_not_change(self):
        text = """
    model = nn.Sequential(nn.Linear(8, 4), nn.BatchNorm1d(4).bfloat16(), nn.Linear(4, 2))
    model[1].requires_grad_(False)
    with paceline.worker(model) as w:
        for batch in w.data((x, y)):
            model[1].train(%s)
            w.step(nn.functional.cross_entropy(model[2](model[1](model[0](batch.x).bfloat16()).float()), batch.y))
        """
        ended = self.trains(text % "True")
        self.assertNotEqual(ended.code, 0)
        self.assertRegex(ended.err, r"buffer 1.running_mean is bfloat16 \[4\], which is not averaged over workers, and has changed .* eval\(\)")
        ended = self.trains(text % "False")
        self.assert_succeeded(ended)
        written = load_file(ended.summary["model"])
        self.assertEqual({name: str(tensor.dtype) for name, tensor in written.items() if name.startswith("1.")},
                         {"1.weight": "torch.bfloat16", "1.bias": "torch.bfloat16", "1.running_mean": "torch.bfloat16",
                          "1.running_var": "torch.bfloat16", "1.num_batches_tracked": "torch.int64"})

    def test_what_takes_their_place_before_the_first_batch_counts_and_later_it_is_refused(self):
        text = """
    import copy
    def put(value):
        model.base.load_state_dict({name: torch.full_like(one, value) for name, one in model.base.state_dict().items()}, assign=True)
        model.base.requires_grad_(False)
    with paceline.worker(model) as w:
        put(2)
        model.four = copy.deepcopy(model.four)
        for step, batch in enumerate(w.data((x, y))):
            w.step(loss_of(batch))
            if step == 5:
                %s
        """
        ended = self.trains(text % "pass")
        self.assert_succeeded(ended)
        self.assertTrue((load_file(ended.summary["model"])["base.weight"] == 2).all())
        for change, name in (("put(2)", "base.weight"), ("model.four = copy.deepcopy(model.four)", "four.packed")):
            ended = self.trains(text % change)
            self.assertNotEqual(ended.code, 0, change)
            self.assertIn(name, ended.err)

    def test_equal_values_that_are_written_again_are_no_change(self):
        self.assert_succeeded(self.trains("""
    with paceline.worker(model) as w:
        for batch in w.data((x, y)):
            w.step(loss_of(batch))
            model.base.load_state_dict(model.base.state_dict())
        """))

    def test_a_change_that_no_step_has_seen_is_said_at_the_end(self):
        ended = self.trains("""
    with paceline.worker(model) as w:
        for step, batch in enumerate(w.data((x, y))):
            if step == 40:
                model.base.weight.data[3, 3] += 1
            w.step(loss_of(batch))
        """)
        self.assert_succeeded(ended)
        self.assertIn("what this worker has trained with is not what others had: frozen parameter base.weight has changed", ended.worker_logs())

    def test_a_disk_with_room_for_one_copy_gets_what_was_trained(self):
        disk = self.folder / "disk"
        disk.mkdir()
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "none", str(disk)], check=False, capture_output=True).returncode:
            self.skipTest("mounting a small tmpfs needs the right to mount")
        self.addCleanup(subprocess.run, ["umount", "-l", str(disk)], check=True)
        ended = self.trains("""
    model = nn.ModuleDict({"base": nn.Linear(2000, 2000), "out": nn.Linear(8, 2)})
    model["base"].requires_grad_(False)
    with paceline.worker(model) as w:
        for batch in w.data((x, y)):
            w.step(nn.functional.cross_entropy(model["out"](batch.x), batch.y))
        """, options=["--runs", str(disk)])
        self.assert_succeeded(ended)
        with safe_open(ended.summary["model"], "pt") as file:
            self.assertEqual(sorted(file.keys()), ["out.bias", "out.weight"])
            self.assertEqual(sorted(json.loads(file.metadata()["left_out"])), ["base.bias", "base.weight"])

    def test_another_word_is_refused(self):
        ended = self.trains("""
    paceline.worker(model, frozen="yes")
        """)
        self.assertNotEqual(ended.code, 0)
        self.assertIn("frozen is 'yes', want one of 'whole'", ended.err)

    def test_what_is_trained_in_another_type_is_refused(self):
        ended = self.trains("""
    model.base.requires_grad_(True)
    paceline.worker(model)
        """)
        self.assertNotEqual(ended.code, 0)
        self.assertIn("requires_grad_(False) before paceline.worker, and may have any type", ended.err)


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
                       torch.zeros(5, dtype=torch.bfloat16), torch.zeros(7, dtype=torch.bool), torch.zeros(4, 6)[:, 1:3]):
            for index in range(tensor.numel()):
                one = Frozen("t", tensor.clone(memory_format=torch.preserve_format))
                one.digest()
                one.check(is_due=True)
                where = tuple(int(i) for i in torch.unravel_index(torch.tensor(index), one.tensor.shape))
                one.tensor.data[where] = 1
                with self.assertRaises(Misuse):
                    one.check(is_due=True)

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
