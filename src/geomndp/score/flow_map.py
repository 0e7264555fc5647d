r"""The probability flow by its angle: whole steps of it, and its velocity.

In flat space $a = \cos\varphi$ and $\sigma = \sin\varphi$, so that with the limiting mean m
$dY/d\varphi = V = -(u + \sigma (Y - m)) / a$, which is what a network of the velocity
parametrisation predicts. A step of the flow is
$X(\varphi \to \psi) = m + \cos(\varphi - \psi) (Y - m) - \sin(\varphi - \psi) V$,
exact if V is the *mean* velocity between the two angles, in the sense of this equation; at equal
angles X = Y, and the mean velocity is the velocity. On a manifold a = 1 and the angle is
$\sigma = \sqrt s$: $dY/d\sigma = -u = V$ and $X = \exp_Y((\tau - \sigma) V)$.
"""

from __future__ import annotations

import jax.numpy as jnp

from geomndp._types import Array, Inputs, Outputs, PerPoint
from geomndp.linalg import columns
from geomndp.noising import AbstractNoising
from geomndp.noising.schedule import AbstractTimeGrid, LogSnrTimeGrid, PowerTimeGrid


def flow_angle(noising: AbstractNoising, t: Array) -> Array:
    """Angle of the flow at times t, of any shape: arctan(sigma / a), or sigma on a manifold.

    Args:
        noising: Forward process.
        t: Diffusion times.
    """
    if not noising.flat:
        return noising.sigma(t)
    return jnp.arctan2(noising.sigma(t), noising.alpha(t))


def time_of_angle(noising: AbstractNoising, angle: Array) -> Array:
    """Times at which the flow has given angles, of any shape: the inverse of `flow_angle`.

    Args:
        noising: Forward process.
        angle: Angles from 0 to that at time one.
    """
    # -2 log cos = log(1 + tan^2): accurate at small angles.
    flat = noising.flat
    return noising.schedule.inverse(jnp.log1p(jnp.tan(angle) ** 2) if flat else angle**2)


def flow_map_grid(noising: AbstractNoising) -> AbstractTimeGrid:
    """Where the times between the calls of a flow map lie by default, in training too.

    Steps are about equal in the logarithm of the noise level; in flat space down to the smallest
    variance of the data. On a manifold the limiting law is reached long before time one.

    Args:
        noising: Forward process.
    """
    return LogSnrTimeGrid(1e-3) if noising.flat else PowerTimeGrid(3.0)


def time_per_angle(noising: AbstractNoising, t: Array) -> Array:
    r"""Derivative of the time by the angle, $2 \sigma / (a \beta)$, at times t > 0 of any shape.

    Args:
        noising: Forward process.
        t: Diffusion times.
    """
    return 2 * noising.sigma(t) / (noising.alpha(t) * noising.schedule.beta(t))


def flow_velocity(
    noising: AbstractNoising, t: PerPoint, x: Inputs, y: Outputs, u: Outputs
) -> Outputs:
    """Velocity of the flow by its angle, from the score there.

    Args:
        noising: Forward process.
        t: Diffusion times (n,) or (n, g).
        x: Inputs (n, d).
        y: Noised values (n, p).
        u: Score (n, p).

    Returns:
        Velocity (n, p), a tangent vector on a manifold.
    """
    if not noising.flat:
        return -u
    a, sigma = (columns(v, noising.dim) for v in (noising.alpha(t), noising.sigma(t)))
    return -(u + sigma * (y - noising.mean_at(x))) / a


def follow_flow(
    noising: AbstractNoising, t: PerPoint, s: PerPoint, x: Inputs, y: Outputs, velocity: Outputs
) -> Outputs:
    """Step of the flow from times t to times s with a mean velocity.

    Args:
        noising: Forward process.
        t: Diffusion times (n,) or (n, g).
        s: Times to which the step leads, of the same shape.
        x: Inputs (n, d).
        y: Values (n, p) at the times t.
        velocity: Mean velocity (n, p) by the angle.

    Returns:
        Values (n, p) at the times s.
    """
    (a, sigma), (b, tau) = (
        (columns(noising.alpha(v), noising.dim), columns(noising.sigma(v), noising.dim))
        for v in (t, s)
    )
    if not noising.flat:
        return noising.manifold.exp(y, (tau - sigma) * velocity)
    m = noising.mean_at(x)
    cosine, sine = a * b + sigma * tau, sigma * b - a * tau
    return m + cosine * (y - m) - sine * velocity
