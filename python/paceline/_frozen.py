"""Frozen parameters, which each worker has by itself: weights of a base model, in any type.

Nothing of them travels with a step. All workers are to have the same, so each says what it has before it joins.
"""

from __future__ import annotations

import ctypes
import hashlib
import re
from typing import Any, Dict, List, Optional, Sequence, Tuple

import torch

from ._errors import Misuse
from ._wrappers import is_sharded, plain_name

_PART_BYTES = 64 << 20  # Of a tensor on a GPU, copied at once.

WAYS = ("whole", "first", "omit", "averaged")
"""What becomes of them. Whole: the model file holds them; first: as well, and all workers get the first one's values; omit: it does not.
Averaged: those of float32 are buffers, which travel with each step; others are each worker's own all the same."""


class Frozen:
    """One of them, by its plain name. `owner`: the module whose it is, where that matters."""

    def __init__(self, name: str, tensor: torch.Tensor, owner: Optional[torch.nn.Module] = None):
        self.name, self.tensor, self.owner = name, tensor, owner
        self._was: Optional[Tuple[Any, ...]] = None
        self._print: Optional[int] = None  # Of its bytes.

    @property
    def type(self) -> str:
        return f"{str(self.tensor.dtype).removeprefix('torch.')} {list(self.tensor.shape)}"

    def digest(self) -> str:
        """Equal for equal values of one type and shape; empty of a tensor that is sharded over processes, which has the shape alone to be
        compared. It is not to change from now on. Misuse of a tensor whose bytes cannot be told."""
        self._was, self._print = _state(self.tensor), _fingerprint(self.tensor)
        if is_sharded(self.tensor):
            return ""
        parts = {"": self.tensor.detach()}
        # What bitsandbytes has beside the bytes, and needs to read them.
        if getattr(self.tensor, "quant_state", None) is not None:
            parts.update(self.tensor.quant_state.as_dict(packed=True))
        if getattr(self.tensor, "SCB", None) is not None:
            parts["SCB"] = self.tensor.SCB
        return self._digest(parts)

    def _digest(self, parts: Dict[str, Any]) -> str:
        found = hashlib.blake2b(digest_size=16)
        for label, part in sorted(parts.items()):
            found.update(f"{label} ".encode())
            if not isinstance(part, torch.Tensor):
                found.update(re.sub(r" at 0x[0-9a-f]+", "", repr(part)).encode())
                continue
            inner = _parts(part)
            if inner is not None:
                found.update(self._digest(inner).encode())
                continue
            found.update(f"{part.dtype} {list(part.shape)}".encode())
            self._add(found, part)
        return found.hexdigest()

    def _add(self, found: Any, tensor: torch.Tensor) -> None:
        try:
            flat = tensor.resolve_conj().resolve_neg().contiguous().reshape(-1).view(torch.uint8)
            for begin in range(0, flat.numel(), _PART_BYTES):
                part = flat[begin:begin + _PART_BYTES].cpu()
                found.update((ctypes.c_char * part.numel()).from_address(part.data_ptr()))
        except (RuntimeError, TypeError, ValueError, NotImplementedError) as error:
            raise Misuse(f"frozen parameter {self.name} is of a kind whose values cannot be compared: {type(self.tensor).__name__} of "
                         f"{self.tensor.dtype}, {self.tensor.layout}, on {self.tensor.device}") from error

    def is_plain(self) -> bool:
        """Whether its bytes are all of it."""
        return not (_lies_elsewhere(self.tensor) or self.tensor.is_quantized or
                    getattr(self.tensor, "quant_state", None) is not None or getattr(self.tensor, "SCB", None) is not None)

    def check(self, is_due: bool) -> None:
        """Misuse, by name, if it is trained or has changed after all. `is_due`: its bytes are looked at in any case."""
        if self.tensor.requires_grad:
            raise Misuse(f"parameter {self.name} is {self.type} and was frozen when paceline.worker was given the model: it cannot be trained. "
                         "What is to be trained later is float32 and not frozen at that time; freeze it afterwards, until it is to be trained")
        if not self._has_changed(is_due):
            return
        if not isinstance(self.tensor, torch.nn.Parameter):
            raise Misuse(f"buffer {self.name} is {self.type}, which is not averaged over workers, and has changed since training began. Make it "
                         "float32 before paceline.worker, or keep it as it is: eval() of its module, for statistics of a batch norm; "
                         "persistent=False, if it may differ from worker to worker")
        raise Misuse(f"frozen parameter {self.name} has changed since training began: no other worker has the change, and no checkpoint. "
                     "Leave it as it is; or make it float32 and say paceline.worker(model, frozen=\"averaged\"), as for a teacher or a target "
                     "network, in a job that begins anew: then it is averaged over workers and travels with each step")

    def _has_changed(self, is_due: bool) -> bool:
        if self._was is None:
            return False
        is_looked_up = self.owner is not None and not is_sharded(self.tensor)
        if is_looked_up and getattr(self.owner, self.name.rpartition(".")[2], None) is not self.tensor:
            return True
        is_moved = _state(self.tensor) != self._was
        if self._print is None:
            return is_moved
        if is_moved or is_due:
            if _fingerprint(self.tensor) != self._print:
                return True
            self._was = _state(self.tensor)  # Equal values were written to it.
        return False


