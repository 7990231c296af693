"""Waits in tests, with a deadline."""

import threading
import time

POLL_SECONDS = 0.02


class TooLate(AssertionError):
    pass


def until(what: str, probe, seconds: float = 60.0):
    """Returns the first true value of probe(), which it calls repeatedly for at most so many seconds."""
    deadline = time.monotonic() + seconds
    pause = threading.Event()
    while not (value := probe()):
        if time.monotonic() > deadline:
            raise TooLate(f"{what}: not within {seconds} s")
        pause.wait(POLL_SECONDS)
    return value
