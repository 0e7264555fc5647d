"""A user's batch of training functions in a model's units."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from geomndp import _validation
from geomndp._types import Array, Batch
from geomndp.data.transformed_outputs import check_outputs
from geomndp.model.base import AbstractModel
from geomndp.model.inputs import as_mask
from geomndp.model.units import common_centre, to_model_units
from geomndp.tables.known_noise import warn_about_size


def functions_in_units(model: AbstractModel, data: Batch) -> Batch:
    """Functions of a user's batch in the model's units; masked points are padding.

    Far inputs count from a centre of each function where the model sees differences only.

    Args:
        model: The model.
        data: Functions in the data's units.

    Raises:
        ValueError: If masks, values or their noise do not fit the model.
    """
    mask, context = as_mask("mask", data.mask), as_mask("context", data.context)
    if mask.ndim == 3 and mask.shape[2] != model.num_groups:
        known = f"num_groups={model.num_groups}"
        raise ValueError(f"expected mask (b, n, g) of a network's {known}, got {mask.shape[2]}")
    for values in (data.x, data.y):
        gone = _validation.missing(values, rank=2)
        if gone is not None:
            gone = gone if mask.ndim == 2 else gone[:, :, None]
            mask = mask * jnp.asarray(~gone, mask.dtype)
    dtype, normaliser = jnp.result_type(float), model.normaliser
    x, y = (v if isinstance(v, jax.Array) else np.ma.getdata(v) for v in (data.x, data.y))
    if normaliser is not None:
        for values, counted in zip(np.asarray(y), np.asarray(mask), strict=True):
            check_outputs(normaliser.transform, values, counted)
        with np.errstate(divide="ignore", invalid="ignore"):  # of padding
            y = normaliser.forward_y(y)
    if isinstance(x, jax.Array):
        x = x if normaliser is None else normaliser.forward_x(x)
    else:
        counted = zip(x, np.asarray(mask), strict=True)
        rows = [to_model_units(model, v, dtype, common_centre(model, v, m), m) for v, m in counted]
        x = np.stack(rows)
    x, y = jnp.asarray(x), jnp.asarray(y)
    noise = None
    if data.noise is not None:
        noise = _noise(model, data.noise, mask).astype(y.dtype)
        names = [f"y[{i}]" for i in range(y.shape[2])]
        warn_about_size(names, np.asarray(y), np.broadcast_to(noise[:, :, None], y.shape))
    return Batch(x, y, mask.astype(x.dtype), context.astype(x.dtype), noise)


def _noise(model: AbstractModel, noise: Any, mask: Array) -> Array:
    """Variances (b, n) of the values' known noise in the model's units."""
    _validation.shape("noise", noise, mask.shape[:2])
    rows = mask if mask.ndim == 2 else jnp.max(mask, axis=2)
    noise = jnp.where(rows > 0, jnp.asarray(noise), 0.0)
    _validation.not_negative(noise=noise)
    if model.normaliser is None:
        return noise
    if model.normaliser.transform:
        raise ValueError("expected outputs without a transform for known noise, got one")
    return model.normaliser.forward_noise(noise.reshape(-1)).reshape(noise.shape)
