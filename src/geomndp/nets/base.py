"""What every network is: one function in, one array of outputs back."""

from __future__ import annotations

import abc
import dataclasses
import typing
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

import equinox as eqx
import jax.numpy as jnp

from geomndp import _deprecated, _registry, _validation
from geomndp._arrays import per_point
from geomndp._types import Array, Float, Inputs, Mask, Outputs, Times
from geomndp.linalg import zero_masked


def float_name(dtype: str | None) -> str:
    """Name of the parameters' dtype; None is JAX's default float."""
    name = jnp.dtype(jnp.result_type(float) if dtype is None else dtype).name
    _validation.one_of("dtype", name, ("float32", "float64"))
    return name


@dataclasses.dataclass(frozen=True)
class NetConfig:
    """Hyperparameters of a network: the arguments of its constructor, and what a file stores.

    A network's own are a subclass, decorated by `@dataclass(frozen=True, kw_only=True)`. Fields
    hold numbers, strings, None and tuples of these; lists, as JSON has them, become tuples.

    Args:
        input_dim: Number of input coordinates d.
        output_dim: Number of output components p.
        dtype: Dtype of the parameters, "float32" or "float64"; by default JAX's float.

    Raises:
        ValueError: If a hyperparameter is out of range.
    """

    input_dim: int
    output_dim: int
    dtype: str = dataclasses.field(default_factory=lambda: float_name(None), kw_only=True)

    def __post_init__(self):
        for name, value in self.to_dict().items():
            if isinstance(value, list):
                self._set(name, tuple(value))
        self._set("dtype", float_name(self.dtype))
        _validation.at_least(1, input_dim=self.input_dim, output_dim=self.output_dim)

    def _set(self, name: str, value: Any) -> None:
        """Set a field while the configuration is made."""
        object.__setattr__(self, name, value)

    def to_dict(self) -> dict[str, Any]:
        """All arguments by name, JSON-serialisable."""
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.init}

    def replace(self, **changes: Any) -> NetConfig:
        """The same configuration with other values of some arguments."""
        return type(self)(**{**self.to_dict(), **self.current_names(changes)})

    @classmethod
    def current_names(cls, options: dict[str, Any]) -> dict[str, Any]:
        """Options with deprecated names replaced by the present ones, with a warning for each."""
        where = f"{cls.__module__}.{cls.__qualname__}"
        return _deprecated.translate(where, options) if where in _deprecated.ARGUMENTS else options


Config = TypeVar("Config", bound=NetConfig)


class AbstractNet(eqx.Module, Generic[Config]):
    """Map (t, x, y, mask) of one function to (n, p), equivariant to permutations of the points.

    Times are one per point. Masked points change nothing and get zeros. Points of several functions
    may share one call: their mask is then the number of their function, from 1 on.

    A subclass names its configuration, `class Mine(AbstractNet[MyConfig], tag="net/mine")`, and is
    made from the arguments of that and a `key`: `__init__(self, *args, key, **options)` sets
    `self.config = MyConfig(*args, **options)` and the parameters, which are all leaves. With a tag
    it can be saved, loaded and made by `build`; nothing else needs to know of it.
    """

    config: Config = eqx.field(static=True)
    config_type: ClassVar[type[NetConfig]] = NetConfig

    def __init_subclass__(cls, tag: str | None = None, **kwargs: Any):
        super().__init_subclass__(**kwargs)
        for base in vars(cls).get("__orig_bases__", ()):
            for argument in typing.get_args(base):
                if isinstance(argument, type) and issubclass(argument, NetConfig):
                    cls.config_type = argument
        if tag is not None:
            if not tag.startswith("net/"):
                raise ValueError(f"expected a tag such as 'net/my-net', got {tag!r}")
            _registry.add(tag, cls)

    @abc.abstractmethod
    def __call__(self, t: Times, x: Inputs, y: Outputs, mask: Mask | None = None) -> Outputs:
        """Apply the network to one function.

        Args:
            t: Diffusion times in [0, 1], a scalar or (n,); zero for context points.
            x: Inputs (n, d).
            y: Noised values (n, p).
            mask: (n,), zero where a row is padding; None where no row is.

        Returns:
            Outputs (n, p) in the dtype of y, zero in masked rows.
        """

    @property
    def input_dim(self) -> int:
        """Number of input coordinates d."""
        return self.config.input_dim

    @property
    def output_dim(self) -> int:
        """Number of output components p."""
        return self.config.output_dim

    @property
    def local(self) -> bool:
        """Whether the receptive field of a point is finite."""
        return False

    @property
    def num_relative_inputs(self) -> int:
        """How many leading columns of x enter through their differences only."""
        return 0


class Points(NamedTuple):
    """One function with zeros in its masked rows."""

    t: Float[Array, " n"]
    x: Inputs
    y: Outputs
    mask: Mask


def clean(net: AbstractNet, t: Times, x: Inputs, y: Outputs, mask: Mask | None) -> Points:
    """Check shapes, broadcast a scalar time, and overwrite whatever stands in masked rows.

    NaN and infinity there reach neither values nor gradients.

    Args:
        net: The network, for the numbers of inputs and outputs.
        t: Times, a scalar or (n,).
        x: Inputs (n, d).
        y: Values (n, p).
        mask: (n,), or None for a mask of ones.

    Raises:
        ValueError: If a shape does not fit.
    """
    _validation.shapes(x, y, dim=net.output_dim, mask=mask)
    _validation.shape("x", x, (len(x), net.input_dim))
    mask = jnp.ones(len(x), dtype=y.dtype) if mask is None else mask
    t = jnp.where(mask > 0, per_point(t, len(x)), 0.0)
    return Points(t, zero_masked(x, mask), zero_masked(y, mask), mask)


def check_compute(compute_dtype: str | None, attention_backend: str | None = None) -> None:
    """Raise ValueError for an unknown dtype or backend, and for cuDNN without bfloat16."""
    _validation.one_of("compute_dtype", compute_dtype, (None, "float32", "bfloat16"))
    _validation.one_of("attention_backend", attention_backend, (None, "xla", "cudnn"))
    if attention_backend == "cudnn" and compute_dtype != "bfloat16":
        raise ValueError(f"expected compute_dtype 'bfloat16' with cudnn, got {compute_dtype!r}")


def check_heads(width: int, num_heads: int) -> None:
    """Raise ValueError unless the width can be divided among the attention heads."""
    _validation.at_least(1, width=width, num_heads=num_heads)
    if width % num_heads:
        raise ValueError(f"expected a width divisible by num_heads={num_heads}, got {width}")
