"""Training of a neural process in the data's units."""

from __future__ import annotations

import dataclasses
from os import PathLike
from pathlib import Path
from typing import Any

import jax
import numpy as np

from geomndp._types import Batch
from geomndp._validation import as_key
from geomndp.baselines.neural_processes.autoregressive import Autoregressive
from geomndp.baselines.neural_processes.training import NeuralProcessLoss, fit_process
from geomndp.data import ResampledGenerator
from geomndp.model import ProcessModel, with_support
from geomndp.model.inputs import Seed
from geomndp.model.training_functions import functions_in_units
from geomndp.nets.changed_config import with_config
from geomndp.train import History


def train_process(
    model: Any,
    data: Any,
    *,
    steps: int,
    key: Seed,
    loss: Any = None,
    directory: str | PathLike[str] | None = None,
    notes: dict[str, Any] | None = None,
    **options: Any,
) -> tuple[ProcessModel, History]:
    """Train a neural process in the data's units; arguments as those of `gn.fit`.

    Args:
        model: Model of the process with its initial parameters.
        data: A generator, several that are interleaved, or a batch in the data's units.
        steps: Number of training steps.
        key: Random key or seed of the run.
        loss: Its own, `NeuralProcessLoss`, and no other.
        directory: Folder for the run and, when done, the model.
        notes: Metadata (JSON) to save with the model.
        **options: Those of `fit_process`.

    Returns:
        The trained model and the history of losses.

    Raises:
        ValueError: If there is nothing to train or to learn from.
    """
    process = model.process
    if not isinstance(loss, NeuralProcessLoss | None):
        raise ValueError(f"expected the loss of neural processes, got {type(loss).__name__}")
    if data is None:
        raise ValueError("expected functions to learn from, got none")
    if isinstance(data, Batch):
        functions = functions_in_units(model, data)
        process = _with_room(process, functions)
        data = ResampledGenerator(functions=functions, batch_size=min(256, len(functions.x)))
    model = with_support(model, data)
    if directory is not None:
        named = {"normaliser": model.normaliser, "variables": model.variables}
        options = {"directory": directory, "model_settings": named, **options}
    trained, history = fit_process(process, data, steps=steps, key=as_key(key), **options)
    model = dataclasses.replace(model, process=in_full_precision(trained))
    if directory is not None and jax.process_index() == 0:
        seconds = float(history.seconds[-1]) if len(history.seconds) else 0.0
        times = {"training_seconds": seconds, "step_seconds": history.step_seconds()}
        notes = {"steps": steps, **times, **(notes or {})}
        model.save(Path(directory) / "model", notes)
    return model, history


def _with_room(process: Any, functions: Batch) -> Any:
    """A process with room for every function by itself, where it has a grid."""
    for x, mask in zip(np.asarray(functions.x), np.asarray(functions.mask), strict=True):
        process = process.with_room(x[mask.reshape(len(x), -1).any(axis=1)])
    return process


def in_full_precision(process: Any) -> Any:
    """A process with its parameters, computed in their own dtype.

    Args:
        process: A neural process, of which products may have been in bfloat16 while it was trained.
    """
    if isinstance(process, Autoregressive):
        return dataclasses.replace(process, process=in_full_precision(process.process))
    if getattr(process.config, "compute_dtype", None) is None:
        return process
    return with_config(process, compute_dtype=None)
