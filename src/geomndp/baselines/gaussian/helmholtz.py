r"""Gaussian processes of vector fields by maximum likelihood, invariant under rigid motions.

$K = K_{div} + K_{curl} + c I + s I \delta$: a divergence-free and a curl-free part (Helmholtz),
each with a lengthscale and a variance of its own, a constant vector and white noise
(Berlinghieri et al. 2023, for currents in the sea).
"""

from __future__ import annotations

import time
from functools import cache, partial
from typing import Any

import numpy as np

from geomndp import _validation
from geomndp._types import Batch
from geomndp.baselines.gaussian.field_search import (
    FieldForm,
    FieldSearch,
    field_nats,
    field_subset,
    maximise_likelihood,
)
from geomndp.baselines.gaussian.functions import Curve
from geomndp.baselines.gaussian.result import GaussianFit
from geomndp.gp import GP
from geomndp.kernels import Bias, CurlFree, Diagonal, DivergenceFree
from geomndp.kernels.vector import POTENTIALS

FIRST_LENGTHS = (0.05, 0.1, 0.2, 0.4, 0.8)
"""Lengthscales over the extent of the fields, the most likely of which is the first guess."""
LENGTHSCALES = (1e-3, 1e2)
"""Bounds of the lengthscales, over the extent."""
VARIANCES = (1e-6, 1e3)
"""Bounds of the variances, over the mean square of the values."""
FIRST_VARIANCES = (0.4, 0.3, 0.2, 0.05)
"""First guesses: divergence-free and curl-free part, constant, noise."""


def fit_helmholtz_gp(
    functions: Batch,
    *,
    train=None,
    validation=None,
    potentials: tuple[str, ...] = tuple(POTENTIALS),
    max_points: int = 64,
    max_functions: int = 64,
    max_iterations: int = 40,
    seed: int = 0,
) -> GaussianFit:
    """Fit a Gaussian process to vector fields, and choose how rough they are.

    Args:
        functions: Fields x (b, n, d), y (b, n, d), components along the inputs, in two or three
            dimensions, with a mask. Points with a missing component are left out.
        train: Indices of the fields to fit; by default all that are not held out.
        validation: Indices of the held-out fields, by which the potential is chosen; by default
            none are, and it is chosen by the likelihood of the fields themselves.
        potentials: Kernels of the potentials to try, names of `CurlFree`.
        max_points: Most points of a field, a random subset.
        max_functions: Most fields, evenly spread over those to fit.
        max_iterations: Most iterations of L-BFGS for each potential.
        seed: Seed of the random subsets.

    Returns:
        The process of mean zero, in the units of the values; `nats` are per value, of the held-out
        fields, or of the fitted ones less one nat per parameter. `state` is the potential.

    Raises:
        ValueError: If values are no vectors in the space of the inputs.

    Example:
        `gn.baselines.fit_helmholtz_gp(batch).process.condition(xc, yc).sample(x, key=key)`
    """
    began = time.monotonic()
    counts = {"max_points": max_points, "max_functions": max_functions}
    _validation.at_least(1, **counts, max_iterations=max_iterations)
    dim = functions.y.shape[-1]
    if dim not in (2, 3) or functions.x.shape[-1] != dim:
        shapes = f"{functions.x.shape[-1]} inputs and {dim} outputs"
        raise ValueError(f"expected vectors in two or three dimensions, got {shapes}")
    held = [] if validation is None else [int(row) for row in validation]
    if train is None:
        train = sorted(set(range(len(functions.x))) - set(held))
    fitted = field_subset(functions, train, max_points, max_functions, seed)
    rest = field_subset(functions, held, max_points, max_functions, seed + 1) if held else []
    unit = float(np.sqrt(np.mean(np.concatenate([curve.y for curve in fitted]) ** 2))) or 1.0
    extent = max(float(np.ptp(curve.x, axis=0).max()) for curve in fitted) or 1.0
    scaled = [Curve(curve.x / extent, curve.y / unit) for curve in fitted]
    tried: list[tuple[float, str, GP]] = []
    for potential in potentials:
        search = _maximise(potential, dim, scaled, max_iterations)
        process = helmholtz_process(potential, dim, search.theta, extent, unit)
        own = search.nats - np.log(unit) - len(search.theta) / sum(c.y.size for c in fitted)
        tried.append((field_nats(process, rest) if rest else float(own), potential, process))
    nats, potential, process = max(tried, key=lambda entry: entry[0])
    names = tuple((_name(each), value) for value, each, _ in tried)
    spent = time.monotonic() - began
    return GaussianFit(process, _name(potential), nats, names, spent, state=potential)


def _name(potential: str) -> str:
    return f"Helmholtz GP, {potential} potentials"


def helmholtz_process(
    potential: str, dim: int, theta, extent: float = 1.0, unit: float = 1.0
) -> GP:
    """The process of logarithms of its parameters.

    Args:
        potential: Kernel of the potentials.
        dim: Dimension of space.
        theta: Logarithms of the lengthscales of the divergence-free and the curl-free part, of the
            variances of these kernels and of the constant part, and of the noise.
        extent: Unit of the inputs.
        unit: Unit of the values: variances are multiplied by its square.

    Returns:
        The process of values in the unit.
    """
    values = [float(part) for part in np.exp(theta)]
    rotation, gradient = (extent * length for length in values[:2])
    free, curl, constant, noise = (unit**2 * part for part in values[2:])
    parts = DivergenceFree(rotation, free, dim=dim, potential=potential)
    parts = parts + CurlFree(gradient, curl, dim=dim, potential=potential)
    return GP(parts + Diagonal(Bias(constant), dim), noise=noise)


def _parameters(process: GP) -> list[Any]:
    """What `helmholtz_process` makes from theta, in its order."""
    kernel: Any = process.kernel
    parts = (kernel.first.first, kernel.first.second)
    lengths = [part.lengthscale for part in parts]
    variances = [part.variance for part in parts]
    return [*lengths, *variances, kernel.second.kernel.variance, process.noise]


@cache
def _form(potential: str, dim: int) -> FieldForm:
    """One form for each kernel, so that its program is compiled once."""
    return FieldForm(partial(helmholtz_process, potential, dim), _parameters)


def _maximise(potential: str, dim: int, fields: list[Curve], iterations: int) -> FieldSearch:
    """The likeliest parameters of fields in their own units."""
    free, *others = FIRST_VARIANCES
    return maximise_likelihood(
        _form(potential, dim),
        fields,
        [[length, length, free / (dim - 1), *others] for length in FIRST_LENGTHS],
        [LENGTHSCALES] * 2 + [VARIANCES] * len(FIRST_VARIANCES),
        iterations=iterations,
    )
