"""The same numbers by any number of workers: many tasks, and the patches of a large field.

    python benchmarks/workers.py [--tasks 512] [--side 176] [--out workers.json] [--quick]

computes tasks of a shipped network (5 observations, 20 targets, 16 samples, 2 steps) by
`condition_many`, and a sample of an exact Gaussian process by patches into a Zarr store: without
dask, by threads (one computes at a time), by 2 and 4 processes of dask, and by 2 of which one is
killed (SIGKILL) when the first results are there. Every process computes
with one thread. Seconds are of the clock, after a run in every process that compiles; those of the
killed worker have the start of another one in them. A row says whether all bits are those without
dask, and everything came once. The last row is the bound that the cores set: two processes that
do all of the work each, independently and at once.
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


def draw_both(sizes: tuple[int, int], seed: int, scheduler: Any = None) -> list[Run]:
    """Tasks and field."""
    return [draw_tasks(sizes[0], seed, scheduler), draw_field(sizes[1], seed, scheduler)]


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


def copies_at_once(client: Any, sizes: tuple[int, int]) -> list[Run]:
    """All of the work in every process of its own, at once: what the cores give at most."""
    addresses = list(client.scheduler_info()["workers"])
    asked = [client.submit(draw_both, sizes, WORK, workers=[a], pure=False) for a in addresses]
    both = zip(*client.gather(asked), strict=True)
    return [
        Run(max(r.seconds for r in runs) / len(runs), runs[0].values, all(r.once for r in runs))
        for runs in both
    ]


def with_a_kill(client: Any, draw: Callable[..., Run], size: int, victim: int) -> Run:
    """Work during which a worker's process is killed."""
    victims = [victim]

    def report(done: float) -> None:
        if done and victims:
            os.kill(victims.pop(), signal.SIGKILL)

    run = draw(size, WORK, client, report)
    return run._replace(once=run.once and not victims)


def measure(sizes: tuple[int, int]) -> dict[str, list[Run]]:
    """Both kinds of work by everything that can do it."""
    compile_all(sizes)
    results = {"no dask": draw_both(sizes, WORK), "threads": draw_both(sizes, WORK, "threads")}
    for count in (2, 4):
        with processes(count, sizes) as client:
            results[f"{count} processes"] = draw_both(sizes, WORK, client)
            if count == 2:
                copies = copies_at_once(client, sizes)
                pids = client.run(os.getpid).values()
                work = zip((draw_tasks, draw_field), sizes, pids, strict=True)
                broken = [with_a_kill(client, *parts) for parts in work]
        print(f"{count} processes are done", flush=True)
    return {**results, "2 processes, one killed": broken, "2 copies at once": copies}


def table_rows(results: dict[str, list[Run]], sizes: tuple[int, int]) -> list[dict]:
    """Rates and ratios of every way."""
    kinds = zip(("tasks", "points"), (sizes[0], sizes[1] ** 2), strict=True)
    rows: list[dict] = [{"how": how, "same": True} for how in results]
    for number, (kind, amount) in enumerate(kinds):
        alone = results["no dask"][number]
        for row in rows:
            run = results[row["how"]][number]
            row |= {kind: amount / run.seconds, f"{kind} ratio": alone.seconds / run.seconds}
            row["same"] &= run.once and run.values.tobytes() == alone.values.tobytes()
    return rows


def cells(row: dict) -> list[str]:
    """A row of the table."""
    numbers = [[f"{row[kind]:,.0f}", f"{row[f'{kind} ratio']:.2f}"] for kind in ("tasks", "points")]
    return [row["how"], *numbers[0], *numbers[1], "yes" if row["same"] else "no"]


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
