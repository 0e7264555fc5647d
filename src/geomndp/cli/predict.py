"""`geomndp sample` and `geomndp condition`: tables in, samples or their summary out."""

from __future__ import annotations

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

from geomndp import _table_files, _validation
from geomndp._arrays import put
from geomndp._progress import busy, progress
from geomndp._time_zones import state_utc
from geomndp.cli.input_tables import Tables
from geomndp.cli.many_tasks import TaskHelpers, predict_tasks
from geomndp.cli.needed_columns import drop_missing
from geomndp.cli.predict_args import Condition, Predict
from geomndp.marginals import SampleMarginals
from geomndp.model import Posterior, load
from geomndp.model.base import AbstractModel
from geomndp.model.model import learnt_posteriors
from geomndp.model.patch_store import begin_field, finish_field
from geomndp.samplers import AbstractSampler, from_text
from geomndp.scale import check_scheduler
from geomndp.summaries import describe
from geomndp.tables import Variables, noise_from_km
from geomndp.tables.geojson import check_points
from geomndp.tables.to_arrays import numeric, read_columns
from geomndp.tables.units import check_deviation, has_zone
from geomndp.tables.xarray_adapter import as_frame, with_datetimes

VARIANCE = "variance of the observation noise"


def predict(command: Predict, tables: Tables) -> None:
    """Draw functions given observations; without any, of the prior."""
    with _open_model(command) as (model, names):
        if isinstance(command, Condition) and command.tasks is not None:
            tables = tables._replace(targets=_in_utc(tables.targets, names, tables))
            predict_tasks(command, model, names, tables, TaskHelpers(_with_noise, _task_sampler))
            return
        posterior = _posterior(command, model, names, tables.observations)
        targets = tables.targets
        if posterior.time_origin is not None and not _table_files.is_file(command.targets[0]):
            # Numbers of a range are times after the origin.
            targets = with_datetimes(targets, names.inputs, posterior.time_origin)
        _write(command, posterior, names, _in_utc(targets, names, tables))


def _in_utc(targets: xr.Dataset, names: Variables, tables: Tables) -> xr.Dataset:
    """Targets that say that their datetimes are in UTC, where any of the command has a zone."""
    zoned = tables.zoned or any(has_zone(part.units) for part in names.inputs)
    return state_utc(targets, names.input_names) if zoned else targets


def _task_sampler(command: Predict, posterior: Any) -> AbstractSampler | None:
    return _sampler(command, learnt_posteriors(posterior))


def _posterior(command: Predict, model: AbstractModel, names: Variables, table: Any) -> Any:
    if not isinstance(command, Condition):
        return model.condition(time_origin=command.origin)
    if command.drop_missing:
        table = drop_missing(table, names.output_names)
    table, noise = _with_noise(table, command.obs_std, names)
    return model.condition(table, noise=noise, time_origin=command.origin)


@contextmanager
def _open_model(command: Predict) -> Iterator[tuple[AbstractModel, Variables]]:
    """The model and its names, on the device and in the precision of the command."""
    with jax.enable_x64(command.dtype == "float64"), jax.default_device(_device(command.device)):
        model = load(command.name)
        assert model.variables is not None
        if command.out is not None and command.out.lower().endswith(".geojson"):
            check_points(model.variables)
        yield model, model.variables


def _device(name: str | None) -> Any:
    if name is None:
        return None
    try:
        return jax.devices(name)[0]
    except RuntimeError as error:
        known = jax.default_backend()
        raise ValueError(f"expected a device that is here ({known}), got {name!r}") from error


def _with_noise(table: Any, obs_std: str, names: Variables) -> tuple[Any, Any]:
    """The table and the variance of its observation noise: a number, or the name of a column."""
    square = noise_from_km if names.codomain == "sphere" else np.square
    try:
        _validation.not_negative(obs_std=float(obs_std))
        return table, float(square(float(obs_std)))
    except ValueError:
        if obs_std not in table:
            listed = ", ".join(map(repr, table))
            raise ValueError(
                f"expected --obs-std to be a number >= 0 or a column ({listed}), got {obs_std!r}"
            ) from None
    columns, sphere = read_columns(table, (obs_std,)), names.codomain == "sphere"
    check_deviation(obs_std, columns.units[obs_std], [v.units for v in names.outputs], sphere)
    values = numeric(obs_std, columns.values[obs_std])
    _validation.not_negative(**{obs_std: values})
    variance: Any = square(values)
    if isinstance(table, xr.Dataset):
        variance = (table[obs_std].dims, variance.reshape(table[obs_std].shape))
    return table.assign(**{VARIANCE: variance}), VARIANCE


