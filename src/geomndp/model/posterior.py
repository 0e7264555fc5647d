"""The law of a model's functions given observations: samples and log-likelihoods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

import equinox as eqx

from geomndp._progress import Progress
from geomndp._types import Array, Inputs, Mask, Scalar
from geomndp._validation import as_key
from geomndp.likelihood import AnyFlow
from geomndp.marginals import AbstractMarginals, SampleMarginals
from geomndp.model import dense_targets, likelihood_routes, patch_store, patchwise, sampling
from geomndp.model._jit import Settings
from geomndp.model.evidence import log_evidence
from geomndp.model.inputs import Seed, check_like, names_of
from geomndp.model.missing_outputs import join_observed_rows
from geomndp.model.named_predictive import AbstractNamedPredictive, Key
from geomndp.model.output_units import outputs_to_data_units
from geomndp.model.outside_training import warn_about_targets
from geomndp.model.patch_density import patchwise_log_prob
from geomndp.model.sample_options import SampleOptions
from geomndp.model.summary import describe_posterior
from geomndp.model.units import read_targets
from geomndp.nets import with_capacity
from geomndp.predictive import MOMENT_SAMPLES, LogProb
from geomndp.samplers import AbstractSampler, Observations, Problem, default_sampler
from geomndp.samplers.base import Samples
from geomndp.samplers.problem import no_observations
from geomndp.tables import Variables, is_table, write_samples

if TYPE_CHECKING:  # a model makes posteriors, and so imports this module
    from geomndp.model.model import Model
else:
    Model = eqx.Module


class Posterior(AbstractNamedPredictive):
    """Law of a model's functions given observations; the model's prior without any.

    Attributes:
        model: The model.
        observations: The observations, in the model's units.
        time_origin: Moment from which the datetimes of observations were counted.
        centre: What was subtracted from far inputs in the model's units, `()` for nothing.
    """

    model: Model
    observations: Observations
    time_origin: str | None = eqx.field(default=None, static=True)
    centre: tuple[float, ...] = eqx.field(default=(), static=True)

    def __repr__(self) -> str:
        return describe_posterior(self)

    @property
    def variables(self) -> Variables | None:
        return self.model.variables

    def sample(
        self,
        x: Any,
        *,
        key: Seed,
        num_samples: int = 16,
        mask: Any = None,
        **options: Unpack[SampleOptions],
    ) -> Any:
        """Draw functions at x; many more than a network was trained on in rounds.

        Args:
            x: Inputs, shape (n, d) or (n,); a Dataset or DataFrame if the model has `variables`.
            key: Random key or seed. The i-th sample depends on the key and i alone, but for
                rounding.
            num_samples: Number s of draws.
            mask: 1 for targets, 0 for padding, whose values mean nothing, shape (n,); or (n, p) for
                single outputs, which join the rows of observations as in `log_prob_info`.
            **options: `sampler`, any of `geomndp.samplers`, by default `default_sampler()`.
                `max_memory`, the bytes that a block of samples may take, by default half of what is
                free. `progress`: what takes more than two seconds shows a bar on a terminal unless
                it is False; a function instead is called with the number of samples drawn.
                `patches`, "auto" or a `geomndp.patches.Patches`, draws a field of any size patch by
                patch; `out`, a folder that ends in `.zarr`, takes them as they come, and resumes.
                `scheduler`, who draws them: as in `geomndp.scale.run_chunks`, dask with `out` only.

        Returns:
            Samples of shape (s, n, p). At the locations of a Dataset: a Dataset with their
            coordinates and a dimension `sample`. At those of a DataFrame: a tidy DataFrame, one row
            per sample and location.

        Raises:
            ValueError: If the inputs do not fit the model.
            FloatingPointError: If values became NaN or infinite.
            MemoryError: If a single sample needs more than `max_memory`; `patches` need less.

        Example:
            `model.condition(xc, yc).sample(x, key=0, num_samples=64, sampler=Amortised(50))`
        """
        request = {"key": key, "num_samples": num_samples, "mask": mask, **options}
        if (out := request.pop("out", None)) is not None:
            return patch_store.sample_to_zarr(self, x, out, **request)
        y = self.sample_values(x, **request)
        return write_samples(names_of(self.model), x, y) if is_table(x) else y

    def sample_values(self, x: Any, **request: Any) -> Array:
        """Draws as arrays, at the locations of a table too; arguments as those of `sample`."""
        if (patches := request.pop("patches", None)) is not None:
            return patchwise.sample_values(self, x, patches=patches, **request)
        if (scheduler := request.pop("scheduler", None)) is not None:
            patchwise.refuse_scheduler(scheduler)
        rounds = dense_targets.sample_in_rounds(self, x, **request)
        return sampling.finite_samples(self.sample_info(x, **request)) if rounds is None else rounds

    def sample_info(
        self,
        x: Any,
        *,
        key: Seed,
        num_samples: int = 16,
        mask: Any = None,
        sampler: AbstractSampler | None = None,
        max_memory: int | None = None,
        progress: Progress = True,
    ) -> Samples:
        """Draws with diagnostics, not checked to be finite; arguments as those of `sample`."""
        key = as_key(key)
        sampler, problem = sampling.sampling_problem(self, x, key, num_samples, sampler, mask)
        task = (sampler, problem, key, int(num_samples), Settings(max_memory, progress))
        samples = sampling.sample(*task)
        if (normaliser := self.model.normaliser) is None:
            return samples
        return samples._replace(y=outputs_to_data_units(normaliser, samples.y))

    def log_prob(  # pyright: ignore[reportIncompatibleMethodOverride]
        self,
        x: Any,
        y: Any = None,
        key: Key = None,
        route: str | None = None,
        mask: Any = None,
        patches: Any = None,
    ) -> Scalar:
        """Log-density of y at x given the observations; arguments as those of `log_prob_info`."""
        return self.log_prob_info(x, y, key=key, route=route, mask=mask, patches=patches).value

    def log_prob_info(  # pyright: ignore[reportIncompatibleMethodOverride]
        self,
        x: Any,
        y: Any = None,
        key: Key = None,
        route: str | None = None,
        mask: Any = None,
        flow: AnyFlow | None = None,
        max_memory: int | None = None,
        progress: Progress = True,
        patches: Any = None,
    ) -> LogProb:
        """Log-density of y at x given the observations, with its solver and probe errors.

        Args:
            x: Inputs, shape (n, d) or (n,), or a table that holds y too.
            y: Values, shape (n, p) or (n,), in the data's units.
            key: Without it the divergence is exact; with one it is estimated from random probes.
            route: "conditional" holds the observations at time zero: one solve. "joint" is
                log p(y, observations) - log p(observations): two. By default "conditional" where
                the score knows contexts with such noise, else "joint".
            mask: 1 for values that count, shape (n,) or (n, p). A row with the inputs of an
                observation that asks for its missing outputs only is that row; others are new ones.
            flow: Solver, steps and divergence, by default `Flow()`; of a student also its flow map,
                `FlowMapDensity(8)`.
            max_memory: Bytes that the solve may take, by default half of what is free.
            progress: As in `sample`.
            patches: The chain rule over the patches of `sample`: normalised, not the model's own.

        Returns:
            Nats, in the data's units, over all rows that count.

        Raises:
            ValueError: If inputs or values do not fit the model, or the route its score.
            FloatingPointError: If the result is NaN or infinite.
        """
        if patches is not None:
            options = {"flow": flow, "max_memory": max_memory, "progress": False}
            return patchwise_log_prob(self, x, y, key, patches, mask, route=route, **options)
        x, y, mask, jacobian = read_targets(self, x, y, mask)
        key = as_key(key)
        flow = likelihood_routes.chosen_flow(flow, key)
        route = likelihood_routes.chosen_route(self.problem(self.observations.x), route)
        warn_about_targets(self, x, y, mask)
        task = (self.problem(x, mask), y, key, route, Settings(max_memory, progress))
        result = likelihood_routes.solve_log_prob(flow, *task)
        return likelihood_routes.finite_log_prob(result._replace(value=result.value + jacobian))

    def marginals(
        self, x: Any, *, key: Key = None, num_samples: int = MOMENT_SAMPLES
    ) -> AbstractMarginals:
        """Law of every value by itself, estimated from samples; arguments as those of `quantile`.

        Values on a manifold are refused: see `geomndp.summaries` for these.
        """
        if not self.model.manifold.flat:
            raise ValueError(
                "expected a model of real values for moments, got one of values on a manifold; "
                "geomndp.summaries takes samples of both"
            )
        if key is None:
            raise ValueError("expected a key to estimate the moments of Posterior, got None")
        return SampleMarginals(self.sample_values(x, key=key, num_samples=num_samples))

    def log_evidence(self, *, key: Key = None, flow: AnyFlow | None = None) -> LogProb:
        """Log-density of the observations themselves, with their noise, under the prior.

        Args:
            key: Without it the divergence is exact; with one it is estimated from random probes.
            flow: Solver, steps and divergence; by default `Flow()`.

        Returns:
            Nats, in the data's units; zero without observations.
        """
        return log_evidence(self, as_key(key), flow)

    def problem(self, x: Inputs, mask: Mask | None = None) -> Problem:
        """What samplers and likelihoods work on, in the model's units less the `centre`.

        Args:
            x: Targets, shape (n, d), in the model's units less the `centre`.
            mask: 1 for real targets, 0 for padding, shape (n,), or (n, g) per group of outputs. The
                graph of a graph network has capacity for the neighbours of the real ones.

        Returns:
            The noising process, the score, the targets with their mask, the observations and
            `t_min`; observed outputs of single targets in their rows.

        Raises:
            ValueError: If the targets have another number of columns, or another dtype, than the
                observations.
        """
        model, observed = self.model, self.observations
        if len(observed.x) == 0:
            observed = no_observations(x.shape[1], model.noising.dim, x.dtype)
        check_like(x, observed.x)
        score = with_capacity(model.score, observed.x, x, masks=(observed.mask, mask))
        problem = Problem(model.noising, score, x, observed, model.t_min, mask)
        return join_observed_rows(problem) if problem.observed_apart else problem

    def default_sampler(self, steps: int | None = None) -> AbstractSampler:
        """`samplers.default_sampler` for these observations, of so many steps if given."""
        return default_sampler(self.problem(self.observations.x), steps)
