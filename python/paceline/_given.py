"""What `paceline.worker` is given: one model whose tensors have values, at most one optimizer, and a process that has no other worker."""

from __future__ import annotations

import os
import weakref
from typing import Any, Callable, List, Optional

import torch
from torch.nn.parameter import is_lazy

from ._errors import Misuse
from ._wrappers import plain_name

_MODELS = 'torch.nn.ModuleDict({"generator": generator, "critic": critic})'
_GROUPS = 'torch.optim.Adam([{"params": generator.parameters()}, {"params": critic.parameters(), "lr": 1e-4}])'

_last: Optional[Callable[[], Any]] = None  # The worker that was made last, if it is there yet.
_made_in = 0  # By which process.


def check(model: Any, optimizer: Any) -> None:
    """Misuse, with what to do, of anything else. `optimizer`: None, or a text, if there is none."""
    if not isinstance(model, torch.nn.Module):
        raise Misuse(f"hand paceline.worker one torch.nn.Module: got {_article(model)}. Several models are one as "
                     f"{_MODELS}, and w.step takes the sum of their losses")
    _refuse_what_has_no_values(model)
    if optimizer is not None and not isinstance(optimizer, str) and not _is_optimizer(optimizer):
        raise Misuse(f"hand paceline.worker one optimizer: got {_article(optimizer)}. Several are one with groups, as {_GROUPS}; "
                     "in a job rates of groups are spec.training.parameterGroups")
    other = _last() if _last is not None else None
    if other is not None and other.is_open and _made_in == os.getpid():
        raise Misuse(f"take one paceline.worker for all models of a process, which is one worker of its job: {_MODELS} is one "
                     "model, and w.step takes the sum of their losses")


def note(worker: Any) -> None:
    """This process has it, as long as it `is_open`."""
    global _last, _made_in
    _last, _made_in = weakref.ref(worker), os.getpid()


def lacking(model: torch.nn.Module, optimizer: Any) -> str:
    """The parameters that `model` trains and `optimizer` has not, for a sentence; "" if there are none."""
    groups = getattr(optimizer, "param_groups", None)
    if groups is None:
        return ""
    there = {id(parameter) for group in groups for parameter in group["params"]}
    return _some([plain_name(model, name) for name, parameter in model.named_parameters()
                  if parameter.requires_grad and id(parameter) not in there])


def _refuse_what_has_no_values(model: torch.nn.Module) -> None:
    tensors = [*model.named_parameters(), *model.named_buffers()]
    lazy = [plain_name(model, name) for name, tensor in tensors if is_lazy(tensor)]
    if lazy:
        raise Misuse("make one forward pass before paceline.worker, which gives lazy layers their shapes: with torch.no_grad(): "
                     f"model(example). Not initialized yet: {_some(lazy)}")
    nowhere = [plain_name(model, name) for name, tensor in tensors if tensor.is_meta]
    if nowhere:
        raise Misuse("give the model its values before paceline.worker: model.to_empty(device=...) and initial values, or "
                     f"load_state_dict(..., assign=True). On the meta device, without values: {_some(nowhere)}")


def _is_optimizer(one: Any) -> bool:
    return callable(getattr(one, "step", None)) and callable(getattr(one, "zero_grad", None))


def _some(names: List[str]) -> str:
    return ", ".join(names[:2]) + (f" and {len(names) - 2} more" if len(names) > 2 else "")


def _article(value: Any) -> str:
    name = type(value).__name__
    return f"an {name}" if name[:1].lower() in "aeiou" else f"a {name}"
