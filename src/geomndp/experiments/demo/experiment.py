"""All sections of the demonstration, one after the other, and their page."""

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
from geomndp.experiments.demo.globe import show_globe
from geomndp.experiments.demo.report import Section, write_page
from geomndp.experiments.demo.track import show_track
from geomndp.experiments.demo.training import show_learning
from geomndp.experiments.demo.vector_field import show_field

SAMPLER_STEPS = {"line": 30, "field": 30, "globe": 24, "track": 50}


class DemoResult(NamedTuple):
    """Sections of the demonstration, and their page."""

    sections: list[Section]
    page: Path
    seconds: float


def run_demo(
    folder: str | PathLike[str],
    *,
    seed: int = 0,
    steps: int = 0,
    num_samples: int = 64,
    sampler_steps: int | None = None,
    log: Callable[[str], None] = lambda text: None,
) -> DemoResult:
    """Condition the shipped models and write figures and a page; `steps` trains a small one too.

    Args:
        folder: Folder of `demo.html` and its figures.
        seed: Seed of all random numbers.
        steps: Training steps of a small model; none without.
        num_samples: Samples of every posterior; of the fields, which cost most, a quarter.
        sampler_steps: Steps of every sampler, by default `SAMPLER_STEPS`.
        log: Callback for progress messages.

    Returns:
        Sections of the page, its path, and the time it took.

    Raises:
        ValueError: If a number is out of range or the page cannot be written.
    """
    import matplotlib

    matplotlib.use("Agg")
    start, folder = time.perf_counter(), Path(folder)
    _validation.at_least(2, num_samples=num_samples)
    _validation.at_least(0, steps=steps)
    _atomic_io.check_writable(folder / "demo.html")
    line_key, field_key, track_key, learn_key = jr.split(jr.key(seed), 4)
    taken = SAMPLER_STEPS if sampler_steps is None else dict.fromkeys(SAMPLER_STEPS, sampler_steps)
    log("a function of one input")
    sections = [show_line(folder, key=line_key, num_samples=num_samples, steps=taken["line"])]
    log("a vector field")
    fewer = max(num_samples // 4, 2)
    sections += [show_field(folder, key=field_key, num_samples=fewer, steps=taken["field"])]
    log("a field over the globe")
    globe_key = jr.fold_in(field_key, 1)
    sections += [show_globe(folder, key=globe_key, num_samples=fewer, steps=taken["globe"])]
    log("a cyclone track forecast")
    sections += [show_track(folder, key=track_key, num_samples=num_samples, steps=taken["track"])]
    if steps:
        log(f"training for {steps} steps")
        sections += [show_learning(folder, steps=steps, key=learn_key, log=log)]
    seconds = time.perf_counter() - start
    footer = f"geomndp {version('geomndp')}, seed {seed}, made in {seconds:.0f} seconds."
    title = "Geometric neural diffusion processes at work"
    return DemoResult(sections, write_page(folder / "demo.html", title, sections, footer), seconds)
