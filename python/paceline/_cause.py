"""Where an exception of a script comes from, and whether the next sample will raise it again."""

from __future__ import annotations

import os
import re
import sysconfig
import traceback
from typing import List, NamedTuple, Optional, Tuple

import torch

from ._words import words_of

# What a machine or a network does may be over by the next time, and a file that is no image is its sample's fault.
_MAY_BE_OVER = (OSError,)
_WILL_BE_AGAIN = (FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError)
_PLACE = re.compile(r'^  File "(.+)", line (\d+)', re.MULTILINE)


# Where lines lie that are no script's: PyTorch's and Python's own, and what is installed.
_NOT_OF_SCRIPTS = (os.path.dirname(torch.__file__) + os.sep, sysconfig.get_paths()["stdlib"] + os.sep,
                   os.path.dirname(os.path.abspath(__file__)) + os.sep)
_INSTALLED = re.compile(r"[/\\](site|dist)-packages[/\\]")


class Place(NamedTuple):
    """The line of the script that raised it, or called what did."""

    file: str  # Without its folder, which may differ from machine to machine.
    line: int

    def __str__(self) -> str:
        return f"{self.file}, line {self.line}"


def place_of(error: BaseException) -> Optional[Place]:
    """None: it was never raised."""
    if is_of_loader(error):
        places = [(file, int(line)) for file, line in _PLACE.findall(words_of(error))]
        if places:
            return _innermost(places)
    places = [(frame.filename, frame.lineno or 0) for frame in traceback.extract_tb(error.__traceback__)]
    return _innermost(places) if places else None


def _innermost(places: List[Tuple[str, int]]) -> Place:
    own = [place for place in places if not place[0].startswith(_NOT_OF_SCRIPTS) and not _INSTALLED.search(place[0])]
    file, line = (own or places)[-1]
    return Place(os.path.basename(file), line)


def is_of_loader(error: BaseException) -> bool:
    """Raised in a worker of a DataLoader: its words are that one's traceback."""
    return words_of(error).startswith("Caught ")


def whole_words_of(error: BaseException) -> str:
    """What stands behind the traceback, with all of its lines and the exception's name."""
    words = words_of(error).strip()
    name = type(error).__name__
    if not is_of_loader(error):
        return f"{name}: {words}" if words else name
    lines = words.splitlines()
    begins: List[int] = [at for at, line in enumerate(lines) if re.match(rf"([\w.]+\.)?{re.escape(name)}(:|$)", line)]
    return "\n".join(lines[begins[-1]:] if begins else lines[-1:])


def cause_of(error: BaseException) -> str:
    """Equal where the same line raised the same, whatever was said of a sample. "": it may be over by the next time."""
    carried = getattr(error, "cause", None)
    if isinstance(carried, str):
        return carried
    if isinstance(error, _MAY_BE_OVER) and not isinstance(error, _WILL_BE_AGAIN):
        return ""
    place = place_of(error)
    return f"{type(error).__name__}, {place}" if place is not None else ""


def is_out_of_memory(error: Exception) -> bool:
    """TorchScript hands on the words alone, and so does the CPU's allocator."""
    return isinstance(error, torch.OutOfMemoryError) or any(
        words in str(error) for words in ("out of memory", "can't allocate memory", "not enough memory"))
