r"""How far a score is from the exact one, in nats: a cheap forecast of a model's regret.

Two laws noised alike drift together at the rate of their relative Fisher information, so that with
p the data's law, q the model's, and $s = \nabla \log$ of either (Song et al. 2021, theorem 1)

$KL(p_\epsilon, q_\epsilon) - KL(p_1, q_1)
 = \int_\epsilon^1 \frac{\beta}{2} E_p |S^T (s_q - s_p)|^2 dt
 = \int_\epsilon^1 \frac{\beta}{2 \sigma^2} E_p |S^{-1} (u_q - u_p)|^2 dt,$

since $u = \sigma S S^T s$; for a white limit of variance v the square is $|u_q - u_p|^2 / v$. With
$\lambda = \log(\sigma^2 / a^2)$, $d\lambda = \beta dt / \sigma^2$: half the integral over $\lambda$
of the mean square, so times are uniform in $\lambda$. Given a context at time zero the targets are
noised by themselves, towards N(m, K_**): the same formula holds with their own root of $K_{**}$.

It is exact where u_q is the score of some noised law. A network's need not be one; the integral
then bounds the KL of the reverse SDE's law, and the flow's regret differs at the same order.
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from geomndp import _validation
from geomndp._deprecated import renamed_arguments
from geomndp._types import Batch, PRNGKeyArray
from geomndp.data import AbstractGenerator, ContextSampler
from geomndp.linalg import zero_masked
from geomndp.model import Model
from geomndp.score import AbstractScore
from geomndp.solve import stratified_uniform

MODES = ("joint", "conditional")
POINTS_PER_BATCH = 20_000  # points side by side: memory for larger batches would be a multiple


class ScoreError(NamedTuple):
    """Integrated error of a score, nats per target.

    Attributes:
        value: Nats per target.
        standard_error: Over functions, times and noise.
        times: Middles of the cells of diffusion time, smallest first.
        profile: The part of the value from each of the cells.
        profile_error: Its standard error.
    """

    value: float
    standard_error: float
    times: np.ndarray
    profile: np.ndarray
    profile_error: np.ndarray


@renamed_arguments(kind="mode")
def score_error(
    model: Model,
    exact: AbstractScore,
    data: AbstractGenerator | Batch,
    *,
    key: PRNGKeyArray,
    mode: str = "joint",
    batches: int = 16,
    cells: int = 32,
) -> ScoreError:
    """Integrated error of the model's score against the `exact` one.

    Calls with another model of the same structure compile nothing.

    Args:
        model: The model whose score is compared.
        exact: The exact score, such as `GaussianScore(gp)`.
        data: A generator of functions in the model's units, or a fixed batch.
        key: Random key of functions, times and noise.
        mode: "joint" has all points at one time; "conditional" the context at time zero: of a
            generator, fresh functions all with contexts; of a batch, the points it marks.
        batches: Number of batches drawn; a fixed batch is noised so many times over.
        cells: Number of cells of diffusion time.

    Returns:
        The error with its standard error, and its profile over time.

    Raises:
        ValueError: If a cell has fewer than two functions.
    """
    _validation.one_of("mode", mode, MODES)
    _validation.at_least(1, batches=batches)
    _validation.at_least(2, cells=cells)
    if isinstance(data, AbstractGenerator):
        data = dataclasses.replace(
            data, contexts=None if mode == "joint" else ContextSampler(share=1.0)
        )
    options = mode == "joint", _shared(data)
    batched = [_errors(model, exact, data, *options, k) for k in jr.split(key, batches)]
    u, squares, targets = (np.concatenate(p).astype(float) for p in zip(*batched, strict=True))
    low, high = _ends(model)
    return _integrate(model, u, squares, targets, cells, low, high - low)


def _ends(model: Model) -> tuple[float, float]:
    """Logarithm of the noise-to-signal ratio at times t_min and 1."""
    ends = model.noising.schedule.integral(jnp.asarray([model.t_min, 1.0]))
    low, high = (float(value) for value in jnp.log(jnp.expm1(ends)))
    return low, high


def _times(model: Model, log_ratio):
    return model.noising.schedule.inverse(jnp.log1p(jnp.exp(log_ratio)))


def _shared(data: AbstractGenerator | Batch) -> bool:
    """Whether all functions have the same inputs: what depends on these is computed once."""
    if isinstance(data, AbstractGenerator):
        return data.batching.common_inputs
    x, mask = np.asarray(data.x), np.asarray(data.mask)
    return np.array_equal(x, np.broadcast_to(x[:1], x.shape), equal_nan=True) and bool(
        np.all(mask == mask[:1])
    )


@eqx.filter_jit
def _errors(model: Model, exact: AbstractScore, data, joint: bool, shared: bool, key: PRNGKeyArray):
    """Uniform time in [0, 1), square of the error and number of targets of every function."""
    data_key, time_key, noise_key = jr.split(key, 3)
    batch = data if isinstance(data, Batch) else data.draw(data_key)
    context = jnp.zeros_like(batch.mask) if joint else batch.context
    u = stratified_uniform(len(batch.x), batch.x.dtype, key=time_key)
    ends = model.noising.schedule.integral(jnp.asarray([model.t_min, 1.0], dtype=u.dtype))
    low, high = jnp.log(jnp.expm1(ends))
    t = _times(model, low + u * (high - low))

    def one(item):
        t, x, y, mask, context, key = item
        x, mask = (batch.x[0], batch.mask[0]) if shared else (x, mask)
        x, y, target = zero_masked(x, mask), zero_masked(y, mask), mask * (1.0 - context)
        times = jnp.where(context > 0, 0.0, t)
        noised = model.noising.perturb(times, x, y, key=key, mask=mask).y
        learnt, true = (s(model.noising, times, x, noised, mask) for s in (model.score, exact))
        error = zero_masked(learnt - true, target)
        square = jnp.sum(error * model.noising.gram(x, target).solve(error))
        return square, jnp.sum(target)

    items = (t, batch.x, batch.y, batch.mask, context, jr.split(noise_key, len(u)))
    batch_size = max(POINTS_PER_BATCH // batch.mask.shape[1], 1)
    return u, *jax.lax.map(one, items, batch_size=min(batch_size, len(u)))


def _integrate(model, u, squares, targets, cells: int, low: float, width: float) -> ScoreError:
    """Ratio of sums in every cell, and the error of a ratio to first order."""
    index = np.minimum((u * cells).astype(int), cells - 1)

    def sums(values):
        return np.bincount(index, values, minlength=cells)

    counts, points = sums(np.ones_like(u)), sums(targets)
    if counts.min() < 2 or points.min() == 0:
        raise ValueError(f"expected at least two functions in each of {cells} cells, got fewer")
    ratio = sums(squares) / points
    residual = sums((squares - ratio[index] * targets) ** 2)
    spread = np.sqrt(residual * counts / (counts - 1)) / points
    share = width / (2 * cells)
    middles = low + width * (np.arange(cells) + 0.5) / cells
    return ScoreError(
        float(share * ratio.sum()),
        float(share * np.sqrt(np.sum(spread**2))),
        np.asarray(_times(model, jnp.asarray(middles))),
        share * ratio,
        share * spread,
    )
