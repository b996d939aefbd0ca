"""Frozen parameters as the bytes of a safetensors file, which is made as it is read: the coordinator puts them into the model's file, and
gives them to workers that are to have the first one's."""

from __future__ import annotations

import ctypes
import hashlib
import json
import traceback
from typing import Any, Dict, List, Optional, Tuple

import torch

from . import _native
from ._errors import Misuse
from ._frozen import Frozen
from ._words import encoded

_TYPES = {torch.bool: "BOOL", torch.uint8: "U8", torch.int8: "I8", torch.int16: "I16", torch.float16: "F16", torch.bfloat16: "BF16",
          torch.int32: "I32", torch.float32: "F32", torch.float64: "F64", torch.int64: "I64"}
for _name, _type in (("uint16", "U16"), ("uint32", "U32"), ("uint64", "U64"), ("float8_e4m3fn", "F8_E4M3"), ("float8_e5m2", "F8_E5M2")):
    if hasattr(torch, _name):
        _TYPES[getattr(torch, _name)] = _type


class FrozenFile:
    """Of those that such a file can hold; what is more than its bytes, or lies on other processes too, is not in it."""

    def __init__(self, frozen: List[Frozen], digests: List[str]):
        there = [(one, digest) for one, digest in zip(frozen, digests) if digest and one.is_plain() and one.tensor.dtype in _TYPES]
        names = {one.name for one, _ in there}
        self.left_out = [f"{one.name} ({one.type})" for one in frozen if one.name not in names]
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


class TakenFile:
    """Such a file of another worker's, which comes in pieces: what is in it takes the place of these tensors' values, one after the other."""

    def __init__(self, frozen: List[Frozen]):
        self._there = {one.name: one.tensor for one in frozen}
        self._head = b""
        self._places: Optional[List[Tuple[int, torch.Tensor]]] = None  # Where each begins; None: that is not known yet.
        self._bytes = torch.empty(0, dtype=torch.uint8)  # Of the tensor that is coming.

    def take(self, begin: int, size: int, bytes_of: int, count: int) -> int:
        try:
            self._take(begin, ctypes.string_at(bytes_of, count))
            return 0
        except Exception:
            _native.library().paceline_log(1, encoded("frozen parameters of the first worker cannot be taken:\n" + traceback.format_exc()))
            return 1

    def _take(self, begin: int, piece: bytes) -> None:
        if begin == 0:
            self._head, self._places = b"", None
        if self._places is None:
            self._head += piece
            end = 8 + int.from_bytes(self._head[:8], "little")
            if len(self._head) < max(end, 9):
                return
            self._read_head(end)
            begin, piece = end, self._head[end:]
        for first, tensor in self._places or []:
            self._put(first, tensor, begin, piece)

    def _read_head(self, end: int) -> None:
        self._places = []
        for name, said in json.loads(self._head[8:end]).items():
            tensor = self._there.get(name)
            if tensor is None:
                continue
            if said["dtype"] != _TYPES.get(tensor.dtype) or said["shape"] != list(tensor.shape):
                raise Misuse(f"frozen parameter {name} of the first worker is {said['dtype']} {said['shape']}")
            self._places.append((end + said["data_offsets"][0], tensor))

    @torch.no_grad()
    def _put(self, first: int, tensor: torch.Tensor, begin: int, piece: bytes) -> None:
        size = tensor.numel() * tensor.element_size()
        low, high = max(first, begin), min(first + size, begin + len(piece))
        if low >= high:
            return
        if low == first:
            self._bytes = torch.empty(size, dtype=torch.uint8)
        self._bytes[low - first:high - first] = torch.frombuffer(bytearray(piece[low - begin:high - begin]), dtype=torch.uint8)
        if high == first + size:
            whole = self._bytes.view(tensor.dtype).view(tensor.shape)
            self._bytes = torch.empty(0, dtype=torch.uint8)
            if 0 in tensor.stride() and tensor.numel() > 1:  # Expanded: its elements are one, and come as several.
                tensor.data = whole.to(tensor.device)
            else:
                tensor.copy_(whole)
