"""A training loop of one's own as a worker of a job."""

from __future__ import annotations

import ctypes
import json
import math
import os
import signal
import sys
import threading
import time
import weakref
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Tuple, Union

import torch
from torch.utils.hooks import RemovableHandle

from . import _native
from ._ahead import Ahead
from ._cause import cause_of, is_out_of_memory
from ._data import Batch, Epochs, Source, sizes_of_batches, source_of
from ._errors import Error, HoldsFrozen, Misuse
from ._evaluation import evaluation_of
from ._group import is_group
from ._handing import Handing
from ._joined import joined, say_what_is_frozen
from ._last_word import said_of, say_what_is_not_caught
from ._leaving import close_at_exit, is_good_end, on_sigterm
from ._model import GivenUp, _warn
from ._name import have_a_name
from ._one_sample import OneSample, misuse_of
from ._skipping import Skipping
from ._turns import Turns
from ._words import encoded, named

_POLL_MS = 50  # Signals are looked at so often while the worker waits.
_MAY_BE_MEMORY = (RuntimeError, torch.jit.Error)


Loss = Union[torch.Tensor, Callable[[], torch.Tensor]]


class Step(NamedTuple):
    """What became of a step."""

    number: int  # Of this worker's steps, from 1 on.
    loss: float  # As given, before anything was learnt from it.
    given_up: bool  # Nobody wanted it any more: its samples are trained on by somebody else, or later.
    compute_seconds: float  # From the batch to its gradients.
    wait_seconds: float  # Until there was something to do again.


