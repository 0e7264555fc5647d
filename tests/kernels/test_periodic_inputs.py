"""Kernels of inputs some of which are angles."""

import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from geomndp.kernels import Matern12, Matern32, PeriodicInputs, SquaredExponential as SE, White

from ..cases import N, inputs

KERNELS = {
    "day": (PeriodicInputs(Matern32(0.4), (1.5,)), 1),
    "both": (PeriodicInputs(SE((0.4, 0.4, 2.0)) + 0.1 * White(), (0.7, None)), 2),
    "rough": (PeriodicInputs(Matern12(0.3), (0.7, 1.9)), 2),
}


@pytest.fixture(params=KERNELS)
def case(request):
    return KERNELS[request.param]


def turns(kernel, x, whole):
    """The same points some periods away."""
    shift = [0.0 if period is None else whole * period for period in kernel.period]
    return x + jnp.asarray([shift])


def test_a_period_changes_nothing_and_the_gram_is_positive(case, getkey):
    kernel, d = case
    x = inputs(4 * N, d, key=getkey())
    gram = kernel.gram(x).dense()
    assert_allclose(kernel.gram(turns(kernel, x, 3)).dense(), gram, atol=1e-12)
    assert_allclose(kernel.cross(x, turns(kernel, x, -2)), kernel.cross(x, x), atol=1e-12)
    assert np.linalg.eigvalsh(gram).min() > -1e-10
    assert_allclose(kernel(x[0], x[1]), kernel.cross(x[:1], x[1:2]), rtol=1e-12)


def test_a_long_period_is_none(getkey):
    x = inputs(N, 1, key=getkey())
    found = PeriodicInputs(Matern32(0.4), (1e4,)).gram(x).dense()
    assert_allclose(found, Matern32(0.4).gram(x).dense(), atol=1e-6)


def test_wrong_arguments(getkey):
    with pytest.raises(ValueError, match="expected a period for at least one input"):
        PeriodicInputs(SE(), (None,))
    with pytest.raises(ValueError, match="expected period > 0"):
        PeriodicInputs(SE(), (-1.0,))
    with pytest.raises(ValueError, match="expected 1 inputs, got 2"):
        PeriodicInputs(SE(), (1.0,)).gram(inputs(N, 2, key=getkey()))
