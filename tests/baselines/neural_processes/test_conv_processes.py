"""Convolutional neural processes with random parameters: what holds whatever was learnt."""

from functools import cache, partial

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from numpy.testing import assert_allclose

import geomndp as gn
from geomndp.baselines.neural_processes.conv_cnp import ConvCNP
from geomndp.baselines.neural_processes.conv_gnp import ConvGNP
from geomndp.baselines.neural_processes.conv_np import ConvNP
from geomndp.baselines.neural_processes.full_conv_gnp import FullConvGNP
from geomndp.nets.changed_config import with_config

from .checks import (
    check_all,
    check_no_context,
    check_padding,
    check_permutations,
    check_vmap,
    predict,
    problem,
    summaries,
    with_random_parameters,
)

TINY = {"extent": 4.0, "points_per_unit": 4.0, "num_layers": 2, "width": 4, "kernel_size": 3}
KERNEL = {"kernel_points_per_unit": 3.0, "kernel_width": 3, "kernel_layers": 2}
LATENT = {"latent_channels": 2, "prediction_samples": 5, "training_samples": 3}


def tiny(kind, *dims, **options):
    return with_random_parameters(kind(*dims, key=jr.key(1), **TINY | options), scale=0.1)


KINDS = {
    "convcnp": partial(tiny, ConvCNP, 1, 1),
    "convcnp-dense": partial(tiny, ConvCNP, 1, 1, network="dense"),
    "convcnp-unet": partial(tiny, ConvCNP, 1, 1, network="unet"),
    "convcnp-plane": partial(tiny, ConvCNP, 2, 2, network="dense", points_per_unit=2.0),
    "convgnp": partial(tiny, ConvGNP, 1, 2, rank=3),
    "fullconvgnp": partial(tiny, FullConvGNP, 1, 1, **KERNEL),
    "fullconvgnp-two": partial(tiny, FullConvGNP, 1, 2, **KERNEL),
    "convnp": partial(tiny, ConvNP, 1, 1, **LATENT),
    "convnp-elbo": partial(tiny, ConvNP, 1, 1, objective="elbo", **LATENT),
}


@cache
def made(name):
    return KINDS[name]()


LATENT_NAMES = ("convnp", "convnp-elbo")
SLOW = ("convcnp-dense", "convgnp", "convcnp-unet", "convcnp-plane", "fullconvgnp-two", "convnp")
each = pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow if n in SLOW else ()) for n in KINDS]
)


def key_of(name):
    return jr.key(3) if name in LATENT_NAMES else None


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(n, marks=pytest.mark.slow if n in SLOW else ())
        for n in KINDS
        if n != "convnp-elbo"
    ],
)
def test_law_is_a_density_that_order_and_padding_leave_alone(name):
    check_all(made(name), key=key_of(name))


@pytest.mark.slow
def test_weighted_densities_are_left_alone_too_and_integrate_to_one_with_many_samples():
    process, key = made("convnp-elbo"), jr.key(3)
    for check in (check_permutations, check_padding, check_no_context, check_vmap):
        check(process, key=key)
    exact = with_config(process, prediction_samples=400)
    context, targets, y = problem(exact)
    weighted = exact.predict(*context, *targets, key=key)
    # Both estimate the same integral: two ways of sampling, one density.
    assert_allclose(weighted.log_prob(y), weighted.mixture.log_prob(y), atol=0.1)


@each
def test_shifts_by_multiples_of_the_spacing_change_nothing(name):
    process = made(name)
    (xc, yc, one), (x, mask), y = problem(process)
    shift = 3.0  # a multiple of all spacings: a half, a third, a quarter
    law = summaries(process, (xc, yc, one), (x, mask), y, key_of(name))
    moved = summaries(process, (xc + shift, yc, one), (x + shift, mask), y, key_of(name))
    for got, want in zip(moved, law, strict=True):
        assert_allclose(got, want, atol=1e-9)


def test_error_of_other_shifts_shrinks_with_the_spacing():
    # Pointwise layers, so that the same parameters serve every spacing.
    options = {"kernel_size": 1, "lengthscale": 0.4, "decoder_lengthscale": 0.4, "margin": 2.0}
    process = tiny(ConvCNP, 1, 1, **options)
    (xc, yc, one), (x, mask), y = problem(process)
    errors = []
    for density in (2.0, 4.0, 16.0):
        finer = with_config(process, points_per_unit=density)
        means = [
            summaries(finer, (xc + s, yc, one), (x + s, mask), y)[2] for s in (0.0, 0.4 / density)
        ]
        errors.append(float(jnp.max(jnp.abs(means[1] - means[0]))))
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < 1e-3


