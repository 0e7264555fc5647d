"""What training saw, of a network or a fitted law, and measures that requests are compared by."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from geomndp._training_log import Range, TrainingSupport
from geomndp._types import Array, Batch, PRNGKeyArray
from geomndp.data import (
    AbstractGenerator,
    FixedInputsGenerator,
    GlobeGenerator,
    Normaliser,
    ResampledGenerator,
)
from geomndp.data.sequences import SequenceGenerator
from geomndp.linalg import DiagonalGram
from geomndp.model.point_distances import crowding, extents, spacing
from geomndp.noising import AbstractNoising, OrnsteinUhlenbeck
from geomndp.train import DenoisingLoss
from geomndp.train.fit import as_generators

if TYPE_CHECKING:  # a model has a record
    from geomndp.model.model import Model
else:
    Model = eqx.Module

SAME_UNITS = Normaliser()
BATCHES = 4
DESIGN_BATCHES = 64  # of a generator with many sets of locations, one of which a batch shows
MAX_FUNCTIONS = 64  # functions whose distances are measured, points whose limiting variance
FAR = 64.0  # times their distance: ends of a range that four digits hardly tell apart
NEAR_ZERO = 1e-6  # a noise ratio that no network tells from zero


def with_support(
    model: Model,
    generator: AbstractGenerator | Sequence[AbstractGenerator],
    loss: DenoisingLoss | None = None,
    *,
    batches: int = BATCHES,
    key: PRNGKeyArray | None = None,
) -> Model:
    """Add to a model a record of what it was trained on.

    Args:
        model: A model, trained or not.
        generator: Its training functions, in the model's units; or several, interleaved.
        loss: Its loss, which knows the noise of the context; by default `DenoisingLoss()`.
        batches: How many batches of every generator to look at, of one with many sets of locations
            more; of a finite set, all functions.
        key: For these batches.

    Returns:
        The model with its `support`, which `save` keeps and every request is compared with.
    """
    key = jr.key(0) if key is None else key
    generators = {id(one): one for one in as_generators(generator)}.values()
    drawn = [
        _draw(one, k) for one in generators for k in jr.split(key, enough_batches(one, batches))
    ]
    batches_seen = [*drawn, *(batch for one in generators for batch in _whole_set(one))]
    conditional = all(one.conditional for one in generators)
    normaliser, noising = model.normaliser or SAME_UNITS, getattr(model, "noising", None)
    support = _record(drawn, batches_seen, normaliser)
    contexts = max(int(_any_output(np.minimum(b.context, b.mask)).sum(1).max()) for b in drawn)
    noise = None
    if conditional and noising is not None:
        noise = _noise(noising, normaliser, loss, _real(drawn, "x")[:MAX_FUNCTIONS])
    support = dataclasses.replace(support, contexts=contexts, noise=noise)
    return dataclasses.replace(model, support=support)


def functions_support(functions: Batch, normaliser: Normaliser | None) -> TrainingSupport:
    """Record of a law that was fitted to functions, all points of which may be its context.

    Args:
        functions: The functions, in the model's units.
        normaliser: Change of units; None where these are the data's own.

    Returns:
        The record, without noise: a law that is known exactly takes any.
    """
    return _record([functions], [functions], normaliser or SAME_UNITS)


def _record(drawn: list[Batch], seen: list[Batch], normaliser: Normaliser) -> TrainingSupport:
    """Ranges of the points of all batches; numbers and distances of those of drawn ones."""
    x, y = (_real(seen, field) for field in ("x", "y"))
    functions = [row for batch in drawn for row in _functions(batch)]
    scales, periods = np.broadcast_to(normaliser.x_scale, x.shape[1:]), periods_of(normaliser)
    widest = np.max([extents(row, periods) for row in functions], axis=0) * scales
    measured = functions[:: max(1, len(functions) // MAX_FUNCTIONS)]
    spacings = [spacing(row, periods) for row in measured]
    points = max(len(row) for row in functions)
    crowds = [radius for row in measured if (radius := crowding(row, periods)) is not None]
    return TrainingSupport(
        _ranges(in_data_units(normaliser.x_shift, normaliser.x_scale, x)),
        _ranges(outputs_in_data_units(normaliser, np.asarray(y, np.float64))),
        tuple(_brief(extent) for extent in widest),
        _brief(min((value for value in spacings if value > 0), default=0.0)),
        points,
        points,
        max_spacing=_brief(max(spacings)) if max(spacings) > 0 else None,
        crowding=_brief(min(crowds)) if crowds else None,
    )


def enough_batches(generator: AbstractGenerator, batches: int) -> int:
    """Batches that show what a generator makes: each has a single set of locations.

    Args:
        generator: Source of training batches.
        batches: The least number.

    Returns:
        Twice the number of sets of locations, where that is more, up to `DESIGN_BATCHES`.
    """
    sets = 0 if generator.locations is None else len(generator.locations)
    return max(batches, min(2 * sets, DESIGN_BATCHES))


@eqx.filter_jit
def _draw(generator: AbstractGenerator, key: PRNGKeyArray) -> Batch:
    return generator.draw(key)


def _whole_set(generator: AbstractGenerator) -> list[Batch]:
    """All functions of a generator that has finitely many."""
    if isinstance(generator, ResampledGenerator):
        return [generator.functions]
    if isinstance(generator, (SequenceGenerator, FixedInputsGenerator, GlobeGenerator)):
        x = jnp.broadcast_to(generator.x, (*generator.y.shape[:2], generator.x.shape[-1]))
        ones = jnp.ones(generator.y.shape[:2], generator.y.dtype)
        return [Batch(x, generator.y, ones, jnp.zeros_like(ones))]
    return []


def _functions(batch: Batch) -> list[np.ndarray]:
    """Inputs of the real points of every function that has any."""
    x, mask = np.asarray(batch.x), _any_output(batch.mask)
    rows = (x[i][mask[i] > 0] for i in range(len(x)))
    return [row for row in rows if len(row)]


def _any_output(mask: Array | np.ndarray) -> np.ndarray:
    """Mask (b, n) of the points of which any output counts."""
    values = np.asarray(mask)
    return values if values.ndim == 2 else values.max(axis=2)


def _real(batches: list[Batch], field: str) -> np.ndarray:
    """Rows (m, k) of all real points, NaN where an output is missing."""
    arrays = []
    for batch in batches:
        values, mask = np.asarray(getattr(batch, field)), np.asarray(batch.mask)
        if field == "y" and mask.ndim == 3:
            values = np.where(np.repeat(mask, values.shape[2] // mask.shape[2], 2), values, np.nan)
        arrays.append(values[_any_output(mask) > 0])
    return np.concatenate(arrays)


def _ranges(values: np.ndarray) -> tuple[Range, ...]:
    lows, highs = np.nanmin(values, axis=0), np.nanmax(values, axis=0)
    return tuple(_range(float(a), float(b)) for a, b in zip(lows, highs, strict=True))


def _range(low: float, high: float) -> Range:
    """Ends of four digits, of the distance between them where they are far from zero."""
    if low == high or max(abs(low), abs(high)) <= FAR * (high - low):
        return _brief(low, down=True), _brief(high)
    decimals = 3 - math.floor(math.log10(high - low))
    step = 10.0**-decimals
    return round(low - step, decimals), round(high + step, decimals)


def _brief(value, *, down: bool = False) -> float:
    """Four digits, rounded outwards, are enough and can be read."""
    value = float(value)
    margin = 5e-4 * abs(value)
    return float(f"{value - margin if down else value + margin:.4g}")


def _noise(
    noising: AbstractNoising, normaliser: Normaliser, loss: DenoisingLoss | None, x: np.ndarray
) -> Range | None:
    r"""Variances of the context's noise: ratios $\sigma^2 / a^2 = e^B - 1$ to those of K."""
    times = (DenoisingLoss() if loss is None else loss).context_noise_levels
    if len(set(normaliser.y_scale)) > 1 or normaliser.transform:
        return None  # such a model refuses noise, or its variance depends on the value
    low = 0.0 if times.clean_share > 0 and times.low <= NEAR_ZERO else times.low
    ratios = np.asarray([low, float(times.highest(noising.schedule))])
    if isinstance(noising, OrnsteinUhlenbeck):
        gram = noising.gram(jnp.asarray(x))
        if not isinstance(gram, DiagonalGram):
            return None  # noise has no time of its own, and is not amortised
        least, largest = float(jnp.min(gram.variance)), float(jnp.max(gram.variance))
        if largest > least * (1 + NEAR_ZERO):
            return None  # the limiting variance, and so the ratio, depends on the point
        variances = ratios * least
    else:
        variances = np.log1p(ratios)
    low, high = variances * normaliser.y_scale[0] ** 2
    return _brief(low, down=True), _brief(high)


