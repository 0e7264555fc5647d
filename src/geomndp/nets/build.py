"""Networks from configurations, and the same parameters under another configuration."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

import equinox as eqx
import jax
import jax.random as jr

from geomndp import _registry, _validation
from geomndp._types import PRNGKeyArray
from geomndp.nets.base import AbstractNet

Net = TypeVar("Net", bound=AbstractNet)


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
    _validation.one_of("kind", kind, tuple(_registry.tags("net")))
    make = cast(Callable[..., AbstractNet], _registry.class_of(kind))
    return make(**options, key=key)


def _remake(net: Net, changes: Mapping[str, Any], *, key: PRNGKeyArray) -> Net:
    """A new network of the same class, registered or not, with other options."""
    make = cast(Callable[..., Net], type(net))
    return make(**net.config.replace(**changes).to_dict(), key=key)


def extend_network(net: Net, *, key: PRNGKeyArray, **changes: Any) -> Net:
    """Extend a network, copying the parameters it shares with the old one.

    Parts that start at zero change nothing before they are trained.

    Args:
        net: A network.
        key: Random key of the new parameters.
        **changes: Arguments of its configuration that add parts, such as `num_pooling_widths=4`.

    Raises:
        ValueError: If the changes alter the shape of a parameter.
    """
    new = _remake(net, changes, key=key)
    old = {jax.tree_util.keystr(path): leaf for path, leaf in jax.tree.leaves_with_path(net)}

    def kept(path, leaf):
        known = old.get(jax.tree_util.keystr(path), leaf)
        if known.shape != leaf.shape:
            raise ValueError(f"expected changes that only add parameters, got {changes}")
        return known

    return jax.tree.map_with_path(kept, new)


def with_config(net: Net, **changes: Any) -> Net:
    """Return a network with the same parameters under another configuration.

    Args:
        net: A network.
        **changes: Arguments of its configuration, for example `compute_dtype=None,
            attention_backend=None` for likelihoods by forward mode, after training in bfloat16.

    Raises:
        ValueError: If the changes alter the shape of a parameter.
    """
    shapes = eqx.filter_eval_shape(_remake, net, changes, key=jr.key(0))
    old, new = jax.tree.leaves(net), jax.tree.leaves(shapes)
    if [leaf.shape for leaf in old] != [leaf.shape for leaf in new]:
        raise ValueError(f"expected changes that keep the parameters' shapes, got {changes}")
    return jax.tree.unflatten(jax.tree.structure(shapes), old)
