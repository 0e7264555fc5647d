"""A steerable neural process commutes with its group and with shifts of its grid."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from geomndp.baselines.neural_processes.group_conv import group_matrices
from geomndp.baselines.neural_processes.steer_cnp import SteerCNP, SteerCNPConfig
from geomndp.baselines.neural_processes.training import NeuralProcessLoss, fit_process
from geomndp.data import ContextSampler
from geomndp.data.grids import CholeskyGenerator, GridGenerator, disc, grid_tasks
from geomndp.equivariance import FieldType, RigidTransform
from geomndp.gp import GP
from geomndp.kernels import CurlFree
from geomndp.train import adam

from .checks import check_all, with_random_parameters

SIZES = {"num_fields": 3, "num_layers": 2, "kernel_size": 3, "points_per_unit": 2.0, "extent": 6.0}


def make(representations=("vector",), *, key, **options):
    p = FieldType(2, *representations).size
    return SteerCNP(2, p, key=key, **SIZES | {"representations": representations} | options)


@pytest.fixture(scope="module")
def process():
    return make(key=jr.key(0))


def task(p=2, c=7, n=5, *, key):
    """Context, targets and values within a square of side 5 about the origin."""
    keys = jr.split(key, 4)
    xc, x = (
        jr.uniform(k, (m, 2), minval=-2.5, maxval=2.5) for k, m in zip(keys, (c, n), strict=False)
    )
    return xc, jr.normal(keys[2], (c, p)), x, jr.normal(keys[3], (n, p))


@jax.jit
def predict(process, xc, yc, x, context_mask=None, mask=None):
    context_mask = jnp.ones(len(xc), xc.dtype) if context_mask is None else context_mask
    mask = jnp.ones(len(x), x.dtype) if mask is None else mask
    return process.predict(xc, yc, context_mask, x, mask)


@pytest.mark.parametrize("group", [pytest.param("c4", marks=pytest.mark.slow), "d4"])
@pytest.mark.parametrize(
    "representations", [("vector",), ("scalar", "vector"), ("pseudoscalar", "symmetric")], ids=str
)
def test_laws_move_with_the_data(group, representations, getkey):
    process = make(representations, group=group, key=getkey())
    field_type = process.config.field_type
    p = field_type.size
    xc, yc, x, _ = task(p, key=getkey())
    law = predict(process, xc, yc, x)
    assert float(jnp.max(jnp.abs(law.location))) > 1e-5  # something to rotate
    shift = jnp.array([3.0, -1.5])  # cells of 0.5
    for matrix in group_matrices(group):
        transform = RigidTransform(jnp.asarray(matrix, float), shift)
        moved = predict(
            process,
            transform.act_on_inputs(xc),
            transform.act_on_outputs(yc, field_type),
            transform.act_on_inputs(x),
        )
        expected = transform.act_on_outputs(law.location, field_type)
        np.testing.assert_allclose(moved.location, expected, atol=1e-9)
        d = field_type.action(transform.matrix)
        covariance = jnp.einsum("ab,nbc,dc->nad", d, law.covariance, d)
        np.testing.assert_allclose(moved.covariance, covariance, atol=1e-9)


def test_reflections_are_learnt_by_c4_and_built_into_d4(getkey):
    flip = RigidTransform(jnp.diag(jnp.array([1.0, -1.0])), jnp.zeros(2))
    vector = FieldType(2, "vector")
    xc, yc, x, _ = task(key=getkey())
    errors = {}
    for group in ("c4", "d4"):
        process = make(group=group, key=jr.key(3))
        mean = predict(process, xc, yc, x).location
        inputs = flip.act_on_inputs(xc), flip.act_on_outputs(yc, vector), flip.act_on_inputs(x)
        flipped = flip.act_on_outputs(predict(process, *inputs).location, vector)
        errors[group] = float(jnp.linalg.norm(flipped - mean) / jnp.linalg.norm(mean))
    assert errors["d4"] < 1e-9 < 1e-2 < errors["c4"]


def test_nothing_known_has_no_direction(process):
    """At a cell without a context all of the group keeps the law: no mean, one variance."""
    law = predict(process, jnp.zeros((0, 2)), jnp.zeros((0, 2)), jnp.array([[0.5, 1.0]]))
    np.testing.assert_allclose(law.location, 0.0, atol=1e-12)
    covariance = law.covariance[0]
    np.testing.assert_allclose(covariance, covariance[0, 0] * np.eye(2), atol=1e-12)


@pytest.mark.parametrize(
    "representations", [pytest.param(("vector",), marks=pytest.mark.slow), ("scalar",)], ids=str
)
def test_laws_hold_what_every_neural_process_does(representations, getkey):
    check_all(with_random_parameters(make(representations, key=getkey())))


def test_padding_beyond_the_grid_changes_nothing(process, getkey):
    xc, yc, x, y = task(key=getkey())
    nats = predict(process, xc, yc, x).log_prob(y)

    def padded(v, value):
        return jnp.concatenate([v, jnp.full((3, 2), value)])

    context_mask, mask = jnp.ones(10).at[7:].set(0.0), jnp.ones(8).at[5:].set(0.0)
    inputs = padded(xc, 40.0), padded(yc, 1e6), padded(x, -30.0)
    law = predict(process, *inputs, context_mask, mask)
    np.testing.assert_allclose(law.log_prob(padded(y, jnp.nan), mask), nats, rtol=1e-12)


def test_targets_do_not_see_each_other(process, getkey):
    """Other targets move the grid, whose edges are too far away to matter."""
    xc, yc, x, _ = task(key=getkey())
    together = predict(process, xc, yc, x)
    for row in range(len(x)):
        alone = predict(process, xc, yc, x[row : row + 1])
        np.testing.assert_allclose(alone.location[0], together.location[row], atol=1e-9)
        np.testing.assert_allclose(alone.covariance[0], together.covariance[row], atol=1e-9)


def test_inputs_wider_than_the_grid_have_no_law(process, getkey):
    xc, yc, x, _ = task(key=getkey())
    wide = predict(process, xc, yc, x.at[0, 1].set(40.0))
    assert np.isnan(wide.location).all()


def test_a_larger_grid_changes_nothing(process, getkey):
    xc, yc, x, _ = task(key=getkey())
    assert process.with_room(xc, x) is process
    roomy = process.with_room(xc, x, jnp.array([[0.0, -3.0], [0.0, 12.0]]))
    assert roomy.config.extent == 24.0
    law, wide = predict(process, xc, yc, x), predict(roomy, xc, yc, x)
    np.testing.assert_allclose(wide.location, law.location, atol=1e-9)
    np.testing.assert_allclose(wide.covariance, law.covariance, atol=1e-9)


def test_densities_and_samples_by_the_protocol(process, getkey):
    xc, yc, x, y = task(key=getkey())
    block = predict(process, xc, yc, x)

    @jax.jit
    def ask(process, key):
        law = process.condition(xc, yc)
        samples = law.sample(x, key=key, num_samples=3)
        return law.log_prob(x, y), *law.mean_and_std(x), samples

    nats, mean, std, samples = ask(process, getkey())
    np.testing.assert_allclose(nats, block.log_prob(y), rtol=1e-12)
    np.testing.assert_allclose(mean, block.location, rtol=1e-12)
    np.testing.assert_allclose(std**2, jnp.diagonal(block.covariance, axis1=1, axis2=2), rtol=1e-9)
    assert samples.shape == (3, 5, 2)
    assert float(jnp.max(jnp.abs(samples - mean[None]) / std[None])) < 6
    assert "factorised" in repr(process)


def test_half_precision_is_close(getkey):
    xc, yc, x, _ = (v.astype(jnp.float32) for v in task(key=getkey()))
    laws = [
        predict(make(key=jr.key(0), dtype="float32", compute_dtype=dtype), xc, yc, x)
        for dtype in (None, "bfloat16")
    ]
    assert laws[1].location.dtype == jnp.float32
    np.testing.assert_allclose(laws[1].location, laws[0].location, atol=0.05)
    assert not np.array_equal(laws[1].location, laws[0].location)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"input_dim": 1}, "expected fields over the plane, input_dim 2, got 1"),
        ({"output_dim": 3}, r"expected 2 of \('vector',\), got 3 outputs"),
        ({"group": "c8"}, "expected group to be one of 'c4', 'd4', got 'c8'"),
        ({"kernel_size": 4}, "expected an odd kernel_size, got 4"),
        ({"margin": -1.0}, "expected margin >= 0, got -1.0"),
    ],
)
def test_settings_that_do_not_fit_are_refused(options, message, getkey):
    with pytest.raises(ValueError, match=message):
        SteerCNP(**{"input_dim": 2, "output_dim": 2} | options, key=getkey())


def test_grid_covers_the_extent_and_margins():
    config = SteerCNPConfig(2, 2, extent=20.0, points_per_unit=1.45, margin=3.0)
    assert config.grid_size % 2 == 1
    assert (config.grid_size // 2) * config.spacing >= 13.0 + config.spacing / 2


def test_process_for_the_box_of_the_data(getkey):
    box = ((0.0, 4.0), (-1.0, 1.0))
    process = SteerCNP.for_data(2, 2, box, num_fields=2, num_layers=1, key=getkey())
    assert process.config.extent == 4.0
    assert process.config.points_per_unit == 6.0
    scalars = SteerCNP.for_data(2, 3, box, num_layers=1, key=getkey())
    assert scalars.config.representations == ("scalar",) * 3


@pytest.mark.slow
def test_training_lowers_the_loss_below_that_of_the_prior():
    draw = CholeskyGenerator(GP(CurlFree(2.0), noise=0.02), disc(8, 3.0), "float32")
    generator = GridGenerator(draw, 4, ContextSampler(share=1.0, few=20, few_share=1.0))
    sizes = SIZES | {"points_per_unit": 1.0, "margin": 1.0, "num_fields": 2}
    process = SteerCNP(2, 2, **sizes, dtype="float32", key=jr.key(0))
    options = {"optimiser": adam(150, peak=5e-3), "ema_decay": 0.9, "quiet": True}
    trained, _ = fit_process(process, generator, steps=150, key=jr.key(1), **options)
    tasks = grid_tasks(draw, num=16, contexts=15, seed=3)
    loss, _ = jax.jit(NeuralProcessLoss())(trained, None, tasks, key=jr.key(2))
    prior = np.log(2 * np.pi * np.e * np.var(tasks.y))
    assert float(loss) < prior - 0.2
