"""Attention on processors: that of JAX to rounding, with its derivatives."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from geomndp.nets.attention import attend

from ..cases import quick

MASK = np.asarray([1, 1, 1, 2, 2, 0])


def arrays(dtype):
    """Queries, keys and values of three sets, and a bias."""
    keys = jr.split(jr.key(0), 4)
    tokens = (jr.normal(k, (3, len(MASK), 2, 4), dtype) for k in keys[:3])
    return *tokens, jr.normal(keys[3], (2, len(MASK), len(MASK)), dtype)


def test_is_that_of_jax_to_rounding():
    *tokens, bias = arrays(jnp.float32)
    mask = jnp.asarray(MASK, jnp.float32)

    def attended(backend):
        return lambda query: attend(query, *tokens[1:], bias=bias, mask=mask, backend=backend)

    @quick
    def all_backends(query):
        backends = ("xla", "folded", None)
        return [jax.jvp(attended(backend), (query,), (query[::-1],)) for backend in backends]

    plain, folded, default = all_backends(tokens[0])
    for expected, value, same in zip(plain, folded, default, strict=True):
        real = slice(None), MASK > 0  # derivatives of equal weights differ
        np.testing.assert_allclose(value[real], expected[real], rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(same, value)  # tests run on processors


def test_softmax_is_in_full_precision():
    *tokens, bias = arrays(jnp.float64)
    query, key, value = (np.asarray(array) for array in tokens)
    weights = np.exp(np.einsum("bihc,bjhc->bhij", query, key) / 2 + np.asarray(bias))
    weights = np.where((MASK[:, None] == MASK) & (MASK > 0), weights, 0.0)
    weights[:, :, MASK == 0] = 1.0  # a query that sees no key: equal weights
    weights /= weights.sum(axis=-1, keepdims=True)
    expected = np.einsum("bhij,bjhc->bihc", weights, value)
    attended = quick(lambda *tokens: attend(*tokens, bias=bias, mask=jnp.asarray(MASK, float)))
    np.testing.assert_allclose(attended(*tokens), expected, rtol=1e-12)
