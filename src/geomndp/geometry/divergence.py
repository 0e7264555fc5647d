r"""Divergence of a tangent field with respect to the volume of a manifold.

For a manifold with the metric of R^p it is $\sum_k \langle E_k, D f[E_k] \rangle$, E an orthonormal
basis of the tangent space: directional derivatives along the manifold, in whatever way f is
written. On R^p that is the trace of the Jacobian. Both rules linearise the field once: its value
and every directional derivative come from one evaluation. Masked points contribute nothing.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr

from geomndp import _validation
from geomndp._deprecated import renamed_arguments, renamed_attribute
from geomndp._types import Array, Float, Mask, Outputs, PRNGKeyArray, Scalar
from geomndp.geometry.base import AbstractManifold, Euclidean
from geomndp.linalg import columns

VectorField = Callable[[Outputs], Outputs]
Directions = Float[Array, "k n p"]
Estimates = Float[Array, " k"]
DISTRIBUTIONS = {"rademacher": jr.rademacher, "gaussian": jr.normal}


def _kept(y: Outputs, mask: Mask | None) -> Outputs:
    """1 for the coordinates that count, 0 for masked ones."""
    return jnp.ones_like(y) if mask is None else jnp.zeros_like(y) + columns(mask, y.shape[1])


def _each(fn: Callable, items: Array, chunk: int) -> Estimates:
    """Values of all items, `chunk` at a time."""
    if len(items) <= chunk:
        return jax.vmap(fn)(items)
    return jax.lax.map(fn, items, batch_size=chunk)


class AbstractDivergence(eqx.Module):
    """Rule that gives k unbiased estimates of a divergence."""

    @abc.abstractmethod
    def prepare(self, y: Outputs, mask: Mask | None, *, key: PRNGKeyArray | None) -> Directions:
        """Directions of the derivatives, drawn once and then fixed along a path.

        Args:
            y: Values, shape (n, p); only the shape counts.
            mask: 1 for values that count, shape (n,) or (n, g).
            key: Random key, for rules that draw.

        Returns:
            Directions, shape (k, n, p).
        """

    @abc.abstractmethod
    def __call__(
        self,
        f: VectorField,
        y: Outputs,
        directions: Directions,
        manifold: AbstractManifold | None = None,
    ) -> tuple[Outputs, Estimates]:
        """Value of a field and estimates of its divergence.

        Args:
            f: Tangent field, from (n, p) to (n, p).
            y: Where, shape (n, p).
            directions: Those of `prepare`.
            manifold: Where the rows of y lie; None is R^p.

        Returns:
            f(y), shape (n, p), and the estimates, shape (k,).
        """

    @abc.abstractmethod
    def standard_error(self, estimates: Estimates) -> Scalar:
        """Standard error of the mean of the estimates, or of their integrals along a path.

        Args:
            estimates: Shape (k,).
        """


class Exact(AbstractDivergence):
    """Exact divergence, by forward mode along all basis vectors.

    Args:
        chunk: Derivatives taken at a time: more are faster and take more memory.
    """

    chunk: int = eqx.field(default=64, static=True)

    def __check_init__(self):
        _validation.at_least(1, chunk=self.chunk)

    def prepare(self, y, mask, *, key=None):
        return _kept(y, mask)[None]

    def __call__(self, f, y, directions, manifold=None):
        manifold = Euclidean(y.shape[1]) if manifold is None else manifold
        value, push = jax.linearize(f, y)
        shape = (len(y), manifold.dim)
        size = shape[0] * shape[1]

        def entry(i):
            one = jax.nn.one_hot(i, size, dtype=y.dtype).reshape(shape)
            along = push(directions[0] * manifold.from_tangent_coords(y, one))
            return jnp.ravel(manifold.to_tangent_coords(y, along))[i]

        return value, jnp.sum(_each(entry, jnp.arange(size), self.chunk))[None]

    def standard_error(self, estimates):
        return jnp.zeros((), dtype=estimates.dtype)


@renamed_arguments(kind="distribution")
class Hutchinson(AbstractDivergence):
    r"""$v^\top J v$ for random v with $E[v v^\top] = I$ (Hutchinson 1990), one estimate per probe.

    On a manifold v is projected to the tangent space at the current point of the path. The row of
    a point depends on the key, the probe and the point's index alone: padding changes none.

    Args:
        probes: Number of random vectors.
        distribution: Their law, "rademacher" or "gaussian".
        chunk: Derivatives taken at a time.
    """

    probes: int = eqx.field(default=8, static=True)
    distribution: str = eqx.field(default="rademacher", static=True)
    kind = renamed_attribute("distribution")
    chunk: int = eqx.field(default=64, static=True)

    def __check_init__(self):
        _validation.at_least(1, probes=self.probes, chunk=self.chunk)
        _validation.one_of("distribution", self.distribution, tuple(DISTRIBUTIONS))

    def prepare(self, y, mask, *, key):
        if key is None:
            raise ValueError("expected a key for Hutchinson's probes, got None")
        draw, (n, dim) = DISTRIBUTIONS[self.distribution], y.shape
        probes, points = (jnp.arange(size, dtype=jnp.int32) for size in (self.probes, n))

        def row(probe, point):
            return draw(jr.fold_in(jr.fold_in(key, probe), point), (dim,), dtype=y.dtype)

        rows = jax.vmap(lambda probe: jax.vmap(lambda point: row(probe, point))(points))(probes)
        return rows * _kept(y, mask)[None]

    def __call__(self, f, y, directions, manifold=None):
        manifold = Euclidean(y.shape[1]) if manifold is None else manifold
        value, push = jax.linearize(f, y)

        def estimate(v):
            v = manifold.project(y, v)
            return jnp.sum(v * push(v))

        return value, _each(estimate, directions, self.chunk)

    def standard_error(self, estimates):
        if self.probes == 1:  # one estimate has no spread
            return jnp.full((), jnp.inf, dtype=estimates.dtype)
        return jnp.std(estimates, ddof=1) / math.sqrt(self.probes)
