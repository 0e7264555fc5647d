"""Conditional samplers on mixtures of Gaussian processes, where the exact score is not linear.

python benchmarks/mixture.py [--samples 4096] [--tasks 8] [--runs 256]

Two and three processes (SE 0.25, SE 1, Matern-1/2 0.5, noise 0.05^2), 3 context points, 8 targets.
The probability of each process given the context is known; a sampler's estimate is the mean of the
responsibilities of its samples. "off" is the largest |estimate - truth| / standard error over
processes and tasks (of the size 2 to 3 if exact), "gap" the largest |estimate - truth|, "energy"
the median squared energy distance to true posterior samples (zero in the mean if exact).
"""

import argparse
import sys

import _threads  # noqa: F401
import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
from _table import markdown

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
)
from geomndp.score import MixtureScore

jax.config.update("jax_enable_x64", True)

KERNELS = (SquaredExponential(0.25), SquaredExponential(1.0), Matern12(0.5))
PROCESSES = tuple(GP(kernel, noise=0.05**2) for kernel in KERNELS)
NOISING = OrnsteinUhlenbeck(White(), LinearSchedule(0.0, 10.0))
CONTEXTS, TARGETS = 3, 8
SAMPLERS = {
    "Amortised, 100 steps": Amortised(100),
    "Amortised, 30 steps": Amortised(30),
    "MomentMatching, 100 steps": MomentMatching(100),
    "Langevin, 40 x 25": Langevin(40, 25),
    "KineticLangevin, 40 x 25": KineticLangevin(40, 25),
    "RePaint, 50 x 10": RePaint(50, 10),
    "Replacement, 500": Replacement(500),
}


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

    a, b = (v.reshape(len(v), -1)[:1024] for v in (first, second))
    return 2 * mean_distance(a, b, 0) - mean_distance(a, a, 1) - mean_distance(b, b, 1)


@eqx.filter_jit
def sampled(sampler, problem, processes, x, y, num: int, *, key):
    """Samples, and the mean of their responsibilities with its standard error."""
    draws = sampler.draw(problem, key=key, num_samples=num).y

    def one(targets):
        return responsibilities(processes, x, jnp.concatenate([y[:CONTEXTS], targets]))

    shares = jax.vmap(one)(draws)
    return draws, jnp.mean(shares, axis=0), jnp.std(shares, axis=0, ddof=1) / num**0.5


@eqx.filter_jit
def weighted(sampler, problem, processes, x, y, num: int, *, key):
    """The same of sequential Monte Carlo: weighted in each run, standard errors between runs."""
    pick_key, run_key = jr.split(key)
    runs = sampler.runs(problem, key=run_key, num_runs=num)

    def one(targets):
        return responsibilities(processes, x, jnp.concatenate([y[:CONTEXTS], targets]))

    shares = jnp.einsum("rk,rkc->rc", runs.weights, jax.vmap(jax.vmap(one))(runs.y))
    picks = jr.categorical(pick_key, jnp.log(runs.weights))
    draws = runs.y[jnp.arange(num), picks]
    return draws, jnp.mean(shares, axis=0), jnp.std(shares, axis=0, ddof=1) / num**0.5


def row(name, method, sampler, processes, tasks, num):
    """One line of the table: worst over the tasks, median for the energy distance."""
    off, gap, distances = [], [], []
    for index, (x, y) in enumerate(tasks):
        true_key, key = jr.split(jr.fold_in(jr.key(7), index))
        observed = Observations(x[:CONTEXTS], y[:CONTEXTS], jnp.zeros(CONTEXTS), False)
        problem = Problem(NOISING, MixtureScore(processes), x[CONTEXTS:], observed, 5e-4)
        truth, weights = true_samples(processes, x, y, 4096, key=true_key)
        draws, mean, error = method(sampler, problem, processes, x, y, num, key=key)
        apart = jnp.abs(mean - weights)
        # A process that the context rules out has neither gap nor error.
        off.append(float(jnp.max(apart / jnp.maximum(error, 1e-6))))
        gap.append(float(jnp.max(apart)))
        distances.append(float(energy(draws, truth)))
    median = sorted(distances)[len(distances) // 2]
    verdict = "yes" if max(off) < 3 else "no"
    print(name, verdict, file=sys.stderr, flush=True)
    return [name, f"{max(off):.1f}", f"{max(gap):.3f}", f"{median:.4f}", verdict]


def main() -> None:
    """Read the arguments, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=4096)
    parser.add_argument("--tasks", type=int, default=8)
    parser.add_argument("--runs", type=int, default=256)
    options = parser.parse_args()
    header = ["sampler", "off", "gap", "energy", "within 3 standard errors"]
    for count in (2, 3):
        processes = PROCESSES[:count]
        keys = jr.split(jr.key(count), options.tasks)
        tasks = [draw_task(processes, key=key) for key in keys]
        rows = [
            row(name, sampled, sampler, processes, tasks, options.samples)
            for name, sampler in SAMPLERS.items()
        ]
        name = f"TwistedSMC, 100 steps, 64 particles, {options.runs} runs"
        rows.append(row(name, weighted, TwistedSMC(100, 64), processes, tasks, options.runs))
        print(f"\n## {count} processes, {options.tasks} tasks, {options.samples} samples\n")
        print(markdown(header, rows), flush=True)


if __name__ == "__main__":
    main()
