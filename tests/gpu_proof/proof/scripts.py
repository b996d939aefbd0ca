"""A script of Python's as the worker (the package paceline), with its model on the device: beside plain PyTorch on the same device."""
import json
import statistics
import time

import torch
from jobs import check_devices, train
from loop import batches_of, loss_of, make, samples
from rows import Row
from safetensors.torch import load_file

STEPS = 10
# Of the norm of a tensor, or of a loss. Kernels of a GPU add in other orders from call to call.
DIFFERENCE_MAX = {'CPU': 1e-5, 'CUDA': 1e-3}

MANIFEST = """apiVersion: paceline.dev/v1alpha1
kind: TrainingJob
metadata: {{name: scripts}}
spec:
  training:
    globalBatchSize: {batch}
    optimizer: {{type: SGD, sgd: {{momentum: 0.9}}}}
    learningRate: {{base: {rate}}}
    stop: {{maxSteps: {steps}}}
  sync: {{scheme: BSP}}
  workers:
    replicas: {workers}
    device: {device}
    command: {command}
"""


def job(task, what, size, workers, batch, steps, before=()):
    """(what each process wrote, the trained model's file)."""
    python = task.programs.python(task.folder)
    out = task.folder / what
    out.mkdir()
    command = [str(python), *before, str(task.programs.root / 'loop.py'), str(out), task.torch_device, size]
    manifest = out / 'job.yaml'
    manifest.write_text(MANIFEST.format(batch=batch, rate=0.05, steps=steps, workers=workers, device=task.device,
                                        command=json.dumps(command)))
    summary, state, _ = train(task, manifest)
    check_devices(task, state)
    return [json.loads(path.read_text()) for path in sorted(out.glob('steps-*.json'))], summary['model']


def plain(task, size, indices):
    """(loss of each step, model) of PyTorch's own loop, on the same samples."""
    model = make(size).to(task.torch_device)
    x, y = (tensor.to(task.torch_device) for tensor in samples(size))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    losses = []
    for step in indices:
        optimizer.zero_grad()
        loss = loss_of(model, x[step], y[step])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, model


def compared(task, name, size='small', workers=2, before=()):
    ours, trained = job(task, name.replace(' ', '-'), size, workers, 64, STEPS, before)
    steps = [sum((process['indices'][step] for process in ours), []) for step in range(STEPS)]
    losses, model = plain(task, size, steps)
    told = [sum(process['losses'][step] for process in ours) / len(ours) for step in range(STEPS)]
    of_losses = max(abs(some - other) / other for some, other in zip(told, losses))
    values = load_file(trained)
    wanted = {name: value.cpu() for name, value in model.state_dict().items() if value.is_floating_point()}
    of_tensors = max(((values[name] - value).norm() / value.norm()).item() for name, value in wanted.items())
    bound = DIFFERENCE_MAX[task.device]
    return Row(name, 'held' if max(of_losses, of_tensors) <= bound else 'failed',
               f'after {STEPS} steps losses differ by {of_losses:.0e}, tensors by {of_tensors:.0e}; bound {bound:.0e}',
               {'loss_difference': of_losses, 'tensor_difference': of_tensors, 'bound': bound})


def loop_ms(task, batch, steps):
    """The median step of PyTorch's own loop, once it runs warm."""
    model = make('large').to(task.torch_device)
    x, y = samples('large')
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    times = []
    for indices in batches_of(len(x), batch, steps):
        began = time.perf_counter()
        optimizer.zero_grad()
        loss = loss_of(model, x[indices].to(task.torch_device), y[indices].to(task.torch_device))
        loss.backward()
        optimizer.step()
        loss.item()
        times.append(time.perf_counter() - began)
    return 1e3 * statistics.median(times[steps // 4:])


def speed(task):
    steps = 8 if task.small else 200 if task.is_gpu else 20
    batch = 64 if task.small else 256
    (ours,), _ = job(task, 'alone', 'large', 1, batch, steps)
    mine, peer = ours['step_ms'], loop_ms(task, batch, steps)
    return Row('script, one worker', 'measured',
               f'{mine:.2f} ms a step with batches of {batch}, PyTorch\'s loop {peer:.2f}: {peer / mine:.2f} of its speed',
               {'step_ms': mine, 'peer_step_ms': peer, 'speed_to_peer': peer / mine, 'batch': batch})


def run(task):
    yield compared(task, 'script, two workers')
    yield compared(task, 'script, two processes a worker',
                   before=('-m', 'torch.distributed.run', '--standalone', '--nproc-per-node=2'))
    yield compared(task, 'script, buffers', 'norms', 1)  # Of two workers they are means: no loop has the same.
    yield speed(task)
