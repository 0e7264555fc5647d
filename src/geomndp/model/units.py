r"""From the data's units to the model's: in float64, before anything is rounded.

Metres of a map's grid or seconds since 1970 have more digits than float32. A network that sees
inputs only through their differences gives the same answer whatever common origin is subtracted;
so that of far inputs is, in float64. Where that is not possible, inputs that rounding would merge
or move by much of their spacing are refused.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from geomndp import _validation
from geomndp._arrays import put
from geomndp._types import Array, Inputs, Mask, Outputs, Scalar
from geomndp.data import Normaliser
from geomndp.data.transformed_outputs import check_outputs, inside
from geomndp.kernels.sphere.zonal import AbstractSphereKernel, check_unit_vectors
from geomndp.model.inputs import (
    as_rows,
    check_columns,
    check_whole_rows,
    names_of,
    target_rows,
)
from geomndp.model.output_units import (
    noise_to_model_units,
    output_jacobian,
    output_names,
    outputs_to_model_units,
    with_all_digits,
)
from geomndp.model.point_distances import FAR, refuse_coarse
from geomndp.samplers import Observations
from geomndp.tables import is_table, read_inputs, read_rows


def common_centre(model: Any, x: Any, mask: Any = None) -> tuple[float, ...]:
    """What to subtract from inputs of a model, in its units: zeros, or `()`, where all are near."""
    columns = model.num_relative_inputs
    if not columns or not (_validation.concrete(x) and _validation.concrete(mask)):
        return ()
    rows = _real(_in_units(model.normaliser, np.asarray(x, np.float64)), mask)
    if not len(rows):
        return ()
    low, high = rows.min(axis=0), rows.max(axis=0)
    far = np.maximum(np.abs(low), np.abs(high)) > FAR * (high - low)
    far &= np.arange(len(far)) < columns
    return tuple(np.where(far, (low + high) / 2, 0.0).tolist()) if far.any() else ()


def to_model_units(
    model: Any, raw: Any, dtype: Any, centre: tuple[float, ...], mask: Any = None
) -> Array | np.ndarray:
    """Inputs, `raw` in the data's units, in those of the model less a common centre.

    Changed in float64 and rounded after, but where JAX traces them: hours since 1900 keep their
    minutes.
    """
    _check_resolution(raw, mask)
    concrete = _validation.concrete(raw)
    named = model.variables is not None and model.variables.domain == "sphere"
    if named or has_sphere_kernel(model):  # whose own check sees no numbers where it is compiled
        rows = _real(np.asarray(raw), mask) if concrete else raw
        rows = rows[:, :3] if named else _in_units(model.normaliser, rows)
        check_unit_vectors(rows, padding=not _validation.concrete(mask))
    if not concrete:
        x = _in_units(model.normaliser, raw.astype(dtype))
        return x - np.asarray(centre, dtype)[None] if centre else x
    x = _in_units(model.normaliser, np.asarray(raw, np.float64))
    x = x - np.asarray(centre)[None] if centre else x
    refuse_coarse(_real(x, mask), dtype)
    return x.astype(dtype)


def has_sphere_kernel(tree: Any) -> bool:
    """Whether a kernel on the sphere is part of a model, so that x are unit vectors."""

    def is_sphere_kernel(part: Any) -> bool:
        return isinstance(part, AbstractSphereKernel)

    return any(map(is_sphere_kernel, jax.tree.leaves(tree, is_leaf=is_sphere_kernel)))


def read_target_inputs(posterior: Any, x: Any) -> Inputs:
    """Inputs of a posterior's targets, arrays or a table, in the model's units."""
    raw, dtype = read_raw_inputs(posterior, x)
    return target_inputs(posterior, raw, dtype)


def read_raw_inputs(posterior: Any, x: Any) -> tuple[Any, Any]:
    """Checked inputs of a posterior's targets in the data's units, and the dtype to compute in."""
    raw = _read(posterior, read_inputs, x)[0] if is_table(x) else as_rows(x)
    x = _validation.as_float("x", raw, _dtype(posterior, x))
    _validation.function(x, dim=posterior.model.manifold.ambient_dim)
    _check_columns(posterior, x)
    _check_resolution(raw, None)  # here, since rounds and patches go on in float64
    return raw, x.dtype


def read_raw_rows(posterior: Any, table: Any) -> tuple[Any, Any]:
    """Inputs and values of a posterior's targets in a table, in the data's units."""
    return _read(posterior, read_rows, table)  # pyright: ignore[reportReturnType]


def read_targets(
    posterior: Any, x: Any, y: Any, mask: Any
) -> tuple[Inputs, Outputs, Mask | None, Scalar | float]:
    """Targets of a posterior and their values in the model's units, with the mask.

    The last is what the change of units adds to a log-density.
    """
    model, dtype = posterior.model, _dtype(posterior, x)
    if is_table(x):
        names_of(model, y, x, mask)
        x, y = read_raw_rows(posterior, x)
        check_whole_rows(y, model.num_groups)
    raw_x, raw_y, mask = target_rows(x, y, mask, model.manifold.ambient_dim, model.num_groups)
    x, y = _validation.as_float("x", raw_x, dtype), _validation.as_float("y", raw_y, dtype)
    mask = None if mask is None else mask.astype(x.dtype)
    _validation.function(x, y, dim=model.manifold.ambient_dim, mask=mask)
    _check_columns(posterior, x)
    model.manifold.check("y", y, mask)
    jacobian = 0.0
    if model.normaliser is not None:
        digits = with_all_digits(model.normaliser, raw_y, y)
        check_outputs(model.normaliser.transform, digits, mask, output_names(model))
        jacobian = output_jacobian(model.normaliser, digits, mask, y.dtype)
        z = outputs_to_model_units(model.normaliser, raw_y, y, mask)
        if model.normaliser.transform and not _validation.concrete(y):  # the Jacobian says -inf
            z = jnp.where(inside(model.normaliser.transform, y), z, 0.0)
        y = z
    return target_inputs(posterior, raw_x, x.dtype, mask), y, mask, jacobian


def _dtype(posterior: Any, x: Any) -> Any:
    """Dtype of targets: the model's, that of the context beside tables, else None: as they come."""
    own = posterior.model.dtype
    return posterior.observations.x.dtype if own is None and is_table(x) else own


