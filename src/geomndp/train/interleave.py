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
    """One trainer per generator, and their common state; options are those of `init`.

    A generator that stands there several times has one trainer, hence one compiled program.
    """
    if not generators:
        raise ValueError("expected a generator of functions to train on, got none")
    made: dict[int, tuple[Trainer, TrainState]] = {}
    for generator in generators:
        if id(generator) not in made:
            parts = (_with_room(score, generator), noising, generator, loss, optimiser)
            made[id(generator)] = init(*parts, **options)
    return tuple(made[id(generator)][0] for generator in generators), made[id(generators[0])][1]


def trainer_at(trainers: Sequence[Trainer], step: int) -> Trainer:
    """The trainer of the next step after `step` steps."""
    return trainers[step // STEPS_PER_GENERATOR % len(trainers)]


def _with_room(score: NetworkScore, generator: AbstractGenerator) -> NetworkScore:
    """The same parameters, with room for all neighbours of a generator's locations."""
    if generator.locations is None or not isinstance(score.net, AbstractNet):
        return score
    net = score.net
    for x in np.asarray(generator.locations):
        net = with_capacity(net, x)
    return dataclasses.replace(score, net=net)
