"""Group convolutions commute with the group, with shifts of the grid, and see all of a filter."""

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from geomndp.baselines.neural_processes.group_conv import (
    GROUPS,
    GroupConv,
    from_frames,
    group_actions,
    group_matrices,
    to_frames,
)
from geomndp.equivariance import FieldType

from ...cases import slow_but

SIZE = 7
TYPES = {"scalar": 1, "pseudoscalar": 1, "vector": 2, "symmetric": 3}


def moved(values, matrix):
    """Values (..., m, m) on the grid moved by a matrix: v(R^-1 x)."""
    steps = np.arange(SIZE) - SIZE // 2
    x = np.stack(np.meshgrid(steps, steps, indexing="ij"))
    i, j = np.einsum("ab,bij->aij", matrix.T, x) + SIZE // 2
    return values[..., i, j]


def conv(group, num_inputs=2, num_outputs=3, kernel_size=3, *, key):
    layer = GroupConv(num_inputs, num_outputs, kernel_size, group=group, dtype="float64", key=key)
    bias = jnp.arange(num_outputs, dtype=float)
    return jax.tree.map(lambda leaf: bias if leaf.ndim == 1 else leaf, layer)


@pytest.mark.parametrize("group", GROUPS)
def test_matrices_are_a_group(group):
    matrices = group_matrices(group)
    assert len({m.tobytes() for m in matrices}) == len(matrices)
    for a in matrices:
        np.testing.assert_array_equal(a @ a.T, np.eye(2))
        products = {(a @ b).tobytes() for b in matrices}
        assert products == {m.tobytes() for m in matrices}


def test_unknown_groups_are_refused():
    with pytest.raises(ValueError, match="expected group to be one of 'c4', 'd4', got 'c8'"):
        group_matrices("c8")


def test_even_filters_are_refused(getkey):
    with pytest.raises(ValueError, match="expected an odd kernel_size, got 4"):
        GroupConv(1, 1, 4, group="c4", dtype="float64", key=getkey())


@pytest.mark.parametrize("representation", TYPES)
@pytest.mark.parametrize("group", slow_but(("d4",), GROUPS))
def test_convolution_between_frames_is_equivariant(group, representation, getkey):
    field_type = FieldType(2, representation)
    p = TYPES[representation]
    layers = conv(group, p, 4, key=getkey()), conv(group, 4, p, 5, key=getkey())
    actions = group_actions(group, field_type, jnp.float64)

    @jax.jit
    def apply(y):
        hidden = jax.nn.relu(layers[0](to_frames(actions, y)))
        return from_frames(actions, layers[1](hidden))

    y = jr.normal(getkey(), (p, SIZE, SIZE))
    expected = apply(y)
    assert float(jnp.std(expected)) > 1e-3
    for matrix, action in zip(group_matrices(group), actions, strict=True):
        rotated = jnp.einsum("ab,bij->aij", action, moved(y, matrix))
        values = jnp.einsum("ab,bij->aij", action, moved(expected, matrix))
        np.testing.assert_allclose(apply(rotated), values, atol=1e-12)


def test_rotations_alone_do_not_reflect(getkey):
    """Of c4 filters a reflection is another filter: there is something that d4 adds."""
    layer = conv("c4", 1, 1, key=getkey())
    actions = group_actions("c4", FieldType(2, "scalar"), jnp.float64)
    y = jr.normal(getkey(), (1, SIZE, SIZE))

    def apply(y):
        return from_frames(actions, jax.nn.relu(layer(to_frames(actions, y))))

    flip = np.diag([1, -1])
    assert float(jnp.max(jnp.abs(apply(moved(y, flip)) - moved(apply(y), flip)))) > 1e-2


@pytest.mark.parametrize("group", GROUPS)
def test_convolution_commutes_with_shifts_inside_the_grid(group, getkey):
    layer = conv(group, key=getkey())
    order = len(group_matrices(group))
    f = (
        jnp.zeros((2, order, SIZE, SIZE))
        .at[..., 2:4, 2:4]
        .set(jr.normal(getkey(), (2, order, 2, 2)))
    )
    shifted = layer(jnp.roll(f, (1, 2), axis=(2, 3)))
    np.testing.assert_allclose(shifted, jnp.roll(layer(f), (1, 2), axis=(2, 3)), atol=1e-12)


def test_frames_are_undone(getkey):
    actions = group_actions("d4", FieldType(2, "vector"), jnp.float64)
    y = jr.normal(getkey(), (2, 3, 3))
    np.testing.assert_allclose(from_frames(actions, to_frames(actions, y)), y, atol=1e-12)


def test_every_weight_matters_once(getkey):
    """The filter of the identity is the weights themselves; others are rearrangements of it."""
    layer = conv("d4", key=getkey())
    blocks = layer.kernel().reshape(3, 8, 2, 8, 3, 3)
    np.testing.assert_array_equal(blocks[:, 0].reshape(3, 2, 8, 9), layer.weight)
    for g in range(8):
        np.testing.assert_allclose(
            jnp.sort(blocks[:, g].reshape(3, 2, -1)), jnp.sort(layer.weight.reshape(3, 2, -1))
        )
