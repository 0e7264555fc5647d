"""The simple models of a plan, fitted to all of its functions: what a fit has to beat."""

from __future__ import annotations

from typing import TYPE_CHECKING

from geomndp import _validation
from geomndp.auto.fit import as_seed
from geomndp.auto.plan import DEFAULT_MINUTES, TrainingPlan
from geomndp.model.base import AbstractModel
from geomndp.model.inputs import Seed

if TYPE_CHECKING:
    from geomndp.auto.gaussian_stage import GaussianStage


def simple_models(
    plan: TrainingPlan, *, minutes: float | int = DEFAULT_MINUTES, key: Seed = 0
) -> dict[str, AbstractModel]:
    """Fit the simple models that a fit by selection compares with networks.

    Each has the transform of the outputs with the highest log-density of held-out functions, and is
    then fitted to all functions; no random scale is added to any of them.

    Args:
        plan: A plan of `gn.build`.
        minutes: Time of the whole fit, of which simple models get a share.
        key: Random key or seed of the fit, which holds out the same functions.

    Returns:
        "climatology" (every point by itself), "GP" (the pooled process) and, where functions share
        their inputs, "shrunk covariance", as models in the data's units; of vector fields
        "Helmholtz GP", over the Earth "GP on the sphere" beside them; of tracks on the sphere
        processes in local maps.

    Raises:
        ValueError: If the plan has no functions, or `minutes` is not positive.

    Example:
        ```python
        models = {"ours": model, **gn.simple_models(plan)}
        metrics = {name: gn.evaluate.on_tasks(m, table, tasks) for name, m in models.items()}
        print(gn.evaluate.compare(metrics))
        ```
    """
    from geomndp.auto.selection import Selection  # only here: its imports take a second

    _validation.positive(minutes=minutes)
    selection = Selection(plan, float(minutes), as_seed(key), None, lambda line: None)
    selection.fit_simple()
    models = {}
    for name in best_of_each(selection.gaussians):
        candidate = selection.gaussians.refit(name)
        kind, _, transform = name.partition(", ")
        report = f"{candidate.fit.name}, fitted to {selection.count} functions"
        report += f"; transform of the outputs: {transform}" if transform else ""
        law, maps = selection.gaussians.model(name, report=report), selection.plan.maps
        models[kind] = law if maps is None else maps.model(law)
    return models


def best_of_each(candidates: GaussianStage) -> list[str]:
    """Names of the simple candidates with the best transform of each type, worst type first.

    Args:
        candidates: Fitted and measured candidates, named "GP", "GP, log" and so on.

    Returns:
        One name per type.
    """
    nats = {name: candidates.mean(held) for name, held in candidates.held_out.items()}
    best: dict[str, str] = {}
    for name in sorted(nats, key=lambda name: nats[name]):
        best[name.partition(", ")[0]] = name
    return sorted(best.values(), key=lambda name: nats[name])
