"""The pieces of the samplers against formulas derived apart from them."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from numpy.testing import assert_allclose

from geomndp import law, samplers
from geomndp.samplers.conditional_langevin import TiltedScore, conditional_force, kriging_map
from geomndp.samplers.context_noising import SCHEMES, context_noising
from geomndp.samplers.guidance import guided_dynamics
from geomndp.samplers.particles import Particle, advance
from geomndp.samplers.start import start

from ..cases import slow_but
from .helper import EPS, SAMPLERS, case, hurried, shift

M = 3
T, S = jnp.asarray(0.6), jnp.asarray(0.4)


@pytest.fixture
def problem(getkey):
    return case("nugget", key=getkey(), mean=shift).problem


def blocks(problem):
    """Limiting covariance of all points, and the targets' part given the observed points."""
    limit = np.asarray(problem.noising.gram(problem.joint().x).dense())
    krige = limit[M:, :M] @ np.linalg.inv(limit[:M, :M])
    return limit, krige, limit[M:, M:] - krige @ limit[:M, M:]


def test_held_force_is_the_gradient_of_the_conditional_law(problem, getkey):
    """f = K_(**|c) grad_* log p_t(y), with noise of that same covariance: p_t(y_* | y_c) stays."""
    observed, y = jr.normal(getkey(), (M, 1)), jr.normal(getkey(), (8, 1))

    def pieces(problem):
        dynamics, force = problem.joint(), conditional_force(problem)

        def log_density(y):
            return dynamics.score.log_prob(
                dynamics.noising, T, dynamics.x, jnp.concatenate([observed, y])
            )

        root = jax.vmap(force.noise, in_axes=1, out_axes=1)(jnp.eye(8)[:, :, None])[:, :, 0]
        drift, carried = force.drift(T, observed, y), kriging_map(problem)(observed)
        return jax.grad(log_density)(y), drift, root, carried

    gradient, drift, root, carried = hurried(pieces, problem)
    _, krige, fixed = blocks(problem)
    assert_allclose(drift, fixed @ gradient, rtol=1e-6, atol=1e-7)
    assert_allclose(root @ root.T, fixed, rtol=1e-6, atol=1e-8)
    assert_allclose(root, root.T, atol=1e-10)  # symmetric: equivariant
    assert_allclose(carried, krige @ observed, rtol=1e-6, atol=1e-8)


def test_pull_is_the_gradient_of_the_observations(getkey):
    problem = case("nugget", noise=0.1, key=getkey(), mean=shift).problem
    observations, noising, x = problem.observations, problem.noising, problem.joint().x
    y = jr.normal(getkey(), (len(x), 1))
    a, sigma = noising.alpha(T), noising.sigma(T)
    spread = (sigma / a) ** 2 * noising.gram(observations.x).dense() + jnp.diag(observations.noise)

    def log_density(y):
        mean = 0.3 + (y[:M, 0] - 0.3) / a
        return jax.scipy.stats.multivariate_normal.logpdf(observations.y[:, 0], mean, spread)

    pull = TiltedScore(problem.score, observations)(noising, T, x, y) - problem.score(
        noising, T, x, y
    )
    expected = sigma * noising.gram(x).mv(jax.grad(log_density)(y))
    assert_allclose(pull, expected, rtol=1e-5, atol=1e-7)


def test_path_is_one_noising_trajectory(problem):
    """Cov(y_s, y_t | y_0) = sigma_s^2 a_t / a_s K for s < t, each with its own marginal law."""
    context, noising = context_noising(problem, "path"), problem.noising
    a_t, a_s, sigma_t, sigma_s = (f(w) for f in (noising.alpha, noising.sigma) for w in (T, S))
    zero, one = jnp.zeros((M, 1)), jnp.ones((M, 1))
    y_t = context.fresh(T, zero)
    base = context.back(T, S, y_t, zero)
    assert_allclose(base, 0.3 + a_s * (problem.observations.y - 0.3), rtol=1e-12)
    from_t = (context.back(T, S, context.fresh(T, one), zero) - base)[0, 0]
    fresh = (context.back(T, S, y_t, one) - base)[0, 0]
    assert_allclose(from_t**2 + fresh**2, sigma_s**2, rtol=1e-12)
    assert_allclose(from_t * sigma_t, sigma_s**2 * a_t / a_s, rtol=1e-12)


