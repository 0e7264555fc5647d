"""What must hold for every neural process, whatever its parameters; inputs in [-1, 1]."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from numpy.testing import assert_allclose

CONTEXT, TARGETS = 4, 3


def with_random_parameters(process, *, scale: float = 0.3, seed: int = 7):
    """The same process with every parameter moved, since heads may start at zero."""
    params, rest = eqx.partition(process, eqx.is_inexact_array)
    leaves, structure = jax.tree.flatten(params)
    rng = np.random.default_rng(seed)  # numbers of JAX are compiled for every shape
    moved = [
        jnp.asarray(v + scale * rng.standard_normal(v.shape), v.dtype)
        for v in map(np.asarray, leaves)
    ]
    return eqx.combine(jax.tree.unflatten(structure, moved), rest)


def problem(process, context: int = CONTEXT, targets: int = TARGETS, seed: int = 0):
    """Random context and targets: (xc, yc, context_mask), (x, mask), y."""
    keys = jr.split(jr.key(seed), 4)
    d, p, dtype = process.input_dim, process.dim, process.dtype
    xc, x = (
        jr.uniform(key, (n, d), dtype, -1.0, 1.0)
        for key, n in zip(keys, (context, targets), strict=False)
    )
    yc, y = (
        jr.normal(key, (n, p), dtype) for key, n in zip(keys[2:], (context, targets), strict=True)
    )
    return (xc, yc, jnp.ones(context, dtype)), (x, jnp.ones(targets, dtype)), y


@eqx.filter_jit
def predict(process, context, targets, key=None):
    """Law of the targets, compiled."""
    return process.predict(*context, *targets, key=key)


@eqx.filter_jit
def summaries(process, context, targets, y, key=None) -> tuple:
    """Numbers that the law of the targets gives at values y."""
    law = process.predict(*context, *targets, key=key)
    return law.log_prob(y, targets[1]), law.marginal_log_prob(zeros(y)), law.mean(), law.std()


def zeros(y):
    """Values with zeros in place of NaN."""
    return jnp.where(jnp.isnan(y), 0.0, y)


def check_permutations(process, *, key=None, targets: bool = True, atol: float = 1e-9) -> None:
    """Order of the context never matters; that of the targets only to autoregressive laws."""
    (xc, yc, one), (x, mask), y = problem(process)
    expected = summaries(process, (xc, yc, one), (x, mask), y, key)
    turned = summaries(process, (xc[::-1], yc[::-1], one), (x, mask), y, key)
    for got, want in zip(turned, expected, strict=True):
        assert_allclose(got, want, atol=atol)
    if targets:
        turned = summaries(process, (xc, yc, one), (x[::-1], mask), y[::-1], key)
        assert_allclose(turned[0], expected[0], atol=atol)
        for got, want in zip(turned[1:], expected[1:], strict=True):
            assert_allclose(got[::-1], want, atol=atol)


def check_padding(process, *, key=None, atol: float = 1e-9) -> None:
    """Padded context points and targets change nothing, whatever they hold."""
    context, (x, mask), y = problem(process)
    log_prob, *rows = summaries(process, context, (x, mask), y, key)

    def padded(v, value):
        filling = jnp.full((2, *v.shape[1:]), value, v.dtype)
        return jnp.concatenate([v[:1], filling, v[1:]])

    for value in (0.0, 0.7):
        longer = padded(context[0], value), padded(context[1], value), padded(context[2], 0.0)
        targets = padded(x, value), padded(mask, 0.0)
        got = summaries(process, longer, targets, padded(y, np.nan), key)
        assert_allclose(got[0], log_prob, atol=atol)
        for row, want in zip(got[1:], rows, strict=True):
            assert_allclose(jnp.concatenate([row[:1], row[3:]]), want, atol=atol)


def check_no_context(process, *, key=None, atol: float = 1e-9) -> None:
    """No context is allowed, and the same as one that is masked; no targets have density one."""
    (xc, yc, one), (x, mask), y = problem(process)
    empty = summaries(process, (xc[:0], yc[:0], one[:0]), (x, mask), y, key)
    masked = summaries(process, (xc, yc, 0 * one), (x, mask), y, key)
    for got, want in zip(empty, masked, strict=True):
        assert np.isfinite(got).all()
        assert_allclose(got, want, atol=atol)
    nothing = predict(process, (xc, yc, one), (x[:0], mask[:0]), key)
    assert_allclose(nothing.log_prob(y[:0]), 0.0)


def check_integrals(process, *, key=None, atol: float = 1e-3, points: int = 61) -> None:
    """Densities of one and of two targets of one output integrate to one, by the trapezoid rule."""
    assert process.dim == 1
    context, (x, mask), _ = problem(process, targets=2)
    law = predict(process, context, (x, mask), key)
    mean, std = np.asarray(law.mean())[:, 0], np.asarray(law.std())[:, 0]
    a, b = (m + 7 * s * np.linspace(-1, 1, points) for m, s in zip(mean, std, strict=True))
    pairs = np.stack(np.meshgrid(a, b, indexing="ij"), -1).reshape(-1, 2, 1)
    joint = _densities(law.log_prob, pairs, process.dtype).reshape(points, points)
    total = np.trapezoid(np.trapezoid(joint, b, axis=1), a)
    assert_allclose(total, 1.0, atol=atol)
    one = predict(process, context, (x[:1], mask[:1]), key)
    single = _densities(one.log_prob, a[:, None, None], process.dtype)
    assert_allclose(np.trapezoid(single, a), 1.0, atol=atol)
    marginal = _densities(one.marginal_log_prob, a[:, None, None], process.dtype)[:, 0]
    assert_allclose(marginal, single, rtol=1e-6, atol=1e-9)


def _densities(log_prob, values, dtype):
    values = jnp.asarray(values, dtype)
    return np.exp(jax.jit(lambda v: jax.lax.map(log_prob, v, batch_size=512))(values))


def check_vmap(process, *, key=None, atol: float = 1e-9) -> None:
    """For several functions at once the numbers are those of each."""
    problems = [problem(process, seed=seed) for seed in (0, 1)]

    def nats(context, targets, y):
        return process.predict(*context, *targets, key=key).log_prob(y)

    each = [jax.jit(nats)(*one) for one in problems]
    stacked = jax.tree.map(lambda *v: jnp.stack(v), *problems)
    assert_allclose(jax.jit(jax.vmap(nats))(*stacked), each, atol=atol)


def check_all(process, *, key=None, targets: bool = True) -> None:
    """All checks; `targets` says whether the order of targets does not matter."""
    check_permutations(process, key=key, targets=targets)
    check_padding(process, key=key)
    check_no_context(process, key=key)
    check_vmap(process, key=key)
    if process.dim == 1:
        check_integrals(process, key=key)
