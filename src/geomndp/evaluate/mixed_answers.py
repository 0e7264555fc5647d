"""From what the members of a mixture say of tasks to the mixture's own metrics; NumPy alone.

A single law is a mixture of one.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from scipy.special import log_softmax, logsumexp

from geomndp.evaluate.geodesic import path_metrics
from geomndp.geometry import Sphere
from geomndp.geometry.geodesy import EARTH_RADIUS_KM

LEVEL = 0.9  # of the central intervals
Answers = dict[str, np.ndarray]
"""What `TaskMeasurement` gives, first axis the tasks."""


def mixture_log_weights(log_weights: np.ndarray, answers: list[Answers]) -> np.ndarray:
    """Weights given the contexts, shape (members, tasks).

    Where a context has no density under any member, the weights are those of before.

    Args:
        log_weights: Those before, shape (members,).
        answers: Of every member; the `evidence` is that of its context.

    Returns:
        Logarithms of weights that sum to one over members.
    """
    prior = np.broadcast_to(log_weights[:, None], (len(answers), len(answers[0]["joint"])))
    if len(answers) == 1:
        return np.zeros_like(prior)
    evidence = _stack(answers, "evidence")
    evidence = np.where(np.isfinite(evidence), evidence, -np.inf)
    some = np.isfinite(evidence).any(axis=0)
    return log_softmax(prior + np.where(some, evidence, 0.0), axis=0)


def _stack(answers: list[Answers], name: str) -> np.ndarray:
    """One kind of answer of all members, first axis the members, in float64."""
    return np.stack([np.asarray(each[name], np.float64) for each in answers])


def densities(log_weights: np.ndarray, answers: list[Answers], real: np.ndarray) -> Answers:
    r"""Joint and marginal nats of every task, $\log \sum_k w_k p_k$, over its number of values.

    Args:
        log_weights: Shape (members, tasks).
        answers: Of every member.
        real: 1 for target values that are there, shape (tasks, n, p) or, by rows, (tasks, n, 1).

    Returns:
        `joint`, `joint_error` and `marginal`, not yet divided, each of shape (tasks,).
    """
    joint, error = _stack(answers, "joint"), _stack(answers, "joint_error")
    total = np.asarray(logsumexp(log_weights + joint, axis=0))
    with np.errstate(invalid="ignore"):
        shares = np.nan_to_num(np.exp(log_weights + joint - total))
    # A weight counts where the targets speak for another member than the context did.
    shifts = shares - np.exp(log_weights)
    of_context = np.stack([each.get("evidence_error", np.zeros(len(total))) for each in answers])
    squares = np.where(shares > 0, shares * error, 0.0) ** 2
    squares += np.where(shifts != 0, shifts * of_context, 0.0) ** 2
    single = log_weights[:, :, None, None] + _stack(answers, "marginal")
    single = np.asarray(logsumexp(single, axis=0))
    marginal = np.sum(np.where(real > 0, single, 0.0), axis=(1, 2))
    return {"joint": total, "joint_error": np.sqrt(squares.sum(axis=0)), "marginal": marginal}


def real_values(
    log_weights: np.ndarray, answers: list[Answers], y: np.ndarray, real: np.ndarray, scale: Any
) -> Answers:
    """CRPS, coverage, squared error and PIT of real values.

    Args:
        log_weights: Shape (members, tasks).
        answers: Of every member.
        y: Values, shape (tasks, n, p).
        real: 1 for those that are there.
        scale: Training standard deviation per output, shape (p,).

    Returns:
        Means over the values of every task, (tasks,), and `pit` (tasks, n p), NaN for padding.
    """
    weights = np.exp(log_weights)[:, :, None, None]
    mean, ranks = (_weighted(weights, _stack(answers, name)) for name in ("mean", "pit"))
    score = answers[0]["crps"] if len(answers) == 1 else mixture_crps(weights, answers, y)
    columns = {"crps": score / scale, "squared_error": ((mean - y) / scale) ** 2}
    # What is no number is no prediction: infinitely far, as an infinite draw is.
    columns = {k: np.where(np.isnan(values), np.inf, values) for k, values in columns.items()}
    columns["coverage"] = np.abs(ranks - 0.5) <= LEVEL / 2
    count = np.sum(real, axis=(1, 2))
    means = {
        name: np.sum(np.where(real > 0, values, 0.0), axis=(1, 2)) / count
        for name, values in columns.items()
    }
    return means | {"pit": np.where(real > 0, ranks, np.nan).reshape(len(y), -1)}


def _weighted(weights: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Weighted sum over members; one of no weight has no part in it, even if it is infinite."""
    return np.sum(weights * np.where(weights > 0, values, 0.0), axis=0)


