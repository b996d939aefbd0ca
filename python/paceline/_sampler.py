"""What a DataLoader's own sampler draws: the same positions of an epoch on every worker, whoever draws them, and when.

A draw is made from (seed, epoch) alone: set_epoch(epoch) where there is such a method, and torch's, numpy's and random's
generators, and those that the sampler has, are seeded for its length and then as before. One that gives each process of a fleet a
part is drawn for all of them.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import operator
import random
import sys
from array import array
from typing import Any, Callable, Iterator, List, NamedTuple, Optional, Tuple

import torch
from torch.utils.data import BatchSampler, DataLoader, DistributedSampler, RandomSampler, SequentialSampler

from ._errors import Misuse

_END = 1_000_000, 100  # An epoch has no end that has more positions, and so many times the samples of the data set.
_FLEETS = (("num_replicas", "rank"), ("world_size", "rank"), ("_world_size", "_rank"))
_DEPTH = 4  # Of samplers within samplers.


def own_sampler(loader: DataLoader, samples: int, seed: int) -> "Optional[OwnSampler]":
    """None where an epoch is the whole data set, in whatever order. Misuse: it is nothing that workers can share."""
    sampler, is_batches = _sampler_of(loader)
    if not is_batches and _is_whole(sampler, len(loader.dataset)):  # type: ignore[arg-type]
        return None
    return OwnSampler(sampler, samples, seed, is_batches)


def batch_size_of(loader: DataLoader) -> Optional[int]:
    """That the loader's batches have, as far as that is one number."""
    size = getattr(loader.batch_sampler, "batch_size", None) if loader.batch_size is None else loader.batch_size
    return size if isinstance(size, int) and size > 0 else None


def not_used(loader: DataLoader, sizes: List[int]) -> List[str]:
    """What of the loader's batches a job leaves aside, whose own have one of `sizes`; in words."""
    said = []
    _, is_batches = _sampler_of(loader)
    if is_batches:
        said.append(f"the grouping of {type(loader.batch_sampler).__name__} is not used: its positions are, in their order")
    size = batch_size_of(loader)
    if size not in (None, 1) and sizes and size not in sizes:  # One is what nobody has asked for.
        said.append(f"batch_size={size} is not used: the job's batches have {sizes[0]} samples over all its workers")
    if loader.drop_last or getattr(loader.batch_sampler, "drop_last", False) is True:
        said.append("drop_last is not used: an epoch's last samples are trained on too")
    return said


def _sampler_of(loader: DataLoader) -> Tuple[Any, bool]:
    """What chooses, and whether it gives batches."""
    if loader.batch_size is not None or loader.batch_sampler is None:
        return loader.sampler, False
    if type(loader.batch_sampler) is BatchSampler:
        return loader.batch_sampler.sampler, False
    return loader.batch_sampler, True


def _is_whole(sampler: Any, samples: int) -> bool:
    if type(sampler) is RandomSampler:
        return not sampler.replacement and sampler.num_samples == len(sampler.data_source) == samples
    if type(sampler) is DistributedSampler:
        return len(sampler.dataset) == samples  # type: ignore[arg-type]
    return type(sampler) is SequentialSampler and len(sampler) == samples


