"""Memory and words that the processes of one worker share: they are on one machine.

Nothing has a name in a file system, so nothing is left behind, however the processes end. A word is a number that counts up;
whoever sees it posted sees all that was written before. Who waits for a word looks now and then whether the others are alive.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import pickle
import select
import signal
from typing import Any, Callable, List, Optional

import torch.distributed as dist

from . import _native
from ._errors import Lost, Misuse

WORD_BYTES = 64  # A line of a processor's cache: no two words share one.
_POLL_MS = 50  # Signals are heard, and the others looked at, so often while one waits.
_LETTER_BYTES = 1 << 16  # Of what is told, at once.
_LAST_WORDS_BYTES = 1024
_PR_SET_PDEATHSIG = 1


class Gone(Lost):
    """Another process of this worker has ended, and this one with it: the other has the reason."""


class Failed(RuntimeError):
    """The script of another process of this worker has raised. `cause`: as `cause_of` that."""

    def __init__(self, words: str, cause: str):
        super().__init__(words)
        self.cause = cause


def words(memory: mmap.mmap, offset: int, count: int) -> List[ctypes.c_uint32]:
    """So many of them, from that place on."""
    return [ctypes.c_uint32.from_buffer(memory, offset + i * WORD_BYTES) for i in range(count)]


def post(word: ctypes.c_uint32, value: int) -> None:
    _native.library().paceline_post(ctypes.byref(word), value)


def is_posted(word: ctypes.c_uint32, value: int) -> bool:
    return bool(_native.library().paceline_await(ctypes.byref(word), value, 0))


def _die_with_torchrun() -> None:
    """Whoever started these processes cannot end them any more once it was killed; it starts them anew."""
    if "TORCHELASTIC_RUN_ID" in os.environ:
        starter = os.getppid()
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != starter:
            os._exit(1)


class Group:
    """The processes of this worker. All make it, and call what is collective, in the same order."""

    def __init__(self) -> None:
        if not dist.is_initialized():
            dist.init_process_group("gloo")
        self.rank, self.ranks = dist.get_rank(), dist.get_world_size()
        if int(os.environ.get("LOCAL_WORLD_SIZE", self.ranks)) != self.ranks:
            raise Misuse(f"{self.ranks} processes on several machines: those of one worker share memory; want a worker a machine")
        _die_with_torchrun()
        self._gloo = dist.new_group(backend="gloo")  # Whatever the script's own computes with.
        self._watched = select.poll()
        self._peers = {}
        for rank, process in enumerate(self.gather(os.getpid())):
            if rank != self.rank:
                try:
                    descriptor = os.pidfd_open(process)
                except ProcessLookupError:
                    raise Gone(f"rank {rank} of this worker has ended") from None
                self._peers[descriptor] = rank
                self._watched.register(descriptor, select.POLLIN)
        letter = (2 + 2 * self.ranks) * WORD_BYTES
        self._last_words = letter + _LETTER_BYTES
        self._memory = self.share(self._last_words + self.ranks * _LAST_WORDS_BYTES)
        self._told, self._size, *others = words(self._memory, 0, 2 + 2 * self.ranks)
        self._heard, self._failed = others[:self.ranks], others[self.ranks:]
        self._letter = letter
        self._count = 0  # Letters told, or heard.

    # --- Collective.

    def gather(self, words_of_mine: Any) -> List[Any]:
        """What each rank says."""
        said: List[Any] = [None] * self.ranks
        dist.all_gather_object(said, words_of_mine, group=self._gloo)
        return said

    def share(self, size: int) -> mmap.mmap:
        """Memory of zeros that all ranks have."""
        descriptor, path = -1, ""
        if self.rank == 0:
            descriptor = os.memfd_create("paceline")
            os.posix_fallocate(descriptor, 0, size)  # Too little memory is said now, not by a signal in some step.
            path = f"/proc/{os.getpid()}/fd/{descriptor}"
        path = self.gather(path)[0]
        if self.rank != 0:
            descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        memory = mmap.mmap(descriptor, size)
        self.gather(None)
        os.close(descriptor)
        return memory

    # --- Rank 0 tells, all others hear.

    def tell(self, what: Any) -> None:
        rest = memoryview(pickle.dumps(what))
        while True:
            for heard in self._heard[1:]:
                self.wait(heard, self._count)
            part, rest = rest[:_LETTER_BYTES], rest[_LETTER_BYTES:]
            self._memory[self._letter:self._letter + len(part)] = part
            self._size.value = len(part) << 1 | bool(rest)
            self._count += 1
            post(self._told, self._count)
            if not rest:
                return

    def hear(self) -> Any:
        parts = []
        while True:
            self.wait(self._told, self._count + 1)
            size, has_more = self._size.value >> 1, self._size.value & 1
            parts.append(self._memory[self._letter:self._letter + size])
            self._count += 1
            post(self._heard[self.rank], self._count)
            if not has_more:
                return pickle.loads(b"".join(parts))

    def has_news(self, timeout_ms: int) -> bool:
        """Whether there is something to hear, at the latest after that time."""
        return self._is_there(self._told, self._count + 1, timeout_ms)

    # --- Waiting, and how one process's end is that of all.

    def wait(self, word: ctypes.c_uint32, value: int, goes_on: Callable[[], bool] = lambda: True) -> bool:
        """Until the word is posted; False: `goes_on`, which is asked now and then, said no. Gone, Failed."""
        while not self._is_there(word, value, _POLL_MS):
            if not goes_on():
                return False
        return True

    def _is_there(self, word: ctypes.c_uint32, value: int, timeout_ms: int) -> bool:
        if _native.library().paceline_await(ctypes.byref(word), value, timeout_ms):
            return True
        try:
            self.look()
        except Gone:
            if not is_posted(word, value):  # Which may have been the other's last deed.
                raise
            return True
        return False

    def fail(self, why: bytes, cause: bytes = b"") -> None:
        """The others hear why this one ends: words and cause, neither with a zero in it."""
        begin = self._last_words + self.rank * _LAST_WORDS_BYTES
        words = cause + b"\0" + why
        self._memory[begin:begin + _LAST_WORDS_BYTES] = words[:_LAST_WORDS_BYTES].ljust(_LAST_WORDS_BYTES, b"\0")
        post(self._failed[self.rank], 1)

    def failed(self) -> Optional[Failed]:
        """What another rank has said as it failed."""
        for rank, failed in enumerate(self._failed):
            if rank != self.rank and is_posted(failed, 1):
                begin = self._last_words + rank * _LAST_WORDS_BYTES
                said = self._memory[begin:begin + _LAST_WORDS_BYTES].rstrip(b"\0").decode("utf-8", "replace")
                cause, _, why = said.partition("\0")
                return Failed(f"rank {rank}: {why}", cause)
        return None

    def look(self) -> None:
        """Raises if another rank has failed, or is no more."""
        ended = self._watched.poll(0)
        failed = self.failed()
        if failed is not None:
            raise failed
        if ended:
            raise Gone(f"rank {self._peers[ended[0][0]]} of this worker has ended")
