"""Numbers per point, or per point and group of outputs: masks and times of (n, p) values."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from geomndp._types import Mask, PerPoint, Times


def columns(v: PerPoint, dim: int) -> Float[Array, "n c"]:
    """Numbers of points, or of points and groups of outputs, as factors of (n, p) values.

    Args:
        v: Shape (n,), or (n, g) for g groups of p / g neighbouring outputs each.
        dim: Number p of outputs.

    Returns:
        Shape (n, 1) or (n, p).

    Raises:
        ValueError: If the outputs cannot be split into g groups of one size.
    """
    if v.ndim == 1:
        return v[:, None]
    groups = v.shape[1]
    if dim % groups:
        raise ValueError(f"expected groups of one size of {dim} outputs, got {groups} groups")
    return v if groups == dim else jnp.repeat(v, dim // groups, axis=1)


def outputs_per_entry(mask: Mask, dim: int) -> int:
    """Number of outputs for which an entry of a mask stands.

    Args:
        mask: Mask (n,) or (n, g).
        dim: Number p of outputs.
    """
    return dim if mask.ndim == 1 else dim // mask.shape[1]


def row_mask(mask: Mask | None) -> Float[Array, " n"] | None:
    """Mask (n,) of the rows with a real value: that of the inputs.

    Args:
        mask: Mask (n,) or (n, g); None where all values are real.
    """
    return mask if mask is None or mask.ndim == 1 else jnp.max(mask, axis=1)


def zero_masked(v: Float[Array, "n p"], mask: Mask | None) -> Float[Array, "n p"]:
    """Put zero in place of masked values, whatever they are, so that gradients are not NaN either.

    Args:
        v: Values, shape (n, p).
        mask: 1 for real rows, 0 for padding, shape (n,), or (n, g) per group of outputs.
    """
    return v if mask is None else jnp.where(columns(mask, v.shape[1]) > 0, v, 0.0)


def per_point(t: Times, n: int) -> PerPoint:
    """One time per point, or per point and group of outputs; a scalar stands for all.

    Args:
        t: Times, a scalar, (n,) or (n, g).
        n: Number of points.

    Raises:
        ValueError: If t has another shape.
    """
    shape = jnp.shape(t)
    if len(shape) == 2 and shape[0] == n:
        return t
    if shape not in ((), (n,)):
        raise ValueError(f"expected t of shape () or ({n},), got shape {shape}")
    return jnp.broadcast_to(t, (n,))


def join_masks(
    first: Float[Array, "n ..."] | None, second: Float[Array, "m ..."] | None, n: int, m: int, dtype
) -> Float[Array, "total ..."] | None:
    """Mask of two sets of points together.

    Args:
        first: Mask of n points; None where all are real.
        second: Mask of m points.
        n: Number of the first.
        m: Number of the second.
        dtype: That of a mask that is made here.

    Returns:
        Shape (n + m,), or (n + m, g) where one of them is per group; None where all are real.
    """
    if first is None and second is None:
        return None
    masks = [
        jnp.ones(size, dtype=dtype) if mask is None else mask
        for mask, size in ((first, n), (second, m))
    ]
    return join_per_point(*masks)


def join_per_point(
    first: Float[Array, "n ..."], second: Float[Array, "m ..."]
) -> Float[Array, "total ..."]:
    """Numbers of two sets of points together.

    Args:
        first: Shape (n,) or (n, g).
        second: Shape (m,) or (m, g).

    Returns:
        Shape (n + m,), or (n + m, g) where one of them is per group.
    """
    return jnp.concatenate(of_one_rank(first, second))


def of_one_rank(*values: Float[Array, "_ ..."]) -> tuple[Array, ...]:
    """Numbers per point as they are, or all per point and group where one of them is so.

    Args:
        *values: Shapes (n,) or (n, g), of any numbers of points.
    """
    groups = {v.shape[1] for v in values if v.ndim == 2}
    if not groups:
        return values
    return tuple(
        v if v.ndim == 2 else jnp.broadcast_to(v[:, None], (len(v), max(groups))) for v in values
    )


def variances(noise, x: Float[Array, "n d"]) -> PerPoint:
    """Noise variances, one per point, or per point and output.

    Args:
        noise: One variance for all values, or one per point (n,), or per value (n, p).
        x: Float[Array, "n d"], shape (n, d).

    Returns:
        Shape (n,) or (n, p).
    """
    noise = jnp.asarray(noise, dtype=x.dtype)
    return noise if noise.ndim == 2 else jnp.broadcast_to(noise, (len(x),))
