"""Laws that are drawn patch by patch: a posterior given its own observations and drawn values.

Everything is kept in the data's units, so that patches can be written as they are, and changed to
the model's in float64. Drawn values are context without noise: the model's y has its own noise.
"""

from __future__ import annotations

import abc
import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from geomndp._arrays import bucket, put
from geomndp._types import Array, Inputs
from geomndp.data import Normaliser
from geomndp.data.transformed_outputs import off_the_ends
from geomndp.model import patch_batches, sampling
from geomndp.model._jit import Settings
from geomndp.model.output_units import outputs_to_data_units
from geomndp.model.process_calls import call, law
from geomndp.model.training_record import in_data_units
from geomndp.model.units import common_centre, to_model_units
from geomndp.patches.field import AbstractPatchLaw
from geomndp.predictive import AbstractProcess, LogProb
from geomndp.samplers import AbstractSampler, Observations
from geomndp.samplers.base import require_outputs_apart
from geomndp.samplers.problem import no_observations, pad_observations

XY = tuple[np.ndarray, np.ndarray]


class AbstractPosteriorLaw(AbstractPatchLaw):
    """A posterior in the data's units, given further values.

    Args:
        posterior: The posterior, with `model`, `observations` and `centre`.
        ends: Inputs of the field that have its lowest and highest coordinates, shape (e, d).
    """

    def __init__(self, posterior: Any, ends: np.ndarray) -> None:
        observed = posterior.observations
        self.posterior = posterior
        self.units = posterior.model.normaliser or Normaliser()
        self.dtype = observed.x.dtype
        self.centre = posterior.centre
        if len(observed.x) == 0:
            observed = no_observations(ends.shape[1], observed.y.shape[1], self.dtype)
        mask = None if observed.mask is None else np.asarray(observed.mask)
        there = np.ones(len(observed.x)) if mask is None else mask.reshape(len(mask), -1).max(1)
        self._real = np.flatnonzero(there > 0)
        self._arrays = tuple(np.asarray(v) for v in (observed.x, observed.y, observed.noise))
        self._mask = mask
        self.noisy = bool(np.any(self._arrays[2][self._real] > 0))
        x = np.asarray(self._arrays[0][self._real], np.float64)
        x = x + np.asarray(self.centre)[None] if self.centre else x
        self.observed = in_data_units(self.units.x_shift, self.units.x_scale, x)

    def given(self, rows: np.ndarray, x_drawn: np.ndarray, y_drawn: np.ndarray) -> Observations:
        """Observations in the model's units: some of the posterior's own, then drawn values."""
        rows = self._real[rows]
        x, y, noise = (values[rows] for values in self._arrays)
        if len(x_drawn):
            inputs = np.asarray(
                to_model_units(self.posterior.model, x_drawn, self.dtype, self.centre)
            )
            x, y = np.concatenate([x, inputs]), np.concatenate([y, self.in_model_units(y_drawn)])
            noise = np.concatenate([noise, np.zeros((len(inputs), *noise.shape[1:]), noise.dtype)])
        mask = self._mask
        if mask is not None:
            ones = np.ones((len(x_drawn), *mask.shape[1:]), mask.dtype)
            mask = put(np.concatenate([mask[rows], ones]))
        return Observations(put(x), put(y), put(noise), bool(np.any(noise > 0)), mask)

    def in_model_units(self, y: np.ndarray) -> np.ndarray:
        """Drawn values (..., p) in the model's units."""
        y = off_the_ends(self.units.transform, np.asarray(y)).astype(np.float64)
        values = np.asarray(self.units.forward_y(y), self.dtype)
        if not np.all(np.isfinite(values)):
            raise FloatingPointError("drawn values left the domain of the outputs' transform")
        return values

    @abc.abstractmethod
    def log_prob_info(
        self, rows: np.ndarray, drawn: XY, targets: XY, key: Any, **options: Any
    ) -> LogProb:
        """Log-density of targets (n, d), (n, p) given observations `rows` and further values."""

    def targets(self, x: np.ndarray) -> Inputs:
        """Targets in the model's units."""
        return put(np.asarray(to_model_units(self.posterior.model, x, self.dtype, self.centre)))


