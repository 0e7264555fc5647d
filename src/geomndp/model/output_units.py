r"""Outputs between the data's units and the model's: changed in float64, rounded after.

Values such as $10^8 \pm 1$ are ordinary numbers to a model, whose units have their mean as origin,
but in the data's own units float32 cannot tell them apart: they are float64 then, whatever JAX's
default is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from geomndp import _validation
from geomndp._arrays import keep_float64, put
from geomndp._types import Array, Mask, Scalar
from geomndp.data import Normaliser
from geomndp.linalg import zero_masked
from geomndp.samplers import Observations

COARSE_SHARE = 1e-3
"""Share of the outputs' unit by which rounding may move a value."""


def _centre_and_spread(normaliser: Normaliser) -> tuple[np.ndarray, np.ndarray]:
    """What zero and one are in the data's units, through the transforms, per output."""
    parts = normaliser.y_shift, normaliser.y_scale, normaliser.transform
    ends = np.asarray([[-1.0], [0.0], [1.0]]) * np.ones(max(map(len, parts)))
    with np.errstate(over="ignore", invalid="ignore"):
        low, centre, high = normaliser.inverse_y(ends)
        return np.asarray(centre), np.asarray(high - low) / 2


def needs_float64(normaliser: Normaliser | None) -> bool:
    """Whether float32 rounds outputs in the data's units by much of their spread."""
    if normaliser is None:
        return False
    centre, spread = _centre_and_spread(normaliser)
    rounding = float(np.finfo(np.float32).eps) / 2 * np.abs(centre)
    return bool(np.any(rounding > COARSE_SHARE * spread))


def _refuse(normaliser: Normaliser, got: str) -> None:
    shifts, scales = _centre_and_spread(normaliser)
    worst = int(np.argmax(np.abs(shifts) / scales))
    raise ValueError(
        f"expected float64 for outputs near {shifts[worst]:.6g} with a spread of "
        f"{scales[worst]:.3g}, which float32 cannot tell apart, got {got}"
    )


def result_dtype(x: Any) -> Any:
    """Dtype of results: that of JAX's floats, else its default in the caller's mode."""
    if isinstance(x, jax.Array) and x.dtype in (jnp.float32, jnp.float64):
        return x.dtype
    return jnp.result_type(float)


def output_dtype(normaliser: Normaliser | None, dtype: Any, values: Any = None) -> Any:
    """Dtype of results in the data's units: `dtype`, or float64 where that cannot hold them.

    Args:
        normaliser: Change of units.
        dtype: Dtype that results have otherwise.
        values: What they depend on: a program that JAX traces in 32 bits has no float64.
    """
    if dtype != jnp.float32 or not needs_float64(normaliser):
        return dtype
    assert normaliser is not None
    if not all(_validation.concrete(leaf) for leaf in jax.tree.leaves(values)):
        _refuse(normaliser, "a program in float32: set jax_enable_x64, or sample outside of it")
    return jnp.dtype("float64")


def outputs_to_data_units(normaliser: Normaliser, y: Array) -> Array:
    """Values (..., p) of a model in the data's units, of `output_dtype`."""
    dtype = output_dtype(normaliser, y.dtype, y)
    if dtype == y.dtype:
        return in_units(normaliser.inverse_y, y)
    with jax.enable_x64(True):
        return put(normaliser.inverse_y(np.asarray(y, dtype)))


def outputs_to_model_units(normaliser: Normaliser, raw: Any, y: Array, mask: Mask | None) -> Array:
    """Outputs in the model's units; a transform need not allow those that are masked.

    Args:
        normaliser: Change of units.
        raw: Values (n, p) as they came.
        y: The same as an array of the model's dtype.
        mask: Mask (n,) or (n, p).
    """
    refuse_float32(normaliser, raw)
    with np.errstate(divide="ignore", invalid="ignore"):
        y = _rescale(normaliser.forward_y, raw, y)
    return zero_masked(y, mask) if normaliser.transform else y


def with_all_digits(normaliser: Normaliser, raw: Any, y: Array) -> Array:
    """Values (n, p) for transforms: `y`, or `raw` where float32 has lost their digits."""
    if y.dtype != np.float32 or not needs_float64(normaliser) or not _validation.concrete(raw):
        return y
    with jax.enable_x64(True):
        return put(raw, np.float64)


def output_jacobian(normaliser: Normaliser, y: Array, mask: Mask | None, dtype: Any) -> Scalar:
    """What the change of units adds to a log-density of values (n, p), of a `dtype`."""
    with keep_float64(y):
        mask = None if mask is None else mask.astype(y.dtype)
        return normaliser.log_jacobian(y, mask).astype(dtype)


def refuse_float32(normaliser: Normaliser, raw: Any) -> None:
    """Refuse values of float32, concrete or traced, that `output_dtype` would not give.

    Args:
        normaliser: Change of units.
        raw: Values in the data's units as they came.

    Raises:
        ValueError: If float32 has rounded them by much of their spread.
    """
    if needs_float64(normaliser) and getattr(raw, "dtype", None) == np.float32:
        _refuse(normaliser, "float32")


def _rescale(change: Callable, raw: Any, array: Array) -> Array:
    """The `array` of `raw` values in other units; what is concrete is rounded after the change."""
    if not _validation.concrete(raw) or (isinstance(raw, jax.Array) and raw.dtype == array.dtype):
        return in_units(change, array)
    return put(change(np.asarray(raw, dtype=np.float64)), array.dtype)


def in_units(change: Callable, array: Array) -> Array:
    """The `array` after a `change` of units; by NumPy where it can be, which compiles nothing."""
    if not _validation.concrete(array):
        return change(array)
    return put(change(np.asarray(array)))


def not_nan(what: str, result: Any) -> Any:
    """A result that holds no NaN; one that does is an error. Infinite may be a log-weight."""
    for leaf in jax.tree.leaves(result):
        if _validation.concrete(leaf) and np.any(np.isnan(np.asarray(leaf))):
            raise FloatingPointError(f"the {what} became NaN: values may be too large or too small")
    return result


def output_names(model: Any) -> tuple[str, ...]:
    """Names of a model's outputs, none where it has none."""
    return () if model.variables is None else model.variables.output_names


def noise_to_model_units(model: Any, observations: Observations) -> Array:
    """Variances of observations in the model's units, per value where outputs have several."""
    normaliser, noise, y = model.normaliser, observations.noise, observations.y
    if not normaliser.transform:
        apart = len(set(normaliser.y_scale)) > 1 and model.num_groups == y.shape[1]
        if apart and noise.ndim == 1:
            noise = jnp.broadcast_to(noise[:, None], y.shape)
        return in_units(normaliser.forward_noise, noise)
    if not (_validation.concrete(noise) and _validation.concrete(y)):
        return normaliser.forward_noise(noise, y)
    return put(normaliser.forward_noise(np.asarray(noise), np.asarray(y)))
