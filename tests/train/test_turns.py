"""Streams of different shapes take turns in one training."""

import dataclasses

import equinox as eqx
import jax.random as jr
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from geomndp import train
from geomndp.nets import Steerable2
from geomndp.score import NetworkScore
from geomndp.train import loop
from geomndp.train.turns import TURN, init_turns, turn

from .helper import NOISING, TinyStream, parameters, tiny_run


class Located(TinyStream):
    """A stream that says where its functions live."""

    x: np.ndarray = eqx.field(default_factory=lambda: np.zeros((1, 3, 2)))

    @property
    def locations(self):
        return self.x


def turns_of(*streams):
    net = Steerable2(
        ("scalar",), channels=2, width=2, num_layers=1, max_neighbours=24, key=jr.key(0)
    )
    parts = (train.DenoisingLoss(), train.adam(10))
    return init_turns(NetworkScore(net), NOISING, streams, *parts, key=jr.key(1))[0]


def test_every_stream_has_its_turn_and_one_trainer():
    small, large = TinyStream(batch_size=4), TinyStream(batch_size=8)
    trainers = turns_of(small, large, small)
    assert trainers[0] is trainers[2] and trainers[0] is not trainers[1]
    sizes = [turn(trainers, step).stream.batch_size for step in range(0, 4 * TURN, TURN)]
    assert sizes == [4, 8, 4, 4]
    assert turn(trainers, TURN - 1) is trainers[0] and turn(trainers, TURN) is trainers[1]


def test_networks_get_room_for_the_neighbours_of_each_stream():
    sparse = Located(x=np.zeros((1, 3, 2)))
    crowd = Located(x=np.zeros((2, 40, 2)))
    trainers = turns_of(sparse, crowd)
    assert [t.skeleton.net.max_neighbours for t in trainers] == [24, 48]


def test_an_interrupted_run_of_two_streams_ends_at_the_same_bits(tmp_path, monkeypatch):
    streams = (TinyStream(), TinyStream(batch_size=4))
    options = {"stream": streams, "chunk": None, "checkpoint_every": TURN}
    trained, history = tiny_run(tmp_path / "unbroken", **options)
    seen = []

    def interrupted(trainer, state, length):
        seen.append(trainer.stream.batch_size)
        if len(seen) == 3:
            raise KeyboardInterrupt
        return train.advance(trainer, state, length)

    monkeypatch.setattr(loop, "advance", interrupted)
    with pytest.raises(KeyboardInterrupt):
        tiny_run(tmp_path / "broken", **options)
    assert seen == [8, 4, 8]
    monkeypatch.undo()
    again, same = tiny_run(tmp_path / "broken", **options)
    assert_array_equal(same.loss, history.loss)
    for a, b in zip(parameters(trained), parameters(again), strict=True):
        assert_array_equal(a, b)


def test_a_chunk_never_crosses_a_turn():
    with pytest.raises(ValueError, match="divides a turn of 10 steps, got 7"):
        tiny_run(stream=(TinyStream(), TinyStream(batch_size=4)), chunk=7)
    with pytest.raises(ValueError, match="expected a stream of functions"):
        tiny_run(stream=())


def test_contexts_count_only_where_all_streams_have_them():
    plain = dataclasses.replace(TinyStream(), contexts=None)
    for streams, known in (((TinyStream(), plain), False), ((TinyStream(),) * 2, True)):
        trained, _ = tiny_run(stream=streams, steps=TURN, chunk=None)
        assert trained.conditional == known
