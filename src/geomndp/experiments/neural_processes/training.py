"""The neural processes of the comparison, and how they are trained."""

from __future__ import annotations

import optax

from geomndp import _validation
from geomndp._types import PRNGKeyArray
from geomndp.baselines.neural_processes.methods import process_class
from geomndp.baselines.neural_processes.training import NeuralProcessLoss
from geomndp.data import AbstractGenerator, ContextSampler, FieldProblem
from geomndp.experiments.neural_processes.experiment import FIELDS, MODELS
from geomndp.experiments.neural_processes.problems import problem_for
from geomndp.experiments.neural_processes.settings import options_for
from geomndp.model import ProcessModel
from geomndp.train import adam

FIELD_CONTEXTS = 50
"""Most context points of a field with a small context, as in Holderrieth et al. 2021."""
PEAK_LEARNING_RATE = 1e-3
"""Twice the constant rate of the authors of 2020, in trainings that are shorter and end low."""


def make_model(
    name: str, *, key: PRNGKeyArray, compute_dtype: str | None = None, **options
) -> ProcessModel:
    """Untrained neural process in the units of its functions.

    Args:
        name: One of `MODELS`.
        key: Random key of the parameters.
        compute_dtype: Precision inside the network, such as "bfloat16"; parameters are float32.
        **options: Hyperparameters, in place of those of `settings.options_for`.

    Returns:
        The process as a model with names of its inputs and outputs.
    """
    _validation.one_of("model", name, tuple(MODELS))
    spec = MODELS[name]
    dim = 2 if spec.suite == FIELDS else 1
    chosen = {**options_for(spec), **options, "dtype": "float32"}
    if compute_dtype is not None:
        chosen["compute_dtype"] = compute_dtype
    process = process_class(spec.method)(dim, dim, key=key, **chosen)
    if dim == 1:
        return ProcessModel(process).with_variables("x", "y")
    return ProcessModel(process).with_variables(("x", "y"), ("u", "v"))


def make_loss() -> NeuralProcessLoss:
    """Negative log-density of the targets given the context, or the process's own bound."""
    return NeuralProcessLoss()


def make_generator(name: str, batch_size: int = 64) -> AbstractGenerator:
    """Fresh training functions, all with a context.

    Half of the contexts are as small as in the tests; the others have up to all points but one, as
    an autoregressive model sees them. All other points are targets.
    """
    _validation.one_of("model", name, tuple(MODELS))
    problem = problem_for(*MODELS[name][:2])
    if isinstance(problem, FieldProblem):
        contexts = ContextSampler(share=1.0, few=FIELD_CONTEXTS)
        return problem.generator(batch_size, contexts=contexts, dtype="float32")
    contexts = ContextSampler(share=1.0, few=problem.contexts[1])
    return problem.generator(batch_size, contexts=contexts, full=True, dtype="float32")


def make_optimiser(name: str, steps: int) -> optax.GradientTransformation:
    """Adam with warm-up and cosine decay."""
    return adam(steps, peak=PEAK_LEARNING_RATE)
