"""What is measured of trained vector-field models, into one file of results.

python -m geomndp.experiments.vector_fields.measure runs/df --out results.json
python -m geomndp.experiments.vector_fields.measure --efficiency runs/a runs/df --out results.json

Folders are those that `geomndp train` wrote. The first command also scores every run on test
fields, into `results.json` in its folder, from which the second takes the points of a curve. A part
that stands in a file is not measured again.
"""

import argparse
from os import PathLike
from pathlib import Path

import jax.random as jr

from geomndp import _model_files
from geomndp.experiments import results
from geomndp.experiments.vector_fields.evaluate import evaluate_on, field_score_errors
from geomndp.experiments.vector_fields.physics import sample_physics
from geomndp.experiments.vector_fields.training import problem_for
from geomndp.experiments.vector_fields.unseen_locations import UNSEEN, evaluate_unseen
from geomndp.model import Model, load


def evaluate_run(
    name: str, model: Model, run: str | PathLike, *, num: int = 512, probes: int = 8
) -> None:
    """Score errors, and log-likelihoods by both routes on `num` fields, for the model of a run."""
    path = Path(run) / "results.json"
    problem = problem_for(name)
    if results.lookup(results.read(path), "gaps", name) is None:
        results.update(path, ("gaps", name), field_score_errors(model, problem))
    for route in ("conditional", "joint"):
        if results.lookup(results.read(path), "scores", name, route) is None:
            kept = Path(run) / "blocks" / route
            options = {"num": num, "probes": probes, "route": route, "directory": kept}
            metrics = evaluate_on(model, problem, **options)
            results.update(path, ("scores", name, route), metrics)


def measure(
    name: str,
    model: Model,
    path: str | PathLike,
    *,
    num: int = 128,
    samples: int = 512,
    **options,
) -> None:
    """Physics of `samples` prior samples, and scores at unseen locations on `num` fields each.

    Further options are those of `evaluate_unseen`.
    """
    problem = problem_for(name)
    if results.lookup(results.read(path), "physics", name) is None:
        metrics = sample_physics(model, problem, num=samples, key=jr.key(0))
        results.update(path, ("physics", name), metrics)
    for grid in options.pop("names", None) or UNSEEN:
        if results.lookup(results.read(path), "elsewhere", name, grid) is None:
            metrics = evaluate_unseen(model, problem, num=num, names=(grid,), **options)
            results.update(path, ("elsewhere", name, grid), metrics[grid])


def add_efficiency(run: str | PathLike, path: str | PathLike) -> None:
    """Add the score of one run to the curve of its model, in place of one with as many fields."""
    notes = _model_files.metadata(Path(run) / "model")
    name, scores = notes["experiment"], results.read(Path(run) / "results.json")
    metrics = results.lookup(scores, "scores", notes["experiment"], "conditional")
    if metrics is None:
        raise ValueError(f"expected scores of {name} in {Path(run) / 'results.json'}, got none")
    point = {key: notes[key] for key in ("functions", "steps")}
    kept = ("log_prob", "regret", "num", "probes", "probe_error", "solver_error")
    point |= {key: metrics[key] for key in kept}
    curve = results.lookup(results.read(path), "efficiency", name) or []
    others = [old for old in curve if old["functions"] != point["functions"]]
    results.update(path, ("efficiency", name), [*others, point])


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Measure trained vector-field models.")
    parser.add_argument("runs", nargs="+")
    parser.add_argument("--out", required=True)
    parser.add_argument("--efficiency", action="store_true", help="points of a curve, no more")
    parser.add_argument("--fields", type=int, default=512, help="test fields of the scores")
    parser.add_argument("--num", type=int, default=128, help="test fields at unseen locations")
    parser.add_argument("--samples", type=int, default=512, help="samples of the physical check")
    return parser.parse_args()


def main() -> None:
    """Measure every run."""
    options = arguments()
    for run in options.runs:
        if options.efficiency:
            add_efficiency(run, options.out)
            continue
        path = Path(run) / "model"
        name, model = _model_files.metadata(path)["experiment"], load(path)
        evaluate_run(name, model, run, num=options.fields)
        measure(name, model, options.out, num=options.num, samples=options.samples)


if __name__ == "__main__":
    main()
