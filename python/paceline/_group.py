"""A worker of several processes, as torchrun starts them: one session, whose steps they share.

Rank 0 has the session. What it is given to do it tells the others; each computes its part of the batch, and the sum of their
gradients, weighted by samples, is the worker's. So for every scheme it is one worker. Whether a step counts is decided once, at
its end, by rank 0; until then any of them may give it up.
"""

from __future__ import annotations

import ctypes
import os
from typing import Any, Callable, List, Optional, Tuple

import torch

from . import _native
from ._errors import Error
from ._frozen import Freezing, Frozen, compared
from ._group_memory import Group, is_posted, post, words, WORD_BYTES
from ._group_model import GroupModel
from ._group_sums import Part, Sums

_DONE, _INTERRUPTED, _OUT_OF_MEMORY = range(3)  # How a rank has ended a step.


def is_group() -> bool:
    """Whether torchrun, or somebody like it, has started this process as one of several."""
    return int(os.environ.get("WORLD_SIZE", "1")) > 1


def share_of(samples: List[int], rank: int, ranks: int) -> Tuple[List[int], float]:
    """A rank's part of a batch, and what its mean counts for. Whoever has none computes a sample that counts for nothing."""
    begin, end = rank * len(samples) // ranks, (rank + 1) * len(samples) // ranks
    if begin == end:
        return samples[:1], 0.0
    return samples[begin:end], (end - begin) / len(samples)


def join(model: torch.nn.Module, open_session: Callable[[GroupModel], Any], are_averaged: bool,
         freezing: Freezing) -> Tuple[GroupModel, "GroupSession"]:
    """By all ranks."""
    group = Group()
    shared = GroupModel(model, group, are_averaged, freezing)
    try:
        return shared, GroupSession(shared, group, open_session)
    except BaseException:
        shared.release()
        raise


