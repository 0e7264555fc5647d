r"""Noise schedules: the rate $\beta_t$ on [0, 1], its integral B(t), and the inverse of that."""

from __future__ import annotations

import abc
import math

import equinox as eqx
import jax.numpy as jnp

from geomndp import _validation
from geomndp._types import Array


class AbstractSchedule(eqx.Module):
    """Rate of noising over diffusion time t in [0, 1]; elementwise on arrays of any shape."""

    @abc.abstractmethod
    def beta(self, t: Array) -> Array:
        """Rate at time t."""

    @abc.abstractmethod
    def integral(self, t: Array) -> Array:
        r"""Integrated rate $B(t) = \int_0^t \beta_s ds$."""

    @abc.abstractmethod
    def inverse(self, integral: Array) -> Array:
        """Time t with B(t) = integral."""


class LinearSchedule(AbstractSchedule):
    r"""$\beta_t = \beta_0 + (\beta_1 - \beta_0) t$ (Song et al. 2021).

    Args:
        beta0: Rate at time 0.
        beta1: Rate at time 1.

    Raises:
        ValueError: Unless 0 <= beta0 < beta1.

    Example:
        `gn.noising.LinearSchedule(0.0, 10.0)`
    """

    beta0: float
    beta1: float

    def __check_init__(self):
        ends = self.beta0, self.beta1
        if not all(map(_validation.is_number, ends)) or not 0 <= self.beta0 < self.beta1:
            got = " and ".join(map(_validation.brief, ends))
            raise ValueError(f"expected 0 <= beta0 < beta1, got {got}")

    def beta(self, t):
        return self.beta0 + (self.beta1 - self.beta0) * t

    def integral(self, t):
        return self.beta0 * t + 0.5 * (self.beta1 - self.beta0) * t**2

    def inverse(self, integral):
        root = jnp.sqrt(self.beta0**2 + 2 * (self.beta1 - self.beta0) * integral)
        # The rationalised quadratic formula: no cancellation at small times.
        return 2 * integral / jnp.maximum(self.beta0 + root, jnp.finfo(root.dtype).tiny)


DEFAULT_SCHEDULE_1D = LinearSchedule(0.0, 10.0)
"""Default of functions of one input."""
DEFAULT_SCHEDULE = LinearSchedule(1e-4, 15.0)
"""Default of functions of several inputs, and of tracks on the sphere."""


class CosineSchedule(AbstractSchedule):
    r"""$a_t^2 = \cos^2(\omega t)$ (Nichol and Dhariwal 2021), stopped short of infinite noise.

    $B(t) = -2 \log \cos(\omega t)$ with $\omega$ set so that B(1) = `total`.

    Args:
        total: Integrated rate B(1).

    Raises:
        ValueError: Unless positive and finite.
    """

    total: float = 10.0

    def __check_init__(self):
        _validation.positive(total=self.total)

    @property
    def _omega(self) -> float:
        return math.acos(math.exp(-0.5 * self.total))

    def beta(self, t):
        return 2 * self._omega * jnp.tan(self._omega * t)

    def integral(self, t):
        # -2 log cos(w) = log(1 + tan^2 w): accurate at both ends.
        return jnp.log1p(jnp.tan(self._omega * t) ** 2)

    def inverse(self, integral):
        # The angle with cosine exp(-B/2), from its sine too: accurate at both ends.
        sine = jnp.sqrt(-jnp.expm1(-integral))
        return jnp.arctan2(sine, jnp.exp(-0.5 * integral)) / self._omega
