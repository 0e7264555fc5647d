"""A child process that tries first what a damaged file may turn into an endless loop or a crash."""

from __future__ import annotations

import os
import signal
import sys
import warnings
from collections.abc import Callable

MAX_MESSAGE_BYTES = 1000  # fits into a pipe


def find_fault(attempt: Callable[[], object], seconds: int) -> str:
    """What goes wrong when a child process makes the attempt; nothing if it returns in time.

    Native code that never returns reacts neither to Ctrl-C nor to other threads, but ends with its
    process. Nothing is tried where processes cannot fork.
    """
    if not hasattr(os, "fork"):
        return ""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        # The child calls nothing of JAX, whose threads it does not have.
        warnings.simplefilter("ignore")
        child = os.fork()
    if child == 0:
        _try(attempt, seconds, writing)
    os.close(writing)
    _, status = os.waitpid(child, 0)
    with os.fdopen(reading, "rb") as pipe:
        message = pipe.read().decode(errors="replace")
    if os.WIFSIGNALED(status):
        slow = os.WTERMSIG(status) == signal.SIGALRM
        return f"no end after {seconds} s" if slow else "a crash of the library that reads it"
    return message


def _try(attempt: Callable[[], object], seconds: int, writing: int) -> None:
    """Never returns; finalisers of what is half open neither run nor speak."""
    try:
        sys.unraisablehook = lambda _: None
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(seconds)
        attempt()
    except BaseException as error:
        text = " ".join(str(error).split()) or type(error).__name__
        os.write(writing, text.encode(errors="replace")[:MAX_MESSAGE_BYTES])
    finally:
        os._exit(0)
