"""Our diffusion models and rolled-out neural processes on the same functions, in pairs.

    python -m geomndp.experiments.neural_processes.paired --num 128 --out paired.json

Joint nats alone, by random probes with the exact score as a control variate where the truth is
Gaussian: a fraction of the time of `measure`. A set that stands in the file is not measured again.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import jax.random as jr

from geomndp import _validation
from geomndp._types import Batch
from geomndp.baselines.neural_processes.autoregressive import Autoregressive
from geomndp.data import Regression1D
from geomndp.evaluate import log_likelihood, summarise
from geomndp.experiments import results
from geomndp.experiments.neural_processes.evaluate import (
    KEY,
    SEED,
    in_model_units,
    padded_tasks,
    with_room,
)
from geomndp.experiments.neural_processes.experiment import NAMES, ROWS_1D, SETS, spec_for
from geomndp.experiments.neural_processes.measure import find_model
from geomndp.experiments.neural_processes.problems import problem_for
from geomndp.experiments.neural_processes.rows import DIFFUSION, diffusion_name
from geomndp.experiments.regression1d.evaluate import log_probs_of

SUITE, REGION = "gnp2020", "in-range"
ROLLED_OUT = tuple(label for label, row in ROWS_1D.items() if row.autoregressive)


def paired_set(
    dataset: str, *, num: int, probes: int, data: str | None = None, directory: Path | None = None
) -> dict[str, Any]:
    """Joint nats of one set by the diffusion model and by every rolled-out neural process.

    Args:
        dataset: Set of the suite.
        num: Number of test functions, the first ones of those of the tables.
        probes: Random probes of the diffusion model's divergence.
        data: Folder of trained models; by default only those that ship.
        directory: Keeps finished blocks of functions.

    Returns:
        "num", "probes", "diffusion" (nats per target), "probe_error" (of one function), where the
        truth is Gaussian "exact" and "regret", and "rows", label -> {"joint", "behind"}; pairs are
        means and standard errors over the functions. JSON-serialisable.

    Raises:
        ValueError: If there is no diffusion model of the set.
    """
    problem = problem_for(SUITE, dataset)
    assert isinstance(problem, Regression1D)
    tasks = problem.tasks(num, region=REGION, seed=SEED, dtype="float32")
    label = DIFFUSION[SUITE][0]
    found = find_model(diffusion_name(SUITE, dataset, label), data)
    if found is None:
        raise ValueError(f"expected a model {label} of {SUITE}/{dataset}, got none")
    folder = None if directory is None else directory / dataset
    kept = None if folder is None else folder / label
    options = {"probes": probes, "batch_size": 8, "block_size": 32, "directory": kept}
    ours = log_probs_of(found[0], problem, tasks, **options)
    per_target = ours.log_probs.per_target()
    result: dict[str, Any] = {
        "num": num,
        "probes": probes,
        "diffusion": list(summarise(per_target.value)),
        "probe_error": float(jnp.mean(per_target.probe_error)) if probes > 1 else None,
        "rows": {},
    }
    if ours.exact is not None:
        exact = ours.exact / ours.log_probs.num_targets
        result |= {"exact": list(summarise(exact))}
        result |= {"regret": list(summarise(exact - per_target.value))}
    for label in ROLLED_OUT:
        nats = rolled_out(dataset, label, problem, tasks, data=data, directory=folder)
        if nats is not None:
            behind = list(summarise(per_target.value - nats))
            result["rows"][label] = {"joint": list(summarise(nats)), "behind": behind}
    return result


def rolled_out(
    dataset: str,
    label: str,
    problem: Regression1D,
    tasks: Batch,
    *,
    data: str | None = None,
    directory: Path | None = None,
):
    """Joint nats per target of every function by a neural process, targets in a random order.

    Args:
        dataset: Set of the suite.
        label: One of `ROLLED_OUT`.
        problem: Protocol of the functions.
        tasks: The functions.
        data: Folder of trained models.
        directory: Keeps finished blocks of functions.

    Returns:
        Nats per target, shape (tasks,); None where no such model was trained.
    """
    found = find_model(NAMES[spec_for(SUITE, dataset, ROWS_1D[label].method)], data)
    if found is None:
        return None
    trained: Any = in_model_units(found[0])
    process: Any = Autoregressive(trained)
    process = with_room(process, padded_tasks(problem, len(tasks.y), REGION))
    kept = None if directory is None else directory / label
    options = {"batch_size": 8, "block_size": 32, "directory": kept}
    context = problem.contexts[1]
    totals = log_likelihood(process, tasks, num_context=context, key=jr.key(KEY), **options)
    return totals.per_target().value


def main() -> None:
    """Measure set by set."""
    parser = argparse.ArgumentParser(description="Diffusion models and neural processes, paired.")
    parser.add_argument("sets", nargs="*", help="sets of gnp2020; all by default")
    parser.add_argument("--num", type=int, default=128, help="test functions")
    parser.add_argument("--probes", type=int, default=2, help="random probes of the divergence")
    parser.add_argument("--out", required=True)
    parser.add_argument("--data", help="folder of trained models")
    parser.add_argument("--blocks", type=Path, help="folder that keeps finished blocks")
    options = parser.parse_args()
    for dataset in options.sets or SETS[SUITE]:
        _validation.one_of("set", dataset, SETS[SUITE])
        keys = ("paired", SUITE, dataset, REGION)
        if results.lookup(results.read(options.out), *keys) is None:
            found = {"data": options.data, "directory": options.blocks}
            metrics = paired_set(dataset, num=options.num, probes=options.probes, **found)
            results.update(options.out, keys, metrics)
            print(f"{dataset}: {metrics}", flush=True)


if __name__ == "__main__":
    main()
