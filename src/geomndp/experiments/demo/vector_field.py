"""A divergence-free field given a few vectors, beside the exact posterior."""

from __future__ import annotations

from pathlib import Path

import jax.numpy as jnp
import jax.random as jr
import numpy as np

from geomndp._types import PRNGKeyArray
from geomndp.data import FieldProblem, field_problem
from geomndp.evaluate.physics import difference_operators
from geomndp.experiments.demo.exact_field import law_of, mean_error, truth
from geomndp.experiments.demo.report import Number, Section
from geomndp.model import load
from geomndp.plot import arrow_scale, save_figure, vector_field
from geomndp.samplers import Amortised

MODEL = "vector-fields/div-free"
CONTEXTS = 12


def show_field(
    folder: Path, *, key: PRNGKeyArray, num_samples: int, steps: int, radius: float = 5.0
) -> Section:
    """Condition the model on a disc of its grid, draw, compare."""
    disc = field_problem("div-free")
    problem = disc._replace(grid=disc.grid[np.linalg.norm(disc.grid, axis=1) <= radius])
    data_key, mark_key, draw_key = jr.split(key, 3)
    order = np.asarray(jr.permutation(mark_key, len(problem.grid)))
    known, rest = order[:CONTEXTS], order[CONTEXTS:]
    grid = problem.grid.astype("float32")
    xc, x = jnp.asarray(grid[known]), jnp.asarray(grid[rest])
    yc, *moments = (np.asarray(part) for part in truth(problem.gp, xc, x, data_key))
    model, sampler = load(MODEL), Amortised(steps)
    options = {"key": draw_key, "num_samples": num_samples, "sampler": sampler}
    samples = model.condition(xc, yc).sample(x, **options)
    fields = np.zeros((num_samples, len(grid), 2))
    fields[:, known], fields[:, rest] = yc[None], np.asarray(samples)
    law = law_of(len(grid), known, rest, yc, *moments)
    return Section(
        "A vector field",
        f"One of {num_samples} samples of the model {MODEL} given the {CONTEXTS} vectors drawn in "
        "red, their mean with a disc of one standard deviation at the tip of each arrow, and the "
        "mean of the exact process. The model knows E(2): it turns and moves with its data.",
        _figure(folder / "field.png", grid, fields, (grid[known], yc), law[0]),
        [*_physics(problem, fields, *law), mean_error(fields[:, rest], law, rest)],
    )


def _physics(problem: FieldProblem, fields, mean, covariance) -> list[Number]:
    """Root mean squares of divergence and curl by central differences, with those of the truth."""
    numbers = []
    for name, operator in difference_operators(problem).items():
        value = np.sqrt(np.mean((fields.reshape(len(fields), -1) @ operator.T) ** 2))
        square = (operator @ mean.reshape(-1)) ** 2 + np.sum((operator @ covariance) * operator, 1)
        exact = f"{np.sqrt(np.mean(square)):.3f} for the exact posterior"
        if name == "divergence":
            noise = np.sqrt(problem.gp.noise * np.sum(operator**2) / len(operator))
            exact += f", {noise:.3f} for its noise alone"
        numbers.append(Number(f"{name} of the samples (rms)", f"{value:.3f}", exact))
    return numbers


def _figure(path: Path, grid, fields, context, exact) -> Path:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 3, figsize=(12, 4.2))
    style = {"context": context, "scale": arrow_scale(grid, exact)}
    vector_field(grid, fields[0], title="one sample", ax=axes[0], **style)
    vector_field(grid, fields, title=f"mean of {len(fields)} samples", ax=axes[1], **style)
    vector_field(grid, exact, title="exact mean", ax=axes[2], **style)
    figure.tight_layout()
    return save_figure(figure, path)
