"""Law propagation against recursions written by hand."""

import itertools

import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal

from geomndp import law, noising, samplers, score, solve
from geomndp.gp import GP
from geomndp.kernels import SquaredExponential, White
from geomndp.samplers import Phase, Program

GAUSSIAN = GP(SquaredExponential(0.25), noise=0.05**2)
NOISING = noising.OrnsteinUhlenbeck(White(), noising.LinearSchedule(0.0, 10.0))
M, N, EPS = 3, 6, 5e-4


def test_any_affine_program():
    """Two phases, one of them repeated, noise of several shapes, a state of two parts."""
    a, b, g, h, c = np.random.default_rng(0).normal(size=(5, 2, 2))
    rows = np.random.default_rng(1).normal(size=(3, 2))

    def first(state, row, noise):
        y, _ = state
        return 0.5 * a @ y + row + g @ noise[0], y

    def second(state, row, noise):
        y, memory = state
        return y + b @ memory, memory + noise[0] * h[:, 0] + h @ noise[1]

    program = Program(
        init=lambda noise: (1.0 + c @ noise[0], jnp.zeros(2)),
        init_noise=((2,),),
        phases=(Phase(first, ((2,),)), Phase(second, ((), (2,)), 2)),
        inputs=jnp.asarray(rows),
        finish=lambda state: (2 * state[0] + state[1])[:, None],
        evaluations=0,
    )
    zero, eye = np.zeros((2, 2)), np.eye(2)
    mean, cov = np.concatenate([np.ones(2), np.zeros(2)]), np.block([[c @ c.T, zero], [zero, zero]])
    one, two = np.block([[0.5 * a, zero], [eye, zero]]), np.block([[eye, b], [zero, eye]])
    spread_one = np.block([[g @ g.T, zero], [zero, zero]])
    spread_two = np.block([[zero, zero], [zero, np.outer(h[:, 0], h[:, 0]) + h @ h.T]])
    for row in rows:
        mean, cov = one @ mean + np.concatenate([row, np.zeros(2)]), one @ cov @ one.T + spread_one
        for _ in range(2):
            mean, cov = two @ mean, two @ cov @ two.T + spread_two
    out = np.concatenate([2 * eye, eye], axis=1)
    found = law.propagate(program, jnp.float64)
    assert_allclose(found[0], out @ mean, rtol=1e-10)
    assert_allclose(found[1], out @ cov @ out.T, rtol=1e-10)


@pytest.fixture(scope="module")
def task():
    x = jr.uniform(jr.key(0), (M + N, 1), minval=-1.0, maxval=1.0)
    y = GAUSSIAN.sample(x, key=jr.key(1))[:M]
    observations = samplers.Observations(x[:M], y, jnp.zeros(M), False)
    problem = samplers.Problem(NOISING, score.GaussianScore(GAUSSIAN), x[M:], observations, EPS)
    return problem, np.asarray(GAUSSIAN.gram(x).dense()), np.asarray(y[:, 0])


def coefficients(t):
    """B, a and sigma at a time, for beta = 10 t."""
    total = 5 * t**2
    return total, np.exp(-total / 2), np.sqrt(-np.expm1(-total))


def test_amortised_by_hand(task):
    """Euler-Maruyama with the posterior's own score, in numpy."""
    problem, data, y = task
    gain = data[M:, :M] @ np.linalg.inv(data[:M, :M])
    posterior = data[M:, M:] - gain @ data[:M, M:]
    times = np.linspace(1, EPS, 6)

    def pull(t):
        _, a, sigma = coefficients(t)
        return np.linalg.inv(a**2 * posterior + sigma**2 * np.eye(N)), a * gain @ y, sigma

    precision, centre, sigma = pull(1.0)
    mean, cov = sigma**2 * precision @ centre, np.eye(N)
    for t, s in itertools.pairwise(times):
        delta = 10 * t * (t - s)
        precision, centre, _ = pull(t)
        step = (1 + delta / 2) * np.eye(N) - delta * precision
        mean, cov = step @ mean + delta * precision @ centre, step @ cov @ step.T
        cov = cov + delta * np.eye(N)
    sampler = samplers.Amortised(5, solve.EulerMaruyama(), solve.UniformTimeGrid(), start_terms=0)
    found = law.sampler_law(sampler, problem)
    assert_allclose(found[0], mean, rtol=1e-6)
    assert_allclose(found[1], cov, rtol=1e-6, atol=1e-8)


