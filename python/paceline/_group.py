"""A worker of several processes, as torchrun starts them: one session, whose steps they share.

Rank 0 has the session. What it is given to do it tells the others, with the values to compute on; each computes its part of the
batch, and the sum of their gradients, weighted by samples, is the worker's. So for every scheme it is one worker.
"""

from __future__ import annotations

import ctypes
import math
import os
from typing import Any, Callable, List, Optional, Tuple

import torch
import torch.distributed as dist

from . import _native
from ._errors import Misuse
from ._handing import Handing
from ._model import FlatModel, GivenUp


def is_group() -> bool:
    """Whether torchrun, or somebody like it, has started this process as one of several."""
    return int(os.environ.get("WORLD_SIZE", "1")) > 1


def share_of(samples: List[int], rank: int, ranks: int) -> Tuple[List[int], float]:
    """A rank's part of a batch, and what its mean counts for. Whoever has none computes a sample that counts for nothing."""
    begin, end = rank * len(samples) // ranks, (rank + 1) * len(samples) // ranks
    if begin == end:
        return samples[:1], 0.0
    return samples[begin:end], (end - begin) / len(samples)


class GroupSession:
    """In the place of a session: the same calls, by all ranks alike. `open_session` is called on rank 0 alone."""

    def __init__(self, model: FlatModel, open_session: Callable[[FlatModel], Any]):
        if not dist.is_initialized():
            dist.init_process_group("gloo")
        self._rank, self._ranks = dist.get_rank(), dist.get_world_size()
        self._model = model
        described = [(t.name, t.kind, t.offset_bytes, tuple(t.shape[:t.dimensions])) for t in model.native]
        if self._tell(described) != described:
            raise Misuse("the model of this rank has other tensors than that of rank 0: want the same on all")
        self._session = open_session(model) if self._rank == 0 else None
        self._facts = self._tell({name: self._session.call(name) for name in
                                  ("job", "is_evaluator", "index", "group", "device", "threads")}
                                 if self._session else None)
        self._gradients = torch.zeros(model.values.numel() // 4)  # In the places of the parameters.
        self._weight = 0.0
        self._samples: Optional[ctypes.Array] = None
        self._total = 0
        self._reason = b""

    def _tell(self, words: Any) -> Any:
        """What rank 0 says; all others hear it."""
        box = [words]
        dist.broadcast_object_list(box, src=0)
        return box[0]

    def call(self, name: str, *arguments: Any) -> Any:
        if name in self._facts:
            return self._facts[name]
        if name == "reason":
            return self._reason
        return getattr(self, "_" + name)(*arguments)

    def check(self, name: str, *arguments: Any) -> None:
        _native.check(self.call(name, *arguments) or _native.OK)

    def close(self) -> None:
        if self._session is not None:
            self._session.close()

    def _start(self, samples: int, device: bytes, threads: int, in_place: int) -> None:
        if self._session is not None:
            self._session.check("start", samples, device, threads, 0)  # Values are sent to the others from one place.

    def _next(self, timeout_ms: int, work: Any) -> None:
        told = None
        if self._session is not None:
            self._session.check("next", timeout_ms, work)
            found = work._obj
            if found.kind in (_native.NOTHING, _native.EVALUATE):
                return  # None of the others' business.
            reason = self._session.call("reason") if found.kind == _native.OVER else b""
            told = (found.kind, list(found.samples[:found.sample_count]), found.epoch, reason)
        kind, samples, epoch, self._reason = self._tell(told)
        found = work._obj
        found.kind, found.epoch = kind, epoch
        dist.broadcast(self._model.values, src=0)
        if kind != _native.STEP:
            return
        mine, self._weight = share_of(samples, self._rank, self._ranks)
        self._total = len(samples)
        self._samples = (ctypes.c_uint32 * len(mine))(*mine)
        found.samples = ctypes.cast(self._samples, ctypes.POINTER(ctypes.c_uint32))
        found.sample_count = len(mine)
        self._gradients.zero_()

    # Nobody gives a step up by himself: the others would wait for his gradients.
    def _may_go_on(self) -> int:
        if self._session is not None:
            self._session.call("may_go_on")
        return 1

    def _hand(self, count: int, indices: ctypes.Array, gradients: ctypes.Array, sizes: ctypes.Array) -> int:
        for index, gradient, size in zip(indices[:count], gradients[:count], sizes[:count]):
            place = self._model.native[index].offset_bytes // 4
            host = torch.frombuffer((ctypes.c_float * size).from_address(gradient), dtype=torch.float32)
            self._gradients[place:place + size].add_(host, alpha=self._weight)
        self._may_go_on()
        return _native.OK

    def _end_step(self, loss: float, samples: int, correct: int) -> int:
        """_native.GIVEN_UP on all ranks, if nobody wants it any more."""
        facts = torch.tensor([loss * self._weight if self._weight else 0.0, float(correct) if self._weight else 0.0],
                             dtype=torch.float64)
        dist.reduce(self._gradients, dst=0)
        dist.reduce(facts, dst=0)
        self._average_buffers()
        given_up = False
        if self._session is not None:
            handing = Handing(self._session, len(self._model), self._model.trained_bytes)
            try:
                for index, tensor in enumerate(self._model.native):
                    if tensor.kind == _native.PARAMETER:
                        place = tensor.offset_bytes // 4
                        handing.add(index, self._gradients[place:place + math.prod(tensor.shape[:tensor.dimensions])])
                handing.flush()
            except GivenUp:
                given_up = True
            if given_up:
                self._session.check("give_up_step", _native.INTERRUPTED)
            else:
                self._session.check("end_step", facts[0].item(), self._total, int(facts[1].item()))
        return _native.GIVEN_UP if self._tell(given_up) else _native.OK

    def _average_buffers(self) -> None:
        """Of floats, as the batch's parts count; rank 0's integers are everybody's."""
        for tensor in self._model.native:
            if tensor.kind == _native.BUFFER and tensor.type == _native.FLOAT32:
                count = math.prod(tensor.shape[:tensor.dimensions])
                values = self._model.values[tensor.offset_bytes:tensor.offset_bytes + 4 * count].view(torch.float32)
                if count:
                    values.mul_(self._weight)
                    dist.reduce(values, dst=0)

    def _give_up_step(self, why: int) -> None:
        raise Misuse("one rank of several is out of memory: the worker cannot go on without it")

    def _fail_step(self, why: bytes) -> None:
        if self._session is not None:
            self._session.check("fail_step", why)

    def _end_evaluation(self, evaluation: Any) -> None:
        self._session.check("end_evaluation", evaluation)

    def _fail_evaluation(self, why: bytes) -> None:
        self._session.check("fail_evaluation", why)

    def _drain(self) -> None:
        if self._session is not None:
            self._session.call("drain")
