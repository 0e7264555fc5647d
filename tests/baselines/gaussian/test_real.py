"""Simple models of real functions against the stored baselines of the same tasks."""

import csv
import json
import os
from pathlib import Path

import numpy as np
import pytest
from scipy.linalg import solve_triangular

from geomndp._types import Batch
from geomndp.baselines import fit_gp, fit_shrunk_gaussian, refit
from geomndp.baselines.gaussian.held_out import log_density, moments

FOLDER = Path(os.environ.get("GEOMNDP_DATA", "data")) / "functions"
SETS = {"elnino": None, "gait": 1.0}  # the period of the input
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not FOLDER.exists(), reason="GEOMNDP_DATA has no folder functions"),
]


def read(name: str) -> dict[str, np.ndarray]:
    """Rows of every function."""
    with (FOLDER / name / "data.csv").open(encoding="utf-8") as lines:
        rows = list(csv.reader(lines))[1:]
    functions: dict[str, list[list[float]]] = {}
    for function, *values in rows:
        functions.setdefault(function, []).append([float(value) for value in values])
    return {function: np.asarray(values) for function, values in functions.items()}


def task_nats(fit, task: dict, rows: np.ndarray, scale: tuple) -> float:
    """Joint nats per target value in the units of the file."""
    shift, unit = scale
    order = np.asarray([*task["context"], *task["target"]])
    z = (rows[order] - shift) / unit
    mean, covariance = moments(fit.process, z[:, :1])
    factor = np.linalg.cholesky(covariance)
    residual = z[:, 1:].reshape(-1) - mean
    white = solve_triangular(factor, residual, lower=True)
    context = len(task["context"]) * (z.shape[1] - 1)
    squares, logs = np.cumsum(white**2), np.cumsum(np.log(np.diag(factor)))
    number = np.arange(1, len(white) + 1)
    total = log_density(squares, logs, number, fit.dof)
    targets = len(white) - context
    return float((total[-1] - total[context - 1]) / targets - np.log(unit[1:]).mean())


@pytest.mark.parametrize("name", SETS)
def test_it_is_as_good_as_the_stored_baselines(name):
    functions = read(name)
    split = json.loads((FOLDER / name / "split.json").read_text(encoding="utf-8"))
    tasks = json.loads((FOLDER / name / "tasks.json").read_text(encoding="utf-8"))["tasks"]
    stored = json.loads((FOLDER / name / "results.json").read_text(encoding="utf-8"))["models"]
    train = np.stack([functions[function] for function in split["train"]])
    shift, unit = train.mean(axis=(0, 1)), train.std(axis=(0, 1))
    z = (train - shift) / unit
    mask = np.ones(z.shape[:2])
    batch = Batch(z[..., :1], z[..., 1:], mask, np.zeros_like(mask))
    period = None if SETS[name] is None else (SETS[name] / unit[0],)
    pooled = refit(fit_gp(batch, validation=np.arange(len(z))[::5], period=period), batch)
    shrunk = fit_shrunk_gaussian(batch, pooled)
    for fit, model in ((pooled, "gp"), (shrunk, "linear_gaussian_gp")):
        for kind, reference in stored[model]["kinds"].items():
            chosen = [task for task in tasks if task["kind"] == kind]
            nats = [
                task_nats(fit, task, functions[task["function"]], (shift, unit)) for task in chosen
            ]
            assert np.mean(nats) > reference["logp_joint"] - reference["logp_joint_se"], kind
