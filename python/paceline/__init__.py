"""Paceline for PyTorch users: a training loop of one's own as a worker of a job.

    with paceline.worker(model) as w:
        for batch in w.data(dataset):
            w.step(loss_fn(model(batch.x), batch.y))

A job whose manifest says ``workers: {command: [python, train.py]}`` starts such a script as each of its workers:
``paceline run job.yaml`` on one machine, ``kubectl apply -f job.yaml`` on a cluster.
"""

from __future__ import annotations

import os
import sys
from typing import Any, Optional, Union

import torch

from . import _given, _joined
from ._alone import Alone
from ._data import Batch
from ._device import device
from ._errors import CannotHere, Error, Lost, Misuse, NoJob, Refused
from ._files import dataset, export, load
from ._run import run
from ._state import state_dict
from ._turns import Turns
from ._worker import Step, Worker

__all__ = ["Batch", "CannotHere", "Error", "Lost", "Misuse", "NoJob", "Refused", "Step", "Worker", "dataset", "device",
           "export", "load", "run", "state_dict", "worker"]


def worker(model: torch.nn.Module, optimizer: Optional[Union[str, torch.optim.Optimizer]] = "from-job", *,
           epochs: Optional[int] = None, batch_size: int = 32, frozen: str = "whole") -> Any:
    """The worker that this process is, for a ``with`` block.

    `model`: one module, of several models a torch.nn.ModuleDict; trained parameters are float32, on one device. They become
    views of one flat memory, in place; half(), to() and the like belong before this call. Buffers of the
    state_dict are averaged over workers; frozen parameters, of any type, are this worker's own, and the same on all.

    `frozen`: "whole", the model file holds frozen parameters; "first", as well, and all workers get the first one's values, for what each
    draws by itself; "omit", it does not; "averaged", those of float32 are averaged as buffers are, for what the script changes by
    itself, as a teacher that follows.

    `optimizer`: in a job the parameter servers have the optimizer (spec.training.optimizer), and this one is not used.
    Without a job, one of torch.optim trains alone, at most `epochs` times over the data in batches of `batch_size` (or the
    DataLoader's), so that the script runs anywhere; NoJob is raised if there is none. Without `epochs` it is once, or as
    often as the script's own loop over epochs asks for them.
    """
    _given.check(model, optimizer)
    made = _make(model, "from-job" if optimizer is None else optimizer, epochs, batch_size, Turns(sys._getframe(1)), frozen)
    _given.note(made)
    return made


def _make(model: torch.nn.Module, optimizer: Union[str, torch.optim.Optimizer], epochs: Optional[int], batch_size: int,
          turns: Turns, frozen: str) -> Any:
    if "PACELINE_JOB" in os.environ:
        made = Worker(model, turns, frozen)
        lacking = _given.lacking(model, optimizer)  # Of what the job's groups do not freeze.
        if not isinstance(optimizer, str):
            made.log(f"{type(optimizer).__name__} of the script is not used: the job's optimizer is", is_warning=True)
        if lacking:
            made.log(f"the job trains parameters that the script's optimizer has not: {lacking}; requires_grad_(False) before "
                     "paceline.worker keeps what is not to be trained", is_warning=True)
        return made
    if isinstance(optimizer, str):
        raise NoJob("no job has started this process: start it with `paceline run job.yaml` (workers.command), or hand "
                    "paceline.worker an optimizer of torch.optim, with which it trains alone")
    _joined.check(frozen)
    lacking = _given.lacking(model, optimizer)
    alone = Alone(model, optimizer, epochs, batch_size, turns)
    if lacking:
        alone.log(f"a job would train parameters that this optimizer has not: {lacking}; requires_grad_(False) before "
                  "paceline.worker keeps what is not to be trained", is_warning=True)
    return alone
