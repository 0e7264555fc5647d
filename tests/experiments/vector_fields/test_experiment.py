"""The vector-field experiments run from end to end on a small grid."""

import dataclasses

import jax
import jax.numpy as jnp
import jax.random as jr
import pytest
from numpy.testing import assert_allclose

from geomndp.auto import fit
from geomndp.data import disc
from geomndp.experiments.vector_fields import training as vector_fields
from geomndp.experiments.vector_fields.evaluate import (
    evaluate_on,
    exact_grid_score,
    field_score_errors,
)
from geomndp.experiments.vector_fields.experiment import MODELS
from geomndp.likelihood import Flow, Hutchinson
from geomndp.model import load
from geomndp.model.outside_training import warn_about_targets
from geomndp.model.training_record import enough_batches
from geomndp.solve import Heun
from geomndp.train.loss import squared_errors

from ...cases import slow_but
from ...nets.helper import quick

SMALL = {"channels": 4, "width": 4, "num_layers": 1, "num_radial": 2}
TINY = {"width": 4, "num_layers": 1, "num_heads": 1}
CASES = {"vector-fields/curl-free": SMALL, "vector-fields/curl-free-ndp": TINY}


def small(name):
    return vector_fields.problem_for(name)._replace(grid=disc(6, 10 / 29 * 5), contexts=4)


def test_names_are_those_of_the_table():
    assert tuple(MODELS)[:2] == ("vector-fields/se", "vector-fields/se-ndp")
    assert tuple(MODELS)[-1] == "vector-fields/hessian"
    with pytest.raises(ValueError, match="expected model to be one of"):
        vector_fields.problem_for("vector-fields/curl")


def test_no_neighbour_is_missed_on_the_paper_grid():
    name = "vector-fields/se"
    model = vector_fields.make_model(name, key=jr.key(0), **SMALL)
    find = quick(lambda x: model.score.net.graph(x, jnp.ones(648)))
    graph = find(jnp.asarray(vector_fields.problem_for(name).grid))
    assert int(graph.num_dropped) == 0
    assert int(graph.real.sum(axis=1).max()) == 20
    with pytest.raises(ValueError, match="expected room for all neighbours"):
        vector_fields.make_model(name, key=jr.key(0), **SMALL, max_neighbours=19)


# Training by the command line and exact scores have fast tests.
@pytest.mark.slow
@pytest.mark.parametrize("name", ["div-free", "se-ndp", "hessian"])
def test_train_and_score(name):
    name = f"vector-fields/{name}"
    problem, options = small(name), SMALL if MODELS[name].equivariant else TINY
    model = vector_fields.make_model(name, key=jr.key(0), **options)
    generator = vector_fields.make_generator(name, 4, functions=8, problem=problem)
    model, history = fit(
        model,
        generator,
        steps=2,
        key=jr.key(1),
        loss=vector_fields.make_loss(),
        optimiser=vector_fields.make_optimiser(name, 2),
        quiet=True,
    )
    assert jnp.isfinite(history.loss[-1])
    assert model.score.conditional
    flow = Flow(Heun(), 2, divergence=Hutchinson(2))
    metrics = evaluate_on(model, problem, num=2, flow=flow, batch_size=2)
    assert metrics["regret"][0] == pytest.approx(
        metrics["gp"][0] - metrics["log_prob"][0], abs=1e-4
    )
    assert metrics["gp"][0] > metrics["diagonal_gp"][0]
    score_errors = field_score_errors(model, problem, num=8, batches=1, cells=2)
    assert score_errors["joint"]["gap"][0] > 0


def test_records_of_training_see_many_designs():
    """One batch has one set of locations: four would miss the sparsest."""
    name = "vector-fields/curl-free"
    sparse, dense = vector_fields.make_generator(name, 4, sets=20, problem=small(name))[:2]
    assert [len(generator.locations) for generator in (sparse, dense)] == [21, 20]
    assert [enough_batches(generator, 4) for generator in (sparse, dense)] == [42, 40]
    (grid,) = vector_fields.make_generator(name, 4, functions=8, problem=small(name))
    assert enough_batches(grid, 4) == 4


@pytest.mark.parametrize("name", ["vector-fields/se", "vector-fields/curl-free"])
def test_points_as_sparse_as_in_training_do_not_warn(name):
    """Warnings are errors here. Thinned designs of a training have points this far apart."""
    lattice = jnp.stack(jnp.meshgrid(*[6.0 * jnp.arange(3.0)] * 2), axis=-1).reshape(-1, 2)
    warn_about_targets(load(name).condition(), lattice)


def test_probe_noise_is_taken_from_the_regret():
    name = "vector-fields/curl-free"
    problem = small(name)
    model = vector_fields.make_model(name, key=jr.key(0), **SMALL)
    law = dataclasses.replace(model, score=exact_grid_score(problem))
    flow = Flow(steps=8, divergence=Hutchinson(2))
    exact = evaluate_on(law, problem, num=4, flow=flow, batch_size=4)
    assert abs(exact["regret"][0]) < 1e-5 and exact["regret"][1] < 1e-5
    assert exact["probe_error"] < 1e-5 < 1e-3 < exact["exact_flow"][1]


# That steerable networks may share inputs is checked with them, too.
@pytest.mark.parametrize("name", slow_but(("vector-fields/curl-free-ndp",), CASES))
def test_shared_inputs_do_not_change_the_loss(name):
    model = vector_fields.make_model(name, key=jr.key(0), **CASES[name])
    # The untrained head is zero: any parameters will do.
    score = jax.tree.map(
        lambda leaf: (
            leaf + 0.1 * jnp.cos(jnp.arange(leaf.size, dtype=leaf.dtype)).reshape(leaf.shape)
        ),
        model.score,
    )
    # The second generator's inputs differ from batch to batch where the model is equivariant.
    generator = (vector_fields.make_generator(name, 3, sets=2, problem=small(name)) * 2)[1]
    batch = quick(lambda key: generator.draw(key))(jr.key(2))
    t = jnp.broadcast_to(jnp.float32(0.3), batch.mask.shape)

    @quick
    def both(batch):
        args = (score, model.noising, t, batch)
        ways = ({}, {"batching": generator.batching})
        return [squared_errors(*args, key=jr.key(3), **way) for way in ways]

    padded = generator.batching.padded
    assert generator.batching.common_inputs and padded != name.endswith("-ndp")
    plain, shared = both(batch)
    assert_allclose(shared, plain, rtol=1e-4, atol=1e-6)
    # Of unpadded functions the mask is not read.
    plain, shared = both(batch._replace(mask=batch.mask.at[:, -5:].set(0.0)))
    assert bool(jnp.allclose(shared[:, :-5], plain[:, :-5], rtol=1e-4)) == padded
