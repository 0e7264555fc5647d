"""Train a model's score on functions."""

from __future__ import annotations

import dataclasses
import tempfile
import warnings
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from geomndp import _validation
from geomndp._deprecated import translate
from geomndp._types import Array, Batch
from geomndp._validation import as_key
from geomndp.data import AbstractGenerator, ResampledGenerator
from geomndp.data.transformed_outputs import check_outputs
from geomndp.model.inputs import Seed, as_mask
from geomndp.model.model import Model, in_full_precision
from geomndp.model.support import with_support
from geomndp.model.units import common_centre, to_model_units
from geomndp.score import NetworkScore
from geomndp.train import DenoisingLoss, History, fit_score


def fit(
    model: Model,
    data: AbstractGenerator | Sequence[AbstractGenerator] | Batch | None = None,
    *,
    steps: int,
    key: Seed,
    loss: DenoisingLoss | None = None,
    directory: str | PathLike[str] | None = None,
    notes: dict[str, Any] | None = None,
    **options: Any,
) -> tuple[Model, History]:
    """Train a model.

    Args:
        model: A model with a `NetworkScore`.
        data: A generator of fresh functions, several that are interleaved, or a batch of functions
            in the data's units.
        steps: Number of training steps.
        key: Random key or seed of the whole run.
        loss: Loss of a batch; the plain denoising loss by default.
        directory: Folder for `log.csv`, `checkpoints/` and, when done, the model: `gn.load` and
            `geomndp condition` take the folder. Re-running the call resumes from the last
            checkpoint; a call with other data or settings is refused.
        notes: Metadata (JSON) to save with the model.
        **options: Those of `geomndp.train.fit_score`: `quiet`, `devices`, `optimiser`, ...

    Returns:
        The trained model, with averaged parameters, and the history of the run.

    Raises:
        ValueError: If there is nothing to train or to learn from, or the folder holds another run.

    Example:
        `model, history = gn.fit(model, generator, steps=3000, key=0, directory="run")`
    """
    options = translate("geomndp.train.fit.fit_score", options)
    if data is None:
        raise ValueError("expected functions to learn from, got none")
    if not isinstance(model.score, NetworkScore):
        raise ValueError(f"expected a NetworkScore to train, got {type(model.score).__name__}")
    if isinstance(data, Batch):
        functions = _functions(model, data)
        data = ResampledGenerator(functions=functions, batch_size=min(256, len(functions.x)))
    loss = DenoisingLoss(t_min=model.t_min) if loss is None else loss
    untrained, model = model.score, with_support(model, data, loss)
    if directory is not None:
        named = {"normaliser": model.normaliser, "variables": model.variables, "t_min": model.t_min}
        options = {"directory": directory, "model_settings": named, **options}
    keep = directory is not None and jax.process_index() == 0 and _can_be_kept(model, notes)
    score, history = fit_score(
        untrained, model.noising, data, steps=steps, key=as_key(key), loss=loss, **options
    )
    model = dataclasses.replace(model, score=score)
    if directory is not None and keep:
        seconds = float(history.seconds[-1]) if len(history.seconds) else 0.0
        notes = {"steps": steps, "training_seconds": seconds, **(notes or {})}
        in_full_precision(model).save(Path(directory) / "model", notes)
    return model, history


def _can_be_kept(model: Model, notes: dict[str, Any] | None) -> bool:
    """Whether the model can be written, found out before it is trained; a warning says why not."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            in_full_precision(model).save(Path(folder) / "model", notes)
        except ValueError as error:
            warnings.warn(f"only checkpoints will be kept, no model file: {error}", stacklevel=3)
            return False
    return True


def _functions(model: Model, data: Batch) -> Batch:
    """Functions of a user's batch in the model's units; masked points are padding.

    Far inputs count from a centre of each function where the model sees differences only.
    """
    mask, context = as_mask("mask", data.mask), as_mask("context", data.context)
    if mask.ndim == 3 and mask.shape[2] != model.score.num_groups:
        known = f"num_groups={model.score.num_groups}"
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
    noise = None if data.noise is None else _noise(model, data.noise, mask).astype(y.dtype)
    return Batch(x, y, mask.astype(x.dtype), context.astype(x.dtype), noise)


def _noise(model: Model, noise: Any, mask: Array) -> Array:
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
