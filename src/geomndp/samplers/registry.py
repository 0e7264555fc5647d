"""Samplers by name, with options from text: what a command line or a settings file needs."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from geomndp import _validation
from geomndp.samplers.adaptive_flow import AdaptiveFlow
from geomndp.samplers.amortised import Amortised, adams, flow
from geomndp.samplers.base import AbstractSampler
from geomndp.samplers.flow_map import FlowMap
from geomndp.samplers.langevin import KineticLangevin, Langevin
from geomndp.samplers.moment_matching import MomentMatching
from geomndp.samplers.problem import Problem, amortises
from geomndp.samplers.repaint import RePaint, Replacement
from geomndp.samplers.twisted_smc import TwistedSMC
from geomndp.solve.exponential_adams import moderate

SAMPLERS: dict[str, Callable[..., AbstractSampler]] = {
    "amortised": Amortised,
    "adams": adams,
    "flow": flow,
    "adaptive-flow": AdaptiveFlow,
    "flow-map": FlowMap,
    "langevin": Langevin,
    "kinetic-langevin": KineticLangevin,
    "moment-matching": MomentMatching,
    "repaint": RePaint,
    "replacement": Replacement,
    "twisted-smc": TwistedSMC,
}
"""Constructors by name."""
Plain = int | float | str


def default_sampler(problem: Problem, steps: int | None = None) -> AbstractSampler:
    """One reverse pass if the score knows contexts, else moment matching.

    Args:
        problem: Model, targets and observations.
        steps: Number of steps in place of the sampler's own.

    Returns:
        `adams` for flat outputs, `Amortised` on a manifold or for a schedule with far more noise
        than usual, or `MomentMatching`.
    """
    make: Callable[..., AbstractSampler] = MomentMatching
    if amortises(problem):
        plain = problem.noising.flat and moderate(problem.noising)
        make = adams if plain else Amortised
    return make() if steps is None else make(steps)


def sampler_names() -> tuple[str, ...]:
    """Names that `by_name` takes."""
    return tuple(SAMPLERS)


def sampler_options(name: str) -> dict[str, Plain]:
    """Options of a sampler that are numbers or words, with their defaults.

    Args:
        name: One of `sampler_names()`.

    Returns:
        Option -> default, in the order of the constructor.

    Raises:
        ValueError: If there is no such sampler.
    """
    parameters = inspect.signature(_constructor(name)).parameters
    defaults = {option: parameter.default for option, parameter in parameters.items()}
    return {option: default for option, default in defaults.items() if isinstance(default, Plain)}


def by_name(name: str, **options: Any) -> AbstractSampler:
    """Build a sampler from its name.

    Args:
        name: One of `sampler_names()`.
        **options: Arguments of its constructor; text is read as a number where the default is one.

    Returns:
        The sampler.

    Raises:
        ValueError: If the name, an option or a value is not one that there is.

    Example:
        >>> by_name("langevin", steps=40, context="path").steps
        40
    """
    constructor, plain = _constructor(name), sampler_options(name)
    known = tuple(inspect.signature(constructor).parameters)
    for option in options:
        _validation.one_of(f"option of {name}", option, known)
    return constructor(**{k: _read(k, v, plain.get(k)) for k, v in options.items()})


def from_text(text: str, **options: Any) -> AbstractSampler:
    """Build a sampler from one line of text, `NAME` or `NAME:OPTION=VALUE,OPTION=VALUE`.

    Args:
        text: Such as "amortised:steps=100".
        **options: Further options, which replace those of the text.

    Returns:
        The sampler.

    Raises:
        ValueError: As `by_name`, and for text of another form.

    Example:
        >>> from_text("langevin:steps=40,context=path").context
        'path'
    """
    name, _, rest = text.partition(":")
    stated = {}
    for item in filter(None, rest.split(",")):
        option, equals, value = item.partition("=")
        if not equals:
            raise ValueError(f"expected OPTION=VALUE after {name}:, got {item!r}")
        if (option := option.strip()) in stated:
            raise ValueError(f"expected {option} once after {name}:, got it twice")
        stated[option] = value.strip()
    return by_name(name.strip(), **(stated | options))


def _constructor(name: str) -> Callable[..., AbstractSampler]:
    _validation.one_of("sampler", name, sampler_names())
    return SAMPLERS[name]


def _read(option: str, value: Any, default: Plain | None) -> Any:
    """Value of an option: text becomes a number of the default's type."""
    if not isinstance(value, str) or default is None or isinstance(default, str):
        return value
    try:
        return type(default)(value)
    except ValueError as error:
        what = "a whole number" if isinstance(default, int) else "a number"
        raise ValueError(f"expected {what} for {option}, got {value!r}") from error
