"""Parts of a model as JSON, from which `parts` makes them again; code cannot be written."""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import numpy as np

from geomndp import _model_files
from geomndp.model.parts import PARAMETERS, TENSOR, arguments
from geomndp.model.tensors import parameters
from geomndp.nets.base import Configured


def describe(
    part: eqx.Module, tensors: dict[str, np.ndarray] | None = None, where: str = ""
) -> dict[str, Any]:
    """A registered module of plain fields as JSON.

    Arrays go into `tensors`, under the path of their field below `where`; without it they are
    refused.
    """
    tag = _model_files.tag_of(type(part))
    if tag is None:
        name = type(part).__name__
        raise ValueError(
            f"expected registered classes to save, got {name}: gn.register('role/name', {name})"
        )
    holder = part.config if isinstance(part, Configured) else part
    fields = {name: getattr(holder, name) for name in arguments(type(part))}
    document = {
        "kind": tag,
        **{name: _plain(f"{where}.{name}", value, tensors) for name, value in fields.items()},
    }
    if isinstance(part, Configured) and tensors is not None:
        own = parameters(part).items()
        document[PARAMETERS] = {
            path: _plain(f"{where}{path}", value, tensors) for path, value in own
        }
    return document


def _plain(where: str, value: Any, tensors: dict[str, np.ndarray] | None) -> Any:
    if isinstance(value, eqx.Module):
        return describe(value, tensors, where)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, (tuple, list)):
        return [_plain(f"{where}.{i}", item, tensors) for i, item in enumerate(value)]
    if isinstance(value, (np.ndarray, jax.Array)) and tensors is not None:
        tensors[where] = np.asarray(value)
        return {TENSOR: where}
    name = where.rpartition(".")[2]
    raise ValueError(f"expected a plain value for {name} to save, got {type(value).__name__}")
