r"""Divergence of a vector field on (n, p) arrays, $\sum_i \partial f_i / \partial y_i$.

Both rules linearise the field once: its value and every directional derivative come from one
evaluation. Masked coordinates contribute nothing.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr

from geomndp import _checks
from geomndp._types import Array, Float, Mask, Outputs, PRNGKeyArray, Scalar

VectorField = Callable[[Outputs], Outputs]
Directions = Float[Array, "k n p"]
Estimates = Float[Array, " k"]
KINDS = {"rademacher": jr.rademacher, "gaussian": jr.normal}


def _kept(y: Outputs, mask: Mask | None) -> Outputs:
    """1 for the coordinates that count, 0 for masked ones."""
    return jnp.ones_like(y) if mask is None else jnp.zeros_like(y) + mask[:, None]


class AbstractDivergence(eqx.Module):
    """Rule that gives k unbiased estimates of a divergence."""

    @abc.abstractmethod
    def prepare(self, y: Outputs, mask: Mask | None, *, key: PRNGKeyArray | None) -> Directions:
        """Directions for values shaped like y, drawn once and then fixed along a path."""

    @abc.abstractmethod
    def __call__(
        self, f: VectorField, y: Outputs, directions: Directions
    ) -> tuple[Outputs, Estimates]:
        """Return f(y) and the estimates of its divergence there."""

    @abc.abstractmethod
    def standard_error(self, estimates: Estimates) -> Scalar:
        """Standard error of the mean of the estimates, or of their integrals along a path."""


class Exact(AbstractDivergence):
    """Trace of the Jacobian by forward mode, `chunk` basis vectors at a time: one estimate."""

    chunk: int = eqx.field(default=64, static=True)

    def __check_init__(self):
        _checks.at_least(1, chunk=self.chunk)

    def prepare(self, y, mask, *, key=None):
        return _kept(y, mask)[None]

    def __call__(self, f, y, directions):
        value, push = jax.linearize(f, y)

        def entry(i):
            basis = jax.nn.one_hot(i, y.size, dtype=y.dtype).reshape(y.shape)
            return jnp.ravel(push(directions[0] * basis))[i]

        coordinates = jnp.arange(y.size)
        if y.size <= self.chunk:
            entries = jax.vmap(entry)(coordinates)
        else:
            entries = jax.lax.map(entry, coordinates, batch_size=self.chunk)
        return value, jnp.sum(entries)[None]

    def standard_error(self, estimates):
        return jnp.zeros((), dtype=estimates.dtype)


class Hutchinson(AbstractDivergence):
    r"""$v^\top J v$ for random v with $E[v v^\top] = I$ (Hutchinson 1990), one estimate a probe."""

    probes: int = eqx.field(default=8, static=True)
    kind: str = eqx.field(default="rademacher", static=True)

    def __check_init__(self):
        _checks.at_least(1, probes=self.probes)
        _checks.one_of("kind", self.kind, tuple(KINDS))

    def prepare(self, y, mask, *, key):
        if key is None:
            raise ValueError("expected a key for Hutchinson's probes, got None")
        draw = KINDS[self.kind]
        return draw(key, (self.probes, *y.shape), dtype=y.dtype) * _kept(y, mask)[None]

    def __call__(self, f, y, directions):
        value, push = jax.linearize(f, y)
        return value, jax.vmap(lambda v: jnp.sum(v * push(v)))(directions)

    def standard_error(self, estimates):
        if self.probes == 1:  # nothing is known of the spread
            return jnp.full((), jnp.inf, dtype=estimates.dtype)
        return jnp.std(estimates, ddof=1) / math.sqrt(self.probes)
