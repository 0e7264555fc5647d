"""Tracks in local maps: flat functions and tasks for a selection, and the way back."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from geomndp.auto.validation import FORECAST_SHARE, MANY_CONTEXT, ValidationTasks
from geomndp.data import AbstractFrame, LocalFrame, StartDensity
from geomndp.linalg import zero_masked
from geomndp.model import ChartModel
from geomndp.model.base import AbstractModel
from geomndp.tables import Functions, Variable, Variables


class TracksInMaps(NamedTuple):
    """Tracks and the frame of their maps.

    Attributes:
        tracks: Functions on the sphere.
        frame: How a context decides on a map.
    """

    tracks: Functions
    frame: AbstractFrame

    def functions(self, seed: int) -> Functions:
        """Every track in the map of a context that it might have, as a function of two outputs.

        Args:
            seed: Seed of these contexts.

        Returns:
            Functions of the inputs and what is known of the centre; east and north in km.
        """
        x, y, mask, names = self.tracks[:4]
        x, y, _ = self._in_maps(x, y, mask, random_contexts(x[..., 0], mask, seed=seed))
        covariates = tuple(Variable(name) for name in self.frame.covariates)
        inputs = (*names.inputs, *covariates)
        outputs = (Variable("east", "km"), Variable("north", "km"))
        count = names.num_covariates + len(covariates)
        return Functions(x, y, mask, Variables(inputs, outputs, num_covariates=count))

    def tasks(self, tasks: ValidationTasks) -> ValidationTasks:
        """Tasks on the sphere as flat ones, each in the map of its own context."""
        x, y, _ = self._in_maps(tasks.x, tasks.y, tasks.mask, tasks.context)
        return tasks._replace(x=x, y=y)

    def log_areas(self, tasks: ValidationTasks) -> np.ndarray:
        """Nats from densities per km2 of the map to densities per area, of all targets: (tasks,).

        Args:
            tasks: Tasks on the sphere.
        """
        targets = tasks.mask - tasks.context
        return self._in_maps(tasks.x, tasks.y, targets, tasks.context)[2]

    def model(self, law: AbstractModel) -> ChartModel:
        """The law of tracks that a law in maps is.

        Args:
            law: Law of the functions of `functions`.

        Returns:
            The model, in the data's units.
        """
        start = self.start() if self.frame.needs_context else None
        report = law.report
        flat = dataclasses.replace(law, report=None)
        return ChartModel(flat, self.frame, start, self.tracks.variables, report)

    def start(self) -> StartDensity:
        """Law of the earliest points of the tracks."""
        x, y, mask = self.tracks[:3]
        first = np.argmin(np.where(mask > 0, x[..., 0], np.inf), axis=1)
        axial = isinstance(self.frame, LocalFrame) and self.frame.axial
        return StartDensity.fit(y[np.arange(len(y)), first], axial=axial)

    def _in_maps(self, x, y, mask, deciding) -> tuple[np.ndarray, ...]:
        """Inputs and km in the maps of contexts, and the areas of all rows that count."""

        def one(x, y, mask, deciding):
            chart = self.frame.at(x, y, deciding)
            q = zero_masked(chart.to_map(y), mask)
            return chart.inputs(x), q, chart.log_area(q, mask)

        with jax.enable_x64(True):
            arrays = (jnp.asarray(v, jnp.float64) for v in (x, y, mask, deciding))
            return tuple(np.asarray(v) for v in jax.jit(jax.vmap(one))(*arrays))


def random_contexts(times: np.ndarray, mask: np.ndarray, *, seed: int) -> np.ndarray:
    """Contexts as tasks have them: the first part of every other function, else random points.

    Args:
        times: First input of all points, shape (b, n).
        mask: 1 for real points, shape (b, n).
        seed: Seed of the contexts.

    Returns:
        1 for context points, at least one of every function, shape (b, n).
    """
    rng = np.random.default_rng([seed, 2])
    contexts = np.zeros(mask.shape)
    for row, real in enumerate(mask > 0):
        points = np.flatnonzero(real)
        if row % 2:
            points = points[np.argsort(times[row, points], kind="stable")]
            size = round(rng.uniform(*FORECAST_SHARE) * len(points))
        else:
            points = rng.permutation(points)
            size = min(rng.integers(2, MANY_CONTEXT[1] + 1), len(points) // 2)
        contexts[row, points[: max(1, int(size))]] = 1.0
    return contexts
