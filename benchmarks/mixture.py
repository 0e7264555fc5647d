"""Conditional samplers on mixtures of Gaussian processes, where the exact score is not linear.

python benchmarks/mixture.py [--samples 4096] [--tasks 8] [--runs 64]

Two and three processes (SE 0.25, SE 1, Matern-1/2 0.5, noise 0.05^2), 3 context points, 8 targets.
The probability of each process given the context is known; a sampler's estimate is the mean of the
responsibilities of its samples. "in SE" is the largest |estimate - truth| / standard error over
processes and tasks, "largest error" the largest |estimate - truth|. "energy" is the squared energy
distance to true posterior samples, the mean over tasks (zero in expectation if exact), and "+-" its
standard error for true samples. The last columns say whether both are within three standard errors.
"""

import argparse
import sys
from typing import NamedTuple

import _threads  # noqa: F401
import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from _table import markdown
from jax import Array

from geomndp.gp import GP
from geomndp.kernels import Matern12, SquaredExponential, White
from geomndp.noising import LinearSchedule, OrnsteinUhlenbeck
from geomndp.samplers import (
    Amortised,
    KineticLangevin,
    Langevin,
    MomentMatching,
    Observations,
    Problem,
    RePaint,
    Replacement,
    TwistedSMC,
    adams,
    flow,
)
from geomndp.score import MixtureScore

jax.config.update("jax_enable_x64", True)

KERNELS = (SquaredExponential(0.25), SquaredExponential(1.0), Matern12(0.5))
PROCESSES = tuple(GP(kernel, noise=0.05**2) for kernel in KERNELS)
NOISING = OrnsteinUhlenbeck(White(), LinearSchedule(0.0, 10.0))
CONTEXTS, TARGETS = 3, 8
SAMPLERS = {
    "Amortised, 100 steps": Amortised(100),
    "Amortised, 50 steps": Amortised(50),
    "adams, 24 steps": adams(24),
    "adams, 48 steps": adams(48),
    "Amortised, flow by RK4, 10 steps": flow(10),
    "MomentMatching, 100 steps": MomentMatching(100),
    "KineticLangevin, 40 x 25": KineticLangevin(40, 25),
    "Langevin, 40 x 25": Langevin(40, 25),
    "RePaint, 50 x 10": RePaint(50, 10),
    "Replacement, 500": Replacement(500),
}
SMC, PICKS = TwistedSMC(100, 256, batch_size=16), 16


def draw_task(processes, *, key):
    """A function of a process picked at random."""
    pick_key, x_key, y_key = jr.split(key, 3)
    x = jr.uniform(x_key, (CONTEXTS + TARGETS, 1), minval=-1, maxval=1)
    pick = int(jr.randint(pick_key, (), 0, len(processes)))
    return x, processes[pick].sample(x, key=y_key)


def responsibilities(processes, x, y):
    """Probability of each process given values."""
    return jax.nn.softmax(jnp.stack([gp.log_prob(x, y) for gp in processes]))


@eqx.filter_jit
def true_samples(processes, x, y, num: int, *, key):
    """Draws of the exact posterior, and the probability of each process given the context."""
    pick_key, draw_key = jr.split(key)
    weights = responsibilities(processes, x[:CONTEXTS], y[:CONTEXTS])
    picks = jr.categorical(pick_key, jnp.log(weights), shape=(num,))
    draws = jnp.stack(
        [
            gp.condition(x[:CONTEXTS], y[:CONTEXTS]).sample(x[CONTEXTS:], key=k, num_samples=num)
            for gp, k in zip(processes, jr.split(draw_key, len(processes)), strict=True)
        ]
    )
    return draws[picks, jnp.arange(num)], weights


@eqx.filter_jit
def energy(first, second):
    """Unbiased squared energy distance, 2 E|X - Y| - E|X - X'| - E|Y - Y'|."""

    def mean_distance(a, b, own):
        distances = jnp.linalg.norm(a[:, None] - b[None], axis=-1)
        return jnp.sum(distances) / (len(a) * (len(b) - own))

    a, b = (v.reshape(len(v), -1)[:2048] for v in (first, second))
    return 2 * mean_distance(a, b, 0) - mean_distance(a, a, 1) - mean_distance(b, b, 1)


class Estimate(NamedTuple):
    """Samples, and the estimated probabilities of the processes with their standard errors."""

    draws: Array
    shares: Array
    errors: Array


