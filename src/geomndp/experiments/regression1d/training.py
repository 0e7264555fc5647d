"""The models of the 1D regression table, and how they are trained."""

from __future__ import annotations

import optax

from geomndp import _validation
from geomndp._types import PRNGKeyArray
from geomndp.data import ContextSampler, ProcessGenerator, Regression1D, regression1d
from geomndp.experiments.regression1d.experiment import MODELS
from geomndp.gp import GP, Constant
from geomndp.kernels import White
from geomndp.model import Model
from geomndp.nets import BiDimensionalAttention, RelativeAttention
from geomndp.noising import DEFAULT_SCHEDULE_1D, OrnsteinUhlenbeck
from geomndp.score import NetworkScore
from geomndp.train import DenoisingLoss, adam, default_loss

NDP = {"pre_norm": True, "num_frequencies": 16, "min_wavelength": 0.1, "max_wavelength": 8.0}
"""NDP* with normalised tokens and Fourier features of the inputs, as on vector fields.

With raw inputs it learnt nothing of the sawtooth. The longest wavelength is twice the range of the
training inputs.
"""
FINE = {"min_wavelength": 0.02, "num_frequencies": 24}
"""Sawtooths have features at a tenth of the lengths of the Gaussian sets."""


def problem_for(name: str) -> Regression1D:
    """Data set of a model.

    Args:
        name: One of `MODELS`.

    Raises:
        ValueError: If there is no such model.
    """
    _validation.one_of("model", name, tuple(MODELS))
    spec = MODELS[name]
    return regression1d(spec.suite, spec.dataset)


def exact_process(name: str) -> GP | None:
    """The Gaussian process that the functions of a model follow, None where they are not Gaussian.

    Args:
        name: One of `MODELS`.
    """
    return problem_for(name).process.gp


def make_model(
    name: str, *, key: PRNGKeyArray, compute_dtype: str | None = None, **options
) -> Model:
    """Untrained model: white limiting kernel with the data's variance, beta from 0 to 10.

    Args:
        name: One of `MODELS`.
        key: Random key of the parameters.
        compute_dtype: Precision inside the network, such as "bfloat16"; parameters are float32.
        **options: Hyperparameters of the network.
    """
    data = problem_for(name)
    process = data.process
    kernel = White(process.variance)
    frequencies = FINE if data.name in ("sawtooth", "mixture") else {}
    options |= {"compute_dtype": compute_dtype, "dtype": "float32", "key": key}
    if MODELS[name].invariant:
        net = RelativeAttention(1, 1, **frequencies | options)
    else:
        net = BiDimensionalAttention(1, 1, **NDP | frequencies | options)
    mean = Constant(process.mean) if process.mean else None
    noising = OrnsteinUhlenbeck(kernel, DEFAULT_SCHEDULE_1D, mean)
    return Model(noising, NetworkScore(net)).with_variables("x", "y")


def make_loss() -> DenoisingLoss:
    """Default loss (best in the ablation): dense times near zero, likelihood weights."""
    return default_loss("real")


def make_generator(name: str, batch_size: int = 256) -> ProcessGenerator:
    """Training functions, small contexts as in the tests; two are packed into one row.

    Half of the batches have log-uniform numbers of points: with uniform ones of 60 the density of
    one value without context was 0.34 nats too low at zero.
    """
    problem = problem_for(name)
    options = {"contexts": ContextSampler(few=problem.contexts[1]), "log_share": 0.5}
    return problem.generator(batch_size, packed=batch_size % 2 == 0, **options)


def make_optimiser(name: str, steps: int) -> optax.GradientTransformation:
    """Adam; the pre-norm network tolerates, and gains from, three times the paper's rate."""
    return adam(steps, peak=3e-3 if MODELS[name].invariant else 1e-3)
