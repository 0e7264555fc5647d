"""A clean process learnt from noisy sensors alone: a network against the exact process.

python benchmarks/known_noise.py --steps 36000 --folder runs/known_noise --out known_noise.json

Functions of a Gaussian process (SE of lengthscale 0.5) on [-1, 1], seen by 5 to 15 sensors with
noise variances 0.05 to 1. Density: of values with noise 0.05, at that diffusion time, in nats per
value. Posterior of the clean function given noisy sensors: rms error of the mean in posterior
standard deviations, and mean ratio of standard deviations. The sizes by default are for a GPU (four
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
NUM_SAMPLES = 1024
CASES = {  # most sensors, targets; training functions have 15 points at most
    "single targets": (14, 1),
    "5 targets together": (10, 5),
    "20 targets together": (15, 20),
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
        y, count = NOISY.sample(x, key=y_key), jr.randint(count_key, (), FEWEST, MOST + 1)
        mask = (jnp.arange(MOST) < count).astype(y.dtype)
        problem = Problem(NOISING, score, x, nothing, t, mask)
        ours = likelihood_routes.log_prob(Flow(), problem, a * y, mask, None, "conditional").value
        truth = NOISY.log_prob(x, y, mask)
        return truth - ours - jnp.sum(mask) * jnp.log(a), jnp.sum(mask)

    run = jax.jit(lambda keys: jax.lax.map(one, keys, batch_size=256))
    difference, counts = (np.asarray(v) for v in run(jr.split(key, num)))
    regret = difference.sum() / counts.sum()
    spread = np.std(difference - regret * counts) * np.sqrt(num) / counts.sum()
    return Row("regret at noise variance 0.05", float(regret), float(spread), None, 0.02)


def posterior_rows(score, num: int, most: int, targets: int, name: str, *, key) -> list[Row]:
    """Posterior of the clean function at some locations, given 5 to so many noisy sensors."""
    model = Model(NOISING, score)

    def one(key):
        function_key, count_key, sample_key = jr.split(key, 3)
        x, _, y, noise = sensors(function_key, most + targets)
        count = jr.randint(count_key, (), FEWEST, most + 1)
        mask = (jnp.arange(most) < count).astype(y.dtype)
        context, wanted = (x[:most], y[:most]), x[most:]
        settings = {"noise": noise[:most], "mask": mask}
        mean, std = CLEAN.condition(*context, **settings).mean_and_std(wanted)
        posterior = model.condition(*context, **settings)
        options = {"key": sample_key, "num_samples": NUM_SAMPLES, "sampler": Amortised(50)}
        samples = posterior.sample(wanted, **options)
        error = (jnp.mean(samples, axis=0) - mean) / std
        return jnp.mean(error**2), jnp.mean(jnp.std(samples, axis=0) / std)

    run = jax.jit(lambda keys: jax.lax.map(one, keys, batch_size=8))
    squares, ratios = (np.asarray(v) for v in run(jr.split(key, num)))
    rms = float(np.sqrt(squares.mean()))
    errors = (float(squares.std() / (2 * rms * np.sqrt(num))), float(ratios.std() / np.sqrt(num)))
    return [
        Row(f"mean, {name}: rms error in standard deviations", rms, errors[0], None, 0.1),
        Row(f"standard deviation, {name}: ratio", float(ratios.mean()), errors[1], 0.95, 1.05),
    ]


def evaluated(score, num: int, cases=tuple(CASES)) -> list[Row]:
    """The density, and posteriors in the cases."""
    with jax.default_matmul_precision("highest"):
        rows = [density_row(score, 8 * num, jr.key(9))]
        for i, name in enumerate(cases):
            print(rows, flush=True)
            rows += posterior_rows(score, num, *CASES[name], name, key=jr.key(10 + i))
    return rows


def main(arguments: list[str] | None = None) -> bool:
    """Read the arguments, train, evaluate, report."""
    defaults = {"steps": 36_000, "batch": 1024, "peak": 2e-3, "tests": 256}
    arguments_parser = parser(__doc__.splitlines()[0], **defaults)
    arguments_parser.add_argument("--lowered-share", type=float, default=0.5)
    arguments_parser.add_argument("--noisy-context-share", type=float, default=0.5)
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
