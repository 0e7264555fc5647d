"""Threads of LAPACK beside those of XLA."""

import os
import sys


def use_one_lapack_thread() -> None:
    """Let LAPACK compute every matrix by one thread, if the environment does not say how many.

    XLA calls it from threads of its own: further ones in each of these would wait for each other.
    LAPACK reads the number when it is loaded; where `scipy.linalg` came first it keeps the threads
    that it has, which costs time and changes nothing else.
    """
    if "scipy.linalg" not in sys.modules:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