def fits(pattern: str, name: str) -> bool:
    """As patterns of spec.training.parameterGroups: * is any characters or none, ? is one."""
    return re.fullmatch(re.escape(pattern).replace(r"\*", ".*").replace(r"\?", "."), name, re.DOTALL) is not None


class Freezing:
    """What the parameter groups of a job freeze: parameters that would be trained otherwise, and get no gradient until `undo`. They are this
    worker's own from the first, but where those that can be are averaged: these stay where trained ones are, and are frozen by `finish`."""

    def __init__(self, model: torch.nn.Module, groups: Sequence[Dict[str, Any]] = (), are_averaged: bool = False):
        self.names: List[str] = []
        self._tensors: List[torch.nn.Parameter] = []
        self._late: List[torch.nn.Parameter] = []
        for name_there, parameter in model.named_parameters() if groups else ():
            name = plain_name(model, name_there)
            group = next((one for one in groups if any(fits(pattern, name) for pattern in one["match"])), {})
            if not group.get("frozen") or not parameter.requires_grad:
                continue
            self.names.append(name)
            self._tensors.append(parameter)
            parameter.requires_grad_(False)
            if not is_own(parameter, are_averaged):
                self._late.append(parameter.requires_grad_(True))

    def finish(self) -> None:
        for parameter in self._late:
            parameter.requires_grad_(False)

    def again(self) -> None:
        """Where a script has thawed them since, as loops of two models do: what the job's groups say counts."""
        for parameter in self._tensors:
            if parameter.requires_grad:
                parameter.requires_grad_(False)
                parameter.grad = None

    def undo(self) -> None:
        for parameter in self._tensors:
            parameter.requires_grad_(True)
        self._tensors = []


def is_own(parameter: torch.nn.Parameter, are_averaged: bool = False) -> bool:
    """Whether it is frozen and, where those that can be are averaged, no shard can store it: what is no float32, or says that it is and
    consists of other tensors."""
    if parameter.requires_grad:
        return False
    if not are_averaged:
        return True
    is_of_others = hasattr(parameter, "__tensor_flatten__") and not is_sharded(parameter)
    return parameter.dtype != torch.float32 or is_of_others or getattr(parameter, "quant_state", None) is not None


def compared(frozen: List[Frozen], of_ranks: List[List[str]]) -> List[str]:
    """The digests, which all ranks of a worker have. Misuse, by name, of what they have not alike."""
    for rank, theirs in enumerate(of_ranks):
        for one, mine, other in zip(frozen, of_ranks[0], theirs):
            if mine != other:
                raise Misuse(f"frozen parameter {one.name} has other values on rank {rank} than on rank 0: have each process load the same")
    return of_ranks[0]


def _parts(tensor: torch.Tensor) -> Optional[Dict[str, Any]]:
    """Of a tensor that is more than its bytes."""
    if tensor.is_quantized:
        if tensor.qscheme() in (torch.per_tensor_affine, torch.per_tensor_symmetric):
            return {"values": tensor.int_repr(), "scale": tensor.q_scale(), "zero": tensor.q_zero_point()}
        return {"values": tensor.int_repr(), "scale": tensor.q_per_channel_scales(), "zero": tensor.q_per_channel_zero_points(),
                "axis": tensor.q_per_channel_axis()}
    if tensor.layout == torch.sparse_coo:
        whole = tensor.coalesce()
        return {"indices": whole.indices(), "values": whole.values(), "shape": list(whole.shape)}
    if hasattr(tensor, "__tensor_flatten__"):
        names, context = tensor.__tensor_flatten__()
        return {**{name: getattr(tensor, name) for name in names}, "of": context}
    return None


def _lies_elsewhere(tensor: torch.Tensor) -> bool:
    """Its values are those of other tensors."""
    return is_sharded(tensor) or tensor.layout != torch.strided or hasattr(tensor, "__tensor_flatten__")


def _fingerprint(tensor: torch.Tensor) -> Optional[int]:
    """Of all its bytes, read once as memory gives them: what is written to .data moves no version counter. None: it is not to be had."""
    if _lies_elsewhere(tensor) or tensor.is_quantized:
        return None
    try:
        dense = tensor.detach().permute(sorted(range(tensor.dim()), key=lambda one: -tensor.stride(one)))
        flat = dense.contiguous().view(-1).view(torch.uint8)
        if flat.storage_offset() % 8:  # Nothing of 64 bits begins there.
            flat = flat.clone()
        # As numbers of 64 bits: a sum of others first makes a copy of that width.
        words = flat.numel() // 8 * 8
        return int(flat[:words].view(torch.int64).sum()) + int(flat[words:].sum(dtype=torch.int64))
    except (RuntimeError, TypeError, NotImplementedError):  # Of a kind of its own: its place and version have to do.
        return None


def _state(tensor: torch.Tensor) -> Tuple[Any, ...]:
    """What changes where its values do; what is written to .data it does not see."""
    if _lies_elsewhere(tensor):
        return (tensor.dtype,)
    return tensor.dtype, tensor.data_ptr(), None if tensor.is_inference() else tensor._version
