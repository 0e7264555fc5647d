"""Train a network score from start to end, and the optimiser by default."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from os import PathLike
from typing import Any

import optax

from geomndp import _validation
from geomndp._deprecated import renamed_arguments
from geomndp._training_log import History
from geomndp._types import PRNGKeyArray
from geomndp.data import AbstractGenerator
from geomndp.nets import AbstractNet, with_config
from geomndp.noising import AbstractNoising
from geomndp.score import NetworkScore
from geomndp.train.abstract_loss import AbstractLoss
from geomndp.train.loss import DenoisingLoss
from geomndp.train.whole_run import averaged, train_from_start

START_RATE, END_RATE, WARMUP, CLIP = 1e-4, 1e-5, 1 / 30, 1.0
"""Learning rates at the first and the last step, share of the warm-up, norm of the gradient."""


@functools.cache  # the same object for the same settings: steps compiled with it serve again
def adam(
    steps: int,
    *,
    peak: float = 1e-3,
    start: float = START_RATE,
    end: float = END_RATE,
    warmup: float = WARMUP,
    clip: float = CLIP,
    weight_decay: float = 0.0,
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
        weight_decay: Decay of all parameters per step, times the learning rate (AdamW, Loshchilov
            and Hutter 2019); zero for none. A corrected process shrinks back to the process.

    Returns:
        An optax optimiser, the same object for the same settings.

    Raises:
        ValueError: If a rate or the decay is negative, `peak` or `clip` is not positive, or not
            0 <= warmup < 1.

    Example:
        >>> optimiser = adam(10_000, peak=3e-3)
    """
    _validation.at_least(1, steps=steps)
    _validation.positive(peak=peak, clip=clip)
    _validation.not_negative(start=start, end=end, weight_decay=weight_decay)
    if not 0 <= warmup < 1:
        raise ValueError(f"expected 0 <= warmup < 1, got {warmup}")
    rate = optax.warmup_cosine_decay_schedule(start, peak, round(warmup * steps), steps, end)
    adam = optax.adamw(rate, weight_decay=weight_decay) if weight_decay else optax.adam(rate)
    return optax.chain(optax.clip_by_global_norm(clip), adam)


@renamed_arguments(eps="t_min", stream="generator", decay="ema_decay", also="model_settings")
def fit_score(
    score: NetworkScore,
    noising: AbstractNoising,
    generator: AbstractGenerator | Sequence[AbstractGenerator],
    *,
    steps: int,
    key: PRNGKeyArray,
    t_min: float | None = None,
    loss: AbstractLoss | None = None,
    optimiser: optax.GradientTransformation | None = None,
    ema_decay: float = 0.999,
    chunk: int | None = None,
    directory: str | PathLike[str] | None = None,
    checkpoint_every: int | None = 2000,
    keep: int = 3,
    devices=None,
    quiet: bool = False,
    model_settings: Any = None,
) -> tuple[NetworkScore, History]:
    """Train a network score by denoising score matching.

    With a `directory` the run writes `log.csv` and `checkpoints/` there, and re-running the call
    resumes bit-exactly from the last checkpoint.

    Args:
        score: Score with the initial parameters.
        noising: Forward process.
        generator: Source of training batches. Several are interleaved, `STEPS_PER_GENERATOR` steps
            each, in the order given; one that is listed twice has twice the share. A network on
            graphs gets the capacity for all neighbours of the locations of each.
        steps: Number of steps.
        key: Random key of all batches and of the noise.
        t_min: Smallest diffusion time, in place of the loss's own.
        loss: By default `DenoisingLoss()`.
        optimiser: By default `adam(steps)`.
        ema_decay: Decay of the exponential moving average of the parameters, which is returned.
        chunk: Steps per call of the compiled program; by default about 100 (on CPU 10).
        directory: Folder for log and checkpoints; by default nothing is written.
        checkpoint_every: Steps between checkpoints; None writes the log only.
        keep: Number of checkpoints to keep.
        devices: Devices over which the batch is spread, by default all of all processes.
        quiet: Whether to show no progress bar.
        model_settings: Further settings, of any type, that a resumed run must have in common.

    Returns:
        The score with averaged parameters, and the history of losses.

    Raises:
        TrainingDiverged: If a loss or gradient is not finite.
        CheckpointError: If the folder holds a run with other data, settings or initial parameters.
        FolderInUse: If another process trains in the folder.

    Example:
        >>> generator = data.regression1d("paper", "se").generator()
        >>> trained, history = fit_score(score, noising, generator, steps=1000, key=jr.key(0))
    """
    _validation.at_least(1, steps=steps)
    loss = DenoisingLoss() if loss is None else loss
    loss = loss if t_min is None else dataclasses.replace(loss, t_min=t_min)
    optimiser = adam(steps) if optimiser is None else optimiser
    options = {"ema_decay": ema_decay, "chunk": chunk, "devices": devices, "quiet": quiet}
    options |= {"directory": directory, "checkpoint_every": checkpoint_every, "keep": keep}
    options |= {"steps": steps, "key": key, "model_settings": model_settings}
    parts = score, noising, as_generators(generator), loss, optimiser
    trainers, state, history = train_from_start(*parts, **options)
    score = _in_own_size(averaged(trainers, state), score)
    conditional = all(trainer.generator.conditional for trainer in trainers)
    return dataclasses.replace(score, conditional=conditional), history


def _in_own_size(trained: NetworkScore, score: NetworkScore) -> NetworkScore:
    """The trained score without the room for neighbours that the training points needed."""
    net, untrained = trained.net, score.net
    if not isinstance(net, AbstractNet) or not isinstance(untrained, AbstractNet):
        return trained
    if net.config == untrained.config:
        return trained
    return dataclasses.replace(trained, net=with_config(net, **untrained.config.to_dict()))


def as_generators(
    generator: AbstractGenerator | Sequence[AbstractGenerator],
) -> tuple[AbstractGenerator, ...]:
    """One generator or several, as a tuple.

    Args:
        generator: A generator, or a sequence of them.

    Returns:
        All of them.

    Raises:
        ValueError: If it is none, or something else.
    """
    generators = tuple(generator) if isinstance(generator, Sequence) else (generator,)
    if not generators or not all(isinstance(one, AbstractGenerator) for one in generators):
        got = _validation.brief(generator)
        raise ValueError(f"expected a generator of functions, or several of them, got {got}")
    return generators
