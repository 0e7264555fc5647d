"""What networks refuse, and their smaller parts."""

import dataclasses

import jax
import jax.numpy as jnp
import jax.random as jr
import pytest
from numpy.testing import assert_allclose

from geomndp import nets
from geomndp.nets.attention import centred
from geomndp.nets.layers import TimeEmbedding, clean

from .helper import NETS, TINY, awake, draw


@pytest.mark.parametrize("net", [nets.RelativeAttention, nets.SphericalAttention])
def test_fields_stand_in_their_own_order(net):
    """A base that declares one would move it, and what checkpoints hold by position with it."""
    own = list(net.__annotations__)
    assert [field.name for field in dataclasses.fields(net)][-len(own) :] == own


@pytest.mark.parametrize("name", NETS)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"width": 9}, "expected a width divisible by num_heads=2, got 9"),
        ({"num_heads": 0}, "expected num_heads to be a whole number >= 1, got 0"),
        ({"num_layers": 0}, "expected num_layers"),
        ({"compute_dtype": "float16"}, "expected compute_dtype to be one of"),
        ({"attention_backend": "magic"}, "expected attention_backend to be one of"),
        ({"attention_backend": "cudnn"}, "expected compute_dtype 'bfloat16' with cudnn, got None"),
        (
            {"attention_backend": "folded", "compute_dtype": "bfloat16"},
            "expected compute_dtype None or 'float32' with folded, got 'bfloat16'",
        ),
        ({"dtype": "int32"}, "expected dtype to be one of"),
    ],
)
def test_bad_options(name, options, message):
    cls, own = NETS[name]
    with pytest.raises(ValueError, match=message):
        cls(1, 1, **TINY | own | options, key=jr.key(0))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda key: nets.RelativeAttention(1, 0, key=key), "expected output_dim"),
        (lambda key: nets.RelativeAttention(1, 1, bias_width=0, key=key), "expected bias_width"),
        (
            lambda key: nets.RelativeAttention(1, 1, min_wavelength=20.0, key=key),
            "expected 0 < min_wavelength < max_wavelength, got 20.0, 16.0",
        ),
        (lambda key: nets.BiDimensionalAttention(1, 1, inputs="far", key=key), "expected inputs"),
        (
            lambda key: nets.BiDimensionalAttention(1, 1, token_axis="far", key=key),
            "expected token_axis",
        ),
        (
            lambda key: nets.BiDimensionalAttention(
                1, 1, num_frequencies=2, min_wavelength=20.0, key=key
            ),
            "expected 0 < min_wavelength < max_wavelength, got 20.0, 16.0",
        ),
        (lambda key: nets.build({"kind": "none"}, key=key), "expected kind to be one of"),
        (lambda key: nets.build({}, key=key), "got None"),
    ],
)
def test_bad_configurations(make, message):
    with pytest.raises(ValueError, match=message):
        make(jr.key(0))


@pytest.mark.parametrize("hidden", ["1x60e", "99999999999x0e", "", "1x7o+4x0e"])
def test_irreps_that_take_minutes_or_gigabytes_are_refused(hidden):
    pytest.importorskip("e3nn_jax")
    with pytest.raises(ValueError, match="expected hidden irreps of orders up to 6"):
        nets.Steerable3(hidden=hidden, key=jr.key(0))


@pytest.mark.parametrize("name", NETS)
def test_wrong_shapes(name, getkey):
    net = awake(name, key=getkey())
    t, x, y, mask = draw(n=4, key=getkey())
    with pytest.raises(ValueError, match=r"expected x of shape \(4, 2\), got shape \(4, 1\)"):
        net(t, x[:, :1], y, mask)
    with pytest.raises(ValueError, match=r"expected y of shape \(4, 1\), got shape \(4, 2\)"):
        net(t, x, jnp.concatenate([y, y], axis=1), mask)


def test_scalar_time_and_no_mask(getkey):
    net = awake("absolute", key=getkey())
    t, x, y, mask = draw(key=getkey(), masked=0)
    short = clean(net, jnp.array(0.3), x, y, None)
    full = clean(net, jnp.full_like(t, 0.3), x, y, mask)
    assert all(bool(jnp.all(a == b)) for a, b in zip(short, full, strict=True))


def test_with_config_keeps_the_parameters(getkey):
    net = awake("relative", key=getkey())
    other = nets.with_config(net, attention_backend="xla")
    assert other.config == dataclasses.replace(net.config, attention_backend="xla")
    assert all(a is b for a, b in zip(jax.tree.leaves(net), jax.tree.leaves(other), strict=True))
    with pytest.raises(ValueError, match="expected changes that keep"):
        nets.with_config(net, width=16)


def test_time_features_tell_small_times_apart(getkey):
    embedding = TimeEmbedding(8, dtype="float32", key=getkey())
    features = embedding.features(jnp.array([0.0, 1e-4, 5e-4, 1e-3, 0.5, 1.0], jnp.float32))
    gaps = jnp.linalg.norm(features[1:] - features[:-1], axis=1)
    assert bool(jnp.all(gaps > 0.2))
    slope = jax.jacfwd(embedding.features)(jnp.zeros(1, jnp.float32))
    assert bool(jnp.all(jnp.isfinite(slope)))


def test_centred_is_exact_far_from_zero(getkey):
    x = jr.randint(getkey(), (9, 2), -2048, 2048).astype(jnp.float32) / 1024
    mask = (jnp.arange(9) < 6).astype(jnp.float32)
    here, there = centred(x, mask), centred(x + 1e3, mask)
    assert_allclose(there, here, atol=0, rtol=0)
    assert_allclose(here[:6].sum(axis=0), 0.0, atol=1e-5)
    assert_allclose(here[:6], x[:6] - x[:6].mean(axis=0, keepdims=True), atol=1e-6)
