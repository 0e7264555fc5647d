"""The 1D regression experiment: what is trained, how, and how it is scored.

Names follow the shipped models: `regression1d/se` is the translation-invariant process of the
suite `paper`, `regression1d/se-ndp` the same without symmetry (NDP*), `regression1d-gnp2020/se`
that of the suite `gnp2020`.
"""

from __future__ import annotations

from typing import NamedTuple

import optax

from geomndp import _validation
from geomndp._types import PRNGKeyArray
from geomndp.auto.defaults import loss_for
from geomndp.data import NAMES, ProcessGenerator, Regression1D, regression1d
from geomndp.gp import Constant
from geomndp.kernels import White
from geomndp.model import Model
from geomndp.nets import BiDimensionalAttention, RelativeAttention
from geomndp.noising import DEFAULT_SCHEDULE_1D, OrnsteinUhlenbeck
from geomndp.score import NetworkScore
from geomndp.train import DenoisingLoss, adam

FOLDERS = {"regression1d": "paper", "regression1d-gnp2020": "gnp2020"}
PAPER_STEPS = 19_200  # 300 epochs of 64 batches


class Experiment(NamedTuple):
    """One model to train: its problem, and whether it is translation-invariant."""

    name: str
    problem: Regression1D
    invariant: bool


def experiment(name: str) -> Experiment:
    """Look up an experiment by the name of its shipped model."""
    _validation.one_of("model", name, names())
    folder, _, short = name.partition("/")
    invariant = not short.endswith("-ndp")
    return Experiment(name, regression1d(FOLDERS[folder], short.removesuffix("-ndp")), invariant)


def names() -> tuple[str, ...]:
    """All experiments: both kinds of model in the suite `paper`, the invariant one in the other."""
    first, second = FOLDERS
    kinds = ("", "-ndp")
    return (
        *(f"{first}/{name}{kind}" for name in NAMES for kind in kinds),
        *(f"{second}/{name}" for name in NAMES),
    )


def make_model(
    this: Experiment, *, key: PRNGKeyArray, compute_dtype: str | None = None, **options
) -> Model:
    """Untrained model: white limiting kernel with the data's variance, beta from 0 to 10.

    Options go to the network.
    """
    process = this.problem.process
    kernel = White(process.variance)
    # Sawtooth waves have features at a tenth of the lengths of the Gaussian sets.
    fine = this.problem.name in ("sawtooth", "mixture")
    options |= {"compute_dtype": compute_dtype, "dtype": "float32", "key": key}
    if this.invariant:
        wave = {"min_wavelength": 0.02, "num_frequencies": 24} if fine else {}
        net = RelativeAttention(1, 1, **wave | options)
    else:
        net = BiDimensionalAttention(1, 1, inputs="absolute", **options)
    mean = Constant(process.mean) if process.mean else None
    noising = OrnsteinUhlenbeck(kernel, DEFAULT_SCHEDULE_1D, mean)
    return Model(noising, NetworkScore(net)).with_variables("x", "y")


def make_loss() -> DenoisingLoss:
    """The recipe that won: times dense near zero, likelihood weights, every point alike."""
    return loss_for("real")


def make_generator(this: Experiment, batch_size: int = 256) -> ProcessGenerator:
    """Training functions; two share a row of points."""
    return this.problem.generator(batch_size, packed=batch_size % 2 == 0)


def make_optimiser(this: Experiment, steps: int) -> optax.GradientTransformation:
    """Adam; the normalised network bears, and gains from, three times the paper's rate."""
    return adam(steps, peak=3e-3 if this.invariant else 1e-3)
