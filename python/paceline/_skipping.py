"""Of how many samples a step is: those that its batch holds, or the script says; the others are skipped.

In a job and alone alike: what is skipped is committed as such, with a count of its own, and handed out to nobody in this epoch.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import Any, Callable, Optional, Set

import torch

from ._errors import Misuse

FORGOTTEN = "the batch before had no w.step(loss): one step for each batch"
_TOLD = {
    "skip": "the script skips batches: their samples count as skipped",
    "forgotten": "the script asks for a batch and has made no step with the one before: its samples count as skipped",
    "empty": "a batch of {samples} samples was collated to none: all of them count as skipped, and no step is made of it",
    "smaller": "a batch of {samples} samples was collated to {held}: that many count, and the others are skipped; where they are in it all "
               "the same, say w.step(loss, samples={samples})",
}


def held_by(data: Any, samples: int) -> int:
    """How many of its samples a collated batch holds: less than all only where that can be told.

    It can of a tensor, and of a tuple, list or mapping of nothing but tensors, all with as many rows: fewer than `samples`, and not
    `samples` together, as one for each class has. A list of pictures, words beside a tensor, or one row of many tokens tell nothing;
    and what has `samples` along its first or second dimension holds all of them, as time-major tensors do.
    """
    parts = list(data.values()) if isinstance(data, Mapping) else list(data) if isinstance(data, (list, tuple)) else [data]
    if not parts or not all(isinstance(part, torch.Tensor) and part.dim() for part in parts):
        return samples
    rows = {part.shape[0] for part in parts}
    if len(rows) > 1 or any(samples in part.shape[:2] for part in parts):
        return samples
    held = rows.pop()
    is_packed = held == 1 and all(part.dim() > 1 for part in parts)
    return samples if held > samples or is_packed or held * len(parts) == samples else held


class Skipping:
    """What one worker has skipped. `say`: a line for people, each kind once."""

    def __init__(self, say: Callable[[str], None], is_possible: bool = True):
        self._say, self._is_possible = say, is_possible
        self._said: Set[str] = set()
        self.has_begun = False  # A part of the batch in hand has gone into gradients.

    def counted(self, data: Any, samples: int, said: Optional[int]) -> int:
        """Of how many samples a step is. Misuse: the script says what cannot be."""
        if not self._is_possible:
            if said is not None and said != samples:
                raise Misuse("in a worker of several processes each counts the samples it is handed: w.step(loss) without samples")
            return samples
        if said is None:
            held = held_by(data, samples)
            if held < samples:
                self._tell("smaller" if held else "empty", samples, held)
            return held
        try:
            number = -1 if isinstance(said, bool) else operator.index(said)  # Of numpy and of a tensor too.
        except TypeError:
            number = -1
        if not 0 <= number <= samples:
            raise Misuse(f"w.step(loss, samples={said!r}): want a number of samples from 0 to {samples}, which the batch has")
        if number == 0 and self.has_begun:
            raise Misuse("w.step(loss, samples=0) behind w.accumulate, which had a part of the batch")
        return number

    def refuse_what_cannot(self, is_asked: bool, has_strays: bool) -> None:
        """Before a batch is skipped. Misuse: it was begun, or ranks would have to agree. `is_asked`: by w.skip(). `has_strays`: a
        backward pass of the script's own was made."""
        if self.has_begun or has_strays or not self._is_possible:
            raise Misuse("a batch cannot be skipped in a worker of several processes, or behind w.accumulate" if is_asked else FORGOTTEN)
        self._tell("skip" if is_asked else "forgotten")

    def _tell(self, kind: str, samples: int = 0, held: int = 0) -> None:
        if kind not in self._said:
            self._said.add(kind)
            self._say(_TOLD[kind].format(samples=samples, held=held))
