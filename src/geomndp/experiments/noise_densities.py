"""Held-out log-density by the size of observation noise, for models whose exact law is unknown.

Context points of test functions are observed with noise of a known variance on top of their values,
the log-density is that of the noise-free targets. A model that is right at every noise loses slowly
and steadily as the noise grows; one that never saw a range of noise has a dip there.

    python -m geomndp.experiments.noise_densities regression1d/sawtooth --num 64 --out noise.json
    python -m geomndp.experiments.noise_densities cyclones/ibtracs --num 64 --out noise.json
"""

from __future__ import annotations

import argparse
import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr

from geomndp import _model_files
from geomndp._types import Array, Batch, Scalar
from geomndp.evaluate import log_likelihood, summarise
from geomndp.experiments import results
from geomndp.experiments.cyclones.evaluate import on_sphere
from geomndp.experiments.cyclones.latlon import CHART
from geomndp.experiments.cyclones.protocol import SPHERE, task, task_batch
from geomndp.experiments.cyclones.training import read_split
from geomndp.experiments.noise_levels import RATIOS, largest_ratio
from geomndp.experiments.registry import find
from geomndp.experiments.regression1d import training as regression1d
from geomndp.geometry.geodesy import EARTH_RADIUS_KM
from geomndp.likelihood import Exact, Flow, Hutchinson
from geomndp.model import Model, load
from geomndp.predictive import AbstractPredictive, AbstractProcess

KILOMETRES = (0.0, 0.01, 0.1, 1.0, 10.0, 50.0, 100.0, 200.0)
"""Standard deviations of the fixes of a storm; 200 km is the most that training saw."""
DEGREE_KM = EARTH_RADIUS_KM * jnp.pi / 180
Perturb = Callable[[Array, Array, Array], Array]
"""Values (n, p), a standard deviation and white noise (n, p) to noisy values."""


class NoisyContext(AbstractProcess):
    """A process whose context always has the same observation noise."""

    process: Any
    noise: Scalar

    def condition(self, x, y, noise=0.0, mask=None) -> AbstractPredictive:
        """Law given noisy values.

        Args:
            x: Inputs of the context, shape (c, d).
            y: Noisy values, shape (c, p).
            noise: Not read: the noise is that of the process.
            mask: 1 for rows that are no padding, shape (c,).

        Returns:
            Law of the process elsewhere.
        """
        masks = {} if mask is None else {"mask": mask}
        return self.process.condition(x, y, noise=self.noise, **masks)


class NoiseTasks(NamedTuple):
    """Test functions of a model, and how noise acts on them."""

    process: AbstractProcess
    tasks: Batch
    num_context: int
    perturb: Perturb
    deviations: tuple[float, ...]
    """Standard deviations in units of the outputs."""
    labels: tuple[float, ...]
    """How the rows of a table name them: a ratio of variances, or km."""
    exact_divergence: bool


def noise_tasks(name: str, model: Model, num: int, data: str | None = None) -> NoiseTasks:
    """Test functions of a model by its experiment.

    Args:
        name: A model of 1D regression or of cyclone tracks.
        model: The trained model.
        num: Number of test functions.
        data: Archive of tracks, by default that at $GEOMNDP_IBTRACS.

    Returns:
        Functions with their context points first.
    """
    if find(name).name == "cyclones":
        return _track_tasks(model, num, data)
    problem = regression1d.problem_for(name)
    tasks = problem.tasks(num, seed=1234, dtype="float32")
    largest = largest_ratio(model)
    ratios = (*(ratio for ratio in RATIOS if ratio < largest), largest)
    deviations = tuple((ratio * problem.process.variance) ** 0.5 for ratio in ratios)
    return NoiseTasks(model, tasks, problem.contexts[1], perturb_values, deviations, ratios, False)


