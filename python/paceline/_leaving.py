"""How a worker leaves its job: when somebody ends the process, when the script ends, when the interpreter does."""

from __future__ import annotations

import atexit
import weakref
from typing import Any, Callable, Optional


class OnSigterm:
    """The handler: drains the worker, and does nothing once that has left."""

    worker: Callable[[], Optional[Any]] = staticmethod(lambda: None)

    def __call__(self, number: int, frame: Any) -> None:
        worker = self.worker()
        if worker is not None:
            worker.drain()


on_sigterm = OnSigterm()


def is_good_end(error: Optional[BaseException]) -> bool:
    return error is None or (isinstance(error, SystemExit) and error.code in (None, 0))


def close_at_exit(worker: Any) -> Callable[[], None]:
    """Leaves the job when the interpreter ends, whoever forgot to. Gives what undoes that."""
    reference = weakref.ref(worker)

    def close() -> None:
        alive = reference()
        if alive is not None:
            alive._session.close()

    atexit.register(close)
    return lambda: atexit.unregister(close)
