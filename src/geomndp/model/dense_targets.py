r"""More targets than a network saw points: some first, the others in groups given these.

Attention takes a weighted mean over all points, and a network that was trained on up to N of them
draws functions of too little variance at several times as many. So that no pass sees more than
about N points, targets that lie far from the observations and from each other are drawn first,
$S = \max(N / 3, N - m - N / 4)$ of them beside m observations, and the others in groups of N / 4,
each spread over all inputs and drawn given the observations and the first targets. Groups do not
see each other: every value has the law that the network gives it, and what two values of different
groups have in common beyond the first targets is lost, which is little where these are as dense as
the points of training (an ordered-conditional approximation, as that of `geomndp.patches`).
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from geomndp import _validation
from geomndp._arrays import bucket, keep_float64, put
from geomndp._progress import Progress, reporting
from geomndp._types import Array, PRNGKeyArray
from geomndp.data import circle
from geomndp.model.inputs import check_request
from geomndp.model.outside_training import (
    EXTENT_FACTOR,
    NUM_POINTS_FACTOR,
    warn_about_targets,
)
from geomndp.model.patch_laws import ScoreLaw
from geomndp.model.patchwise import end_rows
from geomndp.model.point_distances import extents
from geomndp.model.sample_options import check_num_samples
from geomndp.model.target_rounds import Rounds, rounds
from geomndp.model.training_record import periods_of
from geomndp.model.units import read_raw_inputs
from geomndp.nets import AbstractNet
from geomndp.patches.batches import PatchBatch, PatchShape
from geomndp.patches.field import PatchRequest


def sample_in_rounds(
    posterior: Any,
    x: Any,
    *,
    key: Any,
    num_samples: Any = 16,
    mask: Any = None,
    progress: Progress = True,
    **options: Any,
) -> Array | None:
    """Draws (s, n, p) in the data's units where targets are too many for one pass of a network.

    Args:
        posterior: A posterior of a diffusion model.
        x: Inputs, arrays or a table.
        key: Random key or seed.
        num_samples: Number of draws.
        mask: As in `Posterior.sample`.
        progress: As in `Posterior.sample`.
        **options: `sampler` and `max_memory`.

    Returns:
        The samples; None where one pass will do, or must (`plan_rounds`).
    """
    check_request(num_samples, options.get("sampler"), key := _validation.as_key(key))
    planned = None if mask is not None else plan_rounds(posterior, x, key, **options)
    if planned is None:
        return None
    law, raw, plan = planned
    check_num_samples(num_samples, len(raw), posterior.model.noising.dim)
    with reporting("sampling", num_samples, progress) as report:
        y = _draw(law, raw, plan, key, int(num_samples), report)
    with keep_float64(y):
        return put(y)


def plan_rounds(
    posterior: Any, x: Any, key: Any, **options: Any
) -> tuple[ScoreLaw, np.ndarray, Rounds] | None:
    """The law to draw from, all targets (n, d) in the data's units, and the rounds.

    Args:
        posterior: A posterior of a diffusion model.
        x: Inputs, arrays or a table.
        key: Random key or seed.
        **options: `sampler` and `max_memory`.

    Returns:
        What is needed to draw in rounds; None where one pass will do, or no other way is known: for
        laws that are known exactly, networks without attention, models that never saw contexts,
        samplers with loops of their own, inputs far wider than those of training, so many
        observations that a pass would hardly see fewer points, and inside `jax.jit`.
    """
    if not _can_split(posterior, (x, key)):
        return None
    raw, most = np.asarray(read_raw_inputs(posterior, x)[0], np.float64), _capacity(posterior)
    few = len(posterior.observations.x) + len(raw) <= NUM_POINTS_FACTOR * most
    if few or not len(raw):
        return None
    law = ScoreLaw(posterior, end_rows(raw), **options)
    targets, observed = _positions(law, raw), _positions(law, law.observed)
    if law.batching() is None or _too_wide(posterior, np.concatenate([targets, observed])):
        return None
    plan = rounds(targets, observed, most)
    together = len(observed) + len(plan.first) + plan.size
    return (law, raw, plan) if len(observed) + len(raw) > NUM_POINTS_FACTOR * together else None


def _can_split(posterior: Any, values: Any) -> bool:
    model = posterior.model
    concrete = all(map(_validation.concrete, jax.tree.leaves((values, posterior.observations))))
    return (
        concrete
        and isinstance(model.network, AbstractNet)
        and model.network.attends
        and model.support is not None
        and getattr(model.score, "conditional", False)
    )


def _capacity(posterior: Any) -> int:
    """Points of the largest training function."""
    return posterior.model.support.points


def _positions(law: ScoreLaw, x: np.ndarray) -> np.ndarray:
    """Inputs in the model's units, periodic ones on their circles."""
    periods = periods_of(law.posterior.model.normaliser)
    rows = np.asarray(law.targets(x), np.float64)
    return circle.embed(rows, periods) if periods else rows


