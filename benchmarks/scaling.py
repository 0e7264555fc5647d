"""Time and memory against the number of points: white noise to 100,000, dense kernels to 4,000.

python benchmarks/scaling.py [--most 100000]

One posterior draw by 20 reverse steps, ten observations; compiled once, timed on a second call.
"memory" is what XLA says the compiled program needs besides its inputs. Ratios are to the row
above: 10 is linear in n for a tenfold n.
"""

import argparse
import time

import _threads  # noqa: F401
import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from _table import markdown

from geomndp.gp import GP
from geomndp.kernels import AbstractKernel, SquaredExponential, White
from geomndp.noising import LinearSchedule, OrnsteinUhlenbeck
from geomndp.samplers import Amortised, Observations, Problem
from geomndp.score import GaussianScore

CASES: dict[str, tuple[AbstractKernel, tuple[int, ...]]] = {
    "white limit, white data": (White(), (100, 1_000, 10_000, 100_000)),
    "white limit, SE data": (SquaredExponential(0.25), (100, 1_000, 4_000)),
}


def cost(kernel: AbstractKernel, n: int) -> tuple[float, float]:
    """Seconds of a draw and mebibytes of scratch memory."""
    x = jr.uniform(jr.key(0), (n + 10, 1), minval=-2, maxval=2)
    y = jnp.sin(3 * x)
    noising = OrnsteinUhlenbeck(White(), LinearSchedule(0.0, 10.0))
    observed = Observations(x[:10], y[:10], jnp.zeros(10), False)
    score = GaussianScore(GP(kernel, noise=0.05**2))
    problem = Problem(noising, score, x[10:], observed, 5e-4)

    def draw(problem, key):
        return Amortised(20).draw(problem, key=key, num_samples=1).y

    arrays, static = eqx.partition(problem, eqx.is_array)
    compiled = (
        jax.jit(lambda arrays, key: draw(eqx.combine(arrays, static), key))
        .lower(arrays, jr.key(1))
        .compile()
    )
    compiled(arrays, jr.key(1)).block_until_ready()
    start = time.perf_counter()
    compiled(arrays, jr.key(2)).block_until_ready()
    seconds = time.perf_counter() - start
    memory = compiled.memory_analysis()
    return seconds, 0.0 if memory is None else memory.temp_size_in_bytes / 2**20


def main() -> None:
    """Read the arguments, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--most", type=int, default=100_000)
    options = parser.parse_args()
    rows = []
    for name, (kernel, sizes) in CASES.items():
        last = None
        for n in (n for n in sizes if n <= options.most):
            seconds, memory = cost(kernel, n)
            ratios = (
                ["", ""]
                if last is None
                else [f"{seconds / last[0]:.1f}", f"{memory / last[1]:.1f}"]
            )
            rows.append([name, str(n), f"{seconds:.3f}", ratios[0], f"{memory:.1f}", ratios[1]])
            last = seconds, memory
    print(markdown(["case", "points", "seconds", "ratio", "memory (MiB)", "ratio"], rows))


if __name__ == "__main__":
    main()
