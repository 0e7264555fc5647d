"""Context points of one track: masks, the order of time, and few sizes."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from geomndp._arrays import bucket, put
from geomndp._types import Array, Float, Mask
from geomndp.geometry import Sphere

SPHERE = Sphere(2)
UnitVectors = Float[Array, "n 3"]
TimeColumn = Float[Array, "k 1"]
ContextPoints = Float[Array, "c 3"]
Targets = Float[Array, "k 3"]
LATE = 1e9
"""Days, later than any: masked rows stand behind all others in the order of time."""


class TrackContext(NamedTuple):
    """Context points of one track.

    Attributes:
        x: Times in days, shape (c, 1).
        y: Unit vectors, shape (c, 3).
        mask: 1 for real rows, 0 for padding, shape (c,); None where all are real.
    """

    x: Float[Array, "c 1"]
    y: Float[Array, "c 3"]
    mask: Float[Array, " c"] | None = None

    def times(self) -> Float[Array, " c"]:
        """Times in days; masked rows come last."""
        return ordered_times(self.x, self.mask)

    def num_real(self) -> Any:
        """Number of real rows."""
        return len(self.x) if self.mask is None else jnp.sum(self.mask > 0)


def ordered_times(x: Float[Array, "n 1"], mask: Mask | None) -> Float[Array, " n"]:
    """Times as a vector; masked rows come last."""
    return x[:, 0] if mask is None else jnp.where(mask > 0, x[:, 0], LATE)


def fill_masked(y: UnitVectors, mask: Mask | None) -> UnitVectors:
    """A point of the sphere in masked rows, whatever they hold."""
    if mask is None:
        return y
    return jnp.where(mask[:, None] > 0, y, jnp.eye(3, dtype=y.dtype)[:1])


def blank_context(context: TrackContext) -> TrackContext:
    """Put a point of the sphere into the masked rows of a context."""
    return context._replace(y=fill_masked(context.y, context.mask))


def pad_rows(rows: Any, more: int) -> np.ndarray:
    """Append rows of zeros, on the host: JAX would compile a program for every size."""
    return np.pad(np.asarray(rows), ((0, more), *((0, 0),) * (rows.ndim - 1)))


def pad_to_buckets(context: TrackContext, x: TimeColumn, mask: Mask | None = None):
    """Context, times and mask in one of few sizes; no context stays none."""
    x, mask = _padded(x, mask)
    if len(context.x) == 0:
        return context, x, mask
    times, context_mask = _padded(context.x, context.mask)
    y = put(pad_rows(context.y, len(times) - len(context.y)))
    return TrackContext(times, y, context_mask), x, mask


def _padded(x: Array, mask: Mask | None) -> tuple[Array, Mask]:
    more, dtype = bucket(len(x)) - len(x), np.asarray(x).dtype
    real = np.ones(len(x), dtype) if mask is None else np.asarray(mask, dtype)
    return put(pad_rows(x, more)), put(pad_rows(real, more))


def distinct_times(x: Float[Array, "n 1"], mask: Mask | None = None) -> np.ndarray:
    """Times in days of the real rows; repeated ones are refused."""
    times = np.asarray(x, dtype=float)[:, 0]
    times = times if mask is None else times[np.asarray(mask) > 0]
    if len(np.unique(times)) != len(times):
        raise ValueError("expected each time once, got a repeated one")
    return times


def shared_times(x: Float[Array, "b n 1"]) -> np.ndarray:
    """Times of tracks that were all taken at the same ones."""
    times = np.asarray(x, dtype=float)[..., 0]
    if not len(times) or np.abs(times - times[:1]).max() > 1e-6:
        raise ValueError("expected tracks that share their times, got different ones")
    return times[0]
