"""The optimiser of the 1D experiments: Adam, warm-up, cosine decay, clipped gradients."""

from __future__ import annotations

import functools

import optax

from geomndp import _validation


@functools.cache  # the same object for the same settings: steps compiled with it serve again
def adam(
    steps: int,
    *,
    peak: float = 1e-3,
    start: float = 1e-4,
    end: float = 1e-5,
    warmup: float = 1 / 30,
    clip: float = 1.0,
) -> optax.GradientTransformation:
    """Adam whose rate rises from `start` to `peak` in a share `warmup` of the steps, then falls.

    The default is the paper's: 10 epochs of 300 to 1e-3, a cosine to 1e-5, global norm at most 1.
    """
    _validation.at_least(1, steps=steps)
    _validation.positive(peak=peak, clip=clip)
    _validation.not_negative(start=start, end=end)
    if not 0 <= warmup < 1:
        raise ValueError(f"expected 0 <= warmup < 1, got {warmup}")
    rate = optax.warmup_cosine_decay_schedule(start, peak, round(warmup * steps), steps, end)
    return optax.chain(optax.clip_by_global_norm(clip), optax.adam(rate))
