"""On-the-fly generators of training batches: pure functions of a key that run on the device."""

import abc
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from jax.sharding import AxisType, Mesh

from geomndp import _validation
from geomndp._deprecated import renamed_arguments
from geomndp._types import Array, Batch, Float, Inputs, Int, Mask, PRNGKeyArray
from geomndp.data.context_sampling import (
    ContextSampler,
    context_mask,
    random_counts,
    random_mask,
)
from geomndp.data.synthetic import SyntheticProcess


@dataclass(frozen=True)
class Batching:
    """What the functions of a generator's batches have in common; a training step uses it.

    Attributes:
        common_inputs: All functions of a batch have the same inputs and the same mask: what a
            network computes from these alone is computed once.
        packed: Functions that fill one row of points together, 1 or 2. With 2, functions 2i and
            2i + 1 have as many points together as the largest function, plus one, and real points
            come first.
        padded: Masks may hold zeros. Unpadded functions with common inputs need no mask at all.
    """

    common_inputs: bool = False
    packed: int = 1
    padded: bool = True

    def __post_init__(self):
        _validation.one_of("packed", self.packed, (1, 2))
        if self.common_inputs and self.packed > 1:
            raise ValueError("expected functions with common inputs one per row, got packed ones")


SEPARATE = Batching()
"""Functions with nothing in common, one per row."""


def batch_mesh(batch_size: int, devices=None) -> Mesh:
    """Mesh with one axis over devices, along which a batch is spread.

    Args:
        batch_size: Functions per batch.
        devices: Devices, by default all of all processes.

    Returns:
        The mesh, its axis named "batch".

    Raises:
        ValueError: If the batch size is not divisible by the number of devices.
    """
    devices = jax.devices() if devices is None else list(devices)
    if batch_size % len(devices):
        raise ValueError(
            f"expected a batch size divisible by {len(devices)} devices, got {batch_size}"
        )
    return Mesh(np.array(devices), ("batch",), axis_types=(AxisType.Auto,))


class AbstractGenerator(eqx.Module):
    """Source of training batches: a pure function of a random key.

    Attributes:
        batch_size: Functions per batch.
        contexts: How many points of a function are context points; None for no contexts.

    Example:
        A generator of straight lines.

        >>> class Lines(AbstractGenerator):
        ...     batch_size: int = 8
        ...     contexts: ContextSampler | None = None
        ...
        ...     def draw(self, key):
        ...         x = jnp.broadcast_to(jnp.linspace(0.0, 1.0, 20)[None, :, None], (8, 20, 1))
        ...         ones = jnp.ones((8, 20))
        ...         return Batch(x, jr.normal(key, (8, 1, 1)) * x, ones, 0 * ones)
    """

    batch_size: eqx.AbstractVar[int]
    contexts: eqx.AbstractVar[ContextSampler | None]

    @property
    def conditional(self) -> bool:
        """Whether some functions have a context."""
        return self.contexts is not None and self.contexts.share > 0

    @property
    def batching(self) -> Batching:
        """What the functions of a batch have in common: by default nothing."""
        return SEPARATE

    @property
    def locations(self) -> Float[Array, "sets n d"] | None:
        """All sets of inputs that batches have; None where inputs are drawn anew."""
        return None

    @abc.abstractmethod
    def draw(self, key: PRNGKeyArray) -> Batch:
        """Make a batch: the same key gives the same functions.

        Args:
            key: Random key.

        Returns:
            Functions x (b, n, d) and y (b, n, p), mask of the real points (b, n) and mask of the
            context points (b, n).
        """


