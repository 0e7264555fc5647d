"""Threads of XLA and of LAPACK on machines with few cores.

Batched LAPACK calls of jaxlib (Cholesky factors, triangular solves) run in XLA's thread pool and
wait there for other threads of it: as many of them side by side as the pool has threads wait for
ever, on two cores two. JAX reads the size of its pool when it starts.
"""

import os
import sys

ENOUGH = 32
"""Threads that are more than calls side by side."""


def use_enough_threads() -> None:
    """Give XLA enough threads where the machine has few, if the environment does not say how many.

    LAPACK then computes every matrix by one thread: threads of its own that wait for each other in
    each of XLA's would keep the cores from working. Where LAPACK was loaded before, with several
    threads, XLA has one.
    """
    few = hasattr(os, "sched_getaffinity") and len(os.sched_getaffinity(0)) < ENOUGH
    few = few or (os.cpu_count() or 1) < ENOUGH
    if not few or "NPROC" in os.environ:
        return
    if "scipy.linalg" not in sys.modules:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    alone = os.environ.get("OPENBLAS_NUM_THREADS") == "1"
    os.environ["NPROC"] = str(ENOUGH) if alone else "1"
