"""The law of a process given observations, in the data's units.

A Gaussian process with little noise needs float64, so everything here is computed in it, whatever
JAX's default is, and rounded at the end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr

from geomndp._progress import Progress
from geomndp._types import Array, Inputs, Mask, Outputs
from geomndp._validation import as_key
from geomndp.data import Normaliser
from geomndp.gp import AbstractGP
from geomndp.marginals import AbstractMarginals
from geomndp.model._jit import traced
from geomndp.model.data_marginals import in_data_units
from geomndp.model.inputs import Seed, check_like, check_request
from geomndp.model.likelihood_routes import finite_log_prob
from geomndp.model.named_predictive import AbstractNamedPosterior, Key
from geomndp.model.output_units import in_units, not_nan, output_dtype, result_dtype
from geomndp.model.outside_training import warn_about_targets
from geomndp.model.patch_density import patchwise_log_prob
from geomndp.model.patchwise import refuse_scheduler, sample_values
from geomndp.model.process_calls import (
    call,
    colour,
    density,
    draw,
    evidence,
    law,
    marginals,
    row_densities,
)
from geomndp.model.sample_options import check_num_samples
from geomndp.model.summary import describe_posterior
from geomndp.model.units import read_target_inputs, read_targets
from geomndp.predictive import MOMENT_SAMPLES, LogProb
from geomndp.samplers import Observations
from geomndp.samplers.problem import no_observations
from geomndp.scale import Scheduler
from geomndp.tables import Variables

if TYPE_CHECKING:  # a model makes posteriors, and so imports this module
    from geomndp.model.process_model import ProcessModel
else:
    ProcessModel = eqx.Module


class ProcessPosterior(AbstractNamedPosterior):
    """Law of a process given observations; the prior without any.

    Attributes:
        model: The model.
        observations: The observations, in the model's units.
        time_origin: Moment from which the datetimes of observations were counted.
    """

    model: ProcessModel
    observations: Observations
    time_origin: str | None = eqx.field(default=None, static=True)

    centre = ()  # float64 holds far inputs; a process of fewer digits subtracts an origin itself

    def __repr__(self) -> str:
        return describe_posterior(self)

    @property
    def variables(self) -> Variables | None:
        return self.model.variables

    @property
    def exact_marginals(self) -> bool:
        with jax.enable_x64(True):
            return law(self.model.process, self.observations).exact_marginals

    def sample_values(  # pyright: ignore[reportIncompatibleMethodOverride]
        self,
        x: Any,
        *,
        key: Seed,
        num_samples: int = 16,
        mask: Any = None,
        patches: Any = None,
        progress: Progress = True,
        scheduler: Scheduler = None,
    ) -> Array:
        """Draws as arrays, at the locations of a table too; arguments as those of `sample`."""
        if patches is not None:
            request = {"key": key, "num_samples": num_samples, "mask": mask, "progress": progress}
            return sample_values(self, x, patches=patches, scheduler=scheduler, **request)
        refuse_scheduler(scheduler)
        dtype = result_dtype(x)
        check_request(num_samples, None, key := as_key(key))
        dtype = output_dtype(self.model.normaliser, dtype, (self, x, key))
        # JAX cannot draw float64 inside a program that it traces in its 32-bit mode.
        single = dtype == jnp.float32 and traced((self, x, key))
        with jax.enable_x64(True):
            args = self.request(x)
            check_num_samples(num_samples, len(args[1]), self.model.manifold.ambient_dim)
            if not len(args[1]):
                return jnp.zeros((int(num_samples), 0, self.model.manifold.ambient_dim), dtype)
        if single and isinstance(self.model.process, AbstractGP):
            shape = (int(num_samples), len(args[1]), self.model.process.dim)
            z = jr.normal(key, shape, jnp.float32)
            with jax.enable_x64(True):
                y = call(colour, self.model.process, *args, z)
                return in_units(self._units().inverse_y, y).astype(dtype)
        with jax.enable_x64(not single):
            args = _in_float32(args) if single else args
            y = call(draw, self.model.process, *args, key, int(num_samples))
            y = not_nan("sampled values", y)
            return in_units(self._units().inverse_y, y).astype(dtype)

    def log_prob_info(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, x: Any, y: Any = None, key: Key = None, mask: Any = None, patches: Any = None
    ) -> LogProb:
        """Log-density of y at x given the observations, with its errors, zero for exact laws.

        Args:
            x: Inputs, shape (n, d) or (n,), or a table that holds y too.
            y: Values, shape (n, p) or (n,), in the data's units.
            key: Not needed for exact laws.
            mask: 1 for rows that count, 0 for others, shape (n,).
            patches: As in `Posterior.log_prob_info`.

        Returns:
            Nats, in the data's units, over all rows that count.

        Raises:
            ValueError: If inputs or values do not fit the model.
            FloatingPointError: If the result is NaN or infinite.
        """
        if patches is not None:
            return patchwise_log_prob(self, x, y, key, patches, mask)
        dtype = result_dtype(x)
        with jax.enable_x64(True):
            x, y, mask, jacobian = read_targets(self, x, y, mask)
            self._check(x, y, mask)
            result = self._call(density, x, y, mask, as_key(key))
            result = result._replace(value=result.value + jacobian)
            return finite_log_prob(rounded(result, dtype))

    def marginal_log_prob(self, x: Any, y: Any, *, key: Key = None) -> Array:
        """Log-density of every row by itself given the observations, of a neural process.

        Args:
            x: Inputs, shape (n, d) or (n,).
            y: Values, shape (n, p) or (n,), in the data's units.
            key: Random key or seed, needed for a latent variable.

        Returns:
            Nats, in the data's units, shape (n,).
        """
        dtype = result_dtype(x)
        with jax.enable_x64(True):
            raw = jnp.asarray(y).reshape(len(x), -1)
            x, y, _, _ = read_targets(self, x, y, None)
            self._check(x, y)
            nats = not_nan("log-densities", self._call(row_densities, x, y, as_key(key)))
            return (nats + jax.vmap(self._row_jacobian)(raw)).astype(dtype)

    def _row_jacobian(self, y: Array) -> Array:
        return jnp.asarray(self._units().log_jacobian(y[None], None), y.dtype)

    def log_evidence(self, *, key: Key = None) -> LogProb:
        """Log-density of the observations themselves, with their noise, under the prior.

        Args:
            key: Not needed for exact laws.

        Returns:
            Nats, in the data's units.

        Raises:
            ValueError: If the observations have noise and the process is not Gaussian.
        """
        dtype = jnp.result_type(float)
        with jax.enable_x64(True):
            observed = self.observations
            result = call(evidence, self.model.process, observed, as_key(key))
            y = in_units(self._units().inverse_y, observed.y)
            jacobian = self._units().log_jacobian(y, observed.mask)
            return rounded(result._replace(value=result.value + jacobian), dtype)

    def marginals(
        self, x: Any, *, key: Key = None, num_samples: int = MOMENT_SAMPLES
    ) -> AbstractMarginals:
        """Law of every value by itself, exact where the process has a closed form.

        Args:
            x: Inputs, shape (n, d) or (n,), or a table.
            key: Random key or seed, needed where there is no closed form.
            num_samples: Number of samples that stand for the law then.

        Returns:
            Laws of the n p values in the data's units.
        """
        dtype = output_dtype(self.model.normaliser, result_dtype(x), (self, x, key))
        with jax.enable_x64(True):
            base = self._call(marginals, self._targets(x), as_key(key), num_samples)
            return in_data_units(not_nan("marginals", base), self._units(), dtype)

    def _units(self) -> Normaliser:
        return Normaliser() if self.model.normaliser is None else self.model.normaliser

    def _targets(self, x: Any) -> Inputs:
        x = read_target_inputs(self, x)
        self._check(x)
        return x

    def request(self, x: Any) -> tuple[Observations, Inputs]:
        """Observations and checked targets in the model's units, as what a process is asked."""
        targets = self._targets(x)
        return self._given(targets), targets

    def _check(self, x: Inputs, y: Outputs | None = None, mask: Mask | None = None) -> None:
        if len(self.observations.x):
            check_like(x, self.observations.x)
        warn_about_targets(self, x, y, mask)

    def _call(self, fn: Any, x: Inputs, *args: Any) -> Any:
        return call(fn, self.model.process, self._given(x), x, *args)

    def _given(self, x: Inputs) -> Observations:
        """The observations; none of as many columns as x where there are none."""
        observed = self.observations
        if len(observed.x):
            return observed
        return no_observations(x.shape[1], observed.y.shape[1], observed.x.dtype)


def _in_float32(tree: Any) -> Any:
    return jax.tree.map(lambda v: v.astype(jnp.float32) if v.dtype == jnp.float64 else v, tree)


def rounded(result: LogProb, dtype: Any) -> LogProb:
    """A log-density in another dtype."""
    value, solver_error, probe_error = (value.astype(dtype) for value in result[:3])
    return LogProb(value, solver_error, probe_error, result.evaluations)
