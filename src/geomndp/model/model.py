"""A model in the hand: samples, posterior samples given any observations, and log-likelihoods."""

from __future__ import annotations

import dataclasses
import os

import equinox as eqx
import jax.numpy as jnp

from geomndp import _checks
from geomndp._types import Array, Inputs, Mask, Outputs, PRNGKeyArray, Scalar
from geomndp.data import Normaliser
from geomndp.likelihood import Exact, Flow, Hutchinson, LogProb
from geomndp.model.checks import as_float, as_observations, finite_log_prob, finite_samples
from geomndp.noising import AbstractNoising
from geomndp.samplers import (
    AbstractSampler,
    Amortised,
    MomentMatching,
    Observations,
    Problem,
    Samples,
    check_amortised,
    conditional_field,
)
from geomndp.score import AbstractScore
from geomndp.solve import Field, join_masks

ROUTES = ("conditional", "joint")


class Model(eqx.Module):
    """Law of functions: a noising and the score of what it noised.

    `normaliser` changes between the data's units, which every method speaks, and the model's.
    """

    noising: AbstractNoising
    score: AbstractScore
    eps: float = eqx.field(default=5e-4, static=True)
    normaliser: Normaliser | None = None

    def __check_init__(self):
        if not 0 < self.eps < 1:
            raise ValueError(f"expected 0 < eps < 1, got {self.eps}")
        normaliser = self.normaliser
        if not self.noising.manifold.flat and normaliser is not None:
            if any(normaliser.y_shift) or any(scale != 1 for scale in normaliser.y_scale):
                raise ValueError("expected a normaliser that leaves y on its manifold")

    def sample(
        self, x, *, key: PRNGKeyArray, num_samples: int = 16, sampler: AbstractSampler | None = None
    ) -> Array:
        """Draw (num_samples, n, p) functions at x."""
        return self._unconditioned(x).sample(x, key=key, num_samples=num_samples, sampler=sampler)

    def log_prob(self, x, y, key: PRNGKeyArray | None = None, mask=None) -> Scalar:
        """Joint log-density of y at x in nats, in the data's units.

        Without a key the divergence is exact; with one it is estimated from random probes.
        """
        return self.log_prob_info(x, y, key=key, mask=mask).value

    def log_prob_info(self, x, y, key=None, mask=None, flow: Flow | None = None) -> LogProb:
        """Log-density with its solver and probe errors."""
        return self._unconditioned(x).log_prob_info(x, y, key=key, mask=mask, flow=flow)

    def condition(self, x, y, noise=0.0) -> Posterior:
        """Law given values y at x, any number of them; `noise` is a variance, or one a point.

        On a manifold it is the time of the heat kernel around the true value.
        """
        observations = as_observations(x, y, noise, self.noising.manifold)
        self.noising.manifold.check("y of the context", observations.y)
        if self.normaliser is None:
            return Posterior(self, observations)
        scaled = dataclasses.replace(
            observations,
            x=self.normaliser.forward_x(observations.x),
            y=self.normaliser.forward_y(observations.y),
            noise=self.normaliser.forward_noise(observations.noise)
            if observations.noisy
            else observations.noise,
        )
        return Posterior(self, scaled)

    def save(self, path: str | os.PathLike, metadata: dict | None = None) -> None:
        """Write `path`.safetensors and `path`.json; `metadata` (JSON) travels along."""
        from geomndp.model.files import save

        save(self, path, metadata)

    def _unconditioned(self, x) -> Posterior:
        x = as_float("x", x)
        d = x.shape[1] if x.ndim == 2 else 1
        return self.condition(
            jnp.zeros((0, d), dtype=x.dtype), jnp.zeros((0, self.noising.dim), dtype=x.dtype)
        )


