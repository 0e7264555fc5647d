"""Packing: two functions in one row of points, so that none of a network's work goes to padding.

Functions 2i and 2i + 1 of a batch whose numbers of points add up to n + 1 fill one row together:
the first from its start, the second backwards from its end. The row's mask holds 1 and 2, the
number of the function that a point belongs to, which keeps them apart in a network. Numbers of
points that are uniform on {1..n} stay so, and the work of attention halves.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp

from geomndp import _validation
from geomndp._types import Array, Float, Mask, Outputs

TILE = 16  # matrix units work on blocks of so many points


def packed_length(points: int) -> int:
    """Length of a row that holds two functions with `points` + 1 points together.

    Args:
        points: Most points of a function.

    Returns:
        The length, a multiple of `TILE`.
    """
    return -(-(points + 1) // TILE) * TILE


def _longer(v: Array) -> Array:
    return jnp.pad(v, [(0, packed_length(len(v)) - len(v))] + [(0, 0)] * (v.ndim - 1))


def pack(first: Array, second: Array, mask: Mask) -> Array:
    """Row of the real points of one function and then of another, the latter in reverse order.

    Args:
        first: Values of the first function, shape (n, ...).
        second: Values of the second function, shape (n, ...).
        mask: 1 for the real points of the first function, shape (n,).

    Returns:
        The row, shape (m, ...).
    """
    from_first = _longer(mask).reshape(-1, *([1] * (first.ndim - 1))) > 0
    return jnp.where(from_first, _longer(first), jnp.flip(_longer(second), 0))


def unpack(row: Float[Array, "m p"], points: int) -> tuple[Outputs, Outputs]:
    """Values of both functions of a row.

    Args:
        row: Values of a packed row, shape (m, p).
        points: Most points of a function, n.

    Returns:
        Values of both functions, (n, p) each; undefined beyond their real points.
    """
    return row[:points], jnp.flip(row, 0)[:points]


def apply_packed(net, t, x, y, mask) -> Float[Array, "b n p"]:
    """Apply a network to the functions of a batch, two at a time.

    Args:
        net: A network, called with the times, inputs, values and mask of one row.
        t: Diffusion times, shape (b, n).
        x: Inputs, shape (b, n, d).
        y: Values, shape (b, n, p).
        mask: 1 for real points, shape (b, n).

    Returns:
        Outputs of the network, shape (b, n, p).

    Raises:
        ValueError: If the number of functions is odd.
    """
    if len(x) % 2:
        raise ValueError(f"expected an even number of functions to pair them, got {len(x)}")
    _validation.shape("mask", mask, x.shape[:2])

    def pair(t, x, y, mask):
        row = [pack(v[0], v[1], mask[0]) for v in (t, x, y)]
        outputs = net(*row, pack(mask[0], 2.0 * mask[1], mask[0]))
        return jnp.stack(unpack(outputs, x.shape[1]))

    halves = [v.reshape(len(v) // 2, 2, *v.shape[1:]) for v in (t, x, y, mask)]
    outputs = jax.vmap(pair)(*halves)
    return outputs.reshape(*x.shape[:2], -1)
