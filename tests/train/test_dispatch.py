"""Steps in one compiled loop, or in calls of their own where a loop would be slow."""

import dataclasses
from typing import ClassVar
from unittest.mock import Mock

import equinox as eqx
import jax.random as jr
import numpy as np
from jax.sharding import Mesh
from numpy.testing import assert_allclose, assert_array_equal

from geomndp import train
from geomndp.train import step as steps_module
from geomndp.train.step import dispatch_steps, train_one_step

from ..cases import compilations
from .helper import NOISING, TinyGenerator, tiny_run, tiny_score


class UnloopedLoss(train.DenoisingLoss):
    """The same loss, whose steps are calls of their own on a CPU."""

    looped: ClassVar[bool] = False


def begin(loss):
    """The run of `tiny_run`, so that its compiled step serves here too."""
    learner, optimiser = tiny_score(), train.adam(40)
    return train.init(learner, NOISING, TinyGenerator(), loss, optimiser, key=jr.key(1))


def test_steps_of_diffusion_models_are_one_compiled_loop():
    expected, seen = train.train_steps(*begin(train.DenoisingLoss()), 5)
    state, info = dispatch_steps(*begin(train.DenoisingLoss()), 5)
    assert_array_equal(state.params, expected.params)
    assert_array_equal(info.loss, seen.loss)


def test_steps_in_calls_of_their_own_give_the_same_numbers_by_one_program():
    expected, seen = train.train_steps(*begin(train.DenoisingLoss()), 5)
    trainer, state = begin(UnloopedLoss())
    state, first = dispatch_steps(trainer, state, 2)
    for_three = []

    def more():
        for_three.append(dispatch_steps(trainer, state, 3))
        return for_three[0]

    assert compilations(more) == 0
    state, last = for_three[0]
    assert int(state.step) == 5
    for got, want in zip(zip(first, last, strict=True), seen, strict=True):
        assert_allclose(np.concatenate(got), want, rtol=1e-10)
    assert_allclose(state.ema_params, expected.ema_params, rtol=1e-10, atol=1e-14)


def test_the_program_of_one_step_has_no_loop():
    """XLA makes convolutions fast on a CPU before it removes a loop of one turn."""
    trainer, state = begin(UnloopedLoss())
    arrays, static = eqx.partition((trainer, state), eqx.is_array)

    def jaxpr(program):
        return str(eqx.filter_make_jaxpr(lambda a: program(*eqx.combine(a, static)))(arrays)[0])

    assert "scan[" in jaxpr(lambda *start: train.train_steps(*start, 1))
    assert not any(loop in jaxpr(train_one_step) for loop in ("scan[", "while["))


def test_a_gpu_has_the_loop_whatever_the_loss(monkeypatch):
    loop = begin(train.DenoisingLoss())[0]
    trainer, state = begin(UnloopedLoss())
    mesh = Mock(spec=Mesh, devices=np.asarray([Mock(platform="gpu")]))
    lengths = []

    def record(trainer, state, length):
        lengths.append(length)
        return train.train_steps(loop, state, length)

    monkeypatch.setattr(steps_module, "train_steps", record)
    dispatch_steps(dataclasses.replace(trainer, mesh=mesh), state, 5)
    assert lengths == [5]


def test_a_run_logs_the_same_rows():
    _, history = tiny_run(steps=20)
    _, apart = tiny_run(steps=20, loss=UnloopedLoss())
    assert_array_equal(apart.steps, history.steps)
    assert_allclose(apart.loss, history.loss, rtol=1e-10)
