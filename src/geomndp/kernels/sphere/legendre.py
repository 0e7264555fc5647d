r"""Legendre series and their derivatives, to full accuracy near both ends.

With $s = 1 - u$ and $D_n = P_n - P_{n-1}$ the recurrence is
$(n + 1) D_{n+1} = n D_n - (2 n + 1) s P_n$ (Reinsch's form of Clenshaw's, as in Gentleman 1969):
nothing cancels where s is small, while the plain one in u loses $n^2$ units of the last digit
there. Derivatives are those of the recurrence. Where u < 0 parity,
$P_n(u) = (-1)^n P_n(-u)$, leads back to a small s.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp

from geomndp._types import Array, Float, Scalar


def half_squares(x1: Float[Array, " 3"], x2: Float[Array, " 3"]) -> tuple[Scalar, Scalar]:
    """1 - u and 1 + u of two unit vectors with u = x1 . x2, each without cancellation.

    Args:
        x1: Unit vector, shape (3,).
        x2: Another.
    """
    return jnp.sum((x1 - x2) ** 2) / 2, jnp.sum((x1 + x2) ** 2) / 2


def series(
    coefficients: Float[Array, " terms"], below: Scalar, above: Scalar, order: int
) -> list[Scalar]:
    r"""Derivatives in u of $\sum_n c_n P_n(u)$.

    Args:
        coefficients: $c_0, c_1, \dots$
        below: 1 - u.
        above: 1 + u.
        order: How many derivatives, from 0 to 2.

    Returns:
        Values of the derivatives 0 to `order`.
    """
    near = below <= above
    s = jnp.where(near, below, above)
    degree = jnp.arange(len(coefficients), dtype=s.dtype)
    alternating = coefficients * jnp.where(jnp.arange(len(coefficients)) % 2 == 0, 1.0, -1.0)
    signed = jnp.where(near, coefficients, alternating)

    def step(carry, term):
        n, c = term
        value, difference, total = carry
        total = [t + c * p for t, p in zip(total, value, strict=True)]
        products = [s * value[0]]
        products += [s * value[k] + k * value[k - 1] for k in range(1, order + 1)]
        difference = [
            (n * d - (2 * n + 1) * p) / (n + 1) for d, p in zip(difference, products, strict=True)
        ]
        value = [p + d for p, d in zip(value, difference, strict=True)]
        return (value, difference, total), None

    zeros = [jnp.zeros_like(s) for _ in range(order + 1)]
    start = ([jnp.ones_like(s), *zeros[1:]], zeros, zeros)
    (_, _, total), _ = jax.lax.scan(step, start, (degree, signed))
    # One derivative in u is minus one in s; s itself falls with u only where u > 0.
    return [jnp.where(near, (-1.0) ** k, 1.0) * total[k] for k in range(order + 1)]