class OwnSampler:
    """`positions`: of an epoch, each time as many. Used by one thread."""

    def __init__(self, sampler: Any, samples: int, seed: int, is_batches: bool):
        self.name = type(sampler).__name__
        self._sampler, self._samples, self._seed, self._is_batches = sampler, samples, seed, is_batches
        self._parts = _parts_of(sampler)
        first = self._drawn(0)
        self.positions = len(first)
        self._first = _digest(first)
        if not first:
            raise self._refused("it gives no position")
        self._draw_again()

    def draw(self, epoch: int) -> "array[int]":
        """Of the data set, in the sampler's order. Misuse: it draws from something else than its seed and the epoch."""
        drawn = self._drawn(epoch)
        if len(drawn) != self.positions:
            raise self._refused(f"it gives {self.positions} positions for epoch 0 and {len(drawn)} for epoch {epoch}: epochs have to "
                                "have as many each")
        if epoch:
            self._draw_again()  # Whoever follows the losses shows it here.
        return drawn

    def _draw_again(self) -> None:
        if _digest(self._drawn(0)) != self._first:
            raise self._refused(
                "the same epoch drawn again is another one, and so would be another worker's: it has to draw from torch's, numpy's "
                "and random's generators, generators that it has as attributes, and set_epoch(epoch) alone, and not from losses or "
                "from how often it was drawn")

    def _refused(self, why: str) -> Misuse:
        return Misuse(f"take another sampler than {self.name}, or w.steps(samples=...) with a loader of your own: {why}")

    def _drawn(self, epoch: int) -> "array[int]":
        items = self._union(epoch)
        if self._is_batches:
            items = list(itertools.islice(itertools.chain.from_iterable(map(self._batch, items)), self._end + 1))
        if len(items) > self._end:
            raise self._refused(f"it gives more than {self._end} positions for an epoch of {self._samples} samples, as if it had no end")
        positions = [item if type(item) is int else self._number(item) for item in items]
        if positions and not (0 <= min(positions) and max(positions) < self._samples):
            wrong = min(positions) if min(positions) < 0 else max(positions)
            raise self._refused(f"it gives position {wrong} of a data set of {self._samples} samples")
        return array("I", positions)

    def _number(self, item: Any) -> int:
        try:
            return operator.index(item)
        except TypeError:
            raise self._refused(f"it gives {type(item).__name__} where the number of a sample is wanted; what gives batches is to be "
                                "the DataLoader's batch_sampler") from None

    @property
    def _end(self) -> int:
        return max(_END[0], _END[1] * self._samples)

    def _batch(self, batch: Any) -> Any:
        try:
            return iter(batch)
        except TypeError:
            raise self._refused(f"it gives {type(batch).__name__} where batches are wanted") from None

    def _union(self, epoch: int) -> List[Any]:
        """Of all processes of the fleet that it believes to be one of."""
        ranked = [(part, size, rank) for part in self._parts.samplers for size, rank in _FLEETS if _is_fleet(part, size, rank)]
        processes = max((getattr(part, size) for part, size, _ in ranked), default=1)
        if processes == 1:
            return self._once(epoch)
        before = [(part, rank, getattr(part, rank)) for part, _, rank in ranked]
        draws = []
        try:
            for process in range(processes):
                for part, size, rank in ranked:
                    setattr(part, rank, process % getattr(part, size))
                draws.append(self._once(epoch))
        except AttributeError as error:
            raise self._refused(f"it draws for one process of {processes}, and not for all: {error}") from None
        finally:
            for part, rank, value in before:
                with contextlib.suppress(AttributeError):
                    setattr(part, rank, value)
        if draws[0] and all(draw == draws[0] for draw in draws):
            raise self._refused(f"it draws for one process of {processes}, whatever its rank says later, and not for all")
        absent = object()
        turns = itertools.zip_longest(*draws, fillvalue=absent)
        return [item for turn in turns for item in turn if item is not absent]

    def _once(self, epoch: int) -> List[Any]:
        with _seeded(_seed_of(self._seed, epoch), self._parts.generators):
            for part in self._parts.samplers:
                if callable(getattr(part, "set_epoch", None)):
                    part.set_epoch(epoch)
            return list(itertools.islice(iter(self._sampler), self._end + 1))


def _digest(positions: "array[int]") -> bytes:
    return hashlib.sha256(positions.tobytes()).digest()


def _seed_of(seed: int, epoch: int) -> int:
    return int.from_bytes(hashlib.sha256(f"{seed} {epoch}".encode()).digest()[:7], "little")


def _is_fleet(part: Any, size: str, rank: str) -> bool:
    return all(isinstance(vars(part).get(name), int) for name in (size, rank)) and vars(part)[size] >= 1


class _Parts(NamedTuple):
    samplers: List[Any]  # The sampler, and those within.
    generators: List[Any]


def _parts_of(sampler: Any) -> _Parts:
    found = _Parts([], [])
    seen = set()

    def visit(one: Any, depth: int) -> None:
        if depth > _DEPTH or id(one) in seen or not hasattr(one, "__dict__"):
            return
        seen.add(id(one))
        found.samplers.append(one)
        for name, value in list(vars(one).items()):
            for part in value if isinstance(value, (list, tuple)) and len(value) <= 16 else [value]:
                if _is_generator(part):
                    found.generators.append(part)
                elif isinstance(part, torch.utils.data.Sampler) or (name.endswith("sampler") and hasattr(part, "__iter__")):
                    visit(part, depth + 1)

    visit(sampler, 0)
    return found


def _is_generator(value: Any) -> bool:
    numpy = sys.modules.get("numpy")
    return isinstance(value, (torch.Generator, random.Random)) or (
        numpy is not None and isinstance(value, (numpy.random.Generator, numpy.random.RandomState)))


@contextlib.contextmanager
def _seeded(seed: int, generators: List[Any]) -> Iterator[None]:
    """The generators of the process, and these, begin with the seed, and afterwards go on from where they were."""
    restore = [_seed_anew(generator, seed) for generator in [torch.default_generator, _process_random, *generators]]
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        before = numpy.random.get_state()
        restore.append(lambda: numpy.random.set_state(before))
        numpy.random.seed(seed % 2**32)
    try:
        yield
    finally:
        for put_back in reversed(restore):
            put_back()


_process_random: random.Random = random.seed.__self__  # type: ignore[attr-defined]


def _seed_anew(generator: Any, seed: int) -> Callable[[], None]:
    """Gives what undoes that."""
    if isinstance(generator, torch.Generator):
        state = generator.get_state()
        generator.manual_seed(seed)
        return lambda: generator.set_state(state)  # type: ignore[return-value]
    if isinstance(generator, random.Random):
        own = generator.getstate()
        generator.seed(seed)
        return lambda: generator.setstate(own)
    if hasattr(generator, "bit_generator"):
        bits = generator.bit_generator
        kept = bits.state
        bits.state = type(bits)(seed).state

        def put_back() -> None:
            bits.state = kept
        return put_back
    numbers = generator.get_state()
    generator.seed(seed % 2**32)
    return lambda: generator.set_state(numbers)
