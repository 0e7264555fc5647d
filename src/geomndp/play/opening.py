"""Sessions of saved models, with the exact process where their experiment knows it."""

from __future__ import annotations

import os
from typing import Any

from geomndp import _model_files
from geomndp.experiments import registry
from geomndp.model import ProcessModel, load
from geomndp.model.base import AbstractModel
from geomndp.play.session import Session


def open_session(name: str | os.PathLike, start: dict[str, Any] | None = None) -> Session:
    """Load a model and make its session.

    Args:
        name: Shipped name, path, or folder of a training.
        start: State that a page begins with: any of `observations`, `samples`, `seed`, ...

    Returns:
        The session, with the exact process of the model's functions where it is known, and the
        student of a shipped model where one ships.

    Raises:
        ValueError: If there is no such model, it cannot be drawn, or the state does not fit it.

    Example:
        `open_session("regression1d/se").answer({"truth": True})["truth"]["mean"]`
    """
    model = load(name)
    return Session(model, os.fspath(name), exact_process(name, model), start, shipped_student(name))


def exact_process(name: str | os.PathLike, model: AbstractModel) -> AbstractModel | None:
    """The exact process beside a saved model.

    Args:
        name: Shipped name or path of the model, whose metadata name its experiment.
        model: The model itself, for the names of its inputs and outputs.

    Returns:
        The process in the model's place, None where it is unknown.
    """
    trained = _model_files.metadata(name).get("experiment")
    known = registry.models()
    if trained not in known or model.variables is None:
        return None
    process = known[trained].exact(trained)
    if process is None:
        return None
    variables = model.variables
    return ProcessModel(process).with_variables(
        variables.input_names, variables.output_names, domain=variables.domain
    )


def shipped_student(name: str | os.PathLike) -> AbstractModel | None:
    """The student of a shipped model.

    Args:
        name: Shipped name or path of a model; models of the user have no student that ships.

    Returns:
        The student, None where none ships.
    """
    known, shipped = f"{os.fspath(name)}-student", _model_files.names()
    # A file or folder of the same name comes first, as in `load`.
    is_shipped = os.fspath(name) in shipped and _model_files.find(name).is_relative_to(
        _model_files.folder()
    )
    return load(known) if is_shipped and known in shipped else None
