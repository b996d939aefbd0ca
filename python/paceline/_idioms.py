"""What a plain PyTorch loop does to gradients by itself, and a script of a job leaves to `w.step`: noticed, and named.

PyTorch is watched where such lines come by: hooks of its optimizers, and functions of its GradScaler and of its clipping that
are wrapped when the first worker is made. Without an open worker, and for parameters of others, they do what they did.
"""

from __future__ import annotations

import functools
import warnings
import weakref
from typing import Any, Callable, Dict, Iterable, List, Set

import torch
from torch.nn.utils import clip_grad
from torch.optim.optimizer import register_optimizer_step_pre_hook

from ._errors import Misuse

_AUTOCAST = ("parameters and gradients are float32, and a forward pass in half precision is torch.autocast(device, torch.bfloat16), "
             "which needs no scaler")
_MARK = "scaled by a GradScaler"  # In the metadata of an autograd node.

_open: "weakref.WeakSet[Watch]" = weakref.WeakSet()


class Watch:
    """Of the parameters that one worker trains, by name. `say`: a warning, to be said once."""

    def __init__(self, trained: Dict[str, torch.Tensor], say: Callable[[str], None], is_in_job: bool):
        self._trained, self._say, self._is_in_job = trained, say, is_in_job
        self._ids = {id(parameter) for parameter in trained.values()}
        self._said: Set[str] = set()
        self._strays: Set[str] = set()
        self.is_scaled = False  # Something was, since the step before.
        for parameter in trained.values():
            parameter.grad = None  # The loop would have begun with zero_grad().
        _look()
        _open.add(self)

    def note(self, name: str) -> None:
        """A backward pass that is not the worker's has given a gradient to it."""
        self._strays.add(name)

    def check(self) -> None:
        """Misuse where a gradient of such a pass is there, and would be learnt from."""
        if not self._strays:
            return
        there = [name for name in self._trained if name in self._strays and _is_something(self._trained[name].grad)]
        self._strays.clear()
        if there:
            more = f" and of {len(there) - 1} more" if len(there) > 1 else ""
            scaler = f"; delete the GradScaler with it: {_AUTOCAST}" if self.is_scaled else ""
            raise Misuse(f"delete loss.backward(): w.step(loss) makes the backward pass, and gradients of {there[0]}{more} are there "
                         "already. Of parts of a batch it is w.accumulate(part); spec.training.gradientClipNorm clips; "
                         f"model.zero_grad() drops what is not to be learnt from{scaler}")

    def has_strays(self) -> bool:
        """Since the step before: of a backward pass that is not the worker's, whatever became of its gradients."""
        return bool(self._strays)

    def check_loss(self, loss: Any) -> None:
        """Misuse of what cannot be meant as a loss."""
        if not isinstance(loss, torch.Tensor):
            hint = ": its .loss, say" if hasattr(loss, "loss") else ""
            raise Misuse(f"hand w.step the loss, a tensor with its graph{hint}: got {_article(type(loss).__name__)}")
        if loss.numel() != 1:
            raise Misuse("hand w.step one number, the mean over the batch (loss.mean()): got a loss of shape "
                         f"{list(loss.shape)}")
        if not loss.requires_grad:
            raise Misuse("the loss does not depend on the model that paceline.worker was given: it has no graph, as one that was "
                         "detached or computed under torch.no_grad()")
        if self.is_scaled and _is_marked(loss.grad_fn):
            raise Misuse(f"hand w.step the loss itself, and delete the GradScaler (scale, unscale_, step, update): {_AUTOCAST}")

    def forget(self) -> None:
        """The step is over, and its gradients are gone."""
        self._strays.clear()
        self.is_scaled = False

    def close(self) -> None:
        _open.discard(self)

    # --- What the script calls.

    def has(self, parameters: Iterable[Any]) -> bool:
        return any(id(parameter) in self._ids for parameter in parameters)

    def on_clip(self, parameters: List[Any]) -> None:
        if self.has(parameters) and all(parameter.grad is None for parameter in parameters if id(parameter) in self._ids):
            self._say_once("clipping finds no gradients here, for they exist within w.step alone: a job clips by "
                           "spec.training.gradientClipNorm")

    def on_step(self, optimizer: torch.optim.Optimizer) -> None:
        if not self._is_in_job:
            return
        if self.has(_parameters_of(optimizer)):
            self._say_once(f"step() of the script's {type(optimizer).__name__} is not wanted: within w.step the job's optimizer "
                           "makes the steps (spec.training.optimizer)")
        else:
            self._say_once(f"the script's {type(optimizer).__name__} trains parameters that paceline.worker was not given: they are "
                           "this process's own, each worker has others, and no checkpoint has them. What the job is to train "
                           "goes to paceline.worker in one torch.nn.ModuleDict")

    def on_schedule(self, scheduler: Any) -> bool:
        """Whether it is for rates that count nowhere."""
        is_in_vain = self._is_in_job and self.has(_parameters_of(scheduler.optimizer))
        if is_in_vain:
            self._say_once(f"step() of the script's {type(scheduler).__name__} counts nowhere: the manifest's schedule is the job's "
                           "(spec.training.learningRate)")
        return is_in_vain

    def _say_once(self, words: str) -> None:
        if words not in self._said:
            self._said.add(words)
            self._say(words)


