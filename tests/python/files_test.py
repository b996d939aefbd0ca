"""Models and data sets, written for a manifest and read back; and a job run from Python."""
import contextlib
import io
import os
import tempfile
import unittest
from pathlib import Path

import numpy
import torch
from safetensors.torch import load_file, save_file
from torch import nn

import paceline
from paceline import _files

from jobs import BIN


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(9, 4)
        self.out = nn.Linear(4, 9, bias=False)
        self.out.weight = self.embed.weight
        self.norm = nn.BatchNorm1d(4)
        self.register_buffer("mask", torch.tensor([True, False]))

    def forward(self, tokens):
        return self.out(self.norm(self.embed(tokens)))


class FilesTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)

    def file(self, name):
        return f"{self.folder}/{name}"  # With the stroke that a folder's name ends in.

    def trained(self):
        """As a job's model lies in its file: each tensor once, no constants."""
        values = {"embed.weight": torch.randn(9, 4), "norm.weight": torch.randn(4), "norm.bias": torch.randn(4),
                  "norm.running_mean": torch.randn(4), "norm.running_var": torch.rand(4),
                  "norm.num_batches_tracked": torch.tensor(7)}
        save_file(values, self.file("model.safetensors"))
        return values

    def test_tied_names_and_buffers_are_read_back(self):
        values = self.trained()
        model = paceline.load(Tied(), self.file("model.safetensors"))
        self.assertTrue(torch.equal(model.out.weight, values["embed.weight"]))
        self.assertIs(model.out.weight, model.embed.weight)
        self.assertEqual(model.norm.num_batches_tracked, 7)

    def test_no_link_is_followed_and_nothing_is_left(self):
        """In a folder where others may write, one of them could have named a file of ours there."""
        other = self.folder / "other"
        other.write_text("precious")
        links = [self.file(f"{name}{suffix}") for name in ("data.safetensors", "net.pt") for suffix in ("", ".partial")]
        for link in links:
            os.symlink(other, link)
        _files._save({"inputs": torch.zeros(2)}, self.file("data.safetensors"))
        paceline.export(nn.Linear(2, 2), torch.zeros(2, 2), self.file("net.pt"))
        self.assertEqual(other.read_text(), "precious")
        self.assertEqual(list(load_file(self.file("data.safetensors"))), ["inputs"])
        self.assertEqual([link for link in links if os.path.islink(link)], links[1::2])
        with self.assertRaises(ValueError):
            _files._save({"inputs": torch.zeros(2, 2).t()}, self.file("wrong.safetensors"))
        self.assertEqual(len(os.listdir(self.folder)), 1 + len(links), os.listdir(self.folder))

    def test_another_model_is_refused(self):
        self.trained()
        with self.assertRaisesRegex(RuntimeError, "embed.weight"):
            paceline.load(nn.Linear(2, 2), self.file("model.safetensors"))

    def test_a_data_set_of_arrays_and_of_pairs(self):
        x, y = numpy.arange(12.0).reshape(4, 3), numpy.array([0, 1, 1, 0], dtype=numpy.int32)
        self.assertEqual(paceline.dataset(self.file("a.safetensors"), x, y), 4)
        pairs = [(torch.tensor(row, dtype=torch.float32), int(label)) for row, label in zip(x, y)]
        with contextlib.redirect_stderr(io.StringIO()) as said:
            self.assertEqual(paceline.dataset(self.file("b.safetensors"), pairs), 4)
        self.assertIn("100 % of 4 samples", said.getvalue())
        a, b = load_file(self.file("a.safetensors")), load_file(self.file("b.safetensors"))
        self.assertEqual(a["inputs"].dtype, torch.float32)
        self.assertEqual(a["targets"].dtype, torch.int64)
        for name in ("inputs", "targets"):
            self.assertTrue(torch.equal(a[name], b[name]))

    def test_what_is_no_data_set_is_said(self):
        with self.assertRaisesRegex(paceline.Misuse, "4 inputs and 3 targets"):
            paceline.dataset(self.file("a.safetensors"), torch.zeros(4, 2), torch.zeros(3))
        with self.assertRaisesRegex(paceline.Misuse, "sample 0 is no pair"):
            paceline.dataset(self.file("a.safetensors"), [torch.zeros(2)])
        with self.assertRaisesRegex(paceline.Misuse, "inputs are torch.complex64"):
            paceline.dataset(self.file("a.safetensors"), torch.zeros(1, dtype=torch.complex64), torch.zeros(1))
        self.assertEqual(os.listdir(self.folder), [])

    def test_a_data_set_of_several_inputs(self):
        ids, dense, y = torch.tensor([[1], [2], [3]]), torch.rand(3, 2), torch.tensor([0, 1, 0])
        self.assertEqual(paceline.dataset(self.file("a.safetensors"), {"ids": ids.int(), "dense": dense}, y), 3)
        pairs = [({"ids": ids[i], "dense": dense[i]}, y[i]) for i in range(3)]
        self.assertEqual(paceline.dataset(self.file("b.safetensors"), pairs, progress=False), 3)
        for name in ("a.safetensors", "b.safetensors"):
            found = load_file(self.file(name))
            self.assertEqual(set(found), {"ids", "dense", "targets"})
            self.assertTrue(torch.equal(found["ids"], ids))
            self.assertTrue(torch.equal(found["dense"], dense))
        with self.assertRaisesRegex(paceline.Misuse, "2 dense and 3 targets"):
            paceline.dataset(self.file("c.safetensors"), {"ids": ids, "dense": dense[:2]}, y)
        with self.assertRaisesRegex(paceline.Misuse, "none of which is called targets"):
            paceline.dataset(self.file("c.safetensors"), {"targets": ids}, y)

    def test_a_data_set_of_several_files(self):
        x = torch.arange(23.0).reshape(23, 1)
        self.assertEqual(paceline.dataset(self.file("set/"), x, x.long()[:, 0], rows_per_file=2), 23)
        names = sorted(os.listdir(self.file("set")))
        self.assertEqual(len(names), 12)
        rows = torch.cat([load_file(self.file("set/" + name))["inputs"] for name in names])
        self.assertTrue(torch.equal(rows, x))
        with self.assertRaisesRegex(paceline.Misuse, "has .safetensors files already"):
            paceline.dataset(self.file("set/"), x, x, rows_per_file=5)
        with self.assertRaisesRegex(paceline.Misuse, "rows_per_file must be at least 1"):
            paceline.dataset(self.file("other/"), x, x, rows_per_file=0)
        for path, rows_per_file in (("set/", None), ("a.safetensors", 2), ("a.npy", None)):
            with self.assertRaisesRegex(paceline.Misuse, "a data set is"):
                paceline.dataset(self.file(path), x, x, rows_per_file=rows_per_file)

    def test_a_model_of_several_inputs_makes_a_job(self):
        class Wide(nn.Module):
            def __init__(self):
                super().__init__()
                self.wide, self.deep = nn.Embedding(5, 2), nn.Linear(3, 2)

            def forward(self, ids, dense):
                return self.wide(ids) + self.deep(dense)

        ids, dense = torch.randint(5, (300,)), torch.randn(300, 3)
        y = (dense.sum(1) + (ids % 2) * 2 - 1 > 0).long()
        model = Wide()
        paceline.dataset(self.file("train/"), {"ids": ids, "dense": dense}, y, rows_per_file=130)
        with self.assertRaisesRegex(paceline.Misuse, "one for each that forward takes"):
            paceline.export(model, (ids[:2], 7), self.file("net.pt"))
        described = paceline.export(model, (ids[:2], dense[:2]), self.file("net.pt"), loss="CrossEntropy")
        job = {"apiVersion": "paceline.dev/v1alpha1", "kind": "TrainingJob", "metadata": {"name": "wide"},
               "spec": {"model": described, "data": {"train": self.file("train/"), "inputs": ["ids", "dense"]},
                        "training": {"globalBatchSize": 20, "learningRate": {"base": 0.5}, "stop": {"maxEpochs": 20}}}}
        here = os.getcwd()
        os.chdir(self.folder)
        self.addCleanup(os.chdir, here)
        with contextlib.redirect_stderr(io.StringIO()):
            summary = paceline.run(job, overrides=["spec.workers.replicas=2"], program=str(BIN / "paceline"))
        paceline.load(model, summary["model"])
        self.assertGreater((model(ids, dense).argmax(1) == y).float().mean(), 0.9)

    def test_a_model_that_cannot_be_exported_is_told_why(self):
        class Starred(nn.Module):
            def __init__(self):
                super().__init__()
                self.drop, self.net = nn.Dropout(0.5), nn.Linear(2, 2)

            def forward(self, x, *rest, **more):
                return self.drop(self.net(x))

        with contextlib.redirect_stderr(io.StringIO()):
            with self.assertRaisesRegex(paceline.Misuse, "dropout or batch normalisation cannot be traced"):
                paceline.export(Starred(), torch.zeros(2, 2), self.file("a.pt"))
        with self.assertRaisesRegex(paceline.Misuse, "loss must be one of"):
            paceline.export(nn.Linear(2, 2), torch.zeros(2, 2), self.file("a.pt"), loss="Hinge")
        with self.assertRaisesRegex(paceline.Misuse, "not with its defaults"):
            paceline.export(nn.Linear(2, 2), torch.zeros(2, 2), self.file("a.pt"),
                            loss=nn.CrossEntropyLoss(label_smoothing=0.1))

    def test_an_exported_model_and_data_set_make_a_job(self):
        x = torch.randn(300, 4)
        model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
        paceline.dataset(self.file("train.safetensors"), x, (x.sum(1) > 0).long())
        described = paceline.export(model, x[:2], self.file("net.pt"), loss=nn.CrossEntropyLoss())
        job = {"apiVersion": "paceline.dev/v1alpha1", "kind": "TrainingJob", "metadata": {"name": "mine"},
               "spec": {"model": described, "data": {"train": self.file("train.safetensors")},
                        "training": {"globalBatchSize": 20, "learningRate": {"base": 0.5}, "stop": {"maxEpochs": 20}}}}
        here = os.getcwd()
        os.chdir(self.folder)
        self.addCleanup(os.chdir, here)
        with contextlib.redirect_stderr(io.StringIO()) as said:
            summary = paceline.run(job, overrides=["spec.workers.replicas=2"], program=str(BIN / "paceline"))
        self.assertEqual(summary["epochs"], 20)
        self.assertIn("100 %", said.getvalue())
        paceline.load(model, summary["model"])
        self.assertGreater((model(x).argmax(1) == (x.sum(1) > 0)).float().mean(), 0.9)

    def test_a_job_that_cannot_be_run_says_why(self):
        with contextlib.redirect_stderr(io.StringIO()):
            with self.assertRaisesRegex(paceline.Error, "spec.training: is required"):
                paceline.run({"apiVersion": "paceline.dev/v1alpha1", "kind": "TrainingJob", "metadata": {"name": "mine"},
                              "spec": {}}, program=str(BIN / "paceline"))
        with self.assertRaisesRegex(paceline.Misuse, "there is no program"):
            paceline.run("job.yaml", program="no-such-paceline")


if __name__ == "__main__":
    unittest.main()
