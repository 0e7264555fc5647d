"""Outputs through their transforms: one per output, with domains, and noise to first order."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from geomndp import _validation
from geomndp._warnings import FirstOrderNoiseWarning
from geomndp.data.transforms import AbstractTransform, array_module

Transforms = tuple[AbstractTransform, ...]
"""One transform per output, one for all, or `()` for none."""


class OutsideDomainError(ValueError):
    """An output that its transform does not know, such as a negative value under a logarithm."""


def per_output(transforms: Transforms, y: Any) -> Transforms:
    """The transform of every output of y (..., p); `()` where nothing is transformed."""
    if len(transforms) == 1:
        return transforms * y.shape[-1]
    if transforms and len(transforms) != y.shape[-1]:
        expected, got = len(transforms), y.shape
        raise ValueError(f"expected y with {expected} outputs to transform, got shape {got}")
    return transforms


def apply(method: str, transforms: Transforms, y: Any) -> Any:
    """Apply "forward", "inverse" or "log_derivative" of each output's transform to y (..., p)."""
    if not transforms:
        return y
    columns = [getattr(t, method)(y[..., j]) for j, t in enumerate(per_output(transforms, y))]
    return array_module(y).stack(columns, axis=-1)


def inside(transforms: Transforms, y: Any) -> Any:
    """Whether outputs (n, p) lie in the domains of their transforms, one of these at least."""
    xp, ends = array_module(y), [transform.domain for transform in per_output(transforms, y)]
    low, high = (xp.asarray([end], dtype=y.dtype) for end in zip(*ends, strict=True))
    return (y > low) & (y < high)


def off_the_ends(transforms: Transforms, y: np.ndarray) -> np.ndarray:
    """Drawn outputs (..., p), next to an end of a transform's domain where rounding put them on it.

    The inverse of a bounded transform is its end from some value on, which has no finite transform.
    """
    y = y.copy()
    for j, transform in enumerate(per_output(transforms, y)):
        low, high = (y.dtype.type(end) for end in transform.domain)
        for end, other in ((low, high), (high, low)):
            if np.isfinite(end):  # what overflowed is no value
                y[y[..., j] == end, j] = np.nextafter(end, other)
    return y


def check_outputs(
    transforms: Transforms, y: Any, mask: Any = None, names: tuple[str, ...] = ()
) -> None:
    """Refuse outputs (n, p) outside the domain of their transform, naming the first row.

    The mask, (n,) or (n, g) for groups of outputs, is 1 for those that count; `names` are those of
    the outputs. What JAX traces is not looked at.
    """
    if not transforms or not (_validation.concrete(y) and _validation.concrete(mask)):
        return
    for j, transform in enumerate(per_output(transforms, y)):
        values, (low, high) = np.asarray(y)[:, j], transform.domain
        outside = ~((values > low) & (values < high))
        if mask is not None:
            size = y.shape[1] // np.shape(mask)[1] if np.ndim(mask) == 2 else 1
            outside &= np.asarray(mask[:, j // size] if np.ndim(mask) == 2 else mask) > 0
        if outside.any():
            row, name = int(np.argmax(outside)), "y" if y.shape[1] == 1 else f"output {j} of y"
            name = names[j] if names else name
            raise OutsideDomainError(
                f"expected {low:g} < {name} < {high:g} for {type(transform).__name__}, got "
                f"{values[row]:g} in row {row}"
            )


MAX_DERIVATIVE_RATIO = 2.0
"""Change of a transform's derivative within one standard deviation that is still first order."""


def first_order_variance(transform: AbstractTransform, noise: Any, y: Any) -> Any:
    r"""Variance of T(y + noise) to first order, $\sigma^2 T'(y)^2$.

    Args:
        transform: T.
        noise: Variance of the noise, one or one per value (n,).
        y: Noisy values, shape (n,), in the data's units.

    Returns:
        Variances of shape (n,).

    Raises:
        ValueError: If the derivative of T changes more than `MAX_DERIVATIVE_RATIO` fold within one
            standard deviation to either side of a value.
    """
    xp = array_module(y)
    variances = xp.broadcast_to(xp.asarray(noise, dtype=y.dtype), y.shape)
    known = _validation.concrete(variances) and _validation.concrete(y)
    if known and np.any(np.asarray(variances) > 0):
        _check_first_order(transform, np.asarray(y), np.sqrt(np.asarray(variances)))
    return variances * xp.exp(2 * transform.log_derivative(y))


def _check_first_order(transform: AbstractTransform, y: np.ndarray, std: np.ndarray) -> None:
    """Refuse noise over which the derivative of a transform varies strongly; else say so."""
    low, high = transform.domain
    sides = y - std, y + std
    inside = (sides[0] > low) & (sides[1] < high)
    slopes = [transform.log_derivative(np.where(inside, side, y)) for side in sides]
    bad = (std > 0) & ~(inside & (np.abs(slopes[1] - slopes[0]) <= math.log(MAX_DERIVATIVE_RATIO)))
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(
            f"expected noise that is small for {type(transform).__name__}, got a standard "
            f"deviation of {std[row]:.3g} at y = {y[row]:.3g} in row {row}"
        )
    warnings.warn(
        f"noise goes through {type(transform).__name__} to first order",
        FirstOrderNoiseWarning,
        stacklevel=2,
    )