def _article(name: str) -> str:
    return f"an {name}" if name[:1].lower() in "aeiou" else f"a {name}"


def _is_something(gradient: Any) -> bool:
    """zero_grad(set_to_none=False) leaves zeros."""
    if gradient is None:
        return False
    if hasattr(gradient, "to_local"):
        gradient = gradient.to_local()
    return bool(torch.count_nonzero(gradient.to_dense() if gradient.is_sparse else gradient))


def _is_marked(node: Any) -> bool:
    """Whether a scaled tensor is among what it was computed from."""
    seen, to_see = set(), [node]
    while to_see:
        node = to_see.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if _MARK in node.metadata:
            return True
        to_see.extend(before for before, _ in node.next_functions)
    return False


def _parameters_of(optimizer: torch.optim.Optimizer) -> Iterable[Any]:
    return (parameter for group in optimizer.param_groups for parameter in group["params"])


# --- Where such lines come by.


def _wrap(owner: Any, name: str, make: Callable[[Callable], Callable]) -> None:
    """Once."""
    function = vars(owner).get(name)
    if function is not None and not hasattr(function, "_is_watched"):
        wrapped = functools.wraps(function)(make(function))
        wrapped._is_watched = True  # type: ignore[attr-defined]
        setattr(owner, name, wrapped)


def _marking(scale: Callable) -> Callable:
    def wrapped(self: Any, outputs: Any) -> Any:
        scaled = scale(self, outputs)
        if self.is_enabled() and _open:
            for tensor in scaled if isinstance(scaled, (list, tuple)) else (scaled,):
                if isinstance(tensor, torch.Tensor) and tensor.grad_fn is not None:
                    tensor.grad_fn.metadata[_MARK] = True
            for watch in list(_open):
                watch.is_scaled = True
        return scaled
    return wrapped


def _refusing(function: Callable) -> Callable:
    def wrapped(self: Any, optimizer: torch.optim.Optimizer, *more: Any, **named: Any) -> Any:
        if self.is_enabled() and any(watch.has(_parameters_of(optimizer)) for watch in list(_open)):
            raise Misuse(f"delete the GradScaler (scale, unscale_, step, update): w.step(loss) takes the loss itself; {_AUTOCAST}")
        return function(self, optimizer, *more, **named)
    return wrapped


def _looking(clip: Callable) -> Callable:
    def wrapped(parameters: Any, *more: Any, **named: Any) -> Any:
        parameters = [parameters] if isinstance(parameters, torch.Tensor) else list(parameters)
        for watch in list(_open):
            watch.on_clip(parameters)
        if _open and all(parameter.grad is None for parameter in parameters):
            return None  # PyTorch's clip_grad_value_ would raise.
        return clip(parameters, *more, **named)
    return wrapped


def _telling(step: Callable) -> Callable:
    def wrapped(self: Any, *more: Any, **named: Any) -> Any:
        is_initial = getattr(self, "_is_initial", False)  # It makes one of its own when it is made.
        if is_initial or not any([watch.on_schedule(self) for watch in list(_open)]):
            return step(self, *more, **named)
        with warnings.catch_warnings():  # Of PyTorch, which misses a step of the optimizer: the job makes them.
            warnings.filterwarnings("ignore", "Detected call of `lr_scheduler.step\\(\\)` before")
            return step(self, *more, **named)
    return wrapped


def _on_step(optimizer: torch.optim.Optimizer, *_: Any) -> None:
    for watch in list(_open):
        watch.on_step(optimizer)


def _family(kind: type) -> List[type]:
    return [kind] + [one for below in kind.__subclasses__() for one in _family(below)]


_is_looking = False


def _look() -> None:
    global _is_looking
    for kind in _family(torch.amp.GradScaler):  # Those too that have been derived since.
        _wrap(kind, "scale", _marking)
        _wrap(kind, "unscale_", _refusing)
        _wrap(kind, "step", _refusing)
    for kind in _family(torch.optim.lr_scheduler.LRScheduler):
        _wrap(kind, "step", _telling)
    if not _is_looking:
        _is_looking = True
        _wrap(clip_grad, "_clip_grads_with_norm_", _looking)  # Under whatever name a script has imported the others.
        for module in (torch.nn.utils, clip_grad):
            _wrap(module, "clip_grad_value_", _looking)
        register_optimizer_step_pre_hook(_on_step)
