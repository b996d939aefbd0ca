"""Batches of the samples that a lease names."""

from __future__ import annotations

from typing import Any, Callable, Iterator, List, Optional, Sequence

import torch
from torch.utils.data import DataLoader, IterableDataset, TensorDataset, default_collate

from ._errors import Misuse


class Batch:
    """The samples of one step, collated as a DataLoader would.

    ``x, y = batch`` and ``batch.x``, ``batch.y`` for pairs, ``batch["name"]`` for dicts; ``batch.data`` is what the
    collate function gave.
    """

    __slots__ = ("data", "indices", "epoch")

    def __init__(self, data: Any, indices: List[int], epoch: int):
        self.data, self.indices, self.epoch = data, indices, epoch

    def __len__(self) -> int:
        """Samples."""
        return len(self.indices)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.data)

    def __getitem__(self, key: Any) -> Any:
        return self.data[key]

    @property
    def x(self) -> Any:
        return self.data[0]

    @property
    def y(self) -> Any:
        return self.data[1]

    def to(self, device: Any) -> "Batch":
        """The same on another device."""
        return Batch(_moved(self.data, device), self.indices, self.epoch)


def _moved(data: Any, device: Any) -> Any:
    if isinstance(data, torch.Tensor):
        return data.to(device, non_blocking=True)
    if isinstance(data, dict):
        return {key: _moved(value, device) for key, value in data.items()}
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*(_moved(value, device) for value in data))
    if isinstance(data, (list, tuple)):
        return type(data)(_moved(value, device) for value in data)
    return data


class Source:
    """Where samples come from: a dataset that can be indexed, and how several become a batch."""

    def __init__(self, samples: int, load: Callable[[Sequence[int]], Any], loader: Optional[DataLoader] = None,
                 collate: Optional[Callable[[List[Any]], Any]] = None):
        self.samples, self.load = samples, load
        self.loader, self.collate = loader, collate  # Where the loader's workers are to read: it, and with what.


def _rows(tensors: Sequence[torch.Tensor], indices: Sequence[int]) -> Sequence[torch.Tensor]:
    at = torch.tensor(list(indices), dtype=torch.int64)  # Once: PyTorch takes longer over a list than over its rows.
    return tuple(tensor[at] for tensor in tensors)


def source_of(source: Any, collate_fn: Any = None) -> Source:
    """Of a DataLoader, a Dataset, a tuple of tensors. Misuse for what has no samples by number."""
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