def test_schemes(problem):
    zero, one = jnp.zeros((M, 1)), jnp.ones((M, 1))
    contexts = {scheme: context_noising(problem, scheme) for scheme in SCHEMES}
    present = contexts["inner"].fresh(T, one)
    for scheme, context in contexts.items():
        again = context.again(T, present, zero)
        assert_allclose(again, context.fresh(T, zero) if scheme == "inner" else present)
    assert_allclose(contexts["none"].fresh(T, one), problem.observations.y)
    assert_allclose(contexts["outer"].back(T, S, present, one), contexts["inner"].fresh(S, one))


@pytest.mark.parametrize(
    "name",
    slow_but(
        ("langevin-path", "repaint"), ["langevin-inner", "langevin-path", "kinetic", "repaint"]
    ),
)
def test_observed_values_end_with_their_noised_law(name, problem):
    """Whatever was done on the way, RePaint's jumps forward included."""

    def observed_law(problem):
        program = SAMPLERS[name].program(problem)

        def fixed(state):
            return getattr(state, "values", state).observed

        return law.propagate(program._replace(finish=fixed), problem.x.dtype)

    mean, covariance = hurried(observed_law, problem)
    a, sigma = problem.noising.alpha(jnp.asarray(EPS)), problem.noising.sigma(jnp.asarray(EPS))
    expected = 0.3 + a * (problem.observations.y[:, 0] - 0.3)
    assert_allclose(mean, expected, rtol=1e-8)
    limit = problem.noising.gram(problem.observations.x).dense()
    assert_allclose(covariance, sigma**2 * limit, rtol=1e-5, atol=1e-12)


def test_the_start_has_the_mean_of_time_one(getkey):
    the_case = case("white", m=5, n=8, key=getkey())

    def pieces(the_case):
        dynamics = samplers.conditional_dynamics(the_case.problem)
        return start(dynamics, dynamics.gram().root(), jnp.zeros((8, 1)), 0), the_case.truth()

    found, (mean, covariance) = hurried(pieces, the_case)
    a, sigma = (
        f(jnp.ones(())) for f in (the_case.problem.noising.alpha, the_case.problem.noising.sigma)
    )
    # Tweedie's mean at y = m differs from that at the mean of y by a gain of about a^2.
    gain = a**2 * covariance @ np.linalg.inv(a**2 * covariance + sigma**2 * np.eye(8))
    assert_allclose(found, a * (mean - gain @ mean), rtol=1e-8)
    assert float(jnp.max(jnp.abs(gain))) < 0.1


def test_weights_of_a_particle(problem, getkey):
    """p(y_s | past) psi_s / (q(y_s | past) psi_t), p and q Gaussian with covariance v K."""
    before = jnp.asarray(0.7)
    y, z, clean, guided_clean = jr.normal(getkey(), (4, 11, 1))
    noising, past = problem.noising, (clean, guided_clean)

    def pieces(problem):
        dynamics = guided_dynamics(problem)
        guess = dynamics.guidance_terms(T, y)
        particle = Particle(y, guess, clean, guided_clean)
        moved, gain = advance(dynamics, dynamics.gram().root(), (before, T, S), particle, z)
        return guess, moved, gain, dynamics.gram(), dynamics.guidance_terms(S, moved.y).log_twist

    guess, moved, gain, gram, twist = hurried(pieces, problem)
    a_s, sigma_s, sigma_t = noising.alpha(S), noising.sigma(S), noising.sigma(T)
    level = [jnp.log(noising.alpha(w) / noising.sigma(w)) for w in (before, T, S)]
    h = level[2] - level[1]
    densities = []
    for u, last in zip((guess.u, guess.guided), past, strict=True):
        estimate = 0.3 + (y - 0.3 + sigma_t * u) / noising.alpha(T)
        ahead = estimate + h / (2 * (level[1] - level[0])) * (estimate - last)
        centre = sigma_s / sigma_t * jnp.exp(-h) * (y - 0.3) + a_s * (1 - jnp.exp(-2 * h)) * (
            ahead - 0.3
        )
        law_s = sigma_s**2 * (1 - jnp.exp(-2 * h)) * gram
        densities.append(law_s.log_density(moved.y - 0.3 - centre))
    expected = densities[0] - densities[1] + twist - guess.log_twist
    assert_allclose(gain, expected, rtol=1e-6)
