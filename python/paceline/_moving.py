"""Brings what a batch is made of to a device."""

from __future__ import annotations

import copy
import dataclasses
from collections import UserDict
from collections.abc import Mapping
from typing import Any

import torch


def moved(data: Any, device: Any, non_blocking: bool = True) -> Any:
    """The same there: of the same type, what it cannot be found to hold left as it is. `data` itself stays where it is.

    Tensors, whatever has a ``to`` of its own, and mappings, sequences and dataclasses of these.
    """
    if isinstance(data, torch.Tensor):
        return data.to(device, non_blocking=non_blocking)
    if isinstance(data, type):
        return data

    def part(value: Any) -> Any:
        return moved(value, device, non_blocking)

    if callable(getattr(data, "to", None)):
        there = data.to(device)
        return data if there is None else there  # In place.
    if isinstance(data, Mapping):
        return _like(data, {key: part(value) for key, value in data.items()})
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)._make(part(value) for value in data)
    if isinstance(data, (list, tuple)):
        parts = [part(value) for value in data]
        return parts if type(data) is list else type(data)(parts)
    if dataclasses.is_dataclass(data):
        there = copy.copy(data)
        for field in dataclasses.fields(data):
            if hasattr(data, field.name):
                object.__setattr__(there, field.name, part(getattr(data, field.name)))  # Also of a frozen one.
        return there
    return data


def _like(mapping: Any, items: dict) -> Any:
    """Of its type, if that can be made of `items`."""
    if type(mapping) is dict:
        return items
    if isinstance(mapping, (dict, UserDict)):
        same = copy.copy(mapping)  # With what it has beside its items, as a defaultdict has its default.
        for key, value in items.items():
            same[key] = value
        return same
    try:
        return type(mapping)(items)
    except TypeError:
        return items
