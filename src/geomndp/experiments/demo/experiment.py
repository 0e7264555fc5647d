"""All parts of the demonstration, one after the other, and their page."""

from __future__ import annotations

import time
from collections.abc import Callable
from importlib.metadata import version
from os import PathLike
from pathlib import Path
from typing import NamedTuple

import jax.random as jr

from geomndp import _atomic_io, _validation
from geomndp.experiments.demo.function_1d import show_line
from geomndp.experiments.demo.page import write_page
from geomndp.experiments.demo.report import Part
from geomndp.experiments.demo.track import show_track
from geomndp.experiments.demo.training import show_learning
from geomndp.experiments.demo.vector_field import show_field

SAMPLER_STEPS = {"line": 30, "field": 30, "track": 50}


class DemoResult(NamedTuple):
    """What the demonstration found, and its page."""

    parts: list[Part]
    page: Path
    seconds: float


def run_demo(
    folder: str | PathLike[str],
    *,
    seed: int = 0,
    steps: int = 0,
    num_samples: int = 64,
    sampler_steps: int | None = None,
    tell: Callable[[str], None] = lambda text: None,
) -> DemoResult:
    """Condition the shipped models and write figures and a page; `steps` trains a small one too.

    Fields cost most, and have a quarter of the samples. `tell` hears what is going on.
    """
    import matplotlib

    matplotlib.use("Agg")
    start, folder = time.perf_counter(), Path(folder)
    _validation.at_least(2, num_samples=num_samples)
    _validation.at_least(0, steps=steps)
    _atomic_io.check_writable(folder / "demo.html")
    line_key, field_key, track_key, learn_key = jr.split(jr.key(seed), 4)
    taken = SAMPLER_STEPS if sampler_steps is None else dict.fromkeys(SAMPLER_STEPS, sampler_steps)
    tell("a function of one input")
    parts = [show_line(folder, key=line_key, num_samples=num_samples, steps=taken["line"])]
    tell("a vector field")
    fewer = max(num_samples // 4, 2)
    parts += [show_field(folder, key=field_key, num_samples=fewer, steps=taken["field"])]
    tell("the way of a storm")
    parts += [show_track(folder, key=track_key, num_samples=num_samples, steps=taken["track"])]
    if steps:
        tell(f"training for {steps} steps")
        parts += [show_learning(folder, steps=steps, key=learn_key, tell=tell)]
    seconds = time.perf_counter() - start
    footer = f"geomndp {version('geomndp')}, seed {seed}, made in {seconds:.0f} seconds."
    title = "Geometric neural diffusion processes at work"
    return DemoResult(parts, write_page(folder / "demo.html", title, parts, footer), seconds)
