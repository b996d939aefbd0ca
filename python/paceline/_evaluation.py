"""What a script's evaluation found, as the native session takes it."""

from __future__ import annotations

import ctypes
import math
import numbers
from typing import Any

import torch

from . import _native
from ._errors import Misuse
from ._words import encoded


def evaluation_of(judged: Any) -> _native.Evaluation:
    """`judged`: a loss, or a dict with one. Misuse for anything else."""
    values = dict(judged) if isinstance(judged, dict) else {"loss": judged}
    if "loss" not in values:
        raise Misuse(f"an evaluation returns a loss, or a dict with one: got {sorted(values)}")
    for name, value in values.items():
        if isinstance(value, torch.Tensor):
            values[name] = value.item()
        if not isinstance(values[name], numbers.Number):
            raise Misuse(f"an evaluation returns numbers: got {name}={value!r}")
    accuracy = values.pop("accuracy", None)
    evaluation = _native.Evaluation(
        loss=float(values.pop("loss")),
        accuracy=math.nan if accuracy is None else float(accuracy),
        samples=int(values.pop("samples", 0)),
        accuracy_from=b"the script" if accuracy is not None else b"the script's evaluation names none")
    names = list(values)
    evaluation.names = (ctypes.c_char_p * len(names))(*(encoded(name) for name in names))
    evaluation.metrics = (ctypes.c_double * len(names))(*(float(values[name]) for name in names))
    evaluation.metric_count = len(names)
    return evaluation
