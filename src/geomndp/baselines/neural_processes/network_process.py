"""Neural processes with parameters of their own: configuration, files, how one is made for data."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar, Generic, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp

from geomndp import _validation
from geomndp._types import PRNGKeyArray
from geomndp.baselines.neural_processes.base import AbstractNeuralProcess
from geomndp.nets.base import Configured, NetConfig

Extent = tuple[tuple[float, float], ...]
"""Lowest and highest value of every input coordinate, in the model's units."""


@dataclasses.dataclass(frozen=True)
class NeuralProcessConfig(NetConfig):
    """Hyperparameters of a neural process.

    Args:
        input_dim: Number of input coordinates d.
        output_dim: Number of outputs p.
        min_std: Smallest standard deviation of a predicted value, in the model's units.
        dtype: Dtype of the parameters.
    """

    min_std: float = dataclasses.field(default=1e-3, kw_only=True)

    def __post_init__(self):
        super().__post_init__()
        _validation.positive(min_std=self.min_std)


ProcessConfig = TypeVar("ProcessConfig", bound=NeuralProcessConfig)


class AbstractNetworkProcess(
    AbstractNeuralProcess, Configured[ProcessConfig], Generic[ProcessConfig]
):
    """A neural process with parameters of its own, made from its configuration and a `key`.

    A subclass names its configuration and its tag in files,
    `class Mine(AbstractNetworkProcess[MyConfig], tag="process/mine")`, as a network does.
    """

    role: ClassVar[str] = "process"

    @classmethod
    def for_data(
        cls, input_dim: int, output_dim: int, extent: Extent, *, key: PRNGKeyArray, **options: Any
    ) -> Any:
        """A process for functions whose inputs lie in a box.

        Args:
            input_dim: Number of input coordinates d.
            output_dim: Number of outputs p.
            extent: Lowest and highest value of every input of a function, in the model's units.
            key: Random key of the parameters.
            **options: Further arguments of the configuration.

        Returns:
            The untrained process.
        """
        make: Any = cls
        return make(input_dim, output_dim, key=key, **options)

    def __repr__(self) -> str:
        options = ", ".join(f"{name}={value!r}" for name, value in self.config.to_dict().items())
        count = sum(leaf.size for leaf in jax.tree.leaves(eqx.filter(self, eqx.is_array)))
        kind = "joint" if self.joint else "factorised: samples are independent per target"
        return f"{type(self).__name__}({kind}; {count:,} parameters; {options})"

    @property
    def input_dim(self) -> int:
        return self.config.input_dim

    @property
    def dim(self) -> int:
        return self.config.output_dim

    @property
    def dtype(self) -> Any:
        return jnp.dtype(self.config.dtype)


__all__ = ["AbstractNetworkProcess", "Extent", "NeuralProcessConfig"]
