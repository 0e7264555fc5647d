"""Parts of simple Gaussian models are written as JSON and tensors, and come back the same."""

import json

import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_array_equal

from geomndp import kernels
from geomndp.model.part_documents import describe
from geomndp.model.parts import rebuild

X = np.linspace(-1, 1, 4)[:, None]
SE = kernels.SquaredExponential(0.4)
B = ((1.0, 0.3), (0.3, 0.5))
TABLE = kernels.KernelRegression.fit(kernels.Matern32(0.3), X, np.sin(3 * X))
PARTS = {
    "bias": kernels.Bias(0.3),
    "coregionalised": kernels.Coregionalised(SE, B) + kernels.Coregionalised(kernels.White(), B),
    "periodic inputs": kernels.PeriodicInputs(SE, (0.7,)),
    "modulated": kernels.Modulated(SE, TABLE),
    "turned": kernels.Turned(kernels.Diagonal(SE, 2), TABLE),
    "shrunk": kernels.ShrunkCovariance.fit(SE, X, np.eye(4), 0.3, 0.1),
}


def written(part, role):
    """The part after a way through JSON and tensors."""
    tensors: dict[str, np.ndarray] = {}
    text = json.dumps(describe(part, tensors, role))
    return rebuild(role, json.loads(text), role, tensors=tensors), tensors


@pytest.mark.parametrize("name", PARTS)
def test_kernels_come_back(name):
    kernel = PARTS[name]
    back, _ = written(kernel, "kernel")
    x = jnp.asarray(X + 0.1)
    assert type(back) is type(kernel)
    assert_array_equal(back.gram(x).dense(), kernel.gram(x).dense())


def test_tables_keep_their_precision():
    back, tensors = written(TABLE, "mean")
    assert {value.dtype for value in tensors.values()} == {np.dtype(np.float64)}
    assert_array_equal(back(jnp.asarray(X + 0.1)), TABLE(jnp.asarray(X + 0.1)))
