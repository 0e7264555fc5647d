"""Milliseconds of a training step of the cyclone network, batch 1024 x 50 points on the sphere.

python benchmarks/tracks.py [--batch 1024] [--steps 50] [--width 128]

Tracks are random: the cost of a step does not depend on them.
"""

import argparse

import _threads  # noqa: F401
import jax
import jax.numpy as jnp
import jax.random as jr
from _steps import milliseconds

from geomndp.data.sequences import SequenceGenerator
from geomndp.experiments.cyclones import training as cyclones


def main() -> None:
    """Read the arguments, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batch", type=int, default=1024)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--width", type=int, default=128)
    options = parser.parse_args()
    half = "bfloat16" if jax.default_backend() == "gpu" else None
    name, key = "cyclones/ibtracs", jr.key(0)
    model = cyclones.make_model(name, key=key, compute_dtype=half, width=options.width)
    x = jnp.broadcast_to(jnp.arange(50.0, dtype=jnp.float32)[None, :, None] / 8, (512, 50, 1))
    y = jr.normal(key, (512, 50, 3), jnp.float32)
    generator = SequenceGenerator(
        x=x, y=y / jnp.linalg.norm(y, axis=2, keepdims=True), batch_size=options.batch
    )
    loss_and_optimiser = cyclones.make_loss(), cyclones.make_optimiser(name, 1000)
    cost = milliseconds(model.score, model.noising, generator, *loss_and_optimiser, options.steps)
    print(f"{jax.devices()[0].device_kind}, {options.batch} x 50 points: {cost:.2f} ms per step")


if __name__ == "__main__":
    main()
