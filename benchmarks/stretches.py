"""Sampling in one piece and in a stretch per step: smooth limiting kernels against white ones.

python benchmarks/stretches.py [--points 1024] [--steps 30]

A request is carried out in stretches of about a second, so that it can report progress and be
interrupted. Here every step is a stretch: what a stretch costs beyond its step shows as the ratio.
The score is a linear map, so that the limiting kernel's Gram matrices are all the work there is.
"""

import argparse
import time

import _threads  # noqa: F401
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from _table import markdown

from geomndp import Model, _progress
from geomndp.kernels import AbstractKernel, SquaredExponential, White
from geomndp.noising import LinearSchedule, OrnsteinUhlenbeck
from geomndp.samplers import Amortised
from geomndp.score import AbstractScore

LIMITS: dict[str, AbstractKernel] = {
    "white": White(),
    "SE(1) + white": SquaredExponential(1.0) + White(0.05),
}


class Shrinking(AbstractScore):
    """A score that costs nothing."""

    conditional = True
    pads = True

    def __call__(self, noising, t, x, y, mask=None):
        return -jnp.reshape(noising.sigma(t), (-1, 1)) * y


def seconds(kernel: AbstractKernel, points: int, steps: int, stretch: float) -> float:
    """Seconds of a request for one sample, compiled before."""
    model = Model(OrnsteinUhlenbeck(kernel, LinearSchedule(0.0, 10.0)), Shrinking())
    x, sampler = np.linspace(-1, 1, points)[:, None], Amortised(steps)
    _progress.STRETCH_SECONDS = stretch
    took = []
    for _ in range(3):
        start = time.perf_counter()
        model.sample(x, key=jr.key(0), num_samples=1, sampler=sampler, progress=False)
        took.append(time.perf_counter() - start)
    return min(took[1:])


def main() -> None:
    """Read the arguments, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=1024)
    parser.add_argument("--steps", type=int, default=30)
    options = parser.parse_args()
    rows = []
    for name, kernel in LIMITS.items():
        unsplit, split = (
            seconds(kernel, options.points, options.steps, stretch) for stretch in (3600.0, 0.0)
        )
        rows.append([name, str(options.points), f"{unsplit:.3f}", f"{split:.3f}", split / unsplit])
    print(markdown(["limiting kernel", "points", "one piece (s)", "split (s)", "ratio"], rows))


if __name__ == "__main__":
    main()
