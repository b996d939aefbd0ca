"""Hands a step's gradients over, several at a time: a call of the library takes longer than a small gradient."""

from __future__ import annotations

import ctypes
import time
from typing import Any, Callable, List

import torch

from . import _native
from ._model import GivenUp

_CALLS = 12  # A step's, about: whatever is gathered goes when it is this part of the whole.
_SECONDS_MAX = 0.01  # Whether the step is still wanted is asked for so often, at least.


class Handing:
    """The gradients of one step after another, on their way to the session. `bytes_total`: of all of a step."""

    def __init__(self, session: Any, tensors: int, bytes_total: int, clock: Callable[[], float] = time.monotonic):
        self._session, self._clock = session, clock
        self._indices = (ctypes.c_size_t * tensors)()
        self._places = (ctypes.c_void_p * tensors)()
        self._sizes = (ctypes.c_uint64 * tensors)()
        self._gathered: List[torch.Tensor] = []  # Keeps their memory.
        self._floats = 0
        self._floats_max = bytes_total // (4 * _CALLS)
        self._asked = 0.0
        self.count = 0  # Of the step's gradients that came.

    def begin(self) -> None:
        """A step. Raises GivenUp if nobody wants it any more, as all here do."""
        self._gathered.clear()
        self._floats = self.count = 0
        self.ask()

    def add(self, index: int, gradient: torch.Tensor) -> None:
        """Of the tensor of that index, whole and final."""
        if not (gradient.is_cpu and gradient.dtype is torch.float32 and gradient.is_contiguous()):
            gradient = gradient.to("cpu", torch.float32).contiguous()
        at, floats = len(self._gathered), gradient.numel()
        self._indices[at], self._places[at], self._sizes[at] = index, gradient.data_ptr(), floats
        self._gathered.append(gradient)
        self._floats += floats
        self.count += 1
        if self._floats >= self._floats_max or self._clock() - self._asked > _SECONDS_MAX:
            self.flush()

    def flush(self) -> None:
        """What is gathered is handed over when this returns."""
        code = self._session.call("hand", len(self._gathered), self._indices, self._places, self._sizes)
        self._gathered.clear()
        self._floats = 0
        self._asked = self._clock()
        if code == _native.GIVEN_UP:
            raise GivenUp
        _native.check(code)

    def tick(self) -> None:
        """Asks, if that was long ago."""
        if self._clock() - self._asked > _SECONDS_MAX:
            self.ask()

    def ask(self) -> None:
        """Whether the step is still wanted; a sign of progress."""
        self._asked = self._clock()
        if not self._session.call("may_go_on"):
            raise GivenUp
