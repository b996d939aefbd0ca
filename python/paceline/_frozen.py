"""Frozen parameters that each worker has by itself, since no shard stores them: weights of a base model in bfloat16 or four bits, say.

Nothing of them travels. All workers are to have the same, so each says what it has before it joins.
"""

from __future__ import annotations

import ctypes
import hashlib
import re
from typing import Any, Dict, List, Optional, Tuple

import torch

from ._errors import Misuse
from ._wrappers import is_sharded

_PART_BYTES = 64 << 20  # Of a tensor on a GPU, copied at once.


class Frozen:
    """One of them, by its plain name."""

    def __init__(self, name: str, tensor: torch.Tensor):
        self.name, self.tensor = name, tensor
        self._was: Optional[Tuple[Any, ...]] = None

    @property
    def type(self) -> str:
        return f"{str(self.tensor.dtype).removeprefix('torch.')} {list(self.tensor.shape)}"

    def digest(self) -> str:
        """Equal for equal values of one type and shape; empty of a tensor that is sharded over processes, which has the shape alone to be
        compared. It is not to change from now on. Misuse of a tensor whose bytes cannot be told."""
        self._was = _state(self.tensor)
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
            flat = tensor.contiguous().reshape(-1).view(torch.uint8)
        except (RuntimeError, TypeError, NotImplementedError) as error:
            raise Misuse(f"frozen parameter {self.name} is of a kind whose values cannot be compared: {type(self.tensor).__name__} of "
                         f"{self.type}, {self.tensor.layout}") from error
        for begin in range(0, flat.numel(), _PART_BYTES):
            part = flat[begin:begin + _PART_BYTES].cpu()
            found.update((ctypes.c_char * part.numel()).from_address(part.data_ptr()))

    def check(self) -> None:
        """Misuse, by name, if it is trained or has changed after all."""
        if self.tensor.requires_grad:
            raise Misuse(f"parameter {self.name} is {self.type} and was frozen when paceline.worker was given the model: it cannot be trained. "
                         "Make it float32 (module.float()) and trained before that")
        if self._was is not None and _state(self.tensor) != self._was:
            raise Misuse(f"frozen parameter {self.name} has changed since training began: no other worker has the change, and no checkpoint. "
                         "Leave it as it is, or make it float32 before paceline.worker, which averages it")


def is_own(parameter: torch.nn.Parameter) -> bool:
    """Whether it is frozen and no shard can store it: what is no float32, or says that it is and consists of other tensors."""
    if parameter.requires_grad:
        return False
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


def _state(tensor: torch.Tensor) -> Tuple[Any, ...]:
    """What changes where its values do; what is written to .data it does not see."""
    if is_sharded(tensor) or tensor.layout != torch.strided or hasattr(tensor, "__tensor_flatten__"):
        return (tensor.dtype,)  # Its values lie in other tensors.
    return tensor.dtype, tensor.data_ptr(), None if tensor.is_inference() else tensor._version
