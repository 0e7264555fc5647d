"""Endless batches of fresh functions, as pure functions of a key that run on the device."""

import abc

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr

from geomndp import _validation
from geomndp._types import Array, Batch, Bool, Float, Int, PRNGKeyArray
from geomndp.data.synthetic import SyntheticProcess


class ContextSampler(eqx.Module):
    """How many points of each function are observations.

    A `share` of the functions, evenly spread over the batch, is conditional; the others have no
    context. Of the conditional ones, with n points, half (`few_share`) have U{0..min(few, n - 1)}
    context points, as the tests do, the rest U{0..n-1}: one target at least remains.
    """

    share: float = eqx.field(default=0.5, static=True)
    few: int = eqx.field(default=10, static=True)
    few_share: float = eqx.field(default=0.5, static=True)

    def __check_init__(self):
        _validation.at_least(0, few=self.few)
        for name, value in (("share", self.share), ("few_share", self.few_share)):
            if not 0 <= value <= 1:
                raise ValueError(f"expected 0 <= {name} <= 1, got {value}")

    def conditional(self, num: int) -> Bool[Array, " num"]:
        """Which of so many functions have a context."""
        index = jnp.arange(num, dtype=jnp.float32)
        return jnp.floor((index + 1) * self.share) > jnp.floor(index * self.share)

    def counts(self, points: Int[Array, " b"], *, key: PRNGKeyArray) -> Int[Array, " b"]:
        """Numbers of context points for functions with these numbers of points."""
        number_key, few_key = jr.split(key)
        few = jr.bernoulli(few_key, self.few_share, points.shape)
        most = jnp.where(few, jnp.minimum(self.few, points - 1), points - 1)
        drawn = jr.randint(number_key, points.shape, 0, most + 1, jnp.int32)
        return jnp.where(self.conditional(len(points)), drawn, 0)


class AbstractGenerator(eqx.Module):
    """Source of training batches; `conditional` says whether they have contexts."""

    batch_size: eqx.AbstractVar[int]
    contexts: eqx.AbstractVar[ContextSampler | None]

    @property
    def conditional(self) -> bool:
        return self.contexts is not None and self.contexts.share > 0

    @property
    def paired(self) -> bool:
        """Whether functions 2i and 2i + 1 fill one row of points together.

        Their numbers of points then add up to the most plus one, and real points come first.
        """
        return False

    @property
    def shared(self) -> bool:
        """Whether all functions of a batch have the same inputs and the same mask."""
        return False

    @property
    def whole(self) -> bool:
        """Whether every function has all its points; with `shared` inputs networks get no mask."""
        return False

    @property
    def locations(self) -> Float[Array, "sets n d"] | None:
        """All sets of inputs that batches have; None where inputs are drawn anew."""
        return None

    @abc.abstractmethod
    def draw(self, key: PRNGKeyArray) -> Batch:
        """Make a batch: the same key gives the same functions."""


def leading_mask(counts: Int[Array, " b"], size: int, dtype) -> Float[Array, "b n"]:
    """1 for the first `counts` points of each function, 0 after."""
    return (jnp.arange(size, dtype=counts.dtype)[None, :] < counts[:, None]).astype(dtype)


def context_mask(
    points: Int[Array, " b"],
    size: int,
    contexts: ContextSampler | None,
    dtype,
    *,
    key: PRNGKeyArray,
) -> tuple[Float[Array, "b n"], Float[Array, "b n"]]:
    """Mask and context marks; the points of a function must be in random order."""
    mask = leading_mask(points, size, dtype)
    if contexts is None:
        return mask, jnp.zeros_like(mask)
    return mask, leading_mask(contexts.counts(points, key=key), size, dtype)


