"""`geomndp list`: reads the cards of the shipped models, with --training their files too."""

from __future__ import annotations

import json

from rich.table import Table

from geomndp import _model_files
from geomndp._methods import method_names
from geomndp.cli.commands import List
from geomndp.cli.reproduce import console_of_tables, rich_table
from geomndp.cli.training_table import training_records, training_table
from geomndp.experiments.registry import EXPERIMENTS, Experiment, experiment


def list_models(command: List) -> None:
    """Print the shipped models, and the experiments that can be trained and reproduced."""
    if command.training:
        return _list_training(command)
    documents = {
        name: _model_files.document(_model_files.find(name)) for name in _model_files.names()
    }
    if command.json:
        shown = {name: doc["metadata"] | _columns(doc) for name, doc in documents.items()}
        print(json.dumps(shown, indent=1))
        return
    console = console_of_tables()
    for name in EXPERIMENTS:
        entry = experiment(name)
        groups: dict[str, dict[str, dict]] = {}
        for model in entry.models:
            if model in documents:
                metrics = documents[model]["metadata"]["metrics"]
                groups.setdefault(_column_heading(documents[model]), {})[model] = metrics
        for columns, models in groups.items():
            console.print(f"{columns}: {entry.columns.description}", soft_wrap=True)
            console.print(_table(entry, models), "")
    listed = ", ".join(EXPERIMENTS)
    console.print(f"experiments (geomndp train, evaluate, reproduce): {listed}", soft_wrap=True)
    methods = ", ".join(method_names())
    console.print(f"methods (geomndp train TABLE --method, gn.build): {methods}", soft_wrap=True)


def _list_training(command: List) -> None:
    """Print sizes and training instead of metrics."""
    if command.json:
        print(json.dumps(training_records(), indent=1))
        return
    console_of_tables().print(rich_table(training_table()))


def _columns(document: dict) -> dict[str, list[str]]:
    """Names under which a model's inputs and outputs stand in files."""
    names = document.get("variables") or {"inputs": [], "outputs": []}
    return {part: [variable["name"] for variable in names[part]] for part in ("inputs", "outputs")}


def _column_heading(document: dict) -> str:
    named = [", ".join(part) for part in _columns(document).values()]
    return " -> ".join(named) if all(named) else "for arrays, not for files"


def _table(entry: Experiment, models: dict[str, dict]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("model", overflow="fold")
    for header in entry.columns.headers:
        table.add_column(header, justify="right", overflow="fold")
    for name, metrics in models.items():
        table.add_row(name, *entry.columns.cells(metrics))
    return table
