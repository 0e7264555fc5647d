"""What every network is, and how it is made from its configuration."""

from __future__ import annotations

import abc
import dataclasses
import typing
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Generic, TypeVar, cast

import equinox as eqx
import jax
import jax.numpy as jnp

from geomndp import _deprecated, _model_files, _validation
from geomndp._types import Inputs, Mask, Outputs, PRNGKeyArray, Times, Values


def float_name(dtype: str | None) -> str:
    """Name of the parameters' dtype; None is JAX's default float."""
    name = jnp.dtype(jnp.result_type(float) if dtype is None else dtype).name
    _validation.one_of("dtype", name, ("float32", "float64"))
    return name


@dataclasses.dataclass(frozen=True)
class NetConfig:
    """Hyperparameters of a network: the arguments of its constructor, and what a file stores.

    Those of a network are a subclass, decorated by `@dataclass(frozen=True, kw_only=True)`, of
    numbers, strings, None and tuples of these; lists, as JSON has them, become tuples.

    Args:
        input_dim: Number of input coordinates d.
        output_dim: Number of output components p.
        dtype: Dtype of the parameters, "float32" or "float64"; by default JAX's float.
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
        object.__setattr__(self, name, value)

    @property
    def value_dim(self) -> int:
        """Columns of y: those of the output, once per input field (`num_input_fields`)."""
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
Tree = TypeVar("Tree")


class Configured(eqx.Module, Generic[Config]):
    """A module made from the arguments of its configuration and a `key`.

    A subclass names its configuration, `class Mine(Configured[MyConfig], tag="role/mine")`;
    `__init__(self, *args, key, **options)` sets `self.config = MyConfig(*args, **options)` and the
    parameters, all leaves. With a tag it can be saved and loaded.
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


class AbstractNet(Configured[Config], Generic[Config]):
    """Map (t, x, y, mask) of one function to (n, p), equivariant to permutations of the points.

    Times are one per point, or per point and group of outputs (`num_groups`). Masked values change
    nothing and get zeros. Points of several functions may share one call: their mask is then the
    number of their function, from 1 on. With a tag, `class Mine(AbstractNet[MyConfig],
    tag="net/mine")`, it can be saved, loaded and made by `build`: see `Configured`.
    """

    has_graph: ClassVar[bool] = False

    @abc.abstractmethod
    def __call__(self, t: Times, x: Inputs, y: Values, mask: Mask | None = None) -> Outputs:
        """Apply the network to one function.

        Args:
            t: Diffusion times in [0, 1], a scalar, (n,) or (n, g); zero for context points.
            x: Inputs (n, d).
            y: Noised values (n, p); with `num_input_fields` = k, further fields of the same type
                beside them, (n, k p).
            mask: (n,) or (n, g), zero where a value is padding or missing; None where none is.

        Returns:
            Outputs (n, p) in the dtype of y, zero where masked.
        """

    def prepare(self, x: Inputs, mask: Mask | None = None) -> Any:
        """What evaluations at the same points share, whatever their times and values.

        Args:
            x: Inputs (n, d).
            mask: As that of a call.

        Returns:
            A tree of arrays for `call_prepared`; None where there is nothing worth keeping.
        """
        return None

    def call_prepared(
        self, prepared: Any, t: Times, x: Inputs, y: Values, mask: Mask | None = None
    ) -> Outputs:
        """Apply the network to one function at points that were prepared, as a call does.

        Args:
            prepared: Result of `prepare` for x and mask, None where nothing was prepared.
            t: Diffusion times.
            x: Inputs (n, d).
            y: Noised values.
            mask: As that of a call.
        """
        return self(t, x, y, mask)

    @property
    def input_dim(self) -> int:
        """Number of input coordinates d."""
        return self.config.input_dim

    @property
    def output_dim(self) -> int:
        """Number of output components p."""
        return self.config.output_dim

    @property
    def num_groups(self) -> int:
        """Groups of outputs that may have times and masks of their own."""
        return 1

    @property
    def value_dim(self) -> int:
        """Number of columns of y: p, or k p with `num_input_fields` = k."""
        return self.config.value_dim

    @property
    def local(self) -> bool:
        """Whether the receptive field of a point is finite."""
        return False

    @property
    def attends(self) -> bool:
        """Whether points attend to all others, so that their number matters, not density alone."""
        return not self.has_graph

    @property
    def num_relative_inputs(self) -> int:
        """How many leading columns of x enter through their differences only."""
        return 0


def build(config: Mapping[str, Any], *, key: PRNGKeyArray) -> AbstractNet:
    """Make the network that a mapping describes, with new parameters.

    Args:
        config: The tag of its class as `kind`, such as "net/relative-attention", and the arguments
            of its configuration (`net.config.to_dict()`).
        key: Random key of the parameters.

    Raises:
        ValueError: If no network has the tag, or its configuration refuses an argument.

    Example:
        `build({"kind": "net/relative-attention", "input_dim": 1, "output_dim": 1}, key=key)`
    """
    options = dict(config)
    kind = options.pop("kind", None)
    _validation.one_of("kind", kind, tuple(_model_files.tags("net")))
    make = cast(Callable[..., AbstractNet], _model_files.class_of(kind))
    return make(**options, key=key)


def has_graph(node: Any) -> bool:
    """Whether a node of a tree is a network on a graph."""
    return isinstance(node, AbstractNet) and node.has_graph


def with_capacity(tree: Tree, *point_sets: Any, masks: tuple | None = None) -> Tree:
    """Give every graph network inside `tree` room for all neighbours among the points.

    Args:
        tree: A network, a score, a model: anything that may hold networks.
        *point_sets: Points of one function, (n, d) in the model's units, in one or more sets such
            as context and targets: room for the graph of all and of every set alone.
        masks: One mask (n,) per set, zero where a row is padding, or None where no row is.

    Returns:
        The same with larger `max_neighbours` where needed (`AbstractGraphNet.with_room`).
    """
    masks = (None,) * len(point_sets) if masks is None else masks
    leaves, structure = jax.tree.flatten(tree, is_leaf=has_graph)
    nodes = [leaf.with_room(point_sets, masks) if has_graph(leaf) else leaf for leaf in leaves]
    return jax.tree.unflatten(structure, nodes) if any(map(has_graph, leaves)) else tree


def check_compute(compute_dtype: str | None) -> None:
    """Raise ValueError for a dtype in which networks do not compute."""
    _validation.one_of("compute_dtype", compute_dtype, (None, "float32", "bfloat16"))


_deprecated.deprecated_names(__name__, {"clean": "geomndp.nets.layers:clean"})
