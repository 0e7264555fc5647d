"""What public calls are given, as arrays, or refused in a sentence.

Masked arrays, masks, one column as a vector. A masked entry (`numpy.ma`) is one
that is missing: an observation with one is left out of a context, a target with one does not count
in a density, and nothing is sampled at one.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from geomndp import _validation
from geomndp._arrays import put
from geomndp._types import Array, Float, Mask, PRNGKeyArray
from geomndp.geometry import AbstractManifold
from geomndp.model.missing_outputs import Presence, presence, whole_groups
from geomndp.samplers import AbstractSampler, Observations
from geomndp.tables import Variables
from geomndp.tables.to_arrays import adapter_of

Seed = PRNGKeyArray | int | np.integer
"""A key of JAX, or the number to make it from."""


def as_rows(value: Any, dim: int = 1) -> Any:
    """The array with a vector as (n, 1) where a row has one entry; all else as it is."""
    if isinstance(value, (list, tuple)):
        value = _validation.as_array("x and y", value)
    if dim != 1 or isinstance(value, str) or np.ndim(value) != 1:
        return value
    value = value if isinstance(value, (jax.Array, np.ndarray)) else np.asarray(value)
    return value[:, None]


def counted_values(y: Any, mask: Any, num_groups: int, what: str = "") -> Presence:
    """Which values count, by whole rows where that says it all; arguments as those of `presence`.

    With one group of outputs, rows in which NumPy masks a part of them are left alone.
    """
    masked = isinstance(y, np.ma.MaskedArray) and num_groups > 1 and np.ndim(y) == 2
    if np.ndim(mask) > 1 or masked:
        return presence(y, mask, num_groups, what)
    return Presence(y, None if mask is None else np.asarray(mask) > 0, None)


def as_counts(rows: np.ndarray | None, groups: np.ndarray | None) -> Array | None:
    """The mask (n,) or (n, g) of what counts; None where all does."""
    values = rows if groups is None else groups
    return None if values is None else put(values, jnp.result_type(float))


def check_whole_rows(y: Any, num_groups: int) -> None:
    """Refuse rows of a table with a part of the outputs, for scores that know whole rows only.

    Args:
        y: Values (n, p), masked where they are missing.
        num_groups: Groups of outputs that the score knows.

    Raises:
        ValueError: With the first such row.
    """
    if num_groups == 1 and isinstance(y, np.ma.MaskedArray):
        whole_groups(~np.ma.getmaskarray(y), 1, "")


def wanted_values(mask: Any, shape: tuple[int, int], num_groups: int) -> Any:
    """The mask of target values that are sampled, (n,) as it is, or (n, g) for one of values.

    Args:
        mask: 0 and 1, shape (n,) or (n, p); None for all.
        shape: Numbers n of targets and p of outputs.
        num_groups: Groups of outputs that the score knows.

    Raises:
        ValueError: If a part of a group is asked for.
    """
    if np.ndim(mask) < 2 or not _validation.concrete(mask):
        return mask
    _, rows, groups = counted_values(np.zeros(shape), mask, num_groups)
    return as_counts(rows, groups)


def context_rows(
    x: Any, y: Any, noise: Any, mask: Any, dim: int, num_groups: int = 1
) -> tuple[Any, Any, Any, Mask | None]:
    """Inputs, values and noise of a context without the rows in which any of them is masked.

    Where a score knows groups of outputs, a row stays for those of them that are not masked. The
    mask that is left is None, that of groups, or what JAX traces: rows cannot be left out then.
    """
    x, y = as_rows(x), as_rows(y, dim)
    noise = _validation.as_array("noise", noise) if isinstance(noise, (list, tuple)) else noise
    counts = None if mask is None else as_mask("mask", mask)
    if counts is not None and not all(map(_validation.concrete, (x, y, noise, counts))):
        return x, y, noise, counts
    y, counted, groups = counted_values(y, counts, num_groups, " of the context")
    gone = [rows for value in (x, y, noise) if (rows := _validation.missing(value)) is not None]
    gone += [] if counted is None else [~counted]
    if not any(rows.any() for rows in gone):
        return *(_plain(value) for value in (x, y, noise)), as_counts(None, groups)
    if np.ndim(noise) == 0:
        _validation.no_masked(noise=noise)
    if np.ndim(x) == 0:
        raise ValueError("expected x of the context of shape (n, d), got shape ()")
    for name, value in (("y", y), ("noise", noise), ("mask", counted)):
        if value is not None and np.ndim(value) and len(value) != len(x):
            raise ValueError(f"expected {name} of {len(x)} observations, got {len(value)}")
    keep = ~np.any(gone, axis=0)
    left = as_counts(None, None if groups is None else groups[keep])
    return *(_plain(v)[keep] if np.ndim(v) else v for v in (x, y, noise)), left


def target_rows(
    x: Any, y: Any, mask: Any, dim: int, num_groups: int = 1
) -> tuple[Any, Any, Mask | None]:
    """Inputs and values, and what counts: rows of the mask, or groups, with nothing masked."""
    x, y = as_rows(x), as_rows(y, dim)
    counts = None if mask is None else as_mask("mask", mask)
    if _validation.concrete(y) and _validation.concrete(counts):
        y, rows, groups = counted_values(y, counts, num_groups)
        counts = as_counts(rows, groups)
    for name, value in (("x", x), ("y", y)):
        gone = _validation.missing(value)
        if gone is None or not gone.any():
            continue
        if counts is not None and len(counts) != len(gone):
            raise ValueError(f"expected mask of {len(gone)} rows like {name}, got {len(counts)}")
        present = put(~gone, jnp.result_type(float))
        present = present[:, None] if np.ndim(counts) == 2 else present
        counts = present if counts is None else counts * present
    return _plain(x), _plain(y), counts


def as_mask(name: str, mask: Any) -> Float[Array, "..."]:
    """Numbers 0 and 1 of a mask; what it masks itself, as NumPy's masked array, counts as 0.

    Inside the package other numbers tell functions apart that share a row, so none may come in.
    """
    gone = _validation.missing(mask, np.ndim(mask))
    values = mask if isinstance(mask, jax.Array) else np.asarray(_plain(mask))
    if values.dtype.kind not in "biuf":
        raise ValueError(f"expected {name} of 0 and 1, got {values.dtype}")
    values = values if gone is None else np.where(gone, False, values)
    if _validation.concrete(values):
        wrong = (array := np.asarray(values))[(array != 0) & (array != 1)]
        if wrong.size:
            raise ValueError(f"expected {name} of 0 and 1, got {wrong.reshape(-1)[0]}")
    number = jnp.result_type(float)
    return values.astype(number) if isinstance(values, jax.Array) else put(values, number)


def _plain(value: Any) -> Any:
    """Numbers of a masked array; anything else as it is."""
    return np.ma.getdata(value) if isinstance(value, np.ma.MaskedArray) else value


def check_columns(input_dim: int | None, x: Array) -> None:
    """Refuse inputs of other dimension than those of a model, where it has a fixed one."""
    if input_dim is not None and x.shape[1] != input_dim:
        raise ValueError(f"expected x of {input_dim} columns, got {x.shape[1]}")


def check_like(x: Array, known: Array) -> None:
    """Refuse inputs of other columns or dtype than those of the observations."""
    if x.dtype != known.dtype or x.shape[1] != known.shape[1]:
        expected = f"{known.shape[1]} columns of {known.dtype}"
        raise ValueError(
            f"expected x like the context's, {expected}, got {x.shape[1]} of {x.dtype}"
        )


def check_request(num_samples: Any, sampler: Any, key: Any) -> None:
    """Refuse what is no number of samples, no sampler (None for the default) or no key."""
    _validation.at_least(1, num_samples=num_samples)
    if sampler is not None and not isinstance(sampler, AbstractSampler):
        raise ValueError(f"expected a sampler such as Amortised(50), got {sampler!r}")
    if key is None:
        raise ValueError("expected a key such as jax.random.key(0), got none")


def as_observations(
    x: Any,
    y: Any,
    noise: Any,
    mask: Mask | None,
    manifold: AbstractManifold,
    dtype: Any = None,
    num_groups: int = 1,
) -> Observations:
    """Check observations; `noise` is one variance, one per point, or one per point and group."""
    x, y = _validation.as_float("x", x, dtype), _validation.as_float("y", y, dtype)
    _validation.function(x, y, dim=manifold.ambient_dim, mask=mask, name=" of the context")
    _validation.not_negative(noise=noise)
    apart = num_groups > 1 and np.shape(noise) == (len(x), num_groups)
    if not apart and (np.ndim(noise) > 1 or np.shape(noise) not in ((), (len(x),))):
        more = f" or {(len(x), num_groups)}" if num_groups > 1 else ""
        raise ValueError(
            f"expected noise to be one variance or {len(x)}{more}, got shape {np.shape(noise)}"
        )
    shape = np.shape(noise) if apart else (len(x),)
    mask = None if mask is None else mask.astype(x.dtype)
    if not _validation.concrete(noise):  # it may be zero, or not
        variances = jnp.broadcast_to(jnp.asarray(noise, x.dtype), shape)
        return Observations(x, y, variances, True, mask)
    variances = put(np.broadcast_to(np.asarray(noise), shape), x.dtype)
    noisy = bool(np.any(np.asarray(noise) > 0)) and len(x) > 0
    return Observations(x, y, variances, noisy, mask)


def names_of(model, y=None, table=None, mask=None) -> Variables:
    """Names under which a model's inputs and outputs stand in tables; these hold y too.

    A mask with an index or coordinates has those of the table.
    """
    if y is not None:
        raise ValueError("expected inputs and outputs in one table, got a second argument")
    if model.variables is None:
        raise ValueError(
            "expected arrays, got a table; to read tables name the model's inputs and outputs: "
            "model.with_variables(inputs=..., outputs=...)"
        )
    if table is not None:
        adapter_of(table).check_same_rows(table, mask, "mask")
    return model.variables
