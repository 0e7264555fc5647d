"""All that is measured of the 1D models, part by part, into one file of results."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from geomndp.data import REGIONS, Regression1D
from geomndp.experiments import results
from geomndp.experiments.regression1d.ablation import ablation
from geomndp.experiments.regression1d.ablation_configs import LIMITS, ablation_configs
from geomndp.experiments.regression1d.calibration import calibration
from geomndp.experiments.regression1d.evaluate import evaluate_on
from geomndp.experiments.regression1d.samplers import exact_rows, sampler_rows
from geomndp.experiments.regression1d.score_error import score_errors
from geomndp.experiments.regression1d.training import problem_for
from geomndp.model import Model
from geomndp.model.likelihood_routes import ROUTES


def measure(
    name: str,
    model: Model,
    path: str | PathLike,
    *,
    num: int = 1024,
    problem: Regression1D | None = None,
    routes: tuple[str, ...] = ROUTES,
    regions: tuple[str, ...] = tuple(REGIONS),
    probes: int | None = None,
    calibrate: int = 1024,
    directory: str | PathLike | None = None,
    **options,
) -> None:
    """Scores by both routes, calibration and, for Gaussian data, score errors of one model.

    Every part is written to `path` as soon as it is known, and not measured again where it stands
    there already. `directory` keeps blocks of unfinished parts. Options go to `evaluate_on`.
    """
    problem = problem_for(name) if problem is None else problem

    def part(keys: tuple[str, ...], function, *arguments, **settings):
        if results.lookup(results.read(path), *keys) is None:
            results.update(path, keys, function(*arguments, **settings))

    def blocks(*names: str) -> Path | None:
        return None if directory is None else Path(directory, name, "-".join(names))

    for region in regions:
        for route in routes:
            settings = {"num": num, "region": region, "route": route, "probes": probes, **options}
            settings["directory"] = blocks(region, route)
            part(("scores", name, region, route), evaluate_on, model, problem, **settings)
        if calibrate:
            settings = {"num": calibrate, "region": region, "directory": blocks(region, "samples")}
            part(("calibration", name, region), calibration, model, problem, **settings)
    if problem.process.gp is not None:
        part(("gaps", name), score_errors, model, problem, test=True)


def measure_samplers(
    name: str, model: Model, path: str | PathLike, *, exact: bool = True, **options
) -> None:
    """Conditional samplers with the learnt score and, if `exact`, with the exact one.

    Options are those of `sampler_rows`. The exact part needs no accelerator.
    """
    problem = problem_for(name)
    results.update(path, ("samplers", name, "learnt"), sampler_rows(model, problem, **options))
    if exact:
        shared = ("num", "contexts", "targets", "samplers")
        kept = {option: options[option] for option in shared if option in options}
        results.update(path, ("samplers", name, "exact"), exact_rows(model, problem, **kept))


def measure_ablation(name: str, path: str | PathLike, *, steps: int, **options) -> None:
    """The ablation, limiting kernel by limiting kernel; those in the file are not made again.

    Options are those of `ablation`.
    """
    rows: list[dict] = results.read(path).get("ablation", {}).get(name, [])
    for limit in LIMITS:
        if limit not in {row["limit"] for row in rows}:
            chosen = [setting for setting in ablation_configs() if setting.limit == limit]
            rows = rows + ablation(name, steps=steps, chosen=chosen, **options)
            results.update(path, ("ablation", name), rows)
