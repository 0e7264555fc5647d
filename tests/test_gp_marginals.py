"""Marginal laws at many inputs: those of fewer, in memory for a block of them."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from numpy.testing import assert_allclose

from geomndp.gp import GP
from geomndp.kernels import Matern52
from geomndp.linalg import by_blocks

LAW = GP(Matern52(0.3), lambda x: x, noise=0.05)


def observed():
    x = jr.normal(jr.key(0), (5, 1))
    return LAW.condition(x, jnp.sin(x))


def test_blocks_have_the_moments_of_all():
    @jax.jit
    def moments(x):
        law = observed()
        return by_blocks(lambda x: (law.mean_at(x), law.gram(x).diagonal()), x, size=4), (
            law.mean_at(x),
            law.gram(x).diagonal(),
        )

    for part, wanted in zip(*moments(jnp.linspace(-1.0, 1.0, 11)[:, None]), strict=True):
        assert_allclose(part, wanted, atol=1e-12)


def test_no_matrix_of_all_pairs_is_made():
    """Of a map of 300 x 300 points it would have 65 GB."""
    x = jax.ShapeDtypeStruct((90_000, 1), jnp.float64)
    program = jax.make_jaxpr(lambda x: observed().marginals(x).std())(x)
    sizes = [np.prod(part.aval.shape) for part in _values(program.jaxpr)]
    assert max(sizes) < 10_000_000


def _values(program):
    """Everything that a program computes, in loops too."""
    for equation in program.eqns:
        yield from equation.outvars
        for parameter in jax.tree.leaves(tuple(equation.params.values())):
            inner = getattr(parameter, "jaxpr", parameter)
            if hasattr(inner, "eqns"):
                yield from _values(inner)
