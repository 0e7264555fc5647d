"""Translations, rotations and reflections of R^d, on inputs and on values."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr

from geomndp import _checks
from geomndp._linalg import matmul
from geomndp._types import Array, Float, Inputs, Outputs, PRNGKeyArray
from geomndp.groups.codomain import Codomain


class Motion(eqx.Module):
    """x -> R x + b with an orthogonal matrix R; values only turn, by R."""

    matrix: Float[Array, "d d"]
    shift: Float[Array, " d"]

    @property
    def dim(self) -> int:
        """Dimension of space."""
        return len(self.shift)

    def on_inputs(self, x: Inputs) -> Inputs:
        """Move the places, the first d columns; further columns are side information and stay."""
        place, side = x[:, : self.dim], x[:, self.dim :]
        _checks.shape("places", place, (len(x), self.dim))
        moved = matmul(place, self.matrix.T) + self.shift[None, :]
        return jnp.concatenate([moved, side], axis=1)

    def on_outputs(self, y: Outputs, codomain: Codomain) -> Outputs:
        """Turn the values."""
        _checks.shape("y", y, (len(y), codomain.size))
        return matmul(y, codomain.action(self.matrix).T)

    def after(self, other: Motion) -> Motion:
        """The motion that does `other` first."""
        moved = matmul(self.matrix, other.shift[:, None])[:, 0]
        return Motion(matmul(self.matrix, other.matrix), moved + self.shift)

    def inverse(self) -> Motion:
        """The motion back."""
        back = self.matrix.T
        return Motion(back, -matmul(back, self.shift[:, None])[:, 0])


def random_motion(
    dim: int, *, key: PRNGKeyArray, reflect: bool | None = None, scale: float = 1.0, dtype=None
) -> Motion:
    """Draw a motion: R uniform on O(d), on SO(d) or on its complement, a shift of `scale`.

    `reflect` says whether R reflects; None leaves it to chance.
    """
    turn_key, shift_key = jr.split(key)
    dtype = jnp.dtype(dtype or jnp.result_type(float))
    q, r = jnp.linalg.qr(jr.normal(turn_key, (dim, dim), dtype))
    q = q * jnp.sign(jnp.diag(r))[None, :]  # uniform (Mezzadri 2007)
    if reflect is not None:
        wrong = (jnp.linalg.det(q) < 0) != reflect
        q = q.at[:, 0].multiply(jnp.where(wrong, -1.0, 1.0).astype(dtype))
    return Motion(q, scale * jr.normal(shift_key, (dim,), dtype))
