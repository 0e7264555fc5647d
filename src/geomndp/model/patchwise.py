"""Large fields of a posterior: drawn patch by patch, in memory or into a store."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import jax
import jax.random as jr
import numpy as np

from geomndp import _validation
from geomndp._arrays import keep_float64, put
from geomndp._types import Array, PRNGKeyArray
from geomndp._validation import as_key
from geomndp.model.inputs import check_request
from geomndp.model.output_units import output_dtype, result_dtype
from geomndp.model.outside_training import warn_about_targets
from geomndp.model.patch_laws import ExactLaw, MembersLaw, ScoreLaw
from geomndp.model.patch_scheme import chosen_patches
from geomndp.model.units import read_raw_inputs
from geomndp.patches import Layout, Locations, MemoryValues, PatchwiseField, plan, run
from geomndp.patches.context import observed_rows
from geomndp.patches.field import AbstractPatchLaw
from geomndp.patches.locations import Coordinate, check_axis
from geomndp.patches.planning import plan_points
from geomndp.scale import Scheduler, as_finished, check_scheduler
from geomndp.tables.xarray_adapter import is_data_array, is_dataset, spanned_shape

MAX_INPUTS = 3


def sample_values(
    posterior: Any, x: Any, key: Any, num_samples: int, patches: Any, **options: Any
) -> Array:
    """Draws (s, n, p) at all of x, patch by patch; arguments as those of `Posterior.sample`."""
    progress, scheduler = options.pop("progress", True), options.pop("scheduler", None)
    check_scheduler(scheduler)
    if scheduler is not None and scheduler != "threads":
        raise ValueError("expected a store (out=...) for patches of other processes, got memory")
    field = patchwise_field(posterior, x, key, num_samples, patches, MemoryValues(), **options)
    run(field, progress, as_finished(scheduler))
    assert isinstance(field.values, MemoryValues)
    y = field.values.field(field.layout)
    y = y if isinstance(field.law, ScoreLaw) else y.astype(field_dtype(posterior, x))
    with keep_float64(y):
        return put(y)


def refuse_scheduler(scheduler: Scheduler) -> None:
    """Raise ValueError where all points are drawn at once, so that there is nothing to spread."""
    if scheduler is not None:
        raise ValueError('expected patches, such as "auto", beside scheduler, got none')


def field_dtype(posterior: Any, x: Any) -> Any:
    """Dtype of a field in the data's units: float64 where float32 cannot hold its values."""
    members = getattr(posterior, "posteriors", (posterior,))
    units = [getattr(member.model, "normaliser", None) for member in members]
    return np.result_type(*(output_dtype(part, result_dtype(x)) for part in units))


def patchwise_field(
    posterior: Any,
    x: Any,
    key: Any,
    num_samples: int,
    patches: Any,
    values: Any,
    **options: Any,
) -> PatchwiseField:
    """A field of a posterior, to be drawn by `geomndp.patches.run`.

    Args:
        posterior: A posterior of a model, a process or a mixture.
        x: Inputs, arrays or a table; a Dataset whose inputs span several dimensions is a grid.
        key: Random key or seed.
        num_samples: Number of draws.
        patches: Scheme.
        values: Where patches are kept.
        **options: Of learnt laws `sampler` and `max_memory`.

    Returns:
        The field; nothing is drawn yet.

    Raises:
        ValueError: If the posterior, the inputs or the scheme are not supported.
    """
    refuse_traced(key)
    located = read_layout(posterior, x, patches)
    return field_on(posterior, located, key, num_samples, values, **options)


def field_on(
    posterior: Any,
    located: tuple[np.ndarray, Layout],
    key: Any,
    num_samples: int,
    values: Any,
    **options: Any,
) -> PatchwiseField:
    """A field on a layout of `read_layout`; arguments as those of `patchwise_field`."""
    check_request(num_samples, options.get("sampler"), key := as_key(key))
    if options.pop("mask", None) is not None:
        raise ValueError("expected no mask beside patches, got one: leave masked rows out of x")
    if is_exact(posterior) and (given := [k for k, v in options.items() if v is not None]):
        raise ValueError(f"expected no {given[0]} for the law of a process, got one")
    raw, layout = located
    law = patch_law(posterior, end_rows(raw), key, num_samples, options)
    for member in getattr(law, "members", (law,)):
        if isinstance(member, ScoreLaw):
            _warn_about_patches(member, layout)
    return PatchwiseField(law, layout, values, key, int(num_samples))