@pytest.mark.parametrize("name", ["convcnp", pytest.param("convcnp-unet", marks=pytest.mark.slow)])
def test_a_target_sees_no_farther_than_half_the_receptive_field(name):
    changes = {"extent": 12.0, "points_per_unit": 2.0}
    process = with_config(made(name), **changes)
    reach = (process.features.network.receptive_field - 1) / 2 / process.config.points_per_unit
    convs = process.features.encoder.lengthscale() + process.features.decoder.lengthscale()
    one, x = jnp.ones(1), jnp.asarray([[0.0]])

    @jax.jit
    def influence(distance):
        def mean(y):
            return process.predict(jnp.reshape(distance, (1, 1)), y, one, x, one).mean()[0, 0]

        return jnp.abs(jax.grad(mean)(jnp.ones((1, 1)))[0, 0])

    # Beside the network, set convolutions with tails of seven lengthscales, and half cells.
    far = reach + 1 / process.config.points_per_unit + 7 * float(convs)
    assert influence(far) < 1e-9
    assert influence(reach) > 1e-6


@pytest.mark.parametrize("name", ["convcnp", "convgnp"])
def test_a_target_does_not_depend_on_where_the_others_are(name):
    process = made(name)
    (xc, yc, one), (x, mask), y = problem(process)
    spread = x.at[1:].add(1.25)
    for margin, tolerance in ((None, 1e-3), (8.0, 1e-9)):
        wider = with_config(process, margin=margin)
        law = summaries(wider, (xc, yc, one), (x, mask), y)
        other = summaries(wider, (xc, yc, one), (spread, mask), y)
        for got, want in zip(other[2:], law[2:], strict=True):
            assert_allclose(got[0], want[0], atol=tolerance)


@pytest.mark.parametrize("name", ["convgnp", "fullconvgnp", "fullconvgnp-two"])
def test_covariance_is_positive_definite_at_coincident_targets(name):
    process = made(name)
    context, (x, mask), _ = problem(process)
    law = predict(process, context, (jnp.zeros_like(x), mask))
    assert np.min(np.linalg.eigvalsh(law.covariance)) >= process.config.min_std**2
    # All but the noise is shared.
    n, p = x.shape[0], process.dim
    blocks = np.asarray(law.covariance).reshape(n, p, n, p)
    assert_allclose(blocks[0, :, 1], blocks[0, :, 2], atol=1e-12)


@each
def test_inputs_that_leave_the_grid_give_nan_until_there_is_room(name):
    process = made(name)
    (xc, yc, one), (x, mask), y = problem(process)
    wide = x.at[0].add(24.0), mask
    assert np.isnan(summaries(process, (xc, yc, one), wide, y, key_of(name))[0])
    roomy = process.with_room(xc, wide[0])
    assert roomy.config.extent == 32.0
    assert np.isfinite(summaries(roomy, (xc, yc, one), wide, y, key_of(name))[0])
    assert process.with_room(xc, x) is process


@pytest.mark.parametrize("kind", [ConvCNP, ConvGNP, FullConvGNP, ConvNP])
def test_a_process_for_data_is_the_same_in_any_units(kind):
    options = {"num_layers": 2, "width": 4, "key": jr.key(0)}
    large = kind.for_data(1, 1, ((100.0, 300.0),), **options)
    small = kind.for_data(1, 1, ((0.1, 0.3),), **options)
    sizes = [p.config.grid_size(p.features.network) for p in (large, small)]
    assert sizes[0] == sizes[1] > 128
    assert large.config.extent == 200.0
    if kind is FullConvGNP:
        sizes = [p.kernel.config.grid_size(p.kernel.network) for p in (large, small)]
        assert sizes[0] == sizes[1] < 64


@pytest.mark.parametrize("kind", [ConvCNP, ConvGNP, FullConvGNP, ConvNP])
def test_more_inputs_than_a_grid_has_axes_are_refused(kind):
    with pytest.raises(ValueError, match="expected input_dim to be one of 1, 2, got 3"):
        kind.for_data(3, 1, ((0.0, 1.0),) * 3, key=jr.key(0))


def test_a_grid_of_too_many_cells_is_refused():
    process = made("convcnp-plane")
    with pytest.raises(ValueError, match="expected inputs that range over at most 1024, got 1e"):
        process.with_room(jnp.asarray([[0.0, 0.0], [0.0, 1e4]]))


def test_a_fixed_standard_deviation_is_that_of_every_component():
    process = with_config(made("convnp"), fixed_std=0.01)
    context, targets, _ = problem(process)
    assert_allclose(predict(process, context, targets, jr.key(0)).scales, 0.01)


def test_the_kernel_of_a_product_grid_needs_one_input():
    with pytest.raises(ValueError, match="one input"):
        FullConvGNP(2, 1, key=jr.key(0))


@pytest.mark.parametrize("name", ["convcnp", pytest.param("convnp-elbo", marks=pytest.mark.slow)])
def test_a_saved_process_gives_the_same_numbers_where_the_grid_has_to_grow(name, tmp_path):
    model = gn.ProcessModel(made(name))
    model.save(tmp_path / "model")
    again = gn.load(tmp_path / "model")
    xc, yc = np.asarray([0.0, 0.5, 1.0]), np.asarray([0.0, 1.0, 0.5])
    x, y = np.asarray([0.2, 3.0, 20.0]), np.zeros(3)
    nats = [m.condition(xc, yc).log_prob(x, y, key=1) for m in (model, again)]
    assert np.isfinite(nats[0])
    assert nats[0] == nats[1]
