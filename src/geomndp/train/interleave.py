"""Interleaved generators of training batches, each with batches of its own shape."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import optax

from geomndp.data import AbstractGenerator
from geomndp.nets import AbstractNet, with_capacity
from geomndp.noising import AbstractNoising
from geomndp.score import NetworkScore
from geomndp.train.loss import DenoisingLoss
from geomndp.train.step import Trainer, TrainState, init

STEPS_PER_GENERATOR = 10  # before the next one's: what the device is given at once


def init_interleaved(
    score: NetworkScore,
    noising: AbstractNoising,
    generators: Sequence[AbstractGenerator],
    loss: DenoisingLoss,
    optimiser: optax.GradientTransformation,
    **options,
) -> tuple[tuple[Trainer, ...], TrainState]:
    """Start a run with several generators.

    A generator that is listed several times has one trainer, hence one compiled program.

    Args:
        score: Score with the initial parameters.
        noising: Forward process.
        generators: Sources of training batches, in the order of their stretches of steps.
        loss: Loss of a batch.
        optimiser: An optax transformation of gradients.
        **options: Those of `init`: `key`, `ema_decay`, `devices`.

    Returns:
        One trainer per generator, and their common initial state.

    Raises:
        ValueError: If there is no generator.
    """
    if not generators:
        raise ValueError("expected a generator of functions to train on, got none")
    made: dict[int, tuple[Trainer, TrainState]] = {}
    for generator in generators:
        if id(generator) not in made:
            parts = (_with_capacity(score, generator), noising, generator, loss, optimiser)
            made[id(generator)] = init(*parts, **options)
    return tuple(made[id(generator)][0] for generator in generators), made[id(generators[0])][1]


def trainer_at(trainers: Sequence[Trainer], step: int) -> Trainer:
    """Trainer of the next step.

    Args:
        trainers: One trainer per generator.
        step: Steps done.

    Returns:
        The trainer of step number `step` + 1.
    """
    return trainers[step // STEPS_PER_GENERATOR % len(trainers)]


def _with_capacity(score: NetworkScore, generator: AbstractGenerator) -> NetworkScore:
    """The same parameters, with the capacity for all neighbours of a generator's locations."""
    if generator.locations is None or not isinstance(score.net, AbstractNet):
        return score
    net = score.net
    for x in np.asarray(generator.locations):
        net = with_capacity(net, x)
    return dataclasses.replace(score, net=net)
