"""Words that a script, or a library under it, has chosen, on their way to Paceline: there may be anything in them."""

from __future__ import annotations


def encoded(words: str) -> bytes:
    """UTF-8 without zeros. What is no text, such as the bytes of a file name in Latin-1, is written out: \\udcdf."""
    return words.encode("utf-8", "backslashreplace").replace(b"\0", rb"\x00")


def words_of(error: BaseException) -> str:
    """What it says of itself; an exception of somebody's own may fail at that, too."""
    try:
        return str(error)
    except Exception as problem:
        return f"(its __str__ raised {type(problem).__name__})"


def named(error: BaseException) -> str:
    return f"{type(error).__name__}: {words_of(error)}"
