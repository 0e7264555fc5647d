"""The transformer neural process: translations, masks, and targets that do not see each other."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from numpy.testing import assert_allclose

from geomndp.baselines.neural_processes.autoregressive import Autoregressive
from geomndp.baselines.neural_processes.te_tnp import TETNP

from .checks import check_all, check_permutations, predict, problem, with_random_parameters

TINY = {
    "width": 8,
    "num_layers": 2,
    "num_heads": 2,
    "bias_width": 4,
    "num_frequencies": 3,
    "min_std": 0.05,
    "dtype": "float64",
}


def tiny(input_dim: int = 1, output_dim: int = 1, **options) -> TETNP:
    options = {**TINY, **options}
    return with_random_parameters(TETNP(input_dim, output_dim, **options, key=jr.key(0)))


PROCESS = tiny()


def test_it_passes_all_checks():
    check_all(PROCESS)


@pytest.mark.slow
def test_rolled_out_it_passes_all_checks_but_that_of_the_order_of_targets():
    process = Autoregressive(PROCESS)
    check_all(process, targets=False)
    with pytest.raises(AssertionError):
        check_permutations(process)


@pytest.mark.parametrize("dim", [1, 2])
def test_law_moves_with_the_inputs(dim):
    process = tiny(dim, 2)
    (xc, yc, one), (x, mask), y = problem(process)
    shift = jnp.full((1, dim), 37.25)
    law = predict(process, (xc, yc, one), (x, mask))
    moved = predict(process, (xc + shift, yc, one), (x + shift, mask))
    assert_allclose(moved.log_prob(y), law.log_prob(y), rtol=1e-10)
    apart = predict(process, (xc, yc, one), (x + shift, mask))
    assert abs(apart.log_prob(y) - law.log_prob(y)) > 1e-3


def test_law_of_a_target_does_not_depend_on_the_others_but_on_the_context():
    (xc, yc, one), (x, mask), _ = problem(PROCESS)
    together = predict(PROCESS, (xc, yc, one), (x, mask)).mean()
    assert_allclose(predict(PROCESS, (xc, yc, one), (x[:1], mask[:1])).mean(), together[:1])
    moved = predict(PROCESS, (xc, yc.at[0].add(0.5), one), (x, mask)).mean()
    assert np.all(np.abs(moved - together) > 1e-6)


def test_covariates_are_no_part_of_the_symmetry():
    process = tiny(2, 1, num_invariant_inputs=1)
    (xc, yc, one), (x, mask), y = problem(process)
    nats = predict(process, (xc, yc, one), (x, mask)).log_prob(y)
    for column, same in ((0, True), (1, False)):
        shift = jnp.zeros((1, 2)).at[0, column].set(0.5)
        moved = predict(process, (xc + shift, yc, one), (x + shift, mask)).log_prob(y)
        assert (abs(moved - nats) < 1e-9) == same


def test_one_token_per_point_gives_the_loss_of_two():
    (x, y, _), _, _ = problem(PROCESS, context=6)
    context = jnp.asarray([1.0, 0, 1, 0, 0, 0])
    targets = jnp.asarray([0.0, 1, 0, 1, 1, 0])
    one = PROCESS.function_loss(x, y, context, targets, key=jr.key(0))
    two = PROCESS.training_loss(x, y, context, x, y, targets, key=jr.key(0))
    assert_allclose(one, two, rtol=1e-10)


def test_bfloat16_products_stay_close():
    context, targets, y = problem(PROCESS)
    half = tiny(compute_dtype="bfloat16", dtype="float32")
    single = tiny(dtype="float32")
    context, targets, y = jax.tree.map(lambda v: v.astype(jnp.float32), (context, targets, y))
    nats = [float(predict(p, context, targets).log_prob(y)) for p in (half, single)]
    assert abs(nats[0] - nats[1]) < 0.3
    assert nats[0] != nats[1]


def test_repr_says_that_samples_are_independent():
    assert "factorised: samples are independent per target" in repr(PROCESS)
    assert "joint" in repr(Autoregressive(PROCESS))
