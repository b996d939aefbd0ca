"""What a worker computes on."""

from __future__ import annotations

import os

import torch

from ._errors import CannotHere


def device() -> torch.device:
    """What the job wants this worker to compute on; the CPU without a job. CannotHere: a GPU that is not there."""
    wanted = os.environ.get("PACELINE_DEVICE", "cpu")
    if wanted == "cpu":
        return torch.device("cpu")
    if torch.cuda.is_available():
        return torch.device("cuda")
    if wanted == "cuda":
        raise CannotHere("the job wants a GPU (workers.device), and PyTorch sees none: torch.cuda.is_available() is False")
    return torch.device("cpu")
