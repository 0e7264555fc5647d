"""What the packages export says what its arguments are."""

import inspect
import re
from importlib import import_module

import pytest

# Packages that are documented in full.
PACKAGES = (
    "auto",
    "baselines",
    "cli",
    "data",
    "equivariance",
    "evaluate",
    "experiments.demo",
    "experiments.registry",
    "geometry",
    "gp",
    "kernels",
    "law",
    "likelihood",
    "linalg",
    "marginals",
    "model",
    "noising",
    "play",
    "plot",
    "predictive",
    "samplers",
    "scale",
    "score",
    "solve",
    "summaries",
    "tables",
    "train",
    "widgets",
)
RESULTS = ("ConditionedGP", "Posterior", "TrainingPlan")
"""Classes that users are given and do not make."""


def unexplained(value) -> list[str]:
    """Arguments of a function or a constructor without a line in a section Args or Attributes."""
    places = (value, value.__init__) if inspect.isclass(value) else (value,)
    text = "\n".join(inspect.getdoc(place) or "" for place in places)
    sections = re.findall(r"^(?:Args|Attributes):\n((?:    .*\n?|\n)*)", text, re.MULTILINE)
    named = set(re.findall(r"^    \*{0,2}(\w+)", "".join(sections), re.MULTILINE))
    if inspect.isclass(value):  # a field may have a string of its own below it instead
        source = inspect.getsource(value)
        named |= set(re.findall(r'^    (\w+): .*\n    """', source, re.MULTILINE))
    arguments = inspect.signature(inspect.unwrap(value)).parameters
    return [name for name in arguments if name not in named and not name.startswith("_")]


def exported(package: str) -> dict:
    """Functions of a package, and classes that users make: no abstract ones, tuples or errors."""
    module = import_module(f"geomndp.{package}")
    values = {name: getattr(module, name) for name in module.__all__}
    return {
        name: value
        for name, value in values.items()
        if callable(value)
        and getattr(value, "__module__", "").startswith("geomndp.")
        and not inspect.isabstract(value)
        and not isinstance(value, tuple)  # `Deferred`: documented where it stands
        and not (inspect.isclass(value) and issubclass(value, (tuple, Exception)))
        and name not in RESULTS
    }


@pytest.mark.parametrize("package", PACKAGES)
def test_every_argument_is_explained(package):
    missing = {name: unexplained(value) for name, value in exported(package).items()}
    lines = [f"{name}: {', '.join(args)}" for name, args in missing.items() if args]
    assert not lines, "\n" + "\n".join(lines)
