"""Refusals say what was expected and what came; what cannot be looked at passes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from geomndp import _checks

NAN = float("nan")
X, Y = jnp.zeros((12, 2)), jnp.zeros((12, 3))
BAD_ROWS = X.at[jnp.arange(1, 11)].set(NAN)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: _checks.positive(a=1.0, b=0.0), "expected b > 0, got 0.0"),
        (lambda: _checks.positive(a=NAN), "expected a > 0, got nan"),
        (lambda: _checks.positive(a=(1.0, np.inf)), r"expected a > 0, got \(1.0, inf\)"),
        (lambda: _checks.positive(a=jnp.asarray([1.0, -1.0])), "expected a > 0, got"),
        (lambda: _checks.positive(a="1"), "expected a > 0, got '1'"),
        (lambda: _checks.positive(a=None), "expected a > 0, got None"),
        (lambda: _checks.positive(a=[1.0, [2.0]]), "expected a > 0, got"),
        (lambda: _checks.not_negative(noise=1j), "expected noise >= 0, got 1j"),
        (lambda: _checks.not_negative(noise=-0.5), "expected noise >= 0, got -0.5"),
        (lambda: _checks.not_negative(noise=np.inf), "expected noise >= 0, got inf"),
        (
            lambda: _checks.one_of("kind", "c", ("a", "b")),
            "expected kind to be one of 'a', 'b', got 'c'",
        ),
        (lambda: _checks.at_least(2, n=1), "expected n to be a whole number >= 2, got 1"),
        (lambda: _checks.at_least(2, n=2.5), r"expected n to be a whole number >= 2, got 2\.5"),
        (lambda: _checks.at_least(2, n="3"), "expected n to be a whole number >= 2, got '3'"),
        (
            lambda: _checks.finite_rows("y", BAD_ROWS),
            r"expected finite y, got NaN or infinity in rows 1, 2, 3, 4, 5, 6, 7, 8, \.\.\.",
        ),
        (
            lambda: _checks.finite_rows("t", np.asarray([0.0, np.inf])),
            "expected finite t, got NaN or infinity in rows 1",
        ),
        (
            lambda: _checks.shape("z", X, (12, 3)),
            r"expected z of shape \(12, 3\), got shape \(12, 2\)",
        ),
        (
            lambda: _checks.function(X[0], dim=3, name="_context"),
            r"expected x_context of shape \(n, d\), got shape \(2,\)",
        ),
        (
            lambda: _checks.function(X, X, dim=3, name="_context"),
            r"expected y_context of shape \(12, 3\), got shape \(12, 2\)",
        ),
        (
            lambda: _checks.function(X, Y[None], dim=3),
            r"expected y of shape \(12, 3\), got shape \(1, 12, 3\)",
        ),
        (
            lambda: _checks.function(X, Y, dim=3, mask=X),
            r"expected mask of shape \(12,\), got shape \(12, 2\)",
        ),
        (lambda: _checks.function(1.0, dim=3), r"expected x of shape \(n, d\), got shape \(\)"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_good_values_pass():
    _checks.positive(a=1.0, b=(0.5, 2.0), c=jnp.ones(3))
    _checks.not_negative(noise=0.0, more=jnp.zeros(2))
    _checks.one_of("kind", "a", ("a", "b"))
    _checks.at_least(0, n=0, m=np.int64(3))
    _checks.function(X, Y, dim=3, mask=jnp.ones(12))
    _checks.function(X[:0], Y[:0], dim=3)
    _checks.function(np.zeros((3, 1)), np.zeros((3, 1)), dim=1)
    good = np.where(np.isnan(BAD_ROWS).any(axis=1), 0.0, 1.0)
    _checks.function(BAD_ROWS, Y, dim=3, mask=good)


def test_traced_values_pass():
    @jax.jit
    def traced(a):
        _checks.positive(a=a)
        _checks.not_negative(a=a)
        _checks.finite_rows("a", a)
        assert not _checks.concrete(a)
        return a

    assert traced(-jnp.ones(3)).shape == (3,)
    assert _checks.concrete(X)
    assert _checks.concrete(1.0)


def test_shapes_are_checked_under_jit():
    with pytest.raises(ValueError, match="expected y of shape"):
        jax.jit(lambda x: _checks.function(x, x, dim=3))(X)
    assert jax.jit(lambda x: _checks.function(x, Y, dim=3, mask=x[:, 0]))(BAD_ROWS) is None
