"""What every network is, and how it is made from its configuration."""

from __future__ import annotations

import abc
import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Generic, TypeVar, cast

import jax

from geomndp import _deprecated, _model_files, _validation
from geomndp._types import Inputs, Mask, Outputs, PRNGKeyArray, Times, Values
from geomndp.nets.configured import Config, Configured, NetConfig


@dataclasses.dataclass(frozen=True, kw_only=True)
class CovariateConfig(NetConfig):
    """Hyperparameters of networks whose inputs may be periodic, and beside covariates.

    Args:
        num_invariant_inputs: How many of the columns, the last ones, are covariates.
        periods: Period of every column of x in the model's units, zero where it has none; empty
            where none has one.
    """

    num_invariant_inputs: int = 0
    periods: tuple[float, ...] = ()

    def __post_init__(self):
        super().__post_init__()
        _validation.at_least(0, num_invariant_inputs=self.num_invariant_inputs)
        if self.num_invariant_inputs >= self.input_dim:
            got = f"{self.num_invariant_inputs} of {self.input_dim} columns"
            raise ValueError(f"expected fewer covariates than columns of x, got {got}")
        if self.periods and len(self.periods) != self.input_dim:
            got = len(self.periods)
            raise ValueError(f"expected a period for each of {self.input_dim} columns, got {got}")
        if not all(0 <= period < math.inf for period in self.periods):
            raise ValueError(f"expected periods >= 0 (zero for none), got {self.periods}")

    @property
    def num_inputs(self) -> int:
        """Columns of x before the covariates."""
        return self.input_dim - self.num_invariant_inputs

    @property
    def input_periods(self) -> tuple[float, ...]:
        """Periods of the inputs alone."""
        return self.periods[: self.num_inputs]

    @property
    def covariate_periods(self) -> tuple[float, ...]:
        """Periods of the covariates, zero where there is none."""
        return self.periods[self.num_inputs :] or (0.0,) * self.num_invariant_inputs


Tree = TypeVar("Tree")


class AbstractNet(Configured[Config], Generic[Config]):
    """Map (t, x, y, mask) of one function to (n, p), equivariant to permutations of the points.

    Times are one per point, or per point and group of outputs (`num_groups`). Masked values change
    nothing and get zeros. Points of several functions may share one call: their mask is then the
    number of their function, from 1 on.

    A subclass names its configuration, `class Mine(AbstractNet[MyConfig], tag="net/mine")`, and is
    made from the arguments of that and a `key`: `__init__(self, *args, key, **options)` sets
    `self.config = MyConfig(*args, **options)` and the parameters, which are all leaves. With a tag
    it can be saved, loaded and made by `build`; nothing else needs to know of it.
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


def with_capacity(tree: Tree, *point_sets: Any, masks: tuple | None = None) -> Tree:
    """Give every graph network inside `tree` room for all neighbours among the points.

    Args:
        tree: A network, a score, a model: anything that may hold networks.
        *point_sets: Points of one function, (n, d) in the model's units, in one or more sets such
            as context and targets. There is room for the graph of all and of every set alone.
        masks: One mask (n,) per set, zero where a row is padding, or None where no row is.

    Returns:
        The same with larger `max_neighbours` where needed: see `AbstractGraphNet.with_room`.
    """

    def has_graph(node: Any) -> bool:
        return isinstance(node, AbstractNet) and node.has_graph

    masks = (None,) * len(point_sets) if masks is None else masks
    leaves, structure = jax.tree.flatten(tree, is_leaf=has_graph)
    nodes = [leaf.with_room(point_sets, masks) if has_graph(leaf) else leaf for leaf in leaves]
    return jax.tree.unflatten(structure, nodes) if any(map(has_graph, leaves)) else tree


def check_compute(compute_dtype: str | None, attention_backend: str | None = None) -> None:
    """Raise ValueError for an unknown dtype or backend, and for one that lacks the other.

    cuDNN takes bfloat16 alone; folded attention would take its softmax in it.
    """
    _validation.one_of("compute_dtype", compute_dtype, (None, "float32", "bfloat16"))
    _validation.one_of("attention_backend", attention_backend, (None, "xla", "cudnn", "folded"))
    if attention_backend == "cudnn" and compute_dtype != "bfloat16":
        raise ValueError(f"expected compute_dtype 'bfloat16' with cudnn, got {compute_dtype!r}")
    if attention_backend == "folded" and compute_dtype == "bfloat16":
        raise ValueError("expected compute_dtype None or 'float32' with folded, got 'bfloat16'")


_deprecated.deprecated_names(__name__, {"clean": "geomndp.nets.layers:clean"})
