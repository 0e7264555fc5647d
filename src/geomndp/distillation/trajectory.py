"""The teacher's probability flow of one function: solved once, known at every time."""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp

from geomndp._types import Array, Float, Mask, Outputs, PerPoint
from geomndp.geometry import AbstractManifold
from geomndp.linalg import columns, per_point, zero_masked
from geomndp.noising import AbstractNoising
from geomndp.score import AbstractScore, flow_velocity, time_of_angle


class Trajectory(eqx.Module):
    """Values of one function along the flow, from time one to t_min.

    Attributes:
        manifold: Where the values are.
        angles: Angles (k,) of the nodes, decreasing.
        values: Values (k, n, p) there.
        velocities: Velocities (k, n, p) by the angle, zero at points that stay.
    """

    manifold: AbstractManifold
    angles: Float[Array, " k"]
    values: Float[Array, "k n p"]
    velocities: Float[Array, "k n p"]

    def __call__(self, angle: PerPoint) -> Outputs:
        """Values (n, p) at the angle of every point, (n,) or (n, g): cubic between the nodes.

        Args:
            angle: Angles; of a point that stays, any.
        """
        angle = jnp.broadcast_to(columns(angle, self.values.shape[2]), self.values.shape[1:])
        interval = jnp.sum((angle[None] < self.angles[1:-1, None, None]).astype(jnp.int32), axis=0)

        def at(nodes, index):
            return jnp.take_along_axis(nodes, index[None], axis=0)[0]

        left, right = self.angles[interval], self.angles[interval + 1]
        length = right - left
        w = (angle - left) / length
        y0, y1 = at(self.values, interval), at(self.values, interval + 1)
        v0, v1 = (length * at(self.velocities, i) for i in (interval, interval + 1))
        rise = y1 - y0
        y = y0 + w * (v0 + w * (3 * rise - 2 * v0 - v1 + w * (v0 + v1 - 2 * rise)))
        return self.manifold.retract(y)


def teacher_trajectory(
    teacher: AbstractScore,
    noising: AbstractNoising,
    angles: Float[Array, " k"],
    t: PerPoint,
    x: Float[Array, "n d"],
    y: Outputs,
    mask: Mask | None,
    free: PerPoint,
) -> Trajectory:
    """Solve the teacher's flow of the free points of one function; the others stay.

    Args:
        teacher: The trained score.
        noising: Forward process.
        angles: Angles (k,) of the nodes, decreasing from that of time one.
        t: Times (n,) or (n, g), those of the points that stay.
        x: Inputs (n, d).
        y: Values (n, p) at the first angle.
        mask: (n,) or (n, g), zero where a value is padding or missing.
        free: 1 for a target, of the shape of the times.

    Returns:
        The trajectory, of 4 (k - 1) + 1 evaluations.
    """

    flat, retract = noising.flat, noising.manifold.retract

    def velocity(angle, y):
        moving = time_of_angle(noising, angle)
        u = teacher(noising, jnp.where(free > 0, moving, t), x, y, mask)
        v = flow_velocity(noising, per_point(moving, len(x)), x, y, u)
        return zero_masked(v, free)

    def stage(state, now):
        node, slope, rise = state
        first, shift, angle, length, weight = now
        ahead = node + rise
        node = jnp.where(first, ahead if flat else retract(ahead), node)
        rise = jnp.where(first, 0.0, rise)
        between = node + shift * slope
        v = velocity(angle + shift * length, between if flat else retract(between))
        return (node, length * v, rise + weight * length * v), (node, v)

    zero = jnp.zeros_like(y)
    _, (nodes, velocities) = jax.lax.scan(stage, (y, zero, zero), _stages(angles))
    return Trajectory(noising.manifold, angles, nodes[::4], velocities[::4])


def _stages(angles: Float[Array, " k"]) -> tuple[Array, ...]:
    """RK4 as one list of evaluations, so that a program holds the network once.

    Of each: whether it is the first of its step, by which share of the step it is ahead, angle and
    length of the step, and its weight in the result. The last one is at the end of the last step.
    """
    num, dtype = len(angles) - 1, angles.dtype
    first = jnp.asarray([True, False, False, False])
    shift, weight = (
        jnp.asarray(v, dtype) for v in ([0, 0.5, 0.5, 1], [1 / 6, 1 / 3, 1 / 3, 1 / 6])
    )
    start = jnp.append(jnp.repeat(angles[:-1], 4), angles[-1])
    length = jnp.append(jnp.repeat(jnp.diff(angles), 4), 0.0)
    first, shift, weight = (jnp.append(jnp.tile(v, num), v[:1]) for v in (first, shift, weight))
    return first, shift, start, length, weight
