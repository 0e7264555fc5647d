"""Train a model's score on functions."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax.numpy as jnp

from geomndp._types import Batch, PRNGKeyArray
from geomndp.data import AbstractStream, Resampled
from geomndp.model.model import Model
from geomndp.model.recipe import Recipe
from geomndp.score import NetworkScore
from geomndp.train import DenoisingLoss, History, fit_score


def fit(
    model: Model | Recipe,
    data: AbstractStream | Batch | None = None,
    *,
    steps: int,
    key: PRNGKeyArray,
    loss: DenoisingLoss | None = None,
    **options: Any,
) -> tuple[Model, History]:
    """Train for `steps` steps on a stream of fresh functions, or on those of a batch.

    Options as those of `geomndp.train.fit_score`: `directory` for checkpoints and resume,
    `quiet`, `devices`, `optimiser`, ... A batch is in the data's units. A recipe of `gn.build` has
    its own data and options: `gn.fit(recipe, steps=..., key=...)`.
    """
    if isinstance(model, Recipe):
        options = {**model.options(steps), **options}
        loss = model.loss if loss is None else loss
        model, data = model.model, model.data if data is None else data
    if data is None:
        raise ValueError("expected functions to learn from, got none")
    if not isinstance(model.score, NetworkScore):
        raise ValueError(f"expected a NetworkScore to train, got {type(model.score).__name__}")
    if isinstance(data, Batch):
        functions = _normalised(model, data)
        data = Resampled(functions=functions, batch_size=min(256, len(functions.x)))
    loss = DenoisingLoss(eps=model.eps) if loss is None else loss
    score, history = fit_score(
        model.score, model.noising, data, steps=steps, key=key, loss=loss, **options
    )
    return dataclasses.replace(model, score=score), history


def _normalised(model: Model, data: Batch) -> Batch:
    normaliser = model.normaliser
    if normaliser is None:
        return data
    x, y = normaliser.forward_x(data.x), normaliser.forward_y(data.y)
    return data._replace(x=jnp.asarray(x), y=jnp.asarray(y))
