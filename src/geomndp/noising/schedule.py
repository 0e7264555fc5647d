r"""Diffusion time: noise schedules on [0, 1], grids in it, and random times as dense as a grid.

A schedule is the rate $\beta_t$, its integral B(t), and the inverse of that. Solvers take their
steps on a grid: uniform time wastes nearly all of them, since the noised law changes fastest near
time zero.
"""

from __future__ import annotations

import abc
import math

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr

from geomndp import _validation
from geomndp._types import Array, Float, PRNGKeyArray, ScalarLike

CELLS = 1024  # of the grid whose linear interpolation maps uniform numbers to times


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


class AbstractTimeGrid(eqx.Module):
    """Discretisation of the diffusion times between t_min and 1."""

    @abc.abstractmethod
    def __call__(
        self, schedule: AbstractSchedule, steps: int, t_min: ScalarLike, dtype
    ) -> Float[Array, " m"]:
        """Times of the discretisation.

        Args:
            schedule: Schedule of the noising process.
            steps: Number of intervals.
            t_min: Smallest time, 0 <= t_min < 1.
            dtype: Floating-point type of the times.

        Returns:
            Increasing times from t_min to 1, shape (steps + 1,).

        Raises:
            ValueError: If `steps` or `t_min` is out of its range.
        """


def _unit(steps: int, t_min: ScalarLike, dtype) -> Array:
    _validation.at_least(1, steps=steps)
    if _validation.concrete(t_min) and not 0 <= t_min < 1:
        raise ValueError(f"expected 0 <= t_min < 1, got {t_min}")
    return jnp.arange(steps + 1, dtype=dtype) / steps


def _pinned(times: Array, t_min: ScalarLike) -> Array:
    """Set the ends exactly, whatever rounding did."""
    return times.at[0].set(t_min).at[-1].set(1.0)


class UniformTimeGrid(AbstractTimeGrid):
    """Equal steps of time, for comparison."""

    def __call__(self, schedule, steps, t_min, dtype=jnp.float32):
        return _pinned(t_min + (1 - t_min) * _unit(steps, t_min, dtype), t_min)


class PowerTimeGrid(AbstractTimeGrid):
    r"""$t = (\epsilon^{1/\rho} + w (1 - \epsilon^{1/\rho}))^\rho$, w uniform on [0, 1].

    Karras et al. (2022), with time instead of their noise level.

    Attributes:
        exponent: $\rho > 0$; the larger, the more of the times are near t_min.
    """

    exponent: float = 3.0

    def __check_init__(self):
        _validation.positive(exponent=self.exponent)

    def __call__(self, schedule, steps, t_min, dtype=jnp.float32):
        low = t_min ** (1 / self.exponent)
        return _pinned((low + (1 - low) * _unit(steps, t_min, dtype)) ** self.exponent, t_min)


class LogSnrTimeGrid(AbstractTimeGrid):
    r"""Uniform in the logarithm of $\sigma_t^2 / a_t^2 = e^{B} - 1$ plus a floor.

    The floor, relative to the limiting variance, stands for the smallest variance in the data:
    below it the noised law no longer changes, so no steps are spent there.

    Attributes:
        floor: Floor, positive.
    """

    floor: float = 1e-3

    def __check_init__(self):
        _validation.positive(floor=self.floor)

    def __call__(self, schedule, steps, t_min, dtype=jnp.float32):
        unit = _unit(steps, t_min, dtype)
        low, high = (
            jnp.expm1(schedule.integral(jnp.asarray(t, dtype=dtype))) for t in (t_min, 1.0)
        )
        width = jnp.log((high + self.floor) / (low + self.floor))
        ratio = low + (low + self.floor) * jnp.expm1(width * unit)
        return _pinned(schedule.inverse(jnp.log1p(ratio)), t_min)


def stratified_uniform(num: int, dtype, *, key: PRNGKeyArray) -> Float[Array, " num"]:
    """Numbers in [0, 1), each uniform, exactly one of them in every cell of width 1 / num.

    All cells are moved by one random shift, so that no function of the batch is tied to a part of
    the interval.

    Args:
        num: How many numbers.
        dtype: Their floating-point type.
        key: Random key.

    Returns:
        The numbers, shape (num,), in the order of their cells.
    """
    jitter_key, shift_key = jr.split(key)
    u = (jnp.arange(num, dtype=dtype) + jr.uniform(jitter_key, (num,), dtype)) / num
    u = u + jr.uniform(shift_key, (), dtype)
    return u - jnp.floor(u)


def times_from_uniform(
    u: Float[Array, "*b"],
    time_grid: AbstractTimeGrid,
    schedule: AbstractSchedule,
    t_min: ScalarLike,
) -> Float[Array, "*b"]:
    """Map uniform numbers to times on [t_min, 1] as dense as the points of a time grid.

    With `UniformTimeGrid` the times are uniform; with `LogSnrTimeGrid` the logarithm of the
    noise-to-signal ratio is, above a floor.

    Args:
        u: Numbers in [0, 1], of any shape.
        time_grid: Where times are dense.
        schedule: Schedule of the noising process.
        t_min: Smallest time.

    Returns:
        Diffusion times, of the same shape.
    """
    knots = time_grid(schedule, CELLS, t_min, u.dtype)
    cell = jnp.minimum(jnp.floor(u * CELLS), CELLS - 1.0)
    index = cell.astype(jnp.int32)
    left, right = knots[index], knots[index + 1]
    return left + (u * CELLS - cell) * (right - left)
