"""The native session of a worker: what the script calls of the library, and when it ends."""

from __future__ import annotations

import ctypes
import json
import os
import time
from typing import Any, Callable, Dict, List, Optional

from . import _native
from ._errors import Misuse
from ._frozen import Frozen
from ._frozen_file import FrozenFile, TakenFile
from ._model import FlatModel
from ._words import encoded

_CLOSE_MS = 10_000
_SAID_AFTER = 5.0  # Seconds of waiting.

# Of sessions that did not end when they were closed: their threads may write there, and call, until the process ends.
_written_to: List[Any] = []


class Session:
    """The native session, which belongs to the process that opened it."""

    _read: Any = None  # What its thread calls...
    _take: Any = None  # ...and it calls while this one adopts.

    def __init__(self, model: FlatModel):
        self._library = _native.library()
        self._handle = ctypes.c_void_p()
        _native.check(self._library.paceline_open(model.native, len(model), model.values.data_ptr(),
                                                  model.values.numel(), model.memory, ctypes.byref(self._handle)))
        self._process = os.getpid()
        self._functions: Dict[str, Any] = {}
        self._model = model  # Its memory is written to as long as the session is open.

    @staticmethod
    def parameter_groups() -> List[Dict[str, Any]]:
        """Of the job that the environment names. Raises what opening a session would."""
        read = ctypes.c_char_p()
        _native.check(_native.library().paceline_read_job(ctypes.byref(read)))
        return json.loads(read.value or b"{}")["spec"]["training"].get("parameterGroups", [])

    @property
    def is_open(self) -> bool:
        return bool(self._handle)

    def call(self, name: str, *arguments: Any) -> Any:
        if os.getpid() != self._process:
            raise Misuse("this worker belongs to the process that made it: a child has no part in the job")
        if not self._handle:
            raise Misuse("this worker has left its job")
        function = self._functions.get(name)
        if function is None:
            function = self._functions[name] = getattr(self._library, "paceline_" + name)
        return function(self._handle, *arguments)

    def check(self, name: str, *arguments: Any) -> None:
        _native.check(self.call(name, *arguments))

    def keep(self, frozen: List[Frozen], way: str, goes_on: Callable[[], bool], digests: Optional[List[str]] = None) -> None:
        """What is this worker's own, before it starts, and what becomes of it."""
        if way == "first":
            self._adopt(frozen, goes_on)
        digests = [one.digest() for one in frozen] if digests is None else digests
        for one, digest in zip(frozen, digests):
            self.check("keep", encoded(one.name), encoded(one.type), digest.encode())
        file = FrozenFile(frozen, digests)
        if way != "omit" and len(file):
            self._hold(file)

    def _adopt(self, frozen: List[Frozen], goes_on: Callable[[], bool]) -> None:
        """The values that the first worker of the job has are these' too."""
        file = FrozenFile(frozen, [one.digest() for one in frozen])
        if left := file.left_out:
            _native.library().paceline_log(1, encoded(f"frozen=\"first\" cannot give these to other workers, which have to load the same: {', '.join(left)}"))
        if not len(file):
            return
        self._hold(file)
        taken = TakenFile(frozen)
        self._take = _native.TAKE(taken.take)
        state = ctypes.c_int(_native.GOES_ON)
        began, is_said = time.monotonic(), False
        while state.value in (_native.GOES_ON, _native.WAITS) and goes_on():
            self.check("adopt", self._take, ctypes.byref(state))
            if not is_said and time.monotonic() - began > _SAID_AFTER:
                is_said = True
                _native.library().paceline_log(0, encoded("waits for the frozen parameters of the first worker"))

    def _hold(self, file: FrozenFile) -> None:
        self._read = _native.READ(file.read)
        self.check("hold", file.of.encode(), encoded(file.said), len(file), self._read)

    def close(self) -> None:
        if self._handle and os.getpid() == self._process:
            handle, self._handle = self._handle, ctypes.c_void_p()
            if self._library.paceline_close(handle, _CLOSE_MS) != _native.OK:
                _written_to.append((self._model.values, self._read))

    def loss_weight(self) -> Optional[float]:
        return None

    def look_ahead(self, steps: int) -> None:
        pass
