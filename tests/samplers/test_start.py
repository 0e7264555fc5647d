"""The start of a reverse pass: the law at time one, whatever the size of a mode."""

import jax.numpy as jnp
import numpy as np
import pytest

from geomndp import Model
from geomndp.gp import GP
from geomndp.kernels import SquaredExponential, White
from geomndp.law import posterior_kl, sampler_law
from geomndp.linalg import AbstractGram
from geomndp.noising import DEFAULT_SCHEDULE_1D, OrnsteinUhlenbeck
from geomndp.samplers import Amortised, adams, conditional_dynamics, flow
from geomndp.samplers.start import start, start_evaluations
from geomndp.score import GaussianScore

NOISING = OrnsteinUhlenbeck(White(), DEFAULT_SCHEDULE_1D)
ONE = jnp.ones(())
RATIO = float((NOISING.sigma(ONE) / NOISING.alpha(ONE)) ** 2)


def dynamics_of(variance, mean=0.0):
    gp = GP(White(variance), mean=lambda x: jnp.full((len(x), 1), mean))
    model = Model(NOISING, GaussianScore(gp))
    return conditional_dynamics(model.condition().problem(jnp.zeros((1, 1))))


def moments(q: float, terms: int, mean: float = 0.0) -> tuple[float, float]:
    """Mean of the start over the exact one, and its variance over the exact one, of one mode."""
    variance = RATIO * (1 / q - 1)
    dynamics = dynamics_of(variance, mean)
    root: AbstractGram = dynamics.gram().root()
    still, moved = (start(dynamics, root, jnp.full((1, 1), z), terms) for z in (0.0, 1.0))
    a, sigma = NOISING.alpha(ONE), NOISING.sigma(ONE)
    exact = a**2 * variance + sigma**2
    return float(still[0, 0] / (a * mean)), float((moved - still)[0, 0] ** 2 / exact)


@pytest.mark.parametrize(("q", "terms"), [(0.5, 2), (1 / 3, 3)])
def test_the_variance_is_exact_where_it_is_said_to_be(q, terms):
    assert moments(q, terms, 1.0)[1] == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize("q", [0.999, 0.9, 0.7, 0.5, 0.35])
def test_three_terms_have_the_law_at_time_one(q):
    mean, variance = moments(q, 3, 1.0)
    assert abs(variance - 1) < 0.045
    assert abs(mean - 1) < (1 - np.sqrt(q)) ** 2 + 1e-3
    # Without, both lack what is left of the data at time one.
    lacking = moments(q, 0, 1.0)
    assert lacking[0] == pytest.approx(q, abs=1e-3)
    assert lacking[1] == pytest.approx(q, abs=0.01)


DENSE = jnp.linspace(-0.02, 0.02, 60)[:, None]
SPARSE = jnp.linspace(-2, 2, 12)[:, None]
DATA = GP(SquaredExponential(0.25), noise=0.05**2)
OBSERVED = {
    "none": (jnp.zeros((0, 1)), jnp.zeros((0, 1))),
    "one": (jnp.asarray([[0.25]]), jnp.asarray([[1.5]])),
}


def kl(sampler, x, observed) -> float:
    posterior = Model(NOISING, GaussianScore(DATA)).condition(*OBSERVED[observed])
    exact = DATA.condition(*OBSERVED[observed]).mean_and_covariance(x)
    return float(posterior_kl(sampler, posterior.problem(x), exact))


@pytest.mark.parametrize("make", [adams, flow], ids=["adams", "flow"])
@pytest.mark.parametrize("observed", OBSERVED)
def test_dense_points_keep_variance_and_mean(make, observed):
    """Sixty points within a sixth of a lengthscale: a mode of 60, or of half of it."""
    sampler = make(20)
    lacking = Amortised(sampler.steps, sampler.step, sampler.time_grid, start_terms=0)
    without, found = kl(lacking, DENSE, observed), kl(sampler, DENSE, observed)
    assert without > 5e-4
    assert found < 0.2 * without
    # Where the limiting law is nearly that at time one nothing gets worse.
    assert kl(sampler, SPARSE, observed) < kl(lacking, SPARSE, observed) + 1e-4


def test_largest_mode_of_dense_points():
    x = jnp.linspace(-0.02, 0.02, 100)[:, None]
    exact = np.asarray(DATA.mean_and_covariance(x)[1])
    value, vector = (part[..., -1] for part in np.linalg.eigh(exact))
    problem = Model(NOISING, GaussianScore(DATA)).condition().problem(x)
    found = np.asarray(sampler_law(adams(24), problem)[1])
    assert vector @ found @ vector / value == pytest.approx(1, abs=0.03)


def test_terms_are_counted_and_bounded():
    problem = Model(NOISING, GaussianScore(DATA)).condition().problem(SPARSE)
    assert adams(24).program(problem).evaluations == 28
    assert adams(24, start_terms=0).program(problem).evaluations == 25
    assert start_evaluations(dynamics_of(1.0), 2) == 3
    for terms in (-1, 4):
        with pytest.raises(ValueError, match="expected start_terms"):
            adams(24, start_terms=terms)
