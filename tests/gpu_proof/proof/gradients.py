"""Gradients that the worker computes, beside PyTorch's on the CPU; and the time curve of the device."""
import copy
import json
import warnings

import models
import torch
from rows import Row

SAMPLES = 64
SIZES = '1,2,4,8,16,32,64'


def pytorchs(module, inputs, targets, device):
    module = copy.deepcopy(module).to(device)
    loss = torch.nn.functional.cross_entropy(module(inputs.to(device)), targets.to(device))
    loss.backward()
    return {name: parameter.grad.cpu() for name, parameter in module.named_parameters()}


def ours(task, name, device):
    out = task.folder / f'{name}.gradients'
    said = json.loads(task.programs.run(
        'gpu_probe', 'gradients', '--model', task.folder / f'{name}.pt', '--data', task.folder / f'{name}.safetensors',
        '--device', device, '--samples', SAMPLES, '--out', out, seconds=task.left()))
    flat = torch.frombuffer(bytearray(out.read_bytes()), dtype=torch.uint8)
    return {tensor['name']: flat[tensor['offset']:tensor['offset'] + tensor['bytes']].view(torch.float32)
            for tensor in said['tensors']}


def difference(some, others):
    """The largest of all tensors: the norm of what differs, as a share of the norm of all gradients."""
    assert some.keys() == others.keys(), (some.keys(), others.keys())
    scale = torch.stack([other.double().norm() for other in others.values()]).norm()
    return max(((some[name].double().flatten() - others[name].double().flatten()).norm() / scale).item() for name in others)


def run(task):
    warnings.filterwarnings('ignore', category=DeprecationWarning)
    for name in models.MODELS:
        module, inputs, targets = models.make(name, SAMPLES, task.folder)
        reference = pytorchs(module, inputs, targets, 'cpu')
        of_pytorch = difference(pytorchs(module, inputs, targets, task.torch_device), reference)
        of_ours = difference(ours(task, name, task.device), reference)
        # PyTorch lets cuDNN round to TF32; whatever it does on a device, the worker does too, in an order of its own.
        bound = max(1e-5, 2 * of_pytorch)
        yield Row(f'gradients, {name}', 'held' if of_ours <= bound else 'failed',
                  f'{of_ours:.1e} from PyTorch\'s on the CPU; PyTorch\'s own on {task.device}: {of_pytorch:.1e}; bound {bound:.1e}',
                  {'difference': of_ours, 'difference_of_pytorch': of_pytorch, 'bound': bound})
    yield curve(task)


def curve(task):
    said = json.loads(task.programs.run(
        'gpu_probe', 'curve', '--model', task.folder / 'convolutions.pt', '--data', task.folder / 'convolutions.safetensors',
        '--device', task.device, '--sizes', SIZES, '--steps', 5 if task.small else 21, seconds=task.left()))
    return Row('curve, convolutions', 'measured',
               f'{1e3 * said["base"]:.2f} ms up to {said["saturation"]:.0f} samples, {1e6 * said["per_sample"]:.1f} us for each beyond; '
               f'the worst of {len(said["points"])} sizes is {100 * said["worst"]:.0f} % from it', said)
