"""Where a student learns its steps: random pairs of a time and a target time."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr

from geomndp import _validation
from geomndp._types import Array, Float, PRNGKeyArray
from geomndp.noising import AbstractNoising
from geomndp.score import flow_angle, time_of_angle

Angles = Float[Array, " b"]


class TimePairs(eqx.Module):
    """Pairs of angles between those of t_min and one, as times: from where, and to where.

    A step towards data starts at time one for a share of the functions, else anywhere; it leads to
    any smaller angle. A step towards noise, as likelihoods take them, starts at t_min for the same
    share, else anywhere, and leads to any larger angle. Whatever is drawn is uniform in the angle,
    or for a share of the functions in its logarithm.

    Attributes:
        start_share: Share of the steps that start at an end.
        log_share: Share of angles that are uniform in the logarithm.
        upward_share: Share of the steps that lead towards noise.

    Raises:
        ValueError: If a share is not in [0, 1].
    """

    start_share: float = eqx.field(default=0.5, static=True)
    log_share: float = eqx.field(default=0.5, static=True)
    upward_share: float = eqx.field(default=0.2, static=True)

    def __check_init__(self):
        shares = {"start_share": self.start_share, "log_share": self.log_share}
        _validation.share(**shares, upward_share=self.upward_share)

    def __call__(
        self, noising: AbstractNoising, num: int, t_min: float, dtype, *, key: PRNGKeyArray
    ) -> tuple[Float[Array, " b"], Float[Array, " b"]]:
        """Draw pairs.

        Args:
            noising: Forward process.
            num: Number b of functions.
            t_min: Smallest time.
            dtype: Floating-point type.
            key: Random key.

        Returns:
            Times and target times, both (b,), in [t_min, 1].
        """
        choice_key, first_key, second_key = jr.split(key, 3)
        at_end, upward = jr.uniform(choice_key, (2, num), dtype)
        at_end, upward = at_end < self.start_share, upward < self.upward_share
        ends = flow_angle(noising, jnp.asarray([t_min, 1.0], dtype))
        low, high = (jnp.full(num, end) for end in ends)
        phi = jnp.where(at_end, jnp.where(upward, low, high), self._angles(low, high, first_key))
        below, above = jnp.where(upward, phi, low), jnp.where(upward, high, phi)
        psi = self._angles(below, above, second_key)
        t, s = (time_of_angle(noising, angle) for angle in (phi, psi))
        return jnp.clip(t, t_min, 1.0), jnp.clip(s, t_min, 1.0)

    def _angles(self, low: Angles, high: Angles, key: PRNGKeyArray) -> Angles:
        """Angles between two, uniform in themselves or in the logarithm."""
        choice, u = jr.uniform(key, (2, len(low)), low.dtype)
        logarithmic = low * (high / low) ** u
        return jnp.where(choice < self.log_share, logarithmic, low + u * (high - low))
