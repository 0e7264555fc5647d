"""Covariates, which no symmetry moves, and inputs on a circle."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from numpy.testing import assert_allclose

from geomndp import nets
from geomndp.nets.layers import FourierFeatures

from ..cases import random
from .helper import Function, quick, randomised, run
from .steerable import STEERABLE

SIZES = {"width": 8, "num_layers": 2, "num_heads": 2, "dtype": "float64"}
PERIODS = (2.5, 0.0, 0.0, 1.5)  # of two inputs and two covariates
COLUMNS = {"input_dim": 4, "num_invariant_inputs": 2, "periods": PERIODS}
ATTENTION = {
    "relative": (nets.RelativeAttention, {"output_dim": 1}),
    "absolute": (
        nets.BiDimensionalAttention,
        {"output_dim": 1, "token_axis": "points", "num_frequencies": 4},
    ),
    "sphere": (nets.SphericalAttention, {}),
    "absolute-sphere": (nets.SphericalAttention, {"absolute_min_wavelength": 0.5}),
}
every = pytest.mark.parametrize("name", ATTENTION)
translated = pytest.mark.parametrize("name", ["relative", "sphere"])


def awake(make, *, key):
    """Network with all parameters drawn at random."""
    return randomised(eqx.filter_eval_shape(make), key=key)


def network(name, *, key, **options):
    cls, own = ATTENTION[name]
    settings = SIZES | COLUMNS | own | options
    return awake(lambda: cls(**settings, key=jr.key(0)), key=key)


def function(net, *, key, n=6):
    """Values at points with inputs and covariates; on the sphere unit vectors."""
    rng, p = random(key), net.output_dim
    y = rng.standard_normal((n, p))
    y = y / np.linalg.norm(y, axis=1, keepdims=True) if p == 3 else y
    values = (rng.uniform(size=n), rng.uniform(-1, 1, (n, net.input_dim)), y, np.ones(n))
    return Function(*map(jnp.asarray, values))


@every
def test_a_period_changes_nothing(name, getkey):
    net = network(name, key=getkey())
    f = function(net, key=getkey())
    whole = jr.randint(getkey(), f.x.shape, -3, 4).astype(f.x.dtype)
    moved = run(net, *f._replace(x=f.x + whole * jnp.asarray(PERIODS)[None]))
    assert_allclose(moved, run(net, *f), atol=1e-11)
    half = run(net, *f._replace(x=f.x.at[0].add(0.5 * jnp.asarray(PERIODS))))
    assert float(jnp.max(jnp.abs(half - run(net, *f)))) > 1e-7


@translated
def test_shifts_of_inputs_alone_change_nothing(name, getkey):
    net = network(name, key=getkey())
    f = function(net, key=getkey())
    shift = jnp.asarray([1.234, -56.7])
    moved = run(net, *f._replace(x=f.x.at[:, :2].add(shift[None])))
    assert_allclose(moved, run(net, *f), atol=1e-11)
    assert net.num_relative_inputs == 2


@every
def test_covariates_matter(name, getkey):
    net = network(name, key=getkey())
    f = function(net, key=getkey())
    for column in (2, 3):
        other = run(net, *f._replace(x=f.x.at[:, column].add(0.3)))
        assert float(jnp.max(jnp.abs(other - run(net, *f)))) > 1e-7


@every
def test_continuous_across_the_seam(name, getkey):
    net = network(name, key=getkey())
    f = function(net, key=getkey())

    @quick
    def across(position):
        """Value and slope."""

        def at(position):
            return net(f.t, f.x.at[0, 0].set(position), f.y, f.mask)

        return jax.jvp(at, (position,), (jnp.ones(()),))

    before, after = (across(jnp.asarray(p)) for p in (1.25 - 1e-9, -1.25 + 1e-9))
    for left, right in zip(before, after, strict=True):
        assert_allclose(left, right, atol=1e-4, rtol=1e-4)
    assert float(jnp.max(jnp.abs(before[1]))) > 1e-6


@pytest.mark.parametrize("name", ["plane-periodic-side", "space-side"])
def test_periodic_covariates_of_fields(name, getkey):
    cls, own = STEERABLE[name]
    net = awake(lambda: cls(**own, dtype="float64", key=jr.key(0)), key=getkey())
    f = function(net, key=getkey())
    plain = run(net, *f)
    period = jnp.asarray(net.config.periods)
    assert_allclose(run(net, *f._replace(x=f.x + 2 * period[None])), plain, atol=1e-10)
    other = run(net, *f._replace(x=f.x.at[:, -2].add(0.3)))
    assert float(jnp.max(jnp.abs(other - plain))) > 1e-7


def test_wavelengths_are_whole_parts_of_the_period():
    features = FourierFeatures(6, 0.3, 10.0, (0.0, 2.0))
    harmonics = 2.0 / features.wavelengths(2.0)
    assert_allclose(harmonics, np.round(harmonics), atol=1e-12)
    assert harmonics[0] == 1 and 2.0 / harmonics[-1] == pytest.approx(0.3, rel=0.1)
    angles = features.angles(jnp.ones((2, 5)))
    assert len(angles) == features.count(2) == 6 + len(harmonics)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"num_invariant_inputs": 4}, "fewer covariates than columns"),
        ({"periods": (1.0,)}, "a period for each of 4 columns"),
        ({"periods": (-1.0, 0.0, 0.0, 0.0)}, "periods >= 0"),
        ({"token_axis": "dims"}, "for periodic inputs"),
        ({"inputs": "centred"}, "for periodic inputs"),
        ({"num_frequencies": 0}, "for periodic inputs"),
    ],
)
def test_refusals(options, words):
    cls, own = ATTENTION["absolute"]
    with pytest.raises(ValueError, match=words):
        cls(**SIZES | COLUMNS | own | options, key=jr.key(0))


def test_periods_of_a_plane_are_refused():
    with pytest.raises(ValueError, match="periods of covariates only"):
        nets.Steerable2(periods=(1.0, 0.0), key=jr.key(0))
