"""A trained model as the start for new data: its units, its columns and its network are kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from geomndp.auto.defaults import PEAKS
from geomndp.auto.plan import TrainingPlan
from geomndp.auto.training_stream import training_stream
from geomndp.data import Normaliser
from geomndp.evaluate.table_tasks import FunctionRows, read_function_rows
from geomndp.model import Model
from geomndp.model.base import AbstractModel
from geomndp.nets import Steerable2, Steerable3
from geomndp.score import NetworkScore
from geomndp.tables import Functions, Variables
from geomndp.train import default_loss

SLOWER = 3.0
"""By how much the highest learning rate is below that of a training from scratch."""


def fine_tuning_plan(
    model: AbstractModel, table: Any, *, function: str | None = None, batch_size: int = 64
) -> TrainingPlan:
    """Plan to train a model further on the functions of a table.

    Args:
        model: A trained model with names of its inputs and outputs; its normaliser is kept, so
            that its parameters keep their meaning. Laws without one network (Gaussian ones,
            mixtures) are refused.
        table: A DataFrame with a column, or a Dataset with a dimension, that names functions, and
            the model's columns. Rows that lack an output are left out.
        function: Name of that column or dimension; "function" by default.
        batch_size: Functions per training step.

    Returns:
        A plan for `gn.fit(plan, steps=..., key=...)`.

    Raises:
        ValueError: If the model has no names or no network, or the table other columns or units.

    Example:
        `plan = fine_tuning_plan(gn.load("runs/mine"), table, function="day")`
    """
    if model.variables is None:
        raise ValueError(
            "expected a model that names its inputs and outputs, got none; see with_variables"
        )
    if not isinstance(model, Model) or not isinstance(model.score, NetworkScore):
        law = model.score if isinstance(model, Model) else model
        raise ValueError(
            f"expected a network to train, got a {type(law).__name__}; fit a plan of gn.build to "
            "all functions, old and new, instead"
        )
    rows = read_function_rows(table, model.variables, function or "function")
    functions = _padded(rows, model.variables)
    units = model.normaliser or Normaliser()
    net = model.score.net
    data = training_stream(functions, units, batch_size, isinstance(net, Steerable2 | Steerable3))
    peak = PEAKS.get(type(net), 1e-3) / SLOWER
    description = (
        ("start", f"a trained {type(net).__name__}, whose units are kept"),
        ("data", f"{len(functions.x)} functions, {int(functions.mask.sum())} points"),
        ("training", f"highest learning rate {peak:.2g}"),
    )
    loss = default_loss(model.variables.codomain)
    return TrainingPlan(model, data, loss, peak, description, functions)


def _padded(rows: Mapping[str, FunctionRows], variables: Variables) -> Functions:
    """Functions padded to one length, complete rows only."""
    complete = [
        FunctionRows(part.x[there], part.y[there])
        for part in rows.values()
        if (there := np.all(np.isfinite(part.y), axis=1)).any()
    ]
    if not complete:
        raise ValueError("expected functions with all outputs at some point, got none")
    n = max(len(part.x) for part in complete)
    mask = np.arange(n)[None] < np.array([len(part.x) for part in complete])[:, None]
    x, y = (
        np.stack([np.pad(values, ((0, n - len(values)), (0, 0)), mode="edge") for values in arrays])
        for arrays in zip(*complete, strict=True)
    )
    return Functions(x, y, mask, variables)
