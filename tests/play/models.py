"""Small models of every scene whose laws are known, so that nothing is trained."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np

import geomndp as gn
from geomndp.play import Session
from geomndp.score.base import AbstractScore

GP_1D = gn.gp.GP(gn.kernels.SquaredExponential(0.5), noise=0.01)
WINDS = gn.gp.GP(gn.kernels.SphereCurlFree(gn.kernels.ZonalExponential(0.5)), noise=0.01)
GP_2D = gn.gp.GP(gn.kernels.DivergenceFree(1.0), noise=0.01)


class WholeRows(AbstractScore):
    """An exact score whose outputs are one vector."""

    score: gn.score.GaussianScore
    conditional = True
    pads = True

    def __call__(self, noising, t, x, y, mask=None):
        return self.score(noising, t, x, y, mask)


class Uniform(AbstractScore):
    """Score of tracks whose points lie anywhere on the sphere."""

    conditional: bool = eqx.field(default=True, static=True)
    pads = True

    def __call__(self, noising, t, x, y, mask=None):
        return jnp.zeros_like(y)


def support(inputs: int, outputs) -> gn.model.TrainingSupport:
    ranges = ((-2.0, 2.0),) * inputs
    return gn.model.TrainingSupport(ranges, outputs, (4.0,) * inputs, 0.01, 1000, 1000, (0.0, 10.0))


def line_model() -> gn.Model:
    noising = gn.noising.OrnsteinUhlenbeck(gn.kernels.White(), gn.noising.LinearSchedule(0.0, 10.0))
    ranges = support(1, ((-3.0, 3.0),))
    model = gn.Model(noising, gn.score.GaussianScore(GP_1D), support=ranges)
    return model.with_variables("x", "y")


def plane_model() -> gn.Model:
    kernel = gn.kernels.Diagonal(gn.kernels.White(), 2)
    noising = gn.noising.OrnsteinUhlenbeck(kernel, gn.noising.LinearSchedule(1e-4, 15.0))
    score = WholeRows(gn.score.GaussianScore(GP_2D))
    ranges = support(2, ((-3.0, 3.0),) * 2)
    return gn.Model(noising, score, support=ranges).with_variables(("x", "y"), ("u", "v"))


def globe_model() -> gn.Model:
    schedule = gn.noising.LinearSchedule(1e-4, 15.0)
    noising = gn.noising.Brownian(gn.geometry.Sphere(2), schedule)
    ranges = gn.model.TrainingSupport(
        ((0.0, 6.0),), ((-1.0, 1.0),) * 3, (6.0,), 0.1, 50, 49, (0.0, 0.001)
    )
    model = gn.Model(noising, Uniform(), support=ranges)
    return model.with_variables("time", ("lat", "lon"), units={"time": "days"})


def exact(gp: gn.gp.GP, model: gn.Model) -> gn.ProcessModel:
    names, ranges = model.variables, model.support
    process = gn.ProcessModel(gp, support=ranges)
    return process.with_variables(names.input_names, names.output_names)


def line_session(**start) -> Session:
    model = line_model()
    return Session(model, "line", exact(GP_1D, model), {"samples": 8, "targets": 12, **start})


def plane_session(**start) -> Session:
    model = plane_model()
    return Session(model, "plane", exact(GP_2D, model), {"samples": 4, "targets": 4, **start})


def globe_session(**start) -> Session:
    return Session(globe_model(), "globe", None, {"samples": 4, "targets": 5, **start})


def earth_session(**start) -> Session:
    model = gn.ProcessModel(WINDS).with_variables(("lat", "lon"), ("u", "v"), domain="sphere")
    return Session(model, "earth", model, {"samples": 4, "targets": 4, **start})


SESSIONS = {"line": line_session, "plane": plane_session, "globe": globe_session}
OBSERVED = {
    "line": [{"x": [-0.5], "y": [1.0], "std": 0.0}, {"x": [0.7], "y": [-0.4], "std": 0.1}],
    "plane": [{"x": [0.5, -0.5], "y": [1.0, 0.5], "std": 0.0}],
    "globe": [{"x": [0.0], "y": [15.0, -50.0], "std": 20.0}],
    "earth": [{"x": [10.0, 20.0], "y": [1.0, 0.5], "std": 0.1}],
}


def finite(value) -> bool:
    """Whether all numbers of parsed JSON are finite."""
    if isinstance(value, dict):
        return all(map(finite, value.values()))
    if isinstance(value, list):
        return all(map(finite, value))
    return not isinstance(value, float) or bool(np.isfinite(value))
