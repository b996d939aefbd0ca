"""What a worker is made of: its model in one piece, and its session, alone or shared with other ranks."""

from __future__ import annotations

from typing import Any, Callable, Tuple

import torch

from ._errors import Misuse
from ._frozen import WAYS, Freezing
from ._group import is_group, join
from ._model import FlatModel
from ._session import Session


def check(frozen: str) -> None:
    """Misuse: there is no such way with frozen parameters."""
    if frozen not in WAYS:
        raise Misuse(f"frozen is {frozen!r}, want one of {', '.join(map(repr, WAYS))}")
    if frozen == "first" and is_group():
        raise Misuse("frozen is 'first', which a worker of several processes cannot: have each process load or draw the same")


def joined(model: torch.nn.Module, frozen: str) -> Tuple[FlatModel, Any]:
    """By all ranks alike. The model is an ordinary one where this raises."""
    check(frozen)
    are_averaged = frozen == "averaged"
    freezing = Freezing(model, Session.parameter_groups(), are_averaged)
    try:
        if is_group():
            return join(model, Session, are_averaged, freezing)
        flat = FlatModel(model, are_averaged, freezing)
        try:
            return flat, Session(flat)
        except BaseException:
            flat.release()
            raise
    except BaseException:
        freezing.undo()
        raise


def say_what_is_frozen(flat: FlatModel, log: Callable[[str], None]) -> None:
    if flat.freezing.names:
        log(f"frozen by the job's parameter groups: {', '.join(flat.freezing.names)}")
    if flat.frozen:
        log(f"frozen, and this worker's own: {len(flat.frozen)} parameters, {flat.frozen[0].name} the first. They do not travel with a step")
