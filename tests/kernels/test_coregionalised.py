"""Several correlated outputs: against dense matrices, and with outputs that are missing."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg
import scipy.stats
from numpy.testing import assert_allclose

from geomndp.gp import GP
from geomndp.kernels import (
    Bias,
    Coregionalised,
    Diagonal,
    Matern32,
    Modulated,
    SquaredExponential as SE,
    Turned,
    White,
)

from ..cases import N, inputs, normal, quick

B = ((1.3, 0.5), (0.5, 0.8))
C = ((0.2, -0.1), (-0.1, 0.3))
NOISE = (0.1, 0.4)
MASK = jnp.asarray([[1.0, 1.0], [1.0, 0.0], [0.0, 1.0], [0.0, 0.0], [1.0, 1.0]])


def swell(x):
    return 1.0 + jnp.concatenate([x[:, :1] ** 2, 0.5 * x[:, 1:] ** 2], axis=1)


def lean(x):
    return 0.4 + x[:, :1]


KERNELS = {
    "one": Coregionalised(SE(0.7), B),
    "two": Coregionalised(SE(0.7), B) + Coregionalised(Matern32((0.5, 1.0)), C),
    "height": Coregionalised(Bias(0.5), B) + Diagonal(SE(0.7), 2),
    "white": Coregionalised(SE(0.7), B) + Coregionalised(White(0.1), C),
    "modulated": Modulated(Coregionalised(SE(0.7), B), swell),
    "copies": Modulated(Diagonal(SE(0.7), 2), swell) + Modulated(Diagonal(White(0.1), 2), swell),
    "turned": Modulated(Turned(Coregionalised(SE(0.7), B), lean), swell),
    "turned copies": Turned(Diagonal(SE(0.7) + White(0.1), 2), lean),
    "turned noise": Turned(Modulated(Diagonal(White(0.1), 2), swell), lean) + Diagonal(SE(0.7), 2),
}


@pytest.fixture(params=KERNELS)
def kernel(request):
    return KERNELS[request.param]


def dense(name, x):
    """Covariance on flattened indices from scalar kernels alone."""
    se, rough = SE(0.7).gram(x).dense(), Matern32((0.5, 1.0)).gram(x).dense()
    eye, s = np.eye(len(x)), np.asarray(swell(x)).reshape(-1)
    turns = [[[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]] for a in np.asarray(lean(x))[:, 0]]
    turn = scipy.linalg.block_diag(*turns)
    return {
        "one": np.kron(se, B),
        "two": np.kron(se, B) + np.kron(rough, C),
        "height": np.kron(np.full_like(eye, 0.5), B) + np.kron(se, np.eye(2)),
        "white": np.kron(se, B) + np.kron(0.1 * eye, C),
        "modulated": s[:, None] * np.kron(se, B) * s,
        "copies": s[:, None] * np.kron(se + 0.1 * eye, np.eye(2)) * s,
        "turned": s[:, None] * (turn @ np.kron(se, B) @ turn.T) * s,
        "turned noise": np.kron(se, np.eye(2)) + turn @ np.diag(0.1 * s**2) @ turn.T,
        "turned copies": turn @ np.kron(se, np.eye(2)) @ turn.T + 0.1 * np.eye(2 * len(x)),
    }[name]


@pytest.mark.parametrize("name", KERNELS)
def test_gram_is_the_dense_formula(name, getkey):
    kernel, x = KERNELS[name], inputs(N, key=getkey())
    expected = dense(name, x)
    gram, diagonal = quick(lambda x: (kernel.gram(x).dense(), kernel.diagonal(x)))(x)
    assert_allclose(gram, expected, rtol=1e-12, atol=1e-14)
    assert_allclose(diagonal.reshape(-1), np.diag(expected), rtol=1e-12)
    assert np.linalg.eigvalsh(expected).min() > -1e-10


def test_turned_noise_is_diagonal_where_its_variances_are_equal(getkey):
    x, noise = inputs(N, key=getkey()), Diagonal(White(0.1), 2)
    turned = Turned(noise, lean)
    assert turned.white and not Turned(Modulated(noise, swell), lean).white
    assert_allclose(turned.gram(x).dense(), 0.1 * np.eye(2 * N), rtol=1e-12)


def test_pairs_of_rows(kernel, getkey):
    x1, x2 = inputs(N, key=getkey()), inputs(N, key=getkey())

    @quick
    def both(x1, x2):
        blocks = jax.vmap(lambda a: jax.vmap(lambda b: kernel(a, b))(x2))(x1)
        return blocks.transpose(0, 2, 1, 3).reshape(2 * N, 2 * N), kernel.cross(x1, x2)

    expected, found = both(x1, x2)
    assert_allclose(found, expected, rtol=1e-12, atol=1e-14)
    narrow = jax.ShapeDtypeStruct((N, 2), jnp.float32)
    assert jax.eval_shape(kernel.cross, narrow, narrow).dtype == jnp.float32


def keep_values(mask):
    return np.flatnonzero(np.asarray(mask).reshape(-1))


@pytest.mark.parametrize("name", KERNELS)
def test_missing_outputs_are_rows_dropped_from_the_dense_matrix(name, getkey):
    x, y = inputs(2 * N, key=getkey()), normal(2 * N, 2, key=getkey())
    noise = jnp.abs(normal(N, 2, key=getkey()))
    gp = GP(KERNELS[name], lambda x: 0.5 - x, NOISE)
    covariance = dense(name, x) + np.diag(np.tile(NOISE, 2 * N))
    covariance[: 2 * N, : 2 * N] += np.diag(np.asarray(noise).reshape(-1))
    residual = np.asarray(y - (0.5 - x)).reshape(-1)
    seen, new = keep_values(MASK), 2 * N + keep_values(1 - MASK)
    wrong = jnp.concatenate([MASK, 1 - MASK]) == 0
    held = jnp.where(wrong, jnp.nan, y)

    @quick
    def answers(x, held, noise):
        law = gp.condition(x[:N], held[:N], noise, MASK)
        further = gp.condition(x[:2], held[:2], noise[:2], MASK[:2])
        further = further.condition(x[2:N], held[2:N], noise[2:], MASK[2:])
        density = law.log_prob(x[N:], held[N:], 1 - MASK)
        return density, law.gram(x[N:]).dense(), law.mean_at(x[N:]), further.mean_at(x[N:])

    density, dense_rest, mean, further = answers(x, held, noise)
    gain = covariance[np.ix_(new, seen)] @ np.linalg.inv(covariance[np.ix_(seen, seen)])
    rest = covariance[np.ix_(new, new)] - gain @ covariance[np.ix_(seen, new)]
    expected = scipy.stats.multivariate_normal(gain @ residual[seen], rest).logpdf(residual[new])
    assert_allclose(density, expected, rtol=1e-6)
    assert_allclose(dense_rest[np.ix_(new - 2 * N, new - 2 * N)], rest, atol=1e-7)
    assert_allclose(further, mean, rtol=1e-6, atol=1e-9)


def test_noise_per_output_of_independent_copies(getkey):
    x, y = inputs(N, key=getkey()), normal(N, 2, key=getkey())

    @quick
    def answers(gp, x, y):
        return gp.log_prob(x, y), *gp.condition(x[:3], y[:3]).mean_and_std(x[3:])

    found = answers(GP(Diagonal(SE(0.7), 2), noise=NOISE), x, y)
    each = [answers(GP(SE(0.7), noise=s), x, y[:, i : i + 1]) for i, s in enumerate(NOISE)]
    assert_allclose(found[0], each[0][0] + each[1][0], rtol=1e-8)
    for part in (1, 2):
        columns = np.concatenate([one[part] for one in each], axis=1)
        assert_allclose(found[part], columns, rtol=1e-8)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Coregionalised(Diagonal(SE(), 2), B), "expected a scalar kernel"),
        (lambda: Coregionalised(SE(), ((1.0, 0.0),)), "expected a square matrix"),
        (lambda: Turned(SE(), lean), "expected a kernel of two outputs, got 1"),
        (lambda: Coregionalised(SE(), ((1.0, 2.0), (2.0, 1.0))), "expected a symmetric matrix"),
        (lambda: Coregionalised(SE(), ((1.0, 0.2), (0.1, 1.0))), "expected a symmetric matrix"),
        (lambda: GP(Coregionalised(SE(), B), noise=(0.1,)), "a tuple of 2, got 1"),
        (lambda: GP(Coregionalised(SE(), B), noise=(0.1, -1.0)), "expected noise >= 0"),
    ],
)
def test_wrong_arguments(make, message):
    with pytest.raises(ValueError, match=message):
        make()
