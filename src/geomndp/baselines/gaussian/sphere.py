r"""Gaussian processes on the sphere by maximum likelihood, invariant under its rotations.

Tangent fields are the sum of a gradient and a divergence-free part (Helmholtz and Hodge), each
with a lengthscale and a variance of its own, and white noise; scalar fields have one zonal kernel,
a mean and white noise.
"""

from __future__ import annotations

import time
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from scipy import optimize

from geomndp import _validation
from geomndp._types import Batch
from geomndp.baselines.gaussian.functions import Curve, curves
from geomndp.baselines.gaussian.result import GaussianFit
from geomndp.gp import GP, Constant
from geomndp.kernels import SphereCurlFree, SphereDivergenceFree, ZonalExponential
from geomndp.kernels.sphere.zonal import check_unit_vectors

LENGTHSCALES = (0.02, 5.0)
"""Bounds of the lengthscales, in radians."""
VARIANCES = (1e-6, 1e3)
"""Bounds of the variances, over the mean square of the values."""
FIRST_LENGTHS = (0.1, 0.2, 0.4, 0.8, 1.6)
"""Lengthscales, the most likely of which is the first guess."""
FIRST_VARIANCES = {1: (0.8, 0.2), 2: (0.4, 0.4, 0.2)}
"""First guesses of variances and noise, by the number of outputs."""


def fit_sphere_gp(
    functions: Batch,
    *,
    train=None,
    validation=None,
    max_points: int = 120,
    max_functions: int = 64,
    max_iterations: int = 60,
    seed: int = 0,
) -> GaussianFit:
    """Fit a Gaussian process to fields on the sphere.

    Args:
        functions: Fields x (b, n, 3), unit vectors; y (b, n, 2), east and north components, or
            (b, n, 1), scalars; with a mask. Points with a missing component are left out.
        train: Indices of the fields to fit; by default all that are not held out.
        validation: Indices of the held-out fields; by default none are.
        max_points: Most points of a field, a random subset.
        max_functions: Most fields, evenly spread over those to fit.
        max_iterations: Most iterations of L-BFGS.
        seed: Seed of the random subsets.

    Returns:
        The process, in the units of the values; `nats` are per value, of the held-out fields, or
        of the fitted ones less one nat per parameter.

    Raises:
        ValueError: If inputs are no unit vectors, or there are more than two outputs.

    Example:
        `gn.baselines.fit_sphere_gp(batch).process.condition(xc, yc).sample(x, key=key)`
    """
    began = time.monotonic()
    counts = {"max_points": max_points, "max_functions": max_functions}
    _validation.at_least(1, **counts, max_iterations=max_iterations)
    dim = functions.y.shape[-1]
    _validation.one_of("the number of outputs", dim, tuple(FIRST_VARIANCES))
    held = [] if validation is None else [int(row) for row in validation]
    if train is None:
        train = sorted(set(range(len(functions.x))) - set(held))
    random = np.random.default_rng(seed)
    fitted = _subset(functions, train, max_points, max_functions, random)
    values = np.concatenate([curve.y for curve in fitted])
    shift = float(values.mean()) if dim == 1 else 0.0
    unit = float(np.sqrt(np.mean((values - shift) ** 2))) or 1.0
    theta, nats = _maximise(fitted, shift, unit, max_iterations)
    process = sphere_process(theta, shift, unit)
    size = sum(curve.y.size for curve in fitted)
    nats -= len(theta) / size
    if held:
        nats = _nats(process, _subset(functions, held, max_points, max_functions, random))
    name = "zonal GP" if dim == 1 else "Hodge GP"
    return GaussianFit(process, name, nats, seconds=time.monotonic() - began)


