"""Batches that a DataLoader's workers read before their turn.

Which samples a step gets is known when it is released, not before. But it can be guessed (docs/adr/0056): the loader's workers
are asked for the batches that are expected next, and what they have read is found by its samples. A batch that nobody has read
is loaded in the script's process. So a wrong guess costs a read, and no sample is trained on that was not given.
"""

from __future__ import annotations

import ctypes
import os
import signal
from collections import OrderedDict, deque
from typing import Any, Callable, Deque, Iterable, List, NamedTuple, Optional, Tuple

import torch
from torch.utils.data import DataLoader

Samples = Tuple[int, ...]
# Of the step that comes so many behind the one in work, and how many samples to have room for; empty: not to be guessed.
Expect = Callable[[int, int], List[int]]

_PR_SET_PDEATHSIG = 1


class Counts(NamedTuple):
    read_ahead: int  # Batches that the loader's workers had read, or were reading, when they were wanted.
    read_when_wanted: int  # In the script's process.
    in_vain: int  # That nobody has wanted.


class _Plan:
    """The loader's batch sampler: what is to be read next. It may have more again after it has ended."""

    def __init__(self) -> None:
        self.to_ask: Deque[Samples] = deque()
        self.asked: Deque[Samples] = deque()  # In the order in which they come.

    def __iter__(self) -> "_Plan":
        return self

    def __next__(self) -> List[int]:
        if not self.to_ask:
            raise StopIteration
        self.asked.append(self.to_ask.popleft())
        return list(self.asked[-1])


class _InWorker:
    """Begins a worker of the loader: it ends with the script, however that ends, and signals to the script are not its own."""

    def __init__(self, then: Optional[Callable[[int], None]]):
        self._then = then

    def __call__(self, index: int) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        parent = torch.multiprocessing.parent_process()
        if parent is not None and not parent.is_alive():
            os._exit(1)  # It went before the kernel was told.
        if self._then is not None:
            self._then(index)


def reading(loader: DataLoader, batches: Iterable[List[int]], collate: Callable[[List[Any]], Any], **more: Any) -> DataLoader:
    """The same loader with other batches."""
    return DataLoader(**{
        "dataset": loader.dataset, "batch_sampler": batches, "num_workers": loader.num_workers, "collate_fn": collate,
        "pin_memory": loader.pin_memory, "timeout": loader.timeout, "worker_init_fn": loader.worker_init_fn,
        "multiprocessing_context": loader.multiprocessing_context, "prefetch_factor": loader.prefetch_factor,
        "generator": loader.generator, **more})


class Ahead:
    """Used by one thread. `expect` is asked for each batch that is taken."""

    def __init__(self, loader: DataLoader, collate: Callable[[List[Any]], Any], load: Callable[[List[int]], Any],
                 expect: Expect, seed: int):
        self._load, self._expect = load, expect
        self._of = loader, collate
        self._plan = _Plan()
        self.depth = loader.num_workers * (loader.prefetch_factor or 2)  # Batches that are asked for ahead.
        self._expected: Deque[Samples] = deque()  # Of the next step, and those behind it.
        self._kept: "OrderedDict[Samples, Any]" = OrderedDict()  # Read, and passed over.
        self._taken = self._missed = self._in_vain = 0
        self._loader = reading(loader, self._plan, collate, worker_init_fn=_InWorker(loader.worker_init_fn),
                               generator=loader.generator or torch.Generator().manual_seed(seed), persistent_workers=True)
        self._batches = iter(self._loader)  # Starts its workers; there is nothing to read yet.

    def is_of(self, loader: DataLoader, collate: Callable[[List[Any]], Any]) -> bool:
        return self._of[0] is loader and self._of[1] == collate

    def counts(self) -> Counts:
        return Counts(self._taken, self._missed, self._in_vain)

    def take(self, indices: List[int]) -> Any:
        """The batch of these samples. What loading it raises, in a worker of the loader or here."""
        wanted = tuple(indices)
        self._look_ahead(wanted)
        is_read, data = self._receive(wanted)
        self._ask()
        if is_read:
            self._taken += 1
            return data
        self._missed += 1
        return self._load(indices)

    def _look_ahead(self, wanted: Samples) -> None:
        if self._expected and self._expected[0] == wanted:
            self._expected.popleft()  # Then the others are expected still.
        else:
            self._expected.clear()
        while len(self._expected) < self.depth:
            samples = tuple(self._expect(len(self._expected) + 1, len(wanted)))
            if not samples:
                break
            self._expected.append(samples)
        self._plan.to_ask.clear()
        if self._asked_behind(wanted) is not None:
            self._plan.to_ask.extend(s for s in self._expected if s not in self._plan.asked and s not in self._kept)

    def _asked_behind(self, wanted: Samples) -> Optional[List[Samples]]:
        """What workers read for the time after that step, if those are the next ones expected."""
        asked = list(self._plan.asked)
        if wanted in asked:
            asked = asked[asked.index(wanted) + 1:]
        return asked if asked == list(self._expected)[:len(asked)] else None

    def _receive(self, wanted: Samples) -> Tuple[bool, Any]:
        if wanted in self._kept:
            return True, self._kept.pop(wanted)
        while wanted in self._plan.asked:
            samples = self._plan.asked.popleft()
            try:
                data = next(self._batches)
            except Exception:
                if samples == wanted:
                    raise
                continue  # Nobody has wanted it.
            if samples == wanted:
                return True, data
            self._kept[samples] = data
            if len(self._kept) > self.depth:
                self._kept.popitem(last=False)
                self._in_vain += 1
        return False, None

    def _ask(self) -> None:
        """Has workers begin anew where they have nothing to do, or do what nobody expects any more."""
        if not self._expected or (self._plan.asked and list(self._plan.asked) == list(self._expected)[:len(self._plan.asked)]):
            return
        self._in_vain += len(self._plan.asked)
        self._plan.asked.clear()
        self._plan.to_ask = deque(samples for samples in self._expected if samples not in self._kept)
        self._batches = iter(self._loader)

    def close(self) -> None:
        """Ends the loader's workers."""
        self._in_vain += len(self._plan.asked) + len(self._kept)
        self._plan.asked.clear()
        self._plan.to_ask.clear()
        self._kept.clear()
        end = getattr(self._batches, "_shutdown_workers", None)
        if end is not None:  # Or they end with the iterator, which the traceback of an error may hold on to.
            end()
        self._batches = iter(())
        self._loader._iterator = None
