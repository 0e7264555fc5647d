"""Outputs far from zero with a small spread: as those near zero, to the last digit that counts."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from geomndp import MixtureProcess, OutsideTrainingWarning, ProcessModel, summaries
from geomndp.data import Batch, BoxCox, LogTransform, Normaliser
from geomndp.model.training_record import functions_support

FAR, UNIT = 1e8, 2.0
XC, X = np.asarray([-0.5, 0.1, 0.6]), np.asarray([0.0, 0.8])
YC = np.asarray([0.4, 0.2, 1.0])
Y = np.asarray([0.3, -0.4])


def _models(gp, exact, shift):
    units = Normaliser(y_shift=shift, y_scale=UNIT)
    gaussian = ProcessModel(gp, units)
    learnt = dataclasses.replace(exact, normaliser=units)
    return {"gp": gaussian, "network": learnt, "mixture": MixtureProcess((gaussian, learnt))}


# A mixture asks both of the others.
@pytest.mark.parametrize("name", ["gp", pytest.param("network", marks=pytest.mark.slow), "mixture"])
def test_the_answers_are_those_about_zero_moved(gp, exact, name):
    def answers(shift):
        law = _models(gp, exact, shift)[name].condition(XC, shift + YC)
        draws = law.sample(X, key=0, num_samples=20)
        mean, std = law.mean_and_std(X, key=1)
        values = draws, mean, law.quantile(0.9, X, key=1)
        moved = [np.asarray(value, np.float64) - shift for value in values]
        return [*moved, np.asarray(std), float(law.log_prob(X, shift + Y))]

    with jax.enable_x64(False):
        far, near = answers(FAR), answers(0.0)
    for value, expected in zip(far, near, strict=True):
        assert_allclose(value, expected, rtol=1e-5, atol=2e-5 * UNIT)
    assert np.all(far[0].std(axis=0) > 0.05)


@pytest.mark.parametrize("transform", [LogTransform, functools.partial(BoxCox, 0.5)])
def test_transforms_about_a_far_origin(gp, transform):
    """Their own shift is in the data's units, the normaliser's is not."""

    def answers(shift):
        units = Normaliser(transform=transform(shift=4.0 - shift), y_shift=1.0, y_scale=0.5)
        law = ProcessModel(gp, units).condition(XC, shift + YC)
        values = law.sample(X, key=0, num_samples=20), law.quantile(0.9, X)
        return [*(np.asarray(v, np.float64) - shift for v in values), law.log_prob(X, shift + Y)]

    with jax.enable_x64(False):
        for value, expected in zip(answers(FAR), answers(0.0), strict=True):
            assert_allclose(value, expected, rtol=1e-5, atol=2e-5)


@pytest.mark.filterwarnings("ignore:noise goes through LogTransform")
def test_networks_with_a_transform_about_a_far_origin(exact):
    """Jacobian, domain and noise are those at the values, not at their rounded ones."""

    def answers(shift):
        units = Normaliser(transform=LogTransform(shift=4.0 - shift), y_shift=1.0, y_scale=0.5)
        law = dataclasses.replace(exact, normaliser=units).condition(XC, shift + YC, noise=0.01)
        return law.log_prob(X, shift + Y), law.observations.noise

    with jax.enable_x64(False):
        for value, expected in zip(answers(FAR), answers(0.0), strict=True):
            assert_allclose(value, expected, rtol=1e-4)


def test_tables_hold_the_spread(gp):
    units = Normaliser(y_shift=FAR, y_scale=UNIT)
    law = ProcessModel(gp, units).with_variables("t", "level").condition(XC, FAR + YC)
    with jax.enable_x64(False):
        table = law.sample(pd.DataFrame({"t": X}), key=0, num_samples=50)
    assert table["level"].nunique() == 100


@pytest.mark.parametrize("name", ["gp", "network"])
def test_float32_that_cannot_hold_the_spread_is_refused(gp, exact, name):
    model = _models(gp, exact, FAR)[name]
    with jax.enable_x64(False):
        with pytest.raises(
            ValueError, match=r"outputs near 1e\+08 with a spread of 2.*got float32"
        ):
            model.condition(XC, (FAR + YC).astype(np.float32))
        law = model.condition(XC, FAR + YC)
        with pytest.raises(ValueError, match="got a program in float32"):
            jax.jit(lambda x: law.sample(x, key=0))(jnp.asarray(X)[:, None])


def test_a_smaller_shift_stays_float32(gp):
    with jax.enable_x64(False):
        law = ProcessModel(gp, Normaliser(y_shift=280.0, y_scale=5.0)).condition(XC, 280 + YC)
        assert law.sample(X, key=0).dtype == np.float32


def test_marginal_laws_refuse_float32_that_lost_the_spread(gp):
    model = ProcessModel(gp, Normaliser(y_shift=FAR, y_scale=UNIT))
    double = jnp.asarray((FAR + Y)[:, None])
    with jax.enable_x64(False):
        marginals = model.condition(XC, FAR + YC).marginals(X)
        for method in (marginals.cdf, marginals.log_prob):
            assert np.isfinite(method(double)).all()
            with pytest.raises(ValueError, match=r"spread of 2.*got float32"):
                method(jnp.asarray((FAR + Y)[:, None]))


def test_records_and_warnings_tell_values_far_from_zero_apart(gp):
    y = np.asarray([[[-1.0], [0.3], [1.0]]])
    functions = Batch(XC[None, :, None], y, np.ones((1, 3)), np.zeros((1, 3)))
    units = Normaliser(y_shift=FAR, y_scale=UNIT)
    support = functions_support(functions, units)
    assert_allclose(np.asarray(support.outputs) - FAR, [[-2, 2]], atol=0.02)
    model = ProcessModel(gp, units, support=support)
    model.condition(XC, FAR + YC)  # nothing is said
    with pytest.warns(OutsideTrainingWarning, match=r"y = 100000050 \(trained on 99999998 to 1"):
        model.condition(XC, FAR + np.asarray([0.0, 1.0, 50.0]))


def test_probabilities_of_events_are_those_about_zero(gp):
    def share(shift):
        law = ProcessModel(gp, Normaliser(y_shift=shift, y_scale=UNIT)).condition(XC, shift + YC)
        draws = law.sample(X, key=0, num_samples=64)
        mean = summaries.functional(draws, lambda y: jnp.mean(y - shift))
        return summaries.probability(draws, lambda y: y > shift).value, mean

    with jax.enable_x64(False):
        for found, expected in zip(share(FAR), share(0.0), strict=True):
            assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