def _write(command: Predict, posterior: Any, names: Variables, targets: xr.Dataset) -> None:
    """Draw, summarise where the command says so, and write or print the result."""
    start = time.monotonic()
    stored, corrected = _table_files.is_store(command.out), None
    if command.interval is not None:
        from geomndp.evaluate import Conformal  # only here: its imports take long

        corrected = Conformal.load(command.name)
        corrected.law_tail(command.interval)  # refused before anything is drawn
    result = (_draw_into_store if stored else _draw)(command, posterior, targets)
    if command.summary:
        summary = describe(result, command.quantiles)
        if corrected is not None:
            ends = _interval(command, posterior, targets, result, corrected)
            summary = summary.assign(ends)
        result = summary.astype(command.dtype)
    if command.out is None:
        frame = as_frame(result)
        if command.json:
            print(frame.to_json(orient="records", date_format="iso"))
        else:
            frame.to_csv(sys.stdout, index=False)
        return
    if not stored:
        _table_files.write_table(command.out, result, names.input_names)
    seconds = round(time.monotonic() - start, 1)
    record = {"out": command.out, "model": command.name, "num_samples": command.num_samples}
    record |= {"sizes": {str(d): n for d, n in result.sizes.items()}, "variables": list(result)}
    record |= {"seed": command.seed, "dtype": command.dtype, "seconds": seconds}
    what = "summary of " if command.summary else ""
    text = f"{what}{command.num_samples} samples in {seconds} s: {command.out}"
    print(json.dumps(record) if command.json else text)


def _interval(
    command: Predict, posterior: Any, targets: Any, samples: xr.Dataset, corrected: Any
) -> dict[str, xr.DataArray]:
    """Ends of conformal intervals by name: in closed form, or of the samples that were drawn."""
    endings = "low", "high"
    if posterior.exact_marginals:
        law = posterior.interval(targets, level=command.interval, conformal=corrected)
        both = [(ending, law.isel(quantile=i, drop=True)) for i, ending in enumerate(endings)]
        return {f"{name}_{ending}": end[name] for ending, end in both for name in end.data_vars}
    tail, ends = corrected.law_tail(command.interval), {}
    for name, values in samples.data_vars.items():
        drawn = values.transpose("sample", ...)
        law = SampleMarginals(put(drawn.values.reshape(len(drawn), -1, 1)))
        one = drawn.isel(sample=0, drop=True)
        for ending, end in zip(endings, np.asarray(law.interval(tail)), strict=True):
            ends[f"{name}_{ending}"] = one.copy(data=end.reshape(one.shape))
    return ends


def _draw(command: Predict, posterior: Any, targets: xr.Dataset) -> xr.Dataset:
    """Samples, those of the library's call with the same seed."""
    learnt = learnt_posteriors(posterior)
    sampler = _sampler(command, learnt)
    with progress("sampling", command.num_samples) as update:
        options: dict[str, Any] = {"key": jr.key(command.seed), "num_samples": command.num_samples}
        if learnt:  # the others are drawn at once
            options |= {"sampler": sampler, "progress": lambda done: update(int(done))}
        if command.patches is not None:
            options |= {"patches": command.patches, "progress": True}
        return posterior.sample(targets, **options)


def _draw_into_store(command: Predict, posterior: Any, targets: xr.Dataset) -> xr.Dataset:
    """Samples patch by patch into a store, which is resumed where it was begun."""
    assert command.out is not None
    if command.summary:
        raise ValueError(f"expected samples for {command.out}, got --summary: open it and describe")
    learnt = learnt_posteriors(posterior)
    sampler = _sampler(command, learnt)
    options = {"sampler": sampler} if learnt else {}
    request = (command.out, jr.key(command.seed), command.num_samples, command.patches or "auto")
    scheduler = command.scheduler if isinstance(command, Condition) else None
    check_scheduler(scheduler)  # before anything is written
    with busy("planning patches"):
        field = begin_field(posterior, targets, *request, **options)
    with progress("drawing patches", len(field.layout.patches)) as update:
        return finish_field(field, command.out, lambda done: update(int(done)), scheduler)


def _sampler(command: Predict, learnt: list[Posterior]) -> AbstractSampler | None:
    if not learnt and (command.sampler is not None or command.steps is not None):
        option = "--steps" if command.sampler is None else "--sampler"
        raise ValueError(f"expected a network for {option}, got a model that is sampled exactly")
    steps = {} if command.steps is None else {"steps": command.steps}
    if command.sampler is not None:
        return from_text(command.sampler, **steps)
    return learnt[0].default_sampler(command.steps) if steps else None
