"""libpaceline_worker.so as Python calls: the whole of python/native/paceline_worker.h, and nothing else."""

from __future__ import annotations

import ctypes
import os
from ctypes import POINTER, Structure, c_char_p, c_double, c_int, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from typing import Optional

from . import _errors

ABI = 10
OK, NO_JOB, REFUSED, LOST, HERE, INVALID, FAILED, GIVEN_UP, HOLDS_FROZEN = range(9)
FLOAT32, INT64 = 0, 1
PARAMETER, BUFFER = 0, 1
NOTHING, STEP, EVALUATE, OVER, DRAW = range(5)
INTERRUPTED, OUT_OF_MEMORY = 0, 1

_ERRORS = {
    NO_JOB: _errors.NoJob,
    REFUSED: _errors.Refused,
    LOST: _errors.Lost,
    HERE: _errors.CannotHere,
    INVALID: _errors.Misuse,
    FAILED: _errors.Error,
    HOLDS_FROZEN: _errors.HoldsFrozen,
}


class Tensor(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("shape", POINTER(c_int64)),
        ("dimensions", c_size_t),
        ("type", c_int32),
        ("kind", c_int32),
        ("offset_bytes", c_uint64),
    ]


class Work(Structure):
    _fields_ = [
        ("kind", c_int32),
        ("samples", POINTER(c_uint32)),
        ("sample_count", c_size_t),
        ("epoch", c_uint64),
    ]


class Evaluation(Structure):
    _fields_ = [
        ("loss", c_double),
        ("accuracy", c_double),
        ("samples", c_uint64),
        ("accuracy_from", c_char_p),
        ("names", POINTER(c_char_p)),
        ("metrics", POINTER(c_double)),
        ("metric_count", c_size_t),
    ]


# Begin, bytes and where to; 0: they are there.
READ = ctypes.CFUNCTYPE(c_int, c_uint64, c_uint64, c_void_p)

# Begin, size of the whole, bytes and how many of them; 0: they are kept.
TAKE = ctypes.CFUNCTYPE(c_int, c_uint64, c_uint64, c_void_p, c_uint64)
GOES_ON, WAITS, OWN, TAKEN = range(4)

# Result and arguments of each function. A session is a pointer.
SIGNATURES = {
    "paceline_abi": (c_int, []),
    "paceline_error": (c_char_p, []),
    "paceline_tune_allocator": (None, []),
    "paceline_arrange": (c_int, [POINTER(Tensor), c_size_t, POINTER(c_uint64)]),
    "paceline_take_memory": (c_void_p, [c_uint64]),
    "paceline_memory_begin": (c_void_p, [c_void_p]),
    "paceline_give_back_memory": (None, [c_void_p]),
    "paceline_open": (c_int, [POINTER(Tensor), c_size_t, c_void_p, c_uint64, c_void_p, POINTER(c_void_p)]),
    "paceline_read_job": (c_int, [POINTER(c_char_p)]),
    "paceline_job": (c_char_p, [c_void_p]),
    "paceline_is_evaluator": (c_int, [c_void_p]),
    "paceline_index": (c_uint32, [c_void_p]),
    "paceline_group": (c_char_p, [c_void_p]),
    "paceline_device": (c_char_p, [c_void_p]),
    "paceline_threads": (c_int, [c_void_p]),
    "paceline_start": (c_int, [c_void_p, c_uint64, c_char_p, c_int, c_char_p]),
    "paceline_next": (c_int, [c_void_p, c_int, POINTER(Work)]),
    "paceline_keep": (c_int, [c_void_p, c_char_p, c_char_p, c_char_p]),
    "paceline_hold": (c_int, [c_void_p, c_char_p, c_char_p, c_uint64, READ]),
    "paceline_adopt": (c_int, [c_void_p, TAKE, POINTER(c_int)]),
    "paceline_drew": (c_int, [c_void_p, c_uint64, POINTER(c_uint32), c_size_t]),
    "paceline_reason": (c_char_p, [c_void_p]),
    "paceline_expect": (c_size_t, [c_void_p, c_size_t, POINTER(c_uint32), c_size_t]),
    "paceline_may_go_on": (c_int, [c_void_p]),
    "paceline_hand": (c_int, [c_void_p, c_size_t, POINTER(c_size_t), POINTER(c_void_p), POINTER(c_uint64)]),
    "paceline_begin_step": (c_int, [c_void_p]),
    "paceline_end_step": (c_int, [c_void_p, c_double, c_uint64, c_uint64]),
    "paceline_give_up_step": (c_int, [c_void_p, c_int]),
    "paceline_fail_step": (c_int, [c_void_p, c_char_p, c_char_p]),
    "paceline_end_evaluation": (c_int, [c_void_p, POINTER(Evaluation)]),
    "paceline_fail_evaluation": (c_int, [c_void_p, c_char_p]),
    "paceline_drain": (None, [c_void_p]),
    "paceline_leave": (None, [c_void_p]),
    "paceline_close": (c_int, [c_void_p, c_int]),
    "paceline_post": (None, [POINTER(c_uint32), c_uint32]),
    "paceline_await": (c_int, [POINTER(c_uint32), c_uint32, c_int]),
    "paceline_last_word": (None, [c_char_p]),
    "paceline_log": (None, [c_int, c_char_p]),
}

_library: Optional[ctypes.CDLL] = None


def _path() -> str:
    """PACELINE_WORKER_LIBRARY, for a build of one's own; else what lies in the package."""
    named = os.environ.get("PACELINE_WORKER_LIBRARY")
    return named or os.path.join(os.path.dirname(__file__), "lib", "libpaceline_worker.so")


def library() -> ctypes.CDLL:
    """The library, loaded once. ctypes lets go of the interpreter's lock during each call."""
    global _library
    if _library is None:
        path = _path()
        if not os.path.exists(path):
            raise _errors.Misuse(f"this installation of paceline lacks {path}: install the wheel, or name a build's "
                                 "library in PACELINE_WORKER_LIBRARY")
        loaded = ctypes.CDLL(path)
        for name, (result, arguments) in SIGNATURES.items():
            function = getattr(loaded, name)
            function.restype = result
            function.argtypes = arguments
        if loaded.paceline_abi() != ABI:
            raise _errors.Misuse(f"{path} has interface {loaded.paceline_abi()}, this package wants {ABI}: both must be "
                                 "of one version")
        _library = loaded
    return _library


def check(code: int) -> None:
    """Raises what `code` says, in the library's own words."""
    if code != OK:
        words = library().paceline_error().decode("utf-8", "replace")
        raise _ERRORS.get(code, _errors.Error)(words)

