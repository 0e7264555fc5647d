r"""Gaussian processes on the sphere by maximum likelihood, invariant under its rotations.

Tangent fields are the sum of a gradient and a divergence-free part (Helmholtz and Hodge), each
with a lengthscale and a variance of its own, and white noise; scalar fields have one zonal kernel,
a mean and white noise.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from geomndp import _validation
from geomndp._types import Batch
from geomndp.baselines.gaussian.field_search import (
    FieldForm,
    field_nats,
    field_subset,
    maximise_likelihood,
)
from geomndp.baselines.gaussian.functions import Curve
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
    fitted = _subset(functions, train, max_points, max_functions, seed)
    values = np.concatenate([curve.y for curve in fitted])
    shift = float(values.mean()) if dim == 1 else 0.0
    unit = float(np.sqrt(np.mean((values - shift) ** 2))) or 1.0
    variances = FIRST_VARIANCES[dim]
    found = maximise_likelihood(
        FieldForm(sphere_process, _parameters),
        [Curve(curve.x, (curve.y - shift) / unit) for curve in fitted],
        [[*[length] * dim, *variances] for length in FIRST_LENGTHS],
        [LENGTHSCALES] * dim + [VARIANCES] * len(variances),
        iterations=max_iterations,
    )
    process = sphere_process(found.theta, shift, unit)
    nats = found.nats - np.log(unit) - len(found.theta) / values.size
    if held:
        # Other points than those of a seed that fits too.
        nats = field_nats(process, _subset(functions, held, max_points, max_functions, seed + 1))
    name = "zonal GP" if dim == 1 else "Hodge GP"
    return GaussianFit(process, name, float(nats), seconds=time.monotonic() - began)


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


def _subset(functions: Batch, *settings) -> list[Curve]:
    """Fields of `field_subset` whose inputs are unit vectors."""
    fields = field_subset(functions, *settings)
    for curve in fields:
        check_unit_vectors(curve.x)
    return fields
