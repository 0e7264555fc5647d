"""Seconds of 64 posterior samples at 50 targets given 10 points, default sampler, compiled before.

python benchmarks/posterior.py [--repeats 3]
"""

import argparse
import time

import _threads  # noqa: F401
import jax
import jax.numpy as jnp
import jax.random as jr

from geomndp.model import load


def main() -> None:
    """Draw once to compile, then measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    repeats = parser.parse_args().repeats
    xc = jr.uniform(jr.key(0), (10, 1), minval=-2, maxval=2)
    posterior = load("regression1d/se").condition(xc, jnp.sin(3 * xc))
    x = jnp.linspace(-2, 2, 50)[:, None]
    for i in range(repeats + 1):
        start = time.perf_counter()
        posterior.sample(x, key=jr.key(i), num_samples=64).block_until_ready()
        words = "compiled and drawn" if i == 0 else "drawn"
        print(f"{jax.devices()[0].device_kind}: {words} in {time.perf_counter() - start:.2f} s")


if __name__ == "__main__":
    main()
