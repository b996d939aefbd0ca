"""The same loop without a job: one process, PyTorch's own optimizer."""

from __future__ import annotations

import math
import sys
import time
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Tuple

import torch

from ._ahead import reading
from ._data import Batch, Epochs, source_of
from ._errors import Misuse
from ._idioms import Watch
from ._one_sample import OneSample, misuse_of
from ._skipping import FORGOTTEN, Skipping
from ._turns import Turns
from ._worker import Loss, Step
from ._wrappers import plain_name


class Alone:
    """Has the methods of `Worker`, so that a script of a job runs anywhere."""

    is_evaluator = False
    index = 0
    group = ""
    draining = False

    def __init__(self, model: torch.nn.Module, optimizer: torch.optim.Optimizer, epochs: Optional[int],
                 batch_size: int, turns: Turns = Turns(None)):
        self.model, self._optimizer, self._epochs, self._batch_size = model, optimizer, epochs, batch_size
        self.job: Dict[str, Any] = {}
        self.device = next(model.parameters()).device
        self._batch: Optional[Batch] = None
        self._steps = 0
        self._epochs_of = Epochs(self.log)
        self._began = 0.0
        self._turns = turns
        self._epoch = 0  # In work, or to come.
        self._rest: Optional[Iterator[Tuple[List[int], Any]]] = None  # Of this epoch, where a turn was left before its end...
        self._rest_of: Any = None  # ...with these data.
        self._has_said_that_turns_go_on = False
        trained = {plain_name(model, name): parameter for name, parameter in model.named_parameters() if parameter.requires_grad}
        self._watch = Watch(trained, self.log, is_in_job=False)
        self._one_sample = OneSample(model, self.log)
        self._skipping = Skipping(self.log)
        self._has_stepped = False  # In this epoch.
        self._is_backward = False  # This worker's own.
        self.is_open = False  # Within the block.
        self._handles = [parameter.register_post_accumulate_grad_hook(self._noting(name)) for name, parameter in trained.items()]

    def _noting(self, name: str) -> Callable[[torch.Tensor], None]:
        def on_ready(_: torch.Tensor) -> None:
            if not self._is_backward:
                self._watch.note(name)
        return on_ready

    def __enter__(self) -> "Alone":
        self.is_open = True
        return self

    def __exit__(self, kind: Any, error: Optional[BaseException], trace: Any) -> None:
        self.is_open = False
        for handle in self._handles:
            handle.remove()
        self._watch.close()
        misuse = misuse_of(error) if self._batch is not None else None
        if misuse is not None:
            raise misuse from error

    def data(self, source: Any, collate_fn: Optional[Callable] = None) -> Iterator[Batch]:
        from_where = source_of(source, collate_fn)
        size = from_where.batch_size() or self._batch_size
        self._epochs_of.begin(from_where, torch.initial_seed())
        is_epoch = self._turns.is_epoch(sys._getframe(1))
        if from_where.loader is None:
            return self._batches(from_where.samples, lambda batches: map(from_where.load, batches), size, is_epoch, source)
        return self._batches(from_where.samples, lambda batches: reading(from_where.loader, batches, from_where.collate), size,
                             is_epoch, source)

    def leases(self, samples: int) -> Iterator[Batch]:
        self._epochs_of.sampler = None
        return self._numbers(samples, self._turns.is_epoch(sys._getframe(1)))

    def steps(self, samples: int) -> Iterator[int]:
        return (len(batch) for batch in self._numbers(samples, self._turns.is_epoch(sys._getframe(1))))

    def _numbers(self, samples: int, is_epoch: bool) -> Iterator[Batch]:
        return self._batches(samples, lambda batches: map(list, batches), self._batch_size, is_epoch, samples)

    def _batches(self, samples: int, load: Callable[[List[List[int]]], Iterable[Any]], size: int, is_epoch: bool,
                 source: Any) -> Iterator[Batch]:
        end = self._epochs if self._epochs is not None else self._epoch + 1
        while self._epoch < end:
            if self._rest is not None and self._rest_of is source:
                self._say_that_turns_go_on()
            else:
                sampler = self._epochs_of.sampler
                order = torch.randperm(samples).tolist() if sampler is None else sampler.draw(self._epoch).tolist()
                batches = [order[begin:begin + size] for begin in range(0, len(order), size)]
                self._rest, self._rest_of = iter(zip(batches, load(batches))), source
            for numbers, data in self._rest:
                self._skip_forgotten()
                self._batch = Batch(data, numbers, self._epoch)
                self._skipping.has_begun = False
                self._began = time.monotonic()
                with self._one_sample.batch_of(len(numbers)):
                    yield self._batch
            self._skip_forgotten()
            if not self._has_stepped:
                raise Misuse(f"no batch of epoch {self._epoch} had a step: {FORGOTTEN}")
            self._has_stepped = False
            self._rest = None
            self._epoch += 1
            if is_epoch:
                return

    def _say_that_turns_go_on(self) -> None:
        if not self._has_said_that_turns_go_on:
            self._has_said_that_turns_go_on = True
            self.log("a loop over w.data was left before its epoch was over: the next one goes on from there")

    def _skip_forgotten(self) -> None:
        if self._batch is not None:
            self._skip(is_asked=False)

    def skip(self) -> None:
        if self._batch is None:
            raise Misuse("there is no batch to step with: take one from w.data(...) first")
        self._skip(is_asked=True)

    def _skip(self, is_asked: bool) -> None:
        has_strays = self._watch.has_strays()
        self._watch.check()
        self._skipping.refuse_what_cannot(is_asked, has_strays)
        self._batch = None

    def accumulate(self, loss: Loss) -> None:
        self._skipping.has_begun = True
        self._watch.check()
        self._backward(loss)

    def _backward(self, loss: Loss) -> float:
        if callable(loss):
            loss = loss()
        self._watch.check_loss(loss)
        self._is_backward = True
        try:
            loss.backward()
        finally:
            self._is_backward = False
        return float(loss.detach())

    def step(self, loss: Loss, *, samples: Optional[int] = None, correct: int = 0) -> Step:
        if self._batch is None:
            raise Misuse("there is no batch to step with: take one from w.data(...) first")
        self._watch.check()
        if self._skipping.counted(self._batch.data, len(self._batch), samples) == 0:
            self._batch = None
            self._optimizer.zero_grad()
            self._watch.forget()
            return Step(self._steps, math.nan, False, time.monotonic() - self._began, 0.0)
        self._skipping.has_begun = True  # What raises from here on is no batch to skip.
        value = self._backward(loss)
        self._optimizer.step()
        self._optimizer.zero_grad()
        self._watch.forget()
        self._batch = None
        self._has_stepped = True
        self._steps += 1
        return Step(self._steps, value, False, time.monotonic() - self._began, 0.0)

    def evaluate(self, function: Callable[[], Any]) -> None:
        was_training = self.model.training
        self.model.eval()
        try:
            with torch.no_grad():
                self.log(f"evaluated: {function()}")
        finally:
            self.model.train(was_training)

    def alive(self) -> bool:
        return True

    def drain(self) -> None:
        pass

    def log(self, text: str, is_warning: bool = False) -> None:
        print(text)
