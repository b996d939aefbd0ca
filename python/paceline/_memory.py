"""Memory that the library makes: its addresses stay, its pages may become those of another version (docs/adr/0061)."""

from __future__ import annotations

import ctypes
import weakref
from typing import Optional, Tuple

import torch

from . import _native


def take_memory(size: int) -> Tuple[Optional[int], torch.Tensor]:
    """A handle for `paceline_open`, and so many bytes of zeros, which live as long as a tensor looks at them. No handle: ordinary memory."""
    library = _native.library()
    handle = library.paceline_take_memory(size)
    if handle is None:
        return None, torch.zeros(size, dtype=torch.uint8)
    memory = (ctypes.c_ubyte * size).from_address(library.paceline_memory_begin(handle))
    # Not at the interpreter's end: tensors may live longer.
    weakref.finalize(memory, library.paceline_give_back_memory, handle).atexit = False
    return handle, torch.frombuffer(memory, dtype=torch.uint8)
