"""Several streams of training batches that take turns, each with batches of its own shape."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import optax

from geomndp.data import AbstractStream
from geomndp.nets import AbstractNet, with_capacity
from geomndp.noising import AbstractNoising
from geomndp.score import NetworkScore
from geomndp.train.loss import DenoisingLoss
from geomndp.train.step import Trainer, TrainState, init

TURN = 10  # steps of one stream before the next one's: what the device is given at once


def init_turns(
    score: NetworkScore,
    noising: AbstractNoising,
    streams: Sequence[AbstractStream],
    loss: DenoisingLoss,
    optimiser: optax.GradientTransformation,
    **options,
) -> tuple[tuple[Trainer, ...], TrainState]:
    """One trainer per turn, and the state that they share; options are those of `init`.

    A stream that has several turns has one trainer, hence one compiled program.
    """
    if not streams:
        raise ValueError("expected a stream of functions to train on, got none")
    made: dict[int, tuple[Trainer, TrainState]] = {}
    for stream in streams:
        if id(stream) not in made:
            parts = (_with_room(score, stream), noising, stream, loss, optimiser)
            made[id(stream)] = init(*parts, **options)
    return tuple(made[id(stream)][0] for stream in streams), made[id(streams[0])][1]


def turn(trainers: Sequence[Trainer], step: int) -> Trainer:
    """Whose turn it is after so many steps."""
    return trainers[step // TURN % len(trainers)]


def _with_room(score: NetworkScore, stream: AbstractStream) -> NetworkScore:
    """The same parameters, with room for all neighbours of a stream's locations."""
    if stream.locations is None or not isinstance(score.net, AbstractNet):
        return score
    net = score.net
    for x in np.asarray(stream.locations):
        net = with_capacity(net, x)
    return dataclasses.replace(score, net=net)