class ProcessGenerator(AbstractGenerator):
    """Fresh functions of a process at uniform inputs, 1 to `max_points` points each.

    The inputs are independent, so the first c points are as random a subset as any: they are the
    context. With `in_pairs` the sizes of neighbours in the batch complement each other, and a
    training step does no work on padding.
    """

    process: SyntheticProcess
    batch_size: int = eqx.field(default=256, static=True)
    max_points: int = eqx.field(default=60, static=True)
    low: float = eqx.field(default=-2.0, static=True)
    high: float = eqx.field(default=2.0, static=True)
    contexts: ContextSampler | None = ContextSampler()
    dtype: str | None = eqx.field(default=None, static=True)
    in_pairs: bool = eqx.field(default=False, static=True)

    def __check_init__(self):
        _validation.at_least(1, batch_size=self.batch_size, max_points=self.max_points)
        if not self.low < self.high:
            raise ValueError(f"expected low < high, got {self.low} and {self.high}")
        if self.in_pairs and self.batch_size % 2:
            raise ValueError(f"expected an even batch_size to pair, got {self.batch_size}")

    @property
    def paired(self) -> bool:
        return self.in_pairs

    def draw(self, key):
        """Make a batch of fresh functions."""
        x_key, y_key, points_key, context_key = jr.split(key, 4)
        dtype = jnp.dtype(self.dtype or jnp.result_type(float))
        b, n = self.batch_size, self.max_points
        x = jr.uniform(x_key, (b, n, 1), dtype, self.low, self.high)
        y = jax.vmap(lambda x, key: self.process.sample(x, key=key))(x, jr.split(y_key, b))
        points = self._points(points_key)
        mask, context = context_mask(points, n, self.contexts, dtype, key=context_key)
        return Batch(x, y, mask, context)

    def _points(self, key: PRNGKeyArray) -> Int[Array, " b"]:
        """Numbers of points, uniform on 1..n; a pair has n + 1 together."""
        b, n = self.batch_size, self.max_points
        if not self.in_pairs:
            return jr.randint(key, (b,), 1, n + 1, jnp.int32)
        first = jr.randint(key, (b // 2,), 1, n + 1, jnp.int32)
        return jnp.stack([first, n + 1 - first], axis=1).reshape(b)


class ResampledGenerator(AbstractGenerator):
    """Functions drawn at random from a finite data set, points in random order.

    `functions.context` is not read: `contexts` marks new ones in every batch. Of a share `thinned`
    of the functions only a random number of points is kept, so that a model also learns the law at
    few places; at most `most` (a random set) of any. A share `ahead` has as its context what comes
    first in the order of the first input: there the model learns to forecast.
    """

    functions: Batch
    batch_size: int = eqx.field(default=256, static=True)
    contexts: ContextSampler | None = ContextSampler()
    thinned: float = eqx.field(default=0.0, static=True)
    ahead: float = eqx.field(default=0.0, static=True)
    most: int | None = eqx.field(default=None, static=True)

    def __check_init__(self):
        _validation.at_least(1, batch_size=self.batch_size)
        if self.most is not None:
            _validation.at_least(1, most=self.most)
        for name, value in (("thinned", self.thinned), ("ahead", self.ahead)):
            if not 0 <= value <= 1:
                raise ValueError(f"expected 0 <= {name} <= 1, got {value}")
        if not len(self.functions.x):
            raise ValueError("expected at least one function, got none")

    def draw(self, key):
        """Make a batch of functions from the data set, with replacement."""
        row_key, order_key, context_key = jr.split(key, 3)
        rows = jr.randint(row_key, (self.batch_size,), 0, len(self.functions.x), jnp.int32)
        x, y, mask = (values[rows] for values in self.functions[:3])
        # Real points first, in random order; padding last.
        ranks = jr.uniform(order_key, mask.shape, mask.dtype) - mask
        order = jnp.argsort(ranks, axis=1)[:, : self.most]
        x, y = (jnp.take_along_axis(v, order[:, :, None], axis=1) for v in (x, y))
        mask = jnp.take_along_axis(mask, order, axis=1)
        points = jnp.sum(mask > 0, axis=1, dtype=jnp.int32)
        if self.thinned:
            points = self._thin(points, key=jr.fold_in(order_key, 1))
        mask, context = context_mask(
            points, mask.shape[1], self.contexts, mask.dtype, key=context_key
        )
        if self.ahead:
            x, y = self._in_order(x, y, mask, key=jr.fold_in(order_key, 2))
        return Batch(x, y, mask, context)

    def _thin(self, points: Int[Array, " b"], *, key: PRNGKeyArray) -> Int[Array, " b"]:
        """Keep U{1..n} points of some functions."""
        which_key, number_key = jr.split(key)
        fewer = jr.randint(number_key, points.shape, 1, points + 1, jnp.int32)
        return jnp.where(jr.bernoulli(which_key, self.thinned, points.shape), fewer, points)

    def _in_order(self, x, y, mask, *, key: PRNGKeyArray):
        """Sort the kept points of some functions by their first input."""
        sort = jr.bernoulli(key, self.ahead, (len(x), 1)) & (mask > 0)
        # Padding stays where it is, at the end.
        place = jnp.broadcast_to(jnp.arange(x.shape[1], dtype=x.dtype)[None], mask.shape)
        ranks = jnp.where(mask > 0, jnp.where(sort, x[:, :, 0], place), jnp.inf)
        order = jnp.argsort(ranks, axis=1)
        return tuple(jnp.take_along_axis(v, order[:, :, None], axis=1) for v in (x, y))
