"""Whole steps beside PyTorch's, by bench_step: one worker beside PyTorch's own loop, two beside DDP, all on one device."""
import json

from rows import Row

ALONE_MIN = 0.95  # Of PyTorch's samples a second.
LOSSES_DIFFER = 1  # The exit code of bench_step, whose bound is the CPU's.
# Relative, after the last step. Kernels of a GPU add in other orders from call to call.
LOSS_DIFFERENCE_MAX = {'CPU': 1e-5, 'CUDA': 1e-3}


def bench(task, name, *arguments):
    out = task.folder / f'{name}.json'
    root = task.programs.root
    small = ['--small'] if task.small or not task.is_gpu else []
    task.programs.run('bench_step', '--python', task.programs.python(task.folder), '--peers', root / 'step_peers.py', '--programs', root / 'bin',
                      '--device', task.device, '--transport', 'shared-memory', '--json', out, *small, *arguments,
                      seconds=task.left(), codes=(0, LOSSES_DIFFER))
    return json.loads(out.read_text())


def row_of(task, name, rows, bound=None):
    peer, paceline = rows
    speed = paceline['speed_to_pytorch']
    # So small a model is all talk on a CPU: there the bound means nothing.
    verdict = 'measured' if bound is None or not task.is_gpu else 'held' if speed >= bound else 'missed'
    if not paceline['loss_difference_last'] <= LOSS_DIFFERENCE_MAX[task.device]:
        verdict = 'failed'
    return Row(name, verdict,
               f'{paceline["step_ms"]:.2f} ms a step, {peer["contender"]} {peer["step_ms"]:.2f}: {speed:.2f} of its speed'
               + (f', goal {bound}' if bound else '') + f'; computed {paceline["compute_ms"]:.1f} of it, '
               f'committed {paceline["commit_ms"]:.1f}; losses differ by {paceline["loss_difference_last"]:.0e}',
               {'compute_ms': paceline['compute_ms'], 'commit_ms': paceline['commit_ms'], 'shards': paceline['shards'],
                'step_ms': paceline['step_ms'], 'peer': peer['contender'], 'peer_step_ms': peer['step_ms'],
                'speed_to_peer': speed, 'loss_difference': paceline['loss_difference_last'], 'batch': paceline['batch']})


def run(task):
    rounds = ['--rounds', 3 if task.is_gpu else 1, '--steps', 50 if task.is_gpu else 20]
    # A shard commits on one core, and a worker copies with as many as it has threads.
    for batch, cores in ((32, 1), (8192, 1), (8192, 4)) if task.is_gpu else ((32, 1),):
        rows = bench(task, f'alone-{batch}-{cores}', '--part', 'alone', '--batch', batch, '--shards', cores, '--threads', cores, *rounds)
        yield row_of(task, f'one worker, batch {batch}, cores {cores}', rows, ALONE_MIN)
    for cores in (2, 4) if task.is_gpu else (2,):
        rows = bench(task, f'together-{cores}', '--part', 'step', '--shards', cores, '--threads', cores, *rounds)
        yield row_of(task, f'two workers, batch 32, cores {cores}', rows)
