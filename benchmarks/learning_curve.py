"""Number of training functions against the gain over the best simple model, on real functions.

python benchmarks/learning_curve.py --data FOLDER --out OUT [--part 0/7] [--minutes 3]
python benchmarks/learning_curve.py --out OUT --merge --figure docs/figures/learning_curve.png

FOLDER holds the sets of `geomndp reproduce own-data`; only their training functions are used. A
fifth of them (whole groups, or the last in time) is held out; of the others n are drawn, the same
ones again among more, and `gn.fit(plan, minutes=...)` and the simple models are fitted to them. The
gain is that of joint nats per target value (of tracks: per target point) on random tasks of the
held-out functions, of the kinds that the set has, with a standard error over functions; table and
figure show the larger random context.

Every (set, n) is a unit of work with a file of its own: one that is there is not computed again, a
fit that was stopped resumes, one that fails prints why and leaves the others alone, and `--part
2/7` takes every seventh unit, so that processes share the work. `--merge` writes
benchmarks/results/learning_curve.json, from which the figure is drawn; `make tables` its table.
"""

import argparse
import json
import sys
import time
import traceback
from contextlib import nullcontext
from pathlib import Path

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from _gains import cells, draw
from _table import markdown

import geomndp as gn
from geomndp._atomic_io import write
from geomndp.auto.split import split_functions
from geomndp.evaluate.table_tasks import FunctionRows, TableTask, read_tasks
from geomndp.evaluate.task_metrics import TaskMetrics, paired_differences
from geomndp.experiments.own_data.data_sets import FUNCTION, FunctionSet, find_folder, read_set
from geomndp.tables import name_variables

SETS, SIZES = ("dti_cca", "japanese_vowels", "gfs_boxes"), (16, 32, 64, 128, 256)
STORED = Path(__file__).parent / "results" / "learning_curve.json"
TITLE = "Gain over the best simple model by number of training functions"
SPLIT_SEED, ORDER_SEED, TASK_SEED, FIT_SEED = 1, 2, 3, 0
MAX_HELD_OUT, MAX_TARGETS = 48, 30
FLOW = gn.likelihood.Flow(steps=12, divergence=gn.geometry.Hutchinson(8, chunk=8))
BATCH_SIZE = 16


def divide(function_set: FunctionSet) -> tuple[list[str], list[str]]:
    """Names of the functions to learn from, in a random order, and of those that evaluate."""
    names, table = list(function_set.train), function_set.training_table
    groups = None
    if column := function_set.options.get("groups"):
        by_name = dict(zip(table[FUNCTION], table[column], strict=True))
        groups = [str(by_name[name]) for name in names]
    ordered = function_set.options["ordered"]
    split = split_functions(len(names), seed=SPLIT_SEED, groups=groups, ordered=ordered)[0]
    pool = np.random.default_rng(ORDER_SEED).permutation(split.train)
    few = np.linspace(0, len(split.held_out) - 1, MAX_HELD_OUT).round().astype(int)
    return [names[i] for i in pool], [names[i] for i in split.held_out[np.unique(few)]]


def sizes_of(function_set: FunctionSet, sizes) -> list[int]:
    """Numbers of functions to learn from: those that there are, and all of them."""
    available = len(divide(function_set)[0])
    return [n for n in sizes if n < 0.8 * available] + [available]


def held_out_tasks(function_set: FunctionSet, names: list[str]) -> list[TableTask]:
    """Random tasks of the kinds that the set has, on held-out training functions."""
    options = function_set.options
    variables = name_variables(options["inputs"], options["outputs"], options["codomain"])
    table = function_set.training_table
    rows = gn.evaluate.read_function_rows(
        table[table[FUNCTION].isin(names)], variables, options["function"]
    )
    kinds = list(dict.fromkeys(task["kind"] for task in function_set.tasks))
    contexts = [int(kind[3:]) for kind in kinds if kind.startswith("ctx")]
    settings = {"forecast": "forecast" in kinds, "max_targets": MAX_TARGETS, "seed": TASK_SEED}
    return read_tasks(gn.evaluate.random_tasks(rows, contexts=contexts, **settings), rows)


