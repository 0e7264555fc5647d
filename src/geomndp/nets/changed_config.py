"""Networks under another configuration: with the same parameters, or with more of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import equinox as eqx
import jax
import jax.random as jr

from geomndp._types import PRNGKeyArray
from geomndp.nets.base import Configured, NetConfig

Net = TypeVar("Net", bound=Configured)


def _remake(net: Net, config: NetConfig, *, key: PRNGKeyArray) -> Net:
    """A new network of the same class, registered or not, under another configuration."""
    make = cast(Callable[..., Net], type(net))
    return make(**config.to_dict(), key=key)


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
    try:
        return with_parameters_of(_remake(net, net.config.replace(**changes), key=key), net)
    except ValueError as error:
        got = f"{changes}: {error}"
        raise ValueError(f"expected changes that only add parameters, got {got}") from error


def with_parameters_of(net: Net, other: Configured) -> Net:
    """A network with all parameters of another one in place of its own of the same names.

    The other may be of another class: `Steerable2` and `SteerableSphere` have the same parameters.

    Args:
        net: The network that takes the parameters; further ones stay as they are.
        other: The network that has them.

    Raises:
        ValueError: If the network lacks one of them, or has it in another shape.
    """
    given = {jax.tree_util.keystr(path): leaf for path, leaf in jax.tree.leaves_with_path(other)}

    def taken(path, own):
        name = jax.tree_util.keystr(path)
        leaf = given.pop(name, own)
        if leaf.shape != own.shape:
            raise ValueError(f"expected a parameter {name} of shape {own.shape}, got {leaf.shape}")
        return leaf

    filled = jax.tree.map_with_path(taken, net)
    if given:
        raise ValueError(f"expected parameters that the network has, got {next(iter(given))}")
    return filled


def with_config(net: Net, **changes: Any) -> Net:
    """Return a network with the same parameters under another configuration.

    Args:
        net: A network.
        **changes: Arguments of its configuration, for example `compute_dtype=None,
            attention_backend=None` for likelihoods by forward mode, after training in bfloat16.

    Raises:
        ValueError: If the changes alter the shape of a parameter.
    """
    config = net.config.replace(**changes)
    shapes = eqx.filter_eval_shape(_remake, net, config, key=jr.key(0))
    old, new = jax.tree.leaves(net), jax.tree.leaves(shapes)
    if [leaf.shape for leaf in old] != [leaf.shape for leaf in new]:
        raise ValueError(f"expected changes that keep the parameters' shapes, got {changes}")
    return jax.tree.unflatten(jax.tree.structure(shapes), old)
