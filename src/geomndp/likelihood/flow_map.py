r"""Log-densities by a student's flow map, in few evaluations.

With $y_0 = y$ at t_min and $y_k = X(t_{k-1} \to t_k; y_{k-1})$ up to time one,
$\log p_\epsilon(y) = \log p_1(y_K) + \sum_k \log |\det \partial y_k / \partial y_{k-1}|$, on a
manifold with respect to its volume. The Jacobians are exact, which bounds the number of values:
random probes estimate a trace, not the logarithm of a determinant.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp

from geomndp import _validation
from geomndp._types import Array, Float, Outputs, Scalar, ScalarLike
from geomndp.geometry import Exact
from geomndp.geometry.divergence import Directions
from geomndp.likelihood.flow import TERMINALS, Flow, zero_padding
from geomndp.likelihood.flow_difference import FlowDifference
from geomndp.likelihood.stepwise import Solution
from geomndp.linalg import columns
from geomndp.predictive import LogProb
from geomndp.score import flow_map_grid
from geomndp.solve import AbstractDynamics, AbstractTimeGrid, ConditionalDynamics

MAX_VALUES = 150
"""Most free values with padding, which adds at most half: 100 always fit."""


class FlowMapDensity(eqx.Module):
    """Log-densities by the flow map of a student, for at most 100 values.

    Costs `calls` evaluations with all their derivatives, and half as many for the error estimate.

    Attributes:
        calls: Steps from t_min to time one.
        time_grid: Where the times between them lie, by default `score.flow_map_grid`.
        terminal: Law at time one, as that of `Flow`.

    Raises:
        ValueError: If there are fewer than 2 calls, or no such terminal law.

    Example:
        >>> student.log_prob_info(x, y, flow=FlowMapDensity(8))  # doctest: +SKIP
    """

    calls: int = eqx.field(default=8, static=True)
    time_grid: AbstractTimeGrid | None = None
    terminal: str = eqx.field(default="prior", static=True)

    def __check_init__(self):
        _validation.at_least(2, calls=self.calls)
        _validation.one_of("terminal", self.terminal, TERMINALS)

    @property
    def divergence(self) -> Exact:
        """Derivatives are exact: there are no probes."""
        return Exact()

    def log_prob(self, dynamics: AbstractDynamics, y: Outputs, t_min: ScalarLike) -> LogProb:
        """Log-density of the free points at time t_min, given the context if there is one.

        Args:
            dynamics: Free points (n, d) and their score, which knows a flow map.
            y: Values (n, p).
            t_min: Smallest diffusion time.

        Returns:
            Log-density in nats, with its error.

        Raises:
            ValueError: If the score knows no flow map, or there are too many values.
        """
        return self.summary(self.solve(dynamics, y, t_min, y[None]))

    def solve(
        self, dynamics: AbstractDynamics, y: Outputs, t_min: ScalarLike, directions: Directions
    ) -> Solution:
        """Follow the flow map twice, the second time in half the calls.

        Args:
            dynamics: Free points and their score.
            y: Values (n, p).
            t_min: Smallest diffusion time.
            directions: Not used: there are no probes.

        Returns:
            Terminal log-densities and log-determinants of both.
        """
        dynamics, y = zero_padding(_checked(dynamics), y)
        law, coarse = TERMINALS[self.terminal](dynamics), self.calls // 2
        grid = flow_map_grid(dynamics.noising) if self.time_grid is None else self.time_grid

        @jax.jit  # traced once for both
        def step(state, times):
            values, volume = state
            values, logdet = mapped(dynamics, times[0], times[1], values)
            return (values, volume + logdet), None

        def follow(calls: int) -> tuple[Outputs, Scalar]:
            t = grid(dynamics.noising.schedule, calls, t_min, y.dtype)
            start = (y, jnp.zeros((), y.dtype))
            return jax.lax.scan(step, start, jnp.stack([t[:-1], t[1:]], axis=1))[0]

        (fine, volume), (end, less) = follow(self.calls), follow(coarse)
        evaluations = jnp.asarray(self.calls + coarse)
        return Solution(law(fine), volume[None], law(end), less[None], evaluations)

    def summary(self, joint: Solution, context: Solution | None = None) -> LogProb:
        """Log-density with its error, from one solution or as the difference of two.

        The error is the change from half the calls, which is mostly that of the coarser one.

        Args:
            joint: Solution of all points.
            context: Solution of the context points; None if it is not needed.

        Returns:
            Log-density in nats.
        """
        value, error = joint.end + joint.volumes[0], joint.change()
        evaluations = joint.evaluations
        if context is not None:
            value = value - context.end - context.volumes[0]
            error, evaluations = error + context.change(), evaluations + context.evaluations
        return LogProb(value, error, jnp.zeros_like(value), evaluations)


AnyFlow = Flow | FlowMapDensity | FlowDifference
"""What computes a log-density."""


def mapped(
    dynamics: ConditionalDynamics, t: Scalar, s: Scalar, y: Outputs
) -> tuple[Outputs, Scalar]:
    """Values to which the flow map leads, and the log-determinant of its Jacobian.

    Args:
        dynamics: Free points and their score.
        t: Diffusion time.
        s: Time to which the map leads.
        y: Values (n, p) at time t.

    Returns:
        Values (n, p) at time s, and log |det dX / dy| in orthonormal frames of the tangent spaces.
    """
    manifold = dynamics.noising.manifold
    shape = (len(y), manifold.dim)
    values, push = jax.linearize(lambda y: dynamics.flow_map(t, s, y), y)

    def image(direction: Float[Array, " k"]) -> Float[Array, " k"]:
        along = push(manifold.from_tangent_coords(y, direction.reshape(shape)))
        return manifold.to_tangent_coords(values, along).reshape(-1)

    size = shape[0] * shape[1]
    jacobian: Array = jax.vmap(image)(jnp.eye(size, dtype=y.dtype))
    if dynamics.mask is not None:
        free = jnp.broadcast_to(columns(dynamics.mask, shape[1]) > 0, shape).reshape(-1)
        both = free[:, None] & free[None, :]
        jacobian = jnp.where(both, jacobian, jnp.eye(size, dtype=y.dtype))
    return values, jnp.linalg.slogdet(jacobian)[1]


def _checked(dynamics: AbstractDynamics) -> ConditionalDynamics:
    """The dynamics, refused without a flow map or with too many values."""
    if not isinstance(dynamics, ConditionalDynamics) or not dynamics.score.has_flow_map:
        name = type(getattr(dynamics, "score", dynamics)).__name__
        raise ValueError(
            f"expected a student with flow maps (gn.distil makes one), got {name} without; use Flow"
        )
    size = len(dynamics.x) * dynamics.noising.manifold.dim
    if size > MAX_VALUES:
        raise ValueError(
            f"expected at most 100 values for the exact Jacobian of a flow map, got {size} with "
            "padding; use Flow"
        )
    return dynamics
