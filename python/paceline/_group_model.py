"""The model of a worker of several processes: its values, and areas for gradients, lie in memory that all of them share.

On the CPU the processes compute on the values where they are. Buffers, which a forward pass writes, each process has of its own;
so it has all tensors on a GPU, and those of a model that is sharded, which get copies of their rows.
"""

from __future__ import annotations

import ctypes
import math
from typing import Any, List, Optional, Tuple

import torch

from . import _native
from ._errors import Misuse
from ._frozen import Freezing
from ._group_memory import Group
from ._group_sums import Part
from ._model import FlatModel
from ._wrappers import is_sharded


def rows_of(name: str, tensor: Any, rank: int, ranks: int) -> Tuple[int, int]:
    """Begin and count of a rank's rows. Misuse: sharded otherwise than fully_shard does over all ranks."""
    placements = tensor.placements
    if len(placements) != 1 or not placements[0].is_shard(0) or tensor.device_mesh.size() != ranks:
        raise Misuse(f"parameter {name} is placed as {list(placements)} over {tensor.device_mesh.size()} of {ranks} processes: want it "
                     "sharded by its first dimension over all, as fully_shard(model) does")
    rows = tensor.shape[0]
    chunk = -(-rows // ranks)
    begin, end = min(rows, rank * chunk), min(rows, (rank + 1) * chunk)
    if tensor.to_local().shape[0] != end - begin:
        raise Misuse(f"parameter {name} has {tensor.to_local().shape[0]} rows on rank {rank}, want {end - begin} of {rows}")
    return begin, end - begin


class GroupModel(FlatModel):
    """Made by all ranks alike. Misuse if their models differ."""

    def __init__(self, model: torch.nn.Module, group: Group, are_averaged: bool = False, freezing: Optional[Freezing] = None):
        self._group = group
        super().__init__(model, are_averaged, freezing)

    # --- Where tensors are.

    def _make_values(self, size: int) -> torch.Tensor:
        mine = [(t.name, t.kind, t.offset_bytes, tuple(t.shape[:t.dimensions])) for t in self.native]
        mine += [(one.name, one.type) for one in self.frozen]
        for rank, theirs in enumerate(self._group.gather(mine)):
            if theirs != mine:
                raise Misuse(f"the model of this rank has other tensors than that of rank {rank}: want the same on all")
        # In a pass the others wait for this rank.
        self.has_collectives = any(is_sharded(one.tensor) for one in [*self._members, *self.frozen])
        self.sharded = {index for index, member in enumerate(self._members) if is_sharded(member.tensor)}
        self._room = -(-size // 4096) * 4096  # Of the values, and of each area.
        memory = self._group.share(self._room * (1 + self._group.ranks))
        shared = torch.frombuffer(memory, dtype=torch.uint8)
        if self.device.type == "cuda":  # Pinned, as memory of one's own is.
            torch.cuda.cudart().cudaHostRegister(shared.data_ptr(), shared.numel(), 0)
        self._areas = [shared[self._room * (1 + rank):][:size] for rank in range(self._group.ranks)]
        return shared[:size]

    def _make_there(self) -> torch.Tensor:
        if self.sharded or self.device.type == "cpu":
            return self.values
        return torch.empty_like(self.values, device=self.device)

    @torch.no_grad()
    def _bind(self) -> None:
        self.parts: List[Part] = []
        self._copies: List[Tuple[int, torch.Tensor, torch.Tensor]] = []  # Index, tensor, and its place in the values.
        for index, member in enumerate(self._members):
            place, sharded = self._view(self.values, index), index in self.sharded
            begin, row = self._native[index].offset_bytes // 4, math.prod(member.tensor.shape[1:])
            first, rows = rows_of(member.name, member.tensor, self._group.rank, self._group.ranks) if sharded else (0, 0)
            if member.kind == _native.PARAMETER:
                mine = (begin + first * row, rows * row) if sharded else (begin, member.tensor.numel())
                self.parts.append(Part(index, begin, member.tensor.numel(), mine, sharded))
            if sharded:
                self._copies.append((index, member.tensor.to_local(), place[first:first + rows]))
            elif member.kind == _native.BUFFER or self._there is not self.values or self.sharded:
                home = torch.empty_like(place, device=self.device)
                home.copy_(member.tensor)
                member.tensor.data = member.home = home
                self._copies.append((index, home, place))
            else:
                if self._group.rank == 0:
                    place.copy_(member.tensor)
                member.tensor.data = member.home = place
        self.store()
        self._group.gather(None)

    def floats(self) -> List[torch.Tensor]:
        """The areas' parameters."""
        return [area[:self._buffers_from // 4 * 4].view(torch.float32) for area in self._areas]

    # --- Values.

    @torch.no_grad()
    def fetch(self) -> None:
        for member, _ in self._bound_anew():
            setattr(member.owner, member.key, member.tensor)
        for _, tensor, place in self._copies:
            tensor.copy_(place, non_blocking=True)

    @torch.no_grad()
    def store(self) -> None:
        """Rank 0's values are the worker's; of what is sharded, each rank's rows."""
        self._keep_what_is_bound_anew()
        for index, tensor, place in self._copies:
            if self._group.rank == 0 or index in self.sharded:
                place.copy_(tensor)

    @torch.no_grad()
    def store_buffers(self) -> None:
        """Where the others find what this rank's forward pass may have changed."""
        self._keep_what_is_bound_anew()
        for index, tensor, _ in self._copies:
            if self._members[index].kind == _native.BUFFER and not index in self.sharded:
                self._view(self._areas[self._group.rank], index).copy_(tensor)

    @torch.no_grad()
    def average_buffers(self, weights: List[float]) -> None:
        """Of floats, as the batch's parts count, into the values; integers are those of the last rank, which has a part always."""
        for index, _, place in self._copies:
            if self._members[index].kind != _native.BUFFER or index in self.sharded:
                continue
            last, *others = (self._view(area, index) for area in reversed(self._areas))
            place.copy_(last)
            if place.dtype != torch.float32:
                continue
            for weight, other in zip(reversed(weights[:-1]), others):
                if weight and not torch.equal(other, last):  # What is equal stays as it is, to the bit; infinities too.
                    place.add_(torch.where(other == last, 0.0, weight * (other - last)))

    # --- As of FlatModel.

    def _as_handed(self, gradient: torch.Tensor) -> torch.Tensor:
        return super()._as_handed(gradient.to_local() if is_sharded(gradient) else gradient)

    def release(self) -> None:
        if not self._copies or len(self._copies) < len(self._members):
            super().release()
        else:
            self._let_go()

    def trained_parts(self) -> List[Part]:
        return [part for part in self.parts if self._members[part.index].tensor.requires_grad]

    def gradient_at(self, part: Part) -> int:
        """The address of a parameter's sum."""
        return self._areas[0].data_ptr() + part.begin * ctypes.sizeof(ctypes.c_float)
