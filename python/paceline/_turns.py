"""Whether a turn of ``w.data`` is an epoch, or all of them: an epoch where a loop stands around it.

    for epoch in range(90):                 # as every tutorial has it
        for batch in w.data(loader): ...    # a turn: an epoch

    for batch in w.data(loader): ...        # the only turn: until the job is over

The loop may stand in any function that is running, as around ``train_one_epoch(w, loader)``. One that makes a worker each time
around is none: ``for seed in ...: with paceline.worker(model) as w: ...``.
"""

from __future__ import annotations

import dis
import functools
from types import CodeType, FrameType
from typing import Dict, List, Optional, Tuple

_AWAY = ("JUMP", "JUMP_FORWARD", "JUMP_ABSOLUTE", "JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT")
_ENDS = ("RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE")
_TO_HANDLERS = ("SETUP_FINALLY", "SETUP_WITH", "SETUP_ASYNC_WITH")  # Of Python 3.10, which jump only where something is raised.


class Turns:
    """Of one worker. `maker`: the frame that makes it."""

    def __init__(self, maker: Optional[FrameType]):
        self._maker: Dict[Tuple[int, CodeType], int] = {}
        while maker is not None:
            self._maker[id(maker), maker.f_code] = maker.f_lasti
            maker = maker.f_back

    def is_epoch(self, caller: Optional[FrameType]) -> bool:
        """Of the turn that `caller` asks for."""
        while caller is not None:
            made_at = self._maker.get((id(caller), caller.f_code), -1)
            if _is_in_loop(caller.f_code, caller.f_lasti, made_at):
                return True
            caller = caller.f_back
        return False


@functools.lru_cache(maxsize=256)
def _is_in_loop(code: CodeType, at: int, but: int) -> bool:
    """Whether the instruction at `at` may come to itself again, without the one at `but`."""
    following = _following(code)
    starts = sorted(following)
    here = max(start for start in starts if start <= at)  # Behind it may stand what the interpreter keeps for itself.
    avoided = max((start for start in starts if start <= but), default=-1)
    if here == avoided:
        return False
    seen = {avoided}
    to_see = list(following[here])
    while to_see:
        now = to_see.pop()
        if now == here:
            return True
        if now not in seen:
            seen.add(now)
            to_see.extend(following[now])
    return False


def _following(code: CodeType) -> Dict[int, List[int]]:
    """The offsets of what may come after each instruction, where nothing is raised."""
    instructions = list(dis.get_instructions(code))
    following: Dict[int, List[int]] = {}
    for at, one in enumerate(instructions):
        after = [instructions[at + 1].offset] if at + 1 < len(instructions) and one.opname not in _AWAY + _ENDS else []
        is_jump = (one.opcode in dis.hasjrel or one.opcode in dis.hasjabs) and one.opname not in _TO_HANDLERS
        following[one.offset] = after + [one.argval] if is_jump else after
    return following