def padded(parts: list[FunctionRows]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows of functions, padded by their last one; 1 for real rows whose values are known."""
    size = max(len(rows.x) for rows in parts)
    index = [np.minimum(np.arange(size), len(rows.x) - 1) for rows in parts]
    x, y = (
        np.stack([values[i] for values, i in zip(columns, index, strict=True)])
        for columns in zip(*parts, strict=True)
    )
    real = np.stack([np.arange(size) < len(rows.x) for rows in parts]) & np.isfinite(y).all(axis=2)
    return x, np.where(np.isfinite(y), y, np.nanmean(y)), real.astype(float)


def joint_nats(process, tasks: list[TableTask]) -> TaskMetrics:
    """Joint nats per target value of every task; the kinds one after the other."""
    nats = np.zeros(len(tasks))
    exact = not process.learnt
    options = {} if exact else {"flow": FLOW, "key": jr.key(TASK_SEED)}
    for kind in dict.fromkeys(task.kind for task in tasks):
        rows = [number for number, task in enumerate(tasks) if task.kind == kind]
        parts = [padded([getattr(tasks[i], part) for i in rows]) for part in ("context", "target")]
        x, y, mask = (np.concatenate(both, axis=1) for both in zip(*parts, strict=True))
        context = np.concatenate([parts[0][2], 0 * parts[1][2]], axis=1)
        with jax.enable_x64(True) if exact else nullcontext():
            dtype = jnp.result_type(float)
            batch = gn.data.Batch(*(jnp.asarray(part, dtype) for part in (x, y, mask, context)))
            totals = gn.evaluate.log_likelihood(
                process,
                batch,
                num_context=parts[0][0].shape[1],
                batch_size=BATCH_SIZE,
                **options,
            )
            values = np.asarray(totals.value) / np.asarray(totals.num_targets)
        nats[rows] = values / (1 if process.variables.codomain == "sphere" else y.shape[2])
    names = tuple(task.function for task in tasks)
    pit = np.full((len(tasks), 1), np.nan)
    return TaskMetrics(tuple(task.kind for task in tasks), names, {"joint": nats}, pit)


def measure(function_set: FunctionSet, n: int, folder: Path, minutes: float) -> dict:
    """Fit to n functions and compare on the held-out ones."""
    pool, held_out = divide(function_set)
    chosen, table = set(pool[:n]), function_set.training_table
    plan = gn.build(table[table[FUNCTION].isin(chosen)], key=FIT_SEED, **function_set.options)
    begin = time.monotonic()
    model, report = gn.fit(plan, minutes=minutes, key=FIT_SEED, directory=folder, quiet=True)
    seconds = time.monotonic() - begin
    tasks = held_out_tasks(function_set, held_out)
    simple = gn.simple_models(plan, minutes=minutes, key=FIT_SEED)
    metrics = {name: joint_nats(process, tasks) for name, process in simple.items()}
    ours = joint_nats(model, tasks)
    gains = {name: paired_differences(ours, each, ("joint",)) for name, each in metrics.items()}
    return {
        "set": function_set.name,
        "functions": n,
        "held_out": len(held_out),
        "minutes": minutes,
        "seconds": {"fit": round(seconds, 1), "all": round(time.monotonic() - begin, 1)},
        "report": report.sentence(),
        "chosen": report.chosen,
        "joint": {"ours": _by_kind(ours), **{k: _by_kind(each) for k, each in metrics.items()}},
        "gains": {name: {d.kind: list(d[2:]) for d in each} for name, each in gains.items()},
    }


def measure_units(units: list[tuple[FunctionSet, int]], out: Path, minutes: float) -> list[str]:
    """Write a file for every unit that has none; names of those that failed."""
    failed = []
    for function_set, n in units:
        path = out / f"{function_set.name}-{n}.json"
        if path.exists():
            continue
        try:
            result = measure(function_set, n, out / "fits" / path.stem, minutes)
        except Exception:
            traceback.print_exc()
            failed.append(path.stem)
            continue
        write(path, json.dumps(result) + "\n")
        print(markdown(*cells([result])), flush=True)
    return failed


def _by_kind(metrics: TaskMetrics) -> dict:
    return {kind: summary["joint"] for kind, summary in metrics.summary().items()}


def merge(folder: Path) -> None:
    """Write the results of all finished units, with their table."""
    units = [json.loads(path.read_text()) for path in folder.glob("*.json")]
    units.sort(key=lambda unit: (unit["set"], unit["functions"]))
    header, rows = cells(units)
    table = {"title": TITLE, "header": header, "cells": rows}
    write(STORED, json.dumps({"units": units, "table": table}, indent=1) + "\n")


def main() -> None:
    """Read the arguments; measure the units of this process, or merge and draw."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=None, help="folder of the sets; $GEOMNDP_DATA by default")
    parser.add_argument("--out", type=Path, default=None, help="folder of finished units")
    parser.add_argument("--sets", nargs="*", default=list(SETS))
    parser.add_argument("--sizes", type=int, nargs="*", default=list(SIZES))
    parser.add_argument("--minutes", type=float, default=3.0)
    parser.add_argument("--part", default="0/1", help="I/K: every K-th unit, beginning with I")
    parser.add_argument("--merge", action="store_true", help=f"write {STORED.name} from OUT")
    parser.add_argument("--figure", type=Path, default=None)
    options = parser.parse_args()
    if options.merge:
        merge(options.out)
    elif options.out is not None:
        folder = find_folder(options.data)
        sets = {name: read_set(folder, name) for name in options.sets}
        part, parts = map(int, options.part.split("/"))
        units = [(each, n) for each in sets.values() for n in sizes_of(each, options.sizes)]
        failed = measure_units(units[part::parts], options.out, options.minutes)
        sys.exit(f"failed: {', '.join(failed)}" if failed else 0)
    results = json.loads(STORED.read_text())["units"]
    print(markdown(*cells(results)))
    if options.figure is not None:
        draw(results, options.figure)


if __name__ == "__main__":
    main()
