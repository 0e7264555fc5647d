"""Functions on the sphere given on a grid of latitudes and longitudes."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from geomndp import _model_files, _validation
from geomndp._types import Array, Float, Inputs, Outputs
from geomndp.kernels.sphere.zonal import check_unit_vectors


@_model_files.tagged("mean/globe-table")
class GlobeTable(eqx.Module):
    r"""A function on the sphere, bilinear in latitude and longitude between the values of a grid.

    Rows go from the south pole to the north pole, columns eastwards from 180 degrees west, where
    the function closes: equal steps of latitude and of longitude. It is constant on the pole rows
    of a table whose values are equal there.

    Args:
        values: Shape (rows, columns).
        dim: Number of outputs, all of them equal.

    Raises:
        ValueError: Unless there are at least two rows and one column.

    Example:
        Winds that are stronger over the sea: `gn.kernels.Modulated(kernel, GlobeTable(std, 2))`.
    """

    values: Float[Array | np.ndarray, "r c"]
    dim: int = eqx.field(default=1, static=True)
    same_outputs = True

    def __check_init__(self):
        _validation.at_least(1, dim=self.dim)
        if self.values.ndim != 2 or len(self.values) < 2 or not self.values.shape[1]:
            raise ValueError(
                f"expected at least two rows of a table, got shape {self.values.shape}"
            )

    def __call__(self, x: Inputs) -> Outputs:
        """Values (n, dim) at unit vectors x (n, 3); rows of zeros are padding."""
        check_unit_vectors(x)
        table = jnp.asarray(self.values, dtype=x.dtype)
        rows, columns = table.shape
        lat = jnp.arctan2(x[:, 2], jnp.hypot(x[:, 0], x[:, 1]))
        row = (lat / np.pi + 0.5) * (rows - 1)
        column = (jnp.arctan2(x[:, 1], x[:, 0]) / (2 * np.pi) + 0.5) * columns
        south = jnp.clip(jnp.floor(row).astype(jnp.int32), 0, rows - 2)
        west = jnp.floor(column).astype(jnp.int32)
        up, right = row - south.astype(x.dtype), column - west.astype(x.dtype)
        west, east = west % columns, (west + 1) % columns
        lower = (1 - right) * table[south, west] + right * table[south, east]
        upper = (1 - right) * table[south + 1, west] + right * table[south + 1, east]
        value = (1 - up) * lower + up * upper
        return jnp.broadcast_to(value[:, None], (len(x), self.dim))
