"""The law of a mixture given observations: weights by each member's density of these."""

from __future__ import annotations

import dataclasses
import warnings
from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from geomndp import _validation
from geomndp._arrays import keep_float64, put
from geomndp._types import Array, Float, Scalar
from geomndp._validation import as_key
from geomndp._warnings import OutsideTrainingWarning, collected
from geomndp.data.transformed_outputs import OutsideDomainError
from geomndp.likelihood import AnyFlow
from geomndp.marginals import AbstractMarginals, MixtureMarginals, SampleMarginals
from geomndp.model import patchwise
from geomndp.model._jit import traced
from geomndp.model.inputs import Seed, check_request
from geomndp.model.likelihood_routes import chosen_flow, finite_log_prob
from geomndp.model.named_predictive import AbstractNamedPosterior, Key
from geomndp.model.posterior import Posterior
from geomndp.model.sample_options import SAMPLE_OPTIONS, check_num_samples
from geomndp.predictive import MOMENT_SAMPLES, LogProb, exact_log_prob
from geomndp.tables import Variables

EXACT_VALUES = 16
"""Observed values up to which the divergence of a learnt member's evidence is exact."""
PROBE_SEED = 0
"""Seed of the probes of larger contexts: conditioning takes no key."""
TERMINAL = "tweedie"
"""Terminal law of learnt members, of observations and of targets."""


def _member_flow(flow: AnyFlow | None, key: Any) -> AnyFlow:
    return dataclasses.replace(chosen_flow(flow, key), terminal=TERMINAL)


def evidences(posteriors: tuple[Any, ...]) -> LogProb:
    """Log-density of the observations under each member, arrays of shape (members,).

    Without observations all are zero, and nothing is solved. A member that holds them impossible
    has -inf, without errors.
    """
    results = []
    for posterior in posteriors:
        size = posterior.observations.y.size
        key = None if size <= EXACT_VALUES else jr.key(PROBE_SEED)
        own = {"flow": _member_flow(None, key)} if isinstance(posterior, Posterior) else {}
        result = posterior.log_evidence(key=key, **own)
        impossible = _validation.concrete(result.value) and float(result.value) == -np.inf
        results.append(result if impossible else finite_log_prob(result))
    dtype = jnp.result_type(float)
    value, solver_error, probe_error = (
        jnp.stack([jnp.asarray(result[i]).astype(dtype) for result in results]) for i in range(3)
    )
    known = jnp.isfinite(value)
    solver_error, probe_error = (jnp.where(known, e, 0.0) for e in (solver_error, probe_error))
    value = jnp.where(known, value, -jnp.inf)
    return LogProb(value, solver_error, probe_error, _evaluations(results))


def updated_log_weights(prior: Float[Array, " k"], evidence: Float[Array, " k"]) -> Array:
    """Logarithms of weights given log-densities of the observations, up to a constant.

    Where no member gives the observations a density they say nothing, and the weights stay as they
    are: with a warning, but where JAX traces them.
    """
    known = jnp.any(evidence > -jnp.inf)
    if _validation.concrete(known) and not bool(known):
        message = (
            "observations have no density under any member of the mixture, so that its weights "
            "stay those without observations"
        )
        if not collected(message):
            warnings.warn(message, OutsideTrainingWarning, stacklevel=3)
    return jnp.where(known, prior + evidence, prior)


