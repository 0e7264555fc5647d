r"""Posteriors of a model against the exact Gaussian process, at every size of observation noise.

At context points with noise of variance r on top of y: the KL of the model's posterior at the
targets by the moments of its probability flow (`evaluate.flow_moments`), and the log-density of one
draw of the exact posterior. Noise is given relative to the limiting variance, from zero to the
largest that amortised conditioning accepts. The floor is the KL that the exact score shows by the
same flow.

The models of two experiments are measured in this way, so that it belongs to the folder of neither.

    python -m geomndp.experiments.noise_levels regression1d/se --out noise.json
"""

from __future__ import annotations

import argparse
import dataclasses
import math
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from geomndp import _model_files
from geomndp._types import Array
from geomndp.evaluate import balanced_noise, flow_kl, flow_samples
from geomndp.experiments import results
from geomndp.experiments.gaussian_noise_tasks import (
    NoiseSetting,
    NoiseTask,
    draw_noise_tasks,
    noise_setting,
)
from geomndp.experiments.results import mean_and_error
from geomndp.model import Model, load
from geomndp.score import GaussianScore

REFERENCES = (0.0, 1e-3)
RATIOS = (0.0, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0)


def largest_ratio(model: Model) -> float:
    """Largest noise over the limiting variance that is accepted, less a margin for rounding."""
    return 0.999 * float(jnp.expm1(model.noising.schedule.integral(jnp.ones(()))))


class NoiseSizes(NamedTuple):
    """How much is measured at every noise."""

    tasks: int = 32
    sets: int = 4
    """Sets of balanced noise of every task."""
    pairs: int = 32
    """Antithetic pairs of a set, at least as many as target values."""
    densities: int = 32
    """Tasks of the log-densities."""
    batch_size: int = 8
    """Tasks side by side on a device."""


def noise_rows(
    model: Model,
    where: NoiseSetting,
    sizes: NoiseSizes = NoiseSizes(),  # noqa: B008
    *,
    ratios: Sequence[float] = RATIOS,
) -> list[dict]:
    """One row per noise: KL of the flow's samples, its floor, and log-densities.

    All noises share tasks and the noise of the flow, so that their KLs can be compared: `relative`
    is the KL over the larger of those without noise and with 0.001, paired task by task.

    Args:
        model: A model of Gaussian functions, without units of its own.
        where: The exact process and the points of a task.
        sizes: Numbers of tasks and samples.
        ratios: Noise over limiting variance; the largest that is accepted is added.

    Returns:
        Rows with pairs over the tasks, and `kl_error`, the root mean square of the error that
        sampling leaves in the KL of one task.
    """
    largest = largest_ratio(model)
    ratios = (*(ratio for ratio in ratios if ratio < largest), largest)
    noises = [ratio * where.variance for ratio in ratios]
    tasks = draw_noise_tasks(where, noises, range(sizes.tasks))
    kls, errors = _kls(model, where, tasks, sizes)
    floors, _ = _kls(dataclasses.replace(model, score=GaussianScore(where.gp)), where, tasks, sizes)
    relative = relative_to_reference(ratios, kls)
    exact, log_probs = _log_densities(model, where, tasks, sizes)
    samples = 2 * sizes.sets * sizes.pairs
    return [
        {
            "ratio": ratio,
            "noise": noises[i],
            "tasks": sizes.tasks,
            "num_samples": samples,
            "kl": mean_and_error(kls[i]),
            "kl_error": float(np.sqrt(np.mean(errors[i] ** 2))),
            "floor": mean_and_error(floors[i]),
            "relative": relative[i],
            "log_prob": mean_and_error(log_probs[i]),
            "gp": mean_and_error(exact[i]),
            "regret": mean_and_error(exact[i] - log_probs[i]),
        }
        for i, ratio in enumerate(ratios)
    ]


def relative_to_reference(ratios: Sequence[float], kls: np.ndarray) -> list[list[float]]:
    r"""Mean KL at every noise over the larger of those at 0 and 0.001, with its standard error.

    With $R = \bar k / \bar r$ the error is that of the mean of $(k_i - R r_i) / \bar r$ over tasks
    i: tasks that are hard at every noise cancel.

    Args:
        ratios: Noise over limiting variance.
        kls: KL of every noise and task, shape (ratios, tasks).

    Returns:
        Pairs.

    Raises:
        ValueError: If neither reference is among the ratios.
    """
    references = [kls[i] for i, ratio in enumerate(ratios) if ratio in REFERENCES]
    if not references:
        raise ValueError(f"expected a noise of {REFERENCES} times the limiting variance, got none")
    reference = max(references, key=np.mean)
    pairs = []
    for values in kls:
        ratio = values.mean() / reference.mean()
        pairs.append(
            [float(ratio), mean_and_error((values - ratio * reference) / reference.mean())[1]]
        )
    return pairs


