"""Trajectory distillation: no loss for exact flow maps, however functions share rows and inputs."""

import dataclasses

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from geomndp import data, distillation, geometry, nets, noising, score
from geomndp._types import Batch
from geomndp.data import Batching, synthetic
from geomndp.distillation.trajectory import teacher_trajectory
from geomndp.train.fingerprint import differences, fingerprint

from ..cases import perturbed, quick
from ..flow_maps import GaussianFlowMap, SolvedFlowMap
from .test_losses import DATA, FLAT, HalfWay, functions

EXACT = score.GaussianScore(DATA)


def test_exact_map_of_gaussian_data_has_no_loss(getkey):
    """What is left is the error of the solver, of order 4: its square falls 256 fold by halves."""
    batch, keys = functions(getkey()), jr.split(getkey(), 8)  # some pairs of times tell little

    def losses(batch, keys):
        values = []
        for steps, flow_map in ((16, True), (32, True), (32, False)):
            loss = distillation.TrajectoryLoss(EXACT, solver_steps=steps, smoothing=100.0)
            student = GaussianFlowMap(DATA) if flow_map else HalfWay(DATA)

            def of_key(key, loss=loss, student=student):
                return loss(student, FLAT, batch, key=key)[0]

            values.append(jnp.mean(jax.vmap(of_key)(keys)))
        return values

    coarse, fine, wrong = quick(losses)(batch, keys)
    assert fine < 1e-6 and fine < coarse / 50
    assert wrong > 1e4 * fine


def test_trajectory_is_the_exact_flow_at_and_between_its_nodes(getkey):
    times = jnp.linspace(1.0, 0.1, 25)
    free = jnp.asarray([0.0, 1.0, 1.0, 1.0])
    x, own = jr.uniform(getkey(), (4, 1)), jnp.asarray([0.01, 1.0, 1.0, 1.0])
    y = jr.normal(getkey(), (4, 1))
    target = jnp.asarray([0.01, 0.12, 0.33, 0.97])

    def both(x, y):
        angles = score.flow_angle(FLAT, times)
        trajectory = teacher_trajectory(EXACT, FLAT, angles, own, x, y, None, free)
        ends = (jnp.where(free > 0, t, own) for t in target)
        exact = [GaussianFlowMap(DATA).flow_map(FLAT, own, end, x, y) for end in ends]
        points = jnp.arange(4)
        return trajectory(score.flow_angle(FLAT, target)), jnp.stack(exact)[points, points]

    solved, exact = quick(both)(x, y)
    np.testing.assert_allclose(solved, exact, atol=2e-5)
    np.testing.assert_array_equal(solved[0], y[0])


def small_student():
    options = {"width": 8, "num_layers": 1, "num_heads": 2, "bias_width": 4, "key": jr.key(0)}
    net = perturbed(nets.RelativeAttention(1, 1, **options), 0.3, key=jr.key(1))
    student = nets.extend_network(net, key=jr.key(2), target_times=True)
    return (score.NetworkScore(v, conditional=True) for v in (net, student))


@pytest.mark.parametrize("how", ["packed", "common"])
def test_rows_and_common_inputs_change_nothing(how, getkey):
    """Two functions in one row, or one set of inputs: the same loss as one by one."""
    x = jr.uniform(getkey(), (4, 5, 1))
    mask = (jnp.arange(5)[None] < jnp.asarray([2, 4, 5, 1])[:, None]).astype(float)
    batching = Batching(packed=2)
    if how == "common":
        x, mask, batching = jnp.broadcast_to(x[:1], x.shape), 1 + 0 * mask, Batching(True)
    context = jnp.zeros((4, 5)).at[:3, 0].set(1.0)
    batch = Batch(x, jr.normal(getkey(), (4, 5, 1)), mask, context)
    teacher, student = small_student()
    loss = distillation.TrajectoryLoss(teacher, solver_steps=2, num_pairs=3)

    def both(batch, key):
        return [loss(student, FLAT, batch, key=key, **options) for options in choices]

    choices = ({}, {"batching": batching})
    one_by_one, together = quick(both)(batch, getkey())
    np.testing.assert_allclose(together[0], one_by_one[0], rtol=1e-6)
    np.testing.assert_allclose(together[1].losses, one_by_one[1].losses, rtol=1e-6)


