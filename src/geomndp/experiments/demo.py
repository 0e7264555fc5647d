"""A process with an exact score beside its Gaussian process: the two-minute proof.

The score is that of a Gaussian process, so nothing is learnt here: noising, samplers and
likelihood are all that stands between the exact process and these numbers.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import NamedTuple

import jax.numpy as jnp
import jax.random as jr

from geomndp.gp import GP
from geomndp.kernels import SquaredExponential, White
from geomndp.law import posterior_kl
from geomndp.model import Model
from geomndp.noising import LinearSchedule, OrnsteinUhlenbeck
from geomndp.plot import functions_1d, save_figure
from geomndp.samplers import AbstractSampler, Amortised, Langevin, MomentMatching
from geomndp.score import GaussianScore

SAMPLERS: dict[str, AbstractSampler] = {
    "amortised": Amortised(),
    "moment matching": MomentMatching(),
    "Langevin": Langevin(),
}


class Row(NamedTuple):
    """One sampler's line of the table."""

    sampler: str
    evaluations: int
    kl: float
    seconds: float


class Demo(NamedTuple):
    """What the demonstration saw."""

    rows: list[Row]
    log_prob: float
    exact_log_prob: float
    solver_error: float
    targets: int
    figure: Path


def run_demo(folder: str | Path, *, seed: int = 0, num_samples: int = 256) -> Demo:
    """Condition an exact process on five points, compare with the truth, draw one figure."""
    gp = GP(SquaredExponential(0.25), noise=0.05**2)
    model = Model(OrnsteinUhlenbeck(White(), LinearSchedule(0.0, 10.0)), GaussianScore(gp))
    data_key, prior_key, *keys = jr.split(jr.key(seed), 2 + len(SAMPLERS))
    # The targets avoid the observed inputs, where the exact posterior is all but singular.
    x = jnp.linspace(-2, 2, 60)[:, None]
    xc = jnp.asarray([[-1.61], [-1.13], [-0.27], [0.71], [1.47]])
    y = gp.sample(jnp.concatenate([xc, x]), key=data_key)
    yc, y = y[:5], y[5:]
    posterior, exact = model.condition(xc, yc), gp.condition(xc, yc)
    truth = exact.mean_and_covariance(x)
    rows, draws = [], {}
    for (name, sampler), key in zip(SAMPLERS.items(), keys, strict=True):
        start = time.perf_counter()
        draws[name] = posterior.sample(x, key=key, num_samples=num_samples, sampler=sampler)
        draws[name].block_until_ready()
        seconds = time.perf_counter() - start
        problem = posterior.problem(x)
        kl = float(posterior_kl(sampler, problem, truth))
        rows.append(Row(name, sampler.program(problem).evaluations, kl, seconds))
    info = posterior.log_prob_info(x, y)
    prior = model.sample(x, key=prior_key, num_samples=num_samples)
    figure = _figure(Path(folder) / "demo.png", gp, x, prior, draws, (xc, yc), truth)
    return Demo(
        rows,
        float(info.value),
        float(exact.log_prob(x, y)),
        float(info.solver_error),
        len(x),
        figure,
    )


def _figure(path, gp, x, prior, draws, context, truth) -> Path:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 1 + len(draws), figsize=(4 * (1 + len(draws)), 3.2), sharey=True)
    spread = jnp.sqrt(gp.gram(x).diagonal())
    functions_1d(x, prior, exact=(gp.mean_at(x), spread), title="prior", ax=axes[0])
    mean, covariance = truth
    exact = (mean, jnp.sqrt(jnp.diag(covariance)))
    for ax, (name, samples) in zip(axes[1:], draws.items(), strict=True):
        functions_1d(x, samples, context=context, exact=exact, title=name, ax=ax)
    axes[-1].legend(fontsize=7, loc="upper right")
    return save_figure(figure, path)
