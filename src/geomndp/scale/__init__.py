"""Many independent computations: one after the other, by threads, or over a dask cluster."""

from geomndp.scale.engine import Scheduler, as_finished, check_scheduler, mapper, run_chunks
from geomndp.scale.finished import FinishedChunks

__all__ = [
    "FinishedChunks",
    "Scheduler",
    "as_finished",
    "check_scheduler",
    "mapper",
    "run_chunks",
]
