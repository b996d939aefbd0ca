"""Frozen parameters, of any type: each worker's own, and the same on all."""
import json
import subprocess
import textwrap
import unittest
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import load_file
from torch import nn

import paceline

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

    def test_all_have_the_first_one_s_values_where_the_script_says_so(self):
        ended = self.trains("""
    class Drawn(nn.Module):
        def __init__(self):
            super().__init__()
            draw = torch.Generator().manual_seed(int.from_bytes(os.urandom(4), "little"))
            of = lambda *shape: nn.Parameter(torch.randn(shape, generator=draw).to(torch.float16), requires_grad=False)
            self.wide, self.across, self.scalar = of(3, 700_000), of(8, 16), of()
            self.eight = nn.Parameter(of(5).float().to(torch.float8_e4m3fn), requires_grad=False)
            self.across.data = self.across.data.t().contiguous().t()
            self.out = nn.Linear(16, 2)
        def forward(self, x): return self.out((x.half() @ self.across * self.scalar).float())
    model = Drawn()
    if os.path.exists("killed"):
        open("back", "w").close()
    with paceline.worker(model, frozen="first") as w:
        for step, batch in enumerate(w.data((x, y))):
            w.step(nn.functional.cross_entropy(model(batch.x), batch.y))
            if w.index == 1 and step == 3 and not os.path.exists("killed"):
                open("killed", "w").close()
                os._exit(9)
            while w.index == 0 and step == 5 and not os.path.exists("back"):
                os.sched_yield()  # The job is not to end before the other one is back.
        w.evaluate(lambda: nn.functional.cross_entropy(model(x), y).item())
    torch.save({name: value.clone() for name, value in model.state_dict().items()}, f"end-{w.is_evaluator}-{w.index}.pt")
        """, "spec.evaluator={}", "spec.runPolicy.backoffLimit=1", "spec.training.stop={maxEpochs: 40}")
        self.assert_succeeded(ended)
        written = load_file(ended.summary["model"])
        ends = [torch.load(path) for path in sorted(self.folder.glob("end-*.pt"))]
        self.assertEqual(len(ends), 3)
        for end in ends:
            for name in ("wide", "across", "scalar", "eight"):
                self.assertEqual(end[name].dtype, written[name].dtype, name)
                self.assertTrue(torch.equal(end[name].float(), written[name].float()), name)

    def first(self, text, *overrides, **options):
        """A job whose processes each have drawn `kept`."""
        return self.trains("""
    class Drawn(nn.Module):
        def __init__(self):
            super().__init__()
            draw = torch.Generator().manual_seed(int.from_bytes(os.urandom(4), "little"))
            self.kept = nn.Parameter(torch.randn(8, 16, generator=draw).half(), requires_grad=False)
            self.out = nn.Linear(16, 2)
        def forward(self, x): return self.out((x.half() @ self.kept).float())
    model = Drawn()
        """ + text + """
    with paceline.worker(model, frozen="first") as w:
        for batch in w.data((x, y)):
            w.step(nn.functional.cross_entropy(model(batch.x), batch.y))
        w.evaluate(lambda: nn.functional.cross_entropy(model(x), y).item())
    print(f"KEPT {w.is_evaluator} {model.kept.sum().item()}", flush=True)
        """, *overrides, **options)

    def test_another_life_of_the_job_has_the_first_one_s_values_too(self):
        place = f"spec.checkpoint={{periodSeconds: 100ms, volume: {{hostPath: {{path: {self.folder / 'checkpoints'}, type: DirectoryOrCreate}}}}}}"
        begun = self.first("", "spec.training.stop={maxEpochs: 1}", place)
        self.assert_succeeded(begun)
        kept = load_file(begun.summary["model"])["kept"]
        ended = self.first("", "spec.training.stop={maxEpochs: 2}", place, options=["--resume"])
        self.assert_succeeded(ended)
        self.assertTrue(torch.equal(load_file(ended.summary["model"])["kept"], kept))

    def test_an_evaluator_that_comes_late_gets_them_or_is_told(self):
        late = """
    import glob
    if os.environ["PACELINE_ROLE"] == "evaluator":
        while not glob.glob("paceline-runs/*/model.safetensors"):
            os.sched_yield()  # Training is over by then.
        %s
        """
        ended = self.first(late % "pass", "spec.evaluator={}")
        self.assert_succeeded(ended)
        self.assertIn(f"KEPT True {load_file(ended.summary['model'])['kept'].sum().item()}", "".join(ended.logs().values()))
        ended = self.first(late % "model.more = nn.Parameter(torch.ones(2), requires_grad=False)", "spec.evaluator={}")
        self.assert_succeeded(ended)
        self.assertIn("frozen parameter more (float32 [2]) is none of the first worker", ended.err)

    def test_a_loop_that_thaws_what_a_group_freezes_trains_the_rest(self):
        ended = self.trains("""
    model = nn.Sequential(nn.Linear(8, 4), nn.Linear(4, 2))
    before = model[0].weight.clone()
    with paceline.worker(model) as w:
        for batch in w.data((x, y)):
            model.requires_grad_(False)
            model.requires_grad_(True)
            w.step(nn.functional.cross_entropy(model(batch.x), batch.y))
    assert torch.equal(model[0].weight, before) and model[0].weight.grad is None
        """, "spec.training.parameterGroups=[{match: ['0.*'], frozen: true}]")
        self.assert_succeeded(ended)

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
        self.assertRegex(ended.worker_logs(), "frozen parameters are averaged, as before this job went on: .*2 of this worker's frozen parameters, "
                                              "0.(weight|bias) the first, are held by shards according to checkpoint")
        self.assertEqual(sorted(load_file(ended.summary["model"])), ["0.bias", "0.weight", "1.bias", "1.weight"])

    def test_what_the_job_s_groups_freeze_is_each_worker_s_own_too(self):
        ended = self.trains("""
    model.base.requires_grad_(True)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    with paceline.worker(model) as w:
        assert not model.down.weight.requires_grad and not model.base.weight.requires_grad
        for batch in w.data((x, y)):
            w.step(loss_of(batch))
    assert model.down.weight.requires_grad and model.base.weight.requires_grad and not model.four.scale.requires_grad
    for name, value in model.state_dict().items():
        assert torch.equal(value, before[name]) == name.startswith(("base", "four", "down")), name
    print("KEPT", flush=True)
        """, "spec.training.parameterGroups=[{match: [out.bias], learningRateScale: 2}, {match: ['base.*', down.weight], frozen: true}]")
        self.assert_succeeded(ended)
        self.assertEqual(ended.worker_logs().count("KEPT"), 2)
        self.assertIn("frozen by the job's parameter groups: base.weight, base.bias, down.weight", ended.worker_logs())
        self.assertIn("frozen, and this worker's own: 5 parameters", ended.worker_logs())
        self.assertNotIn("no parameter of the model fits", ended.err)
        self.assertEqual(sorted(load_file(ended.summary["model"])), sorted([*OWN, *TRAINED]))
        state = json.loads(next(self.folder.glob("paceline-runs/*/summary.json")).read_text())
        self.assertEqual(state["idlePatterns"], [])

    def test_what_a_checkpoint_lacks_since_it_was_frozen_is_not_trained_from_there(self):
        place = self.folder / "checkpoints"

        def of(epochs, is_frozen, **options):
            return self.trains("""
    model = nn.Sequential(nn.Linear(8, 4), nn.Linear(4, 2))
    with paceline.worker(model) as w:
        for batch in w.data((x, y)):
            w.step(nn.functional.cross_entropy(model(batch.x), batch.y))
            """, f"spec.training.stop={{maxEpochs: {epochs}}}", f"spec.training.parameterGroups=[{{match: ['0.bias'], frozen: {is_frozen}}}]",
                               f"spec.checkpoint={{periodSeconds: 100ms, volume: {{hostPath: {{path: {place}, type: DirectoryOrCreate}}}}}}", **options)
        self.assert_succeeded(of(1, "true"))
        ended = of(2, "true", options=["--resume"])
        self.assert_succeeded(ended)
        ended = of(3, "false", options=["--resume"])
        self.assertNotEqual(ended.code, 0)
        self.assertIn("1 parameters that this worker trains, 0.bias the first, are frozen according to checkpoint", ended.err)
        self.assertIn("keep them frozen, or begin another job from the model's file", ended.err)

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


if __name__ == "__main__":
    unittest.main()
