"""A clean process learnt from noisy sensors alone: a network against the exact process.

python benchmarks/known_noise.py --steps 40000 --folder runs/known_noise --out known_noise.json

Functions of a Gaussian process (SE of lengthscale 0.5) on [-1, 1], seen by 5 to 15 sensors with
noise variances 0.05 to 1. Density: of values with noise 0.05, at that diffusion time, in nats per
value. Posterior of the clean function given noisy sensors: rms error of the mean in posterior
standard deviations, and mean ratio of standard deviations. The sizes by default are for a GPU (five
minutes); on a CPU take `--steps 4000 --batch 64 --width 32 --layers 3 --heads 4 --tests 64`.
"""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from _exact_check import Row, network, parser, report, trained

from geomndp import Model, data
from geomndp._types import Batch
from geomndp.gp import GP
from geomndp.kernels import SquaredExponential, White
from geomndp.likelihood import Flow
from geomndp.model import likelihood_routes
from geomndp.noising import DEFAULT_SCHEDULE_1D, OrnsteinUhlenbeck
from geomndp.samplers import Amortised, Problem
from geomndp.samplers.problem import no_observations
from geomndp.train import KnownNoise, default_loss

CLEAN = GP(SquaredExponential(0.5), noise=1e-5)
NOISY = GP(SquaredExponential(0.5), noise=0.05 + 1e-5)
NOISING = OrnsteinUhlenbeck(White(1.0), DEFAULT_SCHEDULE_1D)
FEWEST, MOST, LEAST_NOISE, MOST_NOISE = 5, 15, 0.05, 1.0
MOST_TARGETS = 20
CASES = {  # most sensors, targets; training functions have 15 points at most
    "single targets": (14, 1),
    "5 targets together": (10, 5),
    "20 targets together": (15, MOST_TARGETS),
}


class Sensors(data.AbstractGenerator):
    """Functions seen by sensors whose noise is known."""

    batch_size: int = eqx.field(default=64, static=True)
    contexts: data.ContextSampler | None = data.ContextSampler(share=0.75, few=10)

    def draw(self, key):
        function_key, count_key, context_key = jr.split(key, 3)
        x, _, y, noise = jax.vmap(sensors)(jr.split(function_key, self.batch_size))
        counts = jr.randint(count_key, (self.batch_size,), FEWEST, MOST + 1, jnp.int32)
        masks = data.context_mask(counts, MOST, self.contexts, x.dtype, key=context_key)
        return Batch(x, y, *masks, noise)


def sensors(key, num: int = MOST):
    """Locations, clean values, measured values and noise variances of one function."""
    x_key, clean_key, level_key, noise_key = jr.split(key, 4)
    x = jr.uniform(x_key, (num, 1), jnp.float32, -1.0, 1.0)
    clean = CLEAN.sample(x, key=clean_key)
    ratio = jr.uniform(level_key, (num,), jnp.float32)
    noise = LEAST_NOISE * (MOST_NOISE / LEAST_NOISE) ** ratio
    y = clean + jnp.sqrt(noise)[:, None] * jr.normal(noise_key, clean.shape, clean.dtype)
    return x, clean, y, noise


def density_row(score, num: int, key) -> Row:
    """Regret of the density of values with noise 0.05, at the diffusion time of that noise."""
    t = float(NOISING.schedule.inverse(jnp.log1p(jnp.float32(LEAST_NOISE))))
    a, nothing = NOISING.alpha(jnp.float32(t)), no_observations(1, 1, jnp.float32)

    def one(key):
        x_key, y_key, count_key = jr.split(key, 3)
        x = jr.uniform(x_key, (MOST, 1), jnp.float32, -1.0, 1.0)
        y, count = (
            NOISY.sample(x, key=y_key),
            jr.randint(count_key, (), FEWEST, MOST + 1, jnp.int32),
        )
        mask = (jnp.arange(MOST, dtype=jnp.int32) < count).astype(y.dtype)
        problem = Problem(NOISING, score, x, nothing, t, mask)
        ours = likelihood_routes.log_prob(Flow(), problem, a * y, mask, None, "conditional").value
        truth = NOISY.log_prob(x, y, mask)
        return truth - ours - jnp.sum(mask) * jnp.log(a), jnp.sum(mask)

    run = jax.jit(lambda keys: jax.lax.map(one, keys, batch_size=256))
    difference, counts = (np.asarray(v) for v in run(jr.split(key, num)))
    regret = difference.sum() / counts.sum()
    spread = np.std(difference - regret * counts) * np.sqrt(num) / counts.sum()
    return Row("regret at noise variance 0.05", float(regret), float(spread), None, 0.02)


