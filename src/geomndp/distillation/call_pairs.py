"""The pairs of times that `samplers.FlowMap` calls a student with, and others."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr

from geomndp import _validation
from geomndp._types import Array, Float, PRNGKeyArray
from geomndp.noising import AbstractNoising
from geomndp.score import flow_map_grid
from geomndp.solve import AbstractTimeGrid, times_from_uniform


class CallPairs(eqx.Module):
    """Pairs of a time and a target time: mostly those between which a sampler calls the student.

    With w in [0, 1] the position on a time grid, from t_min to one, FlowMap(c) leads from
    w = 1 - i / c to 1 - (i + 1) / c. A share of the pairs is of this kind, all numbers of calls
    and all their steps alike; the others start at time one or at any w, in halves, and lead
    to any smaller w. Of all of them a share is turned round, towards noise, as densities need it.

    Attributes:
        calls: Numbers of calls; one that is listed twice has twice the share.
        call_share: Share of the pairs that a sampler with one of these numbers uses.
        upward_share: Share of the steps that lead towards noise.
        time_grid: Where times are dense; by default that of `samplers.FlowMap`.

    Raises:
        ValueError: If a share is not in [0, 1], or there is no number of calls.
    """

    calls: tuple[int, ...] = eqx.field(default=(1, 1, 2, 4, 4, 4, 8), static=True)
    call_share: float = eqx.field(default=0.75, static=True)
    upward_share: float = eqx.field(default=0.1, static=True)
    time_grid: AbstractTimeGrid | None = None

    def __check_init__(self):
        _validation.share(call_share=self.call_share, upward_share=self.upward_share)
        _validation.at_least(1, **{f"calls[{i}]": calls for i, calls in enumerate(self.calls)})
        if not self.calls:
            raise ValueError("expected at least one number of calls, got none")

    def __call__(
        self, noising: AbstractNoising, shape: tuple[int, ...], t_min: float, dtype, *, key
    ) -> tuple[Float[Array, "*shape"], Float[Array, "*shape"]]:
        """Draw pairs.

        Args:
            noising: Forward process.
            shape: How many, as an array.
            t_min: Smallest time.
            dtype: Floating-point type.
            key: Random key.

        Returns:
            Times and target times in [t_min, 1].
        """
        kind_key, call_key, any_key = jr.split(key, 3)
        of_call, upward = jr.uniform(kind_key, (2, *shape), dtype)
        low, high = (
            jnp.where(of_call < self.call_share, called, other)
            for called, other in zip(
                self._called(shape, dtype, key=call_key),
                _any(shape, dtype, key=any_key),
                strict=True,
            )
        )
        turned = upward < self.upward_share
        start, end = jnp.where(turned, low, high), jnp.where(turned, high, low)
        grid = flow_map_grid(noising) if self.time_grid is None else self.time_grid
        t, s = (times_from_uniform(w, grid, noising.schedule, t_min) for w in (start, end))
        return t, s

    def _called(self, shape, dtype, *, key: PRNGKeyArray) -> tuple[Array, Array]:
        """Lower and upper position of a step of one of the numbers of calls."""
        number_key, step_key = jr.split(key)
        number = jr.choice(number_key, jnp.asarray(self.calls, dtype), shape)
        step = jnp.floor(number * jr.uniform(step_key, shape, dtype))
        return step / number, (step + 1) / number


def _any(shape, dtype, *, key: PRNGKeyArray) -> tuple[Array, Array]:
    """Lower and upper position: the upper is one, or anywhere."""
    at_end, upper, share = jr.uniform(key, (3, *shape), dtype)
    upper = jnp.where(at_end < 0.5, 1.0, upper)
    return share * upper, upper