def test_langevin_by_hand(task):
    """The paper's algorithm with fresh context noise, in numpy: the joint score, white limit."""
    problem, data, y = task
    times, eye = np.linspace(1, EPS, 5), np.eye(M + N)
    psi, inner = 0.5, 2
    mean, cov = np.zeros(M + N), np.eye(M + N)
    _, a, sigma = coefficients(1.0)
    mean[:M], cov[:M, :M] = a * y, sigma**2 * np.eye(M)
    # The observed and the other points start from one draw: independent, since white.
    for t, s in itertools.pairwise(times):
        (b_t, a_t, sigma_t), (b_s, a_s, sigma_s) = coefficients(t), coefficients(s)
        precision = np.linalg.inv(a_t**2 * data + sigma_t**2 * eye)
        clean = (eye - sigma_t**2 * precision) / a_t
        back = sigma_s**2 * a_t / a_s / sigma_t  # of the noise, given the clean values
        step = a_s * clean + back * sigma_t * precision
        mean, cov = step @ mean, step @ cov @ step.T
        cov = cov + (sigma_s**2 - back**2) * eye
        precision = np.linalg.inv(a_s**2 * data + sigma_s**2 * eye)
        delta = min(psi * (b_t - b_s), 3 * sigma_s**2)
        for _ in range(inner):
            mean[:M], cov[:M], cov[:, :M] = a_s * y, 0.0, 0.0
            cov[:M, :M] = sigma_s**2 * np.eye(M)
            step = eye.copy()
            step[M:] -= delta / 2 * precision[M:]
            mean, cov = step @ mean, step @ cov @ step.T
            cov[M:, M:] += delta * np.eye(N)
    sampler = samplers.Langevin(4, inner, step_scale=psi, time_grid=solve.UniformTimeGrid())
    found = law.sampler_law(sampler, problem)
    assert_allclose(found[0], mean[M:], rtol=1e-6)
    assert_allclose(found[1], cov[M:, M:], rtol=1e-6, atol=1e-8)


def test_kl_of_gaussians():
    rng = np.random.default_rng(2)
    means, roots = rng.normal(size=(2, 3)), rng.normal(size=(2, 3, 3))
    laws = [
        (jnp.asarray(mean), jnp.asarray(root @ root.T + 0.5 * np.eye(3)))
        for mean, root in zip(means, roots, strict=True)
    ]
    assert_allclose(law.gaussian_kl(laws[0], laws[0]), 0.0, atol=1e-12)
    draws = multivariate_normal(*laws[0]).rvs(200_000, random_state=3)
    ratios = multivariate_normal(*laws[0]).logpdf(draws) - multivariate_normal(*laws[1]).logpdf(
        draws
    )
    error = np.std(ratios) / len(draws) ** 0.5
    assert abs(float(law.gaussian_kl(*laws)) - np.mean(ratios)) < 4 * error


def test_whitening():
    root = np.tril(np.random.default_rng(4).normal(size=(3, 3))) + 2 * np.eye(3)
    z = np.random.default_rng(5).normal(size=(7, 3))
    samples = 1.0 + z @ root.T
    white = law.whiten((jnp.ones(3), jnp.asarray(root @ root.T)), jnp.asarray(samples))
    signs = np.sign(np.diag(root))
    assert_allclose(white, z * signs, rtol=1e-8)
