"""The paper's conditional sampler on some of the storms: a row beside the amortised ones."""

from __future__ import annotations

from geomndp._types import PRNGKeyArray
from geomndp.data.ibtracs import Split
from geomndp.experiments.cyclones.evaluate import measure
from geomndp.experiments.cyclones.protocol import task
from geomndp.experiments.cyclones.rows import TASKS, Row
from geomndp.model import Model
from geomndp.samplers import Langevin
from geomndp.solve import UniformTimeGrid


def paper_langevin(
    steps: int = 1000, inner: int = 25, final: int = 150, *, temperature: float = 1 / 2.5
) -> Langevin:
    """The paper's setting for cyclones: psi = 1 and lambda = 2.5 on equal steps of time.

    Steps of delta = psi (B(t) - B(s)) are cut at what is stable; lambda is an inverse temperature,
    which sharpens: coverage is expected to be below the law's own. 26,150 evaluations per sample.
    """
    grid = UniformTimeGrid()
    return Langevin(
        steps, inner, step_scale=1.0, temperature=temperature, time_grid=grid, num_final_steps=final
    )


def langevin_rows(
    model: Model,
    split: Split,
    *,
    num_storms: int,
    num_samples: int,
    key: PRNGKeyArray,
    sampler: Langevin | None = None,
    batch_size: int = 64,
) -> list[Row]:
    """Rows of both conditional tasks on storms spread evenly over those held out, no densities."""
    subset = Split(split.train, split.test.spread(num_storms))
    options = {"num_samples": num_samples, "batch_size": batch_size, "density": False}
    sampler = paper_langevin() if sampler is None else sampler
    label = f"GeomNDP, Langevin ({len(subset.test)} storms)"
    return [
        Row(label, name, (measure(model, task(name), subset, key=key, sampler=sampler, **options),))
        for name in TASKS[1:]
    ]
