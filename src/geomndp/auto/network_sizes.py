"""Networks that teach themselves something in the time there is: smaller ones on slow machines."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, cast

import equinox as eqx
import jax

from geomndp._types import PRNGKeyArray
from geomndp.auto.plan import TrainingPlan
from geomndp.data import AbstractGenerator, FixedInputsGenerator, ResampledGenerator
from geomndp.nets import AbstractNet, BiDimensionalAttention, RelativeAttention, Steerable2
from geomndp.score import NetworkScore

FLOPS = 1.5e10
"""Floating-point operations per second that a small network reaches on two cores."""
MIN_STEPS = 2000
"""Steps that a size should allow in its time."""
SIZES = ((64, 5, 64), (64, 4, 32), (32, 3, 64), (32, 3, 32), (32, 2, 32))
"""Width, layers and functions per batch, from large to small."""
SMALL = (32, 3, 32)
"""Largest size for few functions."""
MAX_POINTS = 96
"""Points of a function in a batch."""
MAX_VALUES = 256
"""Values of a function in a batch: a process that is corrected solves for all of them."""
MANY_POINTS = (96, 64, 48)
"""Points of one of many functions in a batch of a network that sees pairs, from many to few."""
GRAPH_BATCH = 16
"""Functions per batch of a network on graphs."""
PLANE_SIZE = {"width": 32, "num_layers": 3, "channels": 8}
"""Largest sizes of a steerable network of the plane: a layer of 24 channels takes 2.5 times as
long."""


def step_operations(net: AbstractNet, batch_size: int, points: int) -> float:
    """Floating-point operations of a training step with attention, roughly.

    Args:
        net: The network.
        batch_size: Functions per batch.
        points: Points of a function.

    Returns:
        Six per parameter and point, and those of attention between all points.
    """
    weights = sum(leaf.size for leaf in jax.tree.leaves(eqx.filter(net, eqx.is_array)))
    config = net.config.to_dict()
    attention = 12 * config.get("num_layers", 1) * config.get("width", 32) * points
    return batch_size * points * (6.0 * weights + attention)


def num_points(data: AbstractGenerator) -> int:
    """Points of a function in a batch."""
    if isinstance(data, FixedInputsGenerator):
        return len(data.x)
    assert isinstance(data, ResampledGenerator)
    return min(data.functions.x.shape[1], data.max_points or data.functions.x.shape[1])


def steps_per_minute(net: AbstractNet, data: AbstractGenerator) -> int:
    """Training steps per minute on two cores, roughly, of a network with attention.

    Args:
        net: The network.
        data: Its training functions.

    Returns:
        Number of steps, one digit.
    """
    steps = 60 * FLOPS / step_operations(net, data.batch_size, num_points(data))
    return int(float(f"{max(steps, 1.0):.0e}"))


def resized(
    plan: TrainingPlan, seconds: float, *, small: bool = False, key: PRNGKeyArray
) -> TrainingPlan:
    """The plan with the largest network that can be trained in so many seconds.

    Args:
        plan: A plan; one whose network the user chose stays as it is.
        seconds: Time of a training.
        small: Whether sizes above `SMALL` are left out: few functions teach no more.
        key: Random key of new parameters.

    Returns:
        The plan.
    """
    score = plan.model.score
    if not plan.resizable or not isinstance(score, NetworkScore):
        return plan
    net, data = score.net, plan.data
    if isinstance(net, Steerable2):
        own = net.config.to_dict()
        net = _remade(
            net, key=key, **{name: min(own[name], PLANE_SIZE[name]) for name in PLANE_SIZE}
        )
        plan = _with_network(plan, net)
    if not isinstance(net, RelativeAttention | BiDimensionalAttention):
        size = min(data.batch_size, GRAPH_BATCH)
        return dataclasses.replace(plan, data=dataclasses.replace(data, batch_size=size))
    most = min(MAX_POINTS, MAX_VALUES // plan.model.noising.dim)
    if isinstance(data, ResampledGenerator) and num_points(data) > most:
        data = dataclasses.replace(data, max_points=most)
    config = net.config.to_dict()
    smaller, batch_size = net, data.batch_size
    for width, num_layers, size in SIZES[SIZES.index(SMALL) :] if small else SIZES:
        if width > config["width"] or num_layers > config["num_layers"]:
            continue
        smaller = _remade(net, key=key, width=width, num_layers=num_layers)
        batch_size = min(size, data.batch_size)
        operations = step_operations(smaller, batch_size, num_points(data))
        if operations * MIN_STEPS <= seconds * FLOPS:
            break
    data = dataclasses.replace(data, batch_size=batch_size)
    if not small and isinstance(smaller, RelativeAttention):
        data = with_fewer_points(smaller, data, seconds)
    return dataclasses.replace(_with_network(plan, smaller), data=data)


def with_fewer_points(
    net: RelativeAttention, data: AbstractGenerator, seconds: float
) -> AbstractGenerator:
    """Fewer points of every function, where the biases of all pairs would leave too few steps.

    Args:
        net: The network.
        data: Its training functions.
        seconds: Time of a training.

    Returns:
        The functions; as they are where they come from no data set.
    """
    if not isinstance(data, ResampledGenerator):
        return data
    for most in (points for points in MANY_POINTS if points < num_points(data)):
        if pair_operations(net, data) * MIN_STEPS <= seconds * FLOPS:
            break
        data = dataclasses.replace(data, max_points=most)
    return data


def pair_operations(net: RelativeAttention, data: AbstractGenerator) -> float:
    """Floating-point operations of a training step for the biases of all pairs of points, roughly.

    Args:
        net: The network.
        data: Its training functions.

    Returns:
        Six per weight of the network of biases, for every pair.
    """
    bias = sum(leaf.size for leaf in jax.tree.leaves(eqx.filter(net.bias, eqx.is_array)))
    return data.batch_size * num_points(data) ** 2 * 6.0 * bias


def _with_network(plan: TrainingPlan, net: AbstractNet) -> TrainingPlan:
    score = dataclasses.replace(plan.model.score, net=net)
    return dataclasses.replace(plan, model=dataclasses.replace(plan.model, score=score))


def _remade(net: AbstractNet, *, key: PRNGKeyArray, **changes: Any) -> AbstractNet:
    """A network of another configuration with new parameters."""
    make = cast(Callable[..., AbstractNet], type(net))
    return make(**net.config.replace(**changes).to_dict(), key=key)
