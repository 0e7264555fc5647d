"""A fitted simple model in the units of a normaliser, with other scales and more noise."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from geomndp.auto.gaussian_measure import GaussianMeasure, measure
from geomndp.auto.validation import ValidationTasks
from geomndp.baselines import GaussianFit
from geomndp.data import Normaliser
from geomndp.gp import GP
from geomndp.kernels import Scaled, ShrunkCovariance


class GaussianCandidate(NamedTuple):
    """A fitted simple model in the units of a normaliser.

    Attributes:
        fit: The fit.
        units: Units of its values.
    """

    fit: GaussianFit
    units: Normaliser

    def law(self, factor: float = 1.0, noise: float = 0.0) -> GP:
        """The law in the model's units.

        Args:
            factor: Factor of all variances.
            noise: Further noise before that, in units of the variance of its own.

        Returns:
            The process.
        """
        assert self.fit.process is not None
        return scaled(noisier(self.fit.process, noise), factor)

    @property
    def noisy(self) -> bool:
        """Whether it has noise to multiply."""
        return self.fit.process is not None and bool(np.any(_own_noise(self.fit.process) > 0))

    def measure(self, tasks: ValidationTasks, noise: float = 0.0) -> GaussianMeasure:
        """What it says of tasks in the data's units, with further noise if wanted."""
        return measure(self.law(noise=noise), self.units, tasks)


def scaled(process: GP, factor: float) -> GP:
    """The process with all its covariances multiplied by a factor.

    Args:
        process: A Gaussian process.
        factor: The factor, positive.

    Returns:
        The process.
    """
    if factor == 1.0:
        return process
    noise = factor * np.atleast_1d(np.asarray(process.noise, np.float64))
    return _with_noise(GP(Scaled(factor, process.kernel), process.mean), noise)


def noisier(process: GP, noise: float) -> GP:
    """The process with further noise of its outputs.

    Args:
        process: A Gaussian process.
        noise: Variance of the further noise, in units of that of its own; of a shrunk covariance,
            whose sample part holds noise as well, of that of the process it is shrunk towards.

    Returns:
        The process.
    """
    if noise == 0.0:
        return process
    own = np.atleast_1d(np.asarray(process.noise, np.float64))
    return _with_noise(process, own + noise * _own_noise(process))


def _own_noise(process: GP) -> np.ndarray:
    """Variances of the noise of values, one or one per output."""
    kernel = process.kernel
    noise = kernel.noise if isinstance(kernel, ShrunkCovariance) else process.noise
    return np.atleast_1d(np.asarray(noise, np.float64))


def _with_noise(process: GP, noise: np.ndarray) -> GP:
    variances: list[float] = noise.tolist()
    constant = variances[0] if len(variances) == 1 else tuple(variances)
    return GP(process.kernel, process.mean, constant)
