"""Convolution of every channel with a kernel of its own.

By the fast Fourier transform, whose cost hardly depends on the size of the kernel, here up to 129
cells. On a line and a GPU by products of tiles of the grid with banded matrices instead: these read
and write a third as much. Derivatives are of the same kind; grouped convolutions are slow to
differentiate on most devices.
"""

from __future__ import annotations

from typing import cast

import jax
import jax.numpy as jnp
from scipy.fft import next_fast_len

from geomndp._types import Array, Float

TILE = 64
"""Fewest cells of a tile."""


def depthwise_convolution(
    h: Float[Array, "k ..."], kernel: Float[Array, "k ..."]
) -> Float[Array, "k ..."]:
    r"""Convolve, $\sum_j w_k(j) h_k(i + r - j)$ with r = (s - 1) / 2 and zeros beyond the edges.

    Args:
        h: Channels on a grid, shape (k, m, ..., m), of any float dtype.
        kernel: Odd kernels, shape (k, s, ..., s).

    Returns:
        Shape and dtype of h; Fourier transforms are computed in the dtype of the kernel.
    """
    if h.ndim > 2:
        return by_transforms(h, kernel)
    return jax.lax.platform_dependent(h, kernel, cpu=by_transforms, default=by_tiles)


def by_tiles(h: Float[Array, "k m"], kernel: Float[Array, "k s"]) -> Float[Array, "k m"]:
    """Tiles of t cells, each with the s - 1 cells around it, times a matrix (t + s - 1, t).

    Args:
        h: Channels on a line, shape (k, m).
        kernel: Odd kernels, shape (k, s).

    Returns:
        Shape and dtype of h.
    """
    channels, cells = h.shape
    size = kernel.shape[1]
    tile = max(TILE, size - 1)
    count = -(-cells // tile)
    room = (count + 1) * tile - cells - size // 2
    padded = jnp.pad(h, ((0, 0), (size // 2, room))).reshape(channels, count + 1, tile)
    around = jnp.concatenate([padded[:, :-1], padded[:, 1:, : size - 1]], axis=2)
    out = jnp.einsum("kcj,ktj->kct", around, banded(kernel.astype(h.dtype), tile))
    return out.reshape(channels, count * tile)[:, :cells]


def banded(kernel: Float[Array, "k s"], rows: int) -> Float[Array, "k rows j"]:
    """Matrices that convolve: row t has the reversed kernel from column t on, else zeros.

    Args:
        kernel: Kernels, shape (k, s).
        rows: Number of rows.

    Returns:
        Shape (k, rows, rows + s - 1).
    """
    channels, size = kernel.shape
    # Rows that are one shorter than what is repeated begin one entry earlier in it.
    line = jnp.pad(kernel[:, ::-1], ((0, 0), (0, rows)))
    repeated = jnp.broadcast_to(line[:, None], (channels, rows, size + rows))
    width = size + rows - 1
    return repeated.reshape(channels, -1)[:, : rows * width].reshape(channels, rows, width)


def by_transforms(h: Float[Array, "k ..."], kernel: Float[Array, "k ..."]) -> Array:
    """Product of Fourier transforms, in the dtype of the kernel.

    Args:
        h: Channels on a grid, shape (k, m, ..., m).
        kernel: Odd kernels, shape (k, s, ..., s).

    Returns:
        Shape and dtype of h.
    """
    axes, sizes = tuple(range(1, h.ndim)), h.shape[1:]
    # What wraps around lands beyond the cells that are kept.
    lengths = [
        cast(int, next_fast_len(m + s // 2, real=True))
        for m, s in zip(sizes, kernel.shape[1:], strict=True)
    ]
    wide = jnp.fft.rfftn(h.astype(kernel.dtype), lengths, axes)
    out = jnp.fft.irfftn(wide * jnp.fft.rfftn(kernel, lengths, axes), lengths, axes)
    for axis, (m, s) in enumerate(zip(sizes, kernel.shape[1:], strict=True), start=1):
        out = jax.lax.slice_in_dim(out, s // 2, s // 2 + m, axis=axis)
    return out.astype(h.dtype)
