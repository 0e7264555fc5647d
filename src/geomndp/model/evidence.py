r"""Log-density of a model's own observations: how much the data speak for it.

Values with one noise variance are the process at a diffusion time of its own: with a white limiting
law, $a y + (1 - a) m$ has the law of the noised process at the time t with
$\sigma_t^2 / a_t^2$ equal to the variance (relative to that of the limiting law), and the flow
starts there.
"""

from __future__ import annotations

import dataclasses
import warnings
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from geomndp import _validation
from geomndp._types import Outputs
from geomndp._warnings import ApproximationWarning
from geomndp.data import Normaliser
from geomndp.likelihood import AnyFlow
from geomndp.linalg import of_one_rank
from geomndp.model._jit import Settings
from geomndp.model.likelihood_routes import chosen_flow, chosen_route, solve_log_prob
from geomndp.model.output_units import in_units
from geomndp.predictive import LogProb, exact_log_prob
from geomndp.samplers import Observations

if TYPE_CHECKING:  # a posterior calls this module
    from geomndp.model.posterior import Posterior
else:
    Posterior = eqx.Module

SPREAD = 1.01
"""Ratio of the largest to the smallest variance up to which all are taken as one."""


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
            can be found: on a manifold, or with a limiting law that is not white.
    """
    model, given = posterior.model, posterior.observations
    if len(given.x) == 0:
        return exact_log_prob(jnp.zeros((), given.y.dtype))
    y, time, log_scale = (
        _at_noise_level(model, given) if given.noisy else (given.y, model.t_min, 0.0)
    )
    prior = dataclasses.replace(
        posterior,
        model=dataclasses.replace(model, t_min=time),
        observations=Observations(given.x[:0], given.y[:0], given.noise[:0], False),
    )
    problem = prior.problem(given.x, given.mask)
    route, flow = chosen_route(problem, None), chosen_flow(flow, key)
    settings = Settings(None, progress=False)
    result = solve_log_prob(flow, problem, y, key, route, settings)
    units = Normaliser() if model.normaliser is None else model.normaliser
    values = in_units(units.inverse_y, given.y)
    mask = jnp.ones(len(given.x), given.y.dtype) if given.mask is None else given.mask
    jacobian = units.log_jacobian(values, given.mask) + log_scale * jnp.sum(mask) * (
        given.y.shape[1] if mask.ndim == 1 else given.y.shape[1] // mask.shape[1]
    )
    return result._replace(value=result.value + jacobian)


def _at_noise_level(model: Any, given: Observations) -> tuple[Outputs, float, float]:
    """Noisy values as values of the noised process, its time, and the log of their scale."""
    noising = model.noising
    if not _validation.concrete(given.noise):
        raise ValueError(
            "expected known noise for the density of noisy observations, got a traced one"
        )
    if not noising.flat or not noising.kernel.white:
        raise ValueError("expected a white limiting law for the density of noisy observations")
    counted = _counted_noise(given)
    if counted.max() > SPREAD * counted.min():
        warnings.warn(
            "weights of a mixture take observation noise as its mean variance",
            ApproximationWarning,
            stacklevel=2,
        )
    variances = jnp.full((len(given.x),), counted.mean(), given.y.dtype)
    integrated = noising.integrated_time_of_noise(given.x, variances)
    time = float(noising.schedule.inverse(integrated)[0])
    time = min(max(time, model.t_min), 1.0 - 1e-6)
    a = noising.alpha(jnp.asarray(time, given.y.dtype))
    mean = noising.mean_at(given.x)
    return mean + a * (given.y - mean), time, float(jnp.log(a))


def _counted_noise(given: Observations) -> np.ndarray:
    """Variances of the values that count."""
    if given.mask is None:
        return np.asarray(given.noise)
    noise, mask = of_one_rank(given.noise, given.mask)
    return np.asarray(noise)[np.asarray(mask) > 0]
