"""Small problems and models for tests of experiments."""

import jax.random as jr

from geomndp import Model
from geomndp.data import Regression1D
from geomndp.data.synthetic import Gaussian
from geomndp.gp import GP
from geomndp.kernels import SquaredExponential, White
from geomndp.nets import RelativeAttention
from geomndp.noising import LinearSchedule, OrnsteinUhlenbeck
from geomndp.score import NetworkScore

RIGHT = GP(SquaredExponential(0.5), noise=0.01)
NOISING = OrnsteinUhlenbeck(White(), LinearSchedule(0.0, 10.0))
SMALL = {"width": 8, "num_layers": 1, "num_heads": 2, "bias_width": 4, "num_frequencies": 2}


def small_problem(process=None, *, targets: int = 3) -> Regression1D:
    """A data set of few points; of the process RIGHT by default."""
    process = Gaussian(RIGHT) if process is None else process
    return Regression1D("paper", "tiny", process, 5, (1, 2), targets)


def network(**options) -> Model:
    """An untrained model."""
    net = RelativeAttention(1, 1, **SMALL, dtype="float32", key=jr.key(0))
    return Model(NOISING, NetworkScore(net, **options))
