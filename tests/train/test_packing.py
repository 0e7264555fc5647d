"""Two functions in one row give what each gives alone."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from geomndp import data, nets, train
from geomndp.kernels import SquaredExponential, White
from geomndp.noising import LinearSchedule, OrnsteinUhlenbeck
from geomndp.score import NetworkScore
from geomndp.train.packing import apply_packed, pack, unpack

from ..cases import quick, random, slow_but

SIZES: dict[str, Any] = {"width": 8, "num_layers": 2, "num_heads": 2}
NETS = {
    "relative": lambda key: nets.RelativeAttention(1, 1, **SIZES, key=key),
    "absolute": lambda key: nets.BiDimensionalAttention(1, 1, **SIZES, key=key),
    "centred": lambda key: nets.BiDimensionalAttention(1, 1, inputs="centred", **SIZES, key=key),
}
GENERATOR = data.regression1d("paper", "se").generator(batch_size=6, packed=True)
drawn = quick(GENERATOR.draw)


def stirred(name, key):
    """A network with parameters at random, away from their start, where the output is zero."""
    rng = random(key)

    def fill(leaf):
        return jnp.asarray(0.3 * rng.standard_normal(leaf.shape), leaf.dtype)

    return jax.tree.map(fill, eqx.filter_eval_shape(NETS[name], jr.key(0)))


def test_join_and_part_are_inverse():
    first, second = jnp.arange(1.0, 6.0)[:, None], jnp.arange(11.0, 16.0)[:, None]
    for count in range(1, 6):
        mask = (jnp.arange(5) < count).astype(float)
        one, two = unpack(pack(first, second, mask), 5)
        assert_array_equal(one[:count], first[:count])
        assert_array_equal(two[: 6 - count], second[: 6 - count])


# Noise is drawn before networks see a row, so a correlated one needs to be shown for one of them.
@pytest.mark.parametrize(
    "name", slow_but(("absolute", "centred", "relative-se"), [*NETS, "relative-se"])
)
def test_loss_is_that_of_functions_alone(name, getkey):
    net, _, smooth = name.partition("-")
    score = NetworkScore(stirred(net, getkey()))
    kernel = SquaredExponential(0.5) if smooth else White(1.0)
    noising = OrnsteinUhlenbeck(kernel, LinearSchedule(0.0, 10.0))
    loss = train.DenoisingLoss(reduction="point")

    @quick
    def both(batch, key):
        alone, pairs = (
            loss(score, noising, batch, key=key, batching=data.Batching(packed=p)) for p in (1, 2)
        )
        return *alone, *pairs

    alone, info, pairs, pair_info = both(drawn(getkey()), getkey())
    assert_allclose(pair_info.losses, info.losses, rtol=1e-9)
    assert_allclose(pairs, alone, rtol=1e-10)
    assert float(jnp.std(info.losses)) > 1e-3


def test_pairs_fill_their_rows_and_sizes_stay_uniform():
    generator = data.regression1d("paper", "se").generator(batch_size=20_000, packed=True)
    points = jnp.sum(quick(lambda key: generator.draw(key).mask)(jr.key(0)), axis=1)
    assert_array_equal(points[0::2] + points[1::2], 61.0)
    shares = jnp.bincount(points.astype(int), length=61)[1:] / len(points)
    assert_allclose(shares, 1 / 60, atol=0.004)


def test_odd_batches_are_refused(getkey):
    with pytest.raises(ValueError, match="expected an even batch_size to pack, got 7"):
        data.regression1d("paper", "se").generator(batch_size=7, packed=True)
    batch = jax.tree.map(lambda v: v[:3], drawn(getkey()))
    with pytest.raises(ValueError, match="expected an even number of functions"):
        apply_packed(stirred("relative", getkey()), batch.mask, batch.x, batch.y, batch.mask)
