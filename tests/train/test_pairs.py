"""Two functions in one row give what each gives alone."""

from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from geomndp import data, nets, train
from geomndp.kernels import SquaredExponential, White
from geomndp.noising import LinearSchedule, OrnsteinUhlenbeck
from geomndp.score import NetworkScore
from geomndp.train.pairs import in_pairs, join, part

SIZES: dict[str, Any] = {"width": 8, "num_layers": 2, "num_heads": 2}
NETS = {
    "relative": lambda key: nets.RelativeAttention(1, 1, **SIZES, key=key),
    "absolute": lambda key: nets.BiDimensionalAttention(1, 1, **SIZES, key=key),
    "centred": lambda key: nets.BiDimensionalAttention(1, 1, inputs="centred", **SIZES, key=key),
}
STREAM = data.regression1d("paper", "se").stream(batch_size=6, in_pairs=True)


def stirred(net, key):
    """Parameters away from their start, where the output is zero."""
    leaves, tree = jax.tree.flatten(net)
    keys = jr.split(key, len(leaves))
    return jax.tree.unflatten(
        tree, [v + 0.3 * jr.normal(k, v.shape, v.dtype) for v, k in zip(leaves, keys, strict=True)]
    )


def test_join_and_part_are_inverse():
    first, second = jnp.arange(1.0, 6.0)[:, None], jnp.arange(11.0, 16.0)[:, None]
    for count in range(1, 6):
        mask = (jnp.arange(5) < count).astype(float)
        one, two = part(join(first, second, mask), 5)
        assert_array_equal(one[:count], first[:count])
        assert_array_equal(two[: 6 - count], second[: 6 - count])


@pytest.mark.parametrize("kernel", [White(1.0), SquaredExponential(0.5)], ids=["white", "se"])
@pytest.mark.parametrize("name", NETS)
def test_loss_is_that_of_functions_alone(name, kernel, getkey):
    score = NetworkScore(stirred(NETS[name](getkey()), getkey()))
    noising = OrnsteinUhlenbeck(kernel, LinearSchedule(0.0, 10.0))
    batch, key = STREAM.draw(getkey()), getkey()
    loss = train.DenoisingLoss(average="point")
    alone, info = loss(score, noising, batch, key=key)
    pairs, pair_info = loss(score, noising, batch, key=key, paired=True)
    assert_allclose(pair_info.losses, info.losses, rtol=1e-9)
    assert_allclose(pairs, alone, rtol=1e-10)
    assert float(jnp.std(info.losses)) > 1e-3


def test_pairs_fill_their_rows_and_sizes_stay_uniform():
    stream = data.regression1d("paper", "se").stream(batch_size=20_000, in_pairs=True)
    points = jnp.sum(stream.draw(jr.key(0)).mask, axis=1)
    assert_array_equal(points[0::2] + points[1::2], 61.0)
    shares = jnp.bincount(points.astype(int), length=61)[1:] / len(points)
    assert_allclose(shares, 1 / 60, atol=0.004)


def test_odd_batches_are_refused(getkey):
    with pytest.raises(ValueError, match="expected an even batch_size to pair, got 7"):
        data.regression1d("paper", "se").stream(batch_size=7, in_pairs=True)
    batch = jax.tree.map(lambda v: v[:3], STREAM.draw(getkey()))
    with pytest.raises(ValueError, match="expected an even number of functions"):
        in_pairs(NETS["relative"](getkey()), batch.mask, batch.x, batch.y, batch.mask)
