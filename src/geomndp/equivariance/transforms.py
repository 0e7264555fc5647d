"""Translations, rotations and reflections of R^d, on inputs and on values."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr

from geomndp import _validation
from geomndp._deprecated import renamed_attribute
from geomndp._types import Array, Float, Inputs, Outputs, PRNGKeyArray
from geomndp.equivariance.field_type import FieldType
from geomndp.linalg import matmul


class RigidTransform(eqx.Module):
    """Rigid transform x -> R x + b; values of fields are rotated by R and not shifted.

    Args:
        matrix: Orthogonal matrix R, shape (d, d).
        shift: Translation b, shape (d,).
    """

    matrix: Float[Array, "d d"]
    shift: Float[Array, " d"]
    on_inputs = renamed_attribute("act_on_inputs")
    on_outputs = renamed_attribute("act_on_outputs")
    after = renamed_attribute("compose")

    @property
    def dim(self) -> int:
        """Dimension of space."""
        return len(self.shift)

    def act_on_inputs(self, x: Inputs) -> Inputs:
        """Transform locations, the first d columns; further columns are invariant inputs.

        Args:
            x: Inputs, shape (n, d) or with further columns.
        """
        locations, invariant = x[:, : self.dim], x[:, self.dim :]
        _validation.shape("locations", locations, (len(x), self.dim))
        moved = matmul(locations, self.matrix.T) + self.shift[None, :]
        return jnp.concatenate([moved, invariant], axis=1)

    def act_on_outputs(self, y: Outputs, field_type: FieldType) -> Outputs:
        """Rotate the values of a field.

        Args:
            y: Values, shape (n, p).
            field_type: What the p components are.
        """
        _validation.shape("y", y, (len(y), field_type.size))
        return matmul(y, field_type.action(self.matrix).T)

    def compose(self, other: RigidTransform) -> RigidTransform:
        """The transform that applies `other` first, then this one.

        Args:
            other: Another transform of the same space.
        """
        moved = matmul(self.matrix, other.shift[:, None])[:, 0]
        return RigidTransform(matmul(self.matrix, other.matrix), moved + self.shift)

    def inverse(self) -> RigidTransform:
        """The inverse transform."""
        back = self.matrix.T
        return RigidTransform(back, -matmul(back, self.shift[:, None])[:, 0])


def random_transform(
    dim: int, *, key: PRNGKeyArray, reflect: bool | None = None, scale: float = 1.0, dtype=None
) -> RigidTransform:
    """Draw a transform, R uniform on O(d), on SO(d) or on its complement.

    Args:
        dim: Dimension d of space.
        key: Random key.
        reflect: Whether R reflects; None leaves it to chance.
        scale: Standard deviation of every component of the shift.
        dtype: Floating-point type, JAX's default without.

    Returns:
        The transform.
    """
    turn_key, shift_key = jr.split(key)
    dtype = jnp.dtype(dtype or jnp.result_type(float))
    q, r = jnp.linalg.qr(jr.normal(turn_key, (dim, dim), dtype))
    q = q * jnp.sign(jnp.diag(r))[None, :]  # uniform (Mezzadri 2007)
    if reflect is not None:
        wrong = (jnp.linalg.det(q) < 0) != reflect
        q = q.at[:, 0].multiply(jnp.where(wrong, -1.0, 1.0).astype(dtype))
    return RigidTransform(q, scale * jr.normal(shift_key, (dim,), dtype))
