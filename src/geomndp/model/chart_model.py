"""Laws of tracks on the sphere from laws of functions in the plane of a local map."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from geomndp.data.frames import AbstractFrame
from geomndp.data.start_density import StartDensity
from geomndp.geometry import AbstractManifold, Sphere
from geomndp.geometry.geodesy import EARTH_RADIUS_KM
from geomndp.model.base import AbstractModel, CheckedContext
from geomndp.model.chart_posterior import ChartPosterior, handed_over
from geomndp.model.model import check_names
from geomndp.model.summary import describe_chart_model
from geomndp.samplers.problem import no_observations
from geomndp.tables import Variables


class ChartModel(AbstractModel):
    r"""A law of (east, north) in km as a law of tracks, each in the map of its own context.

    $p(y \mid C) = p_{flat}(q(y) \mid q(C)) \prod_i \theta_i / \sin\theta_i$ per area, q the
    coordinates of the map about the centre of C and $\theta$ the angle to it. Every context has its
    own map, so that a density is one of targets given that context. Without a context the earliest
    target is drawn from `start`, and is the context of all others. Noise of observations is that of
    the map, to first order. The map ends half-way around the Earth: where the flat law has mass
    beyond, samples wrap around, and the density lacks that mass.

    Args:
        flat: Law of two outputs, east and north in km, of the inputs of the tracks, counted from
            the map's origin, and of what the frame tells of the centre.
        frame: How a context decides on its map.
        start: Law of the first point of a track without a context; not needed where there is one
            map for all.
        variables: Names and units (see `with_variables`): x and y may then come as one table.
        report: How the law was chosen and what was measured then, as text.

    Raises:
        ValueError: If the flat law has other outputs than two, or names do not fit the sphere.

    Example:
        `gn.ChartModel(gn.ProcessModel(gp), LocalFrame(), StartDensity.fit(y[:, 0], axial=True))`
    """

    flat: AbstractModel
    frame: AbstractFrame
    start: StartDensity | None = None
    variables: Variables | None = None
    report: str | None = eqx.field(default=None, static=True)

    normaliser = None
    support = None

    def __check_init__(self) -> None:
        if not isinstance(self.flat, AbstractModel) or self.flat.manifold.ambient_dim != 2:
            got = type(self.flat).__name__
            raise ValueError(f"expected a model of two outputs, east and north in km, got {got}")
        if not self.flat.manifold.flat:
            raise ValueError("expected a flat model of two outputs, got one on a manifold")
        check_names(self.variables, self.manifold)
        if self.variables is not None and self.input_dim not in (None, self.variables.input_dim):
            got = self.variables.input_dim
            raise ValueError(f"expected names of {self.input_dim} inputs, got {got}")

    def __repr__(self) -> str:
        return describe_chart_model(self)

    @property
    def manifold(self) -> AbstractManifold:
        return Sphere(2)

    @property
    def input_dim(self) -> int | None:
        inside = self.flat.input_dim
        return None if inside is None else inside - len(self.frame.covariates)

    @property
    def num_relative_inputs(self) -> int:
        return 0

    @property
    def learnt(self) -> bool:
        return self.flat.learnt

    @property
    def network(self) -> Any:
        return self.flat.network

    @property
    def dtype(self) -> Any:
        return jnp.dtype("float64")

    def condition(self, *args: Any, **options: Any) -> ChartPosterior:
        """Law of the tracks given observations; arguments as those of `Model.condition`.

        Points that have no mean direction, or lie opposite to it, have no map and are refused.
        """
        with jax.enable_x64(True):
            posterior = super().condition(*args, **options)
            observed = posterior.observations
            if not len(observed.x) and self.frame.needs_context:
                return posterior
            self.frame.check(observed.x, observed.y, observed.mask)
            chart = self.frame.at(observed.x, observed.y, observed.mask)
            inside = [chart.inputs(observed.x), chart.to_map(observed.y), observed.mask]
            noise = observed.noise * EARTH_RADIUS_KM**2 if observed.noisy else 0.0
        if not len(observed.x):
            return ChartPosterior(
                self, observed, chart, self.flat.condition(), posterior.time_origin
            )
        x, y, mask, noise = handed_over((*inside, noise))
        flat = self.flat.condition(x, y, noise=noise, mask=mask)
        return ChartPosterior(self, observed, chart, flat, posterior.time_origin)

    def posterior(self, context: CheckedContext | None, time_origin: str | None):
        if context is None:
            observed = no_observations(self.input_dim or 1, 3, self.dtype)
        else:
            observed = context.observations
        return ChartPosterior(self, observed, None, None, time_origin)
