"""Options of every `sample` of a learnt law."""

from typing import Any, TypedDict

from geomndp._progress import Progress
from geomndp.samplers import AbstractSampler
from geomndp.scale import Scheduler


class SampleOptions(TypedDict, total=False):
    """Options of every `sample`: see `Posterior.sample`."""

    sampler: AbstractSampler | None
    max_memory: int | None
    progress: Progress
    patches: Any
    out: Any
    scheduler: Scheduler