def test_pool_serves_the_same_functions_with_new_pairs(getkey):
    """The exact map has no loss on them, and a wrong one that of the batch solved anew."""
    gp, sizes = synthetic.Gaussian(DATA), {"max_points": 5, "packed": True, "dtype": "float64"}
    generator = data.ProcessGenerator(gp, 4, contexts=data.ContextSampler(), **sizes)
    loss = distillation.TrajectoryLoss(EXACT, solver_steps=32, smoothing=100.0)
    pool = distillation.trajectory_pool(loss, FLAT, generator, 2, key=jr.key(3))
    assert pool.batching == generator.batching and pool.conditional
    data_key, solve_key = jr.split(jr.split(jr.key(3), 2)[0])
    batch = generator.draw(data_key)

    def both(key):
        options = {"key": key, "batching": pool.batching}
        solved = loss.solve(FLAT, batch, **(options | {"key": solve_key}))
        ours = jax.tree.map(lambda v: v[0], pool.solved)
        maps = (GaussianFlowMap(DATA), HalfWay(DATA))
        losses = [loss(flow_map, FLAT, ours, **options)[0] for flow_map in maps]
        return losses, loss(maps[1], FLAT, solved, **options)[0], pool.draw(key)

    (none, wrong), anew, drawn = quick(both)(getkey())
    assert none < 1e-6 < 1e-4 < wrong
    np.testing.assert_allclose(wrong, anew, rtol=1e-9)
    assert any(np.array_equal(drawn.x, x) for x in pool.solved.x)


def test_a_run_knows_how_many_batches_it_draws_from(getkey):
    """Another number of them is another run, which does not resume the first."""
    sizes = {"max_points": 3, "contexts": data.ContextSampler(), "dtype": "float64"}
    generator = data.ProcessGenerator(synthetic.Gaussian(DATA), 2, **sizes)
    loss, key = distillation.TrajectoryLoss(EXACT, solver_steps=1), jr.key(3)
    few, more = (distillation.trajectory_pool(loss, FLAT, generator, n, key=key) for n in (1, 2))
    assert differences(fingerprint(few), fingerprint(more))


@pytest.mark.slow
def test_exact_map_on_the_sphere_has_no_loss(getkey):
    sphere = geometry.Sphere(2)
    law = score.HeatMixtureScore(
        lambda x: jnp.stack([sphere.retract(jnp.ones((len(x), 3), x.dtype))]), (0.3,), (1.0,)
    )
    process = noising.Brownian(sphere, noising.LinearSchedule(1e-3, 3.0))
    y = sphere.uniform(6, key=getkey()).reshape(2, 3, 3)
    batch = Batch(jnp.zeros((2, 3, 1)), y, jnp.ones((2, 3)), jnp.zeros((2, 3)).at[:, 0].set(1.0))
    loss = distillation.TrajectoryLoss(law, 1e-2, solver_steps=12, smoothing=100.0)
    still = dataclasses.replace(SolvedFlowMap(law), steps=1)

    def losses(key):
        maps = (SolvedFlowMap(law), still)
        return jnp.stack([loss(m, process, batch, key=key)[0] for m in maps])

    values = quick(lambda keys: jax.lax.map(losses, keys))(jr.split(getkey(), 8))
    value, wrong = values.max(axis=0)  # one pair of times may be too close to tell them apart
    assert value < 1e-5 < wrong


def test_pairs_are_those_of_the_sampler(getkey):
    pairs = distillation.CallPairs(calls=(1, 4), call_share=1.0, upward_share=0.0)
    t, s = pairs(FLAT, (2, 64), 1e-3, jnp.float64, key=getkey())
    grid = np.asarray(score.flow_map_grid(FLAT)(FLAT.schedule, 4, 1e-3, jnp.float64))
    start, end = (np.abs(np.asarray(v)[..., None] - grid).argmin(-1) for v in (t, s))
    np.testing.assert_allclose(grid[start], t, rtol=1e-9)
    np.testing.assert_allclose(grid[end], s, rtol=1e-9)
    assert {(int(a), int(b)) for a, b in zip(start.flat, end.flat, strict=True)} == {
        (4, 0), (4, 3), (3, 2), (2, 1), (1, 0)
    }  # fmt: skip
    t, s = distillation.CallPairs()(FLAT, (4096,), 1e-3, jnp.float64, key=getkey())
    assert min(t.min(), s.min()) >= 1e-3 and max(t.max(), s.max()) <= 1
    np.testing.assert_allclose((s > t).mean(), 0.1, atol=0.03)


@pytest.mark.parametrize("options", [{"num_pairs": 0}, {"solver_steps": 0}, {"t_min": 0.0}])
def test_refuses_options(options):
    with pytest.raises(ValueError, match="expected"):
        distillation.TrajectoryLoss(EXACT, **options)
    with pytest.raises(ValueError, match="expected"):
        distillation.CallPairs(calls=())
