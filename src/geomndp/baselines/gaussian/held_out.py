"""Held-out log-densities of part of a function given the rest, for Gaussian and Student-t laws."""

from __future__ import annotations

import equinox as eqx
import jax
import numpy as np
from scipy.linalg import solve_triangular
from scipy.special import gammaln

from geomndp import _arrays
from geomndp.baselines.gaussian.functions import Curve
from geomndp.gp import GP
from geomndp.linalg import LOG_2PI

CONTEXTS = (3, 10)
"""Numbers of context points."""
FORECAST = 0.4
"""Share of the points, from the first, that a forecast is given."""
MAX_VALUES = 128
"""Values of one function."""
MAX_FUNCTIONS = 64
"""Held-out functions by which the degrees of freedom of a process are chosen."""
DEGREES = (None, 60.0, 30.0, 15.0, 8.0, 5.0, 3.5)
"""Degrees of freedom that are tried; None is a Gaussian law."""
RIDGES = (1e-10, 1e-8, 1e-6)
"""Relative ridges of covariances, tried in turn."""
Law = tuple[np.ndarray, np.ndarray]
"""Mean and covariance of values."""


Nats = dict[float | None, float]
"""Nats per value by degrees of freedom."""


def held_out_nats(x: np.ndarray, values: np.ndarray, law: Law, *, rng: np.random.Generator) -> Nats:
    """Log-density per value of part of a function given the rest.

    Args:
        x: Inputs, shape (m, d).
        values: Values there, shape (m, p), NaN where missing.
        law: Their mean (m p,) and covariance (m p, m p).
        rng: Generator of the parts.

    Returns:
        The average over random contexts of 3 and 10 points and, for one input, the forecast; -inf
        where the covariance is none.
    """
    dim = values.shape[1]
    seen = np.flatnonzero(np.isfinite(values).any(axis=1))
    seen = rng.permutation(seen)[: max(2, MAX_VALUES // dim)]
    parts = [(seen, [min(k, len(seen) // 2) for k in CONTEXTS])]
    if x.shape[1] == 1:
        order = seen[np.argsort(x[seen, 0])]
        parts.append((order, [int(FORECAST * len(order))]))
    nats = [_nats(order, counts, values.reshape(-1), law, dim) for order, counts in parts]
    return {dof: float(np.mean(np.concatenate([part[dof] for part in nats]))) for dof in DEGREES}


def choose_dof(nats: dict[float | None, np.ndarray]) -> float | None:
    """Degrees of freedom of the largest mean, if that of a Gaussian law is clearly less.

    Args:
        nats: Nats per value of the same held-out functions, by degrees of freedom.

    Returns:
        The degrees of freedom; None, for a Gaussian law, if the gain is less than its standard
        error over functions.
    """
    if not all(np.isfinite(values).all() for values in nats.values()):
        return None
    best = max(nats, key=lambda dof: nats[dof].mean())
    gain = nats[best] - nats[None]
    error = np.std(gain, ddof=1) / np.sqrt(len(gain)) if len(gain) > 1 else np.inf
    return best if gain.mean() > error else None


def process_dof(process: GP, functions: list[Curve], *, seed: int) -> float | None:
    """Degrees of freedom that suit functions held out from the fit of a process.

    Args:
        process: The process.
        functions: The functions.
        seed: Seed of the points that are context.
    """
    rng = np.random.default_rng(seed)
    found = []
    for x, y in functions[:MAX_FUNCTIONS]:
        rows = rng.permutation(len(x))[: max(2, MAX_VALUES // y.shape[1])]
        found.append(held_out_nats(x[rows], y[rows], moments(process, x[rows]), rng=rng))
    return choose_dof({dof: np.asarray([nats[dof] for nats in found]) for dof in DEGREES})


@eqx.filter_jit
def _moments(process: GP, x):
    return process.mean_and_covariance(x)


def moments(process: GP, x: np.ndarray) -> Law:
    """Mean (n p,) and covariance (n p, n p) of a process at inputs (n, d), in double precision."""
    padded = np.concatenate(
        [x, np.broadcast_to(x[:1], (_arrays.bucket(len(x)) - len(x), x.shape[1]))]
    )
    # Numbers as arrays: another process of the same form compiles nothing.
    process = jax.tree.map(lambda v: np.asarray(v) if isinstance(v, float) else v, process)
    with jax.enable_x64(True):
        mean, covariance = (np.asarray(part) for part in _moments(process, padded))
    size = len(x) * mean.shape[1]
    return mean.reshape(-1)[:size], covariance[:size, :size]


def _nats(order, counts, held, law: Law, dim: int) -> dict[float | None, list[float]]:
    """Nats per value of the points after each number of first ones."""
    index = (order[:, None] * dim + np.arange(dim)).reshape(-1)
    real = np.isfinite(held[index])
    starts = [int(real[: count * dim].sum()) for count in counts]
    index = index[real]
    mean, covariance = law
    matrix = covariance[np.ix_(index, index)]
    factor = _root(matrix)
    if factor is None:  # constant values leave nothing but rounding
        return {dof: [-np.inf] * len(starts) for dof in DEGREES}
    white = solve_triangular(factor, held[index] - mean[index], lower=True)
    squares = np.concatenate([[0.0], np.cumsum(white**2)])
    logs = np.concatenate([[0.0], np.cumsum(np.log(np.diag(factor)))])
    number = np.arange(len(index) + 1)
    result = {}
    for dof in DEGREES:
        total = log_density(squares, logs, number, dof)
        result[dof] = [float((total[-1] - total[c]) / max(len(index) - c, 1)) for c in starts]
    return result


def _root(matrix: np.ndarray) -> np.ndarray | None:
    """Cholesky factor of a covariance with a ridge, larger where rounding needs it."""
    if not np.isfinite(matrix).all():
        return None
    unit = max(float(np.trace(matrix)) / len(matrix), np.finfo(float).tiny ** 0.5)
    for ridge in RIDGES:
        try:
            return np.linalg.cholesky(matrix + ridge * unit * np.eye(len(matrix)))
        except np.linalg.LinAlgError:
            continue
    return None


def log_density(square, logdet, number, dof: float | None):
    """Log-density from the quadratic form, half the log-determinant and the number of values."""
    if dof is None:
        return -0.5 * square - logdet - 0.5 * number * LOG_2PI
    constant = gammaln((dof + number) / 2) - gammaln(dof / 2)
    constant = constant - 0.5 * number * np.log(np.pi * (dof - 2)) - logdet
    return constant - 0.5 * (dof + number) * np.log1p(square / (dof - 2))
