"""Batches of the samples that a lease names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Callable, Dict, Iterator, List, Optional, Sequence, Set

import torch
from torch.utils.data import DataLoader, IterableDataset, TensorDataset, default_collate

from ._errors import Misuse
from ._moving import moved
from ._sampler import OwnSampler, batch_size_of, not_used, own_sampler


class Batch:
    """The samples of one step, collated as a DataLoader would.

    It is used as what the collate function gave, which is ``batch.data``: ``x, y = batch`` and ``batch.x``, ``batch.y`` of a
    pair; ``batch["name"]``, ``model(**batch)`` and all that a dict can of a mapping; attributes of whatever has them.
    """

    __slots__ = ("data", "indices", "epoch")

    def __new__(cls, data: Any, indices: List[int], epoch: int) -> "Batch":
        return object.__new__(_MappingBatch if cls is Batch and isinstance(data, Mapping) else cls)

    def __init__(self, data: Any, indices: List[int], epoch: int):
        self.data, self.indices, self.epoch = data, indices, epoch

    def __reduce__(self) -> Any:
        return Batch, (self.data, self.indices, self.epoch)

    def __len__(self) -> int:
        """Samples."""
        return len(self.indices)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.data)

    def __contains__(self, key: Any) -> bool:
        return key in self.data

    def __getitem__(self, key: Any) -> Any:
        return self.data[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.data[key] = value

    def __delitem__(self, key: Any) -> None:
        del self.data[key]

    def __getattr__(self, name: str) -> Any:
        """What a batch has not by itself, its data may have: ``keys``, ``items``, ``get``, ``pop``; ``input_ids``."""
        if name.startswith("__") or name in Batch.__slots__:
            raise AttributeError(name)
        try:
            return getattr(self.data, name)
        except AttributeError:
            raise AttributeError(f"this batch has no {name}: its data are of type {type(self.data).__name__}") from None

    @property
    def x(self) -> Any:
        return self._part("x", 0)

    @property
    def y(self) -> Any:
        return self._part("y", 1)

    def _part(self, name: str, place: int) -> Any:
        if isinstance(self.data, Mapping):
            return self.data[name]
        if isinstance(self.data, torch.Tensor) or not hasattr(self.data, name):
            return self.data[place]
        return getattr(self.data, name)

    def to(self, device: Any, non_blocking: bool = True) -> "Batch":
        """The same on another device."""
        return Batch(moved(self.data, device, non_blocking), self.indices, self.epoch)


class _MappingBatch(Batch):
    """A batch whose data are a mapping is a mapping itself: transformers and others ask isinstance(batch, Mapping)."""

    __slots__ = ()


Mapping.register(_MappingBatch)


class Source:
    """Where samples come from: a dataset that can be indexed, and how several become a batch."""

    def __init__(self, samples: int, load: Callable[[Sequence[int]], Any], loader: Optional[DataLoader] = None,
                 collate: Optional[Callable[[List[Any]], Any]] = None):
        self.samples, self.load = samples, load
        self.loader, self.collate = loader, collate  # Where the loader's workers are to read: it, and with what.
        self.sampler: Optional[DataLoader] = None  # What may have a sampler of its own.

    def own_sampler(self, seed: int) -> Optional[OwnSampler]:
        """What an epoch is drawn by; None: it is the whole data set. Misuse: workers cannot share it."""
        return None if self.sampler is None else own_sampler(self.sampler, self.samples, seed)

    def not_used(self, sizes: List[int]) -> List[str]:
        return [] if self.sampler is None else not_used(self.sampler, sizes)

    def batch_size(self) -> Optional[int]:
        return None if self.sampler is None else batch_size_of(self.sampler)


class Epochs:
    """What the epochs of one worker are made of, over all its calls of `data`. `say`: what is not used, once."""

    def __init__(self, say: Callable[[str], None]):
        self.sampler: Any = None  # The script's own, an OwnSampler; or an epoch is the whole data set.
        self._say = say
        self._said: Set[str] = set()

    def begin(self, source: Source, seed: int, sizes: Sequence[int] = (), is_begun: bool = False) -> int:
        """How many samples an epoch has. Misuse: the sampler is none to share, or `is_begun` and it was another one."""
        sampler = source.own_sampler(seed)
        before, now = (None if one is None else one.name for one in (self.sampler, sampler))
        if is_begun and before != now:
            raise Misuse(f"the training set had {before or 'no'} sampler of its own and has {now or 'none'} now: it is one, for all epochs")
        self.sampler = sampler
        for what in source.not_used(list(sizes)):
            if what not in self._said:
                self._said.add(what)
                self._say("of the DataLoader " + what)
        return source.samples if sampler is None else sampler.positions


def sizes_of_batches(job: Dict[str, Any]) -> List[int]:
    """That a job's batches have: over all workers first, then a worker's share."""
    size = job["spec"]["training"].get("globalBatchSize")
    workers = max(job["spec"].get("workers", {}).get("replicas") or 1, 1)
    return [] if size is None else [size, size // workers, -(-size // workers)]


def _rows(tensors: Sequence[torch.Tensor], indices: Sequence[int]) -> Sequence[torch.Tensor]:
    at = torch.tensor(list(indices), dtype=torch.int64)  # Once: PyTorch takes longer over a list than over its rows.
    return tuple(tensor[at] for tensor in tensors)


def source_of(source: Any, collate_fn: Any = None) -> Source:
    """Of a DataLoader, a Dataset, a tuple of tensors. Misuse for what has no samples by number."""
    if isinstance(source, DataLoader) and not isinstance(source.dataset, IterableDataset):
        found = _indexed(source, collate_fn)
        found.sampler = source
        return found
    return _indexed(source, collate_fn)


def _indexed(source: Any, collate_fn: Any) -> Source:
    loader = None
    if isinstance(source, DataLoader):
        if collate_fn is None:
            collate_fn = source.collate_fn
        loader = source if source.num_workers else None
        source = source.dataset
    if isinstance(source, IterableDataset):
        raise Misuse("an IterableDataset has no samples by number: take w.steps(samples=...) and a loader of your own")
    if isinstance(source, (tuple, list)) and source and all(isinstance(part, torch.Tensor) for part in source):
        source = TensorDataset(*source)
    if not hasattr(source, "__getitem__") or not hasattr(source, "__len__"):
        raise Misuse(f"a {type(source).__name__} is no data: want a DataLoader, a Dataset with len() or a tuple of tensors")
    if isinstance(source, TensorDataset) and collate_fn in (None, default_collate):
        return Source(len(source), lambda indices: _rows(source.tensors, indices))
    collate = collate_fn or default_collate
    if hasattr(source, "__getitems__"):  # As DataLoader does.
        return Source(len(source), lambda indices: collate(source.__getitems__(list(indices))), loader, collate)
    return Source(len(source), lambda indices: collate([source[index] for index in indices]), loader, collate)

