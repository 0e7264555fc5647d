"""Shape aliases and the batch of functions that all layers use."""

from __future__ import annotations

from typing import NamedTuple

from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

Scalar = Float[Array, ""]
"""A number that JAX may trace."""
ScalarLike = float | Scalar
Inputs = Float[Array, "n d"]
"""Input locations of one function, shape (n, d)."""
Outputs = Float[Array, "n p"]
"""Values of the function there, shape (n, p)."""
Values = Float[Array, "n k"]
"""What a network sees there: the values, and further fields of their type beside them."""
PerPoint = Float[Array, " n"] | Float[Array, "n g"]
"""One number per point, or one per point and group of outputs, each of p / g of them."""
Mask = PerPoint
"""1 for a real point, 0 for padding; per group, 0 also where its outputs are missing."""
Times = Float[Array, " n"] | Float[Array, "n g"] | Float[Array, ""]
"""Diffusion times, one per point, or per point and group; a scalar is broadcast to all points."""


class Batch(NamedTuple):
    """Several functions, padded to one length.

    `mask` is 1 for a real point, `context` where it is an observation to condition on and not a
    target. Where outputs are missing apart both have a last axis over the g groups of outputs.
    `noise` is the variance of the known noise of the values, None where none is known.
    """

    x: Float[Array, "b n d"]
    y: Float[Array, "b n p"]
    mask: Float[Array, "b n"] | Float[Array, "b n g"]
    context: Float[Array, "b n"] | Float[Array, "b n g"]
    noise: Float[Array, "b n"] | None = None


__all__ = [
    "Array",
    "Batch",
    "Bool",
    "Float",
    "Inputs",
    "Int",
    "Mask",
    "Outputs",
    "PRNGKeyArray",
    "PerPoint",
    "Scalar",
    "ScalarLike",
    "Times",
    "Values",
]
