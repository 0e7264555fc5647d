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

from geomndp import _checks
from geomndp.cli import files, geojson, places
from geomndp.cli.progress import progress
from geomndp.cli.requests import Condition, Draw, Sample
from geomndp.cli.room import with_room
from geomndp.cli.usage import UsageError
from geomndp.model import Model, Posterior, load
from geomndp.samplers import Amortised
from geomndp.summaries import describe
from geomndp.tables import Variables, noise_from_km, read_inputs, read_origin

# Drawn together: progress is shown, and Ctrl-C heard, between batches, and memory is bounded.
BATCH, POINTS = 32, 10_000
VARIANCE = "variance of the errors"
Law = Model | Posterior
JOIN: dict[str, Any] = {"data_vars": "minimal", "coords": "minimal", "compat": "override"}


def sample(command: Sample) -> None:
    """Draw functions."""
    with _prepared(command) as (model, names, renamed):
        origin = read_origin(names, command.origin)
        _finish(command, model, names, _where(command, names, renamed, origin))


def condition(command: Condition) -> None:
    """Draw functions given observations."""
    told = command.observations
    if not files.is_file(told) and (not command.at or ":" in told or "=" in told):
        # An option that takes any number of values leaves its last one to a missing argument.
        raise UsageError("expected OBSERVATIONS, a file, before --at, got none")
    with _prepared(command) as (model, names, renamed):
        table = places.rename(files.read_table(command.observations), renamed)
        table, noise = _with_noise(table, command.error, names)
        posterior = model.condition(table, noise=noise, origin=command.origin)
        _finish(command, posterior, names, _where(command, names, renamed, posterior.origin))


def _where(command: Draw, names: Variables, renamed: dict[str, str], origin: str | None) -> Any:
    """Places asked for; numbers of a range are times after the origin, where there is one."""
    where = places.read_places(command.at, names, renamed)
    return where if files.is_file(command.at[0]) else places.on_dates(where, names, origin)


@contextmanager
def _prepared(command: Draw) -> Iterator[tuple[Model, Variables, dict[str, str]]]:
    """Check what can be checked at once, and compute as asked."""
    _checks.at_least(2 if command.summary else 1, num_samples=command.num_samples)
    _checks.one_of("dtype", command.dtype, ("float32", "float64"))
    if not all(0 < level < 1 for level in command.levels):
        raise ValueError(f"expected levels between 0 and 1, got {command.levels}")
    if command.out is not None:
        files.check_output(command.out)
    with jax.enable_x64(command.dtype == "float64"), jax.default_device(_device(command.device)):
        model = load(command.name)
        if model.variables is None:
            raise ValueError(
                f"expected a model that names its inputs and outputs, got {command.name}; "
                "save model.named(inputs=..., outputs=...)"
            )
        if command.out is not None and command.out.lower().endswith(".geojson"):
            geojson.check_points(model.variables)
        yield model, model.variables, places.parse_columns(command.columns, model.variables)


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
        _checks.not_negative(error=float(error))
        return table, float(square(float(error)))
    except ValueError:
        if error not in table:
            listed = ", ".join(map(repr, table))
            raise ValueError(
                f"expected --error to be a number >= 0 or a column ({listed}), got {error!r}"
            ) from None
    _checks.not_negative(**{error: np.asarray(table[error])})
    variance = square(table[error])
    if isinstance(variance, xr.DataArray):
        variance = variance.drop_attrs(deep=False)  # the units of the errors
    return table.assign(**{VARIANCE: variance}), VARIANCE


def _finish(command: Draw, law: Law, names: Variables, where: xr.Dataset) -> None:
    start = time.monotonic()
    given = isinstance(law, Posterior)
    origin = law.origin if given else read_origin(names, command.origin)
    num_places = len(read_inputs(names, where, origin, own=not given).x)
    result = _draw(command, with_room(law, where), where, num_places)
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


def _draw(command: Draw, law: Law, where: xr.Dataset, num_places: int) -> xr.Dataset:
    """Samples in batches of one size, so that one program is compiled."""
    most = max(1, min(BATCH, POINTS // max(num_places, 1)))
    count = -(-command.num_samples // most)
    size = -(-command.num_samples // count)
    sampler = None
    if command.steps is not None:
        default = law.default_sampler() if isinstance(law, Posterior) else Amortised()
        sampler = dataclasses.replace(default, steps=command.steps)
    asked: dict[str, Any] = {"num_samples": size, "sampler": sampler}
    if not isinstance(law, Posterior):
        asked["origin"] = command.origin
    key, parts = jr.key(command.seed), []
    with progress("sampling", command.num_samples) as update:
        for i in range(count):
            part_key = jr.fold_in(key, i)
            parts.append(law.sample(where, key=part_key, **asked))
            update(min((i + 1) * size, command.num_samples))
    joined = xr.concat(parts, "sample", join="override", **JOIN)
    number = joined["sample"].attrs
    joined = joined.isel(sample=slice(0, command.num_samples))
    return joined.assign_coords(sample=("sample", np.arange(command.num_samples), number))
