"""Free weights of random scales and noise against a random scale of known form, on real functions.

python benchmarks/free_scales.py --data FOLDER --out OUT [--only gait tecator]
python benchmarks/free_scales.py --out OUT --merge

FOLDER holds the sets of `geomndp reproduce own-data`; only their training functions are used. A
fifth of them (whole groups, or the last in time) stands for test functions; simple models are
fitted to the others as `gn.fit` does, and the best one is refitted to them with both scales, which
were chosen on functions held out among them. Joint nats per target value and coverage of 90%
intervals on two random tasks of each kind for every test function; differences have standard errors
over functions. `--merge` writes benchmarks/results/free_scales.json, from which `make tables`
writes the table of docs/own_data.md.
"""

import argparse
import json
from pathlib import Path

import numpy as np
from _table import markdown

import geomndp as gn
from geomndp._atomic_io import write
from geomndp.auto.recalibration import NOISES, mixed_components, mixed_components_pit
from geomndp.auto.selection import Selection
from geomndp.auto.validation import ValidationTasks, validation_tasks
from geomndp.experiments.own_data.data_sets import FUNCTION, find_folder, read_set, set_names

STORED = Path(__file__).parent / "results" / "free_scales.json"
TITLE = "Free weights of scales and noise against a random scale of known form"
SPLIT_SEED, TASK_SEEDS = [77, 0], (100, 101)
TRACKS = "sphere"


def tables_of(function_set):
    """Tables of the functions to fit and of those that stand for test functions."""
    table = function_set.training_table
    names = list(dict.fromkeys(table[FUNCTION]))
    label = dict(zip(names, names, strict=True))
    if column := function_set.options.get("groups"):
        label = dict(zip(table[FUNCTION], table[column], strict=True))
    labels = list(dict.fromkeys(label[name] for name in names))
    order = np.arange(len(labels))[::-1]  # the last ones first
    if not function_set.options["ordered"]:
        order = np.random.default_rng(SPLIT_SEED).permutation(len(labels))
    held = {labels[i] for i in order[: max(2, len(labels) // 5)]}
    rows = table[FUNCTION].map(lambda name: label[name] in held)
    return table[~rows], table[rows]


def test_tasks(functions) -> list[ValidationTasks]:
    """Random tasks of the test functions."""
    x, y, mask = functions[:3]
    num_inputs, rows = functions.variables.num_inputs, np.arange(len(x))
    return [
        validation_tasks(x, y, mask, rows, seed=seed, num_inputs=num_inputs) for seed in TASK_SEEDS
    ]


def measure_set(function_set, minutes: float) -> dict:
    """Differences on test functions, and coverage of both."""
    fitted, held = tables_of(function_set)
    options = function_set.options
    plan = gn.build(fitted, key=0, **options)
    selection = Selection(plan, minutes, 0, None, lambda line: None)
    selection.fit_simple()
    stage, name = selection.gaussians, selection.gaussians.best
    laws, candidate = (stage.known[name], stage.laws[name]), stage.refit(name)
    tasks = test_tasks(gn.build(held, key=0, **options).functions)
    measured = [[candidate.measure(part, noise) for noise in NOISES] for part in tasks]
    nats, coverage = [], []
    for law in laws:
        values = [
            part.by_function(mixed_components(own, law.scale).per_value(part))
            for own, part in zip(measured, tasks, strict=True)
        ]
        nats.append(np.mean(values, axis=0))
        pit = np.concatenate([mixed_components_pit(own, law.scale).ravel() for own in measured])
        coverage.append(float(np.mean(np.abs(pit[np.isfinite(pit)] - 0.5) < 0.45)))
    gain = nats[1] - nats[0]
    return {
        "set": function_set.name,
        "functions": [len(set(part[FUNCTION])) for part in (fitted, held)],
        "candidate": name,
        "scales": [str(law.scale) for law in laws],
        "nats": [float(each.mean()) for each in nats],
        "gain": [float(gain.mean()), float(gain.std(ddof=1) / np.sqrt(len(gain)))],
        "coverage": coverage,
    }


def cells(results: list[dict]) -> tuple[list[str], list[list[str]]]:
    """Header and rows of the table."""
    header = ["set", "functions fitted, tested", "law", "nats, known form", "gain of free weights"]
    rows = [
        [
            result["set"],
            "{}, {}".format(*result["functions"]),
            result["candidate"],
            f"{result['nats'][0]:.3f}",
            "{:+.3f} ± {:.3f}".format(*result["gain"]) if result["gain"][0] else "known form kept",
            "{:.3f}, {:.3f}".format(*result["coverage"]),
        ]
        for result in results
    ]
    return [*header, "90% coverage, known and chosen"], rows


def main() -> None:
    """Read the arguments, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=None)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--only", nargs="*", default=None)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--merge", action="store_true")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    if not options.merge:
        folder = find_folder(options.data)
        for name in options.only or set_names(folder):
            function_set, path = read_set(folder, name), options.out / f"{name}.json"
            if function_set.options["codomain"] != TRACKS and not path.exists():
                result = measure_set(function_set, options.minutes)
                print(json.dumps(result), flush=True)
                write(path, json.dumps(result))
    results = [json.loads(path.read_text()) for path in sorted(options.out.glob("*.json"))]
    header, rows = cells(results)
    if options.merge:
        stored = {"table": {"title": TITLE, "header": header, "cells": rows}, "sets": results}
        write(STORED, json.dumps(stored, indent=1) + "\n")
    print(markdown(header, rows))


if __name__ == "__main__":
    main()
