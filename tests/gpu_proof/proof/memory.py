"""A model that does not fit with the batch that it begins with: two workers on one device must find what fits, and go on."""
import re

import safetensors.torch
import torch
from jobs import check_devices, train
from rows import Row

BATCH = 128  # Of two workers; some twenty samples of each fit.
FIT = 20
# Of the memory that is free, for FIT samples of a worker: both together fit, and 64 of one do not.
SHARE = 0.4

MANIFEST = """apiVersion: paceline.dev/v1alpha1
kind: TrainingJob
metadata: {{name: memory}}
spec:
  model: {{torchScript: memory.pt, loss: CrossEntropy}}
  data: {{train: memory.safetensors}}
  training:
    globalBatchSize: {batch}
    optimizer: {{type: SGD}}
    learningRate: {{base: 0.05}}
    stop: {{maxSteps: 40}}
  sync: {{scheme: BSP, batchSizing: {{strategy: Stepwise}}}}
  parameterServer: {{shards: 1}}
  workers: {{replicas: 2, device: {device}}}
"""


class Hungry(torch.nn.Module):
    """Takes `each` numbers of memory for each sample while it trains; on the CPU it refuses more samples than `most`, in the
    words of a GPU: a machine's own memory is not to be filled."""

    def __init__(self, each: int, most: int):
        super().__init__()
        self.each = each
        self.most = most
        self.last = torch.nn.Linear(16, 10)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        if self.training and self.most > 0:
            assert inputs.size(0) <= self.most, 'CUDA out of memory. Tried to allocate too much'
        outputs = self.last(inputs)
        if self.training and self.each > 0:
            taken = torch.empty([inputs.size(0), self.each], device=inputs.device)
            taken[:, 0] = 0.0
            outputs = outputs + taken[:, :1]
        return outputs


def make(task):
    if task.is_gpu:
        free, _ = torch.cuda.mem_get_info()
        model = Hungry(int(free * SHARE / FIT / 4), 0)
    else:
        model = Hungry(0, FIT)
    torch.jit.script(model).save(str(task.folder / 'memory.pt'))
    torch.manual_seed(1)
    samples = {'inputs': torch.randn(1024, 16), 'targets': torch.randint(10, (1024,))}
    safetensors.torch.save_file(samples, task.folder / 'memory.safetensors')
    manifest = task.folder / 'memory.yaml'
    manifest.write_text(MANIFEST.format(batch=BATCH, device=task.device))
    return manifest


def run(task):
    _, state, trace = train(task, make(task))
    check_devices(task, state)
    limits = [int(fit) for fit in re.findall(r'out-of-memory fit=(\d+)', trace)]
    sizes = [worker['batchSize'] for worker in state['workers']]
    is_well = limits and sum(sizes) < BATCH
    what = 'real memory of one GPU' if task.is_gpu else 'a stand-in for a GPU that is full'
    yield Row('out of memory, two workers', 'held' if is_well else 'failed',
              f'{len(limits)} steps given up, then {sizes} samples each, to the end ({what})',
              {'given_up': len(limits), 'sizes': sizes})
