"""A small model trained from scratch: its regret falls as it learns."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax.random as jr
import numpy as np

from geomndp import _validation
from geomndp._types import PRNGKeyArray
from geomndp.evaluate import ScoreError, score_error
from geomndp.experiments.demo.report import Number, Section, with_error
from geomndp.experiments.regression1d import training as regression1d
from geomndp.model import Model
from geomndp.plot import save_figure, training_curve
from geomndp.score import GaussianScore, NetworkScore
from geomndp.train import History, Log
from geomndp.train.loop import init, run
from geomndp.train.step import divisor

EXPERIMENT = "regression1d/se"
SMALL: dict[str, Any] = {"width": 32, "num_layers": 2, "num_heads": 4}
BATCH_SIZE = 32
NUM_EVALUATIONS = 5  # after the start, each about twice as late as the one before
DECAY = 0.99  # of the average over parameters


class Learnt(NamedTuple):
    """Regret (nats per point) after numbers of steps, and what training saw."""

    model: Model
    steps: list[int]
    score_errors: list[ScoreError]
    history: History


def learn(steps: int, *, key: PRNGKeyArray, log: Callable[[str], None]) -> Learnt:
    """Train a small network on squared-exponential functions and evaluate it on the way."""
    _validation.at_least(1, steps=steps)
    problem = regression1d.problem_for(EXPERIMENT)
    model_key, train_key, error_key = jr.split(key, 3)
    model = regression1d.make_model(EXPERIMENT, key=model_key, **SMALL)
    assert isinstance(model.score, NetworkScore)
    generator = problem.generator(BATCH_SIZE, dtype="float32")
    loss, optimiser = regression1d.make_loss(), regression1d.make_optimiser(EXPERIMENT, steps)
    trainer, state = init(
        model.score, model.noising, generator, loss, optimiser, key=train_key, ema_decay=DECAY
    )
    exact, history, score_errors = GaussianScore(problem.exact()), Log(None), []
    chunk = divisor(steps, 10)
    marks = _evaluation_steps(steps, chunk)
    for mark in (0, *marks):
        if mark:
            state, _ = run(trainer, state, steps=mark, chunk=chunk, log=history, quiet=True)
        score = dataclasses.replace(trainer.score(state.ema_params), conditional=True)
        model = dataclasses.replace(model, score=score)
        options = {"key": error_key, "mode": "conditional", "batches": 8, "cells": 16}
        score_errors.append(score_error(model, exact, generator, **options))
        log(f"training: step {mark} of {steps}, regret {score_errors[-1].value:.3f} nats per point")
    return Learnt(model, [0, *marks], score_errors, history.history())


def _evaluation_steps(steps: int, chunk: int) -> list[int]:
    """Steps at which the model is evaluated, the last one at the end; whole chunks: one program."""
    return sorted({max(round(steps / 2**k / chunk), 1) * chunk for k in range(NUM_EVALUATIONS)})


def show_learning(
    folder: Path, *, steps: int, key: PRNGKeyArray, log: Callable[[str], None]
) -> Section:
    """Train, and draw loss and regret."""
    learnt = learn(steps, key=key, log=log)
    first, last = learnt.score_errors[0], learnt.score_errors[-1]
    return Section(
        "A model trained from scratch",
        f"A small model of the same functions of one input, trained here for {steps} steps of "
        f"{BATCH_SIZE} functions on this machine: its loss, and its regret, the likelihood that it "
        "loses to the exact process, forecast by the error of its score.",
        _figure(folder / "learning.png", learnt),
        [
            Number(
                f"regret after {done} steps",
                with_error(error.value, error.standard_error, "nats per point"),
                "0 for the exact process",
            )
            for done, error in ((0, first), (steps, last))
        ],
    )


def _figure(path: Path, learnt: Learnt) -> Path:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(10, 3.4))
    training_curve(learnt.history, title="loss of training", ax=axes[0])
    values, errors = (
        np.array([getattr(g, n) for g in learnt.score_errors]) for n in ScoreError._fields[:2]
    )
    axes[1].errorbar(learnt.steps, values, errors, marker="o", ms=4, capsize=2)
    axes[1].set(title="regret", xlabel="step", ylabel="nats per point", yscale="log")
    axes[1].set_xscale("symlog", linthresh=max(learnt.steps[1], 1))
    axes[1].set_xlim(left=0)
    figure.tight_layout()
    return save_figure(figure, path)
