"""Time and memory of one evaluation of a shipped graph network on a large field.

python benchmarks/large_field.py [--model vector-fields/se] [--sides 30 100 200]

A square lattice with the spacing of training, sides x sides points: 316 make 99,856. "scratch" is
what XLA says the compiled program needs besides its inputs, "peak" the process's largest resident
memory so far, compilation included. Ascending sides, so that the peak belongs to its row.
"""

import argparse
import resource
import time

import _threads  # noqa: F401
import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from _table import markdown

from geomndp.model import Model, load
from geomndp.nets import graph_nets, with_capacity

SPACING = 20 / 29


def lattice(side: int) -> np.ndarray:
    """Locations of the points."""
    axis = SPACING * np.arange(side)
    return np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2).astype(np.float32)


def cost(model: Model, side: int) -> tuple[str, ...]:
    """One row of the table."""
    x = lattice(side)
    (net,) = graph_nets(with_capacity(model, x))
    arrays, static = eqx.partition(net, eqx.is_array)
    times, values = jnp.full(len(x), 0.3, x.dtype), jr.normal(jr.key(0), (len(x), 2), x.dtype)
    evaluate = jax.jit(lambda arrays, *function: eqx.combine(arrays, static)(*function))
    compiled = evaluate.lower(arrays, times, x, values).compile()
    start = time.perf_counter()
    output = compiled(arrays, times, x, values)
    seconds = bool(jnp.all(jnp.isfinite(output))) * (time.perf_counter() - start)
    memory = compiled.memory_analysis()
    scratch = 0.0 if memory is None else memory.temp_size_in_bytes / 2**20
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    cells = (len(x), net.config.max_neighbours, f"{scratch:.0f} MiB", f"{peak:.0f} MiB")
    return (f"{side} x {side}", *map(str, cells), f"{seconds:.1f} s")


def main() -> None:
    """Read the arguments, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="vector-fields/se")
    parser.add_argument("--sides", type=int, nargs="+", default=[30, 100, 200])
    options = parser.parse_args()
    model = load(options.model)
    rows = [cost(model, side) for side in sorted(options.sides)]
    print(markdown(("field", "points", "slots", "scratch", "peak", "seconds"), rows))


if __name__ == "__main__":
    main()