class GroupSession:
    """In the place of a session: the same calls, by all ranks alike. `open_session` is called on rank 0 alone."""

    def __init__(self, model: GroupModel, group: Group, open_session: Callable[[GroupModel], Any]):
        self._group, self._model = group, model
        self._rank, self._ranks = group.rank, group.ranks
        self._session, refusal = None, None
        if self._rank == 0:
            try:
                self._session = open_session(model)
            except Error as error:
                refusal = error
        facts = None if self._session is None else {name: self._session.call(name) for name in (
            "job", "is_evaluator", "index", "group", "device", "threads")}
        self._facts, refusal = group.gather((facts, refusal))[0]
        if refusal is not None:
            raise refusal
        memory = group.share((1 + 4 * self._ranks) * WORD_BYTES)
        self._abort, *rest = words(memory, 0, 1 + 4 * self._ranks)
        self._ended, self._states, self._progress, figures = (rest[i * self._ranks:][:self._ranks] for i in range(4))
        # Loss and correct samples of each rank, in a word's line.
        self._figures = [(ctypes.c_double * 2).from_address(ctypes.addressof(line)) for line in figures]
        self._memory = memory
        self._sums: Optional[Sums] = None
        self._step = 0  # Of this group's steps and evaluations, from 1 on.
        self._weight, self._weights = 0.0, [0.0]
        self._samples: Optional[ctypes.Array] = None
        self._total = 0
        self._reason = b""
        self._ahead, self._expected = 0, []
        self._seen = 0  # Of the others' progress.
        self._is_wanted = True

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

    def look_ahead(self, steps: int) -> None:
        """So many steps ahead `expect` is to be asked."""
        self._ahead = steps

    def loss_weight(self) -> Optional[float]:
        """What a backward pass is to be multiplied by. FSDP takes the mean over all ranks, whatever their parts."""
        return self._weight * self._ranks if self._model.sharded else None

    def keep(self, frozen: List[Frozen], way: str, goes_on: Callable[[], bool]) -> None:
        digests = compared(frozen, self._group.gather([one.digest() for one in frozen]))
        if self._session is not None:
            self._session.keep(frozen, way, goes_on, digests)

    def _start(self, samples: int, device: bytes, threads: int, sampler: Optional[bytes]) -> None:
        self._sums = Sums(self._group, self._model.floats(), self._model.trained_parts(), self._hand_sums)  # All have stored by then.
        if self._session is not None:
            self._session.check("start", samples, device, threads, sampler)

    # --- What to do next.

    def _next(self, timeout_ms: int, work: Any) -> None:
        found = work._obj
        if self._session is not None:
            self._session.check("next", timeout_ms, work)
            if found.kind in (_native.NOTHING, _native.DRAW):  # This rank draws for all.
                self._group.look()
                return
            reason = self._session.call("reason") if found.kind == _native.OVER else b""
            told = (found.kind, found.samples[:found.sample_count], found.epoch, reason, self._look_ahead(found))
            self._group.tell(told)
        elif self._group.has_news(timeout_ms):
            told = self._group.hear()
        else:
            found.kind = _native.NOTHING
            return
        found.kind, samples, found.epoch, self._reason, self._expected = told
        self._is_wanted = True
        if found.kind in (_native.STEP, _native.EVALUATE):
            self._step += 1
        if found.kind == _native.STEP:
            self._begin(found, samples)
        if found.kind == _native.OVER:
            self._model.fetch()  # All end with the same.

    def _drew(self, epoch: int, samples: ctypes.Array, count: int) -> None:
        if self._session is not None:
            self._session.check("drew", epoch, samples, count)

    def _begin(self, found: Any, samples: List[int]) -> None:
        shares = [share_of(samples, rank, self._ranks) for rank in range(self._ranks)]
        mine, self._weight = shares[self._rank]
        self._weights = [weight for _, weight in shares]
        self._total = len(samples)
        self._samples = (ctypes.c_uint32 * len(mine))(*mine)
        found.samples = ctypes.cast(self._samples, ctypes.POINTER(ctypes.c_uint32))
        found.sample_count = len(mine)
        self._sums.begin(self._step)

    def _look_ahead(self, found: Any) -> List[List[int]]:
        expected = []
        while found.kind == _native.STEP and len(expected) < self._ahead:
            size = 2 * found.sample_count
            room = (ctypes.c_uint32 * size)()
            count = self._session.call("expect", len(expected) + 1, room, size)
            if not 0 < count <= size:
                break
            expected.append(room[:count])
        return expected

    def _expect(self, ahead: int, room: Any, size: int) -> int:
        """This rank's part of a step to come."""
        if ahead > len(self._expected):
            return 0
        mine, _ = share_of(self._expected[ahead - 1], self._rank, self._ranks)
        if len(mine) <= size:
            room[:len(mine)] = mine
        return len(mine)

    # --- A step.

    def _may_go_on(self) -> int:
        """Of a sharded model always 1: in a pass of theirs the others wait for this rank."""
        if self._session is None:
            self._progress[self._rank].value += 1
        elif not self._session.call("may_go_on"):
            self._give_up()
        return int(self._model.has_collectives or self._is_alive())

    def _is_alive(self) -> bool:
        return self._is_wanted and not is_posted(self._abort, self._step)

    def _give_up(self) -> None:
        self._is_wanted = False
        post(self._abort, self._step)

    def _goes_on(self) -> bool:
        """While this rank waits for the others: they may give up, and what they do is progress of the worker's."""
        if self._session is not None:
            seen = sum(word.value for word in self._progress)
            if seen != self._seen:
                self._seen = seen
                if not self._session.call("may_go_on"):
                    self._give_up()
        return self._is_alive()

    def _hand(self, count: int, indices: ctypes.Array, gradients: ctypes.Array, sizes: ctypes.Array) -> int:
        for index, gradient, size in zip(indices[:count], gradients[:count], sizes[:count]):
            memory = (ctypes.c_float * size).from_address(gradient) if size else None
            flat = torch.frombuffer(memory, dtype=torch.float32) if size else torch.empty(0)
            if not self._sums.put(index, flat, self._weight_of(index)):
                self._give_up()
        return _native.OK if self._may_go_on() else _native.GIVEN_UP

    def _weight_of(self, index: int) -> float:
        if not self._model.sharded:
            return self._weight
        # The backward pass has weighted the loss already; what is not sharded there is still to be added up.
        return 1.0 if index in self._model.sharded else 1.0 / self._ranks

    def _hand_sums(self, parts: List[Part]) -> bool:
        count = len(parts)
        code = self._session.call(
            "hand", count, (ctypes.c_size_t * count)(*(part.index for part in parts)),
            (ctypes.c_void_p * count)(*(self._model.gradient_at(part) for part in parts)),
            (ctypes.c_uint64 * count)(*(part.count for part in parts)))
        if code == _native.GIVEN_UP:
            return False
        _native.check(code)
        return True

    def _begin_step(self) -> int:
        return _native.OK if self._session is None else self._session.call("begin_step")

    def _end_step(self, loss: float, samples: int, correct: int) -> int:
        """_native.GIVEN_UP on all ranks, if nobody wants it any more or one has not got through."""
        self._figures[self._rank][:] = (loss * self._weight, correct) if self._weight else (0.0, 0.0)
        if self._is_alive() and self._sums.finish(self._goes_on):
            return self._agree(_DONE)
        self._give_up()
        return self._agree(_INTERRUPTED)

    def _give_up_step(self, why: int) -> None:
        if self._model.has_collectives and why == _native.OUT_OF_MEMORY:
            raise Error("out of memory in a process of a sharded model: the others wait for it in the middle of a pass, so that all end")
        self._give_up()
        self._agree(_OUT_OF_MEMORY if why == _native.OUT_OF_MEMORY else _INTERRUPTED)

    def _agree(self, state: int) -> int:
        self._states[self._rank].value = state
        post(self._ended[self._rank], self._step)
        if self._session is None:
            return self._group.hear()
        for ended in self._ended:
            self._group.wait(ended, self._step, lambda: (self._goes_on(), True)[1])
        states = {word.value for word in self._states}
        if states == {_DONE}:
            self._model.average_buffers(self._weights)
            self._session.check("end_step", sum(figures[0] for figures in self._figures), self._total,
                                int(sum(figures[1] for figures in self._figures)))
        else:
            self._session.check("give_up_step", _native.OUT_OF_MEMORY if _OUT_OF_MEMORY in states else _native.INTERRUPTED)
        code = _native.OK if states == {_DONE} else _native.GIVEN_UP
        self._group.tell(code)
        return code

    def _fail_step(self, why: bytes, cause: bytes) -> None:
        if self._session is not None:
            self._session.check("fail_step", why, cause)
        else:
            self._group.fail(why, cause)

    # --- An evaluation: all ranks compute it, what rank 0 finds counts.

    def _end_evaluation(self, evaluation: Any) -> None:
        post(self._ended[self._rank], self._step)
        if self._session is not None:
            for ended in self._ended:
                self._group.wait(ended, self._step, self._goes_on)
            self._session.check("end_evaluation", evaluation)

    def _fail_evaluation(self, why: bytes) -> None:
        if self._session is not None:
            self._session.check("fail_evaluation", why)
        else:
            self._group.fail(why)

    def _drain(self) -> None:
        if self._session is not None:
            self._session.call("drain")

    def _leave(self) -> None:
        if self._session is not None:
            self._session.call("leave")
