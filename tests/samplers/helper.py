"""One list of samplers and one of problems: a new one of either inherits every check."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr

from geomndp import kernels, law, noising, samplers, score, solve
from geomndp.gp import GP
from geomndp.samplers.program import shape_of

from ..cases import quick

SE, White = kernels.SquaredExponential, kernels.White
SCHEDULE = noising.LinearSchedule(0.0, 10.0)
EPS = 5e-4
SE_DATA = GP(SE(0.25), noise=0.05**2)
FIELDS = GP(kernels.CurlFree(1.5), noise=0.05**2)
LIMITS = {
    "white": White(),
    "nugget": SE(1.0) + White(0.05),
    "fields-white": kernels.Diagonal(White(), 2),
    "fields": kernels.CurlFree(1.0) + kernels.Diagonal(White(0.05), 2),
}

# Every sampler with a law, with few steps: it need not be near the posterior, only near its law.
SAMPLERS: dict[str, samplers.AbstractSampler] = {
    "amortised": samplers.Amortised(6),
    "amortised-em": samplers.Amortised(6, solve.EulerMaruyama(), solve.UniformTimeGrid()),
    "flow": samplers.flow(3),
    "moment-matching": samplers.MomentMatching(6),
    "moment-matching-cg": samplers.MomentMatching(6, solve.Exponential(), max_dense=0),
    **{f"langevin-{scheme}": samplers.Langevin(4, 3, scheme) for scheme in ("inner", "outer")},
    **{f"langevin-{scheme}": samplers.Langevin(4, 3, scheme) for scheme in ("path", "none")},
    "kinetic": samplers.KineticLangevin(4, 3),
    "repaint": samplers.RePaint(4, 3),
    "replacement": samplers.Replacement(6),
}
# With hardly any steps, for tests that unroll them.
SHORT: dict[str, samplers.AbstractSampler] = {
    "amortised": samplers.Amortised(3),
    "moment-matching": samplers.MomentMatching(3),
    "kinetic": samplers.KineticLangevin(2, 2),
    "repaint": samplers.RePaint(2, 2),
}


class Case(NamedTuple):
    """A problem with Gaussian data, and the exact posterior."""

    problem: samplers.Problem
    gp: GP
    noise: float

    def truth(self):
        observations = self.problem.observations
        posterior = self.gp.condition(observations.x, observations.y, self.noise)
        return posterior.mean_and_covariance(self.problem.x)


def shift(x):
    """Mean of a limiting law."""
    return 0.3 * jnp.ones((len(x), 1), dtype=x.dtype)


def case(limit="white", m=3, n=8, noise=0.0, *, key, repeats=False, mean=None, width=1.0) -> Case:
    """Observations of a random function at m points, targets at n others."""
    kernel = LIMITS[limit]
    gp = SE_DATA if kernel.dim == 1 else FIELDS
    x, y = hurried(lambda key: random_function(gp, m, n, noise, repeats, width, key=key), key)
    observations = samplers.Observations(x[:m], y[:m], jnp.full(m, noise), noise > 0)
    process = noising.OrnsteinUhlenbeck(kernel, SCHEDULE, mean)
    problem = samplers.Problem(process, score.GaussianScore(gp), x[m:], observations, EPS)
    return Case(problem, gp, noise)


def random_function(gp, m, n, noise, repeats, width, *, key):
    """Inputs, and noisy values; `repeats`: two observations and a target at one point."""
    x_key, y_key, noise_key = jr.split(key, 3)
    x = jr.uniform(x_key, (m + n, gp.dim), minval=-width, maxval=width)
    if repeats:
        x = x.at[1].set(x[0]).at[m].set(x[0])
    y = gp.sample(x, key=y_key)
    return x, y + noise**0.5 * jr.normal(noise_key, y.shape)


def hurried(fn, *args):
    """Call a function compiled in a hurry: these programs run once, for far less than a second."""
    dynamic, static = eqx.partition(args, eqx.is_array)
    return quick(lambda d: fn(*eqx.combine(d, static)))(dynamic)


def exact_kl(sampler, *cases: Case) -> float:
    """KL(true posterior || sampler), the median over cases of one kind."""

    def one(case):
        return law.posterior_kl(sampler, case.problem, case.truth())

    if len(cases) == 1:
        return float(hurried(one, cases[0]))
    arrays = [eqx.filter(case, eqx.is_array) for case in cases]
    rest = eqx.filter(cases[0], eqx.is_array, inverse=True)
    stacked = jax.tree.map(lambda *leaves: jnp.stack(leaves), *arrays)
    kls = hurried(lambda all: jax.lax.map(lambda part: one(eqx.combine(part, rest)), all), stacked)
    return float(jnp.median(kls))


def z_scores(white):
    """Of all means, and of all entries of the covariance, of samples that should be white."""
    count, size = white.shape
    means = jnp.sqrt(count) * jnp.mean(white, axis=0)
    spread = jnp.sqrt(jnp.ones((size, size)) + jnp.eye(size))
    covariances = jnp.sqrt(count) * (white.T @ white / count - jnp.eye(size)) / spread
    return means, covariances


def run_with(program, noises):
    """Result of a program fed with the given noise: that of the start, then one per step."""
    state = program.init(noises[0])
    rest = iter(noises[1:])
    for row in range(len(jax.tree.leaves(program.inputs)[0])):
        inputs = jax.tree.map(lambda leaf, row=row: leaf[row], program.inputs)
        for phase in program.phases:
            for _ in range(phase.repeats):
                state = phase.step(state, inputs, next(rest))
    return program.finish(state)


def noise_for(program, *, key):
    """White noise for every step of a program, in the order of `run_with`."""
    rows = len(jax.tree.leaves(program.inputs)[0])
    shapes = [program.init_noise]
    for _ in range(rows):
        for phase in program.phases:
            shapes += [phase.noise] * phase.repeats
    keys = iter(jr.split(key, sum(map(len, shapes))))
    return [tuple(jr.normal(next(keys), shape_of(spec)) for spec in group) for group in shapes]
