r"""Conditional samplers with a learnt score, against the exact posterior of a Gaussian process.

For every task, N samples at d targets; KL(exact posterior || Gaussian with the samples' mean and
covariance), less d (d + 3) / (4 N), by which the error of the fitted moments lifts it on average
(to first order). Moments and KL are computed in float64 whatever the samples' dtype. Beside them
the same samplers with the exact score, whose law is known without sampling (`law.posterior_kl`).
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import equinox as eqx
import jax
import jax.random as jr
import numpy as np

from geomndp._types import Array, Batch
from geomndp.data import Regression1D, tasks as draw_tasks
from geomndp.evaluate import moment_matched_kl
from geomndp.gp import GP
from geomndp.law import posterior_kl
from geomndp.model import Model
from geomndp.samplers import (
    AbstractProgramSampler,
    Amortised,
    KineticLangevin,
    Langevin,
    MomentMatching,
    Problem,
    RePaint,
    Replacement,
    flow,
)
from geomndp.score import GaussianScore

SAMPLERS: dict[str, AbstractProgramSampler] = {
    "amortised, 30 steps": Amortised(30),
    "amortised, 100 steps": Amortised(100),
    "amortised, flow by RK4, 7 steps": flow(7),
    "amortised, flow by RK4, 25 steps": flow(25),
    "Langevin": Langevin(20, 49),
    "kinetic Langevin": KineticLangevin(20, 12),
    "kinetic Langevin, long": KineticLangevin(20, 49),
    "moment matching": MomentMatching(50),
    "RePaint": RePaint(100, 10),
    "replacement": Replacement(1000),
}


class Sizes(NamedTuple):
    """Observations of a task, samples, and how many of these side by side."""

    contexts: int
    num_samples: int
    batch_size: int


def make_tasks(
    problem: Regression1D, num: int, *, contexts: int = 5, targets: int = 20, dtype=None
) -> Batch:
    """Functions with `contexts` observations each, then `targets` targets, by a fixed seed."""
    sizes = {"contexts": (contexts, contexts), "targets": targets}
    return draw_tasks(problem.process, num=num, seed=99, **sizes, dtype=dtype)


def sampler_rows(
    model: Model,
    problem: Regression1D,
    *,
    num: int = 8,
    num_samples: int = 2**14,
    contexts: int = 5,
    targets: int = 20,
    samplers: dict[str, AbstractProgramSampler] | None = None,
    batch_size: int = 2**12,
    seed: int = 0,
    workers: int = 16,
) -> list[dict]:
    """One row per sampler, JSON-serialisable: `kl` is mean and standard error over the tasks.

    `kl_error` is the mean's standard error from sampling alone (bootstrap); None in place of a KL
    means samples that are not finite. Programs are compiled side by side on `workers` threads.
    """
    gp, samplers = problem.exact(), SAMPLERS if samplers is None else samplers
    batch = make_tasks(problem, num, contexts=contexts, targets=targets, dtype="float32")
    truths = exact_posteriors(gp, batch, contexts)
    keys, sizes = jr.split(jr.key(seed), num), Sizes(contexts, num_samples, batch_size)

    def compiled(sampler):  # ordinary calls find the program later
        arguments = (sampler, model, _task(batch, 0), sizes, keys[0])
        return _draw.lower(*arguments).compile()  # pyright: ignore

    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(compiled, samplers.values()))
    rows = []
    for name, sampler in samplers.items():
        start, estimates = time.perf_counter(), []
        for i, truth in enumerate(truths):
            y = np.asarray(_draw(sampler, model, _task(batch, i), sizes, keys[i]))
            estimates.append(moment_matched_kl(y.astype(np.float64), truth))
        seconds = time.perf_counter() - start
        kls, errors = np.transpose(estimates)
        cost = sampler.program(_problem(model, _task(batch, 0), contexts)).evaluations
        row = {"sampler": name, "evaluations": cost, **summary(kls.tolist())}
        if row["kl"] is not None:
            row["kl_error"] = float(np.sqrt(np.sum(errors**2)) / num)
        rows.append(row | {"seconds": seconds})
    return rows


def exact_rows(
    model: Model,
    problem: Regression1D,
    *,
    num: int = 8,
    contexts: int = 5,
    targets: int = 20,
    samplers: dict[str, AbstractProgramSampler] | None = None,
) -> list[dict]:
    """KL of the samplers with the exact score, on the tasks of the model: closed form, float64."""
    gp, samplers = problem.exact(), SAMPLERS if samplers is None else samplers
    with jax.enable_x64(True):
        batch = make_tasks(problem, num, contexts=contexts, targets=targets, dtype="float64")
        exact = eqx.tree_at(lambda m: m.score, model, GaussianScore(gp))

        def kls(sampler):
            def one(task):
                problem = _problem(exact, task, contexts)
                truth = gp.condition(problem.observations.x, problem.observations.y)
                return posterior_kl(sampler, problem, truth.mean_and_covariance(problem.x))

            return jax.jit(lambda tasks: jax.lax.map(one, tasks))(batch)

        return [{"sampler": name, **summary(kls(s).tolist())} for name, s in samplers.items()]


def summary(kls: list[float]) -> dict:
    """Mean and standard error over the tasks, and the tasks one by one; None if not finite."""
    values = np.asarray(kls, dtype=float)
    if not np.all(np.isfinite(values)):
        return {"kl": None, "kl_tasks": [v if np.isfinite(v) else None for v in values.tolist()]}
    error = float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else None
    return {"kl": [float(values.mean()), error], "kl_tasks": values.tolist()}


def exact_posteriors(gp: GP, batch: Batch, contexts: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Mean and covariance of every task's targets, in float64."""

    def one(x, y):
        truth = gp.condition(x[:contexts], y[:contexts])
        mean, covariance = truth.mean_and_covariance(x[contexts:])
        return mean.reshape(-1), covariance

    with jax.enable_x64(True):
        x, y = (np.asarray(v, dtype=np.float64) for v in (batch.x, batch.y))
        means, covariances = jax.jit(jax.vmap(one))(x, y)
        return list(zip(np.asarray(means), np.asarray(covariances), strict=True))


def _task(batch: Batch, index: int) -> Batch:
    return jax.tree.map(lambda values: values[index], batch)


def _problem(model: Model, task: Batch, contexts: int) -> Problem:
    law = model.condition(task.x[:contexts], task.y[:contexts])
    return law.problem(task.x[contexts:])


@eqx.filter_jit
def _draw(sampler: AbstractProgramSampler, model: Model, task: Batch, sizes: Sizes, key) -> Array:
    problem = _problem(model, task, sizes.contexts)
    sampler.check(problem)
    each = min(sizes.batch_size, sizes.num_samples)
    num_blocks = -(-sizes.num_samples // each)

    def part(key):
        return sampler.draw(problem, key=key, num_samples=each).y

    y = jax.lax.map(part, jr.split(key, num_blocks))
    return y.reshape(num_blocks * each, -1)[: sizes.num_samples]
