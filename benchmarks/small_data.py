"""Processor time of a training step on a user's small data set, by network, size and base process.

python benchmarks/small_data.py [--batch 64] [--points 31 100] [--only corrected]

Functions are padded sets of points, as `gn.build` draws them: nothing is shared between them. Times
are processor seconds of all threads, so that a busy machine measures the same; "first" is the first
call, nearly all of it compilation. Ratios are to the first row of the same number of points.
"""

import argparse
import time

import _threads  # noqa: F401
import jax
import jax.random as jr
from _table import markdown

from geomndp import nets, train
from geomndp._types import Batch
from geomndp.data import ContextSampler, ResampledGenerator
from geomndp.gp import GP
from geomndp.kernels import Matern32, SquaredExponential, White
from geomndp.noising import DEFAULT_SCHEDULE_1D, OrnsteinUhlenbeck
from geomndp.score import NetworkScore

SMALL, LARGE = {"width": 32, "num_layers": 3}, {"width": 64, "num_layers": 5}
RELATIVE, ABSOLUTE, PLANE = nets.RelativeAttention, nets.BiDimensionalAttention, nets.Steerable2
TOKENS = {"token_axis": "points", "num_frequencies": 14, "pre_norm": True}
CASES = {  # network, options, whether it corrects a process
    "relative attention, 3 x 32": (RELATIVE, SMALL, False),
    "relative attention, 3 x 32, corrected process": (RELATIVE, SMALL, True),
    "relative attention, 5 x 64": (RELATIVE, LARGE, False),
    "attention over points, 3 x 32": (ABSOLUTE, SMALL | TOKENS, False),
    "attention over points, 3 x 32, corrected process": (ABSOLUTE, SMALL | TOKENS, True),
    "attention over points, 5 x 64": (ABSOLUTE, LARGE | TOKENS, False),
    "E(2), 3 x 32, 8 channels": (PLANE, SMALL | {"channels": 8}, False),
    "E(2), 3 x 32, 8 channels, corrected process": (PLANE, SMALL | {"channels": 8}, True),
    "E(2), 3 x 32, 24 channels": (PLANE, SMALL, False),
    "E(2), 5 x 64, 24 channels": (PLANE, LARGE, False),
}
GRAPH = {"max_neighbours": 40}


def training_score(network, options: dict, corrected: bool, gp: GP, points: int) -> NetworkScore:
    """The untrained score; neighbours of a graph are the nearest twenty, about."""
    if network is PLANE:
        radius = (20 / (3.14 * points)) ** 0.5
        net = PLANE(("scalar",), radius=radius, **GRAPH, **options, dtype="float32", key=jr.key(0))
    else:
        net = network(1, 1, **options, dtype="float32", key=jr.key(0))
    score = NetworkScore(net)
    return score.with_base(gp, key=jr.key(0)) if corrected else score


def functions_of(gp: GP, dim: int, points: int) -> Batch:
    """Functions of a process at random locations of their own."""
    x_key, y_key = jr.split(jr.key(3))
    x = jr.uniform(x_key, (64, points, dim))
    y = jax.vmap(lambda x, key: gp.sample(x, key=key))(x, jr.split(y_key, 64))
    mask = jax.numpy.ones((64, points))
    return Batch(x, y, mask, 0.0 * mask)


def seconds(score: NetworkScore, functions: Batch, batch_size: int, steps: int):
    """Processor seconds of the first call, and of a step after it."""
    contexts = ContextSampler(few=max(4, functions.x.shape[1] // 5))
    options = {"batch_size": batch_size, "contexts": contexts, "thinned_share": 0.5}
    generator = ResampledGenerator(functions=functions, **options)
    noising = OrnsteinUhlenbeck(White(), DEFAULT_SCHEDULE_1D)
    parts = (noising, generator, train.default_loss("real"), train.adam(1000))
    trainer, state = train.init(score, *parts, key=jr.key(1))
    marks = [time.process_time()]
    for _ in range(2):
        state, info = train.train_steps(trainer, state, steps)
        jax.block_until_ready(info)
        marks.append(time.process_time())
    return marks[1] - marks[0], (marks[2] - marks[1]) / steps


def main() -> None:
    """Read the arguments, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--points", type=int, nargs="*", default=[31, 100])
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--only", nargs="*", default=None, help="cases that contain these words")
    options = parser.parse_args()
    gp = GP(0.7 * SquaredExponential(0.3) + 0.3 * Matern32(0.1), noise=0.01)
    for points in options.points:
        rows, first = [], None
        for name, (network, sizes, corrected) in CASES.items():
            if options.only and not any(word in name for word in options.only):
                continue
            functions = functions_of(gp, 2 if network is PLANE else 1, points)
            score = training_score(network, sizes, corrected, gp, points)
            start, step = seconds(score, functions, options.batch, options.steps)
            first = first or step
            rows.append([name, f"{start:.1f}", f"{1000 * step:.0f}", f"{step / first:.2f}"])
            print(*rows[-1], flush=True)
        print(f"{jax.devices()[0].device_kind}, batch {options.batch} x {points} points")
        print(markdown(["network", "first (s)", "step (ms)", "ratio"], rows))


if __name__ == "__main__":
    main()
