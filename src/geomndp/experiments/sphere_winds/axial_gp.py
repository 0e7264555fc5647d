r"""A Gaussian process of winds that knows latitude, land and how much winds vary where.

$y(x) = \sum_c s_c(x) R(a(x)) v_c(x) + s_0(x) e(x)$: tangent fields $v_c$ of several lengthscales,
each the sum of a divergence-free and a gradient part; R turns them by an angle that has opposite
signs on the hemispheres, as friction does near the ground (Ekman 1905); white noise e. Every scale
has $\log s_c^2(x) = w_c \cdot [\phi(x) - \bar\phi] + \log v_c$, with features $\phi$: the logarithm
of the standard deviation of monthly winds, the share of land, and powers of $\sin^2$ of the
latitude.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from scipy import optimize

from geomndp._types import Batch, Float
from geomndp.experiments.sphere_winds.climatology import Climatology
from geomndp.experiments.sphere_winds.land import land_share
from geomndp.geometry.geodesy import to_unit
from geomndp.gp import GP
from geomndp.kernels import (
    Diagonal,
    GlobeTable,
    Modulated,
    SphereCurlFree,
    SphereDivergenceFree,
    Sum,
    Turned,
    White,
    ZonalExponential,
)

STEP = 3  # degrees
SHARPNESS = 0.25  # of the change of the angle at the equator, radians of latitude
NOISE = 1e-4
"""Smallest variance of the noise, over that of the values."""
FIRST_LENGTHS = (0.1, 0.2, 0.4)
FIRST_VARIANCES = ((0.25, 0.04), (0.17, 0.03), (0.03, 0.01), (0.04, 0.04))
"""First guesses: of every part divergence-free and gradient, of the noise last (its first)."""
NUM_FEATURES = 5


class AxialParameters(NamedTuple):
    """Parameters of the process, arrays of NumPy or JAX.

    Attributes:
        log_length: Logarithms of the lengthscales in radians, shape (parts,).
        log_variance: Of the variances, divergence-free and gradient; noise last, (parts + 1, 2).
        weights: Weights w of the features, shape (parts + 1, features).
        angle: Angle far from the equator, in radians, positive to the left on the north.
    """

    log_length: Any
    log_variance: Any
    weights: Any
    angle: Any


def first_guess() -> AxialParameters:
    """Parameters at which a fit begins."""
    lengths, variances = (np.log(np.array(v)) for v in (FIRST_LENGTHS, FIRST_VARIANCES))
    weights = np.zeros((len(variances), NUM_FEATURES))
    return AxialParameters(lengths, variances, weights, np.asarray(0.3))


def features(climatology: Climatology) -> Float[np.ndarray, "f r c"]:
    """Features on the grid of `GlobeTable`, less their means over the sphere.

    Args:
        climatology: That of monthly winds.
    """
    lat, lon = np.arange(-90.0, 91.0, STEP), np.arange(-180.0, 180.0, STEP)
    lats, lons = (part.reshape(-1) for part in np.meshgrid(lat, lon, indexing="ij"))
    std = climatology.std_at(np.asarray(to_unit(lats, lons))).reshape(len(lat), len(lon))
    square = np.broadcast_to(np.sin(np.radians(lat))[:, None] ** 2, std.shape)
    columns = np.stack([np.log(std), land_share(STEP), square, square**2, square**3])
    columns[:, [0, -1]] = columns[:, [0, -1]].mean(axis=2, keepdims=True)
    area = np.cos(np.radians(lat))[:, None]
    return columns - np.sum(columns * area, axis=(1, 2), keepdims=True) / (area.sum() * len(lon))


def axial_gp(parameters: AxialParameters, columns: Any) -> GP:
    """The process of some parameters.

    Args:
        parameters: The parameters.
        columns: Result of `features`, shape (f, r, c).
    """
    lat = jnp.radians(jnp.arange(-90.0, 91.0, STEP, dtype=columns.dtype))
    angle = (parameters.angle * jnp.tanh(lat / SHARPNESS))[:, None]
    *scales, noise_scale = (
        jnp.exp(0.5 * jnp.tensordot(weights, columns, 1)) for weights in parameters.weights
    )
    *variances, noise = jnp.exp(parameters.log_variance)
    values = [noise[0], noise_scale]
    for length, pair, scale in zip(jnp.exp(parameters.log_length), variances, scales, strict=True):
        values += [length, pair[0], length, pair[1], angle, scale]
    return eqx.tree_at(_numbers, _template(len(scales)), values)


def _template(num_parts: int) -> GP:
    """The process with ones in the place of all numbers, which a fit traces."""
    ones = np.ones((2, 1))
    kernel = Modulated(Diagonal(White(), 2), GlobeTable(ones, 2))
    for _ in range(num_parts):
        fields = SphereDivergenceFree(ZonalExponential()) + SphereCurlFree(ZonalExponential())
        kernel = kernel + Modulated(Turned(fields, GlobeTable(ones)), GlobeTable(ones, 2))
    return GP(kernel, noise=NOISE)


def _numbers(gp: GP) -> list[Any]:
    """What `axial_gp` puts into its template, in its order."""
    kernel: Any = gp.kernel
    parts: list[Any] = []
    while isinstance(kernel, Sum):
        kernel, parts = kernel.first, [kernel.second, *parts]
    numbers = [kernel.kernel.kernel.variance, kernel.scale.values]
    for part in parts:
        for field in (part.kernel.kernel.first, part.kernel.kernel.second):
            numbers += [field.potential.lengthscale, field.variance]
        numbers += [part.kernel.angle.values, part.scale.values]
    return numbers


def as_constants(gp: GP) -> GP:
    """The process with numbers in the place of scalar arrays, and tables of NumPy, to be saved.

    Args:
        gp: Result of `axial_gp`.
    """
    return jax.tree.map(lambda leaf: float(leaf) if jnp.ndim(leaf) == 0 else np.asarray(leaf), gp)


def limiting_kernel(gp: GP) -> Modulated:
    """White noise of the variance of a process everywhere, bilinear on the grid of its tables.

    Args:
        gp: Result of `axial_gp`.
    """
    lat, lon = np.arange(-90.0, 91.0, STEP), np.arange(-180.0, 180.0, STEP)
    lats, lons = (part.reshape(-1) for part in np.meshgrid(lat, lon, indexing="ij"))
    with jax.enable_x64(True):
        diagonal = jax.jit(lambda x: gp.kernel.diagonal(x))
        variance = diagonal(jnp.asarray(to_unit(lats, lons)))[:, 0] + NOISE
    table = np.sqrt(np.asarray(variance, np.float32)).reshape(len(lat), len(lon))
    return Modulated(Diagonal(White(), 2), GlobeTable(table, 2))


def fit_axial_gp(
    functions: Batch, columns: Float[np.ndarray, "f r c"], *, max_iterations: int = 45
) -> AxialParameters:
    """Maximise the likelihood of fields of values of about unit variance.

    Args:
        functions: Fields x (b, n, 3), y (b, n, 2) without padding.
        columns: Result of `features`.
        max_iterations: Most iterations of L-BFGS.
    """
    with jax.enable_x64(True):
        guess = jax.tree.map(jnp.asarray, first_guess())
        flat, unravel = ravel_pytree(guess)

    @jax.jit
    @jax.value_and_grad
    def loss(theta, x, y):
        return -axial_gp(unravel(theta), columns).log_prob(x, y) / y.size

    def total(theta):
        with jax.enable_x64(True):
            pairs = zip(functions.x, functions.y, strict=True)
            parts = [loss(*map(jnp.asarray, (theta, x, y))) for x, y in pairs]
            value = np.mean([float(part[0]) for part in parts])
            return value, np.mean([np.asarray(part[1]) for part in parts], axis=0)

    options = {"maxiter": max_iterations}
    start = np.asarray(flat)
    found = optimize.minimize(total, start, jac=True, method="L-BFGS-B", options=options)
    with jax.enable_x64(True):
        return jax.tree.map(np.asarray, unravel(jnp.asarray(found.x)))
