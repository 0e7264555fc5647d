"""Log-densities of the law at time one, where the probability flow ends."""

from __future__ import annotations

from collections.abc import Callable

import jax.numpy as jnp

from geomndp._types import Outputs, Scalar
from geomndp.linalg import join_masks
from geomndp.solve import AbstractDynamics, ConditionalDynamics

TerminalLogDensity = Callable[[Outputs], Scalar]


def prior_log_density(dynamics: AbstractDynamics) -> TerminalLogDensity:
    """Log-density of the limiting law.

    Args:
        dynamics: Free points.

    Returns:
        Values (n, p) -> log-density in nats.
    """
    return lambda y: dynamics.noising.prior_log_prob(dynamics.x, y, dynamics.mask)


def exact_log_density(dynamics: AbstractDynamics) -> TerminalLogDensity:
    """Log-density of the noised law at time one; given a context, a quotient of two joint ones.

    Args:
        dynamics: Free points, with a score that has a `log_prob`.

    Returns:
        Values (n, p) -> log-density in nats.

    Raises:
        ValueError: If the score is not an exact one.
    """
    if not isinstance(dynamics, ConditionalDynamics):
        name = type(dynamics).__name__
        raise ValueError(f"expected plain ConditionalDynamics for terminal 'exact', got {name}")
    log_prob = getattr(dynamics.score, "log_prob", None)
    if log_prob is None:
        name = type(dynamics.score).__name__
        raise ValueError(f"expected a score with a log_prob for terminal 'exact', got {name}")
    noising, x, mask, context = dynamics.noising, dynamics.x, dynamics.mask, dynamics.context
    one = jnp.ones(len(x), dtype=x.dtype)
    if context is None or len(context.x) == 0:
        return lambda y: log_prob(noising, one, x, y, mask)
    times = jnp.concatenate([context.t, one])
    all_x = jnp.concatenate([context.x, x])
    all_mask = join_masks(context.mask, mask, len(context.x), len(x), x.dtype)

    def conditional(y):
        joint = log_prob(noising, times, all_x, jnp.concatenate([context.y, y]), all_mask)
        return joint - log_prob(noising, context.t, context.x, context.y, context.mask)

    return conditional
