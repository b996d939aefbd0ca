"""What the programs need of this machine, and how they are run."""
import dataclasses
import os
import platform
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path

TORCH_VERSION = '2.11'


class Unfit(Exception):
    """This machine cannot run the programs."""


class Failed(Exception):
    """Something that must work does not."""


def last_line(text):
    lines = text.strip().splitlines()
    return lines[-1] if lines else 'it said nothing'


class Programs:
    """bin/ and lib/ beside the proof, and LibTorch, which is the one of the Python that runs."""

    def __init__(self, root):
        try:
            import torch
        except ImportError as error:
            raise Unfit(f'{sys.executable} has no PyTorch: {error}') from None
        if not torch.__version__.startswith(TORCH_VERSION + '.'):
            raise Unfit(f'{sys.executable} has PyTorch {torch.__version__}, the programs were built with {TORCH_VERSION}')
        if platform.machine() != 'x86_64':
            raise Unfit(f'the programs are for x86_64, this is {platform.machine()}')
        needed, found = (root / 'glibc').read_text().strip(), os.confstr('CS_GNU_LIBC_VERSION').split()[-1]
        if tuple(map(int, found.split('.'))) < tuple(map(int, needed.split('.'))):
            raise Unfit(f'the programs need glibc {needed} or later, this machine has {found}')
        self.root = root
        library = Path(torch.__file__).parent / 'lib'
        # What of CUDA lies in packages of its own, beside PyTorch's.
        cuda = sorted((library.parent.parent / 'nvidia').glob('**/lib'))
        self.environment = {**os.environ, 'LD_LIBRARY_PATH': ':'.join(map(str, [root / 'lib', library, *cuda]))}

    def path(self, name):
        return str(self.root / 'bin' / name)

    def python(self, folder):
        """A Python, made in `folder`, that has our package and does not meet the libraries that our programs bring along."""
        script = folder / 'python'
        inherited = os.environ.get('LD_LIBRARY_PATH')
        setting = 'unset LD_LIBRARY_PATH' if inherited is None else f'export LD_LIBRARY_PATH={shlex.quote(inherited)}'
        path = shlex.quote(str(self.root / 'python'))
        script.write_text(f'#!/bin/sh\n{setting}\nexport PYTHONPATH={path}${{PYTHONPATH:+:$PYTHONPATH}}\n'
                          f'exec {shlex.quote(sys.executable)} "$@"\n')
        script.chmod(0o700)
        return script

    def run(self, name, *arguments, seconds, codes=(0,)):
        """Its stdout. Failed, with its last word, where its exit code is another or it has not ended after `seconds`."""
        command = [self.path(name), *map(str, arguments)]
        try:
            done = subprocess.run(command, env=self.environment, capture_output=True, text=True, timeout=max(seconds, 1),
                                  check=False)
        except subprocess.TimeoutExpired:
            raise Failed(f'{name} did not end in {seconds:.0f} s') from None
        if done.returncode not in codes:
            print(done.stderr[-4000:], file=sys.stderr)
            raise Failed(f'{name} ended with code {done.returncode}: {last_line(done.stderr or done.stdout)}')
        return done.stdout


@dataclasses.dataclass
class Task:
    programs: Programs
    device: str  # CUDA or CPU.
    small: bool
    folder: Path
    seconds: float
    deadline: float  # As time.monotonic() says it.

    @property
    def torch_device(self):
        return self.device.lower()

    @property
    def is_gpu(self):
        return self.device == 'CUDA'

    def left(self):
        """Seconds until the deadline."""
        return self.deadline - time.monotonic()


def gpu(python_says):
    import torch
    if not torch.cuda.is_available():
        raise Unfit(f'--device CUDA: PyTorch finds no GPU that it can use on this machine ({python_says})')
    name = torch.cuda.get_device_name(0)
    driver = subprocess.run(['nvidia-smi', '--query-gpu=driver_version', '--format=csv,noheader'], capture_output=True, text=True,
                            check=False) if _has('nvidia-smi') else None
    said = driver.stdout.strip().splitlines() if driver else []
    free, total = torch.cuda.mem_get_info()
    return {'GPU': f'{name}, {total / 2**30:.0f} GiB, {free / 2**30:.0f} free', 'driver': said[0] if said else 'not said'}


def _has(program):
    return any((Path(folder) / program).exists() for folder in os.environ.get('PATH', '').split(':'))


def processor():
    found = re.search(r'model name\s*:\s*(.*)', Path('/proc/cpuinfo').read_text())
    return found.group(1) if found else platform.processor() or platform.machine()


def describe(programs, device):
    """Unfit where the device is not there or the programs do not start."""
    import torch
    for name in ('paceline', 'paceline-ps', 'paceline-worker', 'bench_step', 'gpu_probe'):
        done = subprocess.run([programs.path(name), '--help'], env=programs.environment, capture_output=True, text=True, check=False)
        if 'error while loading' in done.stderr:
            raise Unfit(f'{name} does not start: {last_line(done.stderr)}')
    said = {'device': device, 'processor': f'{processor()}, {os.cpu_count()} cores', 'PyTorch': torch.__version__}
    return {**said, **(gpu(f'torch.version.cuda is {torch.version.cuda}') if device == 'CUDA' else {})}
