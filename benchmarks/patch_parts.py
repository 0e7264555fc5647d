"""Cost of one evaluation of a planar network for a batch of patches, and of its parts.

python benchmarks/patch_parts.py [--patches 32] [--side 31] [--json parts.json]

Patches are lattices with the spacing of training, each moved a little, so that they share nothing,
as those of a large field with scattered observations. "neighbours" is the search for them, "edges"
what is made of them, "pooling" the averages over all points in all layers, alone; these do not
depend on the values but for the pooling's products, and are part of every evaluation. "whole" is
one evaluation: with the pooling that `with_room` chooses, with all pairs, and with products in
bfloat16. On a CPU times are of the processor.
"""

import argparse
import json
import time
from pathlib import Path

import _threads  # noqa: F401
import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from _table import markdown
from points import lattice

from geomndp.model import load
from geomndp.nets import graph_nets, with_capacity, with_config
from geomndp.nets.steerable_2d.gaussian_pooling import gaussian_pooling
from geomndp.nets.steerable_2d.message_passing import message_passing
from geomndp.nets.steerable_2d.o2_layers import PARTS


def milliseconds(function, *arrays, repeats: int = 3) -> float:
    """Of the fastest of several calls, after one that compiles."""
    call = eqx.filter_jit(function)
    clock = time.process_time if jax.default_backend() == "cpu" else time.perf_counter
    jax.block_until_ready(call(*arrays))
    seconds = []
    for _ in range(repeats):
        start = clock()
        jax.block_until_ready(call(*arrays))
        seconds.append(clock() - start)
    return 1e3 * min(seconds)


def pooled(net, x, features):
    """Averages of features (n, parts, H, c) in as many layers as the network has."""
    config, mask = net.config, jnp.ones(len(x), x.dtype)
    geometry = config.angular_pooling, net.layouts
    widths = config.radius, config.num_pooling_widths
    counts, pool = gaussian_pooling(x, mask, *widths, x.dtype, *geometry)

    def layer(total, _):
        return total + jnp.sum(pool(features + total)), None

    return jax.lax.scan(layer, jnp.sum(counts), None, config.num_layers)[0]


def edges(net, x):
    """Share of slots that are taken, and messages of ones."""
    graph = net.graph(x, jnp.ones(len(x), x.dtype))
    return message_passing(net.edge, graph, x.dtype)[0]


def measure(name: str, patches: int, side: int) -> list[dict]:
    """Milliseconds of every part."""
    grid = lattice(side)
    moves = 0.05 * jr.normal(jr.key(0), (patches, *grid.shape), grid.dtype)
    x, y = grid[None] + moves, jr.normal(jr.key(1), (patches, *grid.shape), grid.dtype)
    t = jnp.full(len(grid), 0.3, grid.dtype)
    (net,) = graph_nets(with_capacity(load(name), grid))
    net = net.with_extent(1.05 * float(grid.max() - grid.min()))
    widths, channels = net.config.num_pooling_widths, net.config.channels
    shape = (patches, len(grid), PARTS, widths, channels // widths)
    features = jr.normal(jr.key(2), shape, grid.dtype)
    forms = {
        "whole": net,
        "whole, all pairs": with_config(net),
        "whole, bfloat16": with_config(net, compute_dtype="bfloat16"),
    }

    def whole(net, x, y):
        return jax.vmap(lambda x, y: net(t, x, y))(x, y)

    mask = jnp.ones(len(grid), grid.dtype)
    costs = {
        "neighbours": milliseconds(jax.vmap(lambda x: net.graph(x, mask).index), x),
        "neighbours, edges": milliseconds(jax.vmap(lambda x: edges(net, x)), x),
        "pooling": milliseconds(jax.vmap(lambda x, f: pooled(net, x, f)), x, features),
    } | {form: milliseconds(whole, own_net, x, y) for form, own_net in forms.items()}
    points = patches * len(grid)
    return [
        {"part": part, "ms": cost, "microseconds per point": 1e3 * cost / points}
        for part, cost in costs.items()
    ]


def main() -> None:
    """Read the arguments, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="vector-fields/div-free")
    parser.add_argument("--patches", type=int, default=32)
    parser.add_argument("--side", type=int, default=31)
    parser.add_argument("--json", type=Path, help="file of the rows")
    options = parser.parse_args()
    rows = measure(options.model, options.patches, options.side)
    print(f"{jax.devices()[0].device_kind}, {options.patches} patches of {options.side}^2 points")
    print(markdown([*rows[0]], [[str(row["part"]), row["ms"], row[[*row][2]]] for row in rows]))
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
