"""All kinds of cases: how often each is made, and how much of it is twisted."""

from __future__ import annotations

from typing import NamedTuple

from fuzz import calls, command_line, model_files, pictures, readers, tables
from fuzz.engine import Kind as Make


class Kind(NamedTuple):
    """How cases of a kind are made."""

    make: Make
    weight: float
    share: float


KINDS = {
    "condition": Kind(calls.condition, 20, 0.4),
    "sample": Kind(calls.sample, 3, 0.3),
    "prior": Kind(calls.prior, 3, 0.4),
    "log_prob": Kind(calls.log_prob, 2, 0.35),
    "parts": Kind(calls.parts, 8, 1.0),
    "table": Kind(tables.table, 8, 0.3),
    "functions": Kind(tables.functions, 12, 0.3),
    "build": Kind(tables.build, 2, 0.2),
    "line": Kind(command_line.line, 9, 0.5),
    "reader": Kind(readers.reader, 14, 0.95),
    "other_files": Kind(readers.other_files, 6, 0.95),
    "model_file": Kind(model_files.model_file, 16, 0.6),
    "plot": Kind(pictures.plot, 3, 0.5),
    "summary": Kind(pictures.summary, 10, 0.5),
}
PROCESS = Kind(command_line.process, 0, 0.4)