def _too_wide(posterior: Any, x: np.ndarray) -> bool:
    """Whether points reach so far that few first ones say nothing of those between them."""
    model = posterior.model
    if periods_of(model.normaliser):
        return False
    scales = 1.0 if model.normaliser is None else np.asarray(model.normaliser.x_scale)
    return bool(np.any(extents(x) * scales > EXTENT_FACTOR * np.asarray(model.support.extents)))


def _draw(
    law: ScoreLaw, x: np.ndarray, plan: Rounds, key: PRNGKeyArray, num_samples: int, report: Any
) -> np.ndarray:
    """Values (s, n, p): the first targets, then all groups given these, a few at a time."""
    dim, seen = law.posterior.model.manifold.ambient_dim, x[plan.first]
    together = law.targets(np.concatenate([law.observed, seen, x[plan.groups[0]]]))
    warn_about_targets(law.posterior, law.targets(x), together=together)
    keys = [jr.fold_in(key, number) for number in range(1 + len(plan.groups))]
    none = np.zeros((0, x.shape[1])), np.zeros((num_samples, 0, dim))
    shapes = shapes_of(plan, len(law.observed))
    (first,) = _draw_groups(law, x, (plan.first,), none, keys[:1], PatchBatch((0,), 1, shapes[0]))
    y = np.empty((num_samples, len(x), first.shape[2]), first.dtype)
    y[:, plan.first], done = first, len(plan.first)
    size = _groups_at_once(law, shapes[1], num_samples)
    for start in range(0, len(plan.groups), size):
        groups, own = plan.groups[start : start + size], keys[1 + start : 1 + start + size]
        batch = PatchBatch(tuple(range(len(groups))), min(size, len(plan.groups)), shapes[1])
        found = _draw_groups(law, x, groups, (seen, first), own, batch)
        for rows, values in zip(groups, found, strict=True):
            y[:, rows] = values
            done += len(rows)
        report(num_samples * done // len(x))
    return y


def shapes_of(plan: Rounds, num_observed: int) -> tuple[PatchShape, PatchShape]:
    """Padded context and target points of the first pass and of the groups.

    They hardly depend on the request: a program of the groups serves all with as few observations.
    """
    first = PatchShape(bucket(num_observed), bucket(len(plan.first)))
    return first, PatchShape(num_observed + len(plan.first), plan.size)


def _groups_at_once(law: ScoreLaw, shape: PatchShape, num_samples: int) -> int:
    """Groups that keep the device busy together."""
    suited = law.batching()
    assert suited is not None
    return max(1, suited.points // (num_samples * shape.points))


def _draw_groups(
    law: ScoreLaw,
    x: np.ndarray,
    groups: tuple[np.ndarray, ...],
    drawn: tuple[np.ndarray, np.ndarray],
    keys: list[PRNGKeyArray],
    batch: PatchBatch,
) -> list[np.ndarray]:
    """Values (s, n, p) of groups given observations and drawn values."""
    rows, numbers = np.arange(len(law.observed)), jnp.arange(len(drawn[1]))
    own = [jax.vmap(lambda i, key=key: jr.fold_in(key, i))(numbers) for key in keys]
    pairs = zip(groups, own, strict=True)
    requests = [PatchRequest(rows, *drawn, x[group], each) for group, each in pairs]
    found = law.draw_batch(requests, batch)
    if not all(np.all(np.isfinite(y)) for y in found):
        raise FloatingPointError("the sampled values became NaN or infinite")
    return found
