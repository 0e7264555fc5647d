r"""Exact draws from a radial heat kernel, by the inverse of its cumulative distribution.

For white noise g in the tangent space of dimension k, $|g|$ has the chi law; the distance r that
the heat kernel gives the same probability to is tabulated as $R = r / (\sqrt s |g|)$, one in the
flat limit, over $\log s$ and $|g|$. So $\exp(\sqrt s R g)$ is an exact draw, at the cost of one
table lookup, and a smooth function of Gaussian noise.
"""

import math
from collections.abc import Callable
from functools import cache

import jax.numpy as jnp
import numpy as np

from geomndp._types import Array

LOW, HIGH, STEPS = 1e-6, 40.0, 176  # times; below, space is flat, above, the law is uniform
REACH, CELLS = 9.0, 90  # lengths of g: longer ones have probability below 1e-16


@cache
def table(log_density: Callable, log_area: Callable, radius: float, k: int) -> np.ndarray:
    """R on a grid of times and lengths, for a kernel on distances up to `radius`."""
    from scipy.interpolate import CubicSpline

    s = np.geomspace(LOW, HIGH, STEPS)
    lengths = np.linspace(0.0, REACH, CELLS + 1)
    edges = np.minimum(radius, 11 * np.sqrt(s))[:, None] * _fractions()[None, :]
    below, above = _shares(log_density, log_area, s, edges)
    chi = _chi(below, above, k)
    ratios = np.empty((STEPS, CELLS + 1))
    for i in range(STEPS):
        finite = np.isfinite(chi[i]) & (np.diff(chi[i], prepend=-1.0) > 0)
        spline = CubicSpline(chi[i][finite], edges[i][finite])
        r = spline(lengths[1:])
        ratios[i] = np.append(spline(0.0, 1), r / lengths[1:]) / np.sqrt(s[i])
    return ratios


def _fractions() -> np.ndarray:
    """Edges of cells on [0, 1], finer and finer towards one."""
    uniform = np.linspace(0.0, 1.0, 161)[:-1]
    fine = 1 - 2.0 ** (-np.arange(1, 160) / 4) / 160
    return np.concatenate([uniform, fine, [1.0]])


def _shares(log_density, log_area, s: np.ndarray, edges: np.ndarray):
    """Probability below and above every edge, by three Gauss-Legendre nodes per cell."""
    x, w = np.polynomial.legendre.leggauss(3)
    width = np.diff(edges, axis=1)
    r = edges[:, :-1, None] + width[:, :, None] * (x + 1)[None, None, :] / 2
    times = np.broadcast_to(s[:, None, None], r.shape)
    mass = np.exp(log_density(times, r, np) + log_area(r))
    cells = np.sum(mass * w[None, None, :], axis=2) * width / 2
    cells = cells / np.sum(cells, axis=1, keepdims=True)
    zero = np.zeros((len(s), 1))
    below = np.concatenate([zero, np.cumsum(cells, axis=1)], axis=1)
    above = np.concatenate([np.cumsum(cells[:, ::-1], axis=1)[:, ::-1], zero], axis=1)
    return below, above


def _chi(below: np.ndarray, above: np.ndarray, k: int) -> np.ndarray:
    """Length of g with these probabilities of a shorter and of a longer one."""
    from scipy.special import gammainccinv, gammaincinv

    low, high = gammaincinv(k / 2, np.minimum(below, 0.5)), np.full_like(above, np.inf)
    np.copyto(high, gammainccinv(k / 2, np.minimum(above, 0.5)), where=above > 1e-250)
    return np.sqrt(2 * np.where(below < 0.5, low, high))


def lookup(ratios: np.ndarray, s: Array, length: Array) -> Array:
    """Interpolate the table by a cubic through four points in either direction."""
    values = jnp.asarray(ratios, dtype=length.dtype)
    position = jnp.log(jnp.clip(s, LOW, HIGH) / LOW) * ((STEPS - 1) / math.log(HIGH / LOW))
    rows, row_weights = _stencil(position, STEPS)
    columns, column_weights = _stencil(jnp.minimum(length, REACH) * (CELLS / REACH), CELLS + 1)
    square = values[rows[..., :, None], columns[..., None, :]]
    return jnp.sum(row_weights[..., :, None] * column_weights[..., None, :] * square, axis=(-2, -1))


def _stencil(position: Array, size: int) -> tuple[Array, Array]:
    """Four neighbours, and their weights in Lagrange's interpolation."""
    first = jnp.clip(jnp.floor(position) - 1, 0, size - 4)
    x = position - first
    weights = [
        -(x - 1) * (x - 2) * (x - 3) / 6,
        x * (x - 2) * (x - 3) / 2,
        -x * (x - 1) * (x - 3) / 2,
        x * (x - 1) * (x - 2) / 6,
    ]
    indices = jnp.stack([first + i for i in range(4)], axis=-1)
    return indices.astype(jnp.int32), jnp.stack(weights, axis=-1)
