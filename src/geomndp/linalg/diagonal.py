"""Numbers per point, or per point and group of outputs: masks, times, and diagonal operators."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from geomndp._types import Mask, Outputs, PerPoint, Scalar, Times
from geomndp.linalg.gram import AbstractGram

LOG_2PI = 1.8378770664093453


def safe_sqrt(square: Array) -> Array:
    """Square root whose gradient at zero is zero, not NaN.

    No branch on `square > 0`: a compiler that computes `square` anew for each of its uses, rounded
    once to zero and once not, would take one side of one branch and the other side of another.

    Args:
        square: Numbers that are not negative, of any shape.
    """
    least = jnp.asarray(jnp.finfo(square.dtype).tiny, square.dtype)
    return jnp.sqrt(jnp.maximum(square, least)) - jnp.sqrt(least)


def norm(v: Float[Array, "*n p"]) -> Float[Array, "*n 1"]:
    """Euclidean length along the last axis, whose gradient at zero is zero, not NaN.

    Args:
        v: Shape (..., p).

    Returns:
        Shape (..., 1).
    """
    return safe_sqrt(jnp.sum(v**2, axis=-1, keepdims=True))


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


def gaussian_log_density(square: Scalar, logdet: Scalar, v: Outputs, mask: Mask | None) -> Scalar:
    """Log-density of a centred Gaussian from its quadratic form and log-determinant."""
    outputs = v.shape[1] if mask is None else outputs_per_entry(mask, v.shape[1])
    count = len(v) if mask is None else jnp.sum(mask)
    return -0.5 * (square + logdet + outputs * count * LOG_2PI)


class DiagonalGram(AbstractGram):
    """Covariance of white noise.

    Args:
        variance: One per point, the same for all outputs, shape (n,), or one per value (n, p).
        dim: Number p of outputs.
    """

    variance: Float[Array, " n"] | Float[Array, "n p"]
    dim: int = eqx.field(static=True)

    def _with(self, other: PerPoint) -> tuple[Array, Array]:
        """Variances and other numbers, both per point or both per value."""
        if self.variance.ndim == other.ndim == 1:
            return self.variance, other
        shape = (len(other), self.dim)
        variance, other = (
            jnp.broadcast_to(columns(v, self.dim), shape) for v in (self.variance, other)
        )
        return variance, other

    def mv(self, v):
        return columns(self.variance, self.dim) * v

    def root(self):
        return DiagonalGram(jnp.sqrt(self.variance), self.dim)

    def root_mv(self, v):
        return columns(jnp.sqrt(self.variance), self.dim) * v

    def root_solve(self, v):
        return v / columns(jnp.sqrt(self.variance), self.dim)

    def cholesky_mv(self, v):
        return self.root_mv(v)

    def solve(self, v):
        return v / columns(self.variance, self.dim)

    def logdet(self):
        copies = self.dim if self.variance.ndim == 1 else 1
        return copies * jnp.sum(jnp.log(self.variance))

    def log_density(self, v, mask=None):
        gram, v = self.masked(mask), zero_masked(v, mask)
        return gaussian_log_density(jnp.sum(v * gram.solve(v)), gram.logdet(), v, mask)

    def dense(self):
        return jnp.diag(self.diagonal().reshape(-1))

    def scale(self, a):
        variance, a = self._with(a)
        return DiagonalGram(variance * a**2, self.dim)

    def masked(self, mask):
        if mask is None:
            return self
        variance, mask = self._with(mask)
        return DiagonalGram(jnp.where(mask > 0, variance, 1.0), self.dim)

    def diagonal(self):
        shape = (len(self.variance), self.dim)
        return jnp.broadcast_to(columns(self.variance, self.dim), shape)

    def add_diagonal(self, variance):
        own, variance = self._with(variance)
        return DiagonalGram(own + variance, self.dim)

    def hadamard(self, other):
        return DiagonalGram(self.variance * other.diagonal()[:, 0], self.dim)

    def __add__(self, other):
        return other.add_diagonal(self.variance)

    def __rmul__(self, factor):
        return DiagonalGram(factor * self.variance, self.dim)