class MixturePosterior(AbstractNamedPosterior):
    """Law of a mixture given observations; its prior without any.

    Attributes:
        posteriors: Laws of the members given the observations.
        log_weights: Logarithms of the updated weights, up to a constant, shape (members,).
        evidence: Log-density of the observations under each member, with its errors.
    """

    posteriors: tuple[Any, ...]
    log_weights: Float[Array, " k"]
    evidence: LogProb

    @property
    def variables(self) -> Variables | None:
        return self.posteriors[0].variables

    @property
    def time_origin(self) -> str | None:
        """Moment from which the datetimes of observations were counted."""
        return self.posteriors[0].time_origin

    @property
    def weights(self) -> Float[Array, " k"]:
        """Probabilities of the members given the observations, shape (members,)."""
        return jax.nn.softmax(self.log_weights)

    @property
    def exact_marginals(self) -> bool:
        return all(posterior.exact_marginals for posterior in self.posteriors)

    def sample_values(self, x: Any, *, key: Seed, num_samples: int = 16, **options: Any) -> Array:
        """Draws as arrays, at the locations of a table too; arguments as those of `sample`."""
        check_num_samples(num_samples)
        check_request(num_samples, options.get("sampler"), key := as_key(key))
        self._check_options(options)
        if (patches := options.pop("patches", None)) is not None:
            return patchwise.sample_values(self, x, key, num_samples, patches, **options)
        patchwise.refuse_scheduler(options.pop("scheduler", None))
        choice_key, *keys = jr.split(key, 1 + len(self.posteriors))
        choice = jr.categorical(choice_key, self.log_weights, shape=(num_samples,))
        if traced((self, choice, x, options)):  # a number of draws is not known then
            draws = [
                _draw(p, x, k, num_samples, options)
                for p, k in zip(self.posteriors, keys, strict=True)
            ]
            return jnp.stack(draws)[choice, jnp.arange(num_samples)]
        return _assembled(self.posteriors, x, np.asarray(choice), keys, options)

    def _check_options(self, options: dict[str, Any]) -> None:
        """Refuse what no member takes; members that are drawn exactly take none."""
        for name in options:
            _validation.one_of("an option of samples", name, SAMPLE_OPTIONS)
        learnt = any(isinstance(posterior, Posterior) for posterior in self.posteriors)
        if not learnt and options.get("sampler") is not None:
            raise ValueError("expected no sampler for a mixture of processes, got one")

    def log_prob_info(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, x: Any, y: Any = None, key: Key = None, mask: Any = None, **options: Any
    ) -> LogProb:
        r"""Log-density of y at x given the observations, $\log \sum_k w_k(C) p_k(y | C)$.

        Args:
            x: Inputs, shape (n, d) or (n,), or a table that holds y too.
            y: Values, shape (n, p) or (n,), in the data's units.
            key: Random key of the probes of learnt members; None for exact divergences.
            mask: 1 for rows that count, 0 for others, shape (n,).
            **options: Of learnt members: `flow`, `route`, `max_memory` and `progress`. Any flow
                ends in the limiting law about the mean that is left at time one
                (`terminal="tweedie"`), as that of the weights does.

        Returns:
            Nats, in the data's units, with the errors of the members and of their weights. A member
            whose transform does not know a value gives it no density.

        Raises:
            ValueError: If inputs or values do not fit the models, or no transform knows a value.
        """
        if options.pop("patches", None) is not None:
            raise ValueError("expected one law for a density by patches, got a mixture")
        results = _log_probs(self.posteriors, x, y, key, mask, options)
        dtype = results[0].value.dtype
        values, solver, probe = (
            jnp.stack([result[i].astype(dtype) for result in results]) for i in range(3)
        )
        log_weights = jax.nn.log_softmax(self.log_weights.astype(dtype))
        possible = log_weights > -jnp.inf  # of another member the answers mean nothing
        values, solver, probe = (jnp.where(possible, v, 0.0) for v in (values, solver, probe))
        value = jax.scipy.special.logsumexp(log_weights + values)
        # Targets without density under any member have no share of one, and an error that is known.
        shares = jnp.exp(log_weights + values - jnp.where(value > -jnp.inf, value, 0.0))
        # A weight counts where the targets speak for another member than the context did.
        shifts = shares - jnp.exp(log_weights)
        context = [part.astype(dtype) for part in self.evidence[1:3]]
        solver_error = jnp.sum(shares * solver) + jnp.sum(jnp.abs(shifts) * context[0])
        probe_error = jnp.sqrt(_squares(shares, probe) + _squares(shifts, context[1]))
        return LogProb(value, solver_error, probe_error, jnp.sum(_evaluations(results)))

    def marginals(
        self, x: Any, *, key: Key = None, num_samples: int = MOMENT_SAMPLES
    ) -> AbstractMarginals:
        """Law of every value by itself: exact where those of all members are, else from samples."""
        if self.exact_marginals:
            members = tuple(posterior.marginals(x) for posterior in self.posteriors)
            return MixtureMarginals(members, jax.nn.log_softmax(self.log_weights))
        if key is None:
            raise ValueError("expected a key to estimate the moments of a mixture, got None")
        return SampleMarginals(self.sample_values(x, key=key, num_samples=num_samples))


def _log_probs(
    posteriors: tuple[Any, ...], x: Any, y: Any, key: Key, mask: Any, options: dict[str, Any]
) -> list[LogProb]:
    """Log-density under each member, -inf where its transform does not know a value."""
    results: list[LogProb | None] = []
    refusals = []
    for posterior in posteriors:
        own = {}
        if isinstance(posterior, Posterior):
            own = {**options, "flow": _member_flow(options.get("flow"), key)}
        try:
            results.append(posterior.log_prob_info(x, y, key=key, mask=mask, **own))
        except OutsideDomainError as refusal:
            results.append(None)
            refusals.append(refusal)
    known = [result for result in results if result is not None]
    if not known:
        raise refusals[0]
    none = exact_log_prob(jnp.full_like(known[0].value, -jnp.inf))
    return [none if result is None else result for result in results]


def _assembled(
    posteriors: tuple[Any, ...], x: Any, choice: np.ndarray, keys: list[Any], options: dict
) -> Array:
    """Draws (s, n, p), the i-th of member `choice[i]`."""
    draws = {
        i: np.asarray(_draw(posterior, x, key, int(np.sum(choice == i)), options))
        for i, (posterior, key) in enumerate(zip(posteriors, keys, strict=True))
        if np.any(choice == i)
    }
    first = next(iter(draws.values()))
    samples = np.empty((len(choice), *first.shape[1:]), np.result_type(*draws.values()))
    for i, y in draws.items():
        samples[choice == i] = y
    with keep_float64(samples):
        return put(samples)


def _evaluations(results: list[LogProb]) -> Array:
    """Score evaluations of each member."""
    return jnp.stack([jnp.asarray(result.evaluations).astype(jnp.int32) for result in results])


def _draw(posterior: Any, x: Any, key: Any, num_samples: int, options: dict[str, Any]) -> Array:
    both = {name: value for name, value in options.items() if name == "mask"}
    own = options if isinstance(posterior, Posterior) else both
    return posterior.sample_values(x, key=key, num_samples=int(num_samples), **own)


def _squares(factors: Array, errors: Array) -> Scalar:
    """Sum of squared products; an infinite error without a factor counts as zero."""
    return jnp.sum(jnp.where(factors == 0, 0.0, factors * errors) ** 2)
