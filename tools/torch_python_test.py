#!/usr/bin/env python3
"""Asks whether the Python that tools/setup makes trains: alone, and two processes together with gloo.

Exit 77, with the reason, where there is none.
"""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SETUP = Path(__file__).parent / "setup"

STEP = """
import torch
torch.manual_seed(1)
net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 2))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, fused=True)
inputs, targets = torch.randn(32, 8), torch.randint(2, (32,))
losses = []
for step in range(2):
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(net(inputs), targets)
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
assert losses[1] < losses[0], losses
print("version", torch.__version__, "gpu", torch.cuda.is_available())
"""

RANK = """
import sys, torch, torch.distributed
rank = int(sys.argv[1])
torch.distributed.init_process_group("gloo", init_method="file://" + sys.argv[2], rank=rank, world_size=2)
net = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 1))
net(torch.full((1, 4), float(rank))).sum().backward()
print(net.module.weight.grad.tolist())
torch.distributed.destroy_process_group()
"""

FILES = """
import numpy, safetensors.torch, sys, torch
safetensors.torch.save_file({"inputs": torch.arange(6.0).view(2, 3)}, sys.argv[1])
print(numpy.asarray(safetensors.torch.load_file(sys.argv[1])["inputs"]).sum())
torch.jit.script(torch.nn.Linear(2, 2)).save(sys.argv[1])
"""


def find_python():
    said = subprocess.run([SETUP, "--python"], capture_output=True, text=True)
    if said.returncode != 0:
        print(f"skipped: {said.stderr.strip()}")
        sys.exit(77)
    return said.stdout.strip()


class TorchPython(unittest.TestCase):
    def run_there(self, code, *arguments):
        done = subprocess.run([PYTHON, "-W", "ignore", "-c", code, *arguments], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_a_step_is_trained_on_the_cpu(self):
        self.assertRegex(self.run_there(STEP), r"version 2\.\d+\.\d+\S* gpu False")

    def test_two_processes_average_their_gradients(self):
        with tempfile.TemporaryDirectory() as folder:
            ranks = [subprocess.Popen([PYTHON, "-c", RANK, str(rank), f"{folder}/store"], stdout=subprocess.PIPE, text=True)
                     for rank in range(2)]
            said = [rank.communicate()[0] for rank in ranks]
        self.assertEqual(said, ["[[0.5, 0.5, 0.5, 0.5]]\n"] * 2)

    def test_models_and_samples_are_written_and_read(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(self.run_there(FILES, f"{folder}/file"), "15.0\n")


if __name__ == "__main__":
    PYTHON = find_python()
    unittest.main()
