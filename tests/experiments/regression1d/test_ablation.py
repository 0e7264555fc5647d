"""The ablation at its smallest: rows, exact references, one program for all parametrisations."""

import json

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import pytest
from numpy.testing import assert_allclose

from geomndp.experiments.regression1d.ablation import EXACT, ablation
from geomndp.experiments.regression1d.ablation_configs import (
    SAME,
    AblationConfig,
    ablation_configs,
    measurable,
    with_ablation,
)
from geomndp.score import PARAMETRISATIONS

from ..helper import network, small_problem


@pytest.mark.slow
def test_rows_of_trained_and_exact_scores():
    chosen = [AblationConfig("SE(1)", "root")]
    rows = ablation(
        problem=small_problem(),
        model=network(),
        steps=2,
        num=4,
        chosen=chosen,
        batch_size=4,
        batches=1,
        workers=2,
    )
    found = {(row["limit"], row["parametrisation"]): row for row in rows}
    assert set(found) == {*chosen, ("SE(1)", EXACT)}
    for setting in chosen:
        row = found[setting]
        assert row["steps"] == 2 and row["gap_joint"][0] > 0.01 and row["gap_conditional"][0] > 0.01
        assert row["regret"][0] > 0.01
    # What is left is the end at time 1, where the limit is not quite reached.
    assert abs(found["SE(1)", EXACT]["regret"][0]) < 0.03
    assert json.loads(json.dumps(rows)) == rows


@eqx.filter_jit
def output(model, t, x, y):
    """Score of a model; one program for all that are `measurable`."""
    return model.score(model.noising, t, x, y)


@pytest.mark.parametrize("name", PARAMETRISATIONS)
def test_one_program_is_that_of_each_parametrisation(name):
    keys = jr.split(jr.key(1), 2)
    x, y = (jr.normal(key, (4, 1), jnp.float32) for key in keys)
    model = with_ablation(
        network(), small_problem().process.variance, AblationConfig("SE(0.1)", name)
    )
    # A new network gives zeros, which all parametrisations read alike.
    model = eqx.tree_at(lambda m: m.score.net.head.weight, model, jnp.ones((1, 8), jnp.float32))
    t = jnp.asarray(0.3, jnp.float32)
    assert_allclose(output(model, t, x, y), output(measurable(model), t, x, y), rtol=1e-5)


def test_settings_are_those_of_the_paper():
    names = {limit: [] for limit in ("white", "SE(1)", "SE(0.1)", "periodic")}
    for setting in ablation_configs():
        names[setting.limit].append(setting.parametrisation)
    assert names.pop("white") == [SAME, "data", "velocity"]
    assert all(found == list(PARAMETRISATIONS) for found in names.values())
