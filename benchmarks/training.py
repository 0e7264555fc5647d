"""Milliseconds of a training step by network and precision, batch 256 x 60 points, 5 layers of 64.

python benchmarks/training.py [--batch 256] [--steps 100]

Prints times and their ratios to the first row, all of one run, with the share of the device's peak
that the network's matrix products make up when `--peak-tflops` is given.
"""

import argparse

import equinox as eqx
import jax
import jax.random as jr
from _steps import milliseconds
from _table import markdown

from geomndp import nets, train
from geomndp.data import regression1d
from geomndp.kernels import White
from geomndp.noising import LinearSchedule, OrnsteinUhlenbeck
from geomndp.score import NetworkScore

BF16 = {"compute_dtype": "bfloat16"}
RELATIVE, BIDIMENSIONAL = nets.RelativeAttention, nets.BiDimensionalAttention
CASES = {  # network, options, whether functions go in pairs
    "relative, one function per row": (RELATIVE, {}, False),
    "relative": (RELATIVE, {}, True),
    "relative, bfloat16, one function per row": (RELATIVE, BF16, False),
    "relative, bfloat16": (RELATIVE, BF16, True),
    "bi-dimensional": (BIDIMENSIONAL, {}, True),
    "bi-dimensional, bfloat16": (BIDIMENSIONAL, BF16, True),
}


def step_flops(net, batch: int, points: int) -> float:
    """Useful work of a step: three passes over real points and pairs, none over padding.

    Numbers of points are uniform on 1..n: (n + 1) / 2 of them, (n + 1) (2 n + 1) / 6 pairs. A pair
    costs the attention's two products in each layer and, if there is one, the bias.
    """
    parameters = sum(leaf.size for leaf in jax.tree.leaves(eqx.filter(net, eqx.is_array)))
    bias = getattr(net, "bias", None)
    shared = sum(leaf.size for leaf in jax.tree.leaves(eqx.filter(bias, eqx.is_array)))
    tokens, pairs = (points + 1) / 2, (points + 1) * (2 * points + 1) / 6
    of_token, of_pair = parameters - shared, 2 * net.config.width * net.config.num_layers + shared
    return 3 * 2 * batch * (tokens * of_token + pairs * of_pair)


def main() -> None:
    """Read the arguments, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--steps", type=int, default=100 if jax.default_backend() != "cpu" else 2)
    parser.add_argument("--peak-tflops", type=float, default=None)
    options = parser.parse_args()
    problem = regression1d("paper", "se")
    noising = OrnsteinUhlenbeck(White(problem.process.variance), LinearSchedule(0.0, 10.0))
    rows, first = [], None
    for name, (network, extra, packed) in CASES.items():
        generator = problem.generator(options.batch, packed=packed)
        net = network(1, 1, **extra, dtype="float32", key=jr.key(0))
        loss, optimiser = train.DenoisingLoss(), train.adam(1000)
        score = NetworkScore(net)
        cost = milliseconds(score, noising, generator, loss, optimiser, options.steps)
        first = first or cost
        row = [name, f"{cost:.2f}", f"{cost / first:.2f}"]
        if options.peak_tflops:
            flops = step_flops(net, options.batch, problem.max_points)
            row.append(f"{100 * flops / (cost * 1e-3) / (options.peak_tflops * 1e12):.1f}%")
        rows.append(row)
    columns = ["network", "ms per step", "ratio"] + ["of peak"] * bool(options.peak_tflops)
    print(f"{jax.devices()[0].device_kind}, batch {options.batch} x {problem.max_points}")
    print(markdown(columns, rows))


if __name__ == "__main__":
    main()
