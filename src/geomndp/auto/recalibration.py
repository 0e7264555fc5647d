r"""Recalibration of Gaussian laws by a random scale per function, chosen by held-out likelihood.

A random factor of all variances is a mixture of laws, a Student-t law in the limit: its weights
follow the context. The scale is cross-fitted: what is reported of a function, log-density and
coverage, is under a scale that was chosen on other functions.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from geomndp.auto.gaussian_measure import GaussianMeasure
from geomndp.auto.held_out import HeldOut
from geomndp.auto.validation import ValidationTasks
from geomndp.baselines import scale_mixture
from geomndp.gp import GP
from geomndp.kernels import Scaled, White

FACTORS = (1.0, 1.25, 1.6, 2.0)
"""Factors of the variances that are tried: a law of few functions is too sure, if anything."""
DEGREES = (None, 60.0, 30.0, 15.0, 8.0, 5.0, 3.5)
"""Degrees of freedom of the random scale that are tried; None for a fixed one."""
MIN_GAIN = 0.001
"""Nats per target value that a recalibration must bring."""
NUM_PARTS = 5
"""Parts of the held-out functions; the scale of one is chosen on the others."""


class RandomScale(NamedTuple):
    """Factor of all variances, times a random one.

    Attributes:
        factor: Mean factor.
        dof: Degrees of freedom; None for a fixed factor.
    """

    factor: float = 1.0
    dof: float | None = None

    def components(self) -> tuple[tuple[float, float], ...]:
        """Log-weight and factor of every component."""
        if self.dof is None:
            return ((0.0, self.factor),)
        found = []
        for weight, law in scale_mixture(GP(White()), self.dof):
            assert isinstance(law.kernel, Scaled)
            found.append((float(np.log(weight)), self.factor * law.kernel.factor))
        return tuple(found)

    def __str__(self) -> str:
        random = "" if self.dof is None else f", random scale of {self.dof:g} degrees of freedom"
        return f"variances x {self.factor:g}{random}"


GAUSSIAN = RandomScale()
"""The law as it is."""


def mixed(law: GaussianMeasure, scale: RandomScale) -> HeldOut:
    """Log-densities under a random scale, whose weights follow the context.

    Args:
        law: A Gaussian law on tasks.
        scale: The scale.

    Returns:
        Log-densities; -inf where the context has none.
    """
    weights, laws = _components(law, scale)
    context = np.stack([held.context for held in laws])
    joint = context + np.stack([held.targets for held in laws])
    evidence = np.asarray(logsumexp(weights + context, axis=0))
    given = np.where(np.isfinite(evidence), evidence, np.inf)
    return HeldOut(np.asarray(logsumexp(weights + joint, axis=0)) - given, evidence)


def mixed_pit(law: GaussianMeasure, scale: RandomScale) -> np.ndarray:
    """Transforms of the targets (tasks, values) under a random scale.

    Args:
        law: A Gaussian law on tasks.
        scale: The scale.

    Returns:
        Values in [0, 1]; NaN for padding.
    """
    weights, laws = _components(law, scale)
    context = weights + np.stack([held.context for held in laws])
    finite = np.where(np.isfinite(context), context, -1e300)
    shares = np.exp(finite - logsumexp(finite, axis=0))
    pits = [law.pit(factor) for _, factor in scale.components()]
    return np.einsum("kt,ktv->tv", shares, np.stack(pits))


def _components(law: GaussianMeasure, scale: RandomScale) -> tuple[np.ndarray, list[HeldOut]]:
    log_weights, factors = zip(*scale.components(), strict=True)
    return np.asarray(log_weights)[:, None], [law.at(factor) for factor in factors]


class CalibratedLaw(NamedTuple):
    """A Gaussian law with the random scale that suits it, cross-fitted over functions.

    Attributes:
        scale: The scale chosen on all functions.
        held_out: Log-densities of every task, under the scale of the other functions.
        pit: Transforms of its targets likewise, shape (tasks, values); NaN for padding.
    """

    scale: RandomScale
    held_out: HeldOut
    pit: np.ndarray


def calibrate(
    law: GaussianMeasure, tasks: ValidationTasks, start: RandomScale = GAUSSIAN
) -> CalibratedLaw:
    """Choose a random scale by held-out log-density, and measure the law with it.

    Args:
        law: The law on all tasks.
        tasks: The tasks.
        start: The scale that stays unless another one brings more on other functions.

    Returns:
        The law with its scale.
    """
    scales = [RandomScale(factor, dof) for factor in FACTORS for dof in DEGREES]
    values = {scale: mixed(law, scale) for scale in dict.fromkeys([start, *scales])}
    nats = np.stack([tasks.by_function(held.per_value(tasks)) for held in values.values()])
    nats = np.where(np.isfinite(nats), nats, -1e10)
    index = np.unique(tasks.function, return_inverse=True)[1].reshape(-1)
    part = np.arange(nats.shape[1]) % NUM_PARTS
    chosen = np.zeros(nats.shape[1], int)
    for number in range(min(NUM_PARTS, nats.shape[1])):
        others = nats[:, part != number]
        if others.shape[1]:
            chosen[part == number] = int(np.argmax(others.mean(axis=1)))
    gain = np.mean(nats[chosen, np.arange(nats.shape[1])] - nats[0])
    if gain <= MIN_GAIN:
        chosen[:] = 0
        return CalibratedLaw(start, values[start], mixed_pit(law, start))
    best = list(values)[int(np.argmax(nats.mean(axis=1)))]
    return CalibratedLaw(best, *_by_function(law, list(values), chosen[index]))


def _by_function(
    law: GaussianMeasure, scales: list[RandomScale], chosen: np.ndarray
) -> tuple[HeldOut, np.ndarray]:
    """Log-densities and transforms of every task under a scale of its own."""
    targets, context = (np.empty(len(chosen)) for _ in range(2))
    pit = np.empty(law.residuals.shape)
    for number in np.unique(chosen):
        rows = np.flatnonzero(chosen == number)
        own = law.take(rows)
        targets[rows], context[rows] = mixed(own, scales[number])
        pit[rows] = mixed_pit(own, scales[number])
    return HeldOut(targets, context), pit