class Worker:
    """One worker of a job, or its evaluator: made by `paceline.worker`, used in a ``with`` block.

    Used by one thread. Values of parameters change within `step` and before the first batch, never else.
    """

    def __init__(self, model: torch.nn.Module, turns: Turns = Turns(None), frozen: str = "whole"):
        self._turns = turns
        self._forward_hook: Optional[RemovableHandle] = None
        self._is_turn_cut = self._has_said_that_turns_go_on = False
        self._ahead: Optional[Ahead] = None
        self._frozen = frozen
        self._flat, self._session = joined(model, frozen)
        self._at_exit = close_at_exit(self)
        self.model = model
        self.job: Dict[str, Any] = json.loads(self._session.call("job"))
        """The resolved manifest."""
        say_what_is_frozen(self._flat, self.log)
        self.is_evaluator = bool(self._session.call("is_evaluator"))
        self.index: int = self._session.call("index")
        """The worker's number, in its group: 0, 1, ..."""
        self.group: str = self._session.call("group").decode()
        self.device = self._flat.device
        self._check_device()
        self._threads = self._session.call("threads")
        torch.set_num_threads(self._threads)
        _native.library().paceline_tune_allocator()
        self._started = self._is_too_large = False  # The batch is, for the memory there is.
        self._samples, self._steps = 0, 0  # Of an epoch; that were made.
        self._epochs = Epochs(self.log)
        self._batch: Optional[Batch] = None  # That a step is owed for.
        self._taken: Optional[_native.Work] = None
        self._next: Optional[_native.Work] = None
        self._one_sample = OneSample(model, _warn)
        self._skipping = Skipping(_warn, is_possible=not is_group())
        self._handing = Handing(self._session, len(self._flat), self._flat.trained_bytes)
        self._began, self._has_begun = 0.0, True  # The step, of the batch; without one there is nothing to begin.
        # TorchScript has no such hooks, and a model that is compiled in place would be compiled with it: there a step begins with
        # its backward pass.
        is_without_hooks = isinstance(model, torch.jit.ScriptModule) or getattr(model, "_compiled_call_impl", None) is not None
        if not is_without_hooks:
            self._forward_hook = model.register_forward_pre_hook(self._on_forward)
        self._drains = self._has_left = self._evaluates = False

    def _check_device(self) -> None:
        wanted = self._session.call("device").decode()
        if wanted == "cuda" and self.device.type != "cuda":
            self._close()
            raise Misuse("the job wants a GPU (workers.device), and the model lies on the CPU: "
                         "model.to(paceline.device()) before paceline.worker(model)")

    # --- Steps.

    def data(self, source: Any, collate_fn: Optional[Callable] = None) -> Iterator[Batch]:
        """Batches of `source`, until the job is over: of each epoch each sample once, over all workers.

        Where a loop over epochs stands around it, it ends with each epoch, before this worker's first batch of the next one,
        and what the loop asks for once the job is over is empty (`_turns`). Who leaves it by ``break`` goes on from there.

        `source`: a DataLoader (its dataset, collate_fn and a sampler of its own are used, not its batches), a Dataset
        with ``len()``, or a tuple of tensors; the same on every worker. A sampler of its own is one that gives
        something else than the whole data set once: an epoch is what that draws, in its order. Each batch is as large
        as the job says, and wants one `step`. Misuse: the batch before had none; workers cannot draw alike from the
        sampler, and why. An evaluator gets no batch.
        """
        from_where = source_of(source, collate_fn)
        if self.is_evaluator:
            return iter(())
        samples = self._epochs.begin(from_where, self.job["spec"]["training"].get("seed", 0), sizes_of_batches(self.job), self._started)
        return self._leases(samples, from_where.load, self._turns.is_epoch(sys._getframe(1)), from_where)

    def leases(self, samples: int) -> Iterator[Batch]:
        """As `data`, with the numbers of samples in the place of their data: ``batch.indices``, of 0 .. samples-1."""
        return self._leases(samples, lambda indices: list(indices), self._turns.is_epoch(sys._getframe(1)))

    def steps(self, samples: int) -> Iterator[int]:
        """The size of each step's batch, with a loader of one's own: nobody knows which samples were trained on.

        `samples`: of an epoch, over all workers.
        """
        self.log("batches are the script's own: samples are counted, but not known by number", is_warning=True)
        is_epoch = self._turns.is_epoch(sys._getframe(1))
        return (len(batch) for batch in self._leases(samples, lambda indices: list(indices), is_epoch))

    def _leases(self, samples: int, load: Callable[[List[int]], Any], is_epoch: bool,
                source: Optional[Source] = None) -> Iterator[Batch]:
        if self.is_evaluator:
            return
        if self._started and samples != self._samples:
            raise Misuse(f"the training set had {self._samples} samples and has {samples} now: it is one, for all epochs")
        self._samples = samples
        if source is not None and source.loader is not None and not self._is_over():
            load = self._read_ahead(source)
        self._start()
        if self._is_turn_cut:
            self._is_turn_cut = False
            self._say_that_turns_go_on()
        epoch = None
        while True:
            if self._batch is not None:
                self._skip(is_asked=False)
            work = self._take()
            if work is None:
                self._end_reading()
                return
            if is_epoch and epoch is not None and work.epoch > epoch:
                self._taken, self._next = None, work  # For the next turn.
                return
            epoch = work.epoch if epoch is None else max(epoch, work.epoch)
            indices = work.samples[:work.sample_count]
            self._batch = Batch(None, indices, work.epoch)
            self._has_begun = self._skipping.has_begun = False
            self._batch = Batch(load(indices), indices, work.epoch)
            try:
                with self._one_sample.batch_of(len(indices)):
                    yield self._batch
            except GeneratorExit:
                self._is_turn_cut = True
                raise

    def _say_that_turns_go_on(self) -> None:
        if not self._has_said_that_turns_go_on:
            self._has_said_that_turns_go_on = True
            self.log("a loop over w.data was left before its epoch was over: the next one goes on from there, with the samples "
                     "that nobody had yet", is_warning=True)

    def _read_ahead(self, source: Source) -> Callable[[List[int]], Any]:
        """Starts the workers of a DataLoader: before the job is joined, so that none has a part in its connections. They go on
        from turn to turn."""
        if self._ahead is not None and self._ahead.is_of(source.loader, source.collate):
            return self._ahead.take
        self._end_reading()
        self._ahead = Ahead(source.loader, source.collate, source.load, self._expect,
                            (torch.initial_seed() + self.index + int(os.environ.get("RANK", 0)) * 2**32) % 2**63)
        self._session.look_ahead(self._ahead.depth)
        return self._ahead.take

    def _expect(self, ahead: int, size: int) -> List[int]:
        room = (ctypes.c_uint32 * size)()
        found = self._session.call("expect", ahead, room, size)
        return room[:found] if found <= size else []

    def _end_reading(self) -> None:
        if self._ahead is not None:
            self._ahead.close()
            counts = self._ahead.counts()
            self._ahead = None
            self.log(f"batches: {counts.read_ahead} read ahead by the DataLoader's workers, {counts.read_when_wanted} when they "
                     f"were wanted, {counts.in_vain} in vain")

    def accumulate(self, loss: Loss) -> None:
        """Backward of a part of the batch, whose gradients `step`'s are added to.

        As with plain PyTorch, gradients of the parts add up: divide each loss by the number of parts.
        """
        self._owe()
        self._begin_step()
        self._skipping.has_begun = True
        self._flat.watch.check()
        if self._is_too_large:
            return
        self._flat.on_gradient = lambda index, gradient: self._handing.tick()
        try:
            self._backward(loss() if callable(loss) else loss)
        except GivenUp:
            pass  # `step` says so.
        except _MAY_BE_MEMORY as error:
            self._note_too_large(error)
        finally:
            self._flat.on_gradient = None

    def skip(self) -> None:
        """Does without the batch in hand: its samples count as skipped, and nobody gets them in this epoch any more.

        So does asking for the next batch without a step. Misuse: there is none, or `accumulate` had a part of it.
        """
        self._owe()
        self._skip(is_asked=True)

    def _skip(self, is_asked: bool) -> None:
        has_strays = self._flat.watch.has_strays()
        self._flat.check()  # Gradients of a backward pass of the script's own are no skipped batch...
        self._skipping.refuse_what_cannot(is_asked, has_strays)  # ...nor are they where it has used them by itself.
        self._end_without_samples()

    def _end_without_samples(self) -> None:
        self._begin_step()
        self._session.check("end_step", 0.0, 0, 0)
        self._done_with_batch()

    def _done_with_batch(self) -> None:
        self._batch = self._taken = None
        self._is_too_large = False
        self._flat.drop_gradients()
        self._next = self._wait()

    def step(self, loss: Loss, *, samples: Optional[int] = None, correct: int = 0) -> Step:
        """Backward, push, and what the scheme demands, until there is something to do again or the job is over.

        `loss`: the mean over the batch, or a function that computes it: then a forward pass that runs out of memory is
        given up as a backward pass is. Afterwards parameters hold what the next batch is computed on; gradients are
        None. `samples`: over how many of the batch's `loss` is a mean, where that is not what the batch holds; the others
        are skipped. `correct`: of the batch's samples, for the training accuracy on display.
        """
        batch = self._owe()
        self._begin_step()
        self._flat.check()
        counted = self._skipping.counted(batch.data, len(batch), samples)
        if counted == 0:
            self._end_without_samples()
            return Step(self._steps, math.nan, False, time.monotonic() - self._began, 0.0)
        self._skipping.has_begun = True  # What raises from here on is no batch to skip.
        value, given_up = self._run(loss)
        if not given_up:
            self._flat.store_buffers()
            code = self._session.call("end_step", value, counted, correct)
            given_up = code == _native.GIVEN_UP
            _native.check(_native.OK if given_up else code)
        self._steps += 1
        computed = time.monotonic()
        self._done_with_batch()
        return Step(self._steps, value, given_up, computed - self._began, time.monotonic() - computed)

    def _begin_step(self) -> None:
        """What comes is a part of the step, and not of what the script does between its steps."""
        if self._batch is not None and not self._has_begun:
            self._has_begun = True
            self._session.check("begin_step")

    def _on_forward(self, module: torch.nn.Module, inputs: Any) -> None:
        if torch.is_grad_enabled() and not self._has_begun:
            self._begin_step()

    def _owe(self) -> Batch:
        if self._batch is None:
            raise Misuse("there is no batch to step with: take one from w.data(...) first")
        return self._batch

    def _note_too_large(self, error: Exception) -> None:
        """Raises `error` if it is another one."""
        if not is_out_of_memory(error):
            raise error
        self._is_too_large = True
        self.log("out of memory: the next batch will be smaller", is_warning=True)

    def _run(self, loss: Loss) -> Tuple[float, bool]:
        """The last backward pass. The loss, and whether it was given up, which the job knows then."""
        self._flat.on_gradient = self._hand
        try:
            self._handing.begin()
            if self._is_too_large:
                raise GivenUp
            if callable(loss):
                loss = loss()
            self._backward(loss)
            for index in self._flat.leftover():  # What only passes before have reached.
                self._hand(index, self._flat.gradient(index))
            self._hand_landed(is_to_wait=True)
            self._handing.flush()
        except GivenUp:
            pass
        except _MAY_BE_MEMORY as error:
            self._note_too_large(error)
        else:
            if not self._handing.count:
                raise Misuse("the loss does not depend on the model that paceline.worker was given")
            # A GPU has it only now: asked for before, it would wait for it with nothing to do.
            return float(loss.detach()), False
        finally:
            self._flat.on_gradient = None
        self._flat.forget_landed()
        self._session.check("give_up_step", _native.OUT_OF_MEMORY if self._is_too_large else _native.INTERRUPTED)
        self._flat.fetch()
        return float(loss.detach()) if isinstance(loss, torch.Tensor) else math.nan, True

    def _backward(self, loss: torch.Tensor) -> None:
        self._flat.watch.check_loss(loss)
        weight = self._session.loss_weight()
        loss.backward(None if weight is None else torch.full_like(loss, weight))

    def _hand(self, index: int, gradient: torch.Tensor) -> None:
        self._flat.drop_gradient(index)
        if self.device.type == "cpu":
            self._handing.add(index, gradient.detach())
            return
        # Earlier ones are handed over while this one travels.
        self._flat.land(index, gradient.detach())
        self._handing.tick()
        self._hand_landed(is_to_wait=False)

    def _hand_landed(self, is_to_wait: bool) -> None:
        for index, home in self._flat.landed(is_to_wait):
            self._handing.add(index, home)

    def alive(self) -> bool:
        """Says that a long step makes progress; False: nobody wants it any more."""
        return bool(self._session.call("may_go_on"))

    # --- Evaluation.

    def evaluate(self, function: Callable[[], Any]) -> None:
        """In the evaluator, which a job with spec.evaluator has: judges published versions until the job is over.

        `function()` judges the model as it is: it returns the mean loss over the held-out samples, or a dict of loss
        and, as it likes, accuracy (0..1), samples, and metrics of its own. The model is in evaluation mode and no
        gradients are recorded. In a worker this does nothing.
        """
        if not self.is_evaluator:
            return
        self._evaluates = True
        self._start()
        while self._take() is not None:
            was_training = self.model.training
            self.model.eval()
            try:
                with torch.no_grad():
                    judged = function()
                self._end_evaluation(judged)
            except Exception as error:
                self._session.check("fail_evaluation", encoded(named(error)))
                raise
            finally:
                self.model.train(was_training)
                self._taken = None

    def _end_evaluation(self, judged: Any) -> None:
        self._session.check("end_evaluation", ctypes.byref(evaluation_of(judged)))

    # --- The loop behind it.

    def _start(self) -> None:
        if self._started:
            return
        self._flat.begin()
        self._session.keep(self._flat.frozen, self._frozen, lambda: not self._drains)
        sampler = self._epochs.sampler
        self._session.check("start", self._samples, self.device.type.encode(), self._threads,
                            None if sampler is None else encoded(sampler.name))
        self._started = True

    def _average_frozen(self, refused: HoldsFrozen) -> None:
        """As the job that goes on does. Of several ranks this one alone hears of it, and raises `refused`."""
        if is_group():
            raise refused
        self.log(f"frozen parameters are averaged, as before this job went on: {refused}", is_warning=True)
        self._session.close()
        self._flat.release()
        self._flat, self._session = joined(self.model, "averaged")
        say_what_is_frozen(self._flat, self.log)
        self._handing = Handing(self._session, len(self._flat), self._flat.trained_bytes)
        self._started = False
        self._start()

    def _wait(self) -> Optional[_native.Work]:
        """The next work, which is the session's until it is done with; None: the job is over for this worker."""
        work = _native.Work()
        while True:
            try:
                self._session.check("next", _POLL_MS, ctypes.byref(work))
            except HoldsFrozen as refused:
                self._average_frozen(refused)
                continue
            if work.kind == _native.OVER:
                self.log("leaving: " + self._session.call("reason").decode())
                if said := self._flat.said_at_the_end():
                    self.log(said, is_warning=True)
                return None
            if work.kind == _native.DRAW:
                self._draw(work.epoch)
            elif work.kind != _native.NOTHING:
                self._flat.fetch()
                return work

    def _draw(self, epoch: int) -> None:
        positions = self._epochs.sampler.draw(epoch)
        room = (ctypes.c_uint32 * len(positions)).from_buffer(positions)
        self._session.check("drew", epoch, room, len(positions))

    def _take(self) -> Optional[_native.Work]:
        if self._next is None and not self._is_over():
            self._next = self._wait()
        self._taken, self._next = self._next, None
        self._began = time.monotonic()
        return self._taken

    def _is_over(self) -> bool:
        return self._session.call("reason") != b""

    @property
    def draining(self) -> bool:
        """Somebody has asked this worker to leave: what is in work is finished, and no batch comes any more."""
        return self._drains

    @property
    def is_open(self) -> bool:
        """It has not left its job yet."""
        return not self._has_left

    def drain(self) -> None:
        """Asks it to."""
        self._drains = True
        if not self._has_left:
            self._session.call("drain")

    def log(self, text: str, is_warning: bool = False) -> None:
        """A line in the worker's log."""
        _native.library().paceline_log(1 if is_warning else 0, encoded(text))

    # --- The block.

    def __enter__(self) -> "Worker":
        is_main = threading.current_thread() is threading.main_thread()
        if is_main and signal.getsignal(signal.SIGTERM) in (signal.SIG_DFL, on_sigterm):
            on_sigterm.worker = weakref.ref(self)
            signal.signal(signal.SIGTERM, on_sigterm)  # For good: who ends a job ends its scripts, and they go on behind their loop.
        return self

    def __exit__(self, kind: Any, error: Optional[BaseException], trace: Any) -> None:
        misuse = misuse_of(error) if self._batch is not None else None
        if isinstance(error, Exception) and not isinstance(error, Error) and self._batch is not None and misuse is None:
            # Perhaps for the sake of its samples: the job hears that they ended a worker, not that it has left.
            cause = "" if self._steps else cause_of(error)  # Of a script that has made a step, it is its samples' fault.
            self._session.check("fail_step", encoded(said_of(error)), encoded(cause))
        if is_good_end(error) and self._started and not (self.is_evaluator or self._drains or self._is_over()):
            self._session.call("leave")
            self.log("the script has ended before its job: what it had not trained on goes to the other workers")
        if kind is None and self.is_evaluator and not self._evaluates:
            error = Misuse("the job has an evaluator, and this script never calls w.evaluate(...): nothing would be judged")
        self._close()
        if misuse is not None:
            raise misuse from error
        if kind is None and error is not None:
            raise error

    def _close(self) -> None:
        self._end_reading()
        self._has_left = True  # A signal may come at any moment.
        if self._forward_hook is not None:
            self._forward_hook.remove()
        self._session.close()
        self._flat.release()
        self._at_exit()


if "PACELINE_JOB" in os.environ:
    say_what_is_not_caught()
    have_a_name()
