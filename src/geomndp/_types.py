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
Mask = Float[Array, " n"]
"""1 for a real point, 0 for padding."""
Times = Float[Array, " n"] | Float[Array, ""]
"""Diffusion times, one per point; a scalar is broadcast to all points."""


class Batch(NamedTuple):
    """Several functions, padded to one length.

    `context` is 1 where a point is an observation to condition on, 0 where it is a target.
    """

    x: Float[Array, "b n d"]
    y: Float[Array, "b n p"]
    mask: Float[Array, "b n"]
    context: Float[Array, "b n"]


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
    "Scalar",
    "ScalarLike",
    "Times",
]
