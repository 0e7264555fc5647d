"""Random scales: quadrature against the gamma law that it is of."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import gamma, roots_genlaguerre

from geomndp.baselines import scale_mixture
from geomndp.gp import GP
from geomndp.kernels import White


@pytest.mark.parametrize("dof", [3.5, 8.0, 60.0])
def test_weights_and_factors_are_those_of_gauss_laguerre(dof):
    nodes, weights = roots_genlaguerre(5, dof / 2 - 1)
    shares = weights / gamma(dof / 2)
    factors = (dof / 2 - 1) / nodes
    found = scale_mixture(GP(White()), dof)
    assert_allclose([share for share, _ in found], shares, rtol=1e-9)
    assert_allclose([gp.kernel.factor for _, gp in found], factors / (shares @ factors), rtol=1e-9)


@pytest.mark.parametrize("dof", [341.0, 1e4, 1e6])
def test_many_degrees_of_freedom_are_nearly_a_gaussian_law(dof):
    shares, gps = zip(*scale_mixture(GP(White()), dof), strict=True)
    factors = np.array([gp.kernel.factor for gp in gps])
    assert_allclose([np.sum(shares), shares @ factors], 1.0)
    # variance of 1 / c, a gamma law over its mean: 2 / dof
    assert_allclose(shares @ (factors - 1) ** 2, 2 / dof, rtol=30 / dof)
