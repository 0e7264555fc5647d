"""All types of cases: how often each is drawn, and how much of it is mutated."""

from __future__ import annotations

from typing import NamedTuple

from fuzz import calls, command_line, model_files, other_models, pictures, readers, tables
from fuzz.engine import MakeCase


class CaseType(NamedTuple):
    """How cases of one type are made."""

    make: MakeCase
    weight: float
    share: float


CASE_TYPES = {
    "condition": CaseType(calls.condition, 20, 0.4),
    "sample": CaseType(calls.sample, 3, 0.3),
    "prior": CaseType(calls.prior, 3, 0.4),
    "log_prob": CaseType(calls.log_prob, 2, 0.35),
    "neural": CaseType(other_models.neural, 5, 0.3),
    "globe": CaseType(other_models.globe, 5, 0.4),
    "patches": CaseType(other_models.patches, 3, 0.1),
    "many": CaseType(other_models.many, 3, 0.2),
    "parts": CaseType(calls.parts, 8, 1.0),
    "table": CaseType(tables.table, 8, 0.3),
    "functions": CaseType(tables.functions, 12, 0.3),
    "build": CaseType(tables.build, 2, 0.2),
    "line": CaseType(command_line.line, 9, 0.5),
    "reader": CaseType(readers.reader, 14, 0.95),
    "other_files": CaseType(readers.other_files, 6, 0.95),
    "model_file": CaseType(model_files.model_file, 16, 0.6),
    "plot": CaseType(pictures.plot, 3, 0.5),
    "summary": CaseType(pictures.summary, 10, 0.5),
}
PROCESS = CaseType(command_line.process, 0, 0.4)
