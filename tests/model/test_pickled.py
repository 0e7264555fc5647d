"""Laws given observations are pickled and copied to the last digit, whatever JAX's default is."""

import copy
import pickle

import jax
import numpy as np
import pytest

from geomndp import ProcessModel


@pytest.mark.parametrize("kind", ["process", "mixture"])
def test_a_posterior_is_the_same_in_another_process(kind, gp, mixture):
    x, y = np.asarray([0.1, 0.5]), np.asarray([1.0, -1.0])
    with jax.enable_x64(False):
        law = (ProcessModel(gp) if kind == "process" else mixture).condition(x, y)
        for again in (pickle.loads(pickle.dumps(law)), copy.deepcopy(law)):
            assert again.log_prob(x + 0.2, y) == law.log_prob(x + 0.2, y)
            np.testing.assert_array_equal(again.sample(x, key=0), law.sample(x, key=0))


def test_a_posterior_is_copied_while_it_is_traced(gp):
    def mean(y, law=lambda law: law):
        return law(ProcessModel(gp).condition(np.asarray([0.1]), y)).mean(np.asarray([0.4]))

    y = np.asarray([1.0])
    copied = jax.jit(lambda y: mean(y, copy.copy))(y)
    np.testing.assert_allclose(copied, mean(y), rtol=1e-12)
