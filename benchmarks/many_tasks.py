"""Rate of many small conditioning tasks: in batches, by dask workers, and in a loop.

python benchmarks/many_tasks.py [--tasks 500] [--loop 20] [--workers 0] [--steps 20] [--quick]

Tasks of 5 observations, 20 targets and 16 samples with a shipped network. "batches" is
`condition_many`, "loop" is `condition(...).sample(...)` one after the other; both after calls that
compile, which have a column of their own. On a CPU seconds are of processor time of this process,
so that other programs do not count; those of workers are of the clock, beside one worker in the
same run.
"""

import argparse
import time
import warnings

import _threads  # noqa: F401
import jax
import jax.random as jr
import numpy as np
from _table import markdown

import geomndp as gn
from geomndp.model.many import DEFAULT_CHUNK_TASKS

OBSERVATIONS, TARGETS, SAMPLES = 5, 20, 16


def make_tasks(count: int) -> list[tuple[np.ndarray, ...]]:
    """Observations and targets of every task."""
    rng = np.random.default_rng(0)
    return [
        (
            rng.uniform(-2, 2, (OBSERVATIONS, 1)).astype(np.float32),
            rng.normal(size=(OBSERVATIONS, 1)).astype(np.float32),
            rng.uniform(-2, 2, (TARGETS, 1)).astype(np.float32),
        )
        for _ in range(count)
    ]


def seconds_of(function) -> tuple[float, list]:
    """Seconds of a call (see above), and its result."""
    clock = time.process_time if jax.default_backend() == "cpu" else time.perf_counter
    start = clock()
    result = function()
    return clock() - start, result


def in_batches(model, tasks, **options) -> list:
    """Samples of all tasks."""
    return [y for _, y in model.condition_many(tasks).sample(key=0, num_samples=SAMPLES, **options)]


def compile_seconds(function) -> float:
    """Seconds by which a first call takes longer than a second one."""
    first, second = (seconds_of(function)[0] for _ in range(2))
    return max(0.0, first - second)


def all_batches(model, tasks, **options) -> None:
    """Run every program of the batches: of a full chunk and of the last one, which may be smaller.

    On a CPU batches are small, so that few tasks have them all.
    """
    size = DEFAULT_CHUNK_TASKS if jax.default_backend() != "cpu" else 16
    in_batches(model, tasks[:size], **options)
    if jax.default_backend() != "cpu" and (rest := len(tasks) % size):
        in_batches(model, tasks[-rest:], **options)


def cells(rate: float, loop: float) -> list[str]:
    """Rate and ratio as text."""
    return [f"{rate:.1f}", f"{rate / loop:.2f}"]


def in_a_loop(model, tasks, **options) -> list:
    """Samples of all tasks, one after the other."""
    key = jr.key(0)
    return [
        np.asarray(
            model.condition(x, y).sample(
                targets, key=jr.fold_in(key, i), num_samples=SAMPLES, **options
            )
        )
        for i, (x, y, targets) in enumerate(tasks)
    ]


def by_workers(model, tasks, most: int, options: dict) -> list[list]:
    """Rows of a cluster of 1, 2, 4, ... processes, with their ratios to one."""
    from distributed import Client, LocalCluster

    rows, alone = [], None
    for count in (n for n in (1, 2, 4, 8) if n <= most):
        with (
            LocalCluster(count, threads_per_worker=1, dashboard_address=None) as cluster,
            Client(cluster) as client,
        ):
            extra = {**options, "scheduler": client, "chunk_size": max(1, len(tasks) // 16)}
            in_batches(model, tasks, **extra)  # compiles in every worker
            start = time.perf_counter()
            in_batches(model, tasks, **extra)
            rate = len(tasks) / (time.perf_counter() - start)
        alone = alone or rate
        rows.append([f"{count} workers", str(len(tasks)), *cells(rate, alone)])
    return rows


def main() -> None:
    """Read the arguments, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="regression1d/se")
    parser.add_argument("--tasks", type=int, default=500)
    parser.add_argument("--loop", type=int, default=20)
    parser.add_argument("--workers", type=int, default=0, help="most processes of dask")
    parser.add_argument("--steps", type=int, help="by default those of the default sampler")
    parser.add_argument("--quick", action="store_true", help="12 tasks, 2 in the loop, 2 steps")
    options = parser.parse_args()
    if options.quick:
        options.tasks, options.loop, options.steps = 12, 2, 2
    warnings.simplefilter("ignore")
    model, tasks = gn.load(options.model), make_tasks(max(options.tasks, options.loop))
    sampler = {} if options.steps is None else {"sampler": gn.samplers.Amortised(options.steps)}
    many, few = tasks[: options.tasks], tasks[: options.loop]
    loop_compiles = compile_seconds(lambda: in_a_loop(model, few[:1], **sampler))
    slow, expected = seconds_of(lambda: in_a_loop(model, few, **sampler))
    compiles = compile_seconds(lambda: all_batches(model, many, **sampler))
    quick, samples = seconds_of(lambda: in_batches(model, many, **sampler))
    difference = max(np.max(np.abs(a - b)) for a, b in zip(samples, expected, strict=False))
    rates = len(many) / quick, len(few) / slow
    rows = [["batches", str(len(many)), compiles, quick, *cells(rates[0], rates[1])]]
    rows += [["loop", str(len(few)), loop_compiles, slow, *cells(rates[1], rates[1])]]
    header = ["how", "tasks", "compilation (s)", "seconds", "tasks per second", "ratio"]
    print(markdown(header, rows))
    print(f"largest difference {difference:.1e} ({jax.devices()[0].device_kind})", flush=True)
    if options.workers:
        rows = by_workers(model, many, options.workers, sampler)
        print(markdown(["how", "tasks", "tasks per second", "ratio"], rows))


if __name__ == "__main__":
    main()
