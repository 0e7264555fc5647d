"""Programs that tests share: equal ones only, and none with functions of their own."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax._src import compiler

from .shared_programs import SharedPrograms, forget_programs

X = np.arange(3.0)


@pytest.fixture
def made(monkeypatch):
    """One entry for every compilation."""
    shared, found = compiler.compile_or_get_cached, []
    assert isinstance(shared, SharedPrograms)

    def noted(*args):
        found.append(args)
        return compile_module(*args)

    compile_module = shared.compile_module
    monkeypatch.setattr(shared, "compile_module", noted)
    forget_programs()
    return found


def test_equal_functions_share_a_program(made):
    results = [jax.jit(lambda x: jnp.tanh(x) + 1)(X) for _ in range(3)]
    assert len(made) == 1
    np.testing.assert_array_equal(results[0], results[2])


def test_other_numbers_options_and_shapes_do_not(made):
    for k in (1, 2):
        np.testing.assert_array_equal(jax.jit(lambda x, k=k: x + k)(X), X + k)
    jax.jit(lambda x: x + 1, compiler_options={"xla_backend_optimization_level": 1})(X)
    jax.jit(lambda x: x + 1)(X[:2])
    assert len(made) == 4


def test_calls_into_python_are_never_shared():
    def call(k):
        result = jax.ShapeDtypeStruct(X.shape, X.dtype)
        return jax.jit(lambda x: jax.pure_callback(lambda v: v + k, result, x))(X)

    for k in (1.0, 2.0, 3.0):
        np.testing.assert_array_equal(call(k), X + k)
