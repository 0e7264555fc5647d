"""What a data set shows of its own scales: how dense, how wide, how large."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.spatial import KDTree

from geomndp.auto.sphere_inputs import keep_unit_vectors, location_columns
from geomndp.data import Normaliser
from geomndp.data.circle import embed, extents, opposite_of_gap, wrap
from geomndp.data.column_means import column_means
from geomndp.equivariance import FieldType
from geomndp.tables import Functions, Variable, Variables
from geomndp.tables.variables import canonical

MAX_FUNCTIONS = 64  # functions whose distances are measured


class Density(NamedTuple):
    """Distances between the points of a function, in the model's units."""

    spacing: float
    """Median distance to the nearest other point."""
    extent: float
    """Largest range of an input within a function."""
    reach: float
    """Largest range of an input over all functions."""
    radius: float
    """Distance within which the median point has `neighbours` others, or all there are."""
    most: int
    """Largest number of others within the radius."""


def density(
    x: np.ndarray, mask: np.ndarray, neighbours: int = 20, periods: tuple[float, ...] = ()
) -> Density:
    """Measure some of the functions, at inputs that may be periodic."""
    rows = np.linspace(0, len(x) - 1, min(len(x), MAX_FUNCTIONS)).astype(int)
    measured = [locations for row in rows if len(locations := x[row][mask[row]]) > 1]
    ranges = (float(extents(locations, periods).max()) for locations in measured)
    extent = max(ranges, default=0.0)
    if not extent > 0:
        return Density(1.0, 1.0, 1.0, 1.0, 1)
    trees = [KDTree(embed(locations, periods)) for locations in measured]
    # Distances of every point to its neighbours, itself first.
    near = [tree.query(tree.data, k=min(neighbours + 1, tree.n))[0] for tree in trees]
    spacing = float(np.median(np.concatenate([_nearest(distances) for distances in near])))
    # A little more: points of a grid at the same distance are within or without together.
    radius = 1.02 * float(np.median(np.concatenate([d[:, -1] for d in near]))) or extent
    counts = (tree.query_ball_point(tree.data, radius, return_length=True) for tree in trees)
    reach, most = float(extents(x[mask], periods).max()), max(int(c.max()) for c in counts) - 1
    return Density(spacing, extent, reach, radius, most or 1)


def _nearest(distances: np.ndarray) -> np.ndarray:
    """Distance to the nearest point elsewhere; repeated locations do not count."""
    apart = np.where(distances > 0, distances, np.inf).min(axis=1)
    finite = apart[np.isfinite(apart)]
    return finite if finite.size else np.ones(1)


def step_length(x: np.ndarray, y: np.ndarray, mask: np.ndarray) -> float:
    """Median angle between neighbours, by the first input, of tracks on the sphere."""
    order = np.argsort(np.where(mask, x[:, :, 0], np.inf), axis=1, kind="stable")
    y, mask = np.take_along_axis(y, order[:, :, None], 1), np.take_along_axis(mask, order, 1)
    both = mask[:, 1:] & mask[:, :-1]
    chords = np.linalg.norm(np.diff(y, axis=1), axis=2)[both]
    moved = chords[chords > 0]
    return float(np.median(2 * np.arcsin(np.minimum(moved / 2, 1)))) if moved.size else 0.01


def normaliser(
    functions: Functions, rigid: FieldType | None, periods: tuple[float, ...] = ()
) -> Normaliser:
    """Zero mean and unit variance, as far as the symmetries allow.

    One scale for inputs that turn together, or state the same units; one of its own for every
    covariate. Outputs of the same units do too; what turns is scaled as a whole and never shifted.
    The sphere is left as it is. Of noisy values the variance is that without their noise.
    """
    rows, about = functions.rows, functions.variables
    y = functions.y[rows]
    if functions.mask.ndim == 3:
        y = np.where(functions.mask[rows], y, np.nan)
    inputs = _input_units(functions.x[rows], about, rigid is not None, periods)
    if about.codomain == "sphere":
        return Normaliser(*inputs, x_period=periods)
    if rigid is None:
        shift = column_means(y)
        sizes = [y.shape[1]] if _same_units(about.outputs) else None
    else:
        sizes = rigid.sizes
        representations = np.repeat(np.asarray(rigid.representations), sizes)
        shift = np.where(representations == "scalar", column_means(y), 0.0)
    noise = None if functions.noise is None else column_means(functions.noise[rows])
    return Normaliser(*inputs, shift, _scales(y - shift, sizes, noise), x_period=periods)


def _input_units(x: np.ndarray, about: Variables, rigid: bool, periods: tuple[float, ...]):
    """Shift and scale of inputs (n, d)."""
    d, same = location_columns(about), rigid or _same_units(about.inputs[: about.num_inputs])
    shift = column_means(x)
    for i, period in enumerate(periods):
        shift[i] = opposite_of_gap(x[:, i], period) if period else shift[i]
    centred = wrap(x, tuple(shift), periods) - shift
    scale = _scales(centred, [d] + [1] * about.num_covariates if same else None)
    return keep_unit_vectors(shift, scale, about)


def _same_units(variables: tuple[Variable, ...]) -> bool:
    """Whether all state their units, and the same."""
    units = {canonical(variable.units) for variable in variables}
    return len(units) == 1 and "" not in units


def _scales(centred: np.ndarray, sizes, noise: np.ndarray | None = None) -> np.ndarray:
    """Root mean square of each part, spread over its columns; one number if all are the same.

    Of that of noisy values what the noise explains is left out, as long as a tenth remains.
    """
    sizes = [1] * centred.shape[1] if sizes is None else list(sizes)
    mean_squares = column_means(centred**2)
    if noise is not None:
        mean_squares = np.maximum(mean_squares - noise, 0.1 * mean_squares)
    squares = np.split(mean_squares, np.cumsum(sizes)[:-1])
    scales = np.concatenate([np.full(len(s), np.sqrt(s.mean()) or 1.0) for s in squares])
    return scales[:1] if np.all(scales == scales[0]) else scales
