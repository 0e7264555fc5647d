"""A plan for tracks as one for flat functions: in local maps, or in one map for all."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax.numpy as jnp
import jax.random as jr
import numpy as np

from geomndp._types import Batch
from geomndp.auto.build import untrained_model
from geomndp.auto.defaults import PEAKS
from geomndp.auto.gaussian_candidate import GaussianCandidate
from geomndp.auto.gaussian_candidates import IDENTITY, GaussianData
from geomndp.auto.plan import TrainingPlan
from geomndp.auto.run_plan import RunPlan
from geomndp.auto.split import ValidationSplit
from geomndp.auto.track_maps import TracksInMaps
from geomndp.auto.validation import ValidationTasks
from geomndp.baselines import CANDIDATES, fit_gp
from geomndp.data import AbstractFrame, FixedFrame, LocalFrame, ResampledGenerator, TrackMaps
from geomndp.data.context_sampling import ContextSampler
from geomndp.tables import Functions
from geomndp.train import default_loss

MAX_REACH = 2.0
"""Radians from the centre of all points within which one map for all is tried."""
MAX_TRIAL = 64
"""Tracks to which a process is fitted that tells which maps are better."""
TRIAL: dict[str, Any] = {"candidates": CANDIDATES[:1], "max_values": 48, "max_iterations": 20}
LOCAL, FIXED = "local maps", "one map"


def plan_in_maps(
    plan: TrainingPlan,
    split: ValidationSplit,
    tasks: ValidationTasks,
    run: RunPlan,
    *,
    seed: int,
) -> TrainingPlan:
    """The plan for tracks in the maps in which a Gaussian process predicts held-out points best.

    Args:
        plan: A plan for tracks.
        split: Which tracks are fitted and which validate.
        tasks: Validation tasks on the sphere.
        run: Decisions of the run.
        seed: Seed of contexts and parameters.

    Returns:
        A plan of flat functions, whose `maps` lead back to the sphere.
    """
    assert plan.functions is not None
    frames = frames_for(plan.functions, translation=plan.model.num_relative_inputs > 0)
    plans = {name: flat_plan(plan, frame, seed=seed) for name, frame in frames.items()}
    rows = np.flatnonzero(np.isin(tasks.function, split.held_out))

    def best() -> str:
        if len(plans) == 1:
            return LOCAL
        nats = {name: _measure(flat, split, tasks.take(rows), seed) for name, flat in plans.items()}
        return max(nats, key=lambda name: nats[name])

    return plans[run.decide("maps", best)]


def frames_for(tracks: Functions, *, translation: bool) -> dict[str, AbstractFrame]:
    """Frames that are tried, by name.

    Args:
        tracks: Functions on the sphere.
        translation: Whether shifts of time and rotations about the Earth's axis change nothing.

    Returns:
        Local maps; one map for all too where no point is too far from the centre of all.
    """
    relative = tracks.variables.num_inputs if translation else 0
    frames: dict[str, AbstractFrame] = {LOCAL: LocalFrame(relative, axial=translation)}
    points = tracks.y[tracks.rows]
    mean = points.mean(axis=0)
    centre = mean / max(float(np.linalg.norm(mean)), 1e-12)
    if (points @ centre).min() > np.cos(MAX_REACH):
        frames[FIXED] = FixedFrame((float(centre[0]), float(centre[1]), float(centre[2])))
    return frames


def flat_plan(plan: TrainingPlan, frame: AbstractFrame, *, seed: int) -> TrainingPlan:
    """The plan in the maps of a frame, with a network for flat functions.

    Args:
        plan: A plan for tracks.
        frame: The frame.
        seed: Seed of contexts and parameters.

    Returns:
        The plan.
    """
    assert plan.functions is not None and isinstance(plan.data, ResampledGenerator)
    maps = TracksInMaps(plan.functions, frame)
    functions = maps.functions(seed)
    relative = frame.num_relative if isinstance(frame, LocalFrame) else 0
    units: Any = plan.model.normaliser
    periods = (*units.x_period, *(0.0 for _ in frame.covariates)) if units.x_period else ()
    symmetry = "translation" if relative else "none"
    model, net = untrained_model(functions, symmetry, None, periods, {}, key=jr.key(seed))
    assert model.normaliser is not None
    contexts = dataclasses.replace(plan.data.contexts or ContextSampler(), share=1.0)
    data = dataclasses.replace(
        plan.data,
        functions=_tracks(plan.functions, relative),
        maps=TrackMaps(frame, model.normaliser, contexts),
    )
    return dataclasses.replace(
        plan,
        model=model,
        data=data,
        loss=default_loss("real"),
        peak_learning_rate=PEAKS.get(type(net), 1e-3),
        functions=functions,
        maps=maps,
    )


def _tracks(tracks: Functions, num_relative: int) -> Batch:
    """Tracks in the data's units; what a map subtracts anyway is so first, in float64."""
    x, dtype = tracks.x.copy(), jnp.result_type(float)
    x[..., :num_relative] -= x[:, :1, :num_relative]
    x, y, mask = (jnp.asarray(v, dtype) for v in (x, tracks.y, tracks.mask))
    return Batch(x, y, mask, jnp.zeros_like(mask))


def _measure(
    plan: TrainingPlan, split: ValidationSplit, tasks: ValidationTasks, seed: int
) -> float:
    """Held-out nats per area of a quickly fitted simple law in the maps of a plan."""
    data = GaussianData(plan, seed=seed)
    functions, units = data.functions[IDENTITY], data.units[IDENTITY]
    some = split.train[np.linspace(0, len(split.train) - 1, MAX_TRIAL).astype(int)]
    pooled = fit_gp(functions, train=np.unique(some), groups=data.groups, **TRIAL)
    shrunk = data.shrunk(functions, pooled, split.train)
    fits = [GaussianCandidate(fit, units) for fit in (pooled, shrunk) if fit.process is not None]
    flat, areas = plan.maps.tasks(tasks), plan.maps.log_areas(tasks)
    nats = [(fit.measure(flat).plain.targets + areas) / flat.num_values() for fit in fits]
    return max(float(tasks.by_function(values).mean()) for values in nats)
