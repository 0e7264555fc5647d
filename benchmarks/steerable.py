"""A training step of the planar steerable network beside the plain e3nn one, and its memory.

python benchmarks/steerable.py [--batch 32] [--steps 20] [--most 20000]

The paper's setting: 648 points of a grid (on the sphere 600 Fibonacci points), 20 neighbours, 5
layers; "paper's size" has the 48 features a point of 12x0e + 12x0o + 4x1e + 4x1o. Data, noise and
optimiser are part of a step. The second table is one network evaluation against the number of
scattered points at one density; "memory" is what XLA says the compiled program needs besides its
inputs.
"""

import argparse
import time

import _threads  # noqa: F401
import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from _steps import milliseconds
from _table import markdown

from geomndp import nets
from geomndp.experiments.sphere_fields import training as sphere_fields
from geomndp.experiments.vector_fields import training as vector_fields
from geomndp.score import NetworkScore

HALF = {"compute_dtype": "bfloat16"}
NEAR = {"num_pooling_widths": 0, "density_features": False, "angular_pooling": False}
PAPER = {"channels": 8} | NEAR
CASES = {
    "e3nn in 3D, paper's size": ("e3nn", {}),
    "O(2), paper's size": ("plane", PAPER),
    "O(2), paper's size, bfloat16": ("plane", PAPER | HALF),
    "O(2), 24 channels": ("plane", NEAR),
    "O(2), 24 channels, global pooling": ("plane", {}),
    "O(2), 24 channels, bfloat16": ("plane", HALF | NEAR),
    "O(2), 24 channels, bfloat16, global pooling": ("plane", HALF),
    "O(2), 24 channels, bfloat16, attention": ("plane", HALF | NEAR | {"num_heads": 8}),
    "O(3) on the sphere, 24 channels": ("sphere", NEAR),
    "O(3) on the sphere, 24 channels, global pooling": ("sphere", {}),
    "O(3) on the sphere, 24 channels, bfloat16, global pooling": ("sphere", HALF),
    "NDP*, bfloat16": ("ndp", HALF),
    "NDP*, bfloat16, cudnn": ("ndp", HALF | {"attention_backend": "cudnn"}),
}


def step_cost(family: str, options: dict, batch: int, steps: int) -> float:
    """Milliseconds of a training step."""
    if family == "sphere":
        return sphere_step_cost(options, batch, steps)
    name = "vector-fields/div-free-ndp" if family == "ndp" else "vector-fields/div-free"
    if family == "plane":
        options = {"max_neighbours": 20} | options
    model = vector_fields.make_model(name, key=jr.key(0), **{} if family == "e3nn" else options)
    score = model.score
    if family == "e3nn":
        net = nets.Steerable3(
            space=2, radius=vector_fields.RADIUS, max_neighbours=20, dtype="float32", key=jr.key(0)
        )
        score = NetworkScore(net)
    generator = vector_fields.make_generator(name, batch, vector_fields.PAPER_FUNCTIONS)[0]
    loss = vector_fields.make_loss()
    optimiser = vector_fields.make_optimiser(name, 1000)
    return milliseconds(score, model.noising, generator, loss, optimiser, steps)


def sphere_step_cost(options: dict, batch: int, steps: int) -> float:
    """Milliseconds of a training step at 600 Fibonacci points."""
    name = "sphere-fields/div-free"
    model = sphere_fields.make_model(name, key=jr.key(0), **options)
    generator = sphere_fields.make_generator(name, batch, vector_fields.PAPER_FUNCTIONS)[0]
    loss, optimiser = sphere_fields.make_loss(), sphere_fields.make_optimiser(name, 1000)
    return milliseconds(model.score, model.noising, generator, loss, optimiser, steps)


def evaluation(n: int) -> tuple[float, float]:
    """Seconds of one evaluation and mebibytes of scratch memory, ten neighbours on average."""
    net = nets.Steerable2(radius=1.0, max_neighbours=24, dtype="float32", key=jr.key(0))
    x = (n * jnp.pi / 10) ** 0.5 * jr.uniform(jr.key(1), (n, 2), jnp.float32)
    y, t = jr.normal(jr.key(2), (n, 2), jnp.float32), jnp.full(n, 0.5, jnp.float32)
    arrays, static = eqx.partition(net, eqx.is_array)
    call = jax.jit(lambda arrays, t, x, y: eqx.combine(arrays, static)(t, x, y))
    compiled = call.lower(arrays, t, x, y).compile()
    compiled(arrays, t, x, y).block_until_ready()
    start = time.perf_counter()
    compiled(arrays, t, x, y).block_until_ready()
    seconds = time.perf_counter() - start
    memory = compiled.memory_analysis()
    return seconds, 0.0 if memory is None else memory.temp_size_in_bytes / 2**20


def main() -> None:
    """Read the arguments, measure, print."""
    cpu = jax.default_backend() == "cpu"
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batch", type=int, default=2 if cpu else 32)
    parser.add_argument("--steps", type=int, default=1 if cpu else 100)
    parser.add_argument("--most", type=int, default=20_000)
    parser.add_argument("--only", nargs="*", default=None, help="cases that contain these words")
    options = parser.parse_args()
    rows, first = [], None
    for name, (family, extra) in CASES.items():
        if options.only and not any(word in name for word in options.only):
            continue
        if cpu and "compute_dtype" in extra:  # a CPU has no such units
            continue
        cost = step_cost(family, extra, options.batch, options.steps)
        first = first or cost
        rows.append([name, f"{cost:.2f}", f"{first / cost:.2f}"])
        print(*rows[-1], flush=True)
    print(f"{jax.devices()[0].device_kind}, batch {options.batch} x 648 points")
    print(markdown(["network", "ms per step", "times faster than the first"], rows))
    rows, last = [], None
    for n in (n for n in (1_250, 5_000, 10_000, 20_000) if n <= options.most):
        seconds, memory = evaluation(n)
        ratio = "" if last is None else f"{memory / last:.1f}"
        rows.append([str(n), f"{seconds:.3f}", f"{memory:.1f}", ratio])
        last = memory
    print(markdown(["points", "seconds", "memory (MiB)", "ratio"], rows))


if __name__ == "__main__":
    main()
