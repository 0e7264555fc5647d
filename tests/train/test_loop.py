"""Generators of different shapes are interleaved in one training."""

import dataclasses

import equinox as eqx
import jax.random as jr
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from geomndp import train
from geomndp._training_log import History
from geomndp.nets import Steerable2
from geomndp.score import NetworkScore
from geomndp.train import step as step_module
from geomndp.train.loop import STEPS_PER_GENERATOR, init_interleaved, trainer_at

from .helper import NOISING, TinyGenerator, parameters, tiny_run


class Located(TinyGenerator):
    """A generator that says where its functions live."""

    x: np.ndarray = eqx.field(default_factory=lambda: np.zeros((1, 3, 2)))

    @property
    def locations(self):
        return self.x


def turns_of(*generators):
    net = Steerable2(
        ("scalar",), channels=2, width=2, num_layers=1, max_neighbours=24, key=jr.key(0)
    )
    parts = (train.DenoisingLoss(), train.adam(10))
    return init_interleaved(NetworkScore(net), NOISING, generators, *parts, key=jr.key(1))[0]


def test_every_stream_has_its_turn_and_one_trainer():
    small, large = TinyGenerator(batch_size=4), TinyGenerator(batch_size=8)
    trainers = turns_of(small, large, small)
    assert trainers[0] is trainers[2] and trainers[0] is not trainers[1]
    sizes = [
        trainer_at(trainers, step).generator.batch_size
        for step in range(0, 4 * STEPS_PER_GENERATOR, STEPS_PER_GENERATOR)
    ]
    assert sizes == [4, 8, 4, 4]
    assert (
        trainer_at(trainers, STEPS_PER_GENERATOR - 1) is trainers[0]
        and trainer_at(trainers, STEPS_PER_GENERATOR) is trainers[1]
    )


def test_networks_get_room_for_the_neighbours_of_each_stream():
    sparse = Located(x=np.zeros((1, 3, 2)))
    crowd = Located(x=np.zeros((2, 40, 2)))
    trainers = turns_of(sparse, crowd)
    assert [t.static_score.net.config.max_neighbours for t in trainers] == [24, 40]


def test_an_interrupted_run_of_two_streams_ends_at_the_same_bits(tmp_path, monkeypatch):
    generators = (TinyGenerator(), TinyGenerator(batch_size=4))
    options = {"generator": generators, "chunk": None, "checkpoint_every": STEPS_PER_GENERATOR}
    trained, history = tiny_run(tmp_path / "unbroken", **options)
    seen = []

    def interrupted(trainer, state, length):
        seen.append(trainer.generator.batch_size)
        if len(seen) == 3:
            raise KeyboardInterrupt
        return train.train_steps(trainer, state, length)

    monkeypatch.setattr(step_module, "train_steps", interrupted)
    with pytest.raises(KeyboardInterrupt):
        tiny_run(tmp_path / "broken", **options)
    assert seen == [8, 4, 8]
    monkeypatch.undo()
    again, same = tiny_run(tmp_path / "broken", **options)
    assert_array_equal(same.loss, history.loss)
    for a, b in zip(parameters(trained), parameters(again), strict=True):
        assert_array_equal(a, b)


def test_a_chunk_never_crosses_a_turn():
    with pytest.raises(ValueError, match="divides 10 steps per generator, got 7"):
        tiny_run(generator=(TinyGenerator(), TinyGenerator(batch_size=4)), chunk=7)
    with pytest.raises(ValueError, match="expected a generator of functions"):
        tiny_run(generator=())


def test_contexts_count_only_where_all_streams_have_them():
    plain = dataclasses.replace(TinyGenerator(), contexts=None)
    for generators, known in (((TinyGenerator(), plain), False), ((TinyGenerator(),) * 2, True)):
        trained, _ = tiny_run(generator=generators, steps=STEPS_PER_GENERATOR, chunk=None)
        assert trained.conditional == known


def test_time_of_a_step_leaves_the_compilation_out():
    steps, seconds = np.array([10, 20, 30, 40]), np.array([9.0, 9.5, 10.0, 12.0])
    history = History(steps, steps, steps, seconds)
    assert history.step_seconds() == 0.05
    assert History(*(values[:1] for values in history)).step_seconds() is None
