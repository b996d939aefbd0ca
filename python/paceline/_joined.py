"""What a worker is made of: its model in one piece, and its session, alone or shared with other ranks."""

from __future__ import annotations

from typing import Any, Callable, Dict, Tuple

import torch

from ._errors import Misuse
from ._frozen import WAYS
from ._group import is_group, join
from ._model import FlatModel
from ._session import Session


def check(frozen: str) -> None:
    """Misuse: there is no such way with frozen parameters."""
    if frozen not in WAYS:
        raise Misuse(f"frozen is {frozen!r}, want one of {', '.join(map(repr, WAYS))}")


def joined(model: torch.nn.Module, frozen: str) -> Tuple[FlatModel, Any]:
    """By all ranks alike. The model is an ordinary one where this raises."""
    check(frozen)
    are_averaged = frozen == "averaged"
    if is_group():
        return join(model, Session, are_averaged)
    flat = FlatModel(model, are_averaged)
    try:
        return flat, Session(flat)
    except BaseException:
        flat.release()
        raise


def freeze(flat: FlatModel, job: Dict[str, Any], log: Callable[[str], None]) -> None:
    """What the job's parameter groups say; and tells of all that is frozen."""
    if by_groups := flat.freeze(job["spec"]["training"].get("parameterGroups", [])):
        log(f"frozen by the job's parameter groups: {', '.join(by_groups)}")
    if flat.frozen:
        log(f"frozen, and this worker's own: {len(flat.frozen)} parameters, {flat.frozen[0].name} the first. They do not travel with a step")
