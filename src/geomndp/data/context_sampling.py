"""The context of a function: how many points, which ones, and how noisy they are."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr

from geomndp import _validation
from geomndp._deprecated import renamed_arguments
from geomndp._types import Array, Bool, Float, Int, Mask, PRNGKeyArray, Scalar
from geomndp.noising import AbstractSchedule


class ContextSampler(eqx.Module):
    """How many points of each training function are context points.

    A conditional function with n points has at most n - 1 context points: one target at least
    remains.

    Attributes:
        share: Share of the functions of a batch, evenly spread over it, that have a context.
        few: Most context points of a function with a small context.
        few_share: Share of the conditional functions with a small context, U{0..min(few, n - 1)}
            points, as in the tests; the rest has U{0..n - 1}.
    """

    share: float = eqx.field(default=0.5, static=True)
    few: int = eqx.field(default=10, static=True)
    few_share: float = eqx.field(default=0.5, static=True)

    def __check_init__(self):
        _validation.at_least(0, few=self.few)
        _validation.share(share=self.share, few_share=self.few_share)

    def conditional(self, num: int) -> Bool[Array, " num"]:
        """Which functions of a batch have a context.

        Args:
            num: Functions of the batch.

        Returns:
            True for conditional functions, shape (num,).
        """
        index = jnp.arange(num, dtype=jnp.float32)
        return jnp.floor((index + 1) * self.share) > jnp.floor(index * self.share)

    def counts(self, points: Int[Array, " b"], *, key: PRNGKeyArray) -> Int[Array, " b"]:
        """Draw numbers of context points.

        Args:
            points: Number of points of every function, shape (b,).
            key: Random key.

        Returns:
            Number of context points of every function, shape (b,).
        """
        number_key, few_key = jr.split(key)
        few = jr.bernoulli(few_key, self.few_share, points.shape)
        most = jnp.where(few, jnp.minimum(self.few, points - 1), points - 1)
        drawn = jr.randint(number_key, points.shape, 0, most + 1, jnp.int32)
        return jnp.where(self.conditional(len(points)), drawn, 0)


def random_counts(
    most: Int[Array, " b"], log_share: float, *, key: PRNGKeyArray
) -> Int[Array, " b"]:
    r"""Draw numbers of points: uniform on 1..n, and log-uniform in some of the batches.

    Log-uniform numbers, $P(N \leq k) = \log(k + 1) / \log(n + 1)$, have as many functions of one
    point as of thirty to sixty: uniform ones hardly show a network the law of a few values.

    Args:
        most: Largest number n of every function, shape (b,).
        log_share: Share of the batches with log-uniform numbers.
        key: Random key.

    Returns:
        Numbers, shape (b,).
    """
    uniform = jr.randint(key, most.shape, 1, most + 1, jnp.int32)
    if not log_share:
        return uniform
    share_key, number_key = jr.split(jr.fold_in(key, 1))
    exponents = jr.uniform(number_key, most.shape, jnp.float32) * jnp.log1p(
        most.astype(jnp.float32)
    )
    few = jnp.clip(jnp.exp(exponents).astype(jnp.int32), 1, most)
    return jnp.where(jr.bernoulli(share_key, log_share), few, uniform)


def leading_mask(counts: Int[Array, " b"], size: int, dtype) -> Float[Array, "b n"]:
    """Mask of the first points of each function.

    Args:
        counts: How many points, shape (b,).
        size: Points of a row.
        dtype: Type of the mask.

    Returns:
        1 for the first `counts` points of each function, 0 after; shape (b, size).
    """
    return (jnp.arange(size, dtype=counts.dtype)[None, :] < counts[:, None]).astype(dtype)


def context_mask(
    points: Int[Array, " b"],
    size: int,
    contexts: ContextSampler | None,
    dtype,
    *,
    key: PRNGKeyArray,
) -> tuple[Float[Array, "b n"], Float[Array, "b n"]]:
    """Masks of real points and of context points, which are the first ones.

    Args:
        points: Number of points of every function, shape (b,); they must be in random order.
        size: Points of a row.
        contexts: How many are context points; None for none.
        dtype: Type of the masks.
        key: Random key.

    Returns:
        Mask of the real points and mask of the context points, both (b, size).
    """
    mask = leading_mask(points, size, dtype)
    if contexts is None:
        return mask, jnp.zeros_like(mask)
    return mask, leading_mask(contexts.counts(points, key=key), size, dtype)


def random_mask(
    counts: Int[Array, " b"], size: int, dtype, *, key: PRNGKeyArray, mask: Mask | None = None
) -> Float[Array, "b n"]:
    """Mask of random points of each function.

    Args:
        counts: How many points, shape (b,).
        size: Points of a row.
        dtype: Type of the masks.
        key: Random key.
        mask: Points to choose from, shape (size,); by default all.

    Returns:
        1 for `counts` points of each function, chosen uniformly; shape (b, size).
    """
    ranks = jr.uniform(key, (len(counts), size), jnp.float32)
    ranks = ranks if mask is None else jnp.where(mask[None] > 0, ranks, 1.0)
    order = jnp.argsort(jnp.argsort(ranks, axis=1), axis=1)
    return (order.astype(counts.dtype) < counts[:, None]).astype(dtype)


@renamed_arguments(zero="clean_share", shared="common_share")
class ContextNoiseLevels(eqx.Module):
    r"""Times of context points: those of noisy observations.

    A share of the functions has a clean context, all at time zero. In the others the ratio of noise
    to limiting variance, $\sigma^2 / a^2 = e^{B(t)} - 1$, is log-uniform between `low` and `high`.

    Attributes:
        clean_share: Share of the functions whose context is clean.
        common_share: Share of the other functions with one level for the whole context; the rest
            has one per point.
        low: Smallest ratio of noise variance to limiting variance.
        high: Largest such ratio. By default that at time 1, the largest that amortised conditioning
            accepts: at a level that was never drawn, a trained network answers at random.
    """

    clean_share: float = eqx.field(default=0.5, static=True)
    common_share: float = eqx.field(default=0.5, static=True)
    low: float = eqx.field(default=1e-7, static=True)
    high: float | None = eqx.field(default=None, static=True)

    def __check_init__(self):
        _validation.positive(low=self.low)
        if self.high is not None:
            _validation.positive(high=self.high)
        _validation.share(clean_share=self.clean_share, common_share=self.common_share)
        if self.high is not None and self.low > self.high:
            raise ValueError(f"expected low <= high, got {self.low} and {self.high}")

    def highest(self, schedule: AbstractSchedule, dtype=None) -> Scalar:
        """Largest ratio of noise variance to limiting variance.

        Args:
            schedule: Schedule of the noising process.
            dtype: Floating-point type, by default JAX's own.

        Returns:
            The ratio, a scalar.
        """
        if self.high is None:
            return jnp.expm1(schedule.integral(jnp.ones((), dtype)))
        return jnp.asarray(self.high, dtype)

    def __call__(
        self, schedule: AbstractSchedule, shape: tuple[int, ...], dtype, *, key: PRNGKeyArray
    ) -> Float[Array, "b n *g"]:
        """Draw diffusion times of context points.

        Args:
            schedule: Schedule of the noising process.
            shape: Functions and points, (b, n), or with groups of outputs (b, n, g).
            dtype: Floating-point type.
            key: Random key.

        Returns:
            Times of all points, of that shape.
        """
        choice_key, common_key, point_key = jr.split(key, 3)
        functions = (shape[0], *(1,) * (len(shape) - 1))
        choice = jr.uniform(choice_key, functions, dtype)
        per_point = jr.uniform(point_key, shape, dtype)
        common = jr.uniform(common_key, functions, dtype)
        is_common = choice < self.clean_share + (1 - self.clean_share) * self.common_share
        u = jnp.where(is_common, jnp.broadcast_to(common, shape), per_point)
        ratio = self.low * (self.highest(schedule, dtype) / self.low) ** u
        return jnp.where(choice < self.clean_share, 0.0, schedule.inverse(jnp.log1p(ratio)))
