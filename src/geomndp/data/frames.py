"""Local coordinates of tracks on the sphere: a map about a centre that the context alone decides.

In its map a track is a function of two real outputs, east and north in km, so that every law of
such functions is a law of tracks: its density in the map times the map's area per area of the
sphere. The centre must not depend on the targets, or that would be no density.
"""

from __future__ import annotations

import abc

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from geomndp import _model_files, _validation
from geomndp._types import Array, Float, Inputs, Mask
from geomndp.geometry.azimuthal import centre_of, from_map, log_map_area, to_map
from geomndp.geometry.geodesy import EARTH_RADIUS_KM, to_latlon
from geomndp.linalg import zero_masked

OPPOSITE = 1e-9
"""One plus the cosine of the angle to a map's centre from which on a point is opposite: 300 m."""
NO_DIRECTION = 1e-6
"""Length of the mean of unit vectors that is rounding, or no direction to speak of."""


class LocalMap(eqx.Module):
    """The map of one track.

    Attributes:
        centre: Unit vector of its centre, shape (3,).
        origin: What is subtracted from inputs, shape (d,), or one number for all.
        covariates: What is known of the centre, appended to every input, shape (k,).
    """

    centre: Float[Array, " 3"]
    origin: Float[Array, " d"]
    covariates: Float[Array, " k"]

    def inputs(self, x: Inputs) -> Float[Array, "n e"]:
        """Inputs (n, d + k) in the map from those of a track, (n, d)."""
        known = jnp.broadcast_to(self.covariates[None], (len(x), len(self.covariates)))
        return jnp.concatenate([x - self.origin[None], known], axis=1)

    def to_map(self, y: Float[Array, "n 3"]) -> Float[Array, "n 2"]:
        """East and north in km from unit vectors."""
        return EARTH_RADIUS_KM * to_map(self.centre, y)

    def from_map(self, q: Float[Array, "n 2"]) -> Float[Array, "n 3"]:
        """Unit vectors from east and north in km."""
        return from_map(self.centre, q / EARTH_RADIUS_KM)

    def log_area(self, q: Float[Array, "n 2"], mask: Mask | None) -> Float[Array, ""]:
        """Nats from a density per km2 of the map to one per area of the unit sphere, all rows."""
        nats = log_map_area(q / EARTH_RADIUS_KM) + 2 * jnp.log(EARTH_RADIUS_KM)
        return jnp.sum(zero_masked(nats[:, None], mask))


class AbstractFrame(eqx.Module):
    """How a context decides on the map of its track."""

    @property
    @abc.abstractmethod
    def covariates(self) -> tuple[str, ...]:
        """Names of what is known of the centre."""

    @property
    def needs_context(self) -> bool:
        """Whether there is no map without context points."""
        return True

    def check(self, x: Inputs, y: Float[Array, "n 3"], mask: Mask | None = None) -> None:
        """Refuse a concrete context that has no map; arguments as those of `at`.

        Raises:
            ValueError: If a point lies opposite to the centre of the map, where every direction
                leads to it.
        """
        real = _real_points(y, mask)
        if (
            real is not None
            and (real @ np.asarray(self.at(x, y, mask).centre)).min() < OPPOSITE - 1
        ):
            raise ValueError(
                "expected context points less than half-way around the Earth from the centre of "
                "their map, got one opposite to it"
            )

    @abc.abstractmethod
    def at(self, x: Inputs, y: Float[Array, "n 3"], mask: Mask | None = None) -> LocalMap:
        """The map for a context.

        Args:
            x: Inputs of the context, shape (n, d).
            y: Unit vectors, shape (n, 3).
            mask: 1 for real rows, at least one, shape (n,); None where all are.

        Returns:
            The map.
        """


@_model_files.tagged("frame/local")
class LocalFrame(AbstractFrame):
    """A map about the mean of the context points, with the context's mean time as origin.

    East and north are those of the centre. With its latitude as what is known of it, laws do not
    change under rotations about the Earth's axis; with its unit vector they may.

    Args:
        num_relative: Leading inputs that count from their mean over the context.
        axial: Whether only the latitude of the centre is known, not its longitude.
    """

    num_relative: int = eqx.field(default=1, static=True)
    axial: bool = eqx.field(default=True, static=True)

    def __check_init__(self) -> None:
        _validation.at_least(0, num_relative=self.num_relative)

    @property
    def covariates(self) -> tuple[str, ...]:
        return ("centre_latitude",) if self.axial else ("centre_x", "centre_y", "centre_z")

    def check(self, x, y, mask=None):
        real = _real_points(y, mask)
        if real is not None and np.linalg.norm(real.mean(axis=0)) < NO_DIRECTION:
            raise ValueError(
                "expected context points with a mean direction, got points that cancel each "
                "other, such as opposite ones"
            )
        super().check(x, y, mask)

    def at(self, x, y, mask=None):
        centre = centre_of(y, mask)
        count = len(x) if mask is None else jnp.sum(mask)
        mean = jnp.sum(zero_masked(x, mask), axis=0) / count
        origin = jnp.where(jnp.arange(x.shape[1]) < self.num_relative, mean, 0.0)
        known = jnp.asarray(to_latlon(centre)[0])[None] if self.axial else centre
        return LocalMap(centre, origin, known)


@_model_files.tagged("frame/fixed")
class FixedFrame(AbstractFrame):
    """One map for all tracks: positions and times are absolute.

    Args:
        centre: Unit vector of the map's centre, three numbers.
    """

    centre: tuple[float, float, float] = eqx.field(static=True)

    def __check_init__(self) -> None:
        length = sum(float(part) ** 2 for part in self.centre) ** 0.5
        if len(self.centre) != 3 or not abs(length - 1) < 1e-6:
            raise ValueError(f"expected a unit vector as centre, got {self.centre}")

    @property
    def covariates(self) -> tuple[str, ...]:
        return ()

    @property
    def needs_context(self) -> bool:
        return False

    def at(self, x, y, mask=None):
        centre = jnp.asarray(self.centre, y.dtype)
        return LocalMap(centre, jnp.zeros(1, x.dtype), jnp.zeros(0, x.dtype))


def _real_points(y: Array, mask: Mask | None) -> np.ndarray | None:
    """Points (m, 3) that count; None where there is none, or JAX traces them."""
    if not (_validation.concrete(y) and _validation.concrete(mask)):
        return None
    points = np.asarray(y) if mask is None else np.asarray(y)[np.asarray(mask) > 0]
    return points if len(points) else None
