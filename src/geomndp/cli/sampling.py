"""`geomndp sample` and `geomndp condition`: a file in, samples or their summary out."""

from __future__ import annotations

import dataclasses
import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import jax
import jax.random as jr
import numpy as np
import xarray as xr

from geomndp import _validation
from geomndp._progress import progress
from geomndp.cli import files, geojson
from geomndp.cli.dates import on_dates
from geomndp.cli.early import Request
from geomndp.cli.requests import Condition, Draw, Sample
from geomndp.model import Model, Posterior, load
from geomndp.samplers import Amortised
from geomndp.summaries import describe
from geomndp.tables import Variables, noise_from_km, read_time_origin
from geomndp.tables.to_arrays import numeric, read_columns

VARIANCE = "variance of the errors"
Law = Model | Posterior


def sample(command: Sample, request: Request) -> None:
    """Draw functions."""
    with _loaded(command) as (model, names):
        origin = read_time_origin(names, command.origin)
        _finish(command, model, names, _where(command, request.at, names, origin))


def condition(command: Condition, request: Request) -> None:
    """Draw functions given observations."""
    with _loaded(command) as (model, names):
        table, noise = _with_noise(request.observations, command.error, names)
        posterior = model.condition(table, noise=noise, time_origin=command.origin)
        _finish(
            command, posterior, names, _where(command, request.at, names, posterior.time_origin)
        )


def _where(command: Draw, at: xr.Dataset, names: Variables, origin: str | None) -> xr.Dataset:
    """Target locations; numbers of a range are times after the origin, where there is one."""
    return at if files.is_file(command.at[0]) else on_dates(at, names, origin)


@contextmanager
def _loaded(command: Draw) -> Iterator[tuple[Model, Variables]]:
    """The model and its names, computing as asked."""
    with jax.enable_x64(command.dtype == "float64"), jax.default_device(_device(command.device)):
        model = load(command.name)
        assert model.variables is not None
        if command.out is not None and command.out.lower().endswith(".geojson"):
            geojson.check_points(model.variables)
        yield model, model.variables


def _device(name: str | None) -> Any:
    if name is None:
        return None
    try:
        return jax.devices(name)[0]
    except RuntimeError as error:
        known = jax.default_backend()
        raise ValueError(f"expected a device that is here ({known}), got {name!r}") from error


def _with_noise(table: Any, error: str, names: Variables) -> tuple[Any, Any]:
    """The table and the variance of its values' errors: a number, or the name of a column."""
    square = noise_from_km if names.codomain == "sphere" else np.square
    try:
        _validation.not_negative(error=float(error))
        return table, float(square(float(error)))
    except ValueError:
        if error not in table:
            listed = ", ".join(map(repr, table))
            raise ValueError(
                f"expected --error to be a number >= 0 or a column ({listed}), got {error!r}"
            ) from None
    values = numeric(error, read_columns(table, (error,)).values[error])
    _validation.not_negative(**{error: values})
    variance: Any = square(values)
    if isinstance(table, xr.Dataset):
        variance = (table[error].dims, variance.reshape(table[error].shape))
    return table.assign(**{VARIANCE: variance}), VARIANCE


def _finish(command: Draw, law: Law, names: Variables, where: xr.Dataset) -> None:
    start = time.monotonic()
    result = _draw(command, law, where)
    if command.summary:
        result = describe(result, command.levels).astype(command.dtype)
    if command.out is None:
        frame = files.as_frame(result)
        if command.json:
            print(frame.to_json(orient="records", date_format="iso"))
        else:
            frame.to_csv(sys.stdout, index=False)
        return
    files.write_table(command.out, result, names.input_names)
    seconds = round(time.monotonic() - start, 1)
    found = {"out": command.out, "model": command.name, "num_samples": command.num_samples}
    found |= {"sizes": {str(d): n for d, n in result.sizes.items()}, "variables": list(result)}
    found |= {"seed": command.seed, "dtype": command.dtype, "seconds": seconds}
    what = "summary of " if command.summary else ""
    text = f"{what}{command.num_samples} samples in {seconds} s: {command.out}"
    print(json.dumps(found) if command.json else text)


def _draw(command: Draw, law: Law, where: xr.Dataset) -> xr.Dataset:
    """Samples, those of the library's call with the same seed."""
    sampler = None
    if command.steps is not None:
        default = law.default_sampler() if isinstance(law, Posterior) else Amortised()
        sampler = dataclasses.replace(default, steps=command.steps)
    asked: dict[str, Any] = {"num_samples": command.num_samples, "sampler": sampler}
    if not isinstance(law, Posterior):
        asked["time_origin"] = command.origin
    with progress("sampling", command.num_samples) as update:
        key = jr.key(command.seed)
        return law.sample(where, key=key, **asked, progress=lambda done: update(int(done)))
