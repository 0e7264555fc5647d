"""Networks on grids: receptive fields as configured, shifts, sizes of the authors' networks."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest
from numpy.testing import assert_allclose

from geomndp.baselines.neural_processes.cnn import CNN, SeparableCNN, kernel_size_for
from geomndp.baselines.neural_processes.depthwise import by_tiles, depthwise_convolution
from geomndp.baselines.neural_processes.unet import UNet

NETWORKS = (SeparableCNN, CNN, UNet)


def make(kind, dim=1, *, num_layers=2, kernel_size=3, key=0, dtype="float64"):
    sizes = {"width": 4, "num_layers": num_layers, "kernel_size": kernel_size}
    return kind(dim, 2, 3, **sizes, dtype=dtype, key=jr.key(key))


@pytest.mark.parametrize("dim", [1, 2])
def test_depthwise_convolution_is_the_direct_sum(dim, getkey):
    h = jr.normal(getkey(), (3, *(8,) * dim))
    kernel = jr.normal(getkey(), (3, *(5,) * dim))
    padded = np.pad(h, ((0, 0), *((2, 2),) * dim))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (5,) * dim, tuple(range(1, dim + 1)))
    flipped = np.flip(kernel, tuple(range(1, dim + 1)))
    letters = "xy"[:dim]
    expected = np.einsum(f"k...{letters},k{letters}->k...", windows, flipped)
    assert_allclose(depthwise_convolution(h, kernel), expected, atol=1e-12)


@pytest.mark.parametrize(("cells", "size"), [(3, 9), (64, 1), (130, 65), (200, 129)])
def test_tiles_of_the_grid_give_the_same_convolution(cells, size, getkey):
    h, kernel = jr.normal(getkey(), (2, cells)), jr.normal(getkey(), (2, size))
    expected = [np.convolve(*pair)[size // 2 :][:cells] for pair in zip(h, kernel, strict=True)]
    assert_allclose(by_tiles(h, kernel), expected, atol=1e-11)


@pytest.mark.parametrize("kind", NETWORKS)
@pytest.mark.parametrize(
    ("num_layers", "kernel_size"), [(2, 5), pytest.param(3, 3, marks=pytest.mark.slow)]
)
def test_receptive_field_is_where_inputs_have_influence(kind, num_layers, kernel_size):
    network = make(kind, num_layers=num_layers, kernel_size=kernel_size)
    size = 96
    # Positive parameters: no influence cancels.
    network = jax.tree.map(jnp.abs, network)
    influence = jax.jit(jax.jacobian(lambda h: network(h).sum(0)))(jnp.ones((2, size))).sum(1)
    cells = np.arange(size)
    reach = [np.max(np.abs(cells[row > 1e-9 * row.max()] - i)) for i, row in enumerate(influence)]
    inner = reach[32:64]
    assert 1 + 2 * max(inner) == network.receptive_field


@pytest.mark.parametrize("kind", NETWORKS)
@pytest.mark.parametrize("dim", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_shifts_of_the_input_shift_the_output_away_from_the_edges(kind, dim, getkey):
    network = make(kind, dim)
    h = jnp.pad(jr.normal(getkey(), (2, *(3,) * dim)), ((0, 0), *((16, 13),) * dim))
    steps = (network.multiple,) * dim
    axes = tuple(range(1, dim + 1))
    network = eqx.filter_jit(network)
    moved = network(jnp.roll(h, steps, axes))
    inside = (slice(None), *(slice(9, 24),) * dim)
    assert_allclose(moved[inside], jnp.roll(network(h), steps, axes)[inside], atol=1e-12)


@pytest.mark.parametrize("kind", NETWORKS)
def test_half_precision_is_near_and_keeps_its_dtype(kind, getkey):
    network = eqx.filter_jit(make(kind, dtype="float32"))
    h = jr.normal(getkey(), (2, 16), jnp.float32)
    half = network(h.astype(jnp.bfloat16))
    assert half.dtype == jnp.bfloat16
    assert_allclose(half.astype(jnp.float32), network(h), atol=0.1)


@pytest.mark.parametrize(
    ("field", "density", "size"), [(2.0, 64.0, 17), (4.0, 64.0, 33), (16.0, 64.0, 129)]
)
def test_kernels_of_eight_layers_have_the_published_sizes(field, density, size):
    assert kernel_size_for(field, density, 8) == size


def test_the_dense_network_of_the_plane_has_the_published_number_of_parameters():
    sizes = {"width": 40, "num_layers": 7, "kernel_size": 7, "dtype": "float32"}
    network = jax.eval_shape(lambda: CNN(2, 3, 6, **sizes, key=jr.key(0)))
    count = sum(np.prod(leaf.shape) for leaf in jax.tree.leaves(network))
    assert 0.405e6 < count < 0.415e6


def test_even_kernels_are_refused():
    with pytest.raises(ValueError, match="odd kernel_size, got 4"):
        make(CNN, kernel_size=4)
