"""Training with validation: held-out functions are never drawn, a kill changes nothing."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from geomndp import build
from geomndp.auto import early_stopping
from geomndp.auto.cosine_adam import cosine_adam, restarted, with_length
from geomndp.auto.early_stopping import CHUNK, train_validated
from geomndp.auto.network_candidates import NetworkCandidate, on_rows
from geomndp.data import FixedInputsGenerator
from geomndp.train import adam
from geomndp.train.step import TrainState

from ..cases import compilations
from .helper import TINY


@pytest.fixture(scope="module")
def candidate(days):
    plan = build(days, function="day", batch_size=8, **TINY)
    return NetworkCandidate("network", plan, cosine_adam(plan.peak_learning_rate))


def _run(candidate, rows, folder=None, steps=4 * CHUNK, validate=None, **options):
    """Validation by a number that grows and then falls with the parameters' distance."""
    trainer, state = candidate.start(rows, steps=steps, key=jr.key(1))
    calls = []

    def count(score):
        calls.append(score)
        return np.asarray([-abs(len(calls) - 2.0), 0.0])

    return train_validated(
        trainer,
        state,
        steps=steps,
        every=CHUNK,
        validate=validate or count,
        mean=np.mean,
        folder=folder,
        **options,
    )


def test_held_out_functions_are_never_drawn(candidate):
    rows = np.array([3, 5, 8])
    data = candidate.plan.data
    drawn = on_rows(data, rows).draw(jr.key(0))
    allowed = np.asarray(data.functions.y[rows]).reshape(-1)
    values = np.asarray(drawn.y)[np.asarray(drawn.mask) > 0]
    assert np.isin(values, allowed).all() and len(np.unique(values)) > 3


def test_held_out_functions_of_common_inputs_are_never_drawn():
    y = jnp.arange(6.0)[:, None, None] + jnp.zeros((6, 4, 1))
    data = FixedInputsGenerator(x=jnp.arange(4.0)[:, None], y=y, batch_size=64)
    drawn = on_rows(data, np.array([1, 4])).draw(jr.key(0))
    assert set(np.unique(drawn.y)) == {1.0, 4.0}


def test_learning_rates_are_those_of_adam():
    """The length is a number of the state, and nothing else differs."""
    steps, start = 60, jnp.asarray([3.0, -2.0])
    paths = []
    for optimiser in (adam(steps, peak=0.3), cosine_adam(0.3)):
        params, state = start, optimiser.init(start)
        if optimiser is not adam(steps, peak=0.3):
            train = TrainState(params, params, state, jnp.zeros((), jnp.int32), jr.key(0))
            state = with_length(train, steps).optimiser
        path = []
        for _ in range(steps):
            with jax.numpy_dtype_promotion("standard"):
                updates, state = optimiser.update(2 * params, state, params)
            params = optax.apply_updates(params, updates)
            path.append(np.asarray(params))
        paths.append(np.stack(path))
    assert_allclose(paths[1], paths[0], rtol=1e-5, atol=1e-6)


def test_other_functions_and_lengths_compile_nothing(candidate):
    _run(candidate, np.arange(20))
    assert compilations(lambda: _run(candidate, np.arange(5, 30), steps=2 * CHUNK)) == 0


def test_training_stops_when_validation_does_not_improve(candidate):
    run = _run(candidate, np.arange(20), steps=8 * CHUNK, patience=2)
    assert [point.step for point in run.points] == [CHUNK, 2 * CHUNK, 3 * CHUNK, 4 * CHUNK]


def test_early_stops_halve_the_first_interval(monkeypatch, candidate):
    monkeypatch.setattr(early_stopping, "FIRST_STOP", 2 * CHUNK)
    trainer, state = candidate.start(np.arange(4), steps=1000, key=jr.key(0))
    options = {"steps": 24 * CHUNK, "every": 8 * CHUNK, "validate": lambda s: np.ones(1)}
    run = train_validated(trainer, state, mean=np.mean, early=3, **options)
    assert [point.step for point in run.points] == [CHUNK * n for n in (2, 4, 8, 16, 24)]


def test_a_kill_changes_nothing(candidate, tmp_path):
    """Killed inside a validation, after a checkpoint: the same bits at the end."""
    rows = np.arange(20)

    def norm(score):
        leaves = eqx.filter(score, eqx.is_inexact_array)
        return np.asarray([float(optax.tree.norm(leaves))])

    whole = _run(candidate, rows, validate=norm)
    calls = []

    def killed(score):
        calls.append(score)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return norm(score)

    with pytest.raises(KeyboardInterrupt):
        _run(candidate, rows, tmp_path, validate=killed)
    resumed = _run(candidate, rows, tmp_path, validate=norm)
    assert eqx.tree_equal(resumed.state, whole.state)
    for point, expected in zip(resumed.points, whole.points, strict=True):
        assert point.step == expected.step
        assert_array_equal(point.params, expected.params)
        assert_array_equal(point.values, expected.values)


def test_a_restart_goes_on_from_the_parameters_at_low_rates(candidate):
    rows, steps = np.arange(30), 40 * CHUNK
    params = _run(candidate, rows).points[-1].params
    trainer, state = candidate.start(rows, steps=steps, key=jr.key(3))
    state = restarted(state, params, steps - CHUNK)
    runs = []

    def train():
        options = {"validate": lambda score: np.ones(1), "mean": np.mean}
        runs.append(train_validated(trainer, state, steps=steps, every=CHUNK, **options))

    assert compilations(train) == 0
    (point,) = runs[0].points
    assert point.step == steps
    moved = np.abs(point.params - params).max()
    assert 0 < moved < CHUNK * 1e-2 * candidate.plan.peak_learning_rate + CHUNK * 1e-5


def test_divergence_ends_the_training(candidate):
    trainer, state = candidate.start(np.arange(20), steps=CHUNK, key=jr.key(0))
    state = eqx.tree_at(lambda s: s.params, state, jnp.full_like(state.params, jnp.nan))
    run = train_validated(
        trainer, state, steps=2 * CHUNK, every=CHUNK, validate=lambda s: np.ones(1), mean=np.mean
    )
    assert run.points == ()
