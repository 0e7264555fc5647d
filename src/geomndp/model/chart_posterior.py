"""The law of a track given observations, from a flat law in the map that these decide on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from geomndp import _validation
from geomndp._types import Array
from geomndp._validation import as_key
from geomndp.data.frames import LocalMap
from geomndp.marginals import AbstractMarginals
from geomndp.model.inputs import Seed
from geomndp.model.likelihood_routes import finite_log_prob
from geomndp.model.named_predictive import AbstractNamedPosterior, Key
from geomndp.model.process_posterior import ProcessPosterior, result_dtype, rounded
from geomndp.model.summary import describe_posterior
from geomndp.model.units import read_target_inputs, read_targets
from geomndp.predictive import MOMENT_SAMPLES, LogProb, exact_log_prob
from geomndp.samplers import Observations
from geomndp.tables import Variables

if TYPE_CHECKING:  # a model makes posteriors, and so imports this module
    from geomndp.model.chart_model import ChartModel
else:
    ChartModel = eqx.Module

STARTS_AT_ONCE = 16
"""Tracks without a context that are drawn side by side, each in a map of its own."""


def handed_over(tree: Any) -> Any:
    """Double precision as the flat law takes it: NumPy's, or JAX's default where it traces."""
    dtype = jnp.result_type(float)

    def one(leaf: Any) -> Any:
        if isinstance(leaf, jax.Array):
            return np.asarray(leaf) if _validation.concrete(leaf) else leaf.astype(dtype)
        return leaf

    return jax.tree.map(one, tree)


class ChartPosterior(AbstractNamedPosterior):
    """Law of a track given observations; the prior without any.

    Attributes:
        model: The model.
        observations: The observations, in the data's units.
        chart: The map that they decide on, None where there are none to do so.
        flat: Law in this map, None where there is none.
        time_origin: Moment from which the datetimes of observations were counted.
    """

    model: ChartModel
    observations: Observations
    chart: LocalMap | None
    flat: Any
    time_origin: str | None = eqx.field(default=None, static=True)

    centre = ()  # nothing is subtracted from far inputs: float64 holds them

    def __repr__(self) -> str:
        return describe_posterior(self)

    @property
    def variables(self) -> Variables | None:
        return self.model.variables

    @property
    def posteriors(self) -> tuple[Any, ...]:
        """The flat laws that it consists of."""
        return getattr(self.flat, "posteriors", (self.flat,))

    def sample_values(self, x: Any, *, key: Seed, num_samples: int = 16, **options: Any) -> Array:
        """Draws as arrays, at the locations of a table too; arguments as those of `sample`."""
        _validation.at_least(1, num_samples=num_samples)
        if options.pop("patches", None) is not None:
            raise ValueError("expected no patches for a law in a map of its own, got them")
        dtype, key = result_dtype(x), as_key(key)
        with jax.enable_x64(True):
            targets = read_target_inputs(self, x)
        if self.chart is None:
            return self._sample_prior(targets, key, num_samples, options).astype(dtype)
        with jax.enable_x64(True):
            inputs = self.chart.inputs(targets)
        inputs = handed_over(inputs)
        options = _understood(self.flat, options)
        q = self.flat.sample_values(inputs, key=key, num_samples=num_samples, **options)
        with jax.enable_x64(True):
            y = jax.vmap(self.chart.from_map)(jnp.asarray(q, targets.dtype))
            return y.astype(dtype)

    def _sample_prior(self, x: Array, key: Any, num_samples: int, options: dict) -> Array:
        """Draw the earliest point, then all others given it."""
        if not len(x):
            return jnp.zeros((num_samples, 0, 3))
        start_key, track_key = jr.split(key)
        first = _earliest(x, options.get("mask"))
        x = handed_over(x)
        starts = self._start().sample(key=start_key, num_samples=num_samples)

        def one(item):
            key, start = item
            law = self.model.condition(x[first][None], start[None])
            y = law.sample_values(jnp.asarray(x), key=key, num_samples=1, **options)[0]
            return y.at[first].set(start.astype(y.dtype))

        batches = -(-num_samples // STARTS_AT_ONCE)
        size = -(-num_samples // batches)
        # Whole batches: `lax.map` runs a rest by itself, operation by operation.
        rows = np.arange(batches * size) % num_samples
        items = jr.split(track_key, num_samples)[rows], starts[rows]
        return jax.lax.map(one, items, batch_size=size)[:num_samples]

    def log_prob_info(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, x: Any, y: Any = None, key: Key = None, mask: Any = None, **options: Any
    ) -> LogProb:
        """Log-density of y at x given the observations, with the errors of the flat law.

        Args:
            x: Inputs, shape (n, d) or (n,), or a table that holds y too.
            y: Unit vectors, shape (n, 3).
            key: Random key of the probes of a network; None for exact divergences.
            mask: 1 for rows that count, 0 for others, shape (n,).
            **options: Those of the flat law: `flow`, `max_memory` and `progress` of a network.

        Returns:
            Nats with respect to area on the unit sphere, over all rows that count.

        Raises:
            ValueError: If inputs or values do not fit the model.
            FloatingPointError: If the result is NaN or infinite.
        """
        if options.pop("patches", None) is not None:
            raise ValueError("expected no patches for a law in a map of its own, got them")
        dtype = result_dtype(x)
        with jax.enable_x64(True):
            x, y, mask, _ = read_targets(self, x, y, mask)
        if self.chart is None:
            return rounded(self._log_prob_prior(x, y, mask, key, options), dtype)
        with jax.enable_x64(True):
            q = self.chart.to_map(y)
            area = self.chart.log_area(q, mask)
            inside = (self.chart.inputs(x), q, mask)
        inputs, q, mask = handed_over(inside)
        options = _understood(self.flat, options)
        result = self.flat.log_prob_info(inputs, q, key=key, mask=mask, **options)
        with jax.enable_x64(True):
            value = result.value.astype(area.dtype) + area
            return finite_log_prob(rounded(result._replace(value=value), dtype))

    def _log_prob_prior(self, x, y, mask, key: Key, options: dict) -> LogProb:
        """Density of the earliest point, then of all others given it; zero where none counts."""
        if not len(x) or (mask is not None and _validation.concrete(mask) and not mask.any()):
            return exact_log_prob(jnp.zeros(()))
        first = _earliest(x, mask)
        with jax.enable_x64(True):
            start = self._start().log_prob(y[first])
            start = start if mask is None else jnp.where(jnp.any(mask > 0), start, 0.0)
            others = (jnp.arange(len(x)) != first).astype(x.dtype)
            others = others if mask is None else others * mask
            given = x[first][None], y[first][None]
        if len(x) == 1:
            return exact_log_prob(start)
        given, x, y, others = handed_over((given, x, y, others))
        law = self.model.condition(*given)
        rest = law.log_prob_info(x, y, key=key, mask=others, **options)
        with jax.enable_x64(True):
            return rest._replace(value=rest.value.astype(start.dtype) + start)

    def log_evidence(self, *, key: Key = None) -> LogProb:
        """Log-density of the observations themselves under the prior.

        Args:
            key: Random key of the probes of a network; None for exact divergences.

        Returns:
            Nats with respect to area.

        Raises:
            ValueError: If the observations have noise.
        """
        observed = self.observations
        if observed.noisy:
            raise ValueError("expected observations without noise for their density, got noise")
        x, y, mask = handed_over((observed.x, observed.y, observed.mask))
        return self.model.condition().log_prob_info(x, y, key=key, mask=mask)

    def marginals(
        self, x: Any, *, key: Key = None, num_samples: int = MOMENT_SAMPLES
    ) -> AbstractMarginals:
        """Refused: points of a manifold have no moments; `geomndp.summaries` takes samples."""
        raise ValueError(
            "expected a model of real values for moments, got one of values on a manifold; "
            "geomndp.summaries takes samples of both"
        )

    def _start(self) -> Any:
        if self.model.start is None:
            raise ValueError("expected observations, or a law of the first point, got none")
        return self.model.start


def _understood(flat: Any, options: dict[str, Any]) -> dict[str, Any]:
    """Options that a flat law takes: those of networks mean nothing to exact ones."""
    if not isinstance(flat, ProcessPosterior):
        return options
    return {name: value for name, value in options.items() if name == "mask"}


def _earliest(x: Array, mask: Any) -> Any:
    """Row of the real target with the smallest first input."""
    with jax.enable_x64(True):
        times = x[:, 0] if mask is None else jnp.where(jnp.asarray(mask) > 0, x[:, 0], jnp.inf)
        times = times - jnp.min(times)
    # JAX cannot lower an argmin of float64 inside a program of its 32-bit mode.
    return jnp.argmin(times.astype(jnp.result_type(float)))
