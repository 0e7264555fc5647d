"""`gn.fit`: fit a plan by selection, or train one model."""

from __future__ import annotations

import dataclasses
import tempfile
import warnings
from os import PathLike
from pathlib import Path
from typing import Any

import jax
import jax.random as jr
import numpy as np

from geomndp import _validation
from geomndp._deprecated import translate
from geomndp._types import Batch
from geomndp._validation import as_key
from geomndp.auto.plan import DEFAULT_MINUTES, TrainingPlan
from geomndp.data import ResampledGenerator
from geomndp.model import Model, ProcessModel, with_support
from geomndp.model.base import AbstractModel
from geomndp.model.inputs import Seed
from geomndp.model.model import in_full_precision
from geomndp.model.training_functions import functions_in_units
from geomndp.score import NetworkScore
from geomndp.tables import is_table
from geomndp.train import DenoisingLoss, History, fit_score
from geomndp.train.abstract_loss import AbstractLoss


def fit(
    model: AbstractModel | TrainingPlan,
    data: Any = None,
    *,
    steps: int | None = None,
    minutes: float | int | None = None,
    key: Seed,
    loss: AbstractLoss | None = None,
    directory: str | PathLike[str] | None = None,
    notes: dict[str, Any] | None = None,
    **options: Any,
) -> tuple[Any, Any]:
    """Fit a plan within a time, choosing between simple and learnt laws; or train one model.

    A plan without `steps` is fitted by selection: a fifth of the functions is held out, models are
    fitted to the others and compared by the log-density of held-out values given contexts; the best
    law, or mixture, is fitted to all functions. Each fifth is held out in turn of fewer than 160
    functions for Gaussian processes, where time allows, and of fewer than 40, or 40 groups, for
    networks and for functions in the order of time. Simple laws win ties. With `steps`, or a model,
    one network is trained.

    Args:
        model: A plan of `gn.build`, which has its own data, loss and options, or a model with a
            `NetworkScore` or a neural process.
        data: A generator of fresh functions, several that are interleaved, or a batch of functions
            in the data's units; for a trained model also a table of new functions, with the name of
            its column as `function`: the model goes on in its own units.
        steps: Number of training steps of one network.
        minutes: Time for a selection; by default until validation stops improving, at most 5.
        key: Random key or seed of the whole run.
        loss: Loss of a batch; the plain denoising loss by default.
        directory: Folder for the run and, when done, the model: `gn.load` and `geomndp condition`
            take the folder. Re-running the call resumes where it was stopped; a call with other
            data or settings is refused.
        notes: Metadata (JSON) to save with the model.
        **options: `quiet`; with `steps` also those of `geomndp.train.fit_score`: `devices`, ...

    Returns:
        By selection a `Model`, `ProcessModel` or `MixtureProcess`, and a `SelectionReport` to
        print. With `steps` the trained model, with averaged parameters, and the history of the run.

    Raises:
        ValueError: If there is nothing to train or to learn from, or the folder holds another run.

    Example:
        `model, report = gn.fit(plan, minutes=3, key=0, directory="run")`
    """
    if isinstance(model, AbstractModel) and is_table(data):
        from geomndp.auto.fine_tuning import fine_tuning_plan

        model, data = fine_tuning_plan(model, data, function=options.pop("function", None)), None
        steps = _checked(steps, minutes)
    if isinstance(model, TrainingPlan):
        if steps is None and _selects(model, minutes, data, loss, options):
            quiet = options.get("quiet", False)
            return _best_law(model, minutes, key, directory=directory, notes=notes, quiet=quiet)
        steps = _checked(steps, minutes)
        options = {**model.options(steps), **translate("geomndp.train.fit.fit_score", options)}
        loss = model.loss if loss is None else loss
        model, data = model.model, model.data if data is None else data
    common: dict[str, Any] = {"loss": loss, "directory": directory, "notes": notes}
    common["steps"] = _checked(steps, minutes)
    if isinstance(model, ProcessModel) and model.learnt:
        from geomndp.auto.neural_process_training import train_process

        return train_process(model, data, key=key, **common, **options)
    if not isinstance(model, Model):
        raise ValueError(f"expected a NetworkScore to train, got a {type(model).__name__}")
    return _train(model, data, key=key, **common, **options)


def _best_law(plan: TrainingPlan, minutes: float | int | None, key: Seed, **settings: Any) -> Any:
    """The best law of a plan within a time; arguments as those of `fit`."""
    from geomndp.auto.selection import select  # only here: its imports take a second

    limit = DEFAULT_MINUTES if minutes is None else float(minutes)
    return select(plan, minutes=limit, seed=as_seed(key), **settings)


def _train(
    model: Model,
    data: Any,
    *,
    steps: int,
    key: Seed,
    loss: Any,
    directory: str | PathLike[str] | None,
    notes: dict[str, Any] | None,
    **options: Any,
) -> tuple[Model, History]:
    """Train one model; arguments as those of `fit`."""
    options = translate("geomndp.train.fit.fit_score", options)
    if data is None:
        raise ValueError("expected functions to learn from, got none")
    if not isinstance(model.score, NetworkScore):
        raise ValueError(f"expected a NetworkScore to train, got {type(model.score).__name__}")
    if isinstance(data, Batch):
        functions = functions_in_units(model, data)
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
            warnings.warn(f"only checkpoints will be kept, no model file: {error}", stacklevel=4)
            return False
    return True


def _selects(plan: TrainingPlan, minutes: Any, data: Any, loss: Any, options: dict) -> bool:
    """Whether a plan is fitted by selection; refuse what that cannot take."""
    if minutes is not None:
        _validation.positive(minutes=minutes)
    given = [name for name, value in (("data", data), ("loss", loss)) if value is not None]
    given += [name for name in options if name != "quiet"]
    if given:
        raise ValueError(f"expected steps=... beside {given[0]}, got none")
    if isinstance(plan.model, ProcessModel):
        raise ValueError("expected steps=... for a plan of a neural process, got none")
    if plan.functions is None:
        raise ValueError("expected steps=... for a plan without functions, got none")
    if plan.functions.variables.codomain == "sphere" and not plan.resizable:
        raise ValueError("expected steps=... beside options of a network on the sphere, got none")
    if plan.functions.variables.domain == "sphere":
        raise ValueError("expected steps=... for a plan of fields on the sphere, got none")
    if plan.functions.noise is not None:
        raise ValueError(
            "expected steps=... for values with known noise, got none: candidates are compared by "
            "the density of held-out values, and the model is that of the clean functions"
        )
    return True


def _checked(steps: int | None, minutes: Any) -> int:
    """The number of steps of one training."""
    if minutes is not None:
        raise ValueError("expected minutes=... for a plan of gn.build, without steps, got both")
    if steps is None:
        raise ValueError("expected steps=... to train a model, got none")
    return steps


def as_seed(key: Seed) -> int:
    """A seed from a seed or a random key.

    Args:
        key: Seed or random key.

    Returns:
        A non-negative integer, the same for the same key.
    """
    if isinstance(key, int):
        return key
    return int(np.asarray(jr.key_data(as_key(key))).astype(np.uint64).sum() % (2**31))
