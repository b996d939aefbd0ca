"""What a worker computes on."""

from __future__ import annotations

import os

import torch

from . import _native
from ._errors import CannotHere


def gpu_of(rank: int, gpus: int) -> int:
    """Of that rank on this machine: its own, as long as there is one for each."""
    if rank >= gpus:
        _native.library().paceline_log(1, f"rank {rank} of this worker computes on GPU {rank % gpus}, as another does: there are only "
                                          f"{gpus} for its processes (torchrun --nproc-per-node)".encode())
    return rank % gpus


def device() -> torch.device:
    """What the job wants this worker to compute on; the CPU without a job. CannotHere: a GPU that is not there.

    Of a worker of several processes each has its own GPU, which is PyTorch's current one from then on.
    """
    wanted = os.environ.get("PACELINE_DEVICE", "cpu")
    if wanted == "cpu":
        return torch.device("cpu")
    if torch.cuda.is_available():
        if "LOCAL_RANK" not in os.environ:
            return torch.device("cuda")
        chosen = torch.device("cuda", gpu_of(int(os.environ["LOCAL_RANK"]), torch.cuda.device_count()))
        torch.cuda.set_device(chosen)
        return chosen
    if wanted == "cuda":
        raise CannotHere("the job wants a GPU (workers.device), and PyTorch sees none: torch.cuda.is_available() is False")
    return torch.device("cpu")
