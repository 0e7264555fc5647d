"""Parametrisations: fed the exact answer they agree, and that answer minimises their losses."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from numpy.testing import assert_allclose

from geomndp.gp import GP
from geomndp.kernels import SquaredExponential, White
from geomndp.noising import OrnsteinUhlenbeck, Perturbed
from geomndp.score import PARAMETRISATIONS, GaussianScore, NetworkScore
from geomndp.score.parametrisations import PreconditionRoot, noise_coefficients

from ..cases import DATA, DTYPES, KERNELS, SCHEDULES, N, inputs, largest, normal, ou, unchecked

__all__ = ["unchecked"]

MASK = jnp.asarray([1.0, 0.0, 1.0, 1.0, 0.0])
SETTINGS = {
    "white": (ou("white"), DATA["matern-mean"]),
    "nugget": (ou("nugget"), DATA["matern-mean"]),
    "fields": (
        OrnsteinUhlenbeck(KERNELS["field-nugget"].kernel, SCHEDULES["linear"]),
        GP(KERNELS["divergence-free"].kernel, noise=0.05),
    ),
}


@pytest.fixture(params=PARAMETRISATIONS)
def parametrisation(request):
    return PARAMETRISATIONS[request.param]()


@pytest.fixture(params=SETTINGS)
def setting(request):
    return SETTINGS[request.param]


class Oracle(eqx.Module):
    """Network whose output stands for the exact score."""

    score: GaussianScore
    noising: OrnsteinUhlenbeck
    parametrisation: eqx.Module

    def __call__(self, t, x, y, mask):
        at = noise_coefficients(self.noising, t, x, mask)
        y = at.mean + at.scale * y  # networks see values of unit variance
        u = self.score(self.noising, t, x, y, mask)
        return self.parametrisation.from_u(at, y, u)


def learnt(parametrisation, noising, gp):
    """Score of a perfect network."""
    return NetworkScore(Oracle(GaussianScore(gp), noising, parametrisation), parametrisation)


def test_all_give_the_exact_score(setting, getkey):
    noising, gp = setting

    @jax.jit
    def scores(t, x, y):
        found = {
            name: learnt(piece(), noising, gp)(noising, t, x, y)
            for name, piece in PARAMETRISATIONS.items()
        }
        return GaussianScore(gp)(noising, t, x, y), found

    t = jr.uniform(getkey(), (N,), minval=0.01, dtype=jnp.float64)
    context = t.at[:2].set(0.0)
    for times in (jnp.broadcast_to(t[0], (N,)), t, context):
        x, y = inputs(N, key=getkey()), normal(N, gp.dim, key=getkey())
        expected, found = scores(times, x, y)
        late = np.flatnonzero(times)
        for name, u in found.items():
            assert_allclose(u[late], expected[late], rtol=1e-7, atol=1e-8, err_msg=name)


def test_the_exact_score_minimises_every_loss(setting, getkey):
    # Clean values and noise are affine in white noise w, and so are the noised values and the
    # residual. The exact output leaves a residual of mean zero that noised values do not explain.
    noising, gp = setting
    size = N * gp.dim

    @jax.jit
    def moments(t, x):
        def linear(w):
            y0 = gp.mean_at(x) + gp.gram(x).cholesky_mv(w[0])
            xi = noising.gram(x).root_mv(w[1])
            y = noising.marginal(t, x, y0)[0] + noising.sigma(t)[:, None] * xi
            noised = Perturbed(y, xi, w[1])
            errors = {
                name: learnt(piece(), noising, gp).error(noising, t, x, y0, noised).reshape(-1)
                for name, piece in PARAMETRISATIONS.items()
            }
            return errors, y.reshape(-1)

        zero = jnp.zeros((2, N, gp.dim))
        return linear(zero)[0], jax.jacfwd(linear)(zero)

    t = jr.uniform(getkey(), (N,), minval=0.01, dtype=jnp.float64)
    for times in (jnp.broadcast_to(t[0], (N,)), t):
        means, (by_error, by_y) = moments(times, inputs(N, key=getkey()))
        for name, by in by_error.items():
            assert_allclose(means[name], 0.0, atol=1e-7, err_msg=name)
            covariance = by.reshape(size, -1) @ by_y.reshape(size, -1).T
            assert_allclose(covariance, 0.0, atol=1e-7, err_msg=name)
            assert np.abs(by).max() > 0.01, name


def test_perturbed_data_agree_with_their_error(parametrisation, setting, getkey):
    # At the output that stands for the true noise, there is no residual.
    noising, gp = setting
    x, t = inputs(N, key=getkey()), jr.uniform(getkey(), (N,), minval=0.01, dtype=jnp.float64)
    y0 = gp.sample(x, key=getkey())
    noised = noising.perturb(t, x, y0, key=getkey())
    at = noise_coefficients(noising, t, x)
    output = parametrisation.from_u(at, noised.y, -noised.xi)
    assert_allclose(parametrisation.error(at, y0, noised, output), 0.0, atol=1e-6)


def test_velocity_has_unit_scale_at_all_times(getkey):
    # Input, target and output keep unit variance when the limiting law is that of the data.
    gp = GP(White(2.5))
    noising = OrnsteinUhlenbeck(White(2.5), SCHEDULES["linear"])
    x, w = inputs(2**14, key=jr.key(0)), normal(2, 2**14, 1, key=jr.key(1))

    @jax.jit
    def deviations(t):
        at = noise_coefficients(noising, t, x)
        y0, xi = gp.gram(x).root_mv(w[0]), noising.gram(x).root_mv(w[1])
        y = at.a * y0 + at.sigma * xi
        zero = jnp.zeros_like(y)
        target = PARAMETRISATIONS["velocity"]().error(at, y0, Perturbed(y, xi, w[1]), zero)
        return jnp.std(y / at.scale), jnp.std(target / at.scale)

    for t in (1e-3, 0.1, 1.0):
        assert_allclose(deviations(jnp.asarray(t)), 1.0, rtol=0.03)


def test_masked_rows_may_hold_anything(parametrisation, getkey):
    noising, gp = SETTINGS["nugget"]
    net = learnt(parametrisation, noising, gp)
    x, y = inputs(N, key=getkey()), normal(N, 1, key=getkey())
    t, bad = jnp.full(N, 0.3), MASK[:, None] == 0
    wrong_x, wrong_y = jnp.where(bad, jnp.nan, x), jnp.where(bad, jnp.inf, y)
    found = net(noising, t, wrong_x, wrong_y, MASK)
    assert_allclose(found, GaussianScore(gp)(noising, t, x, y, MASK), atol=1e-7)
    assert jnp.all(found[MASK == 0] == 0)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_small_times_are_harmless(parametrisation, dtype, getkey):
    noising = ou("nugget")
    x, y = inputs(N, key=getkey(), dtype=dtype), normal(N, 1, key=getkey(), dtype=dtype)
    t = jnp.asarray([0.0, 1e-6, 1e-4, 1e-2, 1.0], dtype=dtype)

    def value(output):
        at = noise_coefficients(noising, t, x)
        return jnp.sum(parametrisation.to_u(at, y, output) ** 2)

    u, gradient = jax.jit(jax.value_and_grad(value))(jnp.ones((N, 1), dtype=dtype))
    assert u.dtype == dtype
    assert jnp.isfinite(u)
    assert jnp.all(jnp.isfinite(gradient))


def test_only_pointwise_losses_may_leave_points_out():
    kinds = {name: piece().separable for name, piece in PARAMETRISATIONS.items()}
    assert kinds == {"none": False, "K": True, "root": False, "data": True, "velocity": True}


def test_white_noise_at_any_size(parametrisation, getkey):
    n = 100_000
    noising = ou("white")
    score = NetworkScore(lambda t, x, y, mask: y, parametrisation)
    x, y, t = inputs(n, key=getkey()), normal(n, 1, key=getkey()), jnp.asarray(0.3)
    assert largest(lambda t, x, y: score(noising, t, x, y), t, x, y) <= 2 * n


def test_refusals(unchecked):
    score = NetworkScore(lambda t, x, y, mask: y)
    x, y, t = jnp.zeros((4, 2)), jnp.zeros((4, 1)), jnp.asarray(0.3)
    with pytest.raises(ValueError, match=r"expected y of shape \(4, 1\), got shape \(4, 2\)"):
        score(ou(), t, x, x)
    with pytest.raises(ValueError, match=r"expected mask of shape \(4,\), got shape \(2,\)"):
        score(ou(), t, x, y, jnp.ones(2))
    assert not score.conditional


def test_default_is_the_velocity():
    assert isinstance(
        NetworkScore(SquaredExponential()).parametrisation, PARAMETRISATIONS["velocity"]
    )


def test_the_time_of_padding_does_not_count():
    """Rows that are padding stand at a later time than all others; the score does not see it."""
    noising, score = ou("nugget"), NetworkScore(lambda t, x, y, mask: 0.3 * y, PreconditionRoot())
    x, y = jnp.linspace(0.0, 1.0, N)[:, None], jnp.linspace(-1.0, 1.0, N)[:, None]
    late, same = jnp.where(MASK > 0, 0.01, 0.9), jnp.full(N, 0.01)
    found = [score(noising, t, x, y, MASK) for t in (late, same)]
    assert_allclose(found[0], found[1], rtol=1e-5)
