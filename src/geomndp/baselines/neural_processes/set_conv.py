r"""Set convolutions: values at scattered inputs to a regular grid, and from a grid to any inputs.

Gordon et al. 2020, "Convolutional Conditional Neural Processes". Weights are Gaussian,
$w(x, u) = \exp(-|x - u|^2 / 2 \ell^2)$, products of one factor per axis: for n points and m cells
per axis of d axes a set convolution costs O(n m^d) per channel, and O(n m d) exponentials.
"""

from __future__ import annotations

import math

import equinox as eqx
import jax
import jax.numpy as jnp

from geomndp import _validation
from geomndp._types import Array, Bool, Float, Inputs, Mask, Outputs
from geomndp.linalg import zero_masked

DENSITY_FLOOR = 1e-4
"""Added to the density before values are divided by it, as in the library of Bruinsma et al. 2023.

Cells with less density than this see values that fade to zero.
"""


class Grid(eqx.Module):
    """A regular grid with as many cells on every axis, anchored at multiples of its spacing.

    With an odd number of cells it is symmetric about its centre.

    Args:
        centre: Coordinates of the middle cell, multiples of the spacing, shape (d,).
        spacing: Distance of neighbouring cells, in units of the inputs.
        size: Number m of cells per axis.
    """

    centre: Float[Array, " d"]
    spacing: float = eqx.field(static=True)
    size: int = eqx.field(static=True)

    def __check_init__(self):
        _validation.positive(spacing=self.spacing)
        _validation.at_least(1, size=self.size)

    def axes(self) -> Float[Array, "d m"]:
        """Coordinates of the cells along every axis."""
        return self.centre[:, None] + self._steps()[None, :]

    def offsets(self, x: Inputs) -> Float[Array, "d n m"]:
        """Coordinate of every point relative to that of every cell, axis by axis.

        Relative to the centre first: grid and points may move together without a change.
        """
        return (x - self.centre[None, :]).T[:, :, None] - self._steps()[None, None, :]

    def covers(self, x: Inputs, mask: Mask | None = None) -> Bool[Array, ""]:
        """Whether all real points lie within the grid."""
        steps, offsets = self._steps(), x - self.centre[None, :]
        inside = jnp.all((offsets >= steps[0]) & (offsets <= steps[-1]), axis=1)
        return jnp.all(inside if mask is None else inside | (mask <= 0))

    def _steps(self) -> Float[Array, " m"]:
        whole = jnp.arange(self.size, dtype=jnp.int32) - self.size // 2
        return whole.astype(self.centre.dtype) * self.spacing


def grid_over(
    spacing: float, size: int, *point_sets: tuple[Float[Array, "_ d"], Float[Array, " _"] | None]
) -> Grid:
    """Grid whose centre is the cell nearest to the middle of the real points' bounding box.

    Points that move by multiples of the spacing take the grid with them.

    Args:
        spacing: Distance of neighbouring cells, in units of the inputs.
        size: Number m of cells per axis.
        *point_sets: Inputs (n, d) and their masks (n,), None where all rows are real.

    Returns:
        The grid; without real points its centre is the origin.
    """
    lows, highs = [], []
    for x, mask in point_sets:
        masked = jnp.zeros(len(x), bool) if mask is None else mask <= 0
        lows.append(jnp.min(jnp.where(masked[:, None], jnp.inf, x), axis=0, initial=jnp.inf))
        highs.append(jnp.max(jnp.where(masked[:, None], -jnp.inf, x), axis=0, initial=-jnp.inf))
    low, high = jnp.min(jnp.stack(lows), axis=0), jnp.max(jnp.stack(highs), axis=0)
    middle = jnp.where(low <= high, 0.5 * (low + high), 0.0)
    centre = jnp.round(middle / spacing) * spacing
    return Grid(jax.lax.stop_gradient(centre), spacing, size)