def sphere_process(theta, shift: float = 0.0, unit: float = 1.0) -> GP:
    """The process of logarithms of its parameters.

    Args:
        theta: Logarithms: for tangent fields lengthscales of the divergence-free and the gradient
            part, their variances, noise; for scalar ones lengthscale, variance, noise.
        shift: Mean of scalar fields.
        unit: Unit of the values: variances are multiplied by its square.

    Returns:
        The process of values in the unit.
    """
    values = [float(part) for part in np.exp(theta)]
    lengths, variances = values[: len(values) // 2], values[len(values) // 2 :]
    *variances, noise = [unit**2 * part for part in variances]
    if len(lengths) == 1:
        return GP(ZonalExponential(lengths[0], variances[0]), Constant(shift), noise)
    rotation, gradient = map(ZonalExponential, lengths)
    kernel = SphereDivergenceFree(rotation, variances[0]) + SphereCurlFree(gradient, variances[1])
    return GP(kernel, noise=noise)


def _parameters(process: GP) -> list[Any]:
    """What `sphere_process` makes from theta, in its order."""
    kernel: Any = process.kernel
    if isinstance(kernel, ZonalExponential):
        return [kernel.lengthscale, kernel.variance, process.noise]
    parts = (kernel.first, kernel.second)
    lengths = [part.potential.lengthscale for part in parts]
    return [*lengths, *(part.variance for part in parts), process.noise]


def _subset(functions: Batch, rows, max_points, max_functions, random) -> list[Curve]:
    fields = []
    rows = np.asarray(list(rows))
    keep = np.unique(np.linspace(0, len(rows) - 1, min(len(rows), max_functions)).round())
    for curve in curves(functions, rows[keep.astype(int)]):
        real = np.flatnonzero(np.isfinite(curve.y).all(axis=1))
        index = random.permutation(real)[:max_points]
        check_unit_vectors(curve.x[index])
        if len(index):
            fields.append(Curve(curve.x[index], curve.y[index]))
    if not fields:
        raise ValueError("expected fields with complete values, got none")
    return fields


def _padded(fields: list[Curve]) -> list[tuple[np.ndarray, ...]]:
    """Inputs, values and masks of one size, so that one program serves all."""
    n = max(len(curve.x) for curve in fields)
    padded = []
    for x, y in fields:
        rest = ((0, n - len(x)), (0, 0))
        mask = (np.arange(n) < len(x)).astype(float)
        padded.append((np.pad(x, rest), np.pad(y, rest), mask))
    return padded


@jax.jit
@jax.value_and_grad
def _value_and_slope(theta, x, y, mask):
    """Log-density of one field of values in their unit, and its gradient."""
    process = sphere_process(np.zeros(len(theta)))
    return eqx.tree_at(_parameters, process, list(jnp.exp(theta))).log_prob(x, y, mask)


def _maximise(fields: list[Curve], shift, unit, iterations) -> tuple[np.ndarray, float]:
    """Parameters of the largest likelihood, and nats per value in the units of the values."""
    scaled = _padded([Curve(curve.x, (curve.y - shift) / unit) for curve in fields])
    size = sum(curve.y.size for curve in fields)

    def loss(theta):
        with jax.enable_x64(True):
            parts = [_value_and_slope(jnp.asarray(theta), *field) for field in scaled]
            value = -sum(float(part[0]) for part in parts) / size
            slope = -np.sum([np.asarray(part[1]) for part in parts], axis=0) / size
        if not (np.isfinite(value) and np.isfinite(slope).all()):
            return 1e3, np.zeros_like(slope)
        return value, slope

    lengths = fields[0].y.shape[1]
    variances = FIRST_VARIANCES[lengths]
    starts = [np.log([*[length] * lengths, *variances]) for length in FIRST_LENGTHS]
    first = min(starts, key=lambda theta: loss(theta)[0])
    bounds = [LENGTHSCALES] * lengths + [VARIANCES] * len(variances)
    found = optimize.minimize(
        loss,
        first,
        jac=True,
        method="L-BFGS-B",
        bounds=np.log(bounds),
        options={"maxiter": iterations, "ftol": 1e-9},
    )
    return np.asarray(found.x), -float(found.fun) - float(np.log(unit))


def _nats(process: GP, fields: list[Curve]) -> float:
    with jax.enable_x64(True):
        call = jax.jit(process.log_prob)
        total = sum(float(call(*map(jnp.asarray, field))) for field in _padded(fields))
    return total / sum(curve.y.size for curve in fields)