def _warn_about_patches(law: ScoreLaw, layout: Layout) -> None:
    """Warn where the first or the last patch leaves what training saw."""
    for patch in (layout.patches[0], layout.patches[-1]):
        near = law.observed[observed_rows(layout, patch, law.observed)]
        own = layout.inputs(patch)
        seen = law.targets(np.concatenate([near, layout.kept(patch).x, own]))
        warn_about_targets(law.posterior, law.targets(own), together=seen)


def end_rows(x: np.ndarray) -> np.ndarray:
    """Rows of inputs (n, d) with the lowest or the highest value of a column, at most 2 d."""
    return x[np.unique([*x.argmin(axis=0), *x.argmax(axis=0)])]


def patch_law(
    posterior: Any, ends: np.ndarray, key: PRNGKeyArray, num_samples: int, options: dict
) -> AbstractPatchLaw:
    """The law that patches of a posterior are drawn from; `ends` are `end_rows` of the field."""
    if is_exact(posterior):
        with jax.enable_x64(True):
            return ExactLaw(posterior, ends)
    if hasattr(posterior, "log_weights"):  # of a mixture
        choice_key = jr.fold_in(key, np.uint32(2**32 - 1))  # no patch has this number
        choice = jr.categorical(choice_key, posterior.log_weights, shape=(num_samples,))
        chosen = np.asarray(choice)
        members = tuple(
            patch_law(part, ends, key, num_samples, options) for part in posterior.posteriors
        )
        return MembersLaw(members, chosen)
    if not hasattr(posterior, "problem"):
        kind = type(posterior).__name__
        raise ValueError(f"expected a law that can be drawn by patches, got {kind}")
    return ScoreLaw(posterior, ends, **options)


def is_exact(posterior: Any) -> bool:
    """Whether this is the law of a process, computed in float64."""
    return hasattr(getattr(posterior, "model", None), "process")


def refuse_traced(values: Any) -> None:
    """Raise ValueError inside of `jax.jit` and `jax.vmap`: patches depend on numbers."""
    if not all(map(_validation.concrete, jax.tree.leaves(values))):
        raise ValueError(
            "expected numbers for patches, got values that JAX traces: ask outside of jax.jit "
            "and jax.vmap"
        )


def read_layout(posterior: Any, x: Any, patches: Any) -> tuple[np.ndarray, Layout]:
    """Inputs (n, d) of all targets in the data's units, and their patches."""
    refuse_traced((posterior, x))
    law, posterior = posterior, getattr(posterior, "posteriors", (posterior,))[0]
    with jax.enable_x64(True) if is_exact(posterior) else nullcontext():
        raw = np.asarray(read_raw_inputs(posterior, x)[0], np.float64)
    if not len(raw):
        raise ValueError("expected at least one target, got none")
    variables, units = posterior.variables, posterior.model.normaliser
    count = raw.shape[1] - (0 if variables is None else variables.num_covariates)
    if count > MAX_INPUTS:
        raise ValueError(f"expected at most {MAX_INPUTS} inputs for patches, got {count}")
    patches = chosen_patches(law, raw, count, patches)
    periods = () if units is None or not any(units.x_period) else units.x_period[:count]
    sizes = _grid_sizes(posterior, x)
    if len(sizes) == 1 and not _sorted(raw[:, :count]):
        return raw, plan_points(raw, patches, count, periods)
    columns = tuple(Coordinate((*range(len(sizes)),), v.reshape(sizes)) for v in raw.T)
    return raw, plan(Locations(sizes, columns, count, None, periods), patches)


def _sorted(positions: np.ndarray) -> bool:
    """Whether points of one coordinate are in its order."""
    return positions.shape[1] == 1 and bool(np.all(np.diff(positions[:, 0]) > 0))


def _grid_sizes(posterior: Any, x: Any) -> tuple[int, ...]:
    """Points along the dimensions that the inputs of a Dataset span; all of others along one."""
    variables = posterior.variables
    if not (is_dataset(x) or is_data_array(x)):
        return (len(x),)
    assert variables is not None  # or the table could not have been read
    sizes = tuple(spanned_shape(x, variables.input_names).values())
    for name in variables.input_names:
        if len(sizes) > 1 and x[name].ndim == 1:
            check_axis(repr(name), np.asarray(x[name]))
    return sizes