def common_inputs_batch(
    x: Inputs,
    y: Float[Array, "b n p"],
    mask: Mask,
    contexts: ContextSampler | None,
    mask_key: PRNGKeyArray,
    count_key: PRNGKeyArray,
) -> Batch:
    """Functions with common inputs and mask, the context a random part of their real points.

    Args:
        x: Common input locations, shape (n, d).
        y: Values of the functions, shape (b, n, p).
        mask: 1 for real points, shape (n,).
        contexts: How many of them are context points; None for none.
        mask_key: Random key of the context points.
        count_key: Random key of their numbers.

    Returns:
        The functions as a batch.
    """
    b, n = y.shape[:2]
    inputs, masks = (jnp.broadcast_to(v[None], (b, *v.shape)) for v in (x, mask))
    if contexts is None:
        return Batch(inputs, y, masks, jnp.zeros_like(masks))
    points = jnp.broadcast_to(jnp.sum(mask).astype(jnp.int32)[None], (b,))
    counts = contexts.counts(points, key=count_key)
    return Batch(inputs, y, masks, random_mask(counts, n, mask.dtype, key=mask_key, mask=mask))


@renamed_arguments(in_pairs="packed")
class ProcessGenerator(AbstractGenerator):
    """Fresh functions of a process on the line, at uniform inputs, 1 to `max_points` points each.

    The inputs are independent, so the first c points are as random a subset as any: they are the
    context.

    Attributes:
        process: Law of the functions.
        batch_size: Functions per batch.
        max_points: Most points of a function.
        low: Left end of the inputs.
        high: Right end of the inputs.
        contexts: How many points are context points; None for no contexts.
        dtype: Floating-point type, by default JAX's own.
        packed: Sizes of neighbours in the batch complement each other, so that a training step does
            no work on padding.
        log_share: Share of the batches in which numbers of points, of pairs the first ones, are
            log-uniform, so that a network also learns the law at few points.
        full: Every function has `max_points` points, for laws of targets that do not depend on
            which others there are.

    Example:
        >>> generator = regression1d("paper", "se").generator(batch_size=32)
        >>> generator.draw(jax.random.key(0)).x.shape
        (32, 60, 1)
    """

    process: SyntheticProcess
    batch_size: int = eqx.field(default=256, static=True)
    max_points: int = eqx.field(default=60, static=True)
    low: float = eqx.field(default=-2.0, static=True)
    high: float = eqx.field(default=2.0, static=True)
    contexts: ContextSampler | None = ContextSampler()
    dtype: str | None = eqx.field(default=None, static=True)
    packed: bool = eqx.field(default=False, static=True)
    log_share: float = eqx.field(default=0.0, static=True)
    full: bool = eqx.field(default=False, static=True)

    def __check_init__(self):
        _validation.at_least(1, batch_size=self.batch_size, max_points=self.max_points)
        _validation.share(log_share=self.log_share)
        if not self.low < self.high:
            raise ValueError(f"expected low < high, got {self.low} and {self.high}")
        if self.packed and self.batch_size % 2:
            raise ValueError(f"expected an even batch_size to pack, got {self.batch_size}")
        if self.full and (self.packed or self.log_share):
            raise ValueError("expected full functions neither packed nor with few points")

    @property
    def batching(self) -> Batching:
        return Batching(packed=2 if self.packed else 1)

    def draw(self, key):
        """Make a batch of fresh functions."""
        x_key, y_key, points_key, context_key = jr.split(key, 4)
        dtype = jnp.dtype(self.dtype or jnp.result_type(float))
        b, n = self.batch_size, self.max_points
        x = jr.uniform(x_key, (b, n, 1), dtype, self.low, self.high)
        law = self.process if self.process.gp is None else self.process.gp
        y = jax.vmap(lambda x, key: law.sample(x, key=key))(x, jr.split(y_key, b))
        points = self._points(points_key)
        mask, context = context_mask(points, n, self.contexts, dtype, key=context_key)
        return Batch(x, y, mask, context)

    def _points(self, key: PRNGKeyArray) -> Int[Array, " b"]:
        """Numbers of points, on 1..n; a pair has n + 1 together."""
        b, n = self.batch_size, self.max_points
        if self.full:
            return jnp.full((b,), n, jnp.int32)
        most = jnp.full((b // 2 if self.packed else b,), n, jnp.int32)
        first = random_counts(most, self.log_share, key=key)
        if not self.packed:
            return first
        return jnp.stack([first, n + 1 - first], axis=1).reshape(b)
