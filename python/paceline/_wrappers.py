"""What PyTorch wraps around a module: it computes the same, and leaves traces in names and gradients."""

from __future__ import annotations

import sys
from typing import Callable, List, Optional

import torch

from ._errors import Misuse

# By the class, and the attribute that holds the module.
_WRAPPERS = {
    "OptimizedModule": "_orig_mod",  # torch.compile
    "DataParallel": "module",
    "DistributedDataParallel": "module",
    "FullyShardedDataParallel": "_fsdp_wrapped_module",
    "ActivationWrapper": "_checkpoint_wrapped_module",  # checkpoint_wrapper and offload_wrapper
}


def _kind(module: Optional[torch.nn.Module]) -> str:
    """The wrapper's class, which a script may have derived its own from; "" of a module of another kind."""
    return next((kind.__name__ for kind in type(module).__mro__
                 if kind.__name__ in _WRAPPERS and kind.__module__.partition(".")[0] == "torch"), "")


def _wrapped_at(module: Optional[torch.nn.Module]) -> Optional[str]:
    """Under which attribute a wrapper has its module."""
    return _WRAPPERS.get(_kind(module))


def _child(module: Optional[torch.nn.Module], name: str) -> Optional[torch.nn.Module]:
    return module._modules[name] if module is not None and name in module._modules else None


def plain_module(module: torch.nn.Module) -> torch.nn.Module:
    """Without what is wrapped around it."""
    attribute = _wrapped_at(module)
    while attribute is not None:
        module = module._modules[attribute]  # type: ignore[assignment]
        attribute = _wrapped_at(module)
    return module


def plain_name(model: torch.nn.Module, name: str) -> str:
    """That a tensor or module called `name` in `model` has in the plain one. Some wrappers stand in such names, some do not."""
    plain: List[str] = []
    at: Optional[torch.nn.Module] = model
    for part in name.split(".") if name else []:
        attribute = _wrapped_at(at)
        while attribute is not None and attribute != part:
            at = _child(at, attribute)
            attribute = _wrapped_at(at)
        if attribute is None:
            plain.append(part)
        at = _child(at, part)
    return ".".join(plain)


def without_compiled(name: str) -> str:
    """A name of a file that was written from a compiled module, as the plain one has it."""
    return ".".join(part for part in name.split(".") if part != "_orig_mod")


def is_sharded(tensor: torch.Tensor) -> bool:
    """As fully_shard makes them."""
    module = sys.modules.get("torch.distributed.tensor")  # Whoever has not imported it has none.
    return module is not None and isinstance(tensor, module.DTensor)


def refuse_what_moves(model: torch.nn.Module) -> None:
    """Misuse of wrappers that put parameters elsewhere in each pass."""
    for name, module in model.named_modules():
        if _kind(module) == "FullyShardedDataParallel":
            raise Misuse(f"take fully_shard(model) of torch.distributed.fsdp in the place of FullyShardedDataParallel, which "
                         f"moves parameters in each pass: {plain_name(model, name) or 'the model'} is one")


def keep_gradients(model: torch.nn.Module) -> Callable[[], None]:
    """Each DistributedDataParallel leaves gradients and buffers to the worker, as in its no_sync(). Gives what undoes that.

    It would put back those that have been handed over, and average what is averaged anyway.
    """
    former = []
    for module in model.modules():
        if _kind(module) == "DistributedDataParallel":
            former.append((module, module.require_backward_grad_sync, module.require_forward_param_sync))
            module.require_backward_grad_sync = module.require_forward_param_sync = False

    def undo() -> None:
        for module, gradients, buffers in former:
            module.require_backward_grad_sync, module.require_forward_param_sync = gradients, buffers

    return undo