def _read(posterior: Any, read: Callable, table: Any) -> tuple:
    """Inputs and, by some readers, values of a table."""
    own_origin = len(posterior.observations.x) == 0
    variables, origin = names_of(posterior.model), posterior.time_origin
    return read(variables, table, time_origin=origin, own_origin=own_origin)[:2]


def _check_columns(posterior: Any, x: Array) -> None:
    observed = posterior.observations.x
    check_columns(observed.shape[1] if len(observed) else posterior.model.input_dim, x)


def target_inputs(posterior: Any, raw: Any, dtype: Any, mask: Any = None) -> Array:
    """Inputs of a posterior's targets in the model's units, less the centre of its context.

    Without observations less one of their own.
    """
    centre = posterior.centre
    if len(posterior.observations.x) == 0:
        centre = common_centre(posterior.model, raw, mask)
    elif np.shape(raw)[-1] != len(centre):
        centre = ()  # there is none, or the columns are not those of the context: refused later
    x = to_model_units(posterior.model, raw, dtype, centre, mask)
    return x if isinstance(x, jax.Array) else put(x)


def _in_units(normaliser: Any, x: Any) -> Any:
    return x if normaliser is None else normaliser.forward_x(x)


def _real(x: np.ndarray, mask: Any) -> np.ndarray:
    if mask is None or not _validation.concrete(mask):
        return x
    real = np.asarray(mask) > 0
    return x[real if real.ndim == 1 else real.any(axis=1)]


def _check_resolution(raw: Any, mask: Any) -> None:
    """Refuse floats of low precision where the next one is not much nearer than the next point."""
    if _validation.concrete(raw):
        x = np.asarray(raw)
        if x.dtype.kind == "f" and x.dtype.itemsize < 8:
            refuse_coarse(_real(x, mask), x.dtype)


def in_model_units(
    model: Any, observations: Observations, x: Any, y: Any, centre: tuple[float, ...]
) -> Observations:
    """Observations, given as x and y in the data's units, in those of the model less a centre."""
    inputs = to_model_units(model, x, observations.x.dtype, centre, observations.mask)
    inputs = inputs if isinstance(inputs, jax.Array) else put(inputs)
    normaliser: Normaliser | None = model.normaliser
    if normaliser is None:
        return dataclasses.replace(observations, x=inputs)
    digits = with_all_digits(normaliser, y, observations.y)
    check_outputs(normaliser.transform, digits, observations.mask, output_names(model))
    return dataclasses.replace(
        observations,
        x=inputs,
        y=outputs_to_model_units(normaliser, y, observations.y, observations.mask),
        noise=noise_to_model_units(model, dataclasses.replace(observations, y=digits))
        if observations.noisy
        else observations.noise,
    )
