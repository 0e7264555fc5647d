"""The same numbers by any number of workers: many tasks, and the patches of a large field.

    python benchmarks/workers.py [--tasks 512] [--side 176] [--out workers.json] [--quick]

computes tasks of a shipped network (5 observations, 20 targets, 16 samples, 2 steps) by
`condition_many`, and a sample of an exact Gaussian process by patches into a Zarr store: without
dask, by threads (which prepare and write at once, and compute one at a time), by 2 and 4 processes
of dask, and by 2 of which one is killed (SIGKILL) after a third of the work. Every process computes
with one thread. Seconds are of the clock, after a run in every process that compiles; those of the
killed worker have the start of another one in them. A row says whether all bits are those without
dask, and everything came once.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import tempfile
import time
import warnings
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import _threads  # noqa: F401
import numpy as np
from _table import markdown
from many_tasks import SAMPLES, make_tasks

STEPS, CHUNK, SPACING, SEED = 2, 8, 0.25, 0
WARM_UP, WORK = 1, 2
HEADER = ("how", "tasks per second", "ratio", "points per second", "ratio", "same bits, all once")


class Run(NamedTuple):
    """What one way gave: seconds, all values, and whether all were there once."""

    seconds: float
    values: np.ndarray
    once: bool


def draw_tasks(count: int, seed: int, scheduler: Any = None, report: Any = False) -> Run:
    """Samples of all tasks."""
    import geomndp as gn

    many = gn.load("regression1d/se").condition_many(make_tasks(count))
    request = {"key": seed, "num_samples": SAMPLES, "chunk_size": CHUNK, "progress": report}
    start = time.perf_counter()
    drawn = many.sample(**request, sampler=gn.samplers.Amortised(STEPS), scheduler=scheduler)
    names, values = zip(*drawn, strict=True)
    seconds = time.perf_counter() - start
    return Run(seconds, np.stack(values), names == tuple(range(count)))


def draw_field(side: int, seed: int, scheduler: Any = None, report: Any = False) -> Run:
    """A sample of side x side points in a store."""
    import xarray as xr

    import geomndp as gn

    process = gn.gp.GP(gn.kernels.Matern32(1.0), noise=0.01)
    model = gn.ProcessModel(process).with_variables(("x", "y"), "z")
    axis = SPACING * np.arange(side)
    grid, counts = xr.Dataset(coords={"x": axis, "y": axis}), []
    request = {"key": seed, "num_samples": 1, "patches": "auto", "scheduler": scheduler}

    def count(done: float) -> None:
        counts.append(done)
        if report:
            report(done)

    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        out = Path(folder) / "field.zarr"
        field = model.condition().sample(grid, out=out, progress=count, **request)
        seconds = time.perf_counter() - start
        patches = len(list((out / "patches" / "done" / "c").glob("*")))
        values = field["z"].values
    once = counts[-1] == patches == len({*counts}) - 1 and bool(np.isfinite(values).all())
    return Run(seconds, values, once)


def draw_both(sizes: tuple[int, int], seed: int, scheduler: Any = None, report=None) -> list[Run]:
    """Tasks and field; `report(total)` makes what is called with the number of those done."""
    reports = (False, False) if report is None else map(report, sizes)
    functions = draw_tasks, draw_field
    work = zip(functions, sizes, reports, strict=True)
    return [function(size, seed, scheduler, own) for function, size, own in work]


def compile_all(sizes: tuple[int, int]) -> None:
    """Let this process compile all that it may be asked for."""
    warnings.simplefilter("ignore")
    draw_both((CHUNK, sizes[1]), WARM_UP)


@contextmanager
def processes(count: int, sizes: tuple[int, int]):
    """A client of so many processes, each of which has compiled."""
    from distributed import Client, LocalCluster, wait

    options: dict[str, Any] = {"threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(count, **options, silence_logs=50) as cluster, Client(cluster) as client:
        addresses = list(client.scheduler_info()["workers"])
        wait([client.submit(compile_all, sizes, workers=[a], pure=False) for a in addresses])
        yield client


def killer(client: Any, killed: list[int]) -> Callable[[int], Callable[[float], None]]:
    """Reports that kill a worker's process once a third of the work is done."""

    def report(total: int) -> Callable[[float], None]:
        victim = next(iter(client.run(os.getpid).values()))

        def after(done: float) -> None:
            if done >= total / 3 and victim not in killed:
                killed.append(victim)
                os.kill(victim, signal.SIGKILL)

        return after

    return report


def measure(sizes: tuple[int, int]) -> dict[str, list[Run]]:
    """Both kinds of work by everything that can do it."""
    compile_all(sizes)
    results = {"no dask": draw_both(sizes, WORK), "threads": draw_both(sizes, WORK, "threads")}
    for count in (2, 4):
        with processes(count, sizes) as client:
            results[f"{count} processes"] = draw_both(sizes, WORK, client)
            if count == 2:
                killed: list[int] = []
                broken = draw_both(sizes, WORK, client, killer(client, killed))
                broken = [run._replace(once=run.once and len(killed) == 2) for run in broken]
        print(f"{count} processes are done", flush=True)
    return {**results, "2 processes, one killed": broken}


def table_rows(results: dict[str, list[Run]], sizes: tuple[int, int]) -> list[dict]:
    """Rates and ratios of every way."""
    amounts, first = (sizes[0], sizes[1] ** 2), results["no dask"]
    rows = []
    for how, runs in results.items():
        row: dict[str, Any] = {"how": how}
        for kind, amount, run, alone in zip(("tasks", "points"), amounts, runs, first, strict=True):
            row |= {kind: amount / run.seconds, f"{kind} ratio": alone.seconds / run.seconds}
        same = all(
            a.values.tobytes() == b.values.tobytes() for a, b in zip(runs, first, strict=True)
        )
        rows.append({**row, "same": same and all(run.once for run in runs)})
    return rows


def cells(row: dict) -> list[str]:
    """A row of the table."""
    numbers = [f"{row[name]:.3g}" for name in ("tasks", "tasks ratio", "points", "points ratio")]
    return [row["how"], *numbers, "yes" if row["same"] else "no"]


def main() -> None:
    """Read the arguments, measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", type=int, default=512)
    parser.add_argument("--side", type=int, default=176)
    parser.add_argument("--out", type=Path, default=None, help="JSON file of the results")
    parser.add_argument("--quick", action="store_true", help="32 tasks, 48 x 48 points")
    options = parser.parse_args()
    sizes = (32, 48) if options.quick else (options.tasks, options.side)
    warnings.simplefilter("ignore")
    load = os.getloadavg()[0]
    rows = table_rows(measure(sizes), sizes)
    shown = [cells(row) for row in rows]
    run = {"tasks": sizes[0], "side": sizes[1], "cores": os.cpu_count(), "load before": load}
    print(json.dumps(run))
    print(markdown(HEADER, shown))
    if options.out is not None:
        table = {"title": "Workers", "header": HEADER, "cells": shown}
        content = {"run": run, "rows": rows, "table": table}
        options.out.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
