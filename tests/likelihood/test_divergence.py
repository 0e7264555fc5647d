"""Divergences of vector fields, exact and by random probes."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from numpy.testing import assert_allclose

from geomndp.likelihood import Exact, Hutchinson

from ..cases import largest, normal

N, P = 5, 2
KINDS = ("rademacher", "gaussian")


def field(*, key, dtype=jnp.float64):
    """A field whose Jacobian is full and depends on y."""
    mix = normal(N * P, N * P, key=key, dtype=dtype)
    return lambda y: jnp.tanh(mix @ y.reshape(-1)).reshape(y.shape) * y


def trace(f, y, keep=None):
    """Trace of the whole Jacobian, over the coordinates that are kept."""
    diagonal = np.diag(jax.jit(jax.jacfwd(f))(y).reshape(y.size, y.size))
    return np.sum(diagonal if keep is None else diagonal * np.repeat(keep, P))


def run(divergence, f, y, mask=None, key=None):
    """Value and estimates, compiled."""
    return jax.jit(lambda y: divergence(f, y, divergence.prepare(y, mask, key=key)))(y)


@pytest.mark.parametrize(
    ("chunk", "dtype"), [*((chunk, jnp.float64) for chunk in (1, 3, 5, 64)), (64, jnp.float32)]
)
def test_exact_is_the_trace_in_chunks_of_any_size(chunk, dtype, getkey):
    f, y = field(key=getkey(), dtype=dtype), normal(N, P, key=getkey(), dtype=dtype)
    divergence = Exact(chunk)
    value, estimates = run(divergence, f, y)
    assert estimates.shape == (1,) and estimates.dtype == dtype
    tolerance = 1e-12 if dtype == jnp.float64 else 1e-5
    assert_allclose(value, f(y), rtol=tolerance)
    assert_allclose(estimates[0], trace(f, y), rtol=tolerance, atol=10 * tolerance)
    assert divergence.standard_error(estimates) == 0


def test_chunks_bound_memory():
    def trace_of(divergence):
        return lambda y: divergence(jnp.sin, y, divergence.prepare(y, None))

    y = jnp.ones((500, 1))
    assert largest(trace_of(Exact(10)), y) == 10 * 500
    assert largest(trace_of(Exact(500)), y) == 500 * 500


@pytest.mark.parametrize(
    "divergence", [Exact(), Exact(4), *(Hutchinson(4, kind) for kind in KINDS)]
)
def test_field_is_evaluated_once(divergence, getkey):
    f, y, calls = field(key=getkey()), normal(N, P, key=getkey()), []

    def counted(y):
        calls.append(1)
        return f(y)

    run(divergence, counted, y, key=getkey())
    assert len(calls) == 1


def test_masked_coordinates_contribute_nothing(getkey):
    f, y = field(key=getkey()), normal(N, P, key=getkey())
    keep = jnp.array([1.0, 0.0, 1.0, 1.0, 0.0])
    assert_allclose(run(Exact(), f, y, keep)[1][0], trace(f, y, keep), rtol=1e-12, atol=1e-12)
    for kind in KINDS:
        directions = Hutchinson(3, kind).prepare(y, keep, key=getkey())
        assert np.all((np.asarray(directions) != 0) == (np.asarray(keep) > 0)[None, :, None])


@pytest.mark.parametrize("kind", KINDS)
def test_probes_are_unbiased(kind):
    f, y = field(key=jr.key(1)), normal(N, P, key=jr.key(2))
    divergence = Hutchinson(4096, kind)
    value, estimates = run(divergence, f, y, key=jr.key(3))
    assert_allclose(value, f(y), rtol=1e-12)
    error = divergence.standard_error(estimates)
    assert_allclose(error, np.std(estimates, ddof=1) / 64, rtol=1e-12)
    assert abs(jnp.mean(estimates) - trace(f, y)) < 4 * error


def test_rademacher_probes_are_exact_for_a_diagonal_jacobian(getkey):
    y, divergence = normal(N, P, key=getkey()), Hutchinson(3)
    _, estimates = run(divergence, lambda y: y**3, y, key=getkey())
    assert_allclose(estimates, np.full(3, jnp.sum(3 * y**2)), rtol=1e-12)


def test_one_probe_does_not_know_its_error(getkey):
    y, divergence = normal(N, P, key=getkey()), Hutchinson(1)
    _, estimates = run(divergence, jnp.sin, y, key=getkey())
    assert divergence.standard_error(estimates) == jnp.inf


def test_bad_settings_are_refused():
    with pytest.raises(ValueError, match="chunk to be a whole number >= 1, got 0"):
        Exact(0)
    with pytest.raises(ValueError, match="probes to be a whole number >= 1, got 0"):
        Hutchinson(0)
    with pytest.raises(ValueError, match="'rademacher', 'gaussian', got 'sign'"):
        Hutchinson(8, "sign")
    with pytest.raises(ValueError, match="expected a key"):
        Hutchinson().prepare(jnp.ones((2, 1)), None, key=None)