def averaged(draws, shares) -> Estimate:
    """Means over independent samples, or runs."""
    errors = jnp.std(shares, axis=0, ddof=1) / len(shares) ** 0.5
    return Estimate(draws, jnp.mean(shares, axis=0), errors)


def share_of(processes, x, y):
    """Function that gives the probabilities of the processes given the context and targets."""
    return lambda targets: responsibilities(processes, x, jnp.concatenate([y[:CONTEXTS], targets]))


@eqx.filter_jit
def sampled(sampler, problem, processes, x, y, num: int, *, key):
    """Estimate from samples."""
    draws = sampler.draw(problem, key=key, num_samples=num).y
    return averaged(draws, jax.vmap(share_of(processes, x, y))(draws))


@eqx.filter_jit
def weighted(sampler, problem, processes, x, y, num: int, *, key):
    """Estimate from sequential Monte Carlo: weighted in each run, errors between runs."""
    pick_key, run_key = jr.split(key)
    runs = sampler.runs(problem, key=run_key, num_runs=num)
    each = jax.vmap(jax.vmap(share_of(processes, x, y)))(runs.y)
    picks = jr.categorical(pick_key, jnp.log(runs.weights), shape=(PICKS, num))
    draws = runs.y[jnp.arange(num)[None], picks].reshape(-1, *runs.y.shape[2:])
    return averaged(draws, jnp.einsum("rk,rkc->rc", runs.weights, each))


@eqx.filter_jit
def true(sampler, problem, processes, x, y, num: int, *, key):
    """Estimate from other true samples."""
    draws, _ = true_samples(processes, x, y, num, key=key)
    return averaged(draws, jax.vmap(share_of(processes, x, y))(draws))


def compare(method, sampler, processes, tasks, num):
    """Largest error in standard errors, largest error, and the energy distances."""
    in_errors, largest, distances = [], [], []
    for index, (x, y) in enumerate(tasks):
        true_key, key = jr.split(jr.fold_in(jr.key(7), index))
        observed = Observations(x[:CONTEXTS], y[:CONTEXTS], jnp.zeros(CONTEXTS), False)
        problem = Problem(NOISING, MixtureScore(processes), x[CONTEXTS:], observed, 5e-4)
        truth, weights = true_samples(processes, x, y, 4096, key=true_key)
        result = method(sampler, problem, processes, x, y, num, key=key)
        apart = jnp.abs(result.shares - weights)
        # A process that the context rules out has no error at all.
        in_errors.append(float(jnp.max(apart / jnp.maximum(result.errors, 1e-6))))
        largest.append(float(jnp.max(apart)))
        distances.append(float(energy(result.draws, truth)))
    return max(in_errors), max(largest), distances


def table(processes, options) -> str:
    """Every sampler on the same tasks; true samples set the scale of the energy distance."""
    keys = jr.split(jr.key(len(processes)), options.tasks)
    tasks = [draw_task(processes, key=key) for key in keys]
    lines = [("true posterior", true, None, options.samples)]
    lines += [(name, sampled, sampler, options.samples) for name, sampler in SAMPLERS.items()]
    lines += [(f"TwistedSMC, 100 steps, {options.runs} runs", weighted, SMC, options.runs)]
    rows, error = [], 0.0
    for name, method, sampler, num in lines:
        in_errors, largest, distances = compare(method, sampler, processes, tasks, num)
        error = error or (sum(d**2 for d in distances)) ** 0.5 / len(distances)
        mean = sum(distances) / len(distances)
        verdicts = ["yes" if z < 3 else "no" for z in (in_errors, mean / error)]
        errors = [f"{in_errors:.1f}", f"{largest:.3f}", f"{mean:.4f}", f"{error:.4f}"]
        rows.append([name, *errors, *verdicts])
        print(name, *verdicts, file=sys.stderr, flush=True)
    header = [
        "sampler",
        "in SE",
        "largest error",
        "energy",
        "+-",
        "probabilities",
        "energy distance",
    ]
    return markdown(header, rows)


def main() -> None:
    """Read the arguments, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=4096)
    parser.add_argument("--tasks", type=int, default=8)
    parser.add_argument("--runs", type=int, default=64)
    options = parser.parse_args()
    for count in (2, 3):
        print(f"\n## {count} processes, {options.tasks} tasks, {options.samples} samples\n")
        print(table(PROCESSES[:count], options), flush=True)


if __name__ == "__main__":
    main()
