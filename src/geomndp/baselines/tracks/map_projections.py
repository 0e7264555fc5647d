"""Flat maps of the Earth, on which the paper's Gaussian processes live."""

import abc

import equinox as eqx
import jax.numpy as jnp

from geomndp._types import Array, Float
from geomndp.baselines.tracks.context import UnitVectors
from geomndp.geometry.geodesy import to_latlon, to_unit

Plane = Float[Array, "n 2"]


class AbstractChart(eqx.Module):
    """Coordinates of a track in the plane."""

    @abc.abstractmethod
    def to_plane(self, y: UnitVectors) -> Plane:
        """Coordinates of a track.

        Args:
            y: Unit vectors in the order of time, shape (n, 3).

        Returns:
            Coordinates, shape (n, 2).
        """

    @abc.abstractmethod
    def from_plane(self, u: Plane) -> UnitVectors:
        """Points of the sphere; every point of the plane is one.

        Args:
            u: Coordinates, shape (n, 2).

        Returns:
            Unit vectors, shape (n, 3).
        """

    @abc.abstractmethod
    def stretch(self, u: Plane) -> Plane:
        """How much each coordinate changes along a unit step on the sphere in its direction.

        Both charts keep right angles between their coordinate lines, so that the area on the
        sphere is that in the plane divided by the product of both.

        Args:
            u: Coordinates, shape (n, 2).

        Returns:
            Coordinates per radian, shape (n, 2).
        """


class LatLon(AbstractChart):
    """Latitude and longitude in degrees; longitudes run on past the date line."""

    def to_plane(self, y):
        lat, lon = to_latlon(y)
        return jnp.stack([lat, jnp.unwrap(lon, period=360)], axis=-1)

    def from_plane(self, u):
        lat, lon = jnp.radians(u[:, 0]), u[:, 1]
        # Beyond a pole: down the opposite meridian.
        over = jnp.where(jnp.cos(lat) < 0, 180.0, 0.0).astype(u.dtype)
        return jnp.asarray(to_unit(jnp.degrees(jnp.arcsin(jnp.sin(lat))), lon + over))

    def stretch(self, u):
        degree = jnp.full_like(u[:, 0], 180 / jnp.pi)
        return jnp.stack([degree, degree / jnp.abs(jnp.cos(jnp.radians(u[:, 0])))], axis=-1)


class Stereographic(AbstractChart):
    r"""Projection from the south pole, $u = (y_1, y_2) / (1 + y_3)$, centred on the north pole."""

    def to_plane(self, y):
        return y[:, :2] / (1 + y[:, 2:])

    def from_plane(self, u):
        square = jnp.sum(u**2, axis=1, keepdims=True)
        return jnp.concatenate([2 * u, 1 - square], axis=1) / (1 + square)

    def stretch(self, u):
        square = jnp.sum(u**2, axis=1, keepdims=True)
        return jnp.broadcast_to((1 + square) / 2, u.shape)
