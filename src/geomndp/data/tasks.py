"""Fixed test functions with contexts and targets: the same for every model."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import jax.random as jr

from geomndp import _validation
from geomndp._types import Batch
from geomndp.data.context_sampling import leading_mask
from geomndp.data.synthetic import SyntheticProcess


def tasks(
    process: SyntheticProcess,
    *,
    num: int,
    seed: int = 0,
    low: float = -2.0,
    high: float = 2.0,
    contexts: tuple[int, int] = (1, 10),
    targets: int = 50,
    target_range: tuple[float, float] | None = None,
    dtype=None,
) -> Batch:
    """Test functions with a random number of context points and fixed targets.

    Everything is drawn in float32 and cast, so that both precisions see the same functions.

    Args:
        process: Law of the functions.
        num: Number of functions.
        seed: Seed of inputs, functions and contexts.
        low: Left end of the inputs, which are uniform.
        high: Their right end.
        contexts: Fewest and most context points, uniform between them.
        targets: Number of targets.
        target_range: Ends of the inputs of targets; by default those of all inputs.
        dtype: Floating-point type, by default JAX's own.

    Returns:
        Functions with contexts[1] + targets rows: the context and its padding, then the targets.

    Raises:
        ValueError: If a count is too small, or not low < high.
    """
    fewest, most = contexts
    _validation.at_least(1, num=num, targets=targets)
    _validation.at_least(0, contexts=fewest)
    _validation.at_least(fewest, contexts=most)
    for start, end in ((low, high), target_range or (low, high)):
        if not start < end:
            raise ValueError(f"expected low < high, got {start} and {end}")
    x_key, y_key, context_key = jr.split(jr.key(seed), 3)
    x = jr.uniform(x_key, (num, most + targets, 1), jnp.float32, low, high)
    if target_range is not None:
        shares = (x[:, most:] - low) / (high - low)
        ends = target_range[0] + (target_range[1] - target_range[0]) * shares
        x = jnp.concatenate([x[:, :most], ends], axis=1)
    y = jax.jit(_sample)(process, x, jr.split(y_key, num))
    counts = jr.randint(context_key, (num,), fewest, most + 1, jnp.int32)
    context = leading_mask(counts, most, jnp.float32)
    mask = jnp.concatenate([context, jnp.ones((num, targets), jnp.float32)], axis=1)
    context = jnp.concatenate([context, jnp.zeros((num, targets), jnp.float32)], axis=1)
    dtype = jnp.dtype(dtype or jnp.result_type(float))
    return Batch(*(values.astype(dtype) for values in (x, y, mask, context)))


def _sample(process, x, keys):
    return jax.vmap(lambda x, key: process.sample(x, key=key))(x, keys)
