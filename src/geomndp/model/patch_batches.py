"""Patches side by side on the devices: one program for all of a batch, padded to one shape.

Rows of the program are the samples of the patches. The draws of each depend on its own key alone.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import jax
import jax.random as jr
import numpy as np

from geomndp._arrays import put
from geomndp.model._jit import signature
from geomndp.model.output_units import outputs_to_data_units
from geomndp.model.patch_stretches import PatchRow, PatchSampler, run_patch_rows
from geomndp.nets import Steerable2, graph_nets
from geomndp.patches.batches import PatchBatch, PatchBatching, PatchShape
from geomndp.patches.field import PatchRequest
from geomndp.samplers import AbstractProgramSampler, Problem, pad_problem

BATCH_POINTS = {"cpu": 2048}
DEFAULT_BATCH_POINTS = 2**16
"""Points of a batch beyond which larger ones are not faster."""
COMPILATION = {"cpu": 20_000}
DEFAULT_COMPILATION = 2**25
"""Points times steps of a sampler that take as long as the compilation of a program."""
PLANE = 2  # inputs of a `Steerable2` that are its plane; others are covariates
MOST_ROOM = 2
"""Room for neighbours, over what a patch needs, up to which it takes the program of others."""


def batching(law: Any) -> PatchBatching | None:
    """Batches that suit the law of a score; None where its problems cannot be padded.

    Args:
        law: A `ScoreLaw`.
    """
    sampler, score = law.sampler, law.posterior.model.score
    if not isinstance(sampler, AbstractProgramSampler) or not (sampler.pads and score.pads):
        return None
    if type(sampler).draw is not AbstractProgramSampler.draw:  # has a loop of its own
        return None
    platform = jax.default_backend()
    points = BATCH_POINTS.get(platform, DEFAULT_BATCH_POINTS)
    cost = COMPILATION.get(platform, DEFAULT_COMPILATION)
    return PatchBatching(points, cost // sampler.steps)


def draw_patches(law: Any, requests: list[PatchRequest], batch: PatchBatch) -> list[np.ndarray]:
    """Draw patches at once.

    Args:
        law: A `ScoreLaw`.
        requests: One per patch, of s samples each.
        batch: How many there may be, and what each is padded to.

    Returns:
        Values (s, n, p) of each patch in the data's units.
    """
    assert batch.shape is not None
    num_samples, dim = len(requests[0].keys), law.posterior.model.noising.dim
    asked = [i for i, request in enumerate(requests) if len(request.x)]
    problems = with_shared_room([_problems(law, requests[i], batch.shape) for i in asked])
    keys = [key for i in asked for key in requests[i].keys]
    each = [problem for own in problems for problem in own]
    y = _run(law, each, keys, _rows(law, batch, num_samples))
    drawn = [np.zeros((num_samples, 0, dim)) for _ in requests]
    for number, i in enumerate(asked):
        rows = slice(number * num_samples, (number + 1) * num_samples)
        drawn[i] = _in_data_units(law, np.stack(y[rows])[:, : len(requests[i].x)])
    return drawn


def _rows(law: Any, batch: PatchBatch, num_samples: int) -> int:
    """Rows of a program: those of a full batch, in parts alike where samples are many."""
    suited = law.batching()
    assert suited is not None and batch.shape is not None
    rows, most = batch.size * num_samples, max(1, suited.points // max(1, batch.shape.points))
    return -(-rows // -(-rows // most))


def _in_data_units(law: Any, y: np.ndarray) -> np.ndarray:
    units = law.posterior.model.normaliser
    return y if units is None else np.asarray(outputs_to_data_units(units, put(y)))


def _problems(law: Any, request: PatchRequest, shape: PatchShape) -> list[Problem]:
    """The padded problems of all samples of a patch, which differ in the values drawn before."""
    rows, x_drawn, y_drawn, x, _ = request
    problem = law.problem(rows, x_drawn, y_drawn[0], x)
    if problem.observed_apart:  # drawn values may stand in the rows of the targets
        others = [law.problem(rows, x_drawn, values, x) for values in y_drawn[1:]]
        return [_padded(law, own, shape) for own in (problem, *others)]
    first = _padded(law, problem, shape)
    y, found = np.asarray(first.observations.y), [first]
    for values in y_drawn[1:]:
        own = y.copy()
        if len(x_drawn):
            own[len(rows) : len(rows) + len(x_drawn)] = law.in_model_units(values)
        given = dataclasses.replace(first.observations, y=put(own))
        found.append(dataclasses.replace(first, observations=given))
    return found


def _padded(law: Any, problem: Problem, shape: PatchShape) -> Problem:
    contexts = max(shape.contexts, problem.num_observed) if problem.num_observed else 0
    problem = pad_problem(problem, contexts, max(shape.targets, len(problem.x)))
    scale = min(law.units.x_scale[:PLANE])
    problem = dataclasses.replace(problem, score=_widened(problem.score, shape.extent / scale))
    if not problem.num_observed:
        return problem
    # Patches with drawn values alone, and without noise, take the program of the others.
    given = dataclasses.replace(problem.observations, noisy=law.noisy)
    return dataclasses.replace(problem, observations=given)


def _widened(score: Any, extent: float) -> Any:
    """The score with networks for points that extend so far: those of all patches of one shape."""
    if not extent:
        return score
    return jax.tree.map(
        lambda leaf: leaf.with_extent(extent) if isinstance(leaf, Steerable2) else leaf,
        score,
        is_leaf=lambda leaf: isinstance(leaf, Steerable2),
    )


def with_shared_room(problems: list[list[Problem]]) -> list[list[Problem]]:
    """Let patches that need about as much room for neighbours share one network.

    Args:
        problems: Problems of the samples of every patch.

    Returns:
        The same problems; from the largest need down, each patch takes the network of the first
        that has at most `MOST_ROOM` times the room that it needs.
    """
    needs = [_room(own[0]) for own in problems]
    order = sorted(range(len(problems)), key=lambda i: needs[i], reverse=True)
    shared, leader = list(problems), None
    for i in order:
        if leader is None or not _serves(problems[leader][0], problems[i][0]):
            leader = i
        score = problems[leader][0].score
        shared[i] = [dataclasses.replace(problem, score=score) for problem in problems[i]]
    return shared


def _room(problem: Problem) -> list[int]:
    return [net.config.max_neighbours for net in graph_nets(problem.score)]


def _serves(larger: Problem, problem: Problem) -> bool:
    """Whether the network of a problem does for another, at little cost."""
    nets = zip(graph_nets(larger.score), graph_nets(problem.score), strict=True)
    if any(getattr(a, "layouts", ()) != getattr(b, "layouts", ()) for a, b in nets):
        return False
    rooms = zip(_room(larger), _room(problem), strict=True)
    return all(need <= room <= MOST_ROOM * need for room, need in rooms)


def _row(problem: Problem, key: Any) -> PatchRow:
    parts = problem.x, problem.mask, problem.observations, problem.partial
    return PatchRow(*parts, jr.key_data(key))


def _run(law: Any, problems: Sequence[Problem], keys: Sequence[Any], size: int) -> list[np.ndarray]:
    """Values (n, p) of all rows, in programs of `size` rows, or fewer where memory is short."""
    groups: dict[Any, list[int]] = {}
    own = [_row(problem, key) for problem, key in zip(problems, keys, strict=True)]
    for i, problem in enumerate(problems):  # one score object for all that share it
        groups.setdefault((id(problem.score), signature(own[i])), []).append(i)
    found: dict[int, np.ndarray] = {}
    for group in groups.values():
        first, left, rows = group[0], list(group), size
        shared = PatchSampler(law.sampler, problems[first], str(jr.key_impl(keys[first])))
        while left:
            subset = [own[i] for i in left[:rows]]
            y = run_patch_rows(shared, subset, rows, law.settings.max_memory)
            if isinstance(y, int):
                rows = y
                continue
            found |= dict(zip(left[:rows], y, strict=True))
            left = left[rows:]
    return [found[i] for i in range(len(problems))]
