"""The classes of the package under their tags, and those of users."""

from __future__ import annotations

from typing import Any

import equinox as eqx

from geomndp import _model_files, geometry, kernels, nets, noising, score
from geomndp._training_log import TrainingSupport
from geomndp.data import AbstractTransform, Normaliser
from geomndp.data.frames import AbstractFrame
from geomndp.data.start_density import StartDensity
from geomndp.gp import GP
from geomndp.predictive import AbstractProcess
from geomndp.tables import Variable, Variables

ROLES: dict[str, Any] = {
    "density": StartDensity,
    "frame": AbstractFrame,
    "kernel": kernels.AbstractKernel,
    "manifold": geometry.AbstractManifold,
    "mean": eqx.Module,
    "net": nets.AbstractNet,
    "noising": noising.AbstractNoising,
    "normaliser": Normaliser,
    "parametrisation": score.AbstractParametrisation,
    "process": AbstractProcess,
    "schedule": noising.AbstractSchedule,
    "support": TrainingSupport,
    "transform": AbstractTransform,
    "variable": Variable,
    "variables": Variables,
}
"""What a class must be to have a tag of the role."""
_OWN = {
    "noising/brownian": noising.Brownian,
    "noising/ornstein-uhlenbeck": noising.OrnsteinUhlenbeck,
    "normaliser/affine": Normaliser,
    "parametrisation/data": score.PredictData,
    "parametrisation/none": score.PredictScore,
    "parametrisation/precondition-k": score.PreconditionK,
    "parametrisation/precondition-root": score.PreconditionRoot,
    "parametrisation/velocity": score.Velocity,
    "process/gp": GP,
    "schedule/cosine": noising.CosineSchedule,
    "schedule/linear": noising.LinearSchedule,
    "support/ranges": TrainingSupport,
    "variable/plain": Variable,
    "variables/plain": Variables,
}
for _tag, _class in _OWN.items():
    _model_files.add_class(_tag, _class)


def register(tag: str, cls: type | None = None) -> Any:
    """Let model files name a class of your own, under a stable tag.

    Call it wherever the class is defined, before saving and before loading.

    Args:
        tag: `role/name`, such as "net/windows". The roles are kernel, manifold, mean, net, noising,
            parametrisation, process, schedule and transform.
        cls: The class, whose fields are plain (numbers, strings, tuples, other registered classes)
            and are the arguments of its constructor. Without it, a class decorator is returned.

    Returns:
        The class.

    Raises:
        ValueError: If the role is unknown, the class has another one, or the tag is taken.

    Example:
        `gn.register("net/windows", Windows)`, or `@gn.register("net/windows")` above the class.
    """
    if cls is None:
        return lambda decorated: register(tag, decorated)
    role = str(tag).partition("/")[0]
    if role not in ROLES:
        raise ValueError(f"expected a tag of one of the roles {', '.join(ROLES)}, got {tag!r}")
    if not isinstance(cls, type) or not issubclass(cls, ROLES[role]):
        expected = ROLES[role].__name__
        raise ValueError(f"expected a subclass of {expected} for {tag}, got {cls!r}")
    _model_files.add_class(tag, cls)
    return cls
