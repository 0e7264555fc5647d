"""Neural processes whose laws are known: exact Gaussian processes behind the interface."""

from typing import Any, ClassVar

import jax.numpy as jnp

from geomndp.baselines.neural_processes.base import AbstractNeuralProcess
from geomndp.baselines.neural_processes.predictions import FactorisedGaussian, JointGaussian
from geomndp.gp import GP


class MarginalGP(AbstractNeuralProcess):
    """The exact marginals of a Gaussian process, a perfect factorised law."""

    gp: GP

    @property
    def input_dim(self) -> int:
        return 1

    @property
    def dim(self) -> int:
        return self.gp.dim

    @property
    def dtype(self) -> Any:
        return jnp.dtype("float64")

    def predict(self, xc, yc, context_mask, x, mask, *, key=None):
        law = self.gp.condition(xc, yc, mask=context_mask)
        return FactorisedGaussian(*law.mean_and_std(x))


class JointGP(MarginalGP):
    """The exact joint law of a Gaussian process."""

    joint: ClassVar[bool] = True

    def predict(self, xc, yc, context_mask, x, mask, *, key=None):
        return JointGaussian(*self.gp.condition(xc, yc, mask=context_mask).mean_and_covariance(x))