def _stacked(tasks: list[list[NoiseTask]]) -> tuple[Array, ...]:
    """Context, targets and noise of all tasks, one row each."""
    rows = [(task.xc, task.yc, task.x, task.noise) for row in tasks for task in row]
    return tuple(jnp.asarray(np.stack(field), jnp.float32) for field in zip(*rows, strict=True))


@eqx.filter_jit
def _draw(model: Model, rows: Any, z: Array, batch_size: int) -> Array:
    """Samples of every posterior from the same noise: one program for models of one network."""

    def one(row):
        xc, yc, x, noise = row
        return flow_samples(model.condition(xc, yc, noise=noise), x, z)

    return jax.lax.map(one, rows, batch_size=batch_size)


@eqx.filter_jit
def _log_probs(model: Model, rows: Any, batch_size: int) -> Array:
    """Log-density of one draw of every posterior."""

    def one(row):
        (xc, yc, x, noise), y = row
        return model.condition(xc, yc, noise=noise).log_prob(x, y)

    return jax.lax.map(one, rows, batch_size=batch_size)


def _kls(model, where, tasks, sizes) -> tuple[np.ndarray, np.ndarray]:
    """KL of every noise and task by the flow's samples, and the error that sampling leaves."""
    shape = (where.targets, where.gp.dim)
    noise = balanced_noise(sizes.sets, sizes.pairs, math.prod(shape))
    z = jnp.asarray(noise.reshape(-1, *shape), jnp.float32)
    drawn = np.asarray(_draw(model, _stacked(tasks), z, sizes.batch_size), float)
    drawn = drawn.reshape(-1, *noise.shape)
    truths = [(task.mean, task.factor @ task.factor.T) for row in tasks for task in row]
    pairs = [flow_kl(y, truth) for y, truth in zip(drawn, truths, strict=True)]
    values, errors = np.transpose(pairs).reshape(2, len(tasks), -1)
    return values, errors


def _log_densities(model, where, tasks, sizes) -> tuple[np.ndarray, ...]:
    """Exact and model's log-density, nats per target, of one draw of every exact posterior."""
    chosen = [row[: sizes.densities] for row in tasks]
    y, exact = zip(
        *[_exact_draw(i, task) for row in chosen for i, task in enumerate(row)], strict=True
    )
    rows = (_stacked(chosen), jnp.asarray(np.stack(y), jnp.float32))
    values = np.asarray(_log_probs(model, rows, sizes.batch_size), float)
    return tuple(np.reshape(v, (len(tasks), -1)) / where.targets for v in (exact, values))


def _exact_draw(seed: int, task: NoiseTask) -> tuple[np.ndarray, float]:
    """A draw (n, p) of the exact posterior, and its log-density."""
    z = np.random.default_rng((seed, 3)).normal(size=len(task.mean))
    logdet = np.sum(np.log(np.diag(task.factor)))
    density = -0.5 * np.sum(z**2 + np.log(2 * np.pi)) - logdet
    return (task.mean + task.factor @ z).reshape(len(task.x), -1), density


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure models and write their rows; one that stands in the file is kept."""
    parser = argparse.ArgumentParser(description="Posteriors by the size of observation noise.")
    parser.add_argument("models", nargs="+", help="shipped names, paths or folders of trainings")
    parser.add_argument("--out", required=True)
    for field, default in NoiseSizes._field_defaults.items():
        parser.add_argument(f"--{field.replace('_', '-')}", type=int, default=default)
    options = parser.parse_args(arguments)
    sizes = NoiseSizes(*(getattr(options, field) for field in NoiseSizes._fields))
    for path in options.models:
        name = _model_files.metadata(path)["experiment"]
        if results.lookup(results.read(options.out), "noise", name) is not None:
            continue
        start = time.monotonic()
        rows = noise_rows(load(path), noise_setting(name), sizes)
        results.update(options.out, ("noise", name), rows)
        for row in rows:
            shown = ("ratio", "kl", "kl_error", "floor", "relative", "regret")
            print(name, {key: row[key] for key in shown}, flush=True)
        print(f"{name}: {time.monotonic() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
