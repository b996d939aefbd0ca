"""How Python tests wait for what another thread, process or machine does. It has the one poll of all of them, as
lib/base/testing/eventually.h has that of C++; tools/lint_sleeps.py counts the other sleeps."""
import time


LONGEST = 8  # Deadlines: as long as something that moves is waited for.


def eventually(is_so, seconds, every_seconds=0.1, position=None, clock=time.monotonic, pause=time.sleep):
    """Asks at once, and then once a period: what `is_so()` returned as soon as that is true, or what it returned last if it is not
    by the deadline. With a position, the deadline begins anew whenever `position()` is another one than before, LONGEST deadlines
    at most: how fast a machine gets there is no matter, only that it goes on."""
    last = clock() + LONGEST * seconds
    deadline = clock() + seconds
    was = None
    while True:
        found = is_so()
        if position is not None and (now := position()) != was:
            was, deadline = now, min(last, clock() + seconds)
        if found or clock() > deadline:
            return found
        pause(every_seconds)
