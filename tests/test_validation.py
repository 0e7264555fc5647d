"""Refusals say what was expected and what came; what cannot be looked at passes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from geomndp import _validation

NAN = float("nan")
X, Y = jnp.zeros((12, 2)), jnp.zeros((12, 3))
BAD_ROWS = X.at[jnp.arange(1, 11)].set(NAN)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: _validation.positive(a=1.0, b=0.0), "expected b > 0, got 0.0"),
        (lambda: _validation.positive(a=NAN), "expected a > 0, got nan"),
        (lambda: _validation.positive(a=(1.0, np.inf)), r"expected a > 0, got \(1.0, inf\)"),
        (lambda: _validation.positive(a=jnp.asarray([1.0, -1.0])), "expected a > 0, got"),
        (lambda: _validation.positive(a="1"), "expected a > 0, got '1'"),
        (lambda: _validation.positive(a=None), "expected a > 0, got None"),
        (lambda: _validation.positive(a=[1.0, [2.0]]), "expected a > 0, got"),
        (lambda: _validation.one_positive(a=0.0), "expected a > 0, got 0.0"),
        (lambda: _validation.one_positive(a=None), "expected a > 0, got None"),
        (lambda: _validation.one_positive(a=(1.0, 2.0)), r"expected one a, got 2: \(1.0, 2.0\)"),
        (lambda: _validation.one_positive(a=jnp.ones(3)), "expected one a, got 3: Array"),
        (lambda: _validation.not_negative(noise=1j), "expected noise >= 0, got 1j"),
        (lambda: _validation.not_negative(noise=-0.5), "expected noise >= 0, got -0.5"),
        (lambda: _validation.not_negative(noise=np.inf), "expected noise >= 0, got inf"),
        (
            lambda: _validation.one_of("kind", "c", ("a", "b")),
            "expected kind to be one of 'a', 'b', got 'c'",
        ),
        (lambda: _validation.share(a=1.5), "expected 0 <= a <= 1, got 1.5"),
        (lambda: _validation.share(a="1"), "expected 0 <= a <= 1, got '1'"),
        (lambda: _validation.at_least(2, n=1), "expected n to be a whole number >= 2, got 1"),
        (lambda: _validation.at_least(2, n=2.5), r"expected n to be a whole number >= 2, got 2\.5"),
        (lambda: _validation.at_least(2, n="3"), "expected n to be a whole number >= 2, got '3'"),
        (
            lambda: _validation.finite_rows("y", BAD_ROWS),
            r"expected finite y, got NaN or infinity in rows 1, 2, 3, 4, 5, 6, 7, 8, \.\.\.",
        ),
        (
            lambda: _validation.finite_rows("t", np.asarray([0.0, np.inf])),
            "expected finite t, got NaN or infinity in rows 1",
        ),
        (
            lambda: _validation.shape("z", X, (12, 3)),
            r"expected z of shape \(12, 3\), got shape \(12, 2\)",
        ),
        (
            lambda: _validation.function(X[0], dim=3, name="_context"),
            r"expected x_context of shape \(n, d\), got shape \(2,\)",
        ),
        (
            lambda: _validation.function(X, X, dim=3, name="_context"),
            r"expected y_context of shape \(12, 3\), got shape \(12, 2\)",
        ),
        (
            lambda: _validation.function(X, Y[None], dim=3),
            r"expected y of shape \(12, 3\), got shape \(1, 12, 3\)",
        ),
        (
            lambda: _validation.function(X, Y, dim=3, mask=X),
            r"expected mask of shape \(12,\) or \(12, 3\), got shape \(12, 2\)",
        ),
        (lambda: _validation.function(1.0, dim=3), r"expected x of shape \(n, d\), got shape \(\)"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_good_values_pass():
    _validation.positive(a=1.0, b=(0.5, 2.0), c=jnp.ones(3))
    _validation.not_negative(noise=0.0, more=jnp.zeros(2))
    _validation.one_of("kind", "a", ("a", "b"))
    _validation.at_least(0, n=0, m=np.int64(3))
    _validation.function(X, Y, dim=3, mask=jnp.ones(12))
    _validation.function(X[:0], Y[:0], dim=3)
    _validation.function(np.zeros((3, 1)), np.zeros((3, 1)), dim=1)
    good = np.where(np.isnan(BAD_ROWS).any(axis=1), 0.0, 1.0)
    _validation.function(BAD_ROWS, Y, dim=3, mask=good)


def test_traced_values_pass():
    @jax.jit
    def traced(a):
        _validation.positive(a=a)
        _validation.not_negative(a=a)
        _validation.finite_rows("a", a)
        assert not _validation.concrete(a)
        return a

    assert traced(-jnp.ones(3)).shape == (3,)
    assert _validation.concrete(X)
    assert _validation.concrete(1.0)


def test_shapes_are_checked_under_jit():
    with pytest.raises(ValueError, match="expected y of shape"):
        jax.jit(lambda x: _validation.function(x, x, dim=3))(X)
    assert jax.jit(lambda x: _validation.function(x, Y, dim=3, mask=x[:, 0]))(BAD_ROWS) is None
