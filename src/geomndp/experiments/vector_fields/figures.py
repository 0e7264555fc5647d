"""Pictures of the vector-field models: samples, posteriors, rotated contexts, data efficiency."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import jax.numpy as jnp
import jax.random as jr
import numpy as np

from geomndp._types import Array, Inputs, Outputs, PRNGKeyArray
from geomndp.data import FieldProblem
from geomndp.equivariance import RigidTransform
from geomndp.experiments.vector_fields.experiment import MODELS, NAMES, VectorFieldSpec
from geomndp.experiments.vector_fields.likelihood_table import shipped
from geomndp.experiments.vector_fields.paper import DATASETS
from geomndp.experiments.vector_fields.rotated_sampler import RotatedNoiseSampler, rotation_90
from geomndp.experiments.vector_fields.training import problem_for
from geomndp.model import Model, load
from geomndp.plot import arrow_scale, save_figure, vector_field
from geomndp.samplers import Amortised


class FieldSamples(NamedTuple):
    """What one row of the figure shows; `motion` rotates context and noise of `rotated`."""

    x: Inputs
    prior: Outputs
    targets: Inputs
    context: tuple[Inputs, Outputs]
    samples: Array
    exact: Outputs
    rotated: Outputs
    motion: RigidTransform

    def equivariance_error(self, problem: FieldProblem) -> float:
        """Relative distance of the rotated problem's sample from the rotated sample."""
        expected = self.motion.act_on_outputs(self.samples[0], problem.codomain)
        distance = jnp.linalg.norm(self.rotated - expected) / jnp.linalg.norm(expected)
        return float(distance)


def figures(results: dict, folder: Path, data: str | None = None) -> Iterator[Path]:
    """Data efficiency where it was measured, then samples of the shipped models."""
    import matplotlib

    matplotlib.use("Agg")
    if results.get("efficiency"):
        yield efficiency_figure(results["efficiency"], folder / "vector-fields-efficiency.png")
    names = {field: NAMES[VectorFieldSpec(field, True)] for field in DATASETS}
    models = {
        field: (load(name), problem_for(name)) for field, name in names.items() if name in shipped()
    }
    if models:
        yield field_figure(models, folder / "vector-fields.png")


def draw_fields(
    model: Model, problem: FieldProblem, *, key: PRNGKeyArray, num: int = 16, steps: int = 20
) -> FieldSamples:
    """A prior sample, posterior samples of a test field, the exact mean, a rotated sample."""
    prior_key, key = jr.split(key)
    task = problem.tasks(1, seed=0, dtype="float32")
    x, y, known = task.x[0], task.y[0], np.asarray(task.context[0]) > 0
    context, targets, sampler = (x[known], y[known]), x[~known], Amortised(steps)
    prior = model.sample(x, key=prior_key, num_samples=1, sampler=sampler)[0]
    samples = model.condition(*context).sample(targets, key=key, num_samples=num, sampler=sampler)
    motion = RigidTransform(rotation_90(x.dtype), jnp.zeros(2, x.dtype))
    observed = motion.act_on_inputs(context[0]), motion.act_on_outputs(context[1], problem.codomain)
    turning = RotatedNoiseSampler(problem.codomain.action(motion.matrix), sampler)
    options = {"key": key, "num_samples": num, "sampler": turning}
    rotated = model.condition(*observed).sample(motion.act_on_inputs(targets), **options)[0]
    exact = problem.gp.condition(*context).mean_at(targets)
    return FieldSamples(x, prior, targets, context, samples, exact, rotated, motion)


def field_figure(
    models: dict[str, tuple[Model, FieldProblem]], path: str | Path, *, seed: int = 0, **options
) -> Path:
    """One row per model: prior, posterior, its mean beside the exact one, posterior rotated."""
    import matplotlib.pyplot as plt

    if not models:
        raise ValueError("expected models of vector fields, got none")
    size = (16, 3.4 * len(models))
    figure, axes = plt.subplots(len(models), 5, figsize=size, squeeze=False)
    keys = jr.split(jr.key(seed), len(models))
    for row, (name, (model, problem)), key in zip(axes, models.items(), keys, strict=True):
        _draw_row(row, name, draw_fields(model, problem, key=key, **options), problem)
    figure.tight_layout()
    return save_figure(figure, path)


def _draw_row(axes, name: str, drawn: FieldSamples, problem: FieldProblem) -> None:
    style = {"scale": arrow_scale(drawn.x, drawn.prior)}
    observed = {"context": drawn.context, **style}
    rotated = (
        drawn.motion.act_on_inputs(drawn.context[0]),
        drawn.motion.act_on_outputs(drawn.context[1], problem.codomain),
    )
    vector_field(drawn.x, drawn.prior, title=f"{name}: sample", ax=axes[0], **style)
    title = f"given {len(drawn.context[0])} points"
    vector_field(drawn.targets, drawn.samples[0], title=title, ax=axes[1], **observed)
    title = f"mean of {len(drawn.samples)}"
    vector_field(drawn.targets, drawn.samples.mean(axis=0), title=title, ax=axes[2], **observed)
    vector_field(drawn.targets, drawn.exact, title="exact mean", ax=axes[3], **observed)
    title = f"context and noise rotated by 90 degrees: {drawn.equivariance_error(problem):.0e} off"
    locations = drawn.motion.act_on_inputs(drawn.targets)
    vector_field(locations, drawn.rotated, context=rotated, title=title, ax=axes[4], **style)


def efficiency_figure(part: dict[str, list[dict]], path: str | Path) -> Path:
    """Regret against the number of training fields, both models, one panel per data set.

    A dashed line is the regret of the same model on fresh fields. A set of one number only is left
    out where others have more.
    """
    import matplotlib.pyplot as plt

    curves = [name for name, points in part.items() if len(_finite(points)) > 1]
    fields = list(dict.fromkeys(MODELS[name].field for name in curves or part))
    size = (4.2 * len(fields), 3.4)
    figure, axes = plt.subplots(1, len(fields), figsize=size, squeeze=False, sharey=True)
    for ax, field in zip(axes[0], fields, strict=True):
        for equivariant, label in ((True, "E(2)-equivariant"), (False, "NDP*, no symmetry")):
            points = part.get(NAMES[VectorFieldSpec(field, equivariant)], [])
            _curve(ax, points, label, "C0" if equivariant else "C1")
        ax.set(title=field, xlabel="training fields", xscale="log", yscale="log")
        ax.grid(alpha=0.3)
    axes[0, 0].set_ylabel("regret, nats per point")
    axes[0, 0].legend(fontsize=7)
    figure.tight_layout()
    return save_figure(figure, path)


def _curve(ax, points: list[dict], label: str, color: str) -> None:
    subset = sorted((p["functions"], *p["regret"]) for p in _finite(points))
    if subset:
        counts, means, errors = zip(*subset, strict=True)
        ax.errorbar(counts, means, errors, marker="o", ms=3, capsize=2, label=label, color=color)
    style = {"color": color, "ls": "--", "lw": 1, "label": f"{label}, fresh fields"}
    for point in points:
        if not point.get("functions"):
            ax.axhline(point["regret"][0], **style)


def _finite(points: list[dict]) -> list[dict]:
    return [point for point in points if point.get("functions")]
