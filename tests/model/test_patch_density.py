"""Densities by the chain rule over patches: those of the scheme's exact law."""

import jax.random as jr
import numpy as np
import pandas as pd
import pytest

import geomndp as gn
from geomndp.likelihood import Flow
from geomndp.model.patchwise import read_layout
from geomndp.patches import Patches

from ..patches.scheme_law import scheme_law

pytestmark = pytest.mark.filterwarnings("ignore:patches of width")  # small fields, small patches
NOISE = 0.05
GP = gn.gp.GP(gn.kernels.Matern32(1.0), noise=NOISE)
X = np.arange(12) * 0.5
Y = np.random.default_rng(0).normal(size=12)
OBSERVED = np.asarray([0.2, 3.1]), np.asarray([1.0, -0.5])


def matern(a, b):
    r = np.sqrt(3) * np.abs(a[:, None, 0] - b[None, :, 0])
    return (1 + r) * np.exp(-r)


def scheme_log_prob(posterior, scheme, x=X, y=Y):
    _, layout = read_layout(posterior, x, scheme)
    observed, values = OBSERVED[0][:, None], OBSERVED[1]
    at, mean, covariance = scheme_law(matern, layout, observed, values, NOISE)
    order = [int(np.flatnonzero(x == point)[0]) for point in at[:, 0]]
    residual = y[order] - mean
    square = residual @ np.linalg.solve(covariance, residual)
    return -0.5 * (square + np.linalg.slogdet(2 * np.pi * covariance)[1])


@pytest.mark.parametrize(
    "scheme",
    [Patches(3, 1), Patches(3, 1, stride=3)],
    ids=["plain", "coarse"],
)
def test_density_of_a_process_is_that_of_the_scheme(scheme):
    posterior = gn.ProcessModel(GP).condition(*OBSERVED)
    nats = posterior.log_prob(X, Y, patches=scheme)
    assert float(nats) == pytest.approx(scheme_log_prob(posterior, scheme), abs=1e-6)
    mixed = np.random.default_rng(1).permutation(12)
    expected = scheme_log_prob(posterior, scheme, X[mixed], Y[mixed])
    shuffled = posterior.log_prob(X[mixed], Y[mixed], patches=scheme)
    assert float(shuffled) == pytest.approx(expected, abs=1e-6)


def test_one_patch_has_the_law_s_own_density_in_the_data_s_units():
    units = gn.data.Normaliser(x_scale=2.0, y_shift=1.0, y_scale=3.0)
    model = gn.ProcessModel(GP, units).with_variables("time", "level")
    posterior = model.condition(pd.DataFrame({"time": OBSERVED[0], "level": OBSERVED[1]}))
    table = pd.DataFrame({"time": X, "level": Y})
    one = posterior.log_prob(table, patches=Patches(100, 100))
    assert float(one) == pytest.approx(float(posterior.log_prob(table)), abs=1e-6)


@pytest.mark.slow
def test_density_of_an_exact_score_is_that_of_the_scheme():
    schedule = gn.noising.LinearSchedule(1e-4, 15.0)
    noising = gn.noising.OrnsteinUhlenbeck(gn.kernels.White(1.0), schedule)
    posterior = gn.Model(noising, gn.score.GaussianScore(GP)).condition(*OBSERVED)
    scheme = Patches(3, 1)
    # A likely field: of an unlikely one the flow's own density is off, with patches or without.
    y = np.asarray(gn.ProcessModel(GP).condition(*OBSERVED).sample(X, key=3, num_samples=1))[
        0, :, 0
    ]
    result = posterior.log_prob_info(X, y, patches=scheme, flow=Flow(steps=40))
    expected = scheme_log_prob(posterior, scheme, y=y)
    assert float(result.value) == pytest.approx(expected, abs=0.005)
    assert float(result.solver_error) < 0.02 and int(result.evaluations) > 80


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"mask": np.ones(12)}, "expected no mask beside patches"),
        ({"y": np.where(np.arange(12) == 3, np.nan, Y)}, "y"),
        ({"y": Y[:5]}, "y"),
        ({"patches": 2}, "expected patches as"),
    ],
)
def test_what_is_not_supported_is_refused(options, match):
    request = {"y": Y, "patches": Patches(3, 1), "key": jr.key(0), **options}
    with pytest.raises(ValueError, match=match):
        gn.ProcessModel(GP).condition(*OBSERVED).log_prob_info(X, **request)


def test_a_mixture_is_refused():
    member = gn.ProcessModel(GP)
    mixture = gn.MixtureProcess((member, member)).condition()
    with pytest.raises(ValueError, match="expected one law for a density by patches"):
        mixture.log_prob(X, Y, patches=Patches(3, 1))
