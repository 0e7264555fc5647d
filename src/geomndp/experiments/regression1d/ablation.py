r"""Limiting kernel and parametrisation of the score: the paper's ablation, with exact references.

Every setting trains the same network on the same data. Two numbers evaluate it. The score error
$\int \frac{\beta}{2 \sigma^2} E |S^{-1} (u - u^*)|^2 dt$ is the rate at which the reverse process
and the true one drift apart, whatever the limiting kernel (Girsanov's theorem: drifts that differ
by $\beta (u - u^*) / \sigma$ under noise of covariance $\beta S S^T$; see `evaluate.score_error`).
The regret is that of a likelihood on test functions; the exact score's own, of the same limiting
kernel, is what the end at time 1 and the solver leave.

Kernels that are smooth get a little white noise: without it no solve with K is safe in float32.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NamedTuple

import jax.numpy as jnp
import jax.random as jr
import numpy as np

from geomndp.data import Regression1D
from geomndp.evaluate import log_likelihood, score_error, summarise
from geomndp.experiments.regression1d.ablation_configs import (
    AblationConfig,
    ablation_configs,
    measurable,
    with_ablation,
)
from geomndp.experiments.regression1d.training import make_model, make_optimiser, problem_for
from geomndp.likelihood import Flow
from geomndp.model import Model
from geomndp.score import GaussianScore, NetworkScore
from geomndp.solve import PowerTimeGrid
from geomndp.train import DenoisingLoss, Log, TrainingDiverged, init, run, train_steps
from geomndp.train.step import divisor

EXACT = "exact score"
CHUNK = 100


def ablation(
    name: str = "regression1d/se",
    *,
    steps: int,
    num: int = 256,
    chosen: list[AblationConfig] | None = None,
    problem: Regression1D | None = None,
    model: Model | None = None,
    loss: DenoisingLoss | None = None,
    compute_dtype: str | None = None,
    batch_size: int = 256,
    batches: int = 16,
    seed: int = 0,
    workers: int = 16,
) -> list[dict]:
    """Train and measure every setting; one row each, JSON-serialisable.

    `model` gives network and schedule (default: those of the experiment `name`). All programs are
    compiled side by side on `workers` threads, then run one after another.
    """
    problem = problem_for(name) if problem is None else problem
    init_key, train_key = jr.split(jr.key(seed))
    if model is None:
        model = make_model(name, key=init_key, compute_dtype=compute_dtype)
    loss = DenoisingLoss(times=PowerTimeGrid(2.0), reduction="point") if loss is None else loss
    chosen = ablation_configs() if chosen is None else chosen
    generator = problem.generator(batch_size, packed=batch_size % 2 == 0, dtype="float32")
    rate = make_optimiser(name, steps)
    models = {
        setting: with_ablation(model, problem.process.variance, setting) for setting in chosen
    }
    runs = {
        setting: init(_learnt(m), m.noising, generator, loss, rate, key=train_key)
        for setting, m in models.items()
    }
    trained, rows = _train(runs, steps, workers)
    scores = {k: dataclasses.replace(models[k], score=score) for k, score in trained.items()}
    evaluated = {setting: measurable(m) for setting, m in scores.items()}
    measures = AblationMetrics(problem, num, batches)
    for setting, metrics in measure_all(measures, evaluated, workers).items():
        rows.setdefault(setting, {**setting._asdict()}).update(metrics)
    return list(rows.values())


def _train(runs, steps: int, workers: int):
    """Scores of the runs that ended well, and the beginnings of all rows."""
    chunk, trained, rows = divisor(steps, CHUNK), {}, {}

    def compiled(start):  # ordinary calls find the program later
        return train_steps.lower(*start, chunk).compile()  # pyright: ignore

    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(compiled, runs.values()))
    for setting, (trainer, state) in runs.items():
        rows[setting] = {**setting._asdict(), "steps": steps}
        try:
            log = Log(None)
            state, history = run(trainer, state, steps=steps, chunk=chunk, log=log, quiet=True)
        except TrainingDiverged as failure:
            rows[setting]["diverged"] = failure.step
            continue
        rows[setting]["loss"] = float(history.loss[-1])
        score = trainer.score(jnp.asarray(np.asarray(state.ema_params)))
        trained[setting] = dataclasses.replace(score, conditional=True)
    return trained, rows


def _learnt(model: Model) -> NetworkScore:
    assert isinstance(model.score, NetworkScore)
    return model.score


class AblationMetrics(NamedTuple):
    """What is measured, and on how many functions."""

    problem: Regression1D
    num: int
    batches: int

    def score_error(self, model: Model, mode: str) -> dict:
        """Score error of one mode (joint or conditional), on functions like the test's."""
        problem = self.problem
        tasks = problem.tasks(256, seed=1, dtype="float32")
        exact = GaussianScore(problem.exact())
        error = score_error(model, exact, tasks, key=jr.key(2), mode=mode, batches=self.batches)
        return {f"gap_{mode}": [error.value, error.standard_error]}

    def likelihood(self, model: Model) -> dict:
        """Log-density per target, exact divergence, and what it loses to the exact process."""
        problem = self.problem
        tasks, contexts = problem.tasks(self.num, seed=1234, dtype="float32"), problem.contexts[1]
        options = {"flow": Flow(), "route": "conditional"}
        log_probs = log_likelihood(model, tasks, num_context=contexts, **options).per_target()
        exact = log_likelihood(problem.exact(), tasks, num_context=contexts).per_target().value
        return {
            "log_prob": list(summarise(log_probs.value)),
            "regret": list(summarise(exact - log_probs.value)),
            "solver_error": float(jnp.mean(log_probs.solver_error)),
        }


def measure_all(
    measures: AblationMetrics, models: dict[AblationConfig, Model], workers: int
) -> dict[AblationConfig, dict]:
    """Measure all models and the exact score of every limit.

    The first of every limit go side by side, each compiling its program; the others, which need no
    compilation, one after another.
    """
    jobs: dict[tuple[AblationConfig, str], Callable[[], dict]] = {}
    for setting, model in models.items():
        jobs[setting, "joint"] = partial(measures.score_error, model, "joint")
        jobs[setting, "conditional"] = partial(measures.score_error, model, "conditional")
        jobs[setting, "likelihood"] = partial(measures.likelihood, model)
        reference = dataclasses.replace(model, score=GaussianScore(measures.problem.exact()))
        reference_job = AblationConfig(setting.limit, EXACT), "likelihood"
        jobs.setdefault(reference_job, partial(measures.likelihood, reference))
    by_program = {
        (s.limit, s.parametrisation == EXACT, what): (s, what) for s, what in reversed(jobs)
    }
    first = list(by_program.values())
    with ThreadPoolExecutor(workers) as pool:
        done = dict(zip(first, pool.map(lambda job: jobs[job](), first), strict=True))
    rows: dict[AblationConfig, dict] = {}
    for job, measure in jobs.items():
        rows.setdefault(job[0], {}).update(done[job] if job in done else measure())
    return rows
