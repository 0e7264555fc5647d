"""Modules that are made from a configuration and a random key: what a file stores of them."""

from __future__ import annotations

import dataclasses
import typing
from typing import Any, ClassVar, Generic, TypeVar

import equinox as eqx
import jax.numpy as jnp

from geomndp import _deprecated, _model_files, _validation


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

    @property
    def value_dim(self) -> int:
        """Columns of y: those of the output, once per input field (see `num_input_fields`)."""
        return self.output_dim * getattr(self, "num_input_fields", 1)

    def to_dict(self) -> dict[str, Any]:
        """All arguments by name, JSON-serialisable."""
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.init}

    def replace(self, **changes: Any) -> NetConfig:
        """Copy the configuration, with other values of some arguments."""
        return type(self)(**{**self.to_dict(), **self.current_names(changes)})

    @classmethod
    def current_names(cls, options: dict[str, Any]) -> dict[str, Any]:
        """Options with deprecated names replaced by the present ones, with a warning for each."""
        where = f"{cls.__module__}.{cls.__qualname__}"
        return _deprecated.translate(where, options) if where in _deprecated.ARGUMENTS else options


Config = TypeVar("Config", bound=NetConfig)


class Configured(eqx.Module, Generic[Config]):
    """A module made from the arguments of its configuration and a `key`.

    A subclass names its configuration, `class Mine(Configured[MyConfig], tag="role/mine")`;
    `__init__(self, *args, key, **options)` sets `self.config = MyConfig(*args, **options)` and the
    parameters, which are all leaves. With a tag it can be saved and loaded.
    """

    config: Config = eqx.field(static=True)
    config_type: ClassVar[type[NetConfig]] = NetConfig
    role: ClassVar[str] = "net"

    def __init_subclass__(cls, tag: str | None = None, **kwargs: Any):
        super().__init_subclass__(**kwargs)
        for base in vars(cls).get("__orig_bases__", ()):
            for argument in typing.get_args(base):
                if isinstance(argument, type) and issubclass(argument, NetConfig):
                    cls.config_type = argument
        if tag is not None:
            if not tag.startswith(f"{cls.role}/"):
                raise ValueError(f"expected a tag such as '{cls.role}/my-{cls.role}', got {tag!r}")
            _model_files.add_class(tag, cls)


__all__ = ["Config", "Configured", "NetConfig", "float_name"]
