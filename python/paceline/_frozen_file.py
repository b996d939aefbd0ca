"""Frozen parameters as the bytes of a safetensors file, which is made as it is read: the coordinator puts them into the model's file."""

from __future__ import annotations

import ctypes
import hashlib
import json
import traceback
from typing import Any, Dict, List, Optional, Tuple

import torch

from . import _native
from ._frozen import Frozen
from ._words import encoded

_TYPES = {torch.bool: "BOOL", torch.uint8: "U8", torch.int8: "I8", torch.int16: "I16", torch.float16: "F16", torch.bfloat16: "BF16",
          torch.int32: "I32", torch.float32: "F32", torch.float64: "F64", torch.int64: "I64"}
for _name in ("uint16", "uint32", "uint64"):
    if hasattr(torch, _name):
        _TYPES[getattr(torch, _name)] = "U" + _name[4:]


class FrozenFile:
    """Of those that such a file can hold; what is more than its bytes, or lies on other processes too, is not in it."""

    def __init__(self, frozen: List[Frozen], digests: List[str]):
        there = [(one, digest) for one, digest in zip(frozen, digests) if digest and one.is_plain() and one.tensor.dtype in _TYPES]
        there.sort(key=lambda pair: (-pair[0].tensor.element_size(), pair[0].name))  # Each begins at a multiple of its element.
        self.said = json.dumps({one.name: [one.type, digest] for one, digest in there}, sort_keys=True)
        self.of = hashlib.blake2b(self.said.encode(), digest_size=16).hexdigest()
        header: Dict[str, Any] = {"__metadata__": {"frozen": self.said, "of": self.of}}
        end = 0
        self._pieces: List[Tuple[int, torch.Tensor]] = []  # Where each begins.
        for one, _ in there:
            begin, end = end, end + one.tensor.numel() * one.tensor.element_size()
            header[one.name] = {"dtype": _TYPES[one.tensor.dtype], "shape": list(one.tensor.shape), "data_offsets": [begin, end]}
            self._pieces.append((begin, one.tensor))
        text = json.dumps(header).encode()
        text += b" " * (-len(text) % 8)
        self._head = len(text).to_bytes(8, "little") + text
        self._size = len(self._head) + end if there else 0
        self._flat: Tuple[Optional[torch.Tensor], Optional[torch.Tensor]] = None, None  # The last one that was read, and its bytes.

    def __len__(self) -> int:
        return self._size

    def read(self, begin: int, size: int, into: int) -> int:
        """By the session's thread."""
        try:
            self._read(begin, size, into)
            return 0
        except Exception:
            _native.library().paceline_log(1, encoded("frozen parameters cannot be read:\n" + traceback.format_exc()))
            return 1

    def _read(self, begin: int, size: int, into: int) -> None:
        end = begin + size
        head = self._head[begin:end]
        ctypes.memmove(into, head, len(head))
        for first, tensor in self._pieces:
            first += len(self._head)
            last = first + tensor.numel() * tensor.element_size()
            if last <= begin or end <= first:
                continue
            low, high = max(begin, first), min(end, last)
            part = self._bytes_of(tensor)[low - first:high - first].cpu()
            ctypes.memmove(into + low - begin, part.data_ptr(), high - low)
            if high == last:
                self._flat = None, None

    def _bytes_of(self, tensor: torch.Tensor) -> torch.Tensor:
        if self._flat[0] is not tensor:
            self._flat = tensor, tensor.detach().contiguous().view(-1).view(torch.uint8)
        assert self._flat[1] is not None
        return self._flat[1]
