"""Laws of neural processes at inputs far from the origin and from each other."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from numpy.testing import assert_allclose

import geomndp as gn
from geomndp.baselines.neural_processes.autoregressive import Autoregressive
from geomndp.baselines.neural_processes.conv_cnp import ConvCNP
from geomndp.baselines.neural_processes.full_conv_gnp import FullConvGNP
from geomndp.baselines.neural_processes.te_tnp import TETNP

from .checks import with_random_parameters
from .test_te_tnp import TINY

GRID = {"extent": 2.0, "points_per_unit": 4.0, "num_layers": 1, "width": 2, "margin": 0.5}
FAR = 2.0**30  # float32 tells 128 apart there


def network(name):
    if name == "attention":
        return TETNP(1, 1, **{**TINY, "dtype": "float32"}, key=jr.key(0))
    return ConvCNP(1, 1, **GRID, dtype="float32", key=jr.key(0))


@pytest.mark.parametrize("name", ["grid", "attention", "rolled out"])
def test_far_inputs_keep_their_differences(name):
    process = with_random_parameters(network(name))
    process = Autoregressive(process) if name == "rolled out" else process
    rng = np.random.default_rng(0)
    xc, yc, y = rng.uniform(-1, 1, (3, 1)), rng.normal(size=(3, 1)), rng.normal(size=(2, 1))
    x = rng.uniform(-1, 1, (2, 1))
    model = gn.ProcessModel(process)
    near, far = (model.condition(xc + shift, yc).log_prob(x + shift, y) for shift in (0.0, FAR))
    assert_allclose(far, near, rtol=1e-4)
    with jax.enable_x64(True):  # as programs trace them
        law = process.condition(jnp.asarray(xc + FAR), jnp.asarray(yc))
        assert_allclose(law.log_prob(jnp.asarray(x + FAR), jnp.asarray(y)), near, rtol=1e-4)


def test_a_product_grid_has_as_many_cells_as_any_other():
    sizes = {"width": 2, "num_layers": 1, "kernel_width": 2, "kernel_layers": 1}
    process = FullConvGNP(1, 1, **sizes, key=jr.key(0))
    assert process.with_room(np.array([[0.0], [60.0]])).config.extent == 64
    with pytest.raises(ValueError, match="expected inputs that range over at most 102"):
        process.with_room(np.array([[0.0], [200.0]]))  # 4096 cells per side


def test_points_that_lack_some_outputs_and_noise_are_refused_in_words():
    process = TETNP(1, 2, **{**TINY, "dtype": "float32"}, key=jr.key(0))
    model, x, y = gn.ProcessModel(process), np.zeros((2, 1)), np.zeros((2, 2))
    one_missing = np.array([[1.0, 0.0], [1.0, 1.0]])
    with pytest.raises(ValueError, match="expected points that have all outputs or none"):
        model.condition(x, y, mask=one_missing).log_prob(x, y)
    with pytest.raises(ValueError, match="expected points that have all outputs or none"):
        process.condition(jnp.zeros((0, 1)), jnp.zeros((0, 2))).log_prob(
            jnp.zeros((2, 1)), jnp.zeros((2, 2)), mask=jnp.ones((2, 2))
        )
    with pytest.raises(ValueError, match="which learns it, got variances"):
        model.condition(x, y, noise=0.1).log_prob(x, y)


@pytest.mark.parametrize("ask", ["mean_and_std", "sample", "marginal_log_prob"])
def test_what_overflows_is_an_error(ask):
    """Values near the largest of float32 become NaN in the network."""
    model = gn.ProcessModel(with_random_parameters(network("grid")))
    posterior = model.condition([[0.0], [0.3]], [[3e38], [1.0]])
    calls = {
        "mean_and_std": lambda: posterior.mean_and_std([[0.1]]),
        "sample": lambda: posterior.sample([[0.1]], key=0, num_samples=2),
        "marginal_log_prob": lambda: posterior.marginal_log_prob(np.array([[0.1]]), [[0.0]]),
    }
    with pytest.raises(FloatingPointError, match="became NaN"):
        calls[ask]()
