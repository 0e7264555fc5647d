r"""Posteriors of a model against the exact Gaussian process, at every size of observation noise.

At context points with noise of variance r on top of y, N posterior samples at the targets, and the
log-density of one draw of the exact posterior. Noise is given relative to the limiting variance,
from zero to the largest that amortised conditioning accepts. The floor is the KL that as many
samples of the exact posterior show.

The models of two experiments are measured in this way, so that it belongs to the folder of neither.

    python -m geomndp.experiments.noise_levels regression1d/se --out noise.json
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from geomndp import _model_files
from geomndp.evaluate import moment_matched_kl
from geomndp.experiments import results
from geomndp.experiments.registry import find
from geomndp.experiments.regression1d import training as regression1d
from geomndp.experiments.vector_fields import training as vector_fields
from geomndp.gp import GP
from geomndp.model import Model, load

RATIOS = (0.0, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0)


class NoiseSetting(NamedTuple):
    """The exact process, and the inputs of a task: context points first."""

    gp: GP
    variance: float
    """Limiting variance, in which noise is counted."""
    low: float
    high: float
    dim: int
    contexts: int
    targets: int

    def inputs(self, seed: int) -> np.ndarray:
        """Uniform inputs of one task."""
        shape = (self.contexts + self.targets, self.dim)
        return np.random.default_rng(seed).uniform(self.low, self.high, shape)


def noise_setting(name: str) -> NoiseSetting:
    """Of a model by its experiment: a line of 5 and 20 points, or a square of 10 and 10."""
    if find(name).name == "vector-fields":
        problem = vector_fields.problem_for(name)
        return NoiseSetting(problem.gp, problem.variance, -3.0, 3.0, 2, 10, 10)
    process = regression1d.problem_for(name)
    return NoiseSetting(process.exact(), process.process.variance, -2.0, 2.0, 1, 5, 20)


def largest_ratio(model: Model) -> float:
    """Largest noise over the limiting variance that is accepted, less a margin for rounding."""
    return 0.999 * float(jnp.expm1(model.noising.schedule.integral(jnp.ones(()))))


def noise_rows(
    model: Model,
    where: NoiseSetting,
    *,
    tasks: int = 8,
    num_samples: int = 2**14,
    densities: int = 64,
    ratios: Sequence[float] = RATIOS,
) -> list[dict]:
    """One row per noise: KL of the samples, its floor, and log-densities; pairs over the tasks."""
    rows = []
    largest = largest_ratio(model)
    for ratio in [*(r for r in ratios if r < largest), largest]:
        noise = ratio * where.variance
        kls = [_kl(model, where, noise, seed, num_samples) for seed in range(tasks)]
        logs = [_log_densities(model, where, noise, seed) for seed in range(densities)]
        row: dict = {"ratio": ratio, "noise": noise, "num_samples": num_samples}
        for name, values in zip(("kl", "floor"), zip(*kls, strict=True), strict=True):
            row[name] = _pair(values)
        if logs:
            exact, log_probs = np.transpose(logs)
            row |= {
                "log_prob": _pair(log_probs),
                "gp": _pair(exact),
                "regret": _pair(exact - log_probs),
            }
        rows.append(row)
    return rows


class NoiseTask(NamedTuple):
    """Noisy values at the context points, and the exact law of the targets."""

    xc: np.ndarray
    yc: np.ndarray
    x: np.ndarray
    mean: np.ndarray
    factor: np.ndarray


def draw_noise_task(where: NoiseSetting, noise: float, seed: int) -> NoiseTask:
    """A function of the process, seen with noise; in double precision."""
    x, c = where.inputs(seed), where.contexts
    random = np.random.default_rng((seed, 1))
    with jax.enable_x64(True):
        y = where.gp.sample(jnp.asarray(x), key=jr.key(seed))
        yc = np.asarray(y)[:c] + np.sqrt(noise) * random.normal(size=(c, where.gp.dim))
        law = where.gp.condition(jnp.asarray(x[:c]), jnp.asarray(yc), noise=noise)
        mean, covariance = law.mean_and_covariance(jnp.asarray(x[c:]))
    return NoiseTask(x[:c], yc, x[c:], np.ravel(mean), np.linalg.cholesky(np.asarray(covariance)))


def _kl(model, where, noise, seed, num_samples) -> tuple[float, float]:
    """KL of the model's samples and of as many exact ones."""
    task = draw_noise_task(where, noise, seed)
    posterior = model.condition(*(np.float32(v) for v in (task.xc, task.yc)), noise=noise)
    drawn = posterior.sample(np.float32(task.x), key=jr.key(seed + 1), num_samples=num_samples)
    z = np.random.default_rng((seed, 2)).normal(size=(num_samples, len(task.mean)))
    truth = task.mean, task.factor @ task.factor.T
    exact = moment_matched_kl(task.mean + z @ task.factor.T, truth)[0]
    return moment_matched_kl(np.asarray(drawn, np.float64).reshape(num_samples, -1), truth)[
        0
    ], exact


def _log_densities(model, where, noise, seed) -> tuple[float, float]:
    """Exact and model's log-density, nats per target, of one draw of the exact posterior."""
    task = draw_noise_task(where, noise, seed)
    z = np.random.default_rng((seed, 3)).normal(size=len(task.mean))
    y = (task.mean + task.factor @ z).reshape(len(task.x), -1)
    logdet = np.sum(np.log(np.diag(task.factor)))
    exact = -0.5 * np.sum(z**2 + np.log(2 * np.pi)) - logdet
    posterior = model.condition(*(np.float32(v) for v in (task.xc, task.yc)), noise=noise)
    log_prob = float(posterior.log_prob(np.float32(task.x), np.float32(y)))
    return exact / len(task.x), log_prob / len(task.x)


def _pair(values: Sequence[float] | np.ndarray) -> list[float]:
    values = np.asarray(values, float)
    return [float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values)))]


def main() -> None:
    """Measure models and write their rows."""
    parser = argparse.ArgumentParser(description="Posteriors by the size of observation noise.")
    parser.add_argument("models", nargs="+", help="shipped names, paths or folders of trainings")
    parser.add_argument("--out", required=True)
    parser.add_argument("--tasks", type=int, default=8)
    parser.add_argument("--samples", type=int, default=2**14)
    parser.add_argument("--densities", type=int, default=64)
    options = parser.parse_args()
    for model in options.models:
        name = _model_files.metadata(model)["experiment"]
        sizes = {"tasks": options.tasks, "num_samples": options.samples}
        rows = noise_rows(load(model), noise_setting(name), **sizes, densities=options.densities)
        results.update(options.out, ("noise", name), rows)
        for row in rows:
            print(name, {key: row[key] for key in ("ratio", "kl", "floor", "regret")}, flush=True)


if __name__ == "__main__":
    main()
