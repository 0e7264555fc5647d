"""Sampled tracks of a storm, given its first ten fixes."""

from __future__ import annotations

from pathlib import Path

import jax.numpy as jnp
import numpy as np

from geomndp import _model_files
from geomndp._types import PRNGKeyArray
from geomndp.experiments.demo.report import Number, Section, with_error
from geomndp.geometry.geodesy import to_unit
from geomndp.model import load
from geomndp.plot import fan_map, save_figure
from geomndp.samplers import Amortised
from geomndp.summaries import closest_approach, probability, track_spread

MODEL = "cyclones/ibtracs"
STEP_HOURS = 3
AHEAD = 24  # target points: three days
LATITUDES = (15.2, 15.4, 15.5, 15.7, 15.9, 16.0, 16.2, 16.4, 16.7, 16.9)
LONGITUDES = (-52.0, -52.5, -53.0, -53.5, -54.1, -54.6, -55.2, -55.7, -56.2, -56.8)
ANTIGUA = (17.1, -61.8)
NEAR_KM = 150.0


def show_track(folder: Path, *, key: PRNGKeyArray, num_samples: int, steps: int) -> Section:
    """Condition the model on a storm that was made up, draw, summarise."""
    hours = STEP_HOURS * np.arange(len(LATITUDES) + AHEAD)
    x = jnp.asarray(hours[:, None] / 24, "float32")
    known = jnp.asarray(to_unit(np.array(LATITUDES), np.array(LONGITUDES)), "float32")
    context, ahead = (x[: len(known)], known), x[len(known) :]
    options = {"key": key, "num_samples": num_samples, "sampler": Amortised(steps)}
    samples = load(MODEL).condition(*context).sample(ahead, **options)
    spread, error = track_spread(samples)
    near = closest_approach(samples, *ANTIGUA, time=ahead[:, 0]).distance < NEAR_KM
    share, doubt = (float(part[0]) for part in probability(near[:, None], lambda near: near))
    rows = {hours: hours // STEP_HOURS - 1 for hours in (24, 48)}
    return Section(
        "A cyclone track forecast",
        f"{num_samples} sampled tracks for the next {AHEAD * STEP_HOURS} hours of a made-up storm "
        f"off the Antilles, by the model {MODEL}, given ten fixes at intervals of {STEP_HOURS} "
        "hours. The model lives on the sphere: no map and no date line is special to it. It has "
        "seen tracks only, no weather: this is no forecast to act upon.",
        _figure(folder / "track.png", ahead, samples, context),
        [
            *(
                Number(
                    f"spread of the tracks after {after} hours",
                    with_error(float(spread[row]), float(error[row]), "km", 0),
                    _expected(index),
                )
                for index, (after, row) in enumerate(rows.items())
            ),
            Number(
                f"chance to pass within {NEAR_KM:.0f} km of Antigua",
                with_error(100 * share, 100 * doubt, "%", 0),
                "Monte Carlo error",
            ),
        ],
    )


def _expected(index: int) -> str:
    """Mean error of the model's forecasts at a lead, as measured when it shipped."""
    measured = _model_files.metadata(MODEL)["metrics"].get("extrapolation", {})
    errors = measured.get("lead_errors")
    if errors is None:
        return ""
    return f"{errors[index]:.0f} km mean error from 20 fixes, {measured['num']} storms held out"


def _figure(path: Path, x, samples, context) -> Path:
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(7, 5.4))
    title = f"{len(samples)} sampled tracks given ten fixes"
    fan_map(x, samples, context=context, title=title, ax=ax)
    ax.legend(loc="upper right")
    return save_figure(figure, path)
