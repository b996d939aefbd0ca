#!/usr/bin/env python3
"""The other side of bench_step: PyTorch itself, in the environment that tools/setup makes. bench_step starts it.

    step_peers.py export FOLDER     writes model.pt (TorchScript) and train.safetensors, both of a fixed seed
    step_peers.py ddp FOLDER        one rank of DistributedDataParallel with gloo; RANK and WORLD_SIZE say which
    step_peers.py loop FOLDER       PyTorch's own loop, one process

What is to be done lies in FOLDER/task.json, and FOLDER/order.u32 has the samples in the order in which they are trained on.
The last line of stdout is a JSON object: seconds of a steady clock, CPU seconds and minor page faults after each step, and
each step's mean loss over all ranks.
"""
import contextlib
import ctypes
import json
import os
import resource
import sys
import time
from pathlib import Path


def tune_malloc():
    """What lib/rpc/bulk/allocator.cc does, before anything large is allocated: freed memory stays in the process."""
    libc = ctypes.CDLL(None)
    m_trim_threshold, m_mmap_threshold = -1, -3
    return all([libc.mallopt(m_trim_threshold, 1 << 30), libc.mallopt(m_mmap_threshold, 1 << 30)])


def layers(widths):
    import torch
    modules = []
    for before, after in zip(widths, widths[1:]):
        modules += [torch.nn.Linear(before, after), torch.nn.ReLU()]
    return torch.nn.Sequential(*modules[:-1])


def export(folder, task):
    import safetensors.torch
    import torch
    torch.manual_seed(task['seed'])
    torch.jit.script(layers(task['widths'])).save(str(folder / 'model.pt'))
    inputs = torch.randn(task['samples'], task['widths'][0])
    # Classes that can be learnt: a fixed linear map of the inputs.
    targets = (inputs @ torch.randn(task['widths'][0], task['widths'][-1])).argmax(1)
    safetensors.torch.save_file({'inputs': inputs, 'targets': targets}, folder / 'train.safetensors')


def amp(device, precision):
    """As PyTorch's users have it: what forward pass and loss run under, and who scales the loss."""
    import torch
    scaler = torch.amp.GradScaler(device, enabled=precision == 'Float16')
    if precision == 'Float32':
        return contextlib.nullcontext(), scaler
    reduced = {'BFloat16': torch.bfloat16, 'Float16': torch.float16}[precision]
    return torch.autocast(device, dtype=reduced), scaler


def clock(device):
    """Two functions: one takes a moment, one turns a list of moments into seconds. A GPU works behind the program that gives
    it work, so its moments lie in its own stream."""
    import torch
    if device == 'cpu':
        return time.monotonic, lambda moments: moments

    def now():
        moment = torch.cuda.Event(enable_timing=True)
        moment.record()
        return moment

    def seconds_of(moments):
        torch.cuda.synchronize()
        return [moments[0].elapsed_time(moment) / 1e3 for moment in moments]

    return now, seconds_of


def train(folder, task, wrap, rank, ranks, mean):
    """Steps of SGD with momentum on this rank's ranges: rank r of n has the r-th part of each step's samples."""
    import numpy
    import safetensors.torch
    import torch
    model = torch.jit.load(str(folder / 'model.pt')).state_dict()
    net = layers(task['widths'])
    net.load_state_dict(model)
    device = task['device'].lower()
    net = wrap(net.to(device))
    optimizer = torch.optim.SGD(net.parameters(), lr=task['rate'], momentum=task['momentum'], fused=True)
    data = safetensors.torch.load_file(folder / 'train.safetensors')
    order = torch.from_numpy(numpy.fromfile(folder / 'order.u32', dtype=numpy.uint32).astype(numpy.int64))
    rows = {'cpu': [], 'faults': [], 'losses': []}
    autocast, scaler = amp(device, task['precision'])
    now, seconds_of = clock(device)
    ends = []
    for step in range(task['steps']):
        begin = (step * ranks + rank) * task['batch']
        samples = order[begin:begin + task['batch']]
        inputs, targets = data['inputs'][samples].to(device), data['targets'][samples].to(device)
        optimizer.zero_grad()
        with autocast:
            loss = torch.nn.functional.cross_entropy(net(inputs), targets)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        rows['losses'].append(loss.detach())
        used = resource.getrusage(resource.RUSAGE_SELF)
        ends.append(now())
        rows['cpu'].append(used.ru_utime + used.ru_stime)
        rows['faults'].append(used.ru_minflt)
    rows['seconds'] = seconds_of(ends)
    rows['losses'] = mean(torch.stack(rows['losses']).cpu()).tolist()
    return rows


def ddp(folder, task):
    import torch
    import torch.distributed
    from torch.nn.parallel import DistributedDataParallel
    rank, ranks = int(os.environ['RANK']), int(os.environ['WORLD_SIZE'])
    torch.set_num_threads(task['threads'])
    torch.distributed.init_process_group('gloo', init_method=f'file://{folder}/rendezvous', rank=rank, world_size=ranks)

    def mean(losses):
        torch.distributed.all_reduce(losses)
        return losses / ranks

    rows = train(folder, task, lambda net: DistributedDataParallel(net, gradient_as_bucket_view=True),
                 rank, ranks, mean)
    torch.distributed.barrier()
    return rows


def loop(folder, task):
    import torch
    torch.set_num_threads(task['threads'])
    return train(folder, task, lambda net: net, 0, 1, lambda losses: losses)


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in ('export', 'ddp', 'loop'):
        sys.exit(__doc__)
    if not tune_malloc():
        sys.exit('malloc cannot be tuned')
    folder = Path(sys.argv[2])
    task = json.loads((folder / 'task.json').read_text())
    done = {'export': export, 'ddp': ddp, 'loop': loop}[sys.argv[1]](folder, task)
    if done:
        print(json.dumps(done), flush=True)
    # At once: gloo's threads now and then end a process that leaves as others do ("terminate called without an active
    # exception").
    os._exit(0)


if __name__ == '__main__':
    main()
