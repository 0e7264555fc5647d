"""Many points per lengthscale: variance and mean of samples in the largest mode of the exact law.

python benchmarks/dense_points.py [--samples 4096] [--points 60 200 600] [--models se matern]
python benchmarks/dense_points.py --spread --samples 96 --points 60 120 240 400 --models se

Targets lie within one lengthscale of a set of 1D regression, given observations near and far, or
none. "mode" is the largest eigenvalue of the exact covariance over the limiting variance,
"variance" that of samples along its eigenvector over the exact one, "mean" their offset from the
exact mean there, in exact standard deviations. With a start of no terms a sampler sets out from the
limiting law, moved by the mean that one evaluation gives (`geomndp.samplers.start`).

With `--spread` targets lie evenly on [-2, 2], as far as the training, and the table has the average
standard deviation of samples over the exact one, and their mean squared increments over the exact
ones: in one pass, and as `posterior.sample` draws more targets than a network saw
(`geomndp.model.dense_targets`).
"""

import argparse

import _threads  # noqa: F401
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from _table import markdown

import geomndp as gn
from geomndp.experiments.regression1d.training import problem_for
from geomndp.samplers import Amortised, adams

OBSERVATIONS = {0: (), 1: (0.3,), 3: (0.3, -1.0, 1.2)}
LENGTHSCALE = 0.25
NAMES = ("se", "matern")
SAMPLERS = {
    "adams(24, start_terms=0)": adams(24, start_terms=0),
    "adams(24)": adams(24),
    "Amortised(50)": Amortised(50),
}


def leading_mode(gp, task, x) -> tuple[np.ndarray, np.ndarray, float]:
    """Exact mean (n,), leading eigenvector (n,) and eigenvalue, in double precision."""
    mean, covariance = exact_moments(gp, task, x)
    values, vectors = np.linalg.eigh(covariance)
    return mean, vectors[:, -1], float(values[-1])


def task_of(gp, inputs: tuple[float, ...]):
    """Observations of one function, in double precision; None for none."""
    if not inputs:
        return None, None
    xc = jnp.asarray(inputs, float)[:, None]
    return np.asarray(xc), np.asarray(gp.sample(xc, key=jr.key(3)))


def rows(name: str, points: int, num_samples: int) -> list[list[str]]:
    """Rows of the table for one set and number of targets."""
    model, problem, cells = gn.load(f"regression1d/{name}"), problem_for(f"regression1d/{name}"), []
    x = np.linspace(-LENGTHSCALE / 2, LENGTHSCALE / 2, points)[:, None]
    for count, inputs in OBSERVATIONS.items():
        with jax.enable_x64(True):
            gp = problem.exact()
            task = task_of(gp, inputs)
            mean, vector, value = leading_mode(gp, task, x)
        posterior = model.condition() if task[0] is None else model.condition(*task)
        row = [name, str(points), str(count), f"{value / problem.process.variance:.0f}"]
        for sampler in SAMPLERS.values():
            drawn = posterior.sample(x, key=jr.key(0), num_samples=num_samples, sampler=sampler)
            along = (np.asarray(drawn, float)[..., 0] - mean) @ vector / np.sqrt(value)
            row.append(f"{along.var(ddof=1):.2f}, {along.mean():+.2f}")
        cells.append(row)
        print(row, flush=True)
    return cells


def spread_rows(name: str, points: int, num_samples: int) -> list[list[str]]:
    """Spread and increments of samples on [-2, 2] over exact ones, given 0 or 5 observations."""
    model, problem, cells = gn.load(f"regression1d/{name}"), problem_for(f"regression1d/{name}"), []
    x = np.linspace(-2, 2, points)[:, None]
    for count in (0, 5):
        with jax.enable_x64(True):
            gp = problem.exact()
            task = task_of(gp, tuple(np.linspace(-1.73, 1.87, count)))
            mean, covariance = exact_moments(gp, task, x)
        posterior = model.condition() if task[0] is None else model.condition(*task)
        row = [name, str(count), str(points)]
        options = {"key": jr.key(0), "num_samples": num_samples}
        for drawn in (posterior.sample_info(x, **options).y, posterior.sample(x, **options)):
            error = np.asarray(drawn, float)[..., 0] - mean
            spread = np.mean(error.std(axis=0) / np.sqrt(np.diag(covariance)))
            steps = np.diff(np.diff(covariance, axis=0), axis=1)  # covariances of increments
            increments = np.mean(np.diff(error, axis=1) ** 2) / np.mean(np.diag(steps))
            row.append(f"{spread:.2f}, {increments:.2f}")
        cells.append(row)
        print(row, flush=True)
    return cells


def exact_moments(gp, task, x) -> tuple[np.ndarray, np.ndarray]:
    """Exact mean (n,) and covariance (n, n), in double precision."""
    xc, yc = task
    process = gp if xc is None else gp.condition(jnp.asarray(xc, float), jnp.asarray(yc, float))
    mean, covariance = process.mean_and_covariance(jnp.asarray(x, float))
    return np.ravel(mean), np.asarray(covariance)


def main() -> None:
    """Read the arguments, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=4096)
    parser.add_argument("--points", type=int, nargs="*", default=[60, 200, 600])
    parser.add_argument("--models", nargs="*", default=NAMES)
    parser.add_argument("--spread", action="store_true")
    options = parser.parse_args()
    measured = spread_rows if options.spread else rows
    cells = [
        row
        for name in options.models
        for points in options.points
        for row in measured(name, points, options.samples)
    ]
    if options.spread:
        titles = ["one pass: spread, increments", "as sampled: spread, increments"]
        print(markdown(["model", "observations", "targets", *titles], cells))
        return
    header = ["model", "targets", "observations", "mode"]
    print(markdown([*header, *(f"{label}: variance, mean" for label in SAMPLERS)], cells))


if __name__ == "__main__":
    main()
