"""Models of fields on the sphere: their parts, and a training of seconds."""

import dataclasses

import jax
import jax.random as jr
import numpy as np
import pytest

import geomndp as gn
from geomndp.data import Batch, sphere_problem
from geomndp.experiments.registry import experiment, find
from geomndp.experiments.sphere_fields.evaluate import evaluate, evaluate_region, locations
from geomndp.experiments.sphere_fields.exact import expected_nats
from geomndp.experiments.sphere_fields.experiment import FIELDS, MODELS, REGIONS
from geomndp.experiments.sphere_fields.reference import EXACT
from geomndp.experiments.sphere_fields.report import report
from geomndp.experiments.sphere_fields.training import (
    DESIGNS,
    GENERATOR_ORDER,
    STEERABLE,
    design_sets,
    make_generator,
    make_loss,
    make_model,
    make_optimiser,
    problem_for,
    radius_for,
)
from geomndp.likelihood import Flow
from geomndp.nets import BiDimensionalAttention, SteerableMap, SteerableSphere
from geomndp.nets.graph import EDGES
from geomndp.score import GaussianScore
from geomndp.solve import RK4

NAME = "sphere-fields/div-free"
TINY = {"channels": 8, "width": 16, "num_layers": 2, "num_radial": 6}
PROBLEM = sphere_problem("div-free", 0.8, points=40, contexts=5)


def tiny_model(key=0):
    """An untrained network whose radius suits few points."""
    model = make_model(NAME, key=jr.key(key), **TINY)
    options = STEERABLE | TINY | {"radius": 1.2, "max_neighbours": 39}
    net = SteerableSphere(("vector",), **options, dtype="float32", key=jr.key(key))
    return dataclasses.replace(model, score=dataclasses.replace(model.score, net=net))


def exact_model(problem):
    score = GaussianScore(problem.gp)
    return gn.Model(tiny_model().noising, score)


def test_names_and_networks():
    assert find(NAME) is experiment("sphere-fields")
    assert {spec.field for spec in MODELS.values()} == set(FIELDS)
    for end, kind in (
        ("", SteerableSphere),
        ("-ndp", BiDimensionalAttention),
        ("-map", SteerableMap),
    ):
        options = {"width": 8, "num_layers": 1}
        model = make_model(f"sphere-fields/scalar{end}", key=jr.key(0), **options)
        assert isinstance(model.score.net, kind)
        assert (model.score.net.input_dim, model.score.net.output_dim) == (3, 1)
    with pytest.raises(ValueError, match="model"):
        problem_for("sphere-fields/none")
    assert problem_for("sphere-fields/hodge-short").gp.kernel is not None


def test_training_fields(getkey):
    generators = make_generator(NAME, 8, sets=2, problem=PROBLEM)
    assert len(generators) == len(GENERATOR_ORDER)
    for generator in generators:
        batch = generator.draw(getkey())
        assert isinstance(batch, Batch) and batch.y.shape[2] == 2
        lengths = np.linalg.norm(np.asarray(batch.x)[np.asarray(batch.mask) > 0], axis=-1)
        np.testing.assert_allclose(lengths, 1.0, rtol=1e-5)
    assert len(make_generator(f"{NAME}-ndp", 4, problem=PROBLEM)) == 1
    assert len(make_generator(NAME, 4, 16, problem=PROBLEM)) == 1


def test_two_programs_serve_all_laws(getkey):
    """Shapes of all batches and networks are those of other laws: programs are shared."""
    shapes = set()
    for name in (NAME, "sphere-fields/hodge-short"):
        problem = sphere_problem(MODELS[name].field, 0.8, points=40, contexts=5)
        generators = make_generator(name, 8, sets=2, problem=problem)
        assert len({id(generator) for generator in generators}) == 2
        batches = tuple(jax.eval_shape(part.draw, getkey()) for part in generators)
        shapes.add(str([jax.tree.map(jax.numpy.shape, batch) for batch in batches]))
    assert len(shapes) == 1
    grid = problem_for(NAME).grid
    for design in DESIGNS.values():
        sets = design_sets(design, grid, num=6, radius=radius_for(NAME))
        assert {len(points) for points in sets} == {design.points}
        assert design.points * design.most_neighbours <= EDGES
        assert (sets[0] is grid) == (design.test_share is not None)


def test_locations_of_all_regions():
    sizes = [len(locations(region, PROBLEM)) for region in REGIONS]
    assert sizes == [40, 40, 13, 120, 40]
    with pytest.raises(ValueError, match="region"):
        evaluate(exact_model(PROBLEM), NAME, region="nowhere")


def test_the_exact_score_has_no_regret():
    """All of the evaluation with inputs on the sphere, but for the network."""
    flow = Flow(RK4(), 24)
    problem = sphere_problem("hodge", 0.8, points=12, contexts=4)
    metrics = evaluate_region(exact_model(problem), problem, "uniform", num=4, flow=flow)
    assert metrics["points"] == 12 and metrics["num"] == 4
    assert abs(metrics["regret"][0]) < 0.01


def test_reference_numbers_are_those_of_the_exact_process():
    for (field, lengthscale), (joint, diagonal) in EXACT.items():
        if lengthscale == 0.35 and field in ("div-free", "scalar"):
            found = expected_nats(sphere_problem(field, lengthscale), num_contexts=4)
            assert abs(found.joint - joint) < 0.02
            assert abs(found.diagonal - diagonal) < 0.05
    found = {key: {"rms": [1.0, 0.1], "exact": 1.0} for key in ("divergence", "curl")}
    tables = report({"physics": {NAME: {"posterior": {"num": 3} | found}}})
    assert len(tables[0].rows) == len(EXACT) and tables[-1].rows[0][0] == NAME


@pytest.mark.slow
def test_training_comes_near_the_exact_score(tmp_path):
    """Likelihood after 300 steps beats the diagonal process; a saved model samples alike."""
    steps, generators = 300, make_generator(NAME, 16, sets=4, problem=PROBLEM)
    options = {"loss": make_loss(), "optimiser": make_optimiser(NAME, steps)}
    model, _ = gn.fit(
        tiny_model(), generators, steps=steps, key=jr.key(1), ema_decay=0.98, **options
    )
    metrics = evaluate_region(model, PROBLEM, "interpolation", num=32, probes=4)
    assert metrics["log_prob"][0] > metrics["diagonal_gp"][0]
    assert metrics["regret"][0] > -0.05
    path = tmp_path / "model"
    model.save(path)
    again = gn.load(path)
    x = np.asarray(PROBLEM.grid, np.float32)
    first, second = (m.sample(x, key=jr.key(0), num_samples=2) for m in (model, again))
    np.testing.assert_array_equal(first, second)
