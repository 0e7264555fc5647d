"""One sentence where a request leaves what training saw.

Margins are wide: half the trained range for values, a tenth for inputs whose position matters,
twice the extent, four times as close or as far apart, half more points (of twice as many samples of
a network with attention have a tenth less spread, of seven times as many a third; without attention
eight times as many), twice the noise. Within them nothing is said.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from geomndp import _validation
from geomndp._training_log import Range, TrainingSupport
from geomndp._warnings import warn_outside_training
from geomndp.data import Normaliser
from geomndp.model.point_distances import CROWD, crowding, extents, spacing
from geomndp.model.training_record import (
    SAME_UNITS,
    column_names,
    in_data_units,
    outputs_in_data_units,
    periods_of,
)
from geomndp.nets import AbstractNet
from geomndp.samplers import Observations

OUTPUT_MARGIN, INPUT_MARGIN = 0.5, 0.1  # of the range, to each side
# Factors beyond the record at which a warning begins.
EXTENT_FACTOR, CLOSER_FACTOR, SPARSER_FACTOR = 2.0, 4.0, 4.0
NUM_POINTS_FACTOR, NOISE_FACTOR, CROWDING_FACTOR = 1.5, 2.0, 2.0
POOLED_POINTS_FACTOR = 8.0  # of a network that averages over all points, without attention
FEW_POINTS = 8  # of which the typical distance says nothing
DEVIATIONS = 5.0  # of an observation's own noise, by which its value may be farther out


def warn_about_context(model: Any, observations: Observations) -> None:
    """Compare observations, in the model's units, with the record of a model's training."""
    x, y, noise = observations.x, observations.y, observations.noise
    if model.support is None or len(x) == 0 or not _all_concrete(x, y, noise, observations.mask):
        return
    units = model.normaliser or SAME_UNITS
    rows, variances = np.asarray(x), np.asarray(noise)
    reasons = _values(model, units, _known(y, observations.mask), variances)
    reasons += _noise(model.support, units, variances)
    reasons += _positions(model, units, rows)
    typical = spacing(rows, periods_of(model.normaliser))
    if model.learnt:
        reasons += _closeness(model.support, typical) or _crowding(model, rows)
    warn_outside_training(reasons)


def warn_about_targets(
    posterior: Any, x: Any, y: Any = None, mask: Any = None, together: Any = None
) -> None:
    """Compare target points, in the model's units and beside the context, with the record.

    How far points extend and how many there are is known here alone: patches of a large field see
    few of the observations, and groups of many targets few of each other.

    Args:
        posterior: The law that is asked.
        x: Inputs of the targets, shape (n, d).
        y: Their values, shape (n, p), where a log-density is asked for.
        mask: 1 for rows and outputs that count, shape (n,) or (n, g).
        together: Inputs of the points that a network sees at once, shape (k, d), by default of the
            targets and all observations.
    """
    model, observed = posterior.model, posterior.observations.x
    if model.support is None or len(x) == 0:
        return
    if not _all_concrete(x, y, mask, observed, together):
        masks = mask, posterior.observations.mask
        if model.learnt and all(part is None for part in masks):  # else rows may be padding
            warn_outside_training(_number(model, len(x) + len(observed)))
        return
    units = model.normaliser or SAME_UNITS
    keep = slice(None) if mask is None else np.asarray(mask) > 0
    keep = keep.any(axis=1) if isinstance(keep, np.ndarray) and keep.ndim == 2 else keep
    rows = np.asarray(x)[keep]
    if len(rows) == 0:
        return
    reasons = [] if y is None else _values(model, units, _known(y, mask)[keep])
    reasons += _positions(model, units, rows)
    if model.learnt:
        both = np.concatenate([np.asarray(observed), rows]) if len(observed) else rows
        both = both if together is None else np.asarray(together)
        typical = spacing(both, periods_of(model.normaliser))
        reasons += _extent_and_number(model, units, both)
        reasons += _closeness(model.support, typical) or _crowding(model, both)
        if model.network is not None:  # which sees targets together: neural processes do not
            reasons += _sparsity(model.support, typical, len(both))
    warn_outside_training(reasons)


def warn_about_functions(model: Any, y: Any, mask: Any) -> None:
    """Compare values of functions to learn from with the record of a model's training.

    Args:
        model: The model.
        y: Values (b, n, p) in the data's units.
        mask: Mask (b, n) or (b, n, g).
    """
    values, rows = np.ma.filled(np.ma.asarray(y), np.nan), np.asarray(mask) > 0
    if model.support is None or len(model.support.outputs) != values.shape[2]:
        return
    there = rows[:, :, None] if rows.ndim == 2 else rows
    there = np.repeat(there, values.shape[2] // there.shape[2], axis=2)
    flat = np.where(there, values, np.nan).reshape(-1, values.shape[2])
    names, ranges = column_names(model, "y"), model.support.outputs
    warn_outside_training(_beyond(names, flat, ranges, OUTPUT_MARGIN))


def _known(y: Any, mask: Any) -> np.ndarray:
    """Values (n, p), NaN where a mask of groups (n, g) says that they are missing."""
    values = np.asarray(y)
    if np.ndim(mask) < 2:
        return values
    there = np.repeat(np.asarray(mask) > 0, values.shape[1] // mask.shape[1], axis=1)
    return np.where(there, values, np.nan)


def _all_concrete(*values: Any) -> bool:
    """Whether JAX is tracing none of them."""
    return all(_validation.concrete(value) for value in values)


def _values(
    model: Any, units: Normaliser, y: np.ndarray, noise: np.ndarray | float = 0.0
) -> list[str]:
    variances = noise if np.ndim(noise) == 2 else np.reshape(noise, (-1, 1))
    y, slack = np.asarray(y, np.float64), DEVIATIONS * np.sqrt(variances)
    values, above, below = (outputs_in_data_units(units, v) for v in (y, y + slack, y - slack))
    slack = np.maximum(above - values, values - below)
    return _beyond(column_names(model, "y"), values, model.support.outputs, OUTPUT_MARGIN, slack)


def _positions(model: Any, units: Normaliser, x: np.ndarray) -> list[str]:
    support, net = model.support, model.network
    exact = x.shape[1] if model.learnt else 0  # of a score that is known exactly, no matter
    known = net if isinstance(net, AbstractNet) else getattr(model, "process", None)
    first = getattr(known, "num_relative_inputs", exact)
    if model.network_base is not None:  # has a mean, or a table, at positions of its own
        first = 0
    if first >= x.shape[1]:
        return []
    inputs = in_data_units(units.x_shift, units.x_scale, x)[:, first:]
    return _beyond(column_names(model, "x")[first:], inputs, support.inputs[first:], INPUT_MARGIN)


def _extent_and_number(model: Any, units: Normaliser, x: np.ndarray) -> list[str]:
    """Of all points of a function."""
    support, net, periods = model.support, model.network, periods_of(model.normaliser)
    reasons, local = [], isinstance(net, AbstractNet) and net.local
    ranges = extents(x, periods) * np.asarray(units.x_scale)
    far = [i for i, most in enumerate(support.extents) if ranges[i] > EXTENT_FACTOR * most]
    if far and not local:
        most = support.extents[far[0]]
        reasons.append(f"points over a range of {ranges[far[0]]:.3g} (trained on up to {most:.3g})")
    return reasons + _number(model, len(x))


def _number(model: Any, count: int) -> list[str]:
    """Of all points of a function, which JAX may trace."""
    most, net = model.support.points, model.network
    known = isinstance(net, AbstractNet)
    factor = POOLED_POINTS_FACTOR if known and not net.attends else NUM_POINTS_FACTOR
    if count <= factor * most or (known and net.local):
        return []
    return [f"{count} points (trained on up to {most})"]


def _closeness(support: TrainingSupport, typical: float) -> list[str]:
    if not 0 < typical < support.spacing / CLOSER_FACTOR:
        return []
    ratio = support.spacing / typical
    return [f"points {ratio:.0f} times as close to each other as the closest in training"]


def _crowding(model: Any, x: np.ndarray) -> list[str]:
    """Of a cluster beside which others may lie as in training; graph networks are local anyway."""
    net, least = model.network, _least_crowding(model)
    if least is None or not isinstance(net, AbstractNet) or net.local:
        return []
    radius = crowding(x, periods_of(model.normaliser))
    if radius is None or radius >= least / CROWDING_FACTOR:
        return []
    ratio = least / max(radius, 1e-3 * least)
    return [f"{CROWD} points {ratio:.0f} times as close together as the closest in training"]


def _least_crowding(model: Any) -> float | None:
    """Radius about a point that held 15 others; of older files half of that of even points."""
    support = model.support
    if support.crowding is not None or len(support.extents) > 1 or support.points < CROWD:
        return support.crowding
    scale = 1.0 if model.normaliser is None else model.normaliser.x_scale[0]
    return 0.25 * support.extents[0] / scale * (CROWD - 1) / support.points


def _sparsity(support: TrainingSupport, typical: float, num_points: int) -> list[str]:
    """Of context and targets together: a sparse context alone is nothing unusual."""
    sparsest = support.max_spacing
    if not sparsest or num_points < FEW_POINTS or typical <= SPARSER_FACTOR * sparsest:
        return []
    return [f"points {typical / sparsest:.0f} times as far apart as the sparsest in training"]


def _noise(support: TrainingSupport, units: Normaliser, noise: np.ndarray) -> list[str]:
    """Noise-free observations were always seen."""
    if support.noise is None or units.transform or not np.any(noise > 0):
        return []
    variances = noise[noise > 0] * units.y_scale[0] ** 2
    low, high = support.noise
    outside = variances[(variances < low / NOISE_FACTOR) | (variances > high * NOISE_FACTOR)]
    if not outside.size:
        return []
    return [f"noise of variance {outside[0]:.3g} (trained on {low:.3g} to {high:.3g}, and zero)"]


def _beyond(
    names: tuple[tuple[str, str], ...],
    values: np.ndarray,
    ranges: tuple[Range, ...],
    margin: float,
    slack: np.ndarray | float = 0.0,
) -> list[str]:
    """The value farthest out, if there is one."""
    lows, highs = np.asarray(ranges).T
    beside = margin * (highs - lows) + slack
    out = np.maximum(lows - beside - values, values - highs - beside)
    out = np.where(np.isnan(out), -np.inf, out)  # of outputs that are missing
    row, column = np.unravel_index(np.argmax(out), out.shape)
    if not out[row, column] > 0:
        return []
    low, high = ranges[column]
    digits = 3 + _common_digits(low, high)
    value = f"{values[row, column]:.{digits + 1}g}"
    name, units = names[column]
    ends = f"{low:.{digits}g} to {high:.{digits}g} {units}".rstrip()
    return [f"{name} = {value} (trained on {ends})"]


def _common_digits(low: float, high: float) -> int:
    """Leading digits that the ends of a range far from zero have in common, at most 12."""
    largest, width = max(abs(low), abs(high)), high - low
    return int(min(np.log10(largest / width), 12.0)) if 0 < width < largest else 0