class Posterior(eqx.Module):
    """Law of a model's functions given observations (held in the model's units)."""

    model: Model
    observations: Observations

    def sample(
        self, x, *, key: PRNGKeyArray, num_samples: int = 16, sampler: AbstractSampler | None = None
    ) -> Array:
        """Draw (num_samples, n, p) functions at x."""
        return finite_samples(
            self.sample_info(x, key=key, num_samples=num_samples, sampler=sampler)
        )

    def sample_info(
        self, x, *, key: PRNGKeyArray, num_samples: int = 16, sampler: AbstractSampler | None = None
    ) -> Samples:
        """Draws with what happened on the way; not checked to be finite."""
        _checks.at_least(1, num_samples=num_samples)
        problem = self.problem(self._inputs(x))
        sampler = self.default_sampler() if sampler is None else sampler
        sampler.check(problem)
        samples = _draw(sampler, problem, key, num_samples)
        normaliser = self.model.normaliser
        if normaliser is None:
            return samples
        return samples._replace(y=normaliser.inverse_y(samples.y))

    def log_prob(self, x, y, key: PRNGKeyArray | None = None, route: str | None = None) -> Scalar:
        """Log-density of y at x given the observations, in nats, in the data's units.

        Route "conditional" holds the observations at time zero: one solve. Route "joint" is
        log p(y, observations) - log p(observations): two.
        """
        return self.log_prob_info(x, y, key=key, route=route).value

    def log_prob_info(
        self, x, y, key=None, route: str | None = None, mask=None, flow: Flow | None = None
    ) -> LogProb:
        """Log-density with its solver and probe errors."""
        x, y = as_float("x", x), as_float("y", y)
        mask = None if mask is None else as_float("mask", mask)
        _checks.function(x, y, dim=self.model.noising.dim, mask=mask)
        self.model.noising.manifold.check("y", y, mask)
        if flow is None:
            flow = Flow(divergence=Exact() if key is None else Hutchinson())
        route = self._route(route)
        normaliser, jacobian = self.model.normaliser, 0.0
        if normaliser is not None:
            jacobian = normaliser.log_jacobian(y, mask)
            x, y = normaliser.forward_x(x), normaliser.forward_y(y)
        result = _log_prob(flow, self.problem(x), y, mask, key, route)
        return finite_log_prob(result._replace(value=result.value + jacobian))

    def problem(self, x: Inputs) -> Problem:
        """What samplers and likelihoods work on, in the model's units."""
        model = self.model
        if x.dtype != self.observations.x.dtype or x.shape[1] != self.observations.x.shape[1]:
            expected = f"{self.observations.x.shape[1]} columns of {self.observations.x.dtype}"
            raise ValueError(
                f"expected x like the context's, {expected}, got {x.shape[1]} of {x.dtype}"
            )
        return Problem(model.noising, model.score, x, self.observations, model.eps)

    def default_sampler(self) -> AbstractSampler:
        """One reverse pass if the score knows contexts, else moment matching."""
        return Amortised() if self._amortises() else MomentMatching()

    def _amortises(self) -> bool:
        try:
            check_amortised(self.problem(self.observations.x))
        except ValueError:
            return False
        return True

    def _route(self, route: str | None) -> str:
        if route is None:
            route = "conditional" if self._amortises() else "joint"
        _checks.one_of("route", route, ROUTES)
        if route == "conditional":
            check_amortised(self.problem(self.observations.x))
        elif self.observations.noisy:
            raise ValueError("expected observations without noise for route 'joint', got noise")
        return route

    def _inputs(self, x) -> Inputs:
        x = as_float("x", x)
        _checks.function(x, dim=self.model.noising.dim)
        normaliser = self.model.normaliser
        return x if normaliser is None else normaliser.forward_x(x)


@eqx.filter_jit
def _draw(sampler: AbstractSampler, problem: Problem, key, num_samples: int) -> Samples:
    return sampler.draw(problem, key=key, num_samples=num_samples)


@eqx.filter_jit
def _log_prob(flow: Flow, problem: Problem, y: Outputs, mask: Mask | None, key, route: str):
    return log_prob(flow, problem, y, mask, key, route)


def log_prob(
    flow: Flow, problem: Problem, y: Outputs, mask: Mask | None, key, route: str
) -> LogProb:
    """Log-density of y at the problem's inputs given its observations; masked rows do not count."""
    field = dataclasses.replace(conditional_field(problem), mask=mask)
    if route == "conditional" or problem.num_observed == 0:
        return flow.log_prob(field, y, problem.eps, key=key)
    observed = problem.observations
    context = Field(problem.noising, problem.score, observed.x, observed.mask, None)
    sizes = problem.num_observed, len(problem.x), y.dtype
    joint = dataclasses.replace(problem.joint(), mask=join_masks(observed.mask, mask, *sizes))
    whole = flow.log_prob(joint, jnp.concatenate([observed.y, y]), problem.eps, key=key)
    part = flow.log_prob(context, observed.y, problem.eps, key=key)
    return LogProb(
        whole.value - part.value,
        whole.solver_error + part.solver_error,
        jnp.hypot(whole.probe_error, part.probe_error),
        whole.evaluations + part.evaluations,
    )
