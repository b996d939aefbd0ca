"""Gradients of the processes of one worker, added up bucket by bucket while the backward pass goes on.

Each process has an area of shared memory, arranged as the model's parameters. A gradient goes to its process's area; where all
of a bucket have theirs, each process adds up its slice of the bucket, in the area of rank 0. No process waits for another before
the end of its pass. A parameter that no process's part of the batch has a gradient of is not handed over: the worker has none. Where parameters are sharded (FSDP), a process has the whole gradient of its rows: they go to rank 0's area at once.
"""

from __future__ import annotations

from typing import Callable, Iterable, List, NamedTuple, Tuple

import torch

from ._errors import Misuse
from ._group_memory import Group, is_posted, post, words, WORD_BYTES

_BUCKETS = 8  # Of a model whose parameters are of one size.
_BUCKET_FLOATS = (1 << 18, 25 << 18)  # At least, at most: 1 and 25 MB.
_SLICE_FLOATS = 16  # Slices end at lines of a cache.


class Part(NamedTuple):
    """Of a parameter: where its gradient lies in an area, in floats, and what of that is this rank's own."""

    index: int
    begin: int
    count: int
    mine: Tuple[int, int]  # Begin and count. The whole, unless it is sharded.
    is_sharded: bool


class Bucket:
    """Parameters that are added up together. `begin`, `end`: of what is to be added up."""

    def __init__(self, parts: List[Part]):
        self.parts = parts
        self.is_sharded = parts[0].is_sharded
        self.begin = min(part.begin for part in parts)
        self.end = max(part.begin + part.count for part in parts)


def in_buckets(parts: Iterable[Part]) -> List[Bucket]:
    """From the last place to the first, which is about the order of a backward pass."""
    parts = sorted(parts, key=lambda part: -part.begin)
    least, most = _BUCKET_FLOATS
    limit = min(most, max(least, sum(part.count for part in parts) // _BUCKETS))
    buckets: List[List[Part]] = []
    floats = 0
    for part in parts:
        if not buckets or floats + part.count > limit or buckets[-1][0].is_sharded != part.is_sharded:
            buckets.append([])
            floats = 0
        buckets[-1].append(part)
        floats += part.count
    return [Bucket(bucket) for bucket in buckets]


def slice_of(begin: int, end: int, rank: int, ranks: int) -> Tuple[int, int]:
    """A rank's part of so many floats."""
    def at(which: int) -> int:
        return min(end, begin + (end - begin) * which // ranks // _SLICE_FLOATS * _SLICE_FLOATS) if which < ranks else end
    return at(rank), at(rank + 1)


class Sums:
    """Used by all ranks alike, for the steps 1, 2, ... of which each is begun, and ended or given up, by all.

    `areas`: of each rank, floats. `hand`: takes parameters that are added up, on rank 0; False: nobody wants it any more.
    """

    def __init__(self, group: Group, areas: List[torch.Tensor], parts: Iterable[Part], hand: Callable[[List[Part]], bool]):
        self._group, self._areas, self._hand = group, areas, hand
        self.buckets = in_buckets(parts)
        self._where = {part.index: (number, part) for number, bucket in enumerate(self.buckets) for part in bucket.parts}
        ranks, memory = group.ranks, group.share(max(1, 2 * len(self.buckets) * group.ranks) * WORD_BYTES)
        def row(number: int) -> list:
            return words(memory, number * ranks * WORD_BYTES, ranks)
        self._written = [row(2 * number) for number in range(len(self.buckets))]
        self._summed = [row(2 * number + 1) for number in range(len(self.buckets))]
        # Whether a rank's part of the batch had a gradient of a parameter: a byte each, written before the bucket's word is posted.
        self._row = 1 + max(self._where, default=0)
        self._had = group.share(self._row * ranks)
        self._step = 0
        self._lacking: List[set] = []  # Of each bucket, what this rank has not put there yet.
        self._to_sum: List[int] = []  # Buckets, in order.
        self._to_hand: List[int] = []

    def begin(self, step: int) -> None:
        self._step = step
        self._lacking = [{part.index for part in bucket.parts} for bucket in self.buckets]
        self._to_sum = list(range(len(self.buckets)))
        self._to_hand = list(self._to_sum) if self._group.rank == 0 else []

    def put(self, index: int, gradient: torch.Tensor, weight: float) -> bool:
        """A gradient of this rank, flat, which counts for so much. False: nobody wants it any more."""
        if index not in self._where:
            raise Misuse("a gradient of a parameter that was frozen in the first step")
        number, part = self._where[index]
        if index not in self._lacking[number]:
            raise Misuse("a second gradient of one parameter in one step")
        self._put(part, gradient, weight)
        self._lacking[number].discard(index)
        if self._lacking[number]:
            return True
        self._post(number)
        return self.advance()

    def _put(self, part: Part, gradient: torch.Tensor, weight: float) -> None:
        self._had[self._row * self._group.rank + part.index] = int(weight != 0.0)
        begin, count = part.mine
        place = self._areas[0 if part.is_sharded else self._group.rank][begin:begin + count]
        if weight == 0.0:
            place.zero_()  # Not by multiplying: what counts for nothing may be no number.
        elif count:
            torch.mul(gradient, weight, out=place)

    def _post(self, number: int) -> None:
        post(self._written[number][self._group.rank], self._step)

    def advance(self) -> bool:
        """Adds up and hands over what is there, without waiting. False: nobody wants it any more."""
        self._to_sum = [number for number in self._to_sum if not self._sum(number)]
        for number in list(self._to_hand):
            if all(is_posted(word, self._step) for word in self._summed[number]):
                self._to_hand.remove(number)
                parts = [part for part in self.buckets[number].parts if any(self._had[part.index::self._row])]
                if parts and not self._hand(parts):
                    return False
        return True

    def _sum(self, number: int) -> bool:
        if not all(is_posted(word, self._step) for word in self._written[number]):
            return False
        bucket, rank = self.buckets[number], self._group.rank
        if not bucket.is_sharded:
            begin, end = slice_of(bucket.begin, bucket.end, rank, self._group.ranks)
            for area in self._areas[1:]:
                self._areas[0][begin:end].add_(area[begin:end])
        post(self._summed[number][rank], self._step)
        return True

    def finish(self, goes_on: Callable[[], bool]) -> bool:
        """The rest: what has no gradient here counts as zeros in a sum with others'. False: as of `advance`, or `goes_on`, asked now and then, said no."""
        for number, lacking in enumerate(self._lacking):
            if lacking:
                for part in self.buckets[number].parts:
                    if part.index in lacking:
                        self._put(part, torch.empty(0), 0.0)
                lacking.clear()
                self._post(number)
        while True:
            if not self.advance():
                return False
            waited_for = self._to_sum or self._to_hand
            if not waited_for:
                return True
            rows = self._written if self._to_sum else self._summed
            for word in rows[waited_for[0]]:
                if not self._group.wait(word, self._step, goes_on):
                    return False