def _track_tasks(model: Model, num: int, data: str | None) -> NoiseTasks:
    track_task = task("extrapolation")
    tasks = task_batch(track_task, read_split(data, 0)[1].spread(num))
    flat = model.noising.flat
    unit = DEGREE_KM if flat else EARTH_RADIUS_KM
    deviations = tuple(float(km / unit) for km in KILOMETRES)
    perturb = perturb_degrees if flat else perturb_on_sphere
    contexts = len(track_task.context)
    return NoiseTasks(on_sphere(model), tasks, contexts, perturb, deviations, KILOMETRES, True)


def perturb_values(y: Array, deviation: Array, z: Array) -> Array:
    """Values (n, p) with Gaussian noise of a standard deviation, from white noise z (n, p)."""
    return y + deviation * z


def perturb_on_sphere(y: Array, deviation: Array, z: Array) -> Array:
    """Normal steps along geodesics; up to 200 km the heat kernel, to a thousandth."""
    return SPHERE.exp(y, deviation * SPHERE.project(y, z))


def perturb_degrees(y: Array, deviation: Array, z: Array) -> Array:
    """Gaussian noise of latitude and longitude, in degrees, of unit vectors."""
    return CHART.from_plane(CHART.to_plane(y) + deviation * z[:, :2])


def density_rows(noisy: NoiseTasks, *, probes: int = 8, batch_size: int = 16) -> list[dict]:
    """One row per noise: log-density of the targets, nats per target, and its paired loss.

    Args:
        noisy: Functions and sizes of noise, the first of which is zero.
        probes: Random probes of the divergence, where it is not computed exactly.
        batch_size: Functions side by side on a device.

    Returns:
        Rows with "noise" (label), "log_prob" and "loss" (to that without noise), pairs of mean and
        standard error over the functions.
    """
    divergence = Exact() if noisy.exact_divergence else Hutchinson(probes=probes)
    key = None if noisy.exact_divergence else jr.key(7)
    log_probs = functools.partial(
        log_likelihood,
        num_context=noisy.num_context,
        flow=Flow(divergence=divergence),
        route="conditional",
        key=key,
        batch_size=batch_size,
    )
    z = jr.normal(jr.key(5), noisy.tasks.y.shape, noisy.tasks.y.dtype)
    rows: list[dict] = []
    reference = None
    for label, deviation in zip(noisy.labels, noisy.deviations, strict=True):
        scale = jnp.asarray(deviation, noisy.tasks.y.dtype)
        changed = jax.vmap(lambda y, z, scale=scale: noisy.perturb(y, scale, z))(noisy.tasks.y, z)
        is_context = jnp.arange(noisy.tasks.y.shape[1]) < noisy.num_context
        moved = is_context[None, :, None] & (scale > 0)
        tasks = noisy.tasks._replace(y=jnp.where(moved, changed, noisy.tasks.y))
        process = NoisyContext(noisy.process, scale**2)
        values = log_probs(process, tasks).per_target().value
        reference = values if reference is None else reference
        pairs = {"log_prob": list(summarise(values)), "loss": list(summarise(reference - values))}
        rows.append({"noise": float(label), **pairs, "num": len(values)})
    return rows


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure models and write their rows."""
    parser = argparse.ArgumentParser(description="Held-out log-density by observation noise.")
    parser.add_argument("models", nargs="+", help="shipped names, paths or folders of trainings")
    parser.add_argument("--out", required=True)
    parser.add_argument("--num", type=int, default=64, help="test functions")
    parser.add_argument("--probes", type=int, default=8)
    parser.add_argument("--data", help="archive of cyclone tracks")
    options = parser.parse_args(arguments)
    for path in options.models:
        name, model = _model_files.metadata(path)["experiment"], load(path)
        noisy = noise_tasks(name, model, options.num, options.data)
        rows = density_rows(noisy, probes=options.probes)
        results.update(options.out, ("noise_densities", name), rows)
        for row in rows:
            print(name, row, flush=True)


if __name__ == "__main__":
    main()