class ScoreLaw(AbstractPosteriorLaw):
    """The law of a diffusion model: each sample by a reverse pass of its own."""

    def __init__(
        self,
        posterior: Any,
        ends: np.ndarray,
        sampler: AbstractSampler | None = None,
        max_memory: int | None = None,
    ) -> None:
        super().__init__(posterior, ends)
        if len(posterior.observations.x) == 0:  # which would have chosen it
            self.centre = common_centre(posterior.model, ends)
        self.settings = Settings(max_memory, False)
        rows = np.arange(len(self.observed))
        known = self._posterior(self.given(rows, ends[:1], self._any_value()))
        self.sampler = known.default_sampler() if sampler is None else sampler
        problem = known.problem(self.targets(ends))
        if problem.observed_apart:
            require_outputs_apart(self.sampler)
        self.sampler.check(problem)

    def _any_value(self) -> np.ndarray:
        """A value (1, p) that the model may have."""
        manifold = self.posterior.model.manifold
        first = np.eye(1, manifold.ambient_dim)
        return np.asarray(self.units.inverse_y(0 * first)) if manifold.flat else first

    def _posterior(self, observations: Observations) -> Any:
        return dataclasses.replace(self.posterior, observations=observations, centre=self.centre)

    def batching(self):
        return patch_batches.batching(self)

    def draw_batch(self, requests, batch):
        if batch.shape is None:
            return super().draw_batch(requests, batch)
        return patch_batches.draw_patches(self, requests, batch)

    def problem(self, rows: np.ndarray, x_drawn: np.ndarray, y_drawn: np.ndarray, x: np.ndarray):
        """What is asked for at targets x (n, d) given observations and drawn values (k, p)."""
        return self._posterior(self.given(rows, x_drawn, y_drawn)).problem(self.targets(x))

    def draw(self, rows, x_drawn, y_drawn, x, keys):
        targets, drawn = self.targets(x), []
        for i in range(len(y_drawn)):
            posterior = self._posterior(self.given(rows, x_drawn, y_drawn[i]))
            problem = posterior.problem(targets)
            samples = sampling.sample(self.sampler, problem, keys[i], 1, self.settings)
            drawn.append(sampling.finite_samples(samples)[0])
        units = self.posterior.model.normaliser
        values = [y if units is None else outputs_to_data_units(units, y) for y in drawn]
        return np.stack([np.asarray(y) for y in values])

    def log_prob_info(self, rows, drawn, targets, key, **options):
        posterior = self._posterior(self.given(rows, *drawn))
        if posterior.model.dtype is None and jnp.result_type(float) != self.dtype:
            # They are taken as they come; otherwise no digit is lost before the change of units.
            targets = tuple(np.asarray(part, self.dtype) for part in targets)
        x, y = targets
        return posterior.log_prob_info(x, y, key=key, **options)


class ExactLaw(AbstractPosteriorLaw):
    """The law of a process: all samples at once, in float64."""

    def log_prob_info(self, rows, drawn, targets, key, **options):
        with jax.enable_x64(True):
            given = self.given(rows, *drawn)
            given = pad_observations(given, bucket(len(given.x)))
            posterior = dataclasses.replace(self.posterior, observations=given)
            return posterior.log_prob_info(*targets, key=key, **options)

    def draw(self, rows, x_drawn, y_drawn, x, keys):
        with jax.enable_x64(True):
            given = self.given(rows, x_drawn, y_drawn[0])
            given = pad_observations(given, bucket(len(given.x)))
            values = np.repeat(np.asarray(given.y)[None], len(y_drawn), axis=0)
            if len(x_drawn):
                drawn = slice(len(rows), len(rows) + len(x_drawn))
                values[:, drawn] = self.in_model_units(y_drawn)
            process, targets = self.posterior.model.process, self.targets(x)
            y = call(draw_each, process, given, targets, put(values), keys)
            return np.asarray(self.units.inverse_y(np.asarray(y)))


def draw_each(
    process: AbstractProcess, given: Observations, x: Inputs, values: Array, keys: Array
) -> Array:
    """Draws (s, n, p), each given values (s, m, p) of its own at the observations' inputs."""

    def one(y, key):
        own = dataclasses.replace(given, y=y)
        return law(process, own).sample(x, key=key, num_samples=1)[0]

    return jax.vmap(one)(values, keys)


class MembersLaw(AbstractPatchLaw):
    """The law of a mixture: each sample is of one member, chosen given the observations.

    Args:
        members: Laws of the members.
        choice: Member of every sample.
    """

    def __init__(self, members: tuple[AbstractPatchLaw, ...], choice: np.ndarray) -> None:
        self.members, self.choice = members, choice
        self.observed = members[0].observed

    def batching(self):
        suited = [member.batching() for member in self.members]
        return None if None in suited else suited[0]

    def draw_batch(self, requests, batch):
        whole = [np.zeros(0)] * len(requests)
        for i in np.unique(self.choice):
            own = np.flatnonzero(self.choice == i)
            parts = [r._replace(y_drawn=r.y_drawn[own], keys=r.keys[own]) for r in requests]
            for number, y in enumerate(self.members[i].draw_batch(parts, batch)):
                if not whole[number].size:
                    whole[number] = np.empty((len(self.choice), *y.shape[1:]))
                whole[number][own] = y
        return whole

    def draw(self, rows, x_drawn, y_drawn, x, keys):
        parts = {}
        for i in np.unique(self.choice):
            own = np.flatnonzero(self.choice == i)
            parts[i] = own, self.members[i].draw(rows, x_drawn, y_drawn[own], x, keys[own])
        whole = np.empty((len(self.choice), *next(iter(parts.values()))[1].shape[1:]))
        for own, y in parts.values():
            whole[own] = y
        return whole
