r"""Log-density of a model's own observations: how much the data speak for it.

Noisy values are the process at diffusion times of their own: with a white limiting law,
$a y + (1 - a) m$ has the law of the noised process at the time t with $\sigma_t^2 / a_t^2$ equal to
the variance (relative to that of the limiting law), and the flow starts there.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp

from geomndp import _validation
from geomndp._types import Outputs, PerPoint, Scalar
from geomndp.data import Normaliser
from geomndp.likelihood import AnyFlow
from geomndp.linalg import columns, zero_masked
from geomndp.model._jit import Settings
from geomndp.model.likelihood_routes import chosen_flow, chosen_route, solve_log_prob
from geomndp.model.output_units import in_units
from geomndp.model.several_levels import log_prob_at_levels, where_real
from geomndp.predictive import LogProb, exact_log_prob
from geomndp.samplers import Observations

if TYPE_CHECKING:  # a posterior calls this module
    from geomndp.model.posterior import Posterior
else:
    Posterior = eqx.Module

SPREAD = 1.01
"""Ratio of the largest to the smallest noise level up to which all are taken as the smallest."""


def log_evidence(posterior: Posterior, key: Any, flow: AnyFlow | None = None) -> LogProb:
    """Log-density of the observations of a posterior under its prior, in the data's units.

    Args:
        posterior: The posterior.
        key: Random key of the divergence's probes; None for an exact divergence.
        flow: Solver, steps and divergence; by default `Flow()`.

    Returns:
        Nats, zero for no observations.

    Raises:
        ValueError: If the observations have noise that JAX traces, or none of which the density
            can be found: on a manifold, with a limiting law that is not white, or more of it than
            the noising process has at the end.
    """
    model, given = posterior.model, posterior.observations
    if len(given.x) == 0:
        return exact_log_prob(jnp.zeros((), given.y.dtype))
    noised = _noised(model, given) if given.noisy else None
    y, time = (given.y, None) if noised is None else (noised.y, noised.time)
    none = Observations(given.x[:0], given.y[:0], given.noise[:0], False)
    prior = dataclasses.replace(posterior, observations=none)
    problem, flow = prior.problem(given.x, given.mask), chosen_flow(flow, key)
    if noised is not None and noised.several:
        result = log_prob_at_levels(flow, problem, y, noised.levels, key)
    else:
        problem = dataclasses.replace(problem, begin=time)  # traced: one program for all levels
        route, settings = chosen_route(problem, None), Settings(None, progress=False)
        result = solve_log_prob(flow, problem, y, key, route, settings)
    units = Normaliser() if model.normaliser is None else model.normaliser
    jacobian = units.log_jacobian(in_units(units.inverse_y, given.y), given.mask)
    scale = 0.0 if noised is None else noised.log_scale
    return result._replace(value=result.value + jacobian + scale)


class _Noised(NamedTuple):
    """Noisy values as values of the noised process."""

    y: Outputs
    time: Scalar
    levels: PerPoint
    several: bool
    log_scale: Scalar


def _noised(model: Any, given: Observations) -> _Noised:
    """Values at the integrated times of their noise, and the logarithm of what they shrank by."""
    noising = model.noising
    if not _validation.concrete(given.noise):
        raise ValueError(
            "expected known noise for the density of noisy observations, got a traced one"
        )
    if not noising.flat or not noising.kernel.white:
        raise ValueError("expected a white limiting law for the density of noisy observations")
    noise = where_real(given.noise, given.mask)
    noising.check_noise(given.x, jnp.where(jnp.isfinite(noise), noise, 0.0))
    ends = jnp.asarray([model.t_min, 1.0 - 1e-6], given.y.dtype)
    levels = noising.integrated_time_of_noise(given.x, given.noise)
    levels = jnp.clip(levels, *noising.schedule.integral(ends))
    real = where_real(levels, given.mask)
    least, largest = jnp.min(real), jnp.max(jnp.where(jnp.isfinite(real), real, 0.0))
    several = bool(largest > SPREAD * least)
    levels = levels if several else jnp.full_like(levels, least)
    log_a = columns(noising.log_mean_coefficient(levels), noising.dim)
    mean, scales = noising.mean_at(given.x), jnp.broadcast_to(log_a, given.y.shape)
    y, log_scale = mean + jnp.exp(log_a) * (given.y - mean), zero_masked(scales, given.mask)
    time = noising.schedule.inverse(least)
    return _Noised(y, time, levels, several, jnp.sum(log_scale))
