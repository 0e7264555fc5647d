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
    """Adam with linear warm-up, cosine decay and clipped gradients.

    The defaults are the paper's: 10 epochs of 300 to 1e-3, a cosine to 1e-5, global norm at most 1.

    Args:
        steps: Number of training steps.
        peak: Highest learning rate.
        start: Learning rate at the first step.
        end: Learning rate at the last step.
        warmup: Share of the steps in which the rate rises from `start` to `peak`.
        clip: Largest norm of the gradient.

    Returns:
        An optax optimiser, the same object for the same settings.

    Raises:
        ValueError: If a rate is negative, `peak` or `clip` is not positive, or not 0 <= warmup < 1.

    Example:
        >>> optimiser = adam(10_000, peak=3e-3)
    """
    _validation.at_least(1, steps=steps)
    _validation.positive(peak=peak, clip=clip)
    _validation.not_negative(start=start, end=end)
    if not 0 <= warmup < 1:
        raise ValueError(f"expected 0 <= warmup < 1, got {warmup}")
    rate = optax.warmup_cosine_decay_schedule(start, peak, round(warmup * steps), steps, end)
    return optax.chain(optax.clip_by_global_norm(clip), optax.adam(rate))