def periods_of(normaliser: Normaliser | None) -> tuple[float, ...]:
    """Period of every input in a model's units, zero where it has none; empty for no periods."""
    return () if normaliser is None or normaliser is SAME_UNITS else normaliser.model_periods


def in_data_units(shift: tuple[float, ...], scale: tuple[float, ...], values: np.ndarray):
    """Undo a normaliser in NumPy's float64; JAX would compile for every number of points."""
    return np.asarray(shift) + np.asarray(scale) * np.asarray(values, np.float64)


def outputs_in_data_units(units: Normaliser, y: np.ndarray) -> np.ndarray:
    """Undo a normaliser, with its transforms; a model without one has the data's own units."""
    return y if units is SAME_UNITS else units.inverse_y(y)


def column_names(model: Any, part: str) -> tuple[tuple[str, str], ...]:
    """Names and units of the columns that training recorded, as a user's table has them.

    Args:
        model: A model with a record.
        part: "x" or "y", which is also their name where the model has none.
    """
    support, variables = model.support, model.variables
    count = len(support.inputs if part == "x" else support.outputs)
    known = () if variables is None else getattr(variables, {"x": "inputs", "y": "outputs"}[part])
    if len(known) != count:  # unit vectors, instead of a latitude and a longitude
        return ((part, ""),) * count
    return tuple((variable.name, variable.units) for variable in known)
