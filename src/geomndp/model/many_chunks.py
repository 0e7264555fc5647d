"""The tasks that one worker takes at a time: read, batched and drawn."""

from __future__ import annotations

import hashlib
import warnings
from typing import Any, NamedTuple

import jax.random as jr
import numpy as np

from geomndp._arrays import put
from geomndp.model.many_batches import BatchableDraw, batchable_draw, run_batches
from geomndp.model.many_tasks import Task, named_errors
from geomndp.model.posterior import Posterior
from geomndp.samplers import AbstractSampler
from geomndp.tables import is_table
from geomndp.train.fingerprint import fingerprint


class Options(NamedTuple):
    """What the results of all tasks depend on; see `ManyPosteriors.sample`."""

    key: tuple[str, np.ndarray]
    num_samples: int
    sampler: AbstractSampler | None
    noise: Any
    time_origin: Any
    batch_size: int | None
    max_memory: int | None
    moments: bool


class Chunk(NamedTuple):
    """Consecutive tasks, from number `first` on."""

    first: int
    tasks: list[Task]
    options: Options


class ChunkResult(NamedTuple):
    """Values of every task of a chunk, in its order, and the warnings that were given."""

    values: list[np.ndarray]
    warnings: list[tuple[type[Warning], str]]


def sample_chunk(model: Any, chunk: Chunk) -> ChunkResult:
    """Samples, or their moments, of the tasks of a chunk.

    Args:
        model: The model.
        chunk: The tasks, and what to draw.

    Returns:
        Values (s, n, p), or means and standard deviations (2, n, p), in the order of the tasks.
    """
    impl, data = chunk.options.key
    key, options = jr.wrap_key_data(put(data), impl=impl), chunk.options
    draws: dict[int, BatchableDraw] = {}
    values: dict[int, np.ndarray] = {}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for number, task in enumerate(chunk.tasks, chunk.first):
            with named_errors(task.name):
                posterior = model.condition(
                    task.x, task.y, noise=options.noise, **_origin(options.time_origin)
                )
                request = key, options.num_samples, options.sampler
                draw = batchable_draw(posterior, task.targets, *request)
                if draw is None:
                    own = jr.fold_in(key, number)
                    values[number] = _alone(posterior, task.targets, own, options)
                else:
                    draws[number] = draw
        limits = options.num_samples, options.batch_size, options.max_memory
        values |= dict(run_batches(draws, key, *limits))
    for number, task in enumerate(chunk.tasks, chunk.first):
        with named_errors(task.name):
            if not np.all(np.isfinite(values[number])):
                raise FloatingPointError("the sampled values became NaN or infinite")
            if options.moments:
                y = np.asarray(values[number], np.float64)
                values[number] = np.stack([y.mean(axis=0), y.std(axis=0, ddof=1)])
    ordered = [values[number] for number in sorted(values)]
    return ChunkResult(ordered, [(w.category, str(w.message)) for w in caught])


def _origin(time_origin: Any) -> dict[str, Any]:
    return {} if time_origin is None else {"time_origin": time_origin}


def _alone(posterior: Any, targets: Any, key: Any, options: Options) -> np.ndarray:
    """Samples of one task by itself."""
    many = isinstance(posterior, Posterior)  # drawn in rounds
    whose = "more points than in training" if many else type(posterior).__name__
    warnings.warn(f"tasks of {whose} are asked one after the other, not in batches", stacklevel=2)
    own = {} if options.sampler is None else {"sampler": options.sampler}
    draw = getattr(posterior, "sample_values", posterior.sample)
    return np.asarray(draw(targets, key=key, num_samples=options.num_samples, **own))


def digest_of(tasks: list[Task]) -> str:
    """Digest of all that the tasks hold."""
    text = repr(sorted(fingerprint([tuple(_plain(v) for v in task) for task in tasks]).items()))
    return hashlib.sha256(text.encode()).hexdigest()


def _plain(value: Any) -> Any:
    """Arrays by name of a table; anything else as it is."""
    if not is_table(value):
        return value
    names = [*value.columns] if hasattr(value, "columns") else [*value.variables]
    return {str(name): np.asarray(value[name]).astype(str) for name in names}
