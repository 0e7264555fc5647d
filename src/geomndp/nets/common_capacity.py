"""One capacity of networks on graphs for many sets of points."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

import jax

from geomndp._types import Array
from geomndp.nets.base import has_graph, with_capacity
from geomndp.nets.changed_config import with_config

Tree = TypeVar("Tree")


def with_common_capacity(
    tree: Tree, point_sets: Iterable[Any] | None, masks: Iterable[Array | None] | None = None
) -> Tree:
    """Give networks on graphs room for all neighbours of each set, and nothing prepared for one.

    Args:
        tree: A score, a loss with a teacher: anything that may hold networks.
        point_sets: Points (n, d) of functions; None where they are drawn anew.
        masks: Mask (n,) of every set, zero where a row is padding; by default none is.

    Returns:
        The same tree where it holds no such network.
    """
    leaves = jax.tree.leaves(tree, is_leaf=has_graph)
    if point_sets is None or not any(map(has_graph, leaves)):
        return tree
    point_sets = list(point_sets)
    masks = [None] * len(point_sets) if masks is None else masks
    for x, mask in zip(point_sets, masks, strict=True):
        tree = with_capacity(tree, x, masks=(mask,))
    return jax.tree.map(lambda v: with_config(v) if has_graph(v) else v, tree, is_leaf=has_graph)
