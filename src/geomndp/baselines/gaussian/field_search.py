"""Maximum likelihood of processes of fields: one program per field, few parameters, no means."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from scipy import optimize

from geomndp._types import Batch
from geomndp.baselines.gaussian.functions import Curve, curves
from geomndp.gp import GP


class FieldForm(NamedTuple):
    """A process of fields with positive parameters.

    Attributes:
        process: The process with parameters of which the logarithms are given.
        parameters: Where these stand in the process, in their order.
    """

    process: Callable[[np.ndarray], GP]
    parameters: Callable[[GP], list[Any]]


class FieldSearch(NamedTuple):
    """Logarithms of the parameters of the largest likelihood found, and its nats per value."""

    theta: np.ndarray
    nats: float


def field_subset(
    functions: Batch, rows: Any, max_points: int, max_functions: int, seed: int
) -> list[Curve]:
    """Random points of fields that are evenly spread over some rows.

    Args:
        functions: Fields, with a mask; points with a missing component are left out.
        rows: Indices of the fields.
        max_points: Most points of a field.
        max_functions: Most fields.
        seed: Seed of the points.

    Returns:
        The fields that have a complete point.

    Raises:
        ValueError: If none has.
    """
    random, fields, chosen = np.random.default_rng(seed), [], np.asarray(list(rows), int)
    keep = np.unique(np.linspace(0, len(chosen) - 1, min(len(chosen), max_functions)).round())
    for curve in curves(functions, chosen[keep.astype(int)]):
        real = np.flatnonzero(np.isfinite(curve.y).all(axis=1))
        index = random.permutation(real)[:max_points]
        if len(index):
            fields.append(Curve(curve.x[index], curve.y[index]))
    if not fields:
        raise ValueError("expected fields with complete values, got none")
    return fields


def padded_fields(fields: list[Curve]) -> tuple[np.ndarray, ...]:
    """Inputs (b, n, d), values (b, n, p) and masks (b, n) of fields of one size."""
    n = max(len(curve.x) for curve in fields)
    padded = []
    for x, y in fields:
        rest = ((0, n - len(x)), (0, 0))
        mask = (np.arange(n) < len(x)).astype(float)
        padded.append((np.pad(x, rest), np.pad(y, rest), mask))
    return tuple(np.stack(values) for values in zip(*padded, strict=True))


@partial(jax.jit, static_argnums=0)
def _value_and_slope(form: FieldForm, theta, fields):
    """Log-density of all fields, and its gradient."""

    def one(theta, field):
        process = form.process(np.zeros(len(theta)))
        process = eqx.tree_at(form.parameters, process, list(jnp.exp(theta)))
        return process.log_prob(*field)

    values, slopes = jax.lax.map(lambda field: jax.value_and_grad(one)(theta, field), fields)
    return jnp.sum(values), jnp.sum(slopes, axis=0)


def maximise_likelihood(
    form: FieldForm,
    fields: list[Curve],
    starts: Sequence[Sequence[float]],
    bounds: Sequence[tuple[float, float]],
    *,
    iterations: int,
) -> FieldSearch:
    """Maximise the likelihood of fields by L-BFGS.

    Args:
        form: The process.
        fields: The fields.
        starts: Values of the parameters; the likeliest are the first guess.
        bounds: Smallest and largest value of every parameter.
        iterations: Most iterations.

    Returns:
        The best parameters.
    """
    arrays, size = padded_fields(fields), sum(curve.y.size for curve in fields)

    def loss(theta):
        with jax.enable_x64(True):
            found = _value_and_slope(form, jnp.asarray(theta), arrays)
            value, slope = (-np.asarray(part, np.float64) / size for part in found)
        if not (np.isfinite(value) and np.isfinite(slope).all()):
            return 1e3, np.zeros_like(slope)
        return float(value), slope

    first = min(np.log(starts), key=lambda theta: loss(theta)[0])
    options = {"maxiter": iterations, "ftol": 1e-9}
    found = optimize.minimize(
        loss, first, jac=True, method="L-BFGS-B", bounds=np.log(bounds), options=options
    )
    return FieldSearch(np.asarray(found.x), -float(found.fun))


def field_nats(process: GP, fields: list[Curve]) -> float:
    """Nats per value of fields under a process."""
    with jax.enable_x64(True):
        arrays = jax.tree.map(jnp.asarray, padded_fields(fields))
        total = jax.jit(lambda a: jnp.sum(jax.lax.map(lambda f: process.log_prob(*f), a)))(arrays)
    return float(total) / sum(curve.y.size for curve in fields)
