#!/usr/bin/env python3
"""Asks tools/setup for LibTorch, with an index of this machine that has small wheels of its names."""
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from wheel_members_test import IndexTest, wheel

SETUP = Path(__file__).parent / 'setup'
VERSION = re.search(r'TORCH_VERSION=(\S+)', SETUP.read_text())[1]
LINKED = {'torch/include/ATen/ATen.h': b'header', 'torch/version.py': b'version', 'torch/lib/libtorch_cpu.so': b'cpu', 'torch/lib/libc10.so': b'c10',
          'torch/lib/libgomp.so.1': b'gomp'}
WHOLE = {**LINKED, 'torch/lib/libtorch_python.so': b'python', 'torch/lib/libtorch_cuda.so': b'cuda'}


class SetupTest(IndexTest):
    def setUp(self):
        super().setUp()
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.cache = Path(scratch.name)
        self.libtorch = self.cache / 'paceline' / f'libtorch-{VERSION}'
        self.put('torch', f'torch-{VERSION}', WHOLE)
        self.put('nvidia-cuda-runtime', 'nvidia_cuda_runtime-13.0.7', {'nvidia/cu13/lib/libcudart.so.13': b'rt', 'nvidia/cu13/lib/other.a': b'a'})
        self.put('nvidia-cuda-cupti', 'nvidia_cuda_cupti-13.0.7', {'nvidia/cu13/lib/libcupti.so.13': b'cupti'})

    def put(self, project, name, files):
        (self.folder / project).mkdir(exist_ok=True)
        wheel(self.folder / f'{name}-py3-none-any.whl', files, info=name)

    def setup_(self, *arguments):
        environment = {name: value for name, value in os.environ.items() if not name.lower().endswith('_proxy') and name != 'PACELINE_LIBTORCH'}
        done = subprocess.run([SETUP, *arguments], capture_output=True, text=True, timeout=120, check=False,
                              env={**environment, 'PIP_INDEX_URL': self.address, 'PIP_FIND_LINKS': '', 'XDG_CACHE_HOME': str(self.cache)})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def files(self):
        return {str(path.relative_to(self.libtorch)) for path in self.libtorch.rglob('*') if path.is_file() and '.dist-info' not in str(path)}

    def test_takes_what_is_linked_and_later_the_rest(self):
        (self.libtorch / 'torch' / 'lib').mkdir(parents=True)  # As ninja does, before the command that makes what lies there.
        self.assertIn('downloading what is linked', self.setup_('--to-link'))
        self.assertEqual(self.files(), {*LINKED, 'nvidia/cu13/lib/libcudart.so.13', 'nvidia/cu13/lib/libcupti.so.13'})
        self.assertEqual(self.setup_('--to-link'), '')

        old = self.libtorch / 'torch/include/ATen/ATen.h'
        os.utime(old, (1, 1))
        self.assertIn(f'downloading PyTorch {VERSION}', self.setup_())
        self.assertEqual(self.files(), {*WHOLE, 'nvidia/cu13/lib/libcudart.so.13', 'nvidia/cu13/lib/other.a', 'nvidia/cu13/lib/libcupti.so.13'})
        self.assertEqual(old.stat().st_mtime, 1)  # Or all that includes it would be compiled again.
        self.assertEqual(self.setup_('--to-link'), '')

    def test_an_index_without_parts_gives_the_whole(self):
        self.index.gives_parts = False
        said = self.setup_('--to-link')
        self.assertIn('127.0.0.1 gives no parts of files', said)
        self.assertIn('so the whole package is taken', said)
        self.assertLessEqual(set(WHOLE), self.files())


if __name__ == '__main__':
    sys.exit(unittest.main())
