r"""Group convolutions on square grids of the plane, for rotations by 90 degrees and reflections.

A *regular field* has one number per grid point x and element h of a group G of orthogonal matrices
that map the grid to itself: what a filter sees when it is rotated by h. An element g acts by
$(g f)(x, h) = f(g^{-1} x, g^{-1} h)$. Fields of other types become regular ones by their components
in all frames (`to_frames`), $f(x, h) = D(h)^{-1} y(x)$, and regular ones fields of that type by an
average (`from_frames`), $y(x) = |G|^{-1} \sum_h D(h) f(x, h)$: with these two every layer in
between is a convolution of regular fields (Cohen and Welling, 2016), and any non-linearity may act
on single numbers.
"""

from __future__ import annotations

import functools
import math

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from geomndp import _validation
from geomndp._types import Array, Float, PRNGKeyArray
from geomndp.equivariance import FieldType

GROUPS = ("c4", "d4")
"""Rotations by multiples of 90 degrees; the same and reflections."""


@functools.cache
def group_matrices(group: str) -> np.ndarray:
    """Orthogonal matrices of a group, the identity first.

    Args:
        group: "c4" or "d4".

    Returns:
        Whole numbers of shape (g, 2, 2), with g = 4 or 8.

    Raises:
        ValueError: If the group is none of `GROUPS`.
    """
    _validation.one_of("group", group, GROUPS)
    quarter, flip = np.array([[0, -1], [1, 0]]), np.diag([1, -1])
    rotations = [np.linalg.matrix_power(quarter, power) for power in range(4)]
    reflections = [rotation @ flip for rotation in rotations]
    return np.stack(rotations + (reflections if group == "d4" else []))


def group_actions(group: str, field_type: FieldType, dtype) -> Float[Array, "g p p"]:
    """Matrices D(g) by which values of a field transform, shape (g, p, p).

    Args:
        group: "c4" or "d4".
        field_type: What the p components are.
        dtype: Floating-point type of the matrices.
    """
    return jax.vmap(field_type.action)(jnp.asarray(group_matrices(group), dtype))


def to_frames(actions: Float[Array, "g p p"], y: Float[Array, "p m m"]) -> Float[Array, "p g m m"]:
    """Components of a field in all frames: p regular fields.

    Args:
        actions: Matrices D(g), shape (g, p, p).
        y: Values on the grid, shape (p, m, m).

    Returns:
        Values of $D(g)^{-1} y$, shape (p, g, m, m).
    """
    return jnp.einsum("gba,bij->agij", actions, y, precision="highest")


def from_frames(
    actions: Float[Array, "g p p"], f: Float[Array, "p g m m"]
) -> Float[Array, "p m m"]:
    """Mean over all frames of a field with the given components: the inverse of `to_frames`.

    Args:
        actions: Matrices D(g), shape (g, p, p).
        f: Regular fields, shape (p, g, m, m).

    Returns:
        Values of the mean of $D(g) f(g)$, shape (p, m, m).
    """
    return jnp.einsum("gab,bgij->aij", actions, f, precision="highest") / len(actions)


class GroupConv(eqx.Module):
    r"""Convolution of regular fields that commutes with the shifts of the grid and with a group.

    $$ f'_o(x, g) = b_o + \sum_{i, h, d} W_{o i}(g^{-1} h, g^{-1} d)\, f_i(x + d, h). $$

    Outside of the grid fields are zero.

    Args:
        num_inputs: Regular fields that enter.
        num_outputs: Regular fields that leave.
        kernel_size: Odd number k of grid points per side of a filter.
        group: "c4" or "d4".
        gain: Factor of weights that keep the variance of their input.
        dtype: Dtype of the parameters.
        key: Random key of the weights.
    """

    weight: Float[Array, "o i g kk"]
    bias: Float[Array, " o"]
    group: str = eqx.field(static=True)

    def __init__(
        self,
        num_inputs: int,
        num_outputs: int,
        kernel_size: int,
        *,
        group: str,
        gain: float = 1.0,
        dtype: str,
        key: PRNGKeyArray,
    ):
        if kernel_size % 2 != 1:
            raise ValueError(f"expected an odd kernel_size, got {kernel_size}")
        shape = (num_outputs, num_inputs, len(group_matrices(group)), kernel_size**2)
        self.weight = gain * math.prod(shape[1:]) ** -0.5 * jr.normal(key, shape, dtype)
        self.bias = jnp.zeros(num_outputs, dtype)
        self.group = group

    def __call__(self, f: Float[Array, "i g m m"]) -> Float[Array, "o g m m"]:
        """Convolve fields of one function.

        Args:
            f: Regular fields, shape (num_inputs, g, m, m).

        Returns:
            Regular fields, shape (num_outputs, g, m, m), in the dtype of f.
        """
        fields, order, *grid = f.shape
        kernel = self.kernel().astype(f.dtype)
        flat = f.reshape(1, fields * order, *grid)
        out = jax.lax.conv_general_dilated(flat, kernel, (1, 1), "SAME")
        return out.reshape(-1, order, *grid) + self.bias.astype(f.dtype)[:, None, None, None]

    def kernel(self) -> Float[Array, "og ih k k"]:
        """Filter of an ordinary convolution: that of the identity, rotated by all elements.

        Returns:
            Shape (num_outputs g, num_inputs g, k, k).
        """
        outputs, inputs, order, area = self.weight.shape
        size = round(area**0.5)
        elements, offsets = _rotated_indices(self.group, size)
        full = self.weight[:, :, elements[:, :, None], offsets[:, None, :]]
        full = jnp.moveaxis(full, 2, 1)
        return full.reshape(outputs * order, inputs * order, size, size)


@functools.cache
def _rotated_indices(group: str, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Indices of g^-1 h, shape (g, g), and of g^-1 d for all offsets d, shape (g, size^2)."""
    matrices = group_matrices(group)
    inverses = matrices.transpose(0, 2, 1)
    products = np.einsum("gab,hbc->ghac", inverses, matrices)
    same = np.all(products[:, :, None] == matrices[None, None], axis=(3, 4))
    steps = np.arange(size) - size // 2
    offsets = np.stack(np.meshgrid(steps, steps, indexing="ij")).reshape(2, -1)
    rotated = inverses @ offsets + size // 2
    return np.argmax(same, axis=2), rotated[:, 0] * size + rotated[:, 1]
