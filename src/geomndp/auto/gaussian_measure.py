r"""Gaussian laws on validation tasks, with all their variances multiplied by any factor.

One Cholesky factor of a task's covariance, context first, gives everything: the log-densities of
context and targets, their quadratic forms q, and the standardised targets given the context. With
variances multiplied by c, $\log p_c = \log p_1 - \frac n2 \log c - \frac q2 (\frac 1c - 1)$.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import ndtr

from geomndp._types import Array
from geomndp.auto.held_out import HeldOut, full_batches, with_array_parameters
from geomndp.auto.units import tasks_in_units
from geomndp.auto.validation import ValidationTasks
from geomndp.data import Normaliser
from geomndp.gp import GP
from geomndp.linalg import LOG_2PI, MatrixGram, solve_lower, zero_masked

BATCH_SIZE = 16
"""Tasks at once."""


class GaussianMeasure(NamedTuple):
    """What a Gaussian law says of every task.

    Attributes:
        plain: Log-densities of targets and contexts, in the data's units.
        squares: Quadratic forms of targets and contexts, shape (tasks, 2).
        counts: Numbers of their values, shape (tasks, 2).
        residuals: Standardised target values given the context, shape (tasks, values), NaN for
            padding: standard normal under the law.
    """

    plain: HeldOut
    squares: np.ndarray
    counts: np.ndarray
    residuals: np.ndarray

    @classmethod
    def joined(cls, parts: Sequence[GaussianMeasure]) -> GaussianMeasure:
        """That of several sets of tasks, one after the other."""
        plain, *others = zip(*parts, strict=True)
        held = HeldOut(*(np.concatenate(values) for values in zip(*plain, strict=True)))
        return cls(held, *(np.concatenate(values) for values in others))

    def take(self, rows: np.ndarray) -> GaussianMeasure:
        """That of some tasks."""
        parts = (self.squares[rows], self.counts[rows], self.residuals[rows])
        return GaussianMeasure(self.plain.take(rows), *parts)

    def at(self, factor: float) -> HeldOut:
        """Log-densities with variances multiplied by a factor."""
        gain = -0.5 * self.counts * np.log(factor) - 0.5 * self.squares * (1 / factor - 1)
        return HeldOut(self.plain.targets + gain[:, 0], self.plain.context + gain[:, 1])

    def pit(self, factor: float) -> np.ndarray:
        """Probability integral transforms of the targets with variances multiplied by a factor."""
        return ndtr(self.residuals / np.sqrt(factor))


def measure(law: GP, units: Normaliser, tasks: ValidationTasks) -> GaussianMeasure:
    """Measure a Gaussian law on tasks, in float64.

    Args:
        law: The law in the model's units.
        units: These units.
        tasks: Tasks in the data's units.

    Returns:
        The measure; log-densities are -inf, with zero squares, where they are not finite.
    """
    own, *log_jacobians = tasks_in_units(tasks, units)
    start, count = tasks.num_context, len(tasks.function)
    rows = full_batches(count, BATCH_SIZE).reshape(-1)
    mask = tasks.value_mask()
    with jax.enable_x64(True):
        arrays = tuple(jnp.asarray(values[rows]) for values in (own.x, own.y, mask))
        found = _measure(with_array_parameters(law), arrays, start)
        nats, squares, residuals = (np.asarray(part)[:count] for part in found)
    real = mask[:, start:].reshape(count, -1) > 0
    counts = np.stack([real.sum(axis=1), mask[:, :start].sum(axis=(1, 2))], axis=1)
    nats = nats + np.stack(log_jacobians, axis=1)
    finite = np.isfinite(nats)
    nats, squares = np.where(finite, nats, -np.inf), np.where(finite, squares, 0.0)
    held = HeldOut(nats[:, 0], nats[:, 1])
    return GaussianMeasure(held, squares, counts, np.where(real, residuals, np.nan))


@eqx.filter_jit
def _measure(law: GP, tasks: tuple[Array, ...], start: int) -> tuple[Array, Array, Array]:
    """Nats (tasks, 2), squares (tasks, 2) and residuals; laws of one form share the program."""
    dim = law.dim

    def one(task):
        x, y, mask = task
        matrix = law.gram(x).masked(mask).dense()
        factor = MatrixGram(matrix, dim, False, mask.reshape(-1)).cholesky()
        rest = zero_masked(y - law.mean_at(x), mask).reshape(-1)
        white = solve_lower(factor, rest[:, None])[:, 0]
        size = start * dim
        logs = -mask.reshape(-1) * (jnp.log(jnp.diagonal(factor)) + 0.5 * LOG_2PI)
        squares = jnp.stack([jnp.sum(white[size:] ** 2), jnp.sum(white[:size] ** 2)])
        nats = jnp.stack([jnp.sum(logs[size:]), jnp.sum(logs[:size])]) - 0.5 * squares
        left = rest[size:] - jnp.sum(factor[size:, :size] * white[None, :size], axis=1)
        std = jnp.sqrt(jnp.sum(factor[size:, size:] ** 2, axis=1))
        return nats, squares, left / std

    return jax.lax.map(one, tasks, batch_size=min(BATCH_SIZE, len(tasks[0])))