def mixture_crps(weights: np.ndarray, answers: list[Answers], y: np.ndarray) -> np.ndarray:
    r"""CRPS of a mixture, $\int (F(z) - 1_{z \ge y})^2 dz$, from the members' ensembles.

    An ensemble of s draws stands for its law with the weight $w_k / s$ each; pairs of the same draw
    are left out (Ferro 2014), but for quantiles, where they belong. The integral is summed from
    gap to gap: the largest and the smallest draw alone have no part in the fair score beyond their
    neighbours, however far they are, and nothing large is subtracted.

    Args:
        weights: Shape (members, tasks, 1, 1).
        answers: Of every member, with `ensemble` (tasks, s, n, p) and `drawn`, whether its entries
            were drawn.
        y: Values, shape (tasks, n, p).

    Returns:
        Scores, shape (tasks, n, p); infinite where several draws are, NaN where one is NaN.
    """
    drawn = [bool(each["drawn"].all()) for each in answers]
    tasks = zip(*(each["ensemble"] for each in answers), strict=True)
    weights = weights.swapaxes(0, 1)
    return np.stack([_task_crps(w, e, drawn, v) for w, e, v in zip(weights, tasks, y, strict=True)])


def _task_crps(weights: np.ndarray, ensembles: Any, drawn: list[bool], y: np.ndarray) -> np.ndarray:
    """Scores (n, p) from ensembles (s, n, p) of weights (members, 1, 1)."""
    members = [m for m in zip(weights[:, 0, 0], ensembles, drawn, strict=True) if m[0] > 0]
    sizes = [len(draws) for _, draws, _ in members]
    points = np.concatenate([*(draws for _, draws, _ in members), y[None]]).astype(np.float64)
    order = np.argsort(points, axis=0)
    points = np.take_along_axis(points, order, axis=0)
    owner = np.repeat(np.arange(len(members) + 1), [*sizes, 1])[order]
    above = np.cumsum(owner == len(members), axis=0)[:-1] > 0
    total, pairs = np.zeros(above.shape), np.zeros(above.shape)
    for k, (w, draws, are_drawn) in enumerate(members):
        size, count = len(draws), np.cumsum(owner == k, axis=0)[:-1]
        count = np.where(above, size - count, count)  # on the other side of the gap than y
        total += w * (count / size)
        if are_drawn:
            pairs += w**2 * (count * (count - 1) / (size * (size - 1)))
            pairs -= (w * (count / size)) ** 2
    factor, rises = total**2 + pairs, points[1:] > points[:-1]
    with np.errstate(invalid="ignore"):
        gaps = np.where(rises & (factor > 0), factor * (points[1:] - points[:-1]), 0.0)
    return np.where(np.isnan(points[-1]), np.nan, gaps.sum(axis=0))


def on_sphere(
    log_weights: np.ndarray, answers: list[Answers], y: np.ndarray, real: np.ndarray, keys: Any
) -> Answers:
    """Geodesic error of the mean, energy score and coverage of samples of a track.

    Args:
        log_weights: Shape (members, tasks).
        answers: Of every member; the `ensemble` is samples (tasks, s, n, 3).
        y: Points, shape (tasks, n, 3).
        real: 1 for those that are there, shape (tasks, n, 3).
        keys: One key per task: which member a sample is of, and ranks.

    Returns:
        Means over the points of every task, (tasks,), and `pit` (tasks, n), NaN for padding.
    """

    def one(log_weights, samples, y, key):
        choice_key, rank_key = jr.split(key)
        choice = jr.categorical(choice_key, log_weights, shape=(samples.shape[1],))
        chosen = samples[choice, jnp.arange(samples.shape[1])]
        return path_metrics(Sphere(2), chosen, y, key=rank_key)

    samples = np.stack([each["ensemble"] for each in answers], axis=1)
    weights = jnp.asarray(log_weights.T, y.dtype)
    found = jax.vmap(one)(weights, jnp.asarray(samples, y.dtype), jnp.asarray(y), keys)
    there = real[:, :, 0] > 0
    columns = {
        "error_km": np.asarray(found.mean_error) * EARTH_RADIUS_KM,
        "energy_km": np.asarray(found.energy) * EARTH_RADIUS_KM,
        "coverage": np.asarray(found.rank) <= LEVEL,
    }
    means = {
        name: np.sum(np.where(there, values, 0.0), axis=1) / there.sum(axis=1)
        for name, values in columns.items()
    }
    return means | {"pit": np.where(there, np.asarray(found.rank), np.nan)}
