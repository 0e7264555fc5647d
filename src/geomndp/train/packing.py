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


def pack_rows(arrays: tuple[Array, ...], mask: Float[Array, "b n"]) -> tuple[Array, ...]:
    """Pack functions 2i and 2i + 1 of a batch into one row.

    Args:
        arrays: Values of the functions, each of shape (b, n, ...).
        mask: 1 for real points, shape (b, n).

    Returns:
        The arrays as rows (b / 2, m, ...), and last the mask, which holds 1 and 2.

    Raises:
        ValueError: If the number of functions is odd.
    """
    if len(mask) % 2:
        raise ValueError(f"expected an even number of functions to pair them, got {len(mask)}")
    for array in arrays:
        _validation.shape("mask", mask, array.shape[:2])

    def rows(first: Array, second: Array) -> Array:
        return jax.vmap(pack)(first, second, mask[0::2])

    halves = [(v[0::2], v[1::2]) for v in (*arrays, mask)]
    halves[-1] = (mask[0::2], 2.0 * mask[1::2])
    return tuple(rows(*half) for half in halves)


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
    *rows, numbers = pack_rows((t, x, y), mask)
    outputs = jax.vmap(net)(*rows, numbers)
    pairs = jax.vmap(lambda row: jnp.stack(unpack(row, x.shape[1])))(outputs)
    return pairs.reshape(*x.shape[:2], -1)
