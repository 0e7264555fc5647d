"""Convolution of every channel with a kernel of its own, by the fast Fourier transform.

Its cost does not depend on the size of the kernel, here up to 129 cells, and its derivatives are
Fourier transforms again; grouped convolutions are slow to differentiate on most devices.
"""

from __future__ import annotations

from typing import cast

import jax
import jax.numpy as jnp
from scipy.fft import next_fast_len

from geomndp._types import Array, Float


def depthwise_convolution(
    h: Float[Array, "k ..."], kernel: Float[Array, "k ..."]
) -> Float[Array, "k ..."]:
    r"""Convolve, $\sum_j w_k(j) h_k(i + r - j)$ with r = (s - 1) / 2 and zeros beyond the edges.

    Args:
        h: Channels on a grid, shape (k, m, ..., m), of any float dtype.
        kernel: Odd kernels, shape (k, s, ..., s).

    Returns:
        Shape and dtype of h, computed in the dtype of the kernel.
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
