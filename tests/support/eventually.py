"""How Python tests wait for what another thread, process or machine does. It has the one poll of all of them, as
lib/base/testing/eventually.h has that of C++; tools/lint_sleeps.py counts the other sleeps."""
import time


def eventually(is_so, seconds, every_seconds=0.1):
    """Asks at once, and then once a period: what `is_so()` returned as soon as that is true, or what it returned last if it is not
    by the deadline."""
    deadline = time.monotonic() + seconds
    while True:
        found = is_so()
        if found or time.monotonic() > deadline:
            return found
        time.sleep(every_seconds)