def posterior(score, num_samples: int):
    """Errors of the posterior of the clean function, given noisy sensors, in one function's case.

    One program for all cases: sensors and targets beyond their numbers are masked.
    """
    model = Model(NOISING, score)

    def one(key, most, wanted):
        function_key, count_key, sample_key = jr.split(key, 3)
        x, _, y, noise = sensors(function_key, MOST + MOST_TARGETS)
        count = jr.randint(count_key, (), FEWEST, most + 1, jnp.int32)
        given = (jnp.arange(MOST, dtype=jnp.int32) < count).astype(y.dtype)
        mask = (jnp.arange(MOST_TARGETS, dtype=jnp.int32) < wanted).astype(y.dtype)
        context, settings = (x[:MOST], y[:MOST]), {"noise": noise[:MOST], "mask": given}
        mean, std = CLEAN.condition(*context, **settings).mean_and_std(x[MOST:])
        options = {"key": sample_key, "num_samples": num_samples, "sampler": Amortised(50)}
        samples = model.condition(*context, **settings).sample(x[MOST:], mask=mask, **options)
        error, ratio = (jnp.mean(samples, axis=0) - mean) / std, jnp.std(samples, axis=0) / std
        return tuple(jnp.sum(mask * v) / jnp.sum(mask) for v in (error[:, 0] ** 2, ratio[:, 0]))

    @jax.jit
    def run(keys, most, wanted):
        return jax.lax.map(lambda key: one(key, most, wanted), keys, batch_size=8)

    return run


def posterior_rows(name: str, squares: np.ndarray, ratios: np.ndarray) -> list[Row]:
    """Mean and standard deviation over functions, with standard errors."""
    root = np.sqrt(len(squares))
    rms, error = float(np.sqrt(squares.mean())), float(squares.std() / root)
    ratio, spread = float(ratios.mean()), float(ratios.std() / root)
    return [
        Row(f"mean, {name}: rms error in standard deviations", rms, error / (2 * rms), None, 0.1),
        Row(f"standard deviation, {name}: ratio", ratio, spread, 0.95, 1.05),
    ]


def evaluated(score, num: int, num_samples: int = 1024) -> list[Row]:
    """The density, and posteriors in all cases."""
    with jax.default_matmul_precision("highest"):
        rows, run = [density_row(score, 8 * num, jr.key(9))], posterior(score, num_samples)
        for i, (name, case) in enumerate(CASES.items()):
            print(rows[-1], flush=True)
            numbers = (jnp.asarray(number, jnp.int32) for number in case)
            found = run(jr.split(jr.key(10 + i), num), *numbers)
            rows += posterior_rows(name, *map(np.asarray, found))
    return rows


def main(arguments: list[str] | None = None) -> bool:
    """Read the arguments, train, evaluate, report."""
    defaults = {"steps": 40_000, "batch": 1024, "peak": 3e-3, "tests": 256}
    arguments_parser = parser(__doc__.splitlines()[0], **defaults)
    arguments_parser.add_argument("--lowered-share", type=float, default=0.5)
    arguments_parser.add_argument("--noisy-context-share", type=float, default=0.75)
    options = arguments_parser.parse_args(arguments)
    known = KnownNoise(
        lowered_share=options.lowered_share, noisy_context_share=options.noisy_context_share
    )
    loss = dataclasses.replace(default_loss("real"), known_noise=known)
    sizes = {"num_frequencies": 10, "min_wavelength": 0.3, "max_wavelength": 8.0}
    score = network(options, 1, **sizes)
    score = trained(options, score, NOISING, Sensors(options.batch), loss)
    rows = evaluated(score, options.tests)
    return report("Known noise", options, score, rows)


if __name__ == "__main__":
    main()
