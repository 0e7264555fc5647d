"""Many independent tasks of one model: batched on devices, spread over workers, resumable."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.random as jr
import numpy as np

from geomndp import _validation
from geomndp._progress import Progress, reporting
from geomndp._validation import as_key
from geomndp.model.inputs import Seed, names_of
from geomndp.model.many_chunks import Chunk, Options, digest_of, sample_chunk
from geomndp.model.many_tasks import Task, Tasks, read_tasks
from geomndp.samplers import AbstractSampler
from geomndp.scale import FinishedChunks, Scheduler, run_chunks
from geomndp.tables import is_table, write_samples
from geomndp.train.fingerprint import fingerprint

CHUNK_TASKS = {"cpu": 128}
DEFAULT_CHUNK_TASKS = 1024
"""Tasks that one worker takes at a time, and that one file of finished ones holds."""


class ConditionedMany(eqx.Module):
    """What a model has for many independent tasks."""

    def condition_many(
        self,
        tasks: Any,
        targets: Any = None,
        *,
        task: str = "task",
        noise: Any = 0.0,
        time_origin: Any = None,
    ) -> ManyPosteriors:
        """Laws of the model's functions given the observations of many tasks, each by itself.

        Args:
            tasks: A list, or a mapping by name, of (x, y, targets) or of (table, targets) with
                shapes as in `condition`; a DataFrame with a column `task`; or a Dataset with a
                dimension `task`, lazily opened or not.
            targets: Where `tasks` is one table: a table of targets with that column or dimension
                too, or inputs or a table that all tasks share.
            task: Name of the column or dimension.
            noise: Variance of the observation noise, of all tasks, or the name of a table's column.
            time_origin: Moment from which datetimes count, by default the first one of each task.

        Returns:
            Laws to sample from, lazily.

        Raises:
            ValueError: If a task lacks observations or targets.

        Example:
            ```python
            many = model.condition_many([(x, y, targets) for x, y in series], noise=0.01)
            for name, samples in many.sample(key=0, num_samples=16):
                ...
            ```
        """
        return ManyPosteriors(self, read_tasks(tasks, targets, task), noise, time_origin)


class ManyPosteriors:
    """Laws of a model's functions given the observations of many tasks, each by itself.

    Nothing is computed before it is asked for, and tasks are read when their turn comes.

    Args:
        model: Any model; laws of other classes than `Posterior` and `ProcessPosterior` are asked
            one after the other.
        tasks: The tasks.
        noise: Variance of the observation noise of all tasks, or the name of a table's column.
        time_origin: Moment from which datetimes count.
    """

    def __init__(self, model: Any, tasks: Tasks, noise: Any = 0.0, time_origin: Any = None):
        self.model, self.tasks = model, tasks
        self.noise, self.time_origin = noise, time_origin

    def __len__(self) -> int:
        return len(self.tasks)

    def __repr__(self) -> str:
        return f"{len(self)} tasks of {type(self.model).__name__}"

    def sample(self, *, key: Seed, num_samples: int = 16, **options: Any) -> Iterator[tuple]:
        """Draw functions of every task at its targets.

        Args:
            key: Random key or seed. Task number i has `jax.random.fold_in(key, i)`: samples are
                those of `model.condition(x, y).sample(targets, key=fold_in(key, i))` to rounding,
                whatever the batches, their order and the workers.
            num_samples: Number s of draws per task.
            **options: `sampler`, as in `Posterior.sample`. `batch_size`: most tasks side by side on
                the devices, by default what keeps them busy. `max_memory`: bytes that a batch may
                take, by default half of what is free. `chunk_size`: tasks that a worker takes at a
                time. `scheduler`: None, "threads", or a client or an address of dask (see
                `geomndp.scale.run_chunks`). `directory`: keeps finished chunks, with which the same
                call resumes. `progress`: False for no bar, or a function that is called with the
                number of tasks done.

        Yields:
            Name of a task and its samples (s, n, p), a table at the locations of a table; in the
            order of the tasks.

        Raises:
            ValueError: If a task does not fit the model; the message names it.
            FloatingPointError: If values became NaN or infinite.
        """
        for task, y in self._values(key, num_samples, moments=False, **options):
            yield task.name, self._written(task, y)

    def mean_and_std(self, *, key: Seed, num_samples: int = 256, **options: Any) -> Iterator[tuple]:
        """Means and standard deviations of every task at its targets, from samples.

        Args:
            key: Random key or seed.
            num_samples: Number of samples that stand for the law.
            **options: Of `sample`.

        Yields:
            Name of a task, means (n, p) and standard deviations (n, p).
        """
        _validation.at_least(2, num_samples=num_samples)
        if not self.model.manifold.flat:
            raise ValueError("expected a model of real values for moments, got one on a manifold")
        for task, y in self._values(key, num_samples, moments=True, **options):
            yield task.name, y[0], y[1]

    def _written(self, task: Task, y: np.ndarray) -> Any:
        if not is_table(task.targets):
            return y
        return write_samples(names_of(self.model), task.targets, y)

    def _values(
        self,
        key: Seed,
        num_samples: int,
        *,
        moments: bool,
        sampler: AbstractSampler | None = None,
        batch_size: int | None = None,
        max_memory: int | None = None,
        chunk_size: int | None = None,
        scheduler: Scheduler = None,
        directory: str | os.PathLike | None = None,
        progress: Progress = True,
    ) -> Iterator[tuple[Task, np.ndarray]]:
        _validation.at_least(1, num_samples=num_samples)
        if batch_size is not None:
            _validation.at_least(1, batch_size=batch_size)
        usual = CHUNK_TASKS.get(jax.default_backend(), DEFAULT_CHUNK_TASKS)
        size = usual if chunk_size is None else chunk_size
        _validation.at_least(1, chunk_size=size)
        own = as_key(key)
        if own is None:
            raise ValueError("expected a key such as jax.random.key(0), got none")
        seed = str(jr.key_impl(own)), np.asarray(jr.key_data(own))
        options = Options(
            seed,
            int(num_samples),
            sampler,
            self.noise,
            self.time_origin,
            batch_size,
            max_memory,
            moments,
        )
        store = None if directory is None else self._store(directory, options, size)
        with reporting("tasks", len(self), progress) as report:
            done = 0
            for chunk, result in self._chunks(options, size, scheduler, store):
                yield from zip(chunk.tasks, result, strict=True)
                done += len(chunk.tasks)
                report(done)

    def _store(self, directory: Any, options: Options, size: int) -> FinishedChunks:
        request = {"model": fingerprint(self.model), "tasks": str(len(self)), "chunk": str(size)}
        # Batches and memory change rounding alone.
        request["options"] = fingerprint(options._replace(batch_size=None, max_memory=None))
        request["x64"] = str(bool(jax.config.read("jax_enable_x64")))
        return FinishedChunks(Path(directory), request)

    def _chunks(self, options: Options, size: int, scheduler: Scheduler, store: Any):
        """Chunks in their order with the values of their tasks; few are waiting at a time."""
        sent: dict[int, tuple[Chunk, str]] = {}
        ready: dict[int, tuple[Chunk, list[np.ndarray]]] = {}
        kept: list[int] = []

        def wanted() -> Iterator[Chunk]:
            for number, first in enumerate(range(0, len(self), size)):
                chunk = Chunk(first, self.tasks[first : first + size], options)
                digest = "" if store is None else digest_of(chunk.tasks)
                known = None if store is None else store.read(number, digest)
                if known is not None:
                    ready[number] = chunk, known
                    continue
                kept.append(number)
                sent[number] = chunk, digest
                yield chunk

        given_before: set[str] = set()
        following = 0
        for position, result in run_chunks(sample_chunk, self.model, wanted(), scheduler):
            number = kept[position]
            chunk, digest = sent.pop(number)
            _warn(result.warnings, given_before)
            if store is not None:
                store.write(number, digest, result.values)
            ready[number] = chunk, result.values
            while following in ready:
                yield ready.pop(following)
                following += 1
        while following in ready:
            yield ready.pop(following)
            following += 1


def _warn(caught: list[tuple[type[Warning], str]], given_before: set[str]) -> None:
    """Pass on the warnings of a worker, each text once."""
    for category, text in caught:
        if text not in given_before:
            given_before.add(text)
            warnings.warn(text, category, stacklevel=4)
