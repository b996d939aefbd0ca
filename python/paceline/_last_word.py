"""How a script that a job has started ends: its last word, and its exit code."""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import traceback
from typing import Any

import torch

from . import _native
from ._errors import Error
from ._group_memory import Gone
from ._words import encoded, words_of


def last_word(error: BaseException) -> None:
    """Why it failed, where Paceline looks for it."""
    file = os.environ.get("PACELINE_TERMINATION_MESSAGE", "")
    if isinstance(error, Gone) and os.path.exists(file) and os.path.getsize(file):
        return  # The other has said it.
    places = traceback.extract_tb(error.__traceback__)
    where = f" ({os.path.basename(places[-1].filename)}, line {places[-1].lineno})" if places else ""
    said = words_of(error).strip().splitlines() or [""]  # PyTorch's errors go on for lines.
    if said[0].startswith("Caught "):  # In a worker of a DataLoader: its traceback, and what it was.
        words = f"{said[-1]} (in a worker of the DataLoader)"
    elif isinstance(error, torch.jit.Error):
        words = f"{said[-1]}{where}"
    else:
        words = said[0] if isinstance(error, Error) else f"{type(error).__name__}: {said[0]}{where}"
    _native.library().paceline_last_word(encoded(words))


def say_what_is_not_caught() -> None:
    """In a process that a job has started, an exception that ends it is its last word, and one of ours has its exit code."""
    former = sys.excepthook

    def hook(kind: Any, error: BaseException, trace: Any) -> None:
        with contextlib.redirect_stderr(sys.__stderr__):  # torch.distributed puts it off, and there may be no later.
            former(kind, error, trace)
        if not isinstance(error, KeyboardInterrupt):
            last_word(error)
        if isinstance(error, Error):
            atexit._run_exitfuncs()
            sys.stdout.flush()
            os._exit(error.exit_code)

    sys.excepthook = hook
