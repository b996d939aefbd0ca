"""How a script that a job has started ends: its last word, and its exit code."""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
from typing import Any

import torch

from . import _native
from ._cause import is_of_loader, place_of, whole_words_of
from ._errors import Error
from ._group_memory import Failed, Gone
from ._words import encoded, words_of


def said_of(error: BaseException) -> str:
    """Its words, and where it was raised unless that is in this package."""
    if isinstance(error, (Error, Failed)):
        return words_of(error).strip()
    place = place_of(error)
    if is_of_loader(error):
        return f"{whole_words_of(error)} ({place}, in a worker of the DataLoader)"
    words = whole_words_of(error)
    if isinstance(error, torch.jit.Error):  # TorchScript's own traceback comes before.
        words = words.splitlines()[-1]
    return f"{words} ({place})" if place is not None else words


def last_word(error: BaseException) -> None:
    """Why it failed, where Paceline looks for it."""
    file = os.environ.get("PACELINE_TERMINATION_MESSAGE", "")
    if isinstance(error, Gone) and os.path.exists(file) and os.path.getsize(file):
        return  # The other has said it.
    _native.library().paceline_last_word(encoded(said_of(error)))


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
