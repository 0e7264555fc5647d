"""Samples in few evaluations of a score: variance and divergence by the exact law of a sampler.

python benchmarks/few_steps.py [--side 12] [--contexts 10] [--modes]

`--modes` prints the ratio of variances for single points with a white process, by its variance over
the limiting one: a Gaussian process with a white limiting kernel is a sum of such modes, one per
eigenvalue of its covariance.

The divergence-free field of `vector-fields/div-free` on a square grid with its exact score, so that
nothing but the sampler errs, without observations and given some of the points. "variance" is the
mean variance of a value over the exact one, "KL" is in nats per point (`geomndp.law`). What a
network knows comes on top.
"""

import argparse

import _threads  # noqa: F401
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from _table import markdown
from points import lattice

import geomndp as gn
from geomndp import law
from geomndp.experiments.vector_fields.training import problem_for
from geomndp.gp import GP
from geomndp.model.sampling import sampling_problem
from geomndp.noising import DEFAULT_SCHEDULE, DEFAULT_SCHEDULE_1D
from geomndp.samplers import AbstractSampler, Amortised, Problem, adams, flow
from geomndp.samplers.problem import no_observations
from geomndp.score import GaussianScore
from geomndp.solve import LogSnrTimeGrid

NAME = "vector-fields/div-free"
SNR = LogSnrTimeGrid(1e-3)
SAMPLERS: dict[str, AbstractSampler] = {
    **{f"Amortised({steps})": Amortised(steps) for steps in (8, 16, 20, 30, 50)},
    **{f"adams({steps})": adams(steps) for steps in (8, 12, 16, 20, 24, 32)},
    **{f"adams({steps}, floor=0.01)": adams(steps, 0.01, 3) for steps in (8, 10, 12)},
    "adams(24, start_terms=0)": adams(24, start_terms=0),
    **{f"flow({steps})": flow(steps) for steps in (2, 4, 5, 8, 12)},
    **{f"flow({steps}), LogSnrTimeGrid": flow(steps, time_grid=SNR) for steps in (2, 4, 5, 8)},
}
MODES = ("Amortised(50)", "adams(12)", "adams(24)", "adams(24, start_terms=0)")
VARIANCES = (1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0, 30.0, 100.0, 300.0, 1000.0)


def compare(posterior, x, exact, sampler) -> tuple[float, float]:
    """Ratio of variances, and divergence per point from the exact covariance (k, k)."""
    _, problem = sampling_problem(posterior, x, jr.key(0), 1, sampler)
    mean, covariance = exact
    found = jax.jit(lambda: law.sampler_law(sampler, problem))()
    error, variance = found[0] - mean, np.trace(found[1]) / np.trace(covariance)
    solved = np.linalg.solve(covariance, np.column_stack([found[1], error]))
    logs = [np.linalg.slogdet(np.asarray(part))[1] for part in (covariance, found[1])]
    kl = np.trace(solved[:, :-1]) + error @ solved[:, -1] - len(error) + logs[0] - logs[1]
    return float(variance), float(kl / 2 / len(x))


def mode_ratios(sampler, schedule) -> list[float]:
    """Variance of a sample over the exact one, at a point of white processes of all `VARIANCES`."""
    noising = gn.noising.OrnsteinUhlenbeck(gn.kernels.White(), schedule)
    x, t_min = jnp.zeros((1, 1)), gn.Model(noising, GaussianScore(GP(gn.kernels.White()))).t_min

    def ratio(variance):
        score = GaussianScore(GP(gn.kernels.White(variance)))
        problem = Problem(noising, score, x, no_observations(1, 1, x.dtype), t_min)
        _, exact = score.law(noising, jnp.asarray(t_min), x)
        return law.sampler_law(sampler, problem)[1][0, 0] / exact.dense()[0, 0]

    return jax.jit(jax.vmap(ratio))(jnp.asarray(VARIANCES)).tolist()


def print_modes() -> None:
    """Ratios of variances by mode, for the schedules of shipped models."""
    schedules = {"1D": DEFAULT_SCHEDULE_1D, "fields": DEFAULT_SCHEDULE}
    rows = [
        [name, label, *(f"{value:.3f}" for value in mode_ratios(SAMPLERS[name], schedule))]
        for label, schedule in schedules.items()
        for name in MODES
    ]
    print(markdown(["sampler", "schedule", *(f"{v:g}" for v in VARIANCES)], rows))


def main() -> None:
    """Read the arguments, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--side", type=int, default=12)
    parser.add_argument("--contexts", type=int, default=10)
    parser.add_argument("--modes", action="store_true")
    options = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    if options.modes:
        return print_modes()
    gp = problem_for(NAME).gp
    model = gn.Model(gn.load(NAME).noising, GaussianScore(gp))
    points = np.random.default_rng(0).permutation(np.asarray(lattice(options.side), np.float64))
    given, x = points[: options.contexts], jnp.asarray(points[options.contexts :])
    values = gp.sample(jnp.asarray(given), key=jr.key(0))
    laws = [(model.condition(), gp), (model.condition(given, values), gp.condition(given, values))]
    rows = []
    for name, sampler in SAMPLERS.items():
        row = [name, str(sampler.program(laws[0][0].problem(x)).evaluations)]
        for posterior, process in laws:
            mean, covariance = process.mean_and_covariance(x)
            exact = np.ravel(mean), np.asarray(covariance)
            row += [f"{value:.2g}" for value in compare(posterior, x, exact, sampler)]
        rows.append(row)
        print(row, flush=True)
    parts = [f"{what}, {when}" for when in ("prior", "posterior") for what in ("variance", "KL")]
    print(markdown(["sampler", "evaluations", *parts], rows))


if __name__ == "__main__":
    main()
