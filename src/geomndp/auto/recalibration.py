r"""Recalibration of Gaussian laws by a random scale per function, chosen by held-out likelihood.

A random factor of all variances is a mixture of laws, a Student-t law in the limit: its weights
follow the context. The scale is cross-fitted: what is reported of a function, log-density and
coverage, is under a scale that was chosen on other functions.
"""

from __future__ import annotations

from collections.abc import Sequence
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
NOISES = (0.0, 1.0, 3.0)
"""Further noise that is tried, in units of the variance of a law's own."""
NUM_PARTS = 5
"""Parts of the held-out functions, or groups of them; the scale of one is chosen on the others."""


class Component(NamedTuple):
    """One law of a mixture.

    Attributes:
        log_weight: Logarithm of its weight.
        factor: Factor of all variances.
        noise: Further noise before that, in units of the variance of the law's own.
    """

    log_weight: float
    factor: float = 1.0
    noise: float = 0.0


class FreeScale(NamedTuple):
    """A random factor and random noise of any law, by its components."""

    parts: tuple[Component, ...]

    def components(self) -> tuple[Component, ...]:
        """The components."""
        return self.parts

    def __str__(self) -> str:
        weights = np.exp([part.log_weight for part in self.parts])
        factor = float(weights @ [part.factor for part in self.parts])
        noisy = float(weights @ [part.noise > 0 for part in self.parts])
        return f"variances x {factor:.2g} on average in {len(self.parts)} parts" + (
            f", more noise for {noisy:.0%}" if noisy else ""
        )


class RandomScale(NamedTuple):
    """Factor of all variances, times a random one.

    Attributes:
        factor: Mean factor.
        dof: Degrees of freedom; None for a fixed factor.
    """

    factor: float = 1.0
    dof: float | None = None

    def components(self) -> tuple[Component, ...]:
        """The components, without further noise."""
        if self.dof is None:
            return (Component(0.0, self.factor),)
        found = []
        for weight, law in scale_mixture(GP(White()), self.dof):
            assert isinstance(law.kernel, Scaled)
            found.append(Component(float(np.log(weight)), self.factor * law.kernel.factor))
        return tuple(found)

    def __str__(self) -> str:
        random = "" if self.dof is None else f", random scale of {self.dof:g} degrees of freedom"
        return f"variances x {self.factor:g}{random}"


GAUSSIAN = RandomScale()
"""The law as it is."""


def mixed(law: GaussianMeasure, scale: RandomScale) -> HeldOut:
    """Log-densities of `mixed_components` under a random scale without further noise."""
    return mixed_components([law], scale)


def mixed_components(laws: Sequence[GaussianMeasure], scale: RandomScale | FreeScale) -> HeldOut:
    """Log-densities under a mixture, whose weights follow the context.

    Args:
        laws: A Gaussian law on tasks, with every amount of further noise, in order of the amounts.
        scale: The components.

    Returns:
        Log-densities; -inf where the context has none.
    """
    weights, parts = _parts(laws, scale)
    held = [law.at(factor) for law, factor in parts]
    context = np.stack([one.context for one in held])
    joint = context + np.stack([one.targets for one in held])
    evidence = np.asarray(logsumexp(weights + context, axis=0))
    given = np.where(np.isfinite(evidence), evidence, np.inf)
    return HeldOut(np.asarray(logsumexp(weights + joint, axis=0)) - given, evidence)


def mixed_pit(law: GaussianMeasure, scale: RandomScale) -> np.ndarray:
    """Transforms of `mixed_components_pit` under a random scale without further noise."""
    return mixed_components_pit([law], scale)


def mixed_components_pit(
    laws: Sequence[GaussianMeasure], scale: RandomScale | FreeScale
) -> np.ndarray:
    """Transforms of the targets (tasks, values) under a mixture.

    Args:
        laws: A Gaussian law on tasks, with every amount of further noise, in order of the amounts.
        scale: The components.

    Returns:
        Values in [0, 1]; NaN for padding.
    """
    weights, parts = _parts(laws, scale)
    context = weights + np.stack([law.at(factor).context for law, factor in parts])
    finite = np.where(np.isfinite(context), context, -1e300)
    shares = np.exp(finite - logsumexp(finite, axis=0))
    pits = [law.pit(factor) for law, factor in parts]
    return np.einsum("kt,ktv->tv", shares, np.stack(pits))


def _parts(
    laws: Sequence[GaussianMeasure], scale: RandomScale | FreeScale
) -> tuple[np.ndarray, list[tuple[GaussianMeasure, float]]]:
    """Log-weights (components, 1), and the law with its noise and the factor of each."""
    components = scale.components()
    parts = [(laws[NOISES.index(one.noise)], one.factor) for one in components]
    return np.array([one.log_weight for one in components])[:, None], parts


class CalibratedLaw(NamedTuple):
    """A Gaussian law with the random scale that suits it, cross-fitted over functions.

    Attributes:
        scale: The scale chosen on all functions, of known form or free.
        held_out: Log-densities of every task, under the scale of the other functions.
        pit: Transforms of its targets likewise, shape (tasks, values); NaN for padding.
    """

    scale: RandomScale | FreeScale
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
    _, first, index = np.unique(tasks.function, return_index=True, return_inverse=True)
    part = tasks.parts(NUM_PARTS)[first]
    chosen = np.zeros(nats.shape[1], int)
    for number in np.unique(part):
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
