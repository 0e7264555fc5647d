"""White noise by point: neither padding nor the other points change that of a point.

Row i is drawn from the key folded with the label of its point. Context and target points have
labels of their own, 2 i and 2 i + 1, so that padding one side leaves the draws of the other alone.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr

from geomndp._types import Array, Int, PRNGKeyArray

Labels = Int[Array, " n"]


class PointNoise(eqx.Module):
    """Request for white noise with one row per point, shape (n, dim) or (copies, n, dim).

    Attributes:
        labels: Numbers (n,) by which the rows are drawn.
        dim: Number of outputs.
        copies: Number of independent copies, None for one without a further axis.
    """

    labels: Labels
    dim: int = eqx.field(static=True)
    copies: int | None = eqx.field(default=None, static=True)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the noise."""
        rows = (len(self.labels), self.dim)
        return rows if self.copies is None else (self.copies, *rows)


Spec = tuple[int, ...] | PointNoise
"""Noise of one step: rows of labelled points, or a plain shape whose rows are labelled 0, 1, ..."""
Shapes = tuple[Spec, ...]
Noise = tuple[Array, ...]


def context_labels(m: int) -> Labels:
    """Labels of m context points."""
    return 2 * jnp.arange(m, dtype=jnp.int32)


def target_labels(n: int) -> Labels:
    """Labels of n target points."""
    return 2 * jnp.arange(n, dtype=jnp.int32) + 1


def shape_of(spec: Spec) -> tuple[int, ...]:
    """Shape of requested noise."""
    return spec.shape if isinstance(spec, PointNoise) else spec


def each_key(key: PRNGKeyArray, labels: Labels) -> Array:
    """One key per label, which does not depend on the other labels.

    Args:
        key: Random key.
        labels: Whole numbers (n,).

    Returns:
        Keys (n,).
    """
    return jax.vmap(lambda label: jr.fold_in(key, label))(labels)


def normals(shapes: Shapes, dtype, *, key: PRNGKeyArray) -> Noise:
    """White noise of several shapes.

    Args:
        shapes: Requests, rows of labelled points or plain shapes.
        dtype: Floating-point type.
        key: Random key.

    Returns:
        One array per request.
    """
    keys = each_key(key, jnp.arange(max(len(shapes), 1), dtype=jnp.int32))
    return tuple(_normal(spec, dtype, key=k) for k, spec in zip(keys, shapes, strict=False))


def zeros(shapes: Shapes, dtype) -> Noise:
    """Zeros instead of noise."""
    return tuple(jnp.zeros(shape_of(spec), dtype=dtype) for spec in shapes)


def _normal(spec: Spec, dtype, *, key: PRNGKeyArray) -> Array:
    if isinstance(spec, PointNoise):
        if spec.copies is None:
            return _rows(spec.labels, (spec.dim,), dtype, key=key)
        keys = each_key(key, jnp.arange(spec.copies, dtype=jnp.int32))
        return jax.vmap(lambda key: _rows(spec.labels, (spec.dim,), dtype, key=key))(keys)
    if not spec:
        return jr.normal(key, dtype=dtype)
    return _rows(jnp.arange(spec[0], dtype=jnp.int32), spec[1:], dtype, key=key)


def _rows(labels: Labels, shape: tuple[int, ...], dtype, *, key: PRNGKeyArray) -> Array:
    return jax.vmap(lambda key: jr.normal(key, shape, dtype=dtype))(each_key(key, labels))
