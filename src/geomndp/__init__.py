"""Geometric Neural Diffusion Processes: generative models of functions that respect symmetries.

Everything is exported lazily (PEP 562): `import geomndp` costs nothing, and a layer is loaded when
it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._deprecated import deprecated_names
from ._threads import use_one_lapack_thread

use_one_lapack_thread()

__version__ = "0.1.0"

_SUBMODULES = (
    "linalg",
    "geometry",
    "equivariance",
    "kernels",
    "marginals",
    "predictive",
    "gp",
    "data",
    "tables",
    "noising",
    "patches",
    "nets",
    "score",
    "solve",
    "train",
    "samplers",
    "likelihood",
    "scale",
    "law",
    "baselines",
    "evaluate",
    "distillation",
    "summaries",
    "plot",
    "experiments",
    "play",
    "widgets",
)

# Name -> the submodule that defines it. No name may equal that of a submodule, which would hide it.
_NAMES = {
    "build": "auto",
    "distil": "distillation",
    "ChartModel": "model",
    "MixtureProcess": "model",
    "Model": "model",
    "Posterior": "model",
    "ProcessModel": "model",
    "LogProb": "predictive",
    "fit": "auto",
    "load": "model",
    "register": "model",
    "simple_models": "auto",
    "OutsideTrainingWarning": "_warnings",
}

if TYPE_CHECKING:
    from . import (
        baselines as baselines,
        data as data,
        distillation as distillation,
        equivariance as equivariance,
        evaluate as evaluate,
        experiments as experiments,
        geometry as geometry,
        gp as gp,
        kernels as kernels,
        law as law,
        likelihood as likelihood,
        linalg as linalg,
        marginals as marginals,
        nets as nets,
        noising as noising,
        patches as patches,
        play as play,
        plot as plot,
        predictive as predictive,
        samplers as samplers,
        scale as scale,
        score as score,
        solve as solve,
        summaries as summaries,
        tables as tables,
        train as train,
        widgets as widgets,
    )
    from ._warnings import OutsideTrainingWarning as OutsideTrainingWarning
    from .auto import build as build, fit as fit, simple_models as simple_models
    from .distillation import distil as distil
    from .model import (
        ChartModel as ChartModel,
        MixtureProcess as MixtureProcess,
        Model as Model,
        Posterior as Posterior,
        ProcessModel as ProcessModel,
        load as load,
        register as register,
    )
    from .predictive import LogProb as LogProb


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        return import_module(f"{__name__}.{name}")
    if name in _NAMES:
        value = getattr(import_module(f"{__name__}.{_NAMES[name]}"), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*_SUBMODULES, *_NAMES, "__version__"])


deprecated_names(__name__, {"groups": "equivariance"})
