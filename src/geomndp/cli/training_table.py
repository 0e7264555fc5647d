"""The shipped models: how large they are and how they were trained, from their files."""

from __future__ import annotations

import math
from typing import Any

from geomndp import _model_files
from geomndp._safetensors import read_contents
from geomndp.experiments.registry import Table

TITLE = "Sizes and training of the shipped models"
HEADER = (
    "model",
    "network",
    "layers x width",
    "parameters",
    "file, MB",
    "steps",
    "batch",
    "training",
)
TABLES = ("base.", "noising.")
"""Beginnings of names of arrays that are no parameters of a network: tables of its processes."""


def training_records() -> dict[str, dict[str, Any]]:
    """Size and training of every shipped model by its name.

    Returns:
        Class of the network, `num_layers`, `width`, number of `parameters`, `bytes` of the file,
        training `steps`, `batch_size` and remarks on the `training`; None for what is not known.
    """
    return {name: _record(name) for name in _model_files.names()}


def training_table() -> Table:
    """The same as a table, one row per model, files in megabytes (10^6 bytes)."""
    return Table(TITLE, HEADER, [_cells(*item) for item in training_records().items()])


def _record(name: str) -> dict[str, Any]:
    from geomndp.model.legacy import upgrade  # only here: `geomndp list` alone imports no JAX

    path = _model_files.find(name)
    document, file = upgrade(_model_files.document(path)), _model_files.weights(path)
    network, notes = document.get("net") or document.get("process") or {}, document["metadata"]
    tag = network.get("kind", "")
    alias = f"the same model as {notes['trained_as']}" if "trained_as" in notes else None
    tensors = read_contents(file).tensors
    learnt = [tensor for key, tensor in tensors.items() if not key.startswith(TABLES)]
    return {
        "network": getattr(_model_files.class_of(tag), "__name__", tag),
        "num_layers": network.get("num_layers"),
        "width": network.get("width"),
        "parameters": sum(math.prod(tensor.shape) for tensor in learnt),
        "bytes": file.stat().st_size,
        "steps": notes.get("steps"),
        "batch_size": notes.get("batch_size"),
        "training": alias or notes.get("training"),
    }


def _cells(name: str, record: dict[str, Any]) -> tuple[str, ...]:
    sizes = (record["num_layers"], record["width"])
    return (
        name,
        record["network"],
        "" if None in sizes else f"{sizes[0]} x {sizes[1]}",
        f"{record['parameters']:,}",
        f"{record['bytes'] / 1e6:.2f}",
        "" if record["steps"] is None else f"{record['steps']:,}",
        str(record["batch_size"] or ""),
        record["training"] or "",
    )
