"""Batch norm of one sample, which PyTorch refuses to train on: there is nothing to compare its values with.

Batches of one sample come by themselves: the last one of a job may be, and the part of a rank, or of a slow worker; and a
sample that may have ended a script is tried alone. No sample is to blame for it.
"""

from __future__ import annotations

import contextlib
from typing import Any, Callable, Iterator, List, Optional, Tuple

import torch
from torch.nn.modules.batchnorm import SyncBatchNorm, _BatchNorm

from ._errors import Error, Misuse
from ._words import words_of
from ._wrappers import plain_name

_REFUSAL = "Expected more than 1 value per channel when training"  # PyTorch's words.


def misuse_of(error: Optional[BaseException]) -> Optional[Misuse]:
    """What to do, if `error` is PyTorch's refusal, or comes from it, as TorchScript's does."""
    if not isinstance(error, Exception) or isinstance(error, Error):
        return None
    said = next((line.strip() for line in words_of(error).splitlines() if _REFUSAL in line), None)
    if said is None:
        return None
    return Misuse("give batch norm two samples or more, or its running statistics: model.train(len(batch) > 1) before the forward "
                  "pass; spec.training.globalBatchSize of two samples or more for each worker; GroupNorm or LayerNorm, which need "
                  f"one. PyTorch said: {said}")


class OneSample:
    """Has batch norm take its running statistics where PyTorch's own would refuse. `say`: a warning, to be said once."""

    def __init__(self, model: torch.nn.Module, say: Callable[[str], None]):
        self._model, self._say = model, say
        self._switched: List[torch.nn.Module] = []  # Those in a pass.
        self._first: Optional[torch.nn.Module] = None  # Of those that were.
        self._has_said = False

    @contextlib.contextmanager
    def batch_of(self, samples: int) -> Iterator[None]:
        """While passes of that batch are made. Layers that have seen no batch of several samples have no statistics: they refuse."""
        layers = self._layers() if samples == 1 else []
        handles = [handle for layer in layers for handle in (
            layer.register_forward_pre_hook(self._before, with_kwargs=True), layer.register_forward_hook(self._after))]
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()
            self._end()

    def _layers(self) -> List[torch.nn.Module]:
        """Not of SyncBatchNorm: what its processes do together they all do, or none."""
        return [layer for layer in self._model.modules()
                if isinstance(layer, _BatchNorm) and not isinstance(layer, SyncBatchNorm)
                and layer.num_batches_tracked is not None and bool(layer.num_batches_tracked > 0)]

    def _before(self, layer: torch.nn.Module, arguments: Tuple[Any, ...], named: Any) -> None:
        values = arguments[0] if arguments else named["input"]
        if layer.training and values.dim() > 1 and values.numel() == values.shape[1]:
            layer.training = False
            self._switched.append(layer)
            self._first = self._first or layer

    def _after(self, layer: torch.nn.Module, *_: Any) -> None:
        if layer in self._switched:
            self._switched.remove(layer)
            layer.training = True

    def _end(self) -> None:
        for layer in self._switched:  # Of a pass that did not come to its end.
            layer.training = True
        self._switched.clear()
        if self._first is not None and not self._has_said:
            self._has_said = True
            name = next(name for name, module in self._model.named_modules() if module is self._first)
            self._say(f"a batch of one sample: batch norm takes its running statistics for it, since its own need several values "
                      f"({plain_name(self._model, name) or 'the model'})")
