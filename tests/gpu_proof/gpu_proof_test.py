#!/usr/bin/env python3
"""Packs the GPU proof of a build folder, unpacks it and runs it on the CPU.

    gpu_proof_test.py BUILD

Exit 77, with the reason, where there is no Python with PyTorch.
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKED_MAX = 60_000_000


def find_python():
    said = subprocess.run([ROOT / 'tools' / 'setup', '--python'], capture_output=True, text=True, check=False)
    if said.returncode != 0:
        print(f'skipped: {said.stderr.strip()}')
        sys.exit(77)
    return said.stdout.strip()


class GpuProof(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.kept = tempfile.TemporaryDirectory()
        cls.folder = Path(cls.kept.name)
        cls.packed = cls.folder / 'gpu-proof.tar.xz'
        subprocess.run([ROOT / 'tools' / 'gpu_proof', 'pack', cls.packed], check=True,
                       env={**os.environ, 'PACELINE_BUILD': BUILD})
        subprocess.run(['tar', '-C', cls.folder, '-xf', cls.packed], check=True)

    @classmethod
    def tearDownClass(cls):
        cls.kept.cleanup()

    def prove(self, *arguments):
        """Exit code, stdout and stderr, rows by name."""
        out = self.folder / 'rows.json'
        out.unlink(missing_ok=True)
        done = subprocess.run([PYTHON, self.folder / 'gpu-proof', '--json', out, *arguments], capture_output=True, text=True,
                              check=False, cwd=self.folder)
        said = json.loads(out.read_text()) if out.exists() else {'rows': []}
        return done.returncode, done.stdout + done.stderr, {row['name']: row for row in said['rows']}

    def test_is_small_and_brings_no_libtorch(self):
        self.assertLess(self.packed.stat().st_size, PACKED_MAX)
        libraries = [path.name for path in (self.folder / 'gpu-proof' / 'lib').iterdir()]
        self.assertIn('libgrpc++.so.1.51', libraries)
        self.assertEqual([name for name in libraries if 'torch' in name or 'c10' in name or 'cud' in name], [])

    def test_all_of_it_runs_on_the_cpu(self):
        code, said, rows = self.prove('--device', 'CPU', '--small')
        self.assertEqual(code, 0, said)
        self.assertIn('says nothing about GPUs', said)
        self.assertEqual(
            {name: row['verdict'] for name, row in rows.items()},
            {'gradients, perceptron': 'held', 'gradients, convolutions': 'held', 'gradients, attention': 'held',
             'curve, convolutions': 'measured', 'out of memory, two workers': 'held', 'digits, Float32': 'held',
             'digits, BFloat16': 'held', 'digits, batches ahead': 'measured',
             'script, two workers': 'held', 'script, two processes a worker': 'held', 'script, buffers': 'held',
             'script, one worker': 'measured', 'habit, channels_last': 'held', 'habit, scaler': 'held',
             'one worker, batch 32, cores 1': 'measured', 'two workers, batch 32, cores 2': 'measured'}, said)
        self.assertGreater(rows['out of memory, two workers']['given_up'], 0)
        self.assertTrue(all(0 < size <= 20 for size in rows['out of memory, two workers']['sizes']))
        self.assertEqual(len(rows['curve, convolutions']['points']), 7)
        self.assertGreater(rows['one worker, batch 32, cores 1']['step_ms'], 0)

    def test_a_gpu_that_is_not_there_is_said(self):
        code, said, _ = self.prove('--device', 'CUDA')
        self.assertEqual(code, 2, said)
        self.assertIn('finds no GPU', said)

    def test_wrong_gradients_and_what_there_is_no_time_for_are_told(self):
        probe = self.folder / 'gpu-proof' / 'bin' / 'gpu_probe'
        kept = probe.with_suffix('.kept')
        probe.rename(kept)
        try:
            # Turns one bit of the result.
            probe.write_text(f'''#!/bin/sh
{kept} "$@" || exit
for word; do case $previous in --out) printf '\\177' | dd of="$word" bs=1 seek=3 conv=notrunc 2>/dev/null;; esac; previous=$word; done
''')
            probe.chmod(0o700)
            code, said, rows = self.prove('--device', 'CPU', '--small', '--only', 'gradients')
            self.assertEqual(code, 1, said)
            self.assertEqual(rows['gradients, perceptron']['verdict'], 'failed', said)
        finally:
            kept.rename(probe)
        code, said, rows = self.prove('--device', 'CPU', '--small', '--only', 'digits', '--seconds', '0')
        self.assertEqual((code, rows['digits']['verdict']), (1, 'left out'), said)


if __name__ == '__main__':
    BUILD = sys.argv.pop(1)
    PYTHON = find_python()
    unittest.main(verbosity=2)
