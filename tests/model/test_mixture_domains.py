"""Mixtures and values that a member, or every member, holds impossible."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from geomndp import MixtureProcess, ProcessModel
from geomndp._warnings import OutsideTrainingWarning
from geomndp.data import LogTransform, Normaliser

XC, X = np.asarray([-0.5, 0.1, 0.6]), np.asarray([0.0, 0.8])
YC, Y = np.asarray([0.4, 0.2, 1.0]), np.asarray([0.3, -0.4])


def test_quantiles_below_the_domain_of_a_member(gp):
    both = ProcessModel(gp), ProcessModel(gp, Normaliser(transform=LogTransform()))
    law = MixtureProcess(both).condition()
    values = law.quantile(0.05, X)
    assert np.all(values < 0)
    assert_allclose(both[0].marginals(X).cdf(values) / 2, 0.05, rtol=1e-5)
    assert_allclose(law.marginals(X).cdf(values), 0.05, rtol=1e-5)


def test_density_below_the_domain_of_a_member_under_vmap(gp):
    both = ProcessModel(gp), ProcessModel(gp, Normaliser(transform=LogTransform()))
    mixture, x = MixtureProcess(both), jnp.asarray(X)[:, None]
    y = jnp.asarray([[[-0.3], [0.4]], [[0.3], [0.4]]])
    values = jax.vmap(lambda y: mixture.log_prob(x, y))(y)
    assert_allclose(values[0], both[0].log_prob(x, y[0]) + np.log(0.5), rtol=1e-5)
    assert_allclose(values[1], mixture.log_prob(x, y[1]), rtol=1e-5)
    info = mixture.log_prob_info(x, y[0])
    assert_allclose(info.value, values[0], rtol=1e-5)  # outside of `vmap` too
    assert info.solver_error == 0
    with pytest.raises(ValueError, match=r"for LogTransform, got -0\.3"):
        MixtureProcess(both[1:]).log_prob(x, y[0])


def test_members_that_hold_a_value_impossible_are_left_out(members):
    """A logarithm knows no negative value; alone it is refused by name, beside others answered."""
    units = Normaliser(transform=(LogTransform(),))
    logarithm = ProcessModel(members[0].process, units).with_variables("t", "level")
    named = members[0].with_variables("t", "level")
    mixture = MixtureProcess((logarithm, named), np.log([0.9, 0.1]))
    law = mixture.condition(XC, -YC)
    assert_allclose(law.weights, [1.0])
    assert_allclose(law.log_prob(X, Y), named.condition(XC, -YC).log_prob(X, Y), rtol=1e-6)
    assert len(mixture.condition(XC, YC).weights) == 2
    with pytest.raises(ValueError, match=r"expected 0 < level < inf for LogTransform, got -0\.4"):
        MixtureProcess((logarithm, logarithm)).condition(XC, -YC)


def test_observations_without_density_leave_the_weights(mixture, gp):
    with pytest.warns(OutsideTrainingWarning, match="no density under any member"):
        law = mixture.condition(XC, 1e200 * YC)
    assert_allclose(law.weights, [0.3, 0.7])
    logarithm = ProcessModel(gp, Normaliser(transform=LogTransform()))

    @jax.jit
    def weights_and_density(others, yc):
        mixture = MixtureProcess((logarithm, others), np.log([0.3, 0.7]))
        law = mixture.condition(jnp.asarray(XC)[:, None], yc[:, None])
        return law.weights, law.log_prob(jnp.asarray(X)[:, None], jnp.asarray(Y)[:, None])

    assert_allclose(weights_and_density(logarithm, jnp.asarray(-YC))[0], [0.3, 0.7])
    weights, density = weights_and_density(ProcessModel(gp), jnp.asarray(-YC))
    assert_allclose(weights, [0.0, 1.0])
    assert_allclose(density, ProcessModel(gp).condition(XC, -YC).log_prob(X, Y), rtol=1e-6)


def test_a_member_without_density_has_no_weight(members):
    narrow = ProcessModel(members[1].process, Normaliser(y_scale=1e-200))
    law = MixtureProcess((members[0], narrow)).condition(XC, YC)
    assert_allclose(law.weights, [1.0, 0.0])
    assert np.all(np.isfinite(law.evidence.solver_error))


def test_targets_that_every_member_holds_impossible_under_jit(gp):
    both = (ProcessModel(gp, Normaliser(transform=LogTransform())),) * 2
    x, y = jnp.asarray(X)[:, None], jnp.asarray(Y)[:, None]
    value, *errors = jax.jit(lambda y: MixtureProcess(both).log_prob_info(x, y)[:3])(y)
    assert value == -np.inf
    assert errors == [0.0, 0.0]
