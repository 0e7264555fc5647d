"""Measure every row of the tables for which there is a process, set by set, on the same functions.

Trained models are looked for in a folder of runs, `FOLDER/NAME` for `geomndp train NAME --out
FOLDER/NAME`, then among those that ship.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax

from geomndp import _model_files, _validation
from geomndp.baselines.neural_processes.autoregressive import Autoregressive
from geomndp.evaluate.padded_tasks import PaddedTasks
from geomndp.experiments.neural_processes.cost import cost
from geomndp.experiments.neural_processes.evaluate import (
    FunctionMetrics,
    function_metrics,
    in_model_units,
    order_spread,
    padded_tasks,
    with_room,
)
from geomndp.experiments.neural_processes.experiment import (
    EXACT,
    FIELDS,
    NAMES,
    SETS,
    TEST_REGIONS,
    method_rows,
    spec_for,
)
from geomndp.experiments.neural_processes.problems import exact_process, problem_for
from geomndp.experiments.neural_processes.rows import DIFFUSION, diffusion_name
from geomndp.experiments.results import mean_and_error
from geomndp.model import load
from geomndp.predictive import AbstractProcess

FUNCTIONS_PER_ORDER = 16
"""The spread over orders is measured on a share of the functions: one of so many."""


KINDS = ("diffusion", "neural")
LABELS = tuple(
    dict.fromkeys(
        label for suite in SETS for label in (EXACT, *DIFFUSION[suite], *method_rows(suite))
    )
)
"""All rows of the tables."""


class Measured(NamedTuple):
    """A row of one set: its process, and what its card says."""

    label: str
    process: AbstractProcess
    notes: dict[str, Any]


def measure(
    num: int,
    *,
    only: Sequence[str] = (),
    data: str | None = None,
    directory: Path,
    minutes: float | None = None,
    log: Callable[[str], object] = print,
) -> dict[str, Any]:
    """Measure sets, one after the other; finished blocks of functions are not computed again.

    Args:
        num: Number of test functions.
        only: Sets such as "gnp2020/se", whole suites such as "gnp2020", rows such as "ConvCNP", or
            "diffusion" or "neural" for all rows of a kind; everything by default. The exact law is
            measured in any case: it is cheap, and others are compared with it.
        data: Folder of trained models; by default only those that ship.
        directory: Folder that keeps blocks of evaluations.
        minutes: None: nothing is fitted here.
        log: Callback for progress messages.

    Returns:
        Results, JSON-serialisable: "rows", suite -> set -> region -> label -> metrics, and "cost",
        suite -> set -> label -> cost.

    Raises:
        ValueError: If there is no such set or row, or a time is given.
    """
    if minutes is not None:
        raise ValueError(f"expected no time, since nothing is fitted, got minutes {minutes}")
    known = tuple(f"{suite}/{dataset}" for suite, sets in SETS.items() for dataset in sets)
    for name in only:
        _validation.one_of("set or row", name, (*SETS, *known, *KINDS, *LABELS))
    sets = [name for name in known if {name, name.split("/")[0]} & set(only)] or known
    results: dict[str, Any] = {"rows": {}, "cost": {}}
    for name in sets:
        suite, dataset = name.split("/")
        rows = list(processes(suite, dataset, data, chosen_labels(suite, only)))
        log(f"{name}: {', '.join(row.label for row in rows)}")
        rows_of_suite = results["rows"].setdefault(suite, {}).setdefault(dataset, {})
        for region in TEST_REGIONS[suite]:
            folder = directory / suite / dataset / region
            rows_of_suite[region] = measure_rows(suite, dataset, region, rows, num, folder, log)
        first = padded_tasks(problem_for(suite, dataset), 2, TEST_REGIONS[suite][0])
        costs = {row.label: cost(row.process, first, row.notes) for row in rows}
        results["cost"].setdefault(suite, {})[dataset] = costs
    return results


def chosen_labels(suite: str, only: Sequence[str]) -> tuple[str, ...]:
    """Trained rows of a suite to measure: those named, or of a named kind; all without names.

    Args:
        suite: A key of `SETS`.
        only: As of `measure`; names of sets say nothing about rows.

    Returns:
        Labels in the order of the table. Diffusion models of fields are measured by their own
        experiment.
    """
    kinds = {"diffusion": DIFFUSION[suite] if suite != FIELDS else (), "neural": method_rows(suite)}
    labels = [(kind, label) for kind, found in kinds.items() for label in found]
    if not {*KINDS, *LABELS} & set(only):
        return tuple(label for _, label in labels)
    return tuple(label for pair in labels if set(pair) & set(only) for label in pair[1:])


def processes(
    suite: str, dataset: str, data: str | None, labels: Sequence[str]
) -> Iterator[Measured]:
    """Processes of one set in the order of the table: the exact law, then all that was trained."""
    law = exact_process(problem_for(suite, dataset))
    if law is not None:
        yield Measured(EXACT, law, {})
    for label in (label for label in DIFFUSION[suite] if label in labels):
        found = find_model(diffusion_name(suite, dataset, label), data)
        if found is not None:
            yield Measured(label, *found)
    for label, row in method_rows(suite).items():
        if label not in labels:
            continue
        found = find_model(NAMES[spec_for(suite, dataset, row.method)], data)
        if found is not None:
            process: Any = in_model_units(found[0])
            yield Measured(
                label, Autoregressive(process) if row.autoregressive else process, found[1]
            )


def find_model(name: str | None, data: str | None) -> tuple[Any, dict[str, Any]] | None:
    """A trained model with the metadata of its card, None where there is none."""
    if name is None:
        return None
    run = None if data is None else Path(data) / name
    if run is not None and (run / "model.safetensors").exists():
        return load(run), _model_files.metadata(run)
    return (load(name), _model_files.metadata(name)) if name in _model_files.names() else None


def measure_rows(
    suite: str,
    dataset: str,
    region: str,
    rows: Sequence[Measured],
    num: int,
    directory: Path,
    log: Callable[[str], object],
) -> dict[str, dict[str, Any]]:
    """Metrics of all rows of one set on the same functions, with paired differences."""
    tasks = padded_tasks(problem_for(suite, dataset), num, region)
    measured: dict[str, FunctionMetrics] = {}
    spreads: dict[str, list[float]] = {}
    for label, process, _ in rows:
        log(f"{suite}/{dataset}, {region}: {label}")
        process = with_room(process, tasks)
        measured[label] = function_metrics(process, tasks, directory=directory / label)
        if isinstance(process, Autoregressive):
            few = _first(tasks, max(2, num // FUNCTIONS_PER_ORDER))
            spreads[label] = order_spread(process, few, directory=directory / f"{label}, orders")
    reference = next((label for label in DIFFUSION[suite] if label in measured), None)
    result = {}
    for label, metrics in measured.items():
        result[label] = {**metrics.summary(), "num": num, **paired(metrics, measured, reference)}
        if label in spreads:
            result[label]["order_spread"] = spreads[label]
    return result


def paired(
    metrics: FunctionMetrics, measured: dict[str, FunctionMetrics], reference: str | None
) -> dict[str, list[float]]:
    """What a row loses on the same functions: to the exact law, and to our diffusion model."""
    found = {}
    if EXACT in measured:
        exact = measured[EXACT]
        found["regret"] = mean_and_error(exact.joint - metrics.joint)
        found["marginal_regret"] = mean_and_error(exact.marginal - metrics.marginal)
    if reference is not None:
        found["behind_diffusion"] = mean_and_error(measured[reference].joint - metrics.joint)
    return found


def _first(tasks: PaddedTasks, num: int) -> PaddedTasks:
    return jax.tree.map(lambda values: values[:num], tasks)