def where_covered(
    values: Array, grid: Grid, *point_sets: tuple[Float[Array, "_ d"], Float[Array, " _"] | None]
) -> Array:
    """Values, NaN unless all real points lie in the grid: never a silent cut."""
    covered = jnp.all(jnp.stack([grid.covers(x, mask) for x, mask in point_sets]))
    return jnp.where(covered, values, jnp.nan)


class SetConv(eqx.Module):
    r"""Gaussian set convolution with one lengthscale for all channels.

    To a grid: the density $\sum_i w(x_i, u)$ and the values
    $\sum_i w(x_i, u) y_i / (\epsilon + \sum_i w(x_i, u))$. From a grid: the channels smoothed,
    $\sum_u w(x, u) h(u)$ over $(\sqrt{2 \pi} \ell / \mathrm{spacing})^d$, so that a constant stays
    one.

    Args:
        lengthscale: Initial value of $\ell$, in units of the inputs.
        learnt: Whether training changes it.
        dtype: Dtype of the parameter.

    Raises:
        ValueError: If the lengthscale is not positive.
    """

    log_lengthscale: Float[Array, ""]
    learnt: bool = eqx.field(static=True)

    def __init__(self, lengthscale: float, *, learnt: bool = True, dtype: str):
        _validation.positive(lengthscale=lengthscale)
        self.log_lengthscale = jnp.asarray(math.log(lengthscale), dtype)
        self.learnt = learnt

    def lengthscale(self, dtype: jnp.dtype | None = None) -> Float[Array, ""]:
        """The lengthscale in units of the inputs, without a gradient unless it is learnt."""
        log = self.log_lengthscale if self.learnt else jax.lax.stop_gradient(self.log_lengthscale)
        return jnp.exp(log if dtype is None else log.astype(dtype))

    def encode(
        self, x: Inputs, y: Outputs, mask: Mask | None, grid: Grid
    ) -> Float[Array, "channels ..."]:
        """Density and values on the grid.

        Args:
            x: Inputs of the context, shape (n, d); n may be zero.
            y: Values, shape (n, p).
            mask: 1 for real points, 0 for padding, shape (n,).
            grid: The grid of m cells per axis.

        Returns:
            Density first, then the p values, shape (1 + p, m, ..., m).
        """
        x, y = zero_masked(x, mask), zero_masked(y, mask)
        present = jnp.ones((len(x), 1), y.dtype)
        channels = jnp.concatenate([zero_masked(present, mask), y], axis=1)
        *first, last = self._weights(x, grid)
        for weights in first:
            spread = weights.reshape(len(x), *(1,) * (channels.ndim - 1), grid.size)
            channels = channels[..., None] * spread
        summed = jnp.tensordot(channels, last, axes=(0, 0), precision="highest")
        density, values = summed[:1], summed[1:]
        return jnp.concatenate([density, values / (density + DENSITY_FLOOR)])

    def decode(self, h: Float[Array, "k ..."], grid: Grid, x: Inputs) -> Float[Array, "n k"]:
        """Channels at any inputs.

        Args:
            h: Channels on the grid, shape (k, m, ..., m).
            grid: The grid.
            x: Inputs, shape (n, d).

        Returns:
            Shape (n, k).
        """
        *first, last = self._weights(x, grid)
        out = jnp.tensordot(h, last, axes=(-1, 1), precision="highest")
        for weights in reversed(first):
            out = jnp.einsum("...mn,nm->...n", out, weights, precision="highest")
        scale = math.sqrt(2 * math.pi) * self.lengthscale(out.dtype) / grid.spacing
        return out.T / scale ** x.shape[1]

    def _weights(self, x: Inputs, grid: Grid) -> list[Float[Array, "n m"]]:
        """Factors of the weights, one per axis."""
        scaled = grid.offsets(x) / self.lengthscale(x.dtype)
        return list(jnp.exp(-0.5 * scaled**2))


__all__ = ["DENSITY_FLOOR", "Grid", "SetConv", "grid_over", "where_covered"]
