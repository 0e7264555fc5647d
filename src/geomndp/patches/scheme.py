"""How a large field is cut: the width of a patch, its halo, and how many points it may see."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from geomndp import _validation

MAX_CONTEXT = 2048
MAX_POINTS = 1024


@dataclasses.dataclass(frozen=True)
class Patches:
    r"""A scheme of patches: each is drawn given all points drawn before within its halo.

    Patches of one colour are drawn as if independent given the others, so a patch should be wider
    than the correlation range, and so should the distance that it sees. The error has a closed form
    for a Gaussian process: `geomndp.patches.scheme_kl`.

    Args:
        width: Width of a patch in the units of the inputs, one number, or one per input.
        halo: Distance from a patch up to which it sees drawn points and observations, likewise.
        max_context: Most points that a patch sees; beyond it the nearest are kept, with a warning.
        max_points: Most points of a patch, which is made narrower where the points are dense.
        stride: Coarse-to-fine where it is larger than 1: every `stride`-th point along each
            dimension of a grid, or one of `stride`^d scattered ones, is drawn first, by patches of
            its own, `stride` times as wide for as many points; the others are drawn given these.
        fine_halo: Distance up to which a patch sees points that are not of the coarse field;
            `halo` by default.

    Raises:
        ValueError: If a length or a number is not positive.

    Example:
        `posterior.sample(grid, key=0, patches=gn.patches.Patches(width=15, halo=6))`
    """

    width: Any
    halo: Any
    max_context: int = MAX_CONTEXT
    max_points: int = MAX_POINTS
    stride: int = 1
    fine_halo: Any = None

    def __post_init__(self) -> None:
        fine = self.halo if self.fine_halo is None else self.fine_halo
        for name, value in (("width", self.width), ("halo", self.halo), ("fine_halo", fine)):
            object.__setattr__(self, name, _lengths(name, value))
        numbers = {"max_context": self.max_context, "max_points": self.max_points}
        _validation.at_least(1, **numbers, stride=self.stride)

    @property
    def description(self) -> dict[str, Any]:
        """All settings as JSON can hold them."""
        listed = dataclasses.asdict(self)
        return {k: list(v) if isinstance(v, tuple) else v for k, v in listed.items()}


def _lengths(name: str, value: Any) -> tuple[float, ...]:
    try:
        lengths = tuple(float(part) for part in np.atleast_1d(np.asarray(value)).tolist())
    except (TypeError, ValueError):
        raise ValueError(f"expected {name} as numbers, got {_validation.brief(value)}") from None
    if np.ndim(value) > 1 or not lengths or not all(0 < v < math.inf for v in lengths):
        raise ValueError(f"expected {name} > 0, one number or one per input, got {value!r}")
    return lengths


def from_text(text: str) -> Patches | str:
    """Scheme from a command line: "auto", or "width=15,halo=6" with any options of `Patches`.

    Args:
        text: The text; several lengths of one option are joined by "x": "width=15x2".

    Returns:
        The scheme, or "auto".

    Raises:
        ValueError: If an option is unknown, missing or no number.
    """
    if text == "auto":
        return text
    fields = {field.name: field for field in dataclasses.fields(Patches)}
    options: dict[str, Any] = {}
    for part in text.split(","):
        name, equals, value = part.strip().partition("=")
        if not equals or name not in fields or name in options:
            listed = ", ".join(fields)
            raise ValueError(
                f'expected patches as "auto" or OPTION=NUMBER of {listed}, got {text!r}'
            )
        options[name] = _number(name, value)
    if missing := [name for name in ("width", "halo") if name not in options]:
        raise ValueError(f"expected patches with {missing[0]}=NUMBER, got {text!r}")
    return Patches(**options)


def _number(name: str, text: str) -> Any:
    try:
        if name in ("max_context", "max_points", "stride"):
            return int(text)
        return tuple(float(part) for part in text.split("x"))
    except ValueError:
        raise ValueError(f"expected a number for {name}, got {text!r}") from None
