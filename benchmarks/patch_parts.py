"""Cost of one evaluation of a planar network for a batch of patches, and of its parts.

python benchmarks/patch_parts.py [--patches 32] [--side 31] [--json parts.json]

Patches are lattices with the spacing of training, each moved a little, so that they share nothing,
as those of a large field with scattered observations. "neighbours" is the search for them,
"preparation" all that depends on the locations alone, once per request: neighbours, edges, weights
of the pooling. "messages" and "pooling" are those of all layers, "evaluation" is one of the
network, all with points that are prepared, with the pooling that `with_room` chooses, with all
pairs, and with products in bfloat16. "unprepared" is an evaluation that prepares its points itself.
On a CPU times are of the processor.
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
from geomndp.nets.steerable_2d.message_passing import sender
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


def pooled(net, prepared, features):
    """Averages of features (n, parts, H, c) in as many layers as the network has."""

    def layer(total, _):
        return total + jnp.sum(prepared.pool(features + total)), None

    return jax.lax.scan(layer, jnp.zeros((), features.dtype), None, net.config.num_layers)[0]


def passed(net, prepared, features):
    """Messages of features (n, f) in all layers."""
    send, h = sender(net.edge, prepared.near), features.reshape(len(features), -1)
    for layer in net.layers:
        h = h + send(layer.radial, h)
    return h


def patches_of(name: str, patches: int, side: int):
    """The network with room for the patches, and their times, locations and values."""
    grid = lattice(side)
    moves = 0.05 * jr.normal(jr.key(0), (patches, *grid.shape), grid.dtype)
    x, y = grid[None] + moves, jr.normal(jr.key(1), (patches, *grid.shape), grid.dtype)
    (net,) = graph_nets(with_capacity(load(name), grid))
    net = net.with_extent(1.05 * float(grid.max() - grid.min()))
    return net, jnp.full(len(grid), 0.3, grid.dtype), x, y


def measure(name: str, patches: int, side: int) -> list[dict]:
    """Milliseconds of every part."""
    net, t, x, y = patches_of(name, patches, side)
    widths, channels = net.config.num_pooling_widths, net.config.channels
    shape = (*x.shape[:2], PARTS, widths, channels // widths)
    features = jr.normal(jr.key(2), shape, x.dtype)
    mask = jnp.ones(x.shape[1], x.dtype)

    def prepare(net, x):
        return jax.vmap(lambda x: net.prepare(x, mask))(x)

    def evaluate(net, prepared, x, y):
        return jax.vmap(lambda p, x, y: net.call_prepared(p, t, x, y, mask))(prepared, x, y)

    prepared = eqx.filter_jit(prepare)(net, x)
    forms = {
        "evaluation": net,
        "evaluation, all pairs": with_config(net),
        "evaluation, bfloat16": with_config(net, compute_dtype="bfloat16"),
    }
    costs = {
        "neighbours": milliseconds(jax.vmap(lambda x: net.graph(x, mask).index), x),
        "preparation": milliseconds(prepare, net, x),
        "messages": milliseconds(jax.vmap(lambda p, f: passed(net, p, f)), prepared, features),
        "pooling": milliseconds(jax.vmap(lambda p, f: pooled(net, p, f)), prepared, features),
    }
    for form, own in forms.items():
        ready = eqx.filter_jit(prepare)(own, x)
        costs[form] = milliseconds(evaluate, own, ready, x, y)
    costs["unprepared"] = milliseconds(lambda net, x, y: evaluate(net, None, x, y), net, x, y)
    points = x.shape[0] * x.shape[1]
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
