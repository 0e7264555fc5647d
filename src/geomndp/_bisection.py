"""Quantiles of mixtures by bisection, with the derivatives of a root."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp

from geomndp._types import Array, Float

BISECTIONS = 60
"""Halvings of the interval in which a quantile of a mixture lies: enough for float64."""


def bisected_quantiles(cdf: Callable, ends: Float[Array, "k l n p"], q: Array) -> Array:
    """Quantiles of a mixture, each of which lies between those of the members.

    Args:
        cdf: Probabilities (n, p) of values up to (n, p).
        ends: Quantiles of the k members at all l levels, shape (k, l, n, p).
        q: The levels, of any shape of l values.

    Returns:
        Shape (*q.shape, n, p).
    """
    level = q.reshape(-1)[:, None, None]
    interval = jnp.min(ends, axis=0), jnp.max(ends, axis=0)

    def bisect(excess: Callable, _) -> Array:
        def halve(_, interval):
            low, high = interval
            middle = 0.5 * (low + high)
            below = excess(middle) < 0
            return jnp.where(below, middle, low), jnp.where(below, high, middle)

        return jax.lax.fori_loop(0, BISECTIONS, halve, interval)[1]

    def divide(slope: Callable, values: Array) -> Array:
        return values / slope(jnp.ones_like(values))

    # Derivatives are those of the root: the halvings have none.
    high = jax.lax.custom_root(
        lambda y: jax.vmap(cdf)(y) - level, interval[1], bisect, tangent_solve=divide
    )
    # A level of 0 or 1 has its end itself, which may be infinite.
    value = jnp.where((interval[0] == interval[1]) | (level <= 0), interval[0], high)
    value = jnp.where(level >= 1, interval[1], value)
    return value.reshape(*q.shape, *value.shape[1:])
