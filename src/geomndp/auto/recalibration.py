r"""Recalibration of Gaussian laws by a random scale per function, chosen by held-out likelihood.

A law with all covariances multiplied by c has $\log p_c = \log p_1 - \frac n2 \log c - \frac q2
(\frac 1c - 1)$ with q the quadratic form of n values: two factors give all others. A random c is a
mixture of such laws, a Student-t law in the limit: its weights follow the context.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from geomndp.auto.held_out import HeldOut
from geomndp.auto.validation import ValidationTasks
from geomndp.baselines import scale_mixture
from geomndp.gp import GP
from geomndp.kernels import Scaled, White

FACTORS = (0.64, 0.8, 1.0, 1.25, 1.6, 2.0)
"""Factors of the variances that are tried."""
DEGREES = (None, 60.0, 30.0, 15.0, 8.0, 5.0)
"""Degrees of freedom of the random scale that are tried; None for a fixed one."""
PROBE = 2.0
"""Second factor at which a law is measured."""
MIN_GAIN = 0.003
"""Nats per target value that a recalibration must bring."""


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


class ScaledLaw(NamedTuple):
    """Log-densities of tasks under a Gaussian law with any factor of its variances.

    Attributes:
        plain: Those of the law itself.
        probe: Those with variances multiplied by `PROBE`.
        num_targets: Target values of every task.
        num_context: Context values of every task.
    """

    plain: HeldOut
    probe: HeldOut
    num_targets: np.ndarray
    num_context: np.ndarray

    @classmethod
    def of(cls, plain: HeldOut, probe: HeldOut, tasks: ValidationTasks) -> ScaledLaw:
        """From two measurements of the same tasks."""
        num_context = tasks.context.sum(axis=1) * tasks.y.shape[2]
        return cls(plain, probe, tasks.num_values(), num_context)

    def at(self, factor: float) -> HeldOut:
        """With variances multiplied by a factor."""
        counts = (self.num_targets, self.num_context)
        values = []
        for one, two, n in zip(self.plain, self.probe, counts, strict=True):
            there = np.isfinite(one) & np.isfinite(two)
            one, two = np.where(there, one, 0.0), np.where(there, two, 0.0)
            square = (two - one + 0.5 * n * np.log(PROBE)) * 2 / (1 - 1 / PROBE)
            value = one - 0.5 * n * np.log(factor) - 0.5 * square * (1 / factor - 1)
            values.append(np.where(there, value, -np.inf))
        return HeldOut(*values)

    def mixed(self, scale: RandomScale) -> HeldOut:
        """Under a random scale, whose weights follow the context."""
        log_weights, laws = [], []
        for log_weight, factor in scale.components():
            log_weights.append(log_weight)
            laws.append(self.at(factor))
        weights = np.asarray(log_weights)[:, None]
        context = np.stack([law.context for law in laws])
        joint = context + np.stack([law.targets for law in laws])
        evidence = np.asarray(logsumexp(weights + context, axis=0))
        given = np.where(np.isfinite(evidence), evidence, np.inf)
        return HeldOut(np.asarray(logsumexp(weights + joint, axis=0)) - given, evidence)


def best_scale(law: ScaledLaw, tasks: ValidationTasks) -> RandomScale:
    """The random scale with the largest held-out log-density; none unless it brings more.

    Args:
        law: Log-densities of the tasks.
        tasks: The tasks.

    Returns:
        The scale.
    """

    def nats(scale: RandomScale) -> float:
        return float(tasks.by_function(law.mixed(scale).per_value(tasks)).mean())

    plain = RandomScale()
    scales = [RandomScale(factor, dof) for factor in FACTORS for dof in DEGREES]
    best = max(scales, key=nats)
    return best if nats(best) > nats(plain) + MIN_GAIN else plain
