"""Options of every `sample` of a learnt law, and how many samples a memory can hold."""

from typing import Any, TypedDict

import numpy as np

from geomndp import _validation
from geomndp._arrays import free_bytes
from geomndp._progress import Progress
from geomndp.samplers import AbstractSampler
from geomndp.scale import Scheduler

MOST_SAMPLES = 2**31 - 1
"""Samples are numbered by 32 bits."""


class SampleOptions(TypedDict, total=False):
    """Options of every `sample`: see `Posterior.sample`."""

    sampler: AbstractSampler | None
    max_memory: int | None
    progress: Progress
    patches: Any
    out: Any
    scheduler: Scheduler


SAMPLE_OPTIONS = ("mask", *SampleOptions.__annotations__)


def check_num_samples(num_samples: Any, *shape: int) -> None:
    """Refuse a number of samples that is none, or whose result no memory holds.

    Args:
        num_samples: The number.
        *shape: Shape of one sample.

    Raises:
        ValueError: Unless it is a whole number of at least one.
        MemoryError: If the samples alone are larger than the free memory, or too many to count.
    """
    _validation.at_least(1, num_samples=num_samples)
    need = 4 * int(num_samples) * int(np.prod(shape))  # bytes in single precision
    free = free_bytes()
    if num_samples > MOST_SAMPLES or (free is not None and need > free):
        room = "unknown" if free is None else f"{free / 2**30:.3g} GiB"
        size = f"{need / 2**30:.3g} GiB (free: {room})"
        raise MemoryError(f"expected fewer samples than {num_samples}, which are {size}")
